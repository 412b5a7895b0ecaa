"""Columns that an image has twice: JSON allows that, and the last one counts.

Decoders do not tell. What tells is the number of names in the characters of many images at once, which is that of the
columns that were found unless one was there twice. A name is what stands before a colon, with a blank at most between.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ggfmt.arrow.arrays import non_null_values
from ggfmt.formats.records.rows import json_values
from ggfmt.model.change import ImageColumn


def rows_with_columns_twice(images: Sequence[Any], columns: Sequence[ImageColumn]) -> list[int]:
    """The rows of images, JSON objects or None for none, that have a column twice, by the columns made of them."""
    data = b"\n".join(image for image in images if image is not None)
    there = sum(len(images) if column.present is None else column.present.true_count for column in columns)
    if data.count(b":") == there or _names(data, there) == there + sum(map(_nested_names, columns)):
        return []
    return [row for row, image in enumerate(images) if image is not None and _has_twice(bytes(image))]


def _names(data: bytes, least: int) -> int:
    """How many names there are, of which at least so many are known."""
    names = data.count(b'":')
    if b"\\" in data:  # an escaped quote ends no name
        names -= data.count(b'\\":')
    if names < least:
        names += data.count(b'" :') - data.count(b'\\" :')
    return names


def _nested_names(column: ImageColumn) -> int:
    """The names in objects and arrays that are values of a column."""
    nested = json_values(column, scalars=False, nested=True)
    if nested is None:
        return 0
    return sum(_names(text.encode(), 0) for text in non_null_values(column.values.filter(nested)))


def _has_twice(image: bytes) -> bool:
    try:
        names = [name for name, _ in _pairs(image.decode())]
    except RecursionError:  # a value is nested so deeply that nothing is told of the names around it
        return False
    return len(set(names)) < len(names)


_pairs = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str, strict=False).decode
