"""Images as columns of frames: maps of texts, or structs with the names of what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, string_maps
from ggfmt.columnar.images import with_nulls
from ggfmt.columnar.typed import typed_values
from ggfmt.frames.shapes import NAMES, TEXT, TEXTS
from ggfmt.model.change import Image
from ggfmt.model.table import TableDef

_NO_TEXT = pa.scalar(None, TEXT)
_NOTHING = pa.array([], TEXT)
_LONG, _SHORT = pa.int64(), pa.int32()

Unshown = Callable[[int, str, pa.DataType, str], Exception]  # by row, column, type and text


def image_maps(image: Image, names: Sequence[str], rows: int) -> StringMapArray:
    """n maps from the names of the columns that are there to their values; null where there is no image."""
    if image.exists is not None and not image.exists.true_count:
        return pa.nulls(rows, TEXTS)
    presents = [column.present for column in image.columns]
    turns = _InterleavedColumns(presents, image.exists, rows)
    values = pa.concat_arrays([_NOTHING, *(column.values for column in image.columns)]).take(turns.places)
    keys = pa.array(names, TEXT).take(turns.columns)
    return string_maps(turns.offsets, keys, values, TEXTS, turns.nowhere)


def image_structs(image: Image, table: TableDef, asked: pa.StructType, rows: int, unshown: Unshown) -> pa.StructArray:
    """n structs of the columns that are asked for: null where there is no image, with nulls for columns that are
    missing. Raises what `unshown` makes of the first value that a type does not have."""
    places = {name: index for index, name in enumerate(table.column_names)}
    fields = list(asked)
    arrays = []
    for field in fields:
        index = places.get(field.name)
        if index is None:
            arrays.append(pa.nulls(rows, field.type))
            continue
        texts = with_nulls(image.columns[index])
        if image.exists is not None:
            texts = pc.if_else(image.exists, texts, _NO_TEXT)
        values, wrong = typed_values(texts, field.type)
        if wrong:
            raise unshown(wrong[0], field.name, field.type, texts[wrong[0]].as_py())
        arrays.append(values)
    mask = None if image.exists is None else pc.invert(image.exists)
    if not fields:  # a struct of nothing takes its length from the mask alone
        mask = pa.repeat(pa.scalar(False), rows) if mask is None else mask
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def missing_names(image: Image, table: TableDef, asked: Sequence[str], rows: int) -> pa.ListArray[Any]:
    """n lists of the names, of those asked for, that are missing; null where none is, or where there is no image."""
    places = {name: index for index, name in enumerate(table.column_names)}
    missing = {}
    for name in asked:
        index = places.get(name)
        present = pa.repeat(pa.scalar(False), rows) if index is None else image.columns[index].present
        if present is not None:
            missing[name] = pc.invert(present)
    if not missing or (image.exists is not None and not image.exists.true_count):
        return pa.nulls(rows, NAMES)
    some = reduce(pc.or_, missing.values())
    turns = _InterleavedColumns(
        list(missing.values()), some if image.exists is None else pc.and_(some, image.exists), rows
    )
    names = pa.array(list(missing), TEXT).take(turns.columns)
    return pa.ListArray.from_arrays(turns.offsets, names, type=NAMES, mask=turns.nowhere)


class _InterleavedColumns:
    """What is in some columns of n rows, row by row in turns, for lists with an item for each of these.

    presents  where the columns have something, None for everywhere
    exists    where rows have a list, None for everywhere
    columns   of each item the column
    places    of each item the place in all columns, one behind the other
    offsets   where the lists start among the items
    nowhere   which lists are null, None if none is
    """

    def __init__(self, presents: Sequence[pa.BooleanArray | None], exists: pa.BooleanArray | None, rows: int) -> None:
        width = len(presents)
        there = pa.array(range(rows), _LONG) if exists is None else pc.indices_nonzero(exists).cast(_LONG)
        every = pa.array(range(len(there) * width), _LONG)
        row = pc.divide(every, max(width, 1))
        self.columns = pc.subtract(every, pc.multiply(row, width))
        self.places = pc.add(pc.multiply(self.columns, rows), there.take(row))
        self.nowhere = None if exists is None else pc.invert(exists)
        counts = pa.repeat(pa.scalar(width, _SHORT), rows)
        if any(present is not None for present in presents):
            yes = pa.repeat(pa.scalar(True), rows)
            masks = [yes if present is None else present for present in presents]
            kept = pa.concat_arrays(masks).take(self.places)
            self.columns, self.places = self.columns.filter(kept), self.places.filter(kept)
            counts = reduce(pc.add, (pc.cast(mask, _SHORT) for mask in masks))
        if exists is not None:
            counts = pc.if_else(exists, counts, pa.scalar(0, _SHORT))
        self.offsets = pa.concat_arrays([pa.array([0], _SHORT), pc.cumulative_sum(counts)])
