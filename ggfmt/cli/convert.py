"""`ggfmt run`."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ggfmt.cli.gc_control import gc_disabled
from ggfmt.cli.messages import emit_findings, interrupt_before_commit
from ggfmt.commands import options
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import After, Option
from ggfmt.spark.target import detect_spark

if TYPE_CHECKING:
    from ggfmt.sinks.dry_run import DryRun

# What `ggfmt run --dry-run` prints.


def show_plan(planned: DryRun) -> None:
    """Print what the run would do."""
    from ggfmt.render.diagnostics import write_text
    from ggfmt.render.runs import dry_run_text

    whole = logging.getLogger("ggfmt").isEnabledFor(logging.DEBUG)
    write_text(dry_run_text(planned, whole), sys.stdout)


def run(
    request: ConvertRequest,
    report: Annotated[
        Path | None,
        Option(metavar="FILE", panel="Output", help="Write the totals as JSON."),
        After("max_record"),
    ] = None,
    progress: Annotated[bool | None, options.PROGRESS] = None,
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
        import ggfmt.sinks.messages.run  # noqa: F401 - both are much to load
    there = detect_spark()
    shown = False if request.dry_run or (progress is None and there is not None and there.shows_progress) else progress
    with progress_bar(shown, request.output == "-" and sys.stdout.isatty()) as tell, interrupt_before_commit():
        result = run_conversion(replace(request, warn=emit_findings, progress=tell))
    if result.plan is not None:
        show_plan(result.plan)
        return
    if report is not None:
        _write_report(report, result.totals)
    if result.reject_count:
        raise typer.Exit(4)


def _write_report(file: Path, totals: object) -> None:
    from ggfmt.diagnostics.diagnostic import CommittedWithErrors, Diagnostic, Span

    try:
        file.write_text(json.dumps(totals, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"the run is committed, but its report cannot be written: {error.strerror}"
        help = "do not run it again: the manifest in the output directory has the same totals"
        raise CommittedWithErrors(Diagnostic("GG506", message, Span(file=str(file)), help)) from None


def _check_writable(file: Path, option: str) -> None:
    """Told before the work and not after it."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise typer.BadParameter(f"`{file}` cannot be written", param_hint=option)
