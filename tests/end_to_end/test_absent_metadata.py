"""Operations without a time, a position or a before image: an empty text, or an empty image of an update, is none, and
every writer writes such operations, whichever format they were read from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract import contract_of
from dialects import lines, read
from round_trips import READ, TABLES, WRITTEN, Operation, handler, losses_of, survives, view, write_as, write_story
from runs import manifest, run_ggfmt

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import WriterSettings

ROW = {"id": 1, "name": "a"}


def _emptied(name: str, *members: str) -> list[dict[str, Any]]:
    """The records of a format's contract with these members empty texts wherever they have a text."""

    def emptied(value: Any) -> Any:
        if isinstance(value, list):
            return [emptied(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: "" if key in members and isinstance(item, str) else emptied(item) for key, item in value.items()}

    return [emptied(json.loads(record)) for record in contract_of(name).records]


CURSORS = ['{"timestamp":"","position":""}', "", None]
EMPTY: dict[str, list[dict[str, Any]]] = {
    "json": [{"table": "S.T", "op_type": "I", "op_ts": "", "pos": "", "after": ROW}],
    "json_row": [{"table": "S.T", "op_type": "I", "op_ts": "", "pos": "", **ROW}],
    "goldengate_streams_json": [{"qual_table": "S.T", "op_type": "INSERT", "op_ts": "", "pos": "", "after": ROW}],
    "kafkaconnect_json": [{"table": "S.T", "op_type": "I", "op_ts": "", "current_ts": "", "pos": "", **ROW}],
    "canal_json": [
        {"isDdl": False, "database": "d", "table": "t", "type": "INSERT", "es": "", "id": "", "gtid": "", "data": [ROW]}
    ],
    "maxwell_json": [
        {"database": "d", "table": "t", "type": "insert", "ts": None, "position": "", "gtid": "", "data": ROW}
    ],
    "shareplex_json": [{"meta": {"op": "ins", "table": "S.T", "time": "", "scn": ""}, "data": {"ID": "1"}}],
    "dms_json": [
        {"data": ROW, "metadata": {
            "record-type": "data", "operation": "insert", "schema-name": "s", "table-name": "t", "timestamp": "",
            "commit-timestamp": "", "stream-position": "",
        }}
    ],
    "qlik_json": _emptied("qlik_json", "changeSequence", "timestamp", "streamPosition"),
    "arcion_json": [
        {"tableName": {"namespace": {"catalog": "c", "schema": "s"}, "name": "t"}, "opType": "I", "cursor": cursor,
         "after": {"id": "1"}}
        for cursor in CURSORS
    ],
    "debezium_json": [
        {"after": ROW, "op": "c", "ts_ms": None, "source": {"db": "d", "table": "t", **place}}
        for place in ({"file": "", "pos": None}, {"scn": "", "commit_scn": ""}, {"lsn": None}, {"gtid": ""})
    ],
    "wal2json": [
        {"action": "I", "timestamp": "", "lsn": lsn, "nextlsn": "", "schema": "s", "table": "t",
         "columns": [{"name": "id", "value": "1"}]}
        for lsn in ("", None)
    ],
}  # fmt: skip


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_time_or_position_is_none(name: str, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr("ggfmt.kernels.native", None)
    found = read(name, lines(*EMPTY[name] * 8))
    assert found.reasons == []
    assert len(found.plain) >= 8
    assert {(item.op_ts, item.pos) for item in found.plain} == {(None, None)}


def test_a_time_that_is_empty_gives_way_to_another() -> None:
    record = json.loads(json.dumps(EMPTY["dms_json"][0]))
    record["metadata"]["timestamp"] = "2021-02-18T23:09:09.509179Z"
    (found,) = read("dms_json", lines(record)).plain
    assert found.op_ts == "2021-02-18 23:09:09.509179"


UNTIMED = [
    Operation("I", None, {"ID": "1", "NAME": "a"}, op_ts=None),
    Operation("U", {"ID": "1", "NAME": "a"}, {"ID": "1", "NAME": "b"}, op_ts=None),
    Operation("U", None, {"ID": "1", "NAME": "c"}, op_ts=None),
    Operation("D", {"ID": "1", "NAME": "c"}, None, op_ts=None),
    Operation("I", None, {"ID": "2", "NAME": "d"}, op_ts=None, pos="7"),
]


def _all_handlers(folder: Path) -> list[str]:
    """One handler for each format that is written."""
    named = [
        line.replace("gg.handler.h.", f"gg.handler.{name}.")
        for name in WRITTEN
        for line in handler(name, folder / name / "dirdef")
        if line.startswith("gg.handler.h.")
    ]
    return [
        f"gg.handlerlist={','.join(WRITTEN)}",
        "ggfmt.compatibility=12.2",
        "gg.format.timestamp=yyyy-MM-dd HH:mm:ss.SSSSSS",
        *named,
    ]


def _written(source: Path, name: str, told: WriterSettings, out: Path) -> dict[str, int]:
    """How many operations each handler writes; a reject would end the run."""
    run_ggfmt([source], out, *_all_handlers(out), input_format=name, source=told, definitions=TABLES)
    handlers = manifest(out)["totals"]["handlers"]
    return {handler: handlers[handler]["messages"] for handler in WRITTEN}


@pytest.mark.parametrize("first", READ)
def test_every_format_without_times_is_written_from_every_other_and_through_json(first: str, tmp_path: Path) -> None:
    story = write_story(tmp_path / "in.json", UNTIMED)
    source, told = write_as(story, first, tmp_path / "one")
    directly = _written(source, first, told, tmp_path / "two")
    json_lines, json_told = write_as(source, "json", tmp_path / "json", input_format=first, told=told)
    through = _written(json_lines, "json", json_told, tmp_path / "three")
    losses = losses_of(first, handler(first, tmp_path))
    operations = len(survives(UNTIMED, losses))
    assert set(directly.values()) == {operations}
    assert through == directly
    assert b'"op_ts":""' in b"".join(path.read_bytes() for path in json_lines.rglob("*") if path.is_file())


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("second", ["json", "debezium_json", "canal_json", "qlik_json", "maxwell_json", "avro_op"])
def test_no_before_image_comes_into_being_on_the_way_through_json(
    second: str, kernels: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr("ggfmt.kernels.native", None)
    update = Operation("U", None, {"ID": "1", "NAME": "a"}, pos="7")
    story = write_story(tmp_path / "in.json", [update, replace(update, before={}), replace(update, before={"ID": "1"})])
    in_json, told = write_as(story, "json", tmp_path / "json")
    shown = b"".join(path.read_bytes() for path in in_json.rglob("*") if path.is_file())
    assert shown.count(b'"before":{}') == 2
    folder, again = write_as(in_json, second, tmp_path / "two", input_format="json", told=told)
    befores = [item.before for item in view(folder, tmp_path / "view", second, again)]
    assert befores[:2] == [None, None]


def test_every_format_in_json_has_a_record_with_empty_metadata() -> None:
    numbers_alone = {"cdl_json"}  # whose times and positions are no texts
    in_json = {name for name in FORMATS if name.endswith("json") or name == "json_row"}
    assert in_json - set(EMPTY) == numbers_alone
