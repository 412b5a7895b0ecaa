"""The sequential model of rows is right, and what proves rows finds engines that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prove_rows import prove
from rows_oracle import UNAVAILABLE, Change, consolidate
from rows_proof import Answer, ModelEngine
from sql_histories import File


def changed(item: Change, fault: str) -> Change | None:
    """A change as a faulty engine reads it; None if it overlooks the change."""
    if fault == "no truncates" and item.op == "T":
        return None
    if fault == "no before images" and item.op == "U" and item.after is not None:
        return replace(item, before=None)
    if fault == "unavailable is NULL" and item.after is not None:
        return replace(item, after={n: None if v is UNAVAILABLE else v for n, v in item.after.items()})
    if fault == "no positions":
        return replace(item, position=None)
    if fault == "no deletes and creates":
        return replace(item, splits_key_updates=False)
    if fault == "no changes of columns" and item.op == "C":
        return None
    return item


class FaultyEngine(ModelEngine):
    """The model with a fault in what it reads."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self._fault = fault

    def current(self, files: Sequence[File], folder: Path, second: int | None = None) -> Answer:
        read = [[(one, found) for one, item in file if (found := changed(item, self._fault))] for file in files]
        return super().current(read, folder, second)


@pytest.mark.parametrize("knows_start", [True, False])
def test_the_model_has_the_rows_of_sqlite(knows_start: bool) -> None:
    report = prove(ModelEngine(knows_start), range(600), seed=7)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    counts = {(check, word): count for (check, word, _), count in report.counts.items()}
    assert counts["rows", "right"] > 450
    assert all(counts[check, "right"] > 250 for check in ("as of", "versions", "changes", "base", "checkpoint"))


@pytest.mark.parametrize(
    "fault",
    [
        "no truncates",
        "no before images",
        "unavailable is NULL",
        "no positions",
        "no deletes and creates",
        "no changes of columns",
    ],
)
def test_a_faulty_engine_is_found(fault: str) -> None:
    report = prove(FaultyEngine(fault), range(300), seed=8, others=False)
    assert report.is_wrong


INSERT = Change("I", None, {"id": "1", "v": "a"})
UPDATE = Change("U", {"id": "1"}, {"id": "2"})


@pytest.mark.parametrize(
    ("changes", "rows", "reasons"),
    [
        ([INSERT, UPDATE], [("2", "a")], []),
        ([UPDATE], [], ["never seen"]),
        ([replace(INSERT, after={"v": "a"})], [], ["no key"]),
        ([INSERT, Change("I", None, {"id": "2", "v": "b"}, number=1, second=1), replace(UPDATE, second=2),
          Change("I", None, {"id": "3", "v": "c"}, second=3)], [("2", "a"), ("3", "c")], ["overtaken"]),
    ],
)  # fmt: skip
def test_reasons(changes: list[Change], rows: list[tuple[str, str]], reasons: list[str]) -> None:
    found = consolidate(changes, ("id", "v"), ("id",))
    assert sorted((str(row["id"]), str(row["v"])) for row in found.rows) == rows
    assert [reason for reason, _ in found.unresolved] == reasons
