"""Arcion's JSON and CSV in both directions."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.arcion import CURSOR, GOOD, NONE, message, name
from dialects import DATA, chunk_bytes, discover, layout_of, lines, read, told, written
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import content, output_files, run_ggfmt
from scanners import without_kernels
from strategies import Changes, make_batch

from ggfmt.columnar.metadata import Clock
from ggfmt.config.handlers import read_configuration
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.arcion import csv_read
from ggfmt.formats.csv import FieldDelimiter, NullWord, cut
from ggfmt.formats.csv.rows import CsvRow
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Catalog, Column, TableDef
from ggfmt.options.spec import Options

AT = "2022-07-11 05:21:43.000000"
SAID = {"extractorId": "0", "v": "2", "insertCount": "30", "updateCount": "1"}


def operation(op: str, before: Any, after: Any, pos: str | None = "log-bin.000010:7461") -> PlainOperation:
    return PlainOperation(op, AT, pos, before, after, SAID)


def test_exists_tells_values_from_null_and_from_nothing() -> None:
    found = read("arcion_json", lines(*GOOD, message("U", NONE, NONE, {"id": "3", "n": "1"})))
    assert found.rejects == []
    assert found.plain == [
        operation("I", None, {"id": "1", "n": "a"}),
        operation("U", {"id": "1"}, {"n": "b"}),
        operation("D", {"id": "1"}, None),
        operation("U", {"id": None}, {"id": None, "n": None}),
    ]
    assert {table.column_names for table, _ in found.operations} == {("id", "n")}


def test_the_word_for_null_is_an_option() -> None:
    data = lines(message("I", {"id": "-", "n": "-"}, {"id": "null", "n": "-"}, {"id": "1", "n": 1}))
    assert read("arcion_json", data, told("arcion_json", nullLiteral="-")).plain == [
        operation("I", None, {"id": "null", "n": None})
    ]


@pytest.mark.parametrize(
    ("table", "filler", "shown"),
    [
        (name(), "", "tpch.nation"),
        (name(schema="default_schema", catalog="c"), "", "c.default_schema.nation"),
        (name(schema="default_schema", catalog="c"), "default_schema", "c.nation"),
        (name(schema="s", catalog="c"), "default_schema", "c.s.nation"),
        (name(schema=None), "", "nation"),
        ({"name": "nation"}, "", "nation"),
    ],
)
def test_tables_are_named_by_what_the_record_has(table: Any, filler: str, shown: str) -> None:
    source = told("arcion_json", schemaFiller=filler)
    ((found, _),) = read("arcion_json", lines({**GOOD[0], "tableName": table}), source).operations
    assert found.full_name == shown


@pytest.mark.parametrize(
    ("cursor", "op_ts", "pos", "tokens"),
    [
        (CURSOR, AT, "log-bin.000010:7461", {"extractorId": "0", "v": "2"}),
        ({"timestamp": 1657516903000, "position": None}, AT, None, {}),
        ({"timestamp": None, "position": 5}, None, "5", {}),
        ({"position": None, "log": "x"}, None, None, {"log": "x"}),
        ({"position": "", "log": "x"}, None, "x:", {}),
        ({"position": 5, "log": ""}, None, ":5", {}),
        (
            {"partNu m": 1, "my key": 1.50, "timestamp": "1657516903000"},
            AT,
            '{"partNu m": 1, "my key": 1.5, "timestamp": "1657516903000"}',
            {"partNum": "1", "my key": "1.5"},
        ),
        ({}, None, None, {}),
    ],
)
def test_the_cursor_has_time_position_and_tokens(cursor: Any, op_ts: Any, pos: Any, tokens: Any) -> None:
    data = lines({**GOOD[0], "cursor": json.dumps(cursor), "operationcount": None})
    found = [(item.op_ts, item.pos, item.tokens) for item in read("arcion_json", data * 4).plain]
    assert found == [(op_ts, pos, tokens)] * 4, "the exact reader has the first ones, the scanner all others"


def test_messages_of_kafka_have_a_cursor_as_it_is_and_no_exists() -> None:
    native = {"tableName": name(), "cursor": CURSOR}
    found = read(
        "arcion_json",
        lines(
            {**native, "opType": "I", "before": None, "after": {"id": "7", "n": None}},
            {**native, "opType": "U", "before": {"id": "7", "n": "x"}, "after": {"id": "7", "n": 1.50}},
            {**native, "opType": "D", "before": {"id": "7"}, "after": None},
        ),
    )
    said = {"extractorId": "0", "v": "2"}
    assert found.plain == [
        replace(operation("I", None, {"id": "7", "n": None}), tokens=said),
        replace(operation("U", {"id": "7", "n": "x"}, {"id": "7", "n": "1.5"}), tokens=said),
        replace(operation("D", {"id": "7"}, None), tokens=said),
    ]


def test_rows_of_a_native_snapshot_are_inserts_of_the_table_that_is_told() -> None:
    """Bare rows, as in native-format.md of Arcion's documentation (huynguy-db/arcion-docs 12569d87)."""
    rows = [{"r_regionkey": "1", "r_name": "null", "before": None}, {"r_name": "x", "r_regionkey": 2}]
    change = {"tableName": name("region"), "opType": "U", "cursor": CURSOR, "before": None, "after": rows[1]}
    data = lines(rows[0], change, None, rows[1])
    for size in (None, 60):
        found = read(
            "arcion_json", data, told("arcion_json", table="tpch.region", primaryKeys="region=r_regionkey"), size
        )
        assert [item.op for item in found.plain] == ["I", "U", "I"]
        assert found.plain[0].after == {"r_regionkey": "1", "r_name": None, "before": None}
        assert found.plain[2].after == {"r_name": "x", "r_regionkey": "2"}
        assert [item.tokens.get("snapshot") for item in found.plain] == ["true", None, "true"]
        assert {table.full_name for table, _ in found.operations} == {"tpch.region"}
        assert {table.primary_keys for table, _ in found.operations} == {("r_regionkey",)}
        assert found.others == {"tombstone": 1}
        assert found.members == {}
    assert [r[:30] for r in read("arcion_json", data).reasons] == ["GG305 the record has no `table"] * 2
    wrong = lines({"opType": "I"}, {"schema": {}, "payload": {}}, [1])
    found = read("arcion_json", wrong, told("arcion_json", table="T"))
    assert [reason[:5] for reason in found.reasons] == ["GG305", "GG305", "GG301"]


def test_other_columns_are_another_definition_from_their_place_on() -> None:
    wider = message("I", {}, {"n": "1", "id": "2", "x": "3"}, {"n": "1", "id": "1", "x": "1"})
    data = lines(GOOD[0], wider, GOOD[0])
    found = read("arcion_json", data, told("arcion_json", primaryKeys="tpch.nation=id"))
    assert [table.column_names for table, _ in found.operations] == [("id", "n"), ("id", "n", "x"), ("id", "n")]
    assert {table.primary_keys for table, _ in found.operations} == {("id",)}
    assert [event.offset for event in found.definitions] == [0, len(lines(GOOD[0])), len(lines(GOOD[0], wider))]


def test_another_order_of_the_columns_is_no_other_definition() -> None:
    turned = message("I", {}, {"n": "1", "id": "2"}, {"n": "1", "id": "1"})
    found = read("arcion_json", lines(GOOD[0], turned, GOOD[0]))
    assert [table.column_names for table, _ in found.operations] == [("id", "n")] * 3
    assert [event.offset for event in found.definitions] == [0]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"r_regionkey": "1"}, "GG305 the record has no `tableName`"),
        ({**GOOD[0], "tableName": {}}, "GG305 `tableName` has no `name`"),
        ({**GOOD[0], "opType": None}, "GG305 the record has no `opType`"),
        ({**GOOD[0], "opType": "R"}, "GG304 `opType` cannot be `R`"),
        ({**GOOD[0], "exists": {}}, "GG305 `exists` names no columns"),
        ({**GOOD[0], "exists": {"id": "1", "n": "4"}}, "GG308 `exists` of a column cannot be `4`"),
        ({**GOOD[0], "exists": {"id": "1"}}, "GG305 `exists` lacks a column of an image"),
        ({**GOOD[0], "after": {"id": "1"}}, "GG305 an image lacks a column that it has according to `exists`"),
        ({**GOOD[0], "after": [1]}, "GG308 `after` is not an object with string values"),
        ({**GOOD[0], "exists": {"id": "1", "n": "3"}}, "GG307 an insert has a before image"),
        ({**GOOD[0], "opType": "D"}, "GG307 a delete has an after image"),
        ({**GOOD[0], "cursor": "{"}, "GG308 `cursor` is not a string with a JSON object"),
        ({**GOOD[0], "operationcount": "1"}, "GG308 `operationcount` is not a string with a JSON object"),
        ({**GOOD[0], "cursor": '{"timestamp":"soon"}'}, "GG308 the `timestamp` of the cursor is not a number"),
        ({**GOOD[0], "cursor": '{"timestamp":99999999999999999}'}, "GG308 the time of the operation is out of range"),
    ],
)
def test_what_is_no_message_of_arcion_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read("arcion_json", lines(GOOD[0], record, GOOD[2]))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


# Writing


def story(*items: PlainOperation, table: str = "A.S.T") -> Changes:
    return Changes(PlainTable(table, (PlainColumn("id", "string"), PlainColumn("n", "string"))), list(items), False)


UPDATE = PlainOperation(
    "U", "2022-07-11 05:21:43.123456", "log.1:17", {"id": "1"}, {"id": None, "n": 'a"b'}, {"k": "7", "insertCount": "3"}
)
BARE = PlainOperation("D", None, None, {"n": "NULL"}, None, {})


def test_messages_are_written_as_arcion_writes_them() -> None:
    name = '{"namespace":{"catalog":"A","schema":"S","hash":3059},"name":"T","hash":95874}'
    assert written("arcion_json", story(UPDATE, BARE)).decode() == (
        f'{{"tableName":{name},"opType":"U",'
        '"cursor":"{\\"timestamp\\":1657516903123,\\"log\\":\\"log.1\\",\\"position\\":17,\\"k\\":7}",'
        '"before":{"id":"1","n":"null"},"after":{"id":"null","n":"a\\"b"},"exists":{"id":"3","n":"1"},'
        '"operationcount":"{\\"insertCount\\":3}"}\n'
        f'{{"tableName":{name},"opType":"D",'
        '"cursor":"{\\"timestamp\\":null,\\"position\\":null}","before":{"id":"null","n":"NULL"},'
        '"after":{"id":"null","n":"null"},"exists":{"id":"0","n":"2"},"operationcount":"{}"}\n'
    )


def test_rows_are_written_as_arcion_writes_them() -> None:
    assert written("arcion_csv", story(UPDATE, BARE), includeHeader="true").decode() == (
        "id_NEW_VAL,id_OLD_VAL,id_EXISTS_VAL,n_NEW_VAL,n_OLD_VAL,n_EXISTS_VAL,opType,cursor,operationcount\n"
        'NULL,1,3,"a""b",NULL,1,U,"{""timestamp"":1657516903123,""log"":""log.1"",""position"":17,""k"":7}",'
        '"{""insertCount"":3}"\n'
        'NULL,NULL,0,NULL,"NULL",2,D,"{""timestamp"":null,""position"":null}",{}\n'
    )
    insert = PlainOperation("I", None, None, None, {"n": " b\\ "}, {})
    assert written("arcion_csv", story(insert), mode="snapshot", includeHeader="true").decode() == "id,n\nNULL, b\\ \n"


@pytest.mark.parametrize(
    ("table", "filler", "namespace"),
    [
        ("T", "", {"catalog": None, "schema": None}),
        ("S.T", "", {"catalog": None, "schema": "S"}),
        ("T", "default_schema", {"catalog": None, "schema": "default_schema"}),
        ("S.T", "default_schema", {"catalog": "S", "schema": "default_schema"}),
        ("C.S.T", "default_schema", {"catalog": "C", "schema": "S"}),
    ],
)
def test_the_parts_of_a_name_are_catalog_and_schema(table: str, filler: str, namespace: Any) -> None:
    data = written("arcion_json", story(BARE, table=table), schemaFiller=filler)
    shown = json.loads(data)["tableName"]
    hashes = shown.pop("hash"), shown["namespace"].pop("hash")
    assert all(-(1 << 31) <= number < 1 << 31 for number in hashes)
    assert shown == {"namespace": namespace, "name": "T"}
    ((found, _),) = read("arcion_json", data, told("arcion_json", schemaFiller=filler)).operations
    assert found.full_name == table


@pytest.mark.parametrize(
    ("catalog", "schema", "table", "hashes"),
    [
        ("tpch_scale_0_01", "default_schema", "nation", (-27122659, -1893420405)),
        (None, "io_blitzz", "region", (696406511, -821029210)),
    ],
)
def test_a_name_has_the_hashes_of_arcion(catalog: str | None, schema: str, table: str, hashes: tuple[int, int]) -> None:
    full_name = ".".join(filter(None, (catalog, schema, table)))
    shown = json.loads(written("arcion_json", story(BARE, table=full_name)))["tableName"]
    assert (shown["namespace"]["hash"], shown["hash"]) == hashes


@pytest.mark.parametrize(
    ("format", "item", "options"),
    [
        ("arcion_json", PlainOperation("T", None, None, None, None, {}), {}),
        ("arcion_csv", PlainOperation("T", None, None, None, None, {}), {}),
        ("arcion_csv", BARE, {"mode": "snapshot"}),
        ("arcion_csv", UPDATE, {"mode": "snapshot"}),
        ("arcion_json", UPDATE, {"schemaFiller": "S"}),
        ("arcion_json", replace(BARE, op_ts="no time"), {}),
    ],
)
def test_what_arcion_has_no_form_for_is_refused(format: str, item: PlainOperation, options: Any) -> None:
    with pytest.raises(RowErrors) as error:
        written(format, story(item), **options)
    assert [(row, diagnostic.code) for row, diagnostic in error.value.rows] == [(0, "GG408")]


def _options(texts: dict[str, str], format: str) -> Options:
    return FORMATS[format].options.parse(texts)


@pytest.mark.parametrize(
    ("format", "options", "counted"),
    [
        ("arcion_json", {}, {("n", "equal to the text for a NULL, which will be read back as a NULL"): 1}),
        ("arcion_csv", {}, {}),
        ("arcion_csv", {"mode": "snapshot"}, {("id", "missing from the image, which will be read back as NULL"): 1}),
    ],
)
def test_values_that_are_not_told_apart_are_counted(format: str, options: dict[str, str], counted: Any) -> None:
    batch = make_batch(story(PlainOperation("I", None, None, None, {"n": "null"}, {})))
    made = FORMATS[format].write_support.formatter(batch.table, _options(options, format), Context(), Clock())
    made.format(batch)
    assert {(note.field, note.detail): count for note, count in made.notes.items()} == counted


# CSV

COLUMNS = {"tableName": "S.T", "columns": "T=a,b"}
PLAIN = {**COLUMNS, "mode": "snapshot"}


def rows(data: bytes, **options: str) -> list[Any]:
    found = read("arcion_csv", data, told("arcion_csv", **options))
    assert found.rejects == []
    return [item.after for item in found.plain]


@pytest.mark.parametrize(
    ("data", "options", "values"),
    [
        (b"1, AFRICA \n2,x", {}, [("1", " AFRICA "), ("2", "x")]),
        (b'1,"a,b"\r\n2,"c\r\nd"\r\n', {}, [("1", "a,b"), ("2", "c\r\nd")]),
        (b"1,2\r\n3,4\r", {}, [("1", "2"), ("3", "4\r")]),
        (b'1,"a\nb"', {}, [("1", "a\nb")]),
        (b'NULL,"NULL"\n', {}, [(None, "NULL")]),
        (b'"",\n', {}, [("", None)]),
        (b'"",\n', {"nullLiteral": "CDATA[]"}, [("", None)]),
        (b',NULL\n,"NULL"\n', {"nullLiteral": "CDATA[]"}, [(None, "NULL"), (None, "NULL")]),
        (b"''|\n|x\n", {"quote": "'", "delimiter": "|"}, [("", None), (None, "x")]),
        (b'a"b,""""\n', {}, [('a"b', '"')]),
        (b'a\\b,"c\\d"\n', {}, [("a\\b", "c\\d")]),
        (b'a\\b,"c\\"\\\\\\d"\n', {"escape": "backslash"}, [("a\\b", 'c"\\\\d')]),
        (b"'a''b';1\n", {"quote": "'", "delimiter": ";"}, [("a'b", "1")]),
        (b"\xef\xbb\xbf1,2\n", {}, [("1", "2")]),
        ("1,\xe4€😀\n".encode(), {}, [("1", "\xe4€😀")]),
        (b"", {}, []),
    ],
)
def test_fields_are_cut_at_delimiters_outside_of_quotes(data: bytes, options: Any, values: Any) -> None:
    assert rows(data, **PLAIN, **options) == [dict(zip("ab", row, strict=True)) for row in values]


def test_the_columns_come_from_the_header_or_the_option() -> None:
    tail = b"\nx,NULL,1,NULL,2,2,U,,\n"
    for header in (b"a,a,a,b,b,b,opType,cursor,operationcount", b"a_new_val,a_OLD_VAL,a_EXISTS_VAL,b,b,b,x,y,z"):
        (item,) = read("arcion_csv", header + tail, told("arcion_csv", tableName="T", includeHeader="true")).plain
        assert (item.before, item.after) == ({"b": "2"}, {"a": "x"})
    (item,) = read("arcion_csv", tail[1:], told("arcion_csv", **{**COLUMNS, "columns": "S.T=c,d"})).plain
    assert (item.before, item.after) == ({"d": "2"}, {"c": "x"})


@pytest.mark.parametrize(
    ("header", "options"),
    [
        (b"a,b", {}),
        (b"a,b,c,opType,cursor,operationcount", {}),
        (b"a_NEW_VAL,b_OLD_VAL,a_EXISTS_VAL,opType,cursor,operationcount", {}),
        (b"a,a", {"mode": "snapshot"}),
        (b"a,", {"mode": "snapshot"}),
        (b'a,"b"c', {"mode": "snapshot"}),
        (b"\xff,b", {"mode": "snapshot"}),
    ],
)
def test_a_header_that_names_no_columns_is_the_reason_of_every_record(header: bytes, options: Any) -> None:
    source = told("arcion_csv", tableName="T", includeHeader="true", **options)
    found = read("arcion_csv", header + b"\n1,2\n3,4\n", source)
    assert found.reasons == ["GG311 the header of the file does not name the columns"] * 2


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("given", [",", ";", "|", "CDATA[\t]", "CDATA[\x01]"])
@pytest.mark.parametrize("mark", [",", ";", "|", "\t", "\x01"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_header_with_another_delimiter_names_the_option(start: bytes, mark: str, given: str, native: bool) -> None:
    data = start + mark.join(("id", "name", "city")).encode() + b"\n" + mark.join(("1", "Ann", "")).encode() + b"\n"
    source = told("arcion_csv", tableName="T", mode="snapshot", includeHeader="true", delimiter=given)
    with nullcontext() if native else without_kernels():
        found = read("arcion_csv", data, source)
    if given.removeprefix("CDATA[").removesuffix("]") == mark:
        assert [item.after for item in found.plain] == [{"id": "1", "name": "Ann", "city": None}]
        return
    (reject,) = found.rejects
    assert found.plain == [] and "more often than the delimiter" in found.reasons[0]
    assert (reject.diagnostic.help or "").startswith("set `delimiter=")


def test_a_header_with_another_delimiter_may_have_the_given_one_too() -> None:
    source = told("arcion_csv", tableName="T", mode="snapshot", includeHeader="true")
    found = read("arcion_csv", b"id;name;price, EUR\n1;Ann;2,50\n", source)
    assert found.reasons == ["GG311 the header of the file has `;` more often than the delimiter"]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    ("header", "row", "values"),
    [
        (b"note", b"a;b|c\td", {"note": "a;b|c\td"}),
        (b"note", b"", {"note": None}),
        (b"note", b'""', {"note": ""}),
        (b'"a;b"', b"1;2", {"a;b": "1;2"}),
        (b'"a,b",c', b"1,", {"a,b": "1", "c": None}),
        (b"a;b,c", b"1,2", {"a;b": "1", "c": "2"}),
        (b"n1,2nd,v1.0,x-1", b"1,2,3,4", {"n1": "1", "2nd": "2", "v1.0": "3", "x-1": "4"}),
    ],
)
def test_names_that_are_odd_are_names(header: bytes, row: bytes, values: dict[str, Any], native: bool) -> None:
    source = told("arcion_csv", tableName="T", mode="snapshot", includeHeader="true")
    with nullcontext() if native else without_kernels():
        assert [item.after for item in read("arcion_csv", header + b"\n" + row + b"\n", source).plain] == [values]


@pytest.mark.parametrize(
    "first",
    [
        *(b"1,Ann", b'1,"Ann"', b"Ann,-3.50", b"Ann,1e9", b"Ann,2026-01-31", b"Ann,2026-01-31 18:30:51.5"),
        *(b"Ann,31.01.2026", b"Ann,1/31/2026", b"Ann,18:30", b"Ann,NULL", b"2019,2020"),
    ],
)
def test_values_are_no_names(first: bytes) -> None:
    """Unless they are in quotes, and the next row is not, or the option `columns` has them."""
    told_more = {"tableName": "T", "mode": "snapshot", "includeHeader": "true"}
    found = read("arcion_csv", first + b"\n2,Bob\n", told("arcion_csv", **told_more))
    assert found.reasons == ["GG311 the header of the file has a number, a time or a NULL in place of a name"]
    names = first.decode().replace('"', "")
    if b"NULL" not in first:
        (item,) = read("arcion_csv", first + b"\n2,Bob\n", told("arcion_csv", **told_more, columns=f"T={names}")).plain
        assert [*(item.after or {}).values()] == ["2", "Bob"]
    quoted = b",".join(b'"%s"' % name for name in names.encode().split(b","))
    (item,) = read("arcion_csv", quoted + b"\n2,Bob\n", told("arcion_csv", **told_more)).plain
    assert item.after == dict(zip(names.split(","), ("2", "Bob"), strict=True))
    every = read("arcion_csv", quoted + b'\n"2","Bob"\n', told("arcion_csv", **told_more))
    assert len(every.plain) == (names == "Ann,NULL")


@pytest.mark.parametrize("name", ["a;b", "a|b", "1", "2026-01-31", "a\tb", "NULL", "1.5"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_names_that_a_reader_would_doubt_are_in_quotes(name: str, quote: str) -> None:
    given = {"mode": "snapshot", "includeHeader": "true", "quote": quote}
    table = TableDef("T", (Column(name), Column("b")))
    header = FORMATS["arcion_csv"].write_support.framing(table, _options(given, "arcion_csv"), Context()).header
    assert header.startswith(f"{quote}{name}{quote},b".encode())
    (item,) = read("arcion_csv", header + b"x,NULL\n", told("arcion_csv", tableName="T", **given)).plain
    assert item.after == {name: "x", "b": None}


@pytest.mark.parametrize(
    ("file", "options", "table"),
    [
        ("/in/S.T/part-0.csv", {}, "S.T"),
        ("in/a%2Fb/x.csv", {}, "a/b"),
        ("in/a%FFb/x.csv", {}, "a%FFb"),
        ("s3://bucket/in/S.T.csv.gz", {"tableFrom": "file"}, "S.T"),
        ("S.T", {"tableFrom": "file"}, "S.T"),
        ("x/y.csv", {"tableName": "S.T"}, "S.T"),
        ("y.csv", {}, None),
    ],
)
def test_the_table_is_named_by_the_path_or_the_option(file: str, options: Any, table: str | None) -> None:
    source = told("arcion_csv", mode="snapshot", includeHeader="true", **options)
    data = b"a\n1\n"
    reader = FORMATS["arcion_csv"].read_support.reader(Catalog(), Projection(), source)
    events: list[Any] = []
    for chunk in reader.chunks(io.BytesIO(data), file, 0, None, layout_of("arcion_csv", data, source)):
        events += reader.read(chunk)
    if table is None:
        assert [event.diagnostic.message for event in events] == ["the path of the file does not name its table"]
    else:
        events += reader.flush()
        assert events[-1].table.full_name == table


@pytest.mark.parametrize("native", [True, False])
def test_a_header_is_no_row_and_its_names_count(native: bool) -> None:
    data = b"b,A\n2,1\n"
    with nullcontext() if native else without_kernels():
        given = {"mode": "snapshot", "tableName": "T", "columns": "T=B,a"}
        assert (
            read("arcion_csv", data, told("arcion_csv", **given)).reasons
            == ["GG311 the first row has the names of the columns"] * 2
        )
        swapped = told("arcion_csv", **{**given, "columns": "T=a,b", "includeHeader": "true"})
        assert [item.after for item in read("arcion_csv", data, swapped).plain] == [{"b": "2", "A": "1"}]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"1,2,3", "GG311 the row has 3 fields, but should have 9"),
        (b'"x"y,1,1,a,b,1,I,,', "GG311 a field has text after its closing quote, or has no closing quote"),
        (b'1,1,1,a,b,1,I,,"x', "GG311 a field has text after its closing quote, or has no closing quote"),
        (b"1,1,1,a,b,1,X,,", "GG304 `opType` cannot be `X`"),
        (b"1,1,1,a,b,NULL,I,,", "GG308 `exists` of a column cannot be NULL"),
        (b"1,1,5,a,b,1,I,,", "GG308 `exists` of a column cannot be `5`"),
        (b"1,1,1,a,b,1,I,x,", "GG308 `cursor` is not a string with a JSON object"),
        (b"1,1,1,a,b,2,I,,", "GG307 an insert has a before image"),
        (b"\xff,1,1,a,b,1,I,,", "GG303 the record is not UTF-8: byte 0xff at byte 0 of the record"),
    ],
)
def test_what_is_no_row_of_arcion_is_a_reject_with_its_reason(row: bytes, reason: str) -> None:
    good = b"1,NULL,1,a,NULL,1,I,,\n"
    found = read("arcion_csv", good + row + b"\n\n" + good, told("arcion_csv", **COLUMNS))
    assert found.reasons == [reason]
    assert len(found.plain) == 2
    assert found.others == {"blank line": 1}


def test_without_columns_every_row_is_a_reject_that_names_the_option() -> None:
    found = read("arcion_csv", b"1,2\n", told("arcion_csv", tableName="T"))
    assert found.reasons == ["GG205 the columns of the table are unknown"]
    assert found.rejects[0].diagnostic.help == "set `columns` or `includeHeader` with `--input-option`"


def test_records_are_found_wherever_blocks_of_the_file_end(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'1,"a\n""b"\r\n2,c"d\n"3\n",""\n"5",\n4,"never closed\n6,7\n8,9'
    whole = read("arcion_csv", data, told("arcion_csv", **PLAIN))
    assert len(whole.plain) == 6
    assert len(whole.rejects) == 1
    for size in range(1, len(data) + 2):
        monkeypatch.setattr(cut, "CHUNK_BYTES", size)
        assert read("arcion_csv", data, told("arcion_csv", **PLAIN)).operations == whole.operations
    layout = layout_of("arcion_csv", data, told("arcion_csv", **PLAIN))
    for size in (1, 4, 100):
        monkeypatch.setattr(cut, "CHUNK_BYTES", size)
        chunks = cut.chunks(io.BytesIO(data), "f", replace(layout, max_record=16))
        places = [(chunk.offset + start, chunk.offset + end) for chunk in chunks for start, end in chunk.spans or ()]
        assert places == sorted([*whole.places, (data.index(b"4,"), data.index(b"\n6,7"))])


@pytest.mark.parametrize("line_end", [b"", b"\n", b"\n5,6\n"])
@pytest.mark.parametrize("record", [b"1,2345678", b'1,"23\n56"', b'1,"345678'], ids=["plain", "quoted", "never closed"])
def test_a_record_may_be_as_long_as_the_limit(record: bytes, line_end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"3,4\n"
    data = head + record + line_end
    layout = layout_of("arcion_csv", data, told("arcion_csv", **PLAIN))

    def found(max_record: int) -> bool:
        chunks = cut.chunks(io.BytesIO(data), "f", replace(layout, max_record=max_record))
        places = [(chunk.offset + start, chunk.offset + end) for chunk in chunks for start, end in chunk.spans or ()]
        return (len(head), len(head) + len(record)) in places

    for size in range(1, len(data) + 2):
        monkeypatch.setattr(cut, "CHUNK_BYTES", size)
        assert found(len(record))
        assert not found(len(record) - 1)


@pytest.mark.parametrize("text", ["", "ab", "a", "1", '"', "CDATA[ ]", "\\", "_", "é", "CDATA[\n]"])
def test_a_delimiter_is_a_character_that_values_without_quotes_lack(text: str) -> None:
    with pytest.raises(InvalidValueError):
        FieldDelimiter().parse(text)


@pytest.mark.parametrize("text", ["a,b", '"', "CDATA[ ]", "é"])
def test_the_word_for_null_needs_no_quotes(text: str) -> None:
    with pytest.raises(InvalidValueError):
        NullWord().parse(text)


# Real messages


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages() -> None:
    found = read("arcion_json", (DATA / "arcion/huynguy-db_arcion-docs__arcion-internal-cdc-format.jsonl").read_bytes())
    assert found.rejects == []
    assert [(table.full_name, item.op, item.op_ts) for table, item in found.operations] == [
        ("tpch_scale_0_01.default_schema.nation", "I", "2022-07-11 05:21:43.000000"),
        ("tpch_scale_0_01.default_schema.nation", "U", "2022-07-11 05:22:26.000000"),
        ("tpch_scale_0_01.default_schema.nation", "D", "2022-07-11 05:22:34.000000"),
        ("io_blitzz.region", "I", "2021-05-12 02:54:48.431000"),
        ("io_blitzz.region", "U", "2021-05-12 02:54:50.478000"),
        ("io_blitzz.region", "D", "2021-05-12 02:54:52.539000"),
    ]
    assert [(item.before, item.after) for item in found.plain[3:]] == [
        (None, {"r_regionkey": "10", "r_comment": "India", "r_name": "India"}),
        ({"r_regionkey": "10"}, {"r_comment": "USA"}),
        ({"r_regionkey": "10"}, None),
    ]
    assert found.plain[1].pos == "log-bin.000010:9149"
    assert found.plain[4].tokens["partNum"] == "1"
    assert found.plain[5].tokens["deleteCount"] == "1"


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages_like_those_of_debezium_are_refused_with_the_way_to_read() -> None:
    found = read("arcion_json", (DATA / "arcion/huynguy-db_arcion-docs__json-cdc-format.jsonl").read_bytes())
    assert found.plain == []
    assert found.others == {"tombstone": 1}
    assert {(reject.diagnostic.message, reject.diagnostic.help) for reject in found.rejects} == {
        (
            "the record has no `tableName`",
            "if the record is Arcion's Debezium-like JSON, use `--input-format debezium_json`",
        )
    }


def test_the_rows_of_the_documentation_are_read() -> None:
    cursor = '"{""extractorId"":0,""nodeID"":""node1"",""timestamp"":1620787852116,""mutId"":1048480}"'
    data = (
        f'India,NULL,1,India,NULL,1,10,NULL,1,I,{cursor},"{{""insertCount"":6}}"\n'
        f'USA,NULL,1,NULL,NULL,0,NULL,10,2,U,{cursor},"{{}}"\n'
        f"NULL,NULL,0,NULL,NULL,0,NULL,10,2,D,{cursor},\n"
    ).encode()
    source = told("arcion_csv", tableName="tpch.region", columns="region=r_comment,r_name,r_regionkey")
    found = read("arcion_csv", data, source)
    assert [(item.op, item.before, item.after) for item in found.plain] == [
        ("I", None, {"r_comment": "India", "r_name": "India", "r_regionkey": "10"}),
        ("U", {"r_regionkey": "10"}, {"r_comment": "USA"}),
        ("D", {"r_regionkey": "10"}, None),
    ]
    assert {item.op_ts for item in found.plain} == {"2021-05-12 02:50:52.116000"}


# Runs


def test_the_definition_is_that_of_the_first_row_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read_rows: list[str] = []
    own = csv_read.ArcionCsv.changes

    def counted(self: csv_read.ArcionCsv, record: CsvRow) -> Any:
        read_rows.append(record.text)
        return own(self, record)

    monkeypatch.setattr(csv_read.ArcionCsv, "changes", counted)
    source = told("arcion_csv", tableName="T", includeHeader="true", mode="snapshot")
    data = b"id,n\n" + b"only one field\n" * 50 + b"1,2\n" * 1000
    with chunk_bytes(100):
        found = discover("arcion_csv", data, source)
    assert 50 < len(read_rows) < 200
    read_rows.clear()
    assert discover("arcion_csv", data, source) == found
    assert len(read_rows) == 1050


def test_a_run_writes_csv_that_a_run_reads(tmp_path: Path) -> None:
    data = lines(*GOOD, {**GOOD[0], "tableName": name("other", "s/1")})
    (tmp_path / "in.json").write_bytes(data)
    prefix = "gg.handler.h.format"
    settings = (f"{prefix}=arcion_csv", f"{prefix}.includeHeader=true")
    run_ggfmt([tmp_path / "in.json"], tmp_path / "one", *settings, input_format="arcion_json", split_size=200)
    files = output_files(tmp_path / "one", "h")
    assert [path.parent.name for path in files] == ["s%2F1.other", "tpch.nation"]
    (handler,) = read_configuration([], settings).handlers
    back = ("gg.handler.h.format=arcion_json",)
    source = WriterSettings(handler.options, Context())
    run_ggfmt([tmp_path / "one" / "h"], tmp_path / "two", *back, input_format="arcion_csv", source=source)
    run_ggfmt([tmp_path / "in.json"], tmp_path / "three", *back, input_format="arcion_json")
    assert content(tmp_path / "two", "h") == content(tmp_path / "three", "h")
