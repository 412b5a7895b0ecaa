"""Hash partitions: rows with equal values are brought together by a hash of the values, in files on disk if they are
more than memory should hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value
from ggfmt.columnar.hashes import row_hashes
from ggfmt.comparison.rows import COUNT, RowComparison, with_counts

FAN_OUT_BITS = 5
FAN_OUT = 1 << FAN_OUT_BITS
CHUNK_ROWS, CHUNK_BYTES = 1 << 17, 16 << 20

Batches = Iterator[pa.RecordBatch]
Keys: TypeAlias = "Callable[[pa.RecordBatch], Sequence[pa.Array[Any]]]"  # the values by which rows are brought together


def rechunk(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Yield small batches joined to larger ones, and large ones cut."""
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
    """Return batches of one schema as one; there is at least one."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(at) for batch in batches]) for at in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


class HashPartitions:
    """Rows in `FAN_OUT` files of a directory, by the bits of their hashes that belong to a level. `rows`: the number of
    rows in each file.
    """

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
        """Yield the rows of a file, and remove the file."""
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


# Comparison of any number of rows: at once if memory may hold them, or else one partition after the other. A partition
# has the rows of both sides whose keys have equal hashes. If several partitionings do not separate the rows, they have
# one key, and are compared and partitioned as whole rows; equal rows are kept once, with a count.

LIMIT = 96 << 20  # bytes of both sides that are compared at once
DEEPEST = 4  # maximum levels of partitions by keys, and by whole rows
_LOOK = 2  # from this level on, equal rows are counted, if the levels before did not separate them
_MAX_OF_ALL = 0.9  # share of the rows in one partition: they have one key, or are equal

Columns: TypeAlias = "Sequence[pa.Array[Any]]"


class PartComparison:
    """Compares two sides of these schemas with a row comparison. `keys`: the number of key columns; 0: compare whole
    rows. `directory`: for temporary files.
    """

    def __init__(self, rows: RowComparison, keys: int, schemas: Sequence[pa.Schema], directory: Path) -> None:
        self._rows = rows
        self._keys = keys
        self._schemas = schemas
        self._directory = directory
        self._spreads = 0

    def compare(self, a: Iterable[pa.RecordBatch], b: Iterable[pa.RecordBatch]) -> None:
        """Compare the rows. Raises: OSError if the disk does not accept the temporary files."""
        sides = [rechunk(a), rechunk(b)]
        if self._keys:
            self._compare(sides, False, 0)
        else:
            self._compare([map(with_counts, side) for side in sides], True, 0)

    def _compare(self, sides: Sequence[Batches], whole: bool, level: int) -> None:
        """`whole`: compare whole rows, which have counts."""
        taken = [deque[pa.RecordBatch](), deque[pa.RecordBatch]()]
        size = 0
        for held, side in zip(taken, sides, strict=True):
            while size <= LIMIT and (batch := next(side, None)) is not None:
                held.append(batch)
                size += batch.nbytes
        sides = [_drain(held, rest) for held, rest in zip(taken, sides, strict=True)]
        if size <= LIMIT or level == 2 * DEEPEST:
            compare = self._rows.compare_whole_rows if whole else self._rows.compare_keyed_rows
            compare(*(join_batches([*side] or [self._nothing(of, whole)]) for of, side in enumerate(sides)))
        elif level == DEEPEST and not whole:
            counted_sides = (self._with_repeated_counts(side, of) for of, side in enumerate(sides))
            self._compare([map(with_counts, side) for side in counted_sides], True, level)
        else:
            spreads = [self._spread(side, of, whole, level) for of, side in enumerate(sides)]
            total = sum(sum(spread.rows) for spread in spreads)
            for place in range(FAN_OUT):
                parts = [rechunk(spread.read(place)) for spread in spreads]
                together = sum(spread.rows[place] for spread in spreads) > _MAX_OF_ALL * total
                below = (max(level + 1, _LOOK) if whole else DEEPEST) if together else level + 1
                self._compare(parts, whole, below)

    def _schema(self, of: int, whole: bool) -> pa.Schema:
        return self._schemas[of].append(COUNT) if whole else self._schemas[of]

    def _nothing(self, of: int, whole: bool) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], self._schema(of, whole))

    def _spread(self, side: Batches, of: int, whole: bool, level: int) -> HashPartitions:
        self._spreads += 1
        spread = HashPartitions(self._directory / f"{self._spreads}", self._schema(of, whole))
        columns = len(self._schemas[of]) if whole else self._keys
        chunks = map(_alike_once, side) if whole and level >= _LOOK else side
        spread.write(chunks, lambda batch: self._values(batch, columns), level)
        return spread

    def _values(self, batch: pa.RecordBatch, columns: int) -> list[pa.Array[Any]]:
        return [self._rows.common(batch, at)[0] for at in range(columns)]

    def _with_repeated_counts(self, side: Batches, of: int) -> Batches:
        """Yield the same rows; with the last of them, the number of repeated keys is known."""
        counts = None
        names = [f"{at}" for at in range(self._keys)]
        for batch in side:
            keys = pa.RecordBatch.from_arrays(self._values(batch, self._keys), names)
            table = pa.Table.from_batches([with_counts(keys)])
            counts = _sum_counts(table if counts is None else pa.concat_tables([counts, table]))
            yield batch
        if counts is not None:
            self._rows.found.repeated[of] += pc.sum(pc.greater(counts[COUNT.name], 1)).as_py()


def _drain(held: deque[pa.RecordBatch], rest: Batches) -> Batches:
    """Yield buffered batches, each released when it is yielded, and then the further ones."""
    while held:
        yield held.popleft()
    yield from rest


def _alike_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    summed = _sum_counts(pa.Table.from_batches([batch])).combine_chunks()
    columns = [column.chunk(0) for column in summed.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)  # type: ignore[arg-type]


def _sum_counts(table: pa.Table) -> pa.Table:
    """Return the distinct rows of a table whose last column is a count, with the sums of their counts."""
    names = table.column_names[:-1]
    groups = table.group_by(names, use_threads=False).aggregate([(COUNT.name, "sum")])
    return groups.select([*names, f"{COUNT.name}_sum"]).rename_columns(table.column_names)
