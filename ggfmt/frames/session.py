"""What frames need of the session that they are of: its tasks, its workers able to import this package, the source."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from ggfmt.engine.runner import InProcess, Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def runner_of(spark: SparkSession) -> Runner:
    """What runs tasks for a frame before it is used."""
    return InProcess()


def register_source(spark: SparkSession) -> None:
    """Makes the data source known to a session, once."""
    from ggfmt.frames.source import source_for

    if spark not in _registered:
        spark.dataSource.register(source_for())
        _registered.add(spark)
