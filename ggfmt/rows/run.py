"""`ggfmt consolidate`: operations are staged by bucket of their keys, tasks find the rows, a commit publishes them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import chain
from shlex import quote
from typing import Any

import pyarrow as pa

from ggfmt import engine
from ggfmt.arrow.arrays import non_null_values
from ggfmt.commit.commit import CommitPart, opened, write_error, write_errors_stop
from ggfmt.commit.names import counted
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.engine import Run, Sink
from ggfmt.frames.shapes import ddl_type
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.options.value_types import key_of
from ggfmt.reading.progress import ProgressCallback, ProgressTracker
from ggfmt.reading.runner import InProcess, InThreads, Runner
from ggfmt.reading.splits import ReadJob
from ggfmt.reading.tasks import STOP_FILE, RecordCounts, forbidden_losses, remarks
from ggfmt.rowfiles.writers import write_rows
from ggfmt.rows.base import (
    BaseSnapshot,
    BaseTable,
    described_table,
    number_ranges,
    read_base,
    tables_by_name,
    warn_unresolved,
)
from ggfmt.rows.kept import (
    KeptOperations,
    kept_schema,
    keys_without_rows,
    load_kept,
    other_key_error,
    set_aside_batches,
)
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.manifest import PublishedFile, SetAside, TableResult, build_manifest, summary_lines
from ggfmt.rows.numbers import NumberRange
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import UNRESOLVED, query_error
from ggfmt.rows.request import ConsolidationSettings
from ggfmt.rows.results import FreeKeys, TableQuery
from ggfmt.rows.staging import (
    EVERY,
    MAX_MEMORY_BYTES,
    MemoryBudget,
    RowSink,
    StagedInput,
    StagedPart,
    StagedSplit,
    StagedTable,
    bucket_count,
    bucket_numbers,
    buckets_of,
    files_of,
    load,
    parts_in_memory,
    unit_count,
)
from ggfmt.rows.tables import of_base, stored_types, unmatched_names, with_found_types
from ggfmt.rows.targets.target import RowTarget, make_target
from ggfmt.rows.units import (
    BaseTask,
    Bucket,
    KeyGroup,
    TablePlan,
    UnitResult,
    answer_bucket,
    answer_group,
    extract_linked,
    stage_base,
)

__all__ = ["ConsolidationSettings", "execute"]

STAGED_BYTES_PER_BYTE = 4  # of a file of rows
MAX_GROWTH = 4  # times the buckets of a table, before all of it is written into more buckets
MAX_SHARED_BUCKETS = 8  # whose tasks share batches in memory; each of them looks at all keys
MAX_SHARED_BYTES, MAX_SHARED_CALLS = 4 << 20, 500  # of staged data and of tables that one task works on
_FINDING = "finding rows"  # a phase of its own

log = logging.getLogger("ggfmt")


class UnchangedManifest(dict[str, Any]):
    """The manifest of the last run: this one had nothing to do."""


def execute(
    settings: ConsolidationSettings,
    start: Callable[[], AbstractContextManager[Runner]],
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Run a consolidation; return its manifest. Arguments and errors as of `engine.execute`."""
    return engine.execute_in_steps(settings, lambda: _Consolidation(settings), start, progress)


class _Consolidation(Sink[ReadJob, StagedSplit, dict[str, Any]]):
    """The rows of all tables, in the target that the request names."""

    target: RowTarget
    staged: StagedInput

    def __init__(self, settings: ConsolidationSettings) -> None:
        self.settings = settings
        self.aside: dict[str, KeptOperations] = {}  # what the last run has set aside
        self._base: BaseSnapshot | None = None
        self._document: dict[str, Any] = {}

    def check(self, held: ExitStack, dry: bool = False) -> None:
        settings = self.settings
        output = RowsDirectory(opened(settings.output, "the output"))
        self.output, self.output_directory = output.root, output
        self.target = make_target(settings.to, output, settings.target)
        self.outputs, self.targets, self.keeps = [output], [self.target.owner], self.target.keeps_results
        self.target.check(settings.query, settings.checkpoint is not None)

    def go_on(self) -> None:
        with write_errors_stop(self.output):
            Store(self._operations).delete(STOP_FILE)

    def open(self, run: Run) -> None:
        self.target.recover()
        ends_another = run.checkpoint is not None and self.target.unfinished is not None
        self.target.open(run.id, "append" if ends_another else run.mode)
        self.unfinished = self.target.unfinished

    def runner(self, given: Runner) -> Runner:
        return InThreads(given.parallelism) if isinstance(given, InProcess) else given

    def plan(self, run: Run) -> ReadJob:
        assert run.scan is not None
        if run.idle is None:
            self._base = self._read_base()
        elif self.target.previous is not None:
            for name, entry in self.target.previous.document["tables"].items():
                key = key_of(name, self.settings.keys)
                if key and {*key} != {*entry["key"]}:
                    raise other_key_error(name)
        return replace(run.scan.job, statements=True)

    def tasks(self, run: Run) -> RowSink:
        settings, scan = self.settings, run.scan
        assert scan is not None
        bases = {} if self._base is None else self._base.tables
        buckets = bucket_count(scan.size, run.runner.parallelism, settings.target.file_size)
        buckets = max(buckets, *(table.bucket_count for table in bases.values()), 1)
        # What is set aside has all columns that the table had.
        bases = {**bases, **{name: described_table(name, entry) for name, entry in self._set_aside.items()}}
        self._tasks = RowSink(
            self._operations,
            settings.keys,
            settings.types,
            buckets,
            in_memory=self._in_memory(run.runner),
            keeps=self.output_directory.keeps,
            cuts=bool(bases) or buckets > MAX_SHARED_BUCKETS,
            bases={name: replace(base, types=stored_types(base.types, settings.to)) for name, base in bases.items()},
            described=self.target.described,
            definitions=settings.definitions,
            quarantine=settings.quarantine,
            to=settings.to,
            on_unfit=settings.query.on_unfit,
        )
        self.scratch = self._operations.child("routed")
        return self._tasks

    @property
    def _operations(self) -> Location:
        return self.output_directory.staging(self.output_directory.run).child("operations")

    def _in_memory(self, runner: Runner) -> bool:
        """Return whether operations may stay in memory: tasks are in this process, and no other one needs them."""
        return isinstance(runner, InProcess) and not self.output_directory.keeps

    @property
    def _set_aside(self) -> Mapping[str, Any]:
        return {} if self.target.previous is None else self.target.previous.set_aside

    def collect(self, run: Run, job: ReadJob, outcomes: list[StagedSplit]) -> None:
        self._check_losses(outcomes)
        self.staged = staged = self._tasks.staged(job, outcomes, run.files)
        outcomes.clear()  # operations in memory are free as soon as a task has read them
        run.check_selection(staged.names)
        self._warn_of_names()
        self._take_up()
        self.target.staged = staged
        self.results = self._results(run)
        self._refuse_unresolved(self.results)
        self.rejected = staged.rejected.total()

    def _check_losses(self, outcomes: Sequence[StagedSplit]) -> None:
        """Warn of values that the input does not show. Raises: Abend GG407 with `--strict`."""
        found = RecordCounts()
        for outcome in outcomes:
            found.remarks += Counter({remark: n for remark, n in outcome.remarks.items() if remark.is_loss})
        losses = list(forbidden_losses(found.remarks)) if self.settings.strict else []
        if losses:
            raise Abend.of(*losses[:3])
        for line in remarks(found):
            log.warning("%s", line)

    def commit(self, run: Run, others: Sequence[CommitPart]) -> None:
        def describe(published: Sequence[PublishedFile]) -> dict[str, Any]:
            seconds = time.perf_counter() - run.started
            document = build_manifest(run, self.settings, self.target.to, self.staged, self.results, published, seconds)
            self._summary = list(summary_lines(document, log.isEnabledFor(logging.DEBUG)))
            return document

        self.target.inputs = None if run.checkpoint is None else run.checkpoint.recorded
        self.target.rejects = self.staged.rejects
        self._document = self.target.publish(self.results, describe, others)

    def report(self, run: Run) -> dict[str, Any]:
        for line in self._summary:
            log.info("%s", visible(line))
        log.info("%s %s", self.target.ending, visible(self.target.shown))
        if self.settings.target.database is None:
            log.info("next: ggfmt verify %s", visible(quote(self.output.shown)))
        return self._document

    def unchanged(self) -> dict[str, Any]:
        previous = self.target.previous
        return UnchangedManifest({} if previous is None else {**previous.document, "rejects": {}})

    def added(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        rejects = Counter(before.get("rejects", {})) + Counter(after.get("rejects", {}))
        return {**after, "rejects": dict(rejects)}

    def _read_base(self) -> BaseSnapshot | None:
        if self.target.previous is not None:
            return self.target.base()
        base = None if self.settings.base is None else read_base(self.settings.base)
        if base is not None:
            if base.hidden != self.settings.selection.hidden:
                message = f"the rows in `{base.root}` have other columns or masks"
                raise query_error(message, "write the base with the `--columns`, `--mask` and `--mask-key` of this run")
            warn_unresolved(base, self.output.address, self.settings.strict)
        return base

    def _take_up(self) -> None:
        previous, staged = self.target.previous, self.staged
        for name, entry in self._set_aside.items():
            if previous is not None and name in staged.tables:
                found = self.aside[name] = previous.load_set_aside(staged.tables[name], self.output)
                gone = ", ".join(sorted(found.columns - {*staged.tables[name].columns}))
                if gone:
                    log.warning("%s: the table has lost columns of changes set aside: %s", visible(name), visible(gone))
                staged.prepend(name, found.batch)
                staged.staged[name].stats.unfit.update(entry["unfit"])

    def _warn_of_names(self) -> None:
        """Warn of names in options that match nothing: a list of keys may have more tables than today's files."""
        settings, options = self.settings, self.settings.target
        bases = {} if self._base is None else self._base.tables
        columns: dict[str, Collection[str]] = {name: table.types for name, table in bases.items()}
        columns |= {name: table.types for name, table in self.staged.tables.items()}
        named = settings.selection, settings.keys, options.partition_by, options.sort_by
        for warning in unmatched_names(columns, *named) if columns else ():
            log.warning("%s", visible(warning))

    # Rows

    def _results(self, run: Run) -> list[TableResult]:
        staged, runner = self.staged, run.runner
        bases = {} if self._base is None else tables_by_name(self._base, staged.tables)
        bases = {name: base for name, base in bases.items() if self.settings.selection.selects_result(name)}
        names = sorted(staged.staged) if self.target.previous is not None else sorted({*staged.staged, *bases})
        self._check_names(names, bases)
        prepared = self.target.prepare(names, bases)
        in_use = sum(table.size for table in staged.staged.values())
        self.memory = MemoryBudget(max(MAX_MEMORY_BYTES - in_use, 0)) if self._in_memory(runner) else None
        self.parallelism = runner.parallelism
        every = self._work = [
            _TableWork(self, number, name, base) for number, (name, base) in enumerate(prepared.items())
        ]
        work = [one for one in every if one.result.aside is None]
        _log_found_types(work)
        for step in (_TableWork.base_items, _TableWork.link_items, _TableWork.group_items, _TableWork.bucket_items):
            _take_step(work, step, run.runner, run.tracker)
        return [one.result if one.result.aside is not None else one.finished() for one in every]

    def query_of(self, name: str, base: BaseTable) -> tuple[TableQuery, dict[str, NumberRange]]:
        """Return the query to a table, and the ranges of its numbers that were found in data."""
        staged, previous, query = self.staged, self.target.previous, self.settings.query
        table = staged.tables.get(name) or of_base(name, base.key, stored_types(base.types, self.settings.to))
        stats = staged.staged.get(name, StagedTable()).stats
        stats.sources = {**({} if previous is None else previous.sources(name)), **stats.sources}
        table, numbers = with_found_types(table, stats.numbers, number_ranges(base))
        complete = query.starts_empty or (base.complete if previous is None else previous.is_complete(name))
        return TableQuery.of(query, table, stats, staged.files, complete), numbers

    def _check_names(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> None:
        """Check the names in rows of all tables before anything is written. Raises: UsageError GG558."""
        for name in names:
            query, _ = self.query_of(name, bases.get(name) or BaseTable(name))
            try:
                self.target.check_names(query)
            except UsageError as error:
                if self.settings.target.on_table_error == "stop":
                    raise
                self.target.refused[name] = error

    def _refuse_unresolved(self, results: Sequence[TableResult]) -> None:
        """Raises: Abend GG570 if something is unresolved, with `--strict` or a target that does not keep it; with
        `--strict` GG566 if operations contradict rows."""
        if not self.settings.strict and self.target.keeps_unresolved:
            return
        rows = sum(result.counts.states[UNRESOLVED] for result in results)
        places = [
            Diagnostic("GG570", f"unresolved: {reason}", place) for result in results for reason, place in result.places
        ]
        unknown = self.staged.unknown.items()
        places += [
            Diagnostic("GG570", "unresolved: no column is known", Span(table=name)) for name, lost in unknown if lost
        ]
        if rows or places:
            message = f"{counted(rows, 'row') if rows else 'an operation'} cannot be resolved"
            help = "nothing was committed; to write all unresolved operations to `_unresolved`, run without `--strict`"
            if not self.target.keeps_unresolved:
                help = "nothing was changed; load the rows from before the changes first, or give the missing files"
            raise Abend.of(Diagnostic("GG570", message, self.target.shown, help), *places[:3])
        wrong = sum(result.counts.contradictions.total() for result in results)
        if wrong and self.settings.strict:
            found = [Diagnostic("GG566", what, place) for one in results for what, place in one.counts.contradicting]
            verb = "contradicts its row" if wrong == 1 else "contradict their rows"
            help = "nothing was committed; check that no file is missing, or run without `--strict`"
            message = f"{counted(wrong, 'operation')} {verb}"
            raise Abend.of(Diagnostic("GG566", message, self.target.shown, help), *found[:3])


Task = Callable[[TablePlan, Any, int], UnitResult]


@dataclass(frozen=True)
class _Call:
    table: int
    task: Task
    item: Any


@dataclass
class _Results:
    """What the calls of a task have found."""

    of_calls: list[UnitResult] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not any(result.error for result in self.of_calls)

    def staged(self) -> Iterator[tuple[Location, int | None, str | None]]:
        for result in self.of_calls:
            yield from files_of(result.rows)
            kept = [*result.kept.doubted, *(file for _, file in result.kept.open)]
            for file in (*(result.files or ()), *result.unresolved, *kept):
                yield file.location, file.size, file.sha256


def _run_calls(plans: Mapping[int, TablePlan], calls: Sequence[_Call], attempt: int) -> _Results:
    results = _Results()
    for call in calls:
        try:
            results.of_calls.append(call.task(plans[call.table], call.item, attempt))
        except (Abend, UsageError) as error:  # as a result, since Spark would show a failed task
            results.of_calls.append(UnitResult(error=error.with_traceback(None)))
    return results


def _in_tasks(calls: Iterable[_Call]) -> Iterator[list[_Call]]:
    """Yield the calls of each task, in order: many that have little to do, as the start of a task costs more."""
    waiting: list[_Call] = []
    left = 0
    for call in calls:
        size = call.item.size
        if waiting and (size > left or len(waiting) == MAX_SHARED_CALLS):
            yield waiting
            waiting = []
        left = (left if waiting else MAX_SHARED_BYTES) - size
        waiting.append(call)
    if waiting:
        yield waiting


class _TableWork:
    """The steps that find the rows of a table. Each gives items for tasks, and takes what the tasks have found."""

    def __init__(self, run: _Consolidation, number: int, name: str, base: BaseTable) -> None:
        self.number = number
        settings, staged = run.settings, run.staged
        self._base, self._merges = base, run.target.previous is not None
        self._staged = staged.staged.get(name, StagedTable())
        query, numbers = run.query_of(name, base)
        table, stats, previous = query.table, self._staged.stats, run.target.previous
        none = load_kept((), table, query.ordering)
        aside = run.aside.get(name, none)
        kept = none if previous is None else previous.kept(table, run.output, len(aside.batch))
        query = replace(
            query,
            keeps=settings.checkpoint is not None and settings.query.kind == "current",
            kept_files=(*kept.files, *aside.files),
            kept_columns=kept.columns | aside.columns,
            bounds=() if previous is None else previous.last_places(name),
            free=None if previous is None else previous.free_keys(name, run.output, kept),
            unset=base.unset,
        )
        self.result = TableResult(query, stats, numbers=numbers)
        self.result.counts.unfit.update(stats.unfit)
        self._aside = run.target.staging.child("aside", f"{number:05d}") if run.target.sets_aside(query) else None
        self._operations = [] if self._aside is None else [*self._staged.parts]
        self._layout: FileLayout | None = None
        try:
            if name in run.target.refused:
                raise run.target.refused[name]
            self._layout = layout = run.target.layout(query, number)
        except (Abend, UsageError) as error:
            self.refuse(error)
            return
        self.plan = TablePlan(
            query,
            number,
            staged.links(name, query.ordering, kept.last, kept.links),
            layout,
            run.target.staging,
            base.types,
            run.memory,
            kept.hashes,
        )
        self._buckets = buckets_of(table, staged.buckets)
        base_size = sum(file.size for file in base.files)
        size = self._staged.size + STAGED_BYTES_PER_BYTE * base_size
        file_size = settings.target.file_size
        unit = None if file_size is None else STAGED_BYTES_PER_BYTE * file_size
        self._groups = min(self._buckets, unit_count(size, run.parallelism, unit))
        self._aligned = self._is_aligned()
        if self._aligned:
            self._groups = base.bucket_count
        self._kept_parts = parts_in_memory(kept.batch, bucket_numbers(kept.batch["hash"], self._groups))
        self._base_parts: list[StagedPart] = []
        self._linked_parts: list[StagedPart] = []
        self._results: list[StagedPart] = []
        self._free: list[FreeKeys] = []
        self.result.buckets = self._groups

    def refuse(self, error: Abend | UsageError) -> None:
        """Set the table aside if it alone cannot go on. Raises: the error if not. Raises: UsageError GG551 for a late
        file."""
        query, target, (reason, *_) = self.result.query, self._aside, error.diagnostics
        if target is None or not (isinstance(error, UsageError) or reason.code in ("GG530", "GG588")):
            raise error
        self.result = TableResult(query, self.result.stats, numbers=self.result.numbers)
        self.result.counts.unfit.update(self.result.stats.unfit)
        rows = set_aside_batches(query, load(self._operations), self.result.counts)
        try:
            if self._layout is not None:  # tasks have written rows
                Store(self._layout.directory).delete_tree("")
            file = write_rows(target, "parquet", query.table.name, kept_schema(query.table), rows)
        except OSError as problem:
            raise Abend.of(write_error(target, problem)) from None
        log.warning("%s: set aside for the next run: %s", visible(query.table.name), visible(str(reason)))
        self.result.aside = SetAside(reason, file)

    def _is_aligned(self) -> bool:
        """Return whether the files of the base have the keys of buckets, so that only those that change are read."""
        base, table = self._base, self.plan.table
        if not self._merges or not base.bucket_count or self._staged.stats.truncates:
            return False
        columns = [(name, table.types[name]) for name in self.plan.query.columns]
        if not all(table.is_old(name, self.plan.query.epoch) for name in self.plan.query.columns):
            return False
        crowded = self._groups > MAX_GROWTH * base.bucket_count
        same = base.key == table.key and list(base.types.items()) == columns
        same = same and list(base.number_texts) == table.number_texts  # they decide on the bucket of a key
        return bool(table.key) and same and not crowded

    def base_items(self) -> Iterator[tuple[Task, Any]]:
        if self._aligned:
            return
        files = self._base.files
        if self._merges:
            self.result.replaced = list(files)
        if not self._staged.stats.truncates:
            for file in files:
                yield stage_base, BaseTask(file, self._groups)

    def link_items(self) -> Iterator[tuple[Task, Any]]:
        if self.plan.linked is not None:
            linked = self._buckets_of([self.plan.linked.hashes])
            for bucket in self._all_buckets():
                # What is not divided is there no more once one bucket was extracted.
                if bucket.number in linked or any(part.bucket == EVERY for part in bucket.parts):
                    yield extract_linked, bucket

    def group_items(self) -> Iterator[tuple[Task, Any]]:
        by_group: dict[int, list[StagedPart]] = {}
        while self._linked_parts:  # a group's task gives them back as soon as it has read them
            part = self._linked_parts.pop()
            by_group.setdefault(part.bucket, []).append(part)
        for number, parts in sorted(by_group.items()):
            yield answer_group, KeyGroup(number, parts, self._groups)

    def bucket_items(self) -> Iterator[tuple[Task, Any]]:
        touched = self._buckets_of(self.plan.others) if self._aligned else set()
        for bucket in self._all_buckets():
            if not self._aligned or bucket.parts or bucket.results or bucket.number in touched:
                yield answer_bucket, bucket

    def _buckets_of(self, keys: Iterable[pa.Array[pa.UInt64Scalar]]) -> set[int]:
        return {hash & (self._groups - 1) for hashes in keys for hash in non_null_values(hashes)}

    def _all_buckets(self) -> list[Bucket]:
        files = self._base.files if self._aligned else ()
        return [
            Bucket(
                number,
                self._groups,
                [
                    *(part for part in self._kept_parts if part.bucket == number),
                    *(part for part in self._staged.parts if part.is_of(number, self._groups)),
                ],
                [file for file in files if file.bucket == number],
                [part for part in self._base_parts if part.bucket == number],
                [part for part in self._results if part.bucket == number],
            )
            for number in range(self._groups)
        ]

    def take(self, item: BaseTask | Bucket | KeyGroup, result: UnitResult) -> None:
        if isinstance(item, BaseTask):
            self._base_parts += result.rows
        elif isinstance(item, KeyGroup):
            self._results += result.rows
            self._count(result)
        elif result.files is None:
            self._linked_parts += result.rows
            # Of the operations of the bucket in memory, only those of no connected key stay.
            for parts in (self._kept_parts, self._staged.parts):
                parts[:] = (part for part in parts if part.batch is None or not part.is_of(item.number, self._groups))
            self._staged.parts += result.rest
        else:
            self.result.files += [(item.number, file) for file in result.files]
            self.result.replaced += result.replaced
            self.result.shortened += result.shortened
            self._count(result)

    def finished(self) -> TableResult:
        plan = self.plan
        if plan.query.finds_free_keys and len(rows := keys_without_rows(plan.query.free, self._free)):
            target = plan.directory.child("kept", f"{plan.number:05d}-free")
            self.result.free.append(write_rows(target, "parquet", plan.table.name, rows.schema, [rows]))
        return self.result

    def _count(self, result: UnitResult) -> None:
        self.result.counts.add(result.counts)
        self.result.unresolved += result.unresolved
        self.result.places += result.places
        self.result.kept.add(result.kept)
        self._free += result.free


def _log_found_types(work: Sequence[_TableWork]) -> None:
    for one in work if log.isEnabledFor(logging.DEBUG) else ():
        types = [f"{name} {ddl_type(one.plan.table.types[name])}" for name in one.result.numbers]
        if types:
            log.debug("%s: types found in the data: %s", visible(one.plan.table.name), visible(", ".join(types)))


def _take_step(
    work: Sequence[_TableWork],
    step: Callable[[_TableWork], Iterator[tuple[Task, Any]]],
    runner: Runner,
    tracker: ProgressTracker,
) -> None:
    """Run a step for all tables. What it has found stays in memory only where a table keeps it."""
    work = [one for one in work if one.result.aside is None]
    items = [(one, task, item) for one in work for task, item in step(one)]
    plans = {one.number: one.plan for one in work}
    calls = [_Call(one.number, task, item) for one, task, item in items]
    # A plan may be large, so that each task gets it once, and not with each of its items.
    # What a step leaves free is in other pieces than the next one needs.
    pa.default_memory_pool().release_unused()
    tasks = list(_in_tasks(calls))
    sizes = [sum(call.item.size for call in task) for task in tasks]
    progress = tracker.start_tasks(_FINDING, sizes, runner.parallelism)
    done = chain.from_iterable(found.of_calls for found in runner.run(partial(_run_calls, plans), tasks, progress))
    for (one, _, item), result in zip(items, done, strict=True):
        if one.result.aside is None and result.error is not None:
            one.refuse(result.error)
        elif one.result.aside is None:
            one.take(item, result)
