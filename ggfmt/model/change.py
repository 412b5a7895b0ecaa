"""Operations in columnar form: a batch holds many operations of one table definition.

A column has three states in an image. Where `present` is false it is *missing* (not in the image); where it is true
and the value is null it is *NULL*; otherwise it has the value, which is the text that the source wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, string_maps
from ggfmt.model.table import TableDef


class OpType(str, Enum):
    INSERT = "I"
    UPDATE = "U"
    DELETE = "D"
    TRUNCATE = "T"


OP_TYPES = tuple(op.value for op in OpType)
_NOTHING = pa.scalar(None, pa.string())


def without_empty(texts: pa.StringArray) -> pa.StringArray:
    """Metadata, null where the text is empty: formats without a null write an empty text for what there is not."""
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, _NOTHING, texts) if pc.any(empty).as_py() else texts


@dataclass(frozen=True, eq=False)
class ImageColumn:
    """One column of an image over n operations: `values` has n texts; `present` None means present in every one.

    Where `json` is true the source had a JSON value that is no string, such as an object, and the text is that value;
    None: nowhere. A format that has JSON may show it as it was, though the column is of texts.
    """

    values: pa.StringArray
    present: pa.BooleanArray | None = None
    json: pa.BooleanArray | None = field(default=None, kw_only=True)

    def take(self, indices: pa.Array[Any]) -> ImageColumn:
        present, json = (None if mask is None else mask.take(indices) for mask in (self.present, self.json))
        return ImageColumn(self.values.take(indices), present, json=json)


@dataclass(frozen=True, eq=False)
class Image:
    """The before or after images of n operations; `columns` in table order.

    Where `exists` is false the operation has no such image and its columns mean nothing there; None means that every
    operation has one.
    """

    columns: tuple[ImageColumn, ...]
    exists: pa.BooleanArray | None = None

    def take(self, indices: pa.Array[Any]) -> Image:
        exists = None if self.exists is None else self.exists.take(indices)
        return Image(tuple(column.take(indices) for column in self.columns), exists)

    def exists_mask(self, length: int) -> pa.BooleanArray:
        return pa.repeat(pa.scalar(True), length) if self.exists is None else self.exists


@dataclass(frozen=True, eq=False)
class ChangeBatch:
    """n operations of one table definition, in input order.

    op        n texts of `OP_TYPES`, never null
    op_ts     n texts, null where the source has none; an empty text is none
    position  as `op_ts`
    tokens    n maps from token name to text, or None when no operation has tokens or nobody asked for them
    ordinal   n int64, the place of each operation's record among the records of the split, counted from 0
    key_update  n booleans, true where an update changes the primary key, when the reader has decided that; None leaves
              the decision to a comparison of the images
    """

    table: TableDef
    op: pa.StringArray
    op_ts: pa.StringArray
    position: pa.StringArray
    before: Image
    after: Image
    ordinal: pa.Int64Array
    tokens: StringMapArray | None = None
    key_update: pa.BooleanArray | None = None

    def __post_init__(self) -> None:
        for name in ("op_ts", "position"):
            texts = getattr(self, name)
            given = without_empty(texts)
            if given is not texts:
                object.__setattr__(self, name, given)

    def __len__(self) -> int:
        return len(self.op)

    def take(self, indices: pa.Array[Any]) -> ChangeBatch:
        """The operations at `indices` (int64), which may repeat and leave out operations."""
        before, after = self.before.take(indices), self.after.take(indices)
        if self.before.columns is self.after.columns:  # they share what belongs to either
            after = Image(before.columns, after.exists)
        return replace(
            self,
            op=self.op.take(indices),
            op_ts=self.op_ts.take(indices),
            position=self.position.take(indices),
            before=before,
            after=after,
            ordinal=self.ordinal.take(indices),
            tokens=None if self.tokens is None else self.tokens.take(indices),
            key_update=None if self.key_update is None else self.key_update.take(indices),
        )

    def row_image(self) -> Image:
        """The one image that a row format shows: the before image of a delete, else the after image.

        A truncate has neither, so that all of its columns are missing.
        """
        if self.before.columns is self.after.columns:
            exists = pc.or_(self.before.exists_mask(len(self)), self.after.exists_mask(len(self)))
            return Image(self.after.columns, exists)
        delete = pc.equal(self.op, OpType.DELETE.value)
        count = len(self)
        columns = []
        for old, new in zip(self.before.columns, self.after.columns, strict=True):
            present = None
            if old.present is not None or new.present is not None:
                everywhere = pa.scalar(True)
                present = pc.if_else(
                    delete,
                    everywhere if old.present is None else old.present,
                    everywhere if new.present is None else new.present,
                )
            json = either(delete, old.json, new.json)
            columns.append(ImageColumn(pc.if_else(delete, old.values, new.values), present, json=json))
        exists = pc.if_else(delete, self.before.exists_mask(count), self.after.exists_mask(count))
        return Image(tuple(columns), exists)


def in_order(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    """Batches of one definition as one, in the order of their ordinals; operations of one record are in one batch."""
    if len(batches) == 1:
        return batches[0]
    ordinal = pa.concat_arrays([batch.ordinal for batch in batches])
    before = _images_of([batch.before for batch in batches], batches)
    after = _images_of([batch.after for batch in batches], batches)
    if all(batch.before.columns is batch.after.columns for batch in batches):
        after = Image(before.columns, after.exists)
    key_update = _masks([batch.key_update for batch in batches], batches, False)
    together = replace(
        batches[0],
        op=pa.concat_arrays([batch.op for batch in batches]),
        op_ts=pa.concat_arrays([batch.op_ts for batch in batches]),
        position=pa.concat_arrays([batch.position for batch in batches]),
        before=before,
        after=after,
        ordinal=ordinal,
        tokens=_tokens_of(batches),
        key_update=key_update,
    )
    if all(one.ordinal[-1].as_py() < next.ordinal[0].as_py() for one, next in pairwise(batches)):
        return together
    return together.take(pc.array_sort_indices(ordinal))


def _images_of(images: Sequence[Image], batches: Sequence[ChangeBatch]) -> Image:
    columns = tuple(
        ImageColumn(
            pa.concat_arrays([column.values for column in same]),
            _masks([column.present for column in same], batches, True),
            json=_masks([column.json for column in same], batches, False),
        )
        for same in zip(*(image.columns for image in images), strict=True)
    )
    return Image(columns, _masks([image.exists for image in images], batches, True))


def _tokens_of(batches: Sequence[ChangeBatch]) -> StringMapArray | None:
    """The tokens of batches one after the other: those of a batch without any are empty maps."""
    if all(batch.tokens is None for batch in batches):
        return None
    return pa.concat_arrays([no_tokens(len(batch)) if batch.tokens is None else batch.tokens for batch in batches])


def no_tokens(rows: int) -> StringMapArray:
    """n empty maps."""
    nothing = pa.array([], pa.string())
    return string_maps(pa.repeat(pa.scalar(0, pa.int32()), rows + 1), nothing, nothing)


def _masks(
    masks: Sequence[pa.BooleanArray | None], batches: Sequence[ChangeBatch], lacking: bool
) -> pa.BooleanArray | None:
    """The masks of batches one after the other; `lacking` is what one that is None says everywhere."""
    if all(mask is None for mask in masks):
        return None
    whole = [
        pa.repeat(pa.scalar(lacking), len(batch)) if mask is None else mask
        for mask, batch in zip(masks, batches, strict=True)
    ]
    return pa.concat_arrays(whole)


def either(
    where: pa.BooleanArray, one: pa.BooleanArray | None, other: pa.BooleanArray | None
) -> pa.BooleanArray | None:
    """One mask where something is true, elsewhere the other; None is false everywhere."""
    if one is None and other is None:
        return None
    no = pa.scalar(False)
    return pc.if_else(where, no if one is None else one, no if other is None else other)
