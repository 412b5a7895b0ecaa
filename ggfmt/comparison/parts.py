"""Rows of two sides compared, as many as there are: at once where memory may hold them, or one part after the other.

A part has the rows of both sides whose keys have equal numbers. What is still together after several divisions has one
key, and is then compared, and divided, as whole rows; of rows that are alike one is kept, with a count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.comparison.hash_partitions import FAN_OUT, Batches, HashPartitions, in_chunks, joined
from ggfmt.comparison.rows import COUNT, RowComparison, with_counts

LIMIT = 96 << 20  # bytes of both sides that are compared at once
DEEPEST = 4  # divisions by keys, and by whole rows
_LOOK = 2  # from this division on rows that are alike are looked for, which pays where those before did not part them
_MOST_OF_ALL = 0.9  # of the rows in one part: they are of one key, or alike

Columns: TypeAlias = "Sequence[pa.Array[Any]]"


class PartComparison:
    """Compares two sides of these schemas by a comparison of rows. Without `keys`, how many columns the key has, they
    are compared as whole rows. `directory` is for temporary files."""

    def __init__(self, rows: RowComparison, keys: int, schemas: Sequence[pa.Schema], directory: Path) -> None:
        self._rows = rows
        self._keys = keys
        self._schemas = schemas
        self._directory = directory
        self._spreads = 0

    def compare(self, a: Iterable[pa.RecordBatch], b: Iterable[pa.RecordBatch]) -> None:
        """OSError where the disk does not take what memory should not hold."""
        sides = [in_chunks(a), in_chunks(b)]
        if self._keys:
            self._compare(sides, False, 0)
        else:
            self._compare([map(with_counts, side) for side in sides], True, 0)

    def _compare(self, sides: Sequence[Batches], whole: bool, level: int) -> None:
        """`whole`: as whole rows, which have counts."""
        taken = [deque[pa.RecordBatch](), deque[pa.RecordBatch]()]
        size = 0
        for held, side in zip(taken, sides, strict=True):
            while size <= LIMIT and (batch := next(side, None)) is not None:
                held.append(batch)
                size += batch.nbytes
        sides = [_emptied(held, rest) for held, rest in zip(taken, sides, strict=True)]
        if size <= LIMIT or level == 2 * DEEPEST:
            compare = self._rows.compare_whole_rows if whole else self._rows.compare_keyed_rows
            compare(*(joined([*side] or [self._nothing(of, whole)]) for of, side in enumerate(sides)))
        elif level == DEEPEST and not whole:
            told = (self._telling_repeated(side, of) for of, side in enumerate(sides))
            self._compare([map(with_counts, side) for side in told], True, level)
        else:
            spreads = [self._spread(side, of, whole, level) for of, side in enumerate(sides)]
            total = sum(sum(spread.rows) for spread in spreads)
            for place in range(FAN_OUT):
                parts = [in_chunks(spread.read(place)) for spread in spreads]
                together = sum(spread.rows[place] for spread in spreads) > _MOST_OF_ALL * total
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

    def _telling_repeated(self, side: Batches, of: int) -> Batches:
        """The same rows; with the last of them it is known how many keys are there more than once."""
        counts = None
        names = [f"{at}" for at in range(self._keys)]
        for batch in side:
            keys = pa.RecordBatch.from_arrays(self._values(batch, self._keys), names)
            table = pa.Table.from_batches([with_counts(keys)])
            counts = _summed(table if counts is None else pa.concat_tables([counts, table]))
            yield batch
        if counts is not None:
            self._rows.found.repeated[of] += pc.sum(pc.greater(counts[COUNT.name], 1)).as_py()


def _emptied(held: deque[pa.RecordBatch], rest: Batches) -> Batches:
    """Batches that are held, each let go of when it is given, and those behind them."""
    while held:
        yield held.popleft()
    yield from rest


def _alike_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    summed = _summed(pa.Table.from_batches([batch])).combine_chunks()
    columns = [column.chunk(0) for column in summed.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)  # type: ignore[arg-type]


def _summed(table: pa.Table) -> pa.Table:
    """The different rows of a table whose last column is a count."""
    names = table.column_names[:-1]
    groups = table.group_by(names, use_threads=False).aggregate([(COUNT.name, "sum")])
    return groups.select([*names, f"{COUNT.name}_sum"]).rename_columns(table.column_names)
