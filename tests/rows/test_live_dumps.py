"""Rows of what tools of databases print, after random transactions, equal the database."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import mariadb
import postgres
import pyarrow.parquet as parquet
import pytest
from postgres_story import KEYS, TABLES, transaction
from round_trips import Row

import ggfmt

# Plugins, each with the options of the query
PLUGINS = {
    "test_decoding": "",
    "wal2json 2": ", 'format-version', '2', 'include-lsn', 'true', 'include-pk', 'true'",
    "wal2json 1": ", 'include-pk', 'true'",
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))]


def consolidated(dump: Path, tables: list[str], out: Path, **given: Any) -> dict[str, Counter[tuple[str | None, ...]]]:
    """The rows of tables as texts."""
    ggfmt.consolidate(dump, out, types={"*": "string"}, master="none", **given)
    found = {}
    for table in tables:
        files = [parquet.read_table(path) for path in sorted(out.glob(f"*{table}/*.parquet"))]
        found[table] = rows_of([row for file in files for row in file.to_pylist()])
    return found


def rows_of(rows: list[Row]) -> Counter[tuple[str | None, ...]]:
    return Counter(tuple(value for _, value in sorted(row.items())) for row in rows)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_slot_shows_the_rows_of_the_database(plugin: str, seed: int, tmp_path: Path) -> None:
    name = plugin.split()[0]
    random = Random(seed)
    with postgres.server_or_skip() as server:
        if name == "wal2json" and not (server.programs.parent / "lib" / "wal2json.so").exists():
            pytest.skip("there is no wal2json")
        create, _, insert = TABLES.rpartition("insert into")
        server.run(create)
        server.run(f"select pg_create_logical_replication_slot('s', '{name}')")
        server.run(f"insert into {insert}")
        story = "".join(transaction(random, 0) for _ in range(300))
        if plugin == "wal2json 1":  # which has no truncates
            story = re.sub(r"^truncate .*;$", "select 1;", story, flags=re.MULTILINE)
        server.run(story, strict=False)
        dump = tmp_path / "dump.txt"
        query = f"pg_logical_slot_get_changes('s', null, null{PLUGINS[plugin]})"
        dump.write_text(server.run(f"select lsn, xid, data from {query}"), encoding="utf-8")
        expected = {table: rows_of(server.copied(f"select * from {table}")) for table in KEYS}
    keys = {f"public.{table}": list(key) for table, key in KEYS.items() if key}
    exclude = None
    if plugin != "wal2json 2":  # old rows lack their NULL, so that those of a table without a key are not whole
        del expected["nokey"]
        exclude = "public.nokey"
    assert consolidated(dump, list(expected), tmp_path / "rows", key=keys, exclude=exclude) == expected


OF_MARIADB = """
create database d character set utf8mb4; use d;
create table orders(id int unsigned primary key, name varchar(300), price decimal(12,2), day date, kind enum('a','b'));
create table items(a bigint, b varbinary(20), note mediumtext, primary key(a, b));
"""


def mariadb_transaction(random: Random) -> str:
    def text() -> str:
        return random.choice(
            ("null", "''", "'a\\'b'", "'null'", "'l\\n\\\\N'", "'\u00c4\u8868\U0001f600'", "repeat('x', 299)")
        )

    statements = ["begin"]
    for _ in range(random.randint(1, 5)):
        id, other = random.randrange(1, 80), random.randrange(1, 80)
        statements.append(random.choice([
            f"insert ignore into orders values ({id}, {text()}, {other}.5, '2026-01-{1 + id % 28:02}', 'a')",
            f"replace into orders values ({id}, {text()}, -{other}, null, 'b')",
            f"update orders set price = price + 1 where id % 7 = {id % 7}",
            f"update ignore orders set id = id + 1000, name = {text()} where id = {id}",
            f"delete from orders where id % 13 = {id % 13}",
            f"insert ignore into items values (-{id}, x'00ff{other:02}', {text()})",
            f"update ignore items set note = {text()}, b = x'{id:02}' where a = -{other}",
            f"delete from items where a > -{id // 4}",
        ]))  # fmt: skip
        if random.random() < 0.2:
            statements += ["savepoint s", f"delete from orders where id < {id}", "rollback to savepoint s"]
    return ";\n".join([*statements, random.choice(("commit", "commit", "commit", "rollback"))]) + ";\n"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.skipif(not mariadb.programs(), reason="no MariaDB that can be started")
def test_a_binary_log_shows_the_rows_of_the_database(image: str, seed: int, tmp_path: Path) -> None:
    random = Random(f"{image} {seed}")
    options = ("--log-bin=log", "--binlog-format=ROW", "--binlog-row-metadata=FULL", f"--binlog-row-image={image}")
    compressed = "--log-bin-compress=ON" if random.random() < 0.3 else "--log-bin-compress=OFF"
    with mariadb.server((*options, compressed, "--log-bin-compress-min-len=10")) as server:
        server.run(OF_MARIADB + "".join(mariadb_transaction(random) for _ in range(200)) + "flush logs;")
        log = tmp_path / "log.000001"
        log.write_bytes((server.home / "data" / "log.000001").read_bytes())
        with server.connected("d") as connection, connection.cursor() as cursor:
            expected = {}
            for table, columns in (("orders", "day, id, kind, name, price"), ("items", "a, to_base64(b), note")):
                cursor.execute(f"select {columns} from {table}")
                rows = [tuple(None if value is None else str(value) for value in row) for row in cursor.fetchall()]
                expected[table] = Counter(rows)
    found = consolidated(log, list(expected), tmp_path / "rows")
    assert sum(map(len, expected.values())) > 20
    assert found == expected
