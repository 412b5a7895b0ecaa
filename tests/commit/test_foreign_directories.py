"""A directory with files of others is no output directory: a run stops, and mixes nothing into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import operation, snapshot, write_lines

import ggfmt
from ggfmt.cli import main

FOREIGN = ["notes.txt", "data/deep/rows.parquet", "_other", "json.bak/x", "lost+found.txt", "a/.hidden/../b"]
HARMLESS = [".gitkeep", ".DS_Store", ".trash/old.json", "lost+found/inode", "_SUCCESS", "empty/"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(number) for number in range(3)])


def put(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).mkdir() if name.endswith("/") else (root / name).write_text("of others")


def run(source: Path, command: str, out: Path, *more: str) -> int:
    told = ["--to", "json"] if command == "run" else ["--key", "ID", "--to", command]
    name = "run" if command == "run" else "consolidate"
    return main([name, str(source), *told, "-o", str(out), "--master", "none", *more])


@pytest.mark.parametrize("command", ["run", "csv", "parquet", "delta", "iceberg"])
@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_others_stop_a_run(
    source: Path, tmp_path: Path, command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    put(out, name)
    before = snapshot(out)
    for more in (["--dry-run"],) if command == "run" else ():
        assert run(source, command, out, *more) == 2
    assert run(source, command, out) == 2
    assert "error[GG501] the output directory has files of others\n  help: choose an empty" in capsys.readouterr().err
    assert snapshot(out) == before
    if command == "run":
        assert run(source, command, out, "--mode", "append") == 0
        assert {*before} < {*snapshot(out)}
        assert run(source, command, out, "--mode", "append") == 0


@pytest.mark.parametrize("command", ["run", "csv", "delta"])
def test_what_is_hidden_or_of_the_file_system_is_not_of_others(source: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    for name in HARMLESS:
        put(out, name)
    assert run(source, command, out) == 0
    assert (out / ".gitkeep").read_text() == "of others"


def test_other_outputs_and_what_a_dead_run_left_are_not_of_others(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(source, "run", out / "first") == run(source, "csv", out / "rows" / "second") == 0
    put(out, "_ggfmt/staging/2026-01-01_00-00-00.000-00000000/0000001")
    put(out, "GG.T/2026-01-01_00-00-00.000-00000000/00000-of-00001-1.parquet")  # before a lakehouse commits
    assert run(source, "run", out) == 0
    put(out, "mine.txt")
    assert run(source, "csv", out / "third") == 0
    assert run(source, "run", out, "--mode", "overwrite") == 0
    assert (out / "mine.txt").exists()


def test_a_checkpoint_is_no_directory_of_others_either(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("run", "parquet"):
        out, checkpoint = tmp_path / command, tmp_path / f"{command}.checkpoint"
        put(checkpoint, "readme")
        assert run(source, command, out, "--checkpoint", str(checkpoint)) == 2
        assert "error[GG501] the checkpoint has files of others" in capsys.readouterr().err
        (checkpoint / "readme").unlink()
        assert run(source, command, out, "--checkpoint", str(checkpoint)) == 0
        put(checkpoint, "readme")
        put(out, "readme")
        write_lines(tmp_path / "in.json", [operation(number) for number in range(3)])
        assert run(source, command, out, "--checkpoint", str(checkpoint)) == 0


def test_a_function_refuses_them_and_a_committed_output_is_one(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    put(out, "x.csv")
    with pytest.raises(ggfmt.UsageError, match=r'x.csv: error\[GG501\].*with `mode="append"`'):
        ggfmt.convert(source, to="json", output=out, master="none")
    ggfmt.convert(source, to="json", output=out, master="none", mode="append")
    ggfmt.convert(source, to="json_row", output=out, master="none")  # the directory is ggfmt's by now
    assert len({*out.iterdir()} - {out / "x.csv"}) > 3


def test_a_record_of_a_run_is_enough(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(source, "run", out) == 0
    (out / "_ggfmt/manifest.json").unlink()
    with pytest.raises(ggfmt.UsageError, match="already holds output"):
        ggfmt.convert(source, to="json", output=out, master="none")
    ggfmt.convert(source, to="json_row", output=out, master="none")
