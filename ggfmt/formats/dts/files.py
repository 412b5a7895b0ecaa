"""Where DTS's records are in a file.

Kafka carries one record a message, and nothing of that is left in a file; so a file needs a framing of its own. There
are three, which the first bytes tell apart:

* the length in bytes, as four bytes, the highest first, in front of each record. A length is less than 128 MiB, so that
  a file never starts with the letters of the others;
* an object container file of Avro, whose schema must be the one of DTS's records;
* each record as Base64 in a line of its own.
"""

from __future__ import annotations

import base64
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO, overload

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.join import join_binary
from ggfmt.columnar.strings import text_buffer
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.api.writing import Framing
from ggfmt.formats.avro.blocks import MAGIC, Damaged, Rest, read_block, read_header, read_varint, unzigzag
from ggfmt.formats.json import files as json_files

PREFIX_BYTES = 4
MOST_BYTES = 1 << 27  # of a record, with its length
CHUNK_BYTES = 1 << 20
_LINE = re.compile(rb"[^\r\n]+")
_BASE64 = re.compile(rb"(?:\xef\xbb\xbf)?[A-Za-z0-9+/=\s]+")


def layout(head: bytes) -> Layout:
    """The layout of a file by its first bytes: only lines can be read from anywhere."""
    return Layout(splittable=is_base64(head))


def is_container(head: bytes) -> bool:
    return head.startswith(MAGIC)


def is_base64(head: bytes) -> bool:
    return bool(_BASE64.fullmatch(head[:16]))


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """The records of a file, about `CHUNK_BYTES` at a time, of a container file a block at a time.

    A chunk of a container file is the header and one block, and has no `spans`.
    """
    if layout.splittable:
        yield from json_files.chunks(stream, file, start, length, layout)
        return
    head = stream.read(CHUNK_BYTES)
    if is_container(head):
        yield from _blocks(head, stream, file, layout)
    elif head:
        yield from _prefixed(head, stream, file, layout)


def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
    """Start and end of every record of a chunk, with what frames it; of a record in a block those of the block."""
    if chunk.spans is not None:
        return chunk.spans
    if chunk.layout.splittable:
        return [match.span() for match in _LINE.finditer(chunk.data) if match[0].strip()]
    return _Block(chunk.data)


def line_datum(line: bytes) -> bytes:
    """The record in a line of Base64; ValueError if the line is something else."""
    return base64.b64decode(line.strip(), validate=True)


def _prefixed(data: bytes, stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    offset, more = 0, True
    while data:
        spans: list[tuple[int, int]] = []
        place, wanted = 0, 0
        while len(data) - place >= PREFIX_BYTES:
            size = int.from_bytes(data[place : place + PREFIX_BYTES], "big")
            if size >= MOST_BYTES:
                # Where one length is wrong, all that follow are out of place.
                data += stream.read()
                spans.append((place, len(data)))
                place = len(data)
                break
            end = place + PREFIX_BYTES + size
            if end > len(data):
                wanted = end - len(data)
                break
            spans.append((place, end))
            place = end
        if not more and place < len(data):
            spans.append((place, len(data)))
            place = len(data)
        if spans:
            yield Chunk(file, offset, data[:place], layout, tuple(spans))
        block = stream.read(max(CHUNK_BYTES, wanted)) if more else b""
        more = bool(block)
        data, offset = data[place:] + block, offset + place


def _blocks(head: bytes, stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    try:
        header = read_header(head)
    except Damaged:
        yield Chunk(file, 0, head + stream.read(), layout)
        return
    size = len(header.data)
    rest = Rest(head[size:], stream)
    offset = size
    while block := read_block(rest, header):
        # Where a block is damaged, the next one starts behind the next marker.
        for part in (block,) if block.endswith(header.sync) else _cut(block + rest.read(), header.sync):
            yield Chunk(file, offset - size, header.data + part, layout)
            offset += len(part)


def _cut(data: bytes, sync: bytes) -> Iterator[bytes]:
    """The data in parts, each of which ends behind a marker."""
    start = 0
    while start < len(data):
        place = data.find(sync, start)
        end = len(data) if place < 0 else place + len(sync)
        yield data[start:end]
        start = end


class _Block(Sequence[tuple[int, int]]):
    """The places of the records in a container's block: all are where the block is."""

    def __init__(self, data: bytes) -> None:
        self._count = 1
        start = 0
        try:
            start = len(read_header(data).data)
            count, _ = read_varint(data, start)
            self._count = max(1, min(unzigzag(count), MOST_BYTES))
        except Damaged:
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


class LengthPrefixed(Framing):
    """Each message behind its length."""

    def frame(self, messages: pa.Array) -> tuple[pa.Buffer | bytes, int]:
        lengths = array("i", pc.binary_length(messages).to_pylist())
        lengths.byteswap()
        wide = pa.Array.from_buffers(pa.binary(PREFIX_BYTES), len(messages), [None, pa.py_buffer(lengths)])
        return text_buffer(join_binary([wide.cast(pa.binary()), messages], len(messages))), 0


class Base64Lines(Framing):
    """Each message as Base64 in a line."""

    def frame(self, messages: pa.Array) -> tuple[pa.Buffer | bytes, int]:
        return b"".join(base64.b64encode(message) + b"\n" for message in messages.to_pylist()), 0
