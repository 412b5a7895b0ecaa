"""Values in Avro as texts, as the schema of a change tells what they are: a maker of texts for each column.

Of the logical types, dates, times, time stamps and decimals are known; they are read as the numbers and bytes that they
annotate, so that no digit and no date outside of Python's range is lost on the way.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.formats.connect.decimals import decimal_text

Schema = Any  # a parsed JSON document
Maker = Callable[[Any], str]

_EPOCH = datetime(1970, 1, 1)
_MICROS = {"millis": 1000, "micros": 1, "nanos": 0}
_DAY = 86_400_000_000


def named_types(schema: Schema, names: dict[str, Schema] | None = None) -> dict[str, Schema]:
    """The records, enumerations and fixed types of a schema by their names, without namespaces."""
    names = {} if names is None else names
    if isinstance(schema, list):
        for branch in schema:
            named_types(branch, names)
    elif isinstance(schema, dict):
        if isinstance(schema.get("name"), str) and schema.get("type") in ("record", "enum", "fixed"):
            names[schema["name"].rpartition(".")[2]] = schema
        for inner in (schema.get("type"), schema.get("items"), schema.get("values")):
            if isinstance(inner, (dict, list)):
                named_types(inner, names)
        for field in schema.get("fields") or ():
            named_types(field.get("type"), names)
    return names


def value_of(schema: Schema, names: Mapping[str, Schema]) -> Schema:
    """The type of a value that may be null besides, names replaced by what they stand for."""
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null" and branch != {"type": "null"}]
        return value_of(branches[0], names) if len(branches) == 1 else schema
    if isinstance(schema, str):
        return names.get(schema.rpartition(".")[2], schema)
    if isinstance(schema, dict) and isinstance(schema.get("type"), (dict, list)):
        return value_of(schema["type"], names)
    return schema


def columns_of(schema: Schema, member: str) -> dict[str, Maker | None]:
    """The columns of a member of a change that is a row, with what makes texts of their values, None where they are
    texts; ValueError if the schema has no such member."""
    names = named_types(schema)
    fields = {field["name"]: field["type"] for field in schema["fields"]} if isinstance(schema, dict) else {}
    row = value_of(fields.get(member), names)
    if not isinstance(row, dict) or "fields" not in row:
        raise ValueError
    return {field["name"]: _maker(value_of(field["type"], names)) for field in row["fields"]}


def _maker(schema: Schema) -> Maker | None:
    if schema in ("string", {"type": "string"}):
        return None
    if not isinstance(schema, dict):
        return single_text if schema == "float" else to_text
    kind, logical = schema.get("type"), schema.get("logicalType")
    if logical == "date" and kind == "int":
        return date_text
    prefix, _, unit = str(logical).rpartition("-")
    if prefix == "time" and kind in ("int", "long") and _MICROS.get(unit):
        return partial(time_text, _MICROS[unit])
    if prefix in ("timestamp", "local-timestamp") and kind == "long" and _MICROS.get(unit):
        return partial(stamp_text, _MICROS[unit])
    if logical == "decimal" and kind in ("bytes", "fixed") and isinstance(schema.get("scale", 0), int):
        return partial(unscaled_text, schema.get("scale", 0))
    return single_text if kind == "float" else to_text


def to_text(value: Any) -> str:
    """A value of a primitive type as a text; ValueError for one of another type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _NOT_FINITE.get(repr(value), repr(value))
    raise ValueError


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def single_text(value: float) -> str:
    """The fewest digits that are this number of 32 bits."""
    text: str = pa.scalar(value, pa.float32()).cast(pa.string()).as_py()
    return _NOT_FINITE.get(text, text)


def date_text(value: int) -> str:
    return (_EPOCH + timedelta(value)).date().isoformat()


def time_text(unit: int, value: int) -> str:
    if not 0 <= value * unit < _DAY:
        raise ValueError
    return _moment(value * unit).rpartition(" ")[2]


def stamp_text(unit: int, value: int) -> str:
    return _moment(value * unit)


def _moment(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ", "microseconds")


def unscaled_text(scale: int, value: bytes) -> str:
    return decimal_text(int.from_bytes(value, "big", signed=True), scale)
