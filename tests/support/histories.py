"""Random histories of tables for tests of rows: hundreds of small stories in one.

A story is about a few keys of its own, and no operation of it touches those of another, so that one run proves all of
them, and a difference shows the few operations that it is about. What all stories share is the table: it may be
truncated, and have other columns from some place on.

Most stories are those of a database: rows that exist are changed, and a capture writes of that what it is set up to
write. The others, `wild`, have in any order what files may have in them. `sql_histories` has transactions of a real
database; this module has what no database writes, odd texts as keys, and more types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from round_trips import Operation, Row
from runs import write_lines

from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef

ODD_TEXTS = ("", " ", "NULL", "null", "a b ", "Ä表😀", "'", '"', "\\", "`,|", "\n", "0", "00", "{}", "e\u0301", "é")
_INTEGER, _DECIMAL = SqlType(Kind.INTEGER), SqlType(Kind.DECIMAL, precision=12, scale=2)
KINDS = {"S": _INTEGER, "E": _INTEGER, "B": _DECIMAL}  # of columns; the others are texts
_START = datetime(2020, 1, 1)


Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Definition:
    """The columns that the table has from here on."""

    columns: tuple[str, ...]


Story = Sequence[Operation | Definition]


@dataclass(frozen=True)
class Shape:
    """A table of a history, and what happens to it.

    key      its columns; `S` is the number of a story. Without one, rows are repeated, and images are full
    values   the other columns that it has at the start; `more` are those that may come
    wild     the share of stories that no database can have
    unkeyed, untimed  the shares of operations without a key, and without a time
    before   what updates may have as before image, one for each story; deletes have `full`, or the key alone
    full     updates have all columns in their after image
    """

    name: str
    key: tuple[str, ...] = ("K",)
    values: tuple[str, ...] = ("A", "B", "`c d", "E")
    more: tuple[str, ...] = ("F", "G")
    stories: int = 200
    keys: int = 3
    steps: int = 8
    wild: float = 0.3
    unkeyed: float = 0.02
    untimed: float = 0.0
    truncates: int = 0
    definitions: int = 0
    moves: bool = True
    swaps: bool = True
    full: bool = False
    before: tuple[str, ...] = ("full", "keys", "absent", "empty", "changed")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*dict.fromkeys(("S", *self.key)), *self.values)

    def table(self, columns: Sequence[str]) -> TableDef:
        """A definition of the table with some columns."""
        found = (Column(name, KINDS.get(name, STRING)) for name in columns)
        return TableDef(self.name, tuple(found)).with_keys(self.key)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("GG.PLAIN"),
        Shape("GG.COMPOSITE", key=("S", "K", "L"), truncates=3, untimed=0.1),
        Shape("GG.DEFINED", definitions=5, truncates=1),
        Shape("GG.WHOLE", full=True, moves=False, swaps=False, unkeyed=0, before=("full",)),
        Shape("GG.MOVED", full=True),
        Shape("GG.MIXED", ("S", "K"), ("A", "E"), ("B",), definitions=3, truncates=2, untimed=0.1, stories=300),
        Shape("GG.KEYLESS", key=(), values=("A", "E"), truncates=1, wild=0),
    )
}


@dataclass(frozen=True)
class History:
    """`story` is in the order of positions, which are numbers. `started` are rows that were there before it, and `rows`
    those that are there in the end, of stories which a database can have (`tame`, by number) and in which no two rows
    have had the same key for a while."""

    shape: Shape
    story: list[Operation | Definition]
    started: list[Row]
    rows: list[Row]
    tame: frozenset[int]

    @property
    def last(self) -> TableDef:
        """The table as it is in the end."""
        columns = [item.columns for item in self.story if isinstance(item, Definition)][-1:]
        return self.shape.table(columns[0] if columns else self.shape.columns)

    def of(self, number: int) -> list[Operation | Definition]:
        """One of its stories, with what is about the table."""
        return [item for item in self.story if isinstance(item, Definition) or story_of(item) in (number, None)]

    def cut(self, place: int) -> tuple[Story, Story, tuple[str, ...]]:
        """The story before a place and from there on, and the columns that the table has there."""
        older, newer = self.story[:place], self.story[place:]
        columns = [item.columns for item in older if isinstance(item, Definition)][-1:]
        return older, newer, columns[0] if columns else self.shape.columns


def story_of(item: Operation) -> int | None:
    """The number of the story of an operation; None for a truncate."""
    return int(item.tokens["story"]) if "story" in item.tokens else None


class _Telling:
    """One story in progress; `rows` are those of the database."""

    def __init__(self, number: int, shape: Shape, random: Random) -> None:
        self.rows: dict[Key, Row] = {}
        self.tame = random.random() >= shape.wild
        self._number, self._shape, self._random = number, shape, random
        self._keys = [self._key(place) for place in range(shape.keys)]
        self._before = random.choice(shape.before)
        self._whole_deletes = not shape.key or random.random() < 0.5
        self._whole_inserts = not shape.key or random.random() < 0.5
        self._whole_updates = shape.full or random.random() < 0.3
        for key in self._keys:
            if random.random() < 0.2:
                self.rows[key] = self._row(key, shape.columns)

    def _key(self, place: int) -> Key:
        """Texts are odd where the number of the story keeps them apart. NULL is no key."""
        if not self._shape.key:
            return (str(place),)
        text = f"{self._number}-{place}" if "S" not in self._shape.key else ("key", *ODD_TEXTS)[place % 17]
        found = {"S": str(self._number), "K": text, "L": self._random.choice(("y", "x"))}
        return tuple(found[name] for name in self._shape.key)

    def _row(self, key: Key, columns: Sequence[str]) -> Row:
        of_key = dict(zip(self._shape.key, key, strict=False))
        fixed = {"S": str(self._number), **of_key}
        return {name: fixed[name] if name in fixed else self._value(name) for name in columns}

    def _value(self, name: str) -> str | None:
        random = self._random
        if random.random() < 0.25:
            return None
        if KINDS.get(name) == _INTEGER:
            return str(random.randrange(-2, 5))
        if KINDS.get(name) == _DECIMAL:
            return f"{random.randrange(-3, 9)}.{random.randrange(10)}0"
        return random.choice((*ODD_TEXTS, f"v{random.randrange(100)}"))

    def step(self, columns: Sequence[str]) -> Iterator[Operation]:
        """What happens next, with the columns that the table has then."""
        made = self._tame(columns) if self.tame else self._wild(columns)
        for item in made:
            yield replace(item, tokens={"story": str(self._number)})

    # A database

    def _tame(self, columns: Sequence[str]) -> Iterator[Operation]:
        random, shape = self._random, self._shape
        there = [key for key in self._keys if key in self.rows]
        free = [key for key in self._keys if key not in self.rows]
        choice = random.random()
        if free and (not there or choice < 0.25):
            yield self._insert(random.choice(free), columns)
        elif choice < 0.4:
            key = random.choice(there)
            row = self.rows.pop(key)
            yield Operation("D", row if self._whole_deletes else self._only(row, shape.key))
        elif choice < 0.6 and shape.moves and shape.key and free:
            yield self._update(random.choice(there), random.choice(free), columns)
        elif choice > 0.95 and shape.swaps and shape.key and len(there) > 1:
            yield from self._swap(*random.sample(there, 2))
        else:
            key = random.choice(there)
            yield self._update(key, key, columns)

    def _insert(self, key: Key, columns: Sequence[str]) -> Operation:
        self.rows[key] = row = self._row(key, columns)
        if not self._whole_inserts:
            row.update({name: None for name in columns if name not in self._identity and self._random.random() < 0.4})
        image = {
            name: value
            for name, value in row.items()
            if value is not None or self._whole_inserts or name in self._identity or self._random.random() < 0.3
        }
        return Operation("I", None, image)

    @property
    def _identity(self) -> tuple[str, ...]:
        return ("S", *self._shape.key)

    def _update(self, old: Key, new: Key, columns: Sequence[str]) -> Operation:
        row = self.rows.pop(old)
        of_key = dict(zip(self._shape.key, new, strict=False))
        self.rows[new] = changed = {**row, **of_key}
        for name in columns:
            if name not in self._identity and self._random.random() < 0.4:
                changed[name] = self._value(name)
        return self._images(row, changed)

    def _images(self, row: Row, changed: Row) -> Operation:
        """What the capture shows of an update."""
        names = {name for name in row if row[name] != changed[name]}
        key = {*self._identity}
        after = changed if self._whole_updates else self._only(changed, key | names)
        if not self._shape.key:
            return Operation("U", row, changed)
        moves = bool(names & {*self._shape.key})
        before: Row | None = {
            "full": row,
            "keys": self._only(row, key),
            "changed": self._only(row, names),  # of the key too, what has changed alone
            "empty": self._only(row, key) if moves else {},
            "absent": self._only(row, key) if moves else None,
        }[self._before]
        return Operation("U", before, after)

    @staticmethod
    def _only(row: Row, names: Sequence[str] | set[str]) -> Row:
        return {name: value for name, value in row.items() if name in names}

    def _swap(self, one: Key, other: Key) -> Iterator[Operation]:
        """Two rows change their keys in one transaction, at the end of which keys are looked at."""
        self.tame = False
        first, second = self.rows.pop(one), self.rows.pop(other)
        self.rows[other] = moved = {**first, **dict(zip(self._shape.key, other, strict=True))}
        self.rows[one] = back = {**second, **dict(zip(self._shape.key, one, strict=True))}
        yield self._images(first, moved)
        yield self._images(second, back)

    # Files

    def _wild(self, columns: Sequence[str]) -> Iterator[Operation]:
        random, shape = self._random, self._shape
        if not shape.key:
            yield from self._tame(columns)
            return
        op = random.choice("IUUUUDD")
        old, new = random.choice(self._keys), random.choice(self._keys)
        if not shape.moves and op == "U":
            new = old
        first, second = self._part(old, columns), self._part(new, columns)
        lacking = random.choice(shape.key) if random.random() < shape.unkeyed else None
        for image in (first, second):
            image.pop(lacking or "", None)
        if op == "I":
            yield Operation("I", None, second)
        elif op == "D":
            yield Operation("D", first, None)
        elif old != new or random.random() < 0.3:
            yield Operation("U", first, second)
        else:
            keyless = {name: value for name, value in self._part(new, columns).items() if name not in shape.key}
            images = random.choice(((None, second), (keyless, second), (first, keyless), ({}, second), (first, {})))
            yield Operation("U", *images)

    def _part(self, key: Key, columns: Sequence[str]) -> Row:
        row = self._row(key, columns)
        if self._random.random() < 0.3 or self._shape.full:
            return row
        return {name: value for name, value in row.items() if name in self._identity or self._random.random() < 0.5}

    # The table

    def truncate(self) -> None:
        self.rows.clear()

    def define(self, columns: Sequence[str]) -> None:
        for key, row in self.rows.items():
            self.rows[key] = {name: row.get(name) for name in columns}


def history(shape: Shape, seed: int) -> History:
    random = Random(f"{shape.name} {seed}")
    tellings = [_Telling(number, shape, random) for number in range(shape.stories)]
    started = [row for telling in tellings if telling.tame for row in telling.rows.values()]
    happens: list[tuple[float, int | str]] = []
    for number in range(shape.stories):
        start = random.random()
        happens += ((start + random.random() / 3, number) for _ in range(random.randint(1, shape.steps)))
    happens += ((0.3 + 0.7 * random.random(), "T") for _ in range(shape.truncates))
    happens += ((0.1 + random.random(), "columns") for _ in range(shape.definitions))
    columns = shape.columns
    story: list[Operation | Definition] = []
    for _, what in sorted(happens, key=lambda pair: pair[0]):
        if what == "columns":
            columns = _others(shape, columns, random)
            for telling in tellings:
                telling.define(columns)
            story.append(Definition(columns))
        elif what == "T":
            for telling in tellings:
                telling.truncate()
            story.append(Operation("T"))
        else:
            assert isinstance(what, int)
            story += tellings[what].step(columns)
    rows = [row for telling in tellings if telling.tame for row in telling.rows.values()]
    tame = frozenset(number for number, telling in enumerate(tellings) if telling.tame)
    return History(shape, [_placed(item, n, shape, random) for n, item in enumerate(story)], started, rows, tame)


def _others(shape: Shape, columns: Sequence[str], random: Random) -> tuple[str, ...]:
    """The columns of a table after one or two have come or gone."""
    found = list(columns)
    for _ in range(random.randint(1, 2)):
        name = random.choice((*shape.values, *shape.more))
        if name in found:
            found.remove(name)
        else:
            found.insert(random.randint(0, len(found)), name)
    return tuple(found)


def _placed(item: Operation | Definition, number: int, shape: Shape, random: Random) -> Operation | Definition:
    if isinstance(item, Definition):
        return item
    moment = (_START + timedelta(milliseconds=number // 3)).isoformat(" ", "microseconds")
    return replace(item, pos=str(number), op_ts=None if random.random() < shape.untimed else moment)


# What is written


def write_json(path: Path, shape: Shape, story: Story) -> Path:
    """A history in GoldenGate's JSON, with the columns of the table first."""
    return write_lines(path, _records(shape, story))


def _records(shape: Shape, story: Story) -> Iterator[dict[str, Any]]:
    yield _metadata(shape, shape.columns)
    for item in story:
        if isinstance(item, Definition):
            yield _metadata(shape, item.columns)
        else:
            record: dict[str, Any] = {"table": shape.name, "op_type": item.op, "op_ts": item.op_ts, "pos": item.pos}
            record |= {"before": item.before, "after": item.after}
            yield {name: value for name, value in record.items() if value is not None}


def _metadata(shape: Shape, columns: Sequence[str]) -> dict[str, Any]:
    kinds = {name: "integer" if KINDS.get(name) == _INTEGER else "string" for name in columns}
    told = {name: {"type": kind, "null": True, "key": name in shape.key} for name, kind in kinds.items()}
    return {"op_type": "OBJECT_METADATA", "qual_table": shape.name, "columns": told}
