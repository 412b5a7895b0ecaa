"""The signals that end a command: Ctrl-C (SIGINT), SIGTERM and SIGHUP.

Each of them raises KeyboardInterrupt in the main thread, so that one path cleans up after all. Only the command line
installs handlers (`install`): a program that calls ggfmt keeps its own, and for it this module does nothing.

`timeout`, systemd and impatient people send more than one signal. A signal that comes while an earlier one is being
cleaned up after is ignored, up to `PATIENCE_SECONDS` after the first.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

T = TypeVar("T")

PATIENCE_SECONDS = 30.0
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class _State:
    """The signals of this process so far; `deferred` counts the active blocks that no signal may interrupt."""

    def __init__(self) -> None:
        self.is_installed = False
        self.received: list[int] = []
        self.first = 0.0  # when the first signal came, by the monotonic clock
        self.deferred = 0
        self.final_code: int | None = None


_state = _State()


def install() -> None:
    """Let signals raise KeyboardInterrupt, once `resume` is called. Ignored ones stay so, as `nohup` needs it."""
    if threading.current_thread() is not threading.main_thread():
        return
    _state.__init__()  # type: ignore[misc]
    _state.deferred = 1
    for name in _NAMES:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _handle)
            _state.is_installed = True
    default = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        # Python drops an interrupt in a destructor. `check` raises it again.
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            default(unraisable)

    sys.unraisablehook = hook


def resume() -> None:
    """Begin the command: raise signals from here on, and one that came before now."""
    if _state.is_installed:
        _state.deferred = 0
        check()


def suspend() -> None:
    """End the command: ignore signals from here on."""
    _state.deferred = 1


def finish(code: int) -> None:
    """Set the exit code of a command that has nothing left to do; a signal now ends the process at once."""
    _state.final_code = code


def final_code() -> int | None:
    """Return the exit code of a command that has nothing left to do; None while it runs."""
    return _state.final_code


def is_installed() -> bool:
    return _state.is_installed


def count() -> int:
    return len(_state.received)


def check() -> None:
    """Raise KeyboardInterrupt if a signal has come. The code that a signal interrupts may lose the exception."""
    if _state.received and not _state.deferred and not _is_unwinding():
        raise KeyboardInterrupt


def exit_code() -> int:
    """Return the exit code of an interrupted command, as shells have it: 128 and the first signal."""
    return 128 + (_state.received[0] if _state.received else int(signal.SIGINT))


def interruption() -> str:
    if not _state.received or _state.received[0] == signal.SIGINT:
        return "interrupted"
    return f"interrupted by {signal.Signals(_state.received[0]).name}"


@contextmanager
def deferred() -> Iterator[None]:
    """Run a block that no signal interrupts; one that comes meanwhile is raised at its end."""
    if not _state.is_installed or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = len(_state.received)
    _state.deferred += 1
    try:
        yield
    finally:
        _state.deferred -= 1
        if len(_state.received) > before:
            check()


class JobEnd:
    """The end of a job of another thread, which an interrupt does not prevent.

    Locks of `threading` are partly code of Python, which an interrupt leaves locked. The queue here is code of C, and
    only wakes who waits, as an interrupt may come just after its item is taken.
    """

    def __init__(self, job: Future[Any]) -> None:
        self._ends: SimpleQueue[None] = SimpleQueue()
        self._has_come = False
        with deferred():
            job.add_done_callback(self._end)

    def _end(self, _: Future[Any]) -> None:
        self._has_come = True
        self._ends.put(None)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, for some seconds at most; return whether it has come."""
        if not self._has_come:
            with suppress(Empty):
                self._ends.get(timeout=seconds)
        return self._has_come


def call_on(threads: Executor, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    with deferred():
        job = threads.submit(function, *arguments, **named)
        ended = JobEnd(job)
    ended.wait()
    with deferred():
        return job.result()


@contextmanager
def interrupts_left_to_child() -> Iterator[None]:
    """Leave Ctrl-C to a program in the foreground, such as a pager."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return
    # A handler, because the program would inherit that a signal is ignored.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _handle(number: int, frame: FrameType | None) -> None:
    if _state.final_code is not None:
        os._exit(_state.final_code)
    if not _state.received:
        _state.first = time.monotonic()
    _state.received.append(number)
    if _state.deferred:
        return
    if _is_unwinding() and time.monotonic() - _state.first < PATIENCE_SECONDS:
        return
    raise KeyboardInterrupt


def _is_unwinding() -> bool:
    """Return whether the caller, or what a signal handler interrupted, is handling an interrupt."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
