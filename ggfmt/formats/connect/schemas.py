"""Schemas of Kafka Connect in JSON: the types of fields, and the names of what goes beyond them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ggfmt.model.table import Kind, SqlType

LOGICAL = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = (f"{LOGICAL}{name}" for name in ("Decimal", "Date", "Time", "Timestamp"))
PRECISION = "connect.decimal.precision"  # a parameter of a decimal, beside its `scale`

NESTED = ("array", "map", "struct")  # the types of values with values in them

MAX_SCALE = 20000  # PostgreSQL's goes up to 16383

# What the values of a type are, where they are no texts; floating-point numbers have the names of Avro too.
TYPES = {
    **{f"int{bits}": SqlType(Kind.INTEGER, bits=bits) for bits in (8, 16, 32)},
    "int64": SqlType(Kind.INTEGER),
    **dict.fromkeys(("float", "float32"), SqlType(Kind.FLOAT)),
    **dict.fromkeys(("double", "float64"), SqlType(Kind.DOUBLE)),
    "boolean": SqlType(Kind.BOOLEAN),
    "bytes": SqlType(Kind.BINARY),
}


def integer_type(type: SqlType) -> str:
    return f"int{type.bits or 64}"


class SchemaField(msgspec.Struct, gc=False):
    type: str
    field: str | None = None
    name: str | None = None
    optional: bool = False
    parameters: dict[str, str | int | None] | None = None
    fields: tuple[SchemaField, ...] | None = None
    items: SchemaField | None = None
    keys: SchemaField | None = None
    values: SchemaField | None = None

    def number(self, parameter: str) -> int | None:
        """Return a parameter that is a whole number from -20000 to 20000; None if it is absent or none."""
        text = str((self.parameters or {}).get(parameter, ""))
        if not re.fullmatch("-?[0-9]{1,5}", text) or abs(int(text)) > MAX_SCALE:
            return None
        return int(text)

    def members(self, name: str) -> tuple[SchemaField, ...] | None:
        return next((field.fields for field in self.fields or () if field.field == name and field.fields), None)


_TEXT = {"type": "string", "optional": False}
STRINGS = {"type": "array", "items": _TEXT, "optional": True}
STRING_MAP = {"type": "map", "keys": _TEXT, "values": _TEXT, "optional": True}


def field(name: str, type: str, optional: bool = False) -> dict[str, Any]:
    return {"type": type, "optional": optional, "field": name}


decode_schema = msgspec.json.Decoder(SchemaField).decode  # ValueError if the JSON is no schema


def name_of(data: Any) -> str | None:
    try:
        return _decode_name(data).name
    except (ValueError, RecursionError):
        return None


class _Named(msgspec.Struct):
    name: str | None = None


_decode_name = msgspec.json.Decoder(_Named).decode
