"""Which Spark carries tasks out: one that is there already, a Spark Connect server, or one of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.spark.target import (
    GATEWAY,
    ConnectSpark,
    Existing,
    SparkSettings,
    SubmittedSpark,
    detect_spark,
    remote_address,
    spark_from_argument,
)

if TYPE_CHECKING:
    from ggfmt.spark.attached import AttachedRunner, ConnectRunner
    from ggfmt.spark.session import SparkRunner

    SomeRunner: TypeAlias = SparkRunner | AttachedRunner | ConnectRunner


def runner_for(spark: object | None = None, settings: SparkSettings | None = None) -> SomeRunner:
    """The runner for a run: a context manager, and while it is entered a `Runner` (see `ggfmt.scan.runner`).

    `spark` is a SparkSession, a session of Spark Connect or a SparkContext, which stays its caller's in all respects.
    Without it, the Spark that this process has is taken, and where there is none, `settings` say what to start or to
    connect to. Nothing is started, loaded or asked before the runner is entered.

    UsageError: GG520 for settings of a Spark that runs already, GG521 for a `spark` that is none or has been stopped,
    GG524 for an address that is none of a server.
    """
    settings = settings or SparkSettings()
    return runner_on(resolve_spark(spark, settings), settings)


def resolve_spark(spark: object | None, settings: SparkSettings) -> Existing | None:
    """The Spark that is there: `spark`, or what this process has. UsageError as `runner_for` says."""
    existing = detect_spark() if spark is None else spark_from_argument(spark)
    if existing is not None:
        _refuse(settings, existing)
    elif settings.remote is not None:
        _refuse_beside_remote(settings)
    return existing


def runner_on(existing: Existing | None, settings: SparkSettings) -> SomeRunner:
    """The runner on a Spark that was found, or where none was, the one that `settings` ask for."""
    if isinstance(existing, ConnectSpark):
        from ggfmt.spark.attached import ConnectRunner

        return ConnectRunner(existing)
    if existing is not None:
        from ggfmt.spark.attached import AttachedRunner

        return AttachedRunner(existing)
    address = remote_address(settings)
    if address is not None:
        from ggfmt.spark.attached import ConnectRunner

        return ConnectRunner(address)
    from ggfmt.spark.session import SparkRunner

    return SparkRunner(settings)


def send_package(spark: object) -> None:
    """Make this package importable for the Python workers of a caller's Spark, as `runner_for(spark)` does.

    For what runs by itself on executors, such as a data source. It takes a small job the first time, and nothing later.
    UsageError GG521, and Abend GG505 or GG522, as from the runner.
    """
    existing = spark_from_argument(spark)
    if isinstance(existing, ConnectSpark):
        from ggfmt.spark.attached import send_to_session

        send_to_session(existing.session)
    elif not isinstance(existing, SubmittedSpark):
        from ggfmt.spark.attached import send_to_context

        send_to_context(existing.context)


def _refuse(settings: SparkSettings, existing: Existing) -> None:
    """UsageError GG520 for settings that somebody else has made."""
    given = {
        "--master": settings.master is not None,
        "--remote": settings.remote is not None,
        "--spark-conf": bool(settings.conf),
        "--java-home": settings.java_home is not None,
    }
    for option in (option for option, there in given.items() if there):
        message = f"`{option}` cannot change {existing.name}, which the run takes"
        help = f"leave out `{option}`, or stop that session first"
        if isinstance(existing, SubmittedSpark):
            help = f"give it to `spark-submit`, or unset {GATEWAY} for a Spark of its own"
        raise UsageError(Diagnostic("GG520", message, help=help))


def _refuse_beside_remote(settings: SparkSettings) -> None:
    """UsageError GG520 for settings that a server has made; properties of a session are not among them."""
    for option, given in (("--master", settings.named_master), ("--java-home", settings.java_home)):
        if given is not None:
            message = f"`{option}` cannot change the server that `--remote` names"
            raise UsageError(Diagnostic("GG520", message, help=f"leave out `{option}`, or `--remote`"))
