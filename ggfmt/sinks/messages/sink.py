"""The sink of one task: staged files of every handler, and the counts that the task reports."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value, non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import text_buffer
from ggfmt.commit.names import FileLocation, counted
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, field, fields
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.losses import CHARACTER_REPLACED
from ggfmt.formats.api.writing import Framing, LossNote
from ggfmt.location import Location
from ggfmt.model.change import OP_TYPES, ChangeBatch
from ggfmt.model.table import Catalog, TableDef
from ggfmt.reading.progress import FORMATTING, WRITING, Stopwatch
from ggfmt.reading.tasks import PlacedPreamble, RecordCounts, StagedFile, TaskOutcome, TaskStopped, unique_name
from ggfmt.sinks.messages.layout import (
    MAX_PARTITIONS,
    Partition,
    Partitioner,
    file_name_conflict_error,
    too_many_partitions,
)
from ggfmt.sinks.messages.pipeline import FormattedBatch, HandlerOutput, Job, Pipeline, Preamble

if TYPE_CHECKING:
    from ggfmt.reading.rejects import RejectFiles

FLUSH_BYTES = 1 << 20
MAX_BUFFERED_BYTES = 32 << 20  # of all series of a task for one handler
_LARGE_BYTES = 1 << 16  # that are faster to write than to concatenate


class WriteBuffer:
    def __init__(self) -> None:
        self._series: dict[StagedSeries, int] = {}
        self._bytes = 0

    def add(self, series: StagedSeries, size: int) -> None:
        self._series[series] = self._series.get(series, 0) + size
        self._bytes += size

    def written(self, series: StagedSeries) -> None:
        self._bytes -= self._series.pop(series, 0)

    def of(self, series: StagedSeries) -> int:
        return self._series.get(series, 0)

    def limit(self) -> None:
        if self._bytes > MAX_BUFFERED_BYTES:
            for series in list(self._series):
                series.flush()


@dataclass
class _OpenFile:
    """The present file of a series. `said`: the definition of each table that it contains."""

    name: str = field(default_factory=unique_name)
    stream: pa.NativeFile | None = None
    size: int = 0
    operations: int = 0
    positions: tuple[str | None, str | None] = (None, None)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    preambles: list[PlacedPreamble] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class StagedSeries:
    """The files of a table, of all or of a partition, by one task for one handler; `lost` counts characters."""

    target: HandlerOutput
    directory: Store
    split: int
    table: str
    definition: str
    framing: Framing
    place: FileLocation
    partition: Partition
    waiting: WriteBuffer
    files: list[StagedFile] = field(default_factory=list)
    lost: int = 0
    _file: _OpenFile = field(default_factory=_OpenFile)
    _buffers: list[pa.Buffer | bytes] = field(default_factory=list)

    def write(
        self,
        messages: pa.Array[Any],
        positions: pa.StringArray,
        preambles: Sequence[Preamble] = (),
        preamble_of: pa.Int32Array | None = None,
        ops: pa.StringArray | None = None,
    ) -> None:
        """Append n messages; start a new file if the present one would grow too large. A message is never cut.

        A preamble precedes the first message of its definition in a file; `preamble_of` has its place in `preambles`
        for each message, if there are several. `ops`: the types of their operations.
        """
        if not len(messages):
            return
        pieces, lost = self._pieces(messages, preambles, preamble_of)
        more = sum(len(piece.data) if isinstance(piece, Preamble) else len(piece) for piece in pieces)
        size = (self._file.size or len(self.framing.header)) + more
        if size > self.target.max_file_size and (len(messages) > 1 or self._file.operations):
            if len(messages) > 1:
                half = len(messages) // 2
                for start, count in ((0, half), (half, len(messages) - half)):
                    of = None if preamble_of is None else preamble_of.slice(start, count)
                    kinds = None if ops is None else ops.slice(start, count)
                    self.write(messages.slice(start, count), positions.slice(start, count), preambles, of, kinds)
                return
            self.roll()
            pieces, lost = self._pieces(messages, preambles, preamble_of)
        file = self._file
        if not file.operations:
            self._put(self.framing.header)
            file.positions = (positions[0].as_py(), None)
        for piece in pieces:
            if isinstance(piece, Preamble):
                file.said[piece.table] = piece.definition
                file.preambles.append(PlacedPreamble(piece.table, piece.definition, file.size, len(piece.data)))
            self._put(piece.data if isinstance(piece, Preamble) else piece)
        self.lost += lost
        file.operations += len(messages)
        if self.target.counts and ops is not None:
            file.counts.update(counts_by_value(ops))
        file.positions = (file.positions[0], positions[len(positions) - 1].as_py())
        if self.waiting.of(self) >= FLUSH_BYTES:
            self.flush()
        self.waiting.limit()

    def _pieces(
        self, messages: pa.Array[Any], preambles: Sequence[Preamble], preamble_of: pa.Int32Array | None
    ) -> tuple[list[pa.Buffer | bytes | Preamble], int]:
        """Return the framed messages with the preambles that the file lacks, and the number of lost characters."""
        pieces: list[pa.Buffer | bytes | Preamble] = []
        start = lost = 0
        for row, preamble in [*self._lacking(preambles, preamble_of), (len(messages), None)]:
            if row > start:
                data, count = self.framing.frame(messages.slice(start, row - start))
                pieces.append(data)
                start, lost = row, lost + count
            if preamble is not None:
                pieces.append(preamble)
        return pieces, lost

    def _lacking(
        self, preambles: Sequence[Preamble], preamble_of: pa.Int32Array | None
    ) -> list[tuple[int, Preamble | None]]:
        """Return the preambles that the present file lacks, each with the first message that it must precede."""
        firsts = [(0, place) for place in range(len(preambles))]
        if preamble_of is not None:
            places = non_null_values(pc.unique(preamble_of))
            firsts = [(pc.index(preamble_of, place).as_py(), place) for place in places]
        said = dict(self._file.said)
        lacking: list[tuple[int, Preamble | None]] = []
        for row, place in firsts:
            preamble = preambles[place]
            if said.get(preamble.table) != preamble.definition:
                said[preamble.table] = preamble.definition
                lacking.append((row, preamble))
        return lacking

    def new_definition(self, definition: str, framing: Framing) -> None:
        if self.target.settings.roll_on_metadata_change and definition != self.definition:
            self.roll()
            self.definition = definition
            self.framing = framing

    def roll(self) -> None:
        file = self._file
        if not file.operations:
            return
        self.flush()
        if file.stream is not None:
            file.stream.close()
        self.files.append(
            StagedFile(
                self.target.handler,
                self.table,
                self.definition if self.target.settings.roll_on_metadata_change else "",
                self.split,
                len(self.files),
                self.directory.location(file.name),
                file.size,
                len(self.framing.header),
                file.operations,
                file.digest.hexdigest(),
                *file.positions,
                tuple(file.preambles),
                self.place,
                self.partition,
                tuple(sorted(file.counts.items())),
            )
        )
        self._file = _OpenFile()

    def _put(self, data: pa.Buffer | bytes) -> None:
        if len(data):
            self._buffers.append(data)
            self.waiting.add(self, len(data))
            self._file.size += len(data)
            self._file.digest.update(data)

    def flush(self) -> None:
        file, fs = self._file, self.directory.fs
        inner = self.directory.inner(file.name)
        if self.directory.local:
            # Closed after each write: a task may have more tables than a process may have open files.
            with fs.open_append_stream(inner, compression=None) as stream:
                self._write_to(stream)
        else:
            if file.stream is None:
                file.stream = fs.open_output_stream(inner, compression=None)
            self._write_to(file.stream)
        self._buffers = []
        self.waiting.written(self)

    def _write_to(self, stream: pa.NativeFile) -> None:
        if self.waiting.of(self) < _LARGE_BYTES * len(self._buffers):
            stream.write(b"".join(self._buffers))
        else:
            for buffer in self._buffers:
                stream.write(buffer)


class InterleavedWriter:
    """Messages of many tables for one series of files, in the order of the input, chunk by chunk."""

    def __init__(self, series: StagedSeries) -> None:
        self.series = series
        self._parts: list[tuple[pa.Array[Any], pa.Int64Array, pa.StringArray, pa.StringArray]] = []
        self._preambles: list[Preamble] = []

    def write(self, messages: pa.Array[Any], batch: ChangeBatch, preamble: Preamble | None) -> None:
        """Add the messages of a batch. Either all batches have a preamble, or none has."""
        self._parts.append((messages, batch.ordinal, batch.position, batch.op))
        if preamble is not None:
            self._preambles.append(preamble)

    def end_of_chunk(self) -> None:
        if not self._parts:
            return
        messages, ordinals, positions, ops = (pa.concat_arrays(part) for part in zip(*self._parts, strict=True))
        preambles, of = self._preambles, None
        if preambles:
            sizes = [len(part) for part, *_ in self._parts]
            of = pa.concat_arrays(pa.repeat(pa.scalar(place, pa.int32()), size) for place, size in enumerate(sizes))
        if len(self._parts) > 1:
            order = pc.array_sort_indices(ordinals)  # a stable sort: rows that one operation made keep their order
            messages, positions, ops = messages.take(order), positions.take(order), ops.take(order)
            of = None if of is None else of.take(order)
        self._parts, self._preambles = [], []
        self.series.write(messages, positions, preambles, of, ops)


Locate = Callable[[int], tuple[bytes, dict[str, object]]]

_STRICT_HELP = "choose another format or other options, or leave out `--strict`"


@dataclass(kw_only=True)
class HandlerCounts:
    rejected: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    extras: int = 0
    left_out: int = 0
    notes: Counter[LossNote] = field(default_factory=Counter)
    lost_characters: int = 0


CountsT = TypeVar("CountsT", HandlerCounts, RecordCounts)


def add_counts(kind: type[CountsT], total: CountsT, part: CountsT) -> None:
    for name in (each.name for each in fields(kind)):
        value: Any = getattr(total, name)
        value += getattr(part, name)
        setattr(total, name, value)


@dataclass
class HandlerTaskOutput(HandlerCounts):
    files: list[StagedFile] = field(default_factory=list)
    rejects: list[StagedFile] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _WrittenTable:
    definition: TableDef
    preamble: Preamble | None
    series: dict[Partition, StagedSeries]
    partitioner: Partitioner | None


class HandlerWriter(ABC):
    """One handler's part of a task: it formats operations, counts them, and sets records aside."""

    def __init__(
        self, job: Job, ordinal: int, target: HandlerOutput, attempt: int, clock: Clock, watch: Stopwatch
    ) -> None:
        self.target = target
        self._settings = target.settings
        self._pipeline = Pipeline(target.settings, clock)
        self._split = ordinal
        self._trace = job.trace
        self._watch = watch
        self._directory = Store(job.staging[target.root].child(f"{ordinal:06d}-{attempt}-{target.handler}"))
        self._directory.make_directory("")
        self._result = HandlerTaskOutput()

    @property
    def projection(self) -> Projection:
        return self._settings.projection

    @cached_property
    def rejects(self) -> RejectFiles:
        from ggfmt.reading.rejects import RejectFiles

        return RejectFiles(self._directory, self.target.handler, self._split)

    def write(self, batch: ChangeBatch) -> Iterator[tuple[int, Diagnostic]]:
        """Format and write a batch. Yield the rows of operations that have no message, with the reason."""
        refused, formatted = self._pipeline.format(batch)
        self._watch.lap(FORMATTING)
        yield from refused
        if formatted is None:
            return
        if self._trace:
            self._result.traces += formatted.traced()
        yield from self._write(formatted)
        self._watch.lap(WRITING)

    @abstractmethod
    def _write(self, formatted: FormattedBatch) -> Iterator[tuple[int, Diagnostic]]: ...

    @property
    def _lost_characters(self) -> int:
        """How many characters the encoding did not have so far."""
        return 0

    def _count(self, formatted: FormattedBatch) -> None:
        self._result.messages += len(formatted.messages)
        self._result.extras += len(formatted.messages) - len(formatted.operations)

    def loss(self) -> Diagnostic | None:
        """Return the first values, of those written so far, that the messages do not show as they are."""
        for note, count in self._pipeline.notes.items():
            reason = f"{counted(count, note.unit)} {note.detail} (`{note.loss}`)"
            return Diagnostic("GG407", reason, Span(table=note.table, field=note.field or None), _STRICT_HELP)
        lost = self._lost_characters
        if lost:
            reason = f"the encoding does not have {counted(lost, 'character')} (`{CHARACTER_REPLACED.id}`)"
            return Diagnostic("GG407", reason, help="choose another `encoding`")
        return None

    @abstractmethod
    def end_of_chunk(self) -> None:
        """Operations of different tables are in order up to here."""

    @abstractmethod
    def new_epoch(self, epoch: int) -> None:
        """Note a schema change."""

    def close(self) -> HandlerTaskOutput:
        result = self._result
        result.lost_characters = self._lost_characters
        result.notes = self._pipeline.notes
        result.left_out = self._pipeline.left_out
        if "rejects" in vars(self):  # a record was rejected
            result.rejects = self.rejects.close()
            result.rejected.update(self.rejects.by_code)
        self._watch.lap(WRITING)
        return result


class FileWriter(HandlerWriter):
    """Writes to staged files, after `epoch` metadata changes."""

    def __init__(
        self, job: Job, ordinal: int, epoch: int, target: HandlerOutput, attempt: int, clock: Clock, watch: Stopwatch
    ) -> None:
        super().__init__(job, ordinal, target, attempt, clock, watch)
        self._tables: dict[str, _WrittenTable] = {}
        self._waiting = WriteBuffer()
        self._moment = job.moment
        self._owners: dict[FileLocation, tuple[str, Partition]] = {}
        self._interleaved = None
        if not self._settings.partition_by_table:
            self._interleaved = InterleavedWriter(self._series("", str(epoch), None))

    def _write(self, formatted: FormattedBatch) -> Iterator[tuple[int, Diagnostic]]:
        table = self._table(formatted.operations.table)
        if self._interleaved is not None:
            self._count(formatted)
            self._interleaved.write(formatted.messages, formatted.arranged, table.preamble)
        elif table.partitioner is None:
            self._count(formatted)
            self._put(table, (), formatted.messages, formatted.arranged.position, formatted.arranged.op)
        else:
            yield from self._write_divided(table, table.partitioner, formatted)

    def _write_divided(
        self, table: _WrittenTable, partitioner: Partitioner, formatted: FormattedBatch
    ) -> Iterator[tuple[int, Diagnostic]]:
        """Write messages to the files of their partitions. Yield operations with a message that has no file name."""
        order, divided = partitioner.divide(formatted.arranged)
        without_file_name: dict[int, Diagnostic] = {}
        for partition, start, count in divided:
            try:
                self._series_of(table, partition)
            except Abend as error:
                (diagnostic,) = error.diagnostics
                if diagnostic.code != "GG516":
                    raise
                rows = non_null_values(order.slice(start, count))
                without_file_name |= dict.fromkeys((formatted.sources[row] for row in rows), diagnostic)
        kept = pa.array([source not in without_file_name for source in formatted.sources], pa.bool_()).take(order)
        messages, ops = formatted.messages.take(order), formatted.arranged.op.take(order)
        positions = formatted.arranged.position.take(order)
        for partition, start, count in divided:
            parts = messages.slice(start, count), positions.slice(start, count), ops.slice(start, count)
            if without_file_name:
                mask = kept.slice(start, count)
                parts = parts[0].filter(mask), parts[1].filter(mask), parts[2].filter(mask)
            self._result.messages += len(parts[0])
            self._result.extras += len(parts[0])
            if len(parts[0]):
                self._put(table, partition, *parts)
        self._result.extras -= len(formatted.operations) - len(without_file_name)
        for row, diagnostic in sorted(without_file_name.items(), key=lambda item: item[0]):
            yield formatted.rows[row], diagnostic.at(position=formatted.operations.position[row].as_py())

    def _put(
        self,
        table: _WrittenTable,
        partition: Partition,
        messages: pa.Array[Any],
        positions: pa.StringArray,
        ops: pa.StringArray,
    ) -> None:
        preambles = () if table.preamble is None else (table.preamble,)
        self._series_of(table, partition).write(messages, positions, preambles, ops=ops)

    def end_of_chunk(self) -> None:
        if self._interleaved is not None:
            self._interleaved.end_of_chunk()
            self._watch.lap(WRITING)

    def new_epoch(self, epoch: int) -> None:
        if self._interleaved is not None:  # a file of all tables may have to end there
            self._interleaved.end_of_chunk()
            self._interleaved.series.new_definition(str(epoch), self._settings.framing(None))

    @property
    def _lost_characters(self) -> int:
        return sum(series.lost for series in self._every_series())

    def close(self) -> HandlerTaskOutput:
        for series in self._every_series():
            series.roll()
            self._result.files += series.files
        return super().close()

    def _every_series(self) -> list[StagedSeries]:
        if self._interleaved is not None:
            return [self._interleaved.series]
        return [series for table in self._tables.values() for series in table.series.values()]

    def _table(self, definition: TableDef) -> _WrittenTable:
        name = definition.full_name
        table = self._tables.get(name)
        if table is not None and table.definition == definition:
            return table
        series = {} if table is None else table.series
        for each in series.values():
            each.new_definition(definition.fingerprint, self._settings.framing(definition))
        columns = self.target.layout.columns(name)
        partitioner = Partitioner(definition, columns) if columns else None
        preamble = self._settings.preamble(definition)
        table = self._tables[name] = _WrittenTable(definition, preamble, series, partitioner)
        return table

    def _series_of(self, table: _WrittenTable, partition: Partition) -> StagedSeries:
        """Return the series of a partition, made for its first message. Raises: Abend GG516 if the files have no
        name."""
        series = table.series.get(partition)
        if series is None:
            definition = table.definition
            if len(table.series) >= MAX_PARTITIONS:
                raise Abend.of(too_many_partitions(definition.full_name))
            series = self._series(definition.full_name, definition.fingerprint, definition, partition)
            table.series[partition] = series
        return series

    def _series(self, name: str, definition: str, table: TableDef | None, partition: Partition = ()) -> StagedSeries:
        layout = self.target.layout
        place = layout.place(table, self._moment, partition)
        first = self._owners.setdefault(place, (name, partition))
        if first != (name, partition):
            raise file_name_conflict_error(first, (name, partition), layout.columns(name), place.path)
        framing = self._settings.framing(table)
        return StagedSeries(
            self.target, self._directory, self._split, name, definition, framing, place, partition, self._waiting
        )


@dataclass(frozen=True)
class DefinitionUse:
    """The first operation of a definition in a task; `place` has the order of all operations."""

    table: TableDef
    place: tuple[int, int]
    source: str


@dataclass
class MessageOutcome(TaskOutcome):
    written: dict[str, HandlerTaskOutput] = field(default_factory=dict)  # by handler
    seen: list[DefinitionUse] = field(default_factory=list)

    def stays(self, before: Catalog, after: Catalog) -> bool:
        """Return whether the task would do the same with other definitions. They may explain a reject."""
        return not self.rejected_records and all(before.get(use.source) == after.get(use.source) for use in self.seen)

    def staged(self) -> Iterator[tuple[Location, int, str | None]]:
        """Yield the files of the task, with the size and the SHA-256 of each."""
        for written in self.written.values():
            for file in (*written.files, *written.rejects):
                yield file.location, file.size, file.sha256


class SplitSink:
    """Takes the operations of a task to every handler.

    epoch    the metadata changes before the task
    attempt  is unique
    place    returns where a record is in the order of all records, by its ordinal
    """

    def __init__(
        self, job: Job, ordinal: int, epoch: int, attempt: int, place: Callable[[int], tuple[int, int]]
    ) -> None:
        self.outcome = MessageOutcome(ordinal)
        self._place = place
        self.watch = Stopwatch()
        clock = Clock(job.current_timestamp)
        task = job, ordinal, epoch
        self.outputs: list[HandlerWriter] = [
            (job.writer or FileWriter)(*task, target, attempt, clock, self.watch) for target in job.targets
        ]
        self._job = job
        self._replacer = None
        if job.replacements:
            from ggfmt.columnar.replacement import Replacer

            self._replacer = Replacer(job.replacements)
        self._tables: dict[str, TableDef] = {}
        self._times: list[tuple[pa.StringArray, pa.StringArray]] = []  # of this chunk

    def stop(self, abend: Diagnostic) -> NoReturn:
        self.outcome.abend = abend
        raise TaskStopped

    def write(self, batch: ChangeBatch, locate: Locate) -> None:
        """Write a batch for all handlers. `locate`: the record of an ordinal, and its place. TaskStopped at a loss."""
        source = batch.table.full_name
        unusable = None
        if self._replacer is not None:
            from ggfmt.columnar.replacement import UnusableName

            try:
                batch = self._replacer.batch(batch)
            except UnusableName as error:
                unusable = error.diagnostic
            except Abend as error:
                self.stop(error.diagnostics[0])
        name = batch.table.full_name
        if unusable is None and self._tables.get(source) != batch.table:
            self._tables[source] = batch.table
            self.outcome.seen.append(DefinitionUse(batch.table, self._place(batch.ordinal[0].as_py()), source))
        kinds = text_buffer(batch.op).to_pybytes()
        for kind in OP_TYPES:
            count = kinds.count(kind.encode())
            if count:
                self.outcome.operations[name, kind] += count
        self._times.append((batch.op, batch.op_ts))
        for output in self.outputs:
            rejected = output.write(batch)
            if unusable is not None:
                rejected = ((row, unusable.at(position=batch.position[row].as_py())) for row in range(len(batch)))
            for row, diagnostic in rejected:
                record, place = locate(batch.ordinal[row].as_py())
                self._set_aside(output, record, diagnostic.at(**place))
            loss = output.loss() if self._job.strict else None
            if loss is not None:
                self.stop(loss)

    def reject(self, record: bytes, diagnostic: Diagnostic) -> None:
        self.outcome.rejected_records += 1
        for output in self.outputs:
            self._set_aside(output, record, diagnostic)

    def end_of_chunk(self) -> None:
        """Operations of different tables are in order up to here."""
        for output in self.outputs:
            output.end_of_chunk()
        self.outcome.timeline.add(self._times)
        self._times = []

    def close(self) -> None:
        self.end_of_chunk()
        self.outcome.timeline.pack()
        for output in self.outputs:
            self.outcome.written[output.target.handler] = output.close()

    def _set_aside(self, output: HandlerWriter, record: bytes, diagnostic: Diagnostic) -> None:
        if not self._job.quarantine:
            self.stop(diagnostic)
        output.rejects.add(record, diagnostic)
