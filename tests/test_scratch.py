"""The temporary directory: what a killed driver leaves there goes with the next run, and nothing else does."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from places import ROOT

from ggfmt.scratch import Scratch, remove_abandoned

_LEAVE = """
import os, signal
from ggfmt.scratch import Scratch
left = Scratch(logs=True)
(left.directory / "spark-1").mkdir()
(left.directory / "link").symlink_to(os.environ["PRECIOUS"])
left.log.write_text("what Spark said")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    directory = tmp_path / "precious"
    directory.mkdir()
    (directory / "owner").write_text("")
    (directory / "log").write_text("ggfmt-spark-aaaaaaaa.log")
    return directory


def killed(temporary: Path, precious: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary), "PRECIOUS": str(precious), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", _LEAVE], env=environment, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL


def test_what_a_killed_driver_left_is_removed_and_nothing_of_others(temporary: Path, precious: Path) -> None:
    killed(temporary, precious)
    assert len(os.listdir(temporary)) == 2
    living = Scratch(logs=True)
    assert living.log is not None
    living.log.write_text("still being written")
    kept = temporary / "ggfmt-spark-failedxx.log"
    kept.write_text("of a session that failed: its user was told to look here")
    (temporary / "ggfmt-notours_").mkdir(mode=0o700)
    (temporary / "ggfmt-planted1").symlink_to(precious)
    (temporary / "ggfmt-open1234").mkdir(mode=0o777)
    (temporary / "ggfmt-open1234" / "owner").touch()
    (temporary / "ggfmt-report").mkdir(mode=0o700)
    remove_abandoned()
    assert sorted(os.listdir(temporary)) == sorted(
        [
            living.directory.name,
            living.log.name,
            kept.name,
            "ggfmt-notours_",
            "ggfmt-planted1",
            "ggfmt-open1234",
            "ggfmt-report",
        ]
    )
    assert sorted(os.listdir(precious)) == ["log", "owner"]
    living.remove()
    assert not living.directory.exists() and living.log.exists()


def test_what_another_user_left_stays(temporary: Path, precious: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(temporary, precious)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_abandoned()
    assert len(os.listdir(temporary)) == 2


def test_a_log_is_removed_only_by_its_own_name(temporary: Path, precious: Path) -> None:
    """The scratch directory says which log it is; no other user can write there, and a strange name is no log's."""
    killed(temporary, precious)
    (directory,) = [path for path in temporary.iterdir() if path.is_dir()]
    (directory / "log").write_text("../precious/owner")
    remove_abandoned()
    assert not directory.exists()
    assert (precious / "owner").exists()


def test_a_file_system_without_locks_does_not_stop_a_session(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def flock(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    scratch = Scratch(logs=True)
    remove_abandoned()
    assert scratch.directory.exists() and scratch.log is not None
    scratch.remove()
    assert os.listdir(temporary) == [scratch.log.name]


def test_a_directory_without_a_log_is_removed_with_its_owner_or_after_it(temporary: Path, precious: Path) -> None:
    with Scratch() as directory:
        (directory / "file").write_text("x")
        remove_abandoned()
        assert os.listdir(directory)
        assert os.listdir(temporary) == [directory.name]
    assert os.listdir(temporary) == []
    environment = {**os.environ, "TMPDIR": str(temporary), "PRECIOUS": str(precious), "PYTHONPATH": str(ROOT)}
    leave = _LEAVE.replace("logs=True", "").replace("left.log", "# ")
    ended = subprocess.run([sys.executable, "-c", leave], env=environment, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert len(os.listdir(temporary)) == 1
    remove_abandoned()
    assert os.listdir(temporary) == []
