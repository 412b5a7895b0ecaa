"""Debezium's JSON, written, and read back."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from contract.debezium import SOURCE, event
from debezium_rows import AT, NAME, TEXTS
from dialects import EVERYTHING, NOW, Read, lines, read, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from scanners import without_kernels
from strategies import Changes, examples, make_batch, plain_operations

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.model.table import Column, Kind, SqlType, TableDef

TABLE = TableDef(
    "shop.orders",
    (
        Column("ID", SqlType(Kind.INTEGER), key=1),
        Column("NAME", SqlType(Kind.STRING, length=40)),
        Column("PRICE", SqlType(Kind.DECIMAL, precision=10, scale=2)),
        Column("RATIO", SqlType(Kind.DOUBLE)),
        Column("PAID", SqlType(Kind.BOOLEAN)),
        Column("RAW", SqlType(Kind.BINARY)),
    ),
)
PLAIN = PlainTable(TABLE.full_name, tuple(PlainColumn(c.name, c.type.kind.value, c.key) for c in TABLE.columns))
ROW = {"ID": "1", "NAME": 'ä"', "PRICE": "1.37", "RATIO": "-0.0", "PAID": "true", "RAW": "AA=="}
SOURCE_HEAD = '"source":{"version":"ggfmt","connector":"ggfmt","name":"ggfmt",'


def write(*operations: PlainOperation, definition: TableDef = TABLE, **options: str) -> list[str]:
    plain = PlainTable(
        definition.full_name, tuple(PlainColumn(c.name, c.type.kind.value, c.key) for c in definition.columns)
    )
    return written(NAME, Changes(plain, list(operations), False), definition, **options).decode().splitlines()


def inserted(type: SqlType, text: str | None, **options: str) -> Any:
    """The JSON value that a text of a column becomes, and the Connect schema of the column."""
    definition = TableDef("S.T", (Column("v", type),))
    (line,) = write(PlainOperation("I", None, None, None, {"v": text}, {}), definition=definition, **options)
    record = json.loads(line, parse_float=str)
    if options.get("schemasEnable") != "true":
        return record["after"]["v"]
    (column,) = record["schema"]["fields"][1]["fields"]
    return record["payload"]["after"]["v"], {k: v for k, v in column.items() if k not in ("field", "optional")}


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_characters_beyond_the_bmp_are_two_escapes_in_names_and_values(schemas: str) -> None:
    face, name, value = "\U0001f600", "K\U00010000\x1f", "Zo\xeb \U0001f600\uffff\U0010ffff\x1f"
    definition = TableDef(f"S.T{face}", (Column(name),))
    tokens = {"gtid": face, f"t{face}": face, "transaction.id": face}
    item = PlainOperation("I", None, face, None, {name: value}, tokens)
    (text,) = write(item, definition=definition, schemasEnable=schemas, topicPrefix="p")
    with without_kernels():
        assert write(item, definition=definition, schemasEnable=schemas, topicPrefix="p") == [text]
    assert not any(character > "\uffff" for character in text)
    assert '"K\\uD800\\uDC00\\u001F":"Zo\xeb \\uD83D\\uDE00\uffff\\uDBFF\\uDFFF\\u001F"' in text
    assert '"table":"T\\uD83D\\uDE00"' in text and '"t\\uD83D\\uDE00":"\\uD83D\\uDE00"' in text
    assert ('"field":"K\\uD800\\uDC00\\u001F"' in text) == (schemas == "true")
    (found,) = read(NAME, text.encode() + b"\n").plain
    assert (found.after, found.pos) == ({name: value}, face)
    assert {key: found.tokens[key] for key in tokens} == tokens


def test_messages_are_envelopes() -> None:
    tokens = {"connector": "postgresql", "name": "srv", "txId": "5", "lsn": "11", "R": "AAA", "transaction.id": "5:11"}
    made = write(
        PlainOperation("I", AT, "11", None, ROW, tokens),
        PlainOperation("U", AT, None, {"ID": "1"}, {"ID": "1", "NAME": None}, {"snapshot": "last"}),
        PlainOperation("D", None, None, {"ID": "1"}, None, {"connector": "mysql", "pos": "7", "file": "b.1"}),
        PlainOperation("T", None, None, None, None, {"db": "d"}),
        PlainOperation("I", "1969-12-31 23:59:59.999999", None, None, {}, {"snapshot": "true"}),
    )
    end = '"ts_ms":1442583575447,"ts_us":1442583575447000,"ts_ns":1442583575447000000}'
    times = '"ts_us":1600161894123456,"ts_ns":1600161894123456000'
    assert made == [
        '{"before":null,"after":{"ID":1,"NAME":"ä\\"","PRICE":"1.37","RATIO":-0.0,"PAID":true,"RAW":"AA=="},"source":'
        '{"version":"ggfmt","connector":"postgresql","name":"srv","ts_ms":1600161894123,"snapshot":"false","db":"",'
        f'"schema":"shop","table":"orders",{times},"lsn":11,"txId":5,"position":"11","tokens":{{"R":"AAA"}}}},'
        f'"transaction":{{"id":"5:11","total_order":null,"data_collection_order":null}},"op":"c",{end}',
        f'{{"before":{{"ID":1}},"after":{{"ID":1,"NAME":null}},{SOURCE_HEAD}"ts_ms":1600161894123,"snapshot":"last","db":"",'
        f'"schema":"shop","table":"orders",{times},"position":null,"tokens":null}},"transaction":null,"op":"u",{end}',
        '{"before":{"ID":1},"after":null,"source":{"version":"ggfmt","connector":"mysql","name":"ggfmt","ts_ms":null,'
        '"snapshot":"false","db":"shop","schema":null,"table":"orders","ts_us":null,"ts_ns":null,"file":"b.1","pos":7,'
        f'"position":null,"tokens":null}},"transaction":null,"op":"d",{end}',
        f'{{"before":null,"after":null,{SOURCE_HEAD}"ts_ms":null,"snapshot":"false","db":"d","schema":"shop",'
        '"table":"orders","ts_us":null,"ts_ns":null,"position":null,"tokens":null},"transaction":null,"op":"t",' + end,
        f'{{"before":null,"after":{{}},{SOURCE_HEAD}"ts_ms":-1,"snapshot":"true","db":"","schema":"shop","table":"orders",'
        '"ts_us":-1,"ts_ns":-1000,"position":null,"tokens":null},"transaction":null,"op":"r",' + end,
    ]


def test_a_message_may_bring_its_schema() -> None:
    table = TableDef("S.T x", (Column("a", SqlType(Kind.STRING, length=4)), Column("b", SqlType(Kind.INTEGER))))
    operation = PlainOperation("I", None, None, None, {"a": "x"}, {"connector": "oracle", "ssn": "1", "txId": "1"})
    (line,) = write(operation, definition=table, schemasEnable="true", topicPrefix="srv")
    schema = json.loads(line)["schema"]
    assert schema["name"] == "srv.S.T_x.Envelope"
    before, after, source, transaction, *rest = schema["fields"]
    assert (before["field"], after["field"]) == ("before", "after")
    assert after["name"] == "srv.S.T_x.Value"
    length = {"__debezium.source.column.type": "VARCHAR", "__debezium.source.column.length": "4"}
    assert after["fields"] == [
        {"type": "string", "parameters": length, "optional": True, "field": "a"},
        {"type": "int64", "optional": True, "field": "b"},
    ]
    payload = json.loads(line)["payload"]
    assert [field["field"] for field in source["fields"]] == list(payload["source"])
    types = {field["field"]: field["type"] for field in source["fields"]}
    assert (types["ssn"], types["txId"], types["tokens"]) == ("int64", "string", "map")
    assert [field["field"] for field in schema["fields"]] == list(payload)
    assert [field["field"] for field in transaction["fields"]] == ["id", "total_order", "data_collection_order"]
    assert [field["type"] for field in rest] == ["string", "int64", "int64", "int64"]


@pytest.mark.parametrize(
    ("type", "text", "options", "value", "semantic"),
    [
        (SqlType(Kind.INTEGER), "007", {}, 7, None),
        *((SqlType(Kind.INTEGER, bits=bits), str(-1 << bits - 1), {}, -1 << bits - 1, None) for bits in (8, 16, 32)),
        (SqlType(Kind.INTEGER, bits=8), "+127", {}, 127, None),
        (SqlType(Kind.DECIMAL, scale=2), "1.370", {}, "1.370", None),
        (SqlType(Kind.DECIMAL, scale=2), "1.370", {"decimalHandlingMode": "double"}, "1.370", None),
        (SqlType(Kind.DECIMAL, scale=2), "1.370", {"decimalHandlingMode": "precise"}, "AIk=", "Decimal"),
        (SqlType(Kind.DECIMAL, scale=2), "-1.28", {"decimalHandlingMode": "precise"}, "gA==", "Decimal"),
        (SqlType(Kind.DECIMAL, scale=2), "1E2", {"decimalHandlingMode": "precise"}, "JxA=", "Decimal"),
        (SqlType(Kind.DECIMAL, scale=0), "0", {"decimalHandlingMode": "precise"}, "AA==", "Decimal"),
        (
            SqlType(Kind.NUMBER),
            "3.38",
            {"decimalHandlingMode": "precise"},
            {"scale": 2, "value": "AVI="},
            "VariableScaleDecimal",
        ),
        (
            SqlType(Kind.DECIMAL),
            "-5",
            {"decimalHandlingMode": "precise"},
            {"scale": 0, "value": "+w=="},
            "VariableScaleDecimal",
        ),
        (SqlType(Kind.DOUBLE), "1E+5", {}, "1E+5", None),
        (SqlType(Kind.DOUBLE), "NaN", {}, "NaN", None),
        (SqlType(Kind.FLOAT), "-Infinity", {}, "-Infinity", None),
        (SqlType(Kind.DATE), "2024-02-11:15:58:00", {}, "2024-02-11:15:58:00", None),
        (SqlType(Kind.DATE), "2020-07-17", {"timePrecisionMode": "adaptive_time_microseconds"}, 18460, "time.Date"),
        (SqlType(Kind.DATE), "1969-12-31", {"timePrecisionMode": "connect"}, -1, "data.Date"),
        (SqlType(Kind.DATE), "2020-07-17", {"timePrecisionMode": "isostring"}, "2020-07-17Z", "IsoDate"),
        (SqlType(Kind.TIME), "18:00:22", {"timePrecisionMode": "adaptive_time_microseconds"}, 64822000000, "MicroTime"),
        (
            SqlType(Kind.TIME),
            "-838:59:59.5",
            {"timePrecisionMode": "adaptive_time_microseconds"},
            -3020399500000,
            "MicroTime",
        ),
        (SqlType(Kind.TIME), "18:00:22.100", {"timePrecisionMode": "connect"}, 64822100, "data.Time"),
        (SqlType(Kind.TIME), "18:00:22.1", {"timePrecisionMode": "isostring"}, "18:00:22.1Z", "IsoTime"),
        (
            SqlType(Kind.TIMESTAMP),
            "2020-07-17 18:00:22.123456",
            {"timePrecisionMode": "adaptive_time_microseconds"},
            1595008822123456,
            "MicroTimestamp",
        ),
        (
            SqlType(Kind.TIMESTAMP),
            "infinity",
            {"timePrecisionMode": "adaptive_time_microseconds"},
            9223372036825200000,
            "MicroTimestamp",
        ),
        (
            SqlType(Kind.TIMESTAMP, scale=3),
            "2020-07-17 18:00:22.123000",
            {"timePrecisionMode": "adaptive_time_microseconds"},
            1595008822123,
            "time.Timestamp",
        ),
        (
            SqlType(Kind.TIMESTAMP, scale=9),
            "2020-07-17 18:00:22.123456789",
            {"timePrecisionMode": "adaptive_time_microseconds"},
            1595008822123456789,
            "NanoTimestamp",
        ),
        (
            SqlType(Kind.TIMESTAMP),
            "2020-07-17 18:00:22",
            {"timePrecisionMode": "connect"},
            1595008822000,
            "data.Timestamp",
        ),
        (
            SqlType(Kind.TIMESTAMP),
            "2020-07-17 18:00:22",
            {"timePrecisionMode": "isostring"},
            "2020-07-17T18:00:22Z",
            "IsoTimestamp",
        ),
        (SqlType(Kind.INTERVAL), "+01 02:03", {}, "+01 02:03", None),
        (SqlType(Kind.BINARY), "AA==", {}, "AA==", None),
        (SqlType(Kind.STRING), None, {}, None, None),
    ],
)
def test_values_by_the_types_of_columns(
    type: SqlType, text: str | None, options: dict[str, str], value: Any, semantic: str | None
) -> None:
    assert inserted(type, text, **options) == value
    with_schema, schema = inserted(type, text, schemasEnable="true", **options)
    assert with_schema == value
    assert schema.get("name", "").endswith(semantic or "")
    assert ("name" in schema) == (semantic is not None)
    shown = {"type": schema["type"], "name": schema.get("name"), "parameters": schema.get("parameters")}
    column = {key: part for key, part in shown.items() if part is not None}
    fields = [{"type": "struct", "fields": [{**column, "field": "v", "optional": True}], "field": "after"}]
    payload = {"before": None, "after": {"v": value}, "source": {"table": "T"}, "op": "c"}
    if "." in str(value) and schema["type"] in ("float64", "float32"):
        payload["after"] = {"v": float(value)}
    found = read(NAME, lines({"schema": {"type": "struct", "fields": fields}, "payload": payload}))
    assert found.reasons == []
    read_back = found.operations[0][0].columns[0].type
    assert read_back.bits == type.bits
    assert read_back.kind in (type.kind, Kind.NUMBER if type.kind is Kind.DECIMAL else type.kind)


@pytest.mark.parametrize(
    ("type", "text", "options", "help"),
    [
        (
            SqlType(Kind.INTEGER),
            "1.5",
            {"schemasEnable": "true"},
            "correct the type of the column with `--definitions`",
        ),
        (
            SqlType(Kind.INTEGER),
            str(1 << 63),
            {"schemasEnable": "true"},
            "correct the type of the column with `--definitions`",
        ),
        *(
            (SqlType(Kind.INTEGER, bits=bits), text, {"schemasEnable": "true"}, "correct the type of the column")
            for bits in (8, 16, 32)
            for text in (str(1 << bits - 1), f"+{1 << bits - 1}", str((-1 << bits - 1) - 1), "1.5")
        ),
        (SqlType(Kind.BOOLEAN), "yes", {}, "correct the type of the column with `--definitions`"),
        (SqlType(Kind.DECIMAL, scale=2), "1.375", {"decimalHandlingMode": "precise"}, "decimalHandlingMode=string"),
        (SqlType(Kind.NUMBER), "NaN", {"decimalHandlingMode": "precise"}, "decimalHandlingMode=string"),
        (SqlType(Kind.DATE), "2024-02-11:15:58:00", {"timePrecisionMode": "connect"}, "timePrecisionMode=text"),
        (SqlType(Kind.DATE), "soon", {"timePrecisionMode": "isostring"}, "timePrecisionMode=text"),
        (SqlType(Kind.TIME), "24:60:00", {"timePrecisionMode": "connect"}, "timePrecisionMode=text"),
        (
            SqlType(Kind.TIMESTAMP),
            "2020-07-17 18:00:22.123456",
            {"timePrecisionMode": "connect"},
            "timePrecisionMode=text",
        ),
        (SqlType(Kind.TIMESTAMP), "2020-07-17T18:00:22Z", {"timePrecisionMode": "connect"}, "timePrecisionMode=text"),
        (SqlType(Kind.TIMESTAMP), "2020-07-17 25:00:00", {"timePrecisionMode": "connect"}, "timePrecisionMode=text"),
    ],
)
def test_a_value_that_has_no_form_is_refused(type: SqlType, text: str, options: dict[str, str], help: str) -> None:
    with pytest.raises(RowErrors) as error:
        inserted(type, text, **options)
    ((row, diagnostic),) = error.value.rows
    assert (row, diagnostic.code, diagnostic.span.field) == (0, "GG401", "v")
    assert help in (diagnostic.help or "")


def test_a_time_that_is_none_cannot_be_written() -> None:
    with pytest.raises(RowErrors, match="GG408"):
        write(PlainOperation("I", "not a time", None, None, ROW, {}))


def test_missing_columns_are_left_out_or_unavailable() -> None:
    operation = PlainOperation("U", None, None, {"ID": "1"}, {"ID": "1", "NAME": None}, {})
    made = json.loads(write(operation)[0])
    assert (made["before"], made["after"]) == ({"ID": 1}, {"ID": 1, "NAME": None})
    made = json.loads(write(operation, missing="placeholder")[0])
    text = "__debezium_unavailable_value"
    encoded = base64.b64encode(text.encode()).decode()
    assert made["before"] == {"ID": 1, "NAME": text, "RAW": encoded}
    assert made["after"] == {"ID": 1, "NAME": None, "RAW": encoded}
    made = json.loads(write(operation, missing="placeholder", unavailableValuePlaceholder="hex:41")[0])
    assert made["before"] == {"ID": 1, "NAME": "A", "RAW": "QQ=="}
    for missing in ("omitted", "placeholder"):
        found = read(NAME, "\n".join(write(operation, missing=missing)).encode())
        assert found.plain == [operation]


def test_a_text_that_is_the_placeholder_is_counted() -> None:
    format = FORMATS[NAME]
    text = "__debezium_unavailable_value"
    operations = [
        PlainOperation("U", None, None, {"NAME": text}, {"NAME": text}, {}),
        PlainOperation("D", None, None, {}, None, {}),
    ]
    formatter = format.write_support.formatter(TABLE, format.options.parse({}), Context(), Clock(NOW))
    formatter.format(make_batch(Changes(PLAIN, operations, True), TABLE))
    ((note, count),) = formatter.notes.items()
    assert (note.code, note.field, count) == ("GG406", "NAME", 2)


def test_other_tokens_are_shown_if_tokens_are_asked_for() -> None:
    format = FORMATS[NAME]
    operation = PlainOperation("I", None, None, None, ROW, {"R": "AAA", "lsn": "5"})
    formatter = format.write_support.formatter(
        TABLE, format.options.parse({}), Context(include_tokens=False), Clock(NOW)
    )
    (message,) = non_null_values(formatter.format(make_batch(Changes(PLAIN, [operation], False), TABLE)))
    source = json.loads(message)["source"]
    assert source["lsn"] == "5"
    assert "tokens" not in source


def test_a_debezium_message_comes_back_as_it_was() -> None:
    transaction = {"id": "5:11", "total_order": 3, "data_collection_order": 2}
    records = [
        event("c", None, {"id": "1", "name": "a"}, transaction=transaction),
        event("r", None, {"id": "1", "name": "a"}, source={**SOURCE, "snapshot": "last"}),
    ]
    found = read(NAME, lines(*records))
    assert found.plain[0].after == TEXTS
    table = found.operations[0][0]
    again = [json.loads(line) for line in write(*found.plain, definition=table)]
    for one, other in zip(records, again, strict=True):
        for name in ("before", "after", "op", "transaction"):
            assert other[name] == one[name]
        known = {k: v for k, v in one["source"].items() if k not in ("version", "xmin")}
        assert {name: other["source"][name] for name in known} == known


# Round trips


def _values(type: SqlType) -> st.SearchStrategy[str]:
    if type.kind is Kind.DECIMAL:
        return st.decimals(-(10**8), 10**8, places=type.scale or 0, allow_nan=False).map(lambda n: format(n, "f"))
    if type.kind is Kind.DATE:
        return st.dates().map(str)
    digits = {"3": "milliseconds", "9": "microseconds"}.get(str(type.scale), "microseconds")
    if type.kind is Kind.TIME:
        return st.times().map(lambda at: at.isoformat("microseconds"))
    return st.datetimes().map(lambda at: at.isoformat(" ", digits))


_EXACT = TableDef(
    "S.T",
    (
        Column("d", SqlType(Kind.DECIMAL, precision=12, scale=3)),
        Column("day", SqlType(Kind.DATE)),
        Column("t", SqlType(Kind.TIME, scale=6)),
        Column("s3", SqlType(Kind.TIMESTAMP, scale=3)),
        Column("s6", SqlType(Kind.TIMESTAMP, scale=6)),
    ),
)


@examples(60)
@given(
    st.lists(st.tuples(*(st.none() | _values(c.type) for c in _EXACT.columns)), min_size=1, max_size=5), st.booleans()
)
def test_encoded_values_come_back_exactly(rows: list[tuple[str | None, ...]], iso: bool) -> None:
    operations = [
        PlainOperation("I", None, None, None, dict(zip(_EXACT.column_names, row, strict=True)), {}) for row in rows
    ]
    mode = "isostring" if iso else "adaptive_time_microseconds"
    made = write(
        *operations, definition=_EXACT, schemasEnable="true", decimalHandlingMode="precise", timePrecisionMode=mode
    )
    found = read(NAME, "\n".join(made).encode())
    assert found.plain == operations
    kinds = [column.type.kind for column in found.operations[0][0].columns]
    assert kinds == [column.type.kind for column in _EXACT.columns]
    if not iso:
        assert found.operations[0][0] == _EXACT


def test_reading_is_the_same_by_the_plain_model() -> None:
    batch = make_batch(Changes(PLAIN, [PlainOperation("I", AT, "1", None, ROW, {})], False), TABLE)
    found: Read = read(NAME, "\n".join(write(*plain_operations(batch))).encode(), projection=EVERYTHING)
    assert found.plain == plain_operations(batch)
