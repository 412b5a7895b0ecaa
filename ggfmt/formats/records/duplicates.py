"""Duplicate columns of an image: JSON allows them, and the last one counts.

Decoders do not report them. So ggfmt counts the names in the text of many images at once. Without duplicates, this
number equals that of the decoded columns. A name is a string before a colon, with at most one blank between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ggfmt.arrow.arrays import non_null_values
from ggfmt.formats.json.repeated import EVERY, repeated_member
from ggfmt.formats.records.rows import json_values
from ggfmt.model.change import ImageColumn


def rows_with_columns_twice(images: Sequence[Any], columns: Sequence[ImageColumn]) -> list[int]:
    """Return the rows of images that contain a column twice.

    images   JSON objects; None for a row without an image
    columns  the columns that were made from these images
    """
    data = b"\n".join(image for image in images if image is not None)
    there = sum(len(images) if column.present is None else column.present.true_count for column in columns)
    if data.count(b":") == there or _names(data) == there + sum(map(_nested_names, columns)):
        return []
    return [row for row, image in enumerate(images) if image is not None and repeated_member(image, EVERY) is not None]


def _names(data: bytes) -> int:
    """Count the names in JSON text, and texts that look like one."""
    names = data.count(b'":') + data.count(b'" :')
    if b"\\" in data:  # an escaped quote ends no name
        names -= data.count(b'\\":') + data.count(b'\\" :')
    return names


def _nested_names(column: ImageColumn) -> int:
    """Count the names in objects and arrays that are values of a column."""
    nested = json_values(column, scalars=False, nested=True)
    if nested is None:
        return 0
    return sum(_names(text.encode()) for text in non_null_values(column.values.filter(nested)))
