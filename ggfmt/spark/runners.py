"""The choice of a runner: on a Spark that exists, on a Spark Connect server, or on a new Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.spark import target

if TYPE_CHECKING:
    from ggfmt.spark.attached import AttachedRunner, ConnectRunner
    from ggfmt.spark.session import SparkRunner

    SomeRunner: TypeAlias = SparkRunner | AttachedRunner | ConnectRunner


def runner_for(spark: object | None = None, settings: target.SparkSettings | None = None) -> SomeRunner:
    """Return the runner for a run: a context manager, and while it is entered a `Runner` (see `ggfmt.reading.runner`).

    `spark`: a SparkSession, a session of Spark Connect or a SparkContext, which stays the caller's in all respects.
    Without it, ggfmt uses the Spark of this process; if there is none, `settings` say what to start or to connect to.
    Nothing is started, loaded or asked before the runner is entered.

    Raises: UsageError GG520 for settings of a Spark that runs already, GG521 if `spark` is not a Spark or has been
    stopped, GG524 for an invalid address of a server.
    """
    settings = settings or target.SparkSettings()
    return runner_on(resolve_spark(spark, settings), settings)


def resolve_spark(spark: object | None, settings: target.SparkSettings) -> target.Existing | None:
    """Return the Spark that exists: `spark`, or that of this process. Raises UsageError as `runner_for` does."""
    existing = target.detect_spark() if spark is None else target.spark_from_argument(spark)
    if existing is not None:
        _refuse(settings, existing)
    elif settings.remote is not None:
        _refuse_beside_remote(settings)
    return existing


def runner_on(existing: target.Existing | None, settings: target.SparkSettings) -> SomeRunner:
    if isinstance(existing, target.ConnectSpark):
        from ggfmt.spark.attached import ConnectRunner

        return ConnectRunner(existing)
    if existing is not None:
        from ggfmt.spark.attached import AttachedRunner

        return AttachedRunner(existing)
    address = target.remote_address(settings)
    if address is not None:
        from ggfmt.spark.attached import ConnectRunner

        return ConnectRunner(address)
    from ggfmt.spark.session import SparkRunner

    return SparkRunner(settings, checks_workers=True)


def send_package(spark: object) -> None:
    """Make this package importable for the workers of a caller's Spark, as data sources on executors need it: by a
    small job the first time. Raises: UsageError GG521, Abend GG505 or GG522, as from the runner."""
    with runner_for(spark):
        pass


def _refuse(settings: target.SparkSettings, existing: target.Existing) -> None:
    given = {
        "--master": settings.master is not None,
        "--remote": settings.remote is not None,
        "--spark-conf": bool(settings.conf),
        "--java-home": settings.java_home is not None,
    }
    for option in (option for option, there in given.items() if there):
        message = f"`{option}` cannot change {existing.name}, which the run takes"
        help = f"leave out `{option}`, or stop that session first"
        if isinstance(existing, target.SubmittedSpark):
            help = f"give it to `spark-submit`, or unset {target.GATEWAY} to start a separate Spark"
        raise UsageError("GG520", message, help=help)


def _refuse_beside_remote(settings: target.SparkSettings) -> None:
    """Raise UsageError GG520 for settings that a server has made; properties of a session are not among them."""
    for option, given in (("--master", settings.named_master), ("--java-home", settings.java_home)):
        if given is not None:
            message = f"`{option}` cannot change the server that `--remote` names"
            raise UsageError("GG520", message, help=f"leave out `{option}`, or `--remote`")
