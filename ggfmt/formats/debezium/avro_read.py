"""Debezium in Avro, read: each event is made the record of JSON that Connect's converter would write of it, schema and
all, and read as that."""

from __future__ import annotations

import io
import math
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, cast

import fastavro
import msgspec
from fastavro.types import Schema as FastSchema
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, ReadSide
from ggfmt.formats.avro import confluent
from ggfmt.formats.avro.blocks import MAGIC, Damaged, parts, read_header, unsafe
from ggfmt.formats.avro.containers import HEADER_BYTES, RecordsOfBlock, container_chunks
from ggfmt.formats.avro.logical import plain
from ggfmt.formats.avro.programs import json_program
from ggfmt.formats.connect.avro import connect_schema
from ggfmt.formats.debezium import DebeziumAvroOptions
from ggfmt.formats.debezium.read import Debezium
from ggfmt.formats.debezium.record import DebeziumRecord
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.reader import DialectReader
from ggfmt.java.numbers import float_text
from ggfmt.kernels import native

_DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError, RecursionError)
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_EVENT_FIELDS = frozenset({"before", "after", "source"})
_ROW_FIELDS = frozenset({"__op", "__deleted", "__table"})

ToJson = Callable[[Any], Any]


@dataclass(frozen=True)
class _Plan:
    """How data of a schema are decoded, the schema in the words of Connect, and what data become before they are JSON;
    None where they are as they are. `writer`: what writes data as JSON at once, as far as they are regular."""

    decode: FastSchema
    schema: Raw
    to_json: ToJson | None
    writer: Any

    def texts(self, data: bytes, place: int, most: int, mark: bytes) -> tuple[Sequence[tuple[int, bytes]], int]:
        """The regular data from a place on, each behind a mark, up to so many (-1: all): the place behind each, and its
        JSON; and how many there are."""
        if self.writer is None:
            return (), 0
        done, _, text, sizes = self.writer.write(data, place, most, mark, b"", b"")
        borders = array("q")
        borders.frombytes(sizes)
        ends = borders[1::2]
        texts = (text[start:end] for start, end in zip(chain((0,), ends), ends, strict=False))
        return list(zip(borders[::2], texts, strict=True)), done


class DebeziumAvro(Debezium):
    scanned = False

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        options = cast(DebeziumAvroOptions, source.options or DebeziumAvroOptions())
        super().__init__(replace(source, options=options.as_in_json()), with_tokens)
        self._registry = confluent.Registry(options.schema_registry_directory)
        self._numbered: dict[int, _Plan | Diagnostic] = {}
        self._headed: dict[bytes, _Plan | Diagnostic] = {}

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        head = stream.read(HEADER_BYTES)
        if head.startswith(MAGIC):
            yield from container_chunks(head, stream, file, layout)
        elif head:
            yield Chunk(file, 0, head + stream.read(), layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return RecordsOfBlock(chunk.data) if chunk.spans is None else chunk.spans

    def opened(self, chunk: Chunk) -> Chunk:
        return chunk if chunk.data.startswith(MAGIC) else replace(chunk, spans=[])

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        if chunk.spans is None:
            yield from self._block(chunk.data, chunk.layout.max_record)
        else:
            yield from self._messages(chunk.data, cast("list[tuple[int, int]]", chunk.spans))

    def _block(self, data: bytes, limit: int) -> Iterator[DebeziumRecord | Diagnostic]:
        try:
            header = read_header(data)
            if header.data not in self._headed:
                self._headed[header.data] = _plan(header.schema)
            plan = self._headed[header.data]
            if isinstance(plan, Diagnostic):
                yield plan
                return
            for _, _, count, block in parts(data, header, limit):
                if isinstance(block, Damaged):
                    raise block
                stream = io.BytesIO(block)
                while count:
                    texts, done = plan.texts(block, stream.tell(), count, b"")
                    for end, text in texts:
                        stream.seek(end)
                        yield DebeziumRecord(schema=plan.schema, payload=Raw(text))
                    count -= done
                    if count:
                        yield _record(stream, plan)
                        count -= 1
                if stream.tell() != len(block):
                    raise Damaged("bytes follow the records of a block")
        except Damaged as error:
            yield Diagnostic("GG313", str(error))
        except _DECODE_ERRORS:
            yield Diagnostic("GG313", "a record in a block cannot be read")

    def _messages(self, data: bytes, spans: list[tuple[int, int]]) -> Iterator[DebeziumRecord | Diagnostic]:
        stream = io.BytesIO(data)
        while (start := stream.tell()) < len(data):
            number = confluent.number_at(data, start)
            plan = self._numbered.get(number) if isinstance(number, int) else None
            if isinstance(plan, _Plan):
                texts, _ = plan.texts(data, start, -1, data[start : start + confluent.HEAD_BYTES])
                for end, text in texts:
                    spans.append((start, end))
                    yield DebeziumRecord(schema=plan.schema, payload=Raw(text))
                    start = end
                stream.seek(start)
                if start == len(data):
                    break
            record = self._message(data, stream)
            end = len(data) if isinstance(record, Diagnostic) else stream.tell()
            spans.append((start, end))
            yield record
            stream.seek(end)

    def _message(self, data: bytes, stream: io.BytesIO) -> DebeziumRecord | Diagnostic:
        number = confluent.number_at(data, stream.tell())
        if isinstance(number, Diagnostic):
            return number
        if number not in self._numbered:
            schema = self._registry.schema(number)
            self._numbered[number] = schema if isinstance(schema, Diagnostic) else _plan(schema)
        plan = self._numbered[number]
        if isinstance(plan, Diagnostic):
            return plan
        stream.seek(confluent.HEAD_BYTES, io.SEEK_CUR)
        try:
            return _record(stream, plan)
        except _DECODE_ERRORS:
            return confluent.broken(number)


def _record(stream: io.BytesIO, plan: _Plan) -> DebeziumRecord:
    datum: Any = fastavro.schemaless_reader(stream, plan.decode, None)
    payload = datum if plan.to_json is None else plan.to_json(datum)
    return DebeziumRecord(schema=plan.schema, payload=Raw(msgspec.json.encode(payload)))


def _plan(schema: Any) -> _Plan | Diagnostic:
    reason = unsafe(schema)
    try:
        if reason is None:
            words = Raw(msgspec.json.encode(connect_schema(schema)))
            decode = fastavro.parse_schema(plain(schema))
            return _Plan(decode, words, _to_json(schema, {}), _writer(decode))
    except Exception as error:  # a schema can be wrong in more ways than its parser has exceptions for
        reason = f"the schema is none of Connect: {str(error)[:80] or type(error).__name__}"
    return Diagnostic("GG313", reason, help="give the schema that the messages were written with")


def _writer(schema: FastSchema) -> Any:
    """What writes data of a schema as JSON; None without a kernel, or where the kernel cannot."""
    try:
        return None if native is None else native.AvroToJson(json_program(schema))
    except ValueError:
        return None


# Data as JSON has them: of floating-point numbers it has none of 32 bits, and not all of 64.


def _to_json(schema: Any, known: dict[str, ToJson | None]) -> ToJson | None:
    """What makes data of a schema such as can be written as JSON; None where they are."""
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
    return value if math.isfinite(value) else _NOT_FINITE[repr(value)]


def _float(value: float) -> Any:
    return Raw(float_text(value).encode()) if math.isfinite(value) else _NOT_FINITE[repr(value)]


_FLOATS: dict[str, ToJson] = {"float": _float, "double": _double}


class DebeziumAvroReader(DialectReader):
    dialect = DebeziumAvro

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        if not head.startswith(MAGIC):
            return None
        try:
            schema = read_header(head).schema
        except Damaged:
            return None
        fields = schema.get("fields") if isinstance(schema, dict) else None
        names = {field.get("name") for field in fields or () if isinstance(field, dict)}
        if ("op" in names and names & _EVENT_FIELDS) or names & _ROW_FIELDS:
            return "it starts as an Avro object container of Debezium's events"
        return None


class DebeziumAvroDiscovery(DialectDiscovery):
    dialect = DebeziumAvro


READ_SIDES = {"debezium_avro": ReadSide(DebeziumAvroReader, DebeziumAvroDiscovery)}
