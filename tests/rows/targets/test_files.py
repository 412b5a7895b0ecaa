"""Plain files: each table goes from one version to the next at once, and readers see one of them whole."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest
from command_line import call
from lake_tables import Died, add_changes, change, consolidate, dies_at, row_files
from places import TESTS

import ggfmt
from ggfmt.commit import store as store_module
from ggfmt.commit.journal import Journal
from ggfmt.commit.store import Store
from ggfmt.commit.versions import KEPT_SECONDS
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.rows import staging as staging_module
from ggfmt.sinks.messages.verification import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, COMMITS = 24, 20
Rows = list[dict[str, Any]]


def states(directory: Path) -> dict[str, Rows]:
    """Return the rows of all tables, as a program that knows nothing of ggfmt reads them."""
    out = directory / "lake"
    return {path.name: read_rows(path) for path in sorted(out.iterdir()) if not path.name.startswith("_")}


def read_rows(path: Path) -> Rows:
    rows: Rows = parquet.read_table(path).to_pylist()
    return sorted(rows, key=lambda row: str(row["ID"]))


def versions(directory: Path) -> list[str]:
    top = directory / "lake" / "_ggfmt" / "versions"
    return sorted(str(path.relative_to(top)) for path in top.glob("*/*"))


def start(directory: Path, count: int = 8) -> None:
    """Make an output with two tables by a first run."""
    directory.mkdir()
    lines = [change("I", n, after={"ID": str(n), "N": "0"}) for n in range(1, count + 1)]
    add_changes(directory, "1", [*lines, change("I", count + 1, "GG.B", after={"ID": "1", "N": "0"})])
    consolidate(directory, "parquet")


def second_day(directory: Path) -> None:
    """Add changes of three tables; one is new, and one loses a row."""
    lines = [
        change("U", 100, before={"ID": "3"}, after={"ID": "3", "N": "1"}),
        change("D", 101, before={"ID": "5"}),
        change("U", 102, "GG.B", before={"ID": "1"}, after={"ID": "1", "N": "1"}),
        change("I", 103, "GG.C", after={"ID": "1", "N": "1"}),
        change("U", 104, "GG.C", after={"ID": "8", "N": "never seen"}),
    ]
    add_changes(directory, "2", lines)


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.rows.run.bucket_count", lambda *_: 4)
    monkeypatch.setattr("ggfmt.rows.run.unit_count", lambda *_: 4)


# Readers


def test_readers_that_never_stop_see_one_state_or_another(tmp_path: Path, small_buckets: None) -> None:
    """Each commit gives all rows another value, in several files. A reader that resolves the link first always
    succeeds. One that lists names through the link may come too late for them, and then reads nothing at all."""
    directory = tmp_path / "run"
    directory.mkdir()
    add_changes(directory, "00", [change("I", n, after={"ID": str(n), "N": "0"}) for n in range(1, ROWS + 1)])
    consolidate(directory, "parquet")
    table = directory / "lake" / "GG.A"
    wrong: list[str] = []
    seen: set[str] = set()
    counts = {"resolved": 0, "through the link": 0}
    stop = threading.Event()

    def read(name: str, resolve: Callable[[Path], str], may_be_late: Callable[[str], bool]) -> None:
        while not stop.is_set():
            path = resolve(table)
            try:
                found = dataset.dataset(path, format="parquet")
                if not found.files and may_be_late(path):
                    continue
                rows = found.to_table(["ID", "N"])
            except FileNotFoundError as error:
                if not may_be_late(path):
                    wrong.append(repr(error))
                continue
            except Exception as error:
                wrong.append(repr(error))
                continue
            values = {str(value) for value in rows["N"].to_pylist()}
            if rows.num_rows != ROWS or len(values) != 1:
                wrong.append(f"{name}: {rows.num_rows} rows with {values}")
            seen.update(values)
            counts[name] += 1

    def is_plain(path: str) -> bool:
        """Return whether a path is that of the directory of the first run, until it gets versions."""
        return path == str(table)

    cases: list[tuple[str, Callable[[Path], str], Callable[[str], bool]]] = [
        ("resolved", os.path.realpath, is_plain),
        ("through the link", str, lambda _: True),
    ]
    readers = [threading.Thread(target=read, args=case) for case in cases]
    for reader in readers:
        reader.start()
    try:
        for number in range(1, COMMITS + 1):
            keys = range(1, ROWS + 1)
            moment = number * ROWS
            lines = [
                change("U", moment + n, before={"ID": str(n)}, after={"ID": str(n), "N": str(number)}) for n in keys
            ]
            add_changes(directory, f"{number:02d}", lines)
            files = row_files(consolidate(directory, "parquet"))
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert len(files) == 4
    assert len(seen) > 2
    assert min(counts.values()) > 2


def test_a_version_that_was_replaced_stays_readable_for_an_hour(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    start(directory)
    table = directory / "lake" / "GG.A"
    add_changes(directory, "2", [change("I", 100, after={"ID": "9", "N": "1"})])
    consolidate(directory, "parquet")
    second = Path(os.path.realpath(table))
    rows = read_rows(second)
    os.utime(second, (0, 0))  # it was made long ago, and is replaced now
    add_changes(directory, "3", [change("I", 101, after={"ID": "91", "N": "2"})])
    consolidate(directory, "parquet")
    assert read_rows(second) == rows
    assert len(versions(directory)) == 3, "also the plain directory of the first run"
    now = time.time()
    os.utime(second, (now - KEPT_SECONDS - 60,) * 2)
    add_changes(directory, "4", [change("I", 102, "GG.B", after={"ID": "9", "N": "3"})])
    consolidate(directory, "parquet")
    assert not second.exists()
    left = [name for name in versions(directory) if name.startswith("GG.A/")]
    assert len(left) == 2, "the present one, and the first one, which was replaced a moment ago"
    for name in left:
        if "-before" in name:
            os.utime(directory / "lake" / "_ggfmt" / "versions" / name, (now - KEPT_SECONDS - 60,) * 2)
    add_changes(directory, "5", [change("I", 103, "GG.B", after={"ID": "91", "N": "4"})])
    consolidate(directory, "parquet")
    assert [name for name in versions(directory) if name.startswith("GG.A/")] == [
        f"GG.A/{os.path.basename(os.path.realpath(table))}"
    ]
    assert len(read_rows(table)) == 10
    assert verify(str(directory / "lake")).findings == []


def test_a_link_that_somebody_removed_does_not_cost_the_rows(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    start(directory)
    second_day(directory)
    consolidate(directory, "parquet")
    table = directory / "lake" / "GG.A"
    present = Path(os.path.realpath(table))
    target = os.readlink(table)
    os.unlink(table)
    os.utime(present, (0, 0))
    add_changes(directory, "3", [change("I", 200, "GG.B", after={"ID": "9", "N": "3"})])
    consolidate(directory, "parquet")
    assert present.exists()
    os.symlink(present, table)  # absolute: not as ggfmt makes it
    add_changes(directory, "4", [change("I", 201, "GG.B", after={"ID": "91", "N": "3"})])
    consolidate(directory, "parquet")
    assert present.exists()
    os.unlink(table)
    os.symlink(target, table)
    assert verify(str(directory / "lake")).findings == []


# What is in the output


def test_a_first_run_leaves_plain_directories_and_later_ones_links(tmp_path: Path, small_buckets: None) -> None:
    directory = tmp_path / "run"
    start(directory)
    out = directory / "lake"
    assert not any(path.is_symlink() for path in out.iterdir())
    assert not (out / "_ggfmt" / "versions").exists()
    first = {path.stat().st_ino: path for path in (out / "GG.A").iterdir()}
    second_day(directory)
    manifest = consolidate(directory, "parquet")
    assert {name: (out / name).is_symlink() for name in ("GG.A", "GG.B", "GG.C")} == dict.fromkeys(
        ("GG.A", "GG.B", "GG.C"), True
    )
    assert os.readlink(out / "GG.A") == f"_ggfmt/versions/GG.A/{manifest['run']}"
    kept = [path for path in (out / "GG.A").iterdir() if path.stat().st_ino in first]
    assert 0 < len(kept) < len(first), "hard links"
    assert not any(path.exists() for path in first.values()), "under new names"
    assert {path.name for path in (out / "GG.A").iterdir()} == {
        os.path.basename(name) for name in row_files(manifest) if name.startswith("GG.A/")
    }
    assert verify(str(out)).findings == []


def test_the_output_can_be_moved_and_copied(tmp_path: Path) -> None:
    directory, moved = tmp_path / "run", tmp_path / "moved"
    start(directory)
    second_day(directory)
    consolidate(directory, "parquet")
    expected = states(directory)
    shutil.copytree(directory / "lake", tmp_path / "copy", symlinks=True)
    shutil.rmtree(directory / "lake")
    shutil.move(tmp_path / "copy", directory / "lake")
    assert states(directory) == expected
    shutil.copytree(directory / "lake", moved)  # as programs do that follow links
    assert read_rows(moved / "GG.A") == expected["GG.A"]
    add_changes(directory, "3", [change("I", 200, after={"ID": "77", "N": "3"})])
    consolidate(directory, "parquet")
    assert len(states(directory)["GG.A"]) == len(expected["GG.A"]) + 1


def test_ggfmt_reads_each_row_once(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    start(directory)
    second_day(directory)
    consolidate(directory, "parquet")
    out = directory / "lake"
    ggfmt.consolidate(directory / "changes", tmp_path / "whole", key="ID", master="none")
    same = call("compare", out, tmp_path / "whole", "--output-format", "json")
    assert same.exit_code == 0, same.output
    assert call("compare", out / "GG.A", tmp_path / "whole" / "GG.A", "--key", "ID").exit_code == 0
    add_changes(tmp_path, "more", [change("I", 300, after={"ID": "99", "N": "9"})])
    based = ggfmt.consolidate(tmp_path / "changes", tmp_path / "based", base=out, key="ID", master="none")
    assert based["tables"]["GG.A"]["rows"] == 8
    for path in (out, out / "GG.A", f"{out}/GG.A/*.parquet", f"{out}/*/*.parquet"):
        refused = call("run", path, "--to", "json", "-o", "-", "--master", "none")
        assert refused.exit_code != 0
        assert "not changes" in str(refused.exception), path


def test_overwriting_switches_tables_and_removes_those_that_are_gone(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    start(directory)
    out = directory / "lake"
    names = {path.name for path in (out / "GG.A").iterdir()}
    before = read_rows(out / "GG.A")
    shutil.rmtree(directory / "changes")
    add_changes(directory, "1", [change("I", 1, after={"ID": "7", "N": "other"})])
    manifest = consolidate(directory, "parquet", checkpoint=None, mode="overwrite")
    assert states(directory) == {"GG.A": [{"ID": "7", "N": "other"}]}
    assert not names & {os.path.basename(name) for name in row_files(manifest)}, "no name of a file that readers know"
    assert read_rows(out / "_ggfmt" / "versions" / "GG.A" / f"{manifest['run']}-before") == before
    assert not os.path.lexists(out / "GG.B")
    assert verify(str(out)).findings == []
    add_changes(directory, "1", [change("I", 1, "GG.C", after={"ID": "7", "N": "other"})])
    consolidate(directory, "parquet", checkpoint=None, mode="overwrite")
    assert states(directory) == {"GG.C": [{"ID": "7", "N": "other"}]}
    assert verify(str(out)).findings == []


def test_what_others_put_into_the_directory_of_a_table(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    start(directory)
    table = directory / "lake" / "GG.A"
    (table / "_notes.txt").write_text("mine")
    second_day(directory)
    consolidate(directory, "parquet")
    assert (table / "_notes.txt").read_text() == "mine"
    (table / "sub").mkdir()
    add_changes(directory, "3", [change("I", 200, after={"ID": "77", "N": "3"})])
    before = states(directory)
    with pytest.raises(UsageError, match=r"GG501.*an entry that is not a file"):
        consolidate(directory, "parquet")
    assert states(directory) == before
    (table / "sub").rmdir()
    os.rename(directory / "lake" / "GG.B", directory / "elsewhere")
    os.symlink(directory, directory / "lake" / "GG.B")
    add_changes(directory, "4", [change("I", 201, "GG.B", after={"ID": "77", "N": "3"})])
    with pytest.raises((Abend, UsageError)):
        consolidate(directory, "parquet")


# Disks that lack something


def deny(number: int) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


def test_a_disk_without_hard_links_gets_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_buckets: None, caplog: pytest.LogCaptureFixture
) -> None:
    directory, other = tmp_path / "run", tmp_path / "other"
    for each in (directory, other):
        start(each)
        second_day(each)
    consolidate(other, "parquet")
    monkeypatch.setattr(os, "link", deny(errno.EPERM))
    caplog.set_level("INFO", "ggfmt")
    consolidate(directory, "parquet")
    assert "the file system has no hard links" in caplog.text
    assert states(directory) == states(other)
    assert verify(str(directory / "lake")).findings == []


def test_a_disk_that_cannot_exchange_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, other = tmp_path / "run", tmp_path / "other"
    for each in (directory, other):
        start(each)
        second_day(each)
    consolidate(other, "parquet")
    monkeypatch.setattr(store_module, "exchange", lambda *_: False)
    consolidate(directory, "parquet")
    assert states(directory) == states(other)
    assert len(versions(directory)) == len(versions(other))


def test_a_disk_without_symbolic_links_keeps_plain_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    directory, other = tmp_path / "run", tmp_path / "other"
    for each in (directory, other):
        start(each)
        second_day(each)
    consolidate(other, "parquet")
    monkeypatch.setattr(os, "symlink", deny(errno.EPERM))
    consolidate(directory, "parquet")
    assert caplog.text.count("the file system has no symbolic links") == 1
    assert states(directory) == states(other)
    assert not (directory / "lake" / "GG.A").is_symlink()
    assert versions(directory) == []
    assert verify(str(directory / "lake")).findings == []


# Deaths

DECISIVE = ("put", "exchange", "rename", "make_link", "touch", "share")


@pytest.mark.parametrize("linked", [False, True], ids=["plain directories", "links"])
def test_a_run_that_dies_at_a_decisive_step_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_buckets: None, linked: bool
) -> None:
    check_steps(tmp_path, monkeypatch, linked, DECISIVE)


@pytest.mark.long
@pytest.mark.parametrize("exchanges", [False, True], ids=["two renames", "one exchange"])
@pytest.mark.parametrize("linked", [False, True], ids=["plain directories", "links"])
def test_a_run_that_dies_at_any_step_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_buckets: None, linked: bool, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(store_module, "exchange", lambda *_: False)
    check_steps(tmp_path, monkeypatch, linked, ("",), atomic=exchanges or linked)


def check_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool, names: tuple[str, ...], atomic: bool = True
) -> None:
    """Let a run die at its steps. Each table is as before or as after it; the next run ends it, and leaves nothing."""
    first, directory = tmp_path / "start", tmp_path / "run"
    start(directory)
    if linked:
        lines = [change("U", 50, before={"ID": "2"}, after={"ID": "2", "N": "x"})]
        lines += [change("U", 51, "GG.B", before={"ID": "1"}, after={"ID": "1", "N": "x"})]
        add_changes(directory, "1b", lines)
        consolidate(directory, "parquet")
    second_day(directory)
    old = states(directory)
    shutil.copytree(directory, first, symlinks=True)
    with dies_at(monkeypatch, 1000) as steps:
        consolidate(directory, "parquet")
    new = states(directory)
    for step in [number for number, name in enumerate(steps) if name.startswith(names)]:
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(first, directory, symlinks=True)
        with dies_at(monkeypatch, step), suppress(Died):
            consolidate(directory, "parquet")
        gc.collect()  # the system frees the locks of a dead process
        for name, rows in states(directory).items():
            assert rows in (old.get(name), new.get(name)), (steps[step], name)
        if atomic:
            assert {*old} <= {*states(directory)}, steps[step]
        consolidate(directory, "parquet")
        check_end(directory, new, steps[step])


def check_end(directory: Path, rows: dict[str, Rows], step: str) -> None:
    out = directory / "lake"
    assert states(directory) == rows, step
    assert verify(str(out)).findings == [], step
    assert not (out / "_ggfmt" / "staging").exists(), step
    for name in versions(directory):
        assert not (out / "_ggfmt" / "versions" / name).is_symlink(), step
    for table in rows:
        assert (out / table).is_symlink(), step
    assert not (out / "_ggfmt" / "journal.json").exists(), step


PROGRAM = """
import os, signal, sys
sys.path[:0] = [{support!r}]
import pytest
from pathlib import Path
from lake_tables import Died, consolidate, dies_at
with dies_at(pytest.MonkeyPatch(), {step}, lambda: os.kill(os.getpid(), signal.SIGKILL)):
    consolidate(Path({directory!r}), "parquet")
"""


@pytest.mark.long
@pytest.mark.parametrize("linked", [False, True], ids=["plain directories", "links"])
def test_a_process_that_is_killed_is_followed_by_one_that_ends_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    first, directory = tmp_path / "start", tmp_path / "run"
    start(directory)
    if linked:
        lines = [change("U", 50, t, before={"ID": "1"}, after={"ID": "1", "N": "x"}) for t in ("GG.A", "GG.B")]
        add_changes(directory, "1b", lines)
        consolidate(directory, "parquet")
    second_day(directory)
    old = states(directory)
    shutil.copytree(directory, first, symlinks=True)
    with dies_at(monkeypatch, 1000) as steps:
        consolidate(directory, "parquet")
    new = states(directory)
    for step in range(len(steps)):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(first, directory, symlinks=True)
        program = PROGRAM.format(support=str(TESTS / "support"), step=step, directory=str(directory))
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        for name, rows in states(directory).items():
            assert rows in (old.get(name), new.get(name)), (steps[step], name)
        assert {*old} <= {*states(directory)}, steps[step]
        consolidate(directory, "parquet")
        check_end(directory, new, steps[step])


def test_a_journal_of_an_earlier_ggfmt_is_replayed(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    staged = out / "_ggfmt" / "staging" / "run"
    staged.mkdir(parents=True)
    (staged / "one").write_bytes(b"content")
    move = [0, "_ggfmt/staging/run/one", 0, "GG.A/part-00000.json", 7, ""]
    journal: dict[str, Any] = {"version": 2, "run": "run", "places": [], "others": 0, "outputs": [0], "moves": [move]}
    (out / "_ggfmt" / "journal.json").write_text(json.dumps({**journal, "deletes": []}))
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "1"})])
    with pytest.raises(UsageError, match="GG501"):  # after the commit was ended
        consolidate(tmp_path, "json", checkpoint=None)
    assert (out / "GG.A" / "part-00000.json").read_bytes() == b"content"


@pytest.mark.parametrize(
    "switch",
    [
        [0, "../x", "_ggfmt/versions/../x/r"],
        [0, "_ggfmt", "_ggfmt/versions/_ggfmt/r"],
        [0, "GG.A", "_ggfmt/versions/GG.B/r"],
        [0, "GG.A", "_ggfmt/versions/GG.A/.."],
        [0, "GG.A", "/etc"],
        [1, "GG.A", "_ggfmt/versions/GG.A/r"],
    ],
)
def test_a_journal_cannot_lead_a_link_elsewhere(switch: list[Any]) -> None:
    sound: dict[str, Any] = {"run": "r", "places": [], "others": 0, "outputs": [0], "moves": [], "deletes": []}
    assert Journal.of({**sound, "switches": [[0, "GG.A", "_ggfmt/versions/GG.A/r"], [0, "GG.B", ""]]}).switches
    with pytest.raises(ValueError, match="is outside its directory"):
        Journal.of({**sound, "switches": [switch]})


def test_names_are_exchanged_at_once(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    os.symlink("one", tmp_path / "two")
    store = Store(Location.of(str(tmp_path)))
    if not store.exchange("one", "two"):
        pytest.skip("this disk cannot exchange names")
    assert (tmp_path / "one").is_symlink()
    assert not (tmp_path / "two").is_symlink()
    with pytest.raises(FileNotFoundError):
        store.exchange("one", "three")


# Spark


@pytest.mark.spark
def test_spark_writes_versions_and_reads_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BUCKET_BYTES", "MAX_BUCKET_BYTES", "UNIT_BYTES"):
        monkeypatch.setattr(staging_module, name, 2000)
    found = []
    for name, runner in (("here", {}), ("spark", {"spark": spark})):
        directory = tmp_path / name
        directory.mkdir()
        add_changes(directory, "1", [change("I", n, after={"ID": str(n), "N": "a"}) for n in range(1, 60)])
        consolidate(directory, "parquet", **runner)
        add_changes(directory, "2", [change("U", 60, before={"ID": "7"}, after={"ID": "7", "N": "b"})])
        consolidate(directory, "parquet", **runner)
        found.append(states(directory))
        table = directory / "lake" / "GG.A"
        assert table.is_symlink()
        for path in (str(table), f"{table}/*.parquet", os.path.realpath(table)):
            assert spark.read.parquet(path).count() == 59
            assert {*spark.read.parquet(path).columns} == {"ID", "N"}
    assert found[0] == found[1]


@pytest.mark.parametrize("to", ["parquet", "delta"])
@pytest.mark.parametrize(
    ("left", "told"),
    [
        (None, "`manifest.json` is missing, or lists no rows of an earlier run"),
        ({"files": []}, "`manifest.json` is missing, or lists no rows of an earlier run"),
        ({"consolidated": {}}, "`manifest.json` is damaged: Object missing required field `kind`"),
    ],
    ids=["missing", "of messages", "damaged"],
)
def test_a_manifest_that_is_lost_is_named(tmp_path: Path, to: str, left: dict[str, Any] | None, told: str) -> None:
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "1"})])
    consolidate(tmp_path, to)
    manifest = tmp_path / "lake" / "_ggfmt" / "manifest.json"
    manifest.unlink()
    if left is not None:
        manifest.write_text(json.dumps(left))
    add_changes(tmp_path, "2", [change("I", 2, after={"ID": "2"})])
    with pytest.raises(Abend, match=re.escape(told)):
        consolidate(tmp_path, to)
    if left is not None and "consolidated" in left:
        with pytest.raises(Abend, match=re.escape(told)):
            consolidate(tmp_path, to, output=tmp_path / "other", base=tmp_path / "lake", checkpoint=None)
