"""An empty argument is no place: it comes from an empty variable of a shell, and ends each call before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from places import ROOT

import ggfmt
from ggfmt.cli import _MODULES, app, main
from ggfmt.diagnostics.diagnostic import UsageError

SAMPLE = str(ROOT / "samples" / "tcustord.json")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def text_parameters() -> list[tuple[str, str]]:
    parameters = [(command, item) for command in _MODULES for item in COMMANDS[command].params]
    return [(command, item.opts[-1]) for command, item in parameters if item.type.name in ("str", "path")]


def refused(call: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    code, (printed, log) = main(call), capsys.readouterr()
    assert (code, printed) == (2, "")
    return log


@pytest.mark.parametrize(("command", "option"), text_parameters())
@pytest.mark.parametrize("text", ["", " \t", "//"])
def test_each_option_of_each_command_refuses_an_empty_text(
    command: str, option: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    log = refused([command, option, text] if option.startswith("-") else [command, text], capsys)
    assert "error[GG565] `" in log
    assert ("is the root of the file system" if text.strip() else "is empty") in log
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "call",
    [
        ["run", SAMPLE, "--to", "json", "--output="],
        ["run", SAMPLE, "", "--to", "json", "-o", "out"],
        ["run", SAMPLE, "--to", "json", "-o", "out", "--definitions", SAMPLE, "--definitions", ""],
        ["consolidate", SAMPLE, "-o", "out", "--primary-keys", ""],
        ["compare", SAMPLE, ""],
    ],
)
def test_one_of_several_arguments_is_enough(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "is empty\n  help: look for an empty variable in the call" in refused(call, capsys)
    assert '"code": "GG565"' in refused([*call, "--log-format", "json"], capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "given", "what"),
    [
        ("convert", {"inputs": "", "to": "json"}, "`inputs` is empty"),
        ("convert", {"inputs": [SAMPLE, " "], "to": "json"}, "`inputs` is empty"),
        ("convert", {"inputs": SAMPLE, "to": "json", "output": ""}, "`output` is empty"),
        ("convert", {"inputs": SAMPLE, "to": "json", "output": Path("/")}, "`output` is the root of the file system"),
        ("consolidate", {"inputs": SAMPLE, "output": "o", "checkpoint": ""}, "`checkpoint` is empty"),
        ("compare", {"a": SAMPLE, "b": ""}, "`b` is empty"),
        ("preview", {"inputs": SAMPLE, "config": ""}, "`config` is empty"),
        ("schema", {"definitions": ""}, "`definitions` is empty"),
        ("scan", {"inputs": ""}, "`inputs` is empty"),
        ("scan", {"inputs": SAMPLE, "table": ""}, "`table` is empty"),
        ("lint", {"files": ""}, "`files` is empty"),
    ],
)
def test_functions_refuse_them_too(
    name: str, given: dict[str, Any], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=what):
        getattr(ggfmt, name)(**given)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_place_may_be_empty(tmp_path: Path) -> None:
    assert ggfmt.lint(text="")[0].code == "GG105"
    (tmp_path / "a.csv").write_text("ID,V\n1,\n")
    (tmp_path / "b.csv").write_text("ID;V\n1;\n")
    options = {"a.null": "", "b.null": "", "b.delimiter": ";"}
    assert ggfmt.compare(tmp_path / "a.csv", tmp_path / "b.csv", csv_options=options).same
