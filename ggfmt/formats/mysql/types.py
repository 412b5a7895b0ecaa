"""MySQL's column types: their text (`decimal(10,2) unsigned`) to SQL types and back, and their `java.sql.Types`."""

from __future__ import annotations

import re
from functools import lru_cache

from ggfmt.model.table import Kind, SqlType

_TYPE = re.compile(
    r"\s*([a-z]+(?:\s+(?:precision|varying))?)\s*(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?", re.IGNORECASE
)

_KINDS = {
    **dict.fromkeys(("bool", "boolean"), Kind.BOOLEAN),
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "integer", "bigint", "year", "serial"), Kind.INTEGER),
    **dict.fromkeys(("decimal", "dec", "numeric", "fixed"), Kind.DECIMAL),
    **dict.fromkeys(("float",), Kind.FLOAT),
    **dict.fromkeys(("double", "real", "double precision"), Kind.DOUBLE),
    "date": Kind.DATE,
    "time": Kind.TIME,
    **dict.fromkeys(("datetime", "timestamp"), Kind.TIMESTAMP),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), Kind.BINARY),
}
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "integer": 32}
_LONGS, _UNSIGNED = ("bigint", "serial"), re.compile(r"\bunsigned\b|^\s*serial\b", re.IGNORECASE)
_UNSIGNED_DIGITS = 20  # of a number of 64 bits
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


@lru_cache(maxsize=4096)
def sql_type(text: str) -> SqlType:
    """Return the SQL type of a MySQL type: a string unless it is a number, a time or bytes."""
    match = _TYPE.match(text)
    if match is None:
        return SqlType(Kind.STRING)
    name = " ".join(match[1].lower().split())
    first = None if match[2] is None else int(match[2])
    second = None if match[3] is None else int(match[3])
    kind = _KINDS.get(name, Kind.STRING)
    if kind is Kind.DECIMAL:
        return SqlType(kind, precision=first, scale=second if second is not None else (0 if first else None))
    if kind is Kind.INTEGER:
        # The number is a width of display.
        if _UNSIGNED.search(text):
            return SqlType(kind, precision=_UNSIGNED_DIGITS if name in _LONGS else None)
        return SqlType(kind, bits=_BITS.get(name))
    if kind in (Kind.TIME, Kind.TIMESTAMP):
        return SqlType(kind, scale=first)
    if kind is Kind.BINARY:  # the readers of these types make Base64, or it is in the file
        return SqlType(kind, length=first if name in ("binary", "varbinary") else None, base64=True)
    if kind is Kind.STRING and name in ("char", "varchar"):
        return SqlType(kind, length=first)
    return SqlType(kind)


def type_text(type: SqlType) -> tuple[str, int]:
    """Return a MySQL type for an SQL type, and its number in java.sql.Types. `sql_type` is the reverse."""
    name, number = _SMALLER.get(type.bits or 64) or _NAMES[type.kind]
    if type.kind is Kind.INTEGER and type.precision == _UNSIGNED_DIGITS:
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
