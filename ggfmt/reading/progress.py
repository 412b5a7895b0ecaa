"""The progress of a run: its phase, and in phases that read, the bytes of the finished splits.

Runners say how many of their tasks are done, and not which. They start tasks in order, so the order in which tasks end
is that of a run in which each takes as long as it has bytes. From that follow the bytes of the tasks that are done, and
the share of the time: one large file at the end takes one core, however many there are.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from ggfmt import signals
from ggfmt.dataclasses import dataclass, replace
from ggfmt.reading.runner import TaskCallback

log = logging.getLogger("ggfmt")

# The steps of a run. Clocks are read for each batch and never for each operation.

LISTING = "listing"
STARTING = "starting"
ROUTING = "routing"
DISCOVERY = "discovery"
READING = "reading"
FORMATTING = "formatting"
WRITING = "writing"
JOINING = "joining"
SENDING = "sending"
COMMITTING = "committing"

STEPS = {
    LISTING: "find and inspect the inputs, and check the request before a task starts",
    STARTING: "start Spark",
    ROUTING: "divide the records by table, if splits have many tables",
    DISCOVERY: "find the tables and columns that no definition contains",
    READING: "read, decompress and decode files; all tasks together",
    FORMATTING: "make messages; all tasks together",
    WRITING: "write messages to staged files; all tasks together",
    JOINING: "join small files of a table",
    SENDING: "send messages to Kafka; all senders together",
    COMMITTING: "publish files, schemas and the manifest; or copy to standard output",
}

# For a person who waits; tasks do several steps at once.
PHASES = {step: step for step in STEPS}
PHASES |= {STARTING: "starting Spark", ROUTING: "dividing by table", DISCOVERY: "finding tables"}
PHASES |= dict.fromkeys((READING, FORMATTING, WRITING), "converting")


class Stopwatch:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str | None) -> None:
        """Add the time since the last call to a step; to none, if `step` is None."""
        now = time.perf_counter()
        if step is not None:
            self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now


def added(some: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {step: some.get(step, 0.0) + more.get(step, 0.0) for step in STEPS if step in some or step in more}


@dataclass(frozen=True)
class ProgressSnapshot:
    """The progress of a run. Times are in seconds, moments are of `time.monotonic`.

    `bytes_done` of `bytes_total` are those of finished splits, as stored; some phases have no total. `operations` are
    those of finished splits, None if unknown. `left` is the time that the phase takes from `moment` on, None if
    unknown, and `least` the time that it would take if the next split ended now. `waits_until`: a moment up to which
    nothing is to do.
    """

    phase: str
    started: float
    moment: float
    bytes_done: int = 0
    bytes_total: int = 0
    operations: int | None = None
    left: float | None = None
    least: float = 0.0
    waits_until: float = 0.0

    @property
    def rate(self) -> float | None:
        seconds = self.moment - self.started
        return self.bytes_done / seconds if self.bytes_done and seconds > 0 else None

    def remaining(self, now: float) -> float | None:
        """Return the seconds left in the phase: fewer as time goes by, but never fewer than other splits need."""
        return None if self.left is None else max(self.left - (now - self.moment), self.least)

    def with_unfinished(self, size: int, now: float) -> ProgressSnapshot:
        """Return the progress with so many bytes of splits that are not finished."""
        done = min(self.bytes_done + size, self.bytes_total)
        if done <= self.bytes_done:
            return self
        left = self.remaining(now)
        if left is None:
            left = (self.bytes_total - done) * (now - self.started) / done
        return replace(self, moment=now, bytes_done=done, left=left, least=0.0)


ProgressCallback = Callable[[ProgressSnapshot], None]


class ProgressTracker:
    """Report the progress of a run to a callback, one phase at a time. Without a callback, do nothing."""

    def __init__(self, callback: ProgressCallback | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._callback = callback
        self._clock = clock
        self.step = ""  # the current one
        self._standing = ProgressSnapshot("", clock(), clock())

    def start_phase(self, step: str) -> None:
        """Begin the phase of a step, of unknown length; a name that is no step of a run is itself a phase."""
        signals.check()
        self.step = step
        now, phase = self._clock(), PHASES.get(step, step)
        if phase != self._standing.phase:
            log.debug("%s", phase)
        self._set(ProgressSnapshot(phase, now, now, operations=self._standing.operations))

    def start_tasks(self, step: str, sizes: Sequence[int], parallelism: int) -> TaskCallback | None:
        """Begin a phase in tasks with these bytes. Return a function that the runner calls as tasks end."""
        self.start_phase(step)
        if self._callback is None:
            return None
        ends = ends_of_tasks(sizes, parallelism)
        whole, total, started = ends[-1][0], sum(sizes), self._standing.started
        self._set(replace(self._standing, bytes_total=total))

        def ended(done: int, _: int) -> None:
            now, (share, size) = self._clock(), ends[done]
            if size == self._standing.bytes_done:
                return
            unit = (now - started) / share if share else 0.0
            after = ends[min(done + 1, len(sizes))][0]
            left = (whole - share) * unit
            least = (whole - after) * unit
            standing = replace(self._standing, moment=now, bytes_done=size, left=left, least=least)
            self._set(standing)

        return ended

    def set_operations(self, operations: int | None) -> None:
        self._set(replace(self._standing, operations=operations))

    def set_waiting(self, seconds: float, left: float) -> None:
        """Say that nothing is to do for so many seconds, of those that are left in the phase. The bytes of the phase
        no longer say how far it is."""
        now = self._clock()
        until = now + seconds if seconds >= 1 else 0.0
        self._set(replace(self._standing, moment=now, left=left, bytes_total=0, waits_until=until))

    def _set(self, standing: ProgressSnapshot) -> None:
        self._standing = standing
        if self._callback is not None:
            self._callback(standing)


def ends_of_tasks(sizes: Sequence[int], parallelism: int) -> list[tuple[int, int]]:
    """For none, one, two and more finished tasks: the time, in bytes that one of `parallelism` workers has read, and
    the bytes of the finished tasks."""
    busy: list[tuple[int, int]] = []  # when it ends, and its bytes
    ended: list[tuple[int, int]] = [(0, 0)]
    for size in sizes:
        start = 0
        if len(busy) >= max(parallelism, 1):
            start, _ = ended_task = heapq.heappop(busy)
            ended.append(ended_task)
        heapq.heappush(busy, (start + size, size))
    ended += sorted(busy)
    moments = [moment for moment, _ in ended]
    return list(zip(moments, itertools.accumulate(size for _, size in ended), strict=True))
