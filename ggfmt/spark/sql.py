"""Statements of Spark SQL on the Spark of a runner, in a session with settings of its own.

Statements of several threads are cancelled together. The caller's thread never calls Spark: see `Jobs`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.spark.failures import cause_of_exception, cause_of_job, spark_error

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from ggfmt.spark.runners import SomeRunner

Item = TypeVar("Item")
Result = TypeVar("Result")

_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 10.0


class SqlSession:
    """A session, and the threads that use it."""

    def __init__(self, session: SparkSession, context: SparkContext | None, runner: SomeRunner, threads: int) -> None:
        self._session = session
        self._context = context  # None with Spark Connect
        self._runner = runner
        self._group = f"ggfmt-{uuid.uuid4().hex[:12]}"
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="ggfmt-sql")

    def each(self, work: Callable[[SparkSession, Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply the work to each of some items, several at a time, and return the results in order of the items.

        The first error ends all of them. Raises: Abend GG505 with the cause in one line for an error of Spark.
        """
        jobs = [self._threads.submit(self._on_thread, work, item) for item in items]
        try:
            waiting = set(jobs)
            while waiting:  # wake up regularly: a signal may have reached another thread
                done, waiting = wait(waiting, _POLL_SECONDS)
                for job in done:
                    job.result()
        except BaseException:
            for job in jobs:
                job.cancel()
            ThreadPoolExecutor(max_workers=1).submit(self._cancel)
            wait(jobs, _CANCEL_SECONDS)
            raise
        return [job.result() for job in jobs]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _on_thread(self, work: Callable[[SparkSession, Item], Result], item: Item) -> Result:
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        if self._context is not None:
            self._context.setJobGroup(self._group, "ggfmt")
        try:
            return work(self._session, item)
        except GgfmtError:
            raise
        except Py4JJavaError as error:
            reason, full = cause_of_exception(error), str(error)
        except (Py4JError, PySparkException, OSError) as error:
            reason, full = cause_of_job(str(error)), repr(error)
        path = self._runner.log_path
        raise spark_error("GG505", "a Spark task failed", reason, path, full, adopted=path is None)

    def _cancel(self) -> None:
        with suppress(Exception):
            if self._context is None:
                self._session.interruptAll()
            else:
                java: Any = self._context._jsc.sc()
                java.cancelJobGroupAndFutureJobs(self._group)


@contextmanager
def statements(runner: SomeRunner, settings: Mapping[str, str], threads: int) -> Iterator[SqlSession]:
    """Yield statements in a new session on the Spark of an entered runner: settings apply to that session alone."""
    from ggfmt.spark.attached import ConnectRunner
    from ggfmt.spark.session import SparkRunner

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ggfmt-sql") as first:
        if isinstance(runner, ConnectRunner):
            assert runner._session is not None
            session: Any = first.submit(_connected, runner._session, settings).result()
            found = SqlSession(session, None, runner, threads)
            own = False
        else:
            context = runner._context
            assert context is not None
            found = SqlSession(first.submit(_classic, context, settings).result(), context, runner, threads)
            own = isinstance(runner, SparkRunner)
        try:
            with _errors_as_they_were(own):
                yield found
        finally:
            found.close()


def _classic(context: SparkContext, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession(context).newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    return session


def _connected(session: Any, settings: Mapping[str, str]) -> Any:
    own = session.newSession()
    for key, value in settings.items():
        own.conf.set(key, value)
    return own


@contextmanager
def _errors_as_they_were(own: bool) -> Iterator[None]:
    """Restore what a session changes in pyspark: how errors of Java are converted, and which session a class remembers.

    Both would outlive a Spark that ggfmt has started and stopped.
    """
    yield
    if own:
        from py4j import java_gateway, protocol
        from pyspark.sql import SparkSession

        java_gateway.get_return_value = protocol.get_return_value
        SparkSession._instantiatedSession = SparkSession._activeSession = None
