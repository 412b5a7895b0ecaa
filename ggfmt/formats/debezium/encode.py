"""Values as Debezium encodes them, from texts: what each column of a table is written as, and its Connect schema."""

from __future__ import annotations

import base64
import re
from binascii import b2a_base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.from_python import texts
from ggfmt.columnar.join import join
from ggfmt.columnar.json_image import Values
from ggfmt.columnar.strings import json_booleans, json_numbers, quote_json
from ggfmt.formats.debezium import CONNECT, DOUBLE, ISO_STRING, PRECISE, TEXT, DebeziumOptions, placeholder_bytes
from ggfmt.formats.debezium.types import (
    CONNECT_DECIMAL,
    PRECISION,
    SOURCE_LENGTH,
    SOURCE_SCALE,
    SOURCE_TYPE,
    VARIABLE_DECIMAL,
)
from ggfmt.formats.debezium.values import DIGITS, MOST_SCALE
from ggfmt.formats.records.formatter import quoted
from ggfmt.model.table import Kind, SqlType

Made = tuple[pa.StringArray, list[int]]

_STRING = pa.string()
_SPECIAL = pa.array(["NaN", "Infinity", "-Infinity"], _STRING)
_INFINITIES = {"infinity": 9223372036825200000, "-infinity": -9223372036832400000}
_DECIMAL = re.compile(r"[+-]?[0-9]{1,1500}(?:\.[0-9]{1,1500})?", re.ASCII)
_EXPONENT = re.compile(r"[+-]?(?:[0-9]{1,1500}(?:\.[0-9]{0,1500})?|\.[0-9]{1,1500})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_CLOCK = re.compile(r"(-?)([0-9]{2,9}):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?", re.ASCII)
_ISO_FORMS = {
    Kind.DATE: (r"^([0-9]{4}-[0-9]{2}-[0-9]{2})$", r"\1Z"),
    Kind.TIME: (r"^([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)$", r"\1Z"),
    Kind.TIMESTAMP: (r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T:]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)$", r"\1T\2Z"),
}
_UNIT_NAMES = {"ms": "", "us": "Micro", "ns": "Nano"}
_ISO_NAMES = {Kind.DATE: "IsoDate", Kind.TIME: "IsoTime", Kind.TIMESTAMP: "IsoTimestamp"}
_SOURCE_TYPES = {
    Kind.STRING: "VARCHAR",
    Kind.INTERVAL: "INTERVAL",
    Kind.DECIMAL: "DECIMAL",
    Kind.NUMBER: "NUMBER",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BINARY: "VARBINARY",
}


@dataclass(frozen=True)
class Encoding:
    """How the values of a column are written.

    values       makes JSON values of texts
    schema       the Connect schema of the values, without the name of the field
    placeholder  what may stand for an unavailable value, as the text of the value; None if nothing may
    help         what to do about values that cannot be written so; None for the general advice
    """

    values: Values
    schema: dict[str, Any]
    placeholder: str | None = None
    help: str | None = None


def encoding_of(type: SqlType, options: DebeziumOptions) -> Encoding:
    kind = type.kind
    parameters = _parameters(type)
    text = {"type": "string", "parameters": parameters}
    unavailable = placeholder_bytes(options.unavailable_value_placeholder)
    if kind in (Kind.STRING, Kind.INTERVAL):
        return Encoding(quoted, text, unavailable.decode("utf-8", "replace"))
    if kind is Kind.BINARY:
        return Encoding(quoted, {"type": "bytes", "parameters": parameters}, base64.b64encode(unavailable).decode())
    if kind is Kind.BOOLEAN:
        return Encoding(json_booleans, {"type": "boolean"})
    if kind is Kind.INTEGER:
        return Encoding(_longs if options.schemas_enable else json_numbers, {"type": "int64"})
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return Encoding(_floats, {"type": "float32" if kind is Kind.FLOAT else "float64"})
    if kind in (Kind.DECIMAL, Kind.NUMBER):
        return _decimal_encoding(type, options, text)
    return _time_encoding(type, options, text)


def _parameters(type: SqlType) -> dict[str, str]:
    found = {SOURCE_TYPE: _SOURCE_TYPES.get(type.kind, "")}
    length = type.length if type.kind in (Kind.STRING, Kind.BINARY, Kind.INTERVAL) else type.precision
    if length is not None:
        found[SOURCE_LENGTH] = str(length)
    if type.scale is not None:
        found[SOURCE_SCALE] = str(type.scale)
    return found


# Numbers


def _longs(values: pa.StringArray) -> Made:
    """Whole numbers of 64 bits."""
    made, bad = json_numbers(values)
    fits = pc.match_substring_regex(made, "^(?:-?[0-9]{1,18}|null)$")
    if fits.true_count < len(made):
        for row in pc.indices_nonzero(pc.invert(fits)).to_pylist():
            text = made[row].as_py()
            if not re.fullmatch("-?[0-9]{1,19}", text) or not -(1 << 63) <= int(text) < 1 << 63:
                bad.append(row)
    return made, bad


def _floats(values: pa.StringArray) -> Made:
    """Numbers, and what JSON has no numbers for as strings."""
    special = pc.is_in(values, _SPECIAL)
    if not special.true_count:
        return json_numbers(values)
    made, bad = json_numbers(pc.if_else(special, "0", values))
    return pc.if_else(special, quote_json(values), made), bad


def _decimal_encoding(type: SqlType, options: DebeziumOptions, text: dict[str, Any]) -> Encoding:
    mode, parameters = options.decimal_handling_mode, text["parameters"]
    if mode == DOUBLE:
        return Encoding(json_numbers, {"type": "float64", "parameters": parameters})
    if mode != PRECISE:
        return Encoding(quoted, text)
    help = "correct the definition of the table, or write `decimalHandlingMode=string`"
    scale = None if type.kind is Kind.NUMBER else type.scale
    if scale is None or abs(scale) > MOST_SCALE:
        fields = [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ]
        schema = {"type": "struct", "fields": fields, "name": VARIABLE_DECIMAL, "version": 1, "parameters": parameters}
        return Encoding(_distinct(_variable), schema, help=help)
    told = {"scale": str(scale)} | ({} if type.precision is None else {PRECISION: str(type.precision)})
    schema = {"type": "bytes", "name": CONNECT_DECIMAL, "version": 1, "parameters": told | parameters}
    return Encoding(_distinct(partial(_precise, scale=scale)), schema, help=help)


def _distinct(make: Callable[[str], str | None]) -> Values:
    """JSON values by a function that is called once for each distinct text; it gives None for a wrong one."""

    def values(column: pa.StringArray) -> Made:
        encoded = column.dictionary_encode()
        made = texts([make(text) for text in encoded.dictionary.to_pylist()]).take(encoded.indices)
        wrong = pc.and_(column.is_valid(), made.is_null())
        return made.fill_null("null"), pc.indices_nonzero(wrong).to_pylist() if wrong.true_count else []

    return values


def _unscaled(text: str) -> tuple[int, int] | None:
    """A whole number and the scale by which a text gives it; None for no number."""
    if _DECIMAL.fullmatch(text):
        whole, _, fraction = text.partition(".")
        return int(whole + fraction), len(fraction)
    if not _EXPONENT.fullmatch(text):
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    return -number if sign else number, -exponent


def _base64(number: int) -> str:
    bits = (number if number >= 0 else ~number).bit_length()
    data = number.to_bytes(bits // 8 + 1, "big", signed=True)
    return b2a_base64(data, newline=False).decode()


def _precise(text: str, scale: int) -> str | None:
    found = _unscaled(text)
    if found is None:
        return None
    number, own = found
    if own > scale:
        number, rest = divmod(number, 10 ** (own - scale))
        if rest:
            return None
    elif own < scale:
        number *= 10 ** (scale - own)
    return f'"{_base64(number)}"'


def _variable(text: str) -> str | None:
    found = _unscaled(text)
    return None if found is None else f'{{"scale":{found[1]},"value":"{_base64(found[0])}"}}'


# Dates and times


def _time_encoding(type: SqlType, options: DebeziumOptions, text: dict[str, Any]) -> Encoding:
    mode, kind = options.time_precision_mode, type.kind
    if mode == TEXT:
        return Encoding(quoted, text)
    help = "correct the definition of the table, or write `timePrecisionMode=text`"
    if mode == ISO_STRING:
        schema = {"type": "string", "name": f"io.debezium.time.{_ISO_NAMES[kind]}", "version": 1}
        return Encoding(partial(_iso, kind=kind), schema, help=help)
    connect = mode == CONNECT
    family = "org.apache.kafka.connect.data" if connect else "io.debezium.time"
    if kind is Kind.DATE:
        return Encoding(_days, {"type": "int32", "name": f"{family}.Date", "version": 1}, help=help)
    if connect:
        unit = "ms"
    elif kind is Kind.TIME or type.scale is None:
        unit = "us"
    else:
        unit = "ms" if type.scale <= 3 else "us" if type.scale <= 6 else "ns"
    word = "Time" if kind is Kind.TIME else "Timestamp"
    schema = {
        "type": "int32" if kind is Kind.TIME and unit == "ms" else "int64",
        "name": f"{family}.{_UNIT_NAMES[unit]}{word}",
        "version": 1,
    }
    make = _clocks if kind is Kind.TIME else _moments
    return Encoding(partial(make, unit=unit), schema, help=help)


def _iso(values: pa.StringArray, kind: Kind) -> Made:
    pattern, form = _ISO_FORMS[kind]
    fits = pc.match_substring_regex(values, pattern)
    wrong = pc.invert(fits.fill_null(True))
    bad = pc.indices_nonzero(wrong).to_pylist() if wrong.true_count else []
    return quote_json(pc.replace_substring_regex(values, pattern, form)), bad


def _days(values: pa.StringArray) -> Made:
    return _cast(values, pa.date32(), lambda text: None)


def _moments(values: pa.StringArray, unit: str) -> Made:
    """Times since 1970 in a unit of Arrow."""

    def other(text: str) -> int | None:
        if unit == "us" and text in _INFINITIES:
            return _INFINITIES[text]
        day, _, clock = text.replace("T", " ").partition(" ")
        try:
            days: int = pa.scalar(day, _STRING).cast(pa.date32()).cast(pa.int32()).as_py()
        except pa.ArrowInvalid:
            return None
        inside = _clock(clock, unit)
        per_day: int = 86400 * 10 ** DIGITS[unit]
        moment = None if inside is None or not 0 <= inside < per_day else days * per_day + inside
        return moment if moment is not None and abs(moment) < 1 << 63 else None

    return _cast(values, pa.timestamp(unit), other)


def _clocks(values: pa.StringArray, unit: str) -> Made:
    """Times of day in a unit of Arrow."""
    if not values.null_count and pc.match_substring_regex(
        values, "^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.]|$)"
    ).true_count == len(values):
        try:
            return join(["1970-01-01 ", values]).cast(pa.timestamp(unit)).cast(pa.int64()).cast(_STRING), []
        except pa.ArrowInvalid:
            pass
    return _distinct(lambda text: None if (found := _clock(text, unit)) is None else str(found))(values)


def _clock(text: str, unit: str) -> int | None:
    """A time of day, which may be negative and over 24 hours; None if it is none, or has more digits than the unit."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    sign, hours, minutes, seconds, fraction = found.groups()
    digits = DIGITS[unit]
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > digits:
        return None
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    number: int = whole * 10**digits + int(fraction.ljust(digits, "0"))
    return -number if sign else number


def _cast(values: pa.StringArray, type: pa.DataType, other: Callable[[str], int | None]) -> Made:
    """Texts as numbers by a type of Arrow; by `other` where Arrow does not take them."""
    number = pa.int32() if type.bit_width == 32 else pa.int64()
    try:
        return values.cast(type).cast(number).cast(_STRING).fill_null("null"), []
    except pa.ArrowInvalid:
        pass

    def single(text: str) -> str | None:
        try:
            return str(pa.scalar(text, _STRING).cast(type).cast(number).as_py())
        except pa.ArrowInvalid:
            found = other(text)
            return None if found is None else str(found)

    return _distinct(single)(values)
