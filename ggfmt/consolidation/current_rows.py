"""The rows as they are after the last operation."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import CURRENT, DELETED, STATE, UNRESOLVED
from ggfmt.consolidation.images import value
from ggfmt.consolidation.moves import FOLLOWED, OVERTAKEN, UNKNOWN_UNTIL
from ggfmt.consolidation.operations import OP, ORD, TableOperations, new_key
from ggfmt.consolidation.rows import (
    BY,
    INSERT,
    LAST,
    REASON,
    RESET,
    UNTOLD,
    Identified,
    candidate,
    found,
    latest,
    resolved,
)
from ggfmt.frames.shapes import AFTER, MISSING

_NUMBER = "__number"


def current_rows(operations: TableOperations, identified: Identified, partial: bool, deleted: bool) -> DataFrame:
    """All rows that there ever were, with `found` for each column, `STATE`, `REASON` and `UNTOLD`, and the columns of
    the group. `partial`: updates do not tell all columns. `deleted`: it matters what rows were when they were deleted.
    """
    if partial or deleted or identified.moved:
        return _by_column(operations, identified, deleted)
    return _by_row(operations, identified)


def _by_column(operations: TableOperations, identified: Identified, deleted: bool) -> DataFrame:
    """For each column the last that it was told, in one aggregate."""
    keys = [new_key(place) for place in range(len(operations.key))]
    ord, op = F.col(ORD).alias("o"), F.col(OP).alias("op")
    values = [
        F.max(candidate(operations, name, identified.before, deleted)).alias(latest(place))
        for place, name in enumerate(operations.columns)
        if name not in operations.key
    ]
    of_moves = []
    if identified.moved:
        of_moves = [F.max(name).alias(name) for name in (FOLLOWED, OVERTAKEN, UNKNOWN_UNTIL)]
    rows = identified.steps.groupBy(*_group(identified)).agg(
        F.max(F.struct(ord, op, *keys)).alias(LAST),
        F.max(F.when(F.col(OP).isin("I", "D"), F.struct(ord, op))).alias(RESET),
        F.max(F.when(F.col(OP) == "I", F.col(ORD))).alias(INSERT),
        *of_moves,
        *values,
    )
    rows = rows.withColumns({name: F.col(LAST).getField(name) for name in keys})
    gone = F.col(LAST).getField("op") == "D"
    if deleted:  # what it was told since it was inserted, and by the delete itself
        since = F.when(F.col(INSERT).isNotNull(), F.struct(F.col(INSERT).alias("o"), F.lit("I").alias("op")))
        rows = rows.withColumn(RESET, F.when(gone, since).otherwise(F.col(RESET)))
    if identified.moved:  # where another row is now, none is told to be gone
        rows = rows.where(~(gone & F.coalesce(FOLLOWED, F.lit(False))))
    rows = resolved(rows, operations, identified.moved)
    return rows.withColumn(STATE, _state(gone))


def _by_row(operations: TableOperations, identified: Identified) -> DataFrame:
    """The last image of each row, where every one is whole."""
    latest_first = Window.partitionBy(*identified.group).orderBy(F.col(ORD).desc())
    rows = identified.steps.withColumn(_NUMBER, F.row_number().over(latest_first)).where(F.col(_NUMBER) == 1)
    values: dict[str, Column] = {}
    for place, name in enumerate(operations.columns):
        own = value(AFTER, name)
        if name in operations.key:
            own = F.col(new_key(operations.key.index(name)))
        elif name in operations.added:
            own = F.when(F.col("seq") >= operations.added[name], own)
        values[found(place)] = own
    known = F.array(*(F.lit(name) for name in operations.columns))
    untold = F.coalesce(F.size(F.array_intersect(MISSING[AFTER], known)), F.lit(0))
    nothing = F.lit(None).cast("string")
    marks = {
        UNTOLD: F.greatest(untold, F.lit(0)),
        REASON: nothing,
        STATE: F.when(F.col(OP) == "D", DELETED).otherwise(CURRENT),
    }
    return rows.select(*_group(identified), *(column.alias(name) for name, column in (values | marks).items()))


def _group(identified: Identified) -> list[Column]:
    return [F.col(name).alias(f"{BY}{place}") for place, name in enumerate(identified.group)]


def _state(gone: Column) -> Column:
    overtaken_or_unknown = F.col(REASON).isNotNull()
    return F.when(gone, DELETED).when(overtaken_or_unknown, UNRESOLVED).otherwise(CURRENT)
