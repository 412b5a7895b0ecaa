"""Jobs of a SparkContext, each in a job group of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggfmt.spark.failures import cause_of_job, java_message
from ggfmt.spark.jobs import Item, Jobs, Result, Tasks
from ggfmt.spark.package_upload import packed

if TYPE_CHECKING:
    from pyspark import SparkContext


class ContextJobs(Jobs):
    """The jobs of one runner on `context`; `gone` says whether its Java virtual machine has ended.

    `properties` are the local properties (of Java) that the jobs are to have, beside their group; a thread of Java
    that others use too has its own back afterwards. `archive` is the file that workers have this package in.
    """

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
        super().__init__(threads, prefix, log_file)
        self._context = context
        self._gone = gone
        self._properties = properties
        self._archive = archive

    def _collect(self, task: Callable[[Item, int], Result], items: Sequence[Item], name: str) -> list[Result]:
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        unpacked, own = packed(task, self._archive), self._properties is None

        def attempt(_: int, partition: Iterable[Item]) -> Iterator[Result]:
            # A nested function is pickled by value: workers need not import this module.
            from contextlib import suppress

            from pyspark import TaskContext

            if own:  # workers that nobody else uses
                with suppress(ImportError):
                    from ggfmt.without_pandas import do_without_pandas

                    do_without_pandas()

            context = TaskContext.get()
            assert context is not None
            task = unpacked()
            for item in partition:
                yield task(item, context.taskAttemptId())

        try:
            with self._own_properties():
                self._context.setJobGroup(name, name)
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
