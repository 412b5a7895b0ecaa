"""Qlik Replicate's data types to SQL types and back, their values in JSON, and their types in Avro."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from ggfmt.columnar.json_text import Values, json_booleans, json_numbers, json_texts
from ggfmt.columnar.strings import booleans, by_value
from ggfmt.formats.records.images import Convert, converting
from ggfmt.model.table import Kind, SqlType
from ggfmt.model.type_names import rule_of, sized_type, unknown_type

_NAMES = {
    Kind.STRING: "STRING",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "INT8",
    Kind.DECIMAL: "NUMERIC",
    Kind.NUMBER: "NUMERIC",
    Kind.FLOAT: "REAL4",
    Kind.DOUBLE: "REAL8",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME",
    Kind.TIMESTAMP: "DATETIME",
    Kind.INTERVAL: "STRING",
    Kind.BINARY: "BYTES",
}
_AVRO = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "long",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.BINARY: "bytes",
}


# How JSON values become values of the model, and back, a column at once.
CONVERTS: dict[Kind, Convert] = {
    Kind.BINARY: converting(by_value(lambda text: base64.b64encode(binascii.unhexlify(text)).decode())),
    Kind.BOOLEAN: converting(booleans),
}
VALUES: dict[Kind, Values] = {
    Kind.BINARY: json_texts(by_value(lambda text: base64.b64decode(text, validate=True).hex().upper())),
    Kind.BOOLEAN: json_booleans,
    Kind.INTEGER: json_numbers,
    Kind.FLOAT: json_numbers,
    Kind.DOUBLE: json_numbers,
}


def sql_type(word: str, length: int = 0, precision: int = 0, scale: int = 0) -> SqlType:
    """Return the SQL type of a column by its metadata message, where 0 is a size that does not apply."""
    rule = rule_of(word.lower(), "qlik")
    if rule is None:
        return unknown_type(word)
    timed = rule.kind in (Kind.TIME, Kind.TIMESTAMP)
    sizes = [precision, scale] if rule.kind is Kind.DECIMAL else [scale if timed else length]
    return replace(sized_type(rule, [size or None for size in sizes]), base64=rule.kind is Kind.BINARY)


def type_word(type: SqlType) -> tuple[str, int, int, int]:
    """A type of Qlik Replicate with its length, precision and scale; `sql_type` reads it back where there is one."""
    sized = type.kind in (Kind.STRING, Kind.INTERVAL, Kind.BINARY)
    numeric = type.kind in (Kind.DECIMAL, Kind.NUMBER)
    scaled = type.kind in (Kind.TIME, Kind.TIMESTAMP) or (numeric and type.precision)
    return (
        f"INT{type.bits // 8}" if type.bits else _NAMES[type.kind],
        type.length or 0 if sized else 0,
        type.precision or 0 if numeric else 0,
        type.scale or 0 if scaled else 0,
    )


def avro_type(type: SqlType) -> str:
    return _AVRO.get(type.kind, "string")
