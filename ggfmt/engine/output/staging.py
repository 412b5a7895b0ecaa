"""Where a task puts its messages: files of its own in the staging directory, one series for each table.

Only the driver gives files their final names. Nothing of a message becomes part of a path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.engine.files import child, file_system, is_local
from ggfmt.engine.plan import HandlerOutput
from ggfmt.formats.api.writing import Framing
from ggfmt.model.change import ChangeBatch

FLUSH_BYTES = 4 << 20


@dataclass(frozen=True)
class StagedFile:
    """A file in staging. `table` is empty for a file of many tables; Files of the same
    `definition` may be joined; `header` is how many bytes a file starts with before its first message."""

    handler: str
    table: str
    definition: str
    split: int
    sequence: int
    path: str
    size: int
    header: int
    operations: int
    sha256: str
    first_position: str | None
    last_position: str | None


class StagedSeries:
    """The files of one table (or of all) that a task writes for one handler; `lost` counts the characters that the
    encoding could not carry."""

    def __init__(
        self, target: HandlerOutput, directory: str, split: int, table: str, definition: str, framing: Framing
    ) -> None:
        self.files: list[StagedFile] = []
        self.lost = 0
        self._directory = directory
        self._handler = target.handler
        self._table = table
        self._split = split
        self._framing = framing
        self._max = target.max_file_size
        self._roll_on_change = target.roll_on_metadata_change
        self._definition = definition if target.roll_on_metadata_change else ""
        self._fs, _ = file_system(directory)
        self._local = is_local(self._fs)
        self._path: str | None = None
        self._stream: pa.NativeFile | None = None
        self._buffers: list[pa.Buffer | bytes] = []
        self._waiting = 0
        self._size = 0
        self._operations = 0
        self._positions: tuple[str | None, str | None] = (None, None)
        self._hash = hashlib.sha256()

    def write(self, messages: pa.Array, positions: pa.StringArray) -> None:
        """Appends messages, in a new file where the present one would grow too large. A message is never cut."""
        if not len(messages):
            return
        data, lost = self._framing.frame(messages)
        size = self._size or len(self._framing.header)
        if size + len(data) > self._max and (len(messages) > 1 or self._operations):
            if len(messages) > 1:
                half = len(messages) // 2
                self.write(messages.slice(0, half), positions.slice(0, half))
                self.write(messages.slice(half), positions.slice(half))
                return
            self.roll()
        if not self._operations:
            self._put(self._framing.header)
            self._positions = (positions[0].as_py(), None)
        self._put(data)
        self.lost += lost
        self._operations += len(messages)
        self._positions = (self._positions[0], positions[len(positions) - 1].as_py())
        if self._waiting >= FLUSH_BYTES:
            self._flush()

    def new_definition(self, definition: str, framing: Framing) -> None:
        """What follows is of another definition: ends the file, if the handler or the format wants that."""
        if self._roll_on_change and definition != self._definition:
            self.roll()
            self._definition = definition
            self._framing = framing

    def roll(self) -> None:
        """Ends the present file, if there is one."""
        if not self._operations:
            return
        self._flush()
        if self._stream is not None:
            self._stream.close()
        assert self._path is not None
        self.files.append(
            StagedFile(
                self._handler,
                self._table,
                self._definition,
                self._split,
                len(self.files),
                self._path,
                self._size,
                len(self._framing.header),
                self._operations,
                self._hash.hexdigest(),
                *self._positions,
            )
        )
        self._path, self._stream = None, None
        self._size = self._operations = 0
        self._hash = hashlib.sha256()

    def _put(self, data: pa.Buffer | bytes) -> None:
        if len(data):
            self._buffers.append(data)
            self._waiting += len(data)
            self._size += len(data)
            self._hash.update(data)

    def _flush(self) -> None:
        if self._path is None:
            self._path = unique_path(self._directory)
        _, inner = file_system(self._path)
        if self._local:
            # Closed after each write: a task may have more tables than a process may have open files.
            with self._fs.open_append_stream(inner) as stream:
                self._write_to(stream)
        else:
            if self._stream is None:
                self._stream = self._fs.open_output_stream(inner)
            self._write_to(self._stream)
        self._buffers = []
        self._waiting = 0

    def _write_to(self, stream: pa.NativeFile) -> None:
        if len(self._buffers) == 1:
            stream.write(self._buffers[0])
        else:
            stream.write(b"".join(self._buffers))


_counter = 0


def unique_path(directory: str) -> str:
    """A path in a task's own staging directory that no other file of the task has."""
    global _counter
    _counter += 1
    return child(directory, f"{_counter:07d}")


class Interleaved:
    """Messages of many tables for one series of files, put back into the order of the input chunk by chunk."""

    def __init__(self, series: StagedSeries) -> None:
        self.series = series
        self._messages: list[pa.Array] = []
        self._ordinals: list[pa.Int64Array] = []
        self._positions: list[pa.StringArray] = []

    def write(self, messages: pa.Array, batch: ChangeBatch) -> None:
        self._messages.append(messages)
        self._ordinals.append(batch.ordinal)
        self._positions.append(batch.position)

    def end_of_chunk(self) -> None:
        if not self._messages:
            return
        messages, positions = pa.concat_arrays(self._messages), pa.concat_arrays(self._positions)
        if len(self._messages) > 1:
            order = _stable_order(self._ordinals)
            messages, positions = messages.take(order), positions.take(order)
        self._messages, self._ordinals, self._positions = [], [], []
        self.series.write(messages, positions)


def _stable_order(ordinals: Sequence[pa.Int64Array]) -> pa.Array:
    """Rows by ordinal; rows of the same ordinal, which one operation made, stay in their order."""
    flat = pa.concat_arrays(ordinals)
    keys = pa.table({"ordinal": flat, "row": pa.array(range(len(flat)), pa.int64())})
    return pc.sort_indices(keys, sort_keys=[("ordinal", "ascending"), ("row", "ascending")])
