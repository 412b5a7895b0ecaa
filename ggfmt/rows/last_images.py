"""Current rows of operations with whole images: the last operation of a key says what its row is.

This is a short cut of `answers`, for operations where it gives the same rows: no key changes, each after image has all
columns of the table, and no operation comes again. Only the keys of all operations are brought together; of the values
only those of the result are taken, a column at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, empty_batch, int64_view, narrow, nulls
from ggfmt.rows.evidence import EvidenceFinder
from ggfmt.rows.key_updates import KeyOrder
from ggfmt.rows.operations import DELETE, is_whole, staged_schema
from ggfmt.rows.query import CURRENT
from ggfmt.rows.results import (
    REASON,
    RowCounts,
    TableQuery,
    UnitAnswer,
    check_order,
    fitting_values,
    last_places,
    shown_key,
)


def last_images(query: TableQuery, batches: Sequence[pa.RecordBatch], by_key: KeyOrder) -> UnitAnswer | None:
    """Return the answer for some operations; None if the last operation of a key may not say all about its row.

    batches  all operations of these rows, which change no keys, with rows of the base as inserts, in any order; those
             that are not in `by_key` do not count

    Raises: Abend GG530 for a value of a result that does not fit its type.
    """
    table, asked = query.table, query.query
    if asked.kind != "current" or asked.keep or asked.as_of is not None:
        return None
    if not table.key or len(table.epochs) > 1 or query.truncates or not all(is_whole(b, table) for b in batches):
        return None
    counts = RowCounts()
    both = _last_places(query, batches, counts, by_key)
    if both is None:
        return None
    places, gone = both
    free = query.free_keys(gone, [by_key.heads["hash"]]) if query.finds_free_keys else None
    found = _Chosen(batches, places)
    unfit: Counter[str] = Counter()
    columns = [_typed(query, found, name, unfit) for name in query.columns]
    columns += [nulls(len(places), query.schema.field(name).type) for name in query.marks]  # no key has changed
    if unfit and asked.on_unfit == "unresolved":
        return None
    rows = pa.RecordBatch.from_arrays(columns, schema=query.schema)
    counts.states[CURRENT], counts.unfit = len(rows), unfit
    nothing = empty_batch(staged_schema(table).append(pa.field(REASON, pa.string())))
    return UnitAnswer(rows, counts, nothing, free=free)


def _last_places(
    query: TableQuery, batches: Sequence[pa.RecordBatch], counts: RowCounts, by_key: KeyOrder
) -> tuple[pa.Int64Array, pa.UInt64Array] | None:
    """Return the places of the last operations of keys, in ascending order, and instead of deletes the hashes of their
    keys; None if an operation may come again. Count what contradicts the rows. Raises: UsageError GG551 as
    `last_places`, GG556."""
    every = by_key.heads
    counts.last_places += last_places(query, every)
    if query.ordering.repeats(every).true_count:
        return None
    check_order(query, every)
    last = by_key.order.filter(by_key.ends)
    if len(last):
        places = narrow(every["place"].take(by_key.order), pa.Int64Array)
        complete = pa.repeat(pa.scalar(query.complete), len(places))
        EvidenceFinder(query, batches, places, by_key.begins).add_to(counts, complete)
    deletes = pc.equal(every["op"].take(last), DELETE)
    gone = narrow(every["hash"].take(last.filter(deletes)), pa.UInt64Array)
    places = narrow(every["place"].take(last.filter(pc.invert(deletes))), pa.Int64Array)
    return places.take(pc.array_sort_indices(places)), gone


class _Chosen:
    """Some operations of several batches, at n ascending places."""

    def __init__(self, batches: Sequence[pa.RecordBatch], places: pa.Int64Array) -> None:
        self._batches = batches
        starts = [0, *accumulate(map(len, batches))]
        numbers = int64_view(places)
        cuts = [bisect_left(numbers, start) for start in starts]
        self._rows = [
            pc.subtract(places.slice(cut, cuts[number + 1] - cut), start)
            for number, (cut, start) in enumerate(zip(cuts[:-1], starts[:-1], strict=True))
        ]
        self._stops = cuts[1:]

    def column(self, name: str, type: pa.DataType) -> pa.Array[Any]:
        parts = [batch[name].take(rows) for batch, rows in zip(self._batches, self._rows, strict=True) if len(rows)]
        return pa.concat_arrays(parts or [pa.array([], type)])

    def operation(self, index: int) -> pa.RecordBatch:
        number = next(number for number, stop in enumerate(self._stops) if index < stop)
        row = self._rows[number][index - self._stops[number]].as_py()  # counted from the end
        return self._batches[number].slice(row, 1)


def _typed(query: TableQuery, found: _Chosen, name: str, unfit: Counter[str]) -> pa.Array[Any]:
    table = query.table
    if name in table.key:
        return shown_key(query, name, found.column(f"k{table.key.index(name)}", table.key_type(name)))
    texts = as_strings(found.column(f"a{table.columns.index(name)}", pa.string()))
    values, wrong = fitting_values(query, name, texts, found.operation)
    if wrong:
        unfit[name] += len(wrong)
    return values
