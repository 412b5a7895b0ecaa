"""The operations of all tables, cut by table once: tasks read splits, and leave Parquet files for each table.

The files are in the typed shape of frames, without tokens and the name of the table. They are for Spark to read with
its own reader, the columns that a query needs alone. What the attempts of a task have left does not meet: the number of
the attempt is in the names of files, and the outcome of the one that counts names its own.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from ggfmt.commit.store import Store
from ggfmt.consolidation.seen import Seen
from ggfmt.consolidation.tables import Table, Types, tables_of
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError
from ggfmt.frames.batches import DiscoveryRequiredError, FrameBoundaryError, table_batches
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.options.value_types import Keys
from ggfmt.scan.progress import ProgressTracker
from ggfmt.scan.runner import Runner, warn_of_missing_kernels
from ggfmt.scan.scan import DefinitionsNeeded, Scan
from ggfmt.scan.splits import ReadJob, Split
from ggfmt.sinks.messages.sink import TaskOutcome, in_task

log = logging.getLogger("ggfmt")

COMPRESSION: Final = "zstd"
ROW_GROUP_BYTES = 16 << 20  # in memory
MAX_WAITING_BYTES = 64 << 20  # of all tables of a task
MAX_OPEN_FILES = 128


@dataclass
class StagedTable:
    """What tasks have of a table: files with their rows, and what is in them."""

    files: list[Location] = field(default_factory=list)
    size: int = 0
    seen: Seen = field(default_factory=Seen)

    def then(self, other: StagedTable) -> None:
        self.files += other.files
        self.size += other.size
        self.seen.then(other.seen)


@dataclass
class Staged(TaskOutcome):
    """What a task left."""

    tables: dict[str, StagedTable] = field(default_factory=dict)


@dataclass(frozen=True)
class Read:
    """All operations of the inputs, in staging: by table its definition, and its files."""

    job: ReadJob
    tables: dict[str, Table]
    staged: dict[str, StagedTable]


@dataclass
class RowSink:
    """Operations go to staged files of their tables, in `directory`, which tasks reach and which is theirs alone.

    tables  by name, as the last task has them
    """

    directory: Location
    keys: Keys = ()
    types: Types = ()
    known_keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def task(self, job: ReadJob) -> Callable[[Split, int], TaskOutcome]:
        """UsageError GG551 as of `tables_of`."""
        try:
            self.tables = tables_of(job, self.keys, self.types, self.known_keys)
        except UsageError:
            if job.settled:
                raise
            raise DefinitionsNeeded from None  # what is named may be further on in the data
        Store(self.directory).make_directory("")
        return Staging(job, self.tables, self.directory).stage

    def discard(self) -> None:
        Store(self.directory).delete_tree("")


def stage_operations(scan: Scan, sink: RowSink, runner: Runner, tracker: ProgressTracker | None = None) -> Read:
    """Abend for what cannot be read, or is no value of its column; UsageError GG551 as of `tables_of`."""
    job, outcomes = scan.run(scan.job, sink, runner, tracker)
    warn_of_missing_kernels([outcome.kernels for outcome in outcomes])
    for table in job.catalog.tables():
        if table.full_name not in sink.tables and not job.catalog.trusted.get(table.full_name):
            log.warning("table %s skipped: its columns are unknown", visible(table.full_name))
    return Read(job, sink.tables, gathered(outcomes))


@dataclass(frozen=True)
class Staging:
    """What all tasks have in common. They reach the `directory`; tables are numbered in it."""

    job: ReadJob
    tables: Mapping[str, Table]
    directory: Location

    def stage(self, split: Split, attempt: int) -> TaskOutcome:
        """Reads one split. `attempt` is unique, so that attempts of one split do not meet."""
        return in_task([self.directory], split.ordinal, lambda: _Task(self, split, attempt).run())


class _Task:
    def __init__(self, staging: Staging, split: Split, attempt: int) -> None:
        self._staging = staging
        self._split = split
        self._outcome = Staged(split.ordinal)
        stem = f"{split.ordinal:07d}-{attempt}"
        self._files = TableFiles(staging.directory, stem, list(staging.tables))

    def run(self) -> TaskOutcome:
        outcome, tables = self._outcome, self._staging.tables
        wanted = {name: table.wanted for name, table in tables.items()}
        try:
            for name, batch in table_batches(self._staging.job, self._split, wanted):
                staged = outcome.tables.setdefault(name, StagedTable())
                staged.seen.add(batch, tables[name].definition.primary_keys)
                self._files.write(name, batch)
        except FrameBoundaryError as error:
            outcome.crossed = error.input
        except DiscoveryRequiredError:
            outcome.undefined = True
        except Abend as error:
            outcome.abend = _as_option(error.diagnostics[0])
        finally:
            files = self._files.close()
        for name, (paths, size) in files.items():
            outcome.tables[name].files, outcome.tables[name].size = paths, size
        return outcome


def _as_option(diagnostic: Diagnostic) -> Diagnostic:
    """What is wrong, with the option that helps in place of that of a frame."""
    if diagnostic.code != "GG530":
        return diagnostic
    place = diagnostic.span
    help = f"give `--type '{place.table}.{place.field}=string'`" if place.field != "op_ts" else None
    return replace(diagnostic, help=help)


class TableFiles:
    """Parquet files of many tables, written at the same time: what waits for a row group is bounded, and so are files
    that are open. `stem` is that of the names of files, `numbered` has the tables by number."""

    def __init__(self, directory: Location, stem: str, numbered: Sequence[str]) -> None:
        self._directory, self._stem = directory, stem
        self._numbers = {name: number for number, name in enumerate(numbered)}
        self._fs, _ = directory.file_system()
        self._open: OrderedDict[str, pq.ParquetWriter] = OrderedDict()
        self._files: dict[str, list[Location]] = {}
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._sizes: Counter[str] = Counter()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        self._waiting.setdefault(table, []).append(batch)
        self._sizes[table] += batch.nbytes
        if self._sizes[table] >= ROW_GROUP_BYTES:
            self._flush(table)
        elif self._sizes.total() >= MAX_WAITING_BYTES:
            for largest, _ in self._sizes.most_common(1 + len(self._sizes) // 4):
                self._flush(largest)

    def close(self) -> dict[str, tuple[list[Location], int]]:
        """By table its files, and their bytes."""
        for table in list(self._waiting):
            self._flush(table)
        for writer in self._open.values():
            writer.close()
        self._open.clear()
        return {table: (paths, sum(map(self._size, paths))) for table, paths in self._files.items()}

    def _size(self, file: Location) -> int:
        return int(self._fs.get_file_info(file.inner).size)

    def _flush(self, table: str) -> None:
        batches = self._waiting.pop(table)
        del self._sizes[table]
        rows = pa.Table.from_batches(batches)
        self._writer(table, rows.schema).write_table(rows, row_group_size=max(1, len(rows)))

    def _writer(self, table: str, schema: pa.Schema) -> pq.ParquetWriter:
        writer = self._open.get(table)
        if writer is not None:
            self._open.move_to_end(table)
            return writer
        if len(self._open) == MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        paths = self._files.setdefault(table, [])
        path = self._directory.child(f"{self._numbers[table]:05d}", f"{self._stem}-{len(paths)}.parquet")
        inner = path.inner
        if path.is_local:
            self._fs.create_dir(inner.rpartition("/")[0])
        writer = pq.ParquetWriter(inner, schema, filesystem=self._fs, compression=COMPRESSION, store_schema=False)
        paths.append(path)
        self._open[table] = writer
        return writer


def gathered(outcomes: Iterable[TaskOutcome]) -> dict[str, StagedTable]:
    """What tasks that have ended well have left, by table, in input order."""
    tables: dict[str, StagedTable] = {}
    for outcome in outcomes:
        assert isinstance(outcome, Staged)
        for name, staged in outcome.tables.items():
            tables.setdefault(name, StagedTable()).then(staged)
    return dict(sorted(tables.items()))
