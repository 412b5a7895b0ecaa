"""Qlik Replicate's messages in JSON, and what both encodings share; those in Avro are in test_qlik_avro."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.qlik import COLUMNS, ROW, change, metadata
from contract.qlik_avro import ID, column
from dialects import DATA, NOW, Read, lines, read, told, transactions_of, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from qlik_changes import AT, BARE, TABLE, TOKENS
from runs import content, output_files, run_ggfmt, snapshot, write_lines
from strategies import Changes, examples, make_batch, table_def

from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join, join_binary
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.qlik.masks import BYTES, HEX_DIGITS, Ordinals, mask_pieces
from ggfmt.formats.qlik.types import sql_type, type_word
from ggfmt.model.table import Column, Kind, SqlType, TableDef

TEXTS = {"ID": "1", "NAME": "a", "PRICE": "10.50"}


def operation(op: str, before: Any, after: Any, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, "p1", before, after, {**TOKENS, **tokens})


def found_in(*records: Any, trusted: dict[str, TableDef] | None = None, **options: str) -> Read:
    return read("qlik_json", lines(*records), told("qlik_json", **options), trusted=trusted or {})


# Reading


def test_a_metadata_message_gives_the_columns_by_their_ordinals() -> None:
    found = found_in(metadata(), change("INSERT", ROW))
    assert found.plain == [operation("I", None, TEXTS)]
    (table,) = (table for table, _ in found.operations)
    assert table.full_name == "S.T"
    assert [(c.name, str(c.type), c.nullable, c.key) for c in table.columns] == [
        ("ID", "integer", False, 1), ("NAME", "string", True, 0), ("PRICE", "decimal(10,2)", True, 0),
    ]  # fmt: skip


def test_the_transaction_is_known_by_the_headers_wherever_they_are() -> None:
    envelopes = [change("INSERT", ROW, transactionId=text) for text in ("tx", "", None, 7)]
    assert transactions_of("qlik_json", lines(metadata(), *envelopes)) == ["tx", None, None, "7"]
    headers = {"headers_operation": "INSERT", "headers_changeSequence": "1", "schema": "S", "table": "T"}
    flattened = [{"data": ROW, **headers, "headers_transactionId": text} for text in ("tx", "tx", None)]
    assert transactions_of("qlik_json", lines(*flattened)) == ["tx", "tx", None]


def test_updates_and_deletes_wherever_their_rows_are() -> None:
    old = {**ROW, "NAME": None}
    found = found_in(
        metadata(),
        change("UPDATE", ROW, old),
        change("UPDATE", ROW),
        change("DELETE", ROW),
        change("DELETE", None, ROW),
        change("delete", {"ID": None, "NAME": None, "PRICE": None}, ROW),
    )
    assert found.plain == [
        operation("U", {**TEXTS, "NAME": None}, TEXTS),
        operation("U", None, TEXTS),
        *[operation("D", TEXTS, None)] * 3,
    ]


def test_rows_of_a_full_load_are_a_snapshot_without_time_and_position() -> None:
    empty = dict.fromkeys(("changeSequence", "timestamp", "streamPosition", "transactionId"), "")
    nothing = {"transactionEventCounter": None, "transactionLastEvent": None, "externalSchemaId": None}
    found = found_in(metadata(), *(change(word, ROW, **empty, **nothing) for word in ("REFRESH", "READ", "read")))
    tokens = {"snapshot": "true", "server": "srv", "task": "job"}
    assert found.plain == [PlainOperation("I", None, None, None, TEXTS, tokens)] * 3


def test_the_position_is_the_header_that_an_option_names_and_the_other_is_a_token() -> None:
    found = found_in(metadata(), change("INSERT", ROW, externalSchemaId="e"), position="changeSequence")
    tokens = {name: text for name, text in TOKENS.items() if name != "changeSequence"}
    assert found.plain == [
        PlainOperation("I", AT, "201", None, TEXTS, {**tokens, "streamPosition": "p1", "externalSchemaId": "e"})
    ]


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("2023-03-21T21:34:19", "2023-03-21 21:34:19.000000"),
        ("2023-03-21T21:34:19.5Z", "2023-03-21 21:34:19.500000"),
        ("2023-03-21 21:34:19.123456", "2023-03-21 21:34:19.123456"),
        (None, None),
    ],
)
def test_times_are_padded_to_six_digits(stamp: str | None, shown: str | None) -> None:
    (item,) = found_in(metadata(), change("INSERT", ROW, timestamp=stamp)).plain
    assert item.op_ts == shown


def test_metadata_may_come_behind_the_changes_that_it_describes() -> None:
    found = found_in(change("INSERT", ROW), metadata(), change("DELETE", ROW))
    assert found.plain == [operation("I", None, TEXTS), operation("D", TEXTS, None)]
    assert [event.offset for event in found.definitions] == [0]


def test_changes_follow_their_own_metadata_wherever_it_stands() -> None:
    wider = {**COLUMNS, "NOTE": column(4)}
    data = lines(
        metadata(),
        change("INSERT", ROW),
        metadata(wider, "2", tableVersion=2),
        change("INSERT", {**ROW, "NOTE": "n"}, schema_id="2"),
        change("INSERT", ROW),
        metadata(schema_id="3", table="OTHER"),
        change("INSERT", ROW, schema_id="3"),
    )
    found = read("qlik_json", data)
    assert found.rejects == []
    assert [(table.name, len(table.columns)) for table, _ in found.operations] == [
        ("T", 3), ("T", 4), ("T", 3), ("OTHER", 3),
    ]  # fmt: skip
    for size in (1, 400, 700, 1500):
        assert read("qlik_json", data, size=size) == found


@pytest.mark.parametrize(
    "record",
    [
        {"data": ROW, "beforeData": None, "headers": {"operation": "insert", "changeSequence": "7"}},
        {"data": ROW, "headers_operation": "INSERT", "headers_changeSequence": "7"},
        {"message": {"data": ROW, "headers_operation": "INSERT", "headers_changeSequence": 7}},
        {"message": {"data": ROW, "operation": "INSERT", "headers": {"changeSequence": "7"}}},
        {"magic": "atMSG", "type": "DT", "messageSchemaId": None, "messageSchema": "{}",
         "message": {"data": ROW, "headers": {"operation": "INSERT", "changeSequence": "7"}}},
    ],
)  # fmt: skip
def test_envelopes_may_lack_and_headers_lie_flat(record: Any) -> None:
    expected = PlainOperation("I", None, None, None, TEXTS, {"changeSequence": "7", "server": "srv", "task": "job"})
    assert found_in(metadata(), record, tableName="S.T").plain == [expected]
    bare = replace(expected, tokens={"changeSequence": "7"})
    assert found_in(record, tableName="S.T").plain == [bare]
    named = {**record, "message": {**record["message"], "schema": "S", "table": "T"}} if "message" in record else record
    if named is not record:
        assert found_in(named).plain == [bare]


def test_without_metadata_the_table_is_told_by_options() -> None:
    lost = change("INSERT", ROW)
    neither = change("INSERT", ROW, schema_id=None)
    found = found_in(lost, neither)
    assert found.reasons == [
        f"GG205 no metadata message has the schema id `{ID}`",
        "GG205 the change names neither its table nor a schema id",
    ]
    help = found.rejects[0].diagnostic.help
    assert help is not None
    assert "`tableName`" in help
    assert "`--definitions`" in help
    named = found_in(lost, neither, tableName="S.T", primaryKeys="S.T=ID")
    assert named.plain == [PlainOperation("I", AT, "p1", None, TEXTS, BARE)] * 2
    assert named.operations[0][0].primary_keys == ("ID",)
    table = TableDef("S.T", (Column("ID", SqlType(Kind.INTEGER), key=1), Column("NAME"), Column("PRICE")))
    assert found_in(lost, tableName="S.T", trusted={"S.T": table}).operations[0][0] == table


def test_an_id_of_several_tables_says_nothing_until_the_table_is_named() -> None:
    records = metadata(), metadata(table="OTHER"), change("INSERT", ROW)
    reason = f"GG205 2 tables have the schema id `{ID}`, and the change does not identify one"
    assert found_in(*records).reasons == [reason]
    assert found_in(*records[::-1]).reasons == [reason]
    (found,) = found_in(*records, tableName="S.OTHER").operations
    assert found[0].full_name == "S.OTHER"
    twice = found_in(metadata(), metadata(), change("INSERT", ROW))
    assert twice.plain == [operation("I", None, TEXTS)]


def test_a_named_table_with_metadata_that_differ_needs_an_id() -> None:
    records = metadata(), metadata({"ID": column(1)}, "2"), change("INSERT", ROW, schema_id=None)
    assert found_in(*records, tableName="S.T").reasons == [
        "GG205 the table `S.T` has 2 different metadata messages, and the change does not identify one"
    ]


# Masks


def wide(count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {f"C{n}": column(n) for n in range(count, 0, -1)}, {f"C{n}": None for n in range(1, count + 1)}


@pytest.mark.parametrize(
    ("count", "mask", "there"),
    [
        (3, "05", [1, 3]),
        (3, "5", [1, 3]),
        (3, "1", [1]),
        (4, "0B", [1, 2, 4]),
        (4, "0000b", [1, 2, 4]),
        (16, "008080", [8, 16]),
        (16, "8080", [8, 16]),
        (16, "00FFFF", list(range(1, 17))),
        (16, "00", []),
        (40, "0080000001", [1, 32]),
        (40, "8000000000", [40]),
        (40, "00FFFFFFFFFF", list(range(1, 41))),
    ],
)
def test_a_mask_is_one_big_endian_number(count: int, mask: str, there: list[int]) -> None:
    columns, row = wide(count)
    found = found_in(metadata(columns), change("INSERT", row, columnMask=mask, changeMask=mask))
    (item,) = found.plain
    assert item.after == {f"C{n}": None for n in there}
    definition = TableDef("S.T", tuple(Column(f"C{n}") for n in range(1, count + 1)))
    records = change("INSERT", row, columnMask=mask, changeMask=mask)
    assert found_in(records, tableName="S.T", trusted={"S.T": definition}).plain[0].after == item.after


def test_a_column_without_its_bit_is_missing_and_in_the_before_image_if_it_is_null() -> None:
    old = {"ID": 1, "NAME": "was", "PRICE": None}
    found = found_in(
        metadata(),
        change("UPDATE", {**ROW, "NAME": None}, old, columnMask="01"),
        change("UPDATE", {**ROW, "NAME": None}, old, columnMask="05"),
        change("DELETE", {"ID": 1, "NAME": None, "PRICE": None}, columnMask="01"),
        change("DELETE", None, {"ID": 1, "NAME": None, "PRICE": "1"}, columnMask="01"),
        change("UPDATE", {**ROW, "NAME": None}, old, columnMask="07"),
        change("UPDATE", {**ROW, "NAME": None}, old, columnMask=""),
    )
    before = {"ID": "1", "NAME": "was"}
    after = {"ID": "1", "PRICE": "10.50"}
    both = operation("U", {**before, "PRICE": None}, {**after, "NAME": None})
    assert found.plain == [
        operation("U", before, {"ID": "1"}),
        operation("U", {**before, "PRICE": None}, after),
        operation("D", {"ID": "1"}, None),
        operation("D", {"ID": "1", "PRICE": "1"}, None),
        both,
        both,
    ]


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"columnMask": "0F"}, "GG308 `columnMask` has a bit for the column 4, and the highest ordinal is 3"),
        ({"changeMask": "0100"}, "GG308 `changeMask` has a bit for the column 9, and the highest ordinal is 3"),
        ({"columnMask": "0x7"}, "GG308 `columnMask` does not consist of hexadecimal digits"),
        ({"columnMask": "-1"}, "GG308 `columnMask` does not consist of hexadecimal digits"),
        ({"changeMask": "0 7"}, "GG308 `changeMask` does not consist of hexadecimal digits"),
    ],
)
def test_masks_that_do_not_fit_are_refused(headers: Any, reason: str) -> None:
    assert found_in(metadata(), change("INSERT", ROW, **headers)).reasons == [reason]


def test_a_mask_without_ordinals_is_understood_only_if_nothing_is_missing() -> None:
    found = found_in(change("INSERT", ROW, columnMask="07"), change("INSERT", ROW, columnMask="05"), tableName="S.T")
    assert [item.after for item in found.plain] == [TEXTS]
    assert found.reasons == ["GG305 `columnMask` leaves out columns, and no metadata message has their ordinals"]


@examples(60)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=70), st.sampled_from([0, 1, 7]))
def test_masks_are_written_as_they_are_read(bits: list[list[bool]], constant: int) -> None:
    import pyarrow as pa

    given_bits: list[Any] = [pa.array(column) for column in bits]
    for place in range(0, len(bits), constant or len(bits) + 1):
        given_bits[place] = bits[place][0]
    numbers = []
    for row in range(3):
        values = [bit if isinstance(bit, bool) else bit[row].as_py() for bit in given_bits]
        numbers.append(sum(1 << place for place, value in enumerate(values) if value))
    size = len(bits) // 8 + 1
    assert join(mask_pieces(given_bits, HEX_DIGITS), 3).to_pylist() == [f"{n:0{2 * size}X}" for n in numbers]
    assert join_binary(mask_pieces(given_bits, BYTES), 3).to_pylist() == [n.to_bytes(size, "big") for n in numbers]
    ordinals = Ordinals((f"C{n}", n) for n in range(1, len(bits) + 1))
    for number in numbers:
        unset = {f"C{n}" for n in range(1, len(bits) + 1) if not number & 1 << (n - 1)}
        assert ordinals.unset(f"{number:x}", "columnMask", "T") == unset


# Values and types


def test_values_are_converted_by_the_type_of_their_column() -> None:
    columns = {
        "RAW": column(1, "BYTES"), "LOB": column(2, "BLOB"), "FLAG": column(3, "BOOLEAN"), "BIG": column(4, "UINT8"),
        "AT": column(5, "DATETIME"), "DAY": column(6, "DATE"), "NUM": column(7, "INT8"), "REAL": column(8, "REAL8"),
    }  # fmt: skip
    row = {
        "RAW": "00ff", "LOB": "", "FLAG": True, "BIG": "18446744073709551615", "AT": "2023-03-21T14:34:21.000000",
        "DAY": "1993-11-25", "NUM": 9007199254740993, "REAL": 0.1,
    }  # fmt: skip
    found = found_in(metadata(columns), change("INSERT", row), change("INSERT", {**row, "FLAG": "0", "NUM": "7"}))
    assert found.plain[0].after == {
        "RAW": "AP8=", "LOB": "", "FLAG": "true", "BIG": "18446744073709551615", "AT": "2023-03-21T14:34:21.000000",
        "DAY": "1993-11-25", "NUM": "9007199254740993", "REAL": "0.1",
    }  # fmt: skip
    assert found.plain[1].after is not None
    assert (found.plain[1].after["FLAG"], found.plain[1].after["NUM"]) == ("false", "7")


@pytest.mark.parametrize(
    ("words", "type"),
    [
        (("INT1",), SqlType(Kind.INTEGER, bits=8)),
        (("int2",), SqlType(Kind.INTEGER, bits=16)),
        (("INT4", 10), SqlType(Kind.INTEGER, bits=32)),
        (("INT8",), SqlType(Kind.INTEGER)),
        (("uint2",), SqlType(Kind.INTEGER)),
        (("UINT8",), SqlType(Kind.DECIMAL, precision=20, scale=0)),
        (("NUMERIC", 0, 12, 3), SqlType(Kind.DECIMAL, precision=12, scale=3)),
        (("NUMERIC",), SqlType(Kind.DECIMAL)),
        (("STRING", 30), SqlType(Kind.STRING, length=30)),
        (("WSTRING", 30), SqlType(Kind.STRING, length=30)),
        (("NCLOB", 2000), SqlType(Kind.STRING)),
        (("BYTES", 16), SqlType(Kind.BINARY, length=16, base64=True)),
        (("BLOB", 2000), SqlType(Kind.BINARY, base64=True)),
        (("DATETIME", 0, 0, 6), SqlType(Kind.TIMESTAMP, scale=6)),
        (("SOMETHING", 3), SqlType(Kind.STRING)),
    ],
)
def test_types(words: tuple[Any, ...], type: SqlType) -> None:
    assert sql_type(*words) == type


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.NUMBER, Kind.INTERVAL)])
def test_a_type_that_qlik_has_comes_back(kind: Kind) -> None:
    plain = SqlType(kind, base64=kind is Kind.BINARY)
    sized = {
        Kind.DECIMAL: SqlType(kind, precision=10, scale=2),
        Kind.STRING: SqlType(kind, length=5),
        Kind.INTEGER: SqlType(kind, bits=16),
    }
    for type in (plain, sized.get(kind, plain)):
        assert sql_type(*type_word(type)) == type


# Mistakes


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (change("MERGE", ROW), "GG304 `operation` cannot be `MERGE`"),
        (change("", ROW), "GG305 the record has no `operation`"),
        ({**change("INSERT", ROW), "magic": "other"}, "GG308 `magic` is not `atMSG`"),
        ({**change("INSERT", ROW), "type": "XX"}, "GG308 `type` cannot be `XX`"),
        ({**change("INSERT", ROW), "message": None}, "GG305 the record has no `message`"),
        ({**metadata(), "message": {"lineage": None}}, "GG305 a metadata message has no `tableStructure`"),
        (
            {**metadata(), "message": {"tableStructure": {"tableColumns": {}}}},
            "GG305 a metadata message has no `lineage`, which names its table",
        ),
        (metadata({"A": column(1), "B": column(1)}), "GG308 the ordinals of columns are not unique, or out of range"),
        (metadata({"A": column(0)}), "GG308 the ordinals of columns are not unique, or out of range"),
        (metadata({"A": column(10**9)}), "GG308 the ordinals of columns are not unique, or out of range"),
        (metadata(table=""), "GG305 `lineage` does not name the table"),
        *(
            (change("INSERT", ROW, timestamp=text), "GG308 `timestamp` is not a time such as `2017-06-16T14:24:34`")
            for text in ("soon", "2023-02-30T00:00:00")
        ),
        (change("INSERT", None), "GG307 an insert has no after image"),
        (change("INSERT", ROW, ROW), "GG307 an insert has a before image"),
        (change("UPDATE", None, ROW), "GG307 an update has no after image"),
        (change("DELETE", None), "GG307 a delete has no before image"),
        (change("INSERT", {"OTHER": "1"}), "GG204 an image has a column that the definition of the table lacks"),
        (change("INSERT", "x", columnMask="03"), "GG308 an image is a string and not an object"),
        (
            {**change("INSERT", ROW), "message": "00ff"},
            "GG308 the record has a member of the wrong type: expected `object | null`, got `str` at `$.message`",
        ),
    ],
)
def test_what_is_no_message_of_qlik_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = found_in(metadata(), change("INSERT", ROW), record, change("DELETE", ROW))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_a_value_that_is_not_of_its_type_is_named() -> None:
    columns = {"RAW": column(1, "BYTES"), "FLAG": column(2, "BOOLEAN")}
    found = found_in(metadata(columns), change("INSERT", {"RAW": "abc"}), change("INSERT", {"FLAG": "maybe"}))
    assert sorted(str(reject.diagnostic.span.field) for reject in found.rejects) == ["FLAG", "RAW"]
    assert found.reasons == ["GG314 a value does not match the description of its column"] * 2


# Writing


def test_messages_are_written_as_qlik_writes_them() -> None:
    ops = [
        PlainOperation("I", "2013-06-02 22:14:36.000000", "12", None, {"ID": "1", "NAME": None}, {
            "changeSequence": "77", "transactionId": "t", "transactionEventCounter": "3",
            "transactionLastEvent": "true", "externalSchemaId": 'e"',
        }),
        PlainOperation(
            "U", "2013-06-02 22:14:36.123456", "13", {"ID": "1", "NAME": None}, {"ID": "1", "NAME": "x", "RAW": "AAE="},
            {"transactionEventCounter": "many", "transactionLastEvent": "perhaps"},
        ),
        PlainOperation("D", None, None, {"ID": "1", "NAME": "x"}, None, {}),
        PlainOperation("I", None, None, None, {"ID": "1", "NAME": "x", "RAW": None}, {"snapshot": "first"}),
        PlainOperation("I", None, None, None, {"ID": "1", "RAW": None}, {"snapshot": "true"}),
        PlainOperation("I", None, None, None, {"ID": "1", "NAME": "x", "RAW": None}, {"snapshot": "false"}),
    ]  # fmt: skip
    first, *rest = written("qlik_json", Changes(TABLE, ops, True), server="srv").decode().splitlines()
    document = json.loads(first)
    schema_id = document["messageSchemaId"]
    assert (document["magic"], document["type"], document["headers"]) == ("atMSG", "MD", None)
    assert document["message"]["schemaId"] == schema_id
    assert len(schema_id) == 32
    assert set(schema_id) <= set("0123456789ABCDEF")
    assert document["message"]["lineage"] == {
        "server": "srv", "task": "", "schema": "S", "table": "T", "tableVersion": 1, "timestamp": "",
    }  # fmt: skip
    assert document["message"]["tableStructure"]["tableColumns"] == {
        "ID": {**column(1, "INT8", 1), "nullable": True},
        "NAME": column(2),
        "RAW": column(3, "BYTES"),
    }
    head = f'{{"magic":"atMSG","type":"DT","headers":null,"messageSchemaId":"{schema_id}","messageSchema":null,'
    assert [line.removeprefix(head + '"message":') for line in rest] == [
        '{"data":{"ID":1,"NAME":null,"RAW":null},"beforeData":null,"headers":{"operation":"INSERT",'
        '"changeSequence":"77","timestamp":"2013-06-02T22:14:36.000","streamPosition":"12","transactionId":"t",'
        '"changeMask":"03","columnMask":"03","transactionEventCounter":3,"transactionLastEvent":true,'
        '"externalSchemaId":"e\\""}}}',
        '{"data":{"ID":1,"NAME":"x","RAW":"0001"},"beforeData":{"ID":1,"NAME":null,"RAW":null},"headers":'
        '{"operation":"UPDATE","changeSequence":"","timestamp":"2013-06-02T22:14:36.123","streamPosition":"13",'
        '"transactionId":"","changeMask":"06","columnMask":"07","transactionEventCounter":null,'
        '"transactionLastEvent":null,"externalSchemaId":null}}}',
        '{"data":{"ID":1,"NAME":"x","RAW":null},"beforeData":null,"headers":{"operation":"DELETE","changeSequence":"",'
        '"timestamp":"","streamPosition":"","transactionId":"","changeMask":"01","columnMask":"03",'
        '"transactionEventCounter":null,"transactionLastEvent":null,"externalSchemaId":null}}}',
        '{"data":{"ID":1,"NAME":"x","RAW":null},"beforeData":null,"headers":{"operation":"REFRESH","changeSequence":"",'
        '"timestamp":"","streamPosition":"","transactionId":"","changeMask":null,"columnMask":null,'
        '"transactionEventCounter":null,"transactionLastEvent":null,"externalSchemaId":null}}}',
        '{"data":{"ID":1,"NAME":null,"RAW":null},"beforeData":null,"headers":{"operation":"REFRESH","changeSequence":"",'
        '"timestamp":"","streamPosition":"","transactionId":"","changeMask":null,"columnMask":"05",'
        '"transactionEventCounter":null,"transactionLastEvent":null,"externalSchemaId":null}}}',
        '{"data":{"ID":1,"NAME":"x","RAW":null},"beforeData":null,"headers":{"operation":"INSERT","changeSequence":"",'
        '"timestamp":"","streamPosition":"","transactionId":"","changeMask":"07","columnMask":"07",'
        '"transactionEventCounter":null,"transactionLastEvent":null,"externalSchemaId":null}}}',
    ]


def test_the_id_of_a_schema_is_that_of_the_definition() -> None:
    def id_of(table: PlainTable, task: str = "") -> str:
        op = PlainOperation("I", None, None, None, {}, {})
        line = written("qlik_json", Changes(table, [op], False), task=task).splitlines()[-1]
        return str(json.loads(line)["messageSchemaId"])

    others = [replace(TABLE, name="S.U"), replace(TABLE, name="C.S.T"), replace(TABLE, columns=TABLE.columns[:2])]
    assert id_of(TABLE) == id_of(TABLE)
    assert len({id_of(table) for table in (TABLE, *others)} | {id_of(TABLE, task="t")}) == 5


def test_a_name_that_avro_does_not_have_leaves_the_schemas_out() -> None:
    table = PlainTable("S.T", (PlainColumn("a b", "string"),))
    data = written("qlik_json", Changes(table, [PlainOperation("I", None, None, None, {"a b": "1"}, {})], False))
    document = json.loads(data.splitlines()[0])
    assert (document["messageSchema"], document["message"]["dataSchema"]) == (None, "")
    assert read("qlik_json", data).plain[0].after == {"a b": "1"}


@pytest.mark.parametrize("name", ["qlik_json", "qlik_avro"])
def test_what_has_no_form_is_refused(name: str) -> None:
    def reason(op: PlainOperation) -> str:
        with pytest.raises(RowErrors) as error:
            written(name, Changes(TABLE, [PlainOperation("D", None, None, {}, None, {}), op], False))
        ((row, diagnostic),) = error.value.rows
        assert row == 1
        return f"{diagnostic.code} {diagnostic.message} {diagnostic.span.field}"

    truncate = PlainOperation("T", None, None, None, None, {})
    assert reason(truncate) == "GG408 Qlik Replicate cannot represent a truncate None"
    late = PlainOperation("D", "later", None, {}, None, {})
    assert reason(late).startswith("GG408 the time of the operation is not a GoldenGate time stamp")
    for values in ({"ID": "x"}, {"RAW": "?"}):
        misfit = PlainOperation("I", None, None, None, values, {})
        assert reason(misfit) == f"GG401 the value does not match the type of its column {next(iter(values))}"
        old = PlainOperation("U", None, None, values, {}, {})
        assert reason(old) == f"GG401 the value does not match the type of its column {next(iter(values))}"


@pytest.mark.parametrize("name", ["qlik_json", "qlik_avro"])
def test_states_that_are_read_back_as_others_are_counted(name: str) -> None:
    ops = [
        PlainOperation("U", None, None, {"ID": "1"}, {"ID": "1", "NAME": "x"}, {}),
        PlainOperation("U", None, None, {"ID": "1", "NAME": None}, {"ID": "1"}, {}),
        PlainOperation("U", None, None, None, {"ID": "1", "NAME": "x"}, {}),
        PlainOperation("D", None, None, {"ID": "1"}, None, {}),
    ]
    made = Changes(TABLE, ops, True)
    format = FORMATS[name]
    formatter = format.write_support.formatter(table_def(TABLE), format.options.parse({}), Context(), Clock(NOW))
    formatter.format(make_batch(made))
    assert {(note.field, note.detail): count for note, count in formatter.notes.items()} == {
        ("NAME", "missing from the before image, which will be read back as NULL"): 1,
        ("NAME", "NULL in the before image, which will be read back as missing"): 1,
    }
    back = [item.before for item in read(name, written(name, made)).plain]
    assert back == [{"ID": "1", "NAME": None}, {"ID": "1"}, None, {"ID": "1"}]


# Runs


def handler(name: str, *others: str) -> list[str]:
    lines = [f"gg.handler.h.format={name}", "gg.handler.h.includeTokens=true"]
    return lines + [f"gg.handler.h.{item}" for item in others]


def as_json(source: list[Path], out: Path, input_format: str, **others: Any) -> bytes:
    """The operations of an input, as GoldenGate's JSON."""
    more = ("format.jsonDelimiter=CDATA[\\n]", "partitionByTable=false")
    run_ggfmt(source, out, *handler("json", *more), input_format=input_format, **others)
    return content(out, "h")


def test_metadata_in_another_file_is_found(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "1.json", [change("INSERT", ROW)])
    two = write_lines(tmp_path / "2.json", [metadata()])
    shown = as_json([one, two], tmp_path / "a", "auto")
    assert json.loads(shown)["after"] == {"ID": 1, "NAME": "a", "PRICE": 10.5}
    assert as_json([two, one], tmp_path / "b", "auto") == shown


@pytest.mark.parametrize("name", ["qlik_json", "qlik_avro"])
@pytest.mark.parametrize("mixed", ["partitionByTable=false", "rollOnMetadataChange=false", "includeTokens=true"])
def test_definitions_are_written_before_their_changes_however_files_are_laid_out(
    name: str, mixed: str, tmp_path: Path
) -> None:
    wider = {**COLUMNS, "NOTE": column(4)}
    records = [
        metadata(),
        metadata(schema_id="3", table="OTHER"),
        *(change("INSERT", {**ROW, "ID": n}, schema_id="3" if n % 2 else ID, streamPosition=f"{n}") for n in range(6)),
        metadata(wider, "2"),
        *(change("INSERT", {**ROW, "ID": n, "NOTE": "x"}, schema_id="2", streamPosition=f"{n}") for n in range(6, 9)),
        change("INSERT", ROW, streamPosition="9"),
    ]
    source = write_lines(tmp_path / "in.json", records)
    expected = as_json([source], tmp_path / "expected", "qlik_json")
    for size in (None, 500, 2500):
        out = tmp_path / f"{size}"
        more = ("format.server=srv", "format.task=job", mixed)
        run_ggfmt([source], out, *handler(name, *more), input_format="qlik_json", split_size=size)
        back = as_json([out / "h"], tmp_path / f"back{size}", "auto")
        assert sorted(back.splitlines()) == sorted(expected.splitlines())
        if mixed == "includeTokens=true":
            assert snapshot(out / "h") == snapshot(tmp_path / "None" / "h")
            for path in output_files(out, "h"):
                assert path.read_bytes().count(b"MetadataMessage") == 1


# Real messages


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages() -> None:
    files = [DATA / f"qlik/jcustenborder_attunity-json-converter__{name}.json" for name in ("Data", "Metadata")]
    found = read("qlik_json", b"".join(path.read_bytes() for path in files))
    row = {"emp_no": "14472", "salary": "49592", "from_date": "1993-11-25", "to_date": "1994-11-25"}
    tokens = {"snapshot": "true", "server": "attunity-01.custenborder.com", "task": "mysql-to-kafka"}
    assert found.rejects == []
    assert found.plain == [PlainOperation("I", None, None, None, row, tokens)]
    ((table, _),) = found.operations
    assert table.full_name == "employees.salaries"
    assert table.primary_keys == ("emp_no", "from_date")
    assert [str(column.type) for column in table.columns] == ["integer", "integer", "date", "date"]
    (only,) = read("qlik_json", files[1].read_bytes()).definitions
    assert only.table == table


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_masks() -> None:
    data = (DATA / "qlik/public_samples__masks.jsonl").read_bytes()
    named = read("qlik_json", data, told("qlik_json", tableName="S.T"))
    assert named.reasons == ["GG305 `columnMask` leaves out columns, and no metadata message has their ordinals"]
    first, third = named.plain
    assert (first.op_ts, first.pos) == (
        "2023-09-11 03:23:25.000000", "00000000.00bb2531.00000001.0000.02.0000:154.6963.16",
    )  # fmt: skip
    assert first.before == {"ID": "2", "NAME": "ok", "tableName": "kit"}
    assert first.after == {"ID": "2", "NAME": "test Kafka", "tableName": "kit"}
    assert third.after is not None
    assert third.before is not None
    changed = [name for name in third.after if third.after[name] != third.before[name]]
    assert [list(third.after).index(name) + 1 for name in changed] == [8, 16]
    second = data.splitlines()[1]
    customers = TableDef("S.T", (Column("CUSTOMER_ID", key=1), Column("FIRST_NAME"), Column("LAST_NAME")))
    (item,) = read("qlik_json", second, told("qlik_json", tableName="S.T"), trusted={"S.T": customers}).plain
    assert item.before == item.after == {"CUSTOMER_ID": "14", "LAST_NAME": "test2"}
