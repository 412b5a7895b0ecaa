"""What a merge writes: no more than its changes need, in each format."""

from __future__ import annotations

import contextlib
import gc
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow.parquet as parquet
import pytest
from lake_tables import READERS, Died, add_changes, change, consolidate, dies_at, row_files

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.rows.layout import MAX_SMALL_FILES
from ggfmt.rows.units import MIN_MARKED
from ggfmt.sinks.messages.verification import verify

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


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_only_tables_with_changes_get_a_version(tmp_path: Path, to: str) -> None:
    names = [f"GG.T{number:02d}" for number in range(30)]
    add_changes(tmp_path, "1", [change("I", place, name, after={"ID": "1"}) for place, name in enumerate(names)])
    first = consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("I", 99 + n, names[n], after={"ID": "2"}) for n in (7, 10)])
    second = consolidate(tmp_path, to)
    versions = [{name: each["version"] for name, each in run["tables"].items()} for run in (first, second)]
    assert list(versions[0]) == list(versions[1]) == names
    assert [name for name in names if versions[0][name] != versions[1][name]] == ["GG.T07", "GG.T10"]


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


MARKING = {
    "delta": {"delta.enableDeletionVectors": "true"},
    "iceberg": {"write.merge.mode": "merge-on-read"},
}


def table_rows(directory: Path, to: str) -> dict[str, str]:
    """Return the rows as other programs read them: by Polars for Delta, by pyiceberg for Iceberg."""
    if to == "iceberg":
        rows = READERS[to](directory, "GG.A")
    else:
        rows = polars.scan_delta(str(directory / "lake" / "GG.A")).collect().to_dicts()
    found = {row["ID"]: row["N"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("to", MARKING)
def test_rows_are_marked_as_deleted_where_few_change(tmp_path: Path, to: str) -> None:
    settings: dict[str, Any] = {"table_options": MARKING[to]}
    expected = {str(number): f"{number:08d}" for number in range(COUNT)}
    add_changes(tmp_path, "01", lines("I", *range(COUNT)))
    manifest = consolidate(tmp_path, to, **settings)
    (large,) = digests(manifest)
    for day in range(1, 11):
        number, start = day * 7 % COUNT, day * 1000
        today = [*lines("U", number, start=start, N=f"day {day}"), *lines("I", COUNT + day, start=start + 1)]
        add_changes(tmp_path, f"{day + 1:02d}", [*today, change("D", start + 2, before={"ID": str(COUNT - day)})])
        expected |= {str(number): f"day {day}", str(COUNT + day): f"{COUNT + day:08d}"}
        del expected[str(COUNT - day)]
        manifest = consolidate(tmp_path, to, **settings)
        assert table_rows(tmp_path, to) == expected
        assert manifest["tables"]["GG.A"]["rows"] == len(expected)
        assert sum(entry.get("rows", 0) for entry in manifest["files"]) == len(expected)
        assert len(row_files(manifest)) == 1 + day % (MAX_SMALL_FILES + 1)  # all files are of about one size
        assert (large in digests(manifest)) == (day <= MAX_SMALL_FILES)
        assert bool([entry for entry in manifest["files"] if "deleted" in entry]) == (len(row_files(manifest)) > 1)
    gone = range(200, 200 + COUNT // MIN_MARKED)
    add_changes(tmp_path, "98", [change("D", 60_000 + number, before={"ID": str(number)}) for number in gone])
    manifest = consolidate(tmp_path, to, **settings)
    for number in gone:
        del expected[str(number)]
    assert not [entry for entry in manifest["files"] if "deleted" in entry], "it is written again"
    add_changes(tmp_path, "99", [change("D", 70_000, before={"ID": "0"}), change("D", 70_001, before={"ID": "1"})])
    manifest = consolidate(tmp_path, to, **settings)
    del expected["0"], expected["1"]
    assert [entry for entry in manifest["files"] if "deleted" in entry], "the new file has some again"
    assert manifest["tables"]["GG.A"]["rows"] == len(expected)
    assert table_rows(tmp_path, to) == expected
    copy: dict[str, Any] = {"base": str(tmp_path / "lake"), "master": "none", "key": "ID"}
    (tmp_path / "none").mkdir()
    add_changes(tmp_path / "none", "1", lines("I", 0, start=80_000))
    ggfmt.consolidate(tmp_path / "none" / "changes", tmp_path / "copy", **copy)
    assert {row["ID"]: row["N"] for row in parquet.read_table(tmp_path / "copy" / "GG.A").to_pylist()} == {
        **expected,
        "0": f"{0:08d}",
    }
    changes = str(tmp_path / "changes")
    ggfmt.consolidate(changes, tmp_path / "whole", key="ID", master="none")
    assert ggfmt.compare(str(tmp_path / "whole"), str(tmp_path / "lake")).same
    assert verify(str(tmp_path / "lake")).findings == []


def count_delete_files(directory: Path) -> list[int]:
    """Return for each data file of an Iceberg table how many files have its deleted rows."""
    from pyiceberg.catalog.sql import SqlCatalog

    table = SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db").load_table("GG.A")
    return [0, *(len(task.delete_files) for task in table.scan().plan_files())]


@pytest.mark.parametrize("to", MARKING)
def test_merges_write_a_few_times_what_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    """Also the round after a large one, and all others: a large file is not written again for small ones."""
    monkeypatch.setattr("ggfmt.rows.targets.iceberg_deletes._MIN_BYTES", 0)
    random, expected = Random(1), dict[str, str]()
    known: set[Path] = set()
    written, most_deletes = [], 1
    for day, count in enumerate([COUNT, COUNT // 3, *[10] * 20]):
        today = {str(key): f"{random.getrandbits(4000):01000x}" for key in random.sample(range(COUNT), count)}
        images = [{"ID": key, "N": text} for key, text in today.items()]
        kind = "U" if day else "I"
        add_changes(
            tmp_path, f"{day:02d}", [change(kind, day * 1000 + n, after=image) for n, image in enumerate(images)]
        )
        manifest = consolidate(tmp_path, to, table_options=MARKING[to])
        expected |= today
        assert table_rows(tmp_path, to) == expected
        present = {path for path in tmp_path.glob("lake/GG.A/**/*.parquet") if "_delta_log" not in path.parts}
        written.append(sum(path.stat().st_size for path in present - known))
        known = present
        assert len(row_files(manifest)) <= 2 * MAX_SMALL_FILES
        if to == "iceberg":
            most_deletes = max(most_deletes, *count_delete_files(tmp_path))
            assert most_deletes <= MAX_SMALL_FILES + 1
    of_row = written[0] / COUNT
    assert written[2] < 3 * 10 * of_row
    assert sum(written[2:]) < 5 * 20 * 10 * of_row
    assert (most_deletes > 1) == (to == "iceberg")
    assert verify(str(tmp_path / "lake")).findings == []


@pytest.mark.parametrize("to", MARKING)
def test_a_run_that_dies_marks_rows_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    settings: dict[str, Any] = {"table_options": MARKING[to]}
    expected = {str(number): f"{number:08d}" for number in range(COUNT)}
    add_changes(tmp_path, "00", lines("I", *range(COUNT)))
    consolidate(tmp_path, to, **settings)
    died = 0
    for day, step in enumerate(range(3, 60, 7), 1):
        add_changes(tmp_path, f"{day:02d}", lines("U", 0, day, start=day * 1000, N=f"day {day}"))
        expected |= {"0": f"day {day}", str(day): f"day {day}"}
        with dies_at(monkeypatch, step), contextlib.suppress(Died):
            consolidate(tmp_path, to, **settings)
            died -= 1
        died += 1
        gc.collect()  # the system frees the locks of a dead process
        manifest = consolidate(tmp_path, to, **settings)
        assert table_rows(tmp_path, to) == expected
        assert sum(entry.get("rows", 0) for entry in manifest["files"]) == len(expected)
    assert died > 3


@pytest.mark.parametrize("to", MARKING)
def test_rows_that_another_program_has_deleted_are_noticed(tmp_path: Path, to: str) -> None:
    """The names of the files stay. A table of another commit continues with `accept` if the rows are known."""
    settings: dict[str, Any] = {"table_options": MARKING[to]}
    add_changes(tmp_path, "1", lines("I", *range(COUNT)))
    consolidate(tmp_path, to, **settings)
    add_changes(tmp_path, "2", lines("U", 1, start=1000, N="two"))
    manifest = consolidate(tmp_path, to, **settings)
    listed = tmp_path / "lake" / "_ggfmt" / "manifest.json"
    text = listed.read_text()
    assert [entry for entry in manifest["files"] if "deleted" in entry]
    known = [{k: v for k, v in entry.items() if k != "deleted"} for entry in manifest["files"]]
    listed.write_text(json.dumps({**json.loads(text), "files": known}))
    add_changes(tmp_path, "3", lines("U", 2, start=2000, N="three"))
    with pytest.raises(UsageError, match=r"GG553.*changed by another program"):
        consolidate(tmp_path, to, **settings)
    with pytest.raises(UsageError, match=r"GG554.*of another program, which ggfmt does not read"):
        consolidate(tmp_path, to, **settings, on_foreign_commit="accept")
    listed.write_text(text)
    assert consolidate(tmp_path, to, **settings)["tables"]["GG.A"]["rows"] == COUNT
    assert table_rows(tmp_path, to)["2"] == "three"
