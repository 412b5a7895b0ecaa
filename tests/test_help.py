"""The help of every command: how to call it comes first, and every call that it shows is one."""

from __future__ import annotations

import re
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ggfmt import __version__, kernels
from ggfmt.cli import app
from ggfmt.cli.help import calls_first, register
from ggfmt.spark import java_home as java_module
from ggfmt.spark.java_home import find_java

ROOT = Path(__file__).resolve().parents[1]
PROGRAM: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = dict(PROGRAM.commands)
GENERIC = {"changes/", "changes.json", "out", "schemas", "dirdef", "debezium.properties"}
BARE = {"formats", "docs", "doctor"}  # commands that need nothing
FILES = ("inputs", "files", "config", "definitions", "input_config", "output", "handler_files", "paths")


def help_of(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    assert result.exit_code == 0
    return [line.strip() for line in result.output.splitlines() if line.strip()]


def first_block(lines: list[str]) -> list[str]:
    """The lines after the usage that are calls."""
    block = []
    for line in lines[1:]:
        if not line.startswith("ggfmt "):
            break
        block.append(line)
    return block


CALLS = {name: first_block(help_of(*([name] if name else []))) for name in ("", *COMMANDS)}


def test_there_are_the_commands_of_the_design() -> None:
    assert set(COMMANDS) >= {"run", "schema", "formats", "options", "explain", "init", "docs", "doctor"}


@pytest.mark.parametrize("name", CALLS)
def test_a_help_starts_with_calls_and_goes_on_with_a_sentence(name: str) -> None:
    lines = help_of(*([name] if name else []))
    assert lines[0].startswith("Usage: ")
    assert CALLS[name]
    sentence = lines[1 + len(CALLS[name])]
    assert re.match(r"[A-Z][^`]+", sentence)
    boxes = [number for number, line in enumerate(lines) if line.startswith(("╭", "+-"))]
    assert boxes[0] > 1 + len(CALLS[name])


@pytest.mark.parametrize("call", [call for calls in CALLS.values() for call in calls])
def test_a_call_can_be_made_with_files_that_are_there(call: str) -> None:
    _, name, *arguments = shlex.split(call.partition(" | ")[0])
    context = COMMANDS[name].make_context(name, arguments)
    for parameter in FILES:
        given = context.params.get(parameter)
        for path in given if isinstance(given, (list, tuple)) else [given]:
            assert path is None or str(path) in GENERIC or (ROOT / str(path)).exists(), path
    assert len(call) <= 96, "it is broken over lines"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_one_sentence_for_each(name: str) -> None:
    short = COMMANDS[name].get_short_help_str(limit=200)
    assert re.fullmatch(r"[A-Z][^.]*(\.avsc[^.]*)?\.", short), short
    assert any(line.split()[1:2] == [name] for line in help_of() if line.startswith("│"))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in BARE])
def test_a_command_without_anything_shows_its_help(name: str) -> None:
    result = CliRunner().invoke(app, [name], env={"COLUMNS": "100"})
    assert CALLS[name][0] in result.output


def test_a_command_is_registered_by_its_docstring() -> None:
    small = typer.Typer(rich_markup_mode="markdown")

    def one() -> None:
        """Do something
        with care.

        `ggfmt one`

        And more of it.
        """

    register(small, one, bare=True)
    small.command()(lambda: None)
    command = small.registered_commands[0]
    assert command.short_help == "Do something with care."
    assert command.help == calls_first(["ggfmt one"], ["Do something with care.", "And more of it."])
    assert command.no_args_is_help is False


# --version


def test_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java()
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    first, python, spark, java_line, arrow, native = result.output.splitlines()
    assert first == f"ggfmt {__version__}"
    assert re.fullmatch(r"Python 3\.\d+\.\d+\S*", python)
    assert spark == f"Spark {metadata.version('pyspark')}"
    assert java_line == f"Java {java.version} in {java.home} ({java.origin})"
    assert java.version.startswith(str(java.major))
    assert arrow == f"Arrow {metadata.version('pyarrow')}"
    assert native == f"Kernels: {kernels.state}"


def test_what_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", none)
    monkeypatch.setattr(java_module, "_happens_to_be_there", lambda: iter(()))
    for name in ("GGFMT_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    lines = CliRunner().invoke(app, ["--version"]).output.splitlines()
    assert lines[2:-1] == ["Spark not installed", "Java: none found", "Arrow not installed"]
