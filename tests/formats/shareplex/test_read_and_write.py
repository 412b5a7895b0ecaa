"""SharePlex's JSON in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from contract.shareplex import ROW, message
from dialects import DATA, NOW, lines, read, told, transactions_of, written
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, make_batch

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection

AT = "2017-06-16 14:24:34.000000"


def operation(op: str, before: Any, after: Any, pos: str | None = None, **tokens: str) -> PlainOperation:
    return PlainOperation(op, AT, pos, before, after, tokens)


# Reading


@pytest.mark.parametrize(
    ("names", "op"),
    [
        (("ins", "INSERT", "Insert"), "I"), (("upd", "UPDATE", " update "), "U"),
        (("del", "DELETE"), "D"), (("TRUNCATE", "truncate"), "T"),
    ],
)  # fmt: skip
def test_operations_by_any_of_their_names(names: tuple[str, ...], op: str) -> None:
    found = read("shareplex_json", lines(message("ins", ROW), *(message(name, ROW) for name in names)))
    before, after = {"I": (None, ROW), "U": (None, ROW), "D": (ROW, None), "T": (None, None)}[op]
    assert found.plain[1:] == [operation(op, before, after)] * len(names)
    assert found.operations[0][0].full_name == "S.T"


def test_what_a_message_tells_of_its_operation() -> None:
    meta = {"scn": "14", "userid": 84, "rowid": "AAAT", "trans": "7.0.41", "seq": 1, "size": 11, "idx": "1/11"}
    (found,) = read("shareplex_json", lines(message("ins", ROW, **meta, posttime="2017-06-16T14:33:52"))).plain
    tokens = {name: str(value) for name, value in meta.items() if name != "scn"}
    assert found == operation("I", None, ROW, "14", **tokens, posttime="2017-06-16T14:33:52")


@pytest.mark.parametrize(
    ("time", "stamp"),
    [
        ("2017-06-16T14:24:34Z", AT), ("2017-06-16 14:24:34", AT),
        ("2017-06-16T14:24:34.12Z", "2017-06-16 14:24:34.120000"), (None, None),
    ],
)  # fmt: skip
def test_times_with_and_without_a_z(time: str | None, stamp: str | None) -> None:
    assert [item.op_ts for item in read("shareplex_json", lines(message("ins", ROW, time=time))).plain] == [stamp]


def test_key_is_the_row_before_and_data_what_changed() -> None:
    data = lines(message("ins", ROW), message("upd", {"NAME": "b", "NOTE": "x"}, ROW))
    assert read("shareplex_json", data).plain[1] == operation("U", ROW, {"NAME": "b", "NOTE": "x"})
    whole = read("shareplex_json", data, told("shareplex_json", completeAfter="true"))
    assert whole.plain[1] == operation("U", ROW, {"ID": "1", "NAME": "b", "NOTE": "x"})


@pytest.mark.parametrize(
    "projection", [Projection(tokens=True), Projection(row_only=True), Projection(row_only=True, key_updates=True)]
)
def test_a_completed_after_image_is_the_row_of_row_formats(projection: Projection) -> None:
    source = told("shareplex_json", completeAfter="true")
    data = lines(message("upd", {"NAME": "b"}, ROW), message("upd", {"NAME": "c"}))
    assert [item.after for item in read("shareplex_json", data, source, projection=projection).plain] == [
        {**ROW, "NAME": "b"}, {"NAME": "c"},
    ]  # fmt: skip


def test_halves_of_updates_are_refused_or_read_as_the_option_says() -> None:
    data = lines(message("UPDATE BEFORE", ROW), message("UPDATE AFTER", {**ROW, "NAME": "b"}))
    refused = read("shareplex_json", data)
    assert refused.reasons == [
        "GG304 `op` is `UPDATE BEFORE`, one half of an update", "GG304 `op` is `UPDATE AFTER`, one half of an update",
    ]  # fmt: skip
    assert "updateHalves=after" in (refused.rejects[0].diagnostic.help or "")
    found = read("shareplex_json", data, told("shareplex_json", updateHalves="after"))
    assert found.plain == [operation("U", None, {**ROW, "NAME": "b"})]
    assert found.others == {"update before": 1}


def test_statements_are_counted_and_the_table_may_be_told_by_an_option() -> None:
    data = lines(
        message("ins", ROW, table=None), message("DROP COLUMN", None), message("alter table", None, table=None), None
    )
    found = read("shareplex_json", data, told("shareplex_json", tableName="S.OTHER", primaryKeys="OTHER=ID"))
    assert found.others == {"ddl drop column": 1, "ddl alter table": 1, "tombstone": 1}
    ((table, _),) = found.operations
    assert (table.full_name, table.primary_keys) == ("S.OTHER", ("ID",))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (message(None, ROW), "GG305 `meta` has no `op`"),
        ({"data": ROW}, "GG305 the record has no `meta`"),
        (message("upsert", ROW), "GG304 `op` cannot be `UPSERT`"),
        (message("x" * 50, ROW), "GG304 `op` cannot be `...`"),
        (message("ins", ROW, table=None), "GG305 `meta` has no `table`"),
        (message("ins", ROW, table="A.B.C.D"), "GG306 the table name `A.B.C.D` has more than three parts"),
        (message("ins", None), "GG305 the record has no `data`"),
        (message("ins", "x"), "GG308 an image is a string and not an object"),
        (message("upd", "x", ROW), "GG308 `data` or `key` is not an object"),
        *(
            (message("ins", ROW, time=text), "GG308 `time` is not a time such as `2017-06-16T14:24:34`")
            for text in ("noon", "2017-13-01T00:00:00", "2017-02-30T00:00:00", "2017-06-16T24:01:00")
        ),
        (
            message("ins", ROW, scn=[1]),
            "GG308 the record has a member of the wrong type: expected `int | str | null`, got `array` at `$.meta.scn`",
        ),
        (message("ins", {**ROW, "X": []}, ROW), ""),
    ],
)
def test_what_is_no_message_of_shareplex_is_a_reject_with_its_reason(record: Any, reason: str) -> None:
    source = told("shareplex_json", completeAfter="true")
    found = read("shareplex_json", lines(message("ins", ROW), record, message("del", ROW)), source)
    assert found.reasons == ([reason] if reason else [])
    assert [item.op for item in found.plain] == (["I", "D"] if reason else ["I", "I", "D"])


def test_it_is_recognised_by_its_meta() -> None:
    sniff = FORMATS["shareplex_json"].read_support.reader.sniff
    assert sniff(lines(message("ins", ROW))) == "a record has `meta` with `op`"
    assert sniff(lines({"meta": {"op": "ins"}})) == "a record has `meta` with `op`"
    assert sniff(lines({"meta": {}, "data": ROW})) is None
    assert sniff(lines({**message("ins", ROW), "payload": {}})) is None


# Writing

TABLE = PlainTable("C.S.T", (PlainColumn("ID", "integer", 1), PlainColumn("N", "string"), PlainColumn("F", "boolean")))
OPS = [
    PlainOperation(
        "I", "2017-06-16 14:24:34.999999", "7", None, {"ID": "1", "N": None},
        {"userid": "84", "seq": "1", "size": "x", "rowid": "AA", "idx": "1/11", "more": "y"},
    ),
    PlainOperation("U", "2017-06-16 14:24:34", None, {"ID": "1", "N": None}, {"ID": "1", "N": "x", "F": "true"}, {}),
    PlainOperation("U", None, None, None, {"ID": "1", "N": "x"}, {}),
    PlainOperation("D", "1969-12-31 23:59:59.5", None, {"ID": "1"}, None, {}),
    PlainOperation("T", None, None, None, None, {}),
]  # fmt: skip


def test_messages_are_written_as_shareplex_writes_them() -> None:
    assert written("shareplex_json", Changes(TABLE, OPS, True)).decode().splitlines() == [
        '{"meta":{"time":"2017-06-16T14:24:34","userid":84,"op":"ins","scn":"7","rowid":"AA","seq":1,"size":"x",'
        '"table":"S.T","idx":"1/11"},"data":{"ID":"1","N":null}}',
        '{"meta":{"time":"2017-06-16T14:24:34","op":"upd","table":"S.T"},"data":{"N":"x","F":"true"},'
        '"key":{"ID":"1","N":null}}',
        '{"meta":{"op":"upd","table":"S.T"},"data":{"ID":"1","N":"x"}}',
        '{"meta":{"time":"1969-12-31T23:59:59","op":"del","table":"S.T"},"data":{"ID":"1"}}',
        '{"meta":{"op":"truncate","table":"S.T"},"data":{}}',
    ]
    options = {"updateData": "all", "opNames": "long", "utcSuffix": "true"}
    found = [json.loads(line) for line in written("shareplex_json", Changes(TABLE, OPS, True), **options).splitlines()]
    assert [item["meta"]["op"] for item in found] == ["INSERT", "UPDATE", "UPDATE", "DELETE", "TRUNCATE"]
    assert [item["meta"].get("time") for item in found[:3]] == ["2017-06-16T14:24:34Z"] * 2 + [None]
    assert found[1]["data"] == {"ID": "1", "N": "x", "F": "true"}


def test_a_column_that_will_be_read_back_as_unchanged_is_counted() -> None:
    ops = [PlainOperation("U", AT, None, {"ID": "1", "N": "x"}, {"ID": "1"}, {})]
    batch = make_batch(Changes(TABLE, ops, True))
    options = FORMATS["shareplex_json"].options.parse({})
    formatter = FORMATS["shareplex_json"].write_support.formatter(batch.table, options, Context(), Clock(NOW))
    formatter.format(batch)
    ((note, count),) = formatter.notes.items()
    assert (note.field, count) == ("N", 1)
    assert note.detail == "missing from the after image, which `completeAfter` will read back as unchanged"


# Real messages


@pytest.mark.parametrize("complete", ["true", "false"])
def test_the_transaction_is_known_by_trans(complete: str) -> None:
    messages = [message("ins", ROW, trans="7.0.411499"), message("del", ROW, trans=7), message("upd", ROW, ROW)]
    source = told("shareplex_json", completeAfter=complete)
    assert transactions_of("shareplex_json", lines(*messages), source) == ["7.0.411499", "7", None]


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_transactions_of_recorded_messages() -> None:
    data = (DATA / "shareplex/alibaba_dts_doc__shareplex.jsonl").read_bytes()
    assert transactions_of("shareplex_json", data)[0] == "7.0.411499"


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded messages are not there")
def test_recorded_messages() -> None:
    data = (DATA / "shareplex/alibaba_dts_doc__shareplex.jsonl").read_bytes()
    insert, update = read("shareplex_json", data).plain
    assert (insert.op_ts, insert.pos, insert.after) == (AT, "14589063118712", {"MIO_LOG_ID": "32539737"})
    assert insert.tokens["idx"] == "1/11"
    assert (update.before or {})["CNTR_NO"] == "1171201606syui26"
    assert update.after == {"CNTR_NO": "1171201606"}
    assert read("shareplex_json", data).reasons == ["GG305 `meta` has no `table`"]
    every = read("shareplex_json", data, told("shareplex_json", tableName="CL_BIZ1.MIO_LOG", completeAfter="true"))
    assert every.rejects == []
    assert every.plain[1].after == {**(update.before or {}), "CNTR_NO": "1171201606"}
    assert every.plain[2].before is not None
    assert every.plain[2].before["CG_NO"] is None
