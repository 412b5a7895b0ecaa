"""The core of the tests passes with the lowest versions of all dependencies, and on Spark 3.5."""

from __future__ import annotations

from pathlib import Path

import other_versions
import pytest


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lowest", "spark35"])
def test_the_core_passes(kind: str, tmp_path: Path) -> None:
    assert other_versions.main(kind, str(tmp_path / kind), []) == 0


def test_the_lowest_versions_are_those_of_the_project() -> None:
    found = other_versions.requirements("lowest")
    assert "pyarrow==18.0.*" in found
    assert other_versions.lowest("javaproperties>=0.8.1") == "javaproperties==0.8.1.*"
    assert [entry for entry in found if entry.startswith("pyspark")] == [other_versions.SPARK_35]
