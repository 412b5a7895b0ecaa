"""Images as Arcion shows them: values of all columns, NULL where there is none, and states that say where one is."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present, with_nulls
from ggfmt.model.change import ChangeBatch, Image, ImageColumn

_STATES = pa.array(["0", "1", "2", "3"], pa.string())


def values_of(image: Image) -> list[pa.StringArray]:
    """For each column n values, NULL where the column or the image is not there."""
    columns = []
    for column in image.columns:
        values = with_nulls(column)
        columns.append(values if image.exists is None else with_nulls(ImageColumn(values, image.exists)))
    return columns


def states(batch: ChangeBatch) -> list[pa.StringArray]:
    """For each column n texts: `1` for a value in the after image, `2` for one in the before image, or their sum."""
    rows = len(batch)
    codes = []
    for old, new in zip(_present(batch.before, rows), _present(batch.after, rows), strict=True):
        number = pc.add(pc.cast(new, pa.int64()), pc.multiply(pc.cast(old, pa.int64()), 2))
        codes.append(_STATES.take(number))
    return codes


def _present(image: Image, rows: int) -> list[pa.BooleanArray]:
    exists = image.exists_mask(rows)
    return [and_present(exists, column) for column in image.columns]
