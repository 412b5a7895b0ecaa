"""What ggfmt does not read is named, where it is recognised and where it is read in spite of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dialects import lines, read, written
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import run_ggfmt
from strategies import Changes

from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats.api.writing import RowErrors

SOURCE = {"connector": "mongodb", "db": "shop", "collection": "t", "ts_ms": 1}
DOCUMENT = {"op": "c", "after": '{"_id": {"$oid": "5f"}, "n": 1}', "source": SOURCE, "ts_ms": 1}
ROW: dict[str, Any] = {"table": "GG.T", "op_type": "I", "op_ts": "2013-06-02 22:14:36.000000", "pos": "1", "ID": "1"}
OPERATION = {"table": "GG.T", "op_type": "I", "op_ts": "2013-06-02 22:14:36.000000", "after": {"ID": "1"}}
UNREAD = [
    (DOCUMENT, "debezium_json", "GG308", "a change of MongoDB by Debezium", "ExtractNewDocumentState"),
    ({"schema": {}, "payload": DOCUMENT}, "debezium_json", "GG308", "a change of MongoDB", "ExtractNewDocumentState"),
    ({**DOCUMENT, "op": "d", "before": "{}"}, "debezium_json", "GG308", "a change of MongoDB", "ExtractNewDocument"),
]


@pytest.mark.parametrize(("record", "name", "code", "what", "help"), UNREAD, ids=range(len(UNREAD)))
def test_an_input_that_is_not_read_is_named(
    record: Any, name: str, code: str, what: str, help: str, tmp_path: Path
) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(lines(record))
    with pytest.raises(GgfmtError) as caught:
        run_ggfmt([file], tmp_path / "out")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GG309"
    assert what in diagnostic.message
    assert help in (diagnostic.help or "")
    found = read(name, lines(record, record))
    assert [reject.diagnostic.code for reject in found.rejects] == [code] * 2
    assert all(what in reject.diagnostic.message for reject in found.rejects)


def test_rows_among_operations_are_named_and_rows_alone_are_read(tmp_path: Path) -> None:
    found = read("json", lines(OPERATION, ROW))
    assert found.reasons == ["GG305 the record is `json_row` of GoldenGate, whose columns stand beside `op_type`"]
    truncate = {name: ROW[name] for name in ("table", "op_ts", "pos")} | {"op_type": "T"}
    (tmp_path / "in.json").write_bytes(lines(truncate, ROW))
    result = run_ggfmt([tmp_path / "in.json"], tmp_path / "out")
    assert result.totals.operations == {("GG.T", "T"): 1, ("GG.T", "I"): 1}


def test_a_delete_of_postgresql_without_its_row_names_the_replica_identity() -> None:
    source = {"connector": "postgresql", "schema": "public", "table": "t"}
    found = read("debezium_json", lines({"op": "d", "before": None, "after": None, "source": source}))
    assert found.reasons == ["GG307 a delete has no before image"]
    assert "REPLICA IDENTITY FULL" in (found.rejects[0].diagnostic.help or "")


@pytest.mark.parametrize(
    ("value", "kind"), [("[1]", "an array"), ('"x"', "a string"), ("[" + "1," * 99 + "1]", "an array")]
)
def test_an_image_that_is_no_object_is_named_as_what_it_is(value: str, kind: str) -> None:
    record = b'{"database":"s","table":"t","type":"insert","data":%s}\n' % value.encode()
    found = read("maxwell_json", lines({"database": "s", "table": "t", "type": "insert", "data": {"a": 1}}) + record)
    assert found.reasons == [f"GG308 an image is {kind} and not an object"]


@pytest.mark.parametrize(
    ("name", "help"), [("maxwell_json", "write `debezium_json`"), ("json", "set `treatAllColumnsAsStrings=true`")]
)
def test_a_double_that_json_has_no_number_for_names_what_helps(name: str, help: str) -> None:
    table = PlainTable("S.T", (PlainColumn("ID", "integer", 1), PlainColumn("D", "double", 0)))
    for value, named in (("NaN", True), ("Infinity", True), ("many", False)):
        bad = PlainOperation("I", None, None, None, {"ID": "1", "D": value}, {})
        with pytest.raises(RowErrors) as caught:
            written(name, Changes(table, [bad], False))
        ((_, diagnostic),) = caught.value.rows
        assert diagnostic.code == "GG401"
        assert (help in (diagnostic.help or "")) is named
        assert "--definitions" in (diagnostic.help or "") or named
