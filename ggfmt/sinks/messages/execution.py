"""The tasks of a run, carried out: definitions looked for where they lack, small files joined, all counted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from ggfmt import kernels
from ggfmt.columnar.replacement import merged_tables_error
from ggfmt.commit.commit import write_error
from ggfmt.commit.names import counted
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats.api.reading import Event, Reader, Reject, SchemaChange, SplitBoundaryError
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.scan.progress import ProgressTracker
from ggfmt.scan.recognition import other_format, reader_of
from ggfmt.scan.runner import Runner
from ggfmt.scan.splits import Split, SplitReader
from ggfmt.scan.steps import JOINING, READING, Stopwatch
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.job import HandlerOutput, Job
from ggfmt.sinks.messages.join import join_group, join_share, plan_groups, shares
from ggfmt.sinks.messages.preparation import PreparedRun
from ggfmt.sinks.messages.sink import Sink, TaskOutcome, TaskStopped, in_task
from ggfmt.sinks.messages.staging import StagedFile

log = logging.getLogger("ggfmt")

JOIN_IN_TASKS_BYTES = 64 << 20  # less than that the driver joins sooner than a Spark job starts
_JOINS_PER_CORE = 3  # shares take different times

# One task: reads a split, formats it for every handler, and leaves files in staging. Runs in a Spark worker or in the
# calling process, with the same outcome. A mistake in the data is part of the outcome; only what is no fault of the
# data (a full disk, a defect) is raised, so that Spark tries again.


def run_split(job: Job, split: Split, attempt: int) -> TaskOutcome:
    """Reads and writes one split. `attempt` is unique, so that attempts of one split do not meet in staging."""
    return in_task(job.staging.values(), split.ordinal, lambda: _Task(job, split, attempt).run())


MOST_EXPLAINED = 100  # rejects of a task for which other formats are tried: that takes longer than to set one aside


class _Task:
    def __init__(self, job: Job, split: Split, attempt: int) -> None:
        self.job = job
        self.split = split
        self.sink = Sink(job, split.ordinal, job.epoch_at(split), attempt)
        self.outcome = self.sink.outcome
        projection = [output.projection for output in self.sink.outputs]
        combined = projection[0]
        for other in projection[1:]:
            combined |= other
        self.reader: Reader = reader_of(job.input_format, job.source)(job.catalog_at(split), combined, job.source)
        self.unexplained = MOST_EXPLAINED

    def run(self) -> TaskOutcome:
        self.sink.watch.lap(None)
        source = SplitReader(self.reader, self.split)
        try:
            for events in source:
                self._handle(events)
                self.sink.end_of_chunk()
            self.sink.close()
        except TaskStopped:
            pass
        except Abend as error:
            (self.outcome.abend,) = error.diagnostics
        except SplitBoundaryError:
            assert source.input is not None
            self.outcome.crossed = source.input.index
        self.outcome.steps = self.sink.watch.seconds
        self.outcome.others, self.outcome.members = self.reader.others, self.reader.members
        self.outcome.remarks = self.reader.remarks
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
            else:
                self._definition(event)
        self.sink.watch.lap(READING)

    def _explained(self, reject: Reject) -> Diagnostic:
        """Why a record is a reject, with the format that it is of, if that is another than the input's."""
        diagnostic = reject.diagnostic
        if not self.unexplained:
            return diagnostic
        self.unexplained -= 1
        found = other_format(reject.record, self.job.input_format)
        if found is None:
            return diagnostic
        name, reason = found
        help = f"this record is of `{name}`: {reason}; the input is read as `{self.job.input_format}`"
        if self.job.reason:
            help += f": {self.job.reason}"
        return replace(diagnostic, help=f"{help}; give the records of each format in files and runs of their own")

    def _locate(self, ordinal: int) -> tuple[bytes, dict[str, object]]:
        chunk, start, end = self.reader.locate(ordinal)
        return chunk.data[start:end], {"file": chunk.file, "offset": chunk.offset + start}

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
    """What the tasks of a run left in staging, and how much it is. Nothing is committed yet.

    `definitions` are those that operations were met of, in that order; `traces` are texts for the log, by handler.
    """

    job: Job
    totals: report.Totals
    definitions: tuple[TableDef, ...]
    files: tuple[StagedFile, ...]
    rejects: tuple[StagedFile, ...]
    traces: tuple[tuple[str, str], ...]


def execute_tasks(
    prepared: PreparedRun,
    runner: Runner,
    watch: Stopwatch,
    following: ProgressTracker | None = None,
) -> RunResults:
    """Runs all tasks; Abend if something in the data does not let the run go on."""
    started = time.perf_counter()
    following = following or ProgressTracker(None)
    scan = prepared.scan
    assert scan is not None
    try:
        job, outcomes = scan.run(prepared.job, MessageSink(prepared.job.staging), runner, following, watch)
    except OSError as error:  # of a task in this process: what cannot be read is part of its outcome
        raise Abend(write_error(prepared.job.targets[0].root, error)) from None
    check_names_met(job, outcomes)
    following.set_operations(sum(outcome.operations.total() for outcome in outcomes))
    # A stream is joined as it is written.
    results = collect_results(job, outcomes, None if prepared.stream else runner, following)
    watch.lap(JOINING)
    results.totals.input_files = len(scan.files)
    results.totals.input_bytes = scan.size
    results.totals.seconds_in_tasks = time.perf_counter() - started
    return results


def collect_results(
    job: Job, outcomes: Sequence[TaskOutcome], joiner: Runner | None, following: ProgressTracker
) -> RunResults:
    """What tasks that have all ended well came to, their small files joined unless there is no `joiner`. Abend if that
    cannot be done, or does not add up."""
    tell_of_kernels(outcomes)
    totals = report.sum_outcomes(outcomes, job.targets)
    imbalance = totals.imbalance()
    if imbalance is not None:
        raise Abend(Diagnostic("GG507", f"the operations do not add up: {imbalance}"))
    written = [written for outcome in outcomes for written in outcome.written.values()]
    files = [file for item in written for file in item.files]
    if joiner is not None:
        try:
            files = _join(files, job.targets, joiner, following)
        except OSError as error:
            raise Abend(write_error(job.targets[0].root, error)) from None
    for file in files:
        totals.handlers[file.handler].files += joiner is not None
        totals.handlers[file.handler].size += file.size
    return RunResults(
        job,
        totals,
        tuple(report.definitions_met(outcomes)),
        tuple(files),
        # Not joined: what is told of a reject has its place in the file of the same number.
        tuple(file for item in written for file in item.rejects),
        tuple((name, text) for outcome in outcomes for name, item in outcome.written.items() for text in item.traces),
    )


@dataclass(frozen=True)
class MessageSink:
    """Operations become the messages of every handler, in staging."""

    staging: Mapping[str, str]

    def task(self, job: Job) -> Callable[[Split, int], TaskOutcome]:
        """Abend if two tables get one name."""
        check_names(job, job.catalog.current)
        return partial(run_split, job)

    def discard(self) -> None:
        for root, directory in self.staging.items():
            try:
                Store(directory).delete_tree("")
            except OSError as error:
                raise Abend(write_error(root, error)) from None


def check_names_met(job: Job, outcomes: Sequence[TaskOutcome]) -> None:
    """Abend if two tables that tasks have met get one name."""
    met = [seen for outcome in outcomes for seen in outcome.seen]
    check_names(job, [seen.source for seen in sorted(met, key=lambda seen: (seen.split, seen.ordinal))])


def warn_without_kernels() -> None:
    """Warn that this process has no native kernels, unless they are switched off."""
    if kernels.lack is not None:
        log.warning("%s; %s", kernels.lack.message, kernels.lack.help)


def tell_of_kernels(outcomes: Sequence[TaskOutcome]) -> None:
    """Says once that tasks ran without the native kernels that this side has."""
    without = [outcome.kernels for outcome in outcomes if outcome.kernels != kernels.state]
    if without and kernels.native is not None:
        log.warning(
            "%s of %s ran without native kernels, with the same results and more slowly (%s): %s",
            counted(len(without), "task"),
            len(outcomes),
            kernels.COST,
            without[0],
        )


def check_names(job: Job, tables: Iterable[str]) -> None:
    """Abend if two tables of the input have one name after the replacement: their order could not be kept."""
    diagnostic = merged_tables_error(tables, job.replacements.schema)
    if diagnostic is not None:
        raise Abend(diagnostic)


def _join(
    files: list[StagedFile], targets: Sequence[HandlerOutput], runner: Runner, following: ProgressTracker
) -> list[StagedFile]:
    limits = {target.handler: target.max_file_size for target in targets}
    groups = plan_groups(files, limits.__getitem__)
    shared = [group for group in groups if len(group.parts) > 1]
    if sum(group.size for group in shared) > JOIN_IN_TASKS_BYTES:
        items = shares(shared, _JOINS_PER_CORE * runner.parallelism)
        sizes = [sum(group.size for group in item) for item in items]
        outcomes = runner.run(join_share, items, following.start_tasks(JOINING, sizes, runner.parallelism))
        joined = chain.from_iterable(outcomes)
        return [group.parts[0] if len(group.parts) == 1 else next(joined) for group in groups]
    if shared:
        following.start_phase(JOINING)
    return [join_group(group, 0) for group in groups]
