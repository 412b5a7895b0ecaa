"""What a pass over the operations of a table shows, by which the query for its rows is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from ggfmt.consolidation.asked import Asked, unusable
from ggfmt.consolidation.images import before_tells_more, changes_key, is_partial
from ggfmt.consolidation.moment import time_of
from ggfmt.consolidation.operations import OF_BASE, TableOperations
from ggfmt.consolidation.order import Ordering, until
from ggfmt.consolidation.positions import KINDS, PositionKind


@dataclass(frozen=True)
class Profile:
    """What the operations of a table are like, as far as they count.

    truncates   the places of truncates in the order of operations, with `position` and `micros` (of its time); the
                last one alone, where no more is asked
    partial     an update may not tell all columns by its after image
    before      and its before image may tell others
    moves       an update changes the key
    without_time, without_position  how many operations have none
    """

    ordering: Ordering
    truncates: tuple[Row, ...]
    partial: bool
    before: bool
    moves: bool
    operations: int
    without_time: int
    without_position: int


def profile(operations: TableOperations, frame: DataFrame, asked: Asked) -> Profile:
    """One pass over the operations, and one more before it where a position bounds them. UsageError GG551 where
    positions are to order them, and do not."""
    kinds: list[PositionKind | None] = [None]
    bounds = [moment for moment in (asked.as_of, asked.since) if moment is not None]
    if any(time_of(moment) is None for moment in bounds):
        kinds = [_kind_for_bounds(frame, next(moment for moment in bounds if time_of(moment) is None))]
    elif asked.order != "input":
        kinds = [None, *_possible(frame)]
    if asked.as_of is not None:
        frame = frame.where(until(asked.as_of, kinds[0]))
    return profile_by(operations, frame, kinds, asked)


def profile_by(
    operations: TableOperations, frame: DataFrame, kinds: list[PositionKind | None], asked: Asked
) -> Profile:
    """One pass over operations, that are ordered by one of some kinds of positions, or by the input (None)."""
    op, there = F.col("op_type"), F.col("seq") != OF_BASE
    truncates = [_truncates(Ordering(kind), asked).alias(f"t{place}") for place, kind in enumerate(kinds)]
    updates = op == "U"
    partial = is_partial(operations.key[0]) if operations.key else F.lit(False)
    found = frame.agg(
        *truncates,
        *_orders(kinds),
        F.coalesce(F.bool_or(updates & partial), F.lit(False)).alias("partial"),
        F.coalesce(F.bool_or(updates & before_tells_more()), F.lit(False)).alias("before"),
        F.coalesce(F.bool_or(updates & changes_key(operations.key)), F.lit(False)).alias("moves"),
        F.count_if(there).alias("operations"),
        F.count_if(there & F.col("op_ts").isNull()).alias("without_time"),
        F.count_if(there & F.col("position").isNull()).alias("without_position"),
    ).first()
    assert found is not None
    chosen = _chosen(found, kinds, asked)
    return Profile(
        Ordering(kinds[chosen]),
        tuple(sorted(found[f"t{chosen}"] or ())),
        found["partial"] or bool(operations.of_base_alone),
        found["before"],
        found["moves"],
        found["operations"],
        found["without_time"],
        found["without_position"],
    )


def _truncates(ordering: Ordering, asked: Asked) -> Column:
    there = F.struct(ordering.column.alias("ord"), "position", F.unix_micros("op_ts").alias("micros"))
    truncate = F.when(F.col("op_type") == "T", there)
    return F.collect_list(truncate) if asked.kind != "current" else F.array_compact(F.array(F.max(truncate)))


def _orders(kinds: list[PositionKind | None]) -> list[Column]:
    """For each kind, whether all positions are of it and compare."""
    position = F.when(F.col("seq") != OF_BASE, F.col("position"))
    return [
        (F.lit(True) if kind is None else kind.orders(position)).alias(f"f{place}") for place, kind in enumerate(kinds)
    ]


def _chosen(found: Row, kinds: list[PositionKind | None], asked: Asked) -> int:
    """The place of the kind that orders: the first that all operations have, and the input where there is none."""
    places = range(len(kinds))
    if not found["without_position"]:
        fitting = [place for place in places if kinds[place] is not None and found[f"f{place}"]]
        if fitting:
            return fitting[0]
    if asked.order == "position" and found["operations"]:
        raise _no_order(found["without_position"])
    return 0


def _possible(frame: DataFrame) -> list[PositionKind | None]:
    """The kinds that the first position is of."""
    first = frame.where(F.col("position").isNotNull()).select("position").first()
    return [] if first is None else [kind for kind in KINDS if kind.value(first["position"]) is not None]


def _kind_for_bounds(frame: DataFrame, bound: str) -> PositionKind | None:
    """The kind that all positions are of, where one of them says how far to go; None where there is no operation."""
    kinds = _possible(frame)
    operations = F.count_if(F.col("seq") != OF_BASE).alias("operations")
    without = F.count_if((F.col("seq") != OF_BASE) & F.col("position").isNull()).alias("without_position")
    found = frame.agg(operations, without, *_orders(kinds)).first()
    assert found is not None
    if not found["operations"]:
        return None
    place = -1 if found["without_position"] else next((n for n in range(len(kinds)) if found[f"f{n}"]), -1)
    if place < 0:
        lacking = found["without_position"]
        why = f"{lacking} operations have no position" if lacking else "positions do not order the operations"
        raise unusable(f"`{bound}` is no time, and {why}", "give a time as `2026-01-31T12:00:00`")
    return kinds[place]


def _no_order(without: int) -> Exception:
    if without:
        return unusable(f"{without} operations have no position, so that positions do not order them")
    return unusable("the positions of the operations are none that order", "leave `order` out, or give times")


def place_of(truncate: Row, frame: DataFrame, ord: Column) -> Column:
    """The place of a truncate among operations, as `ord` has theirs."""
    return literal(truncate["ord"], frame.select(ord.alias("ord")).schema["ord"].dataType)


def literal(value: Any, type: DataType) -> Column:
    """A value that Spark has shown, as a column of the type that it had."""
    if isinstance(type, StructType):
        return F.struct(
            *(literal(part, field.dataType).alias(field.name) for part, field in zip(value, type, strict=True))
        )
    return F.lit(value).cast(type)
