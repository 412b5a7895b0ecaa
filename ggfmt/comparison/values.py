"""Values of two columns as values of one type, so that Arrow finds equal ones equal.

A column is stored in one type of each kind (`stored_type`). Two columns are compared in a type that holds the values of
both, and a text is parsed as the type of the other column: a text that is not such a value equals nothing.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.avro import NUMBER
from ggfmt.columnar.timestamps import cast_times
from ggfmt.columnar.typed import typed_values

STRING, LONG = pa.string(), pa.int64()
_BINARY, _DATE, _TIME = pa.binary(), pa.date32(), pa.time64("ns")
_LOCAL, _INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
_FLOAT, _DOUBLE = pa.float32(), pa.float64()
_NANOS = pa.decimal128(38, 0)  # since 1970
_LONG_DIGITS, _MAX_128, _MAX_256 = 19, 38, 76
_SAMPLE = 64
_WORDS = pa.array(["false", "f", "0", "true", "t", "1"])  # booleans as databases write them
_FORMS = {  # what a text must look like to be parsed
    "number": f"^{NUMBER}$",
    "time": "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
}

# The second part: which rows have a text that is not a value.
Common: TypeAlias = "tuple[pa.Array[Any], pa.BooleanArray | None]"


def stored_type(type: pa.DataType) -> pa.DataType:
    """Return the type in which columns of a type are stored."""
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return stored_type(type.value_type)
    if pa.types.is_uint64(type):
        return pa.decimal128(20, 0)
    if pa.types.is_integer(type):
        return LONG
    if pa.types.is_float16(type):
        return _FLOAT
    if pa.types.is_decimal(type):
        return (pa.decimal128 if type.precision <= _MAX_128 else pa.decimal256)(type.precision, type.scale)
    if pa.types.is_timestamp(type):
        return pa.timestamp("ns" if type.unit == "ns" else "us", "UTC" if type.tz else None)
    if pa.types.is_date(type):
        return _DATE
    if pa.types.is_time(type):
        return _TIME
    if pa.types.is_fixed_size_binary(type) or "binary" in str(type):
        return _BINARY
    kept = pa.types.is_boolean(type) or pa.types.is_floating(type) or pa.types.is_null(type)
    return type if kept else STRING


def stored(array: pa.Array[Any]) -> pa.Array[Any]:
    """Return a column in its stored type. Raises: ArrowInvalid for times outside the range of microseconds."""
    type = stored_type(array.type)
    if array.type == type:
        return array
    if type == STRING and not _is_text(array.type):
        return pa.array([None if value is None else as_json(value) for value in array.to_pylist()], STRING)
    return array.cast(type)


def _is_text(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return _is_text(type.value_type)
    return "string" in str(type) and not pa.types.is_nested(type)


def as_json(value: object) -> str:
    """Return nested values as texts that are the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the type in which columns of two stored types are compared; text if no other type holds both."""
    if a == b:
        return a
    if STRING in (a, b):
        return b if a == STRING else a
    if _is_number(a) and _is_number(b):
        return _common_number(a, b)
    if _is_time(a) and _is_time(b):
        if "ns" in (getattr(a, "unit", None), getattr(b, "unit", None)):
            return _NANOS
        return _LOCAL
    return STRING


def _is_number(type: pa.DataType) -> bool:
    kinds = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(type) for is_kind in kinds)


def _is_time(type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type) or pa.types.is_date(type))


def _common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    for type in (_FLOAT, _DOUBLE):
        if type in (a, b):
            return type
    if not (pa.types.is_decimal(a) or pa.types.is_decimal(b)):
        return LONG
    scales = [type.scale if pa.types.is_decimal(type) else 0 for type in (a, b)]
    whole = [type.precision - type.scale if pa.types.is_decimal(type) else _LONG_DIGITS for type in (a, b)]
    scale = max(scales)
    precision = max(whole) + scale
    if precision > _MAX_256:
        return STRING
    return (pa.decimal128 if precision <= _MAX_128 else pa.decimal256)(precision, scale)


def as_common(array: pa.Array[Any], type: pa.DataType) -> Common:
    """Return a stored column in a common type of it and another, and the rows whose text is not a value, which are
    NULL.

    Equal values are equal to Arrow: -0.0 becomes 0.0, and NaN equals NaN.
    """
    if array.type == STRING and type != STRING:
        values = _read(as_strings(array), type)
    elif array.type == type:
        return _plain(array), None
    elif type == STRING:
        return _as_text(array), None
    elif pa.types.is_floating(type):
        values = _as_floats(array, type)
    elif type == _NANOS and _is_time(array.type):
        return _as_nanos(array), None
    else:
        return array.cast(type), None
    odd = pc.and_(array.is_valid(), values.is_null()) if values.null_count > array.null_count else None
    return _plain(values), odd


def _plain(values: pa.Array[Any]) -> pa.Array[Any]:
    if not pa.types.is_floating(values.type):
        return values
    nan = pc.is_nan(values)
    if pc.any(nan).as_py():
        values = pc.if_else(nan, pa.scalar(math.nan, values.type), values)
    zero: pa.Scalar[Any] = pa.scalar(0.0, values.type)
    return pc.add(values, zero).view(pa.int32() if values.type == _FLOAT else LONG)


def _as_floats(array: pa.Array[Any], type: pa.DataType) -> pa.Array[Any]:
    """Return the nearest floats; NULL for numbers outside the type."""
    exact = pa.types.is_decimal(array.type)
    # Arrow's own cast of decimals does not always find the nearest float.
    values = array.cast(STRING).cast(type) if exact else array.cast(type, safe=False)
    finite = pc.is_finite(array) if pa.types.is_floating(array.type) else array.is_valid()
    overflown = pc.and_(pc.is_inf(values), finite)
    return pc.if_else(overflown, pa.scalar(None, type), values) if pc.any(overflown).as_py() else values


def _as_nanos(array: pa.Array[Any]) -> pa.Array[Any]:
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array.cast(LONG).cast(_NANOS)
    micros = array.cast(_LOCAL).cast(LONG).cast(pa.decimal128(19, 0))
    return pc.multiply(micros, pa.scalar(Decimal(1000), pa.decimal128(4, 0))).cast(_NANOS)


def _as_text(array: pa.Array[Any]) -> pa.Array[Any]:
    if pa.types.is_decimal(array.type):
        return pa.array([None if value is None else f"{value.normalize():f}" for value in array.to_pylist()], STRING)
    if array.type == _BINARY:
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in array.to_pylist()], STRING)
    return array.cast(STRING)


def _read(texts: pa.StringArray, type: pa.DataType) -> pa.Array[Any]:
    """Return texts parsed as a type; NULL for texts that are not values."""
    if texts.offset:  # for a slice and a NULL, Arrow up to 22 reads past the end in `if_else`
        texts = pa.concat_arrays([texts, texts.slice(0, 0)])
    if type == pa.bool_():
        found = pc.index_in(pc.ascii_lower(texts), _WORDS)
        return pc.greater_equal(found, 3)
    if type == _BINARY:
        return _bytes(texts)
    if type == _TIME:
        moments = pc.binary_join_element_wise("1970-01-01 ", texts, "")
        return _cast(moments, pa.timestamp("ns")).cast(LONG).cast(_TIME)
    if pa.types.is_timestamp(type) and type.unit == "ns":
        return _cast(texts, type)
    form = "time" if _is_time(type) else "number"
    if not pa.types.is_floating(type) and typed_values(texts.slice(0, _SAMPLE), type)[1]:
        # Many texts may not be values: find them together, because parsing stops at the first.
        texts = pc.if_else(pc.match_substring_regex(texts, _FORMS[form]), texts, pa.scalar(None, STRING))
    if type == _LOCAL:  # times with a zone are taken in UTC, as in a column of such times
        return typed_values(texts, _INSTANT)[0].cast(_LOCAL)
    return typed_values(texts, type)[0]


def _bytes(texts: pa.StringArray) -> pa.Array[Any]:
    """Return the bytes of texts: hexadecimal digits after `\\x`, as in PostgreSQL, or the characters in UTF-8."""

    def value(text: str | None) -> bytes | None:
        if text is None or not text.startswith("\\x"):
            return None if text is None else text.encode()
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            return None

    if not pc.any(pc.starts_with(texts, "\\x"), min_count=0).as_py():
        return texts.cast(_BINARY)
    return pa.array(map(value, texts.to_pylist()), _BINARY)


def _cast(texts: pa.StringArray, type: pa.DataType) -> pa.Array[Any]:
    try:
        return pc.cast(texts, type)
    except pa.ArrowInvalid:
        return pc.cast(cast_times(texts, type)[0], type)
