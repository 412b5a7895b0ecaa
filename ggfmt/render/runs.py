"""Runs as text: what a run will do, what a run did, and whether its output is as its manifests say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from ggfmt.commit.names import counted
from ggfmt.commit.store import FAILURES
from ggfmt.diagnostics.diagnostic import without_credentials
from ggfmt.formats import FORMATS
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.render.diagnostics import as_dict, count_findings, print_diagnostics
from ggfmt.render.report.facts import NOTHING_LOST, ReportData, operations_of, seconds_text, time_text
from ggfmt.render.wrapping import write_lines
from ggfmt.sinks.dry_run import DryRun
from ggfmt.sinks.kafka.run import TopicPlan
from ggfmt.sinks.messages.pipeline import HandlerOutput
from ggfmt.sinks.messages.publish import MIN_DIGITS
from ggfmt.sinks.messages.run_history import PastRun
from ggfmt.sinks.messages.verification import Verification


def verification_json(found: Verification) -> str:
    messages: dict[str, dict[str, int]] = {}
    for (handler, table), count in sorted(found.messages.items()):
        messages.setdefault(handler, {})[table] = count
    document: dict[str, Any] = {
        "runs": found.runs,
        f"{found.words[2]}s": found.files,
        "bytes": found.size,
        "messages": messages,
        "rejects": dict(sorted(found.rejects.items())),
        "findings": list(map(as_dict, found.findings)),
    }
    return json.dumps(document, indent=2) + "\n"


def print_verification(found: Verification, stream: TextIO) -> None:
    print_diagnostics(found.findings, stream)
    lines = []
    handler, table, file = found.words
    for (name, of), count in sorted(found.messages.items()):
        part = f"{table} {visible(of)}" if of else f"all {table}s"
        lines.append(f"{handler} {name}, {part}: {counted(count, 'message')}")
    lines += [f"{handler} {name}: {counted(count, 'reject')}" for name, count in sorted(found.rejects.items())]
    runs, files = counted(found.runs, "run"), counted(found.files, file)
    lines.append(f"{runs}, {files}, {found.size:,} bytes: {count_findings(found.findings)}")
    write_lines("".join(f"{line}\n" for line in lines), stream)


MESSAGE_LINES, MESSAGE_BYTES = 12, 1000  # of a first message
FULL_LINE = 60  # characters: a longer line is a message, or enough of it


def first_message_text(manifests: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the start of the first file of messages, if it is text; `manifests` are by output directory."""
    for root, manifest in manifests.items():
        files = [entry for entry in manifest.get("files", ()) if "rejects" not in entry]  # topics have none
        if files:
            order = {table: place for place, table in enumerate(manifest["totals"]["operations"])}
            path = min(files, key=lambda entry: order.get(entry["table"], 0))["path"]
            try:
                with Location.of(root).child(*path.split("/")).open_file() as stream:
                    return _start_text(path, bytes(stream.read(MESSAGE_BYTES)))
            except FAILURES:  # the run is committed all the same
                return ""
    return ""


def _start_text(path: str, content: bytes) -> str:
    text = content.decode(errors="ignore" if len(content) == MESSAGE_BYTES else "replace")
    lines = text.split("\n")[:MESSAGE_LINES]
    lines = lines[: next((number for number, line in enumerate(lines, 1) if len(line) > FULL_LINE), len(lines))]
    if "\ufffd" in text or not all(line.replace("\t", "").isprintable() for line in lines):
        return ""
    return "".join(f"{visible(line)}\n" for line in (f"The start of {path}:", *lines) if line)


# The plan of a run, as text.

_MAX_ITEMS = 20  # items of a list


def dry_run_text(planned: DryRun, whole: bool = False) -> str:
    most = None if whole else _MAX_ITEMS
    lines = [*_inputs(planned, most), *_tables(planned), *_first(planned.routes, most)]
    replaced = {output.root: names for output, names in planned.sink.replaced.items()}
    for target in planned.sink.targets:
        own = [name for name in replaced[target.root] if name.startswith(f"{target.handler}/")]
        lines += _handler(planned, target, len(own), most)
    if planned.run.idle is not None:
        lines.append(f"Nothing to do: {planned.run.idle}")
    lines.append("This was a dry run: nothing was written.")
    return "".join(f"{visible(line)}\n" for line in lines)


def _inputs(planned: DryRun, most: int | None) -> Iterator[str]:
    scan, files = planned.run.scan, planned.run.files
    assert scan is not None
    if files:
        yield f"Inputs: {counted(len(files), 'file')}, {scan.size:,} bytes as stored"
        endings = (f"bytes, {file.compression}" if file.compression else "bytes" for file in files)
        shown = [f"{file.shown}  {file.size:,} {ending}" for file, ending in zip(files, endings, strict=True)]
        yield from _first(shown, most)
        yield f"  Format: {scan.input_format}, {scan.reason}"
    if planned.standard_input:
        yield "Inputs: standard input, which was not read"
    if planned.splits is None:
        yield "Splits: their number depends on the cores of the cluster, and is known once Spark runs"
    elif files:
        largest = max((split.size for split in planned.splits), default=0)
        yield f"Splits: {len(planned.splits):,}, the largest of {largest:,} bytes"


def _tables(planned: DryRun) -> Iterator[str]:
    if planned.tables is None:
        yield "Tables: unknown until ggfmt has read all records; give `--definitions` to show them"
    else:
        origin = "in the first records" if planned.found else "from definitions"
        yield f"Tables: {len(planned.tables):,} {origin}"


def _handler(planned: DryRun, target: HandlerOutput, replaced: int, most: int | None) -> Iterator[str]:
    yield f"Handler {target.handler}: {target.settings.format}, {FORMATS[target.settings.format].doc}"
    if planned.sink.streamed:
        yield "  To standard output"
        return
    where = f"in place of {counted(replaced, 'file')}" if replaced else "which has no output yet"
    if planned.run.mode == "append":
        where = "beside the existing output"
    yield f"  Below {target.root.shown}/{target.handler}, {where}"
    files = []
    for item in planned.files(target):
        by_values = f"by the values of {', '.join(item.columns)}"
        names = by_values if item.place is None else item.place.numbered(0, MIN_DIGITS)
        files.append(f"{item.table or 'all tables'}: {names}")
    yield from _first(files, most)
    if not files:
        yield "  A directory for each table"
    for directory in target.schema_directories:
        yield f"  Schemas in {directory.shown}"


def topics_text(plans: Sequence[TopicPlan]) -> str:
    """Return what a run would send to each topic."""
    lines = [f"Topics: {len(plans):,}"]
    for plan in plans:
        totals = plan.totals
        limit = "" if plan.limit is None else f", of at most {plan.limit:,}"
        over = " - TOO LARGE" if plan.limit is not None and totals.largest > plan.limit else ""
        made = ", which the run would make" if plan.is_new else ""
        lines.append(f"  {plan.topic}: {counted(plan.partitions, 'partition')}{made}")
        lines.append(
            f"    {counted(totals.messages, 'message')}, {totals.bytes:,} bytes; "
            f"the largest message has {totals.largest:,}{limit}{over}"
        )
    lines.append("This was a dry run: nothing was sent.")
    return "".join(f"{visible(line)}\n" for line in lines)


def _first(lines: Sequence[str], most: int | None, noun: str = "") -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:most])
    left = 0 if most is None else len(lines) - most
    if left > 0 and noun:
        yield f"  and {counted(left, f'more {noun}')}; `--html FILE` shows all"
    elif left > 0:
        yield f"  and {left:,} more; see `--log-level debug`"


# A run as a few lines for a terminal: a summary of its page.

MAX_TABLES = 20
MAX_LOST = 5  # columns of a handler
MAX_REJECTS = 10


def run_text(run: PastRun) -> str:
    return "".join(f"{visible(line)}\n" for line in _lines(ReportData(run)))


def _lines(run: ReportData) -> Iterator[str]:
    manifest, totals = run.manifest, run.totals
    others = f", one of {run.runs:,} runs in this output" if run.runs > 1 else ""
    yield f"run {manifest.run} of {run.committed}, by ggfmt {manifest.ggfmt}{others}"
    yield f"  {'; '.join(run.verdict()) or NOTHING_LOST}"
    yield (
        f"  {counted(totals.operations_read, 'operation')} of {counted(len(run.tables), 'table')} from "
        f"{counted(len(manifest.inputs), 'file')} ({totals.input_bytes:,} bytes, {manifest.input_format}) in "
        f"{seconds_text(totals.seconds)}, {run.rate:,} operations/s"
    )
    if run.times:
        yield f"  times from {time_text(min(run.times))} to {time_text(max(run.times))}"
    if run.untimed:
        yield f"  without a time: {counted(run.untimed, 'operation')}"
    if manifest.replaced:
        yield f"  files replaced by later runs: handler {', '.join(manifest.replaced)}"
    rows = {name: f"; {counted(of.rows, 'row')}, {of.unresolved:,} unresolved" for name, of in manifest.tables.items()}
    lines = [f"{each.name}: {operations_of(each.operations)}{rows.get(each.name, '')}" for each in run.tables]
    yield from _first(lines, MAX_TABLES, "table")
    for name, handler in totals.handlers.items():
        settings = manifest.handlers.get(name)
        format = f" ({settings.format})" if settings is not None else ""
        files = f"{handler.bytes:,} bytes in {counted(handler.files, 'file')}"
        yield f"handler {name}{format}: {counted(handler.messages, 'message')}, {files}"
        if handler.extra_messages:
            yield f"  including {handler.extra_messages:,} extra from primary key updates"
        if handler.left_out:
            yield f"  left out: {counted(handler.left_out, 'truncate')}"
        rejects = [found for found in run.rejects if found.handler == name]
        yield from (f"  rejected: {found.count:,} [{found.code}] {found.title}" for found in rejects)
        lost = [
            f"lost: {counted(loss.values, 'value')} of {loss.table}, column {loss.column}: {loss.what}"
            if loss.column
            else f"lost: {counted(loss.values, 'operation')} of {loss.table}: {loss.what}"
            for owner, loss in run.losses
            if owner == name
        ]
        yield from _first(lost, MAX_LOST, "column")
        if handler.lost_characters:
            yield f"  lost: {counted(handler.lost_characters, 'character')} that the encoding does not have"
    if run.examples:
        yield "the first rejects:"
    for example, handlers in run.examples[:MAX_REJECTS]:
        place = "" if example.file is None else f"{without_credentials(example.file)}, byte {example.offset}: "
        owners = f" (handler{'s' * (len(handlers) != 1)} {', '.join(handlers)})" if any(handlers) else ""
        yield f"  {place}[{example.code}] {without_credentials(example.reason)}{owners}"
    if totals.seconds_by_step:
        yield "seconds: " + ", ".join(f"{step} {value:.3f}" for step, value in totals.seconds_by_step.items())
    yield f"{counted(len(manifest.schemas), 'schema')}, {counted(len(totals.warnings), 'warning')}"
