"""Random histories of transactions with SQLite as the truth, and the files of changes that sources write of them.

`history` runs the statements of one table and keeps its rows after each transaction (`History.states`). `deliver` puts
the changes of several histories, each a table of its own, into files: cut, copied, repeated and in another order, as
far as the recording allows it. `write` writes these files.

SQLite checks a unique key row by row, so the tables have a hidden row id and no constraint. Keys are compared here: at
the end of each statement, or of each transaction (`deferred`). What breaks a key is rolled back.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any

from rows_oracle import UNAVAILABLE, Change, Image, Value, key_of

START = 1_600_000_000  # seconds since 1970: the time of the commit of transaction 0
PLACEHOLDER = "__debezium_unavailable_value"
ODD_KEYS = ("n", "", " ", "a", "A", "NULL", "0", "00", "é")
VALUES = ("x", "y", "z", "", None)
LARGE = ("L1", "L2", "L3")
FORMS = ("full", "compressed", "compressed, old key alone", "split, keys alone", "debezium", "debezium, keys alone")
TWO_HALVES = ("split, keys alone", "debezium", "debezium, keys alone")  # a key update is a delete and an insert
TIMES = ("commit", "commit", "coarse", "none")

Row = dict[str, Value]


@dataclass(frozen=True)
class Recording:
    """How a source writes changes.

    form           full: whole images (GoldenGate). compressed: the key and the changed columns (GoldenGate).
                   split: a key update is a delete with the key alone and an insert (GoldenGate).
                   debezium: whole images, a key update is a delete and a create. keys alone: before images contain the
                   key, and unchanged large values are unavailable
    positions, transactions  whether records have positions, and ids of transactions
    times          commit: each transaction has a second of its own. coarse: several share one. none: no times.
                   row: each change has its own time, at which others may be
    described      records describe the columns: metadata records of GoldenGate, schemas of Debezium
    numbers        integers are JSON numbers
    own_member     the id of a transaction is in `source.txId` (Debezium) or the token `xid`; otherwise in
                   `transaction.id` or the token `6`
    """

    form: str
    positions: bool
    transactions: bool
    times: str
    described: bool
    numbers: bool
    own_member: bool = True

    @property
    def is_debezium(self) -> bool:
        return self.form.startswith("debezium")

    def __str__(self) -> str:
        marks = [("positions", self.positions), ("transactions", self.transactions), (f"times {self.times}", True)]
        return ", ".join([self.form, *(word for word, is_set in marks if is_set)])


@dataclass(frozen=True)
class State:
    """The columns and the rows of the table after a transaction, and the ids of these rows, hidden to readers."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class History:
    """One table. `changes` are what the files have, from transaction `first` on. `touched` are the ids of the rows that
    these changes are about."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    deferred: bool
    recording: Recording
    first: int
    changes: tuple[Change, ...]
    states: tuple[State, ...]
    touched: frozenset[int]

    @property
    def is_late(self) -> bool:
        return self.first > 0

    @property
    def is_altered(self) -> bool:
        return any(item.op == "C" for item in self.changes)

    @property
    def kind(self) -> str:
        keys = {0: "no key", 1: f"key {', '.join(self.key)}"}.get(len(self.key), "composite key")
        checks = "deferred" if self.deferred else "per statement"
        return f"{'begins in the middle' if self.is_late else checks}; {keys}; {self.recording}"

    def state_at(self, second: int) -> State:
        """The state after the last transaction that was committed by then."""
        numbers = [n for n in range(len(self.states)) if second_of(n, self.recording.times) <= second]
        return self.states[numbers[-1]] if numbers else State(self.columns, (), ())


def second_of(number: int, times: str) -> int:
    """The second of the commit of a transaction."""
    return number // 2 * 2 if times == "coarse" else number


# Statements


class _Database:
    """A table in SQLite, with what its statements did."""

    def __init__(self, random: Random, key: tuple[str, ...], columns: tuple[str, ...], text_keys: bool) -> None:
        self._random, self.key, self.columns = random, key, columns
        self._text_keys = text_keys
        self._sql = sqlite3.connect(":memory:", isolation_level=None)
        self._sql.execute(f"create table t (rid integer primary key, {', '.join(columns)})")

    def close(self) -> None:
        self._sql.close()

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._sql.execute(sql, values).fetchall()

    def rows(self) -> dict[int, Row]:
        found = self.run(f"select rid, {', '.join(self.columns)} from t order by rid")
        return {
            rid: {name: None if value is None else str(value) for name, value in zip(self.columns, values, strict=True)}
            for rid, *values in found
        }

    def alter(self) -> None:
        name = self._random.choice(["a", "b"])
        if name in self.columns:
            self.run(f"alter table t drop column {name}")
            self.columns = tuple(column for column in self.columns if column != name)
        else:
            self.run(f"alter table t add column {name}")
            self.columns = (*self.columns, name)

    def _value(self, name: str) -> str | int | None:
        if name == "id":
            return self._random.choice(ODD_KEYS) if self._text_keys else self._random.randrange(1, 7)
        if name == "part":
            return self._random.choice(["p", "q", "", "r"])
        return self._random.choice(LARGE if name == "big" else VALUES)

    def statement(self) -> tuple[str, set[int]] | None:
        """Run one statement: what it is, and the ids of the rows that it updates; None for one that cannot be."""
        random = self._random
        others = [name for name in self.columns if name not in (*self.key, "id")] or ["id"]
        other = random.choice(others)
        kinds = {
            "insert": 6, "update": 4, "many": 1, "delete": 2, "delete where": 0.7, "move": 3, "move and set": 2,
            "shift": 1, "swap": 2, "rotate": 1, "where": 1, "truncate": 0.15,
        }  # fmt: skip
        kind = random.choices([*kinds], [*kinds.values()])[0]
        i, j, k = self._value("id"), self._value("id"), self._value("id")
        if kind == "insert":
            values = [i if name == "id" else self._value(name) for name in self.columns]
            self.run(f"insert into t ({', '.join(self.columns)}) values ({', '.join('?' * len(values))})", values)
            return "insert", set()
        if kind == "truncate":
            self.run("delete from t")
            return kind, set()
        if kind.startswith("delete"):
            where, values = (
                ("id is ?", [i]) if kind == "delete" else (f"id is ? and {other} is ?", [i, self._value(other)])
            )
            self.run(f"delete from t where {where}", values)
            return "delete", set()
        moved = random.choice(["id", "part"]) if "part" in self.key else "id"
        old = i if moved == "id" else self._value(moved)
        new = j if moved == "id" else self._value(moved)
        third = k if moved == "id" else self._value(moved)
        where, of_where = f"{moved} is ?", [old]
        if kind == "update":
            sets, given = f"{other} = ?", [self._value(other)]
        elif kind == "many":
            sets, given, where, of_where = f"{other} = ?", [self._value(other)], "id > ?", [i]
        elif kind == "move":
            sets, given = f"{moved} = ?", [new]
        elif kind == "move and set":
            sets, given = f"{moved} = ?, {other} = ?", [new, self._value(other)]
        elif kind == "shift":
            if self._text_keys:
                return None
            sets, given, where, of_where = f"id = id {random.choice('+-')} 1", [], "true", []
        elif kind == "swap":
            sets, given = f"{moved} = case when {moved} is ? then ? else ? end", [old, new, old]
            where, of_where = f"({moved} is ? or {moved} is ?)", [old, new]
        elif kind == "rotate":
            sets = f"{moved} = case when {moved} is ? then ? when {moved} is ? then ? else ? end"
            given, of_where = [old, new, new, third, old], [old, new, third]
            where = f"({moved} is ? or {moved} is ? or {moved} is ?)"
        else:
            sets, given = f"{moved} = ?", [new]
            where, of_where = f"{moved} is ? and {other} is ?", [old, self._value(other)]
        matched = {rid for (rid,) in self.run(f"select rid from t where {where}", of_where)}
        self.run(f"update t set {sets} where {where}", [*given, *of_where])
        return "update", matched


@dataclass(frozen=True)
class _Event:
    """What one statement did to one row; `C` has the columns from here on."""

    op: str
    before: Row | None = None
    after: Row | None = None
    rid: int | None = None
    columns: tuple[str, ...] | None = None


def _happen(
    random: Random, database: _Database, deferred: bool, alters: bool
) -> tuple[list[list[_Event]], list[State]]:
    """Transactions with what each did, and the state after each."""
    log: list[list[_Event]] = []
    states: list[State] = []
    for _ in range(random.randrange(2, 9)):
        events: list[_Event] | None
        # No file shows columns without an operation: those before the first one, and between two changes of columns.
        shows_columns = bool(log) and log[-1][0].op != "C"
        if alters and shows_columns and random.random() < 0.2:
            database.alter()
            events = [_Event("C", columns=database.columns)]
        else:
            events = _transaction(random, database, deferred)
        if events:
            rows = database.rows()
            log.append(events)
            states.append(State(database.columns, tuple(rows.values()), tuple(rows)))
    while log and all(event.op == "C" for event in log[-1]):  # no record shows these columns
        log.pop()
        states.pop()
    return log, states


def _transaction(random: Random, database: _Database, deferred: bool) -> list[_Event] | None:
    """What a transaction did, or None if it was rolled back."""
    database.run("begin")
    events: list[_Event] = []
    broken = False
    for _ in range(random.randrange(1, 5)):
        before = database.rows()
        database.run("savepoint s")
        done = database.statement()
        if done is None:
            continue
        after = database.rows()
        keys = [tuple(row[name] for name in database.key) for row in after.values()]
        broken = bool(database.key) and len(set(keys)) < len(keys)
        if broken and not deferred:
            database.run("rollback to s")
            broken = False
            continue
        if done[0] == "truncate":
            events.append(_Event("T"))
            continue
        touched = [rid for rid in {**before, **after} if before.get(rid) != after.get(rid) or rid in done[1]]
        random.shuffle(touched)  # a plan may go through rows in any order
        for rid in touched:
            op = "I" if rid not in before else "D" if rid not in after else "U"
            events.append(_Event(op, before.get(rid), after.get(rid), rid))
    database.run("rollback" if broken else "commit")
    return None if broken else events


# Records


def _recorded(log: Iterable[list[_Event]], recording: Recording, key: tuple[str, ...]) -> Iterable[Change]:
    """The changes as the source writes them. Without a key, every second transaction has one position for all rows."""
    position = clock = 0
    for number, events in enumerate(log):
        last = ""
        for event in events:
            shares = not key and number % 2 == 1 and event.op != "T" and last not in ("", "T")
            position += not shares
            last = event.op
            clock += (position * 7 + number) % 3 > 0
            seconds = {"none": None, "row": clock}
            common = Change(
                event.op,
                number=number,
                position=position if recording.positions else None,
                second=seconds.get(recording.times, second_of(number, recording.times)),
                transaction=f"tx{number}" if recording.transactions else None,
                splits_key_updates=recording.is_debezium,
            )
            if event.op == "C":
                yield replace(common, position=None, second=None, transaction=None, columns=event.columns)
            else:
                for op, before, after in _images(event, recording.form, key):
                    yield replace(common, op=op, before=before, after=after)


def _images(event: _Event, form: str, key: tuple[str, ...]) -> list[tuple[str, Image | None, Image | None]]:
    op, before, after = event.op, event.before, event.after
    if op == "T" or form == "full":
        return [(op, before, after)]
    if not form.startswith("debezium"):
        if before is None:
            return [(op, None, after)]
        of_key = {name: before[name] for name in key}
        if after is None:
            return [(op, of_key, None)]
        if form.startswith("split") and any(before[name] != after[name] for name in key):
            return [("D", of_key, None), ("I", None, after)]
        names = [name for name in after if name in key or before[name] != after[name]]
        old = of_key if form.endswith("alone") else {name: before[name] for name in names}
        return [(op, old, {name: after[name] for name in names})]
    moves = op == "U" and before is not None and after is not None and any(before[n] != after[n] for n in key)
    old_image: Image | None = before
    new_image: Image | None = after
    if before is not None and form.endswith("keys alone"):
        old_image = {name: value if name in key else None for name, value in before.items()}
        if after is not None:
            unchanged = after.get("big") == before.get("big")
            new_image = {n: UNAVAILABLE if n == "big" and unchanged else value for n, value in after.items()}
            old_image = old_image if moves else None
    if moves:
        return [("D", old_image, None), ("I", None, new_image)]
    return [(op, old_image, new_image)]


def history(seed: int, number: int, times: Sequence[str] = TIMES, of_halves: bool = False) -> History | None:
    """Return history `number` of a seed; None if nothing happens in it. `times`: one of which its recording has.
    `of_halves`: it has a key and positions, and key updates are two operations."""
    random = Random(f"{seed} {number}")
    key = random.choices([("id",), ("id", "part"), ()], [7, 2, 0 if of_halves else 1])[0]
    columns = ("id", "part", "a", "b", "big") if "part" in key else ("id", "a", "b", "big")
    deferred = random.random() < 0.3
    late = random.random() < 0.15
    alters = not late and random.random() < 0.2 and not of_halves
    text_keys = random.random() < 0.15
    recording = Recording(
        random.choice(FORMS if key else ("full", "debezium")),
        random.random() < 0.6,
        random.random() < 0.5,
        random.choice(times),
        late or alters or random.random() < 0.3,
        not text_keys and random.random() < 0.5,
        random.random() < 0.5,
    )
    if of_halves:
        recording = replace(recording, form=TWO_HALVES[number % 3], positions=True)
    database = _Database(random, key, columns, text_keys)
    log, states = _happen(random, database, deferred, alters)
    database.close()
    first = random.randrange(len(log)) if late and log else 0
    changes = [item for item in _recorded(log, recording, key) if item.number >= first]
    if not any(item.op != "C" for item in changes):
        return None
    touched = frozenset(event.rid for events in log[first:] for event in events if event.rid is not None)
    return History(f"S.H{number:06d}", key, columns, deferred, recording, first, tuple(changes), tuple(states), touched)


# Files

File = list[tuple[History, Change]]


def is_mobile(told: History) -> bool:
    """Whether positions order the changes wherever they are; changes of columns have none."""
    return told.recording.positions and not told.is_altered


def deliver(histories: Sequence[History], random: Random) -> list[File]:
    """The changes of histories in files, in the order in which a run reads them."""
    fixed = [one for one in histories if not is_mobile(one)]
    mobile = [one for one in histories if is_mobile(one)]
    found: list[File] = []
    for several, moves in ((fixed, False), (mobile, True)):
        if not several:
            continue
        count = random.randint(1, 4)
        pieces = [_cut(one, count, random) for one in several]
        files = [merged([piece[place] for piece in pieces], random) for place in range(count)]
        if moves:
            files = [_with_repeats(file, random) for file in files]
            files += [file for file in files if random.random() < 0.2]
            files += [_slice(file, random) for file in files if random.random() < 0.2]
            random.shuffle(files)
        found += files
    return found


def deliver_by_key(histories: Sequence[History], random: Random) -> list[File]:
    """The changes of histories with positions in files as partitions of a topic have them: those of a key are in one
    file, and the two halves of a key update may be in two."""
    files: list[File] = [[] for _ in range(random.randint(2, 4))]
    for pair in merged([[(one, item) for item in one.changes] for one in histories], random):
        key = key_of(pair[1].before if pair[1].op == "D" else pair[1].after, pair[0].key)
        files[Random(f"{pair[0].table} {key}").randrange(len(files))].append(pair)
    files = [_with_repeats(file, random) for file in files]
    random.shuffle(files)
    return files


def _cut(one: History, count: int, random: Random) -> list[File]:
    """Pieces of a history; the changes at one position stay together."""
    groups: list[File] = []
    for _, same in groupby(
        enumerate(one.changes), key=lambda pair: (pair[1].position, pair[1].position is None and pair[0])
    ):
        groups.append([(one, item) for _, item in same])
    marks = sorted(random.randint(0, len(groups)) for _ in range(count - 1))
    bounds = [0, *marks, len(groups)]
    return [[pair for group in groups[start:end] for pair in group] for start, end in pairwise(bounds)]


def merged(pieces: Sequence[File], random: Random) -> File:
    """The changes of several tables in one file; those of each in order."""
    turns = [number for number, piece in enumerate(pieces) for _ in piece]
    random.shuffle(turns)
    steps = [iter(piece) for piece in pieces]
    return [next(steps[turn]) for turn in turns]


def _with_repeats(file: File, random: Random) -> File:
    """Part of a file comes again, as after a restart of the source. Tables without a key are left out: only files show
    whether a row is there twice."""
    if len(file) < 3 or random.random() < 0.6:
        return file
    start, end = sorted(random.randrange(len(file)) for _ in range(2))
    return [*file[: end + 1], *(pair for pair in file[start : end + 1] if pair[0].key), *file[end + 1 :]]


def _slice(file: File, random: Random) -> File:
    """A part of a file. The changes at one position stay together, because nothing else orders them."""
    start = random.randrange(len(file)) if file else 0
    part = file[start : start + random.randrange(1, 30)]
    cut = {(one.table, item.position) for one, item in file[:start] + file[start + len(part) :]}
    return [(one, item) for one, item in part if (one.table, item.position) not in cut]


def delivered(files: Iterable[File]) -> dict[str, list[Change]]:
    """The changes of each table in the order of the input."""
    found: dict[str, list[Change]] = {}
    for number, file in enumerate(files):
        for one, item in file:
            found.setdefault(one.table, []).append(replace(item, source_file=number))
    return found


def write(files: Iterable[File], folder: Path, random: Random, start: int = 0) -> list[Path]:
    """Write the files with names in order; some are compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    described: dict[str, tuple[str, ...]] = {}
    for number, file in enumerate(files, start):
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(file, described)).encode()
        if not lines:
            continue
        path = folder / f"changes-{number:04d}.json"
        if random.random() < 0.2:
            path = path.with_name(f"{path.name}.gz")
            lines = gzip.compress(lines)
        path.write_bytes(lines)
        found.append(path)
    return found


def _records(file: File, described: dict[str, tuple[str, ...]]) -> Iterable[dict[str, Any]]:
    """The records of a file. `described`: the columns of tables by now; a source describes a table in each file."""
    in_file: set[str] = set()
    for one, item in file:
        columns = described.setdefault(one.table, one.columns)
        if item.op == "C":
            assert item.columns is not None
            described[one.table] = item.columns
            in_file.discard(one.table)
        elif one.recording.is_debezium:
            yield _debezium(one, item, columns)
        else:
            if one.recording.described and one.table not in in_file:
                yield _metadata(one, columns)
            in_file.add(one.table)
            yield _goldengate(one, item)


def _json(one: History, image: Image | None) -> dict[str, Any] | None:
    def value(name: str, given: Value) -> Any:
        if given is UNAVAILABLE:
            return PLACEHOLDER
        return int(str(given)) if name == "id" and given is not None and one.recording.numbers else given

    return None if image is None else {name: value(name, given) for name, given in image.items()}


def _metadata(one: History, columns: Sequence[str]) -> dict[str, Any]:
    def described(name: str) -> dict[str, Any]:
        kind = "integer" if name == "id" and one.recording.numbers else "string"
        return {"type": kind, "null": True, "key": name in one.key}

    return {
        "op_type": "OBJECT_METADATA", "qual_table": one.table, "columns": {name: described(name) for name in columns},
    }  # fmt: skip


def time_text(second: int) -> str:
    """The time of a second of a history, in UTC."""
    minutes, seconds = divmod(second, 60)
    return f"2020-09-13 12:{26 + minutes:02d}:{seconds:02d}.000000"


def _goldengate(one: History, item: Change) -> dict[str, Any]:
    found: dict[str, Any] = {"table": one.table, "op_type": item.op}
    if item.second is not None:
        found["op_ts"] = time_text(item.second)
    if item.position is not None:
        found["pos"] = f"{item.position:020d}"
    if item.transaction is not None:
        found["tokens"] = {"xid" if one.recording.own_member else "6": item.transaction}
    if one.key:
        found["primary_keys"] = list(one.key)
    images = (("before", _json(one, item.before)), ("after", _json(one, item.after)))
    return found | {name: image for name, image in images if image is not None}


def _debezium(one: History, item: Change, columns: Sequence[str]) -> dict[str, Any]:
    schema, _, table = one.table.partition(".")
    source: dict[str, Any] = {"connector": "postgresql", "name": "db", "schema": schema, "table": table}
    if item.second is not None:
        source["ts_ms"] = (START - 40 + item.second) * 1000  # 12:26:00
    if item.position is not None:
        source["lsn"] = item.position
    if item.transaction is not None and one.recording.own_member:
        source["txId"] = int(item.transaction[2:])
    op = {"I": "c", "U": "u", "D": "d", "T": "t"}[item.op]
    payload = {"before": _json(one, item.before), "after": _json(one, item.after), "source": source, "op": op}
    if item.transaction is not None and not one.recording.own_member:
        payload["transaction"] = {"id": item.transaction, "total_order": 1, "data_collection_order": 1}
    if not one.recording.described:
        return payload

    def typed(name: str) -> dict[str, Any]:
        kind = "int32" if name == "id" and one.recording.numbers else "string"
        return {"field": name, "type": kind, "optional": True}

    row = [typed(name) for name in columns]
    images = [{"type": "struct", "fields": row, "optional": True, "field": field} for field in ("before", "after")]
    return {"schema": {"type": "struct", "fields": images, "optional": False}, "payload": payload}
