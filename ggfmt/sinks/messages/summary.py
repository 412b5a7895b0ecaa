"""The log of a run at its end: fields and warnings of few tables, and then a summary that fits a screen.

At level `debug` the log has more, and the manifest has everything. Names come from the data: each text shows them with
escapes, so that no name can control a terminal or forge a line.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ggfmt.commit.names import counted
from ggfmt.diagnostics.codes import CODES
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.change import OP_TYPES, OpType
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import RunResults
from ggfmt.sinks.messages.report import HandlerTotals, Totals

MOST_TABLES = 20  # with a line each
MOST_LINES, MOST_COLUMNS = 23, 80  # of a small terminal, less the line for the next command
_CUT = "..."

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class _Section:
    """Lines, and shorter ones for a screen without room for them."""

    lines: list[str]
    short: list[str]


def log_summary(results: RunResults) -> None:
    """Log the fields, warnings and the summary of a run."""
    whole = log.isEnabledFor(logging.DEBUG)
    for table in results.definitions if whole or len(results.definitions) <= MOST_TABLES else ():
        for target in results.job.targets:
            log.info("%s", report.field_summary(target, table))
    warnings = report.warnings(results.totals)
    for warning in warnings if whole else islice(warnings, MOST_TABLES):
        log.warning("%s", warning)
    left = sum(1 for _ in warnings)
    if left:
        log.warning("%s: see `--log-level debug`, or the manifest", counted(left, "more warning"))
    roots = dict.fromkeys(target.root for target in results.job.targets)
    log.info("%s", summary(results.totals, list(roots), whole))


def summary(totals: Totals, roots: Sequence[Location], whole: bool = False) -> str:
    """The totals of a run that wrote to `roots`: at most 23 lines, but all tables, members and handlers if `whole`."""
    rate = totals.read / totals.seconds if totals.seconds else 0
    head = [
        f"Totals: {counted(totals.read, 'operation')} read from {counted(totals.input_files, 'file')} "
        f"({totals.input_bytes:,} bytes)",
        f"  in {totals.seconds:.1f} s, {rate:,.0f} operations/s",
    ]
    sections = [
        _Section(head, head),
        _tables(totals),
        _no_operations(totals),
        _members(totals),
        _handlers(totals),
        _places(totals, roots),
    ]
    chosen = [section.lines for section in sections]
    if not whole:
        chosen = _fitting(sections)
        chosen[:-1] = [[_cut(visible(line)) for line in lines] for lines in chosen[:-1]]  # a path is shown in full
    return "\n".join(visible(line) for lines in chosen for line in lines)


def _fitting(sections: Sequence[_Section]) -> list[list[str]]:
    """The lines of each section, the longest one shortened until all have room."""
    chosen = [section.lines for section in sections]
    if len(chosen[1]) > MOST_TABLES:
        chosen[1] = sections[1].short
    while sum(map(len, chosen)) > MOST_LINES:
        gains = [len(now) - len(section.short) for now, section in zip(chosen, sections, strict=True)]
        longest = gains.index(max(gains))
        if gains[longest] <= 0:
            break
        chosen[longest] = sections[longest].short
    return chosen


def _tables(totals: Totals) -> _Section:
    tables: dict[str, Counter[str]] = {}
    kinds: Counter[str] = Counter()
    for (table, kind), count in totals.operations.items():
        tables.setdefault(table, Counter())[kind] += count
        kinds[kind] += count
    lines = [f"  {table}: {_by_type(counts)}" for table, counts in tables.items()]
    return _Section(lines, _one(lines, f"  {counted(len(tables), 'table')}: {_by_type(kinds)}"))


def _by_type(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]:,} {OpType(kind).name.lower()}" for kind in OP_TYPES if counts[kind])


def _no_operations(totals: Totals) -> _Section:
    lines = [f"  no operation: {counted(count, f'{name} record')}" for name, count in sorted(totals.others.items())]
    return _Section(lines, _one(lines, f"  no operation: {counted(totals.others.total(), 'record')}"))


def _members(totals: Totals) -> _Section:
    lines = [
        f"  unknown member `{name}` left out of {counted(count, 'operation')}"
        for name, count in sorted(totals.members.items())
    ]
    short = f"  {counted(len(lines), 'unknown member')} left out, {totals.members.total():,} times"
    return _Section(lines, _one(lines, short))


def _handlers(totals: Totals) -> _Section:
    blocks = [list(_handler(name, handler)) for name, handler in totals.handlers.items()]
    lines = [line for block in blocks for line in block]
    every = totals.handlers.values()
    lost = sum(handler.notes.total() + handler.lost_characters for handler in every)
    parts = [
        counted(sum(handler.messages for handler in every), "message"),
        f"{sum(handler.size for handler in every):,} bytes",
        *([f"{totals.rejects:,} rejected"] if totals.rejects else []),
        *([f"{lost:,} changed or lost"] if lost else []),
    ]
    return _Section(lines, _one(lines, f"  {counted(len(blocks), 'handler')}: {', '.join(parts)}"))


def _handler(name: str, handler: HandlerTotals) -> Iterable[str]:
    place = "on standard output" if handler.streamed else f"in {counted(handler.files, 'file')}"
    yield f"  handler {name}: {counted(handler.messages, 'message')}, {handler.size:,} bytes {place}"
    if handler.extras:
        yield f"    of them {handler.extras:,} more than operations, from primary key updates"
    if handler.left_out:
        yield f"    left out: {counted(handler.left_out, 'truncate')}"
    for code, count in sorted(handler.rejected.items()):
        yield f"    rejected: {count:,} [{code}] {CODES[code].title}"
    if handler.notes:
        columns = {(note.table, note.field) for note in handler.notes}
        values = counted(handler.notes.total(), "value")
        yield f"    not as they were: {values} of {counted(len(columns), 'column')}"
    if handler.lost_characters:
        yield f"    lost: {counted(handler.lost_characters, 'character')}"


def _places(totals: Totals, roots: Sequence[Location]) -> _Section:
    if any(handler.streamed for handler in totals.handlers.values()):
        return _Section([], [])
    lines = [f"  committed to {root.shown}" for root in roots]
    return _Section(lines, _one(lines, f"  committed to {len(lines)} directories"))


def _one(lines: Sequence[str], short: str) -> list[str]:
    return [short] if len(lines) > 1 else list(lines)


def _cut(line: str) -> str:
    """A line cut to the width of a terminal."""
    return line if len(line) <= MOST_COLUMNS else line[: MOST_COLUMNS - len(_CUT)] + _CUT
