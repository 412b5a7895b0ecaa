"""Hash partitions: rows with equal values are brought together by a hash of the values, in files on disk if they are
more than memory should hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value
from ggfmt.columnar.hashes import row_hashes

FAN_OUT_BITS = 5
FAN_OUT = 1 << FAN_OUT_BITS
CHUNK_ROWS, CHUNK_BYTES = 1 << 17, 16 << 20

Batches = Iterator[pa.RecordBatch]
Keys: TypeAlias = "Callable[[pa.RecordBatch], Sequence[pa.Array[Any]]]"  # the values by which rows are brought together


def rechunk(batches: Iterable[pa.RecordBatch]) -> Batches:
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for start in range(0, len(batch), CHUNK_ROWS):
            part = batch.slice(start, CHUNK_ROWS)
            waiting.append(part)
            rows, size = rows + len(part), size + part.nbytes
            if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
                yield join_batches(waiting)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield join_batches(waiting)


def join_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(at) for batch in batches]) for at in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


class HashPartitions:
    """Rows in `FAN_OUT` files, by the bits of their hashes that belong to a level. `rows`: their number in each."""

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        self._files = [directory / f"{number:02d}" for number in range(FAN_OUT)]
        self._schema = schema
        self.rows = [0] * FAN_OUT
        directory.mkdir()

    def write(self, batches: Iterable[pa.RecordBatch], keys: Keys, level: int) -> None:
        """Write rows. Raises: OSError if the disk does not accept them."""
        options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
        with ExitStack() as opened:
            writers = [
                opened.enter_context(
                    pa.ipc.new_stream(opened.enter_context(file.open("wb")), self._schema, options=options)
                )
                for file in self._files
            ]
            for chunk in batches:
                for place, part in _parted(chunk, keys(chunk), level):
                    writers[place].write_batch(part)
                    self.rows[place] += len(part)

    def read(self, place: int) -> Batches:
        with self._files[place].open("rb") as stream, pa.ipc.open_stream(stream) as reader:
            yield from reader
        self._files[place].unlink()


def _parted(chunk: pa.RecordBatch, keys: Sequence[pa.Array[Any]], level: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    shifted = pc.shift_right(row_hashes(keys), pa.scalar(level * FAN_OUT_BITS, pa.uint64()))
    places = pc.bit_wise_and(shifted, pa.scalar(FAN_OUT - 1, pa.uint64())).cast(pa.uint8())
    ordered = chunk.take(pc.sort_indices(places))
    counts = counts_by_value(places)
    start = 0
    for place in sorted(counts):
        yield place, ordered.slice(start, counts[place])
        start += counts[place]
