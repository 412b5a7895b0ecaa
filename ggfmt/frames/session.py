"""The data source in a session: `ggfmt.read` and `ggfmt.register`."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from ggfmt.frames.plan import Request, make_plan, narrow_projection, schema_from_spark
from ggfmt.frames.source import sign_plan, source_for
from ggfmt.reading.standard_input import check_workers_reach
from ggfmt.spark.runners import resolve_spark, runner_for, send_package
from ggfmt.spark.target import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def register_source(spark: SparkSession) -> None:
    """Make the data source and this package known to a session. Raises: UsageError GG521, Abend GG522."""
    send_package(spark)
    if spark not in _registered:
        spark.dataSource.register(source_for())
        _registered.add(spark)


def read_frame(spark: SparkSession, request: Request, schema: str | StructType | None = None) -> DataFrame:
    """Return the frame of a request. The inputs are listed and inspected now, and read when the frame is used.

    A frame can be used for as long as its session, and so the messages of topics are there for as long.
    """
    existing = resolve_spark(spark, SparkSettings())
    check_workers_reach(request.paths, None if existing is None else existing.cluster, request.topics)
    with ExitStack() as held:
        with runner_for(spark) as runner:
            plan = make_plan(request, runner, held)
        weakref.finalize(spark, held.pop_all().close)
    if schema is not None:
        asked = spark.createDataFrame([], schema).schema if isinstance(schema, str) else schema
        plan = replace(plan, wanted=narrow_projection(plan.wanted, schema_from_spark(asked.jsonValue())))
    register_source(spark)
    return spark.read.format("ggfmt").options(**sign_plan(plan)).load()
