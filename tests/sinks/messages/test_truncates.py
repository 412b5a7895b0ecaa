"""What becomes of truncates: written, left out, or rejects, with every operation accounted for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import content, manifest, operation, run_ggfmt, write_lines

from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.render.runs import run_text
from ggfmt.sinks.messages.run_history import read_run
from ggfmt.sinks.messages.verification import verify

FORMATS = ("json", "canal_json", "debezium_json", "maxwell_json")
HANDLERS = tuple(f"gg.handler.{name}.format={name}" for name in FORMATS)


def changes(path: Path) -> Path:
    truncate = {**operation(3, kind="T")}
    records = [operation(1), operation(2, kind="U"), truncate, operation(4, "GG.OTHER"), truncate]
    return write_lines(path / "in.json", records)


def test_truncates_are_written_by_default(tmp_path: Path) -> None:
    run_ggfmt([changes(tmp_path)], tmp_path / "out", *HANDLERS, quarantine=True)
    totals = manifest(tmp_path / "out")["totals"]["handlers"]
    assert [totals[name]["messages"] for name in FORMATS] == [5, 5, 5, 3]
    assert [totals[name]["rejects"] for name in FORMATS] == [{}, {}, {}, {"GG408": 2}]
    assert {totals[name]["left_out"] for name in FORMATS} == {0}
    assert b'"op":"t"' in content(tmp_path / "out", "debezium_json")


def test_truncates_are_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    run_ggfmt([changes(tmp_path)], tmp_path / "out", *HANDLERS, "ggfmt.truncates=leave-out")
    totals = manifest(tmp_path / "out")["totals"]
    assert totals["operations"]["GG.TCUSTORD"] == {"I": 1, "U": 1, "T": 2}
    for name in FORMATS:
        assert (totals["handlers"][name]["messages"], totals["handlers"][name]["left_out"]) == (3, 2)
        assert not totals["handlers"][name]["rejects"]
        data = content(tmp_path / "out", name).lower()
        assert b"truncate" not in data
        assert b'"op":"t"' not in data
        assert b'"op_type":"t"' not in data
    assert caplog.text.count("left out: 2 truncates") == len(FORMATS)
    assert run_text(read_run(str(tmp_path / "out"))).count("left out: 2 truncates") == len(FORMATS)
    assert verify(str(tmp_path / "out")).findings == []


def test_truncates_are_rejects_in_any_format(tmp_path: Path) -> None:
    settings = (*HANDLERS, "ggfmt.truncates=reject")
    with pytest.raises(GgfmtError, match=r"`ggfmt\.truncates` rejects truncates"):
        run_ggfmt([changes(tmp_path)], tmp_path / "stopped", *settings)
    run_ggfmt([changes(tmp_path)], tmp_path / "out", *settings, quarantine=True)
    totals = manifest(tmp_path / "out")["totals"]["handlers"]
    assert {json.dumps(totals[name]["rejects"]) for name in FORMATS} == {'{"GG408": 2}'}
    assert {totals[name]["messages"] for name in FORMATS} == {3}
    assert verify(str(tmp_path / "out")).findings == []
