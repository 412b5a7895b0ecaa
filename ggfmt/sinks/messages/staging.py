"""The staged files of a task: one series of files for each table, in a directory of the task.

The driver alone gives files their final names. No data of a message becomes part of a path.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value, non_null_values
from ggfmt.commit.names import FileLocation
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, field
from ggfmt.formats.api.writing import Framing
from ggfmt.model.change import ChangeBatch
from ggfmt.reading.tasks import PlacedPreamble, StagedFile, unique_name
from ggfmt.sinks.messages.layout import Partition
from ggfmt.sinks.messages.pipeline import HandlerOutput, Preamble

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
