"""The help of every command: how to call it comes first, and every call that it shows is one."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from runs import operation, write_lines
from terminal import ESCAPE, on_terminal
from typer.testing import CliRunner

import ggfmt
from ggfmt import __version__, kernels, logs
from ggfmt.cli import app, main
from ggfmt.cli.typer_commands import _MEANT, register, usage_first
from ggfmt.reading.runner import InProcess
from ggfmt.spark import installations as java_module
from ggfmt.spark.installations import find_java

PROGRAM: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = dict(PROGRAM.commands)
HANDLER_FILES = {"json.properties", "avro.properties", "debezium.properties"}
GENERIC = {"changes/", "changes.json", "out", "schemas", "dirdef", ".", "samples", "/tmp/samples", *HANDLER_FILES}
GENERIC |= {"kafka://broker:9092", "postgresql://USER@HOST/DATABASE"}
BARE = {"formats", "docs", "doctor", "lsp", "samples"}  # commands that need nothing
FILES = ("inputs", "files", "config", "definitions", "input_config", "output", "handler_files", "paths")


@cache
def help_of(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"})
    assert result.exit_code == 0
    return [line.strip() for line in result.output.splitlines() if line.strip()]


def calls_of(name: str) -> list[str]:
    """The lines after the usage that are calls. Tests ask for them: what is made at the import, each process makes."""
    block = []
    for line in help_of(*filter(None, [name]))[1:]:
        if not line.startswith("ggfmt "):
            break
        block.append(line)
    return block


def test_there_are_the_commands_of_the_design() -> None:
    assert set(COMMANDS) >= {"run", "schema", "formats", "options", "explain", "init", "docs", "doctor"}


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_a_help_starts_with_calls_and_goes_on_with_a_sentence(name: str) -> None:
    lines = help_of(*filter(None, [name]))
    assert lines[0].startswith("Usage: ")
    assert calls_of(name)
    sentence = lines[1 + len(calls_of(name))]
    assert re.match(r"[A-Z][^`]+", sentence)
    boxes = [number for number, line in enumerate(lines) if line.startswith(("╭", "+-"))]
    assert boxes[0] > 1 + len(calls_of(name))


@pytest.mark.parametrize("shown", ["", *COMMANDS])
def test_a_call_can_be_made_with_what_an_installed_ggfmt_has(shown: str) -> None:
    for call in calls_of(shown):
        _, name, *arguments = shlex.split(call.partition(" | ")[0])
        context = COMMANDS[name].make_context(name, arguments)
        for parameter in FILES:
            given = context.params.get(parameter)
            for path in given if isinstance(given, (list, tuple)) else [given]:
                assert path is None or str(path) in GENERIC, path
        assert len(call) <= 96, "it is broken over lines"


def test_the_calls_of_a_help_can_be_made_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings, **checks: InProcess())
    (tmp_path / "changes").mkdir()
    for place in ("changes.json", "changes/part.json"):
        write_lines(tmp_path / place, [operation(number, "GG.ORDERS") for number in range(3)])
    for name in ("run", "preview", "schema", "validate-config", "samples"):
        for call in calls_of(name):
            arguments = shlex.split(call.partition(" | ")[0].replace("/tmp/", f"{tmp_path}/tmp/"))[1:]
            if arguments[0] == "run":
                shutil.rmtree("out", ignore_errors=True)
            elif arguments[0] == "init":
                Path(arguments[-1]).unlink(missing_ok=True)
            assert main(arguments) == 0, call
    assert Path("samples/tcustord.json").read_bytes() == Path("tmp/samples/tcustord.json").read_bytes()


@pytest.mark.parametrize(("columns", "term"), [(60, "xterm"), (80, "xterm"), (80, "dumb")])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_a_help_fits_a_narrow_terminal(name: str, columns: int, term: str) -> None:
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": term}
    result = CliRunner().invoke(app, [*([name] if name else []), "-h"], env=environment, terminal_width=columns)
    assert result.exit_code == 0
    assert "…" not in result.output
    assert ("│" in result.output) == (columns == 80 and term != "dumb")
    assert max(map(len, result.output.splitlines())) <= columns
    words = set(re.findall(r"(?<![\w-])[\w-]+", result.output))
    program = COMMANDS[name] if name else PROGRAM
    shown = [item for item in program.params if not getattr(item, "hidden", False)]
    names = {option for item in shown for option in (*item.opts, *item.secondary_opts) if option[0] == "-"}
    names |= {choice for item in shown for choice in getattr(item.type, "choices", ())}
    assert names <= words


def test_options_of_a_large_command_are_in_groups() -> None:
    panels = [line.strip("╭─╮ ") for line in help_of("run") if line.startswith("╭")]
    assert panels == ["Arguments", "Options", "Handlers", "Output", "Input", "Spark", "Kafka", "Logging"]


BACKGROUND = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:4[0-8]|10[0-7]|7)(?:;[0-9;]*)?m")


@pytest.mark.process
@pytest.mark.parametrize(
    "call", ["--help", "run --help", "docs first-run", "docs", "explain GG103", "options json", "formats", "init json"]
)
def test_no_text_has_a_background_of_its_own(call: str, tmp_path: Path) -> None:
    """It would be a black box on a light terminal."""
    status, shown = on_terminal([sys.executable, "-m", "ggfmt", *call.split()], tmp_path, (60, 100), PAGER="cat")
    assert status == 0
    assert ESCAPE in shown or call == "init json"
    assert not BACKGROUND.search(re.sub(r"38;(?:5;\d+|2;\d+;\d+;\d+)", "38", shown))


# Short options, and options on either side of a command


@pytest.mark.parametrize(
    ("before", "after", "level", "json"),
    [
        ([], [], "INFO", False),
        (["-v"], [], "DEBUG", False),
        ([], ["-v"], "DEBUG", False),
        ([], ["-vv"], "TRACE", False),
        (["-q"], [], "ERROR", False),
        (["-q"], ["--verbose"], "DEBUG", False),
        ([], ["--log-level", "warn"], "WARN", False),
        (["--log-level", "trace"], ["--log-format", "json"], "TRACE", True),
        (["--log-format", "json"], ["--quiet"], "ERROR", True),
        (["--log-format", "json"], ["--log-format", "text"], "INFO", False),
    ],
)
def test_how_much_is_told_may_stand_on_either_side(
    before: list[str], after: list[str], level: str, json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*before, "docs", "vocabulary", *after]) == 0
    log = logging.getLogger("ggfmt")
    assert (logging.getLevelName(log.level), logs.is_json()) == (level, json)


def test_two_ways_to_say_how_much_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "-v", "-q"]) == 2
    assert "give one of" in capsys.readouterr().err


def test_a_short_option_shows_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith(f"ggfmt {__version__}\n")


def test_a_quiet_run_tells_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="a|b")])
    told = ("--set", "gg.handler.d.format=delimitedtext", "--set", "gg.handler.d.format.fieldDelimiter=|")
    assert main(["run", str(source), *told, "-o", str(tmp_path / "out"), "--master", "none", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_one_sentence_for_each(name: str) -> None:
    short = COMMANDS[name].get_short_help_str(limit=200)
    assert re.fullmatch(r"[A-Z][^.]*(\.avsc[^.]*)?\.", short), short
    assert any(line.split()[1:2] == [name] for line in help_of() if line.startswith("│"))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in BARE])
def test_a_command_without_anything_shows_its_help(name: str, columns: int) -> None:
    result = CliRunner().invoke(app, [name], env={"COLUMNS": str(columns)})
    assert calls_of(name)[0] in result.output


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
    assert command.help == usage_first(["ggfmt one"], ["Do something with care.", "And more of it."])
    assert command.no_args_is_help is False


# --version


def test_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java()
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    first, python, spark, java_line, arrow, native, *_ = result.output.splitlines()
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
    monkeypatch.setattr(java_module, "_unnamed_candidates", lambda: iter(()))
    for name in ("GGFMT_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    lines = CliRunner().invoke(app, ["--version"]).output.splitlines()
    assert lines[2:-1] == ["Spark not installed", "Java: none found", "Arrow not installed"]


@pytest.mark.parametrize("name", sorted(_MEANT))
def test_names_of_other_tools_lead_to_the_command(name: str) -> None:
    result = CliRunner().invoke(app, [name, "x"], env={"COLUMNS": "100"})
    assert result.exit_code == 2
    assert f"Use 'ggfmt {_MEANT[name]}'." in result.output
    assert _MEANT[name] in COMMANDS
    assert name not in COMMANDS


def test_names_of_other_packages_lead_to_the_function() -> None:
    for name, call in ggfmt._MEANT.items():
        with pytest.raises(AttributeError, match=re.escape(f"`{name}`; use `ggfmt.{call}`")):
            getattr(ggfmt, name)
        assert call.partition("(")[0] in ggfmt.__all__
    with pytest.raises(AttributeError, match=r"no attribute `nothing`$"):
        getattr(ggfmt, "nothing")  # noqa: B009
