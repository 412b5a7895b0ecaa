"""Parameters that several commands have, and what becomes of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.errors import Diagnostic

Inputs = Annotated[
    list[str], typer.Argument(metavar="INPUT", help="Files, directories or globs; .gz, .bz2 and .zst are read.")
]
OptionalInputs = Annotated[
    list[str] | None, typer.Argument(metavar="INPUT", help="Files, directories or globs to find tables in.")
]
Configuration = Annotated[
    list[Path] | None,
    typer.Option("-c", "--config", metavar="FILE", help="A GoldenGate handler file (Java properties)."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A property, as a line of the handler file would give it."),
]
Handlers = Annotated[
    list[str] | None, typer.Option("--handler", metavar="NAME", help="Only this one of `gg.handlerlist`.")
]
Definitions = Annotated[
    list[Path] | None,
    typer.Option("--definitions", metavar="FILE", help="Table definitions: DEFGEN, JSON schema or .avsc."),
]
InputConfig = Annotated[
    Path | None,
    typer.Option("--input-config", metavar="FILE", help="The handler file that the input was written with."),
]
InputFormat = Annotated[str, typer.Option("--input-format", metavar="ID", help="`auto`, or the id of a format.")]


def texts(paths: list[Path] | None) -> list[str]:
    return [str(path) for path in paths or ()]


def warn(diagnostics: Sequence[Diagnostic]) -> None:
    if diagnostics:
        from ggfmt.render.diagnostics import print_diagnostics

        print_diagnostics(diagnostics, sys.stderr)
