"""Hash partitions: rows with equal values are brought together by a hash of the values, in files on disk if they are
more than memory should hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import arrays
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import array_identity, concatenated, non_null_values
from ggfmt.columnar.hashes import row_hashes

FAN_OUT_BITS = 5
FAN_OUT = 1 << FAN_OUT_BITS
_WHOLE, _PLACES = b"schema", b"columns"
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
                yield concatenated(waiting, waiting[0].schema)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield concatenated(waiting, waiting[0].schema)


class HashPartitions:
    """Rows in `FAN_OUT` files, by the bits of their hashes that belong to a level. `rows`: their number in each."""

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        self._files = [directory / f"{number:02d}" for number in range(FAN_OUT)]
        self._schema = schema
        self.rows = [0] * FAN_OUT
        directory.mkdir()

    def write(self, batches: Iterable[pa.RecordBatch], keys: Keys, level: int) -> None:
        """Write rows. Raises: OSError if the disk does not accept them."""
        with ExitStack() as opened:
            writers = [
                opened.enter_context(
                    pa.ipc.new_stream(opened.enter_context(file.open("wb")), self._schema, options=arrays.STAGED)
                )
                for file in self._files
            ]
            for chunk in batches:
                hashes = pc.shift_right(row_hashes(keys(chunk)), pa.scalar(level * FAN_OUT_BITS, pa.uint64()))
                places = pc.cast(pc.bit_wise_and(hashes, pa.scalar(FAN_OUT - 1, pa.uint64())), pa.int32())
                for place, part in split_by(chunk, places):
                    writers[place].write_batch(part)
                    self.rows[place] += len(part)

    def read(self, place: int) -> Batches:
        with self._files[place].open("rb") as stream, pa.ipc.open_stream(stream, options=arrays.READ) as reader:
            yield from reader
        self._files[place].unlink()


def split_by(batch: pa.RecordBatch, numbers: pa.Int32Array) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each number."""
    if not len(numbers):
        return
    ends = pc.min_max(numbers)
    if ends["min"] == ends["max"]:
        yield ends["min"].as_py(), batch
        return
    order = pc.array_sort_indices(numbers)
    batch = taken_rows(batch, order)
    counts = pc.value_counts(numbers.take(order))
    start = 0
    for number, count in zip(*(non_null_values(counts.field(name)) for name in ("values", "counts")), strict=True):
        yield int(number), batch.slice(start, count)
        start += count


def taken_rows(batch: pa.RecordBatch, rows: pa.UInt64Array) -> pa.RecordBatch:
    """Return some rows of a batch. Columns that are the same array stay so, as keys before and after are."""
    found: dict[object, pa.Array[Any]] = {}
    columns = []
    for column in batch.columns:
        identity = array_identity(column)
        if identity not in found:
            found[identity] = column.take(rows)
        columns.append(found[identity])
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def filtered(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    return batch if mask.true_count == len(batch) else taken_rows(batch, pc.indices_nonzero(mask))


def distinct_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without columns that are the same array as one before. Its schema says how to restore them."""
    places: dict[object, int] = {}
    of = [places.setdefault(array_identity(column), len(places)) for column in batch.columns]
    first = [of.index(place) for place in range(len(places))]
    metadata: dict[str | bytes, str | bytes] = {_WHOLE: batch.schema.serialize().to_pybytes(), _PLACES: json.dumps(of)}
    schema = pa.schema([batch.schema.field(place) for place in first], metadata)
    return pa.RecordBatch.from_arrays([batch.column(place) for place in first], schema=schema)


def restored(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Batches:
    """Yield the batches that `distinct_columns` has made ones of a schema from."""
    metadata = schema.metadata or {}
    whole, of = pa.ipc.read_schema(pa.py_buffer(metadata[_WHOLE])), json.loads(metadata[_PLACES])
    for batch in batches:
        columns = batch.columns
        yield pa.RecordBatch.from_arrays([columns[place] for place in of], schema=whole)
