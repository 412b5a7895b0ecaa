"""A run from end to end: prepare it, run its tasks, publish the output."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ggfmt import signals
from ggfmt.commit.commit import reason
from ggfmt.commit.names import counted
from ggfmt.commit.store import FAILURES
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.change import OP_TYPES, OpType
from ggfmt.reading.checkpoint import warn_rejected_files_are_done
from ggfmt.reading.progress import COMMITTING, LISTING, STARTING, ProgressCallback, ProgressTracker, Stopwatch, added
from ggfmt.reading.runner import InProcess, Runner, warn_without_kernels
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import RunResults, execute_tasks
from ggfmt.sinks.messages.preparation import TRACE, PreparedRun, RunSettings, check_inputs_unchanged, prepare
from ggfmt.sinks.messages.publish import is_committed, publish
from ggfmt.sinks.messages.report import HandlerTotals, Totals
from ggfmt.sinks.messages.stream import write_stream

__all__ = ["RunResult", "RunSettings", "execute"]

log = logging.getLogger("ggfmt")

# The log of a run at its end: fields and warnings of few tables, and then a summary that fits a screen. At level
# `debug` the log has more, and the manifest has everything. Names come from the data: each text shows them with
# escapes, so that no name can control a terminal or forge a line.

MAX_TABLES = 20  # with a line each
MAX_LINES, MAX_COLUMNS = 23, 80  # of a small terminal, less the line for the next command
_CUT = "..."


@dataclass(frozen=True)
class _Section:
    """Lines, and one that stands for several on a screen without room for them."""

    lines: list[str]
    summary: str | None = None

    @property
    def short(self) -> list[str]:
        return [self.summary] if self.summary is not None and len(self.lines) > 1 else self.lines


def log_summary(results: RunResults) -> None:
    whole = log.isEnabledFor(logging.DEBUG)
    for table in results.definitions if whole or len(results.definitions) <= MAX_TABLES else ():
        for target in results.job.targets:
            log.info("%s", report.field_summary(target, table))
    warnings = report.warnings(results.totals)
    for warning in warnings if whole else islice(warnings, MAX_TABLES):
        log.warning("%s", warning)
    left = sum(1 for _ in warnings)
    if left:
        log.warning("%s: see `--log-level debug`, or the manifest", counted(left, "more warning"))
    roots = dict.fromkeys(target.root for target in results.job.targets)
    log.info("%s", summary(results.totals, list(roots), whole))


def summary(totals: Totals, roots: Sequence[Location], whole: bool = False) -> str:
    """Return the totals of a run, in at most 23 lines unless `whole`."""
    rate = totals.read / totals.seconds if totals.seconds else 0
    head = [
        f"Totals: {counted(totals.read, 'operation')} read from {counted(totals.input_files, 'file')} "
        f"({totals.input_bytes:,} bytes)",
        f"  in {totals.seconds:.1f} s, {rate:,.0f} operations/s",
    ]
    others, skipped, members = (sorted(counts.items()) for counts in (totals.others, totals.skipped, totals.members))
    is_streamed = any(handler.streamed for handler in totals.handlers.values())
    sections = [
        _Section(head),
        _tables(totals),
        _Section(
            [f"  not operations: {counted(count, f'{name} record')}" for name, count in others],
            f"  not operations: {counted(totals.others.total(), 'record')}",
        ),
        _Section(
            [f"  not selected: {name}, {counted(count, 'record')}" for name, count in skipped],
            f"  not selected: {counted(len(skipped), 'table')}, {counted(totals.skipped.total(), 'record')}",
        ),
        _Section(
            [f"  unknown member `{name}` left out of {counted(count, 'operation')}" for name, count in members],
            f"  {counted(len(members), 'unknown member')} left out, {totals.members.total():,} times",
        ),
        _handlers(totals),
        _Section(
            [] if is_streamed else [f"  committed to {root.shown}" for root in roots],
            f"  committed to {len(roots)} directories",
        ),
    ]
    chosen = [section.lines for section in sections]
    if not whole:
        chosen = _fitting(sections)
        chosen[:-1] = [[_cut(visible(line)) for line in lines] for lines in chosen[:-1]]  # a path is shown in full
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


def _tables(totals: Totals) -> _Section:
    tables: dict[str, Counter[str]] = {}
    kinds: Counter[str] = Counter()
    for (table, kind), count in totals.operations.items():
        tables.setdefault(table, Counter())[kind] += count
        kinds[kind] += count
    lines = [f"  {table}: {_by_type(counts)}" for table, counts in tables.items()]
    return _Section(lines, f"  {counted(len(tables), 'table')}: {_by_type(kinds)}")


def _by_type(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]:,} {OpType(kind).name.lower()}" for kind in OP_TYPES if counts[kind])


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
    return _Section(lines, f"  {counted(len(blocks), 'handler')}: {', '.join(parts)}")


def _handler(name: str, handler: HandlerTotals) -> Iterable[str]:
    place = "on standard output" if handler.streamed else f"in {counted(handler.files, 'file')}"
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


@dataclass(frozen=True)
class RunResult:
    """`manifests` are by output directory; empty if nothing was committed."""

    totals: report.Totals
    manifests: dict[str, dict[str, Any]]

    @property
    def report(self) -> dict[str, Any]:
        """Return the totals as `--report` writes them, with the seconds of the commit, which no manifest can have."""
        return report.as_document(self.totals)


def execute(
    settings: RunSettings, start: Callable[[], AbstractContextManager[Runner]], progress: ProgressCallback | None = None
) -> RunResult:
    """Run a conversion. `start` starts the runner, after all other checks.

    `progress` is called on this thread or one of the runner's. Abend if the data prevents a commit, UsageError or
    ConfigurationError for a wrong request. After a signal: KeyboardInterrupt, or CommittedWithErrors GG550.
    """
    running = _RunExecution(settings, start, ProgressTracker(progress))
    try:
        result = running.run()
        signals.suspend()  # the run is committed: a later signal must not say otherwise
        return result
    except KeyboardInterrupt:
        raise running.interrupted() from None


@dataclass
class _RunExecution:
    settings: RunSettings
    start: Callable[[], AbstractContextManager[Runner]]
    tracker: ProgressTracker
    committing: PreparedRun | None = None
    manifests: dict[str, dict[str, Any]] | None = None

    def run(self) -> RunResult:
        settings, start, tracker = self.settings, self.start, self.tracker
        started, watch = time.perf_counter(), Stopwatch()
        with ExitStack() as stack:
            tracker.start_phase(LISTING)
            prepared = prepare(settings, stack)
            watch.lap(LISTING)
            if prepared.idle is not None:
                log.info("nothing to do: %s", prepared.idle)
                if prepared.checkpoint is not None:
                    prepared.checkpoint.record_renewed(prepared.job.run)
                return RunResult(report.Totals(), {})
            warn_without_kernels()
            waiting = start()
            if not isinstance(waiting, InProcess):
                tracker.start_phase(STARTING)
            runner = stack.enter_context(waiting)
            watch.lap(STARTING)
            try:
                results = execute_tasks(prepared, runner, watch, tracker)
            except Abend:
                # If a file was cut meanwhile, half a record is no mistake in the data.
                check_inputs_unchanged(prepared.files)
                raise
            results.totals.seconds = time.perf_counter() - started
            results.totals.steps = added(results.totals.steps, watch.seconds)
            watch.lap(None)
            checkpoint, job = prepared.checkpoint, results.job
            others = []
            if checkpoint is not None:
                others.append(checkpoint.part(job.run, job.targets, prepared.inputs))
            check_inputs_unchanged(prepared.files)  # last, so that the checkpoint records what the run has read
            tracker.start_phase(COMMITTING)
            self.committing = prepared
            if prepared.stream:
                (target,) = results.job.targets
                write_stream(results.files, target, results.totals.handlers[target.handler])
                self.manifests = {}
            else:
                self.manifests = publish(prepared, results, others)
            watch.lap(COMMITTING)
            results.totals.steps[COMMITTING] = watch.seconds[COMMITTING]
        for handler, text in results.traces:
            log.log(TRACE, "handler %s: %s", handler, visible(text))
        log_summary(results)
        if checkpoint is not None and results.totals.rejects:
            warn_rejected_files_are_done()
        return RunResult(results.totals, self.manifests)

    def interrupted(self) -> KeyboardInterrupt | CommittedWithErrors:
        prepared, what_happened = self.committing, signals.interruption()
        nothing = KeyboardInterrupt(f"{what_happened}; nothing was committed")
        if prepared is None:
            return nothing
        if prepared.stream:
            what = "all messages are" if self.manifests is not None else "some messages may not be"
            return KeyboardInterrupt(f"{what_happened}; {what} on standard output")
        place = Span(file=prepared.outputs[0].root.shown)
        try:
            if self.manifests is None and not is_committed(prepared):
                return nothing
        except (Abend, *FAILURES) as error:
            message = f"{what_happened}, and ggfmt does not know whether the run is committed"
            return CommittedWithErrors(
                Diagnostic("GG550", f"{message}: {reason(error)}", place, "run `ggfmt verify` on the output directory")
            )
        help = "do not repeat the run: the output is complete"
        return CommittedWithErrors(Diagnostic("GG550", f"{what_happened}, but the run is committed", place, help))
