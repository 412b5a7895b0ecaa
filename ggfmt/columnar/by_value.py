"""Kernels of functions of one value, called once for each distinct value of a column."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.from_python import texts
from ggfmt.columnar.json_image import JsonValues, Values
from ggfmt.columnar.pieces import Text
from ggfmt.columnar.strings import json_strings

# Texts, NULL for NULL, and the rows that have none for their value is wrong.
Converted = tuple[pa.StringArray, list[int]]
Kernel = Callable[[pa.StringArray], Converted]

_STRING = pa.string()


def rows_where(mask: pa.BooleanArray) -> list[int]:
    """The rows where a mask is true."""
    return non_null_values(pc.indices_nonzero(mask)) if mask.true_count else []


def by_value(make: Callable[[str], str | None]) -> Kernel:
    """A kernel of a function that gives None, or raises a ValueError, for a wrong value."""

    def kernel(values: pa.StringArray) -> Converted:
        encoded = values.dictionary_encode()
        distinct: list[str | None] = []
        for text in non_null_values(as_strings(encoded.dictionary)):
            try:
                distinct.append(make(text))
            except ValueError:
                distinct.append(None)
        converted = texts(distinct).take(encoded.indices)
        return converted, rows_where(pc.and_(values.is_valid(), converted.is_null()))

    return kernel


def none(values: pa.StringArray) -> Converted:
    """No value is right."""
    return values, rows_where(values.is_valid())


def json_texts(kernel: Kernel) -> Values:
    """JSON strings of the texts that a kernel makes."""

    def values(column: pa.StringArray) -> JsonValues:
        converted, bad = kernel(column)
        return json_strings(converted), bad

    return values


def json_values(kernel: Kernel) -> Values:
    """JSON values as a kernel makes them."""

    def values(column: pa.StringArray) -> JsonValues:
        converted, bad = kernel(column)
        return Text(converted, null="null"), bad

    return values


_BOOLEANS = pa.array(["0", "1", "false", "true"], _STRING)
_BOOLEAN_TEXTS = pa.array(["false", "true", "false", "true"], _STRING)


def booleans(values: pa.StringArray) -> Converted:
    """`true` and `false`, which may be written 1 and 0."""
    places = pc.index_in(values, _BOOLEANS)
    return _BOOLEAN_TEXTS.take(places), rows_where(pc.and_(places.is_null(), values.is_valid()))
