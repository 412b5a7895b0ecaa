"""Jobs of one task for each item, on any Spark: run, watched, cancelled and awaited."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ggfmt import signals
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.spark.failures import cause_of_job, java_message, spark_error
from ggfmt.spark.workers import NEEDED, lack_error, pack_task

if TYPE_CHECKING:
    from pyspark import SparkContext

Item = TypeVar("Item")
Result = TypeVar("Result")
Self = TypeVar("Self", bound="SparkJobRunner")

_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 10.0
_START_SECONDS = 30.0  # after this time, ggfmt logs that no task has started

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class Tasks:
    active: int
    completed: int


class SparkJobs(ABC):
    """The jobs of a runner. The name of each starts with `prefix`; `log_file`: the log of a Spark that ggfmt started;
    `archive`: the file from which workers import this package. Every call into Spark is made on one of the `threads`
    (four or more), never on the caller's: Ctrl-C in the middle of an exchange of py4j would make the connection
    unusable, even for "cancel"."""

    def __init__(
        self, threads: ThreadPoolExecutor, archive: str | None, prefix: str = "ggfmt", log_file: Path | None = None
    ) -> None:
        self._threads, self._archive = threads, archive
        self._names = (f"{prefix}-{number}" for number in itertools.count())
        self._log = log_file
        self._purpose: Callable[[], str] = str

    def name_jobs(self, purpose: Callable[[], str]) -> str | None:
        self._purpose = purpose
        application = signals.call_on(self._threads, self._application)
        is_local = application is not None and application.startswith("local-")
        log.log(logging.DEBUG if is_local else logging.INFO, "Spark application %s", application or "unknown")
        return application

    def run(
        self,
        task: Callable[[Item, int], Result],
        items: Sequence[Item],
        progress: Callable[[int, int], None] | None = None,
        seconds: float = math.inf,
    ) -> list[Result]:
        """Call `task(item, attempt)` for every item, each in a Spark task of its own; return the results in order of
        the items.

        `attempt` is unique in this Spark. Spark retries a task that fails, so `task` may run more than once for an
        item, even twice at the same time; the result is that of the one attempt that Spark took. `progress(done,
        total)` is called every 0.2 seconds on one of the threads, and once more at the end.

        Raises: Abend GG505 with the cause in one line if a task fails for good, Spark ends, or not all tasks are done
        after `seconds`; GG522 if a library is missing. KeyboardInterrupt cancels these tasks, and no others, and is
        raised again.
        """
        if not items:
            return []
        name, description = next(self._names), f"ggfmt {self._purpose()}".rstrip()
        with signals.deferred():
            job = self._threads.submit(self._collect, task, items, name, description)
            ended = signals.JobEnd(job)
            watching = self._threads.submit(self._watch, job, name, len(items), progress) if progress else None
            starting = self._threads.submit(self._look_for_start, job, name)
        deadline = time.monotonic() + seconds
        try:
            while not ended.wait(_POLL_SECONDS):  # wake up regularly: a signal may have reached another thread
                signals.check()
                if time.monotonic() > deadline:
                    raise self._failed(f"not done within {seconds:.0f} seconds")
        except BaseException:
            with signals.deferred():
                self._threads.submit(self._cancel, name)
            ended.wait(_CANCEL_SECONDS)
            raise
        with signals.deferred():
            starting.cancel()
            results = job.result()
            if watching:
                watching.result()
        return results

    def _failed(self, reason: str, full: str = "") -> Abend:
        lack = re.search(r"No module named '(\w+)", reason)
        lacks = [it for it in NEEDED if lack is not None and lack[1] == it.partition(">=")[0]]
        if lacks:
            return lack_error(lacks)
        return spark_error("GG505", "a Spark task failed", reason, self._log, full, adopted=self._log is None)

    @abstractmethod
    def _application(self) -> str | None:
        """Return the id of the Spark application; None if it is unknown."""

    @abstractmethod
    def _collect(
        self, task: Callable[[Item, int], Result], items: Sequence[Item], name: str, description: str
    ) -> list[Result]:
        """Return the results of a job, in order of the items. Raises: Abend GG505."""

    @abstractmethod
    def _tasks(self, name: str) -> Tasks | None:
        """Return how far a job is; None if Spark no longer responds."""

    @abstractmethod
    def _cancel(self, name: str) -> None:
        """Cancel a job, also one that has not started."""

    def _watch(self, job: Future[list[Result]], name: str, total: int, progress: Callable[[int, int], None]) -> None:
        while wait([job], _POLL_SECONDS).not_done:
            tasks = self._tasks(name)
            if tasks is None:
                return
            progress(min(tasks.completed, total), total)
        if job.exception() is None:
            progress(total, total)

    def _look_for_start(self, job: Future[list[Result]], name: str) -> None:
        """Warn of a job that waits: Spark reports nothing if no executor starts or has room."""
        if not wait([job], _START_SECONDS).not_done:
            return
        tasks = self._tasks(name)
        if tasks is not None and not (tasks.active or tasks.completed):
            log.warning(
                "Spark has not started a task for %.0f seconds: no executor has the requested cores and memory. "
                "Press Ctrl-C to stop%s",
                _START_SECONDS,
                "" if self._log is None else f"; Spark's log is in {self._log}",
            )


class SparkJobRunner(ABC):
    """A runner on a Spark that ggfmt does not start: it has `SparkJobs` and their threads while it is entered."""

    log_path: Path | None = None  # the owner of the Spark knows where its log is

    def __enter__(self: Self) -> Self:
        with ExitStack() as stack:
            self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark")
            stack.callback(self._threads.shutdown, wait=False)
            self._jobs = self._enter(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @abstractmethod
    def _enter(self, stack: ExitStack) -> SparkJobs:
        """Prepare the workers, and return the jobs; `stack` takes what ends with the runner."""

    def name_jobs(self, purpose: Callable[[], str]) -> str | None:
        return self._jobs.name_jobs(purpose)

    def run(
        self,
        task: Callable[[Item, int], Result],
        items: Sequence[Item],
        progress: Callable[[int, int], None] | None = None,
        seconds: float = math.inf,
    ) -> list[Result]:
        return self._jobs.run(task, items, progress, seconds)


class ContextJobs(SparkJobs):
    """The jobs of one runner on `context`, each in a job group of its own; `gone`: its Java virtual machine has ended.
    `properties`: local properties (of Java) of the jobs, beside their group. A Java thread that others use too gets its
    own properties back afterwards."""

    def __init__(
        self,
        context: SparkContext,
        threads: ThreadPoolExecutor,
        prefix: str = "ggfmt",
        *,
        log_file: Path | None = None,
        gone: Callable[[], bool] = lambda: False,
        properties: Any = None,
        archive: str | None = None,
    ) -> None:
        super().__init__(threads, archive, prefix, log_file)
        self._context = context
        self._gone = gone
        self._properties = properties

    def _application(self) -> str:
        return str(self._context.applicationId)

    def _collect(
        self, task: Callable[[Item, int], Result], items: Sequence[Item], name: str, description: str
    ) -> list[Result]:
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        unpacked, own = pack_task(task, self._archive), self._properties is None

        def attempt(_: int, partition: Iterable[Item]) -> Iterator[Result]:
            # A nested function is pickled by value: workers need not import this module.
            from contextlib import suppress

            from pyspark import TaskContext

            if own:  # no other program uses these workers
                with suppress(ImportError):
                    from ggfmt import kernels
                    from ggfmt.unused_modules import hide_unused_modules

                    hide_unused_modules()
                    kernels.keep_memory()

            context = TaskContext.get()
            assert context is not None
            task = unpacked()
            for item in partition:
                yield task(item, context.taskAttemptId())

        try:
            with self._own_properties():
                self._context.setJobGroup(name, description)
                return self._context.parallelize(items, len(items)).mapPartitionsWithIndex(attempt).collect()
        except Py4JJavaError as error:
            reason, full = cause_of_job(java_message(error)), str(error)
        except (Py4JError, PySparkException, OSError, EOFError) as error:
            gone = self._gone()
            reason = "Spark's Java virtual machine is gone" if gone else cause_of_job(str(error))
            full = repr(error)
        raise self._failed(reason, full)

    @contextlib.contextmanager
    def _own_properties(self) -> Iterator[None]:
        if self._properties is None:
            yield
            return
        java: Any = self._context._jsc.sc()
        before = java.getLocalProperties()
        java.setLocalProperties(self._properties.clone())
        try:
            yield
        finally:
            java.setLocalProperties(before)

    def _tasks(self, name: str) -> Tasks | None:
        from py4j.protocol import Py4JError

        try:
            tracker = self._context.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        except (Py4JError, OSError):
            return None
        found = [stage for stage in stages if stage]
        return Tasks(sum(stage.numActiveTasks for stage in found), sum(stage.numCompletedTasks for stage in found))

    def _cancel(self, name: str) -> None:
        java: Any = self._context._jsc.sc()
        java.cancelJobGroupAndFutureJobs(name)
