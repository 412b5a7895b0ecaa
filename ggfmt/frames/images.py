"""Images between operations and frames: the maps and structs of a frame, and the columns of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, counts_by_value, list_array, non_null_values, string_maps
from ggfmt.columnar.images import unless_all, with_nulls
from ggfmt.columnar.typed import as_text, typed_values
from ggfmt.dataclasses import dataclass, field
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.shapes import NAMES, TEXTS
from ggfmt.model.change import Image, ImageColumn
from ggfmt.model.table import TableDef

_NO_TEXT = pa.scalar(None, TEXT)
_NOTHING = pa.array([], TEXT)
_LONG, _SHORT = pa.int64(), pa.int32()

Unshown = Callable[[int, str, pa.DataType, str], Exception]  # by row, column, type and text


def image_maps(image: Image, names: Sequence[str], rows: int) -> StringMapArray:
    """Return n maps from the names of present columns to their values; null if there is no image."""
    if image.exists is not None and not image.exists.true_count:
        return pa.nulls(rows, TEXTS)
    presents = [column.present for column in image.columns]
    turns = _InterleavedColumns(presents, image.exists, rows)
    values = pa.concat_arrays([_NOTHING, *(column.values for column in image.columns)]).take(turns.places)
    keys = pa.array(names, TEXT).take(turns.columns)
    return string_maps(turns.offsets, keys, values, TEXTS, turns.nowhere)


def image_structs(image: Image, table: TableDef, asked: pa.StructType, rows: int, unshown: Unshown) -> pa.StructArray:
    """Return n structs of the requested columns: null if there is no image, with nulls for missing columns. Raises: the
    error that `unshown` makes of the first value that does not fit its type."""
    places = {name: index for index, name in enumerate(table.column_names)}
    fields = list(asked)
    arrays = []
    for column in fields:
        index = places.get(column.name)
        if index is None:
            arrays.append(pa.nulls(rows, column.type))
            continue
        texts = with_nulls(image.columns[index])
        if image.exists is not None:
            texts = pc.if_else(image.exists, texts, _NO_TEXT)
        values, wrong = typed_values(texts, column.type)
        if wrong:
            raise unshown(wrong[0], column.name, column.type, texts[wrong[0]].as_py())
        arrays.append(values)
    mask = None if image.exists is None else pc.invert(image.exists)
    if not fields:  # a struct without fields takes its length only from the mask
        mask = pa.repeat(pa.scalar(False), rows) if mask is None else mask
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def missing_names(image: Image, table: TableDef, asked: Sequence[str], rows: int) -> pa.ListArray[Any]:
    """Return n lists of the requested names that are missing; null if none is missing, or if there is no image."""
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
    """Values of some columns of n rows, row by row, for lists that have an item for each present value.

    - `presents`: where the columns have a value, None for everywhere.
    - `exists`: which rows have a list, None for all.
    - `columns`: the column of each item.
    - `places`: the place of each item in the concatenation of all columns.
    - `offsets`: where the lists start among the items.
    - `nowhere`: which lists are null, None for none.
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


# From frames to operations: maps and structs in the columns of frames become images.


@dataclass
class DecodedImage:
    """An image of n rows, and its problems, by column: rows with a column that the table lacks, rows that have it
    twice, and rows with a value although the column is listed as missing."""

    image: Image
    unknown: dict[str, list[int]] = field(default_factory=dict)
    twice: dict[str, list[int]] = field(default_factory=dict)
    contradicting: dict[str, list[int]] = field(default_factory=dict)


class MapImages:
    def __init__(self, maps: StringMapArray) -> None:
        self._length = len(maps)
        self._every = pa.array(range(len(maps)), pa.int64())
        maps = maps.take(self._every)  # so that nulls and slices have no entries
        keys = pc.fill_null(as_strings(maps.keys), "")
        encoded = keys.dictionary_encode()
        self.names: list[str] = non_null_values(as_strings(encoded.dictionary))
        self._entries: dict[str, pa.Int64Array] = rows_by_value(encoded)
        self._items = as_strings(maps.items)
        self._exists = maps.is_valid()
        self._row_of = pc.list_parent_indices(list_array(maps.offsets, keys))

    def of(self, table: TableDef) -> DecodedImage:
        exists = unless_all(self._exists)
        found = DecodedImage(Image((), exists))
        for name, places in self._entries.items():
            rows = self._row_of.take(places)
            if name not in table.column_names:
                found.unknown[name] = non_null_values(pc.unique(rows))
            elif not rows.equals(self._every) and len(rows) > len(pc.unique(rows)):
                counts = pc.value_counts(rows)
                twice = pc.greater(counts.field("counts"), 1)
                found.twice[name] = non_null_values(counts.field("values").filter(twice))
        columns = (self._column(self._entries.get(name)) for name in table.column_names)
        found.image = Image(tuple(columns), exists)
        return found

    def _column(self, entries: pa.Int64Array | None) -> ImageColumn:
        if entries is None:
            return missing(self._length)
        rows = self._row_of.take(entries)
        if rows.equals(self._every):
            return ImageColumn(self._items.take(entries))
        found = entries.take(pc.index_in(self._every, value_set=rows))
        return ImageColumn(self._items.take(found), found.is_valid())


def missing(length: int) -> ImageColumn:
    return ImageColumn(pa.nulls(length, TEXT), pa.repeat(pa.scalar(False), length))


def struct_image(structs: pa.StructArray, without: pa.ListArray[Any], table: TableDef) -> DecodedImage:
    """Return the images of n rows that are structs. `without`: the names of the columns that each row lacks."""
    length = len(structs)
    exists = unless_all(structs.is_valid())
    gone = _rows_by_name(without)
    values = dict(zip((item.name for item in structs.type), structs.flatten(), strict=True))
    found = DecodedImage(Image((), exists))
    columns = {}
    for name, array in values.items():
        texts, rows, present = as_text(array), gone.pop(name, None), structs.is_valid()
        if rows is not None:
            present = pc.and_not(present, pc.is_in(pa.array(range(length), pa.int64()), value_set=rows))
            wrong = non_null_values(pc.indices_nonzero(pc.and_not(texts.is_valid(), present)))
            if wrong:
                found.contradicting[name] = wrong
        columns[name] = ImageColumn(texts, unless_all(present))
        if name not in table.column_names and present.true_count:
            found.unknown[name] = non_null_values(pc.indices_nonzero(present))
    for name, rows in gone.items():  # not a column of the frame: a missing column may be one of the table
        if name not in table.column_names:
            found.unknown[name] = non_null_values(rows)
    found.image = Image(tuple(columns.get(name) or missing(length) for name in table.column_names), exists)
    return found


def rows_by_value(values: pa.DictionaryArray[Any, Any]) -> dict[str, pa.Int64Array]:
    names = non_null_values(as_strings(values.dictionary))
    codes = values.indices
    if len(names) == 1 and not codes.null_count:
        return {names[0]: pa.array(range(len(codes)), pa.int64())}
    order = pc.cast(pc.sort_indices(codes), pa.int64())  # a stable sort
    counts = counts_by_value(codes)
    start, rows = 0, {}
    for code, name in enumerate(names):
        count = counts.get(code, 0)
        if count:
            rows[name] = order.slice(start, count)
        start += count
    return rows


def _rows_by_name(lists: pa.ListArray[Any]) -> dict[str, pa.Int64Array]:
    if lists.null_count == len(lists):
        return {}
    names = as_strings(pc.list_flatten(lists))
    rows = pc.list_parent_indices(lists)
    return {name: rows.filter(pc.equal(names, name)) for name in non_null_values(pc.unique(names.drop_null()))}


def first_seen(images: Sequence[MapImages]) -> list[str]:
    """Return the names in maps in order of first appearance, those of the last images first."""
    return list(dict.fromkeys(name for image in reversed(images) for name in image.names))
