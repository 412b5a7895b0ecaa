"""The command that makes messages."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ggfmt.cli.output import ReportFile, emit_warnings, interrupt_before_commit, progress_bar
from ggfmt.commands import declaration
from ggfmt.commands.conversion import ConvertRequest, Result, run_conversion
from ggfmt.commands.declaration import After

if TYPE_CHECKING:
    from ggfmt.render.report.page import Report


def run(
    request: ConvertRequest,
    report: Annotated[Path | None, declaration.REPORT, After("max_record")] = None,
    open_report: Annotated[bool, declaration.OPEN, After("report")] = False,
    progress: Annotated[bool | None, declaration.PROGRESS] = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run changes.json --to delimitedtext -o out`

    `ggfmt init json -o json.properties`

    `ggfmt run changes/ -c json.properties -o out --dry-run`

    `ggfmt run changes/ -c json.properties -o out`
    """
    from ggfmt.render.terminal import is_interactive

    to = ReportFile("run", report, open_report, str(request.output or "-"))
    with to.failures(), interrupt_before_commit():
        import ggfmt.config.handlers
        import ggfmt.sinks.messages.run  # noqa: F401 - both are much to load
    shown = False if request.dry_run else progress
    if shown is None and is_interactive(sys.stderr):
        from ggfmt.spark.target import detect_spark

        there = detect_spark()
        shown = False if there is not None and there.shows_progress else None
    with (
        to.failures(),
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
    to.write(lambda: _page(result, request.output), lambda: json.dumps(result.totals, indent=2, ensure_ascii=False))
    if sys.stdout.isatty() and not request.checkpoint:
        from ggfmt.render.runs import first_message_text
        from ggfmt.render.terminal import write_text

        write_text(first_message_text(result.manifests), sys.stdout, is_data=True)
    if result.reject_count:
        raise typer.Exit(4)


def _page(result: Result, output: object) -> Report:
    from ggfmt.render.report.manifests import run_report
    from ggfmt.sinks.messages.run_history import run_of

    where = next(iter(result.manifests), "standard output" if output == "-" else str(output or ""))
    return run_report(run_of(where, result.manifest, result.totals), "run", "Committed" if result.manifests else "Done")
