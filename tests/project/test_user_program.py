"""A user's program that CI checks with `mypy --strict` does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import user_program
from places import ROOT

import ggfmt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = ROOT / "samples" / "tcustord.json"


def test_every_name_of_the_package_is_used() -> None:
    source = Path(user_program.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"ggfmt\.(\w+)", source)) == set(ggfmt.__all__)


def test_the_program_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = user_program.convert(SAMPLE, ROOT / "conf" / "json.properties", out)
    assert result.totals["operations_read"] == 14
    assert user_program.consolidate(SAMPLE, tmp_path / "rows") == 1
    assert user_program.scan(SAMPLE).num_rows == 6
    for name, value in (("a", "1"), ("b", "2")):
        (tmp_path / f"{name}.csv").write_text(f"ID,V\n1,{value}\n")
    lines = list(user_program.look(SAMPLE, tmp_path / "a.csv", tmp_path / "b.csv"))
    assert lines[0] == "True 1 0"
    assert lines[-1].startswith("error[GG106] ")
    code, findings = user_program.mistake(SAMPLE, out)
    assert (code, [finding.code for finding in findings]) == (2, ["GG501"])


@pytest.mark.spark
def test_its_frames_are_those_of_spark(spark: SparkSession) -> None:
    counts = [frame.count() for frame in user_program.frames(spark, SAMPLE)]
    assert counts[0] > 0
    assert counts[2] >= counts[1]
