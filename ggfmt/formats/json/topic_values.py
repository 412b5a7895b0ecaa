"""JSON values of Kafka topics, which `ggfmt.reading.topics` keeps in files: their index says where each one is.

So no value takes a part of the next one, whatever is in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from sys import maxsize
from typing import Any, BinaryIO

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import int64_view
from ggfmt.columnar.strings import rows_where
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import HEAD_OF_LONG, KAFKA_MESSAGES, Chunk, Layout, Spans, record_size_error
from ggfmt.formats.api.topic_index import TopicIndex
from ggfmt.formats.json.dumps import TOPIC, enveloped, key_problem
from ggfmt.formats.json.files import CHUNK_BYTES

_NOT_TEXT_HELP = "set it aside with `--on-reject quarantine`, or read the ranges before and after it"


def layout_of(index: TopicIndex | None) -> Layout | None:
    """Return the layout of a file with an index; None if its values are not JSON."""
    return Layout(splittable=True, envelope=TOPIC) if index is not None and index.has_keys else None


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """Yield the values that start in the `length` bytes from `start`, about `CHUNK_BYTES` at a time."""
    stop = maxsize if length is None else start + length
    place: int | None = start
    if start:
        place = _index(layout).first_from(start)
        stream.seek(place or 0)
    buffer = b""
    while place is not None and place < stop:
        buffer += stream.read(CHUNK_BYTES - len(buffer))  # before the index, which may grow by that
        if not buffer:
            return
        rows = _index(layout).between(place, min(place + len(buffer), stop))
        end = rows["end"][len(rows) - 1].as_py() + 1
        buffer += stream.read(max(0, end - place - len(buffer)))
        yield from _chunks(Chunk(file, place, buffer[: end - place], layout, last=False), rows)
        place, buffer = end, buffer[end - place :]


def with_messages(chunk: Chunk) -> Chunk:
    """Return a chunk that was made from records of one file with the messages of these records."""
    assert chunk.origins is not None and chunk.spans is not None
    rows = _index(chunk.layout).at(chunk.origins.column("offset"))
    return _with_messages(chunk, rows)


def _index(layout: Layout) -> TopicIndex:
    index = TopicIndex.of(layout.messages)
    assert index is not None, "a file with values has an index"
    return index


def _chunks(whole: Chunk, rows: pa.RecordBatch) -> Iterator[Chunk]:
    """Yield a chunk with its rows; a value that is too long is a chunk of its own."""
    limit, first = whole.layout.max_record, 0
    for row in [*rows_where(pc.greater(pc.subtract(rows["end"], rows["start"]), limit)), len(rows)]:
        if row > first:
            some = rows.slice(first, row - first)
            part = _part(whole, some)
            spans = Spans()
            spans.add_all(_alternating(pc.subtract(some["start"], part.offset), pc.subtract(some["end"], part.offset)))
            yield _with_messages(replace(part, spans=spans), some)
        if row < len(rows):
            part = _part(whole, rows.slice(row, 1))
            head = part.data[: min(HEAD_OF_LONG, limit)]
            problem = record_size_error(len(part.data) - 1, limit)
            yield replace(part, data=head, spans=((0, len(head)),), problem=problem)
        first = row + 1


def _part(whole: Chunk, rows: pa.RecordBatch) -> Chunk:
    start, end = rows["start"][0].as_py(), rows["end"][len(rows) - 1].as_py() + 1
    return replace(whole, offset=start, data=whole.data[start - whole.offset : end - whole.offset])


def _alternating(*columns: pa.Int64Array) -> bytes:
    found = array("q", bytes(8 * len(columns) * len(columns[0])))
    for place, column in enumerate(columns):
        numbers = array("q")
        numbers.frombytes(int64_view(column).cast("B"))
        found[place :: len(columns)] = numbers
    return found.tobytes()


def _with_messages(chunk: Chunk, rows: pa.RecordBatch) -> Chunk:
    """Return a chunk with one span for each row, with the messages."""
    topic, partition = _index(chunk.layout).pair
    columns: list[pa.Array[Any]] = [rows["key"], pa.repeat(pa.scalar(topic, pa.string()), len(rows))]
    columns += [pa.repeat(pa.scalar(partition, pa.int64()), len(rows)), rows["offset"]]
    messages = pa.RecordBatch.from_arrays(columns, schema=KAFKA_MESSAGES)
    return enveloped(chunk, chunk, messages, dict(_problems(chunk, rows["key"])))


def _problems(chunk: Chunk, keys: pa.Array[Any]) -> Iterator[tuple[int, Diagnostic]]:
    for row in rows_where(pc.fill_null(pc.starts_with(keys, "{"), False)):
        problem = key_problem(keys[row].as_py())
        if problem is not None:
            yield row, problem
    if not is_text(chunk.data):
        assert chunk.spans is not None
        for row, (start, end) in enumerate(chunk.spans):
            if not is_text(chunk.data[start:end]):
                yield row, Diagnostic("GG321", "the value is not UTF-8", help=_NOT_TEXT_HELP)


def is_text(data: bytes) -> bool:
    try:
        return data.isascii() or bool(str(data, "utf-8"))
    except UnicodeDecodeError:
        return False
