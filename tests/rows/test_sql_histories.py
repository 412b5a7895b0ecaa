"""Rows of random histories are those of SQLite; `tests/tools/prove_rows.py` checks as many as there is time for."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from prove_rows import prove
from rows_oracle import key_of
from rows_proof import Answer, GgfmtEngine
from sql_histories import History, deliver, history

pytest.importorskip("ggfmt.rows.run")


@pytest.mark.parametrize(
    ("seed", "histories"), [(1, 30), pytest.param(2, 100, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_rows_versions_and_changes_are_those_of_sqlite(seed: int, histories: int) -> None:
    report = prove(GgfmtEngine("none", seed), range(histories), seed, tables=25)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    assert report.counts["rows", "right", ""] > histories * 0.66


def test_a_row_that_is_not_that_of_sqlite_is_unresolved_where_each_change_has_its_own_time(tmp_path: Path) -> None:
    several = [one for one in (history(3, number, ("row",)) for number in range(400)) if one is not None and one.key]
    for is_debezium in (False, True):
        told = [one for one in several if one.recording.is_debezium == is_debezium]
        answer = GgfmtEngine("none", 3).current(deliver(told, Random(3)), tmp_path / f"{is_debezium}")
        assert not [one.table for one in told if is_silently_wrong(one, answer)]
        lost = [one.table for one in told if answer.unresolved.get(one.table)]
        assert len(lost) < len(told) / 5


def is_silently_wrong(one: History, answer: Answer) -> bool:
    """Whether a row differs from SQLite, or is neither shown nor unresolved. Of rows that no change is about, files
    that begin in the middle show nothing."""
    names = one.states[-1].columns
    found = {key_of(row, one.key): {name: row[name] for name in names} for row in answer.rows.get(one.table, [])}
    right = {key_of(row, one.key): row for row in one.states[-1].rows}
    lost = {key_of(image, one.key) for _, images in answer.unresolved.get(one.table, []) for image in images}
    ids = dict(zip(right, one.states[-1].ids, strict=True))
    needed = {key for key in right if not one.is_late or ids[key] in one.touched}
    return any(right.get(key) != row for key, row in found.items()) or not needed <= {*found, *lost}
