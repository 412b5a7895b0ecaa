"""The Spark that is there already: of this process, or of the spark-submit that started it.

Looking for it changes nothing and loads nothing: a process that has not imported pyspark has no session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession as ConnectSession

GATEWAY = "PYSPARK_GATEWAY_PORT"

_CORE, _CONNECT = "pyspark.core.context", "pyspark.sql.connect.session"


@dataclass(frozen=True)
class ActiveSpark:
    """A Spark whose context this process has."""

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
    """A session of Spark Connect that this process has."""

    session: ConnectSession
    name = "the Spark Connect session of this process"

    @property
    def cluster(self) -> str:
        """Where tasks run. The server may be on this machine, which nothing tells."""
        return "Spark Connect"

    @property
    def shows_progress(self) -> bool:
        return os.environ.get("SPARK_CONNECT_PROGRESS_BAR_ENABLED") == "1"


@dataclass(frozen=True)
class SubmittedSpark:
    """The Spark of a spark-submit that started this process: it waits for a context."""

    name = "the Spark that `spark-submit` started"
    cluster = "spark-submit"  # which gives a program neither its standard input nor, at once, its output
    shows_progress = False


Existing: TypeAlias = ActiveSpark | ConnectSpark | SubmittedSpark


def detect_spark(environment: Mapping[str, str] = os.environ) -> Existing | None:
    """The Spark that is there already, or None where ggfmt has to start one or to connect to a server."""
    core, connect = sys.modules.get(_CORE), sys.modules.get(_CONNECT)
    context: Any = None if core is None else core.SparkContext._active_spark_context
    if getattr(context, "_jsc", None) is not None:  # which it is not while it starts
        return ActiveSpark(context)
    if connect is not None:
        # A thread that has not made a session has that of the process, as in Spark itself.
        session = connect.SparkSession.getActiveSession() or connect.SparkSession._get_default_session()
        if session is not None:
            return ConnectSpark(session)
    return SubmittedSpark() if environment.get(GATEWAY) else None


def spark_from_argument(spark: object) -> Existing:
    """A session or a context that a caller names. UsageError GG521 if it is neither, or has been stopped."""
    connect, sql, core = (sys.modules.get(name) for name in (_CONNECT, "pyspark.sql", _CORE))
    if connect is not None and isinstance(spark, connect.SparkSession):
        if spark.is_stopped:
            raise _not_usable("the Spark Connect session has been stopped")
        return ConnectSpark(spark)
    context = spark.sparkContext if sql is not None and isinstance(spark, sql.SparkSession) else spark
    if core is None or not isinstance(context, core.SparkContext):
        raise _not_usable(f"a `{type(spark).__name__}` is no Spark session")
    if context._jsc is None:
        raise _not_usable("the Spark session has been stopped")
    return ActiveSpark(context)


def _not_usable(message: str) -> UsageError:
    help = "give a SparkSession, a session of Spark Connect or a SparkContext that runs"
    return UsageError(Diagnostic("GG521", message, help=help))
