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

import base64
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from ggfmt.columnar.typed import is_scalar
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion
from ggfmt.frames.column_types import CLOCK, INSTANT, SCALARS, TEXT, change_type, named_type, type_name
from ggfmt.model.sql import SPARK
from ggfmt.model.table import Column, Kind, SqlType, TableDef

BEFORE, AFTER = "before", "after"
IMAGES = (BEFORE, AFTER)
MISSING = {BEFORE: "before_missing", AFTER: "after_missing"}  # the column with the names of missing columns of an image

TEXTS = pa.map_(TEXT, TEXT)
NAMES = pa.list_(TEXT)

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

# The definitions of the tables travel with a frame, as metadata of `after`. Spark keeps these for as long as the column
# is the same, and drops them for an expression; `before` has a mark, so that they count if both images are the same.
_DEFINITIONS = b"ggfmt.definitions"


def with_definitions(schema: pa.Schema, tables: Sequence[TableDef]) -> pa.Schema:
    """Return the schema of a frame that carries the definitions of tables."""
    text = base64.b64encode(zlib.compress(msgspec.json.encode(tables)))
    for name, value in ((BEFORE, _mark(text)), (AFTER, text)):
        place = schema.get_field_index(name)
        if place >= 0:
            schema = schema.set(place, schema.field(place).with_metadata({_DEFINITIONS: value}))
    return schema


def definitions_in(schema: pa.Schema) -> dict[str, TableDef]:
    """Return the definitions that a frame carries, by full name."""
    mark, text = ((schema.field(name).metadata or {}).get(_DEFINITIONS, b"") for name in IMAGES)
    if not text or mark != _mark(text):
        return {}
    try:
        tables = msgspec.json.decode(zlib.decompress(base64.b64decode(text)), type=list[TableDef])
    except (ValueError, zlib.error):  # of a version with other definitions
        return {}
    return {table.full_name: table for table in tables}


def _mark(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode()


def typed(table: TableDef) -> pa.Schema:
    image = pa.struct([pa.field(column.name, change_type(column.type)) for column in table.columns])
    fields = (field for name in IMAGES for field in (pa.field(name, image), pa.field(MISSING[name], NAMES)))
    return pa.schema([*HEAD, *fields])


# By the names in Spark's JSON. Frames have no times of day.
_BY_SPARK = {"long" if name == "bigint" else name: type for type, name in SCALARS.items() if type != CLOCK}
# Types that frames of users may have besides.
_OF_USERS: Mapping[str, pa.DataType] = {
    **_BY_SPARK,
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "char": TEXT,
    "varchar": TEXT,
    "void": pa.null(),
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")


def ddl(schema: pa.Schema) -> str:
    """Return a schema in the DDL that `DataFrameReader.schema` takes."""
    return ", ".join(f"{quoted(field.name)} {ddl_type(field.type)}" for field in schema)


def ddl_type(type: pa.DataType) -> str:
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{quoted(field.name)}: {ddl_type(field.type)}' for field in type)}>"
    if pa.types.is_map(type):
        return f"map<{ddl_type(type.key_type)}, {ddl_type(type.item_type)}>"
    if pa.types.is_list(type):
        return f"array<{ddl_type(type.value_type)}>"
    return type_name(type)


def to_spark(schema: pa.Schema) -> dict[str, Any]:
    """Return a schema in Spark's JSON, with the definitions that it carries."""
    fields = []
    for field in schema:
        kept = {key.decode(): value.decode() for key, value in (field.metadata or {}).items() if key == _DEFINITIONS}
        fields.append({"name": field.name, "type": _to_spark(field.type), "nullable": True, "metadata": kept})
    return {"type": "struct", "fields": fields}


def _to_spark(type: pa.DataType) -> Any:
    if pa.types.is_struct(type):
        return to_spark(pa.schema(list(type)))
    if pa.types.is_map(type):
        inner = {"keyType": _to_spark(type.key_type), "valueType": _to_spark(type.item_type)}
        return {"type": "map", **inner, "valueContainsNull": True}
    if pa.types.is_list(type):
        return {"type": "array", "elementType": _to_spark(type.value_type), "containsNull": True}
    name = type_name(type)
    return "long" if name == "bigint" else name


_TOKEN = re.compile(r"`(?:[^`]|``)*`|.", re.DOTALL)
_COLUMN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*:?\s*(.*)", re.ASCII | re.DOTALL)
_NESTED = re.compile(r"(struct|map|array)\s*<(.*)>", re.ASCII | re.DOTALL | re.IGNORECASE)


class DdlError(ValueError):
    """A text is no schema in DDL. The message names what is wrong in it."""


def from_ddl(text: str) -> pa.Schema:
    """Return the schema of DDL such as `ddl` makes. Raises: DdlError."""
    return pa.schema(_columns(text))


def _columns(text: str) -> Iterator[pa.Field[Any]]:
    for part in _parts(text):
        found = _COLUMN.fullmatch(part)
        if found is None or not found[3]:
            problem = f"it has `{part.strip()}` where a column and its type should be"
            raise DdlError(problem if part.strip() else "a column is missing")
        yield pa.field(found[2] or found[1].replace("``", "`"), _type(found[3]))


def _parts(text: str) -> list[str]:
    """Divide a text at its commas outside of `<...>`, `(...)` and quoted names."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "<(") - (token in ">)")
        if token == "," and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _type(text: str) -> pa.DataType:
    nested = _NESTED.fullmatch(text.strip())
    kind, content = (nested[1].lower(), nested[2]) if nested else ("", "")
    if kind == "struct":
        return pa.struct(list(_columns(content)))
    inner = [_type(part) for part in _parts(content)] if kind else []
    if kind == "map" and len(inner) == 2:
        return pa.map_(*inner)
    if kind == "array" and len(inner) == 1:
        return pa.list_(*inner)
    found = named_type(text)
    if found is None:
        raise DdlError(f"it has `{text.strip()}` where a type should be")
    return found


class UnknownTypeError(ValueError):
    """A `column` of Spark has a type with a `name` that is not known."""

    def __init__(self, column: str, name: str) -> None:
        super().__init__(column, name)
        self.column, self.name = column, name


def from_spark(schema: Mapping[str, Any], types: Mapping[str, pa.DataType] = _BY_SPARK) -> pa.Schema:
    """Return the schema of Spark's JSON (`StructType.jsonValue`). Raises: UnknownTypeError."""
    struct = _of_spark(schema, types, "")
    assert isinstance(struct, pa.StructType), "Spark has the schema of a frame as a struct"
    return pa.schema(list(struct))


def schema_of_user(schema: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of a frame of a user. Raises: UsageError GG540 for a type that operations cannot have."""
    try:
        return from_spark(schema, _OF_USERS)
    except UnknownTypeError as error:
        message = f"the column `{error.column}` has the type {error.name}, which operations cannot have"
        raise UsageError("GG540", message, help="cast it to a text") from None


def _of_spark(spark_type: Any, types: Mapping[str, pa.DataType], column: str) -> pa.DataType:
    if isinstance(spark_type, str):
        decimal = _DECIMAL.fullmatch(spark_type)
        if decimal is not None:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        name = spark_type.partition("(")[0]  # without the length of a text
        if name not in types:
            raise UnknownTypeError(column, spark_type)
        return types[name]

    def inner(part: Any, name: str = "") -> pa.DataType:
        return _of_spark(part, types, ".".join(filter(None, (column, name))))

    if spark_type["type"] == "struct":
        fields = spark_type["fields"]
        kept = (item.get("metadata", {}).get(_DEFINITIONS.decode()) for item in fields)
        return pa.struct(
            [
                pa.field(
                    item["name"],
                    inner(item["type"], item["name"]),
                    item["nullable"],
                    {_DEFINITIONS: text} if isinstance(text, str) else None,
                )
                for item, text in zip(fields, kept, strict=True)
            ]
        )
    if spark_type["type"] == "map":
        return pa.map_(inner(spark_type["keyType"]), inner(spark_type["valueType"]))
    if spark_type["type"] == "array":
        return pa.list_(inner(spark_type["elementType"]))
    raise UnknownTypeError(column, spark_type["type"])


quoted = SPARK.identifier


# The shape of a frame to write.

_REQUIRED = ("table", "op_type", "op_ts", *IMAGES)
_HELP = "see the columns of both shapes in `ggfmt docs dataframes`"


@dataclass(frozen=True)
class FrameShape:
    """The shape of a frame: the `columns` of its images if they are structs, the `heads` that it has, and the
    `definitions` that it carries."""

    columns: tuple[Column, ...] | None
    heads: frozenset[str]
    definitions: Mapping[str, TableDef]

    @classmethod
    def of(cls, schema: pa.Schema) -> FrameShape:
        """Return the shape of a frame by its schema. Raises: UsageError GG540 if it has neither."""
        problems = list(_problems(schema))
        if problems:
            raise UsageError.of(*problems)
        image = schema.field(AFTER).type
        columns = None
        if pa.types.is_struct(image):
            columns = tuple(Column(field.name, sql_type(field.type)) for field in image)
        return cls(columns, frozenset(schema.names) & {field.name for field in HEAD}, definitions_in(schema))

    def table(self, name: str, found: Sequence[str]) -> TableDef:
        """Return the definition of a table. Its columns are those of the structs, or those that the frame carries and
        the names `found` in maps. The frame also says their types, unless a field has become another one."""
        table = self.definitions.get(name, TableDef(name))
        known = {column.name: column for column in table.columns}
        if self.columns is None:
            return table.with_columns((*table.columns, *(Column(name) for name in found if name not in known)))

        def settled(column: Column) -> Column:
            own = known.get(column.name, column)
            return own if sql_type(change_type(own.type)) == column.type else column

        return table.with_columns([*map(settled, self.columns)])


def sql_type(type: pa.DataType) -> SqlType:
    types = pa.types
    if types.is_decimal(type):
        return SqlType(Kind.DECIMAL, precision=type.precision, scale=type.scale)
    tests: dict[Kind, Callable[[pa.DataType], bool]] = {
        Kind.BOOLEAN: types.is_boolean,
        Kind.INTEGER: types.is_integer,
        Kind.DOUBLE: types.is_float64,
        Kind.FLOAT: types.is_floating,
        Kind.DATE: types.is_date,
        Kind.TIMESTAMP: types.is_timestamp,
        Kind.BINARY: types.is_binary,
    }
    if types.is_list(type):
        return SqlType(Kind.STRING, item=sql_type(type.value_type))
    kind = next((kind for kind, test in tests.items() if test(type)), Kind.STRING)
    return SqlType(kind, zoned=types.is_timestamp(type) and type.tz is not None)


def _problems(schema: pa.Schema) -> Iterator[Diagnostic]:
    lacking = [name for name in _REQUIRED if name not in schema.names]
    if lacking:
        yield _misshaped(f"the frame has no column `{lacking[0]}`")
        return
    typed = pa.types.is_struct(schema.field(AFTER).type)
    legal = {field.name for field in HEAD} | set(IMAGES) | (set(MISSING.values()) if typed else set())
    for name in dict.fromkeys(schema.names):
        if name not in legal:
            near = suggestion(name, legal - set(schema.names))
            help = near or f"drop it, as with `frame.drop({name!r})`"
            yield _misshaped(f"the frame has a column `{name}`, which operations do not have", help)
        elif schema.names.count(name) > 1:
            yield _misshaped(f"the frame has the column `{name}` twice")
        elif name not in (*IMAGES, *MISSING.values()):
            yield from _of_type(schema.field(name), _HEAD_TYPES[name])
    if not typed:
        for name in IMAGES:
            yield from _of_type(schema.field(name), TEXTS)
        return
    before, fields = schema.field(BEFORE).type, list(schema.field(AFTER).type)
    same = pa.types.is_struct(before) and [(f.name, f.type) for f in before] == [(f.name, f.type) for f in fields]
    if not same:
        yield _misshaped("`before` and `after` do not have the same fields")
    for name in MISSING.values():
        if name in schema.names:
            yield from _of_type(schema.field(name), NAMES)
        else:
            help = f"if columns are never missing, add it as `lit(None).cast('array<string>').alias({name!r})`"
            yield _misshaped(f"the frame has no column `{name}`", help)
    if len({field.name for field in fields}) < len(fields):
        yield _misshaped("two fields of `after` have the same name")
    for field in fields:
        if not is_scalar(field.type):
            help = "cast it to a text, a number, a boolean, a date or a time"
            yield _misshaped(f"`after.{field.name}` is of the type {field.type}, which messages cannot contain", help)


_HEAD_TYPES = {field.name: field.type for field in HEAD}


def _of_type(field: pa.Field[Any], wanted: pa.DataType) -> Iterator[Diagnostic]:
    """Yield GG540 for a column of another type. A time may also be a text, and a number may have any size."""
    given = field.type
    same = plain_type(given) == wanted
    if pa.types.is_timestamp(wanted):
        same = pa.types.is_timestamp(given) or plain_type(given) == TEXT
    elif pa.types.is_integer(wanted):
        same = pa.types.is_integer(given)
    if not same and not pa.types.is_null(given):
        yield _misshaped(f"the column `{field.name}` is of the type {given}, not {wanted}")


def plain_type(type: pa.DataType) -> pa.DataType:
    """Return the type with plain texts, and without names and nullability of nested types."""
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return TEXT
    if pa.types.is_map(type):
        return pa.map_(plain_type(type.key_type), plain_type(type.item_type))
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(plain_type(type.value_type))
    return type


def _misshaped(message: str, help: str = _HELP) -> Diagnostic:
    return Diagnostic("GG540", message, help=help)
