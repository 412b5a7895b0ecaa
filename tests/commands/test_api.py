"""What the functions for programs raise names arguments, and shows the program and not ggfmt."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runs import operation, write_lines

import ggfmt
from ggfmt.commands import functions
from ggfmt.commands.api import names_in
from ggfmt.commands.consolidation import ConsolidateRequest
from ggfmt.diagnostics.argument_names import ArgumentName
from ggfmt.sinks.preview import Message

MAX_LINES = 7  # of a traceback: the program's line, one frame of ggfmt, the error

ROWS: list[Any] = [ggfmt.current, ggfmt.history, ggfmt.changes]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(1), operation(2)])


CALLS = {
    "missing input": 'ggfmt.convert("nothing", to="json", output="new", master="none")',
    "no handler": 'ggfmt.convert("in.json", output="new", master="none")',
    "wrong value": 'ggfmt.convert("in.json", to="json", output="new", mode="apend", master="none")',
    "preview": 'ggfmt.preview("in.json", to="jsn")',
    "schema": "ggfmt.schema()",
    "lint": 'ggfmt.lint("nothing")',
    "compare": 'ggfmt.compare("in.json", "nothing")',
    "rows": 'ggfmt.consolidate("in.json", "new", key="X", master="none")',
    "scan": 'ggfmt.scan("in.json", "GG.NOTHING")',
    "scan later": 'write("bad.json"); ggfmt.scan("bad.json", input_format="json").read_all()',
}


def test_a_traceback_is_short(source: Path) -> None:
    lines = "\n".join(f"    {name!r}: lambda: ({call.replace('; ', ', ')})," for name, call in CALLS.items())
    program = f"""
import pathlib, traceback, ggfmt
def write(name):
    pathlib.Path(name).write_bytes(b"{{}}\\n{{broken\\n")
calls = {{
{lines}
}}
for name, call in calls.items():
    try:
        call()
    except ggfmt.GgfmtError as error:
        error.__traceback__ = error.__traceback__.tb_next
        text = traceback.format_exc()
        print(name, sum('^' not in line for line in text.splitlines()), 'During' in text, sep="|")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=source.parent)
    found = {
        name: (int(count), during) for name, count, during in (line.split("|") for line in done.stdout.splitlines())
    }
    assert found.keys() == CALLS.keys()
    assert {name: count for name, (count, during) in found.items() if count > MAX_LINES or during == "True"} == {}


def test_messages_name_arguments(source: Path, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"output": tmp_path / "out", "to": "json", "master": "none"}
    ggfmt.convert(source, **arguments)
    with pytest.raises(ggfmt.UsageError, match='use `mode="append"` or `mode="overwrite"`'):
        ggfmt.convert(source, **arguments)
    with pytest.raises(ggfmt.UsageError, match="`spark_conf` is for Spark"):
        ggfmt.convert(source, spark_conf={"a": "b"}, **arguments)
    with pytest.raises(ggfmt.UsageError, match="`key` names `X`"):
        ggfmt.consolidate(source, tmp_path / "rows", key="X", master="none")
    with pytest.raises(ggfmt.ConfigurationError, match='did you mean `to="json"`'):
        ggfmt.convert(source, "json")
    batches = ggfmt.scan(write_lines(tmp_path / "a.json", [b"{", b"{"]), input_format="json_row")
    with pytest.raises(ggfmt.Abend, match="GG301"):
        batches.read_all()


def test_a_function_without_a_request_has_the_names_of_its_own_arguments() -> None:
    names = names_in(functions.current, (ConsolidateRequest,))
    assert names["--key"] == ArgumentName("key")
    assert names["--strict"] == ArgumentName("strict", "flag")
    assert names["--input-option"] == ArgumentName("input_options", "keywords")
    assert names["--type"] == ArgumentName("types", "pairs")
    assert not {"-o", "--mode", "--on-reject"} & names.keys()


def test_settings_are_plain_values(source: Path) -> None:
    settings: dict[str, Any] = {"gg.handlerlist": "h", "gg.handler.h.type": "hdfs", "gg.handler.h.format": "json"}

    def shown(**more: Any) -> bytes:
        properties = {f"gg.handler.h.format.{name}": value for name, value in more.items()}
        moment = "2020-01-01T00:00:00"
        (handler,) = ggfmt.preview(source, settings=settings | properties, current_timestamp=moment).handlers
        return b"".join(item.data for item in handler.tables[0].items if isinstance(item, Message))

    assert shown(prettyPrint=True) == shown(prettyPrint="true") != shown(prettyPrint=False) == shown()
    with pytest.raises(ggfmt.UsageError, match=r"GG565.*is of the type list"):
        shown(prettyPrint=[True])


def test_functions_for_rows_have_the_same_arguments() -> None:
    current, history, changes = (inspect.signature(each).parameters for each in ROWS)
    assert current == history == {name: each for name, each in changes.items() if name != "since"}
    assert "since" in changes
    for function in ROWS:
        with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) missing a required argument: 'inputs'$"):
            function(None)
    with pytest.raises(ggfmt.UsageError, match="`since` applies only to net changes"):
        ggfmt.current(None, "in.json", "GG.T", since="2026-01-31")  # type: ignore[arg-type]
