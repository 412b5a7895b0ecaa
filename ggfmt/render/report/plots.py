"""The plots of the page of `ggfmt report`, their scales, and the HTML elements of the whole page."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count, pairwise

from ggfmt.commit.names import counted
from ggfmt.java.text import visible
from ggfmt.render.report.facts import TYPES, TimeBucket, in_order, operations_of

_VOID = {"br", "meta"}  # elements without content and end tag


class Markup(str):
    __slots__ = ()


Content = str | int | None  # a `Markup` is used unchanged, other values as text, None as nothing


def text(value: str | int) -> Markup:
    return Markup(html.escape(visible(f"{value:,}" if isinstance(value, int) else value)))


def element(tag: str, /, *children: Content, **attributes: Content | float | bool) -> Markup:
    """Return an element. In names of attributes, a final `_` is dropped and others become `-`.

    An attribute of None or False is left out, one of True has no value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    start = f"<{tag}{given}>"
    return Markup(start if tag in _VOID else f"{start}{join(children)}</{tag}>")


def join(parts: Iterable[Content]) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts if part is not None))


def name(value: str) -> Markup:
    return element("bdi", value)


def code(value: str) -> Markup:
    return element("code", name(value))


def _attribute(key: str, value: Content | float | bool) -> str:
    shown = key.removesuffix("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {shown}" if value else ""
    if isinstance(value, (int, float)):
        return f' {shown}="{value:.10g}"'
    return f' {shown}="{text(str(value))}"'


# Round numbers: for axes of counts and of times, and for figures in a text.

_MONDAY = datetime(1970, 1, 5)  # from where steps are counted: one of the first week
_DAY = 86400
_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def ticks(most: int, number: int = 5) -> list[int]:
    """Return round counts from 0 to the first that is at least `most`, about that many steps apart."""
    steps = (factor * 10**exponent for exponent in count() for factor in (1, 2, 5))
    step = next(step for step in steps if step * number >= most)
    return list(range(0, max(most, 1) + step, step))[: -(-max(most, 1) // step) + 1]


def compact(value: int) -> str:
    """Return a count in few characters: `950`, `1.5k`, `20M`."""
    for unit, letter in _UNITS:
        if value >= 0.9995 * unit:  # it would be rounded to 1
            return f"{value / unit:.3g}{letter}" if value < 999.5 * unit else f"{value // unit:,}{letter}"
    return str(value)


def size(value: int) -> str:
    """Return bytes in few characters: `950 bytes`, `1.5 kB`, `20 MB`."""
    if value < _UNITS[-1][0]:
        return f"{value} byte{'s' * (value != 1)}"
    short = compact(value)
    return f"{short[:-1]} {short[-1]}B"


def seconds(value: float) -> str:
    """Return `0.34 s`, `12.3 s`, `2 min 5 s`, `1 h 2 min`."""
    if value < 59.95:
        return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


@dataclass(frozen=True)
class Step:
    """A step of a time axis: a number of seconds, or of months."""

    words: str
    seconds: int = 0
    months: int = 0

    def index(self, moment: datetime) -> int:
        """Return the number of the step of a time; consecutive steps have consecutive numbers."""
        if self.months:
            return (moment.year * 12 + moment.month - 1) // self.months
        return (moment - _MONDAY) // timedelta(seconds=self.seconds)

    def start(self, index: int) -> datetime:
        """Return the first time of a step, within the range of times."""
        if self.months:
            year, month = divmod(index * self.months, 12)
            return datetime(min(max(year, 1), 9999), month + 1, 1)
        try:
            return _MONDAY + index * timedelta(seconds=self.seconds)
        except OverflowError:
            return datetime.min if index < 0 else datetime.max


_LENGTHS = (
    *(("second", 1, number) for number in (1, 5, 10, 30)),
    *(("minute", 60, number) for number in (1, 5, 10, 30)),
    *(("hour", 3600, number) for number in (1, 3, 6, 12)),
    ("day", _DAY, 1),
    ("week", 7 * _DAY, 1),
)
_MONTHS = (("month", 1, 1), ("month", 1, 3), *(("year", 12, number) for number in (1, 10, 100, 1000)))


def _in_words(unit: str, number: int) -> str:
    return f"{number:,} {unit}s" if number > 1 else f"{'an' if unit[0] == 'h' else 'a'} {unit}"


STEPS = (
    *(Step(_in_words(unit, number), seconds=number * length) for unit, length, number in _LENGTHS),
    *(Step(_in_words(unit, number), months=number * length) for unit, length, number in _MONTHS),
)


def step_for(first: datetime, last: datetime, counted_by: str, most: int) -> Step:
    """Return the shortest step, a multiple of the manifest's unit, by which two times are less than `most` apart."""
    own = next(
        place for place, step in enumerate(STEPS) if step.words in (counted_by, f"a {counted_by}", f"an {counted_by}")
    )
    for step in STEPS[own:]:
        if step.index(last) - step.index(first) < most:
            return step
    return STEPS[-1]


def time_ticks(step: Step, first: int, last: int, most: int) -> list[int]:
    """Return the steps from `first` to `last` that get a label: at most that many, at round times."""
    for longer in STEPS[STEPS.index(step) :]:
        found = [n for n in range(first, last + 1) if n == first or _begins(step, n, longer)]
        if len(found) > 1 and not _begins(step, first, longer):
            found = found[1:]  # a label at a time that is not round would be too close to the next
        if len(found) <= most:
            return found
    return [first]


def _begins(step: Step, index: int, longer: Step) -> bool:
    return longer.index(step.start(index)) != longer.index(step.start(index - 1))


def time_labels(step: Step, moments: Sequence[datetime]) -> list[tuple[str, str]]:
    """Return for each time the part that differs most and, if it has changed, the larger unit."""
    labels = []
    before = ""
    for moment in moments:
        if step.months >= 12:
            label, part_of = f"{moment.year}", ""
        elif step.months:
            label, part_of = f"{moment:%b}", f"{moment.year}"
        elif step.seconds >= _DAY:
            label, part_of = f"{moment.day} {moment:%b}", f"{moment.year}"
        else:
            label = f"{moment:%H:%M:%S}" if step.seconds < 60 else f"{moment:%H:%M}"
            part_of = f"{moment.day} {moment:%b} {moment.year}"
        labels.append((label, part_of if part_of != before else ""))
        before = part_of
    return labels


# Plots as SVG: bars of a table, and operations over time. Colors are classes of the style sheet, so that they follow
# the theme; the policy of the page forbids inline styles.

_BAR = 1000  # the width of a bar of a table, in its own unit: it is stretched to its cell
_APART = 10  # times the range of the other operations: what is farther away is not drawn
_PART_OF_WIDTH = 84  # pixels of a date under an axis
_EDGE = 100  # one of this many operations may be an outlier, on either side


@dataclass(frozen=True)
class Series:
    """Operations in steps of time, from `first` on, by type. `before`, `after`: those too far away to draw."""

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
    """Return the series of times in order, at least one, in less than `most` steps."""
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
    """Return the times to draw: without a few operations of 1970 or 2099 that would make all others one bar."""
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
    parts = []
    start = 0.0
    for kind, number in in_order(counts).items():
        width = _BAR * number / max(most, 1)
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
    """Return a plot of operations over time: a column for each step, its parts by type, with both axes."""
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
    for place, counts in enumerate(data.counts):
        if counts:
            x = frame.left + place * width
            column = _column(counts, x, width, bottom, height / scale[-1])
            label = f"{_moment(data, place)}: {operations_of(counts)}"
            hover = element("rect", x=x, y=frame.top, width=width, height=height, class_="hover")
            parts.append(element("g", element("title", label), hover, *column))
    parts += _time_axis(data, frame, width, bottom)
    return element(
        "svg",
        *parts,
        class_=f"plot {frame.name}",
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="img",
        aria_labelledby=f"title-{frame.name} desc-{frame.name}",
    )


def _column(counts: Mapping[str, int], x: float, width: float, bottom: float, scale: float) -> list[Markup]:
    thick = min(max(width - 2, 0.8 * width), 56)
    left = x + (width - thick) / 2
    parts = []
    for kind, number in in_order(counts).items():
        high = number * scale
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
    operations = sum(sum(count.values()) for count in data.counts)
    highest = max(range(len(data.counts)), key=lambda place: sum(data.counts[place].values()))
    return (
        f"{counted(operations, 'operation')} from {_moment(data, 0)} to {_moment(data, len(data.counts) - 1)}; "
        f"most of them, {data.most:,}, at {_moment(data, highest)}"
    )


def rows(data: Series) -> list[tuple[str, Mapping[str, int]]]:
    """Return the plot as a table: the start of each step that has operations, and these."""
    return [(_moment(data, place), count) for place, count in enumerate(data.counts) if count]


def _moment(data: Series, place: int) -> str:
    moment = data.step.start(data.first + place)
    if data.step.months:
        return f"{moment.year:04d}-{moment.month:02d}" if data.step.months < 12 else f"{moment.year:04d}"
    if data.step.seconds >= 86400:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M:%S}" if data.step.seconds < 60 else f"{moment:%Y-%m-%d %H:%M}"


def _class(kind: str) -> str:
    return f"op-{TYPES[kind]}" if kind in TYPES else "op-other"


def key(kind: str) -> Markup:
    return element("i", class_=f"key {_class(kind)}", aria_hidden="true")
