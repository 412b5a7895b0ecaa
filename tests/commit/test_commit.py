"""A run commits whole or not at all: modes, failures before, in and after the commit, and two runs at once."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import IO

import pytest
from interrupted_commits import Died
from runs import JSON_LINES, PIPES, content, manifest, operation, output_files, run_ggfmt, snapshot, tables, write_lines

import ggfmt
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, UsageError
from ggfmt.location import Location


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}") for n in range(30)])


def test_error_mode_refuses_output_that_exists(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    before = snapshot(out)
    with pytest.raises(UsageError, match="GG501") as caught:
        run_ggfmt([source], out)
    assert "--mode append" in (caught.value.diagnostics[0].help or "")
    assert snapshot(out) == before


def test_append_adds_files_behind_those_that_are_there(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    before = snapshot(out / "j")
    run_ggfmt([source], out, mode="append")
    after = snapshot(out / "j")
    assert before.items() < after.items()
    assert len(after) == 2 * len(before)
    assert [path.name[-9:] for path in output_files(out, "j")] == ["00000.txt", "00001.txt"] * 3


def test_overwrite_replaces_what_the_same_handlers_wrote_and_no_more(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    delimited = snapshot(out / "d")
    smaller = write_lines(tmp_path / "small.json", [operation(99, "GG.T1")])
    run_ggfmt([smaller], out, *JSON_LINES, mode="overwrite", current_timestamp=None)
    assert list(tables(out, "j")) == ["GG.T1"]
    assert content(out, "j").count(b"\n") == 1
    assert snapshot(out / "d") == delimited


def test_overwrite_with_the_same_names_leaves_the_new_files(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    before = snapshot(out / "j")
    run_ggfmt([source], out, mode="overwrite")
    assert snapshot(out / "j") == before


def test_overwrite_does_not_touch_a_directory_that_ggfmt_did_not_write(source: Path, tmp_path: Path) -> None:
    precious = tmp_path / "out" / "j" / "precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    with pytest.raises(UsageError, match="GG501"):
        run_ggfmt([source], tmp_path / "out", mode="overwrite")
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("existing", [False, True])
def test_an_abend_leaves_the_output_as_it_was(source: Path, tmp_path: Path, existing: bool) -> None:
    out = tmp_path / "out"
    if existing:
        run_ggfmt([source], out)
    before = snapshot(tmp_path)
    source.write_bytes(source.read_bytes() + b"not json\n")
    with pytest.raises(Abend, match="GG301"):
        run_ggfmt([source], out, mode="overwrite", split_size=500)
    after = snapshot(tmp_path)
    assert {**after, "in.json": ""} == {**before, "in.json": ""}
    assert out.exists() == existing


def own_files(output: Path) -> list[str]:
    """What is in the metadata directory; runs have names of their own."""
    return sorted(path.name for path in (output / "_ggfmt").iterdir())


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("moves", range(9))
def test_a_commit_that_was_cut_off_is_ended_by_the_next_run(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int, mode: str
) -> None:
    """The driver dies after any number of renames; the next run, whatever it is asked for, first ends the commit."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    older = write_lines(tmp_path / "older.json", [operation(n, f"GG.T{n % 2}") for n in range(100, 110)])
    for directory in (out, whole):
        run_ggfmt([older], directory, current_timestamp=datetime(2015, 1, 1))
    run_ggfmt([source], whole, mode=mode)

    renamed = 0
    real = Store.move

    def move(store: Store, old: str, new: str, size: int) -> None:
        nonlocal renamed
        if renamed == moves:
            raise Died
        renamed += 1
        real(store, old, new, size)

    monkeypatch.setattr(Store, "move", move)
    if moves < 8:
        with pytest.raises(Died):
            run_ggfmt([source], out, mode=mode)
        assert not (out / "_SUCCESS").exists()
    else:
        run_ggfmt([source], out, mode=mode)
    monkeypatch.setattr(Store, "move", real)
    with pytest.raises(UsageError, match="GG501"):  # the next run finds the output in place, and refuses
        run_ggfmt([source], out)
    for handler in "jd":
        assert snapshot(out / handler) == snapshot(whole / handler)
    assert manifest(out)["totals"]["operations"] == manifest(whole)["totals"]["operations"]
    assert (out / "_SUCCESS").exists()
    assert own_files(out) == own_files(whole)


def _roots(tmp_path: Path) -> tuple[str, ...]:
    return (
        *JSON_LINES,
        *PIPES,
        f"gg.handler.j.rootFilePath={tmp_path / 'json'}",
        f"gg.handler.d.rootFilePath={tmp_path / 'text'}",
        "gg.handlerlist=j,d",
    )


def test_handlers_with_roots_of_their_own_commit_together(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Store.move
    monkeypatch.setattr(Store, "move", lambda *_: (_ for _ in ()).throw(Died))
    with pytest.raises(Died):
        run_ggfmt([source], None, *_roots(tmp_path))
    monkeypatch.setattr(Store, "move", real)
    # A run of the second handler alone finds the pointer to the journal of the first root.
    with pytest.raises(UsageError, match="GG501"):
        run_ggfmt([source], None, *PIPES, f"gg.handler.d.rootFilePath={tmp_path / 'text'}")
    assert content(tmp_path / "json", "j").count(b"\n") == content(tmp_path / "text", "d").count(b"\n") == 30
    for name in ("json", "text"):
        assert (tmp_path / name / "_SUCCESS").exists()
        assert own_files(tmp_path / name) == ["manifest.json", "runs"]


def test_a_pointer_without_its_journal_means_nothing(source: Path, tmp_path: Path) -> None:
    for name in ("json", "text"):
        (tmp_path / name / "_ggfmt").mkdir(parents=True)
    intent = tmp_path / "json" / "_ggfmt" / "commits" / "never-decided.json"
    intent.parent.mkdir()
    intent.write_text(json.dumps({"places": [str(tmp_path / "text")]}))
    pointer = tmp_path / "text" / "_ggfmt" / "pointer.json"
    pointer.write_text(json.dumps({"root": str(tmp_path / "json"), "run": "never-decided", "place": 1}))
    run_ggfmt([source], None, *_roots(tmp_path))
    assert content(tmp_path / "text", "d").count(b"\n") == 30
    for name in ("json", "text"):
        assert own_files(tmp_path / name) == ["manifest.json", "runs"]


def test_what_a_dead_run_left_in_staging_is_removed(source: Path, tmp_path: Path) -> None:
    left = tmp_path / "out" / "_ggfmt" / "staging" / "old-run" / "000000-1-j" / "0000001"
    left.parent.mkdir(parents=True)
    left.write_text("half a file")
    run_ggfmt([source], tmp_path / "out")
    assert own_files(tmp_path / "out") == ["manifest.json", "runs"]


def _hold(root: str, held: multiprocessing.synchronize.Event, end: multiprocessing.synchronize.Event) -> None:
    output = OutputDirectory(Location.of(root))
    output.acquire("a run")
    held.set()
    end.wait(30)
    output.release()


def test_two_runs_do_not_write_to_one_directory_at_once(source: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, end = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(tmp_path / "out"), held, end))
    other.start()
    try:
        assert held.wait(30)
        staged = tmp_path / "out" / "_ggfmt" / "staging" / "other-run" / "0000001"
        staged.parent.mkdir(parents=True)
        staged.write_text("what the other run has written so far")
        with pytest.raises(UsageError, match="another run is writing"):
            run_ggfmt([source], tmp_path / "out")
        assert staged.exists()
    finally:
        end.set()
        other.join(30)
    run_ggfmt([source], tmp_path / "out")
    assert content(tmp_path / "out", "j").count(b"\n") == 30


def test_the_lock_is_of_the_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last holder removes its file after another run has opened it: what that run then locks guards nothing."""
    root = str(tmp_path / "out")
    lock = tmp_path / "out" / "_ggfmt" / "lock"
    real = fcntl.flock
    replaced = 0

    def flock(file: IO[str], operation: int) -> None:
        nonlocal replaced
        replaced += 1
        if replaced < 3:
            lock.unlink()
        if replaced == 2:
            lock.touch()
        real(file, operation)

    first, second = OutputDirectory(Location.of(root)), OutputDirectory(Location.of(root))
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        first.acquire("one")
    assert replaced == 3
    with pytest.raises(UsageError, match="another run is writing") as caught:
        second.acquire("two")
    assert caught.value.diagnostics[0].span.file == root
    assert lock.exists(), "who was refused takes nothing away"
    first.release()
    assert not (tmp_path / "out").exists()
    second.acquire("two")
    second.release()
    assert not (tmp_path / "out").exists()


def test_a_commit_over_two_roots_is_not_ended_while_another_run_holds_the_first(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Store, "move", lambda *_: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            run_ggfmt([source], None, *_roots(tmp_path))
    other = (*PIPES, f"gg.handler.d.rootFilePath={tmp_path / 'text'}")
    with (tmp_path / "json" / "_ggfmt" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another run is writing") as caught:
            run_ggfmt([source], None, *other)
        assert caught.value.diagnostics[0].span.file == str(tmp_path / "json")
        assert (tmp_path / "json" / "_ggfmt" / "journal.json").exists()
        assert not output_files(tmp_path / "json", "j")
    with pytest.raises(UsageError, match="already holds output"):
        run_ggfmt([source], None, *other)
    assert content(tmp_path / "json", "j").count(b"\n") == content(tmp_path / "text", "d").count(b"\n") == 30


def test_files_of_tables_do_not_count_as_files_of_all_tables(source: Path, tmp_path: Path) -> None:
    """A table may be called as the files of all tables are."""
    other = write_lines(tmp_path / "other.json", [operation(0, "output")])
    run_ggfmt([other], tmp_path / "out", *JSON_LINES)
    run_ggfmt([source], tmp_path / "out", *JSON_LINES, "gg.handler.j.partitionByTable=false", mode="append")
    written = [path.relative_to(tmp_path / "out" / "j") for path in output_files(tmp_path / "out", "j")]
    stamped = "output_2015-09-18_13-39-35.447_00000.txt"
    assert written == [Path("output", stamped), Path(stamped)]


def test_an_output_that_cannot_be_written_is_a_diagnostic(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Abend, match="GG506"):
        run_ggfmt([source], tmp_path / "file" / "out")


def test_a_schema_directory_that_cannot_be_made_is_told_before_the_run(source: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "dirdef"
    blocked.write_text("a file, not a directory")
    settings = ("gg.handler.j.format=json", f"gg.handler.j.format.schemaDirectory={blocked}")
    with pytest.raises(Abend, match=r"GG506.* is not a directory"):
        run_ggfmt([source], tmp_path / "out", *settings)
    assert not (tmp_path / "out").exists()


def test_the_next_run_ends_a_commit_that_could_not_write_a_schema(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schemas may be outside of the output and fail when the run is decided: the journal keeps it whole."""
    written = tmp_path / "dirdef" / "GG.T0.schema.json"
    settings = ("gg.handler.j.format=json", f"gg.handler.j.format.schemaDirectory={written.parent}")

    def copy(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Store, "copy", copy)
        with pytest.raises(CommittedWithErrors, match="the commit was interrupted: No space left on device") as caught:
            run_ggfmt([source], tmp_path / "out", *settings)
        assert caught.value.exit_code == 5
    assert not written.exists()
    with pytest.raises(UsageError, match="GG501"):
        run_ggfmt([source], tmp_path / "out", *settings)
    assert json.loads(written.read_text())["title"] == "GG.T0"
    assert len(output_files(tmp_path / "out", "j")) == 3


def test_a_schema_whose_name_is_taken_is_found_before_the_commit(source: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "dirdef" / "GG.T0.schema.json"
    blocked.mkdir(parents=True)
    settings = ("gg.handler.j.format=json", f"gg.handler.j.format.schemaDirectory={blocked.parent}")
    with pytest.raises(Abend, match=r"GG506.* a directory has the name of an output file"):
        run_ggfmt([source], tmp_path / "out", *settings)
    assert not (tmp_path / "out").exists()


def test_a_name_that_the_locale_cannot_write_is_found_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow writes names in UTF-8, whatever the locale is, and Python would look for others."""
    plain, other = (write_lines(tmp_path / name, [operation(1, table)]) for name, table in (("a", "T"), ("b", "TÜR")))
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    run_ggfmt([plain], tmp_path / "out", *JSON_LINES)
    before = snapshot(tmp_path / "out")
    with pytest.raises(Abend, match=r"GG506.* the encoding `iso8859-1`"):
        run_ggfmt([other], tmp_path / "out", *JSON_LINES, mode="append")
    assert snapshot(tmp_path / "out") == before
    with pytest.raises(Abend, match="PYTHONUTF8=1"):
        ggfmt.consolidate(other, tmp_path / "rows", key="ID", master="none")
    assert not (tmp_path / "rows").exists()


def test_a_run_does_not_delete_what_it_reads(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES)
    before = snapshot(out)
    with pytest.raises(UsageError, match="the input is part of the output"):
        run_ggfmt([out / "j"], out, *JSON_LINES, mode="overwrite")
    link = tmp_path / "link"
    link.symlink_to(out)
    with pytest.raises(UsageError, match="the input is part of the output"):
        run_ggfmt([link / "j" / "GG.T0"], out, *JSON_LINES, mode="overwrite")
    assert snapshot(out) == before
