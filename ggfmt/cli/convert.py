"""`ggfmt run`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ggfmt.cli.garbage import nothing_collected
from ggfmt.cli.parameters import (
    Configuration,
    CurrentTimestamp,
    Definitions,
    Handlers,
    InputConfig,
    InputFormat,
    InputOptions,
    Inputs,
    JavaHome,
    Master,
    Settings,
    SparkConf,
    To,
    chosen_format,
    moment,
    texts,
    written_input,
)
from ggfmt.cli.runners import chosen_runner
from ggfmt.cli.telling import nothing_committed_yet, tell_findings

Mode = Literal["error", "append", "overwrite"]
OnReject = Literal["abend", "quarantine"]


def run(
    inputs: Inputs,
    config: Configuration = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Where to write; default: the handler's `rootFilePath`. `-`: to standard output.",
        ),
    ] = None,
    to: To = None,
    handlers: Handlers = None,
    input_format: InputFormat = "auto",
    input_config: InputConfig = None,
    input_options: InputOptions = None,
    definitions: Definitions = None,
    settings: Settings = None,
    mode: Annotated[Mode, typer.Option("--mode", help="What to do with output that exists.")] = "error",
    on_reject: Annotated[
        OnReject, typer.Option("--on-reject", help="Stop at a bad record, or set it aside and go on.")
    ] = "abend",
    strict_fidelity: Annotated[
        bool, typer.Option("--strict-fidelity", help="Stop where a handler cannot show a value as it is.")
    ] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Also run where there is no input file.")] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Read what no earlier run with this DIR has read, and add it to the output.",
        ),
    ] = None,
    settle: Annotated[
        float | None,
        typer.Option(
            "--settle",
            metavar="SECONDS",
            min=0,
            help="With `--checkpoint`: leave files that were just written to, and those behind them, for later.",
        ),
    ] = None,
    current_timestamp: CurrentTimestamp = None,
    master: Master = None,
    spark_conf: SparkConf = None,
    java_home: JavaHome = None,
    split_size: Annotated[
        str | None, typer.Option("--split-size", metavar="BYTES", help="Input a task reads, for example `64m`.")
    ] = None,
    max_record: Annotated[
        str | None,
        typer.Option("--max-record", metavar="BYTES", help="The longest record; default: `64m`."),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the totals as JSON.")] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="How far the run is; default: on a terminal.")
    ] = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run changes/ -c conf/json.properties -o out`

    `ggfmt run changes.json --to delimitedtext -o out`
    """
    with nothing_collected(), nothing_committed_yet():
        from ggfmt.config.handlers import read_configuration
        from ggfmt.definitions import load_definitions
        from ggfmt.engine.run import RunSettings, execute
        from ggfmt.formats.api.reading import MAX_RECORD_BYTES
        from ggfmt.render.progress import progress_bar

        runner = chosen_runner(master, spark_conf, java_home)
        runner.check_reach(inputs, output)
        lines = [*chosen_format(to, config, stream=output == "-"), *(settings or [])]
        configuration = read_configuration(texts(config), lines, handlers or [])
        tell_findings(configuration.diagnostics)
        input_format, source = written_input(input_format, input_config, input_options)
        wanted = RunSettings(
            inputs=inputs,
            handlers=configuration.handlers,
            output=output,
            input_format=input_format,
            definitions=load_definitions(texts(definitions)),
            mode=mode,
            quarantine=on_reject == "quarantine",
            strict=strict_fidelity,
            current_timestamp=moment(current_timestamp),
            split_size=_size(split_size, "--split-size"),
            max_record=_size(max_record, "--max-record") or MAX_RECORD_BYTES,
            own=configuration.run,
            source=source,
            replacements=configuration.replacements,
            allow_empty=allow_empty,
            checkpoint=checkpoint,
            settle=settle,
        )
        if report is not None:
            _check_writable(report, "--report")
    with progress_bar(progress, output == "-" and sys.stdout.isatty()) as tell:
        result = execute(wanted, runner.start, tell)
    if report is not None:
        _write_report(report, result.report)
    if result.totals.rejects:
        raise typer.Exit(4)


def _write_report(file: Path, totals: object) -> None:
    from ggfmt.diagnostics.diagnostic import Committed, Diagnostic, Span

    try:
        file.write_text(json.dumps(totals, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"the run is committed, but its report cannot be written: {error.strerror}"
        help = "do not run it again: the manifest in the output directory has the same totals"
        raise Committed(Diagnostic("GG506", message, Span(file=str(file)), help)) from None


def _check_writable(file: Path, option: str) -> None:
    """Told before the work and not after it."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise typer.BadParameter(f"`{file}` cannot be written", param_hint=option)


def _size(text: str | None, option: str) -> int | None:
    from ggfmt.java.text import IllegalValue
    from ggfmt.options.value_types import Size

    try:
        return None if text is None else Size().parse(text)
    except IllegalValue as error:
        raise typer.BadParameter(f"{error}; {error.help}", param_hint=option) from None
