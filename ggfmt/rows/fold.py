"""Operations of many rows folded in columns: what each row is after each of its operations.

The operations are sorted by row and order. The last operation that set a column is then the last place before that is
not null. A value holds since the last insert or delete of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import begins, ends, last_where, narrow, non_null_values, numbered
from ggfmt.dataclasses import dataclass
from ggfmt.rows.identities import Identities
from ggfmt.rows.key_updates import may_be_one_record
from ggfmt.rows.operations import DELETE, INSERT, UPDATE, any_of, shows_values
from ggfmt.rows.tables import RowTable

COLLISION, NEVER_SEEN, OVERTAKEN, NO_KEY, UNAVAILABLE = "collision", "never seen", "overtaken", "no key", "unavailable"
UNFIT = "unfit"  # a value that the type of its column does not have

_LONG, _TEXT = pa.int64(), pa.string()
_NO_TEXT, _NO_LONG = pa.scalar(None, _TEXT), pa.scalar(None, _LONG)
_NULL = -1  # the place of a value that is NULL because the insert of a key update lacks the column


@dataclass(frozen=True)
class RowStates:
    """Rows after some of their operations, n of them."""

    places: pa.Int64Array  # the operation after which each is so
    # For each column the place of its value: of an after image, or of a before image if it is not less than the number
    # of operations; null for NULL
    sources: list[pa.Int64Array]
    unset: list[pa.BooleanArray]  # for each column where no operation has set it: its NULL is a default
    reasons: pa.StringArray  # why it is not certain what a row is; null for rows that are certain

    def take(self, rows: pa.Int64Array) -> RowStates:
        return RowStates(
            self.places.take(rows),
            [source.take(rows) for source in self.sources],
            [unset.take(rows) for unset in self.unset],
            self.reasons.take(rows),
        )


class Fold:
    """The operations of some rows of a table.

    batch       n operations in order, without truncates
    epochs      by operation the number of truncates before it
    identities  if keys change: the row of each operation
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        table: RowTable,
        epochs: pa.Int64Array,
        groups: pa.Int64Array,
        identities: Identities | None,
    ) -> None:
        self.batch, self.table = batch, table
        self._identities = identities
        self.count = len(batch)
        most = (pc.max(epochs).as_py() or 0) + 1 if self.count else 1
        codes = pc.add(pc.multiply(groups, most), epochs)
        self.order = pc.cast(pc.array_sort_indices(codes), _LONG)  # a stable sort
        self.rows_in_order = codes.take(self.order)
        self.epochs = epochs
        self.epochs_in_order = epochs.take(self.order)
        self.groups = groups
        self._every = numbered(self.count)
        self._op = batch["op"].take(self.order)

    # The order of rows: places here are in it, and `order` has their operations.

    @cached_property
    def starts(self) -> pa.BooleanArray:
        return begins(self.rows_in_order)

    @cached_property
    def lasts(self) -> pa.BooleanArray:
        return ends(self.rows_in_order)

    def _latest(self, where: pa.BooleanArray) -> pa.Int64Array:
        """Return for each place the last one up to it where a condition holds; null if that is of another row."""
        found = last_where(where)
        return pc.if_else(pc.greater_equal(found, self._start), found, _NO_LONG)

    @cached_property
    def _start(self) -> pa.Int64Array:
        return last_where(self.starts)

    @cached_property
    def _halves(self) -> pa.BooleanArray | None:
        moved = self._moved_inserts
        return None if moved is None else self._mask(set(non_null_values(moved.drop_null())))

    @cached_property
    def _moved_inserts(self) -> pa.Int64Array | None:
        """For each operation that is the insert of a key update, the operation that is its delete; None for none. Two
        that are no single record leave no value to the row."""
        found = self._identities
        if found is None or not found.halves:
            return None
        places: list[int | None] = [None] * self.count
        for insert, delete in found.halves.items():
            places[insert] = delete
        moved, positions = pa.array(places, _LONG), self.batch["position"]
        return pc.if_else(may_be_one_record(positions.take(moved), positions), moved, _NO_LONG)

    @cached_property
    def _is_insert(self) -> pa.BooleanArray:
        inserts = pc.equal(self._op, INSERT)
        if self._moved_inserts is None:
            return inserts
        return pc.and_(inserts, self._moved_inserts.take(self.order).is_null())

    @cached_property
    def is_delete(self) -> pa.BooleanArray:
        deletes = pc.equal(self._op, DELETE)
        return deletes if self._halves is None else pc.and_not(deletes, self._halves)

    @cached_property
    def is_deleting(self) -> pa.BooleanArray:
        """Where an operation deletes its row, or is the delete of a key update."""
        return pc.equal(self._op, DELETE)

    def groups_at(self, places: pa.Int64Array) -> pa.Int64Array:
        return self.groups.take(self.order.take(places))

    def operations_of(self, places: pa.Int64Array) -> pa.RecordBatch:
        """Return, in order, the operations since each row began of the rows that end at some places."""
        reset = self._reset.take(places)
        by_delete = pc.fill_null(self.is_delete.take(reset), False)
        firsts = pc.coalesce(pc.if_else(by_delete, pc.add(reset, 1), reset), self._start.take(places))
        ranges = zip(non_null_values(firsts), non_null_values(places), strict=True)
        listed = [place for first, last in ranges for place in range(first, last + 1)]
        operations = self.order.take(pa.array(listed, _LONG))
        return self.batch.take(operations.take(pc.array_sort_indices(operations)))

    @cached_property
    def _reset(self) -> pa.Int64Array:
        """The last insert or delete of the row; null if there was none."""
        return self._latest(pc.or_(self._is_insert, self.is_delete))

    def _sources(self, i: int) -> pa.Int64Array | None:
        """Return for each operation where the value is that it gives a column: `_NULL` for NULL, null if it gives none.
        None: each operation but a delete has the column in its after image."""
        batch = self.batch
        before, after = narrow(batch[f"hb{i}"], pa.BooleanArray), narrow(batch[f"ha{i}"], pa.BooleanArray)
        lacking = pc.and_not(self._no_delete, after)
        if not lacking.true_count:
            return None
        found = pc.if_else(pc.and_(self._no_delete, after), self._every, _NO_LONG)
        unavailable = narrow(batch[f"u{i}"], pa.BooleanArray)
        by_before = pc.and_(pc.equal(batch["op"], UPDATE), pc.and_(before, lacking))
        if pc.and_(by_before, unavailable).true_count:
            by_before = pc.and_(by_before, pc.or_(self._shows_values, pc.invert(unavailable)))
        if by_before.true_count:
            found = pc.if_else(by_before, pc.add(self._every, self.count), found)
        moved = self._moved_inserts
        if moved is not None:
            absent = pc.and_(moved.is_valid(), pc.and_not(lacking, unavailable))
            found = pc.if_else(absent, pa.scalar(_NULL, _LONG), found)
            shown = pc.and_(before, self._shows_values).take(moved)
            shown = pc.and_(pc.fill_null(shown, False), pc.and_(lacking, unavailable))
            found = pc.if_else(shown, pc.add(moved, self.count), found)
        return found

    @cached_property
    def _no_delete(self) -> pa.BooleanArray:
        return pc.not_equal(self.batch["op"], DELETE)

    @cached_property
    def _shows_values(self) -> pa.BooleanArray:
        return shows_values(self.batch.column, self.table)

    def earlier_operations(self, operations: pa.Int64Array) -> pa.Int64Array:
        """Return for the row of each of some operations its last operation of earlier runs, or its row in the base;
        null if it was not there before this run. A delete and an insert that may be of two rows start a row."""
        is_earlier = pc.less(self.batch["seq"].take(self.order), 0)
        earlier = self._latest(pc.and_not(is_earlier, self.is_delete))
        if self._identities is not None and self._identities.halves:
            positions = self.batch["position"].to_pylist()
            halves = self._identities.halves.items()
            begins = {new for new, old in halves if positions[old] is None or positions[old] != positions[new]}
            begun = self._latest(self._mask(begins))
            earlier = pc.if_else(pc.fill_null(pc.greater(begun, earlier), False), _NO_LONG, earlier)
        return self.order.take(earlier.take(pc.array_sort_indices(self.order).take(operations)))

    # States

    def states(
        self,
        places: pa.Int64Array,
        columns: Sequence[str],
        epoch: int | None,
        deleted: bool = False,
        holding: pa.BooleanArray | None = None,
    ) -> RowStates:
        """Return rows after the operations at some places of the order of rows.

        columns  those of the result
        epoch    the columns that the table has then; None: those at each of the operations
        deleted  the operations delete the rows, which are wanted as they were
        holding  which rows still are so: a column that was dropped and added again since is NULL in them
        """
        names = list(self.table.columns)
        start = self._start.take(places)
        previous = places
        if deleted:
            previous = pc.subtract(places, 1)
            previous = pc.if_else(pc.less(previous, start), _NO_LONG, previous)
        reset = self._reset.take(previous)
        by_insert = pc.fill_null(self._is_insert.take(reset), False)
        by_delete = pc.and_not(reset.is_valid(), by_insert)
        floor = pc.coalesce(pc.if_else(by_delete, pc.add(reset, 1), reset), start)
        at_epoch = self._epochs_of(places) if epoch is None else None
        of_whole: tuple[pa.Int64Array, pa.Int64Array, pa.BooleanArray] | None = None
        sources, unset, lacking, hidden = [], [], [], []
        for name in columns:
            i = names.index(name)
            given = self._sources(i)
            if given is None and of_whole is not None:
                latest, value, known = of_whole
            else:
                whole = pc.if_else(self._no_delete, self._every, _NO_LONG) if given is None else given
                own = whole.take(self.order)
                latest = self._latest(own.is_valid()).take(previous)
                known = pc.fill_null(pc.greater_equal(latest, floor), False)
                value = pc.if_else(known, own.take(latest), _NO_LONG)
                if given is None:
                    of_whole = latest, value, known
            arrival = self._arrival(name, at_epoch, epoch, len(places))
            last = self.table.arrivals(name)[-1]
            if arrival is not None and holding is not None and last is not None:
                arrival = pc.if_else(holding, pa.scalar(last, _LONG), arrival)
            arrived = None
            if arrival is not None:
                since = self.batch["seq"].take(self.order.take(latest))
                known = pc.and_(known, pc.fill_null(pc.greater_equal(since, arrival), False))
                value = pc.if_else(known, value, _NO_LONG)
                first = self.table.epochs[0].start
                arrived = pc.or_(arrival.is_null(), pc.fill_null(pc.greater(arrival, first), False))
            if deleted:
                at = self.order.take(places)
                shown = narrow(self.batch[f"hb{i}"], pa.BooleanArray).take(at)
                value = pc.if_else(shown, pc.add(at, self.count), value)
                known = pc.or_(known, shown)
            sources.append(pc.if_else(pc.equal(value, _NULL), _NO_LONG, value))
            unset.append(pc.or_(pc.invert(known), pc.fill_null(pc.equal(value, _NULL), False)))
            if name in self.table.key or known.true_count == len(known):
                continue
            unknown = pc.invert(pc.or_(known, by_insert))
            lacking.append(unknown if arrived is None else pc.and_not(unknown, arrived))
            unavailable = narrow(self.batch[f"u{i}"], pa.BooleanArray)
            if unavailable.true_count:
                at_insert = pc.fill_null(unavailable.take(self.order.take(reset)), False)
                hidden.append(pc.and_(pc.and_not(by_insert, known), at_insert))
        reasons = self._reasons(places, lacking, hidden)
        return RowStates(self.order.take(places), sources, unset, reasons)

    def _reasons(
        self, places: pa.Int64Array, lacking: Sequence[pa.BooleanArray], hidden: Sequence[pa.BooleanArray]
    ) -> pa.StringArray:
        count = len(places)
        reasons: pa.StringArray = pa.nulls(count, _TEXT)
        if hidden:
            reasons = pc.if_else(any_of(hidden, count), pa.scalar(UNAVAILABLE, _TEXT), reasons)
        if lacking:
            reasons = pc.if_else(any_of(lacking, count), pa.scalar(NEVER_SEEN, _TEXT), reasons)
        found = self._identities
        if found is not None and found.doubtful:
            doubtful = self._latest(self._mask(found.doubtful)).take(places)
            certain = pc.fill_null(self._latest(self._sets_all).take(places), -1)
            collided = pc.fill_null(pc.greater(doubtful, certain), False)
            reasons = pc.if_else(collided, pa.scalar(COLLISION, _TEXT), reasons)
        return reasons

    def _mask(self, operations: set[int]) -> pa.BooleanArray:
        mask = bytearray(self.count)
        for place in operations:
            mask[place] = 1
        return narrow(pa.array(mask, pa.uint8()).cast(pa.bool_()), pa.BooleanArray).take(self.order)

    @cached_property
    def _sets_all(self) -> pa.BooleanArray:
        every = pc.invert(self.is_delete)
        for i, name in enumerate(self.table.columns):
            if name not in self.table.key:
                has = narrow(self.batch[f"ha{i}"], pa.BooleanArray).take(self.order)
                if None in self.table.arrivals(name):
                    has = pc.or_(has, pc.invert(self.table.presence[name].take(self._epochs_of(self._every))))
                every = pc.and_(every, has)
        return pc.or_(every, self._is_insert)

    # Columns that come and go

    def _epochs_of(self, places: pa.Int64Array) -> pa.Int64Array:
        return self.table.epochs_of(narrow(self.batch["seq"].take(self.order.take(places)), pa.Int64Array))

    def _arrival(
        self, name: str, at_epoch: pa.Int64Array | None, epoch: int | None, count: int
    ) -> pa.Int64Array | None:
        """Return by row the `seq` since which the table has a column, null where it lacks it; None: always."""
        arrivals = self.table.arrivals(name)
        first = self.table.epochs[0].start
        if all(arrival == first for arrival in arrivals):
            return None
        if at_epoch is not None:
            return pa.array(arrivals, _LONG).take(at_epoch)
        assert epoch is not None
        return None if arrivals[epoch] == first else pa.repeat(pa.scalar(arrivals[epoch], _LONG), count)

    def source_operation(self, source: pa.Int64Array, row: int) -> pa.RecordBatch:
        """Return the operation that has the value of a row."""
        return self.batch.slice(source[row].as_py() % self.count, 1)

    def values(self, states: RowStates, columns: Sequence[str]) -> list[pa.StringArray]:
        names = list(self.table.columns)
        found = []
        for name, source in zip(columns, states.sources, strict=True):
            i = names.index(name)
            after = narrow(self.batch[f"a{i}"], pa.StringArray)
            highest = pc.max(source).as_py()
            if highest is not None and highest >= self.count:
                own = pc.if_else(pc.less(source, self.count), source, _NO_LONG)
                other = pc.if_else(pc.greater_equal(source, self.count), pc.subtract(source, self.count), _NO_LONG)
                texts = pc.coalesce(after.take(own), narrow(self.batch[f"b{i}"], pa.StringArray).take(other))
            else:
                texts = after.take(source)
            found.append(texts)
        return found
