"""Qlik Replicate's envelopes in Avro: where they are in a file, and what is in them.

An envelope is a record without a header or a name of its schema, which is the same for all: `magic` (5 bytes), `type`,
`headers` (null or a map of texts), `messageSchemaId` and `messageSchema` (null or a text) and `message` (bytes). In a
file one follows the other; line ends between them are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.reading import Chunk, Layout, Source, Spans
from ggfmt.formats.avro.containers import CorruptContainerError, Truncated, read_long
from ggfmt.kernels import primitives

MAGIC = b"atMSG"
CHUNK_BYTES = 1 << 20
MAX_BYTES = 64 << 20  # of one envelope
_LINE_ENDS = b"\r\n"


@dataclass(frozen=True)
class AvroEnvelope:
    type: str
    schema_id: str | None
    schema: str | None
    message: bytes


def read_envelope(data: bytes, start: int) -> tuple[AvroEnvelope, int]:
    kind, schema_id, schema, place = read_head(data, start)
    message, place = _bytes(data, place)
    return AvroEnvelope(kind, schema_id, schema, message), place


def read_head(data: bytes, start: int) -> tuple[str, str | None, str | None, int]:
    """The type of the envelope at a place, the id of its schema and the schema itself, and the place of its message."""
    magic = data[start : start + len(MAGIC)]
    if magic != MAGIC:
        if MAGIC.startswith(magic):
            raise Truncated("the message is incomplete")
        if magic[:1] == b"\0":
            raise CorruptContainerError("the message has no envelope, but a zero byte and a schema id of a registry")
        raise CorruptContainerError(f"the message does not start with `{MAGIC.decode()}`")
    kind, place = _text(data, start + len(MAGIC))
    branch, place = read_long(data, place)
    if branch == 1:
        place = _past_map(data, place)
    elif branch:
        raise CorruptContainerError("the headers are neither null nor a map")
    schema_id, place = _optional_text(data, place)
    schema, place = _optional_text(data, place)
    return kind, schema_id, schema, place


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """The records of a file, about `CHUNK_BYTES` at a time; damaged bytes up to the next envelope are one."""
    source = Source(stream, file, layout, CHUNK_BYTES)

    def cut(data: bytes, more: bool) -> tuple[Iterable[Chunk], int]:
        spans, end = _spans(data, more, layout.max_record)
        return [Chunk(file, source.offset, data[:end], layout, spans, last=not more)] if spans else (), end

    return source.chunks_by(cut, MAGIC)


def _spans(data: bytes, more: bool, limit: int) -> tuple[Spans, int]:
    """Starts and ends of the records, and where the first starts that may go on behind `data`, or is too long."""
    spans = Spans()
    place = 0
    while True:
        spans.add_all(primitives.envelopes(data, place, min(limit, MAX_BYTES)))
        place = spans[-1][1] if spans else place
        while place < len(data) and data[place] in _LINE_ENDS:
            place += 1
        if place == len(data):
            return spans, place
        try:
            _, end = read_envelope(data, place)
        except CorruptContainerError as error:
            if isinstance(error, Truncated) and (more or len(data) - place > limit):
                return spans, place
            end = data.find(MAGIC, place + 1)
            if end < 0:
                if more:  # the rest of what is damaged may follow
                    return spans, place
                end = len(data)
        if end - place > limit:
            return spans, place
        spans.add(place, end)
        place = end


def _bytes(data: bytes, place: int) -> tuple[bytes, int]:
    size, place = read_long(data, place)
    if not 0 <= size <= MAX_BYTES:
        raise CorruptContainerError("a length is out of range")
    if place + size > len(data):
        raise Truncated("the message is incomplete")
    return data[place : place + size], place + size


def _text(data: bytes, place: int) -> tuple[str, int]:
    value, place = _bytes(data, place)
    try:
        return value.decode(), place
    except UnicodeDecodeError:
        raise CorruptContainerError("a string is not UTF-8") from None


def _optional_text(data: bytes, place: int) -> tuple[str | None, int]:
    branch, place = read_long(data, place)
    if branch == 0:
        return None, place
    if branch != 1:
        raise CorruptContainerError("a member is neither null nor a string")
    return _text(data, place)


def _past_map(data: bytes, place: int) -> int:
    while True:
        count, place = read_long(data, place)
        if count == 0:
            return place
        if count < 0:  # then the size of the entries in bytes follows
            count = -count
            _, place = read_long(data, place)
        for _ in range(min(count, MAX_BYTES)):
            _, place = _text(data, place)
            _, place = _text(data, place)
