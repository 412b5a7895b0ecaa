"""AWS DMS's JSON, read: rows, values before an update, tables by control records.

The records are as those captured from RDS PostgreSQL in the tests of commons-codec (crate/commons-codec), and as the
user guide of AWS DMS describes them (CHAP_Target.Kafka.md, awsdocs/aws-dms-user-guide 1d64dd9a).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract.dms import ROW, TABLE_DEF, control, metadata, row
from dialects import lines, read, told, transactions_of
from oracle import PlainOperation
from runs import JSON_LINES, content, run_ggfmt

from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "dms_json"
AT = "2024-07-29 00:58:17.974340"
POSITION = "00000002/7C007178.3.00000002/7C007178"
TEXTS = {"id": "42", "name": "John", "price": "1.5", "at": "2020-01-09T04:13:38Z"}
TOKENS = {
    "timestamp": "2024-07-29T00:58:17.983670Z", "partition-key-type": "schema-table", "transaction-id": "1139",
    "transaction-record-id": "1",
}  # fmt: skip


def operation(op: str, before: Any, after: Any, **others: Any) -> PlainOperation:
    return PlainOperation(op, AT, POSITION, before, after, {**TOKENS, **others})


def test_the_transaction_is_known_by_its_id() -> None:
    data = lines(row("insert", ROW), row("insert", ROW, transaction_id=None), row("load", ROW, transaction_id=7))
    assert transactions_of(NAME, data) == ["1139", None, "7"]


def test_every_operation() -> None:
    found = read(
        NAME,
        lines(
            control("create-table", TABLE_DEF),
            {"data": ROW, "metadata": metadata("load", partition_key_value="public.foo.42")},
            row("insert", ROW),
            row("update", ROW, {"id": 41}),
            row("update", ROW, {}),
            row("update", ROW),
            row("delete", {"id": 42, "name": None, "price": None, "at": None}),
            control("truncate-table"),
        ),
    )
    assert found.reasons == []
    load = {"partition-key-type": "schema-table", "partition-key-value": "public.foo.42", "snapshot": "true"}
    nulls = {"id": "42", "name": None, "price": None, "at": None}
    stamp = "2024-07-29 00:58:17.983670"
    assert found.plain == [
        PlainOperation("I", stamp, None, None, TEXTS, load),
        operation("I", None, TEXTS),
        operation("U", {"id": "41"}, TEXTS),
        operation("U", {}, TEXTS),
        operation("U", None, TEXTS),
        operation("D", nulls, None),
        PlainOperation("T", stamp, None, None, None, {"partition-key-type": "task-id"}),
    ]
    columns = (
        Column("id", SqlType(Kind.INTEGER), nullable=False),
        Column("name", SqlType(Kind.STRING, length=255)),
        Column("price", SqlType(Kind.DECIMAL, precision=10, scale=2)),
        Column("at", SqlType(Kind.TIMESTAMP, scale=6, zoned=True)),
    )
    assert {table for table, _ in found.operations} == {TableDef("public.foo", columns).with_keys(["id"])}


def test_operations_by_the_description() -> None:
    found = read(NAME, lines(row("create", ROW), row("read", ROW), control("TruncateTable")))
    assert [item.op for item in found.plain] == ["I", "I", "T"]
    assert [item.tokens.get("snapshot") for item in found.plain] == [None, "true", None]


def test_columns_that_hold_values_before_an_update() -> None:
    added = {"columns": {**TABLE_DEF["columns"], "BI_id": {"type": "INT32"}}, "primary-key": ["id"]}
    records = [
        control("create-table", added),
        row("update", {**ROW, "BI_id": 41}),
        row("update", {**ROW, "BI_id": 41}, {"name": "x"}),
        row("insert", {**ROW, "BI_id": None}),
        row("delete", {"id": 42, "BI_id": None}),
    ]
    found = read(NAME, lines(*records))
    assert found.reasons == []
    assert [(item.before, item.after) for item in found.plain] == [
        ({"id": "41"}, TEXTS),
        ({"id": "41", "name": "x"}, TEXTS),
        (None, TEXTS),
        ({"id": "42"}, None),
    ]
    assert found.key_updates[:2] == [True, True]
    plain = read(NAME, lines(*records), told(NAME, beforePrefix=""))
    assert plain.plain[0].after == {**TEXTS, "BI_id": "41"}
    assert plain.plain[0].before is None
    table = read(NAME, lines(row("insert", {"BI_x": 1})))
    assert table.plain[0].after == {"BI_x": "1"}


def test_the_member_with_values_before_is_called_as_it_is_set() -> None:
    record = {**row("update", ROW), "old": {"id": 7}}
    assert read(NAME, lines(record), told(NAME, beforeImage="old")).plain[0].before == {"id": "7"}
    assert read(NAME, lines(record)).members == {"old": 1}


def test_what_a_whole_row_lacks_may_be_null() -> None:
    records = lines(row("insert", ROW), row("update", {"id": 42}, {"id": 41}), row("delete", {"id": 42}))
    found = read(NAME, records, told(NAME, absentMeans="null"))
    nulls = {"id": "42", "name": None, "price": None, "at": None}
    assert [(item.before, item.after) for item in found.plain[1:]] == [({"id": "41"}, nulls), (nulls, None)]


def test_tables_are_found_in_the_rows_without_control_records(tmp_path: Path) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(lines(control("drop-table"), control("create-table"), row("insert", {"n": 1.5, "t": "x"})))
    run_ggfmt([file], tmp_path / "out", *JSON_LINES)
    assert b'"after":{"n":1.5,"t":"x"}' in content(tmp_path / "out", "j")
    assert read(NAME, file.read_bytes()).others == {"control drop-table": 1, "control create-table": 1}


def test_another_definition_holds_from_its_place_on() -> None:
    wider = {"columns": {**TABLE_DEF["columns"], "new": {"type": "STRING"}}, "primary-key": ["id"]}
    data = lines(
        control("create-table", TABLE_DEF), row("insert", ROW), control("create-table", wider),
        row("insert", {**ROW, "new": "x"}),
    )  # fmt: skip
    for size in (None, 300):
        found = read(NAME, data, size=size)
        assert [len(table.columns) for table, _ in found.operations] == [4, 5]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"data": ROW}, "GG305 the record has no `metadata`"),
        ({"data": ROW, "metadata": 7}, "GG308 `metadata` is not an object"),
        ({"data": ROW, "metadata": {"operation": "insert"}}, "GG305 `metadata` has no `record-type`"),
        ({"data": ROW, "metadata": {"record-type": "data"}}, "GG305 `metadata` has no `operation`"),
        (row("insert", ROW, record_type="other"), "GG308 `record-type` cannot be `other`"),
        (row("merge", ROW), "GG304 `operation` cannot be `merge`"),
        (row("insert", ROW, table_name=""), "GG305 `metadata` has no `table-name`"),
        (row("insert", None), "GG305 the record has no `data`"),
        (row("insert", [1]), "GG308 an image is an array and not an object"),
        (row("update", ["BI_"]), "GG308 `data` is not an object"),
        (row("insert", ROW, commit_timestamp="soon"), "GG308 `commit-timestamp` is not a time such as"),
        (row("insert", ROW, commit_timestamp="2017-02-30T00:00:00Z"), "GG308 `commit-timestamp` is not a time such as"),
        (
            control("create-table", {"columns": {"a": {}}}),
            "GG308 `control` does not describe a table in the format of DMS",
        ),
        ({"data": ROW, "metadata": metadata("truncate-table", "control", table_name=None)}, "GG305 `metadata` has no"),
    ],
)
def test_what_is_no_record_of_dms_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    good = row("insert", ROW)
    found = read(NAME, lines(good, record, good))
    (said,) = found.reasons
    assert said.startswith(reason)
    assert len(found.operations) == 2


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("INT4", Kind.INTEGER), ("UINT8", Kind.INTEGER), ("INT32", Kind.INTEGER), ("REAL4", Kind.FLOAT),
        ("REAL8", Kind.DOUBLE), ("NUMERIC", Kind.DECIMAL), ("BOOLEAN", Kind.BOOLEAN), ("DATE", Kind.DATE),
        ("TIME", Kind.TIME), ("DATETIME", Kind.TIMESTAMP), ("TIMESTAMP", Kind.TIMESTAMP), ("BYTES", Kind.BINARY),
        ("BLOB", Kind.BINARY), ("CLOB", Kind.STRING), ("WSTRING", Kind.STRING), ("INTERVAL", Kind.STRING),
    ],
)  # fmt: skip
def test_types_of_definitions(word: str, kind: Kind) -> None:
    data = lines(control("create-table", {"columns": {"x": {"type": word}}}), row("insert", {"x": None}))
    ((table, _),) = read(NAME, data).operations
    assert table.columns[0].type.kind is kind
