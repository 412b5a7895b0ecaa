"""`ggfmt apply` into columns of all types of PostgreSQL: a value is stored as it was given, or refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from contract.debezium import event, field, wrapped
from lake_tables import add_changes, change
from postgres import Server, server_or_skip

import ggfmt
from ggfmt.model.sql import POSTGRESQL, sql
from ggfmt.rows.targets.database_state import ApplyOptions
from ggfmt.rows.targets.postgresql_state import ApplyConnection
from ggfmt.rows.targets.postgresql_types import TableColumn, read_types

Case = tuple[str, str | None]  # a text, and what the server shows of the value; None: the text is refused


def same(*texts: str) -> list[Case]:
    return [(text, text) for text in texts]


def refused(*texts: str) -> list[Case]:
    return [(text, None) for text in texts]


DAY, CLOCK, MICROS = "2020-01-02", "03:04:05", "03:04:05.123456"
ANY_INT = refused("1.5", "", "1e2")
CASES: Mapping[str, Sequence[Case]] = {
    "smallint": [*same("-32768", "32767"), *refused("32768"), *ANY_INT, ("007", "7")],
    "integer": [*same("-2147483648", "2147483647"), *refused("2147483648"), *ANY_INT],
    "bigint": [*same("-9223372036854775808"), *refused("9223372036854775808"), *ANY_INT],
    "real": [*same("0.1", "3.4028235e+38", "NaN", "Infinity"), *refused("0.1234567891", "16777217", "1e-300", "1e39")],
    "double precision": [
        *same("0.30000000000000004", "5e-324", "-Infinity"),
        ("0.10", "0.1"),
        *refused("9007199254740993", "0.1000000000000000055511151231257827", "1e-400"),
    ],
    "numeric": [*same("12345678901234567890.1230", "NaN", "Infinity"), ("1e3", "1000"), *refused("one")],
    "numeric(5,2)": [*same("999.99", "NaN"), ("1.5", "1.50"), *refused("1.005", "1000")],
    "money": [("12.50", "$12.50"), ("-92233720368547758.08", "-$92,233,720,368,547,758.08"), *refused("1.005", "1e30")],
    "oid": [*same("0", "4294967295"), *refused("-1", "4294967296")],
    "xid": [*same("3", "4294967295"), *refused("-1", "4294967296", "010", "abc")],
    "cid": [*same("3", "4294967295"), *refused("-1", "4294967296", "010", "abc")],
    "xid8": [*same("3", "18446744073709551615"), *refused("-1", "18446744073709551616", "010")],
    "boolean": [*same("t"), ("true", "t"), ("0", "f"), *refused("2", "")],
    "text": same("ä' \\", "", " a  ", "1.50"),
    "character varying": same("ä", "", " a  "),
    "character varying(3)": [*same("äöü", "", "a  "), *refused("abcd", "abc ")],
    "character": [*same("a"), *refused("ab")],
    "character(5)": [*same("abcde"), ("ab", "ab   "), *refused("abcdef")],
    "bpchar": same("a", "ab   ", ""),
    "name": [*same("a" * 63, "ä" * 31), *refused("a" * 64, "ä" * 32)],
    '"char"': [*same("a", ""), *refused("ab", "ä")],
    "bytea": [*same("\\x", "\\x00ff"), ("\\xAB", "\\xab"), *refused("abc", "\\x0", "")],
    "date": [
        *same(DAY, "5874897-12-31", "0044-03-15 BC", "infinity"),
        (f"{DAY}T00:00:00Z", DAY),
        ("20200102", DAY),
        *refused(
            f"{DAY} 12:00:00", f"{DAY} 24:00:00", f"{DAY}T00:00:00+02", "01/02/2020", "today", "epoch", "-0044-03-15"
        ),
    ],
    "timestamp without time zone": [
        *same(f"{DAY} {MICROS}", "294276-12-31 23:59:59.999999", "4713-11-24 00:00:00 BC", "-infinity"),
        (f"{DAY}T{MICROS}000Z", f"{DAY} {MICROS}"),
        (f"{DAY} 03:04:05.500000", f"{DAY} 03:04:05.5"),
        (f"{DAY} 03:04:05.000000", f"{DAY} {CLOCK}"),
        (f"{DAY}:{CLOCK}", f"{DAY} {CLOCK}"),
        *refused(f"{DAY} {MICROS}7", f"{DAY} {CLOCK}+02", "now", "2016-12-31 23:59:60", "02-JAN-20 03:04:05"),
    ],
    "timestamp(0) without time zone": [*same(f"{DAY} {CLOCK}"), *refused(f"{DAY} {CLOCK}.5", f"{DAY} {MICROS}")],
    "timestamp(3) without time zone": [*same(f"{DAY} {CLOCK}.125"), *refused(f"{DAY} {MICROS}")],
    "timestamp with time zone": [
        *same(f"{DAY} {MICROS}+00", "infinity", "294276-12-31 23:59:59.999999+00"),
        (f"{DAY} {CLOCK}.500000", f"{DAY} {CLOCK}.5+00"),
        (f"{DAY}T{CLOCK}.5+02:00", f"{DAY} 01:04:05.5+00"),
        *refused(f"{DAY}T{MICROS}7Z", "tomorrow", f"{DAY} {CLOCK} IST"),
    ],
    "timestamp(0) with time zone": [(f"{DAY}T{CLOCK}Z", f"{DAY} {CLOCK}+00"), *refused(f"{DAY}T{CLOCK}.5Z")],
    "time without time zone": [
        *same(MICROS, "24:00:00"),
        ("03:04", "03:04:00"),
        (f"{CLOCK}.500Z", f"{CLOCK}.5"),
        *refused(f"{MICROS}7", f"{CLOCK}+02", "12:00:60", f"{DAY} {CLOCK}", "now", "allballs"),
    ],
    "time(0) without time zone": [*same(CLOCK), *refused(f"{CLOCK}.5", MICROS)],
    "time with time zone": [
        *same(f"{MICROS}+02", "24:00:00+15:59:59"),
        (f"{CLOCK}Z", f"{CLOCK}+00"),
        *refused(f"{MICROS}7Z", f"{DAY} {CLOCK}+02", "now"),
    ],
    "time(0) with time zone": [*same(f"{CLOCK}+00"), *refused(f"{CLOCK}.5+00")],
    "interval": [
        *same("P1Y2M3DT4H5M6.7S", "P-1Y-2M3DT-4H", "P178956970Y7M", "PT-0.000001S"),
        ("1 day 02:00:00.500000", "P1DT2H0.5S"),
        ("-12:34:56.789000", "PT-12H-34M-56.789S"),
        ("+02 11:30:10.5", "P2DT11H30M10.5S"),
        ("-1-2", "P-1Y-2M"),
        ("1 week 1.5 secs", "P7DT1.5S"),
        ("@ 2 days 3 hours ago", "P-2DT-3H"),
        *refused("1.1234567 s", "1.5 months", "0.5 days", "P1.5Y", "PT0.0000001S", "-02 11:30:10", "1.5 ms", "soon"),
    ],
    "interval(0)": [*same("PT1S"), *refused("PT1.5S", "PT0.1S")],
    "interval day": [*same("P1D"), *refused("P1DT2H", "PT1S")],
    "interval year to month": [*same("P1Y2M"), *refused("P1Y2M1D")],
    "uuid": [
        *same("a0000000-0000-0000-0000-00000000000b"),
        ("A" * 32, "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"),
        *refused("a"),
    ],
    "json": [*same('{"a": 1.50,  "a":2}', '"\\u0000"', "1e2"), *refused("{", "")],
    "jsonb": [
        *same('{"a": 1.50, "b:c": [":", {"a": null}]}', "12345678901234567890.10", '"a\\":"'),
        ('{"b":1,"a":[1,{"c":2}]}', '{"a": [1, {"c": 2}], "b": 1}'),
        ("1e2", "100"),
        *refused('{"a": 1, "a": 2}', '[{"a":{"b":1,"b":1}}]', '"\\u0000"', "{"),
    ],
    "jsonpath": [*same('$."a"[*]'), *refused("$.a[*]", "$$")],
    "xml": [*same("<a> b </a>"), ('<?xml version="1.0" encoding="UTF-8"?><a/>', "<a/>"), *refused("<a>")],
    "point": [
        *same("(0.1,-1e-300)", "(NaN,Infinity)"),
        (" 1.50 , 2 ", "(1.5,2)"),
        ('{"x": 1.5, "y": -2.0, "wkb": "AQEAAAA=", "srid": null}', "(1.5,-2)"),
        *refused("(0.1234567890123456789,1)", '{"wkb": "AQEAAAA=", "srid": 4326}', "(1e400,0)", "(1,2,3)"),
    ],
    "line": [*same("{1,-1,0.5}"), *refused("(0,0),(1,1)", "{0.1234567890123456789,1,1}")],
    "lseg": [*same("[(1,2),(3,4)]"), ("1,2,3,4", "[(1,2),(3,4)]"), *refused("[(9007199254740993,2),(3,4)]")],
    "box": [*same("(3,4),(1,2)"), ("(1,4),(3,2)", "(3,4),(1,2)"), *refused("(9007199254740993,2),(3,4)")],
    "path": [*same("[(1,2),(3,4)]", "((1,2),(3,4))"), *refused("[(1,2),(3,0.1234567890123456789)]")],
    "polygon": [*same("((1,2),(3,4),(5,0))"), *refused("((1,2),(3,4),(5,0.1234567890123456789))")],
    "circle": [*same("<(1,2),3>"), ("((1,2),3.0)", "<(1,2),3>"), *refused("<(1,2),0.1234567890123456789>")],
    "inet": [*same("10.0.0.1", "10.0.0.1/8"), ("10.0.0.1/32", "10.0.0.1"), ("::0001", "::1"), *refused("10.0.0.256")],
    "cidr": [*same("10.0.0.0/8"), ("10", "10.0.0.0/8"), *refused("10.0.0.1/8")],
    "macaddr": [*same("08:00:2b:01:02:03"), ("08002B-010203", "08:00:2b:01:02:03"), *refused("08:00:2b:01:02")],
    "macaddr8": [*same("08:00:2b:ff:fe:01:02:03"), *refused("08:00:2b:01:02:03")],
    '"bit"': [*same("1", "1010101"), *refused("2")],
    "bit(1)": [*same("1"), *refused("10", "")],
    "bit(3)": [*same("101"), *refused("10", "1010", "102")],
    "bit varying": [*same("", "1010101"), ("xF", "1111"), *refused("2")],
    "bit varying(3)": [*same("10"), *refused("1010")],
    "tsvector": [*same("'a':1 'b':2B"), *refused("b a", "'b' 'a'")],
    "tsquery": [*same("'a' & 'b'"), *refused("a & b", "a &")],
    "pg_lsn": [*same("0/16B3748", "FFFFFFFF/FFFFFFFF"), *refused("0/016B3748", "0")],
    "tid": [*same("(0,1)", "(4294967295,65535)"), *refused("(0,65536)")],
    "int2vector": [*same("1 2 3", ""), *refused("1  2", "40000")],
    "oidvector": [*same("1 4294967295"), *refused("1 -1")],
    "pg_snapshot": [*same("10:20:10,14"), *refused("10:20:10,10,14", "20:10:")],
    "txid_snapshot": [*same("10:20:10,14"), *refused("10:20:10,10,14", "20:10:")],
    "refcursor": same("a cursor", ""),
    "regclass": [*same("pg_class"), *refused("1259", "pg_catalog.pg_class", "absent")],
    "regtype": [*same("integer"), *refused("int4", "absent")],
    "regproc": [*same("now"), *refused("pg_catalog.now", "absent")],
    "regprocedure": [*same("now()"), *refused("pg_catalog.now()", "now")],
    "regoper": refused("+", "absent"),
    "regoperator": [*same("+(integer,integer)"), *refused("+(int4,int4)")],
    "regnamespace": [*same("pg_catalog"), *refused("11", "absent")],
    "regrole": refused("10", "absent"),
    "regcollation": [*same('"C"'), *refused("C", "950")],
    "regconfig": [*same("simple"), *refused("pg_catalog.simple")],
    "regdictionary": [*same("simple"), *refused("pg_catalog.simple")],
    "int4range": [
        *same("[1,6)", "(,)", "empty"),
        ("[1,5]", "[1,6)"),
        ("[5,5)", "empty"),
        *refused("[1.5,2)", "[1,2147483648)", "[2,1]"),
    ],
    "int8range": [*same("[1,9223372036854775807)"), ("(1,5]", "[2,6)"), *refused("[1.5,2)")],
    "numrange": [*same("[1.10,2.00000000000000000001]"), *refused("[1,a]")],
    "tsrange": [
        *same(f'["{DAY} 00:00:00","{DAY} {MICROS}")', "empty"),
        (f"[{DAY} {CLOCK}Z,infinity]", f'["{DAY} {CLOCK}",infinity]'),
        (f"(, {DAY}]", f'(,"{DAY} 00:00:00"]'),
        *refused(f"[{DAY} {MICROS}7,)", f"[{DAY} {CLOCK}+02,)", "[now,)"),
    ],
    "tstzrange": [
        *same(f'["{DAY} {MICROS}+00",)'),
        (f"[{DAY}T{CLOCK}+02:00,)", f'["{DAY} 01:04:05+00",)'),
        *refused(f"[{DAY} {MICROS}7Z,)", "[yesterday,)"),
    ],
    "daterange": [
        *same(f"[{DAY},2020-02-01)"),
        (f"[{DAY},2020-01-31]", f"[{DAY},2020-02-01)"),
        *refused(f"[{DAY} 12:00:00,)", f"[{DAY},{DAY} 00:00:01]", "[today,)"),
    ],
    "int4multirange": [*same("{[1,3),[5,7)}", "{}"), ("{[5,6],[1,3)}", "{[1,3),[5,7)}"), *refused("{[1.5,3)}")],
    "int8multirange": [*same("{[1,3),[5,7)}"), *refused("{[1.5,3)}")],
    "nummultirange": [*same("{[1.10,3.5],(5,7)}"), *refused("{[1,a]}")],
    "tsmultirange": [*same(f'{{["{DAY} 00:00:00","{DAY} {MICROS}")}}'), *refused(f"{{[{DAY},{DAY} {MICROS}7]}}")],
    "tstzmultirange": [*same(f'{{["{DAY} {MICROS}+00",)}}'), *refused(f"{{[{DAY} {MICROS}7Z,)}}")],
    "datemultirange": [*same(f"{{[{DAY},2020-02-01)}}"), *refused(f"{{[{DAY} 12:00:00,)}}")],
    # Types of users
    "gg.mood": [*same("happy"), *refused("glad", "")],
    "gg.short": [*same("abc"), *refused("abcd", "abc ")],
    "gg.cents": [*same("1.50"), *refused("1.005")],
    "gg.days": [(f'["{DAY}"]', f"{{{DAY}}}"), *refused(f'["{DAY} 12:00:00"]')],
    "gg.pair": [*same('(1,"a b")', "(,)"), *refused("(1,a b)", "(1.5,a)", "(1)")],
    "gg.floatrange": [*same("[0.1,0.25)"), ("[1.0,2]", "[1,2]"), *refused("[0.1234567890123456789,1)")],
    "gg.floatmultirange": [*same("{[0.1,0.25)}"), *refused("{[0.1234567890123456789,1)}")],
    "gg.textrange": [*same('[a,"b c")'), *refused("[b,a)")],
    "gg.timerange": [*same(f"[{CLOCK},{MICROS}]"), *refused(f"[{CLOCK},{MICROS}7]", f"[{CLOCK}+02,)")],
    "gg.realrange": [*same("[0.1,0.25)"), *refused("[0.1234567891,1)")],
    "gg.centrange": [*same("[1.00,1.50)"), *refused("[1.005,2)", "[1,2)")],
    "gg.oidrange": [*same("[1,2)"), *refused("[-1,)", "[01,2)")],
    "citext": same("Ab", ""),
    "hstore": [
        *same('"a"=>"1", "b"=>NULL', ""),
        ("a=>1", '"a"=>"1"'),
        ('{"a":"1", "b":null}', '"a"=>"1", "b"=>NULL'),
        (r'{"q\"=>":"\\ "}', r'"q\"=>"=>"\\ "'),
        ("{}", ""),
        *refused('"a"=>"1", "a"=>"2"', '{"a":"1","a":"1"}', "a"),
    ],
    # Arrays, besides those of all types
    "integer[]": [
        *same("{{1,2},{3,4}}", "[2:3]={1,2}", "{}"),
        ("[1, null]", "{1,NULL}"),
        ("[]", "{}"),
        *refused("[1.5]", "[[1],[2]]", "{1,2", "1"),
    ],
    "text[]": [('["a", "b,\\"c", null, "NULL", ""]', '{a,"b,\\"c",NULL,"NULL",""}'), *same('{[1],"{}"}')],
    "real[]": [("[0.1, 1e-3]", "{0.1,0.001}"), *refused("[0.1234567890123, 1]", "{0.1234567891}")],
    "timestamp(0) without time zone[]": [
        (f'["{DAY}T{CLOCK}"]', f'{{"{DAY} {CLOCK}"}}'),
        *refused(f'["{DAY}T{MICROS}"]'),
    ],
    "numeric(5,2)[]": [("{1.5,NULL}", "{1.50,NULL}"), *refused("[1.005]", "[1, 1.005]")],
    "interval(0)[]": [("[]", "{}"), *refused('["PT1.5S"]')],
    "character varying(3)[]": [*same("{abc}"), *refused('["abcd"]', "{abcd}")],
    "box[]": same("{(3,4),(1,2);(1,1),(0,0)}"),
    "gg.days[]": [(f'["{{{DAY}}}"]', f'{{"{{{DAY}}}"}}'), *refused(f'["{{{DAY} 12:00:00}}"]')],
    "gg.cents[]": [("[1.5]", "{1.50}"), *refused("[1.005]", "{1.005}")],
}
GENERIC = ("ggfmt", "1")  # texts for types without cases
USER_TYPES = (
    "create schema gg; create type gg.mood as enum ('sad', 'happy'); create domain gg.short as varchar(3);"
    "create domain gg.cents as numeric(5,2); create domain gg.days as date[]; create type gg.pair as (a int, b text);"
    "create type gg.floatrange as range (subtype = float8); create type gg.textrange as range (subtype = text);"
    "create type gg.timerange as range (subtype = time); create type gg.realrange as range (subtype = float4);"
    "create type gg.oidrange as range (subtype = oid); create type gg.centrange as range (subtype = gg.cents);"
)
EXTENSIONS = ("hstore", "citext")
ALL_TYPES = """
select pg_catalog.format_type(t.oid, -1) as name, coalesce(pg_catalog.format_type(element.oid, -1), '') as element,
  t.typtype,
  (select relnatts from pg_class where oid = t.typrelid) as columns
from pg_type t left join pg_type element on element.oid = t.typelem and element.typarray = t.oid
where t.typtype <> 'p' and coalesce(element.typtype, '') <> 'p'
"""
# A table is not made of rows of a table of the catalog that has a column without a type.
CREATE = """
do $$ begin create table gg.t{} (v {}); exception when invalid_table_definition then end $$
"""
TRIAL = """
create table gg.given (text text);
create function gg.trial(
  given text, write text, read text, out changed bool, out shown text, out again text, out reason text)
language plpgsql as $$
begin
  insert into gg.given values (given); execute write; execute read into changed, shown, again; raise 'undo';
exception when others then
  if sqlerrm <> 'undo' then reason := sqlerrm; end if;
end $$
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server_or_skip() as started:
        started.run(USER_TYPES + TRIAL)
        for name in EXTENSIONS:
            started.run(f"create extension if not exists {name}", strict=False)
        yield started


@pytest.fixture
def connection(running: Server) -> Iterator[ApplyConnection]:
    opened = ApplyConnection(running.url, ApplyOptions("types", dry_run=True))
    yield opened
    opened.close()


def cases_of(type: str, element: str, kind: str, columns: int) -> Sequence[Case] | None:
    """Return the cases of a type; None: nothing is known of it."""
    if type in CASES:
        return CASES[type]
    if element:
        items = cases_of(element, "", kind, 0)
        return [] if items is None else [(json.dumps([given]), back) for given, back in items]
    return same(f"({',' * (columns - 1)})") if kind == "c" else None


class TypeTrial:
    """Values on their way through a column of a type."""

    def __init__(self, connection: ApplyConnection, column: TableColumn, is_item: bool) -> None:
        self.connection, self.column = connection, column
        self.shown = sql("format('%s', t.v[1])" if is_item else "format('%s', t.v)")
        self.table = POSTGRESQL.identifier("gg", column.there.table)

    def stored(self, text: str) -> tuple[str, str] | None:
        """Return what the server shows of the value of a text, and its text for later runs; None: it is refused."""
        column, given = self.column, sql("s.text")
        insert = sql("insert into {} select {} from gg.given s", self.table, column.value(given))
        parts = sql("{}, {}, {}", column.is_changed(given), self.shown, column.text)
        select = sql("select {} from {} t, gg.given s", parts, self.table)
        trial = sql("select * from gg.trial({}, {}, {})", *map(POSTGRESQL.literal, (text, insert, select)))
        ((changed, shown, again, reason),) = self.connection.rows(trial)
        if reason is not None:
            message, _ = self.connection._described(RuntimeError(f"[libpq] ERROR:  {reason}"))
            assert len(message.partition(" reports: ")[2]) > 10, message
            assert len(text) < 6 or text not in message or column.stored_type.name.startswith("reg"), message
        self.reason = reason or changed
        return None if changed or reason else (shown, again)


def test_values_of_every_type_are_stored_as_they_are_or_refused(running: Server, connection: ApplyConnection) -> None:
    known = {
        str(row["name"]): (str(row["element"]), str(row["typtype"]), int(row["columns"] or 0))
        for row in running.copied(ALL_TYPES)
    }
    cases = {name: cases_of(name, *facts) for name, facts in known.items()}
    has = running.run("select extname from pg_extension").split()
    cases |= {name: found for name, found in CASES.items() if name not in EXTENSIONS or name in has}
    for number, name in enumerate(cases):
        connection.execute(sql(CREATE, number, sql(name)))
    types = read_types(connection)
    columns = {found.table: found for found in connection.catalog()}
    wrong: list[tuple[object, ...]] = []
    for number, (name, found) in enumerate(cases.items()):
        there = columns.get(f"t{number}")
        if there is None:
            continue
        column = TableColumn("V", pa.string(), there, types[there.type_oid])
        trial = TypeTrial(connection, column, name not in CASES and known[name][0] != "")
        for given, back in found if found is not None else refused(*GENERIC):
            first = trial.stored(given)
            shown = None if first is None else first[0]
            if shown != back and (found is not None or shown != given):
                wrong.append((name, given, back, first, trial.reason))
            elif first is not None and (again := trial.stored(first[1])) != first:
                wrong.append((name, "again", first, again, trial.reason))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(columns) > 500


def columns_of(server: Server) -> dict[str, tuple[str, list[Case]]]:
    """Return columns with their types, and the cases whose values are stored."""
    has = server.run("select extname from pg_extension").split()
    names = [name for name in CASES if name not in EXTENSIONS or name in has]
    stored = {name: [case for case in CASES[name] if case[1] is not None] for name in names}
    return {f"C{i}": each for i, each in enumerate(stored.items()) if each[1]}


def test_runs_store_values_of_all_types_and_write_them_again(running: Server, tmp_path: Path) -> None:
    columns = columns_of(running)
    rows = max(len(cases) for _, cases in columns.values())
    texts = {name: [cases[i % len(cases)] for i in range(rows)] for name, (_, cases) in columns.items()}
    definitions = ", ".join(f"{name} {type}" for name, (type, _) in columns.items())
    running.run(f"create table gg.everything (id int primary key, n text, {definitions})")
    given = [{name: cases[i][0] for name, cases in texts.items()} for i in range(rows)]
    lines = [change("I", i + 1, "gg.everything", after={"ID": i, "N": "a", **given[i]}) for i in range(rows)]
    settings: Any = {"key": "ID", "types": [f"*.{name}=string" for name in columns]}
    add_changes(tmp_path, "1", lines)
    ggfmt.apply(tmp_path / "changes", running.url, **settings)

    shown = ", ".join(f"format('%s', {name})" for name in columns)
    session = "set intervalstyle = iso_8601; set timezone = 'UTC'; copy (select"

    def check(label: str) -> None:
        query = f"{session} {shown} from gg.everything where n = '{label}' order by id) to stdout (format csv)"
        found = zip(*csv.reader(io.StringIO(running.run(query))), strict=True)
        for (type, _), cases, answer in zip(columns.values(), texts.values(), found, strict=True):
            assert [*answer] == [back for _, back in cases], type

    check("a")
    # Other columns are read from the database, and written back.
    add_changes(tmp_path, "2", [change("U", 100, "gg.everything", after={"ID": i, "N": "b"}) for i in range(rows)])
    ggfmt.apply(tmp_path / "changes", running.url, **settings)
    check("b")


TIMES, DATA = "io.debezium.time.", "io.debezium.data."
UUID = "a0000000-0000-0000-0000-000000000001"
MICROSECOND = 1577934245123456  # since 1970


def items(semantic: str | None, type: str = "int64") -> dict[str, Any]:
    return {"type": "array", "optional": True, "items": {"type": type, "name": semantic, "optional": True}}


def of_point(semantic: str) -> dict[str, Any]:
    inside = [field("x", "double"), field("y", "double"), field("wkb", "bytes"), field("srid", "int32")]
    return {"type": "struct", "optional": True, "name": f"{DATA}geometry.{semantic}", "fields": inside}


POINT = {"x": 1.5, "y": -0.1, "wkb": "AQEAAAA=", "srid": None}
# Fields of Connect, a value, a type, and what the server shows; None: the column is named.
TYPED: Sequence[tuple[dict[str, Any], Any, str, str | None]] = [
    (field("", "string", f"{TIMES}Interval"), "P1Y2M3DT4H5M6.78S", "interval", "P1Y2M3DT4H5M6.78S"),
    (field("", "string", f"{TIMES}Interval"), "P1Y2M3DT4H5M6.78S", "interval(1)", None),
    (field("", "int64", f"{TIMES}MicroDuration"), 97445123456, "interval", "PT27H4M5.123456S"),
    (field("", "int64", f"{TIMES}NanoDuration"), -1500, "interval", None),
    (items(f"{TIMES}MicroTimestamp"), [MICROSECOND, None], "timestamp[]", '{"2020-01-02 03:04:05.123456",NULL}'),
    (items(f"{TIMES}MicroTimestamp"), [MICROSECOND], "timestamp(0)[]", None),
    (items(f"{TIMES}MicroTimestamp"), [MICROSECOND], "date[]", None),
    (items(f"{TIMES}Date", "int32"), [18262], "date[]", "{2020-01-01}"),
    (items(f"{TIMES}MicroTime"), [11045123456], "time[]", "{03:04:05.123456}"),
    (
        items(f"{TIMES}ZonedTimestamp", "string"),
        ["2020-01-02T03:04:05Z"],
        "timestamptz[]",
        '{"2020-01-02 03:04:05+00"}',
    ),
    (items(f"{TIMES}Interval", "string"), ["PT0.5S"], "interval[]", "{PT0.5S}"),
    (items(f"{DATA}Uuid", "string"), [UUID], "uuid[]", f"{{{UUID}}}"),
    (items(None, "double"), [0.5, 1e-300], "float8[]", "{0.5,1e-300}"),
    (items(None, "double"), [0.1234567890123], "float4[]", None),
    (items(None, "double"), [0.5, 1e-300], "float4[]", None),
    (items(None), [20200101], "date[]", None),
    (of_point("Point"), POINT, "point", "(1.5,-0.1)"),
    (of_point("Geometry"), {**POINT, "x": None}, "point", None),
    (field("", "string", f"{DATA}Json"), '{"a": "1", "b": null}', "hstore", '"a"=>"1", "b"=>NULL'),
    (field("", "string", f"{DATA}Json"), '{"a": 1, "a": 2}', "jsonb", None),
    (field("", "string", f"{DATA}Xml"), "<a>ä</a>", "xml", "<a>ä</a>"),
    (field("", "string", f"{DATA}Xml"), "<a>", "xml", None),
    (field("", "string"), f'["{DAY} {MICROS}",)', "tsrange", f'["{DAY} {MICROS}",)'),
]


def apply_typed(running: Server, directory: Path, op: str, row: dict[str, Any], *fields: dict[str, Any]) -> None:
    columns = [field("id", "int32", optional=False), field("n", "string"), *fields]
    add_changes(directory, op, [wrapped(event(op, None, {"id": 1, **row}), *columns)])
    ggfmt.apply(directory / "changes", running.url, key="id")


def test_values_of_debezium_are_stored(running: Server, tmp_path: Path) -> None:
    has = running.run("select extname from pg_extension").split()
    known = [each for each in TYPED if each[3] is not None and (each[2] not in EXTENSIONS or each[2] in has)]
    columns = {f"v{i}": each for i, each in enumerate(known)}
    definitions = ", ".join(f"{name} {type}" for name, (_, _, type, _) in columns.items())
    running.run(f"drop table if exists t, ggfmt_state; create table t (id int primary key, n text, {definitions})")
    fields = [{**of, "field": name} for name, (of, *_) in columns.items()]
    values = {name: value for name, (_, value, *_) in columns.items()}
    for op, row in (("c", {"n": "a", **values}), ("u", {"n": "b"})):
        apply_typed(running, tmp_path, op, row, *fields)
        shown = ", ".join(f"format('%s', {name})" for name in ["n", *columns])
        query = f"set intervalstyle = iso_8601; set timezone = 'UTC'; copy (select {shown} from t) to stdout csv"
        assert next(csv.reader([running.run(query)])) == [row["n"], *(back for *_, back in columns.values())]


@pytest.mark.parametrize(("of", "value", "type"), [each[:3] for each in TYPED if each[3] is None])
def test_values_of_debezium_that_a_type_does_not_have_are_refused(
    running: Server, tmp_path: Path, of: dict[str, Any], value: Any, type: str
) -> None:
    running.run(f"drop table if exists t, ggfmt_state; create table t (id int primary key, n text, v {type})")
    with pytest.raises(ggfmt.GgfmtError, match=r"table public.t, column v: error.GG5(88|96)(?s:.*)`v`") as caught:
        apply_typed(running, tmp_path, "c", {"n": "a", "v": value}, {**of, "field": "v"})
    assert str(value) not in str(caught.value)


def test_texts_that_a_trigger_changes_and_types_without_a_rule_are_refused(running: Server, tmp_path: Path) -> None:
    running.run(
        "drop table if exists t, ggfmt_state; create table t (id int primary key, n text, v tsvector);"
        "create function gg.small() returns trigger language plpgsql as 'begin new.n = lower(new.n); return new; end';"
        "create trigger small before insert on t for each row execute function gg.small()"
    )
    fields = field("v", "string")
    with pytest.raises(ggfmt.GgfmtError, match=r"has changed 1 value of `n`; .*triggers"):
        apply_typed(running, tmp_path, "c", {"n": "A", "v": "'a'"}, fields)
    with pytest.raises(ggfmt.GgfmtError, match=r"the type `tsvector` of `v` .* as the server shows them"):
        apply_typed(running, tmp_path, "c", {"n": "a", "v": "b a"}, fields)
    apply_typed(running, tmp_path, "c", {"n": "a", "v": "'a' 'b'"}, fields)
    assert running.run("select n, v from t") == "a|'a' 'b'\n"


def test_the_column_of_a_key_is_named(running: Server, tmp_path: Path) -> None:
    running.run("drop table if exists t, ggfmt_state; create table t (k interval primary key, id int)")
    key = field("k", "string", optional=False)
    add_changes(tmp_path, "1", [wrapped(event("c", None, {"k": "a secret", "id": 1}), key, field("id", "int32"))])
    with pytest.raises(ggfmt.GgfmtError, match=r"table public.t, column k: error.GG588(?s:.*)type interval; .*`k`"):
        ggfmt.apply(tmp_path / "changes", running.url, key="k")
