"""The operations of a table from files, by the reader of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from typing import TYPE_CHECKING

from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.tables import tables_of
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.engine.plan import Job
from ggfmt.frames.plan import Request, make_plan
from ggfmt.frames.session import register_source
from ggfmt.frames.source import signed
from ggfmt.model.table import Column, TableDef
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
    frame = spark.read.format("ggfmt").options(**signed(replace(plan, wanted=wanted))).load()
    definition = table.definition
    if base is not None and not is_defined(plan.job, name):
        definition = with_columns(definition, base.columns)
    return TableOperations(frame, definition, table.added, base)


def is_defined(job: Job, name: str) -> bool:
    """Whether somebody says which columns a table has: the user, or a metadata record."""
    return name in job.catalog.trusted or any(event.table.full_name == name for event in job.events)


def with_columns(table: TableDef, names: Sequence[str]) -> TableDef:
    """A table that was found in data, with the columns of rows that were there before: data may show changed ones
    alone."""
    own = {column.name: column for column in table.columns}
    return replace(table, columns=tuple(({name: own.get(name, Column(name)) for name in names} | own).values()))


def check_case(spark: SparkSession, table: TableDef) -> None:
    """UsageError GG551 for names that differ by case alone, where Spark does not see that."""
    folded = [name.lower() for name in table.column_names]
    twice = next((name for name in table.column_names if folded.count(name.lower()) > 1), None)
    if twice is not None and str(spark.conf.get("spark.sql.caseSensitive")).lower() != "true":
        message = f"columns differ from `{twice}` by case alone, which this session of Spark does not see"
        help = "set `spark.sql.caseSensitive` to `true`"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
