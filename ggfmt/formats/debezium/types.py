"""The types of Debezium: Connect's schemas, `tableChanges` in schema changes, and options for messages without both.

A field of a Connect schema has a `type`, and may have a `name` (`io.debezium.time.Date`) and `parameters` for more
details. With `column.propagate.source.type`, the parameters also contain the type of the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import msgspec
import pyarrow as pa

from ggfmt.columnar.strings import Converted, Kernel, booleans, reject_all
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.schemas import SchemaField
from ggfmt.formats.connect.values import decimals, nested, numbers
from ggfmt.formats.debezium import ADAPTIVE, ADAPTIVE_TIME_MICROS, BASE64, CONNECT, MICROS, NANOS, TEXT, DebeziumOptions
from ggfmt.formats.debezium import values as values
from ggfmt.formats.debezium.values import ValueDecoding
from ggfmt.model.table import STRING, Column, Kind, SqlType
from ggfmt.model.type_names import type_of

SOURCE_TYPE, SOURCE_LENGTH, SOURCE_SCALE = (f"__debezium.source.column.{what}" for what in ("type", "length", "scale"))
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"


# The Connect schemas by name: the type of the column, and how to read its values (JSON strings, and all others).
_TIMES: dict[str, tuple[SqlType, Kernel]] = {
    "io.debezium.time.Date": (SqlType(Kind.DATE), values.dates),
    "io.debezium.time.Time": (SqlType(Kind.TIME, scale=3), values.clocks("ms")),
    "io.debezium.time.MicroTime": (SqlType(Kind.TIME, scale=6), values.clocks("us")),
    "io.debezium.time.NanoTime": (SqlType(Kind.TIME, scale=9), values.clocks("ns")),
    "io.debezium.time.Timestamp": (SqlType(Kind.TIMESTAMP, scale=3), values.timestamps("ms")),
    "io.debezium.time.MicroTimestamp": (SqlType(Kind.TIMESTAMP, scale=6), values.timestamps("us")),
    "io.debezium.time.NanoTimestamp": (SqlType(Kind.TIMESTAMP, scale=9), values.timestamps("ns")),
    "io.debezium.time.MicroDuration": (SqlType(Kind.INTERVAL), values.clocks("us")),
    "io.debezium.time.NanoDuration": (SqlType(Kind.INTERVAL), values.clocks("ns")),
    connect.DATE: (SqlType(Kind.DATE), values.dates),
    connect.TIME: (SqlType(Kind.TIME, scale=3), values.clocks("ms")),
    connect.TIMESTAMP: (SqlType(Kind.TIMESTAMP, scale=3), values.timestamps("ms")),
    "io.debezium.time.IsoDate": (SqlType(Kind.DATE), values.iso_texts),
    "io.debezium.time.IsoTime": (SqlType(Kind.TIME), values.iso_texts),
    "io.debezium.time.IsoTimestamp": (SqlType(Kind.TIMESTAMP), values.iso_texts),
}
_TEXTS = {
    "io.debezium.time.ZonedTimestamp": SqlType(Kind.TIMESTAMP, zoned=True),
    "io.debezium.time.ZonedTime": SqlType(Kind.TIME, zoned=True),
    "io.debezium.time.Interval": SqlType(Kind.INTERVAL),
}
# The kind of a column by its type in the database (`SOURCE_TYPE`), for texts and doubles.
_PLAIN_KINDS = {
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC", "MONEY", "SMALLMONEY"), Kind.DECIMAL),
    **{kind.name: kind for kind in (Kind.NUMBER, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.INTERVAL)},
    "DATETIME": Kind.TIMESTAMP,
}


class Types:
    def __init__(self, options: DebeziumOptions) -> None:
        self.options = options
        self.placeholders: pa.StringArray = values.placeholder_forms(options.unavailable_value_placeholder)
        self._text = ValueDecoding(self.placeholders, None, None)

    def of_field(self, field: SchemaField) -> tuple[Column, ValueDecoding | None]:
        type, reading = self._of_schema(field)
        return Column(field.field or "", type, nullable=field.optional), reading

    def _of_schema(self, field: SchemaField) -> tuple[SqlType, ValueDecoding | None]:
        name = field.name or ""
        if name in _TIMES:
            type, kernel = _TIMES[name]
            if type.kind is Kind.INTERVAL or kernel is values.iso_texts:
                return type, self._reading(kernel)
            return type, ValueDecoding(self.placeholders, values.or_texts(kernel, type.kind), kernel)
        if name in _TEXTS:
            return _TEXTS[name], self._text
        if name == connect.DECIMAL:
            scale = field.number("scale")
            precision = field.number(connect.PRECISION) or field.number(SOURCE_LENGTH)
            if scale is None:
                help = "the schema of the field lacks the parameter `scale`"
                return SqlType(Kind.NUMBER), ValueDecoding(self.placeholders, reject_all, numbers, help)
            reading = ValueDecoding(self.placeholders, decimals(scale), numbers)
            return SqlType(Kind.DECIMAL, precision=precision, scale=scale), reading
        if name == VARIABLE_DECIMAL:
            return SqlType(Kind.NUMBER), self._reading(values.variable_decimals)
        if name == "io.debezium.data.Bits":
            length = field.number("length")
            return SqlType(Kind.STRING, length=length), self._reading(values.bits(length))
        if field.type in connect.NESTED:
            item = None
            if field.type == "array" and field.items is not None:
                item = replace(self._of_schema(field.items)[0], bits=None)  # an array is written as a text
            inside = nested(field, self._of_nested)
            return SqlType(Kind.STRING, item=item), self._text if inside is None else self._reading(inside)
        return self._of_type(field)

    def _of_nested(self, field: SchemaField) -> tuple[SqlType, ValueDecoding | None]:
        type, reading = self._of_schema(field)
        return type, None if reading is self._text else reading

    def _of_type(self, field: SchemaField) -> tuple[SqlType, ValueDecoding | None]:
        of_connect = connect.TYPES.get(field.type, STRING)
        kind = of_connect.kind
        source = str((field.parameters or {}).get(SOURCE_TYPE, "")).upper()
        length, scale = field.number(SOURCE_LENGTH), field.number(SOURCE_SCALE)
        if kind is Kind.INTEGER:
            wraps = field.type == "int64" and source.endswith("UNSIGNED") and source.startswith("BIGINT")
            if wraps:
                return SqlType(kind, precision=20), self._reading(values.unsigned_longs)
            return of_connect, None
        if kind is Kind.BOOLEAN:
            return SqlType(kind), None
        word = re.split(r"[ (]", source, maxsplit=1)[0]
        if kind is Kind.STRING and field.type != "string":
            return STRING, self._text
        if kind in (Kind.STRING, Kind.DOUBLE) and word in _PLAIN_KINDS and not (kind is Kind.STRING and field.name):
            plain = _PLAIN_KINDS[word]
            if plain in (Kind.DECIMAL, Kind.NUMBER):
                if plain is Kind.NUMBER and scale is not None:
                    plain = Kind.DECIMAL
                if plain is Kind.NUMBER:
                    return SqlType(plain), self._text
                return SqlType(plain, precision=length, scale=scale), self._text
            if kind is Kind.STRING:
                timed = plain in (Kind.TIME, Kind.TIMESTAMP)
                return SqlType(plain, scale=scale if timed else None, zoned=timed and _is_zoned(source)), self._text
        if kind in (Kind.STRING, Kind.BINARY):
            size = length if length and length > 0 else None
            return SqlType(kind, length=size, base64=kind is Kind.BINARY), self._text
        return SqlType(kind), self._text

    def _reading(self, kernel: Kernel) -> ValueDecoding:
        return ValueDecoding(self.placeholders, kernel, kernel)

    def of_column(self, type: SqlType) -> ValueDecoding:
        """Choose how to read values without a schema, by the type of the column in a definition."""
        kind = type.kind
        if kind in (Kind.DECIMAL, Kind.NUMBER, Kind.INTEGER):
            return self._undescribed_number(0 if kind is Kind.INTEGER else type.scale)
        if kind in (Kind.FLOAT, Kind.DOUBLE):
            return ValueDecoding(self.placeholders, None, _number_or_struct)
        if kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.INTERVAL):
            return self._undescribed_time(type)
        if kind is Kind.BOOLEAN:
            return self._reading(booleans)
        return self._text

    def _undescribed_number(self, scale: int | None) -> ValueDecoding:
        if self.options.decimal_format != BASE64:
            help = "if the value is a decimal in Base64, set `decimalFormat=base64` with `--input-option`"
            return ValueDecoding(self.placeholders, numbers, _number_or_struct, help)
        if scale is None:
            help = "define the scale of the column with `--definitions`: a decimal in Base64 does not contain it"
            return ValueDecoding(self.placeholders, reject_all, _number_or_struct, help)
        help = "with `decimalFormat=base64`, the value must be Base64"
        return ValueDecoding(self.placeholders, decimals(scale), _number_or_struct, help)

    def _undescribed_time(self, type: SqlType) -> ValueDecoding:
        mode = self.options.time_precision
        if mode == TEXT:
            help = "set the unit of the number: `timePrecision` with `--input-option`"
            return ValueDecoding(self.placeholders, None, reject_all, help)
        if type.kind is Kind.DATE:
            return ValueDecoding(self.placeholders, None, values.dates)
        unit = _unit(mode, type)
        if unit is None:
            help = "define the scale of the column with `--definitions`, or set the unit with `timePrecision`"
            return ValueDecoding(self.placeholders, None, reject_all, help)
        make: Callable[[values.TimeUnit], Kernel] = values.timestamps if type.kind is Kind.TIMESTAMP else values.clocks
        return ValueDecoding(self.placeholders, None, make(unit))


def _unit(mode: str, type: SqlType) -> values.TimeUnit | None:
    """Return the unit of numbers in a column of times; None if it depends on the scale and the scale is unknown."""
    if type.kind is Kind.INTERVAL:
        return "ns" if mode == NANOS else "us"
    if mode in (CONNECT, MICROS, NANOS):
        return "ms" if mode == CONNECT else "us" if mode == MICROS else "ns"
    assert mode in (ADAPTIVE, ADAPTIVE_TIME_MICROS)
    if type.kind is Kind.TIME and mode == ADAPTIVE_TIME_MICROS:
        return "us"
    if type.scale is None:
        return None
    return "ms" if type.scale <= 3 else "us" if type.scale <= 6 else "ns"


def _number_or_struct(column: pa.StringArray) -> Converted:
    """Read numbers without a change, and decimals that contain their scale."""
    plain, bad = numbers(column)
    if not bad:
        return plain, bad
    rows = pa.array(bad, pa.int64())
    own, wrong = values.variable_decimals(column.take(rows))
    texts = column.to_pylist()
    for row, text in zip(bad, own.to_pylist(), strict=True):
        texts[row] = text
    return pa.array(texts, pa.string()), [bad[row] for row in wrong]


# Schema changes

# By the numbers of java.sql.Types.
_JDBC_KINDS = {
    **dict.fromkeys((-6, 5, 4, -5), Kind.INTEGER),
    **dict.fromkeys((2, 3), Kind.DECIMAL),
    **dict.fromkeys((6, 8), Kind.DOUBLE),
    7: Kind.FLOAT,
    16: Kind.BOOLEAN,
    91: Kind.DATE,
    **dict.fromkeys((92, 2013), Kind.TIME),
    **dict.fromkeys((93, 2014), Kind.TIMESTAMP),
    **dict.fromkeys((-2, -3, -4, 2004), Kind.BINARY),
}
_JDBC_BITS = {-6: 16, 5: 16, 4: 32}  # as the schemas of messages have them
_ZONED_TIMES = (2013, 2014)
_BIT = -7


class HistoryColumn(msgspec.Struct, gc=False):
    """A column in `tableChanges`."""

    name: str
    jdbcType: int = 12
    typeName: str | None = None
    typeExpression: str | None = None
    length: int | None = None
    scale: int | None = None
    position: int | None = None
    optional: bool = True


# Dialects by connector whose names of floats are more exact than the numbers: `REAL`, and `FLOAT` of Oracle
_DIALECTS = {b'"mysql"': "mysql", b'"mariadb"': "mysql", b'"oracle"': "oracle"}


def of_table_column(column: HistoryColumn, connector: bytes = b"") -> SqlType:
    text = column.typeExpression or column.typeName or ""
    type = _table_type(column.jdbcType, text, column.length, column.scale)
    named = type_of(text, _DIALECTS[connector]) if connector in _DIALECTS else type
    wider = type.kind in (Kind.FLOAT, Kind.DOUBLE) and named.kind in (Kind.DOUBLE, Kind.NUMBER)
    return named if wider else type


@lru_cache(maxsize=4096)
def _table_type(jdbc: int, text: str, length: int | None, scale: int | None) -> SqlType:
    if jdbc == _BIT:
        return SqlType(Kind.BOOLEAN) if length in (None, 1) else SqlType(Kind.STRING, length=length)
    kind = _JDBC_KINDS.get(jdbc, Kind.STRING)
    if kind is Kind.DECIMAL:
        if scale is None and text.upper().startswith("NUMBER"):
            return SqlType(Kind.NUMBER)
        return SqlType(kind, precision=length, scale=scale)
    if kind in (Kind.TIME, Kind.TIMESTAMP):
        if scale is None:
            in_text = re.search(r"\(([0-9])\)", text)
            short = length if length is not None and length <= 9 else None
            scale = int(in_text[1]) if in_text else 0 if text.upper() == "DATE" else short
        return SqlType(kind, scale=scale, zoned=jdbc in _ZONED_TIMES or _is_zoned(text.upper()))
    if kind in (Kind.STRING, Kind.BINARY):
        return SqlType(kind, length=length if length and length > 0 else None)
    return SqlType(kind, bits=None if "UNSIGNED" in text.upper() else _JDBC_BITS.get(jdbc))


def _is_zoned(name: str) -> bool:
    return "WITH TIME ZONE" in name or "WITH LOCAL TIME ZONE" in name or name.startswith(("TIMESTAMPTZ", "TIMETZ"))
