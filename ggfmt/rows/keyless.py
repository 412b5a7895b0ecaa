"""Tables without a key: a row is identified by all of its columns, and several rows may be equal.

An insert adds one to the count of equal rows, and a delete takes one away. An update has been staged as both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import combined, narrow, nulls
from ggfmt.columnar.hashes import row_codes
from ggfmt.frames.column_types import TEXT
from ggfmt.rows.fold import NEVER_SEEN
from ggfmt.rows.kept import select_keyless
from ggfmt.rows.operations import BASE_SEQ, DELETE, INSERT, TRUNCATE
from ggfmt.rows.query import CURRENT, OP, STATE, UNRESOLVED
from ggfmt.rows.results import RowCounts, Selection, TableQuery, last_of, shown_key

_LONG = pa.int64()
_WEIGHT = "weight"

Unresolved = list[tuple[str, pa.RecordBatch]]
Answer = tuple[pa.RecordBatch, RowCounts, Unresolved, Selection | None]


def keyless_rows(query: TableQuery, batch: pa.RecordBatch) -> Answer:
    """Return the rows, or the net changes, of operations in order; the operations that took rows away which no
    operation has shown, with the reason; and what later runs need."""
    lasting = _since_truncate(batch)
    counts = RowCounts()
    if query.query.kind == "changes":
        weights = _changed_weights(query, batch, lasting)
        places, added = _repeated(weights)
        marks = {
            OP: pc.if_else(added, pa.scalar("I", TEXT), pa.scalar("D", TEXT)),
            STATE: pa.repeat(pa.scalar(CURRENT, TEXT), len(places)),
        }
        counts.states[CURRENT] = len(places)
        return _result(query, weights, places, marks), counts, [], None
    weights = _weights(query, lasting)
    places, exists = _repeated(weights)
    counts.states[CURRENT], counts.states[UNRESOLVED] = exists.true_count, len(exists) - exists.true_count
    if UNRESOLVED not in query.query.keep:
        places, kept = places.filter(exists), exists.filter(exists)
    else:
        kept = exists
    marks = {STATE: pc.if_else(kept, pa.scalar(CURRENT, TEXT), pa.scalar(UNRESOLVED, TEXT))}
    missing = weights.filter(pc.less(weights[_WEIGHT], 0))
    found = _result(query, weights, places, marks), counts
    if not len(missing):
        return *found, [], None
    wanted = _is_of(query, lasting, missing)
    deletes = lasting.filter(pc.and_(wanted, pc.equal(lasting["op"], DELETE)))
    return *found, [(NEVER_SEEN, deletes)], select_keyless(lasting, wanted)


def _result(query: TableQuery, weights: pa.RecordBatch, places: pa.Int64Array, marks: dict[str, Any]) -> pa.RecordBatch:
    every = zip(query.columns, weights.columns[:-1], strict=True)
    rows = [shown_key(query, name, values.take(places)) for name, values in every]
    arrays = [*rows, *(marks[name] for name in query.query.metadata_columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=query.schema)


def _changed_weights(query: TableQuery, batch: pa.RecordBatch, lasting: pa.RecordBatch) -> pa.RecordBatch:
    since = query.query.since
    base = pc.equal(batch["seq"], BASE_SEQ)
    early = batch.filter(base if since is None else query.ordering.up_to(batch, since))
    before = _weights(query, _since_truncate(early))
    if pc.equal(batch["op"], TRUNCATE).true_count > pc.equal(early["op"], TRUNCATE).true_count:
        before = before.filter(pc.greater(before[_WEIGHT], 0))  # rows that went without having come are over
    after = _weights(query, lasting)
    taken = [*before.columns[:-1], pc.negate(before[_WEIGHT])]
    columns = [pa.concat_arrays(pair) for pair in zip(after.columns, taken, strict=True)]
    return _summed(columns[:-1], columns[-1])


def _since_truncate(batch: pa.RecordBatch) -> pa.RecordBatch:
    truncates = pc.equal(batch["op"], TRUNCATE)
    epochs = pc.cumulative_sum(pc.cast(truncates, _LONG))
    return batch.filter(pc.and_not(pc.equal(epochs, last_of(epochs)), truncates))


def _columns(query: TableQuery, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
    table, found = query.table, []
    for name in query.columns:
        values = batch[f"k{table.columns.index(name)}"]
        if not table.is_old(name, query.epoch):
            since = table.arrivals(name)[query.epoch] or 0
            values = pc.if_else(pc.greater_equal(batch["seq"], since), values, pa.scalar(None, values.type))
        found.append(values)
    return found


def _weights(query: TableQuery, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row once, with how often it came less how often it went, if that is not 0."""
    weight = pc.if_else(pc.equal(batch["op"], INSERT), 1, -1)
    return _summed(_columns(query, batch), weight)


def _summed(columns: Sequence[pa.Array[Any]], weight: pa.Array[Any]) -> pa.RecordBatch:
    by = [f"c{place}" for place in range(len(columns))]
    found = pa.table([*columns, weight], [*by, _WEIGHT]).group_by(by, use_threads=False).aggregate([(_WEIGHT, "sum")])
    found = found.filter(pc.not_equal(found[f"{_WEIGHT}_sum"], 0))
    arrays = [combined(found[name]) for name in (*by, f"{_WEIGHT}_sum")]
    return pa.RecordBatch.from_arrays(arrays, [*by, _WEIGHT])


def _repeated(weights: pa.RecordBatch) -> tuple[pa.Int64Array, pa.BooleanArray]:
    """Return the place of each row as often as its weight says, and whether the weight is positive."""
    weight = weights[_WEIGHT]
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cast(pc.cumulative_sum(pc.abs(weight)), pa.int32())])
    lists = pa.ListArray.from_arrays(offsets, nulls(offsets[-1].as_py() or 0, pa.int8()))
    places = narrow(pc.list_parent_indices(lists), pa.Int64Array)
    return places, pc.greater(weight, 0).take(places)


def _is_of(query: TableQuery, batch: pa.RecordBatch, missing: pa.RecordBatch) -> pa.BooleanArray:
    pairs = zip(_columns(query, batch), missing.columns[:-1], strict=True)
    codes = row_codes([pa.concat_arrays(pair) for pair in pairs])
    return pc.is_in(codes.slice(0, len(batch)), value_set=codes.slice(len(batch)))
