"""The command that makes messages."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.cli.output import emit_warnings, interrupt_before_commit, progress_bar
from ggfmt.commands import declaration
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import After, Option


def run(
    request: ConvertRequest,
    report: Annotated[
        Path | None, Option(metavar="FILE", panel="Output", help="Write the totals as JSON."), After("max_record")
    ] = None,
    progress: Annotated[bool | None, declaration.PROGRESS] = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run changes.json --to delimitedtext -o out`

    `ggfmt init json -o json.properties`

    `ggfmt run changes/ -c json.properties -o out --dry-run`

    `ggfmt run changes/ -c json.properties -o out`
    """
    from ggfmt.render.terminal import is_interactive

    if report is not None:
        _check_writable(report, "--report")
    with interrupt_before_commit():
        import ggfmt.config.handlers
        import ggfmt.sinks.messages.run  # noqa: F401 - both are much to load
    shown = False if request.dry_run else progress
    if shown is None and is_interactive(sys.stderr):
        from ggfmt.spark.target import detect_spark

        there = detect_spark()
        shown = False if there is not None and there.shows_progress else None
    with (
        progress_bar(shown, request.output == "-" and sys.stdout.isatty()) as progress_callback,
        interrupt_before_commit(),
    ):
        result = run_conversion(replace(request, warn=emit_warnings, progress=progress_callback))
    if request.dry_run:
        from ggfmt.render.runs import dry_run_text, topics_text
        from ggfmt.render.wrapping import write_lines

        whole = logging.getLogger("ggfmt").isEnabledFor(logging.DEBUG)
        text = topics_text(result.topics) if result.plan is None else dry_run_text(result.plan, whole)
        write_lines(text, sys.stdout)
        return
    if report is not None:
        _write_report(report, result.totals)
    if sys.stdout.isatty() and not request.checkpoint:
        from ggfmt.render.runs import first_message_text
        from ggfmt.render.terminal import write_text

        write_text(first_message_text(result.manifests), sys.stdout, is_data=True)
    if result.reject_count:
        raise typer.Exit(4)


def _write_report(file: Path, totals: object) -> None:
    from ggfmt.diagnostics.diagnostic import CommittedWithErrors

    try:
        file.write_text(json.dumps(totals, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"the run is committed, but its report cannot be written: {error.strerror}"
        help = "do not run it again: the manifest in the output directory has the same totals"
        raise CommittedWithErrors("GG506", message, str(file), help) from None


def _check_writable(file: Path, option: str) -> None:
    if file.is_dir() or not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise typer.BadParameter(f"`{file}` cannot be written", param_hint=option)
