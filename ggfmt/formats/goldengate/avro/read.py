"""Readers of GoldenGate's Avro: streams of messages, wrapped or bare, and object container files.

A container file tells its schema. A stream does not: the schema of a message is made from the definition of its table,
which the message names first, as the handler that wrote it made it (`--input-config`). Numbers come back as Java prints
them, and not with the digits of the source (`17520.0`); the row formats do not tell a missing column from NULL, and so
have no missing ones.
"""

from __future__ import annotations

import io
import struct
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import fastavro
from fastavro.types import Schema as FastSchema

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import (
    MAX_RECORD_BYTES,
    Chunk,
    Discovery,
    Event,
    Layout,
    ReadSide,
    Reject,
    SchemaChange,
    too_long,
)
from ggfmt.formats.avro.blocks import Blocks, Damaged, Header, parts, read_header, read_varint, unsafe, unzigzag
from ggfmt.formats.goldengate.avro.plan import Plan, Schema, is_by_image, table_of
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, wrapper
from ggfmt.formats.goldengate.discovery import settle_changes
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.records.batching import BATCH_ROWS, BatchingReader, HeldTable, Spans
from ggfmt.formats.records.refused import legal_values
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

HEADER_BYTES = 1 << 20  # that the header of a container file may have
BLOCKS_BYTES = 1 << 20  # of a container file in one chunk
_DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError, RecursionError)


@dataclass
class _Table(HeldTable):
    plan: Plan


class AvroReader(BatchingReader[_Table]):
    """What both kinds of readers share: decoded messages become batches, none of which reaches over a chunk. The places
    of messages are known only to whoever decodes them. `most_rows` are those of a batch, 0 for no bound."""

    most_rows: ClassVar[int] = 0

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._keys = op_keys(source.options)
        self._spans: list[tuple[int, int]] = []

    @abstractmethod
    def messages(self, chunk: Chunk) -> Iterator[Event]:
        """Holds the messages of a chunk."""

    def take_in(self, chunk: Chunk) -> Iterator[Event]:
        self._spans = []
        self.know_spans(self._spans)
        yield from self.messages(chunk)
        yield from self.hand_out(True)

    def spans(self, chunk: Chunk) -> Spans:
        return self._spans

    def columns(self, table: _Table) -> ChangeBatch:
        return table.plan.batch(table.operations, table.ordinals, self.projection.tokens)

    def _hold(self, plan: Plan, message: dict[str, Any], start: int, end: int) -> Iterator[Event]:
        """Keeps a message that lies there in the present chunk, unless it is no operation."""
        problem = self._problem(plan, message)
        if problem is not None:
            yield self._reject(start, end, problem)
            return
        table = self.tables.get(plan.table.full_name)
        if table is None or table.plan is not plan:
            table = self.tables[plan.table.full_name] = _Table(plan.table, plan)
        table.operations.append(message)
        table.ordinals.append(self._next(start, end))
        if len(table.operations) == self.most_rows:
            yield from self.batch(table)

    def _next(self, start: int, end: int) -> int:
        """The ordinal of a record that lies there in the present chunk."""
        self._spans.append((start, end))
        self.ordinal += 1
        return self.ordinal - 1

    def _reject(self, start: int, end: int, diagnostic: Diagnostic) -> Reject:
        return self.reject(self._next(start, end), diagnostic)

    def _problem(self, plan: Plan, message: dict[str, Any]) -> Diagnostic | None:
        """Why a message is no operation."""
        place = Span(table=plan.table.full_name, position=message["pos"])
        if plan.kind(message) is None:
            word = str(message["op_type"])
            word = word if len(word) <= 40 else "that"
            return Diagnostic("GG304", f"`op_type` cannot be `{word}`", place, legal_values(self._keys))
        if plan.unknown:
            reason = "the schema has a column that the definition of the table lacks"
            return Diagnostic("GG204", reason, Span(table=plan.table.full_name, field=plan.unknown[0]))
        return None


class AvroStreamReader(AvroReader):
    """Reads messages that follow each other; the whole file is one chunk, for nothing divides them."""

    most_rows = BATCH_ROWS

    @staticmethod
    @abstractmethod
    def make_schema(table: TableDef, source: WriterSettings) -> Schema:
        """The schema of a table's messages, as the source wrote them."""

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._plans: dict[str, Plan] = {}
        options = source.options
        self._delimiter = options.line_delimiter.encode()
        self._wrapper: FastSchema | None = None
        outer = wrapper(options, source.context)
        if outer is not None:
            self._wrapper = fastavro.parse_schema(dict(outer.document))

    @staticmethod
    def sniff(head: bytes) -> str | None:
        return None  # binary data without a mark

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        data = stream.read()
        if data:
            yield Chunk(file, 0, data, layout)

    def messages(self, chunk: Chunk) -> Iterator[Event]:
        stream = io.BytesIO(chunk.data)
        while (start := stream.tell()) < len(chunk.data):
            message = self._message(stream, chunk.data)
            if isinstance(message, Diagnostic):
                end = self._resume(chunk.data, start)
                yield self._reject(start, end, message)
                stream.seek(end)
            else:
                yield from self._hold(*message, start, stream.tell())

    def _message(self, stream: io.BytesIO, data: bytes) -> tuple[Plan, dict[str, Any]] | Diagnostic:
        try:
            payload: io.BytesIO = stream
            if self._wrapper is not None:
                wrapped: Any = fastavro.schemaless_reader(stream, self._wrapper, None)
                name, payload = wrapped["table_name"], io.BytesIO(wrapped["payload"])
            else:
                name = _first_string(data, stream.tell())
            plan = self._plan(name)
            if isinstance(plan, Diagnostic):
                return plan
            message: Any = fastavro.schemaless_reader(payload, plan.decode, None)
        except _DECODE_ERRORS:
            return Diagnostic("GG313", "the bytes are no Avro message of a known table", help=_STREAM_HELP)
        if self._delimiter and stream.read(len(self._delimiter)) != self._delimiter:
            return Diagnostic("GG313", "no `lineDelimiter` stands behind the message", help=_STREAM_HELP)
        return plan, message

    def _plan(self, name: str) -> Plan | Diagnostic:
        if name not in self._plans:
            table = self.catalog.get(name)
            if table is None:
                word = name if name.isprintable() and len(name) <= 80 else "of the message"
                help = "add its schema to `--definitions`; a message does not tell it"
                return Diagnostic("GG205", f"the table `{word}` has no definition", help=help)
            self._plans[name] = Plan(self.make_schema(table, self.source), table, self._keys)
        return self._plans[name]

    def _resume(self, data: bytes, start: int) -> int:
        """Where reading can go on behind a message that cannot be read: at the next delimiter, or at the end."""
        place = data.find(self._delimiter, start) if self._delimiter else -1
        return len(data) if place < 0 else place + len(self._delimiter)


class AvroContainerReader(AvroReader):
    """Reads object container files; a chunk is the header and some blocks, each of which is a batch. A file of another
    schema than the one before is a metadata change event of its table."""

    by_image: bool

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        header = _header(head)
        if isinstance(header, Diagnostic) or is_by_image(header.schema) is not cls.by_image:
            return None
        if "connect.name" in header.schema:  # Connect's converter made it
            return None
        return "it starts as an Avro object container of " + ("operations" if cls.by_image else "rows")

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        head = stream.read(HEADER_BYTES)
        header = _header(head)
        if isinstance(header, Diagnostic):
            if head:
                yield Chunk(file, 0, head, layout, ((0, len(head)),), problem=header)
            return
        described = table_of(header.schema)
        if isinstance(described, Diagnostic):
            yield Chunk(file, 0, header.data, layout, ((0, len(header.data)),), problem=described)
            return
        start = len(header.data)
        data = b""
        for block in Blocks(head, stream, header, layout.max_record):
            if block.long:
                if data or start == len(header.data):  # the first chunk has the header, whatever follows it
                    yield Chunk(file, start - len(header.data), header.data + data, layout)
                problem = too_long(block.size, layout.max_record)
                yield Chunk(file, block.offset, block.data, layout, ((0, len(block.data)),), problem=problem)
                start, data = block.offset + block.size, b""
                continue
            data += block.data
            if len(data) >= BLOCKS_BYTES:
                yield Chunk(file, start - len(header.data), header.data + data, layout)
                start, data = block.offset + block.size, b""
        if data or start == len(header.data):
            yield Chunk(file, start - len(header.data), header.data + data, layout)

    def messages(self, chunk: Chunk) -> Iterator[Event]:
        header = _header(chunk.data)
        if isinstance(header, Diagnostic):
            yield self._reject(0, len(chunk.data), header)
            return
        if not chunk.offset:
            table = self.catalog.settle(_table_in(header, chunk.data))
            self._plan = Plan(header.schema, table, self._keys)
            if table != self.catalog.get(table.full_name):
                self.catalog = self.catalog.with_tables([table])
                yield SchemaChange.met(table, chunk, 0)
        for start, end, count, data in parts(chunk.data, header, chunk.layout.max_record):
            if isinstance(data, Damaged):
                yield self._reject(start, end, Diagnostic("GG313", str(data)))
            else:
                yield from self._block(self._plan, start, end, count, data)

    def _block(self, plan: Plan, start: int, end: int, count: int, data: bytes) -> Iterator[Event]:
        stream = io.BytesIO(data)
        for _ in range(count):
            try:
                message: Any = fastavro.schemaless_reader(stream, plan.decode, None)
            except _DECODE_ERRORS:
                yield self._reject(start, end, Diagnostic("GG313", "a message in a block cannot be read"))
                break
            yield from self._hold(plan, message, start, end)
        yield from self.hand_out(True)


class AvroRowContainerReader(AvroContainerReader):
    by_image = False


class AvroOpContainerReader(AvroContainerReader):
    by_image = True


class ContainerDiscovery(Discovery):
    """The tables of container files, by their headers."""

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._found: list[SchemaChange] = []

    def read(self, chunk: Chunk) -> None:
        header = _header(chunk.data)
        if not chunk.offset and not isinstance(header, Diagnostic):
            self._found.append(SchemaChange.met(_table_in(header, chunk.data), chunk, 0))

    def findings(self) -> list[SchemaChange]:
        return self._found

    settle = staticmethod(settle_changes)


_STREAM_HELP = "check `--definitions`, `--input-format` and `--input-config`"


def _table_in(header: Header, data: bytes) -> TableDef:
    """The definition in the header of a file, with the keys that its first message names."""
    try:
        _, _, count, block = next(parts(data, header, MAX_RECORD_BYTES), (0, 0, 0, b""))
        first: Any = None
        if count and isinstance(block, bytes):
            first = fastavro.schemaless_reader(io.BytesIO(block), fastavro.parse_schema(header.schema), None)
    except (Damaged, *_DECODE_ERRORS):
        first = None
    keys = first.get("primary_keys") if isinstance(first, dict) else None
    table = table_of(header.schema, keys if isinstance(keys, list) else ())
    assert isinstance(table, TableDef)
    return table


def _header(data: bytes) -> Header | Diagnostic:
    try:
        header = read_header(data)
        fastavro.parse_schema(header.schema)
        problem = unsafe(header.schema)
        if problem is not None:
            return Diagnostic("GG313", problem)
    except Damaged as error:
        return Diagnostic("GG313", str(error))
    except Exception:  # a schema can be wrong in more ways than its parser has exceptions for
        return Diagnostic("GG313", "the schema in the header is no Avro schema")
    return header


def _first_string(data: bytes, start: int) -> str:
    size, place = read_varint(data, start)
    end = place + unzigzag(size)
    if not place < end <= len(data):
        raise ValueError("no string")
    return data[place:end].decode()


class AvroRowReader(AvroStreamReader):
    @staticmethod
    def make_schema(table: TableDef, source: WriterSettings) -> Schema:
        return avro_schema(table, source.options, source.context, False).document


class AvroOpReader(AvroStreamReader):
    @staticmethod
    def make_schema(table: TableDef, source: WriterSettings) -> Schema:
        return avro_schema(table, source.options, source.context, True).document


READ_SIDES = {
    "avro_row": ReadSide(AvroRowReader),
    "avro_op": ReadSide(AvroOpReader),
    "avro_row_ocf": ReadSide(AvroRowContainerReader, ContainerDiscovery),
    "avro_op_ocf": ReadSide(AvroOpContainerReader, ContainerDiscovery),
}
