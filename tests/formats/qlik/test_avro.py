"""Qlik Replicate's messages in Avro: envelopes, schemas, logical types and damage. What the messages mean is tested in
test_qlik."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from contract.qlik_avro import (
    ENVELOPE,
    ID,
    ROW,
    SCHEMA,
    change,
    column,
    data_schema,
    encoded,
    envelope,
    metadata,
    record,
)
from dialects import DATA, Read, layout_of, read, told, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from qlik_changes import AT, BARE, TABLE, TOKENS
from strategies import Changes, examples

from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.formats import ENTRIES, FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.qlik import QlikAvroOptions
from ggfmt.formats.qlik import envelope as qlik_envelope
from ggfmt.model.table import Column, Kind, SqlType, TableDef

TEXTS = {"ID": "1", "NAME": "a", "PRICE": "10.50"}
SHOWN = {name: text for name, text in TOKENS.items() if not name.startswith("transaction") or name == "transactionId"}


def operation(op: str, before: Any, after: Any) -> PlainOperation:
    return PlainOperation(op, AT, "p1", before, after, SHOWN)


def found_in(*messages: bytes, trusted: dict[str, TableDef] | None = None, **options: str) -> Read:
    return read("qlik_avro", b"".join(messages), told("qlik_avro", **options), trusted=trusted or {})


# Reading


def test_envelopes_hold_metadata_and_changes() -> None:
    found = found_in(
        metadata(), change("INSERT", ROW), change("UPDATE", ROW, {**ROW, "NAME": None}), change("DELETE", ROW)
    )
    assert found.plain == [
        operation("I", None, TEXTS),
        operation("U", {**TEXTS, "NAME": None}, TEXTS),
        operation("D", TEXTS, None),
    ]
    (table,) = {table for table, _ in found.operations}
    assert table.full_name == "S.T"
    assert [(c.name, str(c.type), c.key) for c in table.columns] == [
        ("ID", "integer", 1), ("NAME", "string", 0), ("PRICE", "decimal(10,2)", 0),
    ]  # fmt: skip


def test_metadata_may_come_later_and_line_ends_between_envelopes() -> None:
    found = found_in(change("INSERT", ROW), b"\n", metadata(), b"\r\n", change("DELETE", ROW), b"\n")
    assert found.plain == [operation("I", None, TEXTS), operation("D", TEXTS, None)]
    header = envelope("MD", b"", headers={"a": "b", "c": "d"})
    assert found_in(header, metadata(), change("INSERT", ROW)).plain == [operation("I", None, TEXTS)]


def test_a_change_with_its_schema_needs_no_metadata_but_a_name() -> None:
    own = change("INSERT", ROW, told=SCHEMA)
    assert found_in(own).reasons == ["GG205 the change names neither its table nor a schema id"]
    tokens = {name: text for name, text in BARE.items() if name in ("transactionId", "changeSequence")}
    expected = PlainOperation("I", AT, "p1", None, TEXTS, tokens)
    named = found_in(own, tableName="S.T")
    assert named.plain == [expected]
    assert named.operations[0][0].column_names == ("ID", "NAME", "PRICE")
    assert found_in(change("INSERT", ROW), tableName="S.T").reasons == [
        "GG313 neither the message nor a metadata message has the schema of the change"
    ]
    table = TableDef("S.T", (Column("ID", key=1), Column("NAME"), Column("PRICE")))
    masked = change("INSERT", {**ROW, "NAME": None}, told=SCHEMA, columnMask=b"\x05")
    given_table = found_in(masked, tableName="S.T", trusted={"S.T": table})
    assert given_table.plain == [replace(expected, after={"ID": "1", "PRICE": "10.50"})]


@pytest.mark.parametrize(
    ("order", "mask"),
    [("big-endian", b"\x00\x80\x80"), ("little-endian", b"\x80\x80\x00"), ("big-endian", b"\x80\x80")],
)
def test_the_bytes_of_a_mask_have_an_order(order: str, mask: bytes) -> None:
    columns = {f"C{n}": column(n) for n in range(1, 17)}
    schema = data_schema(dict.fromkeys(columns, "string"))
    messages = metadata(columns, schema), change("INSERT", dict.fromkeys(columns), schema=schema, columnMask=mask)
    (item,) = found_in(*messages, avroMaskByteOrder=order).plain
    assert item.after == {"C8": None, "C16": None}


def test_a_mask_in_the_other_order_has_bits_above_the_highest_ordinal() -> None:
    columns = {f"C{n}": column(n) for n in range(1, 17)}
    schema = data_schema(dict.fromkeys(columns, "string"))
    wrong = change("INSERT", dict.fromkeys(columns), schema=schema, columnMask=b"\xff\xff\x00")
    (reject,) = found_in(metadata(columns, schema), wrong).rejects
    assert reject.diagnostic.code == "GG308"
    assert reject.diagnostic.message == "`columnMask` has a bit for the column 24, and the highest ordinal is 16"
    assert "avroMaskByteOrder" in str(reject.diagnostic.help)


def logical(kind: Any, logical_type: str, **others: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **others}


FIXED = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 1}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("boolean", True, "true"),
        ("long", -(2**63), "-9223372036854775808"),
        ("double", 0.1, "0.1"),
        ("double", float("inf"), "Infinity"),
        ("double", float("nan"), "NaN"),
        ("float", 0.1, "0.1"),
        ("float", float("-inf"), "-Infinity"),
        ("bytes", b"\x00\xff", "AP8="),
        ("string", "null", "null"),
        (logical("int", "date"), 8729, "1993-11-25"),
        (logical("int", "date"), -719162, "0001-01-01"),
        (logical("int", "time-millis"), 36930001, "10:15:30.001000"),
        (logical("long", "time-micros"), 1, "00:00:00.000001"),
        (logical("long", "timestamp-micros"), 1679409261000001, "2023-03-21 14:34:21.000001"),
        (logical("long", "timestamp-micros"), -1, "1969-12-31 23:59:59.999999"),
        (logical("long", "timestamp-millis"), 1, "1970-01-01 00:00:00.001000"),
        (logical("bytes", "decimal", precision=20, scale=0), 2**64 - 1, "18446744073709551615"),
        (logical("bytes", "decimal", precision=38, scale=3), -1, "-0.001"),
        (logical("bytes", "decimal", precision=38, scale=3), 10**37, "10000000000000000000000000000000000.000"),
        (FIXED, -15, "-1.5"),
        (logical("int", "unknown"), 7, "7"),
    ],
)
def test_values_by_their_avro_types(kind: Any, value: Any, text: str) -> None:
    schema = data_schema({"V": kind})
    raw = data_schema({"V": {k: v for k, v in kind.items() if k != "logicalType"} if isinstance(kind, dict) else kind})
    if isinstance(kind, dict) and kind.get("logicalType") == "decimal":
        size = 2 if kind is FIXED else (value.bit_length() + 8) // 8
        value = value.to_bytes(size, "big", signed=True)
    message = change("INSERT", {"V": value}, schema=raw)
    (item,) = found_in(metadata({"V": column(1)}, schema), message).plain
    assert item.after == {"V": text}


def test_logical_values_as_another_library_writes_them() -> None:
    schema = data_schema({"V": logical("bytes", "decimal", precision=10, scale=2)})
    message = change("INSERT", {"V": Decimal("-1234.50")}, schema=schema)
    assert found_in(metadata({"V": column(1)}, schema), message).plain[0].after == {"V": "-1234.50"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (logical("int", "date"), 2**31 - 1),
        (logical("int", "time-millis"), -1),
        (logical("int", "time-millis"), 86_400_000),
        (logical("long", "timestamp-micros"), 2**62),
        ({"type": "array", "items": "int"}, [1]),
    ],
)
def test_values_that_no_column_has(kind: Any, value: Any) -> None:
    raw = data_schema({"V": {k: v for k, v in kind.items() if k != "logicalType"}})
    (reject,) = found_in(
        metadata({"V": column(1)}, data_schema({"V": kind})), change("INSERT", {"V": value}, schema=raw)
    ).rejects
    assert reject.diagnostic.code == "GG314"
    assert reject.diagnostic.span.field == "V"


# Mistakes


def broken(schema: str, message: bytes = b"") -> tuple[bytes, str]:
    reason = "GG313 the schema of the message is not an Avro schema of Qlik messages"
    return envelope("DT", message, None, schema), reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\0\0\0\0\x07abc", "GG313 the message has no envelope, but a zero byte and a schema id of a registry"),
        (b'{"data":{}}', "GG313 the message does not start with `atMSG`"),
        (b"atMSG" + b"\xff" * 12, "GG313 a number has too many bytes"),
        (b"atMSG\x04DT\x04", "GG313 the headers are neither null nor a map"),
        (b"atMSG\x04DT\x00\x04", "GG313 a member is neither null nor a string"),
        (b"atMSG\x03", "GG313 a length is out of range"),
        (b"atMSG\x04\xff\xff", "GG313 a string is not UTF-8"),
        (
            b"atMSG\x04DT\x00\x00\x00" + zigzag_varint(1 << 20),
            "GG313 a length in the message exceeds the size of the message",
        ),
        (envelope("XX", b""), "GG308 `type` cannot be `XX`"),
        (
            envelope("MD", b""),
            "GG313 a metadata message has no `messageSchema`, so ggfmt cannot decode it",
        ),
        (envelope("DT", b"\x02"), "GG313 the message does not match its schema"),
        (envelope("DT", change("INSERT", ROW) * 2), "GG313 the message does not match its schema"),
        (
            envelope("DT", b"", "other"),
            "GG205 no metadata message has the schema id `other`",
        ),
        (envelope("DT", b"", None), "GG205 the change names neither its table nor a schema id"),
        broken("{"),
        broken('"string"'),
        broken('{"type":"record","name":"R","fields":[]}'),
        broken('{"type":"record","name":"R","fields":[{"name":"data","type":"int"}]}'),
        (
            envelope("MD", b"\x02a", schema=json.dumps(record("M", [{"name": "schemaId", "type": "string"}]))),
            "GG305 a metadata message has no `tableStructure`",
        ),
        (
            envelope("MD", b"\x02", schema=json.dumps(record("M", [{"name": "lineage", "type": "int"}]))),
            "GG308 the record has a member of the wrong type: expected `object | null`, got `int` at `$.lineage`",
        ),
    ],
)
def test_what_is_no_envelope_is_a_reject_and_reading_goes_on(message: bytes, reason: str) -> None:
    found = found_in(metadata(), change("INSERT", ROW), message, change("DELETE", ROW))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_a_file_that_is_cut_off_ends_with_a_reject() -> None:
    data = metadata() + change("INSERT", ROW)
    for size in range(len(metadata()) + 1, len(data)):
        assert read("qlik_avro", data[:size]).reasons == ["GG302 the file ends in the middle of a record"]
    assert read("qlik_avro", b"").plain == []


@examples(60)
@given(st.integers(1, 3000), st.binary(max_size=40).map(lambda rubbish: rubbish.translate(None, b"\r\n")))
def test_it_does_not_matter_how_much_is_read_at_once(size: int, rubbish: bytes) -> None:
    data = metadata() + change("INSERT", ROW) + rubbish + change("DELETE", ROW) + change("INSERT", ROW)[:-3]
    whole = read("qlik_avro", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(qlik_envelope, "CHUNK_BYTES", size)
        again = read("qlik_avro", data)
    assert again.operations == whole.operations
    assert [reject.diagnostic.span.offset for reject in again.rejects][:1] == [
        reject.diagnostic.span.offset for reject in whole.rejects
    ][:1]
    assert sum(len(reject.record) for reject in again.rejects) == sum(len(reject.record) for reject in whole.rejects)


def test_it_is_recognised_by_its_first_bytes() -> None:
    for name, data in (("qlik_avro", metadata()), ("qlik_json", b'{"magic":"atMSG","type":"DT"}\n')):
        for other in ("qlik_avro", "qlik_json"):
            assert (FORMATS[other].read_support.reader.sniff(data) is not None) == (other == name)
        assert any(mark in data for mark in ENTRIES[name].marks)
    assert not layout_of("qlik_avro", metadata(), told("qlik_avro")).splittable


# Writing


def envelopes(data: bytes) -> list[dict[str, Any]]:
    stream = io.BytesIO(data)
    found: list[Any] = []
    while stream.tell() < len(data):
        found.append(fastavro.schemaless_reader(stream, ENVELOPE, None))
    return found


def decoded(schema: str, message: bytes) -> Any:
    stream = io.BytesIO(message)
    value = fastavro.schemaless_reader(stream, fastavro.parse_schema(json.loads(schema)), None)
    assert stream.tell() == len(message)
    return value


EVERY = PlainTable("S.T", tuple(PlainColumn(kind.value.upper(), kind.value) for kind in Kind))
VALUES = {
    "STRING": "ä", "BOOLEAN": "true", "INTEGER": "-7", "DECIMAL": "17520.00", "NUMBER": "1", "FLOAT": "0.5",
    "DOUBLE": "0.25", "DATE": "2013-06-02", "TIME": "10:00:00", "TIMESTAMP": "2013-06-02 10:00:00", "INTERVAL": "1",
    "BINARY": "AP8=",
}  # fmt: skip


@pytest.mark.parametrize(("order", "mask"), [("big-endian", b"\x0f\xff"), ("little-endian", b"\xff\x0f")])
def test_messages_are_avro_of_their_own_schemas(order: str, mask: bytes) -> None:
    ops = [
        PlainOperation("I", "2013-06-02 22:14:36.000000", "12", None, VALUES, {
            "changeSequence": "77", "transactionId": "t", "transactionEventCounter": "3",
            "transactionLastEvent": "true", "externalSchemaId": "e",
        }),
        PlainOperation("U", None, None, VALUES, {**VALUES, "STRING": None}, {}),
        PlainOperation("I", None, None, None, VALUES, {"snapshot": "true"}),
    ]  # fmt: skip
    first, *rest = envelopes(written("qlik_avro", Changes(EVERY, ops, False), avroMaskByteOrder=order))
    assert (first["magic"], first["type"], first["headers"]) == (b"atMSG", "MD", None)
    described = decoded(first["messageSchema"], first["message"])
    assert described["schemaId"] == first["messageSchemaId"] == rest[0]["messageSchemaId"]
    assert described["lineage"]["table"] == "T"
    columns = described["tableStructure"]["tableColumns"]
    assert [(name, about["ordinal"], about["type"]) for name, about in columns.items()] == [
        ("STRING", 1, "STRING"), ("BOOLEAN", 2, "BOOLEAN"), ("INTEGER", 3, "INT8"), ("DECIMAL", 4, "NUMERIC"),
        ("NUMBER", 5, "NUMERIC"), ("FLOAT", 6, "REAL4"), ("DOUBLE", 7, "REAL8"), ("DATE", 8, "DATE"),
        ("TIME", 9, "TIME"), ("TIMESTAMP", 10, "DATETIME"), ("INTERVAL", 11, "STRING"), ("BINARY", 12, "BYTES"),
    ]  # fmt: skip
    values = {**VALUES, "BOOLEAN": True, "INTEGER": -7, "FLOAT": 0.5, "DOUBLE": 0.25, "BINARY": b"\0\xff"}
    inserted, updated, loaded = (decoded(described["dataSchema"], item["message"]) for item in rest)
    assert inserted == {
        "data": values, "beforeData": None, "headers": {
            "operation": "INSERT", "changeSequence": "77", "timestamp": "2013-06-02T22:14:36.000",
            "streamPosition": "12", "transactionId": "t", "changeMask": mask, "columnMask": mask,
            "transactionEventCounter": 3, "transactionLastEvent": True, "externalSchemaId": "e",
        },
    }  # fmt: skip
    one = b"\x00\x01" if order == "big-endian" else b"\x01\x00"
    assert updated["beforeData"] == values
    assert updated["data"] == {**values, "STRING": None}
    assert (updated["headers"]["changeMask"], updated["headers"]["columnMask"]) == (one, mask)
    assert (updated["headers"]["transactionEventCounter"], updated["headers"]["transactionLastEvent"]) == (None, None)
    assert (loaded["headers"]["operation"], loaded["headers"]["changeMask"]) == ("REFRESH", None)


def test_columns_with_the_names_of_types_are_no_harm() -> None:
    names = ("Lineage", "Data", "Column", "TableColumns", "operation", "string", "headers")
    table = PlainTable("S.T", tuple(PlainColumn(name, "string") for name in names))
    row = dict(zip(names, "abcdefg", strict=True))
    op = PlainOperation("U", None, None, row, row, {})
    data = written("qlik_avro", Changes(table, [op], False))
    first, second = envelopes(data)
    described = decoded(first["messageSchema"], first["message"])
    assert decoded(described["dataSchema"], second["message"])["data"] == row
    assert read("qlik_avro", data).plain == [op]


def test_a_name_that_avro_does_not_have_cannot_be_written() -> None:
    found = FORMATS["qlik_avro"].name_problem(QlikAvroOptions(), Context(), TableDef("S.T", (Column("a b"),)))
    assert found is not None
    assert (found.diagnostic.code, found.diagnostic.span.field) == ("GG206", "a b")


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_a_recorded_message_in_avro_with_its_own_schemas() -> None:
    folder = DATA / "qlik"
    first, second = (
        json.loads((folder / f"jcustenborder_attunity-json-converter__{name}.json").read_bytes())
        for name in ("Metadata", "Data")
    )
    described = first["message"]
    del second["message"]["headers"]["externalSchemaId"]
    data = envelope("MD", encoded(first["messageSchema"], described), ID, first["messageSchema"])
    data += envelope("DT", encoded(described["dataSchema"], second["message"]))
    found = read("qlik_avro", data)
    assert found.rejects == []
    row = {"emp_no": "14472", "salary": "49592", "from_date": "1993-11-25", "to_date": "1994-11-25"}
    assert [(item.op, item.op_ts, item.after) for item in found.plain] == [("I", None, row)]
    assert found.operations[0][0].full_name == "employees.salaries"
    assert {column.type for column in found.operations[0][0].columns} == {
        SqlType(Kind.INTEGER, bits=32),
        SqlType(Kind.DATE),
    }


def test_the_tables_of_both_encodings_are_the_same() -> None:
    op = PlainOperation("I", None, None, None, {"ID": "1", "NAME": None, "RAW": "AAE="}, {})
    made = Changes(TABLE, [op], False)
    (one,), (other,) = (read(name, written(name, made)).operations for name in ("qlik_json", "qlik_avro"))
    assert one == other
