"""Operations in columns: a batch holds many operations of one table definition.

A column of an image has three states. Where `present` is false, it is *missing*: the image does not contain it. Where
`present` is true and the value is null, it is *NULL*. Otherwise its value is the text that the source wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, string_maps
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.model.table import TableDef


class OpType(str, Enum):
    INSERT = "I"
    UPDATE = "U"
    DELETE = "D"
    TRUNCATE = "T"


_A = TypeVar("_A", bound="pa.Array[Any]")
OP_TYPES = tuple(op.value for op in OpType)
PASSING = "?"  # an origin that ends at any time: numbers of one process
_NOTHING, _EMPTY = pa.scalar(None, pa.string()), pa.scalar("", pa.string())


def without_empty(texts: pa.StringArray) -> pa.StringArray:
    """Return metadata with null for empty texts, which formats without a null write for absent metadata."""
    if pc.index(texts, _EMPTY).as_py() < 0:
        return texts
    return pc.if_else(pc.equal(texts, _EMPTY), _NOTHING, texts)


def _taken(part: Any, indices: pa.Array[Any]) -> Any:
    if part is None:
        return None
    return part.filter(indices) if isinstance(indices, pa.BooleanArray) else part.take(indices)


@dataclass(frozen=True, eq=False)
class ImageColumn:
    """A column of an image over n operations: n texts in `values`. `present` None: no image lacks the column.

    Where `json` is true, the source had a JSON value other than a string, such as an object, and the text is that
    value. None: nowhere. A JSON format may write the value as it was, even if the column holds texts.

    Where `unavailable` is true, the source says that the row has a value which the message does not show; `present` is
    false there. None: nowhere.
    """

    values: pa.StringArray
    present: pa.BooleanArray | None = None
    json: pa.BooleanArray | None = field(default=None, kw_only=True)
    unavailable: pa.BooleanArray | None = field(default=None, kw_only=True)

    def take(self, indices: pa.Array[Any]) -> ImageColumn:
        present, json, unavailable = (_taken(mask, indices) for mask in (self.present, self.json, self.unavailable))
        return ImageColumn(_taken(self.values, indices), present, json=json, unavailable=unavailable)


@dataclass(frozen=True, eq=False)
class Image:
    """The before or after images of n operations, with `columns` in table order.

    Where `exists` is false, the operation has no such image, and the columns mean nothing. None: all operations have
    one.
    """

    columns: tuple[ImageColumn, ...]
    exists: pa.BooleanArray | None = None

    def take(self, indices: pa.Array[Any]) -> Image:
        return Image(tuple(column.take(indices) for column in self.columns), _taken(self.exists, indices))

    def exists_mask(self, length: int) -> pa.BooleanArray:
        return pa.repeat(pa.scalar(True), length) if self.exists is None else self.exists


@dataclass(frozen=True, eq=False)
class ChangeBatch:
    """n operations of one table definition, in input order.

    op        n texts of `OP_TYPES`, never null
    op_ts     n texts, null if the source has none; an empty text becomes null
    position  like `op_ts`
    tokens    n maps from token name to text, or None if no operation has tokens or no formatter needs them
    ordinal   n int64: the number of each operation's record in the split, counted from 0
    key_update  n booleans, true where an update changes the primary key, if the reader decided that; None: a comparison
              of the images decides
    transaction  n texts: the id of each operation's transaction in the source, null if the source has none; an empty
              text becomes null. None: the format has no such ids, or no one requested them
    origin    n texts: the log of each position, such as a server; null if it is unknown; `PASSING` for numbers of a
              process, which start again. Positions of two origins do not compare. None: as of `transaction`
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
    transaction: pa.StringArray | None = None
    origin: pa.StringArray | None = None

    def __post_init__(self) -> None:
        for name in ("op_ts", "position", "transaction", "origin"):
            texts = getattr(self, name)
            given = None if texts is None else without_empty(texts)
            if given is not texts:
                object.__setattr__(self, name, given)

    def __len__(self) -> int:
        return len(self.op)

    def take(self, indices: pa.Array[Any]) -> ChangeBatch:
        """Return the operations at `indices` (int64), in which operations may repeat or be omitted; or those where a
        mask is true."""
        before, after = self.before.take(indices), self.after.take(indices)
        if self.before.columns is self.after.columns:  # both images share the columns
            after = Image(before.columns, after.exists)
        names = ("op", "op_ts", "position", "ordinal", "tokens", "key_update", "transaction", "origin")
        parts: dict[str, Any] = {name: _taken(getattr(self, name), indices) for name in names}
        return replace(self, before=before, after=after, **parts)

    def row_image(self) -> Image:
        """Return the before image of a delete, else the after image; columns of a truncate are missing."""
        if self.before.columns is self.after.columns:
            exists = pc.or_(self.before.exists_mask(len(self)), self.after.exists_mask(len(self)))
            return Image(self.after.columns, exists)
        delete = pc.equal(self.op, OpType.DELETE.value)
        pairs = zip(self.before.columns, self.after.columns, strict=True)
        exists = pc.if_else(delete, self.before.exists_mask(len(self)), self.after.exists_mask(len(self)))
        return Image(tuple(_chosen(delete, old, new) for old, new in pairs), exists)

    def row_column(self, place: int) -> ImageColumn:
        """Return a column of the row image."""
        old, new = self.before.columns[place], self.after.columns[place]
        return new if old is new else _chosen(pc.equal(self.op, OpType.DELETE.value), old, new)


def _chosen(where: pa.BooleanArray, one: ImageColumn, other: ImageColumn) -> ImageColumn:
    """Return a column with the values of one column where a mask is true, else those of the other."""
    present = None
    if one.present is not None or other.present is not None:
        masks = (pa.scalar(True) if column.present is None else column.present for column in (one, other))
        present = pc.if_else(where, *masks)
    json = either(where, one.json, other.json)
    unavailable = either(where, one.unavailable, other.unavailable)
    return ImageColumn(pc.if_else(where, one.values, other.values), present, json=json, unavailable=unavailable)


def merge_in_order(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    """Merge batches of one definition by their ordinals. A single batch has all operations of a record."""
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
        tokens=_merged([batch.tokens for batch in batches], batches, no_tokens),
        key_update=key_update,
        transaction=_merged([batch.transaction for batch in batches], batches, _no_texts),
        origin=_merged([batch.origin for batch in batches], batches, _no_texts),
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
            unavailable=_masks([column.unavailable for column in same], batches, False),
        )
        for same in zip(*(image.columns for image in images), strict=True)
    )
    return Image(columns, _masks([image.exists for image in images], batches, True))


def _no_texts(rows: int) -> pa.StringArray:
    return pa.nulls(rows, pa.string())


def no_tokens(rows: int) -> StringMapArray:
    nothing = pa.array([], pa.string())
    return string_maps(pa.repeat(pa.scalar(0, pa.int32()), rows + 1), nothing, nothing)


def _masks(
    masks: Sequence[pa.BooleanArray | None], batches: Sequence[ChangeBatch], lacking: bool
) -> pa.BooleanArray | None:
    return _merged(masks, batches, lambda rows: pa.repeat(pa.scalar(lacking), rows))


def _merged(parts: Sequence[_A | None], batches: Sequence[ChangeBatch], lacking: Callable[[int], _A]) -> _A | None:
    """Merge a part of all batches; `lacking` makes that of a batch without it, by its number of rows."""
    if all(part is None for part in parts):
        return None
    whole = [lacking(len(batch)) if part is None else part for part, batch in zip(parts, batches, strict=True)]
    return pa.concat_arrays(whole)


def either(
    where: pa.BooleanArray, one: pa.BooleanArray | None, other: pa.BooleanArray | None
) -> pa.BooleanArray | None:
    """Choose between masks by a condition. None is false in all rows."""
    if one is None and other is None:
        return None
    no = pa.scalar(False)
    return pc.if_else(where, no if one is None else one, no if other is None else other)
