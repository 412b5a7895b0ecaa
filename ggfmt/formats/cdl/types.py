"""Types of Kafka Connect as CDL uses them, in both directions, and how their values are written."""

from __future__ import annotations

from typing import Any

import msgspec

from ggfmt.columnar.json_text import Values, json_booleans, json_numbers
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.values import millis, read_as, whole, within
from ggfmt.formats.records.formatter import quoted
from ggfmt.formats.records.images import Convert
from ggfmt.model.table import Column, Kind, SqlType

DECIMAL, STAMP = "com.xxx.cdc.data.Decimal", "com.xxx.cdc.data.timestamp"

# By the last part of the name of a type whose values are texts; the parts before it name the maker.
_TEXT_KINDS = {"decimal": Kind.DECIMAL, "timestamp": Kind.TIMESTAMP, "date": Kind.DATE, "time": Kind.TIME}


class PayloadField(msgspec.Struct, gc=False):
    type: str | None = None
    name: str | None = None
    field: str | None = None
    optional: bool | None = None
    fields: list[PayloadField] | None = None
    items: PayloadField | None = None
    keys: PayloadField | None = None
    values: PayloadField | None = None
    parameters: dict[str, Any] | None = None


def column_of(field: PayloadField) -> tuple[SqlType, Convert | None]:
    """The SQL type of a field, and how its values become what the model has."""
    name, kind = field.name or "", field.type or ""
    if kind == "string" and not name.startswith(connect.LOGICAL):
        return SqlType(_TEXT_KINDS.get(name.rpartition(".")[2].lower(), Kind.STRING)), None
    return read_as(field)


# Writing


def field_of(column: Column, as_text: bool) -> dict[str, Any]:
    """The field of a column; `as_text`: time stamps are texts."""
    kind = column.type.kind
    type_name, logical = _WRITTEN.get(kind, ("string", None))
    if kind is Kind.INTEGER:
        type_name = connect.integer_type(column.type)
    elif kind is Kind.TIMESTAMP:
        type_name, logical = ("string", STAMP) if as_text else ("int64", connect.TIMESTAMP)
    field: dict[str, Any] = {"type": type_name, "optional": column.nullable}
    if logical is not None:
        field["name"] = logical
        if logical.startswith(connect.LOGICAL):
            field["version"] = 1
    return {**field, "field": column.name}


def values_of(type: SqlType, as_text: bool) -> Values:
    if type.kind is Kind.INTEGER:
        return within(whole, type.bits)
    return millis if type.kind is Kind.TIMESTAMP and not as_text else _VALUES.get(type.kind, quoted)


_VALUES: dict[Kind, Values] = {Kind.FLOAT: json_numbers, Kind.DOUBLE: json_numbers, Kind.BOOLEAN: json_booleans}
_WRITTEN: dict[Kind, tuple[str, str | None]] = {
    Kind.FLOAT: ("float", None),
    Kind.DOUBLE: ("double", None),
    Kind.BOOLEAN: ("boolean", None),
    Kind.BINARY: ("bytes", None),
    Kind.DECIMAL: ("string", DECIMAL),
    Kind.NUMBER: ("string", DECIMAL),
}
