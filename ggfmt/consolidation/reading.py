"""The operations of a table from files, by the reader of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from typing import TYPE_CHECKING

from pyspark.sql.utils import is_remote

from ggfmt.consolidation.asked import unusable
from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.tables import is_defined, tables_of, with_columns
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.frames.plan import Request, make_plan
from ggfmt.frames.session import register_source
from ggfmt.frames.source import sign_plan
from ggfmt.model.table import TableDef
from ggfmt.spark.runners import runner_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def operations_of(
    spark: SparkSession,
    request: Request,
    primary_keys: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
) -> TableOperations:
    """The operations of the table that a request names."""
    if type(spark).__module__.startswith("pyspark.sql.connect") and not is_remote():
        message = "the functions of this process's PySpark are not those of Spark Connect"
        raise unusable(message, "make the session by `pyspark.sql.SparkSession.builder.remote(...)`")
    with runner_for(spark) as runner:
        plan = make_plan(request, runner)
    name = request.table
    assert name is not None
    keys = () if primary_keys is None else ((name, tuple(primary_keys)),)
    table = tables_of(plan.job, keys, [(f"{escape(name)}.{escape(own)}", type) for own, type in (types or {}).items()])[
        name
    ]
    check_case(spark, table.definition)
    register_source(spark)
    wanted = replace(plan.wanted, schema=table.wanted.schema)
    frame = spark.read.format("ggfmt").options(**sign_plan(replace(plan, wanted=wanted))).load()
    definition = table.definition
    if base is not None and not is_defined(plan.job, name):
        definition = with_columns(definition, base.columns)
    return TableOperations(frame, definition, table.added, base)


def check_case(spark: SparkSession, table: TableDef) -> None:
    """UsageError GG551 for names that differ by case alone, where Spark does not see that."""
    folded = [name.lower() for name in table.column_names]
    twice = next((name for name in table.column_names if folded.count(name.lower()) > 1), None)
    if twice is not None and str(spark.conf.get("spark.sql.caseSensitive")).lower() != "true":
        message = f"columns differ from `{twice}` by case alone, which this session of Spark does not see"
        help = "set `spark.sql.caseSensitive` to `true`"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
