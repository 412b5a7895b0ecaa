"""What a merge writes: no more than its changes need, in each format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from lake_tables import add_changes, change, consolidate, row_files

TARGETS = ("parquet", "delta", "iceberg")
COUNT = 400


def lines(kind: str, *numbers: int, start: int = 1, at_once: bool = False, **image: Any) -> list[dict[str, Any]]:
    """Return operations on keys, from a position on; `at_once`: at one time and without positions."""
    made = []
    for place, number in enumerate(numbers):
        one = change(kind, start + place, after={"ID": str(number), "N": f"{number:08d}", **image})
        if at_once:
            del one["pos"]
            one["op_ts"] = "2020-01-01 00:00:00"
        made.append(one)
    return made


def digests(manifest: dict[str, Any]) -> set[str]:
    """Return the digests of the files of rows: plain files get other names."""
    return {entry["sha256"] for entry in manifest["files"] if "rows" in entry}


def written(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return digests(after) - digests(before)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_merge_rewrites_the_file_of_the_row_that_differs(tmp_path: Path, to: str, at_once: bool) -> None:
    """Kept operations are looked up: those of the last key, and all of one time without transactions."""
    add_changes(tmp_path, "1", lines("I", *range(COUNT), at_once=at_once))
    first = consolidate(tmp_path, to, file_size="1k")
    assert len(row_files(first)) >= 8
    add_changes(tmp_path, "2", lines("U", 7, start=COUNT + 1, at_once=at_once, N="new"))
    second = consolidate(tmp_path, to, file_size="1k")
    assert len(written(first, second)) == 1
    assert second["tables"]["GG.A"]["rows"] == COUNT
    add_changes(tmp_path, "3", lines("I", COUNT, start=COUNT + 2, at_once=at_once))
    third = consolidate(tmp_path, to, file_size="1k")
    assert len(written(second, third)) == 1
    assert third["tables"]["GG.A"]["rows"] == COUNT + 1


@pytest.mark.parametrize("to", TARGETS)
def test_changes_without_effect_write_no_file(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", lines("I", *range(COUNT)))
    first = consolidate(tmp_path, to, file_size="1k")
    same = [*lines("U", 3, 5, start=1000), *lines("I", -1, start=1010)]
    add_changes(tmp_path, "2", [*same, change("D", 1011, before={"ID": "-1"})])
    second = consolidate(tmp_path, to, file_size="1k")
    assert written(first, second) == set()
    assert (second["tables"]["GG.A"]["rows"], len(row_files(second))) == (COUNT, len(row_files(first)))
    assert second["tables"]["GG.A"]["last_position"].endswith("1011")


def test_values_that_compare_as_equal_but_differ_are_written(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", lines("I", 1, 2, X="0.0"))
    types = {"GG.A.X": "double"}
    first = consolidate(tmp_path, "parquet", types=types)
    add_changes(tmp_path, "2", lines("U", 1, start=10, X="-0.0"))
    second = consolidate(tmp_path, "parquet", types=types)
    assert written(first, second)
    signs = {row["ID"]: math.copysign(1, row["X"]) for row in parquet.read_table(tmp_path / "lake/GG.A").to_pylist()}
    assert signs == {"1": -1, "2": 1}
