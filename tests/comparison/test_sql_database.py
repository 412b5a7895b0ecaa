"""Tables of a real MariaDB and of SQLite, read by SQLAlchemy, are compared with files: types, one state, passwords."""

from __future__ import annotations

import gc
import json
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import mariadb
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from mariadb import Server
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app
from ggfmt.comparison.comparison import TableComparison
from ggfmt.comparison.sql_database import SqlDatabase

SECRET = "Zk7 @:/"
# A column of each type: its type, a value in SQL, the texts of change files that mean the value, and one of another.
TYPES: dict[str, tuple[str, str, list[str], str]] = {
    "c_flag": ("tinyint(1)", "1", ["1", "1.0"], "0"),
    "c_true": ("tinyint(1)", "1", ["true", "t"], "false"),
    "c_tiny": ("tinyint(1)", "5", ["5"], "true"),
    "c_small": ("tinyint", "1", ["1"], "true"),
    "c_long": ("bigint unsigned", "18446744073709551615", ["18446744073709551615"], "-1"),
    "c_decimal": ("decimal(38,10)", "-12.5", ["-12.5", "-12.5000000000"], "-12.5000000001"),
    "c_float": ("float", "1/3", ["0.33333334", "0.3333333432674408"], "0.333333"),
    "c_double": ("double", "1/3e0", ["0.3333333333333333"], "0.333333333333"),
    "c_date": ("date", "'2026-01-31'", ["2026-01-31"], "2026-02-01"),
    "c_local": ("datetime(6)", "'2026-01-01 00:00:02.5'", ["2026-01-01T00:00:02.500"], "2026-01-01T00:00:02.501"),
    "c_instant": ("timestamp", "from_unixtime(1767225600)", ["2026-01-01T00:00:00Z", "2026-01-01 02:00:00+02"],
                  "2026-01-01T00:00:01Z"),
    "c_zero": ("date", "'0000-00-00'", ["0000-00-00"], "0000-00-01"),
    "c_no_day": ("datetime(3)", "'2026-02-00 10:00:00'", ["2026-02-00 10:00:00.000", "2026-02-00T10:00Z"],
                 "2026-02-00"),
    "c_none": ("timestamp(6)", "0", ["0000-00-00 00:00:00.000000", "0000-00-00", "0000-00-00T00:00:00"],
               "0000-00-00 00:00:01"),
    "c_far": ("time(3)", "'-838:59:59'", ["-838:59:59.000", "-838:59:59", "-PT838H59M59S"], "838:59:59"),
    "c_long_time": ("time", "'24:00:00'", ["24:00:00.000000"], "00:00:00"),
    "c_time": ("time(3)", "'10:00:00.5'", ["10:00:00.500", "10:00:00.500000"], "10:00:00"),
    "c_year": ("year", "2026", ["2026"], "2027"),
    "c_char": ("char(5)", "'x'", ["x"], "X"),
    "c_text": ("longtext", "'1.0 é😀'", ["1.0 é😀"], "1 é😀"),
    "c_bytes": ("varbinary(9)", "x'6869ff'", ["aGn/", r"\x6869ff"], r"\x6869fe"),
    "c_fixed": ("binary(3)", "'hi'", ["aGkA", r"\x686900"], r"\x6869"),
    "c_blob": ("longblob", "''", [""], r"\x00"),
    "c_bit": ("bit(1)", "b'1'", ["true", "1"], "0"),
    "c_bits": ("bit(10)", "b'0000000101'", ["0000000101", "5", "5.0", "b'0000000101'"], "101"),
    "c_enum": ("enum('a', 'b')", "'b'", ["b"], "a"),
    "c_set": ("set('a', 'b')", "'a,b'", ["a,b", "b,a", '["b", "a"]'], "a"),
    "c_json": ("json", """'{"a": 1, "b": [true]}'""", ['{"b":[true],"a":1.0}'], '{"a":"1","b":[true]}'),
    "c_uuid": ("uuid", "'c81e728d-9d4c-2f63-6f06-7f89cc14862c'", ["C81E728D-9D4C-2F63-6F06-7F89CC14862C"],
               "c81e728d-9d4c-2f63-6f06-7f89cc14862d"),
    "c_inet": ("inet4", "'10.0.0.1'", ["10.0.0.1"], "10.0.0.2"),
    "c_null": ("int", "null", [], "0"),
}  # fmt: skip
SCHEMA = f"""
create database shop character set utf8mb4; create database other;
use shop;
set time_zone = '+05:00', sql_mode = 'ANSI_QUOTES,ALLOW_INVALID_DATES';
create table types (id int primary key, {", ".join(f"{name} {type} null" for name, (type, *_) in TYPES.items())});
insert into types values (1, {", ".join(value for _, value, *_ in TYPES.values())});
create table "Order%Lines" (id int, "a b" text, primary key (id));
insert into "Order%Lines" values (1, 'x'), (2, null);
create table other.orders (id int primary key);
create user 'me'@'localhost' identified by '{SECRET}';
grant select on shop.* to 'me'@'localhost'; grant select on other.* to 'me'@'localhost';
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    if not mariadb.programs():
        pytest.skip("no MariaDB that can be started")
    with mariadb.server() as running:
        running.run(SCHEMA)
        yield running


@pytest.fixture
def url(database: Server) -> str:
    return f"mariadb://me:Zk7%20%40%3A%2F@127.0.0.1:{database.port}/shop"


def json_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def compared(a: object, b: object, **options: Any) -> TableComparison:
    (table,) = ggfmt.compare(str(a), str(b), **options).tables
    return table


def test_types(url: str, tmp_path: Path) -> None:
    for number in range(max(len(texts) for _, _, texts, _ in TYPES.values())):
        row = {name: texts[min(number, len(texts) - 1)] if texts else None for name, (_, _, texts, _) in TYPES.items()}
        found = compared(json_rows(tmp_path / "types.json", {"id": 1, **row}), url, table="types")
        assert (found.key, found.equal, found.by_column) == (("id",), 1, {})
    row = {name: wrong for name, (_, _, _, wrong) in TYPES.items()}
    found = compared(json_rows(tmp_path / "types.json", {"id": 1, **row}), url, table="types")
    assert set(found.by_column) == set(TYPES)


def test_files_with_types(url: str, tmp_path: Path) -> None:
    moment = datetime(2026, 1, 1, 0, 0, 0)
    columns = {
        "id": pa.array([1]),
        "c_true": pa.array([True]),
        "c_tiny": pa.array([5], pa.int8()),
        "c_long": pa.array([2**64 - 1], pa.uint64()),
        "c_decimal": pa.array([Decimal("-12.50")], pa.decimal128(38, 2)),
        "c_float": pa.array([1 / 3], pa.float32()),
        "c_date": pa.array([moment.date()], pa.date32()),
        "c_instant": pa.array([moment], pa.timestamp("ms", "Asia/Tokyo")),
        "c_local": pa.array([moment.replace(second=2, microsecond=500_000)], pa.timestamp("ns")),
        "c_time": pa.array([36_000_500], pa.time32("ms")),
        "c_far": pa.array([-3_020_399_000], pa.duration("ms")),
        "c_zero": pa.array([None], pa.date32()),
        "c_year": pa.array([2026]),
        "c_bytes": pa.array([b"hi\xff"]),
        "c_bit": pa.array([True]),
        "c_bits": pa.array([5]),
        "c_null": pa.array([None], pa.int32()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "types.parquet")
    ignored = TYPES.keys() - columns.keys()
    found = compared(tmp_path / "types.parquet", url, table="types", ignore_columns=[*ignored])
    assert (found.equal, found.by_column) == (0, {"c_date": 1, "c_zero": 1})


def test_keys_with_times(url: str, database: Server, tmp_path: Path) -> None:
    """Keys are paired by value, although the sides have other types."""
    database.run(
        "use shop; create table moments (d date, t time, primary key (d, t));"
        "insert into moments values ('2026-01-31', '10:00:00'), ('2026-01-31', '11:00:00')"
    )
    day, clock = pa.array([date(2026, 1, 31)] * 2), pa.array([36_000, 39_600], pa.time32("s"))
    parquet.write_table(pa.table({"d": day, "t": clock}), tmp_path / "moments.parquet")
    found = compared(tmp_path / "moments.parquet", url, table="moments")
    assert (found.key, found.equal, found.same) == (("d", "t"), 2, True)
    database.run("drop table shop.moments")


def test_values_that_no_type_has(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/odd.db"
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection:
        connection.executescript("create table odd (id integer primary key, d date); insert into odd values (1, 'x');")
    rows = json_rows(tmp_path / "odd.json", {"id": 1, "d": None})
    for a, b in ((rows, url), (url, rows), (url, url)):
        found = compared(a, b, table="odd")
        assert (found.key, found.equal, [*found.unread], found.same) == (("id",), 1, ["d"], False)
    assert compared(rows, url, table="odd", ignore_columns="d").same


def test_names(url: str, tmp_path: Path) -> None:
    rows = json_rows(tmp_path / "ORDER%LINES.json", {"ID": 1, "A B": "x"}, {"ID": 2})
    assert compared(rows, url, table="Order%Lines").same
    orders = json_rows(tmp_path / "orders.json", {"id": 1})
    assert compared(orders, url.removesuffix("/shop")).missing == 1, "of the only schema with a match"
    assert ggfmt.compare(url, url).same


def test_all_tables_are_read_as_they_were_at_one_time(url: str, database: Server) -> None:
    side = SqlDatabase(url.removesuffix("/shop"))
    table = side.tables["other.orders"]
    assert side.tables["other.orders"].key == ("id",)
    database.run("insert into other.orders values (5)")
    assert list(table.batches(["id"])) == []
    side.close()
    database.run("delete from other.orders")


def test_a_connection_that_is_lost(
    url: str, database: Server, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    database.run("use shop; create table large select seq as id, repeat('x', 200) as v from seq_1_to_100000")
    side = SqlDatabase(url)
    batches = side.tables["shop.large"].batches(["id", "v"])
    assert len(next(batches)) < 100_000, "not all rows at once"
    process = database.run("select max(id) from information_schema.processlist where user = 'me'")
    database.run(f"kill {process}")
    with pytest.raises(ggfmt.Abend, match=r"GG588.*Lost connection"):
        list(batches)
    side.close()
    gc.collect()
    assert (capfd.readouterr().err, recwarn.list) == ("", [])


def test_passwords(url: str, database: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = json_rows(tmp_path / "Order%Lines.json", {"id": 1, "a b": "x"}, {"id": 2})
    plain = f"mariadb+pymysql://me@127.0.0.1:{database.port}/shop"
    code, text = called(rows, plain.replace("//me", "//me:Zk7x"))
    assert (code, "GG588" in text, "Access denied" in text, "my.cnf" in text) == (3, True, True, True)
    assert "Zk7" not in text
    (tmp_path / ".my.cnf").write_text(f"[client]\nuser = me\npassword = '{SECRET}'\nsocket = /nowhere\n")
    assert compared(rows, plain, table="Order%Lines").same
    assert compared(rows, plain.replace("me@", ""), table="Order%Lines").same
    (tmp_path / ".my.cnf").unlink()
    for variable in ("MYSQL_PWD", "GGFMT_DATABASE_PASSWORD"):
        monkeypatch.setenv(variable, SECRET)
        assert compared(rows, plain, table="Order%Lines").same
        monkeypatch.setenv(variable, "ZK")
        code, text = called(rows, plain, "--output-format", "json")
        assert (code, "Access denied" in text, "ZK" in text) == (3, True, False)
    options = tmp_path / "options"
    options.write_text(f"[client]\npassword = '{SECRET}'\n")
    monkeypatch.delenv("GGFMT_DATABASE_PASSWORD")
    assert compared(rows, f"{plain}?read_default_file={options}", table="Order%Lines").same
    for given in (url, f"{plain}?password=Zk7%20%40%3A%2F"):
        code, text = called(rows, given, "--table", "Order%Lines", "--output-format", "json")
        assert (code, "Zk7" in text) == (0, False)


def called(*arguments: object) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["--log-level", "trace", "compare", *map(str, arguments)])
    text = f"{ended.output}{ended.exception!r}{ended.exception}"
    return getattr(ended.exception, "exit_code", ended.exit_code), text


@pytest.mark.parametrize("scheme", ["mysql+pymysql", "mariadb"])
def test_a_server_that_is_not_there(tmp_path: Path, scheme: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code, text = called(json_rows(tmp_path / "T.json", {"id": 1}), f"{scheme}://me:Zk7%20x@127.0.0.1:{port}/shop")
    assert (code, "Zk7" in text) == (3, False)
    for part in ("GG588", "host 127.0.0.1", f"port {port}", "database shop", "check host"):
        assert part in text


@pytest.mark.parametrize(
    "url", ["mysql://u:Zk7/x@h/d", "mysql://u:Zk7?x@h/d", "mysql://u:Zk7#x@h/d", "mysql://u:p@h:Zk7/d"]
)
def test_a_url_that_cannot_be_read_is_not_shown(tmp_path: Path, url: str) -> None:
    code, text = called(json_rows(tmp_path / "T.json", {"id": 1}), url)
    assert (code, "GG580" in text, "Zk7" in text) == (2, True, False), text


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("mariadb://h/d", "sqlalchemy", "sqlalchemy"),
        ("mariadb://h/d", "pymysql", "mysql"),
        ("oracle://h/d", "oracledb", "oracle"),
        ("nothing+such://h/d", None, None),
    ],
)
def test_a_driver_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, module: str | None, extra: str | None
) -> None:
    if module is not None:
        monkeypatch.setitem(sys.modules, module, None)
    code, text = called(json_rows(tmp_path / "T.json", {"id": 1}), url)
    assert (code, "GG589" in text) == (2, True), text
    assert extra is None or f"pip install 'ggfmt[{extra}]'" in text


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "shop of@me.db"
    url = f"sqlite:///{tmp_path}/shop%20of@me.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "create table orders (id integer primary key, price numeric(10,2), at datetime, paid boolean, raw blob,"
            " name varchar(10), ratio double);"
            "insert into orders values (1, 1.5, '2026-01-01 00:00:00', 1, x'6869', 'é', 0.1);"
            "insert into orders values (2, null, null, 0, x'', '', 1e300);"
        )
    row = {
        "ID": 1,
        "PRICE": "1.50",
        "AT": "2026-01-01T00:00:00Z",
        "PAID": True,
        "RAW": "aGk=",
        "NAME": "é",
        "RATIO": 0.1,
    }
    rows = [row, {"ID": 2, "PAID": "f", "RAW": "\\x", "NAME": "", "RATIO": "1E300"}]
    found = compared(json_rows(tmp_path / "orders.json", *rows), url)
    assert (found.key, found.equal, found.same) == (("ID",), 2, True)
    rows[0].update({"NAME": "e", "RAW": "aGo=", "AT": "2026-01-01T00:00:01Z", "PAID": None})
    found = compared(json_rows(tmp_path / "orders.json", *rows), url)
    assert found.by_column == {"NAME": 1, "RAW": 1, "AT": 1, "PAID": 1}
    with pytest.raises(ggfmt.UsageError, match="GG310"):
        ggfmt.compare(tmp_path / "orders.json", f"sqlite:///{tmp_path}/gone.db")
    assert not (tmp_path / "gone.db").exists()
