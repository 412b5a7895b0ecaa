"""The two shapes of a frame of operations, as Arrow schemas and as Spark's DDL.

Both start with the same columns (`HEAD`): the table, the operation, its time, position and tokens; the file that it
was read from and the byte its record starts at; and `seq`, which orders the operations of a table.

generic  `before` and `after` are maps from column name to text. A missing column has no key, NULL is a key with a null
         value, and where there is no image the map is null.
typed    `before` and `after` are structs with a field for each column of one table. A missing column is null as NULL
         is, and its name is in `before_missing` or `after_missing`, which are null where nothing is missing.

Times are instants. One that has no zone in the file is taken as one of UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ggfmt.model.table import Kind, SqlType, TableDef

BEFORE, AFTER = "before", "after"
IMAGES = (BEFORE, AFTER)
MISSING = {BEFORE: "before_missing", AFTER: "after_missing"}  # the column with the names of those missing in an image

TEXT = pa.string()
TEXTS = pa.map_(TEXT, TEXT)
NAMES = pa.list_(TEXT)
INSTANT = pa.timestamp("us", tz="UTC")
MOST_DIGITS = 38  # of a decimal, in Spark as in 128 bits
_DIGITS_OF_LONG = 18  # that any 64 bits hold

HEAD: tuple[pa.Field[Any], ...] = (
    pa.field("table", TEXT),
    pa.field("op_type", TEXT),
    pa.field("op_ts", INSTANT),
    pa.field("position", TEXT),
    pa.field("tokens", TEXTS),
    pa.field("file", TEXT),
    pa.field("offset", pa.int64()),
    pa.field("seq", pa.int64()),
)

GENERIC = pa.schema([*HEAD, pa.field(BEFORE, TEXTS), pa.field(AFTER, TEXTS)])


def typed(table: TableDef) -> pa.Schema:
    """The typed shape of the operations of a table."""
    image = pa.struct([pa.field(column.name, column_type(column.type)) for column in table.columns])
    fields = (field for name in IMAGES for field in (pa.field(name, image), pa.field(MISSING[name], NAMES)))
    return pa.schema([*HEAD, *fields])


def column_type(type: SqlType) -> pa.DataType:
    """The type in a frame of a column's values, without a loss of any that the column can have.

    Dates and times are texts: what databases have in them goes beyond Spark's types, such as nine digits of a second,
    a time in Oracle's DATE, or a year 0. So are numbers of which the digits are not known.
    """
    return _TYPES.get(type.kind, _text)(type)


def _text(type: SqlType) -> pa.DataType:
    return TEXT


def _integer(type: SqlType) -> pa.DataType:
    digits = type.precision or 0
    return pa.int64() if digits <= _DIGITS_OF_LONG else _decimal(SqlType(Kind.DECIMAL, precision=digits, scale=0))


def _decimal(type: SqlType) -> pa.DataType:
    """As many digits as the column has. A scale below 0 stands for zeros before the point, one above the precision for
    zeros behind it (Oracle's NUMBER)."""
    if type.precision is None:
        return TEXT
    scale = type.scale or 0
    digits = type.precision - scale if scale < 0 else max(type.precision, scale)
    return pa.decimal128(digits, max(scale, 0)) if 0 < digits <= MOST_DIGITS else TEXT


_TYPES: dict[Kind, Callable[[SqlType], pa.DataType]] = {
    Kind.BOOLEAN: lambda type: pa.bool_(),
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: lambda type: pa.float32(),
    Kind.DOUBLE: lambda type: pa.float64(),
}

# The types that a value can be shown as, if a schema asks for it, and Spark's names for them.
SCALARS: dict[pa.DataType, str] = {
    TEXT: "string",
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    INSTANT: "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}

_BY_SPARK = {"long" if name == "bigint" else name: type for type, name in SCALARS.items()}  # as in its JSON
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")


def ddl(schema: pa.Schema) -> str:
    """A schema in the language that `DataFrameReader.schema` and data sources take."""
    return ", ".join(f"{quoted(field.name)} {ddl_type(field.type)}" for field in schema)


def ddl_type(type: pa.DataType) -> str:
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{quoted(field.name)}: {ddl_type(field.type)}' for field in type)}>"
    if pa.types.is_map(type):
        return f"map<{ddl_type(type.key_type)}, {ddl_type(type.item_type)}>"
    if pa.types.is_list(type):
        return f"array<{ddl_type(type.value_type)}>"
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return SCALARS[type]


def from_spark(schema: Mapping[str, Any]) -> pa.Schema:
    """The schema that Spark tells as JSON (`StructType.jsonValue`); KeyError for a type that no shape has."""
    struct = _of_spark(schema)
    assert isinstance(struct, pa.StructType), "Spark has the schema of a frame as a struct"
    return pa.schema(list(struct))


def _of_spark(told: Any) -> pa.DataType:
    if isinstance(told, str):
        decimal = _DECIMAL.fullmatch(told)
        return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _BY_SPARK[told]
    if told["type"] == "struct":
        fields = told["fields"]
        return pa.struct([pa.field(item["name"], _of_spark(item["type"]), item["nullable"]) for item in fields])
    if told["type"] == "map":
        return pa.map_(_of_spark(told["keyType"]), _of_spark(told["valueType"]))
    if told["type"] == "array":
        return pa.list_(_of_spark(told["elementType"]))
    raise KeyError(told["type"])


def quoted(name: str) -> str:
    """A name as Spark's SQL takes any."""
    return "`" + name.replace("`", "``") + "`"
