"""Bytes as texts in Base64 and back, a column at once."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.columnar.pieces import text_buffer
from ggfmt.columnar.strings import rows_where

_STRING, _BINARY, _LONG = pa.string(), pa.binary(), pa.int64()
_NO_TEXT = pa.scalar(None, _STRING)
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_EMPTY = pa.scalar(b"", _BINARY)


def base64_texts(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values of bytes in Base64, and NULL as NULL."""
    data = pc.fill_null(values, b"")
    lengths = pc.cast(pc.binary_length(data), _LONG)
    rest = pc.subtract(lengths, pc.multiply(pc.divide(lengths, 3), 3))
    one, two = pc.equal(rest, 1), pc.equal(rest, 2)
    zeros = pc.if_else(one, pa.scalar(b"\0\0", _BINARY), pc.if_else(two, pa.scalar(b"\0", _BINARY), _EMPTY))
    whole = pc.binary_join_element_wise(data, zeros, _EMPTY)
    texts: Any = _cut(b2a_base64(text_buffer(whole), newline=False), pc.divide(pc.binary_length(whole), 3), 4, _STRING)
    for where, padding in ((one, "=="), (two, "=")):
        if where.true_count:
            shorter = pc.utf8_slice_codeunits(texts, 0, -len(padding))
            texts = pc.if_else(where, pc.binary_join_element_wise(shorter, padding, ""), texts)
    return narrow(pc.if_else(values.is_valid(), texts, _NO_TEXT) if values.null_count else texts, pa.StringArray)


def base64_values(texts: pa.StringArray) -> tuple[pa.Array[Any], list[int]]:
    """Return n texts in Base64 as bytes, NULL as NULL, and the rows with other texts."""
    fits = pc.fill_null(pc.match_substring_regex(texts, _BASE64), False)
    whole = pc.if_else(fits, texts, pa.scalar("", _STRING))
    # The bytes that padding stands for are cut off behind.
    data = text_buffer(whole).to_pybytes().replace(b"=", b"A")
    values: Any = _cut(a2b_base64(data), pc.divide(pc.binary_length(whole), 4), 3, _BINARY)
    for padding in ("=", "=="):  # of two, each takes a byte
        where = pc.ends_with(whole, padding)
        if where.true_count:
            values = pc.if_else(where, pc.binary_slice(values, 0, -1), values)
    wrong = rows_where(pc.and_not(texts.is_valid(), fits))
    return pc.if_else(fits, values, pa.scalar(None, _BINARY)) if fits.false_count else values, wrong


def _cut(data: bytes, groups: pa.Array[Any], width: int, type: pa.DataType) -> pa.Array[Any]:
    """Return bytes cut into values of `width` times as many bytes as their groups."""
    ends = pc.multiply(pc.cumulative_sum(pc.cast(groups, _LONG)), width)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cast(ends, pa.int32())])
    return pa.Array.from_buffers(type, len(groups), [None, offsets.buffers()[1], pa.py_buffer(data)])
