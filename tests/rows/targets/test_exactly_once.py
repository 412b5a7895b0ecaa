"""A run that dies at any of its steps is ended by the next one: no operation is lost, and none counts twice."""

from __future__ import annotations

import gc
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lake_tables import READERS, Died, add_changes, change, consolidate, dies_at
from places import TESTS

from ggfmt.sinks.messages.verification import verify

FIRST = [
    change("I", 1, after={"ID": "1", "N": "a", "V": "v"}),
    change("I", 2, after={"ID": "2", "N": "b"}),
    change("I", 3, "GG.B", after={"ID": "1", "N": "x"}),
    change("U", 4, after={"ID": "9", "N": "never seen"}),
]
SECOND = [
    change("U", 5, before={"ID": "1"}, after={"ID": "1", "N": "c"}),
    change("D", 6, before={"ID": "2"}),
    change("I", 7, after={"ID": "3", "N": "d"}),
    change("I", 8, "GG.B", after={"ID": "2", "N": "y"}),
    change("I", 9, "GG.C", after={"ID": "1", "N": "z", "V": None}),
    change("U", 10, "GG.C", after={"ID": "8", "N": "never seen"}),
]
THIRD = [change("I", 11, "GG.B", after={"ID": "3", "N": "later"})]
TABLES = ("GG.A", "GG.B", "GG.C")
MAX_STEPS = 200


DECISIVE = ("put", "table", "committed", "delete _ggfmt/round.json")  # steps between which the state differs


@pytest.mark.parametrize("to", READERS)
def test_a_run_that_dies_at_a_decisive_step_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    steps = _check_steps(tmp_path, monkeypatch, to, False, "current", DECISIVE)
    assert sum(step.startswith(DECISIVE) for step in steps) == 11


@pytest.mark.long
@pytest.mark.parametrize("kind", ["current", "changes"])
@pytest.mark.parametrize("first", [True, False], ids=["first run", "later run"])
@pytest.mark.parametrize("to", READERS)
def test_a_run_that_dies_at_any_step_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, first: bool, kind: str
) -> None:
    _check_steps(tmp_path, monkeypatch, to, first, kind, ("",))


def _check_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, first: bool, kind: str, names: tuple[str, ...]
) -> list[str]:
    """Let runs die at all steps with such names, and end them; return the names of all steps."""
    settings = {"changes": kind == "changes"}
    wanted, directory, start = (tmp_path / name for name in ("wanted", "run", "start"))
    for each in (directory, wanted):
        each.mkdir()
        add_changes(each, "1", FIRST)
        if not first:
            consolidate(each, to, **settings)
        add_changes(each, "2", SECOND)
    shutil.move(directory, start)  # Iceberg's metadata has absolute paths: it always runs under the name `run`
    with dies_at(monkeypatch, MAX_STEPS) as steps:
        consolidate(wanted, to, **settings)
    assert steps.count("committed") == 3
    add_changes(wanted, "3", THIRD)
    manifest = consolidate(wanted, to, **settings)
    rows = _rows(wanted, to)
    unresolved = {name: table["unresolved"] for name, table in manifest["tables"].items()}
    for step in [number for number, name in enumerate(steps) if name.startswith(names)]:
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(start, directory)
        with dies_at(monkeypatch, step), suppress(Died):
            consolidate(directory, to, **settings)
        gc.collect()  # the system frees the locks of a dead process
        add_changes(directory, "3", THIRD)
        manifest = consolidate(directory, to, **settings)
        assert _rows(directory, to) == rows, steps[step]
        assert {name: table["unresolved"] for name, table in manifest["tables"].items()} == unresolved, steps[step]
        assert not (directory / "lake" / "_ggfmt" / "round.json").exists()
        assert consolidate(directory, to, **settings) == manifest
    return steps


def _rows(directory: Path, to: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables, without the number of the round: a run that is repeated may read more files."""
    rows = {table: READERS[to](directory, table) for table in TABLES}
    return {table: [{**row, "_round": None} for row in found] for table, found in rows.items()}


PROGRAM = """
import os, signal, sys
sys.path[:0] = [{support!r}]
import pytest
from pathlib import Path
from lake_tables import Died, consolidate, dies_at
with dies_at(pytest.MonkeyPatch(), {step}, lambda: os.kill(os.getpid(), signal.SIGKILL)):
    consolidate(Path({directory!r}), {to!r})
"""


@pytest.mark.long
@pytest.mark.parametrize("to", READERS)
def test_a_process_that_is_killed_is_followed_by_one_that_ends_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    start, directory, wanted = (tmp_path / name for name in ("start", "run", "wanted"))
    for each in (directory, wanted):
        each.mkdir()
        add_changes(each, "1", FIRST)
        consolidate(each, to)
        add_changes(each, "2", SECOND)
    shutil.move(directory, start)
    with dies_at(monkeypatch, MAX_STEPS) as steps:
        consolidate(wanted, to)
    rows = {table: READERS[to](wanted, table) for table in TABLES}
    for step in range(len(steps)):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(start, directory)
        program = PROGRAM.format(support=str(TESTS / "support"), step=step, directory=str(directory), to=to)
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        manifest = consolidate(directory, to)
        assert {table: READERS[to](directory, table) for table in TABLES} == rows, steps[step]
        assert verify(str(directory / "lake")).findings == []
        assert set(manifest["tables"]) == set(TABLES)
