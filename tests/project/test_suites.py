"""The suites of the tests: what starts processes is found, and cannot be started where nothing may."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import affected
import command_line
import progress
import pytest
import suites
from offenders import check_each
from places import TESTS

MAX_NAME = 80
MACHINE, SCRATCH = "tests/test_machine.py", "tests/test_scratch.py"


@pytest.mark.parametrize(
    "start",
    [
        os.fork,
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    ],
    ids=["fork", "spawn", "connect"],
)
def test_a_quick_test_cannot_start_anything(
    start: Callable[[], Any], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytestconfig.pluginmanager.get_plugin("guard"), "has_started", False)
    with pytest.raises(pytest.fail.Exception, match="a test of the suite `unit` may not start anything"):
        start()


def through_a_module() -> None:
    command_line.loaded([])


class ThroughAFunction:
    def inner(self) -> Callable[[], None]:
        return lambda: through_a_module()


def through_a_class() -> None:
    ThroughAFunction()


def test_what_starts_processes_is_found_through_all_that_is_called() -> None:
    assert suites.starts(command_line.loaded)
    assert suites.starts(through_a_module)
    assert suites.starts(through_a_class)
    assert not suites.starts(command_line.call)
    assert not suites.starts(test_a_quick_test_cannot_start_anything)


def test_the_slow_tests_are_there() -> None:
    for name in suites.SLOW:
        module, _, function = name.partition("::")
        assert f"def {function}" in (TESTS / module).read_text(encoding="utf-8"), name


def test_names_of_tests_are_short() -> None:
    names = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert [name for name in sorted(names) if len(name) > MAX_NAME] == []


# The tests of a change


def test_lines_of_a_change_are_those_that_it_replaces_or_stands_between() -> None:
    assert affected.old_lines("@@ -3 +3 @@ def f\n-a\n+b\n@@ -7,2 +7,0 @@\n-c\n-d\n@@ -20,0 +19,2 @@\n+e\n+f\n") == {
        *(3,),
        *(7, 8),
        *(20, 21),
    }


def test_changed_tests_run_whole_and_so_do_those_beside_what_is_not_recorded() -> None:
    recorded: Any = SimpleNamespace(modules=["ggfmt/machine.py"])
    assert affected.whole_modules([MACHINE, "tests/gone/test_x.py"], recorded) == {MACHINE}
    assert affected.whole_modules(["ggfmt/machine.py", "README.md"], recorded) == set()
    assert "tests/test_machine.py" in affected.whole_modules(["ggfmt/machine.py"], None)
    assert "tests/kernels/test_kernels.py" in affected.whole_modules(["ggfmt/kernels/avro.c"], recorded)
    assert "tests/project/test_suites.py" in affected.whole_modules(["tests/support/suites.py"], recorded)


def test_tests_of_changed_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the tests have changed since they were recorded: then their module runs whole."""
    texts = {
        "diff --name-only --relative HEAD": "ggfmt/machine.py\n",
        "diff --name-only --relative old": f"{SCRATCH}\n",
    }
    texts["diff -U0 old -- ggfmt/machine.py"] = "@@ -5 +5 @@\n"
    monkeypatch.setattr(affected, "git", lambda *words: texts.get(" ".join(words), ""))
    lines = {5: {f"{MACHINE}::x", f"{SCRATCH}::y"}, 6: {f"{MACHINE}::z"}}
    recorded = SimpleNamespace(
        modules=["ggfmt/machine.py"],
        commit="old",
        executing_lines=lambda module, own: set().union(*(lines[line] for line in own)),
        spread=lambda tests, seconds: sorted(tests),
    )
    (tmp_path / "commit").touch()
    monkeypatch.setattr(affected, "RECORD", tmp_path)
    monkeypatch.setattr(affected, "Record", lambda directory: recorded)
    assert affected.tests_of_change("HEAD", 30.0) == [SCRATCH, f"{MACHINE}::x"]
    (tmp_path / "commit").unlink()
    assert MACHINE in affected.tests_of_change("HEAD", 30.0)


# What a run shows


class Shown:
    """A terminal, or a file, that keeps what is written to it."""

    def __init__(self, isatty: bool) -> None:
        self.isatty = isatty
        self.lines: list[str] = []

    def write_line(self, line: str, **markup: bool) -> None:
        self.lines.append(line)

    def rewrite(self, line: str, **markup: bool) -> None:
        self.lines.append(f"\r{line}")

    def flush(self) -> None: ...

    def ensure_newline(self) -> None: ...


@pytest.mark.parametrize("in_place", [False, True])
def test_a_failure_is_shown_at_once_and_tests_that_pass_in_a_line_now_and_then(in_place: bool) -> None:
    terminal: Any = Shown(in_place)
    session: Any = SimpleNamespace(testscollected=2000)
    shown = progress.Progress(terminal, session)
    passed: Any = SimpleNamespace(nodeid="a::x", failed=False, when="call")
    failed: Any = SimpleNamespace(nodeid="a::y", failed=True, when="setup", longreprtext="E   3 != 4\n\na.py:7")
    shown.pytest_runtest_logreport(passed)
    assert terminal.lines == []
    shown.pytest_runtest_logreport(failed)
    lines = [line for line in terminal.lines if line != "\r"]
    assert lines[:2] == ["failed: a::y (setup)", "E   3 != 4\n\na.py:7"]
    assert lines[2:] == [("\r" if in_place else "") + "2 of 2,000 tests, 1 failed, 0 s"]


def test_one_test_lists_all_cases_that_fail() -> None:
    def check(number: int) -> None:
        assert number % 2, "even"

    check_each([1, 3], check)
    with pytest.raises(AssertionError, match=r"(?s)^2: .*even.*\n4: .*even") as failed:
        check_each([1, 2, 3, 4], check)
    assert "3: " not in str(failed.value)
    with pytest.raises(AssertionError, match="no cases"):
        check_each([], check)
