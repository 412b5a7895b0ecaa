"""The Spark session that ggfmt starts: it runs one task for each item, and stops."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggfmt import signals
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.kernels import SWITCH
from ggfmt.machine import available_cores
from ggfmt.scratch import Scratch, remove_abandoned
from ggfmt.spark.failures import cause_in_log, cause_of_exception, clause, drop_py4j_records, spark_error
from ggfmt.spark.installations import find_java, spark_home
from ggfmt.spark.jobs import ContextJobs, Item, Result
from ggfmt.spark.jvm import Jvm, start_jvm, stop_quietly
from ggfmt.spark.target import SparkSettings, is_here, master_addresses, probe, resolve, retrying
from ggfmt.spark.workers import ask_workers, check_workers, link_spark_home, python_path, set_environment, zip_package

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["SparkRunner", "SparkSettings"]

_STOP_SECONDS = 30.0  # within which a Spark stops its executors and removes its files
_MAX_SOCKET_DIRECTORY = 60

log = logging.getLogger("ggfmt")


class SparkRunner:
    """A running Spark, as a context manager; one at a time in a process.

    Entering raises Abend: GG502 if there is no usable Java, GG503 if Spark does not start, GG504 if the master does not
    respond, GG522 if it `checks_workers` and they lack a library; and UsageError GG504 for an invalid `spark://...`
    address. The output of Spark does not reach this process's output: it is in the log file, which is deleted at the
    end unless the session failed.
    """

    def __init__(self, settings: SparkSettings, checks_workers: bool = False) -> None:
        self._settings = settings
        self._checks_workers = checks_workers
        self._conf = dict(settings.conf)
        self.master = retrying(settings.named_master or f"local[{available_cores()}]")
        self._failed = False
        self._log: Path | None = None
        # A stopped local Spark has nothing left to do, but its JVM takes 0.3 seconds to notice.
        self._patience = 0.0 if self.is_local else 10.0

    @property
    def parallelism(self) -> int:
        return self._parallelism

    @property
    def executors(self) -> int:
        """The number of executors that Spark knows now; a local Spark counts as one, a stopped one has none."""
        from py4j.protocol import Py4JError

        assert self._context is not None
        context: Any = self._context._jsc
        try:
            # Memory of all block managers: those of the executors, and that of the driver.
            managers = signals.call_on(self._threads, lambda: context.sc().getExecutorMemoryStatus().size())
        except (Py4JError, OSError):
            return 0
        return int(managers) - (not self.is_local)

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local[")

    @property
    def log_path(self) -> Path | None:
        """The log file of Spark's JVM, while the session runs and after it has failed; otherwise None."""
        return self._log

    @property
    def version(self) -> str:
        return f"Spark {self._spark_version} on Java {self._java.major} ({self._java.origin})"

    def __enter__(self) -> SparkRunner:
        home = spark_home()  # first: without a Spark, a Java would not help
        self._java = find_java(self._settings.java_home)
        addresses = master_addresses(self.master)
        if addresses:
            probe(self.master, addresses)
        self._files: Scratch | None = None
        self._jvm: Jvm | None = None
        self._context: SparkContext | None = None
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ggfmt-spark")
        self._path, self._variables = list(sys.path), frozenset(os.environ)
        try:
            remove_abandoned()
            with signals.deferred():
                self._files = Scratch(logs=True)
                self._scratch, self._log = self._files.directory, self._files.log
            self._start(home, addresses)
            if self._checks_workers and not self.master.startswith("local"):  # where workers have this Python
                check_workers(ask_workers(self._jobs, self._parallelism))
        except BaseException as error:
            self._failed = isinstance(error, Exception)
            self._close()
            if isinstance(error, OSError):
                raise spark_error("GG503", "Spark did not start", clause(str(error)), self._log) from error
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def name_jobs(self, purpose: Callable[[], str]) -> str | None:
        return self._jobs.name_jobs(purpose)

    def run(
        self,
        task: Callable[[Item, int], Result],
        items: Sequence[Item],
        progress: Callable[[int, int], None] | None = None,
        seconds: float = math.inf,
    ) -> list[Result]:
        try:
            return self._jobs.run(task, items, progress, seconds)
        except Abend:
            self._failed = True
            raise

    def _gone(self) -> bool:
        if self._jvm is None:
            return True
        with contextlib.suppress(Exception):
            self._jvm.process.wait(1)
        return self._jvm.process.poll() is not None

    def _start(self, home: Path, addresses: Sequence[tuple[str, int]]) -> None:
        assert self._log is not None
        here = self.master.startswith("local") or (bool(addresses) and all(is_here(host) for host, _ in addresses))
        loopback = self.master.startswith("local") or (
            bool(addresses) and all(resolve(host).startswith("127.") for host, _ in addresses)
        )
        workers_home = link_spark_home(home, self._scratch / "spark") if self.master.startswith("local") else None
        if self.master.startswith("local-cluster"):
            home = workers_home or home
        conf, own = {**self._conf, "spark.master": self.master}, self._defaults(loopback)
        environment = dict(os.environ)
        python = self._conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
        if self.master.startswith("local") or (here and python is None):
            python = sys.executable
        if python is not None:
            environment["PYSPARK_PYTHON"] = python
        if loopback:
            environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if self.is_local:
            # The workers run this interpreter, but see only what is installed: a checkout has to be on PYTHONPATH.
            environment["PYTHONPATH"] = python_path()
            environment["PYTHONSAFEPATH"] = "1"  # files in the current directory must not hide modules

        starting = self._threads.submit(
            start_jvm, self._java, home, conf, own, environment, self._log, self._scratch, workers_home
        )
        started = signals.JobEnd(starting)
        try:
            import pyspark  # noqa: F401 - it takes a while, and so does the JVM

            started.wait()
        finally:
            started.wait()
            self._jvm = starting.result()
        gateway = {"PYSPARK_GATEWAY_PORT": str(self._jvm.port), "PYSPARK_GATEWAY_SECRET": self._jvm.secret}
        if python is not None:
            gateway["PYSPARK_PYTHON"] = python
        signals.call_on(self._threads, self._connect, conf, gateway, not self.is_local)

    def _defaults(self, loopback: bool) -> dict[str, str]:
        """Return properties that hold where neither the user nor `spark-defaults.conf` sets them."""
        conf = {
            "spark.app.name": self._settings.app_name,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "WARN",
        }
        if os.name == "posix" and len(str(self._scratch)) <= _MAX_SOCKET_DIRECTORY:
            conf["spark.python.unix.domain.socket.enabled"] = "true"
        if loopback:
            conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if SWITCH in os.environ:
            conf[f"spark.executorEnv.{SWITCH}"] = os.environ[SWITCH]
        if self.master.startswith("local-cluster"):
            conf["spark.executor.defaultJavaOptions"] = f'"-Djava.io.tmpdir={self._scratch}" -XX:-UsePerfData'
        return conf

    def _connect(self, conf: dict[str, str], environment: dict[str, str], ship: bool) -> None:
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException

        quiet = logging.getLogger("py4j")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        logging.getLogger().addFilter(drop_py4j_records)
        try:
            with set_environment(environment), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._context = SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(conf.items())))
            # The handler of this server prints a traceback when the JVM ends.
            self._context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
            archive = zip_package(self._scratch) if ship else None
            if archive is not None:
                self._context.addPyFile(str(archive))
            self._jobs = ContextJobs(
                self._context,
                self._threads,
                log_file=self._log,
                gone=self._gone,
                archive=None if archive is None else archive.name,
            )
            self._parallelism = self._context.defaultParallelism
            self._spark_version = self._context.version
        except Py4JJavaError as error:
            reason, full = cause_of_exception(error), str(error)
        except (Py4JError, PySparkException, OSError) as error:
            assert self._log is not None
            reason, full = cause_in_log(self._log) if self._gone() else clause(str(error)), repr(error)
        else:
            return
        raise spark_error("GG503", "Spark did not start", reason, self._log, full)

    def _close(self) -> None:
        with signals.deferred():
            self._end()

    def _end(self) -> None:
        try:
            if self._jvm is not None:
                # A Spark that does not respond is killed: then this thread ends too.
                signals.JobEnd(self._threads.submit(self._disconnect)).wait(_STOP_SECONDS)
        finally:
            if self._jvm is not None:
                self._jvm.stop(self._patience)
            self._threads.shutdown()
            self._jvm = self._context = None
            sys.path[:] = [entry for entry in sys.path if entry in self._path]
            for name in [name for name in os.environ if name.startswith("SPARK_")]:
                if name not in self._variables:  # pyspark leaves some of them set
                    del os.environ[name]
            if self._files is not None:
                self._files.remove()
            if not self._failed and self._log is not None:
                self._log.unlink(missing_ok=True)
                self._log = None

    def _disconnect(self) -> None:
        from pyspark import SparkContext

        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            if self._context is not None:
                # Stopping this server takes up to 1.5 seconds, and there is nothing to wait for.
                server, self._context._accumulatorServer = self._context._accumulatorServer, None  # type: ignore[assignment]
                threading.Thread(target=stop_quietly, args=(server,), daemon=True).start()
                self._context.stop()
            if SparkContext._gateway is not None:
                SparkContext._gateway.close()
        SparkContext._gateway = SparkContext._jvm = None
