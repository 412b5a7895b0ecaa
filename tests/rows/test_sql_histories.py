"""Rows of random histories are those of SQLite; `tests/tools/prove_rows.py` checks as many as there is time for."""

from __future__ import annotations

import pytest
from prove_rows import prove
from rows_proof import GgfmtEngine

pytest.importorskip("ggfmt.rows.run")


@pytest.mark.parametrize(
    ("seed", "histories"), [(1, 30), pytest.param(2, 100, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_rows_versions_and_changes_are_those_of_sqlite(seed: int, histories: int) -> None:
    report = prove(GgfmtEngine("none", seed), range(histories), seed, tables=25)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    assert report.counts["rows", "right", ""] > histories * 0.66
