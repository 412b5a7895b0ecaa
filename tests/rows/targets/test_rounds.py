"""What the document of an open round says of the files and tables of an output."""

from __future__ import annotations

from typing import Any

import pytest

from ggfmt.rows.kept import KEPT_DIRECTORY
from ggfmt.rows.targets.rounds import OpenRound

RUN = "20260101-000000-ab"


def entry(table: str, path: str) -> dict[str, Any]:
    return {"table": table, "path": path}


A, B = (entry(table, f"lake/{table}/{RUN}/00000-of-00001-0.parquet") for table in "AB")
OLD = entry("A", f"lake/A/{RUN}/00000-of-00001-1.parquet")
OF_OPERATIONS = [entry("A", "_unresolved/part-0.parquet"), entry("B", f"{KEPT_DIRECTORY}/part-1.parquet")]
FOREIGN = [
    entry("A", "lake/A/other-run/00000-of-00001-0.parquet"),
    entry("A", f"lake/A/{RUN}/mine.parquet"),
    entry("A", "_unresolved/mine.parquet"),
    entry("A", "mine/part-0.parquet"),
]
BEFORE = {"tables": {"A": 1, "B": 2}, "files": [OLD, entry("B", "b-before")], "set_aside": {}}


def opened(*files: dict[str, Any]) -> OpenRound:
    return OpenRound(RUN, "stream", 2, ["A", "B"], None, {"tables": {"A": 3, "B": 4}, "files": [*files]})


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ((), [A, B, *OF_OPERATIONS]),
        (("A",), [B, OF_OPERATIONS[1]]),
        (("A", "B"), []),
    ],
)
def test_the_new_files_are_those_of_the_run_whose_tables_have_not_committed(
    done: tuple[str, ...], expected: list[dict[str, Any]]
) -> None:
    files = opened(OLD, A, B, *OF_OPERATIONS, *FOREIGN).new_files(done, BEFORE)
    assert files == [each["path"] for each in expected]


def test_a_manifest_has_of_each_table_what_it_has_committed() -> None:
    mixed = opened(A, B).mixed(BEFORE, {"A"})
    assert (mixed["tables"], mixed["files"]) == ({"A": 3, "B": 2}, [entry("B", "b-before"), A])
