"""Each call to the system fails once (`tests/tools/failing_calls.py`): the next run ends with the right output."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from failing_calls import with_library

pytestmark = pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="needs gcc, on Linux")

# Calls that once left an output that no run could end, ended in a traceback, or were taken for "nothing is there".
NAMED = (
    "unlink out/_ggfmt/staging/#/link",
    "readlink out/S.T#",
    "close out/_ggfmt/lock (deleted)",
    "opendir out/_ggfmt/versions/S.T#",
    "read seen/_ggfmt/inputs/#.jsonl",
    "open seen/_ggfmt/checkpoint.json",
    "readdir out/_ggfmt/runs",
)


def outcome(made: subprocess.CompletedProcess[str]) -> str:
    assert made.returncode == 0, made.stdout
    return made.stdout.splitlines()[-1]


def test_calls_that_were_taken_for_something_else(tmp_path: Path) -> None:
    arguments = ["--story", "consolidate-checkpoint", "--errors", "EIO"]
    for kind in NAMED:
        arguments += ["--kind", kind]
    made = with_library(tmp_path, arguments, stdout=subprocess.PIPE)
    cases, _, problems, *_ = outcome(made).split()
    assert int(cases) >= 2 * len(NAMED) and problems == "0"


def test_some_calls_of_each_story(tmp_path: Path) -> None:
    made = with_library(tmp_path, ["--sample", "30", "--seed", "5"], stdout=subprocess.PIPE)
    assert outcome(made).startswith("30 cases, 0 problems")


@pytest.mark.long
def test_all_kinds_of_calls(tmp_path: Path) -> None:
    made = with_library(tmp_path, [], stdout=subprocess.PIPE)
    assert " 0 problems" in outcome(made)
