"""Arrow arrays from the buffers that native kernels make."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow.arrays import StringMapArray, from_buffers, string_maps
from ggfmt.columnar.from_python import JsonColumn
from ggfmt.model.change import ImageColumn

_STRING = pa.string()
_BOOL = pa.bool_()


def text_column(column: Any, rows: int) -> ImageColumn:
    """A column of n texts as a kernel hands it over (`Column` in `_native.pyi`); a `JsonColumn` where some values are
    JSON and no strings."""
    offsets, data, validity, nulls, present, quoted = column
    buffers = [None if validity is None else pa.py_buffer(validity), pa.py_buffer(offsets), pa.py_buffer(data)]
    values = from_buffers(_STRING, rows, buffers, nulls)
    there = None if present is None else bits(present, rows)
    if quoted is True:
        return ImageColumn(values, there)
    return JsonColumn(values, there, quoted=None if quoted is None else bits(quoted, rows))


def bits(buffer: Any, rows: int) -> pa.BooleanArray:
    """n booleans, a bit each."""
    return from_buffers(_BOOL, rows, [None, pa.py_buffer(buffer)])


def int64s(buffer: Any, rows: int) -> pa.Int64Array:
    return from_buffers(pa.int64(), rows, [None, pa.py_buffer(buffer)])


def uint8s(buffer: Any, rows: int) -> pa.UInt8Array:
    return from_buffers(pa.uint8(), rows, [None, pa.py_buffer(buffer)])


def letters(buffer: Any, rows: int) -> pa.StringArray:
    """n texts of one byte each."""
    return from_buffers(_STRING, rows, [None, _places(rows + 1), pa.py_buffer(buffer)])


def token_maps(names: Any, values: Any, offsets: Any, rows: int) -> StringMapArray:
    """n maps of texts; `offsets` has n + 1 places in the columns of names and values."""
    places = from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(offsets)])
    count = places[rows].as_py()
    return string_maps(places, text_column(names, count).values, text_column(values, count).values)


_counted: Sequence[pa.Buffer] = (pa.py_buffer(array("i")),)


def _places(count: int) -> pa.Buffer:
    """At least so many of 0, 1, 2 ... as int32."""
    global _counted
    if _counted[0].size < 4 * count:
        _counted = (pa.py_buffer(array("i", range(max(count, 1 << 13) * 2))),)
    return _counted[0]
