"""The images in columns of frames, maps or structs, as images of operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.as_text import as_text
from ggfmt.columnar.images import unless_all
from ggfmt.frames.shapes import TEXT
from ggfmt.model.change import Image, ImageColumn
from ggfmt.model.table import TableDef


@dataclass
class DecodedImage:
    """An image of n rows, and what is wrong with it: by column the rows that have one that the table lacks, those
    that have one twice, and those that have a value where it is said to be missing."""

    image: Image
    unknown: dict[str, list[int]] = field(default_factory=dict)
    twice: dict[str, list[int]] = field(default_factory=dict)
    contradicting: dict[str, list[int]] = field(default_factory=dict)


class MapImages:
    """The images of n rows that are maps from names to texts."""

    def __init__(self, maps: pa.MapArray) -> None:
        self._length = len(maps)
        self._every = pa.array(range(len(maps)), pa.int64())
        maps = maps.take(self._every)  # so that nulls and what was cut off have no entries
        keys = pc.fill_null(maps.keys, "")
        encoded = keys.dictionary_encode()
        self.names: list[str] = encoded.dictionary.to_pylist()
        self._entries: dict[str, pa.Int64Array] = rows_by_value(encoded)
        self._items = maps.items
        self._exists = maps.is_valid()
        self._row_of = pc.list_parent_indices(pa.ListArray.from_arrays(maps.offsets, keys)).cast(pa.int64())

    def of(self, table: TableDef) -> DecodedImage:
        exists = unless_all(self._exists)
        found = DecodedImage(Image((), exists))
        for name, places in self._entries.items():
            rows = self._row_of.take(places)
            if name not in table.column_names:
                found.unknown[name] = pc.unique(rows).to_pylist()
            elif not rows.equals(self._every) and len(rows) > len(pc.unique(rows)):
                counts = pc.value_counts(rows)
                found.twice[name] = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist()
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
    """A column that no row has."""
    return ImageColumn(pa.nulls(length, TEXT), pa.repeat(pa.scalar(False), length))


def struct_image(structs: pa.StructArray, without: pa.ListArray, table: TableDef) -> DecodedImage:
    """The images of n rows that are structs; `without` are the names of the columns that each row lacks."""
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
            wrong = pc.indices_nonzero(pc.and_not(texts.is_valid(), present)).to_pylist()
            if wrong:
                found.contradicting[name] = wrong
        columns[name] = ImageColumn(texts, unless_all(present))
        if name not in table.column_names and present.true_count:
            found.unknown[name] = pc.indices_nonzero(present).to_pylist()
    for name, rows in gone.items():  # no column of the frame: what is missing may be one of the table
        if name not in table.column_names:
            found.unknown[name] = rows.to_pylist()
    found.image = Image(tuple(columns.get(name) or missing(length) for name in table.column_names), exists)
    return found


def rows_by_value(values: pa.DictionaryArray) -> dict[str, pa.Int64Array]:
    """For each of n values, in the order in which they are met, the rows that have it; none for those that are null."""
    names = values.dictionary.to_pylist()
    codes = values.indices
    if len(names) == 1 and not codes.null_count:
        return {names[0]: pa.array(range(len(codes)), pa.int64())}
    order = pc.sort_indices(codes).cast(pa.int64())  # which is stable
    counts = {item["values"]: item["counts"] for item in pc.value_counts(codes).to_pylist()}
    start, rows = 0, {}
    for code, name in enumerate(names):
        count = counts.get(code, 0)
        if count:
            rows[name] = order.slice(start, count)
        start += count
    return rows


def _rows_by_name(lists: pa.ListArray) -> dict[str, pa.Int64Array]:
    """By name the rows whose list has it."""
    if lists.null_count == len(lists):
        return {}
    names = pc.list_flatten(lists)
    rows = pc.list_parent_indices(lists).cast(pa.int64())
    return {name: rows.filter(pc.equal(names, name)) for name in pc.unique(names.drop_null()).to_pylist()}


def first_seen(images: Sequence[MapImages]) -> list[str]:
    """The names in maps in the order in which they are met, those of the last images first."""
    return list(dict.fromkeys(name for image in reversed(images) for name in image.names))
