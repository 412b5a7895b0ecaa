"""`ggfmt apply`: change files in the tables of a real PostgreSQL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from contract.debezium import event, field, wrapped
from lake_tables import add_changes, change
from missing_packages import hide_package
from postgres import Server, server_or_skip
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app
from ggfmt.rows.targets.database_state import ApplyOptions
from ggfmt.rows.targets.postgresql_state import ApplyConnection
from ggfmt.rows.targets.target import RowTarget


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server_or_skip("locked") as started:
        started.run("create user locked password 's3cr/et'")
        yield started


class Target:
    """A database without tables, and the directory with the change files."""

    def __init__(self, running: Server, directory: Path) -> None:
        self.server, self.directory, self.url = running, directory, running.url

    def apply(self, changes: Sequence[Any] = (), **options: Any) -> list[str]:
        if changes:
            number = len(list(self.directory.glob("changes/*")))
            add_changes(self.directory, f"{number:04d}", list(changes))
        return ggfmt.apply(self.directory / "changes", self.url, **{"key": "ID", **options})

    def rows(self, query: str) -> list[tuple[str | None, ...]]:
        return [tuple(row.values()) for row in self.server.copied(query)]


@pytest.fixture
def target(running: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    schemas = running.run(
        "select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'"
    )
    for schema in schemas.splitlines():
        running.run(f'drop schema "{schema}" cascade')
    running.run("create schema public; grant all on schema public to public")
    return Target(running, tmp_path)


def refused(code: str, words: str) -> Any:
    return pytest.raises(ggfmt.GgfmtError, match=f"(?s){code}.*{words}")


def row(*values: str | None) -> dict[str, str | None]:
    return dict(zip(("ID", "N", "V"), values, strict=False))


FIRST = [
    change("I", 1, after=row("1", "a", "v")),
    change("I", 2, after=row("2", "b", "w")),
    change("I", 3, after=row("3", None, "x")),
    change("I", 4, "GG.B", after=row("1", "other", None)),
]


def test_runs_apply_each_file_once(target: Target) -> None:
    target.apply(FIRST)
    rows = "select * from gg.a order by id"
    assert target.rows(rows) == [("1", "a", "v"), ("2", "b", "w"), ("3", None, "x")]
    target.apply()
    moves = [change("U", 5, before={"ID": "1"}, after={"ID": "7"}), change("D", 6, before={"ID": "2"})]
    target.apply([*moves, change("U", 7, after={"ID": "3", "N": ""}), change("I", 8, after=row("1", "new", "y"))])
    assert target.rows(rows) == [("1", "new", "y"), ("3", "", "x"), ("7", "a", "v")]
    assert target.rows("select * from gg.b") == [("1", "other", None)]


def test_keys_are_swapped_also_against_rows_that_only_the_database_has(target: Target) -> None:
    target.server.run(
        "create schema gg;"
        "create table gg.a (id int primary key deferrable, n text unique deferrable, v text, own int);"
        "insert into gg.a select n, 'name ' || n, 'v' || n, n from generate_series(1, 5) n"
    )
    swap = [
        change("U", 1, before={"ID": "1"}, after={"ID": "-1"}),
        change("U", 1, before={"ID": "2"}, after={"ID": "1"}),
        change("U", 1, before={"ID": "-1"}, after={"ID": "2"}),
        change("D", 2, before={"ID": "4"}),
        change("I", 3, after=row("9", "name 4", None)),
    ]
    target.apply(swap, types=["*.ID=bigint"])
    rows = target.rows("select * from gg.a order by id")
    # Columns that only the database has move with their row.
    assert rows == [
        ("1", "name 2", "v2", "2"),
        ("2", "name 1", "v1", "1"),
        ("3", "name 3", "v3", "3"),
        ("5", "name 5", "v5", "5"),
        ("9", "name 4", None, None),
    ]


def definition(number: int, *columns: str) -> dict[str, Any]:
    told = {name: {"type": "string", "null": True, "key": name == "ID"} for name in columns}
    return {"op_type": "OBJECT_METADATA", "qual_table": "GG.A", "columns": told}


def test_a_column_that_the_database_has_first_keeps_its_values(target: Target) -> None:
    target.server.run("create schema gg; create table gg.a (id text primary key, n text, v text, w text)")
    target.server.run("insert into gg.a values ('1', 'a', 'v', 'w')")
    first = [definition(0, "ID", "N"), change("U", 1, after=row("1", "b"))]
    added = [
        definition(0, "ID", "N", "W"),
        definition(0, "ID", "N", "W", "V"),
        change("I", 2, after=row("2", "c", "d")),
    ]
    target.apply([*first, *added])
    assert target.rows("select v from gg.a order by id")[1:] == [("d",)]
    target.server.run("insert into gg.a values ('9', 'a', 'kept', 'w')")
    target.apply([definition(0, "ID", "N"), definition(0, "ID", "N", "X"), change("I", 3, after={"ID": "3", "X": "x"})])
    target.server.run("alter table gg.a add y text default 'y'")
    target.apply(
        [
            definition(0, "ID"),
            definition(0, "ID", "X"),
            definition(0, "ID", "X", "Y"),
            change("D", 4, before={"ID": "3"}),
        ]
    )
    assert target.rows("select id, v, x, y from gg.a where id = '9'") == [("9", "kept", None, "y")]


def test_columns_come_go_and_come_again(target: Target) -> None:
    target.apply([definition(0, "ID", "N"), change("I", 1, after=row("1", "a")), change("I", 1, after=row("2", "b"))])
    target.apply([definition(0, "ID", "N", "V"), change("U", 3, after=row("1", "c", "v"))])
    assert target.rows("select id, n, v from gg.a order by id") == [("1", "c", "v"), ("2", "b", None)]
    target.apply([definition(0, "ID", "N"), change("U", 4, after=row("2", "d"))])
    assert target.rows("select id, n, v from gg.a order by id") == [("1", "c", "v"), ("2", "d", None)]
    target.apply([definition(0, "ID", "N", "V"), change("U", 5, after=row("2", "e", "w"))])
    assert target.rows("select id, n, v from gg.a order by id") == [("1", "c", None), ("2", "e", "w")]


def test_a_column_that_comes_again_is_emptied_in_no_table_that_inherits(target: Target) -> None:
    target.apply([definition(0, "ID", "N", "V"), change("I", 1, after=row("1", "a", "v"))])
    target.server.run("create table gg.old () inherits (gg.a); insert into gg.old values ('7', 'h', 'kept')")
    target.apply([definition(0, "ID", "N"), change("U", 2, after=row("1", "b"))])
    target.apply([definition(0, "ID", "N", "V"), change("U", 3, after=row("1", "c"))])
    assert target.rows("select v from only gg.a union all select v from gg.old") == [(None,), ("kept",)]


def test_a_truncate_empties_the_table_and_later_rows_are_there(target: Target) -> None:
    target.apply(FIRST)
    target.apply([change("I", 5, after=row("8", "gone")), change("T", 6), change("I", 7, after=row("9", "z", None))])
    assert target.rows("select * from gg.a") == [("9", "z", None)]
    target.apply([change("T", 8)])
    assert target.rows("select * from gg.a") == []


def test_a_table_that_was_made_again_with_its_rows_is_accepted(target: Target) -> None:
    """So that a table can be rebuilt; and a database restored, where the state is another table, too."""
    target.apply(FIRST)
    target.apply([change("I", 5, "GG.E", after=row("1", "a", "b"))])
    target.server.run("alter table gg.a rename to old; create table gg.a (like gg.old including all)")
    target.server.run("insert into gg.a select * from gg.old")
    deletes = [change("D", 6, before=row("1", "a", "v"))]
    with refused("GG596", 'the table "gg"."a" was made again.*`accept=True`'):
        target.apply(deletes)
    target.apply(accept=True)
    assert len(target.rows("select * from gg.a")) == 2
    target.apply([change("D", 7, "GG.E", before=row("1", "a", "b"))])
    target.server.run(
        "alter table ggfmt_state rename to old_state; create table ggfmt_state (like old_state including all)"
    )
    target.server.run(
        "insert into ggfmt_state select * from old_state; drop table gg.e; create table gg.e (like gg.a including all)"
    )
    target.apply([change("I", 8, "GG.E", after=row("2", "a", "b"))])
    assert target.rows("select * from gg.e") == [("2", "a", "b")]


def test_unresolved_rows_stop_the_run_and_nothing_is_changed(target: Target) -> None:
    target.apply(FIRST)
    with refused("GG570", "load the rows from before"):
        target.apply([change("U", 5, after={"ID": "99", "N": "?"}), change("D", 6, before={"ID": "1"})])
    assert len(target.rows("select * from gg.a")) == 3
    target.server.run("insert into gg.a values ('99', 'n', 'v')")
    target.apply()
    assert target.rows("select * from gg.a order by id") == [("2", "b", "w"), ("3", None, "x"), ("99", "?", "v")]


# Names


def test_names_are_taken_exactly_or_in_another_case(target: Target) -> None:
    target.server.run('create schema "Gg"; create table "Gg"."A b" ("iD" text primary key, "n""x" text)')
    name = 'GG."dot.ted"'
    target.apply(
        [
            change("I", 1, "GG.a B", after={"ID": "1", 'N"X': "a"}),
            change("I", 1, name, after={"ID": "1", "Mixed Case": "b", "select": "c", "É": "d"}),
        ]
    )
    assert target.rows('select "iD", "n""x" from "Gg"."A b"') == [("1", "a")]
    assert target.rows('select id, "Mixed Case", "select", é from "Gg"."dot.ted"') == [("1", "b", "c", "d")]
    target.apply([change("D", 2, name, before={"ID": "1"})])
    assert target.rows('select * from "Gg"."dot.ted"') == []


@pytest.mark.parametrize(
    ("columns", "tables", "words"),
    [
        ("id text primary key, n text, v text", ("GG.A", "GG.a"), "are both `gg.a`"),
        ('id text primary key, n text, "V" text, v text, "nN" text, "Nn" text', ("GG.A",), "`NN` may be `nN` or `Nn`"),
        ("id text, n text, v text", ("GG.A",), r"and \(none\) in the database"),
        ("id text, n text primary key, v text", ("GG.A",), r"and \(n\) in the database"),
        ("id text primary key, n timestamp, v text", ("GG.A",), "`N` is `timestamp without time zone` in the database"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(target: Target, columns: str, tables: Sequence[str], words: str) -> None:
    target.server.run(f"create schema gg; create table gg.a ({columns})")
    column = "NN" if "NN" in words else "N"
    with refused("GG596", words):
        target.apply([change("I", 1, table, after={"ID": "1", column: 5, "V": "v"}) for table in tables])
    assert target.rows("select to_regclass('ggfmt_state') is null, (select count(*) from gg.a)") == [("t", "0")]


MADE_AGAIN = "create table gg.a (id text primary key, n text, v text)"


@pytest.mark.parametrize(("more", "words"), [("", "was dropped"), (MADE_AGAIN, "was made again")])
def test_a_table_that_was_dropped_is_not_made_again(target: Target, more: str, words: str) -> None:
    target.apply(FIRST)
    target.server.run(f"drop table gg.a; {more}")
    with refused("GG596", f"{words}.*`stream`"):
        target.apply([change("U", 5, after=row("1", "a", "b"))])
    target.apply(stream="again", exclude="GG.B")
    assert target.rows("select * from gg.a order by id") == [("1", "a", "b"), ("2", "b", "w"), ("3", None, "x")]


# Values

ZONED, UUID = "2020-01-02T03:04:05.5Z", "a0000000-0000-0000-0000-000000000001"
INTEGERS, TEXTS = ({"type": type, "optional": True} for type in ("int32", "string"))
DEBEZIUM = "io.debezium.time."


def of_items(name: str, items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "optional": True, "field": name}


# Columns with their value in the file, their type in the database, and what the database shows.
TYPED: list[tuple[dict[str, Any], Any, str, str]] = [
    (field("i", "int32"), 5, "int", "5"),
    (field("n", "string"), "1.50", "numeric(12,3)", "1.500"),
    (field("r", "float"), 0.1, "real", "0.1"),
    (field("d", "double"), 0.30000000000000004, "double precision", "0.30000000000000004"),
    (field("b", "boolean"), True, "boolean", "t"),
    (field("day", "int32", f"{DEBEZIUM}Date"), 18262, "date", "2020-01-01"),
    (field("at", "int64", f"{DEBEZIUM}MicroTimestamp"), 1577934245500000, "timestamp", "2020-01-02 03:04:05.5"),
    (field("tz", "string", f"{DEBEZIUM}ZonedTimestamp"), ZONED, "timestamptz", "2020-01-02 03:04:05.5+00"),
    (field("tm", "int64", f"{DEBEZIUM}MicroTime"), 11045500000, "time", "03:04:05.5"),
    (field("ttz", "string", f"{DEBEZIUM}ZonedTime"), "03:04:05Z", "timetz", "03:04:05+00"),
    (field("iv", "string", f"{DEBEZIUM}Interval"), "P1Y2M3DT4H5M6.7S", "interval", "P1Y2M3DT4H5M6.7S"),
    (field("by", "bytes"), "AQAC", "bytea", "\\x010002"),
    (field("u", "string", "io.debezium.data.Uuid"), UUID, "uuid", UUID),
    (field("j", "string", "io.debezium.data.Json"), '{"a": 1.50, "b": [null]}', "jsonb", '{"a": 1.50, "b": [null]}'),
    (of_items("ia", INTEGERS), [1, None, 3], "int[]", "{1,NULL,3}"),
    (of_items("ta", TEXTS), ["a", 'b,"c', None, "NULL", ""], "text[]", '{a,"b,\\"c",NULL,"NULL",""}'),
    (of_items("no", INTEGERS), [], "int[]", "{}"),
    (field("e", "string", "io.debezium.data.Enum", allowed="sad,happy"), "happy", "gg.mood", "happy"),
    (field("ip", "string"), "10.0.0.1/32", "inet", "10.0.0.1"),
    (field("c", "string"), "ab   ", "char(5)", "ab   "),
    (field("vc", "string"), "abc", "varchar(3)", "abc"),
    (field("m", "string"), "12.50", "money", "$12.50"),
    (field("bt", "string"), "101", "bit(3)", "101"),
    (field("x", "string"), "<a/>", "xml", "<a/>"),
]
NAMES = [column["field"] for column, *_ in TYPED]
SESSION = "set timezone = 'UTC'; set intervalstyle = iso_8601; set lc_monetary = 'C';"


def typed_event(op: str, after: dict[str, Any]) -> Any:
    return wrapped(event(op, None, after), field("id", "int32", optional=False), *(column for column, *_ in TYPED))


@pytest.mark.parametrize("made", ["by ggfmt", "by hand"])
def test_values_of_all_types_come_back_exactly(target: Target, made: str) -> None:
    if made == "by hand":
        columns = ", ".join(f"{name} {type}" for name, (_, _, type, _) in zip(NAMES, TYPED, strict=True))
        target.server.run(
            "create schema gg; create type gg.mood as enum ('sad', 'happy');"
            f"create table public.t (id int primary key, {columns})"
        )
    full = {name: value for name, (_, value, _, _) in zip(NAMES, TYPED, strict=True)}
    target.apply([typed_event("c", {"id": 1, **full}), typed_event("c", {"id": 2, **dict.fromkeys(NAMES)})], key="id")
    found = {name: target.server.run(f"{SESSION} select {name} from t where id = 1").strip("\n") for name in NAMES}
    if made == "by hand":
        assert found == {name: text for name, (*_, text) in zip(NAMES, TYPED, strict=True)}
    assert target.rows("select * from t where id = 2") == [("2", *[None] * len(NAMES))]
    # A part of the columns changes, and all others are read from the database and written back.
    for number in (6, 5):
        target.apply([typed_event("u", {"id": 1, "i": number})], key="id")
    again = {name: target.server.run(f"{SESSION} select {name} from t where id = 1").strip("\n") for name in NAMES}
    assert again == found


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("int64", 5),
        ("string", "ä' \\"),
        ("double", 0.1),
        ("boolean", False),
        ("bytes", "AQAC"),
        (f"int32 {DEBEZIUM}Date", 18262),
        (f"int64 {DEBEZIUM}MicroTimestamp", 1577934245500000),
        (f"string {DEBEZIUM}ZonedTimestamp", ZONED),
        (f"int64 {DEBEZIUM}MicroTime", 11045500000),
        ("string io.debezium.data.Uuid", UUID),
    ],
)
def test_keys_of_all_types_find_their_rows(target: Target, type: str, value: Any) -> None:
    plain, _, semantic = type.partition(" ")
    columns = [field("id", plain, semantic or None, False), field("n", "string"), field("v", "string")]

    def applied(op: str, before: Any, after: Any) -> list[tuple[str | None, ...]]:
        target.apply([wrapped(event(op, before, after), *columns)], key="id")
        return target.rows("select n, v from t")

    assert applied("c", None, {"id": value, "n": "a", "v": "v"}) == [("a", "v")]
    assert applied("u", None, {"id": value, "n": "b"}) == [("b", "v")]
    assert applied("d", {"id": value}, None) == []


def test_numbers_of_the_database_and_of_later_files_may_have_more_digits(target: Target) -> None:
    target.server.run("create schema gg; create table gg.a (id numeric primary key, n numeric, v numeric)")
    target.server.run("insert into gg.a values (1, 12345678901234567890.123, 'NaN'), (2, 1, 2)")
    target.apply([change("U", 1, after={"ID": 2, "N": 3}), change("U", 1, after={"ID": 1, "V": 7})])
    target.apply([change("U", 2, after={"ID": 2, "V": 0.000000001})])
    assert target.rows("select id, trim_scale(n) as n, trim_scale(v) as v from gg.a order by id") == [
        ("1", "12345678901234567890.123", "7"),
        ("2", "3", "0.000000001"),
    ]


@pytest.mark.parametrize(
    ("type", "value", "given"),
    [
        ("numeric(5,2)", "1.005", "string"),
        ("varchar(3)", "abcd", "string"),
        ("gg.short", "abcd", "string"),
        ("jsonb", "{", "string"),
        ("boolean", 1, "bigint"),
        ("timestamp", 1577934245, "bigint"),
        ("interval", 5, "bigint"),
        ("numeric(5,2)", "2020-01-01 12:00:00", "timestamp_ntz"),
        ("time", "2020-01-01 12:00:00", "timestamp_ntz"),
    ],
)
def test_a_value_that_would_become_another_is_refused(target: Target, type: str, value: Any, given: str) -> None:
    target.server.run(
        "create schema gg; create domain gg.short as varchar(3);"
        f"create table gg.a (id text primary key, v {type}); create table gg.b (id text primary key, v text)"
    )
    lines = [change("I", 1, table, after={"ID": "1", "V": value}) for table in ("GG.B", "GG.A")]
    with pytest.raises(ggfmt.GgfmtError, match=r"GG588|GG596") as caught:
        target.apply(lines, types=[f"GG.A.V={given}"])
    assert "GG.A" in str(caught.value) and f'"{value}"' not in str(caught.value)
    assert "`V`" in str(caught.value)
    assert target.rows("select id from gg.b") == []


def test_a_trigger_that_changes_rows_is_found(target: Target) -> None:
    target.server.run(
        "create schema gg; create table gg.a (id text primary key, n text, v numeric);"
        "create function gg.skip() returns trigger language plpgsql as 'begin return null; end';"
        "create trigger t before insert on gg.a for each row when (new.n = 'skip') execute function gg.skip()"
    )
    with refused("GG596", "has not stored 1 row"):
        target.apply([change("I", 1, after=row("1", "skip")), change("I", 1, after=row("2", "stay"))])


def test_generated_and_identity_columns(target: Target) -> None:
    target.server.run(
        "create schema gg; create table gg.a (id int generated always as identity primary key, n text,"
        " v int generated always as (length(n)) stored, own serial)"
    )
    lines = [change("I", 1, after={"ID": 7, "N": "abc", "V": 3}), change("U", 2, after={"ID": 7, "N": "ab", "V": 2})]
    target.apply(lines)
    assert target.rows("select * from gg.a") == [("7", "ab", "2", "1")]


def test_different_keys_that_are_one_in_the_database_are_refused(target: Target) -> None:
    target.server.run(
        "create schema gg; create extension citext; create table gg.a (id citext primary key, n text, v text)"
    )
    with refused("GG596", "one key"):
        target.apply([change("I", 1, after=row("a")), change("D", 2, before={"ID": "A"})])


def test_constraints_of_the_database_stop_the_run(target: Target) -> None:
    target.server.run(
        "create schema gg; create table gg.p (id text primary key); create table gg.a (id text primary key,"
        " n text references gg.p deferrable, v text unique deferrable)"
    )
    lines = [change("I", 1, after=row("1", "p", "x")), change("I", 2, "GG.P", after={"ID": "p"})]
    target.apply([*lines, change("I", 3, after=row("2", "p", "y"))])
    target.apply([change("U", 4, after=row("1", "p", "y")), change("U", 4, after=row("2", "p", "x"))])
    for wrong in (row("3", "absent", "z"), row("3", "p", "y")):
        with refused("GG588", "violates"):
            target.apply([change("I", 5, after=wrong)])
        (target.directory / "changes" / "0002.json").unlink()
    with refused("GG588", "0x00"):
        target.apply([change("I", 5, after=row("3", "p", "\0"))])
    assert target.rows("select id, v from gg.a order by id") == [("1", "y"), ("2", "x")]


# Runs


def test_two_runs_at_once_exclude_each_other(target: Target) -> None:
    target.apply(FIRST)
    held = ApplyConnection(target.url, ApplyOptions("default"))
    try:
        with refused("GG501", "another run"):
            target.apply([change("D", 5, before={"ID": "1"})])
        target.apply(stream="other")
    finally:
        held.close()
    target.apply()
    assert len(target.rows("select * from gg.a")) == 2


def test_a_dry_run_prints_the_sql_and_changes_nothing(target: Target) -> None:
    target.apply(FIRST)
    add_changes(target.directory, "0009", [change("D", 5, before=row("1")), change("I", 6, "GG.C", after=row("1"))])
    state = target.rows("select name, md5(content) from ggfmt_state order by name")
    words = ["apply", str(target.directory / "changes"), target.url, "--key", "ID", "--dry-run"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.stderr
    for text in (
        'create table "gg"."c" (',
        'merge into only "gg"."c" as t',
        'delete from only "gg"."a" as t',
        "copy ggfmt_rows from stdin; -- ",
    ):
        assert text in found.stdout
    assert "rolled back, because of `--dry-run`: nothing was changed in postgresql://" in found.stderr
    assert "committed" not in found.stderr
    assert target.rows("select name, md5(content) from ggfmt_state order by name") == state
    assert target.rows("select to_regclass('gg.c') is null, (select count(*) from gg.a)") == [("t", "3")]


class Died(BaseException):
    pass


def dying(real: Any, left: int, done: list[str]) -> Any:
    def step(*given: Any, **named: Any) -> Any:
        if len(done) == left:
            raise Died
        done.append(real.__name__)
        return real(*given, **named)

    return step


def test_a_run_that_dies_at_any_step_is_done_by_the_next(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    target.apply(FIRST)
    lines = [change("D", 5, before=row("1", "a", "v")), change("I", 6, "GG.C", after=row("1", "x", "y"))]
    add_changes(target.directory, "0009", lines)
    before = "select count(*), (select to_regclass('gg.c') is null) from gg.a"
    done: list[str] = []
    for number in range(100):
        done.clear()
        with monkeypatch.context() as patch, suppress(Died):
            steps = [(ApplyConnection, name) for name in ("execute", "copy", "save")]
            for owner, name in (*steps, (RowTarget, "commit")):
                patch.setattr(owner, name, dying(getattr(owner, name), number, done))
            target.apply()
            break
        assert target.rows(before) == [("3", "t")], number
    assert number > 15 and {"execute", "copy", "save", "commit"} <= {*done}
    assert target.rows(before) == [("2", "f")]


def test_a_signal_during_a_statement_is_no_error_of_the_database(target: Target) -> None:
    target.server.run(
        "create schema gg; create table gg.a (id text primary key, n text, v text);"
        "create function gg.wait() returns trigger language plpgsql as 'begin perform pg_sleep(20); return new; end';"
        "create trigger t before insert on gg.a for each row execute function gg.wait()"
    )
    add_changes(target.directory, "0", [change("I", 1, after=row("1"))])
    words = [sys.executable, "-m", "ggfmt", "apply", str(target.directory / "changes"), target.url, "--key", "ID"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not target.rows("select 1 from pg_stat_activity where wait_event = 'PgSleep'"):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told.splitlines()[-1]) == (130, "interrupted; nothing was committed")


def test_random_changes_equal_the_source_after_each_run(target: Target, tmp_path: Path) -> None:
    random, number = Random(47), 0
    source: dict[str, dict[str, str | None]] = {}
    for _ in range(8):
        lines = []
        for _ in range(random.randint(1, 30)):
            number += 1
            key = str(random.randint(1, 12))
            there = source.get(key)
            if there is None:
                source[key] = row(key, f"n{number}", random.choice([None, "", "v"]))
                lines.append(change("I", number, after=dict(source[key])))
            elif random.random() < 0.3:
                lines.append(change("D", number, before={"ID": key}))
                del source[key]
            elif random.random() < 0.4 and (other := str(random.randint(1, 12))) not in source:
                source[other] = {**source.pop(key), "ID": other}
                lines.append(change("U", number, before={"ID": key}, after={"ID": other}))
            else:
                there["V"] = f"v{number}"
                lines.append(change("U", number, before={"ID": key}, after={"ID": key, "V": there["V"]}))
        target.apply(lines, starts_empty=True)
        found = target.rows("select id, n, v from gg.a")
        assert sorted(found) == sorted((item["ID"], item["N"], item["V"]) for item in source.values())
        export = tmp_path / "export" / "GG.A.csv"
        export.parent.mkdir(exist_ok=True)
        export.write_text(target.server.run("copy gg.a to stdout csv header"), encoding="utf-8")
        assert ggfmt.compare(str(export), target.url, table="gg.a").same


# Errors


def test_errors_have_neither_credentials_nor_values(
    target: Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    add_changes(target.directory, "0", [change("I", 1, "public.a", after=row("1", "s3cret value", "v"))])
    host = f"127.0.0.1:{target.server.port}/postgres"

    def run(user: str) -> tuple[int, str]:
        words = ["apply", str(target.directory / "changes"), f"postgresql://{user}@{host}", "--key", "ID"]
        error = CliRunner().invoke(app, words).exception
        assert isinstance(error, ggfmt.GgfmtError) and error.__cause__ is None
        return error.exit_code, f"{error} {caplog.text}"

    code, text = run("locked:wrong-one")
    assert code == 3 and "GG588" in text and "password authentication failed" in text and "wrong-one" not in text, text
    target.server.run("create table public.a (id text primary key, n int, v text)")
    code, text = run("locked:s3cr%2Fet")
    assert code == 3 and "permission denied" in text and "public.a" in text and "s3cr" not in text
    target.server.run("grant all on public.a to locked")
    code, text = run("locked:s3cr%2Fet")
    assert code == 3 and "s3cret value" not in text and "give the column `N`" in text
    assert "integer" in text
    hide_package(monkeypatch, "adbc_driver_postgresql")
    assert "pip install 'ggfmt[postgresql]'" in run("locked")[1]


def test_a_user_without_the_schema_needs_the_table_of_the_state(target: Target) -> None:
    target.server.run(
        "revoke all on schema public from public; grant usage on schema public to locked;"
        "create table public.a (id text primary key, n text, v text); grant all on public.a to locked"
    )
    target.url = f"postgresql://locked:s3cr%2Fet@127.0.0.1:{target.server.port}/postgres"
    lines = [change("I", 1, "public.a", after=row("1", "a", "b"))]
    with refused("GG588", "permission denied for schema public"):
        target.apply(lines)
    target.server.run(
        "create table ggfmt_state (stream text, name text, content bytea not null, primary key (stream, name));"
        "grant all on ggfmt_state to locked"
    )
    target.apply()
    target.apply([change("D", 2, "public.a", before={"ID": "1"})])
    assert target.rows("select * from a") == []


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    for inputs in ([tmp_path], [tmp_path, "oracle://h/d"], ["postgresql://h/d"]):
        with refused("GG580", "last the URL"):
            ggfmt.apply([str(each) for each in inputs])


@pytest.mark.example("GG596")
def test_changes_without_a_key_are_refused(target: Target) -> None:
    with refused("GG596", "GG.A=COLUMN;GG.B=COLUMN"):
        target.apply(FIRST, key=None)


def test_values_that_the_input_does_not_show_stop_a_strict_run(target: Target, tmp_path: Path) -> None:
    cells = [{"name": "ID", "type": "integer", "value": 1}, {"name": "N", "type": "real", "value": None}]
    record = {"action": "I", "schema": "gg", "table": "a", "columns": cells, "pk": cells[:1]}
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "dump.json").write_text(json.dumps(record) + "\n")
    with refused("GG407", "1 operation with NULL in a numeric column"):
        target.apply(strict=True)
    assert target.rows("select nspname from pg_namespace where nspname = 'gg'") == []
    target.apply()
    assert target.rows("select * from gg.a") == [("1", None)]
