"""Parameters that several commands have, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ggfmt.cli import completion
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion

if TYPE_CHECKING:
    from ggfmt.formats.api.context import WriterSettings

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT", help="Files, directories or globs; .gz, .bz2 and .zst are read. `-`: standard input."
    ),
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
SparkConf = Annotated[list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A Spark property.")]
JavaHome = Annotated[str | None, typer.Option("--java-home", metavar="DIR", help="The Java to run Spark on.")]


def texts(paths: list[Path] | None) -> list[str]:
    return [str(path) for path in paths or ()]


def moment(text: str | None) -> datetime | None:
    """The time that `--current-timestamp` names."""
    try:
        return None if text is None else datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is no time; give it as `2015-09-18T13:39:35.447000`", param_hint="--current-timestamp"
        ) from None


def spark_properties(settings: list[str] | None) -> tuple[tuple[str, str], ...]:
    """The properties that `--spark-conf` gives."""
    pairs = []
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"`{text}` is not KEY=VALUE", param_hint="--spark-conf")
        pairs.append((key, value))
    return tuple(pairs)


def chosen_format(to: str | None, config: list[Path] | None, stream: bool = False) -> list[str]:
    """The lines of a handler that `--to` stands for; in a `stream`, messages of all tables are in the input's order."""
    if to is None:
        return []
    if config:
        help = "give the format in the handler file, or leave out `-c`"
        raise typer.BadParameter(f"it makes a handler of its own beside those of `-c`; {help}", param_hint="--to")
    from ggfmt.config.handler_file import handler_lines
    from ggfmt.formats import FORMATS

    format = FORMATS.get(to)
    if format is None or format.writes is None:
        written = [name for name, format in FORMATS.items() if format.writes is not None]
        help = "; ".join(
            filter(None, (f"formats are {', '.join(f'`{name}`' for name in written)}", suggestion(to, written)))
        )
        raise UsageError(Diagnostic("GG106", f"`--to` cannot be `{to}`, which is no format that is written", help=help))
    return handler_lines(format, *(("partitionByTable=false",) if stream and not format.by_table else ()))


def written_input(input_format: str, config: Path | None, options: list[str] | None) -> tuple[str, WriterSettings]:
    """The format of the input, if it is told, and how it was written."""
    from ggfmt.config.handlers import read_configuration
    from ggfmt.config.properties import entries_from_settings
    from ggfmt.engine.inputs import written_by
    from ggfmt.formats.api.context import DEFAULT_SETTINGS

    source = DEFAULT_SETTINGS
    if config is not None:
        written, source = written_by(read_configuration([str(config)]))
        input_format = written if input_format == "auto" else input_format
    given = entries_from_settings(options or [])
    if given.diagnostics:
        raise typer.BadParameter("a property is not NAME=VALUE", param_hint="--input-option")
    return input_format, replace(source, given={entry.key: entry.value for entry in given.entries})
