"""The rows of a table, from staged operations to staged files: Spark finds them, counts them, and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import CURRENT, DELETED, STATE, UNRESOLVED, Asked, shown
from ggfmt.consolidation.consolidated import Consolidated, consolidated
from ggfmt.consolidation.moment import time_of
from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.order import Ordering
from ggfmt.consolidation.profile import Profile
from ggfmt.consolidation.rows import UNTOLD
from ggfmt.consolidation.staging import StagedTable
from ggfmt.consolidation.tables import Table
from ggfmt.engine.files import child
from ggfmt.engine.output.store import Store
from ggfmt.engine.uris import is_uri
from ggfmt.frames.shapes import ddl

SPARK_FORMATS = {"parquet": "parquet", "json": "json", "orc": "orc", "csv": "parquet", "avro": "parquet"}
OPTIONS: Mapping[str, Mapping[str, str]] = {"json": {"ignoreNullFields": "false"}}

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
# A query over little is done before Java code for it would be compiled.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
INTERPRETED_BYTES = 1 << 20  # of staged operations
SHUFFLE_BYTES = 32 << 20  # of staged operations, for each part of a shuffle

_SCHEMES = {"s3": "s3a"}  # of Arrow's URIs and of Hadoop's


@dataclass(frozen=True)
class Question:
    """What is asked of each table, and where what Spark writes goes: a path or URI."""

    asked: Asked
    to: str
    directory: str


@dataclass
class Answer:
    """The rows of a table in staging: files of rows, and files of unresolved operations (typed, with a `reason`).

    `counts` has rows by state, `defaults` how many columns of current rows no operation told; `order` is what ordered
    the operations.
    """

    table: Table
    staged: StagedTable
    order: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    defaults: int = 0
    rows: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


def answer(spark: SparkSession, question: Question, number: int, table: Table, staged: StagedTable) -> Answer:
    """Finds and writes the rows of one table, the `number`-th."""
    frame = operations_frame(spark, table, staged)
    asked = question.asked
    operations = TableOperations(frame, table.definition, table.added)
    found = consolidated(operations, _with_all_states(asked, table), _profile(asked, staged))
    rows, counting = _counted(found, asked)
    directory = child(question.directory, f"rows-{number:05d}")
    result = Answer(table, staged, str(found.profile.ordering))
    result.rows = _write(rows, directory, question.to)
    told = counting.get
    result.counts = {state: int(told.get(state) or 0) for state in (CURRENT, DELETED, UNRESOLVED)}
    result.defaults = int(told.get(UNTOLD) or 0)
    if result.counts[UNRESOLVED] or staged.seen.without_key:
        listed = frame.join(found.listed, "seq").select("reason", *frame.columns)
        result.unresolved = _write(listed, child(question.directory, f"unresolved-{number:05d}"), "parquet")
    return result


def operations_frame(spark: SparkSession, table: Table, staged: StagedTable) -> DataFrame:
    """The staged operations of a table. Names of files are taken as they are, not as patterns."""
    reader = spark.read.schema(ddl(table.wanted.schema)).option("__globPaths__", "false")
    return reader.parquet(*map(spark_path, staged.files))


def spark_path(path: str) -> str:
    """A path or URI as Spark knows it, whatever its own file system is."""
    if not is_uri(path):
        return f"file://{path}"
    scheme, rest = path.split("://", 1)
    return f"{_SCHEMES.get(scheme.lower(), scheme)}://{rest}"


def _with_all_states(asked: Asked, table: Table) -> Asked:
    """The same question with all rows in the answer, to count them; not where a column is called like their mark."""
    if shown(STATE) in table.definition.column_names:
        return asked
    return replace(asked, keep=asked.keep | {UNRESOLVED, *((DELETED,) if asked.kind == "current" else ())})


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


def _write(frame: DataFrame, directory: str, to: str) -> list[str]:
    """The files that Spark has left there, in their order."""
    options: dict[str, Any] = dict(OPTIONS.get(to, {}))
    frame.write.format(SPARK_FORMATS[to]).options(**options).save(spark_path(directory))
    return [child(directory, name) for name in Store(directory).names("") if not name.startswith(("_", "."))]


def _profile(asked: Asked, staged: StagedTable) -> Profile | None:
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
        seen.partial,
        seen.before,
        seen.moves,
        seen.operations.total(),
        seen.without_time,
        seen.without_position,
    )
