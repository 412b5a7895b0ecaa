"""The operations of all tables, read once: tasks read splits, and leave them by table and by bucket of their keys.

A bucket has all operations of a key, so that buckets can be worked on one by one. Operations stay in memory as long as
they are few and everything runs in this process. Otherwise they go to files of Arrow's IPC format, which a task of the
next step reads by its buckets. Attempts of a task do not collide: the number of the attempt is in the names of files,
and the outcome of the attempt that counts names its own.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import arrays
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import array_identity, concatenated, narrow
from ggfmt.commit.names import counted, safe_name
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError
from ggfmt.formats.api.reading import Reject
from ggfmt.frames.batches import DiscoveryRequiredError, FrameBoundaryError, located_batches
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.options.value_types import Keys, OnUnfit
from ggfmt.reading.files import BUFFER_BYTES, InputFile
from ggfmt.reading.rejects import RejectFiles, in_input_order
from ggfmt.reading.runner import warn_of_missing_kernels
from ggfmt.reading.scan import DefinitionsNeeded
from ggfmt.reading.splits import ReadJob, Split
from ggfmt.reading.tasks import STOP_FILE, StagedFile, TaskOutcome, in_task
from ggfmt.rowfiles.spill import distinct_columns, filtered, restored, split_by
from ggfmt.rows.base import BaseTable
from ggfmt.rows.key_updates import KeyLinks, LinkedKeys, file_ends, linked_keys, links_between, links_within
from ggfmt.rows.operations import TRUNCATE, staged_operations, staged_schema
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.results import unfit_help
from ggfmt.rows.table_stats import TableStats
from ggfmt.rows.tables import RowTable, Types, of_base, tables_of, with_base_columns, with_base_numbers

if TYPE_CHECKING:
    from ggfmt.replicat.account import Fate

MAX_MEMORY_BYTES = 256 << 20  # of staged operations in this process
MAX_BUFFERED_BYTES = 48 << 20  # of a task, before it writes
MAX_OPEN_FILES = 128
BUCKET_BYTES = 128 << 20  # of input files
MAX_BUCKET_BYTES = 512 << 20  # of input files that are one bucket, where one task runs after the other
MAX_BUCKETS = 1024
UNIT_BYTES = 128 << 20  # of staged operations that a task finds rows of; it needs some six times as much memory
MAX_UNIT_BYTES = 320 << 20  # of staged operations in a bucket that is not cut
MIN_UNIT_BYTES = 16 << 20  # of staged operations, so that a task is worth its start
EVERY = -1  # bucket: operations in memory that are not divided
MAX_WARNINGS = 20  # about statements, in the log
ROWS_HANDLER = "rows"  # of rejected records, which runs list by handler

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class StagedPart:
    """Operations of a table: in memory, or as batch `index` of a file. `size`: their bytes in memory."""

    bucket: int  # or `EVERY`
    size: int
    batch: pa.RecordBatch | None = None
    file: Location | None = None
    index: int = 0

    def is_of(self, bucket: int, buckets: int) -> bool:
        return self.bucket == EVERY or self.bucket % buckets == bucket


@dataclass
class StagedTable:
    """The operations of a table that a task has read. `ends`: `file_ends` of its batches."""

    parts: list[StagedPart] = field(default_factory=list)
    size: int = 0
    stats: TableStats = field(default_factory=TableStats)
    ends: list[pa.RecordBatch] = field(default_factory=list)

    def add_links(self, batch: pa.RecordBatch) -> None:
        """Note which keys a batch connects. It comes next in the input, and has no truncates."""
        self.stats.links += links_within(batch)
        self.ends.append(file_ends(batch))

    def merge(self, later: StagedTable) -> None:
        """Add operations that come later in the input."""
        self.parts += later.parts
        self.size += later.size
        self.stats.merge(later.stats)
        self.ends += later.ends


@dataclass
class StagedSplit(TaskOutcome):
    tables: dict[str, StagedTable] = field(default_factory=dict)
    rejects: list[StagedFile] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    warnings: list[Diagnostic] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> Collection[str]:
        return self.tables

    @property
    def count(self) -> int:
        return sum(table.stats.operations.total() for table in self.tables.values())

    def staged(self) -> Iterator[tuple[Location, int | None, str | None]]:
        """Yield the files of the task."""
        for table in self.tables.values():
            yield from files_of(table.parts)
        for file in self.rejects:
            yield file.location, file.size, file.sha256


@dataclass
class StagedInput:
    """All operations of the input: by table its definition, its staged operations, and what connects its keys."""

    job: ReadJob
    tables: dict[str, RowTable]
    staged: dict[str, StagedTable]
    buckets: int
    files: tuple[str, ...]
    # number of records of tables that are not selected, by table
    skipped: Counter[str] = field(default_factory=Counter)
    # files of records that could not be read; `rejected`: their number, by the code of the reason
    rejects: list[StagedFile] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)  # number of records that are not operations, by kind
    warnings: list[Diagnostic] = field(default_factory=list)  # about statements on tables
    undefined: Sequence[str] = ()  # tables without a known column
    # number of their operations, truncates aside, by table
    unknown: Counter[str] = field(default_factory=Counter)
    mapped: Counter[Fate] = field(default_factory=Counter)  # what became of operations by the MAPs of a Replicat

    @property
    def names(self) -> set[str]:
        """The tables that are in the data, as the source names them."""
        return {*({fate.table for fate in self.mapped} or self.staged), *self.skipped}

    def prepend(self, name: str, batch: pa.RecordBatch) -> None:
        """Put operations of an earlier run, in order and with truncates, before those of the input."""
        table = self.tables[name]
        whole = StagedTable()
        whole.stats.add(batch, table)
        batch = filtered(batch, pc.not_equal(batch["op"], TRUNCATE))
        if len(batch):
            whole.parts = parts_in_memory(batch, bucket_numbers(batch["hash"], buckets_of(table, self.buckets)))
            whole.size = batch.nbytes
            whole.add_links(batch)
        whole.merge(self.staged.get(name, StagedTable()))
        self.staged[name] = whole

    def links(
        self, name: str, ordering: Ordering, before: pa.RecordBatch | None = None, others: Iterable[KeyLinks] = ()
    ) -> LinkedKeys | None:
        """Return the keys of a table that operations connect, if there are any. `before`: the last operation of earlier
        runs; `others`: what these connect."""
        staged = self.staged.get(name)
        if staged is None or not self.tables[name].key:
            return None
        return linked_keys([*staged.stats.links, *others, *links_between(staged.ends, ordering, before)])


@dataclass
class RowSink:
    """Takes operations to staging. `directory` is for the sink alone, and tasks reach it."""

    directory: Location
    keys: Keys = ()
    types: Types = ()
    buckets: int = 1  # into how many parts keys are divided
    in_memory: bool = False  # operations may stay in memory
    keeps: bool = False  # what tasks write stays for a run that goes on with this one
    cuts: bool = True  # operations in memory are divided, too
    tables: dict[str, RowTable] = field(default_factory=dict)  # by name, as the last task has them
    # tables of a base snapshot by name or directory, with types as rows store them
    bases: Mapping[str, BaseTable] = field(default_factory=dict)
    # what the target knows of a table of which the input shows no column
    described: Callable[[str], BaseTable | None] = lambda name: None
    definitions: Collection[str] = ()  # the names of tables that the user has defined
    quarantine: bool = False  # set records aside that cannot be read
    to: str = "parquet"  # where rows go, which decides on types
    on_unfit: OnUnfit = "error"  # what becomes of a value that the type of its column does not have

    def task(self, job: ReadJob) -> Callable[[Split, int], StagedSplit]:
        keys = {name: base.key for name, base in self.bases.items()}
        types = {f"{name}.{column}": type for name, base in self.bases.items() for column, type in base.types.items()}
        try:
            shown = job.shown
            tables = tables_of(shown, self.keys, self.types, keys, self.to, self.on_unfit, types)
        except UsageError:
            if job.settled:
                raise
            raise DefinitionsNeeded from None  # the rest of the data may have what is named
        # The input may have only truncates of a table, or a statement that drops it.
        in_data = [table.full_name for table in shown.catalog.tables()]
        directories = {safe_name(name) for name in (*tables, *in_data)}
        for name in (*in_data, *(name for name in self.bases if name not in directories)):
            base = None if name in tables else self._base_of(name) or self.described(name)
            if base is not None and shown.selection.selects(name):
                tables[name] = of_base(name, base.key, base.types)
        self.tables = {name: self._with_base(table) for name, table in sorted(tables.items())}
        memory = MemoryBudget(MAX_MEMORY_BYTES) if self.in_memory else None
        if self.directory.is_local and (self.quarantine or not self.in_memory):
            fs, inner = self.directory.file_system()
            fs.create_dir(inner)  # a task that fails leaves a stop file there before it stages anything
        return SplitStager(job, self.tables, self.directory, self.buckets, memory, self.quarantine, self.cuts).stage

    def _base_of(self, name: str) -> BaseTable | None:
        return self.bases.get(name) or self.bases.get(safe_name(name))

    def _with_base(self, table: RowTable) -> RowTable:
        base = self._base_of(table.name)
        if base is None or table.name in self.definitions:
            return table
        if table.defined:
            return with_base_numbers(table, base.numbers)
        return with_base_columns(table, base.types, base.numbers, base.defined)

    def discard(self) -> None:
        if self.keeps:  # a run that goes on with this one meets the same again
            self.go_on()
        else:
            Store(self.directory).delete_tree("")

    def go_on(self) -> None:
        Store(self.directory).delete(STOP_FILE)

    def staged(self, job: ReadJob, outcomes: Sequence[StagedSplit], files: Sequence[InputFile]) -> StagedInput:
        """Return all operations of the tasks that have read `files`."""
        warn_of_missing_kernels([outcome.kernels for outcome in outcomes])
        undefined: list[str] = []
        shown = job.shown
        for table in shown.catalog.tables():
            known = table.full_name in self.tables or shown.catalog.trusted.get(table.full_name)
            if not known and shown.selection.selects(table.full_name):
                undefined.append(table.full_name)
                lost = sum(outcome.unknown[table.full_name] for outcome in outcomes)
                log.warning(
                    "table %s skipped: its columns are unknown%s; add a definition with `--definitions`",
                    visible(table.full_name),
                    f", and {counted(lost, 'operation')} in no row" if lost else "",
                )
        found = merge_outcomes(job, self.tables, outcomes, self.buckets, files)
        found.undefined = undefined
        if job.routed:
            found.rejects = in_input_order(found.rejects, self.directory, ROWS_HANDLER, found.files)
        return found


@dataclass
class MemoryBudget:
    left: int
    _lock: Lock = field(default_factory=Lock, repr=False)

    def take(self, size: int) -> bool:
        with self._lock:
            self.left -= size
            return self.left >= 0


def bucket_count(size: int, parallelism: int, file_size: int | None = None) -> int:
    """Return a power of two. `file_size`: of files of rows, which are smaller than operations they come from."""
    wanted = 1 if parallelism == 1 and size <= MAX_BUCKET_BYTES else -(-size // BUCKET_BYTES)
    if size > BUCKET_BYTES // 16:
        wanted = max(wanted, parallelism)
    if file_size is not None:
        wanted = max(wanted, -(-size // file_size))
    return min(1 << (max(wanted, 1) - 1).bit_length(), MAX_BUCKETS)


def unit_count(size: int, parallelism: int, unit: int | None = None) -> int:
    """Return in how many parts tasks find rows: a power of two. `unit`: bytes of a part; None: as suits the machine."""
    wanted = max(-(-size // (unit or UNIT_BYTES)), min(parallelism, size // MIN_UNIT_BYTES), 1)
    return min(1 << (wanted - 1).bit_length(), MAX_BUCKETS)


def piece_count(size: int) -> int:
    """Return into how many pieces one task cuts a bucket with staged operations of some bytes: a power of two."""
    return 1 if size <= MAX_UNIT_BYTES else unit_count(size, 1)


def merge_outcomes(
    job: ReadJob, tables: dict[str, RowTable], outcomes: Iterable[StagedSplit], buckets: int, files: Iterable[InputFile]
) -> StagedInput:
    found = StagedInput(job, tables, {}, buckets, tuple(file.shown for file in files))
    for outcome in outcomes:
        found.skipped += outcome.skipped
        found.rejects += outcome.rejects
        found.rejected += outcome.rejected
        found.others += outcome.others
        found.unknown += outcome.unknown
        found.mapped += outcome.mapped
        found.warnings += outcome.warnings
        for name, part in outcome.tables.items():
            found.staged.setdefault(name, StagedTable()).merge(part)
    numbers = {file: number for number, file in enumerate(found.files)}
    found.warnings.sort(key=lambda warning: (numbers.get(warning.span.file or "", -1), warning.span.offset or 0))
    for warning in found.warnings[:MAX_WARNINGS]:
        log.warning("%s", visible(str(warning)))
    if len(found.warnings) > MAX_WARNINGS:
        log.warning("%s: see the manifest", counted(len(found.warnings) - MAX_WARNINGS, "more warning"))
    return replace(found, staged=dict(sorted(found.staged.items())))


@dataclass(frozen=True)
class SplitStager:
    """What all tasks have in common; tables are numbered in `directory`. Without one, tasks only gather statistics."""

    job: ReadJob
    tables: Mapping[str, RowTable]
    directory: Location | None
    buckets: int
    memory: MemoryBudget | None = None
    quarantine: bool = False
    cuts: bool = True  # operations in memory are divided, too

    def stage(self, split: Split, attempt: int) -> StagedSplit:
        """Read one split. `attempt` is unique, so that attempts of one split do not collide."""
        roots = [self.directory] if self.memory is None and self.directory is not None else []
        return in_task(self.job, roots, StagedSplit(split.ordinal), lambda: _StagingTask(self, split, attempt).run())


class _StagingTask:
    def __init__(self, stager: SplitStager, split: Split, attempt: int) -> None:
        self._stager, self._split = stager, split
        self._outcome = StagedSplit(split.ordinal)
        self._schemas: dict[str, pa.Schema] = {}
        directories = {name: number for number, name in enumerate(stager.tables)}
        stem = f"{split.ordinal:07d}-{attempt}"
        self._files = self._rejects = None
        if stager.directory is not None:
            self._files = BucketFiles(stager.directory, stem, directories, stager.memory, stager.cuts)
            if stager.quarantine:
                self._rejects = RejectFiles(Store(stager.directory), ROWS_HANDLER, split.ordinal)

    def run(self) -> StagedSplit:
        outcome = self._outcome
        try:
            stager, on_reject = self._stager, None if self._rejects is None else self._reject
            sources: dict[str, dict[str, str]] = {}
            noted = outcome.skipped, on_reject, outcome.others, outcome.warnings.append, outcome.unknown, sources
            counts = outcome.mapped, outcome.remarks
            for located in located_batches(stager.job, self._split, stager.tables, *noted, *counts):
                name = located.batch.table.full_name
                if name not in outcome.tables:
                    self._start(name)
                unfit = outcome.tables[name].stats.unfit
                self._add(name, staged_operations(located, stager.tables[name], self._schemas[name], unfit))
            for name in sources.keys() & outcome.tables.keys():
                outcome.tables[name].stats.sources.update(sources[name])
        except FrameBoundaryError as error:
            outcome.crossed = error.input
        except DiscoveryRequiredError:
            outcome.undefined = True
        except Abend as error:
            outcome.abend = _with_type_option(error.diagnostics[0])
        finally:
            written = {} if self._files is None else self._files.close()
            if self._rejects is not None:
                outcome.rejects, outcome.rejected = self._rejects.close(), self._rejects.by_code
        for name, (parts, size) in written.items():
            outcome.tables[name].parts, outcome.tables[name].size = parts, size
        for staged in outcome.tables.values():
            if len(staged.ends) > 1:
                staged.ends = [concatenated(staged.ends, staged.ends[0].schema)]
        return outcome

    def _start(self, name: str) -> None:
        table = self._stager.tables[name]
        self._outcome.tables[name] = StagedTable()
        self._schemas[name] = staged_schema(table)

    def _reject(self, reject: Reject) -> None:
        assert self._rejects is not None
        self._rejects.add(reject.record, reject.diagnostic)

    def _add(self, name: str, batch: pa.RecordBatch) -> None:
        table = self._stager.tables[name]
        staged = self._outcome.tables[name]
        staged.stats.add(batch, table)
        truncates = pc.equal(batch["op"], TRUNCATE)
        if truncates.true_count:
            batch = filtered(batch, pc.invert(truncates))
        if not len(batch):
            return
        if table.key:
            staged.add_links(batch)
        if self._files is None:
            staged.size += batch.nbytes
        else:
            self._files.write(name, batch, bucket_numbers(batch["hash"], buckets_of(table, self._stager.buckets)))


def _with_type_option(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.code != "GG530":
        return diagnostic
    place = diagnostic.span
    help = "correct the time in the file" if place.field == "op_ts" else unfit_help(place.table, place.field)
    return replace(diagnostic, help=help)


def buckets_of(table: RowTable, buckets: int) -> int:
    """Return one bucket for a table without a key whose rows may become equal when a column is dropped."""
    return buckets if table.key or len(table.epochs) == 1 else 1


def bucket_numbers(hashes: pa.Array[Any], buckets: int, divisor: int = 1) -> pa.Int32Array:
    """Return the bucket of each row: the low bits of the hash of its key, divided by a power of two."""
    if buckets == 1:
        return narrow(pa.repeat(pa.scalar(0, pa.int32()), len(hashes)), pa.Int32Array)
    hashes = pc.fill_null(hashes, 0)
    if divisor > 1:
        hashes = pc.shift_right(hashes, pa.scalar(divisor.bit_length() - 1, hashes.type))
    return pc.cast(pc.bit_wise_and(hashes, pa.scalar(buckets - 1, pa.uint64())), pa.int32())


def files_of(parts: Iterable[StagedPart]) -> Iterator[tuple[Location, None, None]]:
    """Yield the files of parts, of which neither size nor digest is known: a file that was cut cannot be read."""
    for file in dict.fromkeys(part.file for part in parts):
        if file is not None:
            yield file, None, None


def parts_in_memory(batch: pa.RecordBatch, numbers: pa.Int32Array) -> list[StagedPart]:
    return [StagedPart(number, own.nbytes, own) for number, own in split_by(batch, numbers)]


def _size(batch: pa.RecordBatch) -> int:
    return sum(column.nbytes for column in {array_identity(column): column for column in batch.columns}.values())


_OpenFile: TypeAlias = tuple[Location, pa.ipc.RecordBatchFileWriter, pa.NativeFile, list[int]]


class BucketFiles:
    """Staged operations of many tables, written at the same time: a file for each table and each choice of columns that
    are the same array, with a batch for each bucket. Bytes that wait and files that are open are limited.

    stem         the start of file names
    directories  by table the number of its directory
    memory       while it lasts, operations stay in memory
    cuts         they are divided there, too
    """

    def __init__(
        self,
        directory: Location,
        stem: str,
        directories: Mapping[str, int],
        memory: MemoryBudget | None = None,
        cuts: bool = True,
    ) -> None:
        self._directory, self._stem, self._directories = directory, stem, directories
        self._memory, self._cuts = memory, cuts
        self._open: OrderedDict[tuple[str, bytes], _OpenFile] = OrderedDict()
        self._parts: dict[str, list[StagedPart]] = {}
        self._waiting: dict[str, list[tuple[pa.RecordBatch, pa.Int32Array]]] = {}
        self._sizes: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._files: dict[str, int] = {}

    def write(self, table: str, batch: pa.RecordBatch, numbers: pa.Int32Array) -> None:
        """Take rows of a table, with the bucket of each row."""
        size = _size(batch)
        self._written[table] = self._written.get(table, 0) + size
        if self._memory is not None and self._memory.take(size):
            parts = parts_in_memory(batch, numbers) if self._cuts else [StagedPart(EVERY, size, batch)]
            self._parts.setdefault(table, []).extend(parts)
            return
        self._waiting.setdefault(table, []).append((batch, numbers))
        self._sizes[table] = self._sizes.get(table, 0) + size
        if sum(self._sizes.values()) >= MAX_BUFFERED_BYTES:
            largest = sorted(self._sizes, key=lambda name: -self._sizes[name])
            for name in largest[: 1 + len(largest) // 4]:
                self._flush(name)

    def close(self) -> dict[str, tuple[list[StagedPart], int]]:
        for table in list(self._waiting):
            self._flush(table)
        while self._open:
            self._close_oldest()
        return {table: (parts, self._written[table]) for table, parts in self._parts.items()}

    def close_one(self) -> list[StagedPart]:
        return next((parts for parts, _ in self.close().values()), [])

    def _flush(self, table: str) -> None:
        waiting = self._waiting.pop(table)
        del self._sizes[table]
        batch = distinct_columns(concatenated((batch for batch, _ in waiting), waiting[0][0].schema))
        numbers = pa.concat_arrays([own for _, own in waiting])
        location, writer, _, count = self._writer(table, batch.schema)
        parts = self._parts.setdefault(table, [])
        for number, own in split_by(batch, numbers):
            writer.write_batch(own)
            parts.append(StagedPart(number, own.nbytes, None, location, count[0]))
            count[0] += 1

    def _writer(self, table: str, schema: pa.Schema) -> _OpenFile:
        key = table, schema.serialize().to_pybytes()
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        if len(self._open) == MAX_OPEN_FILES:
            self._close_oldest()
        number = self._files[table] = self._files.get(table, -1) + 1
        location = self._directory.child(f"{self._directories[table]:05d}", f"{self._stem}-{number}.arrow")
        fs, inner = location.file_system()
        if location.is_local:
            fs.create_dir(inner.rpartition("/")[0])
        stream = fs.open_output_stream(inner)
        self._open[key] = location, pa.ipc.new_file(stream, schema, options=arrays.STAGED), stream, [0]
        return self._open[key]

    def _close_oldest(self) -> None:
        _, (_, writer, stream, _) = self._open.popitem(last=False)
        writer.close()
        stream.close()


def load(parts: Iterable[StagedPart]) -> Iterator[pa.RecordBatch]:
    by_file: dict[Location, list[int]] = {}
    for part in parts:
        if part.batch is not None:
            yield part.batch
        else:
            assert part.file is not None
            by_file.setdefault(part.file, []).append(part.index)
    for file, indices in by_file.items():
        with file.open_file() as stream:
            small = stream.size() <= BUFFER_BYTES  # so that a store takes one request, and not one for each part
            with pa.ipc.open_file(stream.read_buffer() if small else stream, options=arrays.READ) as reader:
                yield from restored(map(reader.get_batch, sorted(indices)), reader.schema)


def in_units(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= UNIT_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting
