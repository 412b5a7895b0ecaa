"""Which row each operation belongs to, where keys change.

The operations of connected keys are applied one after the other to a dictionary from key to row. A row that arrives at
an occupied key leaves two rows there for a moment, as in `UPDATE t SET id = id + 1`. The next operation of that key is
for the row that its before image fits; if it fits both, for the row that was there first, because one statement
updates a row once. A delete is in doubt if it fits a row that its transaction inserted too. At the end of the
transaction one row is left at each key. Values stay in columns: they are looked up only where two rows are at one key.

Without ids of transactions, operations of one time are taken for a transaction. A source may have a time for each row,
so another time is no proof that the transaction is over: two rows that updates brought to a key stay there. An
operation that takes one of them away, and may mean both, then leaves the key in doubt.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from operator import itemgetter

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import int64_view, memory, non_null_values
from ggfmt.columnar.hashes import row_codes
from ggfmt.dataclasses import dataclass, field
from ggfmt.rows.operations import DELETE, INSERT, UPDATE, shows_values
from ggfmt.rows.tables import RowTable

_UNKNOWN, _NULL = -2, -1  # codes of values


@dataclass
class Identities:
    """The rows that n operations, in order, belong to. Rows are numbered from 0."""

    groups: list[int] = field(default_factory=list)  # by operation the row
    halves: dict[int, int] = field(default_factory=dict)  # by operation that is the insert of a key update, its delete
    # operations after which it is not certain which of two rows has the values
    doubtful: set[int] = field(default_factory=set)
    ended: dict[int, int] = field(default_factory=dict)  # by row the operation of another row that took its key
    # rows that lost their key to another one, so that it is not certain what became of them
    overtaken: set[int] = field(default_factory=set)
    # rows, with the operation, where another row may have been at their key: it is not certain which of the two the
    # operation is for
    collided: list[tuple[int, int]] = field(default_factory=list)
    # the last operations of rows whose key is not settled, because the transaction may go on
    open: set[int] = field(default_factory=set)
    free: set[int] = field(default_factory=set)  # codes of keys at which it is known that no row is in the end


@dataclass(slots=True)
class _Row:
    """A row during the pass."""

    number: int
    inserted: int | None = None  # the operation that inserted it
    last: int | None = None  # its last operation
    arrived: int | None = None  # the operation that brought it to a key where another row was
    moved: int | None = None  # the operation that brought it to a key of which nothing was known
    replaced: bool = False  # an insert has taken its key
    left: int | None = None  # the key where it is a row, not known which, that a delete has left


_Choice = tuple[_Row | None, tuple[_Row, ...] | None]  # the row of an operation, and the rows that stay; None: unknown


class _ValueCodes:
    """Values of operations as codes, by column. `previous`: by operation the one before it of the same row."""

    def __init__(
        self, batch: pa.RecordBatch, table: RowTable, previous: Mapping[int, int], kept_columns: Collection[str]
    ) -> None:
        self._previous = previous
        self._columns = []
        self._keys = {i for i, name in enumerate(table.columns) if name in table.key}
        for i in range(len(table.columns)):
            both = pa.concat_arrays([batch[f"b{i}"], batch[f"a{i}"]]).dictionary_encode()
            codes = memory(both.indices.fill_null(_NULL).buffers()[1]).cast("i")
            masks = [memory(batch[f"{name}{i}"].cast(pa.uint8()).buffers()[1]) for name in ("hb", "ha", "u")]
            self._columns.append((codes, *masks))
        self._count = len(batch)
        self._shows_values = shows_values(batch.column, table).to_pylist()
        self._ops = batch["op"].to_pylist()
        self._seqs: list[int] = non_null_values(batch["seq"])
        self._starts = [epoch.start for epoch in table.epochs]
        names = list(table.columns)
        self._kept = [names.index(name) for name in kept_columns if name in names] if kept_columns else None
        self._columns_of = [[names.index(name) for name in epoch.columns] for epoch in table.epochs]
        arrivals = [[None if at == self._starts[0] else at for at in table.arrivals(name)] for name in names]
        self._arrivals = None if all(at is None for each in arrivals for at in each) else arrivals

    def fit(self, row: _Row, before: int, halves: Mapping[int, int]) -> bool:
        """Return whether the before image of an operation may be of a row: no known value differs."""
        return all(
            self._value(row, i, before, halves) in (_UNKNOWN, self._columns[i][0][before]) for i in self._shown(before)
        )

    def are_alike(self, rows: Iterable[_Row], operation: int, halves: Mapping[int, int]) -> bool:
        """Return whether rows have the same values at an operation, all of them known."""
        columns = set(self._columns_of[self._epoch_of(operation)]) - self._keys
        values = ({self._value(row, i, operation, halves) for row in rows} for i in columns)
        return all(len(found) == 1 and _UNKNOWN not in found for found in values)

    def is_whole(self, operation: int) -> bool:
        """Return whether the before image shows all values that the table has at that place."""
        columns = self._columns_of[self._epoch_of(operation)]
        if self._kept is not None and self._seqs[operation] < 0:  # the table has got others since
            columns = self._kept
        return self._keys.union(self._shown(operation)).issuperset(columns)

    def _shown(self, before: int) -> Iterator[int]:
        """Yield the columns besides the key whose value a before image shows."""
        if self._ops[before] != DELETE or self._shows_values[before]:
            yield from (i for i, each in enumerate(self._columns) if i not in self._keys and each[1][before])

    def _epoch_of(self, operation: int) -> int:
        return max(bisect_right(self._starts, self._seqs[operation]) - 1, 0)

    def _value(self, row: _Row, i: int, before: int, halves: Mapping[int, int]) -> int:
        codes, has_before, has_after, unavailable = self._columns[i]
        # A column that was dropped and added again is a new one: what the row had in the old one says nothing.
        arrival = None if self._arrivals is None else self._arrivals[i][self._epoch_of(before)]
        at = row.last
        while at is not None:
            operation, at = at, self._previous.get(at)
            if arrival is not None and self._seqs[operation] < arrival:
                return _UNKNOWN
            op = self._ops[operation]
            if op == DELETE:
                continue  # half of a key update
            if has_after[operation]:
                return int(codes[self._count + operation])
            half = halves.get(operation)
            if half is not None:
                if not unavailable[operation]:
                    return _NULL
                if has_before[half] and self._shows_values[half]:
                    return int(codes[half])
            elif op == INSERT:
                return _UNKNOWN if unavailable[operation] else _NULL
            elif has_before[operation] and (self._shows_values[operation] or not unavailable[operation]):
                return int(codes[operation])
        return _UNKNOWN


class IdentityFinder:
    """Finds the row of each operation; operations are in order, without truncates.

    old_keys, new_keys  by operation the code of its key before and after it
    halves    as in `Identities`
    complete  all rows from before are known, so that a key without a row is free
    free      codes of keys at which no row is before the first operation
    kept_columns  those that the table had in the runs that kept operations
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        table: RowTable,
        old_keys: Sequence[int],
        new_keys: Sequence[int],
        halves: Mapping[int, int],
        complete: bool,
        free: Collection[int],
        kept_columns: Collection[str],
    ) -> None:
        self._ops = batch["op"].to_pylist()
        self._old, self._new = old_keys, new_keys
        self._complete, self._kept_columns = complete, kept_columns
        self._batch, self._table = batch, table
        known = batch["tx"].is_valid()
        times = pc.if_else(known, pa.scalar(None, batch["ts"].type), batch["ts"])
        self._moments = int64_view(row_codes([batch["tx"], times]))
        self._has_transaction = known.to_pylist()
        # Nothing at a key: it is known that no row is there.
        self._rows_at: dict[int, tuple[_Row, ...]] = dict.fromkeys(free, ())
        self._previous: dict[int, int] = {}
        self._crowded: set[int] = set()
        self._lingering: set[int] = set()  # keys with two rows, after the time of those that brought them
        self._collisions: dict[int, list[tuple[int, int]]] = {}  # by key: rows and operations
        self._forgotten: dict[int, tuple[int, list[tuple[int, int]]]] = {}  # by key: the insert that ended collisions
        self._numbers = count()
        self._found = Identities(halves=dict(halves))
        self._halves = self._found.halves
        self._deletes = set(self._halves.values())

    @cached_property
    def _values(self) -> _ValueCodes:
        return _ValueCodes(self._batch, self._table, self._previous, self._kept_columns)

    def find(self, epochs: Iterable[int], last_epoch: int) -> Identities:
        """Return the rows. `epochs`: by operation the number of truncates before it; `last_epoch`: of all."""
        groups = self._found.groups
        last: int | None = None
        truncates = 0
        for operation, (op, epoch) in enumerate(zip(self._ops, epochs, strict=True)):
            if epoch > truncates:
                self._truncate()
                truncates = epoch
            if self._crowded and not self._same_moment(operation, last):
                self._settle(all(each is not None and self._has_transaction[each] for each in (operation, last)))
            if operation in self._deletes:
                groups.append(-1)  # until the insert of the key update comes
                continue
            last = operation
            before = self._halves.get(operation, operation)
            if op == DELETE:
                row = self._take(self._old[operation], operation, None)
            elif op == UPDATE or before != operation:
                row = self._update(operation, self._old[before], self._new[operation])
            else:
                row = self._insert(operation, self._new[operation])
            if row.last is not None:
                self._previous[operation] = row.last
            row.last = operation
            groups.append(row.number)
            groups[before] = row.number
        if last_epoch > truncates:
            self._truncate()
        self._found.open = set() if last is None else self._open_at(last)
        self._settle()
        self._found.free = {key for key, rows in self._rows_at.items() if not rows}
        shown = set(groups)  # without rows of which only their number is known
        self._found.ended = {row: end for row, end in self._found.ended.items() if row in shown}
        collided = (pair for pair in chain.from_iterable(self._collisions.values()) if pair[0] in shown)
        self._found.collided = sorted(collided, key=itemgetter(1))
        return self._found

    def _truncate(self) -> None:
        self._settle()
        self._rows_at.clear()
        self._collisions.clear()
        self._forgotten.clear()
        self._complete = True

    def _open_at(self, last: int) -> set[int]:
        """Return the last operations of rows that share a key, or came to one in the moment of an operation."""
        rows = [row for key in self._crowded | self._lingering for row in self._rows_at[key]]
        rows += [row for there in self._rows_at.values() for row in there if self._same_moment(last, row.moved)]
        return {row.last for row in rows if row.last is not None}

    def _new_row(self, inserted: int | None = None) -> _Row:
        return _Row(next(self._numbers), inserted)

    def _insert(self, operation: int, key: int) -> _Row:
        if not self._has_transaction[operation]:
            # The insert starts a new row, unless a before image shows later that the row there is another one. With
            # ids of transactions it may come before the delete of the other row: constraints are deferred.
            for row in self._rows_at.get(key, ()):
                self._found.ended.setdefault(row.number, operation)
                row.replaced = True
        # The key is free, so that no row of an earlier collision is left there.
        earlier = self._collisions.pop(key, None)
        if earlier is not None:
            self._collisions[key] = [each for each in earlier if self._same_moment(operation, each[1])]
            if not self._has_transaction[operation]:
                self._forgotten[key] = operation, [each for each in earlier if each not in self._collisions[key]]
        return self._put(key, self._new_row(operation), operation)

    def _update(self, operation: int, old: int, new: int) -> _Row:
        row = self._take(old, operation, new)
        if new != old:
            row.moved = None if self._complete or new in self._rows_at else operation
        return self._put(new, row, operation)

    def _put(self, key: int, row: _Row, operation: int) -> _Row:
        rows = self._rows_at.get(key)
        row.arrived = operation if rows else None
        self._rows_at[key] = (*rows, row) if rows else (row,)
        if rows:
            self._crowded.add(key)
        return row

    def _take(self, key: int, operation: int, new: int | None) -> _Row:
        """Return the row that an operation is for, and remove it from its key. `new`: the next key, if it has one."""
        rows = self._rows_at.pop(key, ())
        row, rest = (self._choose if len(rows) > 1 else self._confirm)(rows, key, operation, new)
        if row is not None and row.left == key != new and rest == ():
            self._collisions.pop(key, None)  # no row of the collision is left
        insert, forgotten = self._forgotten.pop(key, (None, []))
        if row is not None and new != key and self._same_moment(operation, insert):
            # The key was not free: a row of the earlier collision may be the one that leaves it.
            self._collide(key, operation, [*forgotten, (row.number, operation)])
        if rest is not None:
            self._rows_at[key] = rest
        if not rest or (len(rest) < 2 and not rest[0].replaced):
            self._crowded.discard(key)
            self._lingering.discard(key)
        if row is not None and row.replaced:
            row.replaced = False
            del self._found.ended[row.number]
        return row or self._new_row()

    def _confirm(self, rows: tuple[_Row, ...], key: int, operation: int, new: int | None) -> _Choice:
        """Choose the only row at a key, if there is one and it may be meant."""
        if not rows or not self._same_moment(operation, rows[0].moved):
            return rows[0] if rows else None, ()
        # It came to this key in this transaction. Whether another row was here is unknown.
        before = self._halves.get(operation, operation)
        if not self._values.fit(rows[0], before, self._halves):
            return None, rows
        if new == key or self._values.is_whole(before):
            return rows[0], ()
        self._collide(key, operation, [(rows[0].number, operation)])
        return rows[0], None

    def _choose(self, rows: tuple[_Row, ...], key: int, operation: int, new: int | None) -> _Choice:
        """Choose among several rows at a key, by the before image and by which of them was there first."""
        before = self._halves.get(operation, operation)
        fits = [each for each in rows if self._values.fit(each, before, self._halves)]
        fitting, replaced = ([each for each in fits if each.replaced is is_replaced] for is_replaced in (False, True))
        # The first: one statement updates a row once, so that a row which it moved here is not meant.
        row = (fitting or replaced or [each for each in rows if not each.replaced] or rows)[0]
        rest = tuple(each for each in rows if each is not row)
        is_either = bool(fitting and replaced) or (len(fitting) != 1 and key in self._lingering)
        if new is None and len(fitting) > 1 and any(self._same_moment(operation, each.inserted) for each in fitting):
            # The delete is of another statement than the insert: it may be of any of them.
            is_either = is_either or not self._values.are_alike(fitting, operation, self._halves)
        if new == key and len(fitting) > 1:
            self._found.doubtful.add(operation)  # which of them it changes is unknown
        if new == key or not is_either:
            return row, rest
        for each in (doubted := rows if new is None else rest):
            each.replaced = False
            self._found.ended[each.number] = before
        # It is known how many are left if all of them were there, and no other one.
        is_counted = new is None and not (replaced or key in self._lingering or self._collisions.get(key))
        self._collide(key, operation, [(each.number, before) for each in doubted])
        return row, tuple(_Row(next(self._numbers), arrived=operation, left=key) for _ in rest) if is_counted else None

    def _collide(self, key: int, operation: int, pairs: Iterable[tuple[int, int]]) -> None:
        """Note rows, with operations, of which an operation may have taken another one from a key."""
        self._found.doubtful.add(operation)
        self._collisions.setdefault(key, []).extend(pairs)

    def _same_moment(self, operation: int, other: int | None) -> bool:
        return other is not None and self._moments[operation] == self._moments[other]

    def _settle(self, is_over: bool = True) -> None:
        """End a transaction: the last row is left at each key, or rows that updates brought if time alone decides."""
        for key in self._crowded | self._lingering if is_over else self._crowded:
            rows = [row for row in self._rows_at[key] if not row.replaced]
            if not is_over and len(rows) > 1:
                self._lingering.add(key)
                self._rows_at[key] = tuple(rows)
                continue
            for row in rows[:-1]:
                arrived = rows[-1].arrived
                assert arrived is not None
                self._found.ended[row.number] = arrived
                if self._ops[arrived] != INSERT or arrived in self._halves:
                    # An insert starts a new row: the delete before it is not in the input.
                    self._found.overtaken.add(row.number)
            for row in rows:
                row.arrived = None
            self._rows_at[key] = tuple(rows[-1:])
            self._lingering.discard(key)
        self._crowded.clear()
