"""Every way to read recorded operations: which rows are certain, and which no reader can know.

`interpret` follows all tables at once that agree with the operations. Two rows may be at one key within a transaction,
as with deferred constraints, and files may begin in the middle. A row is certain if it is the same in all tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rows_oracle import UNAVAILABLE, UNKNOWN, Change, Image, Key, Value, key_of, may_share_transaction, prepared_order

MAX_TABLES = 400

Values = tuple[tuple[str, Value], ...]  # by name, sorted


@dataclass(frozen=True)
class _Table:
    """One possible table: its rows; the keys at which no row from before the files is left; the row that the operation
    before this one deleted."""

    rows: tuple[Values, ...]
    used: frozenset[Key]
    deleted: Values | None = None


class TooManyInterpretationsError(Exception):
    """More than `MAX_TABLES` tables agree with the operations."""


class Interpretations:
    """The tables that agree with operations; rows by key in each. Without rows from before, `complete` is true."""

    def __init__(self, columns: Sequence[str], key: Sequence[str], complete: bool) -> None:
        self._columns, self._key, self._complete = tuple(columns), tuple(key), complete
        self._tables = {_Table((), frozenset())}
        self.by_key: list[dict[Key, Image]] = []

    def follow(self, changes: Iterable[Change]) -> None:
        last: Change | None = None
        for item in changes:
            if item.op != "C" and last is not None and not may_share_transaction(item, last):
                self._end_transaction()
            last = item if item.op != "C" else last
            if item.op == "T":
                self._complete = True
                self._tables = {_Table((), frozenset())}
                continue
            if item.op == "C":
                assert item.columns is not None
                now, there = item.columns, self._columns
                self._tables = {
                    _Table(tuple(_redefined(row, there, now) for row in t.rows), t.used) for t in self._tables
                }
                self._columns = now
                continue
            self._tables = {found for table in self._tables for found in self._after(table, item)}
            if len(self._tables) > MAX_TABLES:
                raise TooManyInterpretationsError
        self._end_transaction()
        self.by_key = [{self._key_of(row): dict(row) for row in table.rows} for table in self._tables]

    def _key_of(self, row: Values) -> Key:
        found = key_of(dict(row), self._key)
        assert found is not None
        return found

    def _end_transaction(self) -> None:
        """One row is left at each key; a key with a row that came has none from before."""
        found = set()
        for table in self._tables:
            keys = [self._key_of(row) for row in table.rows]
            if len(set(keys)) == len(keys):
                used = frozenset() if self._complete else table.used | frozenset(keys)
                found.add(_Table(table.rows, used))
        self._tables = found

    def _after(self, table: _Table, item: Change) -> Iterator[_Table]:
        after = item.after or {}
        if item.op == "I":
            held = dict(table.deleted or ())
            row = {name: after.get(name) for name in self._columns}
            if UNAVAILABLE in row.values():
                row = {n: held.get(n, UNKNOWN) if value is UNAVAILABLE else value for n, value in row.items()}
            yield self._with(table.rows, row, table.used)
            rest = tuple(there for there in table.rows if self._key_of(there) != key_of(after, self._key))
            if item.transaction is None and len(rest) < len(
                table.rows
            ):  # or the files lack the delete of the other row
                yield self._with(rest, row, table.used)
            return
        key = key_of(item.before, self._key) or key_of(after, self._key)
        assert key is not None
        choices: list[tuple[tuple[Values, ...], dict[str, Value], frozenset[Key]]] = []
        for place, row_there in enumerate(table.rows):
            if self._key_of(row_there) == key and row_there not in table.rows[:place]:
                choices.append((table.rows[:place] + table.rows[place + 1 :], dict(row_there), table.used))
        if not self._complete and key not in table.used:
            unknown: dict[str, Value] = dict.fromkeys(self._columns, UNKNOWN)
            choices.append((table.rows, unknown, table.used | {key}))
        for rest, row, used in choices:
            for name, value in (item.before or {}).items():
                if name in row and value is not UNAVAILABLE:
                    if row[name] not in (UNKNOWN, value):
                        break
                    row[name] = value
            else:
                row.update(zip(self._key, key, strict=True))
                if item.op == "D":
                    yield _Table(rest, used, tuple(sorted(row.items())))
                else:
                    row.update((n, value) for n, value in after.items() if n in row and value is not UNAVAILABLE)
                    yield self._with(rest, row, used)

    @staticmethod
    def _with(rows: tuple[Values, ...], row: dict[str, Value], used: frozenset[Key]) -> _Table:
        return _Table(tuple(sorted((*rows, tuple(sorted(row.items()))), key=repr)), used)

    def may_have(self, key: Key, row: Image | None) -> bool:
        """Whether some table has this row at a key; None: no row."""
        return any(table.get(key) == row for table in self.by_key)

    def is_certain(self, key: Key) -> bool:
        """Whether all tables have the same row at a key, with values that are known, or all have none."""
        first, *others = [table.get(key) for table in self.by_key]
        if first is None:
            return self._complete and not any(others)
        return UNKNOWN not in first.values() and all(row == first for row in others)

    @property
    def all_certain(self) -> bool:
        return self._complete and len(self.by_key) == 1


def _redefined(row: Values, there: Sequence[str], now: Sequence[str]) -> Values:
    values = dict(row)
    return tuple(sorted((name, values[name] if name in there else None) for name in now))


def interpret(
    changes: Iterable[Change], columns: Sequence[str], key: Sequence[str], complete: bool
) -> Interpretations | None:
    """Return the interpretations of the changes of a table with a key, or None if there are too many."""
    found = Interpretations(columns, key, complete)
    try:
        found.follow(prepared_order(changes, key))
    except TooManyInterpretationsError:
        return None
    return found if found.by_key else None
