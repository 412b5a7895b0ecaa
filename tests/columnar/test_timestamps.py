"""Times between numbers and texts: columns at once are one value after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar import timestamps
from ggfmt.columnar.timestamps import cast_times, has_zone, instant_micros, text_micros

_MICROS, _INSTANTS, _NANOS = pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns")

_DAYS = st.one_of(
    st.dates().map(str),
    st.sampled_from(["0000-00-00", "0000-02-29", "1900-02-29", "2000-02-29", "2024-02-29", "2023-02-29", "2024-04-31"]),
    st.from_regex("[0-9]{4}-[0-3][0-9]-[0-3][0-9]", fullmatch=True),
    st.sampled_from(["2024-1-1", "12024-01-01", "-2024-01-01", " 2024-01-01", "1677-09-21", "2262-04-12", ""]),
)
_CLOCKS = st.one_of(
    st.times().map(str),
    st.from_regex("[0-2][0-9]:[0-6][0-9]:[0-6][0-9](?:[.][0-9]{0,10})?", fullmatch=True),
    st.sampled_from(["24:00:00", "23:59:60", "10", "10:11", "", "1:02:03"]),
)
_ZONES = st.one_of(
    st.just(""),
    st.sampled_from(["Z", "z", "+02", "-0230", "+05:30", "+24:00", "+23:60", "+2", " Z", "+00:00", "-23:59"]),
)
TIMES = st.one_of(
    st.builds("{}{}{}{}".format, _DAYS, st.sampled_from([" ", "T", ":", "", "t", "  "]), _CLOCKS, _ZONES),
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(str),
    st.text(max_size=12),
    st.none(),
)


def one_by_one(texts: Sequence[str | None], type: pa.DataType) -> tuple[list[int | None], list[int]]:
    """The numbers that Arrow has for single texts as times of a type, and the rows of those that it refuses."""
    numbers: list[int | None] = []
    bad = []
    for row, text in enumerate(texts):
        try:
            numbers.append(pa.scalar(text, pa.string()).cast(type).cast(pa.int64()).as_py())
        except pa.ArrowInvalid:
            numbers.append(None)
            bad.append(row)
    return numbers, bad


def with_colons_as_blanks(texts: Sequence[str | None]) -> list[str | None]:
    """As trails have them between date and time."""
    return [text and re.sub("^([0-9]{4}-[0-9]{2}-[0-9]{2}):(?=[0-9])", r"\1 ", text) for text in texts]


@examples(300)
@given(st.lists(TIMES, max_size=12), st.sampled_from([_MICROS, _INSTANTS, _NANOS]))
def test_columns_are_cast_as_single_texts_are(texts: list[str | None], type: pa.DataType) -> None:
    numbers, bad = cast_times(pa.array(["x", *texts], pa.string()).slice(1), type)
    assert (numbers.to_pylist(), bad) == one_by_one(texts, type)


@examples(300)
@given(st.lists(TIMES, max_size=12))
def test_times_without_a_zone(texts: list[str | None]) -> None:
    numbers, bad = text_micros(pa.array(texts, pa.string()))
    expected = one_by_one(texts, _MICROS)
    if expected[1]:
        expected = one_by_one(with_colons_as_blanks(texts), _MICROS)
    assert (numbers.to_pylist(), bad) == expected


@examples(300)
@given(st.lists(TIMES, max_size=12))
def test_times_with_zones_and_without(texts: list[str | None]) -> None:
    array = pa.array(texts, pa.string())
    marks = non_null_values(has_zone(array))
    local, bad = one_by_one(
        with_colons_as_blanks([None if mark else text for text, mark in zip(texts, marks, strict=True)]), _MICROS
    )
    own, wrong = one_by_one([text if mark else None for text, mark in zip(texts, marks, strict=True)], _INSTANTS)
    numbers, rows = instant_micros(array)
    assert numbers.to_pylist() == [one if two is None else two for one, two in zip(local, own, strict=True)]
    assert rows == [*bad, *wrong]


@examples(300)
@given(st.data())
def test_what_is_cast_at_once_is_what_arrow_takes(data: st.DataObject) -> None:
    for pattern, type in ((timestamps._TIME, _MICROS), (timestamps._TIME_WITH_ZONE, _INSTANTS)):
        text = data.draw(st.from_regex(pattern.removeprefix("^").removesuffix("$"), fullmatch=True))
        assert one_by_one([text], type)[1] == []


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_no_text_is_cast_alone_for_another_that_is_no_time(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f"2024-02-29 10:11:{second:02d}.{second}{zone}" for second in range(60)] + ["no time", None])
    alone: list[str] = []

    def by_value(make: object) -> object:
        def kernel(others: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
            alone.extend(non_null_values(others.drop_null()))
            return others, []

        return kernel

    monkeypatch.setattr(timestamps, "by_value", by_value)
    numbers, bad = instant_micros(texts)
    assert (alone, bad, numbers.null_count) == ([], [60], 2)


@pytest.mark.parametrize(
    "texts", [["2005-03-04 10"], ["2005-03-04T10:11", "x"], ["1000-01-01 00:00", None, "2005-13-04"]]
)
def test_rare_texts_that_arrow_takes(texts: list[str | None]) -> None:
    numbers, bad = cast_times(pa.array(texts, pa.string()), _MICROS)
    assert (numbers.to_pylist(), bad) == one_by_one(texts, _MICROS)
    assert numbers.null_count < len(texts)
