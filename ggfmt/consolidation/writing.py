"""The rows of a table, from staged operations to staged files: Spark finds them, counts them, and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ggfmt.commit.store import Store
from ggfmt.consolidation.asked import CURRENT, DELETED, STATE, UNRESOLVED, Asked, shown
from ggfmt.consolidation.base import BaseTable
from ggfmt.consolidation.consolidated import Consolidated, consolidated
from ggfmt.consolidation.merging import by_key, touched
from ggfmt.consolidation.moment import time_of
from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.order import Ordering
from ggfmt.consolidation.profile import Profile
from ggfmt.consolidation.rows import UNTOLD
from ggfmt.consolidation.staging import StagedTable
from ggfmt.consolidation.tables import Table, with_columns
from ggfmt.frames.shapes import AFTER, arrow_schema, ddl, ddl_type
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef

SPARK_FORMATS = {"parquet": "parquet", "json": "json", "orc": "orc", "csv": "parquet", "avro": "parquet"}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "json": {
        "ignoreNullFields": "false",
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",  # all digits, which Spark's own leave out
        "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    }
}

# Of the session that finds rows. Names that differ by case alone are of two columns, and times are told in UTC.
SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
# A query over little is done before Java code for it would be compiled, or parts of it planned one by one.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
INTERPRETED_BYTES = 1 << 20  # of staged operations
SHUFFLE_BYTES = 32 << 20  # of staged operations, for each part of a shuffle

_SCHEMES = {"s3": "s3a"}  # of Arrow's URIs and of Hadoop's


@dataclass(frozen=True)
class Question:
    """What is asked of each table, and where what Spark writes goes."""

    asked: Asked
    to: str
    directory: Location
    defined: frozenset[str] = frozenset()  # tables whose columns somebody tells
    merges: bool = False  # into rows that are in the output
    clusters: bool = False  # rows by ranges of keys, for runs that are to merge into them


@dataclass(frozen=True)
class Known:
    """What there is of a table: operations, rows from before, or both; the `number` is that of its directory."""

    number: int
    name: str
    table: Table | None = None
    staged: StagedTable = field(default_factory=StagedTable)
    base: BaseTable | None = None

    @property
    def size(self) -> int:
        """Bytes in files."""
        base = () if self.base is None else self.base.files
        return self.staged.size + sum(map(size_of, base))


@dataclass
class Answer:
    """The rows of a table in staging: files of rows, and files of unresolved operations (typed, with a `reason`).

    `types` are those of columns, `counts` has rows by state, `defaults` how many columns of current rows no operation
    told; `order` is what ordered the operations. `replaced` are files of rows from before that are written anew, with
    so many rows (`merged`).
    """

    table: Table
    staged: StagedTable
    order: str = ""
    types: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    defaults: int = 0
    rows: list[Location] = field(default_factory=list)
    unresolved: list[Location] = field(default_factory=list)
    replaced: tuple[Location, ...] = ()
    merged: int = 0


def answer(question: Question, spark: SparkSession, known: Known) -> Answer:
    """Finds and writes the rows of one table."""
    asked, staged = question.asked, known.staged
    base = None if known.base is None else base_frame(spark, known.base, known.table)
    table = known.table
    if table is None:
        assert base is not None and known.base is not None
        table = _of_base(known.name, known.base, base)
    frame = operations_frame(spark, table, staged)
    definition = table.definition
    if base is not None and known.name not in question.defined:
        definition = with_columns(definition, base.columns)
    operations = TableOperations(frame, definition, table.added, base)
    replaced: BaseTable | None = None
    if question.merges and base is not None and known.base is not None:
        replaced = known.base
        if _as_before(operations, known.base):
            replaced = touched(frame, staged.seen, base, definition, known.base)
        base = base_frame(spark, replaced, table)
        operations = replace(operations, base=base)
    found = consolidated(operations, _with_all_states(asked, table), profile_of(asked, staged, operations))
    rows, counting = _counted(found, asked)
    types = {column.name: column.dataType.simpleString() for column in rows.schema.fields}
    types = {name: types[name] for name in definition.column_names}
    result = Answer(replace(table, definition=definition), staged, str(found.profile.ordering), types)
    directory = question.directory.child(f"rows-{known.number:05d}")
    result.rows = _write(rows, directory, question.to)
    if question.clusters and len(result.rows) > 1 and definition.primary_keys:
        written = spark.read.schema(rows.schema).format(question.to).load(spark_path(directory))
        ordered = by_key(written, definition.primary_keys, sum(map(size_of, result.rows)))
        result.rows = _write(ordered, directory.extended("-by-key"), question.to)
    if replaced is not None and base is not None:
        result.replaced, result.merged = replaced.files, base.count()
    told = counting.get
    result.counts = {state: int(told.get(state) or 0) for state in (CURRENT, DELETED, UNRESOLVED)}
    result.defaults = int(told.get(UNTOLD) or 0)
    if result.counts[UNRESOLVED] or staged.seen.without_key:
        listed = frame.join(found.listed, "seq").select("reason", *frame.columns)
        directory = question.directory.child(f"unresolved-{known.number:05d}")
        result.unresolved = _write(listed, directory, "parquet")
    return result


def base_frame(spark: SparkSession, base: BaseTable, table: Table | None) -> DataFrame:
    """The rows that were there before. JSON tells no types: those of the manifest or of the table are taken."""
    if not base.files:
        return spark.createDataFrame([], ddl(pa.schema(list(base.types.items()))))
    reader = spark.read.option("__globPaths__", "false")
    if base.suffix == "json":
        types = base.types or ({} if table is None else table.types)
        reader = reader.schema(ddl(pa.schema(list(types.items())))) if types else reader
        reader = reader.option("mode", "FAILFAST")
    return reader.format(base.suffix).load(list(map(spark_path, base.files)))


def _of_base(name: str, base: BaseTable, frame: DataFrame) -> Table:
    """A table of which there are no operations."""
    types = {column.name: column.type for column in arrow_schema(frame.schema)}
    return Table(TableDef(name, tuple(map(Column, types))).with_keys(base.key), {}, types)


def operations_frame(spark: SparkSession, table: Table, staged: StagedTable) -> DataFrame:
    """The staged operations of a table. Names of files are taken as they are, not as patterns."""
    if not staged.files:
        return spark.createDataFrame([], ddl(table.wanted.schema))
    reader = spark.read.schema(ddl(table.wanted.schema)).option("__globPaths__", "false")
    return reader.parquet(*map(spark_path, staged.files))


def _as_before(operations: TableOperations, base: BaseTable) -> bool:
    """Whether the table has the columns and types that its rows from before have."""
    image = operations.with_base().schema[AFTER].dataType
    assert isinstance(image, StructType)
    types = {column.name: column.dataType.simpleString() for column in image.fields}
    now = [(name, types[name]) for name in operations.columns]
    return now == [(name, ddl_type(type)) for name, type in base.types.items()]


def size_of(file: Location) -> int:
    return int(file.info().size or 0)


def spark_path(location: Location) -> str:
    """A location as Spark knows it, whatever its own file system is."""
    if location.is_local:
        return f"file://{location.inner}"
    scheme, rest = location.address.split("://", 1)
    return f"{_SCHEMES.get(scheme.lower(), scheme)}://{rest}"


def _with_all_states(asked: Asked, table: Table) -> Asked:
    """The same question with unresolved rows in the answer, to count them; not where a column is called like their
    mark. To count those that were deleted would take longer."""
    if shown(STATE) in table.definition.column_names:
        return asked
    return replace(asked, keep=asked.keep | {UNRESOLVED})


def _counted(found: Consolidated, asked: Asked) -> tuple[DataFrame, Observation]:
    """The rows that are asked for, and what is counted of all while they are written."""
    counting = Observation()
    state = F.col(STATE)
    of_current = F.when(state == CURRENT, F.col(UNTOLD)).otherwise(0)
    every = found.every.observe(
        counting,
        *(F.count_if(state == name).alias(name) for name in (CURRENT, DELETED, UNRESOLVED)),
        F.sum(of_current).alias(UNTOLD),
    )
    return replace(found, every=every, asked=asked).frame(), counting


def _write(frame: DataFrame, directory: Location, to: str) -> list[Location]:
    """The files that Spark has left there, in their order."""
    options: dict[str, Any] = dict(OPTIONS.get(to, {}))
    frame.write.format(SPARK_FORMATS[to]).options(**options).save(spark_path(directory))
    return [directory.child(name) for name in Store(directory).names("") if not name.startswith(("_", "."))]


def profile_of(asked: Asked, staged: StagedTable, operations: TableOperations) -> Profile | None:
    """What staging has seen of a table, where that is all there is to know: with truncates, or where a position bounds
    the operations, Spark has to look."""
    seen = staged.seen
    bounds = [moment for moment in (asked.as_of, asked.since) if moment is not None]
    ordering = seen.ordering
    if seen.truncates or not all(map(time_of, bounds)) or (asked.order == "position" and not ordering.orders):
        return None
    kind = ordering.kind if ordering.orders and asked.order != "input" else None
    return Profile(
        Ordering(kind),
        (),
        seen.partial or bool(operations.of_base_alone),
        seen.before,
        seen.moves,
        seen.operations.total(),
        seen.without_time,
        seen.without_position,
    )
