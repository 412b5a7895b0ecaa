"""Canal's JSON in both directions."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from contract import Case
from contract.canal import ROW, TYPES, cases, message
from dialects import DATA, lines, read, told, transactions_of, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, examples

from ggfmt.formats.api.reading import Remark
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.mysql.types import sql_type, type_text
from ggfmt.model.table import Column, Kind, SqlType, TableDef

AT = "2020-09-15 09:24:54.000000"


def operation(op: str, before: Any, after: Any, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, "58", before, after, {"id": "58", **tokens})


def test_rows_of_a_message_are_operations_with_one_position_and_an_index() -> None:
    found = read("canal_json", lines(message("INSERT", [ROW, {**ROW, "id": "2"}])))
    assert found.plain == [operation("I", None, ROW, row="0"), operation("I", None, {**ROW, "id": "2"}, row="1")]
    table = found.operations[0][0]
    assert table.full_name == "shop.t"
    assert [(c.name, str(c.type), c.key) for c in table.columns] == [
        ("id", "integer", 1), ("name", "string(50)", 0), ("price", "decimal(10,2)", 0),
    ]  # fmt: skip


def test_the_transaction_of_all_rows_of_a_message_is_known_by_its_gtid() -> None:
    messages = [message("INSERT", [ROW, ROW], gtid="a:1"), message("DELETE", [ROW], gtid=""), message("TRUNCATE")]
    assert transactions_of("canal_json", lines(*messages)) == ["a:1", "a:1", None, None]


def test_old_has_what_changed_and_null_in_it_was_null() -> None:
    found = read("canal_json", lines(message("UPDATE", [ROW, ROW], [{"name": None}, {}])))
    assert found.plain == [
        operation("U", {**ROW, "name": None}, ROW, row="0"),
        operation("U", ROW, ROW, row="1"),
    ]


def test_a_column_that_both_lack_is_missing_and_one_in_old_alone_was_there() -> None:
    found = read("canal_json", lines(message("UPDATE", [{"id": "1"}], [{"price": "1.00"}])))
    assert found.plain == [operation("U", {"id": "1", "price": "1.00"}, {"id": "1"})]


def test_without_old_an_update_has_no_before_image() -> None:
    found = read("canal_json", lines(message("UPDATE", [ROW])))
    assert found.plain == [operation("U", None, ROW)]


def test_deletes_lie_in_data_or_by_the_older_dts_in_old() -> None:
    assert read("canal_json", lines(message("DELETE", [ROW]))).plain == [operation("D", ROW, None)]
    old = message("DELETE", None, [ROW])
    assert read("canal_json", lines(old), told("canal_json", deleteRows="old")).plain == [operation("D", ROW, None)]
    refused = read("canal_json", lines(old))
    assert refused.reasons == ["GG305 a DELETE has no `data`"]
    assert refused.rejects[0].diagnostic.help == (
        "if DTS wrote the message before 2022-03-20, set `deleteRows=old` with `--input-option`"
    )


def test_statements_are_counted_and_a_truncate_is_an_operation() -> None:
    ddl = {"isDdl": True, "mysqlType": None}
    found = read(
        "canal_json",
        lines(
            message("INSERT", [ROW]),
            message("ALTER", **{**ddl, "sql": "alter table t add x int"}),
            message("TRUNCATE", **{**ddl, "sql": "truncate table t"}),
            message("QUERY", **{**ddl, "sql": "  TRUNCATE t"}),
            message("DDL", **{**ddl, "isDdl": None, "sql": "create"}),
            None,
        ),
    )
    assert found.others == {"ddl alter": 1, "ddl": 1, "tombstone": 1}
    assert found.plain == [operation("I", None, ROW), operation("T", None, None), operation("T", None, None)]


def test_other_types_are_another_definition_from_their_place_on() -> None:
    wider = {**TYPES, "note": "text"}
    data = lines(
        message("INSERT", [ROW]), message("INSERT", [{**ROW, "note": None}], mysqlType=wider), message("INSERT", [ROW])
    )
    found = read("canal_json", data)
    assert [len(table.columns) for table, _ in found.operations] == [3, 4, 3]
    assert [event.offset for event in found.definitions] == [0, *(i + 1 for i, b in enumerate(data[:-1]) if b == 10)]
    for size in (1, 100, 333):
        assert read("canal_json", data, size=size) == found


def shuffled(members: dict[str, Any], seed: int) -> dict[str, Any]:
    return dict(random.Random(seed).sample(list(members.items()), len(members)))


def as_by_ticdc(count: int, **wider: str) -> list[dict[str, Any]]:
    """Messages whose types and rows, all but the first, are in an order of their own."""
    row = {**ROW, "a": "1", "b": "2", **wider}
    types = {**TYPES, "a": "int", "b": "text", **dict.fromkeys(wider, "text")}
    return [
        message("INSERT", [shuffled(row, i) if i else row], mysqlType=shuffled(types, count + i)) for i in range(count)
    ]


def test_an_order_of_columns_alone_is_no_other_definition_however_the_input_is_split() -> None:
    data = lines(*as_by_ticdc(60))
    found = read("canal_json", data)
    assert {table.column_names for table, _ in found.operations} == {(*ROW, "a", "b")}
    assert [event.offset for event in found.definitions] == [0]
    for size in (100, 1000, len(data) // 2):
        assert read("canal_json", data, size=size) == found


def test_a_column_more_is_another_definition_in_the_order_of_the_one_before_it() -> None:
    narrow, wide = as_by_ticdc(20), as_by_ticdc(20, x="1")
    data = lines(*narrow, *wide[1:], *narrow[1:])
    found = read("canal_json", data)
    columns = (*ROW, "a", "b")
    assert [event.table.column_names for event in found.definitions] == [columns, (*columns, "x"), columns]
    for size in (100, 1000, 3000):
        assert read("canal_json", data, size=size) == found
    given = {"shop.t": TableDef("shop.t", tuple(map(Column, sorted((*columns, "x")))))}
    for cut in (None, 700):
        ordered = read("canal_json", data, size=cut, trusted=given)
        assert {table.column_names for table, _ in ordered.operations} == {
            tuple(sorted(columns)), tuple(sorted((*columns, "x"))),
        }  # fmt: skip


def test_without_types_the_columns_are_found_in_the_rows() -> None:
    data = lines(message("INSERT", [{"id": 1, "name": "a"}], mysqlType=None), message("DELETE", [ROW], mysqlType=None))
    found = read("canal_json", data)
    assert [c.name for c in found.operations[0][0].columns] == ["id", "name", "price"]
    assert found.operations[0][0].primary_keys == ("id",)
    assert found.plain[0].after == {"id": "1", "name": "a"}


def test_keys_may_be_told_by_an_option() -> None:
    source = told("canal_json", primaryKeys="shop.t=name,id")
    (table,) = {
        table for table, _ in read("canal_json", lines(message("INSERT", [ROW], pkNames=None)), source).operations
    }
    assert table.primary_keys == ("name", "id")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({**message("INSERT", [ROW]), "type": None}, "GG305 the record has no `type`"),
        (
            {**message("TRUNCATE", None), "type": None, "isDdl": True, "sql": "truncate table t"},
            "GG305 the record has no `type`",
        ),
        (message("UPSERT", [ROW]), "GG304 `type` cannot be `UPSERT`"),
        (message("INSERT", None), "GG305 a message of type INSERT has no rows in `data`"),
        (message("INSERT", [ROW], table=None), "GG305 the record has no `table`"),
        (message("INSERT", [ROW], database="a "), "GG306 the table name `a .t` has an empty part"),
        (message("INSERT", [{"other": "1"}]), "GG204 an image has a column that the definition of the table lacks"),
        (message("INSERT", ["x"]), "GG308 an image is a string and not an object"),
        (message("UPDATE", [ROW, ROW], [{}]), "GG308 `data` has 2 rows and `old` has 1"),
        (message("INSERT", [ROW], es="soon"), "GG308 `es` is not a number"),
        (message("INSERT", [ROW], es="1_0"), "GG308 `es` is not a number"),
        (message("INSERT", [ROW], es=10**17), "GG308 the time of the operation is out of range"),
        (message("INSERT", [ROW], mysqlType={"id": 1}), "GG308 `mysqlType` has a number and not a string"),
        (
            message("INSERT", {"id": "1"}),
            "GG308 the record has a member of the wrong type: expected `array | null`, got `object` at `$.data`",
        ),
        (
            message("INSERT", [{"id": "€"}], mysqlType={"id": "blob"}),
            "GG314 a value does not match the description of its column",
        ),
    ],
)
def test_what_is_no_message_of_canal_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read("canal_json", lines(message("INSERT", [ROW]), record, message("DELETE", [ROW])))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_bytes_and_booleans_are_converted() -> None:
    types = {"raw": "varbinary(10)", "flag": "boolean"}
    data = lines(message("INSERT", [{"raw": "\x00ÿ", "flag": "1"}, {"raw": None, "flag": "0"}], mysqlType=types))
    assert [item.after for item in read("canal_json", data).plain] == [
        {"raw": "AP8=", "flag": "true"}, {"raw": None, "flag": "false"},
    ]  # fmt: skip


# Writing


def test_messages_are_written_as_canal_writes_them() -> None:
    data = read("canal_json", lines(message("UPDATE", [ROW], [{"name": None}])))
    ((table, item),) = data.operations
    assert item == operation("U", {**ROW, "name": None}, ROW)
    from oracle import PlainColumn, PlainTable

    plain = PlainTable(table.full_name, tuple(PlainColumn(c.name, c.type.kind.value, c.key) for c in table.columns))
    assert written("canal_json", Changes(plain, [item], False), table).decode() == (
        '{"data":[{"id":"1","name":"a","price":"10.50"}],"database":"shop","es":1600161894000,"gtid":null,"id":58,'
        '"isDdl":false,"mysqlType":{"id":"bigint","name":"varchar(50)","price":"decimal(10,2)"},'
        '"old":[{"name":null}],"pkNames":["id"],"sql":"","sqlType":{"id":-5,"name":12,"price":3},"table":"t",'
        '"ts":1442583575447,"type":"UPDATE"}\n'
    )


@examples(60)
@given(cases(), st.integers(2, 5))
def test_batches_hold_the_same_operations(case: Case, size: int) -> None:
    source = told("canal_json", **case.options)
    one = read("canal_json", written("canal_json", case.changes, **case.options), source)
    data = written("canal_json", case.changes, None, batchSize=str(size), **case.options)
    many = read("canal_json", data, source)
    assert [replace(o, tokens={k: v for k, v in o.tokens.items() if k != "row"}) for o in many.plain] == one.plain
    for line in data.splitlines():
        assert len(json.loads(line)["data"] or ()) <= size


def test_a_time_that_is_none_cannot_be_written() -> None:
    made = Changes(*_one_row("not a time"))
    with pytest.raises(RowErrors, match="GG408"):
        written("canal_json", made)


def _one_row(op_ts: str) -> tuple[Any, list[PlainOperation], bool]:
    from oracle import PlainColumn, PlainTable

    table = PlainTable("S.T", (PlainColumn("A", "string"),))
    return table, [PlainOperation("I", op_ts, None, None, {"A": "x"}, {})], False


# Types


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("bigint(20) unsigned", SqlType(Kind.INTEGER, precision=20)),
        ("int(10) unsigned", SqlType(Kind.INTEGER)),
        ("mediumint(9)", SqlType(Kind.INTEGER, bits=32)),
        ("DECIMAL(10,2)", SqlType(Kind.DECIMAL, precision=10, scale=2)),
        ("numeric(8)", SqlType(Kind.DECIMAL, precision=8, scale=0)),
        ("double precision", SqlType(Kind.DOUBLE)),
        ("varchar(255)", SqlType(Kind.STRING, length=255)),
        ("datetime(6)", SqlType(Kind.TIMESTAMP, scale=6)),
        ("set('a','b')", SqlType(Kind.STRING)),
        ("longblob", SqlType(Kind.BINARY, base64=True)),
        ("", SqlType(Kind.STRING)),
    ],
)
def test_mysql_types(text: str, type: SqlType) -> None:
    assert sql_type(text) == type


@pytest.mark.parametrize("text", ["tinyint", "smallint", "int", "bigint", "bigint unsigned"])
def test_an_integer_keeps_its_size(text: str) -> None:
    assert type_text(sql_type(text))[0] == text


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.NUMBER, Kind.INTERVAL)])
def test_a_type_that_mysql_has_comes_back(kind: Kind) -> None:
    assert sql_type(type_text(SqlType(kind))[0]) == SqlType(kind, base64=kind is Kind.BINARY)


# Real messages


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages() -> None:
    found = read("canal_json", (DATA / "canal/apache_flink-connector-kafka__canal-data.txt").read_bytes())
    assert found.rejects == []
    assert found.others == {"ddl create": 1}
    assert [item.op for item in found.plain].count("I") == 11
    assert found.plain[0].op_ts == "2020-05-13 12:38:35.000000"
    every = read("canal_json", (DATA / "canal/apache_paimon__table_alltype_canal-data.txt").read_bytes())
    assert every.rejects == []
    assert len(every.plain) == 2
    dts = (DATA / "canal/alibaba_dts_doc__canal.jsonl").read_bytes()
    both = read("canal_json", dts, told("canal_json", deleteRows="old"))
    assert [item.before for item in both.plain] == [
        {"shipping_type": "aaa"}, {"id": "500000287", "shipping_type": None},
    ]  # fmt: skip
    assert both.others == {"ddl": 1}


def test_of_ticdc_the_commit_is_a_token_and_watermarks_are_counted() -> None:
    mark = message("TIDB_WATERMARK", mysqlType=None, pkNames=None, _tidb={"watermarkTs": 429918007904436226})
    found = read("canal_json", lines(message("INSERT", [ROW], _tidb={"commitTs": 435}), mark))
    assert found.plain == [operation("I", None, ROW, commitTs="435")]
    assert (found.others, found.members) == ({"watermark": 1}, {})


def test_of_ticdc_the_commit_tells_transactions_apart() -> None:
    blocks = [{"commitTs": 435}, {"commitTs": "436"}, {"commitTs": ""}, None]
    data = lines(*(message("INSERT", [ROW], _tidb=block) for block in blocks))
    assert transactions_of("canal_json", data) == ["435", "436", None, None]


@pytest.mark.parametrize(
    ("tidb", "reason", "help"),
    [
        (
            {"claimCheckLocation": "s3://KEY:SECRET@claims/1.json"},
            "GG305 the row is not in the message, but in the file that `_tidb.claimCheckLocation` names",
            "read the file that `claimCheckLocation` names instead; or configure TiCDC to write whole rows: ",
        ),
        (
            {"onlyHandleKey": True},
            "GG305 the message has only the key columns, not the row: `_tidb.onlyHandleKey`",
            "configure TiCDC to write whole rows: ",
        ),
    ],
)
def test_a_message_of_ticdc_without_its_row_is_a_reject(tidb: dict[str, Any], reason: str, help: str) -> None:
    data = lines(
        message("INSERT", [{"id": "1"}], _tidb={"commitTs": 435, **tidb}),
        message("INSERT", [ROW], _tidb={"commitTs": 435, "onlyHandleKey": False}),
    )
    found = read("canal_json", data)
    assert found.reasons == [reason]
    assert (found.rejects[0].diagnostic.help or "").startswith(help)
    assert "SECRET" not in str(found.rejects[0].diagnostic)
    assert found.plain == [operation("I", None, ROW, commitTs="435")]


def test_a_key_may_be_in_another_case_than_its_column() -> None:
    for types in (TYPES, None):
        found = read("canal_json", lines(message("INSERT", [ROW], pkNames=["ID"], mysqlType=types)))
        assert found.operations[0][0].primary_keys == ("id",)
        assert not found.remarks
    both = {**ROW, "iD": "2"}
    exact = read("canal_json", lines(message("INSERT", [both], pkNames=["iD"], mysqlType=None)))
    assert exact.operations[0][0].primary_keys == ("iD",)


@pytest.mark.parametrize("types", [TYPES, None], ids=["types", "no types"])
def test_a_key_that_no_column_has_is_told_with_its_operations(types: Any) -> None:
    record = message("INSERT", [ROW, ROW], pkNames=["id", "code"], mysqlType=types)
    data = lines(record, record)
    for size in (None, len(data) // 2):
        found = read("canal_json", data, size=size)
        assert found.operations[0][0].primary_keys == ("id",)
        assert found.remarks == {Remark("GG211", "shop.t", "whose key has `code`, but no column has this name"): 4}


def test_two_columns_that_differ_in_case_alone_are_no_key_of_a_third_name() -> None:
    found = read("canal_json", lines(message("INSERT", [{"a": "1", "A": "2"}], pkNames=["Ä", "a"], mysqlType=None)))
    assert found.operations[0][0].primary_keys == ("a",)
    assert [remark.detail for remark in found.remarks] == ["whose key has `Ä`, but no column has this name"]


def test_a_message_without_a_number_is_written_without_one() -> None:
    data = lines({name: value for name, value in message("INSERT", [ROW]).items() if name != "id"})
    found = read("canal_json", data)
    assert found.plain == [PlainOperation("I", AT, None, None, ROW, {})]
    made = Changes(
        PlainTable("shop.t", tuple(PlainColumn(name, "string", 0) for name in ROW)), found.plain, garbage=False
    )
    assert b'"id":' not in written("canal_json", made).replace(b'{"id":', b"{")
    assert read("canal_json", written("canal_json", made)).plain == found.plain


@pytest.mark.parametrize("seed", range(20))
def test_whatever_messages_tell_of_their_table_splits_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    records = []
    for number in range(chance.randint(2, 8)):
        row, types = {**ROW, "id": str(number)}, dict(TYPES)
        if chance.random() < 0.4:
            row["x"] = types["x"] = "text"
        if chance.random() < 0.2:
            del row["price"], types["price"]
        kind = chance.choice(["INSERT", "DELETE", "TRUNCATE"])
        told_types = shuffled(types, number) if chance.random() < 0.6 else None
        keys = chance.choice([["id"], ["ID"], ["price"], None])
        data = None if kind == "TRUNCATE" else [shuffled(row, seed)]
        records.append(message(kind, data, mysqlType=told_types, pkNames=keys))
    whole = read("canal_json", lines(*records))
    for size in (60, 400, 900):
        assert read("canal_json", lines(*records), size=size) == whole
