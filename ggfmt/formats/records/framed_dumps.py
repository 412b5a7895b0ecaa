"""Dumps of Kafka messages in Confluent's wire format: one JSON object per line, with the value in Base64.

Sinks write such lines if they encode values. Other dumps lose bytes, or have JSON instead of Avro.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from ggfmt.columnar.strings import bytes_of
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json.repeated import Once, repeated_member

_FILLER = b"!"  # which starts no message


class _Pair(msgspec.Struct):
    value: str | None


_ONCE = Once({"value": None})
_decode = msgspec.json.Decoder(_Pair).decode


def framed_chunks(stream: BinaryIO, file: str, layout: Layout, head: bytes = b"") -> Iterator[Chunk]:
    """Yield the messages of a file. Those of a dump are at the places of their lines, with spans."""
    data = head + stream.read()
    if data.lstrip()[:1] == b"{":
        yield _unwrapped(Chunk(file, 0, data, layout))
    elif data:
        yield Chunk(file, 0, data, layout)


def _unwrapped(chunk: Chunk) -> Chunk:
    """Return a chunk with the values of the lines; a line without a value in Base64 stays, and is no message."""
    parts, spans, place = [], [], 0
    for line in chunk.data.splitlines(keepends=True):
        try:
            text = _decode(line).value
            value = b"" if text is None else bytes_of(text) or line
            value = value if repeated_member(line, _ONCE) is None else line
        except (msgspec.DecodeError, RecursionError):
            value = line
        if line.strip():
            spans.append((place, place + len(value)))
        parts.append(value.ljust(len(line), _FILLER))
        place += len(line)
    return Chunk(chunk.file, 0, b"".join(parts), chunk.layout, spans)
