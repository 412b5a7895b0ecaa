"""The operations of a table from files, by the reader of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.tables import last_definition, with_key
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.frames.plan import Request, make_plan
from ggfmt.frames.session import register_source
from ggfmt.frames.source import signed
from ggfmt.model.table import TableDef
from ggfmt.spark.runners import runner_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def operations_of(
    spark: SparkSession, request: Request, primary_keys: Sequence[str] | None, base: DataFrame | None
) -> TableOperations:
    """The operations of the table that a request names."""
    with runner_for(spark) as runner:
        plan = make_plan(request, runner)
    assert request.table is not None
    table, added = last_definition(plan.job, request.table)
    if primary_keys is not None:
        table = with_key(table, primary_keys)
    check_case(spark, table)
    register_source(spark)
    frame = spark.read.format("ggfmt").options(**signed(plan)).load()
    return TableOperations(frame, table, added, base)


def check_case(spark: SparkSession, table: TableDef) -> None:
    """UsageError GG551 for names that differ by case alone, where Spark does not see that."""
    folded = [name.lower() for name in table.column_names]
    twice = next((name for name in table.column_names if folded.count(name.lower()) > 1), None)
    if twice is not None and str(spark.conf.get("spark.sql.caseSensitive")).lower() != "true":
        message = f"columns differ from `{twice}` by case alone, which this session of Spark does not see"
        help = "set `spark.sql.caseSensitive` to `true`"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
