"""What consolidation is, one operation after the other: the reference of its tests, slow and obvious.

A story is a list of operations (`survival.Operation`: images have the columns that are present, as texts) and of
definitions, from where on the table has other columns. Nothing here is shared with `ggfmt.consolidation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from round_trips import Operation, Row

Key = tuple[str | None, ...]

NO_KEY, NEVER_SEEN, COLLISION, OVERTAKEN = "no key", "never seen", "collision", "overtaken"


@dataclass(frozen=True)
class Definition:
    """The columns that the table has from here on."""

    columns: tuple[str, ...]


Story = Sequence[Operation | Definition]


@dataclass(frozen=True)
class Version:
    """The values of a row from one operation (None: they were in the base) to another, exclusive (None: for good)."""

    values: Row
    start: Operation | None
    end: Operation | None = None


@dataclass
class TableRow:
    """A row of the table: the values that are known, and every operation of it since it began.

    `why` tells why values may be unknown. `defaults` are the columns that are NULL because nothing ever told of them.
    `met`: another row was at its key when it came there, so that it is not certain which of the two goes on.
    """

    values: Row
    operations: list[Operation] = field(default_factory=list)
    why: str = NEVER_SEEN
    defaults: set[str] = field(default_factory=set)
    met: bool = False


@dataclass(frozen=True)
class Lost:
    """What could not be decided: a reason and the operations that it is about."""

    reason: str
    operations: tuple[Operation, ...]


class Table:
    """A table with a key, to which operations are applied one by one."""

    def __init__(self, columns: Sequence[str], key: Sequence[str], coming: Iterable[str] = ()) -> None:
        """`columns` are those of the last definition. `coming` are those of them that are not there at the start: they
        are NULL in every row until they come (`add`), and then until an operation tells of them."""
        self.columns, self.key = tuple(columns), tuple(key)
        self.coming, self.added = set(coming), set(coming)
        self.rows: dict[Key, TableRow] = {}
        self.deleted: dict[Key, Operation] = {}  # keys that no row has any more, by the delete that took it
        self.seen: set[Key] = set()  # keys of which it is known whether there was a row
        self.versions: list[Version] = []
        self.lost: list[Lost] = []
        self.overtaken: list[TableRow] = []  # rows at whose keys others are by now
        self._open: dict[Key, Version] = {}

    def base(self, rows: Iterable[Row]) -> None:
        for values in rows:
            key = tuple(values[name] for name in self.key)
            self.rows[key] = TableRow({name: values[name] for name in self.columns})
            self.seen.add(key)
            self._begin(key, None)

    def apply(self, item: Operation) -> None:
        if item.op == "T":
            self._truncate(item)
            return
        old, new = self.keys(item)
        if old is None or new is None:
            self.lost.append(Lost(NO_KEY, (item,)))
        elif item.op == "I":
            self._insert(item, new)
        elif item.op == "D":
            self._delete(item, old)
        else:
            self._update(item, old, new)

    def keys(self, item: Operation) -> tuple[Key | None, Key | None]:
        """The key of the row before an operation and after it, as far as its images have all columns of it."""
        before, after = item.before or {}, item.after or {}
        if item.op == "I":
            before = {}
        if item.op == "D":
            after = {}
        return self._key({**after, **before}), self._key({**before, **after})

    def _key(self, image: Row) -> Key | None:
        return tuple(image[name] for name in self.key) if set(self.key) <= set(image) else None

    def _truncate(self, item: Operation) -> None:
        for key in self.rows:
            self._end(key, item)
        self.rows.clear()
        self.deleted.clear()
        self.lost.clear()
        self.overtaken.clear()

    def _insert(self, item: Operation, key: Key) -> None:
        image = item.after or {}
        self._end(key, item)
        absent = {name for name in self.columns if name not in image}
        values = {name: image.get(name) for name in self.columns}
        self.rows[key] = TableRow(values, [item], defaults=absent)
        self._begin(key, item)

    def _delete(self, item: Operation, key: Key) -> None:
        self._end(key, item)
        self.rows.pop(key, None)
        self.deleted[key] = item
        self.seen.add(key)

    def _update(self, item: Operation, old: Key, new: Key) -> None:
        self._end(old, item)
        row = self.rows.pop(old, None) or self._unknown()
        self.deleted.pop(old, None)
        self.seen.add(old)
        if old != new:
            meets = new in self.rows
            if meets:
                self._end(new, item)
                self.overtaken.append(self.rows.pop(new))
            if meets or row.met:
                row.values, row.defaults, row.why = dict.fromkeys(self.coming), set(self.coming), COLLISION
            row.met = meets
        image = {**(item.before or {}), **(item.after or {}), **dict(zip(self.key, new, strict=True))}
        told = {name: value for name, value in image.items() if name in self.columns}
        row.values |= told
        row.defaults -= set(told)
        row.operations.append(item)
        self.rows[new] = row
        self._begin(new, item)

    def _unknown(self) -> TableRow:
        """A row of which nothing was heard: only a column that was added is known."""
        return TableRow(dict.fromkeys(self.added), defaults=set(self.added))

    def _begin(self, key: Key, item: Operation | None) -> None:
        self.seen.add(key)
        self.deleted.pop(key, None)
        if self.is_known(self.rows[key]):
            self._open[key] = Version(self.in_order(self.rows[key]), item)

    def _end(self, key: Key, item: Operation) -> None:
        version = self._open.pop(key, None)
        if version is not None:
            self.versions.append(Version(version.values, version.start, item))

    def add(self, name: str) -> None:
        """A column comes to the table: it is NULL in all of its rows."""
        self.coming.discard(name)
        for row in self.rows.values():
            row.values[name] = None
            row.defaults.add(name)

    def is_known(self, row: TableRow) -> bool:
        return set(row.values) == set(self.columns)

    def in_order(self, row: TableRow) -> Row:
        return {name: row.values[name] for name in self.columns}

    def finish(self) -> None:
        self.versions += self._open.values()
        self.lost += [Lost(OVERTAKEN, tuple(row.operations)) for row in self.overtaken]
        self.lost += [Lost(row.why, tuple(row.operations)) for row in self.rows.values() if not self.is_known(row)]


def consolidated(story: Story, columns: Sequence[str], key: Sequence[str], base: Iterable[Row] = ()) -> Table:
    """The table after a story. `columns` are those that it has at the start; those that it has in the end count.

    A column that came to the table on the way is NULL in every row until then, also one of that name which there was
    before: it was another.
    """
    last = [item.columns for item in story if isinstance(item, Definition)][-1:] or [tuple(columns)]
    coming = arrivals(story, columns)
    table = Table(last[0], key, coming)
    table.base({**row, **dict.fromkeys(coming)} for row in base)
    for number, item in enumerate(story):
        if isinstance(item, Definition):
            for name in coming:
                if coming[name] == number:
                    table.add(name)
        else:
            table.apply(_without([name for name in coming if number < coming[name]], item))
    table.finish()
    return table


def arrivals(story: Story, columns: Sequence[str]) -> dict[str, int]:
    """The columns of the end that the table has had not all the time, with the place of the definition since which it
    has them."""
    found: dict[str, int] = {}
    there = tuple(columns)
    for number, item in enumerate(story):
        if isinstance(item, Definition):
            found |= {name: number for name in item.columns if name not in there}
            there = item.columns
    return {name: number for name, number in found.items() if name in there}


def _without(names: Sequence[str], item: Operation) -> Operation:
    def less(image: Row | None) -> Row | None:
        return None if image is None else {name: value for name, value in image.items() if name not in names}

    return replace(item, before=less(item.before), after=less(item.after)) if names else item


def until(story: Story, position: str | None = None, time: str | None = None) -> list[Operation | Definition]:
    """The story with the operations up to a position (a number) or a time alone; one without a time is left in."""

    def is_there(item: Operation) -> bool:
        if position is not None and int(item.pos or "") > int(position):
            return False
        return time is None or item.op_ts is None or item.op_ts <= time

    return [item for item in story if isinstance(item, Definition) or is_there(item)]


def net_changes(
    older: Story, newer: Story, columns: Sequence[str], key: Sequence[str], base: Sequence[Row] = ()
) -> dict[Key, tuple[str, Row]]:
    """By key what becomes of the state after a story until it is that after a longer one, which has the same operations
    and more: `I` and `U` with the values of the row then, `D` with what was known of it before. Rows that are
    unresolved then are left out.
    """
    before, after = consolidated(older, columns, key, base), consolidated(newer, columns, key, base)
    emptied = any(isinstance(item, Operation) and item.op == "T" for item in older)
    there = set(before.rows)
    heard = set(before.seen)
    earlier = {id(item) for item in older}
    for item in newer:
        if isinstance(item, Definition) or id(item) in earlier:
            continue
        if item.op == "T":
            emptied = True  # what is changed after it has come after it
            continue
        old, new = after.keys(item)
        if old is None or new is None:
            continue
        if item.op != "I" and old not in heard and not emptied:
            there.add(old)  # what is updated or deleted was there, and the story began after its insert
        heard |= {old, new} if item.op == "U" else {old if item.op == "D" else new}
    found: dict[Key, tuple[str, Row]] = {}
    for one in there | set(after.rows):
        was, row = before.rows.get(one), after.rows.get(one)
        if row is None:
            known = was.values if was is not None else dict(zip(key, one, strict=True))
            found[one] = "D", {name: known.get(name) for name in after.columns}
        elif after.is_known(row):
            values = after.in_order(row)
            if one not in there:
                found[one] = "I", values
            elif was is None or not before.is_known(was) or before.in_order(was) != values:
                found[one] = "U", values
    return found


def counted(story: Story, columns: Sequence[str], base: Iterable[Row] = ()) -> Counter[Key]:
    """A table without a key, whose images are all full: how often it has each row; one that was never seen, below 0."""
    rows = Counter(tuple(row[name] for name in columns) for row in base)
    for item in story:
        assert isinstance(item, Operation)
        if item.op == "T":
            rows.clear()
        for image, by in ((item.before, -1), (item.after, 1)):
            if image is not None:
                rows[tuple(image[name] for name in columns)] += by
    return Counter({row: number for row, number in rows.items() if number})
