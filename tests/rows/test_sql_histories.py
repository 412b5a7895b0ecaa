"""Rows of random histories are those of SQLite; `tests/tools/prove_rows.py` checks as many as there is time for."""

from __future__ import annotations

import pytest
from prove_rows import prove
from rows_proof import GgfmtEngine

pytest.importorskip("ggfmt.rows.run")


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_versions_and_changes_are_those_of_sqlite(seed: int) -> None:
    report = prove(GgfmtEngine("none", seed), range(50), seed, tables=25)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    assert report.counts["rows", "right", ""] > 33
