"""What commands write to standard error: JSON if asked for, in every line; one code for files that are not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import operation, write_lines
from terminal import on_terminal, unstyled

from ggfmt import cli

Called = Callable[..., tuple[int, str]]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Calls ggfmt as its console script does, in this process; the exit code, and what is on standard error."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in.json", [operation(0, NAME="a|b")])
    (tmp_path / "h.properties").write_text("gg.handlerlist=h\ngg.handler.h.format=json\ngg.handler.h.format.wat=1\n")

    def call(*arguments: str) -> tuple[int, str]:
        return cli.main(arguments), capsys.readouterr().err

    return call


NONE = ("--master", "none")
PIPES = ("--set", "gg.handler.d.format=delimitedtext", "--set", "gg.handler.d.format.fieldDelimiter=|")


@pytest.mark.parametrize(
    ("arguments", "code", "levels"),
    [
        (("run", "in.json", *PIPES, "-o", "out", *NONE), 0, {"info", "warn"}),
        (("run", "in.json", "-c", "h.properties", "-o", "out", *NONE), 0, {"info", "warn"}),
        (("run", "gone.json", *PIPES, "-o", "out", *NONE), 2, {"error"}),
        (("run", "in.json", "--to", "nothing", "-o", "out"), 2, {"error"}),
        (("run", "in.json", "--to", "json", "--what"), 2, {"error"}),
        (("run", "in.json", "--to", "json", "--mode", "merge"), 2, {"error"}),
        (("run",), 2, {"error"}),
        (("what",), 2, {"error"}),
        (("run", "in.json", "--to", "json", "-o", "out", "--split-size", "much"), 2, {"error"}),
        (("validate-config", "h.properties"), 0, {"info"}),
        (("validate-config", "h.properties", "--diff"), 0, {"warn", "info"}),
        (("verify", "gone"), 2, {"error"}),
        (("explain", "nothing"), 2, {"error"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_line_is_json_if_it_is_asked_for(
    arguments: tuple[str, ...], code: int, levels: set[str], called: Called
) -> None:
    ended, told = called("--log-format", "json", *arguments)
    lines: list[dict[str, Any]] = [json.loads(line) for line in told.splitlines()]
    assert (ended, {line["level"] for line in lines}) == (code, levels)
    assert all({"ts", "level", "message"} <= set(line) for line in lines)


def test_a_finding_in_json_has_its_members(called: Called) -> None:
    _, told = called("--log-format=json", "run", "gone.json", "--to", "json", "-o", "out", *NONE)
    (line,) = [json.loads(line) for line in told.splitlines()]
    del line["ts"]
    assert line == {
        "level": "error", "message": "input not found", "code": "GG310",
        "help": "check the path; relative paths start at the current directory",
        "page": "input", "file": "gone.json",
    }  # fmt: skip


def test_a_defect_is_told_in_json(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ggfmt.sinks.messages.verification.verify", broken)
    code, told = called("--log-format", "json", "verify", "out")
    assert code == 3
    (line,) = [json.loads(line) for line in told.splitlines()]
    assert line["message"] == "this is a defect of ggfmt"
    assert line["traceback"].rstrip().endswith("ZeroDivisionError")


def test_a_package_that_is_not_installed_is_named(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    def imports(*_: object) -> None:
        raise ModuleNotFoundError(name="pyarrow")

    monkeypatch.setattr("ggfmt.sinks.messages.verification.verify", imports)
    code, told = called("verify", "out")
    assert code == 3
    assert told.startswith("error[GG522] the package `pyarrow` is not installed")


MISSING = [
    ("run", "gone.json", "--to", "json", "-o", "out", *NONE),
    ("run", "in.json", "-c", "gone.properties", "-o", "out", *NONE),
    ("run", "in.json", "--to", "json", "-o", "out", "--definitions", "gone.def", *NONE),
    ("run", "in.json", "--to", "json", "-o", "out", "--input-config", "gone.properties", *NONE),
    ("run", "in.json", "--to", "json", "-o", "out", "--report", "gone/report.json", *NONE),
    ("preview", "gone.json", "--to", "json"),
    ("preview", "in.json", "-c", "gone.properties"),
    ("preview", "in.json", "--to", "json", "--definitions", "gone.def"),
    ("schema", "gone.json", "--kind", "json"),
    ("schema", "in.json", "-c", "gone.properties"),
    ("schema", "--definitions", "gone.def", "--kind", "json"),
    ("verify", "gone"),
    ("report", "gone"),
    ("docs", "gone"),
    ("init", "json", "-o", "gone/json.properties"),
]


@pytest.mark.parametrize("arguments", MISSING, ids=" ".join)
def test_a_file_that_is_not_there_ends_every_command_with_2(arguments: tuple[str, ...], called: Called) -> None:
    code, told = called(*arguments)
    assert code == 2
    assert "gone" in told
    assert not Path("out").exists()


def test_a_check_reports_a_missing_file_as_a_finding(called: Called) -> None:
    assert called("validate-config", "gone.properties") == (2, "0 files: 1 error\n")


def test_a_mistake_beside_a_missing_file_is_told_too(called: Called) -> None:
    code, told = called("run", "in.json", "-c", "h.properties", "-c", "gone.properties", "-o", "out", *NONE)
    assert code == 2
    assert "gone.properties: error[GG100]" in told
    assert "h.properties:3" in told


def test_inputs_are_checked_before_the_configuration_is_told(called: Called) -> None:
    assert called("run", "gone.json", "--to", "json", "-o", "out", *NONE) == (
        2,
        "gone.json: error[GG310] input not found\n"
        "  help: check the path; relative paths start at the current directory\npage: ggfmt docs input\n",
    )


@pytest.mark.parametrize("format", ["text", "json"])
def test_what_is_told_where_there_is_no_standard_error_is_lost_and_no_defect(
    format: str, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    told = ("run", "gone.json", "--to", "json", "-o", "out", *NONE)
    assert cli.main(["--log-format", format, *told]) == 2


def test_a_plan_that_cannot_be_printed_is_no_defect(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    told = ("run", "in.json", "--to", "json", "-o", "out", "--dry-run")
    monkeypatch.setattr(sys, "stdout", None)
    code, told_instead = called(*told)
    assert code == 3
    assert told_instead.endswith(
        "error[GG506] standard output cannot be written: it is closed\npage: ggfmt docs output\n"
    )
    monkeypatch.setattr(sys, "stdout", open("/dev/full", "w"))  # noqa: SIM115
    code, told_instead = called(*told)
    assert code == 3
    assert told_instead.endswith(
        "error[GG506] standard output cannot be written: no space left on device\npage: ggfmt docs output\n"
    )


def test_quiet_commands_print_errors_only(called: Called, tmp_path: Path) -> None:
    lines = "gg.handlerlist=a\ngg.handler.a.format=json\ngg.handler.a.format.iso8601Forma=false\n"
    (tmp_path / "a.properties").write_text(lines)
    run = ("run", "in.json", "-c", "a.properties", "--master", "none")
    ended, told = called(*run, "-o", "out")
    assert (ended, "warning[GG102]" in told) == (0, True)
    assert called("-q", *run, "-o", "quiet") == (0, "")


def test_a_wrong_input_option_leads_to_the_page_of_its_format(called: Called) -> None:
    told = called("-q", "run", "in.json", "--to", "json", "-o", "out", "--input-option", "tabel=X", "--master", "none")
    assert "page: ggfmt docs json\n" in told[1]


@pytest.mark.process
def test_a_narrow_terminal_cuts_no_word_of_a_log_or_a_finding(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(0)])
    run = ["run", "in.json", "--to", "json", "-o", "out"]
    consolidate = ["consolidate", "in.json", "-o", "rows", "--key", "A_COLUMN_THAT_NO_TABLE_HAS"]
    for command, status in ((run, 0), (consolidate, 2)):
        call = [sys.executable, "-m", "ggfmt", *command, "--master", "none", "--no-progress"]
        ended, shown = on_terminal(call, tmp_path, (40, 60))
        assert ended == status
        lines = unstyled(shown).splitlines()
        said = [line for line in lines if not line.startswith(("{", "The start of"))]
        assert len(said) > 3
        assert [line for line in said if len(line.rstrip()) > 60 and len(line.split()) > 1] == []
        assert any(line.startswith("    ") for line in said)
