"""Debezium's JSON, read: envelopes, flattened rows and other records, with schemas and without."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from contract.debezium import MYSQL, ROW, ROW_FIELDS, SOURCE, event, field, table_change, wrapped
from debezium_rows import AT, NAME, TEXTS
from dialects import discover, lines, read, told, transactions_of
from oracle import PlainOperation
from runs import content, run_ggfmt, write_lines

from ggfmt.formats.api.format import Projection
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest

TOKENS = {
    "connector": "postgresql", "name": "srv", "db": "shop", "sequence": '["10","11"]', "txId": "5", "lsn": "11",
}  # fmt: skip


def operation(op: str, before: Any, after: Any, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, '["10","11"]', before, after, {**TOKENS, **tokens})


# Envelopes


def test_every_operation_with_a_schema_and_without() -> None:
    events = [
        event("c", None, ROW),
        event("r", None, ROW),
        event("u", ROW, {**ROW, "name": None}),
        event("u", None, ROW),
        event("d", ROW),
        event("t"),
        {"source": SOURCE, "op": "t", "ts_ms": 1},
    ]
    expected = [
        operation("I", None, TEXTS),
        operation("I", None, TEXTS, snapshot="true"),
        operation("U", TEXTS, {"id": "1", "name": None}),
        operation("U", None, TEXTS),
        operation("D", TEXTS, None),
        operation("T", None, None),
        operation("T", None, None),
    ]
    for records in (events, [{"schema": None, "payload": item} for item in events], list(map(wrapped, events))):
        found = read(NAME, lines(*records))
        assert (found.reasons, found.plain) == ([], expected)
        assert {table.full_name for table, _ in found.operations} == {"public.t"}
    types = [(c.name, str(c.type), c.nullable) for c in found.operations[0][0].columns]
    assert types == [("id", "integer", False), ("name", "string", True)]


def test_lines_of_every_kind_may_be_mixed() -> None:
    mixed = lines(
        wrapped(event("c", None, ROW)), event("c", None, ROW), {"schema": None, "payload": event("c", None, ROW)},
        {**ROW, "__op": "c", "__table": "t", "__schema": "public", "__source_ts_us": SOURCE["ts_us"]},
        None, {"schema": None, "payload": None}, {"ts_ms": 5},
    )  # fmt: skip
    found = read(NAME, mixed)
    assert found.reasons == []
    assert [item.after for item in found.plain] == [TEXTS] * 4
    assert {item.op_ts for item in found.plain} == {AT}
    assert found.others == {"tombstone": 2, "heartbeat": 1}


def test_what_is_no_change_is_counted_by_its_kind() -> None:
    records: dict[str, list[Any]] = {
        "transaction begin": [
            {"status": "BEGIN", "id": "5:1", "ts_ms": 1, "event_count": None, "data_collections": None}
        ],
        "transaction end": [{"status": "END", "id": "5:2", "event_count": 1, "data_collections": []}],
        "heartbeat": [{"ts_ms": 1}, wrapped({"ts_ms": 1})],
        "tombstone": [None, {"schema": None, "payload": None}, {"schema": {}, "payload": None}],
        "message": [
            {"source": {**SOURCE, "table": "", "schema": ""}, "op": "m", "message": {"prefix": "p", "content": ""}}
        ],
        "notification": [{"id": "1", "aggregate_type": "Initial Snapshot", "type": "STARTED", "additional_data": {}}],
        "signal": [{"type": "execute-snapshot", "data": {"data-collections": ["a.b"]}}],
        "schema change": [{"source": MYSQL, "databaseName": "shop", "ddl": "drop table t", "tableChanges": []}],
        "key": [
            {"schema": {"type": "struct", "fields": [], "name": "srv.public.t.Key"}, "payload": {"id": 1}},
            {"serverName": "srv"},
            {"databaseName": "shop"},
        ],
    }
    found = read(NAME, lines(*(record for kind in records.values() for record in kind)))
    assert found.reasons == []
    assert found.others == {kind: len(of_kind) for kind, of_kind in records.items()}


def test_a_transaction_and_members_of_the_source_are_tokens() -> None:
    transaction = {"id": "5:11", "total_order": 3, "data_collection_order": 2}
    found = read(NAME, lines(event("c", None, ROW, transaction=transaction)))
    more = {f"transaction.{name}": str(value) for name, value in transaction.items()}
    assert found.plain == [replace(operation("I", None, TEXTS), tokens={**TOKENS, **more})]


@pytest.mark.parametrize(
    ("source", "name", "position"),
    [
        (MYSQL, "shop.t", "bin.3:154:0"),
        ({**MYSQL, "row": None}, "shop.t", "bin.3:154"),
        ({**MYSQL, "file": None}, "shop.t", None),
        ({**SOURCE, "sequence": None}, "public.t", "11"),
        (
            {"db": "D", "schema": "S", "table": "T", "commit_scn": "9", "scn": "8", "rs_id": "1.2", "ssn": 4},
            "S.T",
            "9:8:1.2:4",
        ),
        ({"db": "D", "schema": "S", "table": "T", "scn": "8"}, "S.T", ":8"),
        (
            {
                "db": "D",
                "schema": "dbo",
                "table": "T",
                "commit_lsn": "1:2:3",
                "change_lsn": "1:2:4",
                "event_serial_no": 1,
            },
            "dbo.T",
            "1:2:3:1:2:4:1",
        ),
        ({"keyspace": "k", "db": "", "table": "T", "vgtid": "[]"}, "k.T", "[]"),
        ({"db": "d", "table": "T", "server_transaction_id": "x", "mod_number": 2}, "d.T", "x:2"),
        ({"db": "d", "table": "T", "commit_ts": 44}, "d.T", "44"),
        ({"db": "d", "collection": "T"}, "d.T", None),
        ({"table": "T"}, "T", None),
    ],
)
def test_sources_tell_the_table_and_the_position(source: dict[str, Any], name: str, position: str | None) -> None:
    found = read(NAME, lines(event("c", None, ROW, source=source)))
    assert [(table.full_name, item.pos) for table, item in found.operations] == [(name, position)]


def test_a_name_has_its_database_if_it_is_asked_for() -> None:
    found = read(NAME, lines(event("c", None, ROW)), told(NAME, tableName="full"))
    assert found.operations[0][0].full_name == "shop.public.t"
    assert "db" not in found.plain[0].tokens
    assert read(NAME, lines(event("c", None, ROW, source=MYSQL)), told(NAME, tableName="full")).operations[0][
        0
    ].full_name == ("shop.t")


def test_a_table_that_records_do_not_name_is_told() -> None:
    record = {"before": None, "after": ROW, "op": "c"}
    assert (
        read(NAME, lines(record, event("c", None, ROW, source={}))).reasons
        == ["GG305 the record does not name its table"] * 2
    )
    (made,) = read(NAME, lines(record), told(NAME, table="S.X")).operations
    assert made == (TableDef("S.X", made[0].columns), PlainOperation("I", None, None, None, TEXTS, {}))


def test_times_are_those_of_the_database() -> None:
    def at(**source: Any) -> Any:
        found = read(NAME, lines(event("c", None, ROW, source={"table": "T", **source})))
        return found.plain[0].op_ts if found.plain else found.reasons[0]

    assert at(ts_ms=1600161894123) == "2020-09-15 09:24:54.123000"
    assert at(ts_ms="1600161894123", ts_us="1600161894123456") == AT
    assert at(ts_ms=-1) == "1969-12-31 23:59:59.999000"
    assert at() is None
    assert at(ts_ms=1520085154000000) == "GG308 the time of the operation is out of range"
    assert at(ts_ms="soon") == "GG308 `ts_ms` is not a number"
    late = lines(event("c", None, ROW)).replace(b'"ts_us": 1600161894123456', b'"ts_us": 1600161894123456000')
    assert read(NAME, late).reasons == ["GG308 the time of the operation is out of range"]


def test_an_empty_object_is_no_image_where_there_cannot_be_one() -> None:
    """Arcion's JSON, as recorded from its documentation; of an update it is an image without columns, as ever."""
    records = [
        event("c", {}, ROW), event("r", {}, ROW), event("d", ROW, {}), event("t", {}, {}), event("u", {}, ROW),
        {"schema": None, "payload": {**event("c", None, ROW), "before": {}}},
    ]  # fmt: skip
    found = read(NAME, lines(*records).replace(b"{}", b"{ }"))
    assert found.reasons == []
    images = [(item.op, item.before, item.after) for item in found.plain]
    assert images == [
        ("I", None, TEXTS), ("I", None, TEXTS), ("D", TEXTS, None), ("T", None, None), ("U", {}, TEXTS),
        ("I", None, TEXTS),
    ]  # fmt: skip
    assert read(NAME, lines(event("c", {"id": 1}, ROW))).reasons == ["GG307 an insert has a before image"]


def test_times_of_releases_before_0_10() -> None:
    """`ts_sec` of MySQL is `SourceInfo.TIMESTAMP_KEY` (debezium 0085fbf4), 0 before the first event of the binlog;
    `ts_usec` is in recorded messages of PostgreSQL's connector 0.9.5."""
    block = {"name": "srv", "server_id": 223344, "file": "bin.3", "pos": 1081, "row": 0, "snapshot": None}
    mysql = {**block, "db": "shop", "table": "t", "ts_sec": 1465937, "gtid": None, "thread": 7}
    postgres = {
        "version": "0.9.5.Final", "connector": "postgresql", "name": "srv", "db": "shop", "schema": "s", "table": "t",
        "ts_usec": 1600161894123456, "txId": 5, "lsn": 11, "snapshot": False, "last_snapshot_record": None,
    }  # fmt: skip
    records = [event("c", None, ROW, source=source) for source in (mysql, {**mysql, "ts_sec": 0}, postgres)]
    for found in (read(NAME, lines(*records)), read(NAME, lines(*map(wrapped, records)))):
        assert [table.full_name for table, _ in found.operations] == ["shop.t", "shop.t", "s.t"]
        seconds, none, micros = found.plain
        assert (seconds.op_ts, seconds.pos) == ("1970-01-17 23:12:17.000000", "bin.3:1081:0")
        assert seconds.tokens.keys() == {"name", "server_id", "file", "pos", "row", "thread"}
        assert none.op_ts is None
        assert (micros.op_ts, micros.pos) == (AT, "11")
        assert "ts_usec" not in micros.tokens


@pytest.mark.parametrize("name", ["json", "goldengate_streams_json", "maxwell_json", NAME])
def test_numbers_without_a_schema_stay_numbers(name: str, tmp_path: Path) -> None:
    row = '{"id": 12345678901234567890, "price": 10.50, "ok": true, "none": null, "few": -0.5}'
    file = tmp_path / "in.json"
    file.write_bytes(lines(event("c", None, "ROW"), event("c", None, "ROW")).replace(b'"ROW"', row.encode()))
    run_ggfmt([file], tmp_path / "out", f"gg.handler.x.format={name}")
    made = content(tmp_path / "out", "x")
    for part in (b'"id":12345678901234567890,', b'"price":10.5', b'"ok":true', b'"few":-0.5'):
        assert made.count(part) == 2


def test_snapshots_are_told_by_a_token() -> None:
    shown = [True, "true", "last", "incremental", False, "false", None]
    records = [event("c", None, ROW, source={"table": "T", "snapshot": value}) for value in shown]
    tokens = [item.tokens.get("snapshot") for item in read(NAME, lines(*records)).plain]
    assert tokens == ["true", "true", "last", "incremental", None, None, None]


def test_a_schema_without_fields_tells_nothing_of_its_table() -> None:
    schema = {"type": "struct", "fields": []}
    data = lines({"schema": schema, "payload": event("c", None, ROW)}, wrapped(event("c", None, ROW), *ROW_FIELDS))
    result = read(NAME, data)
    assert [table.column_names for table, _ in result.operations] == [tuple(ROW)] * 2
    assert result.reasons == []


def test_before_images_may_have_keys_alone() -> None:
    blank = {"id": 1, "name": "", "price": "AA=="}
    fields = [*ROW_FIELDS, field("price", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")]
    data = lines(wrapped(event("d", blank), *fields), wrapped(event("u", blank, {**blank, "id": 2}), *fields))
    for projection in (Projection(tokens=True), Projection(row_only=True, key_updates=True)):
        keyed = read(NAME, data, told(NAME, beforeImage="keys", primaryKeys="t=id"), projection=projection)
        assert keyed.reasons == []
        assert keyed.plain[0].before == {"id": "1"}
        assert keyed.plain[1].after == {"id": "2", "name": "", "price": "0.00"}
    refused = read(NAME, data, told(NAME, beforeImage="keys"))
    message = "the table `public.t` has no primary key, but before images have only key columns"
    assert refused.reasons == [f"GG205 {message}"] * 2
    assert refused.rejects[0].diagnostic.help == "define its key with `primaryKeys` or `--definitions`"


def test_a_new_schema_is_a_metadata_change_at_its_place_wherever_the_file_is_cut() -> None:
    wider = [*ROW_FIELDS, field("note", "string")]
    data = lines(
        wrapped(event("c", None, ROW)),
        wrapped(event("c", None, {**ROW, "note": None}), *wider),
        wrapped(event("d", ROW)),
    )
    found = read(NAME, data)
    assert [len(table.columns) for table, _ in found.operations] == [2, 3, 2]
    assert [event.offset for event in found.definitions] == [0, *(i + 1 for i, b in enumerate(data[:-1]) if b == 10)]
    for size in (1, 300, 777):
        assert read(NAME, data, size=size) == found


def test_schema_changes_define_tables_with_keys_and_types() -> None:
    big = {"typeName": "BIGINT", "jdbcType": -5}
    price = {"typeName": "DECIMAL", "jdbcType": 3, "length": 10, "scale": 2}
    made = table_change("CREATE", id=big, price=price, at={"typeName": "DATETIME", "jdbcType": 93, "length": 3})
    data = lines(
        made,
        event("c", None, {"id": 1, "price": "AIk=", "at": 1600161894123}, source=MYSQL),
        table_change("DROP"),
        table_change("ALTER", id=big),
        event("c", None, {"id": 2}, source=MYSQL),
    )
    source = told(NAME, decimalFormat="base64", timePrecision="adaptive")
    found = read(NAME, data, source)
    assert found.reasons == []
    assert [item.after for item in found.plain] == [
        {"id": "1", "price": "1.37", "at": "2020-09-15 09:24:54.123"}, {"id": "2"},
    ]  # fmt: skip
    first = found.operations[0][0]
    assert first == TableDef(
        "shop.t",
        (
            Column("id", SqlType(Kind.INTEGER), nullable=False, key=1),
            Column("price", SqlType(Kind.DECIMAL, precision=10, scale=2)),
            Column("at", SqlType(Kind.TIMESTAMP, scale=3)),
        ),
    )
    assert found.others == {"schema change": 1}
    assert [len(event.table.columns) for event in found.definitions] == [3, 1]
    for size in (1, 500):
        assert read(NAME, data, source, size=size) == found


def test_the_key_of_a_schema_change_stays_where_schemas_tell_none() -> None:
    change = table_change("CREATE", id={"typeName": "INT", "jdbcType": 4}, name={"typeName": "VARCHAR", "jdbcType": 12})
    found = read(NAME, lines(change, wrapped(event("c", None, ROW, source=MYSQL))))
    assert found.operations[0][0].primary_keys == ("id",)


# Flattened rows


@pytest.mark.parametrize("make", [list, lambda events: list(map(wrapped, events))], ids=["plain", "with a schema"])
def test_the_transaction_is_known_by_the_first_member_with_its_id(make: Callable[[list[Any]], list[Any]]) -> None:
    source = {name: value for name, value in SOURCE.items() if name != "txId"}
    own = {"id": "5:11", "total_order": 1}
    gtid = {"server_transaction_id": "s", "gtid": "a:1"}
    blocks: list[tuple[dict[str, Any], Any]] = [
        ({**source, "txId": 5, **gtid}, own), ({**source, "txId": "5.6.641"}, None), ({**source, "txId": None}, own),
        ({**source, **gtid}, own), ({**source, **gtid}, None), ({**source, **gtid, "gtid": ""}, {"total_order": 1}),
        ({**source, "sequence": None}, None),
    ]  # fmt: skip
    events = [event("c", None, ROW, source=block, transaction=transaction) for block, transaction in blocks]
    expected = ["5", "5.6.641", "5:11", "5:11", "a:1", "s", None]
    assert transactions_of(NAME, lines(*make(events))) == expected


@pytest.mark.parametrize("make", [list, lambda events: list(map(wrapped, events))], ids=["plain", "with a schema"])
@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ac0:0001"}, "00000027:00000ac0:0002"),
        ({"commit_scn": "2122185", "scn": "2122184", "rs_id": "0x1", "ssn": 0}, "2122185"),
        ({"commit_scn": "2122185", "txId": "5.6.641"}, "5.6.641"),
        ({"commit_scn": None, "scn": "2122184"}, None),
        ({"commit_ts": 450, "file": "", "pos": 0, "row": 0}, "450"),
        ({"sequence": '["23341168","23341200"]', "lsn": 23341200}, "23341168"),
        ({"sequence": '["23341168","23341200"]', "txId": 7}, "7"),
        ({"sequence": '[null,"23341200"]', "lsn": 23341200}, None),
        ({"file": "b.000003", "pos": 1547, "row": 2}, None),
    ],
)
def test_a_commit_in_the_position_tells_transactions_apart(
    members: dict[str, Any], expected: str | None, make: Callable[[list[Any]], list[Any]]
) -> None:
    block = {"db": "d", "schema": "s", "table": "t", "ts_ms": 5, **members}
    of_commits = [block, {**block, "commit_lsn": "00000028:00000ac0:0002", "txId": "8"}, block]
    data = lines(*make([event("c", None, ROW, source=each) for each in of_commits]))
    assert transactions_of(NAME, data) == [expected, "8", expected]
    added = {f"__source_{name}": value for name, value in block.items()}
    assert transactions_of(NAME, lines({**ROW, **added, "__op": "c"})) == [expected]


def test_transactions_of_flattened_rows() -> None:
    added = {"__table": "t", "__schema": "public", "__op": "c"}
    more: list[dict[str, Any]] = [
        {"__txId": 5, "__transaction_id": "5:1"},
        {"__transaction_id": "5:1"},
        {"__source_gtid": "a:1"},
        {},
    ]
    assert transactions_of(NAME, lines(*({**ROW, **added, **own} for own in more))) == ["5", "5:1", "a:1", None]


def test_flattened_rows() -> None:
    added = {"__table": "t", "__schema": "public", "__db": "shop", "__source_ts_ms": 1600161894123, "__lsn": 11}
    data = lines(
        {**ROW, **added, "__op": "c", "__deleted": "false", "__ts_ms": 5},
        {**ROW, **added, "__op": "r"},
        {**ROW, **added, "__op": "u", "__transaction_id": "5:1"},
        {**ROW, **added, "__op": "d", "__deleted": "true"},
    )
    found = read(NAME, data)
    assert found.reasons == []
    base = {"db": "shop", "lsn": "11"}
    assert found.plain == [
        PlainOperation(op, "2020-09-15 09:24:54.123000", "11", before, after, {**base, **more})
        for op, before, after, more in (
            ("I", None, TEXTS, {}),
            ("I", None, TEXTS, {"snapshot": "true"}),
            ("U", None, TEXTS, {"transaction.id": "5:1"}),
            ("D", TEXTS, None, {}),
        )
    ]
    assert {table.full_name for table, _ in found.operations} == {"public.t"}
    assert discover(NAME, data).tables[0].column_names == ("id", "name")


def test_flattened_rows_with_a_schema_and_another_prefix() -> None:
    price = field("price", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")
    fields = [*ROW_FIELDS, price, field("m.op", "string"), field("m.table", "string"), field("__deleted", "string")]
    record = {
        "schema": {"type": "struct", "fields": fields, "name": "srv.public.t.Value"},
        "payload": {**ROW, "price": "AIk=", "m.op": "u", "m.table": "t", "__deleted": "false"},
    }
    found = read(NAME, lines(record), told(NAME, flattenedPrefix="m."))
    assert found.plain == [PlainOperation("U", None, None, None, {**TEXTS, "price": "1.37"}, {})]
    assert found.operations[0][0].column_names == ("id", "name", "price")


def test_flattened_rows_that_tell_too_little() -> None:
    data = lines(ROW, {**ROW, "__deleted": "true"}, {**ROW, "__deleted": "false"})
    reason = "GG305 the record is neither a change nor another known record of Debezium"
    nameless = "GG305 the record does not name its table"
    assert read(NAME, data).reasons == [reason, nameless, nameless]
    found = read(NAME, data, told(NAME, table="S.T"))
    assert found.reasons == ["GG305 the row does not have an operation"] * 2
    assert [item.op for item in found.plain] == ["D"]
    for word, op in (("insert", "I"), ("update", "U")):
        found = read(NAME, data, told(NAME, table="S.T", flattenedOp=word))
        assert [item.op for item in found.plain] == [op, "D", op]


# What is no record of Debezium


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (event("x", None, ROW), 'GG304 `op` cannot be "x"'),
        (event("c" * 50, None, ROW), "GG304 `op` cannot be a long value"),
        ({**event("c", None, ROW), "op": 7}, "GG304 `op` cannot be 7"),
        (event("c", ROW, ROW), "GG307 an insert has a before image"),
        (event("d"), "GG307 a delete has no before image"),
        (event("u", ROW), "GG307 an update has no after image"),
        (event("c", None, "text"), "GG308 an image is a string and not an object"),
        (wrapped(event("c", None, {"other": 1})), "GG204 an image has a column that the definition of the table lacks"),
        (event("c", None, ROW, source={**SOURCE, "table": " "}), "GG306 the table name `public. ` has an empty part"),
        (
            event("c", None, ROW, source={**SOURCE, "table": 1}),
            "GG308 `source.table` is invalid: expected `str | null`, got `int`",
        ),
        (event("c", None, ROW, source=[]), "GG308 `source` is invalid: expected `object`, got `array`"),
        (event("c", None, ROW, transaction="x"), "GG308 `transaction` is not an object"),
        ({"schema": {}, "payload": "text"}, "GG308 `payload` is not an object"),
        ({"schema": {"type": 5}, "payload": event("c", None, ROW)}, "GG308 `schema` is not a Kafka Connect schema"),
        ({"schema": {}, "payload": {}}, "GG305 the record is empty"),
        (
            {"databaseName": "d", "tableChanges": [{"type": 1}]},
            "GG308 `tableChanges` does not have the structure of Debezium",
        ),
        (
            {"tableChanges": [{"type": "CREATE", "id": "t", "table": {"columns": [{"name": "a"}]}}]},
            "GG308 `tableChanges` has an `id` that is not a table name",
        ),
        ([], "GG301 the record is an array and not a JSON object"),
    ],
)
def test_a_mistake_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read(NAME, lines(wrapped(event("c", None, ROW)), record, wrapped(event("d", ROW))))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


def test_the_dialect_is_recognised_by_its_records() -> None:
    from ggfmt.formats import ENTRIES, FORMATS

    sniff = FORMATS[NAME].read_support.reader.sniff
    own = [
        wrapped(event("c", None, ROW)), event("u", ROW, ROW), {"before": None, "after": ROW, "op": "c"},
        {**ROW, "__op": "c"}, table_change("CREATE"), {"schema": None, "payload": None},
        {"status": "BEGIN", "data_collections": None},
    ]  # fmt: skip
    for record in own:
        data = lines(record)
        assert sniff(data) is not None
        assert any(mark in data for mark in ENTRIES[NAME].marks)
    foreign = [
        {"table": "T", "op_type": "I", "after": ROW}, {"op": "ins", "after": ROW}, {"data": [], "type": "INSERT"},
        {"schema": {}, "payload": {"message_version": "1.0"}}, {"schema": {"dataColumn": []}, "payload": {}},
        {"schema": 1, "payload": 2},
    ]  # fmt: skip
    assert [sniff(lines(record)) for record in foreign] == [None] * len(foreign)


def test_other_layouts_of_files() -> None:
    events = [event("c", None, ROW), event("d", ROW)]
    plain = read(NAME, lines(*events)).plain
    pretty = "\n".join(json.dumps(item, indent=2) for item in events).encode()
    joined = b"".join(json.dumps(item).encode() for item in events)
    array = json.dumps(events).encode()
    blank = lines(events[0]) + b"\r\n\n" + lines(events[1]).rstrip()
    for data in (pretty, joined, array, blank, b"\xef\xbb\xbf" + lines(*events), b"/* licence */\n" + lines(*events)):
        found = read(NAME, data)
        assert (found.reasons, found.plain) == ([], plain)


def _envelope(after: dict[str, Any]) -> dict[str, Any]:
    return {"before": None, "after": after, "source": {"db": "s", "table": "t", "ts_ms": 1}, "op": "c", "ts_ms": 1}


def _row(record: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = record.get("payload", record)["after"]
    return row


def _with_schema(after: dict[str, Any], **more: str) -> dict[str, Any]:
    fields = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "field": "day"},
        *({"type": kind, "optional": True, "field": name} for name, kind in more.items()),
    ]
    row = {"type": "struct", "optional": True, "field": "after", "fields": fields}
    return {"schema": {"type": "struct", "name": "s.t.Envelope", "fields": [row]}, "payload": _envelope(after)}


@pytest.mark.parametrize("first", [0, 1, 2])
def test_records_with_and_without_a_schema_are_of_one_table(first: int) -> None:
    records = [
        _with_schema({"id": 1, "day": 18000}),
        _envelope({"id": 2, "day": 18001, "note": "new"}),
        _envelope({"id": 3}),
    ]
    records = records[first:] + records[:first] + [records[0]]
    expected = {
        "1": {"id": "1", "day": "2019-04-14"},
        "2": {"id": "2", "day": "2019-04-15", "note": "new"},
        "3": {"id": "3"},
    }
    data = lines(*records)
    found = read("debezium_json", data)
    assert not found.reasons
    assert [operation.after for operation in found.plain] == [
        expected[str(item.after["id"])] for item in found.plain if item.after
    ]
    (table,) = {table for table, _ in found.operations}
    assert [(column.name, str(column.type)) for column in table.columns] == [
        ("id", "integer"), ("day", "date"), ("note", "string"),
    ]  # fmt: skip
    assert not found.definitions
    for size in (100, 300, 900):
        assert read("debezium_json", data, size=size) == found


def test_a_schema_that_grows_goes_with_records_that_have_none() -> None:
    data = lines(
        _with_schema({"id": 1, "day": None}),
        _envelope({"id": 2, "n": 7, "odd": True}),
        _with_schema({"id": 3, "day": None, "n": 1, "x": "y"}, n="int64", x="string"),
    )
    found = read("debezium_json", data)
    assert [[(c.name, str(c.type)) for c in t.columns] for t, _ in found.operations] == [
        [("id", "integer"), ("day", "date"), ("n", "integer"), ("odd", "boolean")],
        [("id", "integer"), ("day", "date"), ("n", "integer"), ("odd", "boolean")],
        [("id", "integer"), ("day", "date"), ("n", "integer"), ("x", "string"), ("odd", "boolean")],
    ]
    for size in (100, 500):
        assert read("debezium_json", data, size=size) == found


@pytest.mark.parametrize("given", [True, False])
def test_help_for_an_unknown_column_names_definitions_only_if_they_were_given(given: bool) -> None:
    change = {
        "source": {"db": "s"}, "databaseName": "s", "ddl": "create",
        "tableChanges": [{"type": "CREATE", "id": '"s"."t"', "table": {"columns": [{"name": "id", "jdbcType": 4}]}}],
    }  # fmt: skip
    trusted = {"s.t": TableDef("s.t", (Column("id"),))} if given else {}
    found = read("debezium_json", lines(*([] if given else [change]), _envelope({"id": 2, "x": 7})), trusted=trusted)
    assert found.reasons == ["GG204 an image has a column that the definition of the table lacks"]
    assert ("--definitions" in (found.rejects[0].diagnostic.help or "")) is given


def test_values_without_types_are_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """GG218: without a schema and a definition, nothing shows that these are a decimal and a date."""
    after = {"id": 1, "price": "AdUG", "day": 19723}
    source = {"connector": "postgresql", "schema": "s", "table": "orders", "ts_ms": 1}
    message = {"op": "c", "ts_ms": 2, "before": None, "after": after, "source": source}

    def warned(records: Sequence[Any], options: Mapping[str, str] = MappingProxyType({}), **request: Any) -> list[str]:
        file = write_lines(tmp_path / "in.json", records)
        caplog.clear()
        scan_request = ScanRequest([str(file)], NAME, told(NAME, **options), **request)
        Scan(scan_request, scan_request.list()).discover(InProcess())
        return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]

    caplog.set_level("WARNING", "ggfmt")
    assert warned([message]) == [
        "[GG218] table s.orders: no schema and no definition: decimals in Base64, and dates and times in numbers, stay "
        "as they are. Pass `--definitions`, and set `decimalFormat` and `timePrecision`"
    ]
    other = {**message, "source": {**source, "table": "lines"}}
    (of_two,) = warned([other, message], {"decimalFormat": "base64"})
    assert of_two == (
        "[GG218] 2 tables, such as s.lines: no schema and no definition: `decimalFormat` cannot be applied, so "
        "values stay as they are. Pass `--definitions`"
    )
    assert warned([wrapped(event("c", None, ROW))]) == []
    assert warned([message], selection=TableSelection(exclude=("ORDERS",))) == []
