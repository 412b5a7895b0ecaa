"""The operations of a table from files, by the reader of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.consolidation.operations import TableOperations
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.engine.plan import Job
from ggfmt.frames.batches import FILE_BITS
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


def last_definition(job: Job, name: str) -> tuple[TableDef, Mapping[str, int]]:
    """The last definition of a table in the input, and the columns that some definition added to the one before, with
    the `seq` from which on they are there."""
    table = job.catalog.get(name)
    added: dict[str, int] = {}
    for event in job.events:
        if event.table.full_name != name:
            continue
        if table is not None:
            place = (event.input << FILE_BITS) + event.line
            added |= {column: place for column in event.table.column_names if column not in table.column_names}
        table = event.table
    assert table is not None
    return table, {column: place for column, place in added.items() if column in table.column_names}


def with_key(table: TableDef, names: Sequence[str]) -> TableDef:
    """The table with a key of some columns; UsageError GG551 for a column that it does not have."""
    keyed = table.with_keys(names)
    lacking = keyed.not_in_key(names)
    if lacking:
        message = f"`primaryKeys` names `{lacking[0]}`, which is no column of the table"
        help = f"its columns are {', '.join(f'`{name}`' for name in table.column_names)}"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
    return keyed


def check_case(spark: SparkSession, table: TableDef) -> None:
    """UsageError GG551 for names that differ by case alone, where Spark does not see that."""
    folded = [name.lower() for name in table.column_names]
    twice = next((name for name in table.column_names if folded.count(name.lower()) > 1), None)
    if twice is not None and str(spark.conf.get("spark.sql.caseSensitive")).lower() != "true":
        message = f"columns differ from `{twice}` by case alone, which this session of Spark does not see"
        help = "set `spark.sql.caseSensitive` to `true`"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
