"""Each record that a command reads ends in a count, whichever command it is: with the codes of a run."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from places import SHARED_DATA
from runs import operation, write_lines

import ggfmt
from ggfmt.cli import main

HALF_READABLE = SHARED_DATA / "cases" / "schema" / "half-readable.json"
BAD: dict[str, bytes] = {"GG301": b"garbage", "GG305": b'{"a":1}', "GG304": b'{"table":"GG.T","op_type":"X"}'}


@pytest.fixture
def half(tmp_path: Path) -> Path:
    lines: list[dict[str, Any] | bytes] = [operation(1), operation(2, "GG.OTHER"), *BAD.values(), operation(3)]
    return write_lines(tmp_path / "half.json", lines)


def ended(capsys: pytest.CaptureFixture[str], *call: str) -> tuple[int, str, str]:
    code, (out, log) = main(list(call)), capsys.readouterr()
    return code, out, log


@pytest.mark.parametrize("kind", ["json", "avro", "xsd"])
def test_a_schema_stops_at_the_record_at_which_a_run_stops(
    half: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, schemas = tmp_path / "out", tmp_path / "schemas"
    run = ended(capsys, "-q", "run", str(half), "--to", "json", "-o", str(out), "--master", "none")
    for more in ([], ["-o", str(schemas)], ["-o", str(schemas), "--check"], ["--table", "GG.OTHER"]):
        assert ended(capsys, "-q", "schema", str(half), "--kind", kind, *more) == (3, "", run[2])
    assert run[0] == 3 and "GG301" in run[2] and "--on-reject quarantine" in run[2]
    assert not schemas.exists()
    with pytest.raises(ggfmt.Abend, match="GG301"):
        ggfmt.schema(half)
    with pytest.raises(ggfmt.Abend, match="GG301"):
        ggfmt.scan(half).read_all()


def test_records_that_are_left_out_are_counted_and_end_with_4(
    half: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("schema", str(half), "--on-reject", "quarantine", "-o", str(tmp_path / "schemas"))
    code, out, log = ended(capsys, *call)
    assert (code, len(out.splitlines())) == (4, 2)
    for reject in BAD:
        assert f"rejected: 1 [{reject}]" in log
    assert ended(capsys, *call, "--check")[0] == 4
    assert ended(capsys, *call, "--table", "GG.OTHER")[2].count("not selected: GG.TCUSTORD, 2 records") == 1
    run = ggfmt.convert(half, to="json", output=tmp_path / "out", on_reject="quarantine", master="none")
    found = ggfmt.schema(half, on_reject="quarantine")
    assert Counter(run.totals["handlers"]["json"]["rejects"]) == found.rejected == Counter([*BAD])
    (tmp_path / "schemas" / "GG.OTHER.schema.json").unlink()
    assert ended(capsys, *call, "--check")[0] == 1


def test_the_wrong_format_is_no_success(half: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, log = ended(capsys, "schema", str(half), "--input-format", "canal_json")
    assert (code, out) == (3, "")
    assert "help: this record has the format `json`" in log
    code, out, log = ended(capsys, "preview", str(half), "--to", "json", "--input-format", "canal_json")
    assert code == 4 and "help: this record has the format `json`" in out
    with pytest.raises(ggfmt.Abend, match=r"GG305.*this record has the format `json`"):
        ggfmt.scan(half, input_format="canal_json").read_all()


@pytest.mark.parametrize("more", [["--exclude", "*"], ["--exclude", "GG.*"]])
def test_no_table_is_no_success(tmp_path: Path, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    source = str(write_lines(tmp_path / "in.json", [operation(1)]))
    for check in ([], ["-o", str(tmp_path), "--check"]):
        code, out, log = ended(capsys, "schema", source, *more, *check)
        assert (code, out) == (2, "") and "no table found for a schema" in log


def not_operations(tmp_path: Path) -> Path:
    def record(op: str, **more: Any) -> dict[str, Any]:
        return {"database": "S", "table": "T", "type": op, "ts": 1, "data": {"ID": 1}, **more}

    lines = [record("insert"), record("insert", strange=1), record("bootstrap-start"), record("bootstrap-complete")]
    return write_lines(tmp_path / "maxwell.json", lines)


@pytest.mark.parametrize("command", ["run", "preview", "schema", "scan"])
def test_what_is_no_operation_and_unknown_members_are_logged(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    source = not_operations(tmp_path)
    if command == "scan":
        with caplog.at_level(logging.INFO, "ggfmt"):
            logging.getLogger("ggfmt").propagate = True
            assert ggfmt.scan(source).read_all().num_rows == 2
        log = "\n".join(record.getMessage() for record in caplog.records)
    else:
        target = {"run": ["--to", "json", "-o", str(tmp_path / "out"), "--master", "none"], "preview": ["--to", "json"]}
        code, _, log = ended(capsys, "-v", command, str(source), *target.get(command, []))
        assert code == 0
    assert (
        "not operations: 1 bootstrap start record" in log and "unknown member `strange` left out of 1 operation" in log
    )


def test_the_reported_input() -> None:
    if not HALF_READABLE.exists():
        pytest.skip("the shared data are not there")
    with pytest.raises(ggfmt.Abend, match=r"byte 1812.*GG301"):
        ggfmt.schema(HALF_READABLE)
    assert ggfmt.schema(HALF_READABLE, on_reject="quarantine").rejected == {"GG301": 1, "GG305": 1}
    assert json.loads(ggfmt.schema(HALF_READABLE, on_reject="quarantine")[0].content)["title"] == "SHOP.CUSTOMERS"
