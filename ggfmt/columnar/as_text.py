"""Arrow values of any scalar type as the texts that messages are made of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc

_STRING = pa.string()
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def is_scalar(type: pa.DataType) -> bool:
    """Whether `as_text` has texts for values of a type."""
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer)
    more = (types.is_floating, types.is_decimal, types.is_date, types.is_timestamp, types.is_null)
    return any(test(type) for test in (*tests, *more))


def as_text(values: pa.Array[Any]) -> pa.StringArray:
    """n values as texts, NULL as NULL: decimals with all digits of their scale, times as `2013-06-02 22:14:36.000000`,
    those with a zone in UTC."""
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
    """Arrow writes small decimals as `1.00E-8`."""
    small = pc.match_substring(texts, "E")
    if not small.true_count:
        return texts
    plain = [f"{value:f}" for value in values.filter(small).to_pylist()]
    return pc.replace_with_mask(texts, small.fill_null(False), pa.array(plain, _STRING))
