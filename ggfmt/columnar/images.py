"""Kernels of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from ggfmt import kernels
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import from_buffers, non_null_values
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType, either

# Kernels of images: where columns are there, where they differ, and how what is missing is filled in.

_NULL = pa.scalar(None, pa.string())


def unless_all(mask: pa.BooleanArray) -> pa.BooleanArray | None:
    """The mask, or None where it is true throughout."""
    return None if mask.true_count == len(mask) else mask


def and_present(mask: pa.BooleanArray, column: ImageColumn) -> pa.BooleanArray:
    """Where the mask is true and the column is there."""
    return mask if column.present is None else pc.and_(mask, column.present)


def any_present(columns: Sequence[ImageColumn], rows: int) -> pa.BooleanArray:
    """In which of n rows any of the columns is there."""
    found = pa.repeat(pa.scalar(False), rows)
    for column in columns:
        found = pa.repeat(pa.scalar(True), rows) if column.present is None else pc.or_(found, column.present)
    return found


def with_columns(op: pa.StringArray, exists: pa.BooleanArray, columns: Sequence[ImageColumn]) -> pa.BooleanArray:
    """Which operations have a before image, where that of an update without a column is none."""
    update = pc.equal(op, OpType.UPDATE.value)
    return pc.and_not(exists, pc.and_not(update, any_present(columns, len(op))))


def updates_from(batch: ChangeBatch) -> pa.BooleanArray:
    """Where an operation is an update with a before image."""
    update = pc.equal(batch.op, OpType.UPDATE.value)
    return update if batch.before.exists is None else pc.and_(update, batch.before.exists)


def count_missing(where: pa.BooleanArray, column: ImageColumn, other: ImageColumn) -> int:
    """In how many of some rows a column is missing that the other image has."""
    if column.present is None:
        return 0
    return int(and_present(pc.and_not(where, column.present), other).true_count)


def differ(values: pa.StringArray, others: pa.StringArray) -> pa.BooleanArray:
    """Where two columns have different values; NULL is like NULL alone."""
    if kernels.native is not None:
        try:
            bits = pa.py_buffer(kernels.native.differ(values, others))
            return from_buffers(pa.bool_(), len(values), [None, bits])
        except kernels.REFUSALS:
            pass
    both_null = pc.and_(values.is_null(), others.is_null())
    return pc.invert(pc.or_(pc.equal(values, others).fill_null(False), both_null))


def differs_or_missing(column: ImageColumn, other: ImageColumn) -> pa.BooleanArray:
    """Where a column is in one image and the other lacks it or has another value."""
    unlike = differ(column.values, other.values)
    if other.present is not None:
        unlike = pc.or_(unlike, pc.invert(other.present))
    return and_present(unlike, column)


def with_nulls(column: ImageColumn) -> pa.StringArray:
    """The values of a column, NULL where it is missing."""
    return column.values if column.present is None else pc.if_else(column.present, column.values, _NULL)


def overlaid(before: Image, after: Image, op: pa.StringArray) -> Image:
    """The before image, where that of an update has changed columns only: all others are as in the after image."""
    update = pc.equal(op, OpType.UPDATE.value)
    if before.exists is not None:
        update = pc.and_(update, before.exists)
    if not update.true_count:
        return before
    columns = []
    for old, new in zip(before.columns, after.columns, strict=True):
        if old.present is None:
            columns.append(old)
            continue
        unchanged = pc.and_(update, pc.invert(old.present))
        values = pc.if_else(unchanged, new.values, old.values)
        present = pc.or_(old.present, and_present(unchanged, new))
        json = either(unchanged, new.json, old.json)
        columns.append(ImageColumn(values, None if present.true_count == len(present) else present, json=json))
    return Image(tuple(columns), before.exists)


def filled(columns: tuple[ImageColumn, ...], rows: pa.BooleanArray | None = None) -> tuple[ImageColumn, ...]:
    """The columns with NULL where one is missing, in some `rows` or in all."""
    if rows is None:
        return tuple(replace(column, present=None) for column in columns)
    return tuple(
        column if column.present is None else replace(column, present=pc.or_(column.present, rows))
        for column in columns
    )


def without_nulls(image: Image, before: Image | None, update: pa.BooleanArray) -> tuple[Image, list[int]]:
    """The image with columns that are NULL missing, and for each column how often that is so.

    With a `before` image, a NULL stays in the rows of `update` where the column was not NULL before, or was not there.
    """
    columns, counts = [], []
    for place, column in enumerate(image.columns):
        left_out = and_present(column.values.is_null(), column)
        if image.exists is not None:
            left_out = pc.and_(left_out, image.exists)
        if before is not None:
            old = before.columns[place]
            was_null = and_present(old.values.is_null(), old)
            if before.exists is not None:
                was_null = pc.and_(was_null, before.exists)
            left_out = pc.and_not(left_out, pc.and_not(update, was_null))
        counts.append(left_out.true_count)
        there = pc.invert(left_out)
        present = there if column.present is None else pc.and_(column.present, there)
        columns.append(replace(column, present=unless_all(present)))
    return Image(tuple(columns), image.exists), counts


# Primary key updates: found, and handled as `pkUpdateHandling` says, before a row format sees them.


def key_updates(batch: ChangeBatch) -> pa.BooleanArray | None:
    """Which updates change the primary key: a key column is present in both images and differs. None for none.

    GoldenGate goes by the operation's type in the trail; files of changes have no such type.
    """
    changed = batch.key_update
    if changed is None and batch.before.columns is not batch.after.columns:
        for index in batch.table.key_indices:
            old, new = batch.before.columns[index], batch.after.columns[index]
            differs = differ(old.values, new.values)
            for side in (old, new):
                if side.present is not None:
                    differs = pc.and_(differs, side.present)
            changed = differs if changed is None else pc.or_(changed, differs)
    if changed is None:
        return None
    for image in (batch.before, batch.after):
        if image.exists is not None and batch.key_update is None:
            changed = pc.and_(changed, image.exists)
    changed = pc.and_(changed, pc.equal(batch.op, OpType.UPDATE.value))
    return changed if changed.true_count else None


def delete_insert(batch: ChangeBatch, updates: pa.BooleanArray) -> tuple[ChangeBatch, list[int]]:
    """The batch with each of `updates` made two operations, a delete of the before image and an insert of the after;
    and the row of the batch that each comes from."""
    rows: list[int] = []
    kinds: list[str] = []
    for row, (update, kind) in enumerate(zip(updates.to_pylist(), non_null_values(batch.op), strict=True)):
        kinds += (OpType.DELETE.value, OpType.INSERT.value) if update else (kind,)
        rows += (row, row) if update else (row,)
    taken = batch.take(pa.array(rows, pa.int64()))
    # Neither half is an update any more, so that nothing more is to be decided of its key.
    return replace(taken, op=pa.array(kinds, pa.string()), key_update=pa.repeat(pa.scalar(False), len(rows))), rows
