"""Maxwell's JSON in both directions."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from contract import Case
from contract.maxwell import ROW, cases, message, statement
from dialects import DATA, NOW, lines, read, told, transactions_of, written
from hypothesis import given
from oracle import PlainColumn, PlainOperation, PlainTable
from scanners import without_kernels
from strategies import Changes, examples, make_batch, plain_operations

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.writing import RowErrors
from ggfmt.model.table import Kind, SqlType

TEXTS = {"id": "1", "name": "a", "price": "10.5"}
AT = "2016-10-21 12:33:37.000000"


def operation(op: str, before: Any, after: Any, pos: str | None = None, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, pos, before, after, tokens)


# Reading


def test_rows_are_operations_with_the_place_in_their_transaction_as_tokens() -> None:
    place = {"position": "m.6:800911", "server_id": 2, "thread_id": 3, "schema_id": 4, "gtid": "a:1", "push_ts": 5}
    found = read(
        "maxwell_json",
        lines(
            message("insert", ROW, xid=7, xoffset=0, **place),
            message("delete", ROW, xid=7, commit=True, query="delete ...", gtid="a:2"),
        ),
    )
    tokens = {"server_id": "2", "thread_id": "3", "schema_id": "4", "push_ts": "5", "gtid": "a:1"}
    assert found.plain == [
        operation("I", None, TEXTS, "m.6:800911", xid="7", xoffset="0", **tokens),
        operation("D", TEXTS, None, "a:2", xid="7", query="delete ...", gtid="a:2", commit="true"),
    ]
    assert found.operations[0][0].full_name == "shop.t"


def test_the_transaction_is_known_by_its_xid() -> None:
    messages = [message("insert", ROW, xid=7), message("delete", ROW, xid=None, gtid="a:2"), message("insert", ROW)]
    assert transactions_of("maxwell_json", lines(*messages)) == ["7", None, None]


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_transactions_of_recorded_messages() -> None:
    data = (DATA / "maxwell/apache_flink-connector-kafka__maxwell-data.txt").read_bytes()
    xids = [str(json.loads(line)["xid"]) for line in data.splitlines()]
    assert transactions_of("maxwell_json", data) == xids
    assert len(set(xids)) == 10


def test_old_has_what_changed_and_without_it_there_is_no_before_image() -> None:
    found = read(
        "maxwell_json",
        lines(
            message("update", ROW, old={"name": None}),
            message("update", ROW),
            message("update", ROW, old={}),
            message("update", ROW, old=None),
            message("update", {"id": 1}, old={"price": 2}),
        ),
    )
    assert found.plain == [
        operation("U", {**TEXTS, "name": None}, TEXTS),
        *[operation("U", None, TEXTS)] * 3,
        operation("U", {"id": "1", "price": "2"}, {"id": "1", "price": None}),
    ]


@pytest.mark.parametrize("kernels", [True, False])
def test_no_before_image_comes_from_an_update_that_shows_none(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr("ggfmt.kernels.native", None)
    rows = [message("update", {**ROW, "id": number}, old=old) for number, old in enumerate([{}, {"id": 9}, None] * 20)]
    data = lines(*rows).replace(b'"old": {}', b'"old": { \n }'.replace(b"\n", b"\t"))
    befores = [item.before for item in read("maxwell_json", data).plain]
    assert befores == [None, {**TEXTS, "id": "9"}, None] * 20


def test_a_before_image_survives_maxwell_as_it_was_or_not_at_all() -> None:
    """What came through a format of rows has no before image, and gets none on the way through Maxwell."""
    before, after = {"ID": "1", "N": "x"}, {"ID": "1", "N": "x", "F": "true"}
    ops = [
        PlainOperation("U", AT, None, None, after, {}),
        PlainOperation("U", AT, None, {}, after, {}),
        PlainOperation("U", AT, None, before, after, {}),
        PlainOperation("U", AT, None, {"N": "y"}, after, {}),
    ]
    data = written("maxwell_json", Changes(TABLE, ops, True))
    assert [json.loads(line)["old"] for line in data.splitlines()] == [{}, {}, {}, {"N": "y"}]
    assert [item.before for item in read("maxwell_json", data).plain] == [None, None, None, {**after, "N": "y"}]


def test_values_keep_their_own_characters() -> None:
    values = '{"u":18446744073709551615,"d":4500000001.512456777,"e":1e-7,"s":["a", "b"],"n":[],"j":{"x": [1, null]},'
    values += '"t":true,"z":"0000-00-00 00:00:00.000000","b":"AP8=","o":null}'
    data = b'{"database":"d","table":"t","type":"insert","ts":0,"data":' + values.encode() + b"}\n"
    (found,) = read("maxwell_json", data).plain
    assert found.after == {
        "u": "18446744073709551615", "d": "4500000001.512456777", "e": "1e-7", "s": '["a", "b"]', "n": "[]",
        "j": '{"x": [1, null]}', "t": "true", "z": "0000-00-00 00:00:00.000000", "b": "AP8=", "o": None,
    }  # fmt: skip


def test_a_bootstrap_is_inserts_between_marks() -> None:
    found = read(
        "maxwell_json",
        lines(message("bootstrap-start", {}), message("bootstrap-insert", ROW), message("bootstrap-complete", {})),
    )
    assert found.plain == [operation("I", None, TEXTS, snapshot="true")]
    assert found.others == {"bootstrap start": 1, "bootstrap complete": 1}


def test_statements_with_a_definition_are_metadata_changes_and_others_are_counted() -> None:
    data = lines(
        message("insert", ROW),
        statement(),
        message("insert", {**ROW, "at": None, "flags": 5, "raw": "AP8=", "some": ["a"]}),
        statement("table-drop", **{"def": None}),
        {"type": "database-create", "database": "shop", "ts": 1, "sql": "..."},
        None,
    )
    found = read("maxwell_json", data)
    assert [(c.name, str(c.type)) for c in found.operations[0][0].columns] == [
        ("id", "decimal"), ("name", "string"), ("price", "decimal"),
    ]  # fmt: skip
    assert [(c.name, str(c.type), c.key) for c in found.operations[1][0].columns] == [
        ("id", "integer(20)", 1), ("name", "string", 0), ("price", "decimal", 0), ("at", "timestamp(6)", 0),
        ("flags", "integer", 0), ("raw", "binary", 0), ("some", "string", 0),
    ]  # fmt: skip
    assert found.plain[1].after == {**TEXTS, "at": None, "flags": "5", "raw": "AP8=", "some": '["a"]'}
    assert found.others == {"ddl table-drop": 1, "ddl database-create": 1, "tombstone": 1}
    assert [event.offset for event in found.definitions] == [data.index(b'{"type": "table-alter"')]
    for size in (1, 100, 333):
        assert read("maxwell_json", data, size=size) == found


@pytest.mark.parametrize(
    ("members", "type"),
    [
        ({"type": "bigint", "signed": False}, SqlType(Kind.INTEGER, precision=20)),
        ({"type": "bigint", "signed": True}, SqlType(Kind.INTEGER)),
        ({"type": "int", "signed": False}, SqlType(Kind.INTEGER)),
        ({"type": "int", "signed": None}, SqlType(Kind.INTEGER, bits=32)),
    ],
)
def test_integers_of_a_definition_have_signs(members: dict[str, Any], type: SqlType) -> None:
    columns = {"columns": [{"name": "id", **members}]}
    data = lines(statement(**{"def": columns}), message("insert", {"id": 18446744073709551615}))
    assert read("maxwell_json", data).operations[0][0].columns[0].type == type


def test_keys_are_told_by_rows_or_by_an_option() -> None:
    told_by_rows = read("maxwell_json", lines(message("insert", ROW, primary_key=["a"], primary_key_columns=["name"])))
    assert told_by_rows.operations[0][0].primary_keys == ("name",)
    source = told("maxwell_json", primaryKeys="t=name,id")
    assert read("maxwell_json", lines(message("insert", ROW)), source).operations[0][0].primary_keys == ("name", "id")


@pytest.mark.parametrize(
    "projection", [Projection(tokens=True), Projection(row_only=True), Projection(row_only=True, key_updates=True)]
)
def test_what_is_not_there_is_missing_or_null_as_the_option_says(projection: Projection) -> None:
    data = lines(message("insert", ROW), message("update", {"id": 2}, old={"id": 1}), message("delete", {"id": 2}))
    shown = read("maxwell_json", data, projection=projection).plain
    assert [item.after or item.before for item in shown] == [TEXTS, {"id": "2"}, {"id": "2"}]
    filled = read("maxwell_json", data, told("maxwell_json", absentMeans="null"), projection=projection).plain
    two = {"id": "2", "name": None, "price": None}
    assert [item.after or item.before for item in filled] == [TEXTS, two, two]
    if not projection.row_only:
        assert [item.before for item in filled] == [None, {**two, "id": "1"}, two]


@pytest.mark.parametrize(
    "projection", [Projection(tokens=True), Projection(row_only=True), Projection(row_only=True, key_updates=True)]
)
@pytest.mark.parametrize("order", [("data", "old"), ("old", "data")])
@pytest.mark.parametrize("keys", [{}, {"primary_key_columns": ["id"]}])
def test_a_column_in_old_alone_has_become_null(projection: Projection, order: tuple[str, ...], keys: Any) -> None:
    rows = [
        message("insert", ROW, **keys),
        message("update", {"id": 1, "name": "b"}, old={"name": "a", "price": 2}, **keys),
        message("update", {"id": 1, "name": "c"}, old={"name": "b"}, **keys),
        message("update", ROW, old={"name": "c"}, **keys),
    ]
    data = lines(*({name: row.pop(name) for name in order if name in row} | row for row in rows))
    found = read("maxwell_json", data, projection=projection)
    assert [item.after for item in found.plain] == [
        TEXTS, {"id": "1", "name": "b", "price": None}, {"id": "1", "name": "c"}, TEXTS,
    ]  # fmt: skip
    with without_kernels():
        assert read("maxwell_json", data, projection=projection) == found


@pytest.mark.parametrize(
    "projection", [Projection(tokens=True), Projection(row_only=True), Projection(row_only=True, key_updates=True)]
)
@pytest.mark.parametrize("absent", ["missing", "null"])
def test_a_key_that_an_update_leaves_out_has_become_null(absent: str, projection: Projection) -> None:
    keys: Any = {"primary_key_columns": ["id"]}
    rows = (message("update", {"name": "a"}, old={"id": 1}, **keys), message("update", ROW, old={"name": "b"}, **keys))
    found = read("maxwell_json", lines(*rows), told("maxwell_json", absentMeans=absent), projection=projection)
    asked = projection.key_updates or not projection.row_only
    assert found.key_updates == [asked, False]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (message("insert", ROW, type=None), "GG305 the record has no `type`"),
        (message("upsert", ROW), "GG304 `type` cannot be `upsert`"),
        (message("x" * 50, ROW), "GG304 `type` cannot be `...`"),
        (message("insert", None), "GG305 the record has no `data`"),
        (message("insert", ROW, table=None), "GG305 the record has no `table`"),
        (message("insert", ROW, database="a "), "GG306 the table name `a .t` has an empty part"),
        (message("insert", "x"), "GG308 an image is a string and not an object"),
        (message("insert", ROW, ts=10**17), "GG308 the time of the operation is out of range"),
        (
            message("insert", ROW, ts="soon"),
            "GG308 the record has a member of the wrong type: expected `int | null`, got `str` at `$.ts`",
        ),
        (
            message("insert", None, encrypted={"iv": "x", "bytes": "y"}),
            "GG305 the record has no `data`: it is encrypted",
        ),
        ({"encrypted": {"iv": "x", "bytes": "y"}}, "GG305 the record has no `data`: it is encrypted"),
        (
            statement(**{"def": {"columns": [{"name": 1}]}}),
            "GG308 `def` does not have a name and a type for each column",
        ),
        (
            statement(**{"def": {"columns": [{"name": "a", "type": "int"}] * 2}}),
            "GG308 `def` has two columns with the same name",
        ),
    ],
)
def test_what_is_no_message_of_maxwell_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read("maxwell_json", lines(message("insert", ROW), record, message("delete", ROW)))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_it_is_recognised_by_its_database_and_type() -> None:
    sniff = FORMATS["maxwell_json"].read_support.reader.sniff
    assert sniff(lines(message("insert", ROW))) == "a record has `database` and the type `insert`"
    assert sniff(lines(statement())) == "a record has `database` and the type `table-alter`"
    assert sniff(lines(message("INSERT", [ROW], isDdl=False))) is None
    assert sniff(lines({**message("insert", ROW), "database": None, "isDdl": False})) is None


# Writing

TABLE = PlainTable("S.T", (PlainColumn("ID", "integer", 1), PlainColumn("N", "string"), PlainColumn("F", "boolean")))


def test_messages_are_written_as_maxwell_writes_them() -> None:
    ops = [
        PlainOperation("I", "2020-01-01 00:00:00.999999", "p", None, {"ID": "1", "N": None}, {"snapshot": "true"}),
        PlainOperation(
            "U", "2020-01-01 00:00:00", "p", {"ID": "1", "N": None}, {"ID": "1", "N": "x"}, {"xid": "7", "xoffset": "2"}
        ),
        PlainOperation("U", None, None, None, {"ID": "1", "F": "true"}, {"xid": "7.0.1", "commit": "true", "x": "y"}),
        PlainOperation("D", "1969-12-31 23:59:59.5", "g", {"ID": "1"}, None, {"gtid": "g", "server_id": "3"}),
    ]
    head = '{"database":"S","table":"T","type":'
    keys = '"primary_key":[1],"primary_key_columns":["ID"]'
    assert written("maxwell_json", Changes(TABLE, ops, True), outputPrimaryKeys="true").decode().splitlines() == [
        head + f'"bootstrap-insert","ts":1577836800,"position":"p",{keys},"data":{{"ID":1,"N":null}}}}',
        head + f'"update","ts":1577836800,"xid":7,"xoffset":2,"position":"p",{keys},'
        '"data":{"ID":1,"N":"x"},"old":{"N":null}}',
        head + f'"update","ts":null,"commit":true,{keys},"data":{{"ID":1,"F":true}},"old":{{}}}}',
        head + f'"delete","ts":-1,"gtid":"g","server_id":3,{keys},"data":{{"ID":1}}}}',
    ]
    short = written("maxwell_json", Changes(TABLE, ops[:1], True), outputPosition="false", outputNulls="false",
                    outputPrimaryKeyColumns="false")  # fmt: skip
    assert short.decode() == head + '"bootstrap-insert","ts":1577836800,"data":{"ID":1}}\n'


def test_a_truncate_a_bad_time_and_a_bad_number_cannot_be_written() -> None:
    truncate = [PlainOperation("T", AT, None, None, None, {})]
    with pytest.raises(RowErrors, match=r"GG408.*Maxwell cannot represent a truncate"):
        written("maxwell_json", Changes(TABLE, truncate, False))
    with pytest.raises(RowErrors, match="GG408"):
        written("maxwell_json", Changes(TABLE, [PlainOperation("I", "noon", None, None, {"ID": "1"}, {})], False))
    with pytest.raises(RowErrors, match="GG401"):
        written("maxwell_json", Changes(TABLE, [PlainOperation("I", AT, None, None, {"ID": "x"}, {})], False))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {("N", "missing from the before image, which will be read back as unchanged"): 1}),
        (
            {"outputNulls": "false", "absentMeans": "null"},
            {("F", "missing from the image, which will be read back as NULL"): 4},
        ),
        ({"outputNulls": "false"}, {("N", "NULL, which will be read back as missing"): 1}),
        ({}, {("ID", "in a before image without a change, which will be read back as no before image"): 1}),
    ],
)
def test_values_that_are_not_told_apart_are_counted(
    options: dict[str, str], expected: dict[tuple[str, str], int]
) -> None:
    ops = [
        PlainOperation("I", AT, None, None, {"ID": "1", "N": None}, {}),
        PlainOperation("U", AT, None, {"ID": "1"}, {"ID": "1", "N": "x"}, {}),
        PlainOperation("U", AT, None, {"ID": "2"}, {"ID": "1", "N": "x"}, {}),
        PlainOperation("U", AT, None, None, {"ID": "1", "N": "x"}, {}),
    ]
    batch = make_batch(Changes(TABLE, ops, True))
    parsed = FORMATS["maxwell_json"].options.parse(options)
    formatter = FORMATS["maxwell_json"].write_support.formatter(batch.table, parsed, Context(), Clock(NOW))
    formatter.format(batch)
    counted = Counter({(note.field, note.detail): count for note, count in formatter.notes.items()})
    assert counted >= Counter(expected)


@examples(60)
@given(cases())
def test_messages_are_json_with_the_values_of_the_columns(case: Case) -> None:
    made = case.changes
    data = written("maxwell_json", made)
    kinds = {column.name: column.kind for column in made.table.columns}
    for line, item in zip(data.splitlines(), plain_operations(make_batch(made)), strict=True):
        shown = json.loads(line, parse_float=str, parse_int=str)["data"]
        row = item.before if item.op == "D" else item.after
        assert row is not None
        assert shown.keys() == row.keys()
        for name, value in row.items():
            assert shown[name] == (value == "true" if kinds[name] == "boolean" and value is not None else value)


# Real messages


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages() -> None:
    data = (DATA / "maxwell/apache_flink-connector-kafka__maxwell-data.txt").read_bytes()
    found = read("maxwell_json", data)
    assert found.rejects == []
    assert Counter(item.op for item in found.plain) == {"I": 11, "U": 6, "D": 3}
    rows: dict[str | None, Any] = {}
    last: dict[str | None, str] = {}
    for item in found.plain:
        if item.op != "I":
            assert item.before is not None
            assert rows.pop(item.before["id"]) == item.before
        if item.after is not None:
            rows[item.after["id"]] = item.after
            last[item.after["name"]] = (item.op_ts or "").replace(" ", "T").removesuffix(".000000")
    expected = DATA / "maxwell/apache_flink-connector-kafka__maxwell-data.expected.txt"
    wanted = [line[3:-1].split(", ") for line in expected.read_text().splitlines() if line.startswith("+I[")]
    assert {fields[5]: fields[4] for fields in wanted} == last
    assert {(fields[1], fields[2]) for fields in wanted} == {("test", "product")}
