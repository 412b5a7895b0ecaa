"""Scales, ticks, labels and columns of the plots of a report."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from strategies import examples

from ggfmt.render.report.facts import TimeBucket
from ggfmt.render.report.plots import (
    NARROW,
    STEPS,
    WIDE,
    Frame,
    Markup,
    Series,
    Step,
    bar,
    columns,
    compact,
    description,
    element,
    join,
    plain_bar,
    rows,
    seconds,
    series,
    size,
    step_for,
    text,
    ticks,
    time_labels,
    time_ticks,
)

START = datetime(2026, 1, 31, 18, 30)
LETTERS = {step.words: step for step in STEPS}


def every(step: timedelta, count: int, start: datetime = START) -> list[TimeBucket]:
    return [TimeBucket(start + number * step, {"I": 2, "D": 1}) for number in range(count)]


# Scales


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (5, [0, 1, 2, 3, 4, 5]),
        (7, [0, 2, 4, 6, 8]),
        (100, [0, 20, 40, 60, 80, 100]),
        (101, [0, 50, 100, 150]),
    ],
)
def test_ticks_are_round_and_reach_the_most(most: int, expected: list[int]) -> None:
    assert ticks(most) == expected


def test_there_are_a_few_ticks() -> None:
    for most in (*range(300), *(2**power - 1 for power in range(70))):
        found = ticks(most)
        assert found[0] == 0
        assert found[-2] < max(most, 1) <= found[-1]
        assert 2 <= len(found) <= 6


def test_figures_in_few_characters() -> None:
    assert [compact(n) for n in (0, 999, 1000, 1234, 999_499, 999_999, 5 * 10**6, 10**16)] == [
        *("0", "999", "1k", "1.23k", "999k", "1M", "5M", "10,000T")
    ]
    assert [size(n) for n in (0, 1, 999, 1500, 20_000_000)] == ["0 bytes", "1 byte", "999 bytes", "1.5 kB", "20 MB"]
    assert [seconds(n) for n in (0, 0.34, 12.345, 59.96, 125, 3725)] == [
        *("0.00 s", "0.34 s", "12.3 s", "1 min 0 s", "2 min 5 s", "1 h 2 min")
    ]


@given(st.sampled_from(STEPS), st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
@examples(10)
def test_a_moment_is_in_the_step_that_starts_before_it(step: Step, moment: datetime) -> None:
    index = step.index(moment)
    assert step.start(index) <= moment
    assert index == step.index(step.start(index)) or step.start(index).year == 1
    after = step.start(index + 1)
    assert after > moment or after.year == 9999


def test_weeks_start_on_monday() -> None:
    week = LETTERS["a week"]
    assert week.start(week.index(START)).weekday() == 0


@pytest.mark.parametrize(
    ("length", "counted_by", "words"),
    [
        (timedelta(0), "second", "a second"),
        (timedelta(seconds=90), "second", "5 seconds"),
        (timedelta(seconds=90), "minute", "a minute"),
        (timedelta(hours=1), "10 minutes", "10 minutes"),
        (timedelta(hours=30), "10 minutes", "30 minutes"),
        (timedelta(days=60), "hour", "a day"),
        (timedelta(days=400), "day", "a week"),
        (timedelta(days=3000), "month", "3 months"),
        (timedelta(days=2_900_000), "year", "100 years"),
    ],
)
def test_a_step_is_as_short_as_there_is_room(length: timedelta, counted_by: str, words: str) -> None:
    assert step_for(START, START + length, counted_by, 80).words == words


def test_labels_of_times_are_round_and_say_the_day_once() -> None:
    step = LETTERS["30 minutes"]
    first, last = step.index(START), step.index(START + timedelta(hours=18))
    moments = [step.start(index) for index in time_ticks(step, first, last, 8)]
    assert time_labels(step, moments) == [
        ("21:00", "31 Jan 2026"),
        ("00:00", "1 Feb 2026"),
        ("03:00", ""),
        ("06:00", ""),
        ("09:00", ""),
        ("12:00", ""),
    ]
    for words, expected in (
        ("a second", ("18:30:00", "31 Jan 2026")),
        ("a day", ("31 Jan", "2026")),
        ("a month", ("Jan", "2026")),
        ("a year", ("2026", "")),
    ):
        assert time_labels(LETTERS[words], [START]) == [expected]


@given(st.sampled_from(STEPS), st.integers(1, 100), st.integers(2, 12))
@examples(10)
def test_there_are_some_labels_and_no_more_than_there_is_room_for(step: Step, count: int, most: int) -> None:
    first = step.index(START)
    assert 1 <= len(time_ticks(step, first, first + count - 1, most)) <= most


# Plots


def test_a_series_has_all_operations() -> None:
    data = series(every(timedelta(minutes=10), 200), "10 minutes", 80)
    assert data.step.words == "30 minutes"
    assert sum((Counter(count) for count in data.counts), Counter()) == {"I": 400, "D": 200}
    assert rows(data)[0] == ("2026-01-31 18:30", {"I": 6, "D": 3})


def test_a_few_operations_far_away_are_not_drawn_and_are_told() -> None:
    near = every(timedelta(minutes=10), 100)
    far = [TimeBucket(datetime(1970, 1, 1), {"I": 1}), *near, TimeBucket(datetime(2099, 1, 1), {"U": 2})]
    data = series(far, "10 minutes", 80)
    assert (data.before, data.after) == (1, 2)
    assert sum(sum(count.values()) for count in data.counts) == 300
    half = [TimeBucket(datetime(1970, 1, 1), {"I": 100}), *near]
    assert series(half, "10 minutes", 80).before == 0
    assert series(near, "10 minutes", 80) == series(far[1:-1], "10 minutes", 80)


@pytest.mark.parametrize("frame", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    "moments",
    [
        every(timedelta(0), 1),
        every(timedelta(seconds=1), 50),
        every(timedelta(days=9), 40),
        every(timedelta(days=9000), 300, datetime(1, 1, 1)),
        [TimeBucket(START, {"?": 7})],
    ],
)
def test_columns_lie_within_their_frame_and_are_as_high_as_their_counts(
    frame: Frame, moments: list[TimeBucket]
) -> None:
    data = series(moments, "second", frame.steps)
    assert len(data.counts) <= frame.steps
    plot = etree.fromstring(columns(data, frame))
    heights = Counter[str]()
    for rect in plot.iter("rect"):
        x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert frame.left - 0.01 <= x
        assert x + width <= frame.width - frame.right + 0.01
        assert frame.top - 0.01 <= y
        assert y + height <= frame.height - frame.bottom + 0.01
        heights[rect.get("class")] += height  # type: ignore[assignment]
    scale = (frame.height - frame.top - frame.bottom) / ticks(data.most)[-1]
    operations = sum((Counter(moment.operations) for moment in moments), Counter())
    for kind, name in (("I", "op-insert"), ("D", "op-delete"), ("?", "op-other")):
        assert heights[name] == pytest.approx(operations[kind] * scale)
    for label in plot.iter("text"):
        assert 0 <= float(label.get("x")) <= frame.width
        assert float(label.get("y")) <= frame.height
    told = plot.find("desc")
    assert told is not None
    assert told.text == description(data)


def test_dates_under_an_axis_do_not_overlap() -> None:
    data = series(every(timedelta(minutes=10), 115), "10 minutes", NARROW.steps)
    plot = etree.fromstring(columns(data, NARROW))
    places = [float(label.get("x")) for label in plot.iter("text") if label.get("class") == "part-of"]
    assert places
    assert all(after - before >= 84 for before, after in pairwise(places))


def test_parts_of_a_bar_follow_each_other() -> None:
    drawn = etree.fromstring(bar({"D": 1, "I": 2, "?": 1}, 8))
    found = [(rect.get("class"), rect.get("x"), rect.get("width")) for rect in drawn]
    assert found == [("op-insert", "0", "250"), ("op-delete", "250", "125"), ("op-other", "375", "125")]
    assert etree.fromstring(plain_bar(0, 0))[0].get("width") == "0"
    assert Series(STEPS[0], 0, ({"I": 1}, {"I": 3})).most == 3


# Markup


def test_what_is_no_markup_is_text() -> None:
    assert text("<&\"'\u202e\n") == "&lt;&amp;&quot;&#x27;\\u202e\\n"
    assert element("p", "<b>", Markup("<i>"), None, 1234, class_="a", data_x='"', hidden=True, open=False, id=None) == (
        '<p class="a" data-x="&quot;" hidden>&lt;b&gt;<i>1,234</p>'
    )
    assert element("br") == "<br>"
    assert join(["a", None, Markup("&amp;")]) == "a&amp;"
