"""Primary key updates: found, and handled as `pkUpdateHandling` says, before a row format sees them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.images import differ
from ggfmt.model.change import ChangeBatch, OpType


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
