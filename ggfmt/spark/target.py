"""Which Spark a command uses: settings of the user, the Spark of this process, addresses of masters and servers.

Looking for a running Spark changes nothing and loads nothing: a process that has not imported pyspark has no session.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ggfmt import machine
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.lazy import lazy_regex

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession as ConnectSession


@dataclass(frozen=True)
class SparkSettings:
    """How to start Spark. `master` None: this machine. `conf`: Spark configuration, which overrides ggfmt's own.
    `remote`: the address of a Spark Connect server (`sc://HOST:PORT`), in place of a master."""

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    java_home: str | None = None
    app_name: str = "ggfmt"
    remote: str | None = None

    @property
    def named_master(self) -> str | None:
        return self.master or dict(self.conf).get("spark.master")


# Addresses of Spark Connect servers. Nothing here loads Spark.

REMOTE = "SPARK_REMOTE"
_PORT = 15002  # the default port of a server
_ADDRESS = lazy_regex(r"sc://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/;@\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?:/(?:;.*)?)?")


@dataclass(frozen=True)
class RemoteAddress:
    """A server: the address for Spark's client, and the part of it that is not secret; `conf` is for the session."""

    url: str
    host: str
    port: int
    conf: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        return f"sc://{self.host}:{self.port}"


def remote_address(settings: SparkSettings, environment: Mapping[str, str] = os.environ) -> RemoteAddress | None:
    """Return the server of `--remote`, or else of SPARK_REMOTE without a master. Raises: UsageError GG524."""
    url, origin = settings.remote, "--remote"
    if url is None and settings.named_master is None:
        url, origin = environment.get(REMOTE) or None, REMOTE
    if url is None:
        return None
    found = _ADDRESS.fullmatch(url)
    port = int(found["port"] or _PORT) if found else 0
    if found is None or not 0 < port < 65536:
        help = f"give it as `sc://HOST` or `sc://HOST:PORT`{'' if settings.remote else f', or unset {REMOTE}'}"
        raise UsageError("GG524", f"{origin} is not the address of a Spark Connect server", help=help)
    return RemoteAddress(url, found["host"], port, settings.conf)


# Spark masters by their URL: the form that retries tasks, their addresses, and whether anyone listens there.

_PROBE_SECONDS = 2.0


def retrying(master: str) -> str:
    """Return the form of a local master that retries tasks: `local[2]` fails with the first killed worker."""
    if master == "local":
        return "local[1,4]"
    return re.sub(r"^local\[\s*(\d+|\*)\s*\]$", r"local[\1,4]", master)


def master_addresses(master: str) -> list[tuple[str, int]]:
    """Return host and port of every master of `spark://host:port[,host:port]`; empty for other masters."""
    if not master.startswith("spark://"):
        return []
    addresses = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError("GG504", f"`{master}` is not the address of a master", help="give spark://HOST:PORT")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def probe(master: str, addresses: Sequence[tuple[str, int]]) -> None:
    """Raise Abend GG504 unless one of the masters listens: Spark itself would try for a minute without a message."""
    reason = refusal(addresses)
    if reason is not None:
        message = f"no Spark master answers at `{master}`: {reason}"
        raise Abend("GG504", message, help="start the master or correct `--master`")


def refusal(addresses: Sequence[tuple[str, int]]) -> str | None:
    """Return None if one of the addresses accepts a connection within two seconds, or else why none does."""
    silent = f"no answer within {_PROBE_SECONDS:.0f} seconds"
    return machine.refusal(addresses, _PROBE_SECONDS, silent, "its name cannot be resolved")


def attempts(master: str, configured: str | None) -> int:
    """Return how often Spark tries a task. `configured` applies to clusters; a local Spark has it in its name."""
    local = re.fullmatch(r"local(?:\[[^,\]]*(?:,\s*(\d+)\s*)?\])?", master)
    return int((local[1] if local else configured) or (1 if local else 4))


def resolve(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return ""


def is_here(host: str) -> bool:
    """Return whether the address of `host` belongs to this machine: only such addresses can be bound."""
    address = resolve(host)
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return bool(address)


# The Spark that exists already: that of this process, or of the spark-submit that started it.

GATEWAY = "PYSPARK_GATEWAY_PORT"

CORES = ("pyspark.core.context", "pyspark.context")  # as of Spark 4, and before
_CONNECT = "pyspark.sql.connect.session"


def _core() -> Any:
    return next((sys.modules[name] for name in CORES if name in sys.modules), None)


@dataclass(frozen=True)
class ActiveSpark:
    context: SparkContext
    name = "the Spark session of this process"

    @property
    def cluster(self) -> str | None:
        """The master, if tasks run on other machines."""
        master = str(self.context.master)
        return None if master.startswith("local") else master

    @property
    def shows_progress(self) -> bool:
        return bool(self.context._conf.get("spark.ui.showConsoleProgress") == "true")


@dataclass(frozen=True)
class ConnectSpark:
    session: ConnectSession
    name = "the Spark Connect session of this process"

    @property
    def cluster(self) -> str:
        """Where tasks run. It is unknown whether the server is on this machine."""
        return "Spark Connect"

    @property
    def shows_progress(self) -> bool:
        return os.environ.get("SPARK_CONNECT_PROGRESS_BAR_ENABLED") == "1"


@dataclass(frozen=True)
class SubmittedSpark:
    """The Spark of the spark-submit that started this process: it waits for a context."""

    name = "the Spark that `spark-submit` started"
    cluster = "spark-submit"  # it passes a program no standard input, and its output with a delay
    shows_progress = False


Existing: TypeAlias = ActiveSpark | ConnectSpark | SubmittedSpark


def detect_spark(environment: Mapping[str, str] = os.environ) -> Existing | None:
    core, connect = _core(), sys.modules.get(_CONNECT)
    context: Any = None if core is None else core.SparkContext._active_spark_context
    if getattr(context, "_jsc", None) is not None:  # it is None while the context starts
        return ActiveSpark(context)
    if connect is not None:
        # As in Spark itself, a thread that has not made a session uses that of the process.
        sessions = connect.SparkSession
        session = (
            sessions.getActiveSession() or sessions._get_default_session()
            if hasattr(sessions, "_get_default_session")
            else getattr(sessions, "_default_session", None)  # of Spark 3.5, which has one
        )
        if session is not None:
            return ConnectSpark(session)
    return SubmittedSpark() if environment.get(GATEWAY) else None


def spark_from_argument(spark: object) -> Existing:
    """Return the Spark of a session or a context. Raises: UsageError GG521 if it is neither, or has been stopped."""
    connect, sql, core = sys.modules.get(_CONNECT), sys.modules.get("pyspark.sql"), _core()
    if connect is not None and isinstance(spark, connect.SparkSession):
        if spark.is_stopped:
            raise _not_usable("the Spark Connect session has been stopped")
        return ConnectSpark(spark)
    context = spark.sparkContext if sql is not None and isinstance(spark, sql.SparkSession) else spark
    if core is None or not isinstance(context, core.SparkContext):
        raise _not_usable(f"a `{type(spark).__name__}` is not a Spark session")
    if context._jsc is None:
        raise _not_usable("the Spark session has been stopped")
    return ActiveSpark(context)


def _not_usable(message: str) -> UsageError:
    help = "give a SparkSession, a session of Spark Connect or a SparkContext that runs"
    return UsageError("GG521", message, help=help)
