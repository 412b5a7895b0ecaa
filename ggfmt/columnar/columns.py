"""Columns and maps from decoded values, and from the buffers of native scanners. Missing values differ from NULL."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, from_buffers, non_null_values, string_maps
from ggfmt.dataclasses import dataclass
from ggfmt.model.change import ImageColumn

# Stands for a missing value until the column is built. No value of a file equals it by accident.
MISSING = f"\0missing {secrets.token_hex(8)}"
MISSING_RAW = msgspec.Raw(b"")

_STRING = pa.string()
_decode_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, eq=False)
class JsonColumn(ImageColumn):
    """A column of JSON values. `quoted` is true where the value was a JSON string; None if no value was one."""

    quoted: pa.BooleanArray | None = None


def texts(values: Sequence[str | None]) -> pa.StringArray:
    return pa.array(values, _STRING)


def text_column(values: Sequence[str | None]) -> ImageColumn:
    """Return a column of texts. `None` stands for NULL and `MISSING` for a missing value."""
    return _without_missing(texts(values), MISSING)


def raw_column(values: Sequence[msgspec.Raw]) -> JsonColumn:
    """Return a column of JSON values. `MISSING_RAW` stands for a missing value. Strings lose their quotes, other values
    keep their characters."""
    joined = b"\n".join(values)
    if joined.count(b"\n") == len(values) - 1:
        whole = pa.array([joined], pa.large_binary()).cast(pa.large_string())
        array = pc.cast(pc.split_pattern(whole, "\n").flatten(), _STRING)
    else:  # a nested value spans several lines
        array = texts([str(value, "utf-8") for value in map(bytes, values)])
    if b'"' in joined:
        quoted = pc.starts_with(array, '"')
        unquoted = [_decode_text(value) for value in non_null_values(array.filter(quoted))]
        array = pc.replace_with_mask(array, quoted, texts(unquoted))
        # A quoted `null` or empty text is a value. Only unquoted ones stand for NULL and missing.
        column = _without_missing(array, "", pc.invert(quoted))
        null = pc.and_(pc.equal(array, "null"), pc.invert(quoted))
    else:
        column = _without_missing(array, "")
        if b"null" not in joined:
            return JsonColumn(column.values, column.present)
        quoted = None
        null = pc.equal(array, "null")
    return JsonColumn(pc.if_else(null, pa.scalar(None, _STRING), column.values), column.present, quoted)


def _without_missing(values: pa.StringArray, sentinel: str, where: pa.BooleanArray | None = None) -> ImageColumn:
    missing = pc.fill_null(pc.equal(values, sentinel), False)
    if where is not None:
        missing = pc.and_(missing, where)
    if not missing.true_count:
        return ImageColumn(values)
    return ImageColumn(pc.if_else(missing, pa.scalar(None, _STRING), values), pc.invert(missing))


def token_maps(maps: Iterable[Mapping[str, str]]) -> StringMapArray:
    listed = list(maps)
    offsets = pa.array(accumulate(map(len, listed), initial=0), pa.int32())
    keys = texts(list(chain.from_iterable(listed)))
    items = texts(list(chain.from_iterable(tokens.values() for tokens in listed)))
    return string_maps(offsets, keys, items)


_BOOL = pa.bool_()


def scanned_column(column: Any, rows: int) -> ImageColumn:
    """Return a column of n texts of a kernel (`Column` in `_native.pyi`); a `JsonColumn` if some are not strings."""
    offsets, data, validity, nulls, present, quoted = column
    buffers = [None if validity is None else pa.py_buffer(validity), pa.py_buffer(offsets), pa.py_buffer(data)]
    values = from_buffers(_STRING, rows, buffers, nulls)
    there = None if present is None else bits(present, rows)
    if quoted is True:
        return ImageColumn(values, there)
    return JsonColumn(values, there, quoted=None if quoted is None else bits(quoted, rows))


def bits(buffer: Any, rows: int) -> pa.BooleanArray:
    return from_buffers(_BOOL, rows, [None, pa.py_buffer(buffer)])


def int64s(values: array[int]) -> pa.Int64Array:
    """Return the values of an `array("q")` without copying."""
    return scanned_int64s(values, len(values))


def scanned_int64s(buffer: Any, rows: int) -> pa.Int64Array:
    return from_buffers(pa.int64(), rows, [None, pa.py_buffer(buffer)])


def uint8s(buffer: Any, rows: int) -> pa.UInt8Array:
    return from_buffers(pa.uint8(), rows, [None, pa.py_buffer(buffer)])


def letters(buffer: Any, rows: int) -> pa.StringArray:
    """Return n texts of one byte each."""
    return from_buffers(_STRING, rows, [None, _places(rows + 1), pa.py_buffer(buffer)])


def scanned_token_maps(names: Any, values: Any, offsets: Any, rows: int) -> StringMapArray:
    """Return n maps of texts. `offsets` has n + 1 positions in the columns of names and values."""
    places = from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(offsets)])
    count = places[rows].as_py()
    return string_maps(places, scanned_column(names, count).values, scanned_column(values, count).values)


_counted: Sequence[pa.Buffer] = (pa.py_buffer(array("i")),)


def _places(count: int) -> pa.Buffer:
    global _counted
    if _counted[0].size < 4 * count:
        _counted = (pa.py_buffer(array("i", range(max(count, 1 << 13) * 2))),)
    return _counted[0]
