"""The progress of a run, for people: a line at the bottom of a terminal, or lines in the log."""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TextIO

from ggfmt.reading.files import bytes_being_read
from ggfmt.reading.progress import ProgressSnapshot
from ggfmt.render.terminal import columns_of, encodable

_TICK_SECONDS = 0.2
_LOG_SECONDS = 10.0  # between two lines about one phase
_BAR, _MIN_BAR = 24, 6  # columns

# The cursor waits at the start of the line. If the terminal becomes narrower, it breaks the line into several rows and
# leaves the cursor in the first one, or it cuts the line off: in both cases the line goes if all from the cursor on is
# cleared. That starts in the second column: from the top left corner, tmux would move it to its history instead. A line
# that is drawn while the terminal shrinks is cut off, not broken.
_CLEAR = "\r\x1b[K\x1b[C\x1b[J\r"
_DRAWN = "\x1b[?7l{}\x1b[?7h\r"

log = logging.getLogger("ggfmt")


class _Watcher(ABC):
    """Shows progress regularly, with what the tasks of this process have read of splits that are not finished."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._standing: ProgressSnapshot | None = None
        self._unfinished = 0
        self._ended = threading.Event()
        self._ticking = threading.Thread(target=self._tick, name="ggfmt-progress", daemon=True)

    def __enter__(self) -> None:
        self._ticking.start()

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._ticking.join()

    @abstractmethod
    def draw(self, standing: ProgressSnapshot, now: float) -> None: ...

    def show(self, standing: ProgressSnapshot) -> None:
        before, self._standing = self._standing, standing
        if before is None or standing.started != before.started:
            self._unfinished = 0
        else:  # what was shown stays: a file may be closed some time before its split is finished
            self._unfinished = max(self._unfinished - (standing.bytes_done - before.bytes_done), 0)
        self._draw_now()

    def _draw_now(self) -> None:
        standing, now = self._standing, self._clock()
        if standing is not None and not self._ended.is_set():
            self._unfinished = max(self._unfinished, bytes_being_read())  # no lock: a reader may write to the log
            with self._lock:
                self.draw(standing.with_unfinished(self._unfinished, now), now)

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            self._draw_now()


class StatusLine(_Watcher):
    """A line that is redrawn regularly, with other output to standard error above it; the end removes it."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal
        self._drawn = ""

    def __enter__(self) -> None:
        self._before, sys.stderr = sys.stderr, _StderrProxy(self)
        super().__enter__()

    def __exit__(self, *exception: object) -> None:
        above, sys.stderr = sys.stderr, self._before
        super().__exit__(*exception)
        above.close()
        self._draw("")

    def draw(self, standing: ProgressSnapshot, now: float) -> None:
        unicode = encodable("━╌", self._terminal) == "━╌"
        self._draw(status_line(standing, now, columns_of(self._terminal) - 1, unicode))

    def write_above(self, text: str) -> None:
        with self._lock:
            drawn = self._drawn
            self._terminal.write(f"{_CLEAR}{text}{_DRAWN.format(drawn)}" if drawn else text)
            self._terminal.flush()

    def _draw(self, text: str) -> None:
        with self._lock, suppress(OSError, ValueError):  # a closed terminal must not stop a run
            if text != self._drawn:
                self._terminal.write(_CLEAR + (_DRAWN.format(text) if text else ""))
                self._terminal.flush()
                self._drawn = text


class _StderrProxy(io.TextIOBase):
    def __init__(self, line: StatusLine) -> None:
        self._line = line
        self._begun = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._line._terminal.encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._line._terminal.fileno()

    def write(self, text: str) -> int:
        whole, end, self._begun = (self._begun + text).rpartition("\n")
        if end:
            self._line.write_above(whole + end)
        return len(text)

    def close(self) -> None:
        begun, self._begun = self._begun, ""
        if begun:
            self._line.write_above(begun + "\n")
        super().close()


class LogProgress(_Watcher):
    _phase = ""
    _shown_at = 0.0

    def draw(self, standing: ProgressSnapshot, now: float) -> None:
        if standing.phase != self._phase or now - self._shown_at >= _LOG_SECONDS:
            self._phase, self._shown_at = standing.phase, now
            log.info("%s", ", ".join((standing.phase, *facts(standing, now))))


def status_line(standing: ProgressSnapshot, now: float, columns: int, unicode: bool = True) -> str:
    """Return the progress at a time, in at most that many columns: minor facts are left out first, then the bar."""
    text = standing.phase
    parts = facts(standing, now)
    bar = _MIN_BAR + 2 if standing.bytes_total else 0
    while parts and len("  ".join((text, *parts))) + bar > columns:
        parts.pop()
    text = "  ".join((text, *parts))
    room = min(columns - len(text) - 2, _BAR)
    if bar and room >= _MIN_BAR:
        full, empty = ("━", "╌") if unicode else ("#", "-")
        done = room * standing.bytes_done // standing.bytes_total
        text = "  ".join((standing.phase, full * done + empty * (room - done), *parts))
    return text[:columns]


def facts(standing: ProgressSnapshot, now: float) -> list[str]:
    """Return what is known of a phase, the most important facts first."""
    from ggfmt.doctor.finding import size_text

    known = []
    if standing.bytes_total:
        known.append(f"{size_text(standing.bytes_done)} of {size_text(standing.bytes_total)}")
    left = standing.remaining(now)
    known.append(_time(now - standing.started) if left is None else f"{_time(left)} left")
    if standing.waits_until > now:
        until = datetime.now() + timedelta(seconds=standing.waits_until - now)
        known.append(f"waits until {until:%Y-%m-%d %H:%M:%S}")
    if standing.rate is not None:
        known.append(f"{size_text(standing.rate)}/s")
    if standing.operations is not None:
        known.append(f"{standing.operations:,} operations")
    return known


def _time(seconds: float) -> str:
    whole = round(seconds)
    minutes, seconds = divmod(whole, 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}" if minutes >= 60 else f"{minutes}:{seconds:02d}"
