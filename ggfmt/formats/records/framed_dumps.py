"""Files in which something else encloses records, or is made into records.

`framed_chunks` reads dumps of Kafka messages in Confluent's wire format: one JSON object per line, with the value in
Base64. Sinks write such lines if they encode values. Other dumps lose bytes, or have JSON instead of Avro.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

import msgspec

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.strings import bytes_of
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, KafkaEnvelopes, Layout, Spans
from ggfmt.formats.api.topic_index import TopicIndex
from ggfmt.formats.json.repeated import Once, repeated_member

_FILLER = b"!"  # which starts no message


class _Pair(msgspec.Struct):
    value: str | None


_ONCE = Once({"value": None})
_decode = msgspec.json.Decoder(_Pair).decode


def framed_chunks(stream: BinaryIO, file: str, layout: Layout, head: bytes = b"") -> Iterator[Chunk]:
    """Yield the messages of a file. Those of a dump are at the places of their lines, with spans. Those of a topic have
    the spans of its index, so that a bad message takes nothing from the next one."""
    data = head + stream.read()
    index = TopicIndex.of(layout.messages)
    if index is not None and not index.has_keys:
        rows = index.between(0, len(data))
        spans = list(zip(non_null_values(rows["start"]), non_null_values(rows["end"]), strict=True))
        yield Chunk(file, 0, data, layout, spans)
    elif data.lstrip()[:1] == b"{":
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


def chunk_of_records(chunk: Chunk, records: Iterable[tuple[int, int, bytes | Diagnostic]]) -> Chunk:
    """Return a chunk of records that are made of parts of `chunk`: each has the start and the end of its part."""
    framed, spans, place = Spans(), Spans(), 0
    values: list[bytes] = []
    problems = {}
    for number, (start, end, value) in enumerate(records):
        if isinstance(value, Diagnostic):
            problems[number] = value
            value = _FILLER
        framed.add(start, end)
        spans.add(place, place + len(value))
        values.append(value)
        place += len(value) + 1
    envelopes = KafkaEnvelopes(replace(chunk, spans=framed), None, problems)
    return replace(chunk, data=b"\n".join(values), spans=spans, wrapped=envelopes)
