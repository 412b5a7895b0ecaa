"""The pace of sending: messages follow each other as their changes did, by the times of the changes."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.kafka.request import Pace

_TOGETHER = 0.01  # seconds: messages that are due so close to each other are sent together


class Schedule:
    """When each message is due, in seconds after the first one.

    A message without a time, or with a time before that of an earlier message, is due with the message before it.
    """

    def __init__(self, pace: Pace) -> None:
        self._units = 1e6 * pace.factor  # microseconds between changes, in a second of the schedule
        self._max_gap = int(min(pace.max_gap * self._units, 2**62))
        self._latest: int | None = None
        self._due = 0

    @property
    def seconds(self) -> float:
        """When the last message so far is due."""
        return self._due / self._units

    def dues(self, times: pa.Array[pa.Int64Scalar]) -> list[float]:
        """Return when the next messages are due. `times`: of their changes, in microseconds since 1970."""
        known = pa.concat_arrays([pa.array([self._latest], pa.int64()), times])
        reached = pc.fill_null_forward(pc.cumulative_max(known, skip_nulls=True))
        gaps = pc.fill_null(pc.subtract(reached.slice(1), reached.slice(0, len(times))), 0)
        sums = pa.array([self._due], pa.int64()), pc.min_element_wise(gaps, self._max_gap)
        self._latest, (_, *dues) = reached[-1].as_py(), non_null_values(pc.cumulative_sum(pa.concat_arrays(sums)))
        self._due = dues[-1] if dues else self._due
        return [due / self._units for due in dues]


def pace_seconds(pace: Pace, times: Iterable[pa.Array[pa.Int64Scalar]]) -> float | None:
    """Return how long a schedule takes; None if no message has a time."""
    schedule, has_times = Schedule(pace), False
    for batch in times:
        schedule.dues(batch)
        has_times |= batch.null_count < len(batch)
    return schedule.seconds if has_times else None


class Pacer:
    """Divides messages into parts that are due together.

    sent  messages that earlier attempts have sent, which wait for nothing
    at    when they had sent the last one, in seconds since 1970: what is left of the pause after it is waited for
    """

    def __init__(self, pace: Pace, sent: int, at: float) -> None:
        self._schedule = Schedule(pace)
        self._sent, self._at = sent, at
        self._last = 0.0  # when the last of them was due
        self._start: float | None = None  # the monotonic time of the first message of the schedule

    def parts(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, float, float]]:
        """Yield parts of a batch, each with the monotonic time at which it is due, and its seconds in the schedule."""
        dues = self._schedule.dues(batch["op_ts"])
        begin = min(self._sent, len(batch))
        if begin:
            self._sent, self._last = self._sent - begin, dues[begin - 1]
            yield batch.slice(0, begin), 0.0, self._last
        while begin < len(batch):
            due, now = dues[begin], time.monotonic()
            if self._start is None:
                self._start = now - due + max(0.0, due - self._last - max(0.0, time.time() - self._at))
            end = bisect_right(dues, max(due + _TOGETHER, now - self._start), begin)
            yield batch.slice(begin, end - begin), self._start + due, due
            begin = end
