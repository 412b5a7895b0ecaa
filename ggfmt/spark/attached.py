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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.spark.failures import cause_of_exception, cause_of_job, clause, spark_error
from ggfmt.spark.jobs import ContextJobs, Item, JobRunner, Jobs, Result, Tasks
from ggfmt.spark.target import GATEWAY, ActiveSpark, ConnectSpark, RemoteAddress, SubmittedSpark, refusal
from ggfmt.spark.workers import (
    MAX_FAILURES,
    Worker,
    ask_workers,
    packed,
    pickled,
    prepare_workers,
    warn_of_single_attempts,
    zip_package,
)
from ggfmt.without_pandas import allow_pandas

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

# The contexts whose workers were asked, and the file that they have this package in.
_ready_contexts: weakref.WeakKeyDictionary[SparkContext, str | None] = weakref.WeakKeyDictionary()


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
        context = self._context
        return self._threads.submit(lambda: int(context.defaultParallelism)).result()

    @property
    def version(self) -> str:
        """What runs: Spark's version, and where it is from."""
        assert self._context is not None
        context = self._context
        return f"Spark {self._threads.submit(lambda: context.version).result()}"

    def __enter__(self) -> AttachedRunner:
        with ExitStack() as stack:
            self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark")
            stack.callback(self._threads.shutdown, wait=False)
            stack.enter_context(_without_cancelling_all())
            if isinstance(self._existing, ActiveSpark):
                self._context = self._existing.context
            else:
                context = self._context = self._threads.submit(_new_context).result()
                stack.callback(lambda: self._threads.submit(context.stop).result())
            archive = _send_to_workers(self._context, self._threads)
            self._jobs = _jobs(self._context, self._threads, archive)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._context = None


def send_to_context(context: SparkContext) -> None:
    """Make this package importable for the workers of a context; a small job the first time, nothing later."""
    with ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark") as threads:
        _send_to_workers(context, threads)


def _send_to_workers(context: SparkContext, threads: ThreadPoolExecutor) -> str | None:
    if context not in _ready_contexts:
        parallelism = threads.submit(lambda: int(context.defaultParallelism)).result()

        def ask(archive: str | None) -> list[Worker]:
            return ask_workers(_jobs(context, threads, archive), parallelism)

        def send() -> str:
            return threads.submit(_add_package, context).result()

        _ready_contexts[context] = prepare_workers(ask, send)
        warn_of_single_attempts(str(context.master), context._conf.get(MAX_FAILURES))
    return _ready_contexts[context]


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


# A runner on a Spark Connect server: by a session that is its user's, or by one of our own.

_MOST_PARTS = 4096
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")  # by which gRPC may reach what this machine cannot


@dataclass
class Server:
    """What is known of the server of a session: how many tasks it runs at once, and the file that its workers have
    this package in."""

    parallelism: int
    archive: str | None


_ready_sessions: weakref.WeakKeyDictionary[SparkSession, Server] = weakref.WeakKeyDictionary()


class ConnectRunner(JobRunner):
    """A runner on a session of Spark Connect, or on a server that it connects to; a context manager.

    Jobs have tags of their own, on threads of their own; a session that is its user's is left as it was, but for the
    file that it was sent, where workers lack this package.

    Entering raises Abend: GG505 where the first small job fails, GG522 where workers cannot run tasks, GG524 where the
    server does not answer or there are no packages to ask it with.
    """

    log_path: Path | None = None  # the server has it

    def __init__(self, spark: ConnectSpark | RemoteAddress) -> None:
        self._spark = spark
        self._session: SparkSession | None = None
        self.shows_progress = isinstance(spark, ConnectSpark) and spark.shows_progress

    @property
    def parallelism(self) -> int:
        """How many tasks the server ran at once when it was asked first."""
        return self._server.parallelism

    @property
    def version(self) -> str:
        """What runs: the version of the server's Spark."""
        assert self._session is not None
        session = self._session
        return f"Spark {self._threads.submit(lambda: session.version).result()} by Spark Connect"

    def __enter__(self) -> ConnectRunner:
        with ExitStack() as stack:
            self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark")
            stack.callback(self._threads.shutdown, wait=False)
            if isinstance(self._spark, ConnectSpark):
                self._session = self._spark.session
            else:
                self._session = self._threads.submit(_new_session, self._spark).result()
                stop = self._session.stop
                stack.callback(lambda: self._threads.submit(stop).result())
            self._server = _send_to_server(self._session, self._threads)
            self._jobs = ConnectJobs(self._session, self._threads, self._server.archive)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._session = None


class ConnectJobs(Jobs):
    """The jobs of one runner on `session`: a row of a range for each task, and its result in bytes.

    `archive` is the file that workers have this package in.
    """

    def __init__(self, session: SparkSession, threads: ThreadPoolExecutor, archive: str | None = None) -> None:
        super().__init__(threads, f"ggfmt-{uuid.uuid4().hex[:12]}")
        self._session = session
        self._archive = archive
        self._told: dict[str, Tasks] = {}

    def _collect(self, task: Callable[[Item, int], Result], items: Sequence[Item], name: str) -> list[Result]:
        from pyspark.errors import PySparkException
        from pyspark.sql.connect.functions import col, element_at, lit

        unpacked = packed(task, self._archive)

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
            # A worker gets its own item, and not those of all others with its function.
            own = lit([pickled(item) for item in items])
            item = element_at(own, (col("id") + lit(1)).cast("int"))
            frame = self._session.range(0, len(items), 1, len(items)).select("id", item.alias("item"))
            with self._listening(name):
                table = frame.mapInArrow(attempt, "number long, result binary").toArrow()
        except PySparkException as error:
            raise self._failed(cause_of_job(str(error)), str(error)) from None
        done = cast("list[bytes]", table.sort_by("number")["result"].to_pylist())
        return [pickle.loads(result) for result in done]

    @contextmanager
    def _listening(self, name: str) -> Iterator[None]:
        """Spark tells all handlers of a session of all its jobs, each on the thread that waits for the job."""
        own = threading.get_ident()

        def handler(
            stages: Iterable[StageInfo] | None, inflight_tasks: int, operation_id: str | None, done: bool
        ) -> None:
            if threading.get_ident() == own:
                self._told[name] = Tasks(inflight_tasks, sum(stage.num_completed_tasks for stage in stages or ()))

        self._told[name] = Tasks(0, 0)
        self._session.addTag(name)  # of this thread
        self._session.registerProgressHandler(handler)  # type: ignore[arg-type]
        try:
            yield
        finally:
            self._session.removeProgressHandler(handler)  # type: ignore[arg-type]
            self._session.removeTag(name)

    def _tasks(self, name: str) -> Tasks | None:
        return self._told.get(name)

    def _cancel(self, name: str) -> None:
        self._session.interruptTag(name)


def send_to_session(session: SparkSession) -> None:
    """Make this package importable for the workers of a session; a small job the first time, nothing later."""
    with ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark") as threads:
        _send_to_server(session, threads)


def _send_to_server(session: SparkSession, threads: ThreadPoolExecutor) -> Server:
    if session not in _ready_sessions:
        master, failures, parallelism = threads.submit(_ask_server, session).result()

        def ask(archive: str | None) -> list[Worker]:
            return ask_workers(ConnectJobs(session, threads, archive), parallelism)

        def send(directory: Path) -> str:
            archive = zip_package(directory)
            threads.submit(session.addArtifacts, str(archive), pyfile=True).result()
            return archive.name

        with TemporaryDirectory(prefix="ggfmt-") as directory:
            _ready_sessions[session] = Server(parallelism, prepare_workers(ask, partial(send, Path(directory))))
        warn_of_single_attempts(master, failures)
    return _ready_sessions[session]


def _ask_server(session: SparkSession) -> tuple[str, str | None, int]:
    """The master of a server, how often it tries a task, and how many it runs at once: a range has as many parts."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.functions import spark_partition_id

    try:
        parts = session.range(0, _MOST_PARTS).select(spark_partition_id().alias("part")).toArrow()
        parallelism = len(parts["part"].unique())
        return str(session.conf.get("spark.master", "")), session.conf.get(MAX_FAILURES, None), parallelism
    except PySparkException as error:
        raise spark_error(
            "GG505", "Spark cannot be asked", cause_of_job(str(error)), None, str(error), adopted=True
        ) from None


def _new_session(address: RemoteAddress) -> SparkSession:
    """A session of our own. It is not the one that Spark gives who asks for the session of this process."""
    problem = None if any(map(os.environ.get, _PROXIES)) else refusal([(address.host, address.port)])
    if problem is not None:
        message = f"no Spark Connect server answers at `{address.shown}`: {problem}"
        raise Abend(Diagnostic("GG524", message, help="start the server or correct `--remote`"))
    allow_pandas()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas and its versions: no run uses it
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        message = f"Spark Connect cannot be used from here: {clause(str(error))}"
        raise Abend(Diagnostic("GG524", message, help="pip install 'ggfmt[connect]'")) from None
    try:
        session = SparkSession(connection=address.url)
        for key, value in address.conf:
            session.conf.set(key, value)
    except PySparkException as error:
        message = f"the Spark Connect server at `{address.shown}` gives no session: {clause(str(error))}"
        raise Abend(Diagnostic("GG524", message)) from None
    return session
