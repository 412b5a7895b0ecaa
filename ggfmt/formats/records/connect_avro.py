"""Reader of records of Kafka Connect in Avro, in object container files or in Confluent's wire format.

It converts each datum to the JSON record of Connect's converter, with its schema, and a dialect reads this record. In
the wire format, messages can also be JSON documents with a JSON Schema. The registry says which, so a topic can have
both.
"""

from __future__ import annotations

import io
import math
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import takewhile
from typing import Any, BinaryIO, ClassVar, cast

import fastavro
import msgspec
from fastavro.types import Schema as FastSchema
from msgspec import Raw

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import AVRO_MAGIC, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, Spans
from ggfmt.formats.avro import confluent, containers
from ggfmt.formats.avro.programs import program
from ggfmt.formats.avro.schemas import DECODE_ERRORS, without_logical_types
from ggfmt.formats.connect import json_schema
from ggfmt.formats.connect.avro import connect_schema
from ggfmt.formats.records.batching import BATCH_ROWS
from ggfmt.formats.records.dialect import Dialect, classify_records
from ggfmt.formats.records.framed_dumps import framed_chunks
from ggfmt.formats.records.reader import DialectReader
from ggfmt.java.numbers import NOT_FINITE_TEXTS, float_text
from ggfmt.kernels import kernel

ToJson = Callable[[Any], Any]


@dataclass(frozen=True)
class _Plan:
    """The decoding of data with one schema, the Connect schema, and the conversion of data before they become JSON;
    None if no conversion is necessary.

    `decode`: None if the data are JSON documents. `writer`: the kernel that writes regular data as JSON directly, if
    there is one. `head`: the text before their JSON, with a number for the schema.
    """

    decode: FastSchema | None
    schema: Raw
    to_json: ToJson | None
    writer: Any
    head: bytes

    def run(self, data: bytes, place: int, most: int, mark: bytes = b"") -> _Run:
        """Decode data from a place on, each after a mark, up to the first irregular datum."""
        if self.writer is None:
            return _Run(self, array("q"), b"")
        _, _, text, sizes = self.writer.write(data, place, most, mark, self.head, _TAIL)
        return _Run(self, array("q", bytes(sizes)), text)

    def single(self, stream: io.BytesIO) -> _Run:
        assert self.decode is not None
        datum: Any = fastavro.schemaless_reader(stream, self.decode, None)
        text = self.head + msgspec.json.encode(datum if self.to_json is None else self.to_json(datum)) + _TAIL
        return _Run(self, array("q", (stream.tell(), len(text))), text)


@dataclass(frozen=True)
class _Run:
    """Consecutive records as JSON, with the end of each in the data and in the text, alternately."""

    plan: _Plan
    borders: array[int]
    text: bytes

    def __len__(self) -> int:
        return len(self.borders) // 2

    def first(self, count: int) -> _Run:
        return (
            self
            if count == len(self)
            else _Run(self.plan, self.borders[: count * 2], self.text[: self.borders[count * 2 - 1]])
        )

    def spans(self) -> Spans:
        spans = Spans()
        spans.follow(0, self.borders[1::2])
        return spans

    def payloads(self) -> Iterator[Raw]:
        first, behind = len(self.plan.head), len(_TAIL)
        for start, end in self.spans():
            yield Raw(self.text[start + first : end - behind])


def _joined(runs: Sequence[_Run]) -> _Run:
    """Return the records of several runs with one plan."""
    borders, size = array("q"), 0
    for run in runs:
        borders.extend(end if place % 2 == 0 else end + size for place, end in enumerate(run.borders))
        size += len(run.text)
    return _Run(runs[0].plan, borders, b"".join(run.text for run in runs))


class ConnectAvro(Dialect):
    """Base of dialects in Avro, before the dialect of the same records in JSON."""

    options_type: ClassVar[type[Any]]  # of FramedOptions, with `as_in_json`
    reads_text = False

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        options = source.options or self.options_type()
        super().__init__(replace(source, options=options.as_in_json()), with_tokens)
        self._registry = confluent.Registry(options.schema_registry)
        self._numbered: dict[int, _Plan | Diagnostic] = {}
        self._headed: dict[bytes, _Plan | Diagnostic] = {}
        self._numbered_here: list[Raw] = []  # the schemas, by their numbers in `_Plan.head`

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        if not head.startswith(AVRO_MAGIC):
            return None
        try:
            schema = containers.read_header(head).schema
        except containers.CorruptContainerError:
            return None
        fields = schema.get("fields") if isinstance(schema, dict) else None
        names = {field.get("name") for field in fields or () if isinstance(field, dict)}
        return cls.sniff_fields(names, isinstance(schema, dict) and "connect.name" in schema)

    @staticmethod
    @abstractmethod
    def sniff_fields(names: Set[Any], named: bool) -> str | None:
        """Return how records with such fields are recognized; None if they are others. `named`: their schema has a name
        in Connect."""

    @staticmethod
    @abstractmethod
    def record_of(schema: Raw, payload: Raw) -> Any:
        """Return the decoded record of a schema and a payload in JSON."""

    def words(self, schema: Raw) -> Raw:
        """Return the schema for the number that the JSON of a datum has instead."""
        number = bytes(schema)
        return self._numbered_here[int(number)] if number.isdigit() else schema

    @classmethod
    def caution(cls, options: Any) -> str:
        return ""  # every record has a schema

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        head = containers.read_file_head(stream, file, layout)
        if isinstance(head, Chunk):
            yield head
        elif head.startswith(AVRO_MAGIC):
            yield from containers.container_chunks(head, stream, file, layout)
        else:
            yield from framed_chunks(stream, file, layout, head)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return containers.RecordsOfBlock(chunk.data) if chunk.spans is None else chunk.spans

    def opened(self, chunk: Chunk) -> Chunk:
        known = chunk.data.startswith(AVRO_MAGIC) or chunk.spans is not None
        return chunk if known else replace(chunk, spans=[])

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        for run in self.runs(chunk):
            if isinstance(run, Diagnostic):
                yield run
            else:
                yield from self.records(run)

    def runs(self, chunk: Chunk) -> Iterator[_Run | Diagnostic]:
        """Yield the records of a chunk. A Diagnostic is the last item, unless the spans of messages are known."""
        if chunk.data.startswith(AVRO_MAGIC):
            yield from self._block(chunk.data, chunk.layout.max_record)
        elif chunk.spans:
            yield from self._separate(chunk.data, chunk.spans)
        else:
            yield from self._messages(chunk.data, cast("list[tuple[int, int]]", chunk.spans))

    def records(self, run: _Run) -> Iterator[Any]:
        if run.plan.decode is not None:
            return (self.record_of(run.plan.schema, payload) for payload in run.payloads())
        documents = Chunk("", 0, run.text, _ALONE, last=False)
        return (self.record_at(documents, start, end) for start, end in run.spans())

    def _block(self, data: bytes, limit: int) -> Iterator[_Run | Diagnostic]:
        try:
            header = containers.read_header(data)
            if header.data not in self._headed:
                self._headed[header.data] = self._plan(header.schema)
            plan = self._headed[header.data]
            if isinstance(plan, Diagnostic):
                yield plan
                return
            for _, _, count, block in containers.split_blocks(data, header, limit):
                if isinstance(block, containers.CorruptContainerError):
                    raise block
                stream = io.BytesIO(block)
                while count:
                    run = plan.run(block, stream.tell(), min(count, _RUN)) or plan.single(stream)
                    stream.seek(run.borders[-2])
                    count -= len(run)
                    yield run
                if stream.tell() != len(block):
                    raise containers.CorruptContainerError("extra bytes follow the records of a block")
        except containers.CorruptContainerError as error:
            yield Diagnostic("GG313", str(error))
        except DECODE_ERRORS:
            yield Diagnostic("GG313", "a record in a block cannot be read")

    def _messages(self, data: bytes, spans: list[tuple[int, int]]) -> Iterator[_Run | Diagnostic]:
        stream = io.BytesIO(data)
        place = 0
        while place < len(data):
            run = self._message(data, place, stream)
            if isinstance(run, Diagnostic):
                spans.append((place, len(data)))
                yield run
                return
            for end in run.borders[::2]:
                spans.append((place, end))
                place = end
            yield run

    def _separate(self, data: bytes, spans: Sequence[tuple[int, int]]) -> Iterator[_Run | Diagnostic]:
        """Decode messages with known spans; each ends where its span ends, and an empty one is a tombstone."""
        stream, held, number = io.BytesIO(data), list[_Run](), 0
        while number < len(spans):
            start, end = spans[number]
            run = _TOMBSTONE if start == end else self._message(data, start, stream, end)
            whole = 1
            if start < end and isinstance(run, _Run):
                found = zip((start, *run.borders[::2]), run.borders[::2], strict=False)
                pairs = zip(found, spans[number : number + len(run)], strict=False)
                whole = sum(1 for _ in takewhile(lambda pair: pair[0] == tuple(pair[1]), pairs))
                run = (
                    run.first(whole)
                    if whole
                    else confluent.datum_error(int.from_bytes(data[start + 1 : start + 5], "big"))
                )
            if held and (isinstance(run, Diagnostic) or run.plan is not held[0].plan or len(held) == _RUN):
                yield _joined(held)
                held = []
            if isinstance(run, Diagnostic):
                yield confluent.alone(run)
            else:
                held.append(run)
            number += max(whole, 1)
        if held:
            yield _joined(held)

    def _message(self, data: bytes, place: int, stream: io.BytesIO, end: int | None = None) -> _Run | Diagnostic:
        """Decode the message at a place of the data, and the messages after it with the same schema; or this message
        alone, if its `end` is known."""
        number = confluent.number_at(data, place, end)
        if isinstance(number, Diagnostic):
            return number
        if number not in self._numbered:
            known = self._registry.known(number)
            self._numbered[number] = (
                known if isinstance(known, Diagnostic) else self._plan(known.schema, known.documents)
            )
        plan = self._numbered[number]
        if isinstance(plan, Diagnostic):
            return plan
        if plan.decode is None:
            return self._documents(plan, data, place, end)
        run = plan.run(data, place, _RUN, data[place : place + confluent.HEAD_BYTES])
        if run:
            return run
        stream.seek(place + confluent.HEAD_BYTES)
        try:
            return plan.single(stream)
        except DECODE_ERRORS:
            return confluent.datum_error(number)

    def _documents(self, plan: _Plan, data: bytes, place: int, end: int | None) -> _Run | Diagnostic:
        """As `_message`, for documents. One ends before the next zero byte, because JSON has none."""
        borders, text, mark = array("q"), bytearray(), data[place : place + confluent.HEAD_BYTES]
        while data.startswith(mark, place) and len(borders) < 2 * _RUN:
            body = place + len(mark)
            place = data.find(confluent.MARK, body) if end is None else end
            place = len(data) if place < 0 else place
            document = data[body:place]
            try:
                _decode(document)
                str(document, "utf-8")
            except (ValueError, RecursionError):
                found = self.record_at(Chunk("", 0, document, _ALONE, last=False), 0, len(document))
                if borders:
                    break
                return (
                    found if isinstance(found, Diagnostic) else confluent.datum_error(int.from_bytes(mark[1:], "big"))
                )
            text += plan.head + document + _TAIL
            borders.extend((place, len(text)))
            if end is not None:
                break
        return _Run(plan, borders, bytes(text))

    def _head(self, words: Raw) -> bytes:
        """Return the text before the JSON of data with a schema, which gets a number."""
        self._numbered_here.append(words)
        return b'{"schema":%d,"payload":' % (len(self._numbered_here) - 1)

    def _plan(self, schema: Any, documents: dict[str, Any] | None = None) -> _Plan | Diagnostic:
        """Return the plan of a schema in Avro, or with `documents` in JSON Schema, which refers to them."""
        reason = containers.unsafe_reason(schema) if documents is None else None
        try:
            if documents is not None:
                words = Raw(msgspec.json.encode(json_schema.connect_schema(schema, documents)))
                return _Plan(None, words, None, None, self._head(words))
            if reason is None:
                words = Raw(msgspec.json.encode(connect_schema(schema)))
                decode = fastavro.parse_schema(without_logical_types(schema))
                writer = kernel(lambda native: native.AvroToJson(program(decode)))
                return _Plan(decode, words, _to_json(schema, {}), writer, self._head(words))
        except MemoryError:
            raise
        except Exception as error:  # a schema can be wrong in more ways than its parser declares
            reason = f"the schema is not a Kafka Connect schema: {str(error)[:80] or type(error).__name__}"
        return Diagnostic("GG313", reason, help="use the schema that the messages were written with")


_RUN = BATCH_ROWS  # maximum number of records that are JSON at a time
_TAIL = b"}"
_decode = msgspec.json.Decoder(Raw).decode
_ALONE = Layout(splittable=False)
_NO_VALUE = b'{"schema":null,"payload":'
_TOMBSTONE = _Run(_Plan({}, Raw(b"null"), None, None, _NO_VALUE), array("q", [0, 30]), _NO_VALUE + b"null}")


# Conversion of data before JSON: JSON has no 32-bit floating-point numbers, and not all 64-bit ones.


def _to_json(schema: Any, known: dict[str, ToJson | None]) -> ToJson | None:
    """Return the conversion of data to values that JSON can represent; None if no conversion is necessary."""
    if isinstance(schema, list):
        return next((_or_none(make) for branch in schema if (make := _to_json(branch, known))), None)
    if isinstance(schema, str):
        return known.get(schema.rpartition(".")[2], _FLOATS.get(schema))
    kind = schema["type"]
    if kind == "array":
        item = _to_json(schema["items"], known)
        return item and partial(_of_items, item)
    if kind == "map":
        item = _to_json(schema["values"], known)
        return item and partial(_of_values, item)
    if kind != "record":
        return _to_json(kind, known)
    made = {field["name"]: make for field in schema["fields"] if (make := _to_json(field["type"], known))}
    known[schema["name"].rpartition(".")[2]] = of_record = partial(_of_record, made) if made else None
    return of_record


def _or_none(make: ToJson) -> ToJson:
    return lambda value: None if value is None else make(value)


def _of_items(make: ToJson, items: list[Any]) -> list[Any]:
    return [make(item) for item in items]


def _of_values(make: ToJson, values: dict[str, Any]) -> dict[str, Any]:
    return {name: make(value) for name, value in values.items()}


def _of_record(made: dict[str, ToJson], record: dict[str, Any]) -> dict[str, Any]:
    return {**record, **{name: make(record[name]) for name, make in made.items()}}


def _double(value: float) -> Any:
    return value if math.isfinite(value) else NOT_FINITE_TEXTS[repr(value)]


def _float(value: float) -> Any:
    return Raw(float_text(value).encode()) if math.isfinite(value) else NOT_FINITE_TEXTS[repr(value)]


_FLOATS: dict[str, ToJson] = {"float": _float, "double": _double}


class ConnectAvroReader(DialectReader):
    """Reader in which one kernel converts records to JSON, and another one scans this JSON."""

    _dialect: ConnectAvro

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        if self.scanner is None or self._pause:
            yield from super().decode_chunk(chunk)
            return
        cut = self._dialect.opened(chunk)
        self.hold_instead(chunk, cut)
        for run in self._dialect.runs(cut):
            if isinstance(run, Diagnostic):
                yield from self.take_in_one(run)
            elif self.scanner is None or self._pause:
                for meaning in classify_records(self._dialect, self._dialect.records(run)):
                    yield from self.take_in_one(meaning)
            else:
                yield from super().decode_chunk(replace(cut, data=run.text, spans=run.spans()))
