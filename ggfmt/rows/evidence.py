"""Operations that contradict what is known of their rows: a sign that operations are missing, or are not what they say.

A row is known by the operations before. An operation contradicts it if

- its before image has another value than the last operation that set the column: columns that one of them lacks do not
  count, and values are compared by type;
- it inserts a row that exists, with other values: one that comes again, or a record of a snapshot, repeats the row;
- it updates or deletes a row that cannot exist: it was deleted, or all rows from before are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import last_where, narrow, non_null_values, numbered
from ggfmt.columnar.images import differ
from ggfmt.columnar.strings import canonical_numbers
from ggfmt.columnar.typed import differ_typed, typed_values
from ggfmt.diagnostics.diagnostic import Span
from ggfmt.rows.operations import BASE_SEQ, DELETE, INSERT, shows_values
from ggfmt.rows.results import RowCounts, TableQuery, places_of

BEFORE_IMAGE, EXISTING, ABSENT = "before image differs", "insert of a row that exists", "no such row"

_LONG = pa.int64()
_NO_LONG = pa.scalar(None, _LONG)


class EvidenceFinder:
    """Looks at n operations by row, and of each row in order.

    batches  of staging, in any order of the operations
    order    the places of the operations in them
    begins   whether each is the first of its row
    """

    def __init__(
        self, query: TableQuery, batches: Sequence[pa.RecordBatch], order: pa.Int64Array, begins: pa.BooleanArray
    ) -> None:
        self._query, self._table, self._batches, self._order = query, query.table, batches, order
        self._columns: dict[str, pa.Array[Any]] = {}
        self._ops = self._column("op").take(order)
        self._follows = pc.invert(begins)
        self._is_insert = pc.equal(self._ops, INSERT)

    @cached_property
    def _is_delete(self) -> pa.BooleanArray:
        return pc.equal(self._ops, DELETE)

    @cached_property
    def _was_deleted(self) -> pa.BooleanArray:
        no = pa.array([False] * min(len(self._ops), 1), pa.bool_())
        before = self._is_delete.slice(0, max(len(self._ops) - 1, 0))
        return pc.and_(self._follows, pa.concat_arrays([no, before]))

    @cached_property
    def _begin(self) -> pa.Int64Array:
        return last_where(pc.or_(pc.invert(self._follows), pc.or_(self._is_insert, self._is_delete)))

    def add_to(
        self, counts: RowCounts, complete: pa.BooleanArray, replaced: tuple[pa.Int64Array, pa.Int64Array] | None = None
    ) -> None:
        """Count what contradicts.

        complete  by operation, by row and in order, whether all rows from before are known
        replaced  where rows have an identity besides their key: inserts, and the last operations of the rows that they
                  found at their key
        """
        if replaced is None and not self._follows.true_count and self._is_insert.true_count == len(self._ops):
            return
        exists = pc.and_not(self._follows, self._was_deleted)
        changes = pc.invert(self._is_insert)
        absent = pc.and_(changes, pc.or_(self._was_deleted, pc.and_not(complete, self._follows)))
        places = places_of(pc.and_(changes, exists))
        if replaced is None:
            inserts = places_of(pc.and_(self._is_insert, exists))
            replaced = inserts, pc.subtract(inserts, 1)
        found = {
            BEFORE_IMAGE: self._unlike("b", places, pc.subtract(places, 1)),
            EXISTING: self._unlike("a", *self._at_other_positions(*replaced)),
            ABSENT: places_of(absent),
        }
        seqs = self._column("seq")
        for what, at in found.items():
            operations = self._order.take(at)
            new = operations.filter(pc.greater_equal(seqs.take(operations), 0))  # neither of a base nor kept
            if len(new):
                counts.contradictions[what] += len(new)
                counts.contradicting.append((what, self._place(pc.min(new).as_py())))

    def _place(self, operation: int) -> Span:
        seq, offset, position = (self._column(name)[operation].as_py() for name in ("seq", "offset", "position"))
        return Span(file=self._query.file_of(seq), offset=offset, table=self._table.name, position=position)

    def _column(self, name: str) -> pa.Array[Any]:
        """Return a column of all batches. Images do not stay: together they need as much memory as the batches."""
        found = self._columns.get(name)
        if found is None:
            parts = [batch[name] for batch in self._batches]
            found = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
            if not name.startswith(("a", "b")):
                self._columns[name] = found
        return found

    def _unlike(self, image: str, places: pa.Int64Array, before: pa.Int64Array) -> pa.Int64Array:
        found: list[pa.Int64Array] = []
        for i, name in enumerate(self._table.columns):
            if not len(places):
                break
            if name in self._table.key or len({*self._table.arrivals(name)}) > 1:  # a column that comes and goes
                continue
            shown = narrow(self._column(f"h{image}{i}"), pa.BooleanArray).take(self._order.take(places))
            if not shown.true_count:
                continue
            latest = self._latest(i, before)
            if name in self._query.unset:
                operations = self._order.take(latest)
                of_base = pc.equal(self._column("seq").take(operations), BASE_SEQ)
                latest = pc.if_else(
                    pc.and_(of_base, self._column(f"a{i}").take(operations).is_null()), _NO_LONG, latest
                )
            shown = pc.and_(shown, latest.is_valid())
            own, other = (self._order.take(each.filter(shown)) for each in (places, latest))
            after = self._column(f"a{i}")
            unlike = self._differ(name, after if image == "a" else self._column(f"b{i}"), own, after, other)
            if len(unlike):
                at = places_of(shown).take(unlike)
                found.append(places.take(at))
                rest = pc.invert(pc.is_in(numbered(len(places)), value_set=at))
                places, before = places.filter(rest), before.filter(rest)
        unlike = pa.concat_arrays([pa.array([], _LONG), *found])
        if image == "a" or not len(unlike):
            return unlike
        operations = self._order.take(unlike)
        return unlike.filter(shows_values(lambda name: self._column(name).take(operations), self._table))

    def _at_other_positions(self, places: pa.Int64Array, before: pa.Int64Array) -> tuple[pa.Int64Array, pa.Int64Array]:
        """Return the places without those at the position of the operation before: a transaction may come again."""
        operations = (self._order.take(each) for each in (places, before))
        same = pc.equal(*(self._column("position").take(each) for each in operations))
        others = pc.invert(pc.fill_null(same, False))
        return places.filter(others), before.filter(others)

    def _latest(self, i: int, places: pa.Int64Array) -> pa.Int64Array:
        """Return the last operation up to each place that set a column in its row's present life; null for none."""
        has = pc.and_not(narrow(self._column(f"ha{i}"), pa.BooleanArray).take(self._order), self._is_delete)
        if has.true_count + self._is_delete.true_count == len(has):
            return places
        latest = last_where(has).take(places)
        return pc.if_else(pc.greater_equal(latest, self._begin.take(places)), latest, _NO_LONG)

    def _differ(
        self, name: str, values: pa.Array[Any], own: pa.Int64Array, others: pa.Array[Any], other: pa.Int64Array
    ) -> pa.Int64Array:
        """Return where values differ by type. Texts that are no values of the type do not count."""
        unlike = places_of(differ(narrow(values, pa.StringArray), narrow(others, pa.StringArray), (own, other)))
        type = self._table.types[name]
        is_text = pa.types.is_string(type)
        if not len(unlike) or (is_text and not self._table.has_numbers(name)):
            return unlike
        texts = [narrow(values.take(own.take(unlike)), pa.StringArray)]
        texts.append(narrow(others.take(other.take(unlike)), pa.StringArray))
        if is_text:  # numbers that no other type has, some of them as an earlier run wrote them in another type
            return unlike.filter(differ_typed(*map(canonical_numbers, texts)))
        pairs = [typed_values(each, type) for each in texts]
        unfit = sorted({place for _, wrong in pairs for place in wrong})
        hits = differ_typed(pairs[0][0], pairs[1][0])
        hits = pc.and_not(hits, pc.is_in(numbered(len(unlike)), value_set=pa.array(unfit, _LONG)))
        return unlike.filter(hits)


def last_operations(
    order: pa.Int64Array, groups: pa.Int64Array, ended: dict[int, int]
) -> tuple[pa.Int64Array, pa.Int64Array]:
    """Return, by place in an order, operations that ended rows and the last operations of these rows.

    groups  by place the number of the row
    ended   by row the operation
    """
    place_of = {operation: place for place, operation in enumerate(non_null_values(order))}
    last = {row: place for place, row in enumerate(non_null_values(groups))}
    pairs = [(place_of[operation], last[row]) for row, operation in ended.items()]
    return pa.array([one for one, _ in pairs], _LONG), pa.array([other for _, other in pairs], _LONG)
