"""Every version of each row, and from which operation to which it was the one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from ggfmt.consolidation.asked import (
    CURRENT,
    STATE,
    UNRESOLVED,
    VALID_FROM_POSITION,
    VALID_FROM_TS,
    VALID_TO_POSITION,
    VALID_TO_TS,
)
from ggfmt.consolidation.asked import OP as OP_MARK
from ggfmt.consolidation.moves import END_MICROS, END_POSITION, OVERTAKEN
from ggfmt.consolidation.operations import OP, ORD, TableOperations
from ggfmt.consolidation.profile import literal
from ggfmt.consolidation.rows import REASON, RESET, Identified, candidate, latest, resolved

_NEXT, _TRUNCATED, _ENDED = "__next", "__truncated", "__ended"


def versions(operations: TableOperations, identified: Identified, truncates: Sequence[Row]) -> DataFrame:
    """All versions, with `found` for each column, the marks of a history, `STATE`, `REASON` and `UNTOLD`."""
    op, ord = F.col(OP), F.col(ORD)
    rows = identified.steps
    in_order = Window.partitionBy(*identified.group).orderBy(ORD)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    reset = F.struct(ord.alias("o"), op.alias("op"))
    columns: dict[str, Column] = {
        latest(place): F.last(candidate(operations, name, identified.before), ignorenulls=True).over(so_far)
        for place, name in enumerate(operations.columns)
        if name not in operations.key
    }
    columns[RESET] = F.last(F.when(op.isin("I", "D"), reset), ignorenulls=True).over(so_far)
    columns[_NEXT] = F.lead(_end(ord, F.col("position"), F.unix_micros("op_ts"))).over(in_order)
    rows = rows.withColumns(columns)
    ended: Column = F.lit(False)
    if identified.moved:
        end = _end(F.lit(None).cast(rows.schema[ORD].dataType), F.col(END_POSITION), F.col(END_MICROS))
        rows = rows.withColumn(_ENDED, F.col(_NEXT).isNull() & F.coalesce(OVERTAKEN, F.lit(False)))
        ended = F.col(_ENDED)
        rows = rows.withColumns({_NEXT: F.when(ended, end).otherwise(F.col(_NEXT)), OVERTAKEN: F.lit(False)})
    if truncates:
        rows = _between_truncates(rows, truncates, ended)
    rows = resolved(rows.where(op != "D"), operations, identified.moved)
    return rows.withColumns(
        {
            VALID_FROM_POSITION: F.col("position"),
            VALID_FROM_TS: F.col("op_ts"),
            VALID_TO_POSITION: F.col(_NEXT).getField("position"),
            VALID_TO_TS: F.timestamp_micros(F.col(_NEXT).getField("micros")),
            OP_MARK: op,
            STATE: F.when(F.col(REASON).isNull(), CURRENT).otherwise(UNRESOLVED),
        }
    )


def _end(ord: Column, position: Column, micros: Column) -> Column:
    return F.struct(ord.alias("ord"), position.alias("position"), micros.alias("micros"))


def _between_truncates(rows: DataFrame, truncates: Sequence[Row], ended: Column) -> DataFrame:
    """A truncate before an operation is a reset as a delete is, and one after it may be what ends the version, unless
    it has `ended` before."""
    ord, type = F.col(ORD), rows.schema[ORD].dataType
    every = F.array(*(_truncate(truncate, type) for truncate in truncates))
    before = F.try_element_at(F.filter(every, lambda item: item.getField("ord") < ord), F.lit(-1))
    after = F.get(F.filter(every, lambda item: item.getField("ord") > ord), F.lit(0))
    reset = F.when(before.isNotNull(), F.struct(before.getField("ord").alias("o"), F.lit("D").alias("op")))
    rows = rows.withColumns({RESET: F.greatest(F.col(RESET), reset), _TRUNCATED: after})
    truncated, following = F.col(_TRUNCATED), F.col(_NEXT)
    first = truncated.isNotNull() & (following.isNull() | (truncated.getField("ord") < following.getField("ord")))
    return rows.withColumn(_NEXT, F.when(first & ~ended, truncated).otherwise(following))


def _truncate(truncate: Row, type: DataType) -> Column:
    micros = F.lit(truncate["micros"]).cast("bigint")
    return _end(literal(truncate["ord"], type), F.lit(truncate["position"]).cast("string"), micros)
