"""How the images of a dialect become rows: what columns mean that they lack, and in what form values are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.columns import JsonColumn
from ggfmt.columnar.images import and_present, fill_missing, unless_all
from ggfmt.columnar.strings import Kernel
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import ABSENT_NULL
from ggfmt.formats.api.reading import Remark
from ggfmt.formats.json import shapes
from ggfmt.formats.json.shapes import ColumnShape
from ggfmt.formats.json.values import Text, text_or_none
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind, TableDef

# Converts a column from the encoding of the source to that of the model. Returns the column and the rows that it cannot
# convert. The callable may have an attribute `help`: it says what the user can do about these rows.
Convert = Callable[[ImageColumn], tuple[ImageColumn, Sequence[int]]]
Columns = tuple[ImageColumn, ...]


class TextImage(dict[str, "Text | None"]):
    """An image as texts: None for NULL, and no item for a missing column. From JSON values, `text_image` makes it."""

    __slots__ = ()


def text_image(values: Mapping[str, Raw | Text | None]) -> TextImage:
    """Return an image. Of JSON values, null is NULL, and an absent member (`ABSENT`) is a missing column."""
    image = TextImage()
    for name, value in values.items():
        if not isinstance(value, Raw):
            image[name] = value
        elif bytes(value):
            image[name] = text_or_none(value)
    return image


JsonImage = bytes | Raw  # a JSON object, whose null is NULL and whose absent members are missing columns
Images = tuple[JsonImage | TextImage | None, JsonImage | TextImage | None]  # before and after an operation


def converting(kernel: Kernel) -> Convert:
    """Return a conversion that applies a kernel to the values of a column."""

    def convert(column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, bad = kernel(column.values)
        return ImageColumn(values, column.present), bad

    return convert


def json_strings(column: ImageColumn) -> pa.BooleanArray:
    """Return which values of a column were JSON strings."""
    if not isinstance(column, JsonColumn):
        return column.values.is_valid()
    no = pa.repeat(pa.scalar(False), len(column.values))
    return no if column.quoted is None else pc.fill_null(column.quoted, False)


def completed_after_images(before: Columns, after: Columns, rows: pa.BooleanArray) -> Columns:
    """Return the columns of after images, with the values before the operation in the `rows` where one is missing."""
    return tuple(_completed_column(new, old, rows) for new, old in zip(after, before, strict=False)) or after


def _completed_column(new: ImageColumn, old: ImageColumn, rows: pa.BooleanArray) -> ImageColumn:
    """Return a column of after images, with the values before in those of the `rows` in which it is missing."""
    if new.present is None:
        return new
    where = and_present(pc.and_not(rows, new.present), old)
    if not where.true_count:
        return new
    values, present = pc.if_else(where, old.values, new.values), unless_all(pc.or_(new.present, where))
    if not isinstance(new, JsonColumn) and not isinstance(old, JsonColumn):
        return ImageColumn(values, present)
    return JsonColumn(values, present, quoted=pc.if_else(where, json_strings(old), json_strings(new)))


class ImageRules:
    """The part of a dialect that says what its images contain. A method has the rule of most dialects.

    overlay    the before image of an update has only the changed columns; the other columns equal the after image
    empty_old_is_none  if the before image of an update has no columns, the update has no before image
    absent_is_null  images of whole rows omit NULL: if such an image lacks a column, the column is NULL
    by_kind    conversions by kind of column; columns of other kinds contain plain texts
    keeps_json  kinds of columns in which ggfmt distinguishes a JSON number or boolean from a string with the same
               text. This applies only if no record describes the table.
    keeps_nested  in text columns, ggfmt distinguishes a JSON object or array from a string with the same text
    scalars_only  the source never writes an object as the value of a column
    """

    overlay: ClassVar[bool] = False
    empty_old_is_none: ClassVar[bool] = False
    by_kind: ClassVar[Mapping[Kind, Convert]] = {}
    keeps_json: ClassVar[frozenset[Kind]] = frozenset()
    keeps_nested: ClassVar[bool] = True
    scalars_only: ClassVar[bool] = False

    def __init__(self, options: Any) -> None:
        self.absent_is_null = getattr(options, "absent_means", None) == ABSENT_NULL

    # Which columns an image has

    def is_partial(self, op: str) -> bool:
        """Return whether before images of operations of a type have only some columns; the others are missing."""
        return self.overlay and op == "U"

    def whole_before_images(self, op: pa.StringArray) -> pa.BooleanArray | None:
        """Return which operations have the whole row in their before image, if they have one; None: all."""
        return pc.equal(op, "D") if self.is_partial("U") else None

    def needs_before_image(self, op: str, key_updates: bool) -> bool:
        """Return whether the row of an operation, or of `key_updates` its change of key, needs the before image."""
        return op == "D" or (op == "U" and key_updates)

    def meaningful_columns(
        self, table: TableDef, before: Columns, rows: pa.BooleanArray
    ) -> tuple[Columns, Mapping[int, Diagnostic]]:
        """Return the columns, missing in those of the `rows`, before images, that do not show them; and problems."""
        return before, {}

    def shown_columns(
        self, before: Columns, after: Columns, op: pa.StringArray, has_before: pa.BooleanArray
    ) -> Columns:
        """Return the columns of after images with NULL where only the image before an update shows that."""
        return after

    def compared_columns(self, before: Columns, after: Columns, both: pa.BooleanArray) -> tuple[Columns, Columns]:
        """Return the columns of both images to compare keys, in the operations that have `both`."""
        if not self.absent_is_null:
            return before, after
        return before if self.is_partial("U") else fill_missing(before, both), fill_missing(after, both)

    def remarks(self, table: str, after: Columns, rows: pa.BooleanArray) -> Mapping[Remark, int]:
        """Return what to say about the after images of some rows, with the number of operations."""
        return {}

    # What values are

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        """Return one conversion per column for tables that records do not describe; None for plain texts."""
        return tuple(self.by_kind.get(column.type.kind) for column in table.columns)

    def shape_of(self, value: Any) -> ColumnShape:
        """Return what a decoded JSON value shows of its column."""
        return shapes.shape_of(value)

    @classmethod
    def takes_objects(cls, members: tuple[str, ...]) -> bool:
        """Return whether objects with these members, sorted, are values as they are."""
        return False

    def refuses_objects(self, table: str, described: bool) -> bool:
        """Return whether an object is no value of a column; `described`: a record describes the table."""
        return self.scalars_only
