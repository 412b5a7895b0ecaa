"""The rows of one table from its operations, one operation after the other: slow, obvious, a model for tests.

`consolidate` applies changes to a list of rows by key. Nothing here is shared with `ggfmt`. The rules:

* An image contains some columns. A column that it does not contain is missing, which is not NULL. `UNAVAILABLE` is
  the placeholder of a source that did not send an unchanged value.
* Positions order the changes if all of them have one; otherwise the input does. A change that comes twice at one
  position with the same images counts once. In a table without a key it counts as often as in the file that has it
  most often.
* A delete and a create of another key next to each other, in one transaction or at one position, become one update:
  some sources write key updates so. A missing column of the create is NULL; an unavailable one keeps its value, if
  both are at one position.
* A transaction may have two rows at one key for a while. A change with a before image means the row that agrees with
  the image; among rows that agree it means the one that came first, because a statement updates a row once. A delete
  may mean each of them if its transaction inserted one.
* At the end of a transaction one row is left at each key: the one that came last. Without ids a transaction may go on
  at another time: rows that updates brought to a key stay there, and a change that takes one away has to fit one alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum


class Marker(Enum):
    """What an image or a row has in place of a value: the placeholder, or nothing that is known."""

    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return self.value


UNAVAILABLE, UNKNOWN = Marker.UNAVAILABLE, Marker.UNKNOWN
Value = str | None | Marker
Image = Mapping[str, Value]
Key = tuple[Value, ...]

NO_KEY, NEVER_SEEN, COLLISION, OVERTAKEN = "no key", "never seen", "collision", "overtaken"


@dataclass(frozen=True)
class Change:
    """One operation as a file has it.

    op                  I, U, D, T (truncate), or C: from here on the table has other columns (`columns`)
    number              the number of the transaction in its history; for tests alone, files do not have it
    position            None if the source does not write positions
    second              the time of the commit in seconds from the start; None if the source does not write it
    transaction         the id of the transaction; None if the source does not write it
    splits_key_updates  the source may pad before images with NULL
    source_file         the number of the file that the change is in
    """

    op: str
    before: Image | None = None
    after: Image | None = None
    number: int = 0
    position: int | None = None
    second: int | None = None
    transaction: str | None = None
    columns: tuple[str, ...] | None = None
    splits_key_updates: bool = False
    source_file: int = 0
    half: Change | None = None  # the delete of a create that became a key update: versions show it as an insert

    @property
    def same(self) -> tuple[object, ...]:
        """What two copies of one change have in common."""
        images = (None if image is None else tuple(sorted(image.items())) for image in (self.before, self.after))
        return self.position, self.op, *images


@dataclass
class TableRow:
    """A row of the table.

    start    the change that made this version
    arrival  the change that brought the row to a key at which another row was
    moved    the change that moved the row to a key of which nothing was known
    doubt    why the values are uncertain
    replaced an insert came to the key of the row: the files lack the delete, or it follows in the transaction
    inserted the insert of the row
    left     the key where it is a row, not known which, that a delete has left
    """

    values: dict[str, Value]
    start: Change | None = None
    arrival: Change | None = None
    moved: Change | None = None
    doubt: str | None = None
    replaced: bool = False
    inserted: Change | None = None
    left: Key | None = None


@dataclass(frozen=True)
class Version:
    """The values of a row from one change to another (None: the row is current)."""

    values: Image
    start: Change | None
    end: Change | None


@dataclass
class Outcome:
    """The columns of the table, its certain rows, and (reason, values) of each uncertain row."""

    columns: tuple[str, ...]
    rows: list[Image] = field(default_factory=list)
    unresolved: list[tuple[str, Image]] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)


def key_of(image: Image | None, key: Sequence[str]) -> Key | None:
    """Return the key of an image, or None if the image lacks a column of it."""
    if image is None or not set(key) <= set(image):
        return None
    return tuple(image[name] for name in key)


def may_share_transaction(one: Change, other: Change | None) -> bool:
    """Whether two changes may be of one transaction: by its id, otherwise by the time of the commit."""
    if other is None:
        return False
    if one.transaction is not None or other.transaction is not None:
        return one.transaction == other.transaction
    return one.second == other.second


# Before the changes are applied


def prepare(changes: Iterable[Change], key: Sequence[str]) -> list[Change]:
    """Return the changes in order, each once, with key updates put together."""
    ordered = prepared_order(changes, key)
    return _with_key_updates(ordered, key) if key else ordered


def prepared_order(changes: Iterable[Change], key: Sequence[str]) -> list[Change]:
    """Return the changes in order, each once; key updates stay as the source wrote them."""
    return _ordered([_without_padding(item, key) for item in changes], key)


def _without_padding(item: Change, key: Sequence[str]) -> Change:
    """Drop the columns of a before image that contains NULL in all columns but the key: it shows the key alone."""
    if not key or not item.splits_key_updates or not item.before:
        return item
    if any(value is not None for name, value in item.before.items() if name not in key):
        return item
    return replace(item, before={name: value for name, value in item.before.items() if name in key})


def _ordered(changes: list[Change], key: Sequence[str]) -> list[Change]:
    operations = [item for item in changes if item.op != "C"]
    if not operations or any(item.position is None for item in operations):
        return changes
    places: list[tuple[int, int]] = []  # a change of columns stays behind the operation that it follows
    last = -1
    for place, item in enumerate(changes):
        last = last if item.position is None else item.position
        places.append((last, place))
    ordered = [changes[place] for _, place in sorted(places)]
    allowed: Counter[tuple[object, ...]] = Counter()
    if not key:
        for (_, same), count in Counter((item.source_file, item.same) for item in operations).items():
            allowed[same] = max(allowed[same], count)
    found: list[Change] = []
    used: Counter[tuple[object, ...]] = Counter()
    for item in ordered:
        if item.op != "C":
            used[item.same] += 1
            if used[item.same] > max(allowed[item.same], 1):
                continue
        found.append(item)
    return found


def _with_key_updates(changes: Iterable[Change], key: Sequence[str]) -> list[Change]:
    found: list[Change] = []
    for item in changes:
        last = found[-1] if found else None
        if item.op == "I" and last is not None and last.op == "D":
            old, new = key_of(last.before, key), key_of(item.after, key)
            is_at_one = item.position == last.position
            has_ids = item.transaction is not None or last.transaction is not None
            is_one = may_share_transaction(item, last) or (is_at_one and item.position is not None and not has_ids)
            if is_one and old is not None and new is not None and old != new:
                after = item.after or {}
                if not is_at_one:  # perhaps of two rows: what is hidden is not that of the other one
                    after = {name: UNKNOWN if value is UNAVAILABLE else value for name, value in after.items()}
                found[-1] = replace(item, op="U", before=last.before, after=after, half=last)
                continue
        found.append(item)
    return found


# One change after the other


class Model:
    """A table with a key. `complete`: the rows of the start are all known, so that a key without a row is free."""

    def __init__(self, columns: Sequence[str], key: Sequence[str], complete: bool, base: Iterable[Image] = ()) -> None:
        self.columns, self.key, self.complete = tuple(columns), tuple(key), complete
        self.rows: defaultdict[Key, list[TableRow]] = defaultdict(list)  # the row that came first is the first
        self.crowded: set[Key] = set()  # keys with several rows
        self.lingering: set[Key] = set()  # those at a later time than that of the changes that brought them
        self.added: set[str] = set()  # columns that the start lacks: NULL in rows that no change has set them in
        self.lost: list[tuple[str, Image, Change | None]] = []
        self.versions: list[Version] = []
        self._last: Change | None = None
        for values in base:
            key_values = key_of(values, self.key)
            assert key_values is not None
            self.rows[key_values].append(TableRow({name: values.get(name) for name in self.columns}))

    def apply(self, item: Change) -> None:
        if self.crowded and not may_share_transaction(item, self._last):
            has_ids = self._last is not None and None not in (item.transaction, self._last.transaction)
            self.end_transaction(is_over=has_ids)
        self._last = item
        {"C": self._define, "T": self._truncate, "I": self._insert, "U": self._update, "D": self._delete}[item.op](item)

    def _define(self, item: Change) -> None:
        """A column that is new, or comes back, is NULL in all rows."""
        assert item.columns is not None
        for row in self._all():
            row.values = {name: row.values[name] if name in self.columns else None for name in item.columns}
        self.added = {name for name in item.columns if name in self.added or name not in self.columns}
        self.columns = item.columns

    def _truncate(self, item: Change) -> None:
        self.end_transaction()
        for row in self._all():
            self._end(row, item)
        self.rows.clear()
        self.lost.clear()
        self.complete = True

    def _insert(self, item: Change) -> None:
        after = item.after or {}
        key = key_of(after, self.key)
        if key is None:
            self.lost.append((NO_KEY, after, item))
            return
        # With ids of transactions, the insert may come before the delete of the other row: constraints are deferred.
        # Without, the insert starts a new row, unless a before image shows that it is of the other row.
        if item.transaction is None:
            for row in self.rows.get(key, ()):
                self._end(row, item)
                row.replaced = True
        # The key is free, so that no row of an earlier collision is left there.
        self.lost = [lost for lost in self.lost if not self._is_settled(lost, key, item)]
        values = {name: after.get(name) for name in self.columns}
        values = {name: UNKNOWN if value is UNAVAILABLE else value for name, value in values.items()}
        self._put(key, TableRow(values, item, inserted=item), item)

    def _is_settled(self, lost: tuple[str, Image, Change | None], key: Key, insert: Change) -> bool:
        reason, image, item = lost
        return reason == COLLISION and key_of(image, self.key) == key and not may_share_transaction(insert, item)

    def _delete(self, item: Change) -> None:
        key = key_of(item.before, self.key)
        if key is None:
            self.lost.append((NO_KEY, item.before or {}, item))
            return
        row = self._take(key, item)
        if row is not None:
            self._end(row, item)

    def _update(self, item: Change) -> None:
        before, after = item.before or {}, item.after or {}
        # An image may show some columns of the key alone; the other ones are as in the other image.
        old, new = (
            key_of(image, self.key) for image in ({**_available(after), **before}, {**before, **_available(after)})
        )
        if old is None or new is None:
            self.lost.append((NO_KEY, before or after, item))
            return
        row = self._take(old, item)
        if row is None:
            row = TableRow({name: None if name in self.added else UNKNOWN for name in self.columns})
        else:
            self._end(row, item.half or item)
        values = dict(row.values)
        for name, value in before.items():
            # A before image that may be padded with NULL does not replace a value that is known.
            if name in values and value is not UNAVAILABLE and (values[name] is UNKNOWN or not item.splits_key_updates):
                values[name] = value
        if item.half is not None:
            values = {name: values[name] if after.get(name) is UNAVAILABLE else None for name in values}
        values.update((name, value) for name, value in _available(after).items() if name in values)
        values.update(zip(self.key, new, strict=True))
        sets_all = set(self.columns) <= {*_available(after), *self.key} or (
            item.half is not None and after == _available(after)
        )
        doubt = None if sets_all else row.doubt
        # An update that stays at its key leaves it open whether another row was there: at most one is in the end.
        is_new_key = self.complete or new in self.rows
        moved = row.moved if new == old else None if is_new_key else item
        self._put(new, TableRow(values, item, None, moved, doubt, False, row.inserted, row.left), item)

    def _take(self, key: Key, item: Change) -> TableRow | None:
        """Remove the row that a change of a key is about; None if nothing is known of such a row."""
        rows = self.rows.get(key, [])
        found = rows[0] if rows else None
        if len(rows) > 1:
            current = [row for row in rows if not row.replaced]
            fitting = [row for row in current if _agrees(row, item.before)]
            replaced = [row for row in rows if row.replaced and _agrees(row, item.before)]
            found = (fitting or replaced or current or rows)[0]
            if len(fitting) > 1 and item.op == "U" and key_of(item.after, self.key) in (None, key):
                found.doubt = COLLISION  # both may be meant
            both = (fitting and replaced) or (len(fitting) != 1 and key in self.lingering)
            is_inserted = any(may_share_transaction(item, row.inserted) for row in fitting)
            if item.op == "D" and is_inserted and len(fitting) > 1:
                # It is of another statement than the insert: it may be of any of them, unless they are equal.
                both = both or any(row.values != fitting[0].values or _doubt(row) for row in fitting)
            if both and self._leaves(key, item):
                is_first = not any(one[0] == COLLISION and key_of(one[1], self.key) == key for one in self.lost)
                self.lost += [(COLLISION, dict(row.values), item) for row in rows if item.op == "D" or row is not found]
                for row in rows:
                    row.replaced = False
                    self._end(row, item.half or item)
                found.start, found.doubt = item, COLLISION
                del self.rows[key]
                if item.op == "D" and is_first and not replaced and key not in self.lingering:
                    # Of the others nothing is known but their number.
                    values = dict.fromkeys(self.columns, UNKNOWN) | dict(zip(self.key, key, strict=True))
                    self.rows[key] = [TableRow(dict(values), None, item, left=key) for _ in rows[1:]]
                    if len(rows) > 2:
                        return found
                self.crowded.discard(key)
                self.lingering.discard(key)
                return found
        if len(rows) == 1 and rows[0].left == key and self._leaves(key, item):
            self.lost = [one for one in self.lost if one[0] != COLLISION or key_of(one[1], self.key) != key]
        rest = [row for row in rows if row is not found]
        if found is not None and len(rows) == 1 and may_share_transaction(item, found.moved):
            # The row came in this transaction. Perhaps another one was here, of which nothing is known.
            if not _agrees(found, item.before):
                found, rest = None, rows
            elif self._leaves(key, item) and not set(self.columns) <= set(_available(item.before or {})):
                self.lost.append((COLLISION, dict(found.values), item))
                found.doubt = COLLISION
                del self.rows[key]  # one of two rows may be left
                return found
        self.rows[key] = rest
        if len(rest) < 2 and not any(row.replaced for row in rest):
            self.crowded.discard(key)
            self.lingering.discard(key)
        return found

    def _leaves(self, key: Key, item: Change) -> bool:
        """Whether no row is at the key of a change after it."""
        return item.op == "D" or key_of({**(item.before or {}), **_available(item.after or {})}, self.key) != key

    def _put(self, key: Key, row: TableRow, item: Change) -> None:
        rows = self.rows[key]
        row.arrival = item if rows else None
        rows.append(row)
        if len(rows) > 1:
            self.crowded.add(key)

    def end_transaction(self, is_over: bool = True) -> None:
        for key in self.crowded | self.lingering if is_over else self.crowded:
            rows = [row for row in self.rows[key] if not row.replaced]
            if not is_over and len(rows) > 1:
                self.lingering.add(key)
                self.rows[key] = rows
                continue
            for row in rows[:-1]:
                assert rows[-1].arrival is not None
                if rows[-1].arrival.op != "I":  # an insert starts a new row: the files lack the delete
                    self.lost.append((OVERTAKEN, row.values, rows[-1].arrival))
                self._end(row, rows[-1].arrival)
            for row in rows:
                row.arrival = None
            self.rows[key] = rows[-1:]
            self.lingering.discard(key)
        self.crowded.clear()

    def _end(self, row: TableRow, item: Change) -> None:
        if row.start is not item and not row.replaced and not _doubt(row):
            self.versions.append(Version(dict(row.values), row.start, item))

    def _all(self) -> list[TableRow]:
        return [row for rows in self.rows.values() for row in rows]

    def finish(self) -> Outcome:
        self.end_transaction()
        found = Outcome(self.columns, versions=self.versions)
        found.unresolved = [(reason, image) for reason, image, _ in self.lost]
        for row in self._all():
            doubt = _doubt(row)
            if doubt is None:
                found.rows.append(row.values)
                found.versions.append(Version(row.values, row.start, None))
            else:
                found.unresolved.append((doubt, row.values))
        return found


def _available(image: Image) -> dict[str, Value]:
    return {name: value for name, value in image.items() if value is not UNAVAILABLE}


def _agrees(row: TableRow, image: Image | None) -> bool:
    """Whether an image may be of a row: no column that both know differs."""
    return all(row.values.get(name, UNKNOWN) in (UNKNOWN, value) for name, value in _available(image or {}).items())


def _doubt(row: TableRow) -> str | None:
    return row.doubt or (NEVER_SEEN if UNKNOWN in row.values.values() else None)


def until(changes: Iterable[Change], second: int) -> list[Change]:
    """Return the changes that were committed by a second.

    A change of columns counts if the operation behind it does, with those before it. A later operation that has no
    time, and so counts always, does not say when the columns changed.
    """
    every = list(changes)
    last = -1  # of the changes of columns that count
    behind = None
    for place, item in reversed(list(enumerate(every))):
        if item.op != "C":
            behind = item
        elif behind is not None and (behind.second is None or behind.second <= second):
            last = place
            break
    return [
        item
        for place, item in enumerate(every)
        if (place <= last if item.op == "C" else item.second is None or item.second <= second)
    ]


def consolidate(
    changes: Iterable[Change],
    columns: Sequence[str],
    key: Sequence[str],
    *,
    complete: bool = True,
    base: Iterable[Image] = (),
) -> Outcome:
    """Return the table after the changes. `columns` are those of the start."""
    ordered = prepare(changes, key)
    if not key:
        return _without_key(ordered, columns, base)
    model = Model(columns, key, complete, base)
    for item in ordered:
        model.apply(item)
    return model.finish()


def _without_key(changes: Iterable[Change], columns: Sequence[str], base: Iterable[Image]) -> Outcome:
    """Count equal rows. A before image without its row is unresolved."""
    names = tuple(columns)
    Start = Change | None
    bag: defaultdict[tuple[Value, ...], list[Start]] = defaultdict(list)  # the starts of equal rows
    owed: Counter[tuple[Value, ...]] = Counter()  # deletes of rows that were not there
    versions: list[Version] = []

    def end(values: tuple[Value, ...], item: Change) -> None:
        start = bag[values].pop()
        if start is not item:
            versions.append(Version(dict(zip(names, values, strict=True)), start, item))

    for row in base:
        bag[tuple(row.get(name) for name in names)].append(None)
    for item in changes:
        if item.op == "C":
            assert item.columns is not None
            there, names = names, item.columns
            kept = [(dict(zip(there, values, strict=True)), starts) for values, starts in bag.items()]
            bag.clear()
            for was, starts in kept:
                bag[tuple(was.get(name) for name in names)] += starts
        elif item.op == "T":
            for values in [values for values, starts in bag.items() for _ in starts]:
                end(values, item)
            owed.clear()
        if item.before is not None:
            values = tuple(item.before.get(name) for name in names)
            if bag[values]:
                end(values, item)
            else:
                owed[values] += 1
        if item.after is not None:
            values = tuple(item.after.get(name) for name in names)
            if owed[values] > 0:
                owed[values] -= 1
            else:
                bag[values].append(item)
    found = Outcome(names, versions=versions)
    for values, starts in bag.items():
        found.rows += [dict(zip(names, values, strict=True)) for _ in starts]
        found.versions += [Version(dict(zip(names, values, strict=True)), start, None) for start in starts]
    for values in owed.elements():
        found.unresolved.append((NEVER_SEEN, dict(zip(names, values, strict=True))))
    return found
