"""Plots as SVG, from small functions: bars of a table, and operations over time.

Colours are classes of the style sheet, so that they follow the theme; nothing of a plot is a style of its own, which
the page forbids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from ggfmt.commit.names import counted
from ggfmt.render.report.facts import TYPES, TimeBucket, operations_of
from ggfmt.render.report.markup import Markup, element
from ggfmt.render.report.scales import Step, compact, step_for, ticks, time_labels, time_ticks

_BAR = 1000  # the width of a bar of a table, in a unit of its own: it is stretched to its cell
_APART = 10  # times as long as all others: what is as far away is not drawn
_PART_OF_WIDTH = 84  # pixels of a date under an axis
_EDGE = 100  # one operation of so many may lie apart, on either side


@dataclass(frozen=True)
class Series:
    """Operations in steps of time: `counts` has those of the steps from `first` on, by type. `before` and `after` are
    operations that lie so far away that a plot with them would show nothing."""

    step: Step
    first: int
    counts: tuple[Mapping[str, int], ...]
    before: int = 0
    after: int = 0

    @property
    def most(self) -> int:
        return max(sum(count.values()) for count in self.counts)


@dataclass(frozen=True)
class Frame:
    """The size of a plot and its margins, in pixels. `labels` is how many an axis of time has room for."""

    name: str
    width: int
    height: int
    steps: int
    labels: int
    left: int = 46
    right: int = 10
    top: int = 10
    bottom: int = 38


WIDE = Frame("wide", 1040, 260, 80, 10)
NARROW = Frame("narrow", 360, 230, 36, 4)


def series(moments: Sequence[TimeBucket], counted_by: str, most: int) -> Series:
    """Moments in order, at least one, in less than `most` steps."""
    drawn = _without_edges(moments)
    before = sum(_total(moment) for moment in moments[: drawn.start])
    after = sum(_total(moment) for moment in moments[drawn.stop :])
    moments = moments[drawn.start : drawn.stop]
    step = step_for(moments[0].time, moments[-1].time, counted_by, most)
    first, last = step.index(moments[0].time), step.index(moments[-1].time)
    counts: list[Counter[str]] = [Counter() for _ in range(last - first + 1)]
    for moment in moments:
        counts[step.index(moment.time) - first].update(moment.operations)
    return Series(step, first, tuple(counts), before, after)


def _total(moment: TimeBucket) -> int:
    return sum(moment.operations.values())


def _without_edges(moments: Sequence[TimeBucket]) -> range:
    """The moments to draw: not a few operations of 1970 or 2099 that make all others one bar."""
    total = sum(map(_total, moments))
    start, stop = 0, len(moments)
    left = right = total // _EDGE
    while start < stop - 1 and (left := left - _total(moments[start])) >= 0:
        start += 1
    while stop > start + 1 and (right := right - _total(moments[stop - 1])) >= 0:
        stop -= 1
    first, last = moments[start].time, moments[stop - 1].time
    near = max(last - first, timedelta(minutes=1)) * _APART
    while start and first - moments[start - 1].time <= near:
        start -= 1
    while stop < len(moments) and moments[stop].time - last <= near:
        stop += 1
    return range(start, stop)


def bar(counts: Mapping[str, int], most: int) -> Markup:
    """A bar of parts by type, as wide as its sum is of `most`."""
    parts = []
    start = 0.0
    for kind in _in_order(counts):
        width = _BAR * counts[kind] / max(most, 1)
        parts.append(element("rect", x=start, y=0, width=width, height=10, class_=_class(kind)))
        start += width
    return _stretched(parts)


def plain_bar(value: float, most: float) -> Markup:
    width = _BAR * value / most if most else 0
    return _stretched([element("rect", x=0, y=0, width=width, height=10, class_="bar")])


def _stretched(parts: Sequence[Markup]) -> Markup:
    return element(
        "svg", *parts, class_="row", viewBox=f"0 0 {_BAR} 10", preserveAspectRatio="none", aria_hidden="true"
    )


def columns(data: Series, frame: Frame) -> Markup:
    """A plot of operations over time: a column for each step, its parts by type, with both axes."""
    scale = ticks(data.most)
    width = (frame.width - frame.left - frame.right) / len(data.counts)
    height = frame.height - frame.top - frame.bottom
    bottom = frame.top + height
    parts = [
        element("title", f"Operations over time, {data.step.words} a column", id=f"title-{frame.name}"),
        element("desc", description(data), id=f"desc-{frame.name}"),
    ]
    for tick in scale:
        y = bottom - height * tick / scale[-1]
        end = frame.width - frame.right
        parts.append(element("line", x1=frame.left, x2=end, y1=y, y2=y, class_="axis" if not tick else "grid"))
        parts.append(element("text", compact(tick), x=frame.left - 8, y=y + 4, text_anchor="end"))
    for place, count in enumerate(data.counts):
        if count:
            x = frame.left + place * width
            column = _column(count, x, width, bottom, height / scale[-1])
            told = f"{_moment(data, place)}: {operations_of(dict(count))}"
            hover = element("rect", x=x, y=frame.top, width=width, height=height, class_="hover")
            parts.append(element("g", element("title", told), hover, *column))
    parts += _time_axis(data, frame, width, bottom)
    return element(
        "svg",
        *parts,
        class_=f"plot {frame.name}",
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="img",
        aria_labelledby=f"title-{frame.name} desc-{frame.name}",
    )


def _column(count: Mapping[str, int], x: float, width: float, bottom: float, scale: float) -> list[Markup]:
    thick = min(max(width - 2, 0.8 * width), 56)
    left = x + (width - thick) / 2
    parts = []
    for kind in _in_order(count):
        high = count[kind] * scale
        bottom -= high
        parts.append(element("rect", x=left, y=bottom, width=thick, height=high, class_=_class(kind)))
    return parts


def _time_axis(data: Series, frame: Frame, width: float, bottom: float) -> list[Markup]:
    last = data.first + len(data.counts) - 1
    marked = time_ticks(data.step, data.first, last, frame.labels)
    labels = time_labels(data.step, [data.step.start(index) for index in marked])
    places = [frame.left + (index - data.first + 0.5) * width for index in marked]
    whole = [x for x, (_, part_of) in zip(places, labels, strict=True) if part_of]
    crowded = {x for x, after in pairwise(whole) if after - x < _PART_OF_WIDTH}
    parts = []
    for x, (label, part_of) in zip(places, labels, strict=True):
        anchor = "start" if x < frame.left + 30 else "end" if x > frame.width - frame.right - 30 else "middle"
        at = {"start": frame.left, "end": frame.width - frame.right, "middle": x}[anchor]
        parts.append(element("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, class_="axis"))
        parts.append(element("text", label, x=at, y=bottom + 18, text_anchor=anchor))
        if part_of and x not in crowded:
            parts.append(element("text", part_of, x=at, y=bottom + 33, text_anchor=anchor, class_="part-of"))
    return parts


def description(data: Series) -> str:
    """What a plot shows, for those who do not see it."""
    operations = sum(sum(count.values()) for count in data.counts)
    highest = max(range(len(data.counts)), key=lambda place: sum(data.counts[place].values()))
    return (
        f"{counted(operations, 'operation')} from {_moment(data, 0)} to {_moment(data, len(data.counts) - 1)}; "
        f"most of them, {data.most:,}, at {_moment(data, highest)}"
    )


def rows(data: Series) -> list[tuple[str, Mapping[str, int]]]:
    """The same as a table: the start of each step that has operations, and these."""
    return [(_moment(data, place), count) for place, count in enumerate(data.counts) if count]


def _moment(data: Series, place: int) -> str:
    moment = data.step.start(data.first + place)
    if data.step.months:
        return f"{moment.year:04d}-{moment.month:02d}" if data.step.months < 12 else f"{moment.year:04d}"
    if data.step.seconds >= 86400:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M:%S}" if data.step.seconds < 60 else f"{moment:%Y-%m-%d %H:%M}"


def _in_order(counts: Mapping[str, int]) -> list[str]:
    return [kind for kind in (*TYPES, *sorted(counts.keys() - TYPES)) if counts.get(kind)]


def _class(kind: str) -> str:
    return f"op-{TYPES[kind]}" if kind in TYPES else "op-other"


def key(kind: str) -> Markup:
    """The mark of a type: a square in its colour."""
    return element("i", class_=f"key {_class(kind)}", aria_hidden="true")
