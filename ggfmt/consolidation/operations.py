"""The operations of a table, as steps of its rows: each with its place in the order, and with the key that its row has
before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ggfmt.consolidation.images import has, is_told, value
from ggfmt.frames.shapes import AFTER, BEFORE, MISSING, quoted
from ggfmt.model.table import TableDef

ORD, OP, MOVES, KEYED = "__ord", "__op", "__moves", "__keyed"
HEAD = ("op_type", "op_ts", "position", "seq")
OF_BASE = -(1 << 62)  # `seq` of the rows that were there before


def new_key(place: int) -> str:
    """The column of steps with a part of the key that a row has after the operation; of a delete, before it."""
    return f"__n{place}"


def old_key(place: int) -> str:
    return f"__o{place}"


@dataclass(frozen=True)
class TableOperations:
    """What is known of a table.

    frame  its operations in the typed shape of frames, from any reader; `tokens`, `table`, `file` and `offset` may lack
    table  its last definition, with the key by which rows are told apart
    added  columns that were not in the definition before, and the `seq` from which on they are in it
    base   the rows that were there before; columns by their names
    """

    frame: DataFrame
    table: TableDef
    added: Mapping[str, int] = field(default_factory=dict)
    base: DataFrame | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.table.column_names

    @cached_property
    def key(self) -> tuple[str, ...]:
        return self.table.primary_keys

    @cached_property
    def image(self) -> StructType:
        """The type of images."""
        type = self.frame.schema[AFTER].dataType
        assert isinstance(type, StructType)
        return type

    def with_base(self) -> DataFrame:
        """The operations, and the rows that were there before as inserts."""
        columns = [*HEAD, BEFORE, MISSING[BEFORE], AFTER, MISSING[AFTER]]
        operations = self.frame.select(*columns)
        if self.base is None:
            return operations
        there = [column.name for column in self.image.fields if column.name in self.base.columns]
        lacking = [column.name for column in self.image.fields if column.name not in there]
        row = F.struct(
            *(
                (column_named(column.name) if column.name in there else F.lit(None))
                .cast(column.dataType)
                .alias(column.name)
                for column in self.image.fields
            )
        )
        types = {column.name: column.dataType for column in operations.schema.fields}
        values = {"op_type": F.lit("I"), "seq": F.lit(OF_BASE), AFTER: row}
        if lacking:
            values[MISSING[AFTER]] = F.array(*(F.lit(name) for name in lacking))
        rows = self.base.select(
            *(values.get(name, F.lit(None)).cast(types[name]).alias(name) for name in columns),
        )
        return operations.unionByName(rows)

    def only(self, condition: Column) -> TableOperations:
        return replace(self, frame=self.frame.where(condition))

    def is_told(self, name: str, before: bool) -> Column:
        """Whether a step tells what a column is after it, as the column is today; see `images.is_told`."""
        told = is_told(F.col(OP), name, before)
        return told & (F.col("seq") >= self.added[name]) if name in self.added else told


def column_named(name: str) -> Column:
    """The column of any name."""
    return F.col(quoted(name))


def steps(frame: DataFrame, key: tuple[str, ...], order: Column) -> DataFrame:
    """Inserts, updates and deletes with `ORD`, `OP`, both keys, whether the key changes (`MOVES`), and whether both
    keys are known (`KEYED`)."""
    op = F.col("op_type")
    columns: dict[str, Column] = {}
    known, moves = F.lit(True), F.lit(False)
    for place, name in enumerate(key):
        before, after = F.when(has(BEFORE, name), value(BEFORE, name)), F.when(has(AFTER, name), value(AFTER, name))
        first = F.when(op == "I", has(AFTER, name)).when(op == "D", has(BEFORE, name))
        known &= first.otherwise(has(BEFORE, name) | has(AFTER, name))
        old = F.when(has(BEFORE, name), before).otherwise(after)
        new = F.when(has(AFTER, name), after).otherwise(before)
        columns[old_key(place)] = F.when(op == "I", new).otherwise(old)
        columns[new_key(place)] = F.when(op == "D", old).otherwise(new)
        moves |= (op == "U") & has(BEFORE, name) & has(AFTER, name) & ~before.eqNullSafe(after)
    return frame.where(op != "T").withColumns({ORD: order, OP: op, KEYED: known, MOVES: moves, **columns})
