"""What a command tells on standard error besides its log: findings, mistakes in its call, interrupts.

With `--log-format json` each is a line of JSON, as those of the log are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer

from ggfmt import logs, signals
from ggfmt.cli.completion import PROGRAM
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic

# The class of all mistakes in a call has no name of its own in typer.
_Mistake: Any = [base for base in typer.BadParameter.__mro__ if hasattr(base, "format_message")][-1]
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warn", Severity.NOTE: "info"}  # by the names of the log


def emit_findings(diagnostics: Iterable[Diagnostic]) -> None:
    """Tell of findings, each with its place and its help."""
    diagnostics = list(diagnostics)
    if not diagnostics or sys.stderr is None:
        return
    if logs.is_json():
        from ggfmt.render.diagnostics import as_dict

        for diagnostic in diagnostics:
            members = as_dict(diagnostic)
            level = _LEVELS[diagnostic.severity]
            del members["severity"]
            emit_json(level, str(members.pop("message")), **members)
        return
    from ggfmt.render.diagnostics import print_diagnostics

    with suppress(OSError):
        print_diagnostics(diagnostics, sys.stderr)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a call asks for JSON, also one that is none: what is wrong with it has to be told, too."""
    called = " ".join(arguments).replace("--log-format=", "--log-format ")
    return " --log-format json " in f" {called} "


def run_with_json_errors(app: typer.Typer, arguments: Sequence[str]) -> int:
    """The exit code of a call, whose mistakes are told in JSON."""
    try:
        code = app(arguments, prog_name=PROGRAM, standalone_mode=False)
    except _Mistake as error:
        emit_json("error", error.format_message(), code="usage")
        return int(error.exit_code)
    return code if isinstance(code, int) else 0


def emit(level: str, message: str) -> None:
    """Tell one thing in a line."""
    if logs.is_json():
        emit_json(level, message)
    elif sys.stderr is not None:
        with suppress(OSError):  # it may be full, or its reader gone
            sys.stderr.write(f"{message}\n")


def emit_json(level: str, message: str, **more: object) -> None:
    if sys.stderr is not None:  # it may be closed
        with suppress(OSError):
            sys.stderr.write(f"{logs.json_line(level, message, None, **more)}\n")


@contextmanager
def interrupt_before_commit() -> Iterator[None]:
    """Says so of an interrupt that does not say what is true of it."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or f"{signals.interruption()}; nothing was committed") from None
