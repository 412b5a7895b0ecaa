"""The operations of a table, as steps of its rows: each with its place in the order, and with the key that its row has
before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from ggfmt.consolidation.asked import unusable
from ggfmt.consolidation.images import changes_key, has, is_told, told, value
from ggfmt.frames.shapes import AFTER, BEFORE, MISSING, quoted
from ggfmt.model.table import TableDef

ORD, OP, MOVES, KEYED = "__ord", "__op", "__moves", "__keyed"
HEAD = ("op_type", "op_ts", "position", "seq")
OF_BASE = -(1 << 62)  # `seq` of the rows that were there before
_DIGITS_OF_LONG = 19


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

    @cached_property
    def of_base_alone(self) -> tuple[str, ...]:
        """Columns of the table that no operation has, as data without definitions show the changed ones alone."""
        own = self.image.fieldNames()
        return tuple(name for name in self.columns if name not in own)

    def with_base(self) -> DataFrame:
        """The operations, and the rows that were there before as inserts. UsageError GG551 for rows without the key,
        and for a column of them that could not become what it is in the operations."""
        columns = [*HEAD, BEFORE, MISSING[BEFORE], AFTER, MISSING[AFTER]]
        operations = self.frame.select(*columns)
        if self.base is None:
            return operations
        of_base = {column.name: column.dataType for column in self.base.schema.fields}
        self._check(of_base)
        own = {column.name: column.dataType for column in self.image.fields}
        types = own | {name: of_base[name] for name in self.of_base_alone}
        row = F.struct(
            *(
                (column_named(name) if name in of_base else F.lit(None)).cast(type).alias(name)
                for name, type in types.items()
            )
        )
        image = F.struct(
            *(
                (F.col(AFTER).getField(name) if name in own else F.lit(None)).cast(type).alias(name)
                for name, type in types.items()
            )
        )
        operations = operations.withColumn(AFTER, F.when(F.col(AFTER).isNotNull(), image))
        values = {"op_type": F.lit("I"), "seq": F.lit(OF_BASE), AFTER: row}
        lacking = [name for name in types if name not in of_base]
        if lacking:
            values[MISSING[AFTER]] = F.array(*(F.lit(name) for name in lacking))
        shape = {column.name: column.dataType for column in operations.schema.fields}
        rows = self.base.select(*(values.get(name, F.lit(None)).cast(shape[name]).alias(name) for name in columns))
        return operations.unionByName(rows)

    def _check(self, of_base: Mapping[str, DataType]) -> None:
        lacking = [name for name in self.key if name not in of_base]
        if lacking:
            raise unusable(f"the base has no column `{lacking[0]}`, which is of the key of `{self.table.full_name}`")
        for column in self.image.fields:
            if column.name in of_base and not holds(column.dataType, of_base[column.name]):
                there, here = of_base[column.name].simpleString(), column.dataType.simpleString()
                message = f"`{column.name}` is `{there}` in the base and `{here}` in the operations"
                raise unusable(message, "cast it to that type, or give the operations another with `types`")

    def is_told(self, name: str, before: bool) -> Column:
        """Whether a step tells what a column is after it, as the column is today; see `images.is_told`."""
        if name in self.of_base_alone:
            return F.col("seq") == OF_BASE
        told = is_told(F.col(OP), name, before)
        return told & (F.col("seq") >= self.added[name]) if name in self.added else told

    def told(self, name: str, before: bool) -> Column:
        """What it tells then. `before`: it may be by the before image."""
        return told(name, before and name not in self.of_base_alone)


def holds(type: DataType, other: DataType) -> bool:
    """Whether a type has all values of another."""
    if isinstance(type, StringType) or type == other:
        return True
    whole = (ByteType, ShortType, IntegerType, LongType)
    if isinstance(type, DecimalType):
        if isinstance(other, DecimalType):
            digits = type.precision - type.scale >= other.precision - other.scale
            return digits and type.scale >= other.scale
        return isinstance(other, whole) and type.precision - type.scale >= _DIGITS_OF_LONG
    if isinstance(type, whole) and isinstance(other, whole):
        return whole.index(other.__class__) < whole.index(type.__class__)
    return isinstance(type, DoubleType) and isinstance(other, FloatType)


def column_named(name: str) -> Column:
    """The column of any name."""
    return F.col(quoted(name))


def steps(frame: DataFrame, key: tuple[str, ...], order: Column) -> DataFrame:
    """Inserts, updates and deletes with `ORD`, `OP`, both keys, whether the key changes (`MOVES`), and whether both
    keys are known (`KEYED`)."""
    op = F.col("op_type")
    columns: dict[str, Column] = {}
    known = F.lit(True)
    for place, name in enumerate(key):
        before, after = F.when(has(BEFORE, name), value(BEFORE, name)), F.when(has(AFTER, name), value(AFTER, name))
        first = F.when(op == "I", has(AFTER, name)).when(op == "D", has(BEFORE, name))
        known &= first.otherwise(has(BEFORE, name) | has(AFTER, name))
        old = F.when(has(BEFORE, name), before).otherwise(after)
        new = F.when(has(AFTER, name), after).otherwise(before)
        columns[old_key(place)] = F.when(op == "I", new).otherwise(old)
        columns[new_key(place)] = F.when(op == "D", old).otherwise(new)
    moves = (op == "U") & changes_key(key)
    return frame.where(op != "T").withColumns({ORD: order, OP: op, KEYED: known, MOVES: moves, **columns})
