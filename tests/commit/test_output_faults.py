"""What people and file systems do to an output directory, before, between and after runs: nothing is silently lost."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest
from interrupted_commits import dies_in_commit
from runs import JSON_LINES, PIPES, content, manifest, operation, output_files, run_ggfmt, snapshot, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.commit.commit import Participant
from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, ConfigurationError, UsageError
from ggfmt.location import Location
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.verification import verify

OLDER, NEWER = datetime(2015, 1, 1), datetime(2016, 1, 1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}") for n in range(30)])


def die_in_commit(monkeypatch: pytest.MonkeyPatch, source: Path, out: Path | None, *settings: str, moves: int) -> None:
    """A run that ends after so many moves."""
    with dies_in_commit(monkeypatch, moves):
        run_ggfmt([source], out, *settings, mode="append", current_timestamp=NEWER)


def staged_files(out: Path) -> list[Path]:
    """Those of messages, in order."""
    return sorted(path for path in (out / "_ggfmt" / "staging").glob("*/*-j/*") if path.is_file())


@pytest.mark.parametrize("suffix", [".txt", "." + "x" * 63])
def test_a_name_that_escapes_make_too_long_is_cut_and_blocks_nothing(source: Path, tmp_path: Path, suffix: str) -> None:
    """Each `/` becomes three characters: 88 are more than a file name may have."""
    out = tmp_path / "out"
    run_ggfmt([source], out)
    long = [f"GG.{'/' * 85}{end}" for end in "ab"]
    hostile = write_lines(tmp_path / "long.json", [operation(n, table) for n, table in enumerate(long)])
    for mode in ("append", "overwrite", "overwrite"):
        settings = (*JSON_LINES, f"gg.handler.j.fileSuffix={suffix}")
        result = run_ggfmt([hostile], out, *settings, mode=mode, quarantine=True)
        assert result.totals.rejects == 0
    names = {path.parent.name for path in output_files(out, "j")}
    assert len(names) == 2, "tables are told apart by the whole name"
    assert all(len(path.name.encode()) <= 255 for path in out.rglob("*"))
    assert [entry["table"] for entry in manifest(out)["files"] if entry["handler"] == "j"] == long


@pytest.mark.parametrize("suffix", ["." + "x" * 64, "a/b", "../x"])
def test_a_suffix_that_makes_no_file_name_is_an_error_of_the_configuration(suffix: str) -> None:
    with pytest.raises(ConfigurationError, match=r"GG149.*fileSuffix"):
        read_configuration([], [*JSON_LINES, f"gg.handler.j.fileSuffix={suffix}"])


def test_a_staged_file_that_is_gone_before_the_commit_commits_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out, current_timestamp=OLDER)
    before = snapshot(out)
    real = Participant.stage

    def stage(output: Participant, documents: object) -> object:
        staged_files(out)[0].unlink()
        return real(output, documents)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Participant, "stage", stage)
        with pytest.raises(Abend, match=r"GG509.* is missing") as caught:
            run_ggfmt([source], out, mode="overwrite")
    assert "_ggfmt/staging" in str(caught.value)
    assert snapshot(out) == before


@pytest.mark.parametrize("what", ["gone", "cut"])
def test_a_staged_file_that_is_gone_after_the_decision_is_named_and_not_passed_over(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    out = tmp_path / "out"
    die_in_commit(monkeypatch, source, out, *JSON_LINES, moves=1)
    staged = staged_files(out)[-1]
    kept = staged.read_bytes()
    if what == "gone":
        staged.unlink()
    else:
        staged.write_bytes(kept[:-1])
    for _ in range(2):
        with pytest.raises(Abend, match="GG509") as caught:
            run_ggfmt([source], out, *JSON_LINES, mode="append")
        assert staged.name in str(caught.value)
        assert not (out / "_SUCCESS").exists()
    staged.write_bytes(kept)
    run_ggfmt([source], out, *JSON_LINES, mode="append", current_timestamp=OLDER)
    assert content(out, "j").count(b"\n") == 60


@pytest.mark.parametrize("moves", [0, 2])
def test_a_directory_that_is_moved_in_the_middle_of_a_commit_is_whole_where_it_is(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run_ggfmt([source], one, *JSON_LINES, current_timestamp=OLDER)
    die_in_commit(monkeypatch, source, one, *JSON_LINES, moves=moves)
    one.rename(two)
    run_ggfmt([source], two, *JSON_LINES, mode="append", current_timestamp=datetime(2017, 1, 1))
    assert content(two, "j").count(b"\n") == 90
    assert not one.exists()
    assert "_ggfmt/staging" not in " ".join(snapshot(two))


def two_roots(tmp_path: Path) -> tuple[str, ...]:
    roots = (f"gg.handler.j.rootFilePath={tmp_path / 'json'}", f"gg.handler.d.rootFilePath={tmp_path / 'text'}")
    return (*JSON_LINES, *PIPES, *roots, "gg.handlerlist=j,d")


@pytest.mark.parametrize("moves", [0, 4])
def test_the_second_directory_may_be_moved_too(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    die_in_commit(monkeypatch, source, None, *two_roots(tmp_path), moves=moves)
    (tmp_path / "text").rename(tmp_path / "other")
    run_ggfmt([source], tmp_path / "other", *PIPES, mode="append")
    assert content(tmp_path / "other", "d").count(b"\n") == 60
    assert content(tmp_path / "json", "j").count(b"\n") == 30
    assert not (tmp_path / "text").exists()


@pytest.mark.parametrize("again", [False, True])
def test_a_pointer_to_a_directory_that_is_gone_is_never_dropped_in_silence(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """The first directory has the journal; it is moved away, and perhaps another output is made in its place."""
    die_in_commit(monkeypatch, source, None, *two_roots(tmp_path), moves=4)
    (tmp_path / "json").rename(tmp_path / "moved")
    if again:
        run_ggfmt([source], tmp_path / "json", *JSON_LINES)
    before = snapshot(tmp_path)
    for settings in (two_roots(tmp_path), (*PIPES, f"gg.handler.d.rootFilePath={tmp_path / 'text'}")):
        with pytest.raises(Abend, match=r"GG509.* may have been committed") as caught:
            run_ggfmt([source], None, *settings, mode="append")
        assert str(tmp_path / "json") in str(caught.value)
    assert snapshot(tmp_path) == before
    if again:
        shutil.rmtree(tmp_path / "json")
    (tmp_path / "moved").rename(tmp_path / "json")
    run_ggfmt([source], None, *two_roots(tmp_path), mode="append", current_timestamp=OLDER)
    assert content(tmp_path / "json", "j").count(b"\n") == content(tmp_path / "text", "d").count(b"\n") == 60


def test_the_run_that_ends_a_commit_says_so(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    die_in_commit(monkeypatch, source, tmp_path / "out", moves=1)
    with caplog.at_level("WARNING", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", mode="append", current_timestamp=OLDER)
    (said,) = (record.getMessage() for record in caplog.records if "interrupted commit" in record.getMessage())
    assert "2016-01-01_00-00-00.000-" in said


def test_a_journal_of_somebody_else_does_not_write_anywhere(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who may write to the output could get a file written where only the user of the run may write."""
    out, home = tmp_path / "out", tmp_path / "home"
    settings = ("gg.handler.j.format=json", f"gg.handler.j.format.schemaDirectory={home}")
    die_in_commit(monkeypatch, source, out, *settings, moves=1)
    own = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: own + 1)
        if own == 0:
            os.chown(out / "_ggfmt" / "journal.json", 4711, -1)
        with pytest.raises(Abend, match=r"GG509.*belongs to another user") as caught:
            run_ggfmt([source], out, *settings, mode="append")
    assert str(home) in str(caught.value)
    assert not list(home.iterdir())
    os.chown(out / "_ggfmt" / "journal.json", own, -1)
    run_ggfmt([source], out, *settings, mode="append")
    assert len(list(home.iterdir())) == 3


@pytest.mark.parametrize("name", ["../precious", "/etc/precious", "j/../../precious", "", "j//x", "."])
def test_names_of_a_journal_that_leave_their_place_are_refused(source: Path, tmp_path: Path, name: str) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_ggfmt([source], out, *JSON_LINES)
    precious.write_text("mine")
    whole = {"version": 2, "run": "r", "places": [], "others": 0, "outputs": [0], "moves": [], "deletes": []}
    move = [0, "_ggfmt/staging/r/a", 0, "j/a", 1, ""]
    for hostile in (
        {"deletes": [[0, name]]},
        {"moves": [[0, name, *move[2:]]]},
        {"moves": [[*move[:3], name, *move[4:]]]},
        {"run": name},
        {"deletes": [[7, "j/a"]]},
        {"moves": [[7, *move[1:]]]},
        {"outputs": [7]},
        {"others": 7},
        {"moves": [[0]]},
        {"places": None},
    ):
        (out / "_ggfmt" / "journal.json").write_text(json.dumps({**whole, **hostile}))
        with pytest.raises(Abend, match=r"GG509.*damaged"):
            run_ggfmt([source], out, *JSON_LINES, mode="append")
    assert precious.read_text() == "mine"


def test_a_commit_is_not_ended_through_a_link(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    die_in_commit(monkeypatch, source, out, *JSON_LINES, moves=0)
    shutil.rmtree(out / "j")
    elsewhere.mkdir()
    (out / "j").symlink_to(elsewhere)
    with pytest.raises(Abend, match=r"GG509.*symbolic link"):
        run_ggfmt([source], out, *JSON_LINES, mode="append")
    assert not list(elsewhere.iterdir())
    (out / "j").unlink()
    run_ggfmt([source], out, *JSON_LINES, mode="append", current_timestamp=OLDER)
    assert content(out, "j").count(b"\n") == 60


def test_overwrite_follows_no_link_and_says_so(source: Path, tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_ggfmt([source], out, *JSON_LINES)
    precious.mkdir()
    (precious / "mine").write_text("mine")
    (out / "j" / "GG.T0" / "link").symlink_to(precious)
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match=r"GG501.*symbolic link"):
        run_ggfmt([source], out, *JSON_LINES, mode="overwrite")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("place", ["j", "j/GG.T0"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_nothing_is_written_or_deleted_through_a_link(source: Path, tmp_path: Path, place: str, mode: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    run_ggfmt([source], out, *JSON_LINES, current_timestamp=OLDER)
    (out / place).rename(elsewhere)
    (out / place).symlink_to(elsewhere)
    before = snapshot(tmp_path)
    with pytest.raises((UsageError, Abend), match="symbolic link"):
        run_ggfmt([source], out, *JSON_LINES, mode=mode)
    assert snapshot(tmp_path) == before


def test_the_directories_that_a_user_names_may_be_links(source: Path, tmp_path: Path) -> None:
    for name in ("real", "schemas"):
        (tmp_path / name).mkdir()
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
    settings = (
        *JSON_LINES[:2],
        "gg.handler.j.format.schemaDirectory=.",
        f"gg.handler.j.schemaFilePath={tmp_path / 'link-schemas'}",
    )
    for mode in ("error", "overwrite"):
        run_ggfmt([source], tmp_path / "link-real", *settings, mode=mode)
    assert content(tmp_path / "real", "j").count(b"\n") == 30
    for name in ("real", "schemas"):
        assert len(list((tmp_path / name).glob("*.schema.json"))) == 3
    assert verify(str(tmp_path / "link-real")).findings == []


def test_overwrite_leaves_an_output_alone_that_lies_within(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    inner = out / "j" / "inner"
    run_ggfmt([source], out, *JSON_LINES, current_timestamp=OLDER)
    run_ggfmt([source], inner, *PIPES)
    before = snapshot(inner)
    run_ggfmt([source], out, *JSON_LINES, mode="overwrite", current_timestamp=NEWER)
    assert snapshot(inner) == before
    assert sum(path.read_bytes().count(b"\n") for path in out.glob("j/GG.*/*")) == 30


def test_overwrite_after_appends_knows_all_files(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out, current_timestamp=OLDER)
    for year in range(2016, 2019):
        run_ggfmt([source], out, mode="append", current_timestamp=datetime(year, 1, 1))
    text = snapshot(out / "d")
    run_ggfmt([source], out, *JSON_LINES, mode="overwrite")
    assert content(out, "j").count(b"\n") == 30
    assert snapshot(out / "d") == text
    kept = sorted((out / "_ggfmt" / "runs").iterdir())
    assert len(kept) == 5, "of the runs before, what they wrote as text is still there"
    assert json.loads(kept[0].read_text())["replaced"] == ["j"]
    run_ggfmt([source], out, mode="overwrite")
    assert len(list((out / "_ggfmt" / "runs").iterdir())) == 1
    assert content(out, "d").count(b"\n") == 30


def test_overwrite_refuses_a_file_that_no_manifest_lists(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES)
    foreign = out / "j" / "GG.T1" / "foreign"
    foreign.write_text("mine")
    before = snapshot(out)
    with pytest.raises(UsageError, match=r"GG501.*no manifest of ggfmt lists") as caught:
        run_ggfmt([source], out, *JSON_LINES, mode="overwrite")
    assert caught.value.diagnostics[0].span.file == str(foreign)
    assert snapshot(out) == before


def test_overwrite_deletes_nothing_that_a_hostile_manifest_names(source: Path, tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_ggfmt([source], out, *JSON_LINES)
    precious.write_text("mine")
    for path in (out / "_ggfmt").rglob("*.json"):
        document = json.loads(path.read_text())
        document["files"] += [
            {"handler": "j", "path": name} for name in ("../precious", str(precious), "j/../../precious")
        ]
        path.write_text(json.dumps(document))
    run_ggfmt([source], out, *JSON_LINES, mode="overwrite")
    assert precious.read_text() == "mine"


def test_the_output_of_an_earlier_ggfmt_is_known_as_far_as_its_manifest_goes(source: Path, tmp_path: Path) -> None:
    """It had a manifest of the latest run and no records."""
    out = tmp_path / "out"
    run_ggfmt([source], out, current_timestamp=OLDER)
    shutil.rmtree(out / "_ggfmt" / "runs")
    run_ggfmt([source], out, *JSON_LINES, mode="append")
    assert len(list((out / "_ggfmt" / "runs").iterdir())) == 2
    run_ggfmt([source], out, mode="overwrite", current_timestamp=NEWER)
    assert content(out, "j").count(b"\n") == content(out, "d").count(b"\n") == 30
    assert len(list((out / "_ggfmt" / "runs").iterdir())) == 1


@pytest.mark.parametrize("name", ["journal.json", "pointer.json"])
@pytest.mark.parametrize("text", ["", '{"run": "x', "[]", "null"])
def test_a_damaged_document_of_a_commit_is_refused_with_what_to_do(
    source: Path, tmp_path: Path, name: str, text: str
) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    (out / "_ggfmt" / name).write_text(text)
    before = snapshot(out)
    with pytest.raises(Abend, match="GG509") as caught:
        run_ggfmt([source], out, mode="append")
    assert "remove this file" in (caught.value.diagnostics[0].help or "")
    assert snapshot(out) == before


def test_a_journal_of_another_version_is_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    (out / "_ggfmt" / "journal.json").write_text(json.dumps({"run": "r", "roots": [str(out)], "moves": []}))
    with pytest.raises(Abend, match=r"GG509.*another version"):
        run_ggfmt([source], out, mode="append")


@pytest.mark.parametrize("name", ["manifest.json", "runs/x.json"])
def test_a_damaged_manifest_is_an_error_with_a_place(source: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out)
    for text in ("", '{"files": [1]}', '{"files": 1}'):
        (out / "_ggfmt" / name).write_text(text)
        with pytest.raises(Abend, match=r"GG509.*(empty|damaged)"):
            run_ggfmt([source], out, mode="overwrite")


@pytest.mark.parametrize("victim", ["_ggfmt/lock", "_ggfmt", ""])
def test_a_lock_or_an_output_that_is_removed_during_a_run_commits_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    out = tmp_path / "out"
    real = Participant.stage

    def stage(output: Participant, documents: object) -> object:
        path = out / victim
        if path.is_file():
            path.unlink()
        elif (out / "_ggfmt" / "lock").exists():
            shutil.rmtree(path)
        return real(output, documents)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Participant, "stage", stage)
        with pytest.raises(Abend, match=r"GG506.*no longer holds"):
            run_ggfmt([source], out, *JSON_LINES)
    assert not output_files(out, "j")
    assert not (out / "_SUCCESS").exists()
    run_ggfmt([source], out, *JSON_LINES)
    assert content(out, "j").count(b"\n") == 30


def test_a_full_disk_in_a_join_is_an_error_of_one_line(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("ggfmt.sinks.messages.execution.join_group", full)
    with pytest.raises(Abend, match=r"GG506.*No space left on device"):
        run_ggfmt([source], tmp_path / "out", split_size=500)
    assert not (tmp_path / "out").exists()


def test_a_report_that_cannot_be_written_at_the_end_says_that_the_run_is_committed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings, **checks: InProcess())
    reports = tmp_path / "reports"
    reports.mkdir()
    real = Participant.stage

    def stage(output: Participant, documents: object) -> object:
        shutil.rmtree(reports, ignore_errors=True)
        return real(output, documents)  # type: ignore[arg-type]

    monkeypatch.setattr(Participant, "stage", stage)
    command = ["run", str(source), "-o", str(tmp_path / "out"), "--report", str(reports / "r.json")]
    command += [argument for setting in JSON_LINES for argument in ("--set", setting)]
    ended = CliRunner().invoke(app, command)
    assert isinstance(ended.exception, CommittedWithErrors)
    assert "the run is committed, but its report cannot be written: No such file" in str(ended.exception)
    assert content(tmp_path / "out", "j").count(b"\n") == 30


def test_tables_that_differ_in_case_only_have_names_that_no_disk_takes_for_one(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, ("GG.T", "GG.t")[n % 2]) for n in range(10)])
    run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    names = [str(path.relative_to(tmp_path)).casefold() for path in output_files(tmp_path / "out", "j")]
    assert len(set(names)) == 2
    assert {path.parent.name for path in output_files(tmp_path / "out", "j")} == {"GG.T", "GG.t"}


def test_a_file_that_is_in_the_way_of_a_message_is_not_replaced(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process puts it there while the run is at work."""
    out = tmp_path / "out"
    foreign = out / "j" / "GG.T0" / "GG.T0_2015-09-18_13-39-35.447_00000.txt"
    real = Participant.stage

    def stage(output: Participant, documents: object) -> object:
        foreign.parent.mkdir(parents=True, exist_ok=True)
        foreign.write_text("mine")
        return real(output, documents)  # type: ignore[arg-type]

    monkeypatch.setattr(Participant, "stage", stage)
    with pytest.raises(Abend, match=r"GG506.*a file of this name exists") as caught:
        run_ggfmt([source], out, *JSON_LINES)
    assert caught.value.diagnostics[0].span.file == str(foreign)
    assert snapshot(out) == {str(foreign.relative_to(out)): hashlib.sha256(b"mine").hexdigest()}


def test_relative_schema_directories_lie_below_the_output(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_ggfmt([source], tmp_path / "out", "gg.handler.j.format=json", "gg.handler.j.schemaFilePath=a/b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out"]
    for directory in ("dirdef", "a/b"):
        assert len(list((tmp_path / "out" / directory).glob("GG.T*.schema.json"))) == 3
    for hostile in ("..", "../out2", "_ggfmt", "a/../.."):
        with pytest.raises(ConfigurationError, match=r"GG103.*not within the output directory"):
            run_ggfmt([source], tmp_path / "two", "gg.handler.j.format=json", f"gg.handler.j.schemaFilePath={hostile}")


def test_parts_are_numbered_with_as_many_digits_as_the_last_one_needs(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggfmt.sinks.messages.publish.MIN_DIGITS", 1)
    many = write_lines(tmp_path / "many.json", [operation(n) for n in range(12)])
    run_ggfmt([many], tmp_path / "out", *JSON_LINES, "gg.handler.j.maxFileSize=1")
    assert [path.name[-6:-4] for path in output_files(tmp_path / "out", "j")] == [f"{n:02}" for n in range(12)]
    in_order = [json.loads(path.read_text())["pos"] for path in output_files(tmp_path / "out", "j")]
    assert in_order == sorted(in_order)


def test_times_in_names_are_utc_and_never_before_those_that_are_there(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES, current_timestamp=datetime(2999, 1, 1))
    for _ in range(2):
        run_ggfmt([source], out, *JSON_LINES, mode="append", current_timestamp=None)
    times = [path.name.split("_", 1)[1][:23] for path in output_files(out, "j") if path.parent.name == "GG.T0"]
    assert times == ["2999-01-01_00-00-00.000", "2999-01-01_00-00-00.001", "2999-01-01_00-00-00.002"]
    fresh = tmp_path / "fresh"
    run_ggfmt([source], fresh, *JSON_LINES, current_timestamp=None)
    (name, *_) = (path.name for path in output_files(fresh, "j"))
    told = datetime.strptime(name.split("_", 1)[1][:23], "%Y-%m-%d_%H-%M-%S.%f")
    assert abs((datetime.utcnow() - told).total_seconds()) < 60


@pytest.mark.parametrize(
    ("place", "written", "known"),
    [
        ("s3://KEY:SECRET@bucket/a?region=x", "s3://bucket/a?region=x", "s3a://KEY:SECRET@bucket/b"),
        ("s3://KEY:SEC/RET@bucket/a", "s3://bucket/a", "s3://KEY:SEC/RET@bucket/b?region=x"),
        ("abfss://container:SECRET@host/a", "abfss://container@host/a", "abfss://container:SECRET@host/b"),
        ("abfss://container@host/a", "abfss://container@host/a", "abfss://other:SECRET@host/b"),
        ("/data/out", "/data/out", "s3://KEY:SECRET@bucket/b"),
    ],
)
def test_credentials_are_not_written_down_and_come_from_the_run_that_ends_the_commit(
    place: str, written: str, known: str
) -> None:
    assert Location.of(place).recorded == written
    others = map(Location.of, ("s3://OTHER:KEY@elsewhere/a", "/local", known))
    assert Location.of_record(written, list(others)).address == place


def test_a_worker_that_outlives_a_killed_driver_does_not_stop_the_next_run(source: Path, tmp_path: Path) -> None:
    staging = tmp_path / "out" / "_ggfmt" / "staging" / "2020-01-01_00-00-00.000-dead"
    staging.mkdir(parents=True)
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            with suppress(OSError):
                staging.mkdir(parents=True, exist_ok=True)
                for number in range(40):
                    (staging / f"{number}").write_bytes(b"")

    worker = threading.Thread(target=write)
    worker.start()
    try:
        for number in range(5):
            run_ggfmt([source], tmp_path / "out", mode="append", current_timestamp=datetime(2021, 1, 1 + number))
    finally:
        ended.set()
        worker.join()
    assert len(list((tmp_path / "out" / "_ggfmt" / "runs").iterdir())) == 5
    run_ggfmt([source], tmp_path / "out", mode="append", current_timestamp=datetime(2021, 2, 1))
    assert not staging.exists()
