"""Execution of a run: its tasks, the join of small files, and the totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain
from operator import or_

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats.api.reading import Event, Reject, SchemaChange, SplitBoundaryError
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.options.value_types import Replacements
from ggfmt.reading.files import InputFile
from ggfmt.reading.progress import JOINING, READING, ProgressTracker
from ggfmt.reading.recognition import explained
from ggfmt.reading.runner import Runner, warn_of_missing_kernels
from ggfmt.reading.splits import Split, SplitReader
from ggfmt.reading.tasks import StagedFile, TaskStopped, forbidden_losses, in_task, take_counts
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.join import join_group, join_share, plan_groups, shares
from ggfmt.sinks.messages.pipeline import HandlerOutput, Job
from ggfmt.sinks.messages.sink import MessageOutcome, SplitSink

JOIN_IN_TASKS_BYTES = 64 << 20  # the driver joins less than that faster than a Spark job starts
_JOINS_PER_CORE = 3  # shares take different times

# One task reads a split, formats it for every handler, and writes files to staging, with the same outcome in a Spark
# worker and in this process. A mistake in the data is part of the outcome. A task raises only other failures (a full
# disk, a defect), so that Spark retries.


def task_of(job: Job) -> Callable[[Split, int], MessageOutcome]:
    """Return the task of each split. Raises: Abend if two tables get the same name."""
    _check_table_names(filter(job.shown.selection.selects, job.shown.catalog.current), job.replacements)
    return partial(run_split, job)


def _check_table_names(tables: Iterable[str], replacements: Replacements) -> None:
    if replacements:
        from ggfmt.columnar.replacement import check_table_names

        check_table_names(tables, replacements)


def run_split(job: Job, split: Split, attempt: int) -> MessageOutcome:
    return in_task(job, job.staging.values(), MessageOutcome(split.ordinal), lambda: _Task(job, split, attempt).run())


# Rejects of a task for which ggfmt tries other formats, which takes longer than to set a record aside.
MAX_EXPLAINED = 100


class _Task:
    def __init__(self, job: Job, split: Split, attempt: int) -> None:
        self.job = job
        self.split = split
        self.sink = SplitSink(job, split.ordinal, job.epoch_at(split), attempt, self._place)
        self.outcome = self.sink.outcome
        projection = reduce(or_, (output.projection for output in self.sink.outputs))
        self.reader = job.reader(job.catalog_at(split), projection)
        self.unexplained = MAX_EXPLAINED

    def run(self) -> MessageOutcome:
        self.sink.watch.lap(None)
        source = SplitReader(self.reader, self.split, self.job.selection)
        try:
            for events in source:
                self._handle(events)
                self.sink.end_of_chunk()
            if self.job.strict:
                for loss in forbidden_losses(self.reader.remarks):
                    self.sink.stop(loss)
            self.sink.close()
        except TaskStopped:
            pass
        except Abend as error:
            (self.outcome.abend,) = error.diagnostics
        except SplitBoundaryError:
            assert source.input is not None
            self.outcome.crossed = source.input.index
        self.outcome.steps = self.sink.watch.seconds
        take_counts(self.outcome, self.reader, source)
        return self.outcome

    def _handle(self, events: Iterator[Event]) -> None:
        for event in events:
            self.sink.watch.lap(READING)
            if isinstance(event, ChangeBatch):
                self.sink.write(event, self._locate)
            elif isinstance(event, Reject):
                if event.of_unknown_table and not self.job.settled:
                    self._undefined()
                self.sink.reject(event.record, self._explained(event))
            elif isinstance(event, SchemaChange):
                self._definition(event)
        self.sink.watch.lap(READING)

    def _explained(self, reject: Reject) -> Diagnostic:
        diagnostic = reject.diagnostic
        if not self.unexplained:
            return diagnostic
        self.unexplained -= 1
        return explained(reject, self.job.input_format, self.job.reason)

    def _locate(self, ordinal: int) -> tuple[bytes, dict[str, object]]:
        chunk, start, end = self.reader.locate(ordinal)
        if self.job.selection.hides:
            end = start  # a record is never masked
        return chunk.data[start:end], chunk.span(start).record

    def _place(self, ordinal: int) -> tuple[int, int]:
        """Return where a record is in the order of all records."""
        return self.reader.place(ordinal) if self.job.routed else (self.split.ordinal, ordinal)

    def _definition(self, event: SchemaChange) -> None:
        if not self.job.settled:
            self._undefined()
        for output in self.sink.outputs:
            output.new_epoch(self.job.epoch_after(event))

    def _undefined(self) -> None:
        self.outcome.undefined = True
        raise TaskStopped


@dataclass(frozen=True)
class RunResults:
    """The staged files of a run, and its totals; nothing is committed yet.

    `definitions`: those that operations were met of, in that order. `traces`: texts for the log, by handler.
    """

    job: Job
    totals: report.RunTotals
    definitions: tuple[TableDef, ...]
    files: tuple[StagedFile, ...]
    rejects: tuple[StagedFile, ...]
    traces: tuple[tuple[str, str], ...]


def collect_results(
    job: Job,
    outcomes: Sequence[MessageOutcome],
    joiner: Runner | None,
    tracker: ProgressTracker,
    inputs: Sequence[InputFile] = (),
) -> RunResults:
    """Sum up tasks that have succeeded. `joiner` joins small files, unless it is None. Raises: Abend for a wrong
    count."""
    met = [seen for outcome in outcomes for seen in outcome.seen]
    _check_table_names([seen.source for seen in sorted(met, key=lambda seen: seen.place)], job.replacements)
    warn_of_missing_kernels([outcome.kernels for outcome in outcomes])
    totals = report.sum_outcomes(outcomes, job.targets)
    imbalance = totals.imbalance()
    if imbalance is not None:
        raise Abend("GG507", f"the operations do not add up: {imbalance}")
    rejects = tuple(_rejects(job, outcomes, inputs))
    written = [written for outcome in outcomes for written in outcome.written.values()]
    files = [file for item in written for file in item.files]
    if joiner is not None:
        files = _join(files, job.targets, joiner, tracker)
        if any(target.has_chain for target in job.targets):
            from ggfmt.sinks.messages.events import run_chains

            files = run_chains(files, job, joiner, tracker)
    for file in files:
        totals.handlers[file.handler].files += joiner is not None
        totals.handlers[file.handler].size += file.size
    return RunResults(
        job,
        totals,
        tuple(report.definitions_met(outcomes)),
        tuple(files),
        rejects,
        tuple((name, text) for outcome in outcomes for name, item in outcome.written.items() for text in item.traces),
    )


def _rejects(job: Job, outcomes: Sequence[MessageOutcome], inputs: Sequence[InputFile]) -> Iterator[StagedFile]:
    """Yield the files of rejects. Each file of reasons refers to the records in the file of the same number."""
    names = [file.shown for file in inputs]
    for target in job.targets:
        files = [file for outcome in outcomes for file in outcome.written[target.handler].rejects]
        if files and job.routed:
            from ggfmt.reading.rejects import in_input_order

            files = in_input_order(files, job.staging[target.root], target.handler, names)
        yield from files


def _join(
    files: list[StagedFile], targets: Sequence[HandlerOutput], runner: Runner, tracker: ProgressTracker
) -> list[StagedFile]:
    limits = {target.handler: target.max_file_size for target in targets}
    groups = plan_groups(files, limits.__getitem__)
    shared = [group for group in groups if len(group.parts) > 1]
    if sum(group.size for group in shared) > JOIN_IN_TASKS_BYTES:
        items = shares(shared, _JOINS_PER_CORE * runner.parallelism)
        sizes = [sum(group.size for group in item) for item in items]
        outcomes = runner.run(join_share, items, tracker.start_tasks(JOINING, sizes, runner.parallelism))
        joined = chain.from_iterable(outcome.files for outcome in outcomes)
        return [group.parts[0] if len(group.parts) == 1 else next(joined) for group in groups]
    if shared:
        tracker.start_phase(JOINING)
    return [join_group(group, 0) for group in groups]
