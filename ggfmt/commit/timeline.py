"""Operations over time: the number of each type by second, or in longer steps if there are too many seconds.

A time is the `op_ts` of an operation, as its source wrote it: its time zone is unknown. The first bytes of it
say which second, minute or day it is, so that none has to be parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, non_null_values
from ggfmt.columnar.pieces import text_buffer
from ggfmt.model.change import OP_TYPES

MOST_COUNTS = 1000
# A step, and how many bytes of `yyyy-MM-dd HH:mm:ss` say which one it is.
STEPS = {
    "second": 19,
    "10 seconds": 18,
    "minute": 16,
    "10 minutes": 15,
    "hour": 13,
    "day": 10,
    "month": 7,
    "year": 4,
}
_WIDTHS = tuple(STEPS.values())
_KINDS = tuple(kind.encode() for kind in OP_TYPES)
_FEW_TO_A_RUN = 8  # consecutive operations of one time; fewer are faster to count as a whole
_TOO_MANY = 2 * MOST_COUNTS  # of one batch, even if each time is written in two ways
_PATTERN = (
    r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])"
    r"([ T]([01][0-9]|2[0-3])(:[0-5]([0-9](:[0-5]([0-9])?)?)?)?)?)?)?"
)
_TIME = re.compile(_PATTERN.encode())


@dataclass
class Timeline:
    """Operations by type and time, in no more than `MOST_COUNTS` counts.

    What it says does not depend on the order or the parts in which operations were added: the step is the shortest
    that all times together allow. A key of `counts` is the type, which is one byte, and the time. `untimed` are
    operations whose source gives no time, or something else in its place.
    """

    width: int = _WIDTHS[0]
    counts: Counter[bytes] = field(default_factory=Counter)
    untimed: Counter[str] = field(default_factory=Counter)

    def add(self, operations: Sequence[tuple[pa.StringArray, pa.StringArray]]) -> None:
        """Count the operations of some batches, by `op` and `op_ts`; many small batches cost little more than one."""
        if not operations:
            return
        op, op_ts = (pa.concat_arrays(arrays) for arrays in zip(*operations, strict=True))
        whole = op_ts.cast(pa.binary())
        times = pc.binary_slice(whole, 0, self.width)
        runs = pc.run_end_encode(times)
        if len(runs.values) * _FEW_TO_A_RUN <= len(times):
            self._count_runs(op, runs)
        else:
            values, counts = _distinct(op, times)
            while len(values) > _TOO_MANY and self.width > _WIDTHS[-1] and _valid(values) > _TOO_MANY:
                self._widen(_next(self.width))
                values, counts = _distinct(op, pc.binary_slice(whole, 0, self.width))
            for key, count in zip(non_null_values(values), non_null_values(counts), strict=True):
                self._count(key, count)
        self._limit()

    def _count_runs(self, op: pa.StringArray, runs: pa.RunEndEncodedArray[Any, Any]) -> None:
        """Count consecutive operations of one time."""
        kinds = text_buffer(op).to_pybytes()
        start = 0
        for time, end in zip(runs.values.to_pylist(), non_null_values(runs.run_ends), strict=True):
            for kind in _KINDS:
                if count := kinds.count(kind, start, end):
                    self._count(kind + (time or b""), count)
            start = end

    def merge(self, other: Timeline) -> None:
        """Add the counts of another timeline."""
        self.untimed += other.untimed
        self._widen(other.width)
        for key, count in other.counts.items():
            self._count(key[: 1 + self.width], count)
        self._limit()

    def as_document(self) -> dict[str, Any]:
        times: dict[str, dict[str, int]] = {}
        for key, count in sorted(self.counts.items(), key=lambda item: item[0][1:]):
            times.setdefault(key[1:].decode(), {})[key[:1].decode()] = count
        step = next(step for step, width in STEPS.items() if width == self.width)
        return {"step": step, "times": times, "untimed": dict(self.untimed)}

    def _count(self, key: bytes, count: int) -> None:
        if key not in self.counts:
            time = key[1:].replace(b"T", b" ")
            key = key[:1] + time
            if key not in self.counts and (len(time) != self.width or not _TIME.fullmatch(time)):
                self.untimed[key[:1].decode()] += count
                return
        self.counts[key] += count

    def _limit(self) -> None:
        while len(self.counts) > MOST_COUNTS and self.width > _WIDTHS[-1]:
            self._widen(_next(self.width))
        if len(self.counts) > MOST_COUNTS:  # even of years: no clock was right
            finer, self.counts = self.counts, Counter()
            for key, count in finer.items():
                self.untimed[key[:1].decode()] += count

    def _widen(self, width: int) -> None:
        if width < self.width:
            self.width = width
            finer, self.counts = self.counts, Counter()
            for key, count in finer.items():
                self._count(key[: 1 + width], count)


def _next(width: int) -> int:
    """The width of the next longer step."""
    return _WIDTHS[_WIDTHS.index(width) + 1]


def _distinct(op: pa.StringArray, times: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Each type and time, as a key of `Timeline.counts`, and the number of its operations."""
    keys = pc.binary_join_element_wise(op.cast(pa.binary()), times, b"", null_handling="replace")
    counted = pc.value_counts(keys)
    return narrow(counted.field("values"), pa.BinaryArray), narrow(counted.field("counts"), pa.Int64Array)


def _valid(keys: pa.BinaryArray) -> int:
    """The number of keys with a time."""
    return int(pc.sum(pc.match_substring_regex(keys, f"^.(?:{_PATTERN})$")).as_py())
