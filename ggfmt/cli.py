"""The command line: what can be given, and which function is called with it. No logic lives here."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from ggfmt import __version__, logs
from ggfmt.errors import ConfigurationError, Diagnostic, GgfmtError, UsageError, suggestion

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Change files in, the messages of a GoldenGate for Big Data handler out.",
)


LogLevel = Literal["error", "warn", "info", "debug", "trace"]
LogFormat = Literal["text", "json"]
Mode = Literal["error", "append", "overwrite"]
OnReject = Literal["abend", "quarantine"]
SchemaKind = Literal["avro", "json", "xsd", "ddl"]
OptionsFormat = Literal["text", "json", "markdown"]

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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ggfmt {__version__}")
        raise typer.Exit


@app.callback()
def common(
    log_level: Annotated[LogLevel, typer.Option("--log-level", help="How much to tell on standard error.")] = "info",
    log_format: Annotated[LogFormat, typer.Option("--log-format", help="How to tell it.")] = "text",
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    logs.set_up(log_level, log_format)


@app.command(no_args_is_help=True)
def run(
    inputs: Inputs,
    config: Configuration = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", help="Where to write; default: the handler's `rootFilePath`."),
    ] = None,
    handlers: Handlers = None,
    input_format: InputFormat = "auto",
    input_config: InputConfig = None,
    definitions: Definitions = None,
    settings: Settings = None,
    mode: Annotated[Mode, typer.Option("--mode", help="What to do with output that exists.")] = "error",
    on_reject: Annotated[
        OnReject, typer.Option("--on-reject", help="Stop at a bad record, or set it aside and go on.")
    ] = "abend",
    current_timestamp: Annotated[
        str | None,
        typer.Option(
            "--current-timestamp", metavar="TS", help="One `current_ts` for all, so that a run can be repeated."
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master; default local.")
    ] = None,
    spark_conf: Annotated[
        list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A Spark property.")
    ] = None,
    java_home: Annotated[
        str | None, typer.Option("--java-home", metavar="DIR", help="The Java to run Spark on.")
    ] = None,
    split_size: Annotated[
        str | None, typer.Option("--split-size", metavar="BYTES", help="Input a task reads, for example `64m`.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the totals as JSON.")] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="A progress bar; default: on a terminal.")
    ] = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run trail/ -c conf/json.properties -o out`

    `ggfmt run changes.json --set gg.handler.out.format=delimitedtext -o out`
    """
    from ggfmt.config.handler import read_configuration
    from ggfmt.definitions import load_definitions
    from ggfmt.engine.plan import written_by
    from ggfmt.engine.run import RunSettings, execute
    from ggfmt.engine.spark import Session, SparkSettings
    from ggfmt.formats.base import UNTOLD
    from ggfmt.render import progress_bar

    configuration = read_configuration(_texts(config), settings or [], handlers or [])
    _warn(configuration.diagnostics)
    source = UNTOLD
    if input_config is not None:
        written, source = written_by(read_configuration([str(input_config)]))
        input_format = written if input_format == "auto" else input_format
    wanted = RunSettings(
        inputs=inputs,
        handlers=configuration.handlers,
        output=output,
        input_format=input_format,
        definitions=load_definitions(_texts(definitions)),
        mode=mode,
        quarantine=on_reject == "quarantine",
        current_timestamp=_timestamp(current_timestamp),
        split_size=_size(split_size),
        release=configuration.run.compatibility,
        source=source,
        replacements=configuration.replacements,
    )
    spark = SparkSettings(master, tuple(_pair(item, "--spark-conf") for item in spark_conf or ()), java_home)
    if report is not None:
        _check_writable(report, "--report")
    with progress_bar(sys.stderr.isatty() if progress is None else progress) as tell:
        result = execute(wanted, lambda: Session(spark), tell)
    if report is not None:
        report.write_text(json.dumps(result.manifest["totals"], indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if result.totals.rejects:
        raise typer.Exit(4)


@app.command(no_args_is_help=True)
def schema(
    inputs: OptionalInputs = None,
    config: Configuration = None,
    definitions: Definitions = None,
    settings: Settings = None,
    handlers: Handlers = None,
    input_format: InputFormat = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write files here; default: print them.")
    ] = None,
    kind: Annotated[SchemaKind | None, typer.Option("--kind", help="Default: what each handler's format has.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing, and end with 1 if the files in the `-o` directory differ.")
    ] = False,
) -> None:
    """Print or write the schemas of the messages, for the tables of `--definitions` or those found in the inputs.

    `ggfmt schema --definitions samples/TCUSTORD.def -c conf/json.properties -o dirdef`

    `ggfmt schema samples/tcustord.json --kind json`

    `ggfmt schema --definitions samples/TCUSTORD.def -c conf/json.properties -o dirdef --check`
    """
    from ggfmt.config.handler import read_configuration
    from ggfmt.definitions import load_definitions
    from ggfmt.engine.schema import drift, schemas, write

    configuration = None
    if config or settings:
        configuration = read_configuration(_texts(config), settings or [], handlers or [])
        _warn(configuration.diagnostics)
    found = schemas(inputs or [], configuration, load_definitions(_texts(definitions)), input_format, kind)
    if check:
        if output is None:
            raise typer.BadParameter("give the directory to compare with", param_hint="-o")
        drifts = list(drift(found, output))
        for _, difference in drifts:
            typer.echo(difference)
        if drifts:
            raise ConfigurationError(*(diagnostic for diagnostic, _ in drifts))
    elif output is None:
        for file in found:
            typer.echo(file.content.decode("utf-8", "replace"))
    else:
        try:
            for path in write(found, output):
                typer.echo(str(path))
        except OSError as error:
            raise typer.BadParameter(f"`{output}` cannot be written: {error.strerror}", param_hint="-o") from None


@app.command()
def formats() -> None:
    """List the formats: what can be read, written and described by a schema."""
    from ggfmt.render import formats_table, print_rich

    print_rich(formats_table(), sys.stdout)


@app.command(no_args_is_help=True)
def options(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="The id of a format, or `handler`, or `ggfmt`.")],
    output_format: Annotated[OptionsFormat, typer.Option("--output-format", help="How to print them.")] = "text",
) -> None:
    """List the properties of a format, or those that every handler has.

    `ggfmt options json`
    """
    from ggfmt.config.handler import HandlerOptions, RunOptions
    from ggfmt.formats import FORMATS
    from ggfmt.options.reference import as_dicts, markdown_table, rich_table
    from ggfmt.options.spec import Options
    from ggfmt.render import print_rich

    known: dict[str, type[Options]] = {
        "ggfmt": RunOptions,
        "handler": HandlerOptions,
        **{name: entry.options for name, entry in FORMATS.items()},
    }
    if format not in known:
        near = suggestion(format, known)
        legal = f"legal values are {', '.join(f'`{name}`' for name in known)}"
        help = f"{legal}; {near}" if near else legal
        raise UsageError(Diagnostic("GG106", f"there is no format `{format}`", help=help))
    if output_format == "json":
        typer.echo(json.dumps(as_dicts(known[format]), indent=2, ensure_ascii=False))
    elif output_format == "markdown":
        typer.echo(markdown_table(known[format]))
    else:
        prefixes = {"ggfmt": "ggfmt.", "handler": "gg.handler.<name>."}
        print_rich(rich_table(known[format], title=prefixes.get(format, "gg.handler.<name>.format.")), sys.stdout)


def _texts(paths: list[Path] | None) -> list[str]:
    return [str(path) for path in paths or ()]


def _warn(diagnostics: Sequence[Diagnostic]) -> None:
    if diagnostics:
        from ggfmt.render import print_diagnostics

        print_diagnostics(diagnostics, sys.stderr)


def _timestamp(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is no time; give it as `2015-09-18T13:39:35.447000`", param_hint="--current-timestamp"
        ) from None


def _check_writable(file: Path, option: str) -> None:
    """Told before the work and not after it."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise typer.BadParameter(f"`{file}` cannot be written", param_hint=option)


def _size(text: str | None) -> int | None:
    from ggfmt.options.kinds import IllegalValue, Size

    try:
        return None if text is None else Size().parse(text)
    except IllegalValue as error:
        raise typer.BadParameter(f"{error}; {error.help}", param_hint="--split-size") from None


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"`{text}` is not KEY=VALUE", param_hint=option)
    return key, value


def main() -> NoReturn:
    """The console script: ends with 0 done, 1 findings, 2 wrong usage, 3 abend, 4 committed with rejects."""
    try:
        app()
    except GgfmtError as error:
        from ggfmt.render import print_diagnostics

        print_diagnostics(error.diagnostics, sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception:
        sys.stderr.write("This is a defect of ggfmt. What follows helps to find it.\n")
        traceback.print_exc()
        sys.exit(3)
    sys.exit(0)
