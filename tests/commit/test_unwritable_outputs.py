"""Outputs that cannot be written: the cause is named, and the advice fits it."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import operation, write_lines

from ggfmt import cli
from ggfmt.commit.store import HashingStream
from ggfmt.location import Location, write_problem

NONE = ("--master", "none")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def told(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> list[str]:
    assert cli.main(["-q", *arguments]) == code
    *lines, page = capsys.readouterr().err.splitlines()
    assert page == "page: ggfmt docs output"
    return lines


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "in.json", [operation(number) for number in range(5000)]))


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize("below", ["", "/new/out"])
def test_an_output_that_is_a_file_or_below_one(
    below: str, more: tuple[str, ...], source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert told(capsys, 3, "run", source, "--to", "json", "-o", f"{file}{below}", *NONE, *more) == [
        f"{file}{below}: error[GG506] the output directory cannot be written: `{file}` is not a directory",
        "  help: remove the file at this path, or choose another directory",
    ]
    assert file.read_text() == "mine"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_output_on_a_read_only_disk(
    more: tuple[str, ...], disk: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert told(capsys, 3, "run", source, "--to", "json", "-o", f"{disk}/out", *NONE, *more) == [
        f"{disk}/out: error[GG506] the output directory cannot be written: `{disk}` is on a read-only file system",
        "  help: mount the file system with write access, or choose another directory",
    ]


def test_a_disk_without_room(disk: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = told(capsys, 3, "run", source, "--to", "json", "-o", f"{disk}/out", *NONE)
    assert "error[GG506] the output directory cannot be written: " in first
    assert "No space left on device" in first
    assert second == "  help: free some space, or choose another directory"
    assert list(disk.iterdir()) == []


def test_a_disk_without_room_for_operations(disk: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["mount", "-o", "remount,size=32k", str(disk)], check=True)
    first, second = told(capsys, 3, "consolidate", source, "-o", f"{disk}/out", *NONE)
    assert "error[GG506] the output directory cannot be written: " in first
    assert "No space left on device" in first
    assert second == "  help: free some space, or choose another directory"


@pytest.mark.parametrize("to", ["parquet", "orc", "csv", "json", "avro", "delta", "iceberg"])
def test_a_disk_without_room_for_rows(
    to: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_room(self: object, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(HashingStream, "write", without_room)  # after all operations are staged
    assert told(capsys, 3, "consolidate", source, "--to", to, "-o", f"{tmp_path}/out", *NONE) == [
        f"{tmp_path}/out: error[GG506] the output directory cannot be written: No space left on device",
        "  help: free some space, or choose another directory",
    ]


def test_a_directory_of_another_user(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert told(capsys, 3, "run", source, "--to", "json", "-o", f"{tmp_path}/out", *NONE) == [
        f"{tmp_path}/out: error[GG506] the output directory cannot be written: `{tmp_path}` is not writable",
        "  help: grant this user write access, or choose another directory",
    ]


def test_a_schema_directory_elsewhere_has_its_own_advice(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    settings = ("--set", "gg.handler.j.format=json", "--set", f"gg.handler.j.format.schemaDirectory={file}")
    assert told(capsys, 3, "run", source, *settings, "-o", f"{tmp_path}/out", *NONE) == [
        f"{file}: error[GG506] the schema directory of handler `j` cannot be written: `{file}` is not a directory",
        "  help: remove the file at this path, or set another `schemaDirectory` or `schemaFilePath`",
    ]


def test_a_consolidation_has_the_same_advice(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    shown = told(capsys, 3, "consolidate", source, "-o", str(file), *NONE)
    assert shown[1] == "  help: remove the file at this path, or choose another directory"


def test_what_can_be_written_is_not_refused(tmp_path: Path) -> None:
    assert write_problem(Location.of(str(tmp_path))) is None
    assert write_problem(Location.of(str(tmp_path / "new" / "one"))) is None
    problem = write_problem(Location.of("/proc/1/x")) if os.geteuid() else None
    assert problem is None or problem.errno in (errno.EACCES, errno.EROFS)
