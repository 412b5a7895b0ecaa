"""A finished container file, read from its first to its last byte as record batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Abend, Span
from ggfmt.formats.avro import containers
from ggfmt.formats.goldengate.container_files.columns import RecordColumns
from ggfmt.formats.goldengate.container_files.fields import conversion_error, record_of

RUN_BYTES = 1 << 20  # of records that are decoded at once
MIN_GROUP_ROWS = 100  # as in parquet-mr, which looks at the size of a row group after so many records
_MAX_BYTES = 1 << 30  # of a header and of a block; the texts of a column of Arrow have 2 GiB at most
_HELP = "write the container file again; the files converted from it are incomplete"


class ContainerSource:
    """A container file: its schema, and its records in batches. Raises: Abend with GG313 if the stream is not a whole
    container file, with GG217 if ggfmt does not write its schema."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        try:
            self._head = containers.read_head(stream, _MAX_BYTES)
            self._header = containers.read_header(self._head)
            self.schema_text = self._header.schema_text
        except containers.LongHeader as error:
            raise Abend.of(error.problem) from None
        except containers.CorruptContainerError as error:
            raise _corrupt(str(error), 0) from None
        except UnicodeDecodeError:
            raise conversion_error("the schema of the container file is not UTF-8") from None
        self.record = record_of(self._header.schema)

    def columns(self, typed: bool) -> RecordColumns:
        return RecordColumns(self._header.schema, self.record, typed)

    def batches(self, columns: RecordColumns) -> Iterator[pa.RecordBatch]:
        """Yield all records, about `RUN_BYTES` at a time; once."""
        held: list[bytes] = []
        rows = size = start = 0
        for offset, count, data in self._blocks():
            if not held:
                start = offset
            held.append(data)
            rows, size = rows + count, size + len(data)
            if size >= RUN_BYTES:
                yield _decode(columns, held, rows, start)
                held, rows, size = [], 0, 0
        if rows or size:
            yield _decode(columns, held, rows, start)

    def _blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the place of each block in the file, the number of its records, and their bytes."""
        bare = replace(self._header, data=b"")
        for block in containers.Blocks(self._head, self._stream, self._header, _MAX_BYTES):
            if block.long:
                raise _corrupt(f"a block has {block.size:,} bytes, or does not end with the sync marker", block.offset)
            for _, _, count, data in containers.split_blocks(block.data, bare, _MAX_BYTES):
                if isinstance(data, containers.CorruptContainerError):
                    raise _corrupt(str(data), block.offset)
                yield block.offset, count, data


def _decode(columns: RecordColumns, held: list[bytes], rows: int, start: int) -> pa.RecordBatch:
    try:
        return columns.decode(held[0] if len(held) == 1 else b"".join(held), rows)
    except containers.CorruptContainerError as error:
        raise _corrupt(str(error), start) from None


def _corrupt(message: str, offset: int) -> Abend:
    return Abend("GG313", message, Span(offset=offset), help=_HELP)


def row_groups(batches: Iterator[pa.RecordBatch], size: int, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of about `size` bytes in memory, the last one with what is left."""
    held: list[pa.RecordBatch] = []
    held_rows = held_bytes = 0
    for batch in batches:
        bytes_of_batch = max(batch.nbytes, 1)
        step = max(MIN_GROUP_ROWS, batch.num_rows * size // bytes_of_batch)
        for start in range(0, batch.num_rows, step):
            part = batch.slice(start, step)
            held.append(part)
            held_rows += part.num_rows
            held_bytes += bytes_of_batch * part.num_rows // batch.num_rows
            if held_bytes >= size and held_rows >= MIN_GROUP_ROWS:
                yield pa.Table.from_batches(held, schema)
                held, held_rows, held_bytes = [], 0, 0
    if held:
        yield pa.Table.from_batches(held, schema)
