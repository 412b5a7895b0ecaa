"""Huawei's CDL JSON in both directions."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from contract.cdl import COLUMNS, GOOD, field, message, schema, struct
from contract.shown import MOMENTS, in_millis
from dialects import DATA, lines, read, told, transactions_of, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import content, run_ggfmt
from strategies import Changes, examples, make_batch

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.sinks.messages.pipeline import LossCounter

AT = "2024-02-04 11:59:56.013000"
CONNECT = "org.apache.kafka.connect.data."


TOKENS = {"DATA_STORE": "POSTGRESQL", "txId": "57", "HEARTBEAT_IDENTIFIER": "279f"}


def operation(op: str, before: Any, after: Any) -> PlainOperation:
    return PlainOperation(op, AT, "163955221008", before, after, TOKENS)


def test_data_is_the_row_after_and_before_the_one_before() -> None:
    found = read("cdl_json", lines(*GOOD, message("UPDATE", {"id": 1, "n": "b"}, None)))
    assert found.rejects == []
    assert found.plain == [
        operation("I", None, {"id": "1", "n": "a"}),
        operation("U", {"id": "1", "n": "a"}, {"id": "1", "n": None}),
        operation("D", {"id": "1", "n": None}, None),
        operation("U", None, {"id": "1", "n": "b"}),
    ]
    table = found.operations[0][0]
    assert table.full_name == "public.t"
    assert [(c.name, str(c.type), c.key) for c in table.columns] == [("id", "integer", 1), ("n", "string", 0)]


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
@pytest.mark.parametrize(("version", "transaction"), [("1.0", "57227595"), ("2.0", "57227663")])
def test_transactions_of_recorded_messages(version: str, transaction: str) -> None:
    data = (DATA / f"cdl/huawei_mrs_doc__cdl_v{version}.json").read_bytes()
    assert transactions_of("cdl_json", data) == [transaction]


def test_the_database_is_told_by_an_option() -> None:
    ((table, _),) = read("cdl_json", lines(GOOD[0]), told("cdl_json", databaseName="shop")).operations
    assert table.full_name == "shop.public.t"


def test_version_2_has_the_members_of_debezium() -> None:
    source = {
        "version": "1.4.0.Final", "connector": "postgresql", "name": "cdl", "ts_ms": 1707047996013,
        "snapshot": "false", "db": "shop", "schema": "public", "table": "t", "txId": 57, "lsn": 163955221008,
    }  # fmt: skip
    payload = {
        "before": None, "after": {"id": 1, "n": "a"}, "source": source, "op": "c", "ts_ms": 1, "message_version": "2.0",
        "message_type": "0", "LOB_COLUMNS": "n", "unique": {"id": 1},
    }  # fmt: skip
    described = schema(*COLUMNS, images=("before", "after"))
    other = {"source": {**source, "snapshot": "true"}, "op": "r"}
    deleted = {"op": "d", "after": None, "before": {"id": 1, "n": "a"}}
    found = read(
        "cdl_json",
        lines(*({"schema": described, "payload": {**payload, **change}} for change in ({}, other, deleted))),
    )
    assert found.rejects == []
    row = {"id": "1", "n": "a"}
    said = {"txId": "57", "version": "1.4.0.Final", "connector": "postgresql", "name": "cdl", "LOB_COLUMNS": "n"}
    assert [(item.op, item.before, item.after, item.tokens) for item in found.plain] == [
        ("I", None, row, said),
        ("I", None, row, {**said, "snapshot": "true"}),
        ("D", row, None, said),
    ]
    assert {(table.full_name, table.primary_keys) for table, _ in found.operations} == {("shop.public.t", ("id",))}
    assert {(item.op_ts, item.pos) for item in found.plain} == {(AT, "163955221008")}


@pytest.mark.parametrize(
    ("column", "value", "type", "text"),
    [
        (field("x", "int64"), 9223372036854775807, "integer", "9223372036854775807"),
        (field("x", "float"), 1.5, "float", "1.5"),
        (field("x", "double"), 0.1, "double", "0.1"),
        (field("x", "boolean"), True, "boolean", "true"),
        (field("x", "bytes"), "AP8=", "binary", "AP8="),
        (field("x", "string", "com.xxx.cdc.data.Decimal"), "1.50", "decimal", "1.50"),
        (field("x", "string", "com.xxx.cdc.data.timestamp"), "2020-01-01 00:00:00+08", "timestamp", None),
        (field("x", "int64", f"{CONNECT}Timestamp"), 1707047996013, "timestamp", AT),
        (field("x", "int64", f"{CONNECT}Timestamp"), -1, "timestamp", "1969-12-31 23:59:59.999000"),
        (field("x", "int32", f"{CONNECT}Date"), 18262, "date", "2020-01-01"),
        (field("x", "int32", f"{CONNECT}Time"), 36930500, "time", "10:15:30.500000"),
        (field("x", "bytes", f"{CONNECT}Decimal", parameters={"scale": "2"}), "/2o=", "decimal(2)", "-1.50"),
        (field("x", "struct"), {"a": [1, 2.50]}, "string", '{"a": [1, 2.5]}'),
    ],
)
def test_types_come_from_the_schema(column: Any, value: Any, type: str, text: str | None) -> None:
    found = read("cdl_json", lines(message("INSERT", {"x": value}, None, (column,))))
    ((table, item),) = found.operations
    assert str(table.columns[0].type) == type
    assert item.after == {"x": value if text is None else text}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (field("x", "int64", f"{CONNECT}Timestamp"), "soon"),
        (field("x", "int64", f"{CONNECT}Timestamp"), 1.5),
        (field("x", "int64", f"{CONNECT}Timestamp"), 10**17),
        (field("x", "int64", f"{CONNECT}Timestamp"), 10**25),
        (field("x", "int32", f"{CONNECT}Date"), 10**12),
        (field("x", "int32", f"{CONNECT}Time"), 86400000),
        (field("x", "int32", f"{CONNECT}Time"), -1),
        (field("x", "bytes", f"{CONNECT}Decimal"), "/2o="),
        (field("x", "bytes", f"{CONNECT}Decimal", parameters={"scale": "99999"}), "/2o="),
        (field("x", "bytes", f"{CONNECT}Decimal", parameters={"scale": "1"}), "no"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_a_reject(column: Any, value: Any) -> None:
    found = read(
        "cdl_json",
        lines(message("INSERT", {"x": None}, None, (column,)), message("INSERT", {"x": value}, None, (column,))),
    )
    assert found.reasons == ["GG314 a value does not match the description of its column"]
    assert len(found.plain) == 1


@examples(100)
@given(st.integers(-(10**40), 10**40), st.integers(-5, 60))
def test_numbers_without_their_point_get_it_by_the_scale(number: int, scale: int) -> None:
    data = number.to_bytes(20, "big", signed=True)
    column = field("x", "bytes", f"{CONNECT}Decimal", parameters={"scale": str(scale)})
    found = read("cdl_json", lines(message("INSERT", {"x": base64.b64encode(data).decode()}, None, (column,))))
    text = (found.plain[0].after or {})["x"]
    assert text is not None
    assert "E" not in text
    assert Decimal(text) == Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def test_without_a_schema_columns_are_found_in_the_rows() -> None:
    data = lines(*({"payload": {**item["payload"], "n": 1}} for item in GOOD))
    found = read("cdl_json", data)
    assert [item.op for item in found.plain] == ["I", "U", "D"]
    table = found.operations[0][0]
    assert (table.column_names, table.primary_keys) == (("id", "n"), ("id",))


def test_another_schema_is_another_definition_from_its_place_on() -> None:
    wider = message("INSERT", {"id": 1, "n": "a", "x": 2}, None, (*COLUMNS, field("x", "int64")))
    data = lines(GOOD[0], wider, GOOD[0])
    found = read("cdl_json", data)
    assert [len(table.columns) for table, _ in found.operations] == [2, 3, 2]
    for size in (1, 500, 1000):
        assert read("cdl_json", data, size=size) == found


def test_what_is_no_change_by_its_type_is_counted() -> None:
    other = message("INSERT", None, None, OPERATION=None, message_type="7")
    found = read("cdl_json", lines(GOOD[0], other, None))
    assert found.others == {"message type 7": 1, "tombstone": 1}
    assert len(found.plain) == 1


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"schema": None}, "GG305 the record has no `payload`"),
        ({"payload": {}}, "GG305 `payload` has no `message_version`"),
        (message("INSERT", {}, None, message_version="3"), "GG308 `message_version` cannot be `3`"),
        (message("INSERT", {}, None, TABLE_NAME=None), "GG305 `payload` has no `TABLE_NAME`"),
        (message("INSERT", {}, None, message_version="2.0", op="c"), "GG305 `payload` has no `source`"),
        (message("INSERT", {}, None, OPERATION=None), "GG305 `payload` has no `OPERATION`"),
        (message("TRUNCATE", None, None), "GG304 `OPERATION` cannot be `TRUNCATE`"),
        (message("INSERT", None, None), "GG307 an insert has no after image"),
        (message("DELETE", {"id": 1}, {"id": 1}), "GG307 a delete has an after image"),
        (message("INSERT", {"y": 1}, None), "GG204 an image has a column that the definition of the table lacks"),
        (message("INSERT", [1], None), "GG308 an image is an array and not an object"),
        ({**GOOD[0], "schema": 1}, "GG308 `schema` is not a Kafka Connect schema"),
        ({**message("INSERT", {"id": 1}, None, unique=1), "schema": None}, "GG308 `unique` is not an object"),
        (message("INSERT", {"id": 1}, None, TIMESTAMP=10**17), "GG308 the time of the operation is out of range"),
    ],
)
def test_what_is_no_message_of_cdl_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read("cdl_json", lines(GOOD[0], record, GOOD[2]))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


# Writing


ALL = PlainTable(
    "C.S.T",
    (
        PlainColumn("id", "integer", 1),
        PlainColumn("t", "timestamp"),
        PlainColumn("d", "decimal"),
        PlainColumn("b", "boolean"),
    ),
)


def story(*items: PlainOperation, table: PlainTable = ALL) -> Changes:
    return Changes(table, list(items), False)


UPDATE = PlainOperation(
    "U",
    "2024-02-04 11:59:56.013999",
    "00000000000000001444",
    {"id": "1", "t": AT},
    {"id": "2", "t": None, "d": "1.50", "b": "true"},
    {"txId": "57", "DATA_STORE": "ORACLE", "R": "AAA"},
)


def test_messages_are_written_as_cdl_writes_them() -> None:
    record = json.loads(written("cdl_json", story(UPDATE)))
    columns = [
        {"type": "int64", "optional": True, "field": "id"},
        {"type": "int64", "optional": True, "name": f"{CONNECT}Timestamp", "version": 1, "field": "t"},
        {"type": "string", "optional": True, "name": "com.xxx.cdc.data.Decimal", "field": "d"},
        {"type": "boolean", "optional": True, "field": "b"},
    ]
    fields = {item["field"]: item for item in record["schema"]["fields"]}
    assert list(fields) == list(record["payload"])
    assert record["schema"]["name"] == "S.T"
    assert fields["data"] == struct("data", *columns)
    assert fields["before"] == struct("before", *columns)
    assert fields["unique"] == struct("unique", columns[0])
    assert fields["TIMESTAMP"] == {
        "type": "int64", "optional": False, "name": f"{CONNECT}Timestamp", "version": 1, "field": "TIMESTAMP",
    }  # fmt: skip
    assert written("cdl_json", story(UPDATE)).decode().partition('"payload":')[2] == (
        '{"DATA_STORE":"ORACLE","SEG_OWNER":"S","TABLE_NAME":"T","TIMESTAMP":1707047996013,"OPERATION":"UPDATE",'
        '"LOB_COLUMNS":null,"transaction":{"properties":[{"name":"lsn","value":1444},{"name":"txId","value":57}]},'
        '"unique":{"id":2},"data":{"id":2,"t":null,"d":"1.50","b":true},'
        '"before":{"id":1,"t":1707047996013,"d":null,"b":null},"message_version":"1.0","message_type":"0",'
        '"HEARTBEAT_IDENTIFIER":null}}\n'
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_a_message_has_the_members_of_a_recorded_one() -> None:
    recorded = json.loads((DATA / "cdl/huawei_mrs_doc__cdl_v1.0.json").read_bytes())
    made = json.loads(written("cdl_json", story(UPDATE)))
    assert list(made["payload"]) == list(recorded["payload"])
    assert [f["field"] for f in made["schema"]["fields"]] == [f["field"] for f in recorded["schema"]["fields"]]
    parts = ({f["field"]: f for f in message["schema"]["fields"]} for message in (made, recorded))
    ours, theirs = parts
    for name in set(ours) - {"unique", "data", "before"}:
        assert ours[name] == theirs[name]


def test_a_key_that_an_update_does_not_show_is_the_one_before() -> None:
    (line,) = written("cdl_json", story(replace(UPDATE, after={"d": "1"}))).splitlines()
    assert json.loads(line)["payload"]["unique"] == {"id": 1}
    (line,) = written("cdl_json", story(PlainOperation("D", None, None, {"id": "7"}, None, {}))).splitlines()
    record = json.loads(line)
    assert record["payload"]["unique"] == {"id": 7}
    assert record["payload"]["TIMESTAMP"] is None
    assert {item["field"]: item["optional"] for item in record["schema"]["fields"]}["TIMESTAMP"] is True


def test_what_is_lost_is_counted() -> None:
    batch = make_batch(story(replace(UPDATE, after={"t": "2024-02-04 11:59:56.0139", "d": "1", "b": None})))
    made = FORMATS["cdl_json"].write_support.formatter(batch.table, FORMATS["cdl_json"].options(), Context(), Clock())
    made.format(batch)
    missing = "missing from the image, which will be read back as NULL"
    assert {(note.field, note.detail): count for note, count in made.notes.items()} == {
        ("id", missing): 1,
        ("d", missing): 1,
        ("b", missing): 1,
        ("t", "with a finer time than CDL supports, which was cut off"): 1,
    }


@pytest.mark.parametrize(
    ("item", "code", "field"),
    [
        (PlainOperation("T", None, None, None, None, {}), "GG408", None),
        (replace(UPDATE, op_ts="soon"), "GG408", None),
        (replace(UPDATE, after={"id": "1.5"}), "GG401", "id"),
        (replace(UPDATE, after={"id": "9223372036854775808"}), "GG401", "id"),
        (replace(UPDATE, after={"id": "1E400"}), "GG401", "id"),
        (replace(UPDATE, after={"t": "2020-01-01 00:00:00 CET"}), "GG401", "t"),
        (replace(UPDATE, after={"b": "yes"}), "GG401", "b"),
    ],
)
def test_what_cdl_has_no_form_for_is_refused(item: PlainOperation, code: str, field: str | None) -> None:
    with pytest.raises(RowErrors) as error:
        written("cdl_json", story(item))
    assert [(row, d.code, d.span.field) for row, d in error.value.rows] == [(0, code, field)]


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("2020-07-17T18:00:22.1Z", 1595008822100),  # io.debezium.time.ZonedTimestamp, whose trailing zeros are trimmed
        ("2020-07-17T18:00:22Z", 1595008822000),
        ("2020-07-17 20:00:22.100+02:00", 1595008822100),
        ("2020-07-17 20:00:22.100+0200", 1595008822100),
        ("2020-07-17 20:00:22.1+02", 1595008822100),
        ("2020-07-17 13:30:22-04:30", 1595008822000),
        ("1969-12-31T23:59:59.9999Z", -1),
        ("2020-07-17 18:00:22.100", 1595008822100),
    ],
)
def test_a_time_stamp_with_a_zone_is_one_in_utc(text: str, millis: int) -> None:
    others = [replace(UPDATE, after={"t": other, "d": "1"}) for other in (AT, None, text)]
    *_, line = written("cdl_json", story(*others)).splitlines()
    assert json.loads(line)["payload"]["data"]["t"] == millis
    made = written("debezium_json", story(replace(UPDATE, after={"t": text, "d": "1"})), schemasEnable="true")
    assert f'"t":"{text}"' in made.decode()  # as a text it keeps its zone


@pytest.mark.parametrize("text", ["2020-07-17T25:00:22Z", "2020-07-17T18:00:22+99:00", "18:00:22Z", "x 18:00:22Z"])
def test_a_time_stamp_with_a_zone_that_is_none(text: str) -> None:
    with pytest.raises(RowErrors):
        written("cdl_json", story(replace(UPDATE, after={"t": text})))


def test_time_stamps_may_be_texts() -> None:
    item = replace(UPDATE, before=None, after={"id": "1", "t": "2020-01-01 00:00:00 CET", "d": "1", "b": None})
    found = read("cdl_json", written("cdl_json", story(item), timestamps="text"))
    ((table, back),) = found.operations
    assert back.after == item.after
    assert str(table.columns[1].type) == "timestamp"


@examples(100)
@given(st.lists(MOMENTS, min_size=1, max_size=5))
def test_time_stamps_are_read_back_in_milliseconds(moments: list[str]) -> None:
    table = PlainTable("S.T", (PlainColumn("t", "timestamp"),))
    items = [PlainOperation("I", None, None, None, {"t": moment}, {}) for moment in moments]
    found = read("cdl_json", written("cdl_json", story(*items, table=table)))
    assert [item.after for item in found.plain] == [{"t": in_millis(moment)} for moment in moments]


# Real messages


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
@pytest.mark.parametrize(
    ("version", "name", "item"),
    [
        (
            "1.0",
            "public.ct_pg2hudi",
            PlainOperation(
                "I",
                AT,
                "163955221008",
                None,
                {"count1": "13", "id": "34", "time1": None, "decimalNum": None},
                {
                    "txId": "57227595",
                    "DATA_STORE": "POSTGRESQL",
                    "HEARTBEAT_IDENTIFIER": "279fb050-0143-45c1-b184-50bc48c2461c",
                },
            ),
        ),
        (
            "2.0",
            "cdl.public.ct_pg2hudi",
            PlainOperation(
                "I",
                "2024-02-04 12:14:51.235000",
                "163955586912",
                None,
                {"count1": "14", "id": "35", "time1": None, "decimalNum": None},
                {"txId": "57227663", "version": "1.4.0.Final", "connector": "postgresql", "name": "cdl"},
            ),
        ),
    ],
)
def test_recorded_messages(version: str, name: str, item: PlainOperation) -> None:
    data = (DATA / f"cdl/huawei_mrs_doc__cdl_v{version}.json").read_bytes()
    ((table, found),) = read("cdl_json", data).operations
    assert found == item
    assert table.full_name == name
    assert [(c.name, str(c.type), c.key) for c in table.columns] == [
        ("count1", "integer", 0),
        ("id", "integer", 1),
        ("time1", "timestamp", 0),
        ("decimalNum", "decimal", 0),
    ]


# Runs


def _sized(*required: str) -> list[Any]:
    """Columns of integers of all sizes; those that are named cannot be NULL."""
    columns = [field(type, type) for type in ("int8", "int16", "int32", "int64")]
    return [{**column, "optional": column["field"] not in required} for column in columns]


def _columns_of(line: bytes, image: str = "data") -> Any:
    images = {item["field"]: item["fields"] for item in json.loads(line)["schema"]["fields"] if "fields" in item}
    return images[image]


def test_integers_keep_their_sizes_and_columns_that_cannot_be_null_stay_so(tmp_path: Path) -> None:
    row = {"int8": -128, "int16": 32767, "int32": -2147483648, "int64": 9223372036854775807}
    columns = _sized("int8", "int64")
    messages = [message("INSERT", row, None, columns, unique={"int8": -128}), message("DELETE", None, row, columns)]
    (tmp_path / "in.json").write_bytes(lines(*messages))
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", "gg.handler.h.format=cdl_json", strict=True)
    made = content(tmp_path / "out", "h").splitlines()
    assert [_columns_of(line, image) for line in made for image in ("data", "before")] == [columns] * 4
    assert {table.columns for table, _ in read("cdl_json", lines(*messages)).operations} == {
        table.columns for table, _ in read("cdl_json", b"\n".join(made)).operations
    }


def test_a_message_without_a_value_says_that_columns_can_be_null(tmp_path: Path) -> None:
    row = {"int8": 1, "int16": None, "int32": 1, "int64": 1}
    gap = {**row, "int64": None}
    columns = _sized("int64")
    messages = [message("UPDATE", after, before, columns) for after, before in ((row, row), (gap, row), (row, gap))]
    (tmp_path / "in.json").write_bytes(lines(*messages))
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", "gg.handler.h.format=cdl_json")
    made = content(tmp_path / "out", "h").splitlines()
    assert [_columns_of(line) for line in made] == [columns, _sized(), _sized()]


def test_a_number_that_the_type_of_the_source_does_not_have_is_a_reject(tmp_path: Path) -> None:
    messages = [message("INSERT", {"int8": value}, None, _sized()) for value in (127, 128, -128, -129, 1.0, 1.5, 1e30)]
    (tmp_path / "in.json").write_bytes(lines(*messages))
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", "gg.handler.h.format=cdl_json", quarantine=True)
    found = [json.loads(line)["payload"]["data"]["int8"] for line in content(tmp_path / "out", "h").splitlines()]
    assert found == [127, -128, 1]


def test_tokens_that_are_not_read_back_are_counted() -> None:
    tokens: tuple[dict[str, str], ...] = ({"DATA_STORE": ""}, {"lsn": "5"}, {"DATA_STORE": "ORACLE"}, {})
    batch = make_batch(story(*(replace(UPDATE, tokens=item) for item in tokens)))
    format = FORMATS["cdl_json"]
    options = format.options.parse({"dataStore": "MYSQL"})
    made = format.write_support.formatter(batch.table, options, Context(include_tokens=True), Clock())
    made.format(batch)
    LossCounter(format.losses, options).count(made, batch)
    counts = {note.loss: count for note, count in made.notes.items() if "token" in note.loss}
    assert counts == {"tokens_whole_numbers": 1, "tokens_reserved": 1, "tokens_added": 2}


def test_a_run_converts_both_ways(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(lines(*GOOD))
    settings = ("gg.handler.h.format=cdl_json",)
    run_ggfmt([tmp_path / "in.json"], tmp_path / "one", *settings, input_format="cdl_json", split_size=900)
    run_ggfmt([tmp_path / "one" / "h"], tmp_path / "two", *settings, input_format="auto")
    assert content(tmp_path / "one", "h") == content(tmp_path / "two", "h")
    assert [json.loads(line)["payload"] for line in content(tmp_path / "one", "h").splitlines()] == [
        item["payload"] for item in GOOD
    ]
