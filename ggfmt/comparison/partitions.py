"""Comparison of any number of rows, in partitions on disk if they are more than memory should hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import concatenated
from ggfmt.comparison.rows import COUNT, RowComparison, with_counts
from ggfmt.rowfiles.spill import FAN_OUT, Batches, HashPartitions, rechunk

# Comparison of any number of rows: at once if memory may hold them, or else one partition after the other. A partition
# has the rows of both sides whose keys have equal hashes. If several partitionings do not separate the rows, they have
# one key, and are compared and partitioned as whole rows; equal rows are kept once, with a count.

LIMIT = 96 << 20  # bytes of both sides that are compared at once
DEEPEST = 4  # maximum levels of partitions by keys, and by whole rows
_LOOK = 2  # from this level on, equal rows are counted, if the levels before did not separate them
_MAX_OF_ALL = 0.9  # share of the rows in one partition: they have one key, or are equal

Columns: TypeAlias = "Sequence[pa.Array[Any]]"


class PartComparison:
    """Compares two sides of these schemas. `keys`: how many columns are the key; 0: whole rows."""

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
            compare(*(concatenated(side, self._schema(of, whole)) for of, side in enumerate(sides)))
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
