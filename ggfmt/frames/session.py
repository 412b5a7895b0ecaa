"""What frames need of the session that they are of: its workers able to import this package, and the source known."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from ggfmt.spark.runners import send_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def register_source(spark: SparkSession) -> None:
    """Makes the data source known to a session, and this package to its workers. UsageError GG521 if `spark` is none,
    Abend GG522 if its workers cannot run tasks."""
    from ggfmt.frames.source import source_for

    send_package(spark)
    if spark not in _registered:
        spark.dataSource.register(source_for())
        _registered.add(spark)
