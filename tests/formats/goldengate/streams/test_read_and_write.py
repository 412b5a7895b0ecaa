"""GoldenGate Data Streams in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contract.streams import AT, ROW, TYPES, message
from dialects import lines, read, told, transactions_of, written
from oracle import PlainColumn, PlainOperation, PlainTable
from reading import JsonReader
from runs import content, metadata, output_files, run_ggfmt, write_lines
from strategies import Changes

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.streams import StreamsOptions
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, Kind, SqlType
from ggfmt.reading.recognition import with_defaults

NAME = "goldengate_streams_json"
TEXTS = {"ID": "1", "NAME": "a", "NOTE": None}
SCHEMA = {"id": "S.T", "title": "x", "$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
          "properties": {}}  # fmt: skip


def operation(op: str, before: Any, after: Any, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, "7", before, after, tokens)


# Reading


def test_the_transaction_is_known_by_its_xid() -> None:
    messages = [message("INSERT", after=ROW, xid="1.2.3"), message("DELETE", before=ROW, xid=7, tokens={"xid": "8"})]
    messages += [{"specversion": "1.0", "data": message("TRUNCATE", xid="9")}, message("TRUNCATE", tokens={"6": "8"})]
    data = lines(metadata("S.T", **TYPES), *messages)
    assert transactions_of(NAME, data) == ["1.2.3", "7", "9", None]


def test_operations_are_spelled_out_and_the_stream_describes_itself() -> None:
    data = lines(
        {"op_type": "STREAM_METADATA", "producer": {"name": "x"}}, SCHEMA, metadata("S.T", **TYPES),
        message("INSERT", after=ROW, xid="1.2.3", csn=55, op_seqno=1, trans_ind="WHOLE"),
        message("UPDATE", before={"NAME": "b"}, after=ROW), message("DELETE", before=ROW), message("TRUNCATE"),
        message("DDL", ddl="alter ..."), None,
    )  # fmt: skip
    found = read(NAME, data)
    assert found.plain == [
        operation("I", None, TEXTS, xid="1.2.3", csn="55", op_seqno="1", trans_ind="WHOLE"),
        operation("U", {"NAME": "b"}, TEXTS), operation("D", TEXTS, None), operation("T", None, None),
    ]  # fmt: skip
    assert found.others == {"stream metadata": 1, "json schema": 1, "ddl": 1, "tombstone": 1}
    assert found.operations[0][0].columns == (
        Column("ID", SqlType(Kind.DECIMAL), key=1), Column("NAME"), Column("NOTE"),
    )  # fmt: skip
    assert [event.offset for event in found.definitions] == [data.index(b'{"op_type": "OBJECT_METADATA"')]


def test_object_metadata_is_a_change_of_metadata_at_its_place() -> None:
    other = metadata("S.T", ID="string", MORE="boolean")
    data = lines(
        message("INSERT", after=ROW), metadata("S.T", **TYPES), message("INSERT", after=ROW), metadata("S.T", **TYPES),
        other, message("INSERT", after={"ID": "1", "MORE": True}),
        metadata("S.T", **TYPES), message("DELETE", before=ROW),
    )  # fmt: skip
    found = read(NAME, data)
    assert [table.primary_keys for table, _ in found.operations] == [(), ("ID",), ("ID",), ("ID",)]
    assert [len(table.columns) for table, _ in found.operations] == [3, 3, 2, 3]
    assert len(found.definitions) == 3
    for size in (1, 100, 333):
        assert read(NAME, data, size=size) == found


def test_records_in_events_and_in_arrays() -> None:
    inner = [metadata("S.T", **TYPES), message("INSERT", after=ROW), message("DELETE", before=ROW)]
    events = [{"specversion": "1.0", "id": "1", "type": "x", "data": record} for record in inner]
    plain = [operation("I", None, TEXTS), operation("D", TEXTS, None)]
    assert read(NAME, lines(*events)).plain == plain
    frames = json.dumps(inner[:2]).encode() + b"\n" + json.dumps(inner[2:]).encode()
    assert read(NAME, frames).plain == plain
    bad = [{"specversion": "1.0", "data": 7}, {"specversion": "1.0"}, {"specversion": "1.0", "data": events[1]}]
    assert read(NAME, lines(*bad)).reasons == [
        "GG308 the `data` of the event is not a Data Streams record",
        "GG305 the event has no `data`",
        "GG308 the `data` of the event is another event",
    ]


def test_records_as_the_json_formatter_writes_them_are_understood() -> None:
    record = {"table": "S.T", "op_type": "I", "op_ts": AT, "pos": 7, "tokens": {"A": "x", "B": 1}, "after": ROW}
    found = read(NAME, lines({**record, "before": {}}, {**record, "op_type": "D", "before": ROW, "after": None}))
    assert found.plain == [operation("I", None, TEXTS, A="x", B="1"), operation("D", TEXTS, None, A="x", B="1")]


def test_images_operations_and_keys_by_other_names() -> None:
    source = told(NAME, beforeImageName="old", afterImageName="new row", insertOpKey="ins", primaryKeys="T=NAME")
    found = read(
        NAME, lines(message("ins", **{"new row": ROW}), message("UPDATE", old=ROW, **{"new row": ROW})), source
    )
    assert found.plain == [operation("I", None, TEXTS), operation("U", TEXTS, TEXTS)]
    assert found.operations[0][0].primary_keys == ("NAME",)
    keyed = read(NAME, lines(message("INSERT", after=ROW, primary_keys=["ID"])))
    assert keyed.operations[0][0].primary_keys == ("ID",)
    with pytest.raises(UsageError, match="GG410"):
        with_defaults(told(NAME, beforeImageName="x", afterImageName="x"), NAME)
    for name in ("after", "pos", "x" * 33, 'a"', "a\\", "a\tb"):
        with pytest.raises(InvalidValueError):
            told(NAME, beforeImageName=name)


def test_an_upsert_is_what_the_option_says() -> None:
    data = lines(message("UPSERT", after=ROW))
    refused = read(NAME, data)
    assert refused.reasons == ["GG304 an UPSERT may be an insert or an update"]
    assert "upsert=insert" in (refused.rejects[0].diagnostic.help or "")
    assert read(NAME, data, told(NAME, upsert="insert")).plain == [operation("I", None, TEXTS)]
    assert read(NAME, data, told(NAME, upsert="update")).plain == [operation("U", None, TEXTS)]


def test_what_is_not_there_is_missing_or_null_as_the_option_says() -> None:
    data = lines(metadata("S.T", **TYPES), message("UPDATE", before={"ID": 1}, after={"NAME": "a"}))
    assert read(NAME, data).plain == [operation("U", {"ID": "1"}, {"NAME": "a"})]
    assert read(NAME, data, told(NAME, absentMeans="null")).plain == [
        operation("U", {"ID": "1", "NAME": None, "NOTE": None}, {"ID": None, "NAME": "a", "NOTE": None})
    ]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (message(None, after=ROW), "GG305 the record has no `op_type`"),
        (message("MERGE", after=ROW), "GG304 `op_type` cannot be `MERGE`"),
        (message("x" * 50, after=ROW), "GG304 `op_type` cannot be `...`"),
        (message("INSERT", qual_table=None, after=ROW), "GG305 the record has no `qual_table`"),
        (message("INSERT", qual_table="A..B", after=ROW), "GG306 the table name `A..B` has an empty part"),
        (message("INSERT", before=ROW), "GG307 an insert has a before image and has no after image"),
        (message("DELETE"), "GG307 a delete has no before image"),
        (message("INSERT", after="x"), "GG308 an image is a string and not an object"),
        (message("INSERT", after=ROW, tokens=[]), "GG308 `tokens` is not an object"),
        (message("OBJECT_METADATA"), "GG308 `columns` is null and not an object"),
        (message("OBJECT_METADATA", columns=[]), "GG308 `columns` is an array and not an object"),
        (
            message("OBJECT_METADATA", columns={"ID": {"type": []}}),
            "GG308 the metadata of a column has no known `type`",
        ),
        (
            message("INSERT", after=ROW, op_ts=7),
            "GG308 the record has a member of the wrong type: expected `str | null`, got `int` at `$.op_ts`",
        ),
    ],
)
def test_what_is_no_record_of_data_streams_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    found = read(NAME, lines(message("INSERT", after=ROW), record, message("DELETE", before=ROW)))
    assert found.reasons == [reason]
    assert [item.op for item in found.plain] == ["I", "D"]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([message("INSERT", after=ROW)], "a record has `qual_table` and `op_type`"),
        ([SCHEMA, {"op_type": "STREAM_METADATA"}], "a record has the `op_type` `STREAM_METADATA`"),
        ([metadata("S.T", **TYPES)], "a record has the `op_type` `OBJECT_METADATA`"),
        ([{"table": "S.T", "op_type": "INSERT", "after": ROW}], "a record has the `op_type` `INSERT`"),
        ([{"specversion": "1.0", "data": message("DELETE")}], "a record has `qual_table` and `op_type`"),
        ([metadata("S.T", **TYPES), {"table": "S.T", "op_type": "I"}, message("INSERT")], None),
        ([{"table": "S.T", "op_type": "I"}, metadata("S.T", **TYPES)], None),
        ([SCHEMA], None),
    ],
)
def test_a_file_is_of_data_streams_or_of_the_json_formatter_but_not_of_both(records: Any, reason: str | None) -> None:
    head = lines(*records)
    assert FORMATS[NAME].read_support.reader.sniff(head) == reason
    plain = any("table" in record for record in records) and reason is None
    assert JsonReader.sniff(head) == ("a record has `table` and `op_type`" if plain else None)


# Writing

TABLE = PlainTable("C.S.T", (PlainColumn("ID", "integer", 1), PlainColumn("N", "string"), PlainColumn("F", "boolean")))
OPS = [
    PlainOperation("I", AT, "7", None, {"ID": "1", "N": None}, {"xid": "1.2", "L": "x"}),
    PlainOperation("U", AT, "8", {"ID": "1"}, {"ID": "1", "F": "true"}, {}),
    PlainOperation("U", None, None, None, {"ID": "1"}, {}),
    PlainOperation("T", AT, "9", None, None, {}),
]
COLUMNS = (
    '{"op_type":"OBJECT_METADATA","qual_table":"C.S.T","columns":{"ID":{"type":"number","null":true,"key":true},'
    '"N":{"type":"string","null":true,"key":false},"F":{"type":"boolean","null":true,"key":false}}}'
)


def test_records_are_written_with_what_describes_them_at_the_start() -> None:
    assert written(NAME, Changes(TABLE, OPS, True)).decode().splitlines() == [
        COLUMNS,
        f'{{"qual_table":"C.S.T","op_type":"INSERT","op_ts":"{AT}","pos":"7","xid":"1.2",'
        '"tokens":{"xid":"1.2","L":"x"},"after":{"ID":1,"N":null}}',
        f'{{"qual_table":"C.S.T","op_type":"UPDATE","op_ts":"{AT}","pos":"8","tokens":{{}},"before":{{"ID":1}},'
        '"after":{"ID":1,"F":true}}',
        '{"qual_table":"C.S.T","op_type":"UPDATE","tokens":{},"after":{"ID":1}}',
        f'{{"qual_table":"C.S.T","op_type":"TRUNCATE","op_ts":"{AT}","pos":"9","tokens":{{}}}}',
    ]


def test_records_are_written_as_the_options_say() -> None:
    options: dict[str, Any] = {
        "insertOpKey": "I", "beforeImageName": "old", "afterImageName": "new", "omitNullColumnValues": "true",
        "includePrimaryKeys": "true", "treatAllColumnsAsStrings": "true", "delimiter": "|",
        "includeObjectMetadataRecords": "false",
    }  # fmt: skip
    first, second = written(NAME, Changes(TABLE, OPS[:2], True), **options).decode().split("|")[:2]
    assert first.endswith('"primary_keys":["ID"],"tokens":{"xid":"1.2","L":"x"},"new":{"ID":"1"}}')
    assert '"op_type":"I"' in first
    assert second.endswith('"old":{"ID":"1"},"new":{"ID":"1","F":"true"}}')
    twice = FORMATS[NAME].name_problem(StreamsOptions(before_image_name="x", after_image_name="x"), Context())
    assert twice is not None and twice.diagnostic.code == "GG410"


@pytest.mark.parametrize("setting", ["partitionByTable=false", "rollOnMetadataChange=false", "partitionByTable=true"])
@pytest.mark.parametrize("size", [None, 300])
def test_metadata_changes_go_through_files_of_any_layout(setting: str, size: int | None, tmp_path: Path) -> None:
    records = [
        message("INSERT", after=ROW),
        message("INSERT", qual_table="S.U", after={"A": "x"}),
        metadata("S.T", ID="number", NAME="string", NOTE="string", MORE="boolean"),
        message("INSERT", after={**ROW, "MORE": True}),
        message("INSERT", qual_table="S.U", after={"A": "y"}),
        metadata("S.T", ID="string"),
        *[message("INSERT", after={"ID": str(number)}) for number in range(20)],
    ]
    source = write_lines(tmp_path / "in.json", records)
    prefix = "gg.handler.h."
    settings = [f"{prefix}format={NAME}", f"{prefix}{setting}", f"{prefix}maxFileSize=2k"]
    run_ggfmt([source], tmp_path / "out", *settings, input_format="auto", split_size=size)
    assert len(output_files(tmp_path / "out", "h")) > 1
    found = read(NAME, content(tmp_path / "out", "h"))
    before = read(NAME, source.read_bytes())
    assert found.rejects == []

    def by_table(operations: Any) -> Any:
        return sorted(((t.full_name, t.column_names, t.primary_keys, o) for t, o in operations), key=str)

    assert by_table(found.operations) == by_table(before.operations)
    assert len({event.table for event in found.definitions if event.table.full_name == "S.T"}) == 3


def test_an_empty_image_may_have_blanks() -> None:
    first = b'{"qual_table":"S.T","op_type":"INSERT","op_ts":null,"pos":"1","before":{},"after":{"ID":1}}\n'
    found = read("goldengate_streams_json", first + first.replace(b"{}", b"{ }"))
    assert ([item.op for item in found.plain], found.reasons) == (["I", "I"], [])
