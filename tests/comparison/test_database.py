"""Tables of a real PostgreSQL are compared with files and with each other."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from missing_packages import hide_package
from postgres import Server, server_or_skip
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app
from ggfmt.comparison.comparison import TableComparison
from ggfmt.model.sql import sql

SQL = r"""
create table typed (
  id int primary key, s text, c char(5), n numeric(12,3), big numeric, b boolean, d date, ts timestamp, tz timestamptz,
  tm time, ttz timetz, iv interval, by bytea, ar int[], ta text[], na numeric[], za timestamptz[], j json, jb jsonb,
  u uuid, f real, g double precision, ip inet, m money
);
insert into typed values (
  1, 'a', 'ab', 1.5, 'NaN', true, '2020-01-02', '2020-01-02 03:04:05.5', '2020-01-02 03:04:05.5+02', '03:04:05.5',
  '03:04:05+02', '1 mon -2 days 00:00:01.5', '\x0102', '{1,NULL,2}', '{"a","b,\"c",NULL}', '{1.5,2}',
  '{2020-01-02 03:04:05.5+02}', '{"a": 1}', '{"a": 1}', 'A0000000-0000-0000-0000-000000000001',
  1.1, 2.5, '10.0.0.1', 1.5
);
insert into typed (id, s, b, d, ts, tz, big) values
  (2, '', false, 'infinity', 'infinity', '-infinity', 1e60),
  (3, null, null, '-infinity', '-infinity', 'infinity', -0.50);
create extension hstore;
create type pair as (a int, b text);
create type nested as (p pair, n int);
create domain pair_domain as pair;
create domain flags as bit(8);
create table composites (id int primary key, p pair, n nested, d pair_domain, ps pair[], ds pair_domain[]);
insert into composites values
  (1, row(1, null), row(row(null, null), null), row(null, 'x'), array[row(1, null)::pair], array[row(2, null)::pair]),
  (2, null, null, null, null, null), (3, row(null, null), row(null, 1), row(null, null), array[null::pair], '{}');
create table kinds (
  id int primary key, b8 bit(8), b1 bit(1), bd flags, bv bit varying, ba bit(3)[], h hstore, pt point, pg polygon,
  t time, tz timetz, low int[], vec int2vector, bys bytea[]
);
insert into kinds values (1, B'00000101', B'1', B'00000110', B'0101', '{101,011}', 'b=>NULL, a=>"1,2"', '(1,2.5)',
  '((0,0),(1,1),(1,0))', '24:00:00', '24:00:00+00', '[2:3]={1,2}', '1 2', array['\x00ff'::bytea, null]);
create table "Odd.Names" ("the ""key" text primary key, "a.b" int);
insert into "Odd.Names" values ('1', 1), ('', null);
create table keyless (v int);
insert into keyless values (1), (1), (2);
create table parent (id int, v text, primary key (id, v)) partition by range (id);
create table part_1 partition of parent for values from (0) to (10);
insert into parent values (1, 'a'), (2, 'b');
create schema other;
create table other.unrelated (id int);
create table hidden (id int primary key);
insert into hidden values (1), (2);
alter table hidden enable row level security;
create policy first_row on hidden using (id = 1);
create user reader password 's3cret';
grant select on typed, hidden to reader;
create user locked password 's3cr/et';
grant select on keyless to locked;
"""


def test_without_the_driver_a_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_package(monkeypatch, "adbc_driver_postgresql")
    code, text = called("postgresql://reader:s3cret@127.0.0.1/shop", str(tmp_path))
    assert (code, "GG589" in text, "pip install 'ggfmt[postgresql]'" in text, "s3cret" in text) == (
        2,
        True,
        True,
        False,
    )


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    with server_or_skip("locked") as running:
        running.run(SQL)
        yield running


@pytest.fixture
def url(database: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    return f"postgresql://{database.user}@127.0.0.1:{database.port}/postgres"


def compared(a: object, b: object, **others: Any) -> TableComparison:
    (table,) = ggfmt.compare(str(a), str(b), **others).tables
    return table


def dumped(database: Server, path: Path, table: str, settings: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(database.run(f"{settings}; copy {table} to stdout csv header"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "settings", ["", "set timezone = 'Asia/Kolkata'", "set intervalstyle = iso_8601; set bytea_output = hex"]
)
def test_a_dump_is_equal_to_its_table(database: Server, url: str, tmp_path: Path, settings: str) -> None:
    dump = dumped(database, tmp_path / "typed.csv", "(select * from typed)", settings)
    text = dump.read_text(encoding="utf-8")
    for a, b in ((dump, url), (url, dump)):
        found = compared(a, b, table="typed")
        assert (found.key, found.equal, found.by_column, found.same) == (("id",), 3, {}, True)
    wrong = [("1.500", "1.501"), ("NaN", "0"), ("ab   ", "ab"), ("2020-01-02,", "2020-01-03,"), ("\\x0102", "\\x0103")]
    wrong += [("{1,NULL,2}", "{1,2}"), ('{"a": 1}', '{""a"": 2}'), ("10.0.0.1", "10.0.0.2"), (",,", ',"",')]
    for right, other in wrong:
        dump.write_text(text.replace(right, other, 1), encoding="utf-8")
        if right in text:
            assert compared(dump, url, table="typed").different == 1, right


def test_files_with_types_and_messages_without(url: str, tmp_path: Path) -> None:
    columns = {
        "id": pa.array([1, 2, 3]),
        "big": pa.array(["NaN", "1E60", "-.5"]),
        "n": pa.array([1.5, None, None]),
        "b": pa.array(["t", "0", None]),
        "ts": pa.array(["2020-01-02T03:04:05.500", "infinity", "-infinity"]),
        "tz": pa.array(["2020-01-02 01:04:05.5Z", "-infinity", "infinity"]),
        "d": pa.array(["2020-01-02", "infinity", "-infinity"]),
        "ttz": pa.array(["01:04:05Z", None, None]),
        "iv": pa.array(["P0Y1M-2DT0H0M1.5S", None, None]),
        "by": pa.array(["AQI=", None, None]),
        "ar": pa.array([[1, None, 2], None, None]),
        "ta": pa.array([["a", 'b,"c', None], None, None]),
        "na": pa.array(['["1.50", 2.0]', None, None]),
        "za": pa.array(['["2020-01-02T01:04:05.500Z"]', None, None]),
        "jb": pa.array(['{"a":1.0}', None, None]),
        "u": pa.array([b"\xa0" + bytes(14) + b"\1", None, None], pa.binary(16)),
        "g": pa.array(["2.50", None, None]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    ignored = ["s", "c", "tm", "j", "f", "ip", "m"]
    found = compared(tmp_path / "a.parquet", url, table="typed", ignore_columns=ignored)
    assert (found.equal, found.by_column) == (3, {})
    columns["ta"] = pa.array([["a", 'b,"c', "NULL"], None, None])
    columns["iv"] = pa.array(["P1M2DT1.5S", None, None])
    columns["ts"] = pa.array([None, "infinity", "-infinity"])
    parquet.write_table(pa.table(columns), tmp_path / "b.parquet")
    found = compared(tmp_path / "b.parquet", url, table="typed", ignore_columns=ignored)
    assert (found.different, found.by_column) == (1, {"ts": 1, "iv": 1, "ta": 1})


def test_a_composite_with_a_null_member_is_a_value(database: Server, url: str, tmp_path: Path) -> None:
    dump = dumped(database, tmp_path / "composites.csv", "composites")
    assert compared(dump, url, table="composites").equal == 3
    text = dump.read_text(encoding="utf-8")
    for right, other, column in (
        ('"(1,)"', '"(99,)"', "p"),
        ('"(1,)"', "", "p"),
        ('"(""(,)"",)"', '"(""(7,)"",)"', "n"),
        ('"(,x)"', '"(,y)"', "d"),
        ('"{""(1,)""}"', '"{""(9,)""}"', "ps"),
        ('"{""(2,)""}"', "{NULL}", "ds"),
        ('3,"(,)"', "3,", "p"),
    ):
        assert right in text
        dump.write_text(text.replace(right, other, 1), encoding="utf-8")
        found = compared(dump, url, table="composites")
        assert found.by_column == {column: 1}, (right, other)


# By column of `kinds`: values that are the same, and others.
SPELLINGS: dict[str, tuple[list[Any], list[Any]]] = {
    "b8": ([5, 5.0, "5", "00000101", "B'00000101'", "0000005"], [101, "101", 6, "00000110", "x", 257, -5]),
    "b1": ([True, 1, "1", "true"], [False, 0, "0", "11"]),
    "bd": ([6, "00000110"], [110, "110"]),
    "bv": (["0101", "B'0101'"], ["101", "5", 101]),
    "ba": ([["101", "011"], [5, 3]], [["011", "101"], [101, 11]]),
    "h": (['"a"=>"1,2", "b"=>NULL', '{"b": null, "a": "1,2"}', '[["a","1,2"],["b",null]]'],
          ['"a"=>"1,2"', '{"b": "null", "a": "1,2"}', '"a"=>"1,2", "b"=>"NULL"']),
    "pt": (["(1.0, 2.50)", '{"x": 1.0, "y": 2.5, "wkb": "AA==", "srid": null}', "POINT (1 2.5)"],
           ["(2.5,1)", "(1,2.51)", "POINT (2.5 1)", "(1,2.5"]),
    "pg": (["((0.0,0),(1,1),(1e0,0))"], ["((0,0),(1,1),(1,0.1))"]),
    "t": (["24:00:00", "24:00:00.000"], ["00:00:00", "23:59:59.999999"]),
    "tz": (["24:00:00Z", "24:00:00+00"], ["00:00:00Z"]),
    "low": (["[2:3]={1,2}"], ["{1,2}", "[2:3]={2,1}"]),
    "vec": (["1 2"], ["2 1"]),
    "bys": ([[b"\0\xff", None], ["AP8=", None], '{"\\\\x00ff",NULL}'], [[b"\0\xfe", None], [b"\0\xff"]]),
}  # fmt: skip


@pytest.mark.parametrize("column", SPELLINGS)
def test_values_of_kinds(url: str, tmp_path: Path, column: str) -> None:
    right, wrong = SPELLINGS[column]
    assert compared(url, url, table="kinds").same
    others = [name for name in SPELLINGS if name != column]
    for value, same in [*((value, True) for value in right), *((value, False) for value in wrong)]:
        for ending in ("parquet", "json"):
            path = tmp_path / f"kinds.{ending}"
            if ending == "parquet":
                parquet.write_table(pa.table({"id": [1], column: pa.array([value])}), path)
            elif isinstance(value, list) and isinstance(value[0], bytes):
                continue  # JSON has no bytes
            else:
                path.write_text(json.dumps({"id": 1, column: value}), encoding="utf-8")
            found = compared(path, url, table="kinds", ignore_columns=others)
            assert (found.equal, found.by_column) == ((1, {}) if same else (0, {column: 1})), (value, ending)


def test_a_column_that_is_declared_as_text_has_characters(url: str, tmp_path: Path) -> None:
    for key, same in (("1", True), ("1.0", False)):
        (tmp_path / "o.csv").write_text(f'"the ""key",a.b\n{key},1.0\n"",\n', encoding="utf-8")
        found = compared(tmp_path / "o.csv", url, table='public."Odd.Names"')
        assert (found.same, found.respelled) == (same, {})
    (tmp_path / "p.csv").write_text("id,v\n1,a\n2,B\n", encoding="utf-8")
    found = compared(tmp_path / "p.csv", url, table="parent")
    assert (found.key, found.missing, found.extra) == (("id", "v"), 1, 1)


def test_tables_belong_together_by_name(database: Server, url: str, tmp_path: Path, caplog: Any) -> None:
    for directory, table in (
        ("GG.KEYLESS", "keyless"),
        ("public.typed", "typed"),
        ('public."Odd.Names"', '"Odd.Names"'),
    ):
        dumped(database, tmp_path / directory / "part-0.csv", table)
    dumped(database, tmp_path / "parent" / "part-0.csv", "(select * from parent)")
    found = {table.table: table for table in ggfmt.compare(tmp_path, url).tables}
    assert {name: (table.only, table.equal) for name, table in found.items()} == {
        "GG.KEYLESS": (None, 3),
        'public."Odd.Names"': (None, 2),
        "parent": (None, 2),
        "public.typed": (None, 3),
        "public.hidden": ("b", 0),
        "public.composites": ("b", 0),
        "public.kinds": ("b", 0),
    }
    assert "other.unrelated" in caplog.text
    both = ggfmt.compare(url, url)
    assert both.same and len(both.tables) == 8


def test_all_tables_are_read_at_one_time_and_only_read(database: Server, url: str, monkeypatch: Any) -> None:
    """A row that is added after the comparison has begun is in neither of its tables."""
    from ggfmt.comparison.database import DatabaseTable

    whole = DatabaseTable.batches

    def slow(table: DatabaseTable, names: Any) -> Any:
        database.run("insert into keyless values (9)")
        settings = sql("select current_setting('transaction_isolation') || current_setting('transaction_read_only')")
        (batch,) = table._database.query(settings)
        assert batch.column(0).to_pylist() == ["repeatable readon"]
        yield from whole(table, names)

    monkeypatch.setattr(DatabaseTable, "batches", slow)
    try:
        found = ggfmt.compare(url, url, table="keyless")
        assert found.equal == 3 and found.same
    finally:
        database.run("delete from keyless where v = 9")


@pytest.mark.parametrize("place", ["PGPASSWORD", "PGPASSFILE", "~/.pgpass", "PGSERVICE", "the URL"])
def test_passwords(
    database: Server, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    locked, rows = url.replace(f"//{database.user}@", "//locked@"), tmp_path / "rows.csv"
    rows.write_text("v\n1\n1\n2\n", encoding="utf-8")
    code, text = called(locked, str(rows), "--table", "keyless")
    assert (code, "no password supplied" in text, "PGPASSWORD" in text) == (3, True, True)
    shown = []
    for password in ("WRONG", "s3cr/et"):
        given = locked
        if place == "PGPASSWORD":
            monkeypatch.setenv(place, password)
        elif place == "PGSERVICE":
            (tmp_path / "services").write_text(f"[here]\npassword={password}\n", encoding="utf-8")
            monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
            monkeypatch.setenv(place, "here")
        elif place == "the URL":
            given = f"{locked}?password={password.replace('/', '%2F')}"
        else:
            file = tmp_path / ("passwords" if place == "PGPASSFILE" else ".pgpass")
            file.write_text(f"127.0.0.1:*:*:locked:{password}\n", encoding="utf-8")
            file.chmod(0o600)
            if place == "PGPASSFILE":
                monkeypatch.setenv(place, str(file))
        for style in ("text", "json"):
            shown.append(called(str(rows), given, "--table", "keyless", "--output-format", style))
    assert [code for code, _ in shown] == [3, 3, 0, 0], shown
    assert "password authentication failed" in shown[0][1]
    told = f"{shown}{caplog.text}"
    assert not any(secret in told for secret in ("WRONG", "s3cr", "%2Fet"))


# What fails


def called(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["compare", *arguments])
    error = ended.exception
    if isinstance(error, ggfmt.GgfmtError):
        assert error.__cause__ is None
        return error.exit_code, str(error)
    return ended.exit_code, ended.output


SECRET = "s3cr%2Fet"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("reader:{}@", "/absent", "host 127.0.0.1, port {port}, database absent.*does not exist"),
        ("absent:{}@", "/postgres", "role .*check the user"),
        ("reader:{}@", "/postgres?nonsense=1", "does not accept the URL"),
        ("reader@", "/postgres?nonsense=1&password={}", "does not accept the URL"),
        ("reader:{}%zz@", "/postgres", "GG580.*must be escaped"),
        ("reader:x@{}@", "/postgres", "GG580.*must be escaped"),
        ("reader:x/{}@", "/postgres", "GG580.*must be escaped"),
    ],
)
def test_no_message_has_a_password(database: Server, url: str, start: str, end: str, expected: str) -> None:
    given = f"postgresql://{start}127.0.0.1:{database.port}{end}".replace("{}", SECRET)
    for arguments in ((given, url), (url, given), (given, url, "--output-format", "json")):
        code, text = called(*arguments)
        assert code in (2, 3)
        assert re.search(expected.replace("{port}", database.port), text), text
        assert "s3cr" not in text and "%2Fet" not in text


def test_a_password_in_a_url_is_masked_in_results(database: Server, url: str) -> None:
    secret = url.replace("@", ":s3cret@")
    for style in ("text", "json", "github"):
        code, text = called(secret, url, "--table", "keyless", "--key", "v", "--output-format", style)
        assert (code, "s3cret" in text) == (0, False)
    assert json.loads(called(secret, url, "--output-format", "json")[1])["a"].startswith("postgresql://127.0.0.1:")


@pytest.mark.parametrize("end", ["?Zk7@127.0.0.1/shop", "Zk7?x@127.0.0.1/shop", "Zk7?password=x@127.0.0.1/shop"])
def test_a_password_with_a_question_mark_is_no_host(end: str, tmp_path: Path) -> None:
    code, text = called(f"postgresql://reader:{end}", str(tmp_path))
    assert (code, "GG580" in text, "Zk7" in text) == (2, True, False), text


def test_a_domain_of_a_domain_has_its_type(database: Server, url: str, tmp_path: Path) -> None:
    database.run("create domain amount as numeric; create domain cents as amount")
    database.run("create table domains (id int primary key, v cents); insert into domains values (1, 5.00)")
    (tmp_path / "domains.csv").write_text("id,v\n1,5\n", encoding="utf-8")
    assert compared(tmp_path / "domains.csv", url, table="domains").same
    database.run("drop table domains; drop domain cents; drop domain amount")


def test_numbers_have_all_their_digits_whatever_the_user_prefers(database: Server, url: str, tmp_path: Path) -> None:
    database.run("create table exact (id int primary key, g double precision[]); grant select on exact to reader")
    database.run("insert into exact values (1, '{0.30000000000000004}'); alter role reader set extra_float_digits = -3")
    (tmp_path / "exact.csv").write_text('id,g\n1,"{0.30000000000000004}"\n', encoding="utf-8")
    found = compared(tmp_path / "exact.csv", url.replace(f"{database.user}@", "reader@"), table="exact")
    database.run("drop table exact; alter role reader reset extra_float_digits")
    assert found.same


def test_a_database_that_does_not_respond_or_refuses(database: Server, url: str) -> None:
    code, text = called("postgresql://127.0.0.1:1/shop", url)
    assert (code, "host 127.0.0.1, port 1, database shop" in text, "GG588" in text) == (3, True, True)
    code, text = called("postgresql://nohost.invalid/shop", url)
    assert (code, "check the name of the host" in text) == (3, True)
    reader = url.replace(f"{database.user}@", "reader@")
    code, text = called(reader, url, "--table", "keyless")
    assert (code, "permission denied" in text, "table public.keyless" in text) == (3, True, True)
    code, text = called(reader, url, "--table", "hidden")
    assert (code, "row-level security" in text) == (3, True), "a policy hides rows"
