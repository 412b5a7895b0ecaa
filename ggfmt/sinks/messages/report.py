"""The report of a run: the configuration of each handler, the fields of each table, and the totals.

Names come from the data: every text shows them with escapes, so that none can steer a terminal or make up a line.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from shlex import quote
from typing import Any

from ggfmt.columnar.metadata import Clock
from ggfmt.commit.names import counted
from ggfmt.commit.records import MAPPED_MEMBER
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats import FORMATS
from ggfmt.formats.api.losses import Loss, active_losses
from ggfmt.formats.api.writing import LossNote
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.change import OP_TYPES, OpType
from ggfmt.model.table import TableDef
from ggfmt.reading import tasks
from ggfmt.reading.progress import FORMATTING, READING, WRITING, added
from ggfmt.reading.tasks import RecordCounts, account
from ggfmt.sinks.messages.pipeline import HandlerOutput
from ggfmt.sinks.messages.sink import HandlerCounts, MessageOutcome, add_counts

log = logging.getLogger("ggfmt")


@dataclass
class HandlerTotals(HandlerCounts):
    """The totals of one handler; `topics`: those of Kafka, with their messages, bytes and largest message; `not_shown`:
    the losses of all values, which are not counted."""

    files: int = 0
    size: int = 0
    streamed: bool = False
    topics: Mapping[str, Any] = field(default_factory=dict)
    not_shown: tuple[Loss, ...] = ()


@dataclass
class RunTotals(RecordCounts):
    handlers: dict[str, HandlerTotals] = field(default_factory=dict)
    application: str | None = None
    input_files: int = 0
    input_bytes: int = 0
    seconds: float = 0.0
    seconds_in_tasks: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """How many operations reached the handlers."""
        return sum(self.operations.values())

    @property
    def read_with_others(self) -> int:
        """How many operations were read, with those that MAPs have left out, and without their copies."""
        return account(self.mapped).read if self.mapped else self.read

    @property
    def rejects(self) -> int:
        return sum(sum(handler.rejected.values()) for handler in self.handlers.values())

    def imbalance(self) -> str | None:
        """Return a message if the operations read are not the messages written plus the rejected records."""
        if self.mapped and (problem := account(self.mapped).imbalance(self.read)) is not None:
            return problem
        for name, handler in self.handlers.items():
            accounted = handler.messages - handler.extras + handler.left_out + sum(handler.rejected.values())
            if accounted != self.read + self.rejected_records:
                return f"handler {name}: {self.read + self.rejected_records} records read, {accounted} accounted for"
        return None


def sum_outcomes(outcomes: Sequence[MessageOutcome], targets: Sequence[HandlerOutput]) -> RunTotals:
    totals = RunTotals()
    order: dict[str, int] = {}
    for table in definitions_met(outcomes):
        order.setdefault(table.full_name, len(order))
    for target in targets:
        own = target.settings
        losses = active_losses(FORMATS[own.format].losses, own.options, own.context)
        totals.handlers[target.handler] = HandlerTotals(not_shown=tuple(loss for loss in losses if not loss.note))
    for outcome in outcomes:
        add_counts(RecordCounts, totals, outcome)
        totals.steps = added(totals.steps, outcome.steps)
        for name, written in outcome.written.items():
            add_counts(HandlerCounts, totals.handlers[name], written)
    counts = sorted(totals.operations.items(), key=lambda item: order.get(item[0][0], len(order)))
    totals.operations = Counter(dict(counts))
    return totals


def add_totals(totals: RunTotals, more: RunTotals) -> None:
    """Add the totals of the next commit of a run."""
    add_counts(RecordCounts, totals, more)
    for name, handler in more.handlers.items():
        own = totals.handlers.setdefault(name, HandlerTotals(streamed=handler.streamed, not_shown=handler.not_shown))
        add_counts(HandlerCounts, own, handler)
        own.files, own.size = own.files + handler.files, own.size + handler.size
    totals.application = more.application or totals.application
    totals.input_files += more.input_files
    totals.input_bytes += more.input_bytes
    totals.seconds += more.seconds
    totals.seconds_in_tasks += more.seconds_in_tasks
    totals.steps = added(totals.steps, more.steps)


def definitions_met(outcomes: Sequence[MessageOutcome]) -> list[TableDef]:
    """Return the definitions of all operations, in order; a table appears again after each change."""
    met = []
    current: dict[str, TableDef] = {}
    for seen in sorted((seen for outcome in outcomes for seen in outcome.seen), key=lambda seen: seen.place):
        if current.get(seen.table.full_name) != seen.table:
            current[seen.table.full_name] = seen.table
            met.append(seen.table)
    return met


def configuration_summary(target: HandlerOutput, stream: bool = False) -> str:
    """Return all options of a handler. `stream`: its messages go to standard output."""
    settings, format = target.settings, FORMATS[target.settings.format]
    lines = [f"Configuration summary of handler {target.handler}", f"  {format.doc}"]
    layout = "a directory for each table" if settings.partition_by_table else "all tables in the same files"
    place = "standard output" if stream else f"{target.root.shown}/{target.handler}, {layout}"
    lines.append(f"  Output: {target.shown_place or place}.")
    lines.append(f"  Tokens: {'included' if settings.context.include_tokens else 'not included'}.")
    specs = format.options.specs()
    width = max((len(spec.name) for spec in specs), default=0)
    for spec in specs:
        value = getattr(settings.options, spec.attr)
        origin = "" if value != spec.default else " (default)"
        lines.append(f"  {spec.name:{width}} = {spec.text(value)}{origin}")
    return _text(lines)


def field_summary(target: HandlerOutput, table: TableDef) -> str:
    fields = target.settings.formatter(table, Clock()).fields
    lines = [f"Fields of table {table.full_name} as written by handler {target.handler}"]
    lines += [f"  {number:{len(str(len(fields)))}}: {name}" for number, name in enumerate(fields, 1)]
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(map(visible, lines))


def warnings(totals: RunTotals) -> Iterator[str]:
    """Yield a warning for each table or column; losses of whole operations have none, as options determine them."""
    yield from tasks.remarks(totals)
    for name, handler in totals.handlers.items():
        for note, count in _ordered(handler.notes):
            if not note.field:
                continue
            yield visible(
                f"[{note.code}] handler {name}, table {note.table}, column {note.field}: "
                f"{counted(count, 'value')} {note.detail}"
            )
        if handler.lost_characters:
            yield (
                f"[GG404] handler {name}: {counted(handler.lost_characters, 'character')} that the encoding does not "
                "have became `?`; choose another `encoding`"
            )


def _ordered(notes: Counter[LossNote]) -> list[tuple[LossNote, int]]:
    return sorted(notes.items(), key=lambda item: (item[0].table, item[0].field, item[0].detail))


def as_document(totals: RunTotals) -> dict[str, Any]:
    operations: dict[str, dict[str, int]] = {}
    for (table, kind), count in totals.operations.items():
        operations.setdefault(table, {})[kind] = count
    return {
        "operations": operations,
        "operations_read": totals.read,
        "operations_by_time": totals.timeline.as_document(),
        "records_rejected_by_reader": totals.rejected_records,
        "other_records": dict(totals.others),
        "unknown_members": dict(totals.members),
        "skipped_records": dict(sorted(totals.skipped.items())),
        **({MAPPED_MEMBER: account(totals.mapped).document} if totals.mapped else {}),
        "input_bytes": totals.input_bytes,
        "spark_application": totals.application,
        "seconds": round(totals.seconds, 3),
        "seconds_in_tasks": round(totals.seconds_in_tasks, 3),
        "seconds_by_step": {step: round(seconds, 3) for step, seconds in totals.steps.items()},
        "handlers": {
            name: {
                "messages": handler.messages,
                "extra_messages": handler.extras,
                "left_out": handler.left_out,
                "files": handler.files,
                "bytes": handler.size,
                **(
                    {"topics": {name: topic.described for name, topic in handler.topics.items()}}
                    if handler.topics
                    else {}
                ),
                "rejects": dict(handler.rejected),
                "lost_characters": handler.lost_characters,
                "not_shown": [{"loss": loss.id, "what": loss.text} for loss in handler.not_shown],
                "losses": [
                    {
                        "loss": note.loss,
                        "code": note.code,
                        "table": note.table,
                        "column": note.field,
                        "values": count,
                        "what": note.detail,
                    }
                    for note, count in _ordered(handler.notes)
                ],
            }
            for name, handler in totals.handlers.items()
        },
        "warnings": list(warnings(totals)),
    }


# The log of a run at its end: warnings of few tables, and then a summary that fits a screen. At level `debug` the log
# has more, and the manifest has everything.

MAX_TABLES = 20  # with a line each
MAX_LINES, MAX_COLUMNS = 24, 80  # of a small terminal
MIN_SECONDS = 1
_CUT = "..."


@dataclass(frozen=True)
class _Section:
    """Lines, and one that stands for several on a screen without room for them."""

    lines: list[str]
    summary: str | None = None

    @property
    def short(self) -> list[str]:
        return [self.summary] if self.summary is not None and len(self.lines) > 1 else self.lines


def log_summary(totals: RunTotals, definitions: Sequence[TableDef], targets: Sequence[HandlerOutput]) -> None:
    whole = log.isEnabledFor(logging.DEBUG)
    for table in definitions if whole else ():
        for target in targets:
            log.debug("%s", field_summary(target, table))
    found = warnings(totals)
    for warning in found if whole else islice(found, MAX_TABLES):
        log.warning("%s", warning)
    left = sum(1 for _ in found)
    if left:
        log.warning("%s: see `--log-level debug`, or the manifest", counted(left, "more warning"))
    roots = dict.fromkeys(target.root for target in targets if target.shown_place is None)
    log.info("%s", summary(totals, list(roots), whole))


def summary(totals: RunTotals, roots: Sequence[Location], whole: bool = False) -> str:
    """Return the totals of a run, in at most 24 lines unless `whole`."""
    # A rate says something only of a run that has read for a while.
    working = sum(totals.steps.get(step, 0) for step in (READING, FORMATTING, WRITING))
    rate = f", {totals.read / totals.seconds:,.0f} operations/s" if working > MIN_SECONDS else ""
    head = [
        f"Totals: {counted(totals.read_with_others, 'operation')} read from "
        f"{counted(totals.input_files, 'file')} ({totals.input_bytes:,} bytes)",
        f"  in {totals.seconds:.1f} s{rate}",
    ]
    is_streamed = any(handler.streamed for handler in totals.handlers.values())
    sections = [
        _Section(head),
        _tables(totals),
        *(_Section([f"  {line}" for line in lines], f"  {short}") for lines, short in tasks.sections(totals)),
        _handlers(totals),
        _Section(
            [] if is_streamed else [f"  committed to {root.shown}" for root in roots],
            f"  committed to {len(roots)} directories",
        ),
        _Section([f"  next: ggfmt report {quote(roots[0].shown)}"] if len(roots) == 1 and not is_streamed else []),
    ]
    chosen = [section.lines for section in sections]
    if not whole:
        chosen = _fitting(sections)
        chosen[:-2] = [[_cut(visible(line)) for line in lines] for lines in chosen[:-2]]  # a path is shown in full
    return "\n".join(visible(line) for lines in chosen for line in lines)


def _fitting(sections: Sequence[_Section]) -> list[list[str]]:
    chosen = [section.lines for section in sections]
    if len(chosen[1]) > MAX_TABLES:
        chosen[1] = sections[1].short
    while sum(map(len, chosen)) > MAX_LINES:
        gains = [len(now) - len(section.short) for now, section in zip(chosen, sections, strict=True)]
        longest = gains.index(max(gains))
        if gains[longest] <= 0:
            break
        chosen[longest] = sections[longest].short
    return chosen


def _tables(totals: RunTotals) -> _Section:
    tables: dict[str, Counter[str]] = {}
    kinds: Counter[str] = Counter()
    for (table, kind), count in totals.operations.items():
        tables.setdefault(table, Counter())[kind] += count
        kinds[kind] += count
    lines = [f"  {table}: {_by_type(counts)}" for table, counts in tables.items()]
    return _Section(lines, f"  {counted(len(tables), 'table')}: {_by_type(kinds)}")


def _by_type(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]:,} {OpType(kind).name.lower()}" for kind in OP_TYPES if counts[kind])


def _handlers(totals: RunTotals) -> _Section:
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
    return _Section(lines, f"  {counted(len(blocks), 'handler')}: {', '.join(parts)}")


def _handler(name: str, handler: HandlerTotals) -> Iterable[str]:
    place = "on standard output" if handler.streamed else f"in {counted(handler.files, 'file')}"
    place = f"in {counted(len(handler.topics), 'topic')}" if handler.topics else place
    yield f"  handler {name}: {counted(handler.messages, 'message')}, {handler.size:,} bytes {place}"
    if handler.extras:
        yield f"    including {handler.extras:,} extra from primary key updates"
    if handler.left_out:
        yield f"    left out: {counted(handler.left_out, 'truncate')}"
    for code, count in sorted(handler.rejected.items()):
        yield f"    rejected: {count:,} [{code}] {CODES[code].title}"
    if handler.notes:
        columns = {(note.table, note.field) for note in handler.notes if note.field}
        values = sum(count for note, count in handler.notes.items() if note.field)
        if columns:
            yield f"    changed: {counted(values, 'value')} of {counted(len(columns), 'column')}"
        of_operations: Counter[str] = Counter()
        for note, count in handler.notes.items():
            if not note.field:
                of_operations[note.detail] += count
        for detail, count in sorted(of_operations.items()):
            yield f"    changed: {counted(count, 'operation')} {detail}"
    if handler.lost_characters:
        yield f"    lost: {counted(handler.lost_characters, 'character')}"


def _cut(line: str) -> str:
    return line if len(line) <= MAX_COLUMNS else line[: MAX_COLUMNS - len(_CUT)] + _CUT
