"""Operations by time and type: exact, bounded, and the same however they are added."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.commit.records import MAX_COUNTS, STEPS, Timeline
from ggfmt.model.change import OP_TYPES

START = datetime(2026, 1, 31, 18, 30)


Operations = list[tuple[str, str | None]]


def arrays(operations: Operations) -> tuple[pa.StringArray, pa.StringArray]:
    kinds, times = zip(*operations, strict=True)
    return pa.array(kinds), pa.array(times, pa.string())


def told(*batches: Operations) -> dict[str, Any]:
    timeline = Timeline()
    for operations in batches:
        timeline.add([arrays(operations)])
    return timeline.as_document()


def every(seconds: float, count: int, kinds: str = "IUD") -> Operations:
    return [
        (kinds[number % len(kinds)], f"{START + timedelta(seconds=number * seconds)}.000000") for number in range(count)
    ]


def test_operations_are_counted_by_second_and_type() -> None:
    operations: Operations = [
        ("I", "2026-01-31 18:30:51.000001"),
        ("I", "2026-01-31T18:30:51Z"),
        ("T", "2026-01-31 18:30:52"),
        ("D", "2026-01-31 18:30:51.9"),
    ]
    assert told(operations) == {
        "step": "second",
        "times": {"2026-01-31 18:30:51": {"D": 1, "I": 2}, "2026-01-31 18:30:52": {"T": 1}},
        "untimed": {},
    }


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "2026-01-31", "2026-01-31 18:30", "0000-00-00 00:00:00", "2026-13-01 00:00:00"),
        *("2026-01-31 24:00:00", "1769884251000", "2026-01-31 18:30:5é", "junk" * 9, "T" * 26, "\x00" * 19),
    ],
)
def test_what_is_no_time_is_counted_all_the_same(text: str | None) -> None:
    for count in (1, 40):
        document = told([("U", text)] * count + [("I", "2026-01-31 18:30:51")] * 2)
        assert document["untimed"] == {"U": count}
        assert document["times"] == {"2026-01-31 18:30:51": {"I": 2}}


@pytest.mark.parametrize(
    ("seconds", "count", "step"),
    [
        (0, 1500, "second"),
        (1, MAX_COUNTS, "second"),
        (1, MAX_COUNTS + 1, "10 seconds"),
        (60, MAX_COUNTS + 1, "10 minutes"),
        (3600, MAX_COUNTS + 1, "day"),
        (31 * 86400, MAX_COUNTS + 1, "year"),
    ],
)
def test_the_step_is_the_shortest_that_is_not_too_many(seconds: int, count: int, step: str) -> None:
    document = told(every(seconds, count, "I"))
    assert document["step"] == step
    assert len(document["times"]) <= MAX_COUNTS
    assert {len(time) for time in document["times"]} == {STEPS[step]}
    expected = Counter(time[: STEPS[step]] for _, time in every(seconds, count, "I") if time)
    assert {time: kinds["I"] for time, kinds in document["times"].items()} == expected


def test_times_of_no_clock_are_untimed() -> None:
    document = told([("I", f"{year:04d}-01-01 00:00:00") for year in range(1, 1200)])
    assert document == {"step": "year", "times": {}, "untimed": {"I": 1199}}


@pytest.mark.parametrize("seconds", [0, 0.02, 1, 3600])
def test_a_long_batch_is_counted_as_its_parts(seconds: float) -> None:
    operations = [*every(seconds, 50_000), *every(0.5, 20_000)]
    random.Random(1).shuffle(operations)
    whole = told(operations)
    assert whole == told(*(operations[start : start + 1000] for start in range(0, len(operations), 1000)))
    assert sum(sum(kinds.values()) for kinds in whole["times"].values()) == 70_000


@pytest.mark.parametrize("operations", [[], every(7, 1000), [("I", None)], [*every(90_000, 300), ("D", "no time")]])
def test_packed_counts_are_small_and_the_same(operations: Operations) -> None:
    timeline, merged = Timeline(), Timeline()
    if operations:
        timeline.add([arrays(operations)])
    document = timeline.as_document()
    timeline.pack()
    assert len(pickle.dumps(timeline)) < 1000
    merged += timeline
    assert merged.as_document() == document


@given(st.integers(0, 2**32), st.sampled_from([0.01, 1, 7, 400, 90000]), st.lists(st.integers(1, 400), max_size=6))
@examples(6)
def test_order_and_parts_do_not_matter(seed: int, seconds: float, cuts: list[int]) -> None:
    operations = every(seconds, 1500, "IIUDT")
    operations += [("I", None), ("D", "no time")]
    whole = told(operations)
    random.Random(seed).shuffle(operations)
    parts, rest = [], operations
    for cut in cuts:
        parts.append(rest[:cut])
        rest = rest[cut:]
    merged = Timeline()
    for part in filter(None, (*parts, rest)):
        timeline = Timeline()
        timeline.add([arrays(part[:5]), arrays(part[5:])] if part[5:] else [arrays(part)])
        if len(part) % 2:
            timeline.pack()
        merged += pickle.loads(pickle.dumps(timeline))
    assert merged.as_document() == whole
    assert sum(sum(kinds.values()) for kinds in (*whole["times"].values(), whole["untimed"])) == 1502
    assert set(OP_TYPES) == {kind for kinds in whole["times"].values() for kind in kinds}
