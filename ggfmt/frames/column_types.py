"""The types of columns in rows and in frames: what each type of a source becomes, and the names of types in Spark SQL.

A type holds every value that its column usually has, without loss. A value that it does not have is an error, unless
the user says otherwise, and never another value.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind, SqlType

TEXT = pa.string()
INSTANT = pa.timestamp("us", tz="UTC")
LOCAL = pa.timestamp("us")
DAY = pa.date32()
CLOCK = pa.time64("us")
BYTES = pa.binary()
MAX_DIGITS = 38  # of a decimal, in Spark as in 128 bits
_DIGITS_OF_LONG = 18  # digits that 64 bits always hold
_MICROS = 6  # digits of a fraction of a second


def _integer(type: SqlType) -> pa.DataType:
    digits = type.precision or 0
    return pa.int64() if digits <= _DIGITS_OF_LONG else _decimal(SqlType(Kind.DECIMAL, precision=digits, scale=0))


def _decimal(type: SqlType) -> pa.DataType:
    """Return a decimal with as many digits as the column has. A negative scale adds zeros before the point, one above
    the precision zeros after it (Oracle's NUMBER). A scale alone leaves the other digits to the whole part."""
    if type.precision is None and (type.scale is None or not 0 <= type.scale <= MAX_DIGITS):
        return TEXT
    if type.precision is None:
        return pa.decimal128(MAX_DIGITS, type.scale or 0)
    scale = type.scale or 0
    digits = type.precision - scale if scale < 0 else max(type.precision, scale)
    return pa.decimal128(digits, max(scale, 0)) if 0 < digits <= MAX_DIGITS else TEXT


def _fits_micros(type: SqlType) -> bool:
    return (type.scale or 0) <= _MICROS


def _time(type: SqlType) -> pa.DataType:
    return TEXT if type.zoned or not _fits_micros(type) else CLOCK


def _timestamp(type: SqlType) -> pa.DataType:
    if not _fits_micros(type):
        return TEXT
    return INSTANT if type.zoned else LOCAL


def _text(type: SqlType) -> pa.DataType:
    return TEXT if type.item is None else pa.list_(column_type(type.item))


@dataclass(frozen=True)
class KindRule:
    """What becomes of the columns of a kind. `cases`: for the documents, columns of sources with their type in rows."""

    type: Callable[[SqlType], pa.DataType]
    cases: tuple[tuple[str, str], ...]


# The one declaration of types; `ggfmt/docs/types.md` has its cases.
RULES: dict[Kind, KindRule] = {
    Kind.BOOLEAN: KindRule(lambda type: pa.bool_(), (("boolean", "`boolean`"),)),
    Kind.INTEGER: KindRule(
        _integer,
        (("integer", "`bigint`"), ("integer with more than 18 digits, such as an unsigned bigint", "`decimal(P,0)`")),
    ),
    Kind.DECIMAL: KindRule(
        _decimal,
        (
            ("decimal with up to 38 digits", "`decimal(P,S)`"),
            ("decimal with a known scale and an unknown precision", "`decimal(38,S)`"),
            ("decimal with more than 38 digits, or with an unknown precision and scale", "`string`"),
        ),
    ),
    Kind.NUMBER: KindRule(_text, (("Oracle's NUMBER, PostgreSQL's numeric without a precision", "`string`"),)),
    Kind.FLOAT: KindRule(lambda type: pa.float32(), (("32-bit float", "`float`"),)),
    Kind.DOUBLE: KindRule(lambda type: pa.float64(), (("64-bit float", "`double`"),)),
    Kind.DATE: KindRule(
        lambda type: LOCAL if type.timed else DAY,
        (("date", "`date`"), ("Oracle's DATE, which has a time of day", "`timestamp_ntz`")),
    ),
    Kind.TIME: KindRule(
        _time,
        (
            ("time of day with up to 6 digits of a second", "`time`"),
            ("time of day with more digits, or with a zone", "`string`"),
        ),
    ),
    Kind.TIMESTAMP: KindRule(
        _timestamp,
        (
            ("timestamp without a zone, with up to 6 digits of a second", "`timestamp_ntz`"),
            ("timestamp with a zone, or in UTC", "`timestamp`"),
            ("timestamp with more digits", "`string`"),
        ),
    ),
    Kind.INTERVAL: KindRule(_text, (("interval", "`string`"),)),
    Kind.BINARY: KindRule(
        lambda type: BYTES if type.base64 else TEXT,
        (
            ("bytes, if the source is known to write Base64 (or ggfmt encodes them)", "`binary`"),
            ("bytes of other sources, such as GoldenGate's", "`string`"),
        ),
    ),
    Kind.STRING: KindRule(
        _text,
        (
            ("array, if Debezium's schema defines it", "`array<...>` with the type of its items"),
            ("all other columns: text, JSON, UUID, enums, bits, points", "`string`"),
        ),
    ),
}


def column_type(type: SqlType) -> pa.DataType:
    return RULES[type.kind].type(type)


def change_type(type: SqlType) -> pa.DataType:
    """Return the type of the values of a column in a frame of changes, which can be written again as they were read:
    every value has a place, with its spelling. So dates, times and bytes are texts."""
    exact = type.kind in _EXACT or (type.kind is Kind.DECIMAL and type.precision is not None)
    return column_type(type) if exact else TEXT


_EXACT = (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE)


# Types in which a value can be shown if a user asks for it, with Spark's names.
SCALARS: dict[pa.DataType, str] = {
    TEXT: "string",
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    DAY: "date",
    CLOCK: "time",
    INSTANT: "timestamp",
    LOCAL: "timestamp_ntz",
    BYTES: "binary",
}
# Types that rows of a base snapshot may have besides, by name.
SMALL_TYPES = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32()}
_BY_NAME = {name: type for type, name in SCALARS.items()}
_DECIMAL = lazy_regex(r"decimal\( *([0-9]{1,2}) *, *([0-9]{1,2}) *\)")
_ARRAY = lazy_regex(r"array<(.+)>")


def named_type(name: str) -> pa.DataType | None:
    name = name.strip().lower()
    decimal, array = _DECIMAL.fullmatch(name), _ARRAY.fullmatch(name)
    if decimal is not None:
        digits, scale = int(decimal[1]), int(decimal[2])
        return pa.decimal128(digits, scale) if 1 <= digits <= MAX_DIGITS and scale <= digits else None
    if array is not None:
        item = named_type(array[1])
        return None if item is None else pa.list_(item)
    return _BY_NAME.get(name)


def is_value_type(type: pa.DataType) -> bool:
    if pa.types.is_list(type):
        return is_value_type(type.value_type)
    return type in SCALARS or pa.types.is_decimal(type)


def type_name(type: pa.DataType) -> str:
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    if pa.types.is_list(type):
        return f"array<{type_name(type.value_type)}>"
    return SCALARS.get(type) or next((name for name, small in SMALL_TYPES.items() if small == type), str(type))


def listed_types() -> str:
    return f"{list_names(_BY_NAME)}, `decimal(P,S)` or `array<TYPE>`"
