"""Inputs with records of two formats: both are named, each with the place that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract import contract_of
from kafka_dumps import in_kcat, in_line
from runs import JSON_LINES, manifest, run_ggfmt

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import HEAD_BYTES, detect_format
from ggfmt.sinks.messages import execution

ONE = b'{"table":"S.T","op_type":"I","op_ts":"2013-06-02 22:14:36.000000","pos":"1","after":{"A":"1"}}\n'
OTHER = json.dumps(
    {"before": None, "after": {"A": "1"}, "op": "c", "ts_ms": 1, "source": {"db": "d", "schema": "s", "table": "t"}}
).encode() + b"\n"  # fmt: skip
BY_ONE = "a record has `table` and `op_type`"
BY_OTHER = "a record has `op` and an image or `source`"


def _rejects(output: Path) -> bytes:
    return b"".join(path.read_bytes() for path in output.rglob("*") if "_rejects" in path.parts and path.is_file())


def _detected(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(Abend) as error:
        detect_format(list_inputs([str(path)]))
    return str(error.value)


@pytest.mark.parametrize("records", [1, 2, 200])
def test_two_formats_in_the_first_records_are_named_with_their_places(records: int, tmp_path: Path) -> None:
    told = _detected(tmp_path / "in.json", ONE * records + OTHER)
    start = len(ONE) * records
    assert f"record 1 at byte 0 fits `json` ({BY_ONE})" in told
    assert f"record {records + 1} at byte {start:,} fits `debezium_json` ({BY_OTHER})" in told
    assert f"in.json, byte {start}" in told
    assert "the first record fits" not in told
    turned = _detected(tmp_path / "turned.json", OTHER * records + ONE)
    assert "record 1 at byte 0 fits `debezium_json`" in turned
    assert f"record {records + 1} at byte {len(OTHER) * records:,} fits `json`" in turned


@pytest.mark.parametrize("wrap", [in_kcat, in_line])
def test_two_formats_in_messages_of_kafka_are_named_with_their_records(wrap: object, tmp_path: Path) -> None:
    assert callable(wrap)
    data = b"\n".join(wrap(number, None, record.decode().strip()) for number, record in enumerate([ONE, ONE, OTHER]))
    told = _detected(tmp_path / "in.json", data + b"\n")
    assert "record 1 fits `json`" in told
    assert "record 3 fits `debezium_json`" in told


def test_a_record_that_fits_two_formats_asks_which(tmp_path: Path) -> None:
    both = {**json.loads(ONE), **json.loads(OTHER)}
    told = _detected(tmp_path / "in.json", json.dumps(both).encode())
    assert "`json` and `debezium_json`" in told
    assert "--input-format" in told


LATER = ONE * (HEAD_BYTES // len(ONE) + 10)


def test_the_other_format_behind_the_first_records_is_named_where_a_run_stops(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(LATER + OTHER)
    with pytest.raises(Abend) as error:
        run_ggfmt([tmp_path / "in.json"], tmp_path / "out", *JSON_LINES)
    told = str(error.value)
    assert f"in.json, byte {len(LATER)}" in told
    assert f"this record has the format `debezium_json`: {BY_OTHER}" in told
    assert f"ggfmt reads the input as `json`: in {tmp_path / 'in.json'}, {BY_ONE}" in told


@pytest.mark.parametrize("given", [True, False])
def test_the_other_format_in_another_file_is_named_with_each_reject(given: bool, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(ONE * 3)
    (tmp_path / "b.json").write_bytes(OTHER * 5)
    named = "json" if given else "auto"
    run_ggfmt(
        [tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "out", *JSON_LINES, quarantine=True, input_format=named
    )
    rejects = _rejects(tmp_path / "out")
    assert manifest(tmp_path / "out")["totals"]["records_rejected_by_reader"] == 5
    assert rejects.count(b"this record has the format `debezium_json`") == 5
    why = "set by `--input-format` or `--input-config`" if given else f"in {tmp_path / 'a.json'}, {BY_ONE}"
    assert rejects.count(f"ggfmt reads the input as `json`: {why}".encode()) == 5


def test_a_damaged_record_of_the_same_format_is_of_no_other(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(ONE + ONE.replace(b'"I"', b'"X"') + b"{\n" + ONE[:40] + b"\n")
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", *JSON_LINES, quarantine=True)
    rejects = _rejects(tmp_path / "out")
    assert manifest(tmp_path / "out")["totals"]["records_rejected_by_reader"] == 3
    assert b"this record has the format" not in rejects


def test_formats_are_tried_for_the_first_rejects_of_a_task_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_EXPLAINED", 2)
    (tmp_path / "in.json").write_bytes(LATER + OTHER * 5)
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", *JSON_LINES, quarantine=True)
    rejects = _rejects(tmp_path / "out")
    assert rejects.count(b"this record has the format `debezium_json`") == 2
    assert manifest(tmp_path / "out")["totals"]["records_rejected_by_reader"] == 5


@pytest.mark.parametrize("name", ["canal_json", "maxwell_json", "shareplex_json", "qlik_json", "debezium_json"])
def test_the_other_format_is_named_whichever_it_is(name: str, tmp_path: Path) -> None:
    record = b" ".join(contract_of(name).records[1].split(b"\n"))
    (tmp_path / "in.json").write_bytes(LATER + record + b"\n")
    with pytest.raises(Abend, match=f"this record has the format `{name}`"):
        run_ggfmt([tmp_path / "in.json"], tmp_path / "out", *JSON_LINES)
