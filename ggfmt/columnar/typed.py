"""Texts and values of Arrow types, converted without loss in both directions.

A number that a type cannot hold exactly is not a value of the type. Binary floating point numbers are the nearest to
the text, because their sources wrote the text from such a number.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import DecimalType, non_null_values, nulls
from ggfmt.columnar.avro import FLOATING, NOT_FINITE, exact_long, unscaled
from ggfmt.columnar.pieces import text_buffer
from ggfmt.columnar.timestamps import has_zone, instant_micros, text_micros

_STRING = pa.string()
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def is_scalar(type: pa.DataType) -> bool:
    """Return whether `as_text` can convert values of a type."""
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer)
    more = (types.is_floating, types.is_decimal, types.is_date, types.is_timestamp, types.is_null)
    return any(test(type) for test in (*tests, *more))


def as_text(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values as texts, and NULL as NULL. Decimals have all digits of their scale. Times are written as
    `2013-06-02 22:14:36.000000`, those with a zone in UTC."""
    type = values.type
    if isinstance(values, pa.StringArray):
        return values
    if pa.types.is_timestamp(type):
        return pc.cast(pc.cast(values, pa.timestamp("us", type.tz)).view(pa.timestamp("us")), _STRING)
    texts = pc.cast(values, _STRING)
    if pa.types.is_decimal(type):
        return _without_exponents(values, texts)
    if pa.types.is_floating(type):
        for arrow, word in _NOT_FINITE.items():
            texts = pc.if_else(pc.equal(texts, arrow), word, texts)
    return texts


def _without_exponents(values: pa.Array[Any], texts: pa.StringArray) -> pa.StringArray:
    """Replace exponents by digits: Arrow writes small decimals as `1.00E-8`."""
    small = pc.match_substring(texts, "E")
    if not small.true_count:
        return texts
    plain = [f"{value:f}" for value in values.filter(small).to_pylist()]
    return pc.replace_with_mask(texts, small.fill_null(False), pa.array(plain, _STRING))


_NO_TEXT = pa.scalar(None, _STRING)
_ZEROS = r"(\.[0-9]{6})0+($|Z|[+-])"  # zeros after the six digits of a second
_DAY = 86_400_000_000
_SAFE_DIGITS = 38  # Arrow reads longer decimals as other numbers, without an error

Typed: TypeAlias = "tuple[pa.Array[Any], list[int]]"  # values, and the rows whose text is not a value of the type


def typed_values(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Return n texts as values of a type, and NULL as NULL.

    Raises:
        KeyError: ggfmt does not convert texts to this type.
    """
    if type == _STRING:
        return texts, []
    if texts.null_count == len(texts):
        return nulls(len(texts), type), []
    if pa.types.is_decimal(type):
        return _decimals(texts, type)
    return _KERNELS[type](texts, type)


def _booleans(texts: pa.StringArray, type: pa.DataType) -> Typed:
    values = pc.index_in(texts, pa.array(["false", "true"])).cast(type)
    return values, _lost(texts, values)


def _longs(texts: pa.StringArray, type: pa.DataType) -> Typed:
    try:
        data = text_buffer(texts).to_pybytes()
        if b"x" in data or b"X" in data:  # Arrow reads hexadecimal digits
            raise pa.ArrowInvalid
        return texts.cast(type), []
    except pa.ArrowInvalid:
        return _one_by_one(texts, type, exact_long)


def _decimals(texts: pa.StringArray, type: DecimalType) -> Typed:
    try:
        data = text_buffer(texts).to_pybytes()
        if b"e" in data or b"E" in data or pc.max(pc.binary_length(texts)).as_py() > _SAFE_DIGITS:
            raise pa.ArrowInvalid
        return texts.cast(type), []
    except pa.ArrowInvalid:
        return _one_by_one(texts, type, lambda text: _decimal(text, type))


def _decimal(text: str, type: DecimalType) -> Decimal | None:
    number = unscaled(text, type.precision, type.scale)
    if number is None:
        return None
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -type.scale))


def _floats(texts: pa.StringArray, type: pa.DataType) -> Typed:
    fits = pc.match_substring_regex(texts, FLOATING)
    fitting = texts if pc.all(fits, min_count=0).as_py() else pc.if_else(fits, texts, _NO_TEXT)
    values = fitting.cast(type)
    overflown = pc.and_not(pc.is_inf(values), pc.match_substring_regex(fitting, NOT_FINITE))
    if pc.any(overflown).as_py():
        values = pc.if_else(overflown, pa.scalar(None, type), values)
    return values, _lost(texts, values)


def _dates(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert dates, also dates with a time of midnight."""
    try:
        return texts.cast(type), []
    except pa.ArrowInvalid:
        micros, _ = text_micros(_with_six_digits(texts))
        days = pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), _DAY - 1, 0)), _DAY)
        whole = pc.equal(pc.multiply(days, _DAY), micros)
        values = pc.if_else(whole, days, pa.scalar(None, pa.int64())).cast(pa.int32()).cast(type)
        return values, _lost(texts, values)


def _local_times(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert times without a zone."""
    values = text_micros(_with_six_digits(pc.if_else(has_zone(texts), _NO_TEXT, texts)))[0].cast(type)
    return values, _lost(texts, values)


def _instants(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert times with a zone, or in UTC."""
    values = instant_micros(_with_six_digits(texts))[0].cast(type)
    return values, _lost(texts, values)


def _with_six_digits(texts: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring_regex(texts, _ZEROS, r"\1\2")


def _one_by_one(texts: pa.StringArray, type: pa.DataType, value: Callable[[str], object]) -> Typed:
    values = pa.array([None if text is None else value(text) for text in texts.to_pylist()], type)
    return values, _lost(texts, values)


def _lost(texts: pa.StringArray, values: pa.Array[Any]) -> list[int]:
    """Return the rows that have a text, but no value."""
    if values.null_count == texts.null_count:
        return []
    return non_null_values(pc.indices_nonzero(pc.and_(texts.is_valid(), values.is_null())))


_KERNELS: dict[pa.DataType, Callable[[pa.StringArray, pa.DataType], Typed]] = {
    pa.bool_(): _booleans,
    pa.int64(): _longs,
    pa.float32(): _floats,
    pa.float64(): _floats,
    pa.date32(): _dates,
    pa.timestamp("us"): _local_times,
    pa.timestamp("us", tz="UTC"): _instants,
}


def differ_typed(one: pa.Array[Any], other: pa.Array[Any]) -> pa.BooleanArray:
    """Return where two columns of one type have different values. NULL equals only NULL."""
    return pc.if_else(
        pc.and_(one.is_valid(), other.is_valid()),
        pc.fill_null(pc.not_equal(one, other), False),
        pc.xor(one.is_valid(), other.is_valid()),
    )
