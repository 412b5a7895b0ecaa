"""The plan of a run, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ggfmt.commit.names import counted
from ggfmt.formats import FORMATS
from ggfmt.java.text import visible
from ggfmt.sinks.dry_run import DryRun, FilePlan
from ggfmt.sinks.messages.job import HandlerOutput
from ggfmt.sinks.messages.publish import LEAST_DIGITS

_MOST = 20  # of a list


def dry_run_text(planned: DryRun, whole: bool = False) -> str:
    """What the run would read, and where it would write; lists end after 20 unless `whole`."""
    most = None if whole else _MOST
    lines = [*_inputs(planned, most), *_tables(planned)]
    for target, replaced in _targets(planned):
        lines += _handler(planned, target, replaced, most)
    if planned.prepared.idle is not None:
        lines.append(f"Nothing to do: {planned.prepared.idle}")
    lines.append("This was a dry run: nothing was written.")
    return "".join(f"{visible(line)}\n" for line in lines)


def _inputs(planned: DryRun, most: int | None) -> Iterator[str]:
    scan = planned.scan
    files = scan.files
    if files:
        yield f"Inputs: {counted(len(files), 'file')}, {scan.size:,} bytes as stored"
        yield from _some([f"  {file.shown}  {_about(file)}" for file in files], most)
        yield f"  Format: {scan.input_format}, {scan.reason}"
    if planned.standard_input:
        yield "Inputs: standard input, which was not looked at"
    if planned.splits is None:
        yield "Splits: as many as the cluster has cores for; that is known once Spark runs"
    elif files:
        largest = max((split.size for split in planned.splits), default=0)
        yield f"Splits: {len(planned.splits):,}, the largest of {largest:,} bytes"


def _about(file: object) -> str:
    size, compression = getattr(file, "size", 0), getattr(file, "compression", None)
    return f"{size:,} bytes" + (f", {compression}" if compression else "")


def _tables(planned: DryRun) -> Iterator[str]:
    if planned.tables is None:
        yield "Tables: not known before all records have been looked at; `--definitions` tells them"
    else:
        origin = "in the first records" if planned.found else "by definitions"
        yield f"Tables: {len(planned.tables):,} {origin}"


def _targets(planned: DryRun) -> Iterator[tuple[HandlerOutput, Sequence[str]]]:
    prepared = planned.prepared
    replaced = {output.root: names for output, names in zip(prepared.outputs, prepared.replaced, strict=True)}
    for target in prepared.job.targets:
        start = f"{target.handler}/"
        yield target, [name for name in replaced[target.root] if name.startswith(start)]


def _handler(planned: DryRun, target: HandlerOutput, replaced: Sequence[str], most: int | None) -> Iterator[str]:
    yield f"Handler {target.handler}: {target.settings.format}, {FORMATS[target.settings.format].doc}"
    if planned.prepared.stream:
        yield "  To standard output"
        return
    root = f"{target.root.shown}/{target.handler}"
    yield f"  Below {root}, {_mode(planned.prepared.mode, len(replaced))}"
    files = [f"  {_file(item)}" for item in planned.files(target)]
    yield from _some(files, most)
    if not files:
        yield "  A directory for each table"
    for directory in target.schema_directories:
        yield f"  Schemas in {directory.shown}"


def _mode(mode: str, replaced: int) -> str:
    if mode == "append":
        return "beside what is there"
    return f"in place of {counted(replaced, 'file')}" if replaced else "where there is no output yet"


def _file(item: FilePlan) -> str:
    name = item.table or "all tables"
    if item.place is None:
        return f"{name}: by the values of {', '.join(item.columns)}"
    return f"{name}: {item.place.numbered(0, LEAST_DIGITS)}"


def _some(lines: Sequence[str], most: int | None) -> Iterator[str]:
    yield from lines[:most]
    if most is not None and len(lines) > most:
        yield f"  and {len(lines) - most:,} more, told at `--log-level debug`"
