"""MySQL's column types: their text (`decimal(10,2) unsigned`) to SQL types and back, and their `java.sql.Types`."""

from __future__ import annotations

from dataclasses import replace

from ggfmt.model.table import Kind, SqlType
from ggfmt.model.type_names import UNSIGNED_DIGITS, type_of

# Kind: the type that is written for it without sizes, and its number in java.sql.Types.
_NAMES = {
    Kind.STRING: ("text", -1),
    Kind.BOOLEAN: ("boolean", 16),
    Kind.INTEGER: ("bigint", -5),
    Kind.DECIMAL: ("decimal", 3),
    Kind.NUMBER: ("decimal", 3),
    Kind.FLOAT: ("float", 7),
    Kind.DOUBLE: ("double", 8),
    Kind.DATE: ("date", 91),
    Kind.TIME: ("time", 92),
    Kind.TIMESTAMP: ("datetime", 93),
    Kind.INTERVAL: ("varchar", 12),
    Kind.BINARY: ("longblob", 2004),
}
_SMALLER = {8: ("tinyint", -6), 16: ("smallint", 5), 32: ("int", 4)}  # integers of fewer bits


def sql_type(text: str) -> SqlType:
    """Return the SQL type of a MySQL type in records, whose readers make Base64 of bytes."""
    type = type_of(text, "mysql", complete=False)
    return replace(type, base64=True) if type.kind is Kind.BINARY else type


def type_text(type: SqlType) -> tuple[str, int]:
    """Return a MySQL type for an SQL type, and its number in java.sql.Types. `sql_type` is the reverse."""
    name, number = _SMALLER.get(type.bits or 64) or _NAMES[type.kind]
    if type.kind is Kind.INTEGER and type.precision == UNSIGNED_DIGITS:
        return f"{name} unsigned", number
    if type.kind in (Kind.STRING, Kind.INTERVAL) and type.length is not None:
        return f"varchar({type.length})", 12
    if type.kind is Kind.INTERVAL:
        return "varchar(255)", 12
    if type.kind is Kind.BINARY and type.length is not None:
        return f"varbinary({type.length})", -3
    if type.kind is Kind.DECIMAL and type.precision is not None:
        return f"decimal({type.precision},{type.scale or 0})", number
    if type.kind in (Kind.TIME, Kind.TIMESTAMP) and type.scale is not None:
        return f"{name}({type.scale})", number
    return name, number
