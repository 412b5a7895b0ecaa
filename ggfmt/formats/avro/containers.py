"""Object container files read a block at a time, where all records of a block are in the same place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, overload

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, Layout, too_long
from ggfmt.formats.avro.blocks import (
    Blocks,
    CorruptContainerError,
    LongHeader,
    read_head,
    read_header,
    read_varint,
    unzigzag,
)

_MOST_RECORDS = 1 << 27  # that a block may say it has


def read_file_head(stream: BinaryIO, file: str, layout: Layout) -> bytes | Chunk:
    """The first bytes of a file, with the whole header of a container; a chunk that says why, if that is too long."""
    try:
        return read_head(stream, layout.max_record)
    except LongHeader as error:
        return Chunk(file, 0, error.head, layout, ((0, len(error.head)),), problem=error.problem)


def container_chunks(head: bytes, stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """A container file that starts with `head`, a block at a time: a chunk is the header and one block, and has no
    `spans`."""
    try:
        header = read_header(head)
    except CorruptContainerError as error:
        problem = Diagnostic("GG313", str(error))
        yield Chunk(file, 0, head, layout, ((0, len(head)),), problem=problem)
        return
    size = len(header.data)
    for block in Blocks(head, stream, header, layout.max_record):
        if block.long:
            problem = too_long(block.size, layout.max_record)
            yield Chunk(file, block.offset, block.data, layout, ((0, len(block.data)),), problem=problem)
        else:
            yield Chunk(file, block.offset - size, header.data + block.data, layout)


class RecordsOfBlock(Sequence[tuple[int, int]]):
    """The places of the records in a container's block: all are where the block is."""

    def __init__(self, data: bytes) -> None:
        self._count = 1
        start = 0
        try:
            start = len(read_header(data).data)
            count, _ = read_varint(data, start)
            self._count = max(1, min(unzigzag(count), _MOST_RECORDS))
        except CorruptContainerError:
            pass
        self._span = (start, len(data))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        return self._span if isinstance(index, int) else [self._span] * len(range(*index.indices(self._count)))
