"""What orders the operations of a table: their positions, or how files and their records follow each other."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import unusable
from ggfmt.consolidation.moment import time_of
from ggfmt.consolidation.operations import OF_BASE
from ggfmt.consolidation.positions import PositionKind


@dataclass(frozen=True)
class Ordering:
    """`by` is None where it is the input that orders."""

    by: PositionKind | None

    def __str__(self) -> str:
        return "the input" if self.by is None else f"positions ({self.by.name})"

    @property
    def column(self) -> Column:
        """What steps are compared by: greater for later ones, never null, the same for no two of a row."""
        seq = F.col("seq")
        if self.by is None:
            return seq
        phase = F.when(seq == OF_BASE, 0).otherwise(1)
        return F.struct(phase.alias("p"), self.by.column(F.col("position")).alias("k"), seq.alias("s"))


def until(moment: str, by: PositionKind | None) -> Column:
    """Whether an operation is at or before a moment. One without a time is at any."""
    time = time_of(moment)
    if time is not None:
        return F.coalesce(F.col("op_ts") <= F.lit(time), F.lit(True))
    if by is None:
        message = f"`{moment}` is no time, and positions of the table do not order its operations"
        raise unusable(message, "give a time as `2026-01-31T12:00:00`")
    if by.value(moment) is None:
        raise unusable(f"`{moment}` is neither a time nor a position like those of the table ({by.name})", by.help)
    of_base = F.col("seq") == OF_BASE
    return of_base | (by.column(F.col("position")) <= by.column(F.lit(moment)))
