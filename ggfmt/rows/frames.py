"""Rows as DataFrames: the tasks of a consolidation as functions that Spark calls when a frame is used.

The operations are read once when the frame is made, for what they are like, and again when it is used: tasks read
splits and leave their operations by bucket of keys, as blobs that Spark shuffles, and a task for each bucket makes its
rows. No directory is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.utils import is_remote

from ggfmt.arrow import arrays
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, concatenated, non_null_values
from ggfmt.columnar.typed import typed_values
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.frames.batches import located_batches
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.plan import ReadPlan, Request, make_scan, plan_of, table_of
from ggfmt.frames.shapes import ddl, ddl_type, quoted, schema_of_user
from ggfmt.options.value_types import OnUnfit
from ggfmt.reading.runner import InProcess, Runner
from ggfmt.reading.scan import DefinitionsNeeded
from ggfmt.reading.splits import ReadJob, Split
from ggfmt.rowfiles.spill import split_by
from ggfmt.rows.answers import answers
from ggfmt.rows.key_updates import LinkedKeys, may_meet_an_insert
from ggfmt.rows.numbers import NumberRange, is_number
from ggfmt.rows.operations import TRUNCATE, base_operations, staged_operations, staged_schema, without_before_images
from ggfmt.rows.query import RowQuery, query_error
from ggfmt.rows.results import TableQuery, check_names
from ggfmt.rows.staging import (
    SplitStager,
    StagedInput,
    StagedSplit,
    StagedTable,
    bucket_numbers,
    buckets_of,
    merge_outcomes,
    unit_count,
)
from ggfmt.rows.tables import RowTable, Types, can_hold, tables_of, with_base_columns, with_found_types
from ggfmt.spark.runners import runner_for, send_package

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOB_BYTES = 48 << 20  # of operations that a task holds before it gives them away
_BLOB_FIELDS: list[pa.Field[Any]] = [pa.field("unit", pa.int32()), pa.field("blob", pa.binary())]
_BLOBS = pa.schema(_BLOB_FIELDS)
_BLOB_DDL = "unit int, blob binary"


@dataclass(frozen=True)
class FramePlan:
    """How the rows of a table are found."""

    plan: ReadPlan
    query: TableQuery
    linked: LinkedKeys | None
    buckets: int  # of keys that nothing connects; the numbers of groups of connected keys follow
    strict: bool  # an unresolved row is an error

    def units(self, batch: pa.RecordBatch) -> pa.Int32Array:
        units = bucket_numbers(batch["hash"], buckets_of(self.query.table, self.buckets))
        if self.linked is None:
            return units
        return pc.coalesce(pc.cast(pc.add(self.linked.group_of(batch["hash"]), self.buckets), pa.int32()), units)

    def is_linked(self, unit: int) -> bool:
        return unit >= self.buckets

    def needs_before_images(self, unit: int) -> bool:
        """Return whether operations with whole after images need their before images."""
        asked = self.query.query
        return self.is_linked(unit) or asked.kind != "current" or bool(asked.keep) or not self.query.table.key


def rows_frame(
    spark: SparkSession,
    request: Request,
    query: RowQuery,
    primary_keys: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
    strict: bool = False,
) -> tuple[DataFrame, StagedInput, TableQuery]:
    """Return the rows of the table that a request names; what its operations are like, and the query to them."""
    if type(spark).__module__.startswith("pyspark.sql.connect") and not is_remote():
        message = "the session uses Spark Connect, but PySpark in this process does not"
        raise query_error(message, "create the session with `pyspark.sql.SparkSession.builder.remote(...)`")
    if find_spec("pandas") is None:
        message = "grouped functions of PySpark need pandas, which is not installed"
        raise query_error(message, "run `pip install 'pandas>=2.2'`, or write the rows with `ggfmt.consolidate`")
    name = request.table
    assert name is not None
    rows_of_base = pa.schema([]) if base is None else schema_of_user(base.schema.jsonValue())
    base_types = None if base is None else dict(zip(rows_of_base.names, rows_of_base.types, strict=True))
    patterns = tuple((f"{escape(name)}.{escape(own)}", type) for own, type in (types or {}).items())
    sink = _StatsSink(spark, request, primary_keys, patterns, base_types, query.on_unfit)
    with runner_for(spark) as runner:
        plan, found = _plan(request, sink, runner)
    table = found.tables[name]
    staged = found.staged.get(name, StagedTable())
    before = {column: NumberRange.of_type(type) for column, type in (base_types or {}).items() if is_number(type)}
    table, _ = with_found_types(table, staged.stats.numbers, before)
    _check_base(table, base_types)
    wanted = TableQuery.of(query, table, staged.stats, found.files, base is not None or query.starts_empty)
    folds = str(spark.conf.get("spark.sql.caseSensitive")).lower() != "true"
    session = "this session of Spark (`spark.sql.caseSensitive` is `false`)"
    check_names(name, wanted.columns, wanted.marks, session if folds else "")
    frame_plan = FramePlan(plan, wanted, found.links(name, wanted.ordering), found.buckets, strict)
    send_package(spark)
    splits = len(plan.splits)
    blobs = spark.range(0, splits, 1, max(splits, 1)).mapInArrow(_stage(frame_plan), _BLOB_DDL)
    if base is not None:
        columns = [column for column in base_types or {} if column in table.columns]
        rows = base.select(*(base[quoted(column)] for column in columns))
        blobs = blobs.unionAll(rows.mapInArrow(_stage_base(frame_plan), _BLOB_DDL))
    return blobs.groupBy("unit").applyInArrow(_answer(frame_plan), ddl(wanted.schema)), found, wanted


@dataclass(frozen=True)
class _StatsSink:
    spark: SparkSession
    request: Request
    primary_keys: Sequence[str] | None
    types: Types
    base_types: Mapping[str, pa.DataType] | None
    on_unfit: OnUnfit = "error"

    def task(self, job: ReadJob) -> Callable[[Split, int], StagedSplit]:
        try:
            table = self.table(job)
        except UsageError:
            if job.settled or not self.request.runs_discovery:
                raise
            raise DefinitionsNeeded from None  # the rest of the data may have what is named
        return SplitStager(job, {table.name: table}, None, 1).stage

    def table(self, job: ReadJob) -> RowTable:
        name = table_of(job, str(self.request.table)).full_name
        keys = () if self.primary_keys is None else ((name, tuple(self.primary_keys)),)
        table = tables_of(job, keys, self.types, to="spark", on_unfit=self.on_unfit)[name]
        if self.base_types is not None and not table.defined:
            table = with_base_columns(table, self.base_types)
        return table

    def discard(self) -> None:
        """Do nothing: nothing is written."""

    def go_on(self) -> None:
        """Do nothing: no task stops another one."""


def _plan(request: Request, sink: _StatsSink, runner: Runner) -> tuple[ReadPlan, StagedInput]:
    keys = () if sink.primary_keys is None else ((str(request.table), tuple(sink.primary_keys)),)
    scan = make_scan(request, keys)
    splits = scan.splits(runner.parallelism)
    job, outcomes = scan.run(scan.job, sink, runner if len(splits.all) > 1 else InProcess(), cut=splits)
    table = sink.table(job)
    found = merge_outcomes(job, {table.name: table}, outcomes, 1, scan.files)
    size = sum(staged.size for staged in found.staged.values())
    return plan_of(request, job, splits.all), replace(found, buckets=unit_count(size, runner.parallelism))


def _check_base(table: RowTable, types: Mapping[str, pa.DataType] | None) -> None:
    """Raises: UsageError GG551 for a base without the key, and for a type that cannot become that of the operations."""
    if types is None:
        return
    lacking = [name for name in table.key if name not in types]
    if lacking:
        raise query_error(f"the base has no column `{lacking[0]}`, which is in the key of `{table.name}`")
    for name in table.columns:
        if name in types and not can_hold(table.types[name], types[name]) and types[name] != TEXT:
            there, here = ddl_type(types[name]), ddl_type(table.types[name])
            message = f"`{name}` is `{there}` in the base and `{here}` in the operations"
            raise query_error(
                message, "cast it to the type of the operations, or give the operations another type with `types`"
            )


Batches = Iterator[pa.RecordBatch]


def _stage(plan: FramePlan) -> Callable[[Batches], Batches]:
    def stage(batches: Batches) -> Batches:
        table = plan.query.table
        schema = staged_schema(table)
        for numbers in batches:
            waiting = _Waiting(plan)
            for number in non_null_values(numbers.column(0)):
                split = plan.plan.splits[int(number)]
                for located in located_batches(plan.plan.job, split, {table.name}):
                    operations = staged_operations(located, table, schema)
                    yield from waiting.add(operations.filter(pc.not_equal(operations["op"], TRUNCATE)))
            yield from waiting.flush()

    return stage


def _stage_base(plan: FramePlan) -> Callable[[Batches], Batches]:
    def stage(batches: Batches) -> Batches:
        table = plan.query.table
        schema = staged_schema(table)
        waiting = _Waiting(plan)
        for rows in batches:
            names = rows.schema.names
            columns = [_typed_base(rows[name], table, name) for name in names]
            if any(rows[name].null_count for name in table.key):
                raise ValueError(f"the base has a row with NULL in a column of the key: {', '.join(table.key)}")
            typed = pa.RecordBatch.from_arrays(columns, schema=table.schema_of(names))
            yield from waiting.add(base_operations(typed, table, schema))
        yield from waiting.flush()

    return stage


def _typed_base(column: pa.Array[Any], table: RowTable, name: str) -> pa.Array[Any]:
    type = table.types[name]
    if column.type != TEXT or type == TEXT:
        return column.cast(type)
    values, wrong = typed_values(as_strings(column), type)
    if wrong:
        raise ValueError(f"`{name}` has a value in the base that is not of the type `{ddl_type(type)}`")
    return values


class _Waiting:
    def __init__(self, plan: FramePlan) -> None:
        self._plan = plan
        self._batches: list[pa.RecordBatch] = []
        self._size = 0

    def add(self, batch: pa.RecordBatch) -> Batches:
        if len(batch):
            self._batches.append(batch)
            self._size += batch.nbytes
        if self._size >= BLOB_BYTES:
            yield from self.flush()

    def flush(self) -> Batches:
        """Yield a row for each unit, with its operations as a stream of Arrow's IPC format."""
        if not self._batches:
            return
        batch = concatenated(self._batches, self._batches[0].schema)
        self._batches, self._size = [], 0
        for unit, operations in self._by_unit(batch):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, operations.schema, options=arrays.STAGED) as writer:
                writer.write_batch(operations)
            blob = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([pa.array([unit], pa.int32()), blob], schema=_BLOBS)

    def _by_unit(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the operations of each unit, without before images if their rows do not depend on these."""
        plan = self._plan
        doubtful = may_meet_an_insert(batch)
        for mask in (doubtful, pc.invert(doubtful)) if doubtful.true_count else (None,):
            part = batch if mask is None else batch.filter(mask)
            for unit, operations in split_by(part, plan.units(part)):
                if mask is not doubtful and not plan.needs_before_images(unit):
                    operations = without_before_images(operations, plan.query.table)
                yield unit, operations


def _answer(plan: FramePlan) -> Callable[[pa.Table], pa.Table]:
    def rows(group: pa.Table) -> pa.Table:
        unit = group.column("unit")[0].as_py()
        batches = []
        for blob in group.column("blob"):
            with pa.ipc.open_stream(blob.as_buffer(), options=arrays.READ) as reader:
                batches += list(reader)
        parts = []
        for found in answers(plan.query, batches, linked=plan.is_linked(unit)):
            if plan.strict and len(found.unresolved):
                raise ValueError(f"a row is unresolved: {found.unresolved['reason'][0].as_py()}")
            parts.append(found.rows)
        return pa.Table.from_batches(parts, plan.query.schema)

    return rows
