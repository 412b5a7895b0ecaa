"""Kernels of images: present columns, differences, primary key updates, and filling in missing columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import from_buffers, non_null_values
from ggfmt.kernels import primitives
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType, either

_NULL = pa.scalar(None, pa.string())


def unless_all(mask: pa.BooleanArray) -> pa.BooleanArray | None:
    return None if mask.true_count == len(mask) else mask


def and_present(mask: pa.BooleanArray, column: ImageColumn) -> pa.BooleanArray:
    """Return where the mask is true and the image has the column."""
    return mask if column.present is None else pc.and_(mask, column.present)


def any_present(columns: Sequence[ImageColumn], rows: int) -> pa.BooleanArray:
    """Return in which of n rows the image has any of the columns."""
    found = pa.repeat(pa.scalar(False), rows)
    for column in columns:
        found = pa.repeat(pa.scalar(True), rows) if column.present is None else pc.or_(found, column.present)
    return found


def nonempty_before_images(
    op: pa.StringArray, exists: pa.BooleanArray, columns: Sequence[ImageColumn]
) -> pa.BooleanArray:
    """Return which operations have a before image, given where one `exists`. A before image of an update without
    columns does not count."""
    update = pc.equal(op, OpType.UPDATE.value)
    return pc.and_not(exists, pc.and_not(update, any_present(columns, len(op))))


def updates_from(batch: ChangeBatch) -> pa.BooleanArray:
    update = pc.equal(batch.op, OpType.UPDATE.value)
    return update if batch.before.exists is None else pc.and_(update, batch.before.exists)


def count_missing(where: pa.BooleanArray, column: ImageColumn, other: ImageColumn) -> int:
    """Count the rows of `where` in which a column is missing, but the other image has it."""
    if column.present is None:
        return 0
    return int(and_present(pc.and_not(where, column.present), other).true_count)


def differ(
    values: pa.StringArray, others: pa.StringArray, rows: tuple[pa.Int64Array, pa.Int64Array] | None = None
) -> pa.BooleanArray:
    """Return where two columns, or some rows of each, have different values. NULL equals only NULL."""
    bits = pa.py_buffer(primitives.differ(values, others, *(rows or ())))
    return from_buffers(pa.bool_(), len(values if rows is None else rows[0]), [None, bits])


def differs_or_missing(column: ImageColumn, other: ImageColumn) -> pa.BooleanArray:
    """Return where an image has a column and the other image lacks it or has another value."""
    unlike = differ(column.values, other.values)
    if other.present is not None:
        unlike = pc.or_(unlike, pc.invert(other.present))
    return and_present(unlike, column)


def with_nulls(column: ImageColumn) -> pa.StringArray:
    """Return the values of a column, with NULL where it is missing."""
    return column.values if column.present is None else pc.if_else(column.present, column.values, _NULL)


def complete_before_images(before: Image, after: Image, op: pa.StringArray) -> Image:
    """Complete before images that hold only the changed columns of an update by those of the after image."""
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
        unavailable = either(unchanged, new.unavailable, old.unavailable)
        columns.append(ImageColumn(values, unless_all(present), json=json, unavailable=unavailable))
    return Image(tuple(columns), before.exists)


def nulls_of_changes(
    before: Sequence[ImageColumn], after: Sequence[ImageColumn], updates: pa.BooleanArray
) -> tuple[ImageColumn, ...]:
    """Return the columns of after images, with NULL where an update lacks a column that changed: that its `before`
    image of changed columns has."""
    columns = []
    for old, new in zip(before, after, strict=True):
        if new.present is not None:
            new = replace(new, present=unless_all(pc.or_(new.present, and_present(updates, old))))
        columns.append(new)
    return tuple(columns)


def fill_missing(columns: tuple[ImageColumn, ...], rows: pa.BooleanArray | None = None) -> tuple[ImageColumn, ...]:
    """Return the columns with NULL where one is missing, in the given `rows` or in all rows."""
    if rows is None:
        return tuple(replace(column, present=None) for column in columns)
    return tuple(
        column if column.present is None else replace(column, present=pc.or_(column.present, rows))
        for column in columns
    )


def without_nulls(image: Image, before: Image | None, update: pa.BooleanArray) -> tuple[Image, list[int]]:
    """Return the image with its NULL columns made missing, and how many values each column lost in that way. With a
    `before` image, a NULL stays in the rows of `update` where the column was not NULL before, or was missing."""
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


def key_updates(batch: ChangeBatch) -> pa.BooleanArray | None:
    """Return which updates change the primary key, or None if no update does. An update changes the key if both images
    have a key column and its values differ. GoldenGate reads the type of the operation in the trail instead; files of
    changes have no such type."""
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
    """Replace each of `updates` by a delete of its before image and an insert of its after image. The second result is
    the row of the batch that each operation comes from."""
    rows: list[int] = []
    kinds: list[str] = []
    for row, (update, kind) in enumerate(zip(updates.to_pylist(), non_null_values(batch.op), strict=True)):
        kinds += (OpType.DELETE.value, OpType.INSERT.value) if update else (kind,)
        rows += (row, row) if update else (row,)
    taken = batch.take(pa.array(rows, pa.int64()))
    # Neither half is an update, so neither can be a key update.
    return replace(taken, op=pa.array(kinds, pa.string()), key_update=pa.repeat(pa.scalar(False), len(rows))), rows
