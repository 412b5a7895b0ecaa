"""Commands of ggfmt, called in this process or with a standard input, and the modules that one loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from ggfmt.cli import app
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import GgfmtError

JSON = ("--set", "gg.handler.j.format=json")


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def codes(ended: Result, severity: Severity | None = None) -> list[str]:
    assert isinstance(ended.exception, GgfmtError), ended.output
    return [item.code for item in ended.exception.diagnostics if severity in (None, item.severity)]


def piped(data: bytes, *arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), input=data)


def loaded(arguments: list[str]) -> set[str]:
    program = (
        "import sys, ggfmt.cli\n"
        "sys.argv = ['ggfmt', *sys.argv[1:]]\n"
        "try:\n    ggfmt.cli.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('|'.join(name.partition('.')[0] for name in sys.modules))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(ended.stdout.splitlines()[-1].split("|"))
