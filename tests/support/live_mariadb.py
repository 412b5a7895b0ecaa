"""A MariaDB with random transactions, the records of its binary log, and rows that are compared with it.

`prove` runs rounds: transactions, a file with their records, and `ggfmt consolidate` with and without a checkpoint.
After each round, `ggfmt compare` compares the results with the database. Some runs are killed before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import mariadb
import pymysql
from binlog import Binlog, Transaction
from live_comparison import text_rows
from live_database import retyped
from mysql_records import LOG, Canal, Debezium, LoggedColumn, Maxwell, lines
from round_trips import Row

import ggfmt
from ggfmt.model.table import split_name

Recorder = Maxwell | Canal | Debezium
OPTIONS = ("--log-bin=log", "--binlog-format=ROW", "--binlog-checksum=NONE", "--innodb-flush-log-at-trx-commit=0")
RECORDERS: Mapping[str, Recorder] = {
    "maxwell": Maxwell(described=True, positions=True),
    "maxwell without statements": Maxwell(described=False, positions=False),
    "canal": Canal(gtids=False),
    "canal with gtids": Canal(gtids=True),
    "debezium": Debezium(is_text=False),
    "debezium with texts": Debezium(is_text=True),
}
# What a client shows otherwise than a log: dates that are none, long times, bits, and digits of a float
_AS_LOGGED = {"c_bit": "c_bit + 0", "z_bits": "cast(z_bits + 0 as char)", "c_float": "cast(c_float as double)"}
# Columns by name: the type, and values in SQL. Those with `z_` have values that only text holds.
TYPES: dict[str, tuple[str, list[str]]] = {
    "c_flag": ("tinyint(1)", ["0", "1", "-128"]),
    "c_tiny": ("tinyint unsigned", ["0", "255"]),
    "c_small": ("smallint", ["-32768", "7"]),
    "c_medium": ("mediumint unsigned", ["16777215", "0"]),
    "c_int": ("int unsigned zerofill", ["4294967295", "7"]),
    "c_long": ("bigint", ["-9223372036854775808", "9007199254740993"]),
    "c_huge": ("bigint unsigned", ["18446744073709551615", "9223372036854775808", "1"]),
    "c_decimal": ("decimal(38,10)", ["-1234567890123456789012345678.0123456789", "0.1", "1e-10"]),
    "c_whole": ("decimal(20,0) unsigned", ["18446744073709551616", "0"]),
    "c_float": ("float", ["0.1", "-1e-30", "16777217", "3.4028234e38"]),
    "c_double": ("double", ["0.1", "1e300", "-2.5", "9007199254740993"]),
    "c_date": ("date", ["'2026-01-31'", "'1000-01-01'", "'9999-12-31'"]),
    "c_local": ("datetime(6)", ["'2026-01-31 23:59:59.999999'", "'1969-12-31 00:00:00'"]),
    "c_second": ("datetime", ["'2026-01-31 23:59:59'", "'1000-01-01 00:00:01'"]),
    "c_instant": ("timestamp(3) null", ["'2026-01-31 12:00:00.5'", "'1970-01-01 00:00:01'"]),
    "c_time": ("time(3)", ["'10:00:00.5'", "'00:00:00'", "'23:59:59.999'"]),
    "z_date": ("date", ["'0000-00-00'", "'2026-00-15'", "'2026-01-31'"]),
    "z_local": ("datetime(3)", ["'0000-00-00 00:00:00'", "'2026-01-00 10:00:00.25'", "'2026-01-31 00:00:00'"]),
    "z_instant": ("timestamp(2) null", ["'0000-00-00 00:00:00'", "'2026-01-31 00:00:00.25'"]),
    "z_time": ("time(6)", ["'-838:59:58.999999'", "'838:59:59'", "'24:00:00'", "'-00:00:00.5'", "'10:00:00'"]),
    "c_year": ("year", ["1901", "2026", "2155"]),
    "c_char": ("char(10)", ["''", "'é😀'", "' a'"]),
    "c_latin": ("varchar(300) character set latin1", ["'é€'", "'null'", "repeat('x', 300)"]),
    "c_text": ("longtext", ["''", "'NULL'", "'line\\nbreak'", "'\"q\"'", "'true'", "'1.50'", "repeat('é', 70000)"]),
    "c_fixed": ("binary(4)", ["x'00ff00ff'", "'abcd'"]),
    "c_bytes": ("varbinary(9)", ["''", "x'00'", "x'ff00'", "'abcd'"]),
    "c_blob": ("mediumblob", ["''", "x'80ff'", "repeat('b', 300)"]),
    "c_bit": ("bit(1)", ["b'0'", "b'1'"]),
    "z_bits": ("bit(64)", ["~0", "b'101'", "0"]),
    "c_enum": ("enum('a','b c','é')", ["'a'", "'b c'", "'é'"]),
    "c_set": ("set('a','b','c')", ["''", "'a'", "'a,c'", "'c,b,a'"]),
    "c_json": ("json", ["""'{"a": 1.50, "b": [null, "x"]}'""", "'[]'", "'3'", "'null'", "'\"t\"'"]),
}
HIDDEN_JSON = ("'null'", "'\"t\"'")  # Maxwell writes them as NULL and as a text
ODD_DAYS = ("z_date", "z_local", "z_instant")
SCHEMA = f"""
set time_zone = '+00:00'; create database shop character set utf8mb4; use shop;
create table items (id int primary key, name varchar(40), price decimal(12,3), big mediumtext);
create table `lines` (item int, line varchar(5), amount decimal(10,2), note text, primary key (item, line));
create table loose (a int, b varchar(20));
create table altered (id int primary key, c0 varchar(20));
create table retyped (id int primary key, v int);
create table `Odd.Names` (`the key` varchar(20) primary key, `a.b` text, `é"x` int);
create table types (id int primary key, {", ".join(f"{name} {type}" for name, (type, _) in TYPES.items())},
                    g_virtual int as (id + 1) virtual, g_stored varchar(99) as (concat('n', id)) stored);
"""
KEYS = 'shop.items=id;shop.lines=item,line;shop.altered=id;shop.retyped=id;shop."Odd.Names"=the key;shop.types=id'
_COLUMNS = """
select column_name, data_type, column_type, column_key = 'PRI', character_set_name, column_name like '%%json',
  datetime_precision, numeric_precision, numeric_scale
from information_schema.columns where table_schema = 'shop' and table_name = %s order by ordinal_position"""


class LiveMariaDB:
    """A database `shop`, and the files that a recorder makes of its binary log: a source of `live_targets`."""

    keys: Mapping[str, tuple[str, ...]] = {
        "shop.loose": (), **{table: tuple(names.split(",")) for table, _, names in (
            given.rpartition("=") for given in KEYS.split(";"))},
    }  # fmt: skip
    options: Mapping[str, Any] = {"key": KEYS, "starts_empty": True, "types": ("shop.types.z_*=string",)}
    foreign = ("shop.items", "shop.types")
    mistyped: Mapping[str, str] = {"shop.lines": "shop.lines.note=bigint"}

    def __init__(self, server: mariadb.Server, recorder: Recorder, events: Path, random: Random, image: str) -> None:
        self.server, self.events, self.random, self.image = server, events, random, image
        self.url = f"mariadb://root@127.0.0.1:{server.port}/shop"
        self.recorder = recorder
        self._log = Binlog()
        self._described: dict[str, list[LoggedColumn]] = {}
        self._added = self._rounds = 0
        self._waiting: list[str] = []
        server.run(SCHEMA)
        self.described = not isinstance(recorder, Maxwell) or recorder.described
        self.ignored = ("c_enum", "c_set") if isinstance(recorder, Canal) else ()  # numbers of the log, not their texts
        # Delta has texts of times. JSON has numbers as they were written.
        self.readings: dict[str, Callable[[str], str]] = {
            "c_time": lambda text: str(clock.fromisoformat(text)),
            "c_decimal": lambda text: f"{Decimal(text):f}",
        }
        if isinstance(recorder, Debezium):
            self.readings["z_bits"] = lambda text: str(int(text, 2))
        if isinstance(recorder, Maxwell):
            self.readings["c_set"] = lambda text: ",".join(json.loads(text))
        self._connection = self._connect()

    def _connect(self) -> pymysql.Connection[Any]:
        return pymysql.connect(
            host="127.0.0.1", port=self.server.port, user="root", database="shop", charset="utf8mb4", autocommit=True,
            init_command="set time_zone = '+00:00', sql_mode = 'NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 1",
        )  # fmt: skip

    def query(self, sql: str, *values: object, connection: pymysql.Connection[Any] | None = None) -> list[Any]:
        with (connection or self._connection).cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def rows(self) -> dict[str, list[Row]]:
        """Return the rows of all tables as texts."""
        found = {}
        for name in self.keys:
            table = split_name(name)[-1]
            columns = [column.name for column in self._columns(table)]
            chosen = ", ".join(_AS_LOGGED.get(column, f"cast({column} as char)" if column.startswith("z_") else
                                              "`" + column + "`") for column in columns)  # fmt: skip
            rows = self.query(f"select {chosen} from `{table}`")
            found[name] = text_rows([dict(zip(columns, row, strict=True)) for row in rows])
        return found

    def retype(self, is_text: bool) -> None:
        """Change the type of `retyped.v` to a text, or back, and the values of all rows."""
        if is_text:
            self._waiting += ["alter table retyped modify v varchar(20)", "update retyped set v = concat('n', v)"]
        else:
            self._waiting += ["update retyped set v = replace(v, 'n', '')", "alter table retyped modify v int"]
            self._waiting += ["update retyped set v = v + 1"]

    def play(self, transactions: int, writers: int = 1) -> Path:
        """Run transactions, some at once if there are several writers, and return the file with their records."""
        records: list[dict[str, Any]] = []
        if not self._rounds:
            records += self._start()
            self._run("insert into types (id) values (99)")  # `types` of an option must match a column
        for number in range(0, transactions, writers):
            if isinstance(self.recorder, Canal) and (not number or self.random.random() < 0.2):
                self.recorder.begin_batch()
            while self._waiting:
                self._run(self._waiting.pop(0))
                records += self._read()
            if writers == 1:
                self._transaction()
            else:
                self._transactions(writers)
            records += self._read()
        path = self.events / f"round-{self._rounds:04d}.json"
        path.write_bytes(lines(records))
        self._rounds += 1
        return path

    def _read(self) -> Iterator[dict[str, Any]]:
        for transaction in self._log.transactions((self.server.home / "data" / LOG).read_bytes()):
            if transaction.statement:
                self._described.clear()
            yield from self.recorder.records(transaction, self._describe)

    def _start(self) -> Iterator[dict[str, Any]]:
        list(self._log.transactions((self.server.home / "data" / LOG).read_bytes()))
        if isinstance(self.recorder, Maxwell) and self.recorder.described:
            for (table,) in self.query("show tables"):
                created = Transaction(statement=("shop", f"create table `{table}`"), second=1)
                yield self.recorder.definition(created, self._describe, "table-create")

    def _describe(self, table: str) -> list[LoggedColumn]:
        if table not in self._described:
            self._described[table] = self._columns(table)
        return self._described[table]

    def _columns(self, table: str) -> list[LoggedColumn]:
        return [_column(*row) for row in self.query(_COLUMNS, table)]

    # Transactions. A statement that fails changes nothing.

    def _transaction(self) -> None:
        if self.random.random() < 0.05:
            self._run(*self._alter())
        else:
            self._run(*self._statements())

    def _transactions(self, writers: int) -> None:
        """Run a transaction in each of several connections at once. Records are made of one description of a table, so
        no table changes in the meantime."""
        if self.random.random() < 0.05 * writers:
            self._run(*self._alter())
        chosen = [self._statements() for _ in range(writers)]

        def write(statements: list[str]) -> None:
            with self._connect() as connection:
                self._run(*statements, connection=connection)

        with ThreadPoolExecutor(writers) as pool:
            list(pool.map(write, chosen))

    def _statements(self) -> list[str]:
        count = self.random.choice([1, 1, 2, 3, 6])
        tables = self.random.choices(
            [self._items, self._lines, self._loose, self._altered, self._retyped, self._odd, self._types],
            [5, 3, 2, 2, 2, 1, 5], k=count,
        )  # fmt: skip
        end = self.random.choices(["commit", "rollback"], [9, 1])[0]
        return ["begin", *(table() for table in tables), end]

    def _run(self, *statements: str, connection: pymysql.Connection[Any] | None = None) -> None:
        for statement in statements:
            try:
                self.query(statement.replace("%", "%%"), connection=connection)
            except pymysql.err.MySQLError as error:
                if error.args[0] not in (1062, 1136, 1054, 1264, 1690, 1205, 1213, 1020):  # keys, columns, locks
                    raise

    def _id(self) -> int:
        return self.random.randint(1, 12)

    def _text(self) -> str:
        return self.random.choice(["null", "''", "'x'", "' y '", "'é'", "'line\\nbreak'", "'NULL'", f"'{self._id()}'"])

    def _items(self) -> str:
        i, j, big = self._id(), self._id(), self.random.choice(["null", "repeat('p', 3000)", "''"])
        return self.random.choice(
            [
                f"insert into items values ({i}, {self._text()}, {self._id()}.125, {big})",
                f"insert into items (id) values ({i}), ({j + 20}), ({j + 40})",
                f"replace into items values ({i}, {self._text()}, null, {big}), ({j}, {self._text()}, 1, null)",
                f"insert into items values ({i}, 'new', 1, {big}) on duplicate key update name = {self._text()}",
                f"update items set name = {self._text()} where id = {i}",
                f"update items set price = price + 1 where id > {i}",
                f"update items set big = {big}, name = {self._text()} where id = {i}",
                f"update items set id = {j} where id = {i}",
                f"update items set id = {j}, name = {self._text()} where id = {i}",
                "update items set id = id + 1 order by id desc",
                "update items set id = id - 1 where id > 1 order by id",
                f"delete from items where id = {i}",
                f"delete from items where id > {i}",
            ]
        )

    def _lines(self) -> str:
        i, line = self.random.randint(1, 4), self.random.choice(["''", "'a'", "'b'", "'A '", "'É'", "'e'"])
        return self.random.choice(
            [
                f"insert into `lines` values ({i}, {line}, {self._id()}.5, {self._text()})",
                f"replace into `lines` values ({i}, {line}, {self._id()}.5, {self._text()})",
                f"update `lines` set amount = -amount where item = {i}",
                f"update `lines` set item = item + 1, note = {self._text()} where line = {line} order by item desc",
                f"update `lines` set line = {line} where item = {i} and line = {line}",
                "update `lines` set line = upper(line)",
                f"delete from `lines` where item = {i} and line = {line}",
            ]
        )

    def _loose(self) -> str:
        i = self.random.randint(1, 3)
        return self.random.choice(
            [
                f"insert into loose values ({i}, {self._text()}), ({i}, 'twice'), ({i}, 'twice')",
                f"update loose set b = {self._text()} where a = {i}",
                f"delete from loose where a = {i} limit 1",
                f"delete from loose where a = {i}",
            ]
        )

    def _altered(self) -> str:
        names = [row[0] for row in self.query("select column_name from information_schema.columns "
                                              "where table_schema = 'shop' and table_name = 'altered'")]  # fmt: skip
        i, name = self._id(), self.random.choice(names)
        value = str(self._id()) if name == "id" else self._text()
        return self.random.choice(
            [
                f"insert into altered (id) values ({i})",
                f"update altered set {name} = {value} where id = {i}",
                f"update altered set {name} = {value} where id = {i}",
                f"delete from altered where id = {i}",
            ]
        )

    def _retyped(self) -> str:
        return retyped(self.random, self._id)

    def _alter(self) -> list[str]:
        """Return statements: a source describes the table again in its next record."""
        last, self._added = self._added, self._added + 1
        change = self.random.choice(
            [
                f"alter table altered add column c{self._added} varchar(20)",
                f"alter table altered add column c{self._added} varchar(20) first",
                f"alter table altered add column c{self._added} int default 5 not null",
                f"alter table altered change column c{last} c{self._added} varchar(20)",
                f"alter table altered drop column c{last}, add column c{self._added} text",
            ]
        )
        return [change, "insert into altered (id) values (0)", "delete from altered where id = 0"]

    def _odd(self) -> str:
        key = self.random.choice(["''", "'a.b'", "'NULL'", "'é'", "' '"])
        return self.random.choice(
            [
                f"insert into `Odd.Names` values ({key}, {self._text()}, {self._id()})",
                f"update `Odd.Names` set `a.b` = {self._text()} where `the key` = {key}",
                f"update `Odd.Names` set `the key` = {key} where `the key` > 'a' limit 1",
                f"delete from `Odd.Names` where `the key` = {key}",
            ]
        )

    def _types(self) -> str:
        i, j = self._id(), self._id()
        values = {name: self.random.choice([*given, "null"]) for name, (_, given) in TYPES.items()}
        if isinstance(self.recorder, Debezium):  # it writes them as NULL, as do 1,000 days with other numbers
            values.update(dict.fromkeys(ODD_DAYS, "null"))
        if isinstance(self.recorder, Maxwell) and values["c_json"] in HIDDEN_JSON:
            values["c_json"] = "null"
        some = self.random.sample([*values], 3)
        return self.random.choice(
            [
                f"insert into types ({', '.join(('id', *values))}) values ({i}, {', '.join(values.values())})",
                f"replace into types ({', '.join(('id', *values))}) values ({i}, {', '.join(values.values())})",
                f"insert into types (id, {', '.join(some)}) values ({i}, {', '.join(values[name] for name in some)})",
                f"update types set {', '.join(f'{name} = {value}' for name, value in values.items())} where id = {i}",
                f"update types set {', '.join(f'{name} = {values[name]}' for name in some)} where id = {i}",
                f"update types set id = {j}, {some[0]} = {values[some[0]]} where id = {i}",
                f"delete from types where id = {i}",
            ]
        )


def _column(
    name: str, kind: str, type: str, is_key: int, charset: str | None, is_json: int, *sizes: Any
) -> LoggedColumn:
    kind = "blob" if kind.endswith("blob") else kind
    return LoggedColumn(name, kind, type, bool(is_key), charset, bool(is_json), *sizes)


def prove(
    recorder: Maxwell | Canal | Debezium, work: Path, random: Random, rounds: int, transactions: int = 20,
    image: str = "full", kills: float = 0,
) -> list[str]:  # fmt: skip
    """Return what differs after rounds. `image`: `full` or `noblob`; `kills`: the share of rounds with a killed run."""
    events, found = work / "events", []
    events.mkdir(parents=True)
    with mariadb.server([*OPTIONS, f"--binlog-row-image={image}"]) as server:
        live = LiveMariaDB(server, recorder, events, random, image)
        for number in range(rounds):
            live.play(transactions)
            if random.random() < kills:
                _kill(work, random)
            for what in ("merged", "whole"):
                try:
                    manifest = ggfmt.consolidate([f"{events}/*.json"], work / what, **_options(work, what))
                    found += [f"round {number}, {what}: {text}" for text in _differences(live, work / what, manifest)]
                except ggfmt.GgfmtError as error:
                    found.append(f"round {number}, {what}: {error}")
    return found


def _options(work: Path, what: str) -> dict[str, Any]:
    options: dict[str, Any] = {"checkpoint": work / "seen"} if what == "merged" else {"mode": "overwrite"}
    return {**options, "key": KEYS, "starts_empty": True, "types": "shop.types.z_*=string", "master": "none"}


def _kill(work: Path, random: Random) -> None:
    options = ["--checkpoint", f"{work}/seen", "--key", KEYS, "--starts-empty", "--type", "shop.types.z_*=string"]
    command = [sys.executable, "-m", "ggfmt", "consolidate", f"{work}/events", "-o", f"{work}/merged"]
    process = subprocess.Popen([*command, *options, "--master", "none"], stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.3, 1.5))
    process.kill()
    process.wait()


def _differences(live: LiveMariaDB, output: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for table in ggfmt.compare(output, live.url, ignore_columns=live.ignored).tables:
        if table.only is not None:
            name = table.table.split(".", 1)[1].strip('"')
            if live.query(f"select 1 from `{name}` limit 1"):
                yield f"{table.table}: only in {table.only}"
            continue
        of_table = manifest["tables"][table.table]
        if of_table["unresolved"]:
            yield f"{table.table}: {of_table['unresolved']} unresolved"
        # Where a large value changes, the log does not have the old one, and the records show it as unchanged.
        hidden = {"before image differs"} if live.image != "full" else set()
        if {*of_table["contradictions"]} - hidden:
            yield f"{table.table}: {of_table['contradictions']}"
        unset = {name: sum(causes.values()) for name, causes in of_table["unset"].items()}
        wrong = {name: count for name, count in table.by_column.items() if count > unset.get(name, 0)}
        columns = (*table.columns_a, *table.columns_b) if live.described else ()
        if table.missing or table.extra or wrong or table.unread or columns:
            yield f"{table.table}: {table.missing} missing, {table.extra} extra, {columns}, {wrong}, {table.unread}"
