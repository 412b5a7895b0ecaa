"""Frames of operations from files, on a classic session or on one of Spark Connect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ggfmt.frames.plan import Request, make_plan, narrowed
from ggfmt.frames.session import register_source
from ggfmt.frames.source import signed
from ggfmt.spark.runners import runner_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def read_frame(spark: SparkSession, request: Request, schema: str | StructType | None = None) -> DataFrame:
    """A frame of what a request asks for. The inputs are listed and looked at now, and read when the frame is used."""
    with runner_for(spark) as runner:
        plan = make_plan(request, runner)
    if schema is not None:
        asked = spark.createDataFrame([], schema).schema if isinstance(schema, str) else schema
        plan = replace(plan, wanted=narrowed(plan.wanted, asked.jsonValue()))
    register_source(spark)
    return spark.read.format("ggfmt").options(**signed(plan)).load()
