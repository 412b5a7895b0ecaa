"""JSON records in files: one per line, concatenated, pretty-printed, separated by a delimiter, or in one array.

All dialects with JSON objects use this module. One rule defines where a record starts and ends (`formats.json.cut`),
from the start of the file on. If a file has one record per line, tasks read ranges of it line by line. If a whole chunk
decodes as records, the lines are the records; only otherwise the chunk is cut by the rule. The other layouts are read
from the start. Boundaries between concatenated records are guessed, and then proved by decoding the bytes before them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from itertools import tee
from typing import Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import from_buffers
from ggfmt.formats.api.reading import Chunk, Layout, Source, SplitBoundaryError
from ggfmt.formats.json.cut import BOM as BOM
from ggfmt.formats.json.cut import Nesting, RecordBoundaries, find_value
from ggfmt.formats.json.values import decode, is_avro_record, is_avro_union
from ggfmt.lazy import lazy_regex

CHUNK_BYTES = 1 << 20

# Finds the end of a record although its strings may contain line ends; Python does not parse integers of thousands of
# digits.
_LENIENT = json.JSONDecoder(parse_int=str, strict=False)
_RAW = msgspec.json.Decoder(msgspec.Raw)
_MAX_DELIMITER = 64

_COMMENT = lazy_regex(rb"\s*/\*.*?\*/", re.DOTALL)

# Messages in JSON that ggfmt recognizes but does not read, for errors that name them.

_OF_OPERATIONS = frozenset(
    {"table", "op_type", "op_ts", "pos", "current_ts", "primary_keys", "tokens", "before", "after"}
)


class UnsupportedMessages(NamedTuple):
    """The name of unsupported messages, and what the user can do to read them."""

    what: str
    help: str


JSON_ROW = UnsupportedMessages(
    "a GoldenGate `json_row` message, with columns next to `op_type`", "read it with `--input-format json_row`"
)
MONGODB = UnsupportedMessages(
    "a MongoDB change of Debezium with documents as strings",
    "configure `ExtractNewDocumentState` to convert the documents to rows",
)
CLOUD_EVENT = UnsupportedMessages(
    "a CloudEvent of another system than Debezium and Oracle Data Streams",
    "extract the `data` of the events, and read it",
)
AVRO_JSON = UnsupportedMessages(
    "a message that a tool converted from Avro to Avro's own JSON",
    "dump the topic with a consumer that writes plain JSON, or read the files of a sink",
)
_SCALAR_METADATA = frozenset({
    "table", "op_type", "op_ts", "pos", "current_ts", "op", "ts_ms", "type", "database", "ts", "opType", "magic",
    "__op", "__deleted", "__table",
})  # fmt: skip


def is_avro_json(members: Mapping[str, Any]) -> bool:
    """Return whether a record with these members is in Avro's JSON encoding: where each system has a scalar, it has the
    value of a union, or its images have the full name of their type."""
    records = any(is_avro_record(members.get(image)) for image in ("before", "after"))
    return records or any(name in _SCALAR_METADATA and is_avro_union(value) for name, value in members.items())


def is_json_row(members: Mapping[str, Any]) -> bool:
    """Return whether a record with these members is an operation in `json_row`, whose members include the columns."""
    if "table" not in members or members.get("op_type") not in ("I", "U", "D"):
        return False
    return "before" not in members and "after" not in members and not _OF_OPERATIONS.issuperset(members)


def is_mongodb(members: Mapping[str, Any]) -> bool:
    """Return whether a Debezium envelope with these members is the change of a document."""
    source = members.get("source")
    texts = any(isinstance(members.get(image), str) for image in ("before", "after"))
    return texts and isinstance(source, dict) and "collection" in source


def unread(head: bytes) -> UnsupportedMessages | None:
    """Recognize the first record of a file that ggfmt does not read; None if it is another record."""
    first = next(head_objects(head), None)
    return None if first is None else unread_record(first)


def unread_record(record: Mapping[str, Any]) -> UnsupportedMessages | None:
    """Return which unsupported messages have these members; None if the record is another one."""
    payload = record.get("payload")
    if isinstance(payload, dict) and is_mongodb(payload):
        return MONGODB
    if is_avro_json(record):
        return AVRO_JSON
    if is_json_row(record):
        return JSON_ROW
    if is_mongodb(record):
        return MONGODB
    if "specversion" in record and "type" in record:
        return CLOUD_EVENT
    return None


def preamble(head: bytes) -> int:
    """Return the number of bytes before the first record: a byte order mark, and a comment that some files have."""
    mark = len(BOM) if head.startswith(BOM) else 0
    comment = _COMMENT.match(head, mark)
    return comment.end() if comment else mark


@lru_cache(maxsize=2)  # each format that is tried looks at the same first bytes, and they may be long
def find_layout(head: bytes, whole: bool) -> Layout:
    """Detect the layout of a file from its `head`; `whole`: the file has no more bytes."""
    start = preamble(head)
    layout = replace(_layout(head[start:], whole), skipped=start)
    return layout if start <= len(BOM) else replace(layout, splittable=False)


def head_objects(head: bytes) -> Iterator[dict[str, Any]]:
    """Return the records that are whole JSON objects in the first bytes of a file, in order, without everything else.
    They are not to be changed: all who look at these bytes share them."""
    return copy(_shared_objects(head))


@lru_cache(maxsize=1)
def _shared_objects(head: bytes) -> Iterator[dict[str, Any]]:
    """Return an iterator that stays at its start, so that each copy has all records, decoded once."""
    (objects,) = tee(_objects(head), 1)
    return objects


def _objects(head: bytes) -> Iterator[dict[str, Any]]:
    layout = replace(find_layout(head, False), max_record=len(head))
    head = head[layout.skipped :]
    for start, end in record_spans(Chunk("", 0, head, layout)):
        try:
            record = decode(head[start:end])
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _layout(head: bytes, whole: bool) -> Layout:
    text = head.decode("latin-1")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if text.startswith("[", start):
        return Layout(splittable=False, delimiter=b",", array=True)
    end, mistake = find_value(memoryview(head), start, len(head))
    if end is None and mistake is not None:
        with suppress(ValueError, RecursionError):
            _, end = _LENIENT.raw_decode(text, start)
    if end is None:
        first_line, _, rest = head[start:].partition(b"\n")
        pretty = first_line.strip() == b"{" or (not rest and whole)
        return Layout(splittable=not pretty)
    one_line = b"\n" not in head[start:end]
    if one_line and re.match(r"[ \t\r]*(\n|$)", text[end:]):
        return Layout(splittable=True)
    following = text.find("{", end)
    if following < 0 and whole:
        following = len(text)
    gap = text[end:following].strip() if following >= 0 else ""
    if len(gap) > _MAX_DELIMITER or "\n" in gap:
        return Layout(splittable=one_line)
    return Layout(splittable=False, delimiter=gap.encode("latin-1"))


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """Yield the records that start in the `length` bytes from `start`, about `CHUNK_BYTES` at a time. A range starts
    with the first line that starts in it. As long as no record crosses the end of a range, the ranges give the same
    records as the whole file. Raises: SplitBoundaryError if the last record crosses the end of the range, where the
    next range starts."""
    source = (_Lines if layout.splittable else _FileValues)(stream, file, layout, CHUNK_BYTES)
    return source.chunks(start, length)


def record_spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
    """Return the start and end of every record in a chunk, including damaged records."""
    if chunk.spans is not None:
        return chunk.spans
    return RecordBoundaries(chunk.data, chunk.layout, more=False).spans


def starts_of_lines(chunk: Chunk, count: int) -> pa.Int64Array | None:
    """Return the starts of the records in a chunk if each of its `count` records is one line; None if this is not
    obvious. A line that starts and ends like an object does not contain a part of another line's record."""
    data = chunk.data
    if not chunk.layout.splittable or not data.startswith(b"{") or not data.endswith((b"}\n", b"}")):
        return None
    codes = from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])
    ends = pc.cast(pc.indices_nonzero(pc.equal(codes, pa.scalar(ord("\n"), pa.uint8()))), pa.int64())
    if data.endswith(b"\n"):
        ends = ends.slice(0, len(ends) - 1)
    if len(ends) != count - 1:
        return None
    starts = pc.add(ends, 1)
    for places, brace in ((pc.subtract(ends, 1), "}"), (starts, "{")):
        if not pc.all(pc.equal(codes.take(places), pa.scalar(ord(brace), pa.uint8())), min_count=0).as_py():
            return None
    return pa.concat_arrays([pa.array([0], pa.int64()), starts])


class _Lines(Source):
    """Source of a file in which most lines are records. It cuts records only if reading lines fails."""

    def chunks(self, start: int, length: int | None) -> Iterator[Chunk]:
        self._end = None if length is None else start + length
        self._border: int | None = None  # where the next range starts, if known
        if start:
            self.stream.seek(start - 1)
            self.offset = start - 1  # the line with the byte before `start` belongs to another range
            while (piece := self.stream.readline(CHUNK_BYTES)) and not piece.endswith(b"\n"):
                self.offset += len(piece)
            self.offset += len(piece)
            self._line = self.offset
        else:
            self.offset = len(self.stream.read(self.layout.skipped))
            self._line = 0
        if self._end is not None and self._line >= self._end:
            return
        while self._border is None or self.offset < self._border:
            self._fill()
            if not self._given:
                return
            if self._given > self.limit:
                yield self._settle(self.offset)
            else:
                data = self.buffer[: self._given]
                line = None if self._line == self.offset else self._line
                settle = partial(self._settle, self.offset)
                yield Chunk(self.file, self.offset, data, self.layout, line=line, settle=settle)
            self._hand_out(self._given)

    def _fill(self) -> None:
        """Fill the buffer with about `step` bytes, up to a line end; `_given` is their number."""
        wanted = self.step if self._end is None else max(1, min(self.step, self._end - self.offset))
        if len(self.buffer) < wanted:
            self.buffer += self.stream.read(wanted - len(self.buffer))
        line = self.buffer.find(b"\n", wanted - 1)
        if line < 0 and self.buffer:
            self.buffer += self.stream.readline(self.limit + 1)
            line = len(self.buffer) - 1
        self._given = line + 1
        self._find_border()

    def _find_border(self) -> None:
        if self._end is None or self._border is not None:
            return
        line = self.buffer.find(b"\n", max(0, self._end - 1 - self.offset))
        if line >= 0:
            self._border = self.offset + line + 1

    def _hand_out(self, count: int) -> None:
        line = self.buffer.rfind(b"\n", 0, count)
        if line >= 0:
            self._line = self.offset + line + 1
        self.drop(count)

    def _settle(self, offset: int) -> Chunk:
        """Return the last chunk again, cut into records."""
        assert offset == self.offset, "another chunk was asked for"
        while True:
            data = self.buffer[: self._given]
            cut = RecordBoundaries(data, self.layout, more=not self.ended or self._given < len(self.buffer))
            spans, stop = cut.spans, cut.stop
            if len(spans) or stop == self._given:
                break
            if cut.long:
                return self._too_long(cut)
            if self._given == len(self.buffer):
                self.grow()
                self._find_border()
            self._given = len(self.buffer)
        if self._border is not None and self._border <= self.offset + stop:
            stop = self._border - self.offset
            spans = spans.before(stop)
            if len(spans) and spans[-1][1] > stop:
                raise SplitBoundaryError(self.file)
        self._given = stop
        last = self.ended and stop == len(self.buffer)
        line = None if self._line == self.offset else self._line
        return Chunk(self.file, self.offset, data[:stop], self.layout, spans, line=line, last=last)

    def _too_long(self, cut: RecordBoundaries) -> Chunk:
        self._hand_out(cut.stop)
        one_line = b"\n" not in self.buffer[: self.limit]
        chunk = self.pass_record(b"\n" if one_line else b"\n{")
        if self._end is not None and not one_line and self.offset > self._end:
            raise SplitBoundaryError(self.file)
        self._given = 0
        return replace(chunk, line=self._line)


class _FileValues(Source):
    """Source of a file that is read from its start, value by value."""

    def chunks(self, start: int, length: int | None) -> Iterator[Chunk]:
        self.offset = len(self.stream.read(self.layout.skipped))
        while not self.ended:
            self.grow()
            if not self.ended and not self.layout.delimiter and len(self.buffer) <= self.limit:
                place = _proven_boundary(self.buffer)
                if place is not None:
                    yield Chunk(self.file, self.offset, self.buffer[:place], self.layout, last=False)
                    self.drop(place)
                    continue
            while self._cut():
                yield self._chunk
                self.drop(self._stop)

    def _cut(self) -> bool:
        """Make a chunk of the whole records in the buffer, if any; the rest starts at `_stop`."""
        cut = RecordBoundaries(self.buffer, self.layout, not self.ended)
        self._stop = cut.stop
        if len(cut.spans):
            data = self.buffer[: cut.stop]
            last = self.ended and cut.stop == len(self.buffer)
            self._chunk = Chunk(self.file, self.offset, data, self.layout, cut.spans, last=last)
        elif cut.long:
            self.drop(cut.stop)
            self._chunk = self._pass_value() if cut.open else self.pass_record(b"\n{")
            self._stop = 0
        else:
            return False
        return True

    def _pass_value(self) -> Chunk:
        """Skip a value that is too long and has no error so far, up to its last bracket."""
        start, head = self.offset, self.head()
        nesting = Nesting()
        while (end := nesting.end(self.buffer, 0, len(self.buffer))) is None:
            self.drop(len(self.buffer))
            self.buffer = self.stream.read(CHUNK_BYTES)
            self.ended = not self.buffer
            if self.ended:
                return self.long(start, head)
        self.drop(end)
        return self.long(start, head)


def _proven_boundary(data: bytes) -> int | None:
    """Return the last place before which there are only whole JSON values; None if a few guesses fail."""
    guess = len(data)
    for _ in range(4):
        guess = data.rfind(b"{", 0, guess)
        while guess > 0 and not data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n")):
            guess = data.rfind(b"{", 0, guess)
        if guess <= 0:
            return None
        try:
            _RAW.decode_lines(data[:guess])
        except (msgspec.DecodeError, RecursionError):
            continue
        return guess
    return None
