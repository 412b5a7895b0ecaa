"""`ggfmt consolidate --on-reject quarantine`: records that cannot be read are in the output, with their reasons."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import call
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.rejects import read_rejects
from ggfmt.sinks.messages.verification import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAD = [b'{"table":"GG.TCUSTORD","op_type":"X"}', b"no JSON"]


def consolidate(*given: Any, **named: Any) -> Any:
    return ggfmt.consolidate(*given, **{"master": "none", "on_reject": "quarantine", **named})


@pytest.mark.parametrize("to", ["parquet", "csv", "delta", "iceberg"])
def test_bad_records_are_set_aside(tmp_path: Path, to: str) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), BAD[0], operation(1), BAD[1]])
    with pytest.raises(Abend, match="GG304"):
        consolidate(source, tmp_path / "out", to=to, on_reject="abend")
    manifest = consolidate(source, tmp_path / "out", to=to, mode="overwrite")
    assert manifest["rejects"] == {"GG304": 1, "GG301": 1}
    assert manifest["tables"]["GG.TCUSTORD"]["rows"] == 2
    entries = list(read_rejects(str(tmp_path / "out"), manifest))
    assert [entry.record for entry in entries] == BAD
    assert [(entry.code, entry.file) for entry in entries] == [("GG304", str(source)), ("GG301", str(source))]
    assert verify(str(tmp_path / "out")).findings == []


def test_later_runs_keep_the_rejects_of_earlier_ones(tmp_path: Path) -> None:
    folder, out, seen = tmp_path / "in", tmp_path / "out", tmp_path / "seen"
    folder.mkdir()
    write_lines(folder / "0.json", [operation(0), BAD[0]])
    consolidate(folder, out, checkpoint=seen)
    write_lines(folder / "1.json", [operation(1), BAD[1], BAD[1]])
    manifest = consolidate(folder, out, checkpoint=seen)
    assert manifest["rejects"] == {"GG301": 2}
    assert [entry.record for entry in read_rejects(str(out), manifest)] == [BAD[0], BAD[1], BAD[1]]
    assert consolidate(folder, out, checkpoint=seen)["rejects"] == {}
    assert verify(str(out)).findings == []


def test_the_command_ends_with_4(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), BAD[0]])
    arguments = ["consolidate", str(source), "-o", str(tmp_path / "out"), "--master", "none"]
    done = call(*arguments, "--on-reject", "quarantine")
    assert done.exit_code == 4
    assert "set aside in `_rejects`: 1 record; the rows may lack their changes" in done.stderr
    (manifest,) = (tmp_path / "out" / "_ggfmt").glob("manifest.json")
    assert json.loads(manifest.read_bytes())["rejects"] == {"GG304": 1}


@pytest.mark.parametrize("make", [ggfmt.consolidate, ggfmt.convert])
def test_a_checkpoint_warns_that_rejected_records_count_as_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Callable[..., Any]
) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), BAD[0]])
    given: dict[str, Any] = {"master": "none", "on_reject": "quarantine"}
    given |= {"to": "json"} if make is ggfmt.convert else {}
    make(source, output=tmp_path / "once", **given)
    assert "handle-bad-records" not in caplog.text
    make(source, output=tmp_path / "out", checkpoint=tmp_path / "seen", **given)
    assert caplog.text.count("`ggfmt docs handle-bad-records`") == 1
    caplog.clear()
    make(source, output=tmp_path / "out", checkpoint=tmp_path / "seen", **given)
    assert "handle-bad-records" not in caplog.text


@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), BAD[0]])
    manifest = ggfmt.consolidate(source, tmp_path / "out", spark=spark, on_reject="quarantine")
    assert [entry.record for entry in read_rejects(str(tmp_path / "out"), manifest)] == BAD[:1]
