"""The partitions that Kafka's own Java producer chooses for messages with a key."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.kernels import primitives


def partitions_of(keys: pa.BinaryArray, count: int | None) -> pa.Int32Array:
    """Return the partition of each key, null for a null key; `count`: partitions of the topic, None if unknown."""
    if count is None:
        return pa.nulls(len(keys), pa.int32())
    found = pa.py_buffer(primitives.partitions(keys, count))
    numbers = pa.Int32Array.from_buffers(pa.int32(), len(keys), [None, found])
    return narrow(pc.if_else(keys.is_valid(), numbers, pa.scalar(None, pa.int32())), pa.Int32Array)
