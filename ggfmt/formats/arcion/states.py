"""Images as Arcion shows them: values of all columns, NULL where there is none, and states that say where one is."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.model.change import ChangeBatch, Image

_STATES = pa.array(["0", "1", "2", "3"], pa.string())


def shown(image: Image) -> list[pa.StringArray]:
    """For each column n values, NULL where the column or the image is not there."""
    columns = []
    for column in image.columns:
        values = column.values
        for there in (column.present, image.exists):
            if there is not None:
                values = pc.if_else(there, values, pa.scalar(None, pa.string()))
        columns.append(values)
    return columns


def states(batch: ChangeBatch) -> list[pa.StringArray]:
    """For each column n texts: `1` for a value in the after image, `2` for one in the before image, or their sum."""
    rows = len(batch)
    found = []
    for old, new in zip(_present(batch.before, rows), _present(batch.after, rows), strict=True):
        number = pc.add(new.cast(pa.int8()), pc.multiply(old.cast(pa.int8()), 2))
        found.append(_STATES.take(number))
    return found


def _present(image: Image, rows: int) -> list[pa.BooleanArray]:
    exists = image.exists_mask(rows)
    return [exists if column.present is None else pc.and_(column.present, exists) for column in image.columns]
