"""Encodings of values in Debezium: how to write the texts of a column, and its Connect schema."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar import json_text
from ggfmt.columnar.pieces import Conditional, TextPiece, join
from ggfmt.columnar.strings import TextPattern, all_match, by_value
from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.writing import RIGHT_TYPE
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.text import quoted
from ggfmt.formats.connect.values import base64_of, encoded, unscaled, within
from ggfmt.formats.debezium import CONNECT, DOUBLE, ISO_STRING, PRECISE, TEXT, DebeziumOptions, placeholder_bytes, types
from ggfmt.formats.debezium.values import DIGITS, TimeUnit
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind, SqlType

_STRING = pa.string()
_SPECIAL = pa.array(["NaN", "Infinity", "-Infinity"], _STRING)
_INFINITIES = {"infinity": 9223372036825200000, "-infinity": -9223372036832400000}
_CLOCK = lazy_regex(r"(-?)([0-9]{2,9}):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?", re.ASCII)
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
class ColumnEncoding:
    """The encoding of the values of a column.

    values       makes JSON values of texts
    schema       the Connect schema of the values, without the name of the field
    placeholder  the text for an unavailable value; None if the encoding has none
    help         what to do about values that cannot be encoded; None for the general advice
    """

    values: json_text.Values
    schema: dict[str, Any]
    placeholder: str | None = None
    help: str | None = None

    @property
    def as_it_is(self) -> bool:
        """Whether the values are strings of the unchanged texts."""
        return self.values is quoted


def encoding_of(type: SqlType, options: DebeziumOptions) -> ColumnEncoding:
    kind = type.kind
    parameters = _parameters(type)
    text = {"type": "string", "parameters": parameters}
    unavailable = placeholder_bytes(options.unavailable_value_placeholder)
    if kind in (Kind.STRING, Kind.INTERVAL):
        return ColumnEncoding(quoted, text, unavailable.decode("utf-8", "replace"))
    if kind is Kind.BINARY:
        return ColumnEncoding(
            quoted, {"type": "bytes", "parameters": parameters}, base64.b64encode(unavailable).decode()
        )
    if kind is Kind.BOOLEAN:
        return ColumnEncoding(json_text.json_booleans, {"type": "boolean"})
    if kind is Kind.INTEGER:
        longs = within(_longs, type.bits) if options.schemas_enable else json_text.json_numbers
        return ColumnEncoding(longs, {"type": connect.integer_type(type)})
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return ColumnEncoding(_floats, {"type": "float32" if kind is Kind.FLOAT else "float64"})
    if kind in (Kind.DECIMAL, Kind.NUMBER):
        return _decimal_encoding(type, options, text)
    return _time_encoding(type, options, text)


def _parameters(type: SqlType) -> dict[str, str]:
    parameters = {types.SOURCE_TYPE: _SOURCE_TYPES.get(type.kind, "")}
    length = type.length if type.kind in (Kind.STRING, Kind.BINARY, Kind.INTERVAL) else type.precision
    if length is not None:
        parameters[types.SOURCE_LENGTH] = str(length)
    if type.scale is not None:
        parameters[types.SOURCE_SCALE] = str(type.scale)
    return parameters


# Numbers


def _longs(values: pa.StringArray) -> json_text.JsonValues:
    if all_match(values, TextPattern.SHORT_INTEGER):
        return TextPiece(values, null="null"), []
    numbered, bad = json_text.json_numbers(values)
    numbers = join([numbered])
    fits = pc.match_substring_regex(numbers, "^(?:-?[0-9]{1,18}|null)$")
    if fits.true_count < len(numbers):
        for row in non_null_values(pc.indices_nonzero(pc.invert(fits))):
            text = numbers[row].as_py()
            if not re.fullmatch("-?[0-9]{1,19}", text) or not -(1 << 63) <= int(text) < 1 << 63:
                bad.append(row)
    return numbers, bad


def _floats(values: pa.StringArray) -> json_text.JsonValues:
    """Make numbers, or strings of numbers that JSON cannot represent."""
    if all_match(values, TextPattern.JSON_NUMBER):
        return TextPiece(values, null="null"), []
    special = pc.is_in(values, _SPECIAL)
    if not special.true_count:
        return json_text.json_numbers(values)
    numbers, bad = json_text.json_numbers(pc.if_else(special, "0", values))
    return Conditional(special, [json_text.json_strings(values)], [numbers]), bad


def _decimal_encoding(type: SqlType, options: DebeziumOptions, text: dict[str, Any]) -> ColumnEncoding:
    mode, parameters = options.decimal_handling_mode, text["parameters"]
    if mode == DOUBLE:
        return ColumnEncoding(json_text.json_numbers, {"type": "float64", "parameters": parameters})
    if mode != PRECISE:
        return ColumnEncoding(quoted, text)
    help = f"{RIGHT_TYPE}, or set `decimalHandlingMode=string`"
    scale = None if type.kind is Kind.NUMBER else type.scale
    if scale is None or abs(scale) > connect.MAX_SCALE:
        fields = [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ]
        schema = {
            "type": "struct",
            "fields": fields,
            "name": types.VARIABLE_DECIMAL,
            "version": 1,
            "parameters": parameters,
        }
        return ColumnEncoding(json_text.json_values(by_value(_variable)), schema, help=help)
    sizes = {"scale": str(scale)} | ({} if type.precision is None else {connect.PRECISION: str(type.precision)})
    schema = {"type": "bytes", "name": connect.DECIMAL, "version": 1, "parameters": sizes | parameters}
    return ColumnEncoding(json_text.json_texts(by_value(partial(encoded, scale=scale))), schema, help=help)


def _variable(text: str) -> str | None:
    parts = unscaled(text)
    return None if parts is None else f'{{"scale":{parts[1]},"value":"{base64_of(parts[0])}"}}'


# Dates and times


def _time_encoding(type: SqlType, options: DebeziumOptions, text: dict[str, Any]) -> ColumnEncoding:
    mode, kind = options.time_precision_mode, type.kind
    if mode == TEXT:
        return ColumnEncoding(quoted, text)
    help = f"{RIGHT_TYPE}, or set `timePrecisionMode=text`"
    if mode == ISO_STRING:
        schema = {"type": "string", "name": f"io.debezium.time.{_ISO_NAMES[kind]}", "version": 1}
        return ColumnEncoding(partial(_iso, kind=kind), schema, help=help)
    of_connect = mode == CONNECT
    family = connect.LOGICAL if of_connect else "io.debezium.time."
    if kind is Kind.DATE:
        days = partial(_cast, type=pa.date32(), other=lambda text: None)
        return ColumnEncoding(days, {"type": "int32", "name": f"{family}Date", "version": 1}, help=help)
    unit: TimeUnit
    if of_connect:
        unit = "ms"
    elif kind is Kind.TIME or type.scale is None:
        unit = "us"
    else:
        unit = "ms" if type.scale <= 3 else "us" if type.scale <= 6 else "ns"
    word = "Time" if kind is Kind.TIME else "Timestamp"
    schema = {
        "type": "int32" if kind is Kind.TIME and unit == "ms" else "int64",
        "name": f"{family}{_UNIT_NAMES[unit]}{word}",
        "version": 1,
    }
    make = _clocks if kind is Kind.TIME else _moments
    return ColumnEncoding(partial(make, unit=unit), schema, help=help)


def _iso(values: pa.StringArray, kind: Kind) -> json_text.JsonValues:
    pattern, form = _ISO_FORMS[kind]
    fits = pc.match_substring_regex(values, pattern)
    wrong = pc.invert(fits.fill_null(True))
    bad = non_null_values(pc.indices_nonzero(wrong)) if wrong.true_count else []
    return json_text.json_strings(pc.replace_substring_regex(values, pattern, form)), bad


def _moments(values: pa.StringArray, unit: TimeUnit) -> json_text.JsonValues:
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


def _clocks(values: pa.StringArray, unit: TimeUnit) -> json_text.JsonValues:
    if not values.null_count and pc.match_substring_regex(
        values, "^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.]|$)"
    ).true_count == len(values):
        try:
            return join(["1970-01-01 ", values]).cast(pa.timestamp(unit)).cast(pa.int64()).cast(_STRING), []
        except pa.ArrowInvalid:
            pass
    return json_text.json_values(by_value(lambda text: None if (clock := _clock(text, unit)) is None else str(clock)))(
        values
    )


def _clock(text: str, unit: str) -> int | None:
    """Return a time of day, maybe negative or over 24 hours; None if it is none, or too precise for the unit."""
    parts = _CLOCK.fullmatch(text)
    if parts is None:
        return None
    sign, hours, minutes, seconds, fraction = parts.groups()
    digits = DIGITS[unit]
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > digits:
        return None
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    number: int = whole * 10**digits + int(fraction.ljust(digits, "0"))
    return -number if sign else number


def _cast(values: pa.StringArray, type: pa.DataType, other: Callable[[str], int | None]) -> json_text.JsonValues:
    """Convert texts to numbers by a type of Arrow; `other` converts texts that Arrow does not accept."""
    number = pa.int32() if type.bit_width == 32 else pa.int64()
    try:
        return values.cast(type).cast(number).cast(_STRING).fill_null("null"), []
    except pa.ArrowInvalid:
        pass

    def single(text: str) -> str | None:
        try:
            return str(pa.scalar(text, _STRING).cast(type).cast(number).as_py())
        except pa.ArrowInvalid:
            number_of = other(text)
            return None if number_of is None else str(number_of)

    return json_text.json_values(by_value(single))(values)
