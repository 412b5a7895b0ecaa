"""Types of Kafka Connect as CDL uses them, in both directions, and how their values are written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.by_value import none
from ggfmt.columnar.strings import json_booleans, json_numbers
from ggfmt.columnar.timestamps import floor_millis, instant_micros, micros_text
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.decimals import decimals
from ggfmt.formats.records.dialect import Convert, converting
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind, SqlType

DECIMAL, STAMP = "com.xxx.cdc.data.Decimal", "com.xxx.cdc.data.timestamp"

_FARTHEST = 1 << 62
_DAY = 86400_000000
_MOST_DIGITS = 1000

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
    if name == connect.DECIMAL:
        scale = _int((field.parameters or {}).get("scale"))
        precision = _int((field.parameters or {}).get(connect.PRECISION))
        kernel = none if scale is None or abs(scale) > _MOST_DIGITS else decimals(scale)
        return SqlType(Kind.DECIMAL, precision=precision, scale=scale), converting(kernel)
    if name in _CONVERTED:
        return _CONVERTED[name]
    if kind == "string":
        return SqlType(_TEXT_KINDS.get(name.rpartition(".")[2].lower(), Kind.STRING)), None
    return SqlType(connect.KINDS.get(kind, Kind.STRING)), None


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


_CONVERTED: dict[str, tuple[SqlType, Convert | None]] = {
    connect.TIMESTAMP: (SqlType(Kind.TIMESTAMP), _times(1000, 0, None)),
    connect.DATE: (SqlType(Kind.DATE), _times(_DAY, 0, 10)),
    connect.TIME: (SqlType(Kind.TIME), _times(1000, 11, None, _DAY - 1)),
}


# Writing


def field_of(kind: Kind, name: str, optional: bool, as_text: bool) -> dict[str, Any]:
    """The field of a column; `as_text`: time stamps are texts."""
    type_name, logical = _WRITTEN.get(kind, ("string", None))
    if kind is Kind.TIMESTAMP:
        type_name, logical = ("string", STAMP) if as_text else ("int64", connect.TIMESTAMP)
    field: dict[str, Any] = {"type": type_name, "optional": optional}
    if logical is not None:
        field["name"] = logical
        if logical.startswith(connect.LOGICAL):
            field["version"] = 1
    return {**field, "field": name}


def millis(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Time stamps as milliseconds since 1970 in UTC."""
    numbers, bad = instant_micros(values)
    return floor_millis(numbers).cast(pa.string()).fill_null("null"), bad


def whole(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Whole numbers of 64 bits."""
    texts, bad = json_numbers(values)
    odd = pc.indices_nonzero(pc.invert(pc.match_substring_regex(texts, r"^(?:null|-?(?:0|[1-9][0-9]{0,17}))$")))
    if not len(odd):
        return texts, bad
    numbers = texts.to_pylist()
    for row in odd.to_pylist():
        number = Decimal(numbers[row])
        if abs(number.adjusted()) > 20 or number != number.to_integral_value() or not -(1 << 63) <= number < 1 << 63:
            bad.append(row)
            numbers[row] = "null"
        else:
            numbers[row] = str(int(number))
    return pa.array(numbers, pa.string()), bad


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
