"""The current time stamp of messages.

GoldenGate's `current_ts` has millisecond precision; the last three of its six fraction digits count the operations of
one millisecond, which makes the stamps of a process distinct and increasing.
"""

from __future__ import annotations

import calendar
import time
from array import array
from datetime import datetime, timezone

import pyarrow as pa

from ggfmt.arrow import compute as pc

_PER_MS = 1000
_COUNTERS = [f"{n:03d}" for n in range(_PER_MS)]
_STAMP_BYTES = 26


class Clock:
    """Stamps of local time, or the same stamp for ever when `fixed` (a naive time) is given."""

    def __init__(self, fixed: datetime | None = None) -> None:
        self.fixed = fixed
        self._next = 0  # in thousandths of a millisecond
        self._ends = array("i", [0])  # of stamps, one after the other
        self._last = (0, "", "")  # a second, a form, and what it looks like

    def stamps(self, count: int, iso8601: bool) -> pa.StringArray | pa.StringScalar:
        """`count` stamps, later than all before; one scalar for all if the clock is fixed."""
        form = "%Y-%m-%dT%H:%M:%S" if iso8601 else "%Y-%m-%d %H:%M:%S"
        if self.fixed is not None:
            return pa.scalar(self.fixed.strftime(form) + f".{self.fixed.microsecond:06d}", pa.string())
        start = self._take(count)
        end = start + count
        stamps = ""
        while start < end:
            ms, counter = divmod(start, _PER_MS)
            size = min(_PER_MS - counter, end - start)
            moment = f"{self._shown(ms // 1000, form)}.{ms % 1000:03d}"
            stamps += moment + moment.join(_COUNTERS[counter : counter + size])
            start += size
        if len(self._ends) <= count:
            self._ends = array("i", range(0, _STAMP_BYTES * (count + 1), _STAMP_BYTES))
        return pa.StringArray.from_buffers(count, pa.py_buffer(self._ends), pa.py_buffer(stamps.encode()))

    def _shown(self, second: int, form: str) -> str:
        if self._last[:2] != (second, form):
            self._last = (second, form, datetime.fromtimestamp(second).strftime(form))
        return self._last[2]

    def micros(self, count: int) -> pa.StringArray | pa.StringScalar:
        """As `stamps`, in microseconds since 1970; a fixed time is taken as one of UTC."""
        if self.fixed is not None:
            moment = self.fixed.replace(tzinfo=timezone.utc)
            return pa.scalar(str(calendar.timegm(moment.utctimetuple()) * 1_000_000 + moment.microsecond), pa.string())
        return pc.cast(pa.array(range(start := self._take(count), start + count), pa.int64()), pa.string())

    def _take(self, count: int) -> int:
        """The first of so many stamps, which are nobody else's."""
        start = max(self._next, time.time_ns() // 1_000_000 * _PER_MS)
        self._next = start + count
        return start

    def millis(self) -> int:
        """The present time in milliseconds since 1970; a fixed one is taken as one of UTC."""
        if self.fixed is None:
            return time.time_ns() // 1_000_000
        return round(self.fixed.replace(tzinfo=timezone.utc).timestamp() * 1000)
