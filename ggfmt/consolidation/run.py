"""`ggfmt consolidate` from end to end: inputs are read into staging, Spark finds the rows, and they are committed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ggfmt import signals
from ggfmt.commit.commit import CommitPart, StagedMove, commit, lock_all, write_error
from ggfmt.commit.journal import read_document
from ggfmt.commit.names import counted, folded
from ggfmt.commit.records import CONSOLIDATION_MEMBER, MANIFEST, as_bytes, kept_runs, run_file
from ggfmt.commit.store import FAILURES
from ggfmt.consolidation.asked import UNRESOLVED, Asked, unusable
from ggfmt.consolidation.base import Base, BaseTable, CsvFile, csv_to_parquet, named, read_base, tell_of_unresolved
from ggfmt.consolidation.conversion import Conversion, convert
from ggfmt.consolidation.manifest import Finished, Previous, described, table_directory, told_of
from ggfmt.consolidation.rows_directory import RowsDirectory
from ggfmt.consolidation.staging import Read, RowSink, StagedTable, stage_operations
from ggfmt.consolidation.tables import Types, is_defined
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.options.value_types import Keys
from ggfmt.scan.checkpoint import Checkpoint, open_checkpoint
from ggfmt.scan.files import InputFile
from ggfmt.scan.progress import COMMITTING, LISTING, STARTING, ProgressCallback, ProgressTracker
from ggfmt.scan.runner import InProcess, Runner, warn_without_kernels
from ggfmt.scan.scan import Scan, ScanRequest
from ggfmt.sinks.messages.preparation import check_inputs_unchanged, now, run_id

if TYPE_CHECKING:
    from ggfmt.consolidation.writing import Answer

MAX_TABLES_AT_ONCE = 4
MIN_DIGITS = 5
_LARGE_BYTES = 64 << 20  # of output, which tasks measure sooner than this process
_FINDING = "finding rows"  # a phase of nothing else
MERGEABLE = ("parquet", "orc")
_PLACES = 3  # of unresolved operations, in an error

log = logging.getLogger("ggfmt")


@dataclass(frozen=True, kw_only=True)
class ConsolidationSettings(ScanRequest):
    """What `ggfmt consolidate` was asked for."""

    output: str
    asked: Asked = field(default_factory=Asked)
    to: str = "parquet"
    mode: str = "error"
    strict: bool = False
    base: str | None = None
    checkpoint: str | None = None
    settle: float | None = None
    keys: Keys = ()
    types: Types = ()


def execute(
    settings: ConsolidationSettings,
    start: Callable[[], AbstractContextManager[Runner]],
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Carries a consolidation out; its manifest. `start` starts the runner, which is not done before everything else
    has been checked. `progress` is called with where it stands.

    Abend if nothing was committed because of the data, UsageError if it makes no sense; KeyboardInterrupt, which says
    so, if it was interrupted before anything was committed; CommittedWithErrors if something failed after that.
    """
    if start is InProcess:
        message = "rows are found by Spark's SQL, and `--master none` runs without Spark"
        raise unusable(message, "leave out `--master none`")
    try:
        return _Running(settings, ProgressTracker(progress)).run(start)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{signals.interruption()}; nothing was committed") from None


@dataclass(frozen=True)
class _RowsTarget:
    """What a checkpoint is bound to."""

    root: Location
    handler: str = "rows"


class _Running:
    def __init__(self, settings: ConsolidationSettings, following: ProgressTracker) -> None:
        self._settings, self._following = settings, following
        self._moment = now()
        self._run = run_id(self._moment)
        self._output = RowsDirectory(Location.of(settings.output))
        self._base: Base | None = None
        self._previous: Previous | None = None

    @property
    def _staging(self) -> Location:
        return self._output.staging(self._run)

    def run(self, start: Callable[[], AbstractContextManager[Runner]]) -> dict[str, Any]:
        started = time.perf_counter()
        with ExitStack() as stack:
            self._following.start_phase(LISTING)
            settings = self._settings
            checkpoint = open_checkpoint(settings.checkpoint, settings.settle, settings.mode, [self._output])
            files = settings.list()
            lock_all([self._output, *filter(None, [checkpoint])], self._run, stack)
            if checkpoint is not None:
                files = self._new(checkpoint, files)
                if not files:
                    return {} if self._previous is None else dict(self._previous.document)
            scan = Scan(settings, files)
            scan.open_all()
            log.info("input format %s: %s", scan.input_format, visible(scan.reason))
            replaced = [] if self._previous is not None else self._output.replaced(settings.mode)
            self._base = self._read_base()
            self._following.start_phase(STARTING)
            runner = stack.enter_context(start())
            try:
                read = self._read(scan, runner)
                self._following.start_phase(_FINDING)
                answers = self._answers(read, runner)
            except Abend:
                check_inputs_unchanged(scan.files)
                raise
            self._refuse_unresolved(answers)
            check_inputs_unchanged(scan.files)
            self._following.start_phase(COMMITTING)
            finished = list(self._finished(answers, runner))
            seconds = time.perf_counter() - started
            document = described(self._run, self._moment, settings, read.job, scan.files, finished, seconds)
            told = list(told_of(document))
            if self._previous is not None:
                root = self._output.root
                again = [file.name_below(root) or file.address for answer in answers for file in answer.replaced]
                merged = {answer.table.name: answer.merged for answer in answers}
                document = self._previous.merged(document, merged, set(again))
                replaced = [*again, *map(run_file, kept_runs(self._output.store))]
            others = [] if checkpoint is None else [checkpoint.part(self._run, [self._target], scan.inputs)]
            self._commit(finished, replaced, document, others)
            signals.suspend()  # the rows are committed, and what comes now cannot say otherwise
        for line in told:
            log.info("%s", visible(line))
        return document

    @property
    def _target(self) -> _RowsTarget:
        return _RowsTarget(self._output.root)

    def _new(self, checkpoint: Checkpoint, files: Sequence[InputFile]) -> list[InputFile]:
        """The files that no earlier run has read, and what it is that they are merged into. UsageError GG551 for rows
        that later changes cannot be merged into."""
        settings, asked = self._settings, self._settings.asked
        if asked != Asked(order=asked.order) or settings.to not in MERGEABLE:
            message = "`--checkpoint` is for current rows, as Parquet or ORC: changes are merged into them"
            raise unusable(message, "leave out `--checkpoint`, or what asks for other rows")
        if checkpoint.bind([self._target], [self._output], settings.mode) == "append":
            self._previous = Previous(read_document(self._output.store, MANIFEST) or {})
        chosen = checkpoint.choose(files, settings.settle)
        if not chosen.files:
            log.info("nothing to do: %s", chosen)
            checkpoint.record_renewed(self._run)
        return chosen.files

    def _read_base(self) -> Base | None:
        settings = self._settings
        if self._previous is not None:
            told = self._previous.document[CONSOLIDATION_MEMBER]
            if told["to"] != settings.to:
                raise unusable(f"the rows in the output are `{told['to']}`", f"give `--to {told['to']}`")
            return read_base(self._output.root.address) if self._previous.document["tables"] else None
        if settings.base is None:
            return None
        base = read_base(settings.base)
        tell_of_unresolved(base, self._output.root.address, settings.strict)
        return base

    def _read(self, scan: Scan, runner: Runner) -> Read:
        settings = self._settings
        keys = {} if self._base is None else self._base.keys
        sink = RowSink(self._staging.child("operations"), settings.keys, settings.types, keys)
        try:
            warn_without_kernels()
            return stage_operations(scan, sink, runner, self._following)
        except OSError as error:
            raise Abend(write_error(Location.of(settings.output), error)) from None

    def _answers(self, read: Read, runner: Runner) -> list[Answer]:
        from ggfmt.consolidation import writing
        from ggfmt.spark.sql import statements

        defined = frozenset(name for name in read.tables if is_defined(read.job, name))
        merges = self._previous is not None
        directory, clusters = self._staging.child("rows"), self._settings.checkpoint is not None
        question = writing.Question(self._settings.asked, self._settings.to, directory, defined, merges, clusters)
        bases = self._bases(read, runner)
        names = sorted(read.staged) if merges else sorted({*read.staged, *bases})
        items = [
            writing.Known(number, name, read.tables.get(name), read.staged.get(name, StagedTable()), bases.get(name))
            for number, name in enumerate(names)
        ]
        largest = max((item.size for item in items), default=0)
        parts = max(2 * runner.parallelism, -(-largest // writing.SHUFFLE_BYTES))
        conf = {**writing.SETTINGS, "spark.sql.shuffle.partitions": str(parts)}
        if largest <= writing.INTERPRETED_BYTES:
            conf |= writing.INTERPRETED
        items.sort(key=lambda item: -item.size)  # what takes longest comes first
        threads = max(1, min(MAX_TABLES_AT_ONCE, len(items)))
        with statements(runner, conf, threads) as sql:  # type: ignore[arg-type]
            found = sql.each(partial(writing.answer, question), items)
        return sorted(found, key=lambda answer: answer.table.name)

    def _bases(self, read: Read, runner: Runner) -> dict[str, BaseTable]:
        """The rows from before, as files that Spark reads."""
        if self._base is None:
            return {}
        tables = named(self._base, read.tables)
        directory = self._staging.child("base")
        items = []
        for number, table in enumerate(tables.values()):
            if table.suffix == "csv":
                known = read.tables.get(table.name)
                types = {**table.types, **({} if known is None else known.types)}
                items += [
                    CsvFile(table.name, path, types, directory, f"{number:05d}-{place:05d}")
                    for place, path in enumerate(table.files)
                ]
        parquet: dict[str, list[Location]] = {}
        for item, path in zip(items, runner.run(csv_to_parquet, items), strict=True):
            if isinstance(path, Diagnostic):
                raise UsageError(path)
            parquet.setdefault(item.table, []).append(path)
        return {
            name: replace(table, suffix="parquet", files=tuple(parquet[table.name])) if table.name in parquet else table
            for name, table in tables.items()
        }

    def _refuse_unresolved(self, answers: Sequence[Answer]) -> None:
        """Abend GG570 under `strict` if something could not be decided."""
        if not self._settings.strict:
            return
        from ggfmt.consolidation.places import first_places

        rows = sum(answer.counts[UNRESOLVED] for answer in answers)
        places = [
            Diagnostic("GG570", f"unresolved: {reason}", place)
            for answer in answers
            for reason, place in first_places(answer, _PLACES)
        ]
        if rows or places:
            message = f"{counted(rows, 'row')} cannot be decided"
            help = "nothing was committed; without `--strict`, `_unresolved` has the operations of all of them"
            raise Abend(Diagnostic("GG570", message, Span(file=self._settings.output), help), *places[:_PLACES])

    def _finished(self, answers: Sequence[Answer], runner: Runner) -> Iterator[Finished]:
        """The files of all tables, as they are to be."""
        to, directory = self._settings.to, self._staging.child("converted")
        generic = "parquet" if to in ("parquet", "orc", "avro") else "json"
        items: list[tuple[Answer, bool, Conversion]] = []
        for number, answer in enumerate(answers):
            table = answer.table.definition
            for place, path in enumerate(answer.rows):
                own = to if to in ("csv", "avro") else None
                stem = f"rows-{number:05d}-{place:05d}"
                items.append((answer, False, Conversion(table, path, own, directory, stem)))
            for place, path in enumerate(answer.unresolved):
                stem = f"unresolved-{number:05d}-{place:05d}"
                items.append((answer, True, Conversion(table, path, generic, directory, stem, unresolved=True)))
        large = sum(answer.staged.size for answer in answers) > _LARGE_BYTES
        conversions = [conversion for _, _, conversion in items]
        written = (runner if large else InProcess()).run(convert, conversions)
        parts = {} if self._previous is None else self._previous.last_parts()
        for (answer, unresolved, _), file in zip(items, written, strict=True):
            if unresolved and not file.rows:
                continue
            name = "_unresolved" if unresolved else table_directory(answer.table.name)
            number = parts[folded(name)] = parts.get(folded(name), -1) + 1
            suffix = generic if unresolved else to
            yield Finished(answer, unresolved, f"{name}/part-{number:0{MIN_DIGITS}d}.{suffix}", file)

    def _commit(
        self,
        finished: Sequence[Finished],
        replaced: Sequence[str],
        document: dict[str, Any],
        others: Sequence[CommitPart],
    ) -> None:
        part = CommitPart(self._output, deletes=list(replaced))
        try:
            for item in finished:
                source = item.file.location.name_below(self._output.root)
                assert source is not None
                part.moves.append(StagedMove(source, item.name, item.file.size, item.file.sha256))
            text = as_bytes(document)
            part.moves += self._output.stage([(run_file(self._run), text), (MANIFEST, text)])
            commit(self._run, [part, *others])
        except FAILURES as error:
            raise Abend(write_error(self._output.root, error)) from None
