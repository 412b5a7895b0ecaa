"""Tables without a key: rows are told apart by all of their columns, and there may be several alike."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import CURRENT, STATE, UNRESOLVED
from ggfmt.consolidation.images import lacks, value
from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.rows import NEVER_SEEN, REASON, UNTOLD, found
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.frames.shapes import AFTER, BEFORE

WEIGHT = "__weight"


def counted(operations: TableOperations, frame: DataFrame) -> DataFrame:
    """Each row that there ever was, and how many of it are there (`WEIGHT`, below 0 where more went than came)."""
    op = F.col("op_type")
    came = _images(operations, frame.where(op.isin("I", "U")), AFTER, 1)
    went = _images(operations, frame.where(op.isin("U", "D")), BEFORE, -1)
    columns = [found(place) for place in range(len(operations.columns))]
    return came.unionAll(went).groupBy(*columns).agg(F.sum(WEIGHT).alias(WEIGHT)).where(F.col(WEIGHT) != 0)


def _images(operations: TableOperations, frame: DataFrame, image: str, weight: int) -> DataFrame:
    columns = (value(image, name).alias(found(place)) for place, name in enumerate(operations.columns))
    return frame.select(*columns, F.lit(weight).alias(WEIGHT))


def keyless_rows(operations: TableOperations, frame: DataFrame) -> DataFrame:
    """The rows, each as often as it is there, with `found`, `STATE`, `REASON` and `UNTOLD`."""
    there = F.col(WEIGHT) > 0
    rows = counted(operations, frame).withColumns(
        {
            STATE: F.when(there, CURRENT).otherwise(UNRESOLVED),
            REASON: F.when(~there, F.lit(NEVER_SEEN)),
            UNTOLD: F.lit(0),
        }
    )
    return repeated(rows)


def repeated(rows: DataFrame) -> DataFrame:
    """Each row as often as its weight says."""
    return rows.withColumn("__time", F.explode(F.sequence(F.lit(1), F.abs(F.col(WEIGHT))))).drop("__time")


def check_whole(operations: TableOperations, frame: DataFrame) -> None:
    """UsageError GG552 for an operation that does not show its whole row."""
    names = operations.columns
    if operations.of_base_alone:
        column = operations.of_base_alone[0]
        raise _not_whole(operations, f"the base has a column `{column}` that operations lack", None)
    lacking = (F.col("op_type").isin("I", "U") & lacks(AFTER, names)) | (
        F.col("op_type").isin("U", "D") & lacks(BEFORE, names)
    )
    first = frame.where(lacking).orderBy("seq").select("op_type", "position").first()
    if first is None:
        return
    raise _not_whole(operations, "an operation does not show its whole row before and after it", first["position"])


def _not_whole(operations: TableOperations, why: str, position: str | None) -> UsageError:
    name = operations.table.full_name
    message = f"the table has no key, and {why}, so that it is not certain which row it is of"
    return UsageError(Diagnostic("GG552", message, Span(table=name, position=position), key_help(name)))


def key_help(table: str) -> str:
    return f"name columns that tell rows apart: `primaryKeys` (`--primary-keys '{table}=ID'`)"
