"""Which Spark carries tasks out: one that is there already, a server, or one of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.spark.existing import Existing, Submitted, existing_spark, given_spark
from ggfmt.spark.settings import SparkSettings

if TYPE_CHECKING:
    from ggfmt.spark.adopted import AdoptedRunner
    from ggfmt.spark.connect import ConnectRunner
    from ggfmt.spark.session import SparkRunner

    SomeRunner = Union[SparkRunner, AdoptedRunner, ConnectRunner]


def runner_for(spark: object | None = None, settings: SparkSettings | None = None) -> SomeRunner:
    """The runner for a run: a context manager, and while it is entered a `Runner` (see `ggfmt.engine.runner`).

    `spark` is a SparkSession, a session of Spark Connect or a SparkContext, which stays its caller's in all respects.
    Without it, the Spark that this process has is taken, and where there is none, `settings` say what to start or to
    connect to. Nothing is started, loaded or asked before the runner is entered.

    UsageError: GG520 for settings of a Spark that runs already, GG521 for a `spark` that is none or has been stopped.
    """
    raise NotImplementedError


def send_package(spark: object) -> None:
    """Make this package importable for the Python workers of a Spark of a caller, as `runner_for(spark)` does.

    For what runs by itself on executors, such as a data source. It takes a small job the first time, and nothing later.
    """
    raise NotImplementedError
