"""Types of Kafka Connect as CDL uses them, in both directions, and how their values are written."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.strings import json_booleans, json_numbers, quote_json
from ggfmt.columnar.timestamps import floor_millis, micros_text, text_micros
from ggfmt.formats.records.dialect import Convert
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind, SqlType

CONNECT = "org.apache.kafka.connect.data."
DECIMAL, TIMESTAMP = "com.xxx.cdc.data.Decimal", "com.xxx.cdc.data.timestamp"

_FARTHEST = 1 << 62
_DAY = 86400_000000
_MOST_DIGITS = 1000

_KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), Kind.INTEGER),
    **dict.fromkeys(("float", "float32"), Kind.FLOAT),
    **dict.fromkeys(("double", "float64"), Kind.DOUBLE),
    "boolean": Kind.BOOLEAN,
    "bytes": Kind.BINARY,
}
# By the last part of the name of a type whose values are texts; the parts before it name the maker.
_TEXT_KINDS = {"decimal": Kind.DECIMAL, "timestamp": Kind.TIMESTAMP, "date": Kind.DATE, "time": Kind.TIME}


class PayloadField(msgspec.Struct, gc=False):
    """A field of a schema."""

    type: str | None = None
    name: str | None = None
    field: str | None = None
    fields: list[PayloadField] | None = None
    parameters: dict[str, Any] | None = None


def column_of(field: PayloadField) -> tuple[SqlType, Convert | None]:
    """The SQL type of a field, and how its values become what the model has."""
    name, kind = field.name or "", field.type or ""
    if name == f"{CONNECT}Decimal":
        scale = _int((field.parameters or {}).get("scale"))
        precision = _int((field.parameters or {}).get("connect.decimal.precision"))
        return SqlType(Kind.DECIMAL, precision=precision, scale=scale), _unscaled(scale)
    if name in _CONVERTED:
        return _CONVERTED[name]
    if kind == "string":
        return SqlType(_TEXT_KINDS.get(name.rpartition(".")[2].lower(), Kind.STRING)), None
    return SqlType(_KINDS.get(kind, Kind.STRING)), None


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _numbers(column: ImageColumn) -> tuple[pa.Int64Array, list[int]]:
    """Texts of whole numbers, and the rows whose text is none."""
    fits = pc.match_substring_regex(column.values, r"^-?[0-9]{1,18}$")
    numbers = pc.if_else(fits, column.values, pa.scalar(None, pa.string())).cast(pa.int64())
    return numbers, pc.indices_nonzero(pc.invert(fits.fill_null(True))).to_pylist()


def _times(scale: int, first: int, last: int | None, most: int = _FARTHEST) -> Convert:
    """Converts numbers that count `scale` microseconds each to some characters of the text of a time stamp.

    `most`: how many microseconds there can be; with any other number than the default, the number cannot be negative.
    """
    high = most // scale
    low = -high if most == _FARTHEST else 0

    def convert(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
        numbers, bad = _numbers(column)
        inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        bad += pc.indices_nonzero(pc.invert(inside.fill_null(True))).to_pylist()
        texts, far = micros_text(pc.multiply(pc.if_else(inside, numbers, pa.scalar(None, pa.int64())), scale))
        return ImageColumn(pc.utf8_slice_codeunits(texts, first, last), column.present), [*bad, *far]

    return convert


def _unscaled(scale: int | None) -> Convert:
    """Converts Base64 of a big-endian number, which lacks its decimal point, to the text of the number."""

    def convert(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
        made: list[str | None] = []
        bad = []
        for row, text in enumerate(column.values.to_pylist()):
            made.append(None)
            if text is not None:
                try:
                    if scale is None or abs(scale) > _MOST_DIGITS:
                        raise ValueError
                    data = base64.b64decode(text, validate=True)
                    if len(data) > _MOST_DIGITS:
                        raise ValueError
                    number = int.from_bytes(data, "big", signed=True)
                    digits = Decimal(number).as_tuple().digits
                    made[-1] = format(Decimal((int(number < 0), digits, -scale)), "f")
                except ValueError:
                    bad.append(row)
        return ImageColumn(pa.array(made, pa.string()), column.present), bad

    return convert


_CONVERTED: dict[str, tuple[SqlType, Convert | None]] = {
    f"{CONNECT}Timestamp": (SqlType(Kind.TIMESTAMP), _times(1000, 0, None)),
    f"{CONNECT}Date": (SqlType(Kind.DATE), _times(_DAY, 0, 10)),
    f"{CONNECT}Time": (SqlType(Kind.TIME), _times(1000, 11, None, _DAY - 1)),
}


# Writing


def field_of(kind: Kind, name: str, optional: bool, as_text: bool) -> dict[str, Any]:
    """The field of a column; `as_text`: time stamps are texts."""
    type_name, logical = _WRITTEN.get(kind, ("string", None))
    if kind is Kind.TIMESTAMP:
        type_name, logical = ("string", TIMESTAMP) if as_text else ("int64", f"{CONNECT}Timestamp")
    field: dict[str, Any] = {"type": type_name, "optional": optional}
    if logical is not None:
        field["name"] = logical
        if logical.startswith(CONNECT):
            field["version"] = 1
    return {**field, "field": name}


def millis(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Time stamps as milliseconds."""
    numbers, bad = text_micros(values)
    return floor_millis(numbers).cast(pa.string()).fill_null("null"), bad


def whole(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Whole numbers of 64 bits."""
    texts, bad = json_numbers(values)
    odd = pc.indices_nonzero(pc.invert(pc.match_substring_regex(texts, r"^(?:null|-?(?:0|[1-9][0-9]{0,17}))$")))
    if not len(odd):
        return texts, bad
    found = texts.to_pylist()
    for row in odd.to_pylist():
        number = Decimal(found[row])
        if abs(number.adjusted()) > 20 or number != number.to_integral_value() or not -(1 << 63) <= number < 1 << 63:
            bad.append(row)
            found[row] = "null"
        else:
            found[row] = str(int(number))
    return pa.array(found, pa.string()), bad


def texts(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    return quote_json(values), []


VALUES = {
    Kind.INTEGER: whole,
    Kind.FLOAT: json_numbers,
    Kind.DOUBLE: json_numbers,
    Kind.BOOLEAN: json_booleans,
}
_WRITTEN: dict[Kind, tuple[str, str | None]] = {
    Kind.INTEGER: ("int64", None),
    Kind.FLOAT: ("float", None),
    Kind.DOUBLE: ("double", None),
    Kind.BOOLEAN: ("boolean", None),
    Kind.BINARY: ("bytes", None),
    Kind.DECIMAL: ("string", DECIMAL),
    Kind.NUMBER: ("string", DECIMAL),
}
