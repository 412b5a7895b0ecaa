"""A run as a few lines for a terminal: what the page tells, in short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ggfmt.commit.names import counted
from ggfmt.diagnostics.credentials import without_credentials
from ggfmt.java.text import visible
from ggfmt.render.diagnostics.text import write_text
from ggfmt.render.report.facts import ReportData, operations_of
from ggfmt.render.report.scales import seconds
from ggfmt.sinks.messages.run_history import PastRun

MOST_TABLES = 20
MOST_LOST = 5  # columns of a handler
MOST_REJECTS = 10


def print_run(run: PastRun, stream: TextIO) -> None:
    write_text(run_text(run), stream)


def run_text(run: PastRun) -> str:
    """The text, each line with a line break at its end; what of the data does not print is shown as escapes."""
    return "".join(f"{visible(line)}\n" for line in _lines(ReportData(run)))


def _lines(run: ReportData) -> Iterator[str]:
    manifest, totals = run.manifest, run.totals
    others = f", one of {run.runs:,} runs here" if run.runs > 1 else ""
    yield f"run {manifest.run} of {run.committed}, by ggfmt {manifest.ggfmt}{others}"
    yield f"  {'; '.join(run.verdict()) or 'nothing set aside, no value lost'}"
    yield (
        f"  {counted(totals.operations_read, 'operation')} of {counted(len(run.tables), 'table')} from "
        f"{counted(len(manifest.inputs), 'file')} ({totals.input_bytes:,} bytes, {manifest.input_format}) in "
        f"{seconds(totals.seconds)}, {run.rate:,} operations/s"
    )
    if run.moments:
        yield f"  times from {run.moments[0].time} to {run.moments[-1].time}"
    if run.untimed:
        yield f"  without a time: {counted(run.untimed, 'operation')}"
    if manifest.replaced:
        yield f"  files replaced by later runs: handler {', '.join(manifest.replaced)}"
    yield from _most([f"{table.name}: {operations_of(table.operations)}" for table in run.tables], MOST_TABLES, "table")
    for name, handler in totals.handlers.items():
        settings = manifest.handlers.get(name)
        format = f" ({settings.format})" if settings is not None else ""
        files = f"{handler.bytes:,} bytes in {counted(handler.files, 'file')}"
        yield f"handler {name}{format}: {counted(handler.messages, 'message')}, {files}"
        if handler.extra_messages:
            yield f"  of them {handler.extra_messages:,} more than operations, from primary key updates"
        if handler.left_out:
            yield f"  left out: {counted(handler.left_out, 'truncate')}"
        rejects = [found for found in run.rejects if found.handler == name]
        yield from (f"  rejected: {found.count:,} [{found.code}] {found.title}" for found in rejects)
        lost = [
            f"lost: {counted(loss.values, 'value')} of {loss.table}, column {loss.column}: {loss.what}"
            for owner, loss in run.losses
            if owner == name
        ]
        yield from _most(lost, MOST_LOST, "column")
        if handler.lost_characters:
            yield f"  lost: {counted(handler.lost_characters, 'character')} that the encoding does not have"
    if run.examples:
        yield "the first rejects:"
    for example, handlers in run.examples[:MOST_REJECTS]:
        place = "" if example.file is None else f"{without_credentials(example.file)}, byte {example.offset}: "
        yield f"  {place}[{example.code}] {without_credentials(example.reason)} ({_of(handlers)})"
    if totals.seconds_by_step:
        yield "seconds: " + ", ".join(f"{step} {value:.3f}" for step, value in totals.seconds_by_step.items())
    yield f"{counted(len(manifest.schemas), 'schema')}, {counted(len(totals.warnings), 'warning')}"


def _of(handlers: list[str]) -> str:
    return f"{'handler' if len(handlers) == 1 else 'handlers'} {', '.join(handlers)}"


def _most(lines: list[str], most: int, noun: str) -> Iterator[str]:
    """The first lines, and how many more there are."""
    yield from (f"  {line}" for line in lines[:most])
    if len(lines) > most:
        yield f"  and {counted(len(lines) - most, f'more {noun}')}; `--html FILE` shows all"
