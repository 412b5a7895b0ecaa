"""`ggfmt run`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.api.conversion import Mode, OnReject, convert
from ggfmt.cli.dry_run import show_plan
from ggfmt.cli.gc_control import gc_disabled
from ggfmt.cli.messages import emit_findings, interrupt_before_commit
from ggfmt.cli.parameters import (
    AllowEmpty,
    CheckpointOption,
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
    MaxRecord,
    Progress,
    Remote,
    Settings,
    SettleOption,
    SparkConf,
    SplitSize,
    To,
)
from ggfmt.spark.existing import detect_spark


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
    allow_empty: AllowEmpty = False,
    checkpoint: CheckpointOption = None,
    settle: SettleOption = None,
    current_timestamp: CurrentTimestamp = None,
    master: Master = None,
    remote: Remote = None,
    spark_conf: SparkConf = None,
    java_home: JavaHome = None,
    split_size: SplitSize = None,
    max_record: MaxRecord = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the totals as JSON.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all, show what the run would do, and write nothing.")
    ] = False,
    progress: Progress = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run changes.json --to delimitedtext -o out`

    `ggfmt init json -o json.properties`

    `ggfmt run changes/ -c json.properties -o out --dry-run`

    `ggfmt run changes/ -c json.properties -o out`
    """
    from ggfmt.render.progress import progress_bar

    if report is not None:
        _check_writable(report, "--report")
    with gc_disabled(), interrupt_before_commit():
        import ggfmt.config.handlers
        import ggfmt.engine.run  # noqa: F401 - both are much to load
    there = detect_spark()
    shown = False if dry_run or (progress is None and there is not None and there.shows_progress) else progress
    with progress_bar(shown, output == "-" and sys.stdout.isatty()) as tell, interrupt_before_commit():
        result = convert(
            inputs,
            config=config,
            output=output,
            to=to,
            handlers=handlers,
            input_format=input_format,
            input_config=input_config,
            input_options=input_options,
            definitions=definitions,
            settings=settings,
            mode=mode,
            on_reject=on_reject,
            strict_fidelity=strict_fidelity,
            allow_empty=allow_empty,
            checkpoint=checkpoint,
            settle=settle,
            current_timestamp=current_timestamp,
            master=master,
            spark_conf=spark_conf,
            java_home=java_home,
            remote=remote,
            split_size=split_size,
            max_record=max_record,
            dry_run=dry_run,
            warn=emit_findings,
            progress=tell,
        )
    if result.plan is not None:
        show_plan(result.plan)
        return
    if report is not None:
        _write_report(report, result.totals)
    if result.reject_count:
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
