"""The framing of DTS's records in files.

In Kafka, one message has one record. A file needs a framing of its own. ggfmt supports three framings, and detects them
by the first bytes:

* a length prefix: four bytes, big-endian, before each record. A length is less than 128 MiB, so the first byte of a
  file differs from that of the other framings;
* an object container file of Avro with the schema of DTS's records;
* lines, each with one record as Base64.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.pieces import join_binary, text_buffer
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import AVRO_MAGIC
from ggfmt.formats.api.reading import Chunk, Layout, Source
from ggfmt.formats.api.writing import Framing
from ggfmt.formats.avro.containers import RecordsOfBlock, container_chunks, read_file_head
from ggfmt.formats.json import files as json_files
from ggfmt.lazy import lazy_regex

PREFIX_BYTES = 4
MAX_BYTES = 1 << 27  # maximum size of a record with its length
CHUNK_BYTES = 1 << 20
_LINE = lazy_regex(rb"[^\r\n]+")
_BASE64 = lazy_regex(rb"(?:\xef\xbb\xbf)?[A-Za-z0-9+/=\s]+")


def with_length(datum: bytes) -> bytes:
    """Return a record with the length before it."""
    return len(datum).to_bytes(PREFIX_BYTES, "big") + datum


def is_container(head: bytes) -> bool:
    return head.startswith(AVRO_MAGIC)


def is_base64(head: bytes) -> bool:
    return bool(_BASE64.fullmatch(head[:16]))


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """Yield the records of a file, about `CHUNK_BYTES` at a time; of a container file, the header and one block."""
    if layout.splittable:
        yield from json_files.chunks(stream, file, start, length, layout)
        return
    head = read_file_head(stream, file, layout)
    if isinstance(head, Chunk):
        yield head
    elif is_container(head):
        yield from container_chunks(head, stream, file, layout)
    elif head:
        yield from _prefixed(head, stream, file, layout)


def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
    """Return start and end of every record in a chunk, with its frame; for a record in a block, those of the block."""
    if chunk.spans is not None:
        return chunk.spans
    if chunk.layout.splittable:
        return [match.span() for match in _LINE.finditer(chunk.data) if match[0].strip()]
    return RecordsOfBlock(chunk.data)


def line_datum(line: bytes) -> bytes:
    """Decode the record in a line of Base64. Raises: ValueError if the line is not Base64."""
    return base64.b64decode(line.strip(), validate=True)


def line_datums(data: bytes, spans: Sequence[tuple[int, int]]) -> tuple[bytes, list[tuple[int, int]]]:
    """Decode the records in lines: the joined records, and their places. A line that is not Base64 has no bytes."""
    datums = []
    places = []
    place = 0
    for start, end in spans:
        try:
            datums.append(line_datum(data[start:end]))
        except ValueError:
            datums.append(b"")
        places.append((place, place + len(datums[-1])))
        place += len(datums[-1])
    return b"".join(datums), places


def _prefixed(data: bytes, stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    source = Source(stream, file, layout, CHUNK_BYTES)
    source.buffer = data
    most = min(layout.max_record, MAX_BYTES)
    while source.buffer:
        data = source.buffer
        spans: list[tuple[int, int]] = []
        place = size = 0
        while len(data) - place >= PREFIX_BYTES:
            size = PREFIX_BYTES + int.from_bytes(data[place : place + PREFIX_BYTES], "big")
            if size > most or place + size > len(data):
                break
            spans.append((place, place + size))
            place += size
            size = 0
        if source.ended and not size > layout.max_record and place < len(data):
            spans.append((place, len(data)))
            place = len(data)
        if spans:
            yield Chunk(file, source.offset, data[:place], layout, tuple(spans), last=source.ended)
        source.drop(place)
        if size > most:
            yield _too_long(source, size)
        elif not source.ended:
            source.grow()


def _too_long(source: Source, size: int) -> Chunk:
    """Return a chunk for a record that exceeds the limit. Without a possible length, it has all later records."""
    start, head = source.offset, source.head()
    while source.buffer and (size > MAX_BYTES or source.offset - start < size):
        left = len(source.buffer) if size > MAX_BYTES else size - (source.offset - start)
        source.drop(min(left, len(source.buffer)))
        source.buffer = source.buffer or source.stream.read(CHUNK_BYTES)
    if size <= MAX_BYTES:
        return source.long(start, head)
    problem = Diagnostic("GG313", "the length of a record is out of range")
    return replace(source.long(start, head), problem=problem)


class LengthPrefixed(Framing):
    joins = False

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        lengths = array("i", non_null_values(pc.binary_length(messages)))
        lengths.byteswap()
        wide = pa.Array.from_buffers(pa.binary(PREFIX_BYTES), len(messages), [None, pa.py_buffer(lengths)])
        return text_buffer(join_binary([wide.cast(pa.binary()), messages], len(messages))), 0


class Base64Lines(Framing):
    joins = False

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        return b"".join(base64.b64encode(message) + b"\n" for message in non_null_values(messages)), 0
