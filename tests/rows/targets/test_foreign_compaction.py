"""Files that another program has compacted: the rows are the same, so that runs go on."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lake_compaction import compact
from lake_tables import READERS, Died, add_changes, change, consolidate, dies_at, row_files
from runs import snapshot

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.sinks.messages.verification import verify

COUNT = 60
TABLES = ("GG.A", "GG.B")


def begun(directory: Path, to: str, **settings: Any) -> dict[str, Any]:
    """Make tables with several files."""
    lines = [
        change("I", 2 * n + place, name, after={"ID": str(n), "N": f"{n:08d}"})
        for n in range(COUNT)
        for place, name in enumerate(TABLES)
    ]
    add_changes(directory, "00", lines)
    return consolidate(directory, to, **settings)


def update(number: int, key: int, table: str = "GG.A") -> dict[str, Any]:
    return change("U", number, table, after={"ID": str(key), "N": f"day {number}"})


def names(directory: Path, to: str, table: str = "GG.A") -> dict[str, str]:
    return {row["ID"]: row["N"] for row in READERS[to](directory, table)}


@pytest.mark.parametrize("to", READERS)
@pytest.mark.parametrize("settings", [{}, {"file_size": "1k"}, {"changes": True}], ids=["one", "several", "changes"])
def test_a_run_goes_on_after_a_compaction(tmp_path: Path, to: str, settings: dict[str, Any]) -> None:
    begun(tmp_path, to, **settings)
    for day in range(1, 4):
        add_changes(tmp_path, f"{day:02d}", [update(1000 * day, day)])
        manifest = consolidate(tmp_path, to, **settings)
        before = READERS[to](tmp_path, "GG.A")
        compact(tmp_path, to, "GG.A")
        assert READERS[to](tmp_path, "GG.A") == before
    rows = manifest["tables"]["GG.A"]["rows"]
    if "changes" not in settings:  # no file is written, and the present ones are known from now on
        add_changes(tmp_path, "98", [change("U", 8000, after={"ID": "1", "N": "day 1000"})])
        consolidate(tmp_path, to, **settings)
    add_changes(tmp_path, "99", [update(9000, 5), change("I", 9001, after={"ID": "new", "N": "new"})])
    manifest = consolidate(tmp_path, to, **settings)
    assert (
        manifest["tables"]["GG.A"]["rows"] == len(READERS[to](tmp_path, "GG.A")) == rows + 1 + ("changes" in settings)
    )
    assert names(tmp_path, to)["5"] == "day 9000"
    assert verify(str(tmp_path / "lake")).findings == []
    add_changes(tmp_path, "991", [update(9500, 6)])
    later = consolidate(tmp_path, to, **settings)
    assert len(READERS[to](tmp_path, "GG.A")) == rows + 1 + 2 * ("changes" in settings)
    if "file_size" in settings:
        assert len({*row_files(later)} - {*row_files(manifest)}) == 1, "the new files have buckets again"


def test_marked_rows_stay_marked_after_a_compaction(tmp_path: Path) -> None:
    """Of small files beside a large one, whose rows the manifest keeps as deleted."""
    to, settings = "iceberg", {"table_options": {"write.merge.mode": "merge-on-read"}}
    expected = {str(n): f"{n:08d}" for n in range(COUNT)}
    begun(tmp_path, to, **settings)
    for day in range(1, 4):
        add_changes(tmp_path, f"{day:02d}", [update(1000 * day, day)])
        consolidate(tmp_path, to, **settings)
        expected[str(day)] = f"day {1000 * day}"
        compact(tmp_path, to, "GG.A")
        assert names(tmp_path, to) == expected


@pytest.mark.parametrize("to", READERS)
def test_partitions_after_a_compaction(tmp_path: Path, to: str) -> None:
    """Files of other programs lack the columns of partitions: only net changes go on, which read no row."""
    add_changes(tmp_path, "1", [change("I", n, after={"ID": str(n), "N": str(n % 2)}) for n in range(4)])
    consolidate(tmp_path, to, partition_by="N")
    compact(tmp_path, to, "GG.A")
    add_changes(tmp_path, "2", [update(1000, 1)])
    with pytest.raises(UsageError, match=r"GG554.*the table has partitions"):
        consolidate(tmp_path, to)
    (tmp_path / "grows").mkdir()
    add_changes(tmp_path / "grows", "1", [change("I", n, after={"ID": str(n), "N": str(n % 2)}) for n in range(4)])
    consolidate(tmp_path / "grows", to, partition_by="N", changes=True)
    compact(tmp_path / "grows", to, "GG.A")
    add_changes(tmp_path / "grows", "2", [update(1000, 1)])
    assert consolidate(tmp_path / "grows", to, changes=True)["tables"]["GG.A"]["rows"] == 5
    assert len(READERS[to](tmp_path / "grows", "GG.A")) == 5


def delta_optimize(directory: Path) -> None:
    compact(directory, "delta", "GG.A")


def other_commits(directory: Path) -> None:
    """Commits without files: their actions are of no rows."""
    from deltalake import DeltaTable

    path = str(directory / "lake" / "GG.A")
    DeltaTable(path).optimize.z_order(["N"])
    DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    DeltaTable(path).alter.set_table_properties({"delta.logRetentionDuration": "interval 7 days"})
    DeltaTable(path).create_checkpoint()


@pytest.mark.parametrize("then", [delta_optimize, other_commits])
def test_commits_that_change_no_row_of_delta(tmp_path: Path, then: Callable[[Path], None]) -> None:
    begun(tmp_path, "delta", file_size="1k")
    then(tmp_path)
    add_changes(tmp_path, "1", [update(1000, 1)])
    consolidate(tmp_path, "delta", file_size="1k")
    assert len(names(tmp_path, "delta")) == COUNT
    assert names(tmp_path, "delta")["1"] == "day 1000"


def with_action(directory: Path, change: Callable[[str, dict[str, Any]], None]) -> None:
    """Change the actions of the last commit of `GG.A` on files."""
    log = max((directory / "lake" / "GG.A" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        for what in {"add", "remove"} & {*action}:
            change(what, action[what])
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def says_that_rows_change(what: str, action: dict[str, Any]) -> None:
    action["dataChange"] = True


def has_lost_a_file(what: str, action: dict[str, Any]) -> None:
    if what == "remove":
        action["path"] = "gone.parquet"


def has_no_statistics(what: str, action: dict[str, Any]) -> None:
    action.pop("stats", None)


@pytest.mark.parametrize(
    ("change", "goes_on"), [(says_that_rows_change, False), (has_lost_a_file, False), (has_no_statistics, True)]
)
def test_what_a_commit_says_of_its_rows_is_checked(
    tmp_path: Path, change: Callable[[str, dict[str, Any]], None], goes_on: bool
) -> None:
    begun(tmp_path, "delta", file_size="1k")
    compact(tmp_path, "delta", "GG.A")
    with_action(tmp_path, change)
    add_changes(tmp_path, "1", [update(1000, 1)])
    before = snapshot(tmp_path / "lake")
    if goes_on:
        assert consolidate(tmp_path, "delta", file_size="1k")["tables"]["GG.A"]["rows"] == COUNT
        return
    with pytest.raises(UsageError, match=r"GG553.*was changed by another program"):
        consolidate(tmp_path, "delta", file_size="1k")
    assert snapshot(tmp_path / "lake") == before


@pytest.mark.parametrize("to", READERS)
def test_a_compaction_that_loses_rows_is_noticed(tmp_path: Path, to: str) -> None:
    begun(tmp_path, to, file_size="1k")
    compact(tmp_path, to, "GG.A", rows=COUNT - 1)
    assert len(READERS[to](tmp_path, "GG.A")) == COUNT - 1
    add_changes(tmp_path, "1", [update(1000, 1)])
    with pytest.raises(UsageError, match=r"GG553.*was changed by another program"):
        consolidate(tmp_path, to, file_size="1k")


@pytest.mark.parametrize("to", READERS)
def test_a_compaction_after_a_foreign_row_hides_nothing(tmp_path: Path, to: str) -> None:
    """Also if a row was added and another one deleted before."""
    begun(tmp_path, to, file_size="1k")
    compact(tmp_path, to, "GG.A", row={"ID": "7777", "N": "foreign"})
    compact(tmp_path, to, "GG.A")
    assert len(READERS[to](tmp_path, "GG.A")) == COUNT
    add_changes(tmp_path, "1", [update(1000, 1)])
    with pytest.raises(UsageError, match=r"GG553.*was changed by another program"):
        consolidate(tmp_path, to, file_size="1k")


@pytest.mark.parametrize("to", READERS)
def test_a_compaction_between_a_run_that_died_and_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    wanted, directory, start = (tmp_path / name for name in ("wanted", "run", "start"))
    second = [update(1000 + n, n, table) for n, table in enumerate(TABLES)]
    for each in (directory, wanted):
        each.mkdir()
        begun(each, to, file_size="1k")
        add_changes(each, "01", second)
    shutil.move(directory, start)  # Iceberg's metadata has absolute paths
    with dies_at(monkeypatch, 200) as steps:
        consolidate(wanted, to, file_size="1k")
    for step in [number for number, name in enumerate(steps) if name in ("table", "committed")]:
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(start, directory)
        with dies_at(monkeypatch, step), suppress(Died):
            consolidate(directory, to, file_size="1k")
        gc.collect()  # the system frees the locks of a dead process
        for table in TABLES:
            compact(directory, to, table)
        consolidate(directory, to, file_size="1k")
        for table in TABLES:
            assert READERS[to](directory, table) == READERS[to](wanted, table), steps[step]
        add_changes(directory, "02", [update(2000, 9, table) for table in TABLES])
        manifest = consolidate(directory, to, file_size="1k")
        for table in TABLES:
            assert manifest["tables"][table]["rows"] == COUNT
            assert names(directory, to, table) == names(wanted, to, table) | {"9": "day 2000"}
