"""A scan: inputs are listed, recognized and cut into splits, and tasks read the splits into a sink.

`Scan.run` is the only loop that reads inputs. It starts again

* with whole files, where a record crosses the boundary of two splits; other splits stay,
* with definitions from all of the data, where a task met a table or a change of one that no definition describes.
  Splits stay if none of their tables has another definition then.

Each operation reaches the sink once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.codes import BAD_RECORDS
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, UsageError, list_names, suggestion
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import MAX_RECORD_BYTES, Layout, Unroutable
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.selection import ALL_TABLES, TableSelection
from ggfmt.model.table import Catalog, TableDef, name_parts
from ggfmt.options.value_types import Keys, key_of
from ggfmt.reading.discovery import discover, discover_from_head, find_keys
from ggfmt.reading.files import InputFile, keep, map_files, read_errors_stop, small_objects, unreadable_stops
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.progress import DISCOVERY, READING, ROUTING, ProgressTracker, Stopwatch
from ggfmt.reading.recognition import PlannedInput, choose_format, layout_of, reader_of, with_defaults
from ggfmt.reading.routing import has_many_tables, route
from ggfmt.reading.runner import InProcess, Runner
from ggfmt.reading.splits import Cut, ReadJob, Split, Splits, Window, view_of
from ggfmt.reading.standard_input import NO_TOPIC_SETTINGS, SpooledInputs, TopicSettings

log = logging.getLogger("ggfmt")


class ReadOutcome(Protocol):
    """The outcome of a task, as far as the loop needs it."""

    abend: Diagnostic | None  # the first mistake in the data, where the task stopped
    undefined: bool  # the task met a table or a metadata record that no definition describes
    crossed: int | None  # the index of an input in which a record crosses the end of a range
    stopped: bool  # another task had found a reason to stop, so that this one read nothing
    scattered: bool  # its split has so many tables that the records should be divided by table first
    operations: Counter[tuple[str, str]]  # how many operations it read, by table and type, if the sink counts them

    @property
    def is_whole(self) -> bool:
        """Whether the task has read its split to the end."""

    def stays(self, before: Catalog, after: Catalog) -> bool:
        """Return whether the task would do the same with other definitions."""

    @property
    def names(self) -> Collection[str]:
        """The tables whose operations it read."""


MAX_NAMES = 10  # of tables, in a help text
_MAX_NOTES = 5  # of layouts, in the log

J = TypeVar("J", bound=ReadJob)
J_contra = TypeVar("J_contra", bound=ReadJob, contravariant=True)
O = TypeVar("O", bound=ReadOutcome)  # noqa: E741
O_co = TypeVar("O_co", bound=ReadOutcome, covariant=True)


class DefinitionsNeeded(Exception):
    """A sink cannot start with the definitions so far; there may be more in the data."""


class OperationSink(Protocol[J_contra, O_co]):
    def task(self, job: J_contra) -> Callable[[Split, int], O_co]:
        """Return the task of each split, by these definitions. The second argument is the attempt, which is unique.
        DefinitionsNeeded where the job is not settled and definitions are missing."""

    def discard(self) -> None:
        """Remove what tasks have written so far."""

    def go_on(self) -> None:
        """Let tasks run after one that has stopped the others; what tasks have written stays."""


@dataclass(frozen=True)
class ScanRequest:
    """Which inputs to read, and as what."""

    inputs: Sequence[str]  # paths, URIs and globs; `-` is standard input
    input_format: str = "auto"  # the id of a format; `auto` recognizes it
    source: WriterSettings = DEFAULT_SETTINGS  # how the inputs were written
    definitions: Mapping[str, TableDef] = field(default_factory=dict)  # of tables, by name
    split_size: int | None = None  # bytes of a split; None: by the number of tasks that run at once
    max_record: int = MAX_RECORD_BYTES  # bytes that a record may have
    allow_empty: bool = False  # no input file is no error
    selection: TableSelection = ALL_TABLES  # the tables to read
    topics: TopicSettings = NO_TOPIC_SETTINGS  # how to read topics
    keys: Keys = ()  # key columns of tables, which win over those of the option `primaryKeys`

    def list(self, spooled: SpooledInputs | None = None) -> list[InputFile]:
        return list_inputs(self.inputs, self.allow_empty, spooled)


class Scan:
    """Input files of one format, opened when they are needed. `may_lack`: they need not have all that masks name.
    Raises: UsageError GG309 for an unknown format, GG103 for illegal
    options; Abend GG309 or GG310 for a file that is not recognized, or cannot be read."""

    def __init__(self, request: ScanRequest, files: Sequence[InputFile]) -> None:
        self.request = request
        self.files = files
        self.may_lack = not files
        self.input_format, self.reason = choose_format(files, request.input_format, request.max_record)
        self.source = _with_keys(with_defaults(request.source, self.input_format), request.keys)
        self.reader = reader_of(self.input_format, self.source)
        self._small = small_objects(files)
        self._inputs: dict[int, PlannedInput] = {}
        self._notes: set[str] = set()  # what was logged of the layouts

    def input(self, index: int) -> PlannedInput:
        return self._inputs.get(index) or self._planned([index])[0]

    def open_all(self) -> None:
        """Look at every file, so that one that cannot be read is found before the scan runs."""
        self._planned(range(len(self.files)))

    @property
    def inputs(self) -> tuple[PlannedInput, ...]:
        return tuple(self._planned(range(len(self.files))))

    def _planned(self, indices: Sequence[int]) -> list[PlannedInput]:
        new = [index for index in indices if index not in self._inputs]
        for index, (file, layout) in zip(new, map_files([self.files[index] for index in new], self._look), strict=True):
            self._inputs[index] = PlannedInput(file, index, replace(layout, max_record=self.request.max_record))
            if layout.note and layout.note not in self._notes and len(self._notes) < _MAX_NOTES:
                self._notes.add(layout.note)
                log.info("%s: %s", file.shown, layout.note)
        return [self._inputs[index] for index in indices]

    def _look(self, file: InputFile) -> tuple[InputFile, Layout]:
        if file.location in self._small:
            with unreadable_stops(file.shown):
                file = keep(file)
        return file, layout_of(file, self.reader, self.source)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def job(self) -> ReadJob:
        keys = self.request.keys
        tables = self.request.definitions.items()
        given = {name: key_of(name, keys) for name, table in tables if not table.primary_keys}
        catalog = Catalog({name: t.with_keys(given[name]) if given.get(name) else t for name, t in tables})
        return ReadJob(
            self.input_format, catalog, source=self.source, reason=self.reason, selection=self.request.selection
        )

    def splits(self, parallelism: int) -> Splits:
        return Splits(self.inputs, 2 * parallelism, self.request.split_size)

    def window(self) -> Window:
        return Window(len(self.files), self.input)

    def discover(self, runner: Runner, job: ReadJob | None = None) -> tuple[ReadJob, Splits]:
        splits = self.splits(runner.parallelism)
        # One split needs no tasks.
        return discover(job or self.job, splits, runner if len(splits.all) > 1 else InProcess()), splits

    def discover_from_head(self, job: J) -> J | None:
        """Return a job with the definitions that the first records show; None if these are not enough."""
        return discover_from_head(job, self.inputs)

    def _check_view(self, job: ReadJob) -> None:
        view = view_of(job.selection)
        if view is None:
            return
        try:
            view.check(job.definitions, self.request.keys, self.may_lack)
        except (UsageError, ConfigurationError):
            if job.settled:
                raise
            raise DefinitionsNeeded from None  # the rest of the data may have what is named

    @read_errors_stop()
    def run(
        self,
        job: J,
        sink: OperationSink[J, O],
        runner: Runner,
        tracker: ProgressTracker | None = None,
        watch: Stopwatch | None = None,
        cut: Cut | None = None,
        from_head: bool = True,
        scratch: Location | None = None,
    ) -> tuple[J, list[O]]:
        """Read all splits of `cut` (by default, of all inputs) into a sink. Return the job with the definitions that
        held, and what each task did, in the order of the splits.

        from_head  take definitions from the first records, if the tasks find every contradiction
        scratch    where tasks may divide records by table; None if the sink needs the order of different tables

        Raises: Abend for the first mistake in the data, where tasks stop at it.
        """
        tracker, watch = tracker or ProgressTracker(None), watch or Stopwatch()
        given, cut = cut, cut or self.splits(runner.parallelism)
        if job.selection.maps is not None and job.selection.maps.joins:
            scratch = None  # tasks would read tables with one target apart
        job = find_keys(job, cut, runner, tracker)
        try:
            divides = scratch is not None and has_many_tables(job, self.inputs, cut)
            # Tasks of unequal length cost less than to divide the records.
            if divides and given is None:
                fewest = Splits(self.inputs, runner.parallelism, self.request.split_size)
                divides = len(fewest.all) == len(cut.all) or has_many_tables(job, self.inputs, fewest)
                cut = cut if divides else fewest
        except Unroutable:
            scratch, divides = None, False
        if scratch is not None and not divides:
            # What the first records show may be wrong. A task in the second half would ask too late.
            found, outcomes = self._read(
                replace(job, may_divide=len(cut.all) // 2), sink, runner, tracker, watch, cut, from_head
            )
            if not any(outcome.scattered for outcome in outcomes):
                check_ended(outcomes)
                return found, outcomes
            log.info("a split has many tables; ggfmt starts again, and divides the records by table")
            sink.discard()
        if scratch is not None:
            try:
                routed = route(job, self.inputs, cut, runner, tracker, scratch)
                watch.lap(ROUTING)
                tracker.start_phase(DISCOVERY)
                found = discover(replace(job, routed=True), routed, runner, tracker)
                watch.lap(DISCOVERY)
                found, outcomes = self._read(found, sink, runner, tracker, watch, routed, from_head)
                routed.check([outcome.names for outcome in outcomes])
                if not any(outcome.abend for outcome in outcomes):  # the first one, which the loop below finds, counts
                    return found, outcomes
            except Unroutable:
                log.info("the records cannot be divided by table; ggfmt reads them in their order")
            sink.discard()
        job, outcomes = self._read(job, sink, runner, tracker, watch, cut, from_head)
        check_ended(outcomes)
        return job, outcomes

    def _read(
        self,
        job: J,
        sink: OperationSink[J, O],
        runner: Runner,
        tracker: ProgressTracker,
        watch: Stopwatch,
        cut: Cut,
        from_head: bool,
    ) -> tuple[J, list[O]]:
        """Read a cut, with definitions that hold; tasks may have stopped at mistakes in the data."""
        done: dict[int, tuple[Split, O]] = {}  # by ordinal, by the same definitions
        if not job.catalog.trusted and not job.settled:
            tracker.start_phase(DISCOVERY)
            known = self.discover_from_head(job) if from_head else None
            job = known or discover(job, cut, runner, tracker)
            watch.lap(DISCOVERY)
        while True:
            try:
                self._check_view(job)
                task = sink.task(job)
            except DefinitionsNeeded:
                job = discover(job, cut, runner, tracker)
                watch.lap(DISCOVERY)
                continue
            outcomes = self._read_cut(task, cut, sink, runner, tracker, watch, done)
            defined = job.settled or not any(needs_discovery(job, outcome) for outcome in outcomes)
            if defined or any(outcome.scattered for outcome in outcomes):
                return job, outcomes
            if job.catalog.provisional:
                why = "the first records do not show all tables; searching all data for definitions"
            else:
                why = "the data has tables or metadata records without a definition; searching all data for definitions"
            log.debug("%s", why)
            read, before = zip(cut.all, outcomes, strict=True), job
            job = discover(job, cut, runner, tracker)  # which may cut again
            watch.lap(DISCOVERY)
            done = {split.ordinal: (split, outcome) for split, outcome in read if _stays(split, outcome, before, job)}
            if done:
                sink.go_on()
            else:
                sink.discard()

    def _read_cut(
        self,
        task: Callable[[Split, int], O],
        cut: Cut,
        sink: OperationSink[J, O],
        runner: Runner,
        tracker: ProgressTracker,
        watch: Stopwatch,
        done: dict[int, tuple[Split, O]],
    ) -> list[O]:
        """Run the task of each split that is not done; where a record crosses the end of one, again with the whole
        file."""
        while True:
            left = [split for split in cut.all if done.get(split.ordinal, (None,))[0] != split]
            tracker.set_operations(None)
            progress = tracker.start_tasks(READING, [split.size for split in left], runner.parallelism)
            if isinstance(runner, InProcess):
                found = runner.run(task, left, progress, _counter(tracker))
            else:
                found = runner.run(task, left, progress)
            watch.lap(None)  # tasks measure their own time
            done = done | {split.ordinal: (split, outcome) for split, outcome in zip(left, found, strict=True)}
            outcomes = [done[split.ordinal][1] for split in cut.all]
            if any(outcome.scattered for outcome in outcomes):
                return outcomes
            crossed = {outcome.crossed for outcome in outcomes if outcome.crossed is not None}
            crossed = crossed or inputs_to_reread(cut.all, outcomes)
            if not crossed:
                return outcomes
            cut.read_whole(crossed)
            sink.go_on()
            done = {place: (split, outcome) for place, (split, outcome) in done.items() if outcome.is_whole}


def _with_keys(source: WriterSettings, keys: Keys) -> WriterSettings:
    known = getattr(source.options, "primary_keys", None)
    if known is None:
        return source
    return replace(source, options=replace(source.options, primary_keys=(*keys, *known)))


def check_selection(selection: TableSelection, names: Collection[str], may_lack: bool) -> None:
    """Check that each pattern of a selection matches one of the tables in the data, and some MAP does. Raises:
    UsageError GG315 or GG597 if not; a warning instead if the data `may_lack` tables."""
    problems = [missing_table(option, pattern, names) for option, pattern in selection.unmatched(names)]
    if selection.maps is not None and names and not any(map(selection.maps.names, names)):
        shown = list_names(sorted(names)[:MAX_NAMES])
        help = f"tables in the data are {shown}; a name in MAP has as many parts, or wildcards for them"
        problems.append(Diagnostic("GG597", "no MAP names a table in the data", selection.maps.file_name, help))
    if problems and not may_lack:
        raise UsageError.of(*problems)
    for problem in problems:
        log.warning("%s", visible(problem.message))


def missing_table(option: str, pattern: str, names: Collection[str]) -> Diagnostic:
    names = list(names)
    help = f"tables in the data are {', '.join(f'`{name}`' for name in names[:MAX_NAMES])}" if names else None
    if len(names) > MAX_NAMES:
        help = f"{help} and {len(names) - MAX_NAMES} more"
    near = suggestion(pattern.lower(), [*names, *(name_parts(name)[-1] for name in names)])
    shown = "; ".join(filter(None, (help, near))) or None
    return Diagnostic("GG315", f"`{option}` names `{pattern}`, but no table in the data matches", help=shown)


def check_ended(outcomes: Sequence[ReadOutcome]) -> None:
    for outcome in outcomes:
        if outcome.abend is not None:
            raise Abend.of(_with_help(outcome.abend))
    if any(outcome.stopped or outcome.undefined for outcome in outcomes):
        raise Abend("GG507", "a task was stopped without a reason")


def _with_help(mistake: Diagnostic) -> Diagnostic:
    """Return the mistake, with what can be done about every bad record if it has no help of its own."""
    if mistake.help is not None or mistake.page != BAD_RECORDS:
        return mistake
    return replace(mistake, help="correct the record, or set bad records aside with `--on-reject quarantine`")


def inputs_to_reread(splits: Sequence[Split], outcomes: Sequence[ReadOutcome]) -> set[int]:
    """Return inputs whose first mistake may be none: in a range within a file of which not all before it was read."""
    for split, outcome in zip(splits, outcomes, strict=True):
        if outcome.abend is not None:
            first = split.first
            before = [
                earlier.stopped
                for item, earlier in zip(splits, outcomes, strict=True)
                if item.ordinal < split.ordinal
                and first.start
                and any(part.input.index == first.input.index for part in item.ranges)
            ]
            return {first.input.index} if any(before) else set()
    return set()


def _stays(split: Split, outcome: ReadOutcome, before: ReadJob, job: ReadJob) -> bool:
    """Return whether the outcome of a split is right by the definitions in all of the data, too."""
    if not outcome.is_whole or job.epoch_at(split) or job.selection.maps is not None or job.source != before.source:
        return False
    return outcome.stays(before.catalog, job.catalog)


def needs_discovery(job: ReadJob, outcome: ReadOutcome) -> bool:
    """Return whether definitions of all data come first: provisional ones may make a value a mistake that is none."""
    return outcome.undefined or (job.catalog.provisional and outcome.abend is not None)


def _counter(tracker: ProgressTracker) -> Callable[[ReadOutcome], None]:
    operations = 0

    def count(outcome: ReadOutcome) -> None:
        nonlocal operations
        operations += outcome.operations.total()
        if operations:
            tracker.set_operations(operations)

    return count
