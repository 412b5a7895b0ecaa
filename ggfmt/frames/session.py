"""What `ggfmt.read` and `ggfmt.register` do with a session."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

from ggfmt.frames.plan import Request, make_plan, narrowed
from ggfmt.frames.source import signed, source_for
from ggfmt.spark.runners import runner_for, send_package

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def register_source(spark: SparkSession) -> None:
    """Makes the data source known to a session, and this package to its workers. UsageError GG521 if `spark` is none,
    Abend GG522 if its workers cannot run tasks."""
    send_package(spark)
    if spark not in _registered:
        spark.dataSource.register(source_for())
        _registered.add(spark)


def read_frame(spark: SparkSession, request: Request, schema: str | StructType | None = None) -> DataFrame:
    """A frame of what a request asks for. The inputs are listed and looked at now, and read when the frame is used."""
    with runner_for(spark) as runner:
        plan = make_plan(request, runner)
    if schema is not None:
        asked = spark.createDataFrame([], schema).schema if isinstance(schema, str) else schema
        plan = replace(plan, wanted=narrowed(plan.wanted, asked.jsonValue()))
    register_source(spark)
    return spark.read.format("ggfmt").options(**signed(plan)).load()
