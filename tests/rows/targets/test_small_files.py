"""Small files, which runs join: those of net changes, and which ones in general."""

from __future__ import annotations

import gc
import json
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lake_tables import READERS, Died, add_changes, change, consolidate, dies_at, row_files

from ggfmt.rows.layout import MAX_SMALL_FILES, files_to_join
from ggfmt.rows.manifest import summary_lines
from ggfmt.sinks.messages.verification import verify

ROUNDS = 22


def test_a_row_is_written_a_few_times_and_files_stay_few() -> None:
    """Sizes as those of rounds; a file with many deleted rows is written again with smaller ones alone."""
    random = Random(1)
    sizes, written, rounds = dict[int, int](), 0, 5000
    for number in range(rounds):
        joined = files_to_join(sizes)
        sizes[number] = 1000 + random.randrange(1000) + sum(sizes.pop(file) for file in joined)
        written += sizes[number]
        assert len(sizes) <= 5 * MAX_SMALL_FILES
    assert written < 5 * sum(sizes.values())
    assert files_to_join({"large": 9000, "small": 1000}, {"small"}) == ["small"]
    assert files_to_join({"huge": 80_000, "large": 9000, "small": 1000}, {"large"}) == ["large", "small"]
    assert files_to_join({"large": 9000, "empty": 0}) == []


def run_round(directory: Path, to: str, day: int, **settings: Any) -> dict[str, Any]:
    """Add a row to two tables; in Iceberg, they get a column on day 5."""
    row = {"ID": str(day), "N": f"{day:08d}"} | ({"X": "x"} if day >= 5 and to == "iceberg" else {})
    add_changes(directory, f"{day:03d}", [change("I", day, after=row), change("I", day, "GG.B", after=row)])
    return consolidate(directory, to, changes=True, **settings)


def found(directory: Path, to: str) -> list[tuple[str, int]]:
    return sorted((row["ID"], row["_round"]) for row in READERS[to](directory, "GG.A"))


@pytest.mark.parametrize("to", READERS)
def test_small_files_are_joined(tmp_path: Path, to: str) -> None:
    counts, lines = [], []
    for day in range(1, ROUNDS):
        manifest = run_round(tmp_path, to, day, sort_by="N")
        counts.append(len([path for path in row_files(manifest) if "A" in path]))
        lines += [line for line in summary_lines(manifest) if "became" in line and line.startswith("GG.A")]
        assert manifest["tables"]["GG.A"]["rows"] == day
    assert counts[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 2]
    assert max(counts) <= 10
    assert set(lines) == {"GG.A: 9 files became 1"}
    assert found(tmp_path, to) == sorted((str(day), day) for day in range(1, ROUNDS))
    if to == "iceberg":
        values = {row["ID"]: row["X"] for row in READERS[to](tmp_path, "GG.A")}
        assert values == {str(day): "x" if day >= 5 else None for day in range(1, ROUNDS)}
    assert verify(str(tmp_path / "lake")).findings == []


def test_readers_of_changes_see_no_row_twice(tmp_path: Path) -> None:
    """The files of a compaction say that they change no row."""
    for day in range(1, 12):
        run_round(tmp_path, "delta", day)
    logs = sorted((tmp_path / "lake" / "GG.A" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    added = [action["add"] for action in actions if "add" in action and action["add"]["dataChange"]]
    removed = [action["remove"]["dataChange"] for action in actions if "remove" in action]
    assert [json.loads(file["stats"])["numRecords"] for file in added] == [1] * 11
    assert removed == [False] * 9


def test_snapshots_that_join_files_replace_them(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    for day in range(1, 12):
        run_round(tmp_path, "iceberg", day)
    table = SqlCatalog("default", uri=f"sqlite:///{tmp_path}/lake/_catalog.db").load_table("GG.A")
    operations = [snapshot.summary.operation.value for snapshot in table.snapshots() if snapshot.summary]
    assert operations == ["append", *["overwrite"] * 8, "replace", *["overwrite"] * 2]


@pytest.mark.parametrize("to", READERS)
def test_a_run_that_dies_joins_no_file_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    start, directory = tmp_path / "start", tmp_path / "run"
    directory.mkdir()
    for day in range(1, 10):
        run_round(directory, to, day)
    shutil.move(directory, start)  # Iceberg's metadata has absolute paths
    shutil.copytree(start, directory)
    with dies_at(monkeypatch, 200) as steps:
        run_round(directory, to, 10)
    for step in [number for number, name in enumerate(steps) if name.startswith(("put", "table", "committed"))]:
        shutil.rmtree(directory)
        shutil.copytree(start, directory)
        with dies_at(monkeypatch, step), suppress(Died):
            run_round(directory, to, 10)
        gc.collect()  # the system frees the locks of a dead process
        manifest = run_round(directory, to, 11)
        assert manifest["tables"]["GG.A"]["rows"] == 11, steps[step]
        assert sorted(int(key) for key, _ in found(directory, to)) == [*range(1, 12)], steps[step]
        assert len([path for path in row_files(manifest) if "A" in path]) <= 3, steps[step]
        assert verify(str(directory / "lake")).findings == []
