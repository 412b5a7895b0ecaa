"""Values of two columns as values of one type, so that Arrow finds equal ones equal.

A column is stored in one type of each kind (`stored_type`). Two columns are compared in a type that holds the values of
both, and a text is parsed as the type of the other column: a text that is not such a value equals nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.avro import NUMBER as NUMBER_FORM
from ggfmt.columnar.timestamps import cast_times
from ggfmt.columnar.typed import nearest_floats, typed_values
from ggfmt.comparison.kinds import (
    ANY,
    BIT_TEXT,
    CALENDAR,
    FLAG,
    INTERVAL,
    NUMBER,
    STRING,
    TEXT,
    UNTYPED,
    UUID,
    array_of,
    bits,
    bits_as_numbers,
    bytes_of,
    canonical,
    is_bits,
    is_kind,
)
from ggfmt.rowfiles.files import ColumnError

LONG = pa.int64()
_BINARY, _DATE, _TIME = pa.binary(), pa.date32(), pa.time64("ns")
_LOCAL, _INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
_FLOAT, _DOUBLE = pa.float32(), pa.float64()
_NANOS = pa.decimal128(38, 0)  # since 1970
_DAY_MICROS = 86_400_000_000
_LONG_DIGITS, _MAX_128, _MAX_256 = 19, 38, 76
_SAMPLE = 64
_TEXTS = (STRING, TEXT, UNTYPED)
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$"
# PostgreSQL's infinite dates and times, as the ends of the ranges of numbers.
INFINITE = ("infinity", "-infinity")
_ENDS = {_DATE: (2**31 - 1, -(2**31)), **dict.fromkeys((_LOCAL, _INSTANT), (2**63 - 1, -(2**63)))}
_WORDS = pa.array(["false", "f", "0", "true", "t", "1"])  # booleans as databases write them
_END_OF_DAY = r"^24:00(?::00(?:\.0*)?)?$"  # of PostgreSQL
_FORMS = {  # what a text must look like to be parsed
    "number": f"^{NUMBER_FORM}$",
    "time": "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
_YEARS_30 = {_DATE: 10_957, **dict.fromkeys((_LOCAL, _INSTANT), 10_957 * _DAY_MICROS)}

# The second part: which rows have a text that is not a value.
Common: TypeAlias = "tuple[pa.Array[Any], pa.BooleanArray | None]"


def stored_type(type: pa.DataType) -> pa.DataType:
    if is_kind(type):
        return type
    if isinstance(type, pa.BaseExtensionType):
        return stored_type(type.storage_type)
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return stored_type(type.value_type)
    if pa.types.is_decimal(type):
        return (pa.decimal128 if type.precision <= _MAX_128 else pa.decimal256)(type.precision, type.scale)
    if pa.types.is_timestamp(type):
        return pa.timestamp("ns" if type.unit == "ns" else "us", "UTC" if type.tz else None)
    if isinstance(type, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return array_of(_BINARY) if stored_type(type.value_type) == _BINARY else STRING
    if "binary" in str(type) and not pa.types.is_nested(type):
        return _BINARY
    kept = pa.types.is_boolean(type) or pa.types.is_floating(type) or pa.types.is_null(type)
    return next((stored for is_of, stored in _STORED if is_of(type)), type if kept else STRING)


_STORED: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_integer, LONG),
    (pa.types.is_float16, _FLOAT),
    (pa.types.is_date, _DATE),
    (pa.types.is_time, _TIME),
    (pa.types.is_duration, INTERVAL),
)


def storage_type(type: pa.DataType) -> pa.DataType:
    """Return the type of the arrays of a stored type: texts for kinds."""
    return type.storage_type if isinstance(type, pa.OpaqueType) else type


def stored(array: pa.Array[Any], name: str) -> pa.Array[Any]:
    """Return the column `name` in its stored type. Raises: ColumnError for values that the type does not have."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    type = stored_type(array.type)
    if array.type == type:
        return array
    try:
        if pa.types.is_duration(array.type):
            return _intervals(array)
        if pa.types.is_nested(array.type) and "time64[ns]" in str(array.type):
            raise ValueError("Python has no such times")
        if storage_type(type) == STRING and not _is_text(array.type):
            return pa.array([None if value is None else as_json(value) for value in array.to_pylist()], STRING)
        return array.cast(type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        reason = str(error).split("\n", 1)[0]
        raise ColumnError(name, f"it has values of the type `{array.type}`: {reason}") from None


def _intervals(durations: pa.Array[Any]) -> pa.StringArray:
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[durations.type.unit]
    numbers = durations.cast(LONG).to_pylist()
    return pa.array([None if n is None else f"PT{Decimal(n).scaleb(-digits):f}S" for n in numbers], STRING)


def _is_text(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return _is_text(type.value_type)
    return "string" in str(type) and not pa.types.is_nested(type)


def as_json(value: object) -> str:
    def leaf_text(leaf: object) -> str:
        return f"\\x{leaf.hex()}" if isinstance(leaf, bytes) else str(leaf)

    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=leaf_text)


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the type in which two stored types are compared; text if no other holds both. A text beside a type is read
    as it. Of two texts of which one is untyped, spellings are equal; columns declared as text have characters."""
    if a in _TEXTS and b in _TEXTS:
        return ANY if UNTYPED in (a, b) and TEXT not in (a, b) else STRING
    if a == b or a in _TEXTS:
        return b
    if b in _TEXTS:
        return a
    if is_kind(a) or is_kind(b):
        return _common_kind(a, b)
    if _is_number(a) and _is_number(b):
        return _common_number(a, b)
    if _is_time(a) and _is_time(b):
        if "ns" in (getattr(a, "unit", None), getattr(b, "unit", None)):
            return _NANOS
        return _LOCAL
    return STRING


def _common_kind(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    kind, other = (a, b) if is_kind(a) else (b, a)
    if {a, b} == {NUMBER, FLAG}:
        return NUMBER
    if is_bits(kind):
        if is_bits(other):
            return bits(None)
        return NUMBER if other in (NUMBER, FLAG) or _is_number(other) else STRING
    if kind in (NUMBER, FLAG) and _is_number(other):
        return other if pa.types.is_floating(other) else NUMBER
    held = (kind, other) in ((UUID, _BINARY), (INTERVAL, _TIME)) or (kind == CALENDAR and _is_time(other))
    return kind if held else STRING


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
    NULL. Equal values are equal to Arrow: -0.0 becomes 0.0, and NaN equals NaN."""
    values: pa.Array[Any]
    if is_kind(type):
        values = canonical(_spelled(array, type), type)
    elif array.type == STRING and type != STRING:
        values = _read(as_strings(array), type)
    elif array.type == type:
        return _plain(array), None
    elif type == STRING:
        return _as_text(array), None
    elif pa.types.is_floating(type):
        values = _as_floats(array, type)
    elif type == _NANOS and _is_time(array.type):
        return _as_nanos(array), None
    elif array.type == _DATE and type == _LOCAL:
        return _as_times(array), None
    else:
        return array.cast(type), None
    odd = pc.and_(array.is_valid(), values.is_null()) if values.null_count > array.null_count else None
    return _plain(values), odd


def _spelled(array: pa.Array[Any], kind: pa.DataType) -> pa.StringArray:
    if array.type == BIT_TEXT and not is_bits(kind):
        return bits_as_numbers(array)
    if kind == UUID and array.type == _BINARY:
        return pa.array([None if value is None else value.hex() for value in array.to_pylist()], STRING)
    if pa.types.is_boolean(array.type):
        array = array.cast(LONG)
    return as_strings(array.cast(STRING))


def _as_times(dates: pa.Array[Any]) -> pa.Array[Any]:
    """Return dates as times; those outside the range of times become its ends."""
    days = dates.cast(pa.int32())
    highest, lowest = _ENDS[_LOCAL]
    most = highest // _DAY_MICROS - 1
    within = pc.and_(pc.less_equal(days, most), pc.greater_equal(days, -most))
    times = pc.multiply(pc.if_else(within, days, pa.scalar(0, pa.int32())).cast(LONG), _DAY_MICROS)
    ends = pa.array([lowest, highest], LONG).take(pc.greater(days, 0).cast(pa.int8()))
    return pc.if_else(within, times, ends).cast(_LOCAL)


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
    local = _as_times(array) if array.type == _DATE else array.cast(_LOCAL)
    micros = local.cast(LONG).cast(pa.decimal128(19, 0))
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
        is_end = pc.match_substring_regex(texts, _END_OF_DAY)
        moments = pc.binary_join_element_wise("1970-01-01 ", pc.if_else(is_end, "00:00", texts), "")
        nanos = _cast(moments, pa.timestamp("ns")).cast(LONG)
        return pc.if_else(is_end, 1000 * _DAY_MICROS, nanos).cast(_TIME)
    if type in _ENDS and pc.any(pc.is_in(texts, pa.array(INFINITE)), min_count=0).as_py():
        return _infinite(texts, type)
    if pa.types.is_timestamp(type) and type.unit == "ns":
        return _cast(texts, type)
    if pa.types.is_floating(type):
        return nearest_floats(texts, type)
    form = "time" if _is_time(type) else "number"
    if typed_values(texts.slice(0, _SAMPLE), type)[1]:
        # Many texts may not be values: find them together, because parsing stops at the first.
        texts = pc.if_else(pc.match_substring_regex(texts, _FORMS[form]), texts, pa.scalar(None, STRING))
    if type == _LOCAL:  # times with a zone are taken in UTC, as in a column of such times
        return typed_values(texts, _INSTANT)[0].cast(_LOCAL)
    return typed_values(texts, type)[0]


def _infinite(texts: pa.StringArray, type: pa.DataType) -> pa.Array[Any]:
    places = pc.index_in(texts, pa.array(INFINITE))
    finite = as_strings(pc.if_else(places.is_null(), texts, pa.scalar(None, STRING)))
    ends = pa.array(_ENDS[type], pa.int32() if type == _DATE else LONG).cast(type)
    return pc.coalesce(_read(finite, type), ends.take(places))


def with_infinite(array: pa.Array[Any]) -> pa.Array[Any]:
    """Return dates and times of PostgreSQL's driver with infinite ones as the ends of the range. PostgreSQL counts from
    the year 2000 and has infinite values at the ends; the driver adds 30 years, and wraps."""
    if array.type not in _ENDS:
        return array
    number = pa.int32() if array.type == _DATE else LONG
    wrapped = (_ENDS[array.type][1] + _YEARS_30[array.type] - 1, _ENDS[array.type][1] + _YEARS_30[array.type])
    places = pc.index_in(array.cast(number), pa.array(wrapped, number))
    if places.null_count == len(places):
        return array
    return pc.coalesce(pa.array(_ENDS[array.type], number).take(places).cast(array.type), array)


def name_infinite(scalar: pa.Scalar[Any]) -> str | None:
    ends = _ENDS.get(scalar.type)
    if ends is None or not scalar.is_valid:
        return None
    number = scalar.cast(pa.int32() if scalar.type == _DATE else LONG).as_py()
    return INFINITE[ends.index(number)] if number in ends else None


def _bytes(texts: pa.StringArray) -> pa.Array[Any]:
    encoded = pc.or_(pc.starts_with(texts, "\\x"), pc.match_substring_regex(texts, _BASE64))
    if not pc.any(encoded, min_count=0).as_py():
        return texts.cast(_BINARY)
    return pa.array([None if text is None else bytes_of(text) for text in texts.to_pylist()], _BINARY)


def _cast(texts: pa.StringArray, type: pa.DataType) -> pa.Array[Any]:
    try:
        return pc.cast(texts, type)
    except pa.ArrowInvalid:
        return pc.cast(cast_times(texts, type)[0], type)
