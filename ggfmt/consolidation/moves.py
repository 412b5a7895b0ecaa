"""Rows whose key was updated: which row an operation of a key is of.

A key is one row's until that row moves away or another row comes to it. So each stretch of the life of a key is of one
identity, and a row that moves takes its identity with it. Only operations of keys that some update has changed are
looked at one after the other, here; all others are of the row of their key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from ggfmt.consolidation.images import same_key
from ggfmt.consolidation.operations import MOVES, OP, ORD, new_key, old_key

IDENTITY, FOLLOWED, OVERTAKEN, UNKNOWN_UNTIL = "__identity", "__followed", "__overtaken", "__unknown"
END_POSITION, END_MICROS = "__end_position", "__end_micros"
_FROM, _TO = "__from", "__to"


@dataclass
class _Life:
    """What a key is at a moment: whose, since when, whether a row is known to be there, until when nothing is known of
    it since two rows met, and whether it is one of two that met here."""

    identity: int
    since: Any = None
    there: bool = False
    unknown: Any = None
    met: bool = False


@dataclass(frozen=True)
class Stretch:
    """The operations of a key from one place in the order (with it; None: the first) to another (without it; None: the
    last) are of `identity`. `followed` says that another row came to the key then, and `overtaken` by which operation,
    if this row was still there. `unknown` is the last operation by which this row came to a key that was another's, or
    left it: what was known of the row before is not certain."""

    key: tuple[Any, ...]
    since: Any
    until: Any
    identity: int
    unknown: Any = None
    followed: bool = False
    overtaken: Row | None = None


def stretches(events: Iterable[Row], parts: int) -> Iterator[Stretch]:
    """The stretches of keys, from all operations of keys that ever move (in order, with truncates among them)."""
    lives: dict[tuple[Any, ...], _Life] = {}
    number, begin = 0, None

    def life(key: tuple[Any, ...]) -> _Life:
        nonlocal number
        if key not in lives:
            number += 1
            lives[key] = _Life(number, begin)
        return lives[key]

    for event in events:
        op, ord = event[OP], event[ORD]
        if op == "T":
            yield from (Stretch(key, each.since, ord, each.identity, each.unknown) for key, each in lives.items())
            lives.clear()
            begin = ord
            continue
        new = tuple(event[new_key(place)] for place in range(parts))
        if not event[MOVES]:
            here = life(new)
            here.there, here.met = op != "D", here.met and op == "U"
            continue
        old = tuple(event[old_key(place)] for place in range(parts))
        leaving, target = life(old), life(new)
        yield Stretch(old, leaving.since, ord, leaving.identity, leaving.unknown)
        overtaken = event if target.there else None
        yield Stretch(new, target.since, ord, target.identity, target.unknown, True, overtaken)
        number += 1
        lives[old] = _Life(number, ord)
        unknown = ord if target.there or leaving.met else leaving.unknown
        lives[new] = _Life(leaving.identity, ord, True, unknown, target.there)
    for key, last in lives.items():
        yield Stretch(key, last.since, None, last.identity, last.unknown)


def with_identities(steps: DataFrame, parts: int, truncates: Iterable[Row]) -> DataFrame:
    """The steps with the identity of the row of each, null where the key alone tells it."""
    spark = steps.sparkSession
    new, old = [new_key(place) for place in range(parts)], [old_key(place) for place in range(parts)]
    moved = steps.where(MOVES)
    touched = moved.select(*new).unionAll(moved.select(*old)).distinct().toDF(*(f"__t{n}" for n in range(parts)))
    same = same_key(new, [f"__t{n}" for n in range(parts)])
    micros = F.unix_micros("op_ts").alias("micros")  # Python's times are of a zone that has hours twice
    events = steps.join(touched, same, "left_semi").select(ORD, OP, MOVES, *new, *old, "position", micros)
    rows = _with_truncates(events.orderBy(ORD).toLocalIterator(), truncates)
    ord = steps.schema[ORD].dataType
    schema = StructType(
        [
            *(StructField(f"__s{n}", steps.schema[name].dataType) for n, name in enumerate(new)),
            StructField(_FROM, ord),
            StructField(_TO, ord),
            StructField(IDENTITY, LongType()),
            StructField(UNKNOWN_UNTIL, ord),
            StructField(FOLLOWED, BooleanType()),
            StructField(OVERTAKEN, BooleanType()),
            StructField(END_POSITION, StringType()),
            StructField(END_MICROS, LongType()),
        ]
    )
    found = spark.createDataFrame([_row(stretch) for stretch in stretches(rows, parts)], schema)
    within = (F.col(_FROM).isNull() | (F.col(ORD) >= F.col(_FROM))) & (F.col(_TO).isNull() | (F.col(ORD) < F.col(_TO)))
    keys = [f"__s{n}" for n in range(parts)]
    return steps.join(found, same_key(new, keys) & within, "left").drop(*keys, _FROM, _TO)


def _row(stretch: Stretch) -> tuple[Any, ...]:
    by = stretch.overtaken
    end = (None, None) if by is None else (by["position"], by["micros"])
    place = (stretch.since, stretch.until, stretch.identity, stretch.unknown)
    return (*stretch.key, *place, stretch.followed, by is not None, *end)


def _with_truncates(events: Iterator[Row], truncates: Iterable[Row]) -> Iterator[Row]:
    """Operations in order, with truncates where they were."""
    waiting = [Row(**{OP: "T", ORD: truncate["ord"]}) for truncate in truncates]
    for event in events:
        while waiting and waiting[0][ORD] < event[ORD]:
            yield waiting.pop(0)
        yield event
