"""A runner on a Spark that is its user's: nothing of it is stopped, configured or left changed.

What a run leaves there is one file, where workers lack this package: Spark does not forget a file that it was given.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.spark.context_jobs import ContextJobs
from ggfmt.spark.existing import GATEWAY, ActiveSpark, SubmittedSpark
from ggfmt.spark.failures import cause_of_exception, clause, spark_error
from ggfmt.spark.jobs import JobRunner
from ggfmt.spark.package_upload import zip_package
from ggfmt.spark.workers import MAX_FAILURES, Worker, ask_workers, prepare_workers, warn_of_single_attempts

if TYPE_CHECKING:
    from pyspark import SparkContext

# The contexts whose workers were asked, and the file that they have this package in.
_ready: weakref.WeakKeyDictionary[SparkContext, str | None] = weakref.WeakKeyDictionary()


class AttachedRunner(JobRunner):
    """A runner on a context that is there, or that the gateway of a spark-submit is there for; a context manager.

    Jobs are in groups of their own, on threads of their own, with the local properties of the caller's thread (such as
    its pool). While the runner is entered, Ctrl-C cancels its own jobs only: Spark's handler would cancel all.

    Entering raises Abend: GG503 where a context cannot be made, GG505 where the first small job fails, GG521 where the
    gateway is another process's, GG522 where workers cannot run tasks.
    """

    log_path: Path | None = None  # a Spark of somebody else has its log where they have it

    def __init__(self, existing: ActiveSpark | SubmittedSpark) -> None:
        self._existing = existing
        self._context: SparkContext | None = None
        self.shows_progress = existing.shows_progress

    @property
    def parallelism(self) -> int:
        """How many tasks Spark runs at once, as far as it knows."""
        assert self._context is not None
        return self._threads.submit(lambda: int(self._context.defaultParallelism)).result()  # type: ignore[union-attr]

    @property
    def version(self) -> str:
        """What runs: Spark's version, and where it is from."""
        assert self._context is not None
        return f"Spark {self._threads.submit(lambda: self._context.version).result()}"  # type: ignore[union-attr]

    def __enter__(self) -> AttachedRunner:
        with ExitStack() as stack:
            self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark")
            stack.callback(self._threads.shutdown, wait=False)
            stack.enter_context(_without_cancelling_all())
            if isinstance(self._existing, ActiveSpark):
                self._context = self._existing.context
            else:
                self._context = self._threads.submit(_new_context).result()
                stack.callback(lambda: self._threads.submit(self._context.stop).result())  # type: ignore[union-attr]
            archive = _send_package(self._context, self._threads)
            self._jobs = _jobs(self._context, self._threads, archive)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._context = None


def send_to_context(context: SparkContext) -> None:
    """Make this package importable for the workers of a context; a small job the first time, nothing later."""
    with ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark") as threads:
        _send_package(context, threads)


def _send_package(context: SparkContext, threads: ThreadPoolExecutor) -> str | None:
    if context not in _ready:
        parallelism = threads.submit(lambda: int(context.defaultParallelism)).result()

        def ask(archive: str | None) -> list[Worker]:
            return ask_workers(_jobs(context, threads, archive), parallelism)

        def send() -> str:
            return threads.submit(_add_package, context).result()

        _ready[context] = prepare_workers(ask, send)
        warn_of_single_attempts(str(context.master), context._conf.get(MAX_FAILURES))
    return _ready[context]


def _jobs(context: SparkContext, threads: ThreadPoolExecutor, archive: str | None = None) -> ContextJobs:
    java: Any = context._jsc.sc()
    prefix = f"ggfmt-{uuid.uuid4().hex[:12]}"
    return ContextJobs(context, threads, prefix, properties=java.getLocalProperties().clone(), archive=archive)


def _add_package(context: SparkContext) -> str:
    """The name of a file that workers import from now on. This process does not: it has the package."""
    from pyspark import SparkFiles

    # Executors that come later fetch the file from where it was, so it is there for as long as Spark runs.
    file = zip_package(Path(context._temp_dir))
    if any(name.rpartition("/")[2] == file.name for name in context.listFiles):
        # By another Python that had this context before, as in a notebook that starts its Python again.
        context._python_includes.append(file.name)  # type: ignore[union-attr]
    else:
        context.addPyFile(str(file))
        with suppress(ValueError):
            sys.path.remove(os.path.join(SparkFiles.getRootDirectory(), file.name))
    return file.name


def _new_context() -> SparkContext:
    """The context that a spark-submit is there for."""
    from py4j.protocol import Py4JJavaError, Py4JNetworkError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    try:
        SparkContext._ensure_initialized()
        return SparkContext(conf=SparkConf())
    except Py4JJavaError as error:
        reason, full = cause_of_exception(error), str(error)
        if "Only one SparkContext" in full:
            raise _inherited("has a session already") from None
    except PySparkException as error:
        reason, full = clause(str(error)), str(error)
    except (Py4JNetworkError, OSError, KeyError):  # there is nobody who listens, or no secret
        raise _inherited("does not answer") from None
    raise spark_error("GG503", "Spark did not start", reason, None, full, adopted=True)


def _inherited(what: str) -> Abend:
    message = f"{GATEWAY} names the Spark of another process, which {what}"
    help = (
        "what `spark-submit` starts leaves it to the programs that it starts in turn: call ggfmt in the first of them, "
        f"or unset {GATEWAY} for a Spark of its own"
    )
    return Abend(Diagnostic("GG521", message, help=help))


@contextmanager
def _without_cancelling_all() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt and no more. The handler that a SparkContext installs cancels all of its jobs."""
    before = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    if not here or getattr(before, "__module__", None) != "pyspark.core.context":
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
