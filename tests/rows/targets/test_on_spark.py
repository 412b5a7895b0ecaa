"""On Spark, tasks write the files of tables, and the driver commits them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lake_tables import READERS, add_changes, change, consolidate, row_files

from ggfmt.rows import staging as staging_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 60


@pytest.mark.parametrize("to", READERS)
def test_rows_are_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    for name in ("BUCKET_BYTES", "MAX_BUCKET_BYTES", "UNIT_BYTES"):
        monkeypatch.setattr(staging_module, name, 2000)
    found = []
    for name, runner in (("here", {}), ("spark", {"spark": spark})):
        directory = tmp_path / name
        directory.mkdir()
        add_changes(directory, "1", [change("I", n, after={"ID": str(n), "N": "a"}) for n in range(1, ROWS)])
        consolidate(directory, to, **runner)
        add_changes(directory, "2", [change("U", ROWS, before={"ID": "7"}, after={"ID": "7", "N": "b"})])
        manifest = consolidate(directory, to, **runner)
        files = row_files(manifest)
        found.append(READERS[to](directory, "GG.A"))
        written = sum(manifest["run"] in file for file in files)
        assert 0 < written < len(files)
    assert found[0] == found[1]
    assert len(found[0]) == ROWS - 1
