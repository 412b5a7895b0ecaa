"""What a command takes: time, computing and memory, of all its processes. Needs Linux (`/proc`).

A command prints the line BEGIN when it is ready to work and END when the work is done: its session is up by the one,
and still there at the other. The rest is start and stop.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import TICKS, descendants, family, processes

BEGIN, END = "BEGIN", "END"
_EVERY_SECONDS = 0.25  # a look at all processes takes 4 ms


class Failed(Exception):
    """A command did not do its work; the text is the last thing it said."""


@dataclass(frozen=True)
class Measure:
    """`seconds` and `cpu` (seconds of computing) are of the work alone, `whole` is the time from start to end.

    Of a command that prints no marks, all of it is work. `peaks` are bytes: of the first process (`driver`), of the
    JVMs and of the largest other process (`worker`). `elsewhere` is the seconds that processes which are no part of it
    computed meanwhile. `lines` is what it printed besides.
    """

    seconds: float
    cpu: float
    whole: float
    peaks: Mapping[str, int]
    elsewhere: float
    lines: tuple[str, ...]


@dataclass
class _Tree:
    """A process and all that came of it, looked at now and then.

    What a process has computed is added up here and not by its parent: PySpark's daemon ignores its children's ends,
    and the system does not count them for it.
    """

    root: int
    computed: dict[tuple[int, int], float] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=lambda: {"driver": 0, "jvm": 0, "worker": 0})

    def look(self) -> float:
        """The seconds of computing up to now."""
        for number, item in family(self.root).items():
            self.computed[number, item.started] = item.cpu
            kind = "jvm" if item.name == "java" else "driver" if number == self.root else "worker"
            self.peaks[kind] = max(self.peaks[kind], item.peak)
        return sum(self.computed.values())


def measure(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
    statuses: Collection[int] = (0,),
    marked: bool = False,
) -> Measure:
    """Runs a command to its end. Raises Failed where its exit status is none of `statuses`, it has not ended after so
    many seconds, or it has left out a mark: one of them or, if it is to be `marked`, both."""
    with tempfile.TemporaryFile() as errors:
        started, others = time.perf_counter(), _busy() - time.process_time()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        tree, printed = _Tree(process.pid), _Printed(process)
        try:
            while printed.ended is None:
                printed.take(tree, _EVERY_SECONDS)
                if seconds is not None and time.perf_counter() - started > seconds:
                    raise Failed(f"not done after {seconds:.0f} seconds")
        except BaseException:
            _end(process)
            raise
        if process.returncode not in statuses:
            errors.seek(0)
            raise Failed(reason(errors.read().decode("utf-8", "replace"), process.returncode))
    if len(printed.marks) < 2 and (marked or printed.marks):
        raise Failed(f"it printed {' and '.join(printed.marks) or 'none'} of the two marks")
    computed = sum(tree.computed.values())
    begin, before = printed.marks.get(BEGIN, (started, 0.0))
    end, after = printed.marks.get(END, (printed.ended, computed))
    elsewhere = _busy() - time.process_time() - others - computed
    return Measure(end - begin, after - before, printed.ended - started, tree.peaks, elsewhere, tuple(printed.lines))


def reason(errors: str, status: int) -> str:
    """What a command that failed says of it: the last line with an error, else the last one."""
    said = errors.strip().splitlines()
    telling = [line for line in said if "error" in line.lower() or "Exception" in line] or said
    return telling[-1][:300] if telling else f"exit status {status}"


class _Printed:
    """What a command prints: marks with their moments and what was computed until then, and other lines. `ended` is the
    moment of its end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.marks: dict[str, tuple[float, float]] = {}
        self.lines: list[str] = []
        self.ended: float | None = None
        self._process = process
        self._queue: queue.SimpleQueue[tuple[float, str | None]] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        threading.Thread(target=self._wait, daemon=True).start()

    def take(self, tree: _Tree, seconds: float) -> None:
        """Waits so long at most for a line or the end."""
        try:
            moment, line = self._queue.get(timeout=seconds)
        except queue.Empty:
            tree.look()
            return
        if line is None:
            self.ended = moment
            self._reading.join(_EVERY_SECONDS)  # what the command has left behind may keep its output open
            while not self._queue.empty():
                self.take(tree, 0)
        elif line in (BEGIN, END):
            self.marks[line] = moment, tree.look()
        else:
            self.lines.append(line)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._queue.put((time.perf_counter(), line.rstrip("\n")))

    def _wait(self) -> None:
        self._process.wait()
        self._queue.put((time.perf_counter(), None))


def _busy() -> float:
    """Seconds of computing on all processors since the machine started."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / TICKS


def _end(process: subprocess.Popen[str]) -> None:
    every = descendants(process.pid)
    process.kill()
    for number, item in every.items():
        left = processes().get(number)
        if left is not None and left.started == item.started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
    process.wait()
