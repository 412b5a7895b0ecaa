"""Parameters that several commands have, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ggfmt.cli import completion

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT", help="Files, directories or globs; .gz, .bz2, .xz and .zst are read. `-`: standard input."
    ),
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Also run where there is no input file.")]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Read what no earlier run with this DIR has read, and add it to the output.",
    ),
]
SettleOption = Annotated[
    float | None,
    typer.Option(
        "--settle",
        metavar="SECONDS",
        min=0,
        help="With `--checkpoint`: leave files that were just written to, and those behind them, for later.",
    ),
]
SplitSize = Annotated[
    str | None, typer.Option("--split-size", metavar="BYTES", help="Input a task reads, for example `64m`.")
]
MaxRecord = Annotated[
    str | None, typer.Option("--max-record", metavar="BYTES", help="The longest record; default: `64m`.")
]
Progress = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="How far the run is; default: on a terminal.")
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
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A property, as a line of the handler file would give it.",
        autocompletion=completion.settings,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="A handler of this format, as `ggfmt init FORMAT` proposes it; instead of `-c`.",
        autocompletion=completion.written_formats,
    ),
]
Handlers = Annotated[
    list[str] | None,
    typer.Option(
        "--handler",
        metavar="NAME",
        help="Only this one of `gg.handlerlist`.",
        autocompletion=completion.handlers,
    ),
]
Definitions = Annotated[
    list[Path] | None,
    typer.Option("--definitions", metavar="FILE", help="Table definitions: DEFGEN, JSON schema or .avsc."),
]
InputConfig = Annotated[
    Path | None,
    typer.Option("--input-config", metavar="FILE", help="The handler file that the input was written with."),
]
InputOptions = Annotated[
    list[str] | None,
    typer.Option("--input-option", metavar="NAME=VALUE", help="A property of the input's format, as it was written."),
]
InputFormat = Annotated[
    str,
    typer.Option(
        "--input-format",
        metavar="ID",
        help="`auto`, or the id of a format.",
        autocompletion=completion.input_formats,
    ),
]
CurrentTimestamp = Annotated[
    str | None,
    typer.Option("--current-timestamp", metavar="TS", help="One `current_ts` for all, so that a run can be repeated."),
]

Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark master; default local. `none`: in this process, without Spark.",
        autocompletion=completion.masters,
    ),
]
Remote = Annotated[
    str | None,
    typer.Option("--remote", metavar="URL", help="A Spark Connect server, `sc://HOST:PORT`, in place of a master."),
]
SparkConf = Annotated[list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A Spark property.")]
JavaHome = Annotated[str | None, typer.Option("--java-home", metavar="DIR", help="The Java to run Spark on.")]


def texts(paths: list[Path] | None) -> list[str]:
    return [str(path) for path in paths or ()]
