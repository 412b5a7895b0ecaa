"""Runs on a Spark that exists already: a `SparkContext` of this process, or a Spark Connect server."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from ggfmt import signals
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.spark.failures import cause_of_exception, cause_of_job, clause, spark_error
from ggfmt.spark.jobs import ContextJobs, Item, Result, SparkJobRunner, SparkJobs, Tasks
from ggfmt.spark.target import CORES, GATEWAY, ActiveSpark, ConnectSpark, RemoteAddress, SubmittedSpark, refusal
from ggfmt.spark.workers import (
    MAX_FAILURES,
    ask_workers,
    pack_task,
    pickle_by_value,
    prepare_workers,
    warn_of_single_attempts,
    zip_package,
)
from ggfmt.unused_modules import show_unused_modules

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

# Contexts whose workers have been prepared, and the file from which the workers import this package.
_ready_contexts: weakref.WeakKeyDictionary[SparkContext, str | None] = weakref.WeakKeyDictionary()


class AttachedRunner(SparkJobRunner):
    """A runner on a context that exists, or that the gateway of a spark-submit can make; a context manager.

    Jobs run in job groups and threads of their own, with the local properties of the caller's thread (such as its
    pool). While the runner is entered, Ctrl-C cancels only its own jobs: Spark's handler would cancel all. After a run,
    the Spark keeps at most one file: this package, if its workers lack it.

    Entering raises Abend: GG503 if a context cannot be made, GG505 if the first small job fails, GG521 if the gateway
    belongs to another process, GG522 if workers cannot run tasks.
    """

    def __init__(self, existing: ActiveSpark | SubmittedSpark) -> None:
        self._existing = existing
        self.master = existing.name
        self.shows_progress = existing.shows_progress

    @property
    def parallelism(self) -> int:
        return signals.call_on(self._threads, lambda: int(self._context.defaultParallelism))

    @property
    def version(self) -> str:
        return f"Spark {signals.call_on(self._threads, lambda: self._context.version)}"

    def _enter(self, stack: ExitStack) -> ContextJobs:
        stack.enter_context(_without_cancelling_all())
        if isinstance(self._existing, ActiveSpark):
            context = self._context = self._existing.context
        else:
            context = self._context = signals.call_on(self._threads, _new_context)
            stack.callback(lambda: signals.call_on(self._threads, context.stop))
        if context not in _ready_contexts:
            _ready_contexts[context] = prepare_workers(
                lambda archive: ask_workers(self._jobs_with(archive), self.parallelism),
                lambda: signals.call_on(self._threads, _add_package, context),
            )
            warn_of_single_attempts(str(context.master), context._conf.get(MAX_FAILURES))
        return self._jobs_with(_ready_contexts[context])

    def _jobs_with(self, archive: str | None) -> ContextJobs:
        java: Any = self._context._jsc.sc()
        prefix = f"ggfmt-{uuid.uuid4().hex[:12]}"
        properties = java.getLocalProperties().clone()
        return ContextJobs(self._context, self._threads, prefix, properties=properties, archive=archive)


def _add_package(context: SparkContext) -> str:
    """Return the name of the file from which workers import this package. This process has the package already."""
    from pyspark import SparkFiles

    # Executors that start later fetch the file from its place, so it must stay as long as Spark runs.
    file = zip_package(Path(context._temp_dir))
    if any(name.rpartition("/")[2] == file.name for name in context.listFiles):
        # Another Python had this context before, for example a notebook that restarted its Python.
        context._python_includes.append(file.name)  # type: ignore[union-attr]
    else:
        context.addPyFile(str(file))
        with suppress(ValueError):
            sys.path.remove(os.path.join(SparkFiles.getRootDirectory(), file.name))
    return file.name


def _new_context() -> SparkContext:
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
    except (Py4JNetworkError, OSError, KeyError):  # no process listens, or the secret is missing
        raise _inherited("does not answer") from None
    raise spark_error("GG503", "Spark did not start", reason, None, full, adopted=True)


def _inherited(what: str) -> Abend:
    help = (
        "a program of `spark-submit` passes the variable on to its child processes; call ggfmt in that program, "
        f"or unset {GATEWAY} to start a separate Spark"
    )
    return Abend("GG521", f"{GATEWAY} names the Spark of another process, which {what}", help=help)


@contextmanager
def _without_cancelling_all() -> Iterator[None]:
    """Let Ctrl-C only raise KeyboardInterrupt. The handler that a SparkContext installs cancels all of its jobs."""
    before = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    if not here or getattr(before, "__module__", None) not in CORES:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# The runner on a Spark Connect server, in a session of the caller or in a new one.

_MAX_PARTS = 4096
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")  # proxies by which gRPC may reach other hosts


# Sessions whose workers have been prepared: how many tasks the server runs at once, and the file from which the workers
# import this package.
_ready_sessions: weakref.WeakKeyDictionary[SparkSession, tuple[int, str | None]] = weakref.WeakKeyDictionary()


class ConnectRunner(SparkJobRunner):
    """A runner on a session of Spark Connect, or on a server that it connects to; a context manager. `parallelism`: the
    number of tasks that the server ran at once when it was first asked.

    Jobs have tags and threads of their own. A session of the caller stays as it was, except for the file with this
    package, if its workers lack it.

    Entering raises Abend: GG505 if the first small job fails, GG522 if workers cannot run tasks, GG524 if the server
    does not respond or packages for Spark Connect are missing.
    """

    parallelism: int

    def __init__(self, spark: ConnectSpark | RemoteAddress) -> None:
        self._spark = spark
        self.master = spark.name if isinstance(spark, ConnectSpark) else spark.shown
        self.shows_progress = isinstance(spark, ConnectSpark) and spark.shows_progress

    @property
    def version(self) -> str:
        return f"Spark {signals.call_on(self._threads, lambda: self._session.version)} by Spark Connect"

    def _enter(self, stack: ExitStack) -> ConnectJobs:
        if isinstance(self._spark, ConnectSpark):
            session = self._session = self._spark.session
        else:
            session = self._session = signals.call_on(self._threads, _new_session, self._spark)
            stack.callback(lambda: signals.call_on(self._threads, session.stop))
        if session not in _ready_sessions:
            master, failures, parallelism = signals.call_on(self._threads, _ask_server, session)
            with TemporaryDirectory(prefix="ggfmt-") as directory:
                archive = prepare_workers(
                    lambda archive: ask_workers(ConnectJobs(session, self._threads, archive), parallelism),
                    lambda: self._send_package(Path(directory)),
                )
            _ready_sessions[session] = parallelism, archive
            warn_of_single_attempts(master, failures)
        self.parallelism, archive = _ready_sessions[session]
        return ConnectJobs(session, self._threads, archive)

    def _send_package(self, directory: Path) -> str:
        archive = zip_package(directory)
        signals.call_on(self._threads, self._session.addArtifacts, str(archive), pyfile=True)
        return archive.name


class ConnectJobs(SparkJobs):
    """The jobs of one runner on `session`: one row of a range for each task, and its result in bytes."""

    def __init__(self, session: SparkSession, threads: ThreadPoolExecutor, archive: str | None = None) -> None:
        super().__init__(threads, archive, f"ggfmt-{uuid.uuid4().hex[:12]}")
        self._session = session
        self._progress: dict[str, Tasks] = {}

    def _application(self) -> str | None:
        from pyspark.errors import PySparkException

        with suppress(PySparkException):  # of a server that does not show it
            return self._session.conf.get("spark.app.id", None)
        return None

    def _collect(
        self, task: Callable[[Item, int], Result], items: Sequence[Item], name: str, description: str
    ) -> list[Result]:
        from pyspark.errors import PySparkException
        from pyspark.sql.connect.functions import col, element_at, lit

        unpacked = pack_task(task, self._archive)

        def attempt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # A nested function is pickled by value: workers need not import this module.
            import pyarrow as pa
            from pyspark import TaskContext, cloudpickle

            context = TaskContext.get()
            assert context is not None
            task = unpacked()
            for batch in batches:
                numbers, items = cast("list[list[Any]]", [column.to_pylist() for column in batch.columns])
                done = (task(pickle.loads(item), context.taskAttemptId()) for item in items)
                results = [cloudpickle.dumps(result) for result in done]  # type: ignore[no-untyped-call]
                columns: list[pa.Array[Any]] = [pa.array(numbers, pa.int64()), pa.array(results, pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, ["number", "result"])

        try:
            # Each worker gets only its own item with the function, not all items.
            own = lit([pickle_by_value(item) for item in items])
            item = element_at(own, (col("id") + lit(1)).cast("int"))
            frame = self._session.range(0, len(items), 1, len(items)).select("id", item.alias("item"))
            with self._listening(name, description):
                table = frame.mapInArrow(attempt, "number long, result binary").toArrow()
        except PySparkException as error:
            raise self._failed(cause_of_job(str(error)), str(error)) from None
        done = cast("list[bytes]", table.sort_by("number")["result"].to_pylist())
        return [pickle.loads(result) for result in done]

    @contextmanager
    def _listening(self, name: str, description: str) -> Iterator[None]:
        """Spark calls every progress handler of a session for all of its jobs, on the thread that waits for the job."""
        own = threading.get_ident()

        def handler(
            stages: Iterable[StageInfo] | None, inflight_tasks: int, operation_id: str | None, done: bool
        ) -> None:
            if threading.get_ident() == own:
                self._progress[name] = Tasks(inflight_tasks, sum(stage.num_completed_tasks for stage in stages or ()))

        self._progress[name] = Tasks(0, 0)
        tags = name, description.replace(",", " ")  # which belong to the thread
        for tag in tags:
            self._session.addTag(tag)
        self._session.registerProgressHandler(handler)  # type: ignore[arg-type]
        try:
            yield
        finally:
            self._session.removeProgressHandler(handler)  # type: ignore[arg-type]
            for tag in tags:
                self._session.removeTag(tag)

    def _tasks(self, name: str) -> Tasks | None:
        return self._progress.get(name)

    def _cancel(self, name: str) -> None:
        self._session.interruptTag(name)


def _ask_server(session: SparkSession) -> tuple[str, str | None, int]:
    """Return the master, how often it tries a task, and how many tasks it runs at once: the parts of a range."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.functions import spark_partition_id

    try:
        parts = session.range(0, _MAX_PARTS).select(spark_partition_id().alias("part")).toArrow()
        parallelism = len(parts["part"].unique())
        return str(session.conf.get("spark.master", "")), session.conf.get(MAX_FAILURES, None), parallelism
    except PySparkException as error:
        reason, full = cause_of_job(str(error)), str(error)
        raise spark_error("GG505", "Spark cannot be asked", reason, None, full, adopted=True) from None


def _new_session(address: RemoteAddress) -> SparkSession:
    """Return a new session. Spark does not return it to code that asks for the session of this process."""
    problem = None if any(map(os.environ.get, _PROXIES)) else refusal([(address.host, address.port)])
    if problem is not None:
        message = f"no Spark Connect server answers at `{address.shown}`: {problem}"
        raise Abend("GG524", message, help="start the server or correct `--remote`")
    show_unused_modules()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of pandas about its versions: no run uses it
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        message = f"Spark Connect cannot be used from here: {clause(str(error))}"
        raise Abend("GG524", message, help="pip install 'ggfmt[connect]'") from None
    try:
        session = SparkSession(connection=address.url)
        for key, value in address.conf:
            session.conf.set(key, value)
    except PySparkException as error:
        message = f"the Spark Connect server at `{address.shown}` gives no session: {clause(str(error))}"
        raise Abend("GG524", message) from None
    return session
