"""CloudEvents of Debezium are read as the same events without their envelope."""

from __future__ import annotations

from typing import Any

import pytest
from dialects import lines, read
from places import SHARED_DATA

from ggfmt.formats import FORMATS

NAME = "debezium_json"
CASE = SHARED_DATA / "cases" / "records" / "cloudevents.json"
POSTGRES = {
    "version": "2.5.0.Final", "connector": "postgresql", "name": "srv", "ts_ms": 1700000000000, "snapshot": "false",
    "db": "d", "schema": "s", "table": "t", "txId": 7, "lsn": 1, "xmin": None, "sequence": '["1","2"]',
}  # fmt: skip
MYSQL = {
    "version": "3.1.0.Final", "connector": "mysql", "name": "srv", "ts_ms": 1700000000001, "ts_us": 1700000000001002,
    "snapshot": "false", "db": "d", "table": "t", "server_id": 3, "gtid": "a:1", "file": "binlog.1", "pos": 4, "row": 0,
}  # fmt: skip
SQL_SERVER = {
    "connector": "sqlserver", "name": "srv", "ts_ms": 1, "db": "d", "schema": "dbo", "table": "t",
    "change_lsn": "0:1", "commit_lsn": "0:2", "event_serial_no": 1,
}  # fmt: skip
SCHEMA = {
    "type": "struct",
    "name": "srv.t.Envelope",
    "fields": [
        {"field": image, "type": "struct", "fields": [
            {"field": "id", "type": "int32", "optional": False}, {"field": "v", "type": "string", "optional": True},
        ]}
        for image in ("before", "after")
    ],
}  # fmt: skip


def change(source: dict[str, Any], op: str, before: Any, after: Any, transaction: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1, "transaction": transaction}


def event(record: dict[str, Any], schema: Any = None) -> dict[str, Any]:
    """The record as the converter writes it: attributes are texts, and their names have no underscores."""
    names = {"id": "txid", "total_order": "txtotalorder", "data_collection_order": "txdatacollectionorder"}
    attributes = {name.replace("_", ""): value for name, value in record["source"].items()}
    attributes |= {names[name]: value for name, value in (record["transaction"] or {}).items()}
    images = {"before": record["before"], "after": record["after"]}
    return {
        "id": "name:srv;lsn:1", "source": "/debezium/postgresql/srv", "specversion": "1.0",
        "type": "io.debezium.connector.postgresql.DataChangeEvent", "time": "2023-11-14T22:13:20.000Z",
        "datacontenttype": "application/json", "iodebeziumop": record["op"],
        **{f"iodebezium{name}": None if value is None else str(value) for name, value in attributes.items()},
        "data": images if schema is None else {"schema": schema, "payload": images},
    }  # fmt: skip


@pytest.mark.parametrize("source", [POSTGRES, MYSQL, SQL_SERVER], ids=lambda source: str(source["connector"]))
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["plain", "with a schema"])
def test_an_event_is_the_change_in_it(source: dict[str, Any], schema: Any) -> None:
    row, new = {"id": 1, "v": "a"}, {"id": 1, "v": None}
    order = {"id": "7:1", "total_order": 1, "data_collection_order": 2}
    snapshot = {**source, "snapshot": "last"}
    records = [
        change(source, "c", None, row), change(source, "u", row, new, order), change(source, "d", new, None),
        change(snapshot, "r", None, row),
    ]  # fmt: skip
    plain = [record if schema is None else {"schema": schema, "payload": record} for record in records]
    events = lines(*(event(record, schema) for record in records))
    found, expected = read(NAME, events), read(NAME, lines(*plain))
    assert found.operations == expected.operations
    assert len(found.operations) == 4
    assert not found.rejects


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"type": "com.example.order"}, "GG305 the record is a CloudEvent of another system than Debezium and Oracle"),
        ({"type": None}, "GG305 the record is a CloudEvent of another system"),
        ({"data": None, "data_base64": "AAAA"}, "GG305 the `data` of the event is not JSON, but Avro or other bytes"),
        ({"data": "AAAA", "datacontenttype": "application/avro"}, "GG305 the `data` of the event is not JSON"),
        ({"iodebeziumop": None}, "GG304 `op` cannot be null"),
        ({"iodebeziumtable": None}, "GG305 the record does not name its table"),
        ({"iodebeziumlsn": {"long": 1}}, "GG308 `source.lsn` is invalid"),
        ({"data": {"schema": None, "payload": None}}, "GG308 `payload` is not an object"),
    ],
)
def test_other_events_are_refused_by_name(changed: dict[str, Any], reason: str) -> None:
    (found,) = read(NAME, lines({**event(change(POSTGRES, "c", None, {"id": 1})), **changed})).reasons
    assert found.startswith(reason)


def test_an_event_without_attributes_says_what_to_configure() -> None:
    members = event(change(POSTGRES, "c", None, {"id": 1}))
    bare = {name: value for name, value in members.items() if not name.startswith("iodebezium")}
    (reject,) = read(NAME, lines(bare)).rejects
    assert reject.diagnostic.message == "the event has no `iodebeziumop`"
    assert "extension.attributes.enable" in (reject.diagnostic.help or "")


def test_a_payload_without_a_schema_is_the_change_in_it() -> None:
    record = change(POSTGRES, "c", None, {"id": 1, "v": "a"})
    data = lines({"payload": record}, {"payload": None}, {"payload": record})
    found = read(NAME, data)
    assert found.plain == [*read(NAME, lines(record)).plain] * 2
    assert found.others == {"tombstone": 1}
    assert FORMATS[NAME].read_support.reader.sniff(data) == "a record has `op` and an image or `source`"


@pytest.mark.skipif(not CASE.exists(), reason="the folder of cases is absent")
def test_the_case_is_recognized_and_read() -> None:
    data = CASE.read_bytes()
    sniffed = {name for name, format in FORMATS.items() if format.reads and format.read_support.reader.sniff(data)}
    assert sniffed == {NAME}
    found = read(NAME, data)
    assert [(item.op, item.pos, item.after) for item in found.plain] == [
        ("I", "1", {"id": "1", "v": "a"}),
        ("U", "2", {"id": "1", "v": "b"}),
    ]
    assert found.operations[0][0].full_name == "s.t"
