"""Which of the two shapes a frame that is to be written has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ggfmt.columnar.typed import is_scalar
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion
from ggfmt.frames.shapes import AFTER, BEFORE, HEAD, IMAGES, MISSING, NAMES, TEXT, TEXTS
from ggfmt.model.table import Column, Kind, SqlType

_REQUIRED = ("table", "op_type", "op_ts", *IMAGES)
_HELP = "`ggfmt docs dataframes` has the columns of both shapes"


@dataclass(frozen=True)
class FrameShape:
    """What a frame of operations has: the `columns` of the images where they are structs, else None; and which of the
    `heads`, the columns of every frame."""

    columns: tuple[Column, ...] | None
    heads: frozenset[str]

    @classmethod
    def of(cls, schema: pa.Schema) -> FrameShape:
        """The shape of a frame by its schema; UsageError GG540 if it is neither."""
        problems = list(_problems(schema))
        if problems:
            raise UsageError(*problems)
        image = schema.field(AFTER).type
        columns = None
        if pa.types.is_struct(image):
            columns = tuple(Column(field.name, sql_type(field.type)) for field in image)
        return cls(columns, frozenset(schema.names) & {field.name for field in HEAD})


def sql_type(type: pa.DataType) -> SqlType:
    """The type of a column by that of its values in a frame."""
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
    }
    return SqlType(next((kind for kind, test in tests.items() if test(type)), Kind.STRING))


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
            help = near or f"leave it out, as by `frame.drop({name!r})`"
            yield _misshaped(f"the frame has a column `{name}`, which is none of an operation", help)
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
            help = f"if no column is ever missing, add it as `lit(None).cast('array<string>').alias({name!r})`"
            yield _misshaped(f"the frame has no column `{name}`", help)
    if len({field.name for field in fields}) < len(fields):
        yield _misshaped("two fields of `after` have the same name")
    for field in fields:
        if not is_scalar(field.type):
            help = "make a text of it, or a number, a boolean, a date or a time"
            yield _misshaped(f"`after.{field.name}` is of the type {field.type}, which no message has", help)


_HEAD_TYPES = {field.name: field.type for field in HEAD}


def _of_type(field: pa.Field[Any], wanted: pa.DataType) -> Iterator[Diagnostic]:
    """GG540 for a column of another type. A time may be a text too, and a number of any size."""
    given = field.type
    same = plain_type(given) == wanted
    if pa.types.is_timestamp(wanted):
        same = pa.types.is_timestamp(given) or plain_type(given) == TEXT
    elif pa.types.is_integer(wanted):
        same = pa.types.is_integer(given)
    if not same and not pa.types.is_null(given):
        yield _misshaped(f"the column `{field.name}` is of the type {given}, not {wanted}")


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type with texts of the usual kind, and without the names and the nullability of what is within."""
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return TEXT
    if pa.types.is_map(type):
        return pa.map_(plain_type(type.key_type), plain_type(type.item_type))
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(plain_type(type.value_type))
    return type


def _misshaped(message: str, help: str = _HELP) -> Diagnostic:
    return Diagnostic("GG540", message, help=help)
