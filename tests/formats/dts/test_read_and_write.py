"""DTS's Avro in both directions."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
from contract import Case
from contract.dts import (
    COLUMNS,
    KEYS,
    ROW,
    SCHEMAS,
    cases,
    datum,
    file,
    integer,
    moment,
    prefixed,
    record,
    story,
    text,
    time,
    value,
)
from contract.rules import damaged
from dialects import DATA, Read, discover, read, told, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, examples, make_batch, table_def

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import ENTRIES, FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import Formatter, RowErrors
from ggfmt.formats.dts.ddl import NoTable, is_truncate, truncated
from ggfmt.formats.dts.schema import BRANCHES, record_schema, version_of
from ggfmt.formats.dts.types import hint_of
from ggfmt.formats.mysql.charsets import decoder
from ggfmt.model.table import Column, Kind, SqlType, TableDef

OFFICIAL = DATA / "dts-avro"
needs_official = pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the published schema files are not there")


def official(born: bool = True) -> Any:
    """The published schema, each type where it is used first."""
    types = {}
    for path in OFFICIAL.glob("*.avsc"):
        types[path.name.split(".")[-2]] = json.loads(path.read_text("utf-8"))
    used: set[str] = set()

    def resolved(schema: Any) -> Any:
        if isinstance(schema, list):
            return [resolved(item) for item in schema]
        if isinstance(schema, str):
            name = schema.rpartition(".")[2]
            if name not in types or name in used:
                return schema
            used.add(name)
            return resolved(types[name])
        done = dict(schema)
        for member in ("items", "values", "type"):
            if member in done:
                done[member] = resolved(done[member])
        if "fields" in done:
            done["fields"] = [resolved(field) for field in done["fields"]]
        return done

    schema = resolved(types["Record"])
    if not born:
        schema["fields"] = [field for field in schema["fields"] if field["name"] != "bornTimestamp"]
    return schema


SHOWN = {"id": "1", "name": "a", "price": "10.50"}
TOKENS = {"source.sourceType": "MySQL", "id": "58", "sourceTxid": "7", "source.version": "8.0.28"}
AT = "2023-10-11 00:33:28.000000"


def rows(*values: Any, number: int = 253, source: str = "MySQL", column: str = "x") -> Read:
    """What is read of inserts with one column."""
    return read("dts_avro", file(*(record("INSERT", None, [item], {column: number}, source) for item in values)))


def shown(*values: Any, number: int = 253, source: str = "MySQL") -> list[str | None]:
    found = rows(*values, number=number, source=source)
    assert found.reasons == []
    return [item.after["x"] for item in found.plain if item.after is not None]


def operation(op: str, before: Any, after: Any, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, "72469@78", before, after, {**TOKENS, **tokens})


# The schema


def described(schema: Any) -> Any:
    """A schema less what it says in words, with names instead of what they stand for."""
    if isinstance(schema, list):
        return [described(item) for item in schema]
    if isinstance(schema, str):
        return schema.rpartition(".")[2]
    kept = {name: item for name, item in schema.items() if name not in ("doc", "namespace")}
    for member in ("type", "items", "values"):
        if member in kept:
            kept[member] = described(kept[member])
    if "fields" in kept:
        kept["fields"] = [described(field) for field in kept["fields"]]
    return kept


@needs_official
def test_the_schema_is_the_published_one_field_by_field() -> None:
    assert len(list(OFFICIAL.glob("*.avsc"))) == 14
    for born in (True, False):
        made = json.loads(json.dumps(record_schema(born)))
        assert described(made) == described(official(born))
        assert version_of(official(born)) is born
    canonical = fastavro.schema.to_parsing_canonical_form
    assert canonical(SCHEMAS[True]) == canonical(fastavro.parse_schema(official()))


@needs_official
def test_every_published_type_is_the_one_of_the_schema() -> None:
    made: dict[str, Any] = {}

    def collect(schema: Any) -> None:
        if isinstance(schema, list):
            for item in schema:
                collect(item)
        elif isinstance(schema, dict):
            if "name" in schema and schema.get("type") in ("record", "enum"):
                made[schema["name"]] = described(schema)
            for member in ("type", "items", "fields"):
                collect(schema.get(member))

    collect(json.loads(json.dumps(record_schema())))
    for path in OFFICIAL.glob("*.avsc"):
        found = described(json.loads(path.read_text("utf-8")))
        if found["name"] != "Record":
            assert made[found["name"]] == found
    assert set(made) == {*BRANCHES[1:], "Field", "Record", "Source", "SourceType", "Operation"}


@pytest.mark.parametrize("schema", [{}, [], "string", {"type": "record", "name": "Record", "fields": []}])
def test_another_schema_is_not_the_one_of_dts(schema: Any) -> None:
    try:
        assert version_of(schema) is None
    except KeyError:
        assert schema == {}


# Operations


@pytest.mark.parametrize("born", [True, False])
def test_both_versions_are_read(born: bool) -> None:
    data = [datum(record("INSERT", None, ROW), born), datum(record("DELETE", ROW, None), not born)]
    found = read("dts_avro", prefixed(*data))
    assert found.plain == [operation("I", None, SHOWN), operation("D", SHOWN, None)]
    (table,) = {table for table, _ in found.operations}
    assert table == TableDef(
        "shop.t",
        (
            Column("id", SqlType(Kind.INTEGER), key=1),
            Column("name"),
            Column("price", SqlType(Kind.DECIMAL)),
        ),
    )
    assert len(found.definitions) == 1


def test_null_missing_and_no_image_are_three_things() -> None:
    before = [None, "NULL", "NONE"]
    found = read(
        "dts_avro", file(record("UPDATE", before, ROW), record("UPDATE", None, ROW), record("UPDATE", [], ROW))
    )
    assert found.plain == [
        operation("U", {"id": None, "name": None}, SHOWN),
        operation("U", None, SHOWN),
        operation("U", None, SHOWN),
    ]


def test_rows_of_the_initial_load_are_marked_and_other_records_counted() -> None:
    kinds = ["BEGIN", "COMMIT", "ROLLBACK", "ABORT", "HEARTBEAT", "CHECKPOINT", "HEARTBEAT", "RDB", "NOOP", "CONTROL"]
    others = [record(kind, columns=None, objectName=None, tags={}) for kind in kinds]
    statement = record("DDL", None, "alter table t add x int", None, objectName="shop")
    found = read("dts_avro", file(*others, record("INIT", None, ROW), statement))
    assert found.plain == [operation("I", None, SHOWN, snapshot="true")]
    assert found.others == {
        "transaction begin": 1, "transaction commit": 1, "transaction rollback": 1, "abort": 1, "heartbeat": 2,
        "checkpoint": 1, "rdb": 1, "noop": 1, "control": 1, "ddl": 1,
    }  # fmt: skip


def test_tags_and_members_are_tokens() -> None:
    item = record(
        "INSERT", None, ROW, version=2, safeSourcePosition="s", bornTimestamp=9, processTimestamps=[1, -2],
        tags={**KEYS, "traceId": "t", "id": "x", "metaVersion": "", "snapshot": "last"},
    )  # fmt: skip
    assert read("dts_avro", file(item)).plain[0].tokens == {
        **TOKENS, "version": "2", "safeSourcePosition": "s", "bornTimestamp": "9", "processTimestamps": "[1,-2]",
        "traceId": "t", "tags.id": "x", "metaVersion": "", "snapshot": "last",
    }  # fmt: skip
    bare = record("INSERT", None, ROW, id=0, sourceTxid="")
    bare["source"] = {"sourceType": "Oracle", "version": ""}
    assert read("dts_avro", file(bare)).plain[0].tokens == {"source.sourceType": "Oracle"}


def test_without_time_or_position_there_is_none() -> None:
    (item,) = read("dts_avro", file(record("INSERT", None, ROW, sourceTimestamp=0, sourcePosition=""))).plain
    assert (item.op_ts, item.pos) == (None, None)


def test_keys_may_be_told_by_an_option() -> None:
    source = told("dts_avro", primaryKeys="t=name,id")
    table, _ = read("dts_avro", file(record("INSERT", None, ROW, tags={})), source).operations[0]
    assert table.primary_keys == ("name", "id")


def test_a_dot_in_a_name_stays_escaped() -> None:
    found = read("dts_avro", file(record("INSERT", None, ROW, objectName=r"shop.a\u002Eb.t")))
    assert found.operations[0][0].parts == ("shop", r"a\u002Eb", "t")


def test_another_list_of_columns_is_another_definition() -> None:
    wider = {**COLUMNS, "note": 252}
    data = file(record("INSERT", None, ROW), record("INSERT", None, [*ROW, None], wider), record("DELETE", ROW))
    found = read("dts_avro", data)
    assert [len(table.columns) for table, _ in found.operations] == [3, 4, 3]
    assert [event.offset for event in found.definitions] == [0, *_starts(data)[1:]]


def _starts(data: bytes) -> list[int]:
    starts, place = [], 0
    while place < len(data):
        starts.append(place)
        place += 4 + int.from_bytes(data[place : place + 4], "big")
    return starts


def test_precision_and_scale_of_values_do_not_change_the_definition() -> None:
    sizes = [(4, 2), (10, 0), (38, 7)]
    found = rows(*(value("Decimal", value="1", precision=p, scale=s) for p, s in sizes), number=246)
    assert len(found.definitions) == 1
    assert found.operations[0][0].columns == (Column("x", SqlType(Kind.DECIMAL)),)


# Truncate


@pytest.mark.parametrize(
    ("statement", "name", "source", "tables"),
    [
        ("TRUNCATE TABLE t", "shop", "MySQL", ["shop.t"]),
        ("/* by me */ truncate  `a``b`;", "shop", "MySQL", ["shop.a`b"]),
        ("-- x\ntruncate table `a.b`.`c`", None, "MySQL", [r"a\u002Eb.c"]),
        ("truncate table whatever", "shop.t", "MySQL", ["shop.t"]),
        ("truncate table Ord", "db.S.ORD", "Oracle", ["db.S.ORD"]),
        ("truncate table s.Ord", "DB", "Oracle", ["DB.S.ORD"]),
        ('truncate only Pub."Ord", other_s.b cascade', "db", "PostgreSQL", ["db.pub.Ord", "db.other_s.b"]),
        ("truncate a, b", "db.public.a", "PPAS", ["db.public.a", "db.public.b"]),
        ("truncate table [a b]", "db.dbo.x", "SQLServer", ["db.dbo.x"]),
    ],
)
def test_a_truncate_is_an_operation_of_its_tables(
    statement: str, name: str | None, source: str, tables: list[str]
) -> None:
    found = read("dts_avro", file(record("DDL", None, statement, None, source, objectName=name, tags={})))
    assert [table.full_name for table, _ in found.operations] == tables
    assert {item.op for item in found.plain} == {"T"}
    assert [item.tokens.get("row") for item in found.plain] == ([None] if len(tables) == 1 else ["0", "1"])


@pytest.mark.parametrize(
    ("statement", "name", "source", "reason"),
    [
        ("truncate table t", None, "MySQL", "the TRUNCATE does not name the database of its table"),
        ("truncate table t", "db", "PostgreSQL", "the TRUNCATE does not name the schema of its table"),
        ("truncate table !", "db", "MySQL", "the TRUNCATE does not name its table in SQL syntax"),
    ],
)
def test_a_truncate_of_no_certain_table_is_a_reject(statement: str, name: Any, source: str, reason: str) -> None:
    found = read("dts_avro", file(record("DDL", None, statement, None, source, objectName=name)))
    assert found.reasons == [f"GG305 {reason}"]
    with pytest.raises(NoTable, match=reason):
        truncated(statement, name, source)


@pytest.mark.parametrize("text", ["alter table t truncate partition p", "truncated t", "truncate cluster c", "", "x"])
def test_other_statements_are_no_truncate(text: str) -> None:
    assert not is_truncate(text)


def test_a_truncate_knows_the_definition_that_holds() -> None:
    data = file(record("INSERT", None, ROW), record("DDL", None, "truncate table t", None, objectName="shop"))
    found = read("dts_avro", data)
    assert [len(table.columns) for table, _ in found.operations] == [3, 3]


# Values


def test_numbers_keep_their_digits() -> None:
    assert shown(integer("18446744073709551615"), integer("-0"), number=8) == ["18446744073709551615", "-0"]
    assert shown(value("Decimal", value="1.500E-40", precision=1, scale=1), number=246) == ["1.500E-40"]
    floats = [0.1, 1e300, -2.5, 17520.0, float("nan"), float("inf"), float("-inf")]
    assert shown(*(value("Float", value=item, precision=0, scale=0) for item in floats), number=5) == [
        "0.1", "1e+300", "-2.5", "17520.0", "NaN", "Infinity", "-Infinity",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("charset", "data", "expected"),
    [
        ("utf8mb4", "Ä😀".encode(), "Ä😀"),
        ("utf8", "Ä".encode(), "Ä"),
        ("utf8mb3", b"a", "a"),
        ("latin1", b"\x80\x81\xe4", "€\x81ä"),
        ("gbk", "中文".encode("gbk"), "中文"),
        ("gb2312", "中文".encode("gb2312"), "中文"),
        ("GB18030", "中文😀".encode("gb18030"), "中文😀"),
        ("big5", "中文".encode("big5"), "中文"),
        ("ascii", b"plain", "plain"),
        ("utf16", "ä".encode("utf-16-be"), "ä"),
        ("ucs2", "ä".encode("utf-16-be"), "ä"),
        ("koi8r", "Ж".encode("koi8_r"), "Ж"),
        ("UTF-8", "Ä".encode(), "Ä"),
        ("windows-1252", b"\x80", "€"),
    ],
)
def test_texts_have_a_charset(charset: str, data: bytes, expected: str) -> None:
    assert shown(text(data, charset)) == [expected]


@pytest.mark.parametrize(
    ("charset", "data", "reason"),
    [
        ("utf8mb4", b"\xff", "the bytes are not valid text in the charset `utf8mb4`"),
        ("gbk", b"\x81", "the bytes are not valid text in the charset `gbk`"),
        ("ascii", b"\xe4", "the bytes are not valid text in the charset `ascii`"),
        ("klingon", b"a", "the charset `klingon` is unknown"),
        ("armscii8", b"a", "the charset `armscii8` is unknown"),
        ("", b"a", "the charset `` is unknown"),
        ("x" * 50, b"a", "the charset `...` is unknown"),
    ],
)
def test_bytes_that_are_no_text_of_their_charset_are_a_reject_that_names_the_column(
    charset: str, data: bytes, reason: str
) -> None:
    found = rows(text(b"good"), text(data, charset))
    assert found.reasons == [f"GG314 {reason}"]
    span = found.rejects[0].diagnostic.span
    assert (span.table, span.field) == ("shop.t", "x")
    assert len(found.plain) == 1


def test_every_charset_of_mysql_that_is_known_has_a_codec() -> None:
    from ggfmt.formats.mysql.charsets import MYSQL_CHARSETS

    for charset in MYSQL_CHARSETS:
        decode = decoder(charset)
        assert decode is not None
        assert decode("a".encode(MYSQL_CHARSETS[charset])) == "a"


@pytest.mark.parametrize(
    ("item", "number", "source", "expected"),
    [
        (time(2020, 1, 2, None, None, None, None), 10, "MySQL", "2020-01-02"),
        (time(0, 0, 0, None, None, None, None), 10, "MySQL", "0000-00-00"),
        (time(None, None, None, 10, 15, 30, None), 11, "MySQL", "10:15:30"),
        (time(None, None, None, 838, 59, 59, 5), 11, "MySQL", "838:59:59.000005"),
        (time(None, None, None, -12, -34, -56, None), 11, "MySQL", "-12:34:56"),
        (time(None, None, None, 0, -10, 0, -500000), 11, "MySQL", "-00:10:00.500000"),
        (time(2020, 1, 2, 3, 4, 5, None), 12, "MySQL", "2020-01-02 03:04:05"),
        (time(2020, 1, 2, 3, 4, 5, 0), 12, "MySQL", "2020-01-02 03:04:05.000000"),
        (time(2020, 1, 2, 3, 4, 5, 60), 12, "MySQL", "2020-01-02 03:04:05.000060"),
        (time(2020, 1, 2, 3, 4, 5, 60), 180, "Oracle", "2020-01-02 03:04:05.000000060"),
        (time(-4712, 1, 2, 3, 4, 5, None), 12, "Oracle", "-4712-01-02 03:04:05"),
        (time(2020, None, None, None, None, None, None), 13, "MySQL", "2020"),
        (time(-2, -3, None, None, None, None, None), 182, "Oracle", "-2-3"),
        (time(None, None, 3, 4, 5, 6, 7), 183, "Oracle", "3 04:05:06.000000007"),
        (value("Timestamp", timestamp=1600161894, millis=1), 7, "MySQL", "2020-09-15 09:24:54.000001"),
        (value("Timestamp", timestamp=-1, millis=0), 7, "MySQL", "1969-12-31 23:59:59.000000"),
        (value("Timestamp", timestamp=0, millis=1), 231, "Oracle", "1970-01-01 00:00:00.000000001"),
        (
            value("TimestampWithTimeZone", value=moment(2020, 1, 2, 3, 4, 5, 6), timezone="+08:00"),
            1184,
            "PostgreSQL",
            "2020-01-02 03:04:05.000006 +08:00",
        ),
        (
            value("TimestampWithTimeZone", value=moment(None, None, None, 3, 4, 5, None), timezone="Asia/Shanghai"),
            1266,
            "PostgreSQL",
            "03:04:05 Asia/Shanghai",
        ),
    ],
)
def test_times(item: Any, number: int, source: str, expected: str) -> None:
    assert shown(item, number=number, source=source) == [expected]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (time(2020, 13, 1, None, None, None, None), "a part of the time is out of range"),
        (time(2020, 1, 1, 1, 61, 1, None), "a part of the time is out of range"),
        (time(2020, 1, 1, 1, None, 1, None), "the time has only some of its parts"),
        (time(None, None, None, None, None, None, None), "the time has only some of its parts"),
        (time(2020, 1, 1, 1, 1, 1, 1234567), "`millis` has more than 6 digits"),
        (value("Timestamp", timestamp=1 << 60, millis=0), "the time is out of range"),
        (
            value("TimestampWithTimeZone", value=moment(2020, 1, 2, 3, 4, 5, 6), timezone=""),
            "the time has no valid name of a time zone",
        ),
        (value("BinaryObject", type="blob", value=b"x"), "the value is binary, but its column is not binary"),
    ],
)
def test_what_is_no_time_is_a_reject(item: Any, reason: str) -> None:
    assert rows(item, number=12).reasons == [f"GG314 {reason}"]


def test_objects_geometries_and_booleans() -> None:
    assert shown(value("TextObject", type="json", value='{"a":1}'), number=245) == ['{"a":1}']
    assert shown(value("BinaryObject", type="blob", value=b"\0\xff"), number=252) == ["AP8="]
    assert shown(value("BinaryGeometry", type="wkb", value=b"\1"), number=255) == ["AQ=="]
    assert shown(value("TextGeometry", type="wkt", value="POINT(1 2)"), number=255) == ["POINT(1 2)"]
    flags = [value("TextObject", type="bool", value=item) for item in ("t", "false", "TRUE", "f")]
    assert shown(*flags, number=16, source="PostgreSQL") == ["true", "false", "true", "false"]
    found = rows(value("TextObject", type="bool", value="maybe"), number=16, source="PostgreSQL")
    assert found.reasons == ["GG314 the value is neither true nor false"]


# Types


@pytest.mark.parametrize(
    ("source", "number", "kind"),
    [
        ("MySQL", 3, Kind.INTEGER),
        ("DRDS", 3, Kind.INTEGER),
        ("MySQL", 2, Kind.INTEGER),
        ("Oracle", 2, Kind.DECIMAL),
        ("MySQL", 12, Kind.TIMESTAMP),
        ("Oracle", 12, Kind.TIMESTAMP),
        ("PostgreSQL", 1700, Kind.DECIMAL),
        ("PPAS", 1082, Kind.DATE),
        ("MySQL", 252, Kind.BINARY),
        ("MySQL", 253, Kind.STRING),
        ("SQLServer", 3, Kind.STRING),
        ("MySQL", 99, Kind.STRING),
    ],
)
def test_the_number_of_a_type_is_that_of_its_source(source: str, number: int, kind: Kind) -> None:
    (column,) = rows(None, number=number, source=source).operations[0][0].columns
    assert column.type == SqlType(kind, base64=kind is Kind.BINARY)


# The numbers by the names that the sources give them.
MYSQL_TYPES = {
    "DECIMAL NEWDECIMAL": (Kind.DECIMAL, (0, 246)),
    "TINY SHORT LONG LONGLONG INT24 YEAR BIT": (Kind.INTEGER, (1, 2, 3, 8, 9, 13, 16)),
    "FLOAT": (Kind.FLOAT, (4,)),
    "DOUBLE": (Kind.DOUBLE, (5,)),
    "TIMESTAMP DATETIME NEWDATE": (Kind.TIMESTAMP, (7, 12, 14)),
    "DATE": (Kind.DATE, (10,)),
    "TIME": (Kind.TIME, (11,)),
    "NULL VARCHAR JSON ENUM SET VAR_STRING STRING": (Kind.STRING, (6, 15, 245, 247, 248, 253, 254)),
    "TINY_BLOB MEDIUM_BLOB LONG_BLOB BLOB GEOMETRY": (Kind.BINARY, (249, 250, 251, 252, 255)),
}
ORACLE_TYPES = {
    "NUMBER": (Kind.DECIMAL, (2,)),
    "BINARY_FLOAT": (Kind.FLOAT, (100,)),
    "BINARY_DOUBLE": (Kind.DOUBLE, (101,)),
    "DATE TIMESTAMP TIMESTAMP_TZ TIMESTAMP_LTZ": (Kind.TIMESTAMP, (12, 180, 181, 231)),
    "INTERVAL_YEAR INTERVAL_DAY": (Kind.INTERVAL, (182, 183)),
    "VARCHAR2 LONG OPAQUE ROWID CHAR CLOB BFILE UROWID": (Kind.STRING, (1, 8, 58, 69, 96, 112, 114, 208)),
    "RAW LONG_RAW BLOB": (Kind.BINARY, (23, 24, 113)),
}
POSTGRESQL_TYPES = {
    "bool": (Kind.BOOLEAN, (16,)),
    "int8 int2 int4 oid": (Kind.INTEGER, (20, 21, 23, 26)),
    "numeric": (Kind.DECIMAL, (1700,)),
    "float4": (Kind.FLOAT, (700,)),
    "float8": (Kind.DOUBLE, (701,)),
    "date": (Kind.DATE, (1082,)),
    "time timetz": (Kind.TIME, (1083, 1266)),
    "timestamp timestamptz": (Kind.TIMESTAMP, (1114, 1184)),
    "interval": (Kind.INTERVAL, (1186,)),
    "char name text json xml bpchar varchar uuid jsonb": (
        Kind.STRING,
        (18, 19, 25, 114, 142, 1042, 1043, 2950, 3802),
    ),
    "bytea": (Kind.BINARY, (17,)),
}


@pytest.mark.parametrize(
    ("source", "types"), [("MySQL", MYSQL_TYPES), ("Oracle", ORACLE_TYPES), ("PostgreSQL", POSTGRESQL_TYPES)]
)
def test_every_type_of_a_source_has_its_numbers(source: str, types: dict[str, tuple[Kind, tuple[int, ...]]]) -> None:
    for names, (kind, numbers) in types.items():
        open_kinds = frozenset((Kind.STRING, Kind.BINARY) if kind in (Kind.STRING, Kind.BINARY) else ())
        for name, number in zip(names.split(), numbers, strict=True):
            found = hint_of(source, number)
            assert (name, found.kind, found.learns) == (name, kind, open_kinds)
    known = {number for _, numbers in types.values() for number in numbers}
    assert all(hint_of(source, number).learns == set(Kind) for number in range(4000) if number not in known)


@pytest.mark.parametrize(
    ("number", "source", "items", "kind", "texts"),
    [
        (252, "MySQL", [None, text(b"a")], Kind.STRING, [None, "a"]),
        (253, "MySQL", [text(b"a"), text(b"\xff", "binary")], Kind.BINARY, ["YQ==", "/w=="]),
        (253, "MySQL", [value("BinaryObject", type="x", value=b"\xff"), text(b"a")], Kind.BINARY, ["/w==", "YQ=="]),
        (56, "SQLServer", [integer("5"), integer("6")], Kind.INTEGER, ["5", "6"]),
        (
            56,
            "SQLServer",
            [integer("5"), value("Decimal", value="6.0", precision=2, scale=1)],
            Kind.DECIMAL,
            ["5", "6.0"],
        ),
        (56, "DB2", [integer("5"), text(b"x")], Kind.STRING, ["5", "x"]),
        (56, "OTHER", [time(2020, 1, 1, None, None, None, None)], Kind.DATE, ["2020-01-01"]),
        (
            56,
            "OTHER",
            [value("TimestampWithTimeZone", value=moment(2020, 1, 2, 3, 4, 5, None), timezone="UTC")],
            Kind.TIMESTAMP,
            ["2020-01-02 03:04:05 UTC"],
        ),
    ],
)
def test_where_the_number_leaves_it_open_the_values_tell_the_kind(
    number: int, source: str, items: list[Any], kind: Kind, texts: list[str | None]
) -> None:
    found = rows(*items, number=number, source=source)
    assert found.reasons == []
    assert len(found.definitions) == 1
    assert found.operations[0][0].columns[0].type == SqlType(kind, base64=kind is Kind.BINARY)
    assert [item.after["x"] for item in found.plain if item.after is not None] == texts


def test_a_definition_of_the_user_decides_what_the_values_leave_open() -> None:
    table = TableDef("shop.t", (Column("x", SqlType(Kind.BINARY)),))
    data = file(record("INSERT", None, [text(b"a")], {"x": 253}))
    found = read("dts_avro", data, trusted={"shop.t": table})
    assert found.operations[0][0] == table
    assert found.plain[0].after == {"x": "YQ=="}


def test_the_discovery_finds_what_the_reader_needs() -> None:
    data = b"".join(
        base64.b64encode(datum(item)) + b"\n"
        for item in (
            record("INSERT", None, [text(b"a")], {"x": 252}),
            record("INSERT", None, [value("BinaryObject", type="blob", value=b"a")], {"x": 253}, objectName="a.b"),
            record("UPDATE", [text(b"b")], [None], {"x": 252}),
        )
    )
    whole = discover("dts_avro", data)
    assert whole.complete
    assert [(event.table.full_name, event.table.columns[0].type.kind) for event in whole.events] == [
        ("shop.t", Kind.STRING), ("a.b", Kind.BINARY),
    ]  # fmt: skip
    for size in (1, 50, 200):
        assert discover("dts_avro", data, size=size) == whole


# Rejects


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (record("INSERT", None, ROW, objectName=None), "GG305 the record has no `objectName`"),
        (record("INSERT", None, ROW, objectName="a.b.c.d"), "GG306 the table name `a.b.c.d` has more than three parts"),
        (record("INSERT", None, ROW, None), "GG305 the record has no list `fields`"),
        (record("INSERT", None, ROW, "x"), "GG305 the record has no list `fields`"),
        (record("INSERT", None, ROW[:2]), "GG308 `fields` has 3 columns and `afterImages` has 2 values"),
        (record("UPDATE", "x", ROW), "GG308 `beforeImages` of a change is a string, not a list"),
        (record("INSERT", ROW, ROW), "GG307 an insert has a before image"),
        (record("DELETE", None, None), "GG307 a delete has no before image"),
        (
            record("INSERT", None, ROW[:2], [{"name": "x", "dataTypeNumber": 8}] * 2),
            "GG308 `fields` names a column twice",
        ),
        (
            record("INSERT", None, ROW, tags={"pk_uk_info": "id"}),
            "GG308 the tag `pk_uk_info` is not an object with lists of columns",
        ),
        (record("INSERT", None, ROW, sourceTimestamp=1 << 50), "GG308 the time of the operation is out of range"),
    ],
)
def test_what_is_no_change_is_a_reject_with_its_reason(item: Any, reason: str) -> None:
    found = read("dts_avro", file(record("INSERT", None, ROW), item, record("DELETE", ROW)))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_a_datum_must_be_used_up() -> None:
    good = datum(record("INSERT", None, ROW))
    for bad, reason in (
        (good + b"\0", "GG313 extra bytes follow the record"),
        (good[:-3], "GG313 the bytes are not a DTS record"),
        (b"", "GG313 the bytes are not a DTS record"),
        (b"\x80" * 20, "GG313 the bytes are not a DTS record"),
    ):
        found = read("dts_avro", prefixed(good, bad, good))
        assert found.reasons == [reason]
        assert len(found.plain) == 2


# Files


def container(*items: dict[str, Any], born: bool = True, codec: str = "null", **others: Any) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMAS[born], items, codec=codec, sync_marker=b"0123456789abcdef", **others)
    return out.getvalue()


@pytest.mark.parametrize("born", [True, False])
@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_container_files(born: bool, codec: str) -> None:
    items = [record("INSERT", None, ROW)] * 5 + [record("DELETE", ROW, None, objectName="")] + [record("BEGIN")] * 2
    found = read("dts_avro", container(*items, born=born, codec=codec, sync_interval=400))
    assert found.plain == [operation("I", None, SHOWN)] * 5
    assert found.reasons == ["GG305 the record has no `objectName`"]
    assert found.others == {"transaction begin": 2}


def test_a_damaged_block_does_not_hide_the_others() -> None:
    data = bytearray(container(*[record("INSERT", None, ROW)] * 4, sync_interval=1))
    sync = b"0123456789abcdef"
    places = [place for place in range(len(data)) if data.startswith(sync, place)]
    data[places[1] - 20] ^= 0xFF
    data[places[1]] ^= 0xFF
    found = read("dts_avro", bytes(data))
    assert len(found.plain) == 2
    assert found.reasons == ["GG313 a block is truncated, or does not end with the sync marker"]
    assert found.rejects[0].diagnostic.span.offset == places[0] + len(sync)


def test_a_container_of_other_records_is_a_reject() -> None:
    out = io.BytesIO()
    schema = {"type": "record", "name": "Record", "fields": [{"name": "x", "type": "string"}]}
    fastavro.writer(out, fastavro.parse_schema(schema), [{"x": "y"}])
    found = read("dts_avro", out.getvalue())
    assert found.reasons == ["GG313 the schema of the file is not the schema of DTS records"]
    assert FORMATS["dts_avro"].read_support.reader.sniff(out.getvalue()) is None


def test_lines_of_base64() -> None:
    line = base64.b64encode(datum(record("INSERT", None, ROW)))
    found = read("dts_avro", line + b"\r\n\n!!\n" + line)
    assert found.plain == [operation("I", None, SHOWN)] * 2
    assert found.reasons == ["GG313 the line is not Base64"]


def test_a_file_that_ends_too_early() -> None:
    data = file(record("INSERT", None, ROW), record("DELETE", ROW))
    for end in (_starts(data)[1] + 2, len(data) - 1):
        found = read("dts_avro", data[:end])
        assert found.reasons == ["GG302 the file ends in the middle of a record"]
        assert found.rejects[0].diagnostic.span.offset == _starts(data)[1]


def test_a_length_out_of_range_ends_the_file() -> None:
    data = file(record("INSERT", None, ROW)) + b"\x7f\xff\xff\xff and so on" + file(record("INSERT", None, ROW))
    found = read("dts_avro", data)
    assert found.reasons == ["GG313 the length of a record is out of range"]
    assert len(found.plain) == 1


def test_formats_are_recognised_by_the_first_record() -> None:
    format = FORMATS["dts_avro"]
    item = record("INSERT", None, ROW)
    lines = base64.b64encode(datum(item)) + b"\n"
    for data, reason in (
        (file(item), "it starts with the length of a DTS record, and the record"),
        (container(item), "it starts like an Avro object container of DTS records"),
        (lines, "its first line is a DTS record in Base64"),
    ):
        assert any(mark in data for mark in ENTRIES[format.name].marks)
        assert format.read_support.reader.sniff(data) == reason
    for data in (b"", b"\0\0\0\x04abcd", b"\0\0", b'{"a":"\0"}', b"cGtfdWtfaW5mb", b"Obj\x01"):
        assert format.read_support.reader.sniff(data) is None


@pytest.mark.parametrize("shift", range(3))
def test_the_tag_of_keys_is_seen_in_base64_wherever_it_stands(shift: int) -> None:
    line = base64.b64encode(b"x" * (30 + shift) + b"pk_uk_info" + b"yyy")
    assert any(mark in line for mark in ENTRIES["dts_avro"].marks)


# Writing


def plain_table(table: TableDef) -> PlainTable:
    return PlainTable(table.full_name, tuple(PlainColumn(c.name, c.type.kind.value, c.key) for c in table.columns))


PLAIN = PlainTable("shop.t", (PlainColumn("id", "integer", 1), PlainColumn("name", "string")))


def formatted(*items: PlainOperation, table: PlainTable = PLAIN, **options: str) -> bytes:
    return written("dts_avro", Changes(table, list(items), False), None, **options)


def decoded(data: bytes, born: bool = True, schema: Any = None) -> list[Any]:
    found = []
    for place in _starts(data):
        size = int.from_bytes(data[place : place + 4], "big")
        stream = io.BytesIO(data[place + 4 : place + 4 + size])
        item = fastavro.schemaless_reader(stream, schema or SCHEMAS[born], None, return_record_name=True)
        assert stream.tell() == size
        found.append(item)
    return found


def test_records_are_written_as_dts_writes_them() -> None:
    item = PlainOperation("U", AT, "72469@78", {"id": "1"}, {"id": "1", "name": None}, {"id": "58", "traceId": "t"})
    assert formatted(item).hex(" ") == (
        "00 00 00 68 00 74 b0 b5 af d2 0c 10 37 32 34 36 39 40 37 38 00 00 00 00 02 02 0c 73 68 6f 70 2e 74 00 "
        "04 14 70 6b 5f 75 6b 5f 69 6e 66 6f 24 7b 22 50 52 49 4d 41 52 59 22 3a 5b 22 69 64 22 5d 7d "
        "0e 74 72 61 63 65 49 64 02 74 00 04 04 04 69 64 10 08 6e 61 6d 65 fa 03 00 "
        "04 04 02 10 02 31 18 02 00 04 04 02 10 02 31 00 00 00"
    )


def test_a_truncate_is_a_statement() -> None:
    (item,) = decoded(formatted(PlainOperation("T", AT, None, None, None, {})))
    assert (item["operation"], item["objectName"]) == ("DDL", "shop.t")
    assert (item["fields"], item["beforeImages"], item["afterImages"]) == (None, None, "TRUNCATE TABLE `shop`.`t`")
    (item,) = decoded(formatted(PlainOperation("T", AT, None, None, None, {}), sourceType="Oracle"))
    assert item["afterImages"] == 'TRUNCATE TABLE "shop"."t"'
    with pytest.raises(RowErrors, match="GG408"):
        formatted(PlainOperation("T", AT, None, None, None, {}), table=replace(PLAIN, name="t"))


def test_types_are_written_by_the_numbers_of_the_source() -> None:
    table = PlainTable("a.b", tuple(PlainColumn(kind.value, kind.value) for kind in Kind))
    row = dict.fromkeys((kind.value for kind in Kind), None)
    numbers = {}
    for source in ("MySQL", "Oracle", "PostgreSQL"):
        (item,) = decoded(
            formatted(PlainOperation("I", AT, None, None, row, {}), table=table, sourceType=source, sourceVersion="9")
        )
        assert item["source"] == {"sourceType": source, "version": "9"}
        numbers[source] = [field["dataTypeNumber"] for field in item["fields"]]
    assert numbers == {
        "MySQL": [253, 1, 8, 246, 246, 4, 5, 10, 11, 12, 253, 252],
        "Oracle": [1, 2, 2, 2, 2, 100, 101, 12, 1, 180, 1, 113],
        "PostgreSQL": [1043, 16, 20, 1700, 1700, 700, 701, 1082, 1083, 1114, 1186, 17],
    }


def test_values_are_branches_of_the_union() -> None:
    row = {
        "string": "ä", "boolean": "true", "integer": "-5", "decimal": "10.50", "number": "1E+2", "float": "0.5",
        "double": "1e3", "date": "2020-01-02", "time": "-10:15:30.5", "timestamp": "2020-01-02T03:04:05.000006",
        "interval": "P1D", "binary": "AP8=",
    }  # fmt: skip
    table = PlainTable("a.b", tuple(PlainColumn(name, name) for name in row))
    (item,) = decoded(formatted(PlainOperation("I", AT, None, None, row, {}), table=table))
    assert item["afterImages"] == [
        value("Character", charset="utf8mb4", value="ä".encode()),
        value("Integer", precision=1, value="1"),
        value("Integer", precision=8, value="-5"),
        value("Decimal", value="10.50", precision=4, scale=2),
        value("Decimal", value="1E+2", precision=1, scale=-2),
        value("Float", value=0.5, precision=0, scale=0),
        value("Float", value=1000.0, precision=0, scale=0),
        time(2020, 1, 2, None, None, None, None),
        time(None, None, None, -10, -15, -30, -500000),
        time(2020, 1, 2, 3, 4, 5, 6),
        value("Character", charset="utf8mb4", value=b"P1D"),
        value("BinaryObject", type="blob", value=b"\0\xff"),
    ]
    (item,) = decoded(formatted(PlainOperation("I", AT, None, None, row, {}), table=table, sourceType="PostgreSQL"))
    assert item["afterImages"][1] == value("TextObject", type="bool", value="t")
    assert item["afterImages"][10] == value("TextObject", type="xtype", value="P1D")
    (item,) = decoded(formatted(PlainOperation("I", AT, None, None, row, {}), table=table, sourceType="Oracle"))
    assert item["afterImages"][7] == time(2020, 1, 2, 0, 0, 0, None)
    assert item["afterImages"][9] == time(2020, 1, 2, 3, 4, 5, 6000)


@pytest.mark.parametrize(("scale", "written_scale"), [(2, 2), (None, 0)])
def test_a_decimal_has_the_sizes_of_its_type(scale: int | None, written_scale: int) -> None:
    table = TableDef("a.b", (Column("x", SqlType(Kind.DECIMAL, precision=10, scale=scale)),))
    changes = Changes(plain_table(table), [PlainOperation("I", AT, None, None, {"x": "1.5"}, {})], False)
    (item,) = decoded(written("dts_avro", changes, table))
    assert item["afterImages"] == [value("Decimal", value="1.5", precision=10, scale=written_scale)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "1.5"),
        ("integer", ""),
        ("decimal", "ten"),
        ("double", "1e400"),
        ("double", "x"),
        ("boolean", "yes"),
        ("date", "yesterday"),
        ("time", "10:15"),
        ("timestamp", "2020-01-02 03:04"),
        ("binary", "*"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(kind: str, text: str) -> None:
    table = PlainTable("a.b", (PlainColumn("x", kind),))
    good = PlainOperation("I", AT, None, None, {"x": None}, {})
    with pytest.raises(RowErrors) as error:
        formatted(good, PlainOperation("I", AT, None, None, {"x": text}, {}), good, table=table)
    ((row, diagnostic),) = error.value.rows
    assert (row, diagnostic.code, diagnostic.span.field) == (1, "GG401", "x")


def test_a_finer_time_is_cut_off_and_counted() -> None:
    table = PlainTable("a.b", (PlainColumn("x", "timestamp"),))
    items = [f"2020-01-02 03:04:05.{digits}" for digits in ("1234567", "123456000", "1")]
    tokens = {"source.sourceType": "MySQL"}
    changes = Changes(table, [PlainOperation("I", AT, None, None, {"x": item}, tokens) for item in items], False)
    formatter = formatter_of(changes)
    formatter.format(make_batch(changes))
    assert {(note.field, note.detail): count for note, count in formatter.notes.items()} == {
        ("x", "with a finer time than DTS supports, which was cut off"): 1
    }


@pytest.mark.parametrize(
    ("tokens", "options", "added"),
    [
        ({}, {}, 1),
        ({"source.sourceType": "MySQL"}, {}, 0),
        ({"source.sourceType": "Oracle"}, {}, 1),
        ({"source.sourceType": "Oracle"}, {"sourceType": "Oracle"}, 0),
        ({"source.sourceType": "MySQL"}, {"sourceVersion": "8"}, 1),
        ({"source.sourceType": "MySQL", "source.version": ""}, {"sourceVersion": "8"}, 1),
        ({"source.sourceType": "MySQL", "source.version": "5"}, {"sourceVersion": "8"}, 0),
    ],
)
def test_a_token_that_a_reader_gets_from_the_options_is_counted(
    tokens: dict[str, str], options: dict[str, str], added: int
) -> None:
    changes = Changes(PLAIN, [PlainOperation("I", AT, None, None, {"id": "1"}, tokens)], False)
    formatter = formatter_of(changes, **options)
    formatter.format(make_batch(changes))
    assert {note.loss: count for note, count in formatter.notes.items()} == ({"tokens_added": 1} if added else {})
    (back,) = read("dts_avro", written("dts_avro", changes, None, **options)).plain
    assert (back.tokens == tokens) == (not added)


def formatter_of(changes: Changes, **options: str) -> Formatter:
    format = FORMATS["dts_avro"]
    return format.write_support.formatter(
        table_def(changes.table), format.options.parse(options), Context(include_tokens=True), Clock(None)
    )


@pytest.mark.parametrize(
    ("op", "tokens", "operation", "tags"),
    [
        ("I", {"snapshot": "true"}, "INIT", {}),
        ("I", {"snapshot": "last"}, "INIT", {"snapshot": "last"}),
        ("I", {"snapshot": "false"}, "INSERT", {"snapshot": "false"}),
        ("U", {"snapshot": "true"}, "UPDATE", {"snapshot": "true"}),
        ("I", {"id": "abc", "source.sourceType": "x", "pk_uk_info": "y"}, "INSERT", {"id": "abc"}),
    ],
)
def test_tokens_become_members_or_tags(op: str, tokens: dict[str, str], operation: str, tags: dict[str, str]) -> None:
    before = {"id": "1"} if op == "U" else None
    (item,) = decoded(formatted(PlainOperation(op, AT, None, before, {"id": "1"}, tokens)))
    assert item["operation"] == operation
    assert item["tags"] == {"pk_uk_info": '{"PRIMARY":["id"]}', **tags}


@needs_official
@examples(60)
@given(cases())
def test_the_published_schema_reads_what_is_written(case: Case) -> None:
    made, born = case.changes, case.options["bornTimestamp"] == "true"
    schema = fastavro.parse_schema(official(born))
    options = {**case.options, "fileFraming": "length-prefixed"}
    items = decoded(written("dts_avro", made, **options), schema=schema)
    assert [item["operation"] for item in items] == [
        {"I": "INSERT", "U": "UPDATE", "D": "DELETE", "T": "DDL"}[item.op]
        if item.op != "I" or item.tokens.get("snapshot", "false") == "false"
        else "INIT"
        for item in made.operations
    ]
    assert all(("bornTimestamp" in item) is born for item in items)


# Damage


@examples(200)
@given(st.data(), st.sampled_from(["length-prefixed", "container", "deflate", "base64"]))
def test_damaged_files_never_raise(data: st.DataObject, framing: str) -> None:
    if framing == "length-prefixed":
        good = file(*story())
    elif framing == "base64":
        good = b"".join(base64.b64encode(datum(item)) + b"\n" for item in story())
    else:
        good = container(*story(), codec="deflate" if framing == "deflate" else "null", sync_interval=300)
    bad = data.draw(damaged(good))
    read("dts_avro", bad)
    FORMATS["dts_avro"].read_support.reader.sniff(bad)


# A run


def test_what_is_read_and_written_loses_nothing(tmp_path: Path) -> None:
    from runs import content, run_ggfmt

    (tmp_path / "in.dts").write_bytes(file(record("INSERT", None, ROW), record("DELETE", ROW)))
    settings = "gg.handler.h.format=dts_avro"
    run_ggfmt([tmp_path / "in.dts"], tmp_path / "one", settings, strict=True)
    run_ggfmt([tmp_path / "one" / "h"], tmp_path / "two", settings, strict=True)
    assert content(tmp_path / "one", "h") == content(tmp_path / "two", "h")


def test_a_run_reads_and_writes_dts(tmp_path: Path) -> None:
    from runs import output_files, run_ggfmt

    source = tmp_path / "in.dts"
    source.write_bytes(
        file(record("INSERT", None, ROW), record("DDL", None, "truncate table t", None), record("DELETE", ROW))
    )
    run_ggfmt([source], tmp_path / "out", "gg.handler.h.format=dts_avro", "gg.handler.h.includeTokens=true")
    (made,) = output_files(tmp_path / "out", "h")
    assert read("dts_avro", made.read_bytes()).plain == [
        operation("I", None, SHOWN), operation("T", None, None), operation("D", SHOWN, None),
    ]  # fmt: skip
