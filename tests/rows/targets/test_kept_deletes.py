"""`ggfmt apply --keep deleted`: rows that the source deletes stay in the table, marked, until their key comes again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mariadb
import postgres
import pytest
from lake_tables import add_changes, change

import ggfmt

pytestmark = pytest.mark.process

SERVERS: dict[str, Any] = {"postgresql": postgres, "mariadb": mariadb}


class Database:
    """A database with no tables, and the directory with the change files."""

    def __init__(self, server: Any, directory: Path) -> None:
        self.server, self.directory = server, directory
        if isinstance(server, postgres.Server):
            self.url, self._use = server.url, ""
            server.run("drop table if exists t; drop table if exists ggfmt_state")
        else:
            self.url, self._use = f"mysql://root@127.0.0.1:{server.port}/shop", "use shop; "
            server.run("drop database if exists shop; create database shop")

    def run(self, statements: str) -> None:
        self.server.run(f"{self._use}{statements}")

    def apply(self, *changes: Any, **options: Any) -> Any:
        number = len(list(self.directory.glob("changes/*")))
        if changes:
            add_changes(self.directory, f"{number:04d}", list(changes))
        given = {"key": "ID", "keep": "deleted", "types": ["*.ID=bigint", "*.V=string"], **options}
        return ggfmt.apply(self.directory / "changes", self.url, **given)

    def rows(self, columns: str = "id, v, _state") -> list[tuple[Any, ...]]:
        query = f"select {columns} from {'t' if not self._use else 'T'} order by 1"
        if isinstance(self.server, postgres.Server):
            return [tuple(row.values()) for row in self.server.copied(query)]
        with self.server.connected("shop") as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return [tuple(None if value is None else str(value) for value in row) for row in cursor.fetchall()]


@pytest.fixture(scope="module", params=SERVERS)
def running(request: pytest.FixtureRequest) -> Iterator[Any]:
    with SERVERS[request.param].server_or_skip() as started:
        yield started


@pytest.fixture
def database(running: Any, tmp_path: Path) -> Database:
    return Database(running, tmp_path)


def op(kind: str, position: int, id: int, value: str = "a", new: int | None = None) -> Any:
    before = None if kind == "I" else {"ID": id, "V": value}
    after = None if kind == "D" else {"ID": id if new is None else new, "V": value}
    moment = {"op_ts": "2026-01-01 00:00:00"}
    return change(kind, position, "T", **{k: v for k, v in (("before", before), ("after", after)) if v}) | moment


@pytest.mark.parametrize("seed", range(4))
def test_tables_have_the_present_rows_and_the_last_ones_of_deleted_keys(database: Database, seed: int) -> None:
    choose, position = random.Random(seed), 0
    present: dict[int, str] = {}
    gone: dict[int, str] = {}
    for _ in range(7):
        changes, before = [], dict(present)
        for _ in range(choose.randrange(1, 9)):
            position += 1
            id, value = choose.randrange(1, 7), f"v{position}"
            free = [key for key in range(1, 7) if key not in present]
            if id not in present:
                changes.append(op("I", position, id, value))
                present[id] = value
            elif choose.random() < 0.4:
                changes.append(op("D", position, id, present.pop(id)))
            elif free and choose.random() < 0.5:
                new = choose.choice(free)
                changes.append(op("U", position, id, present[id], new))
                present[new] = present.pop(id)
            else:
                changes.append(
                    change("U", position, "T", before={"ID": id, "V": present[id]}, after={"ID": id, "V": value})
                )
                present[id] = value
        database.apply(*changes, starts_empty=True)
        rows = database.rows()
        assert {int(id): v for id, v, state in rows if state == "current"} == present
        marked = {int(id): v for id, v, state in rows if state == "deleted"}
        assert gone.keys() - present.keys() <= marked.keys() <= {*gone, *before} - present.keys()
        assert {id: v for id, v in gone.items() if id in marked and id not in before} == {
            id: v for id, v in marked.items() if id in gone and id not in before
        }
        gone = marked


def test_a_row_that_comes_again_is_new(database: Database) -> None:
    database.run(
        f"create table {'T' if database._use else 't'} (id bigint primary key, v varchar(9), own int default 7)"
    )
    database.apply(op("I", 1, 1), op("I", 2, 2), starts_empty=True)
    database.run(f"update {'T' if database._use else 't'} set own = id * 10")
    database.apply(op("D", 3, 1), op("D", 4, 2))
    assert database.rows("id, own, _state") == [("1", "10", "deleted"), ("2", "20", "deleted")]
    assert database.apply(op("I", 5, 1, "b"), dry_run=True)
    database.apply()
    assert database.rows("id, v, own, _state") == [("1", "b", "7", "current"), ("2", "a", "20", "deleted")]
    database.apply(op("I", 6, 3), op("U", 7, 1, "b", new=2))
    assert database.rows("id, v, own, _state") == [("2", "b", "7", "current"), ("3", "a", "7", "current")]


def test_a_truncate_marks_what_was_there(database: Database) -> None:
    database.apply(op("I", 1, 1), op("I", 2, 2), starts_empty=True)
    database.apply(change("T", 3, "T"), op("I", 4, 2, "b"))
    assert database.rows() == [("1", "a", "deleted"), ("2", "b", "current")]
    database.apply(change("T", 5, "T"))
    assert database.rows() == [("1", "a", "deleted"), ("2", "b", "deleted")]


def test_a_stream_that_marks_goes_on_so(database: Database) -> None:
    database.apply(op("I", 1, 1), starts_empty=True, keep=None)
    database.apply(op("I", 2, 2), op("D", 3, 1))  # from now on
    assert database.rows() == [("1", "a", "deleted"), ("2", "a", "current")]
    for options in ({}, {"accept": True}):
        with pytest.raises(ggfmt.UsageError, match=r"GG596.*still in the table, marked in `_state`.*deleted"):
            database.apply(op("D", 4, 2), keep=None, **options)


def test_a_column_of_the_changes_cannot_be_the_mark(database: Database) -> None:
    record = change("I", 1, "T", after={"ID": 1, "_state": "x"}) | {"op_ts": "2026-01-01 00:00:00"}
    with pytest.raises(ggfmt.UsageError, match=r"GG596.*column `_state`"):
        database.apply(record, starts_empty=True, types=None)
