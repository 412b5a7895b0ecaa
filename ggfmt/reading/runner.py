"""Runners, which run tasks. `ggfmt.spark` has those of Spark, and `runner_for` chooses one."""

from __future__ import annotations

import itertools
import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Protocol, TypeVar

from ggfmt import kernels, signals
from ggfmt.commit.names import counted
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.machine import available_cores

T = TypeVar("T")
R = TypeVar("R")
TaskCallback = Callable[[int, int], None]

MAX_THREADS = 4  # of one process: each has input and operations in memory

log = logging.getLogger("ggfmt")


class Runner(Protocol):
    """Runs one task for each item, on Spark or in this process; results are in the order of the items."""

    @property
    def parallelism(self) -> int: ...

    def name_jobs(self, purpose: Callable[[], str]) -> str | None:
        """Let users see what each job is for, which `purpose` returns when it starts. Return the id of the Spark
        application that has the jobs; None without Spark."""
        return None

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: TaskCallback | None = None) -> list[R]: ...


class InProcess:
    """A runner without Spark: one task after the other, in this process, without retries."""

    parallelism: int = 1

    def __init__(self) -> None:
        self._attempts = itertools.count()

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def name_jobs(self, purpose: Callable[[], str]) -> None:
        pass

    def run(
        self,
        task: Callable[[T, int], R],
        items: Sequence[T],
        progress: TaskCallback | None = None,
        received: Callable[[R], None] | None = None,
    ) -> list[R]:
        """Call `received` with each result when it is there. Raises: Abend GG505 if memory runs out."""
        with interrupts() as came:
            results = (task(item, next(self._attempts)) for item in items)
            return _collected(results, len(items), came, progress, received)


class InThreads(InProcess):
    """Runs tasks side by side in threads, as kernels let other threads run. An interrupt waits for tasks that have
    started."""

    def __init__(self, threads: int | None = None) -> None:
        super().__init__()
        self.parallelism = min(threads or available_cores(), MAX_THREADS)

    def run(
        self,
        task: Callable[[T, int], R],
        items: Sequence[T],
        progress: TaskCallback | None = None,
        received: Callable[[R], None] | None = None,
    ) -> list[R]:
        """As the method of a runner without threads: of several tasks that fail, the first one counts."""
        if self.parallelism == 1 or len(items) < 2:
            return super().run(task, items, progress, received)
        with ThreadPoolExecutor(self.parallelism, "ggfmt-task") as pool:
            try:
                # The pool would not know a thread whose start is interrupted.
                with signals.deferred(), interrupts(raises=False) as came:
                    started = [pool.submit(task, item, next(self._attempts)) for item in items]
                if came:
                    raise KeyboardInterrupt
                return _collected((future.result() for future in started), len(items), came, progress, received)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _collected(
    results: Iterable[R],
    count: int,
    came: Sequence[int],
    progress: TaskCallback | None,
    received: Callable[[R], None] | None,
) -> list[R]:
    """Return the results of `count` tasks, and pass on each. `came`: interrupts, any of which ends the run."""
    collected = []
    try:
        for result in results:
            collected.append(result)
            signals.check()
            if came:
                raise KeyboardInterrupt
            if received is not None:
                received(result)
            if progress is not None:
                progress(len(collected), count)
    except MemoryError:
        raise no_memory() from None
    return collected


def no_memory() -> Abend:
    help = "give a smaller `--split-size`, or run with Spark on a machine with more memory"
    return Abend("GG505", "a task failed: out of memory", help=help)


@contextmanager
def interrupts(raises: bool = True) -> Iterator[list[int]]:
    """Yield the interrupts (Ctrl-C) so far, each of which is raised where it comes, if `raises`. What it breaks into
    may lose it: Arrow looks for libraries that it can do without, and takes any error for their lack. For the signals
    of the command line `signals.check` does the same."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def take_note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if raises:
            signal.default_int_handler(number, frame)

    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield came
        return
    signal.signal(signal.SIGINT, take_note)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def warn_without_kernels() -> None:
    """Warn that this process has no native kernels, unless the user switched them off."""
    if kernels.lack is not None:
        log.warning("%s; %s", kernels.lack.message, kernels.lack.help)


def warn_of_missing_kernels(states: Sequence[str]) -> None:
    """Warn once of tasks that ran without the native kernels of this process; `states` has the kernels of each task."""
    without = [state for state in states if state != kernels.state]
    if without and kernels.native is not None:
        message = "%s of %s ran without native kernels, with the same results, but slower (%s): %s"
        log.warning(message, counted(len(without), "task"), len(states), kernels.COST, without[0])
