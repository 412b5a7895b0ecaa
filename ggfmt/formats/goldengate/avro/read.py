"""Readers of GoldenGate's Avro: streams of messages, wrapped or bare, and object container files.

A container file contains its schema. A stream does not: the reader derives the schema of a message from the definition
of its table, which the message names first, with the options of the handler that wrote it (`--input-config`).
"""

from __future__ import annotations

import io
from abc import abstractmethod
from array import array
from collections.abc import Generator, Iterator, Sequence
from typing import Any, BinaryIO, ClassVar

import fastavro
import pyarrow as pa
from fastavro.types import Schema as FastSchema

from ggfmt.columnar.columns import int64s
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api import reading
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings, name_problem
from ggfmt.formats.avro import containers
from ggfmt.formats.avro.schemas import DECODE_ERRORS, is_name
from ggfmt.formats.goldengate.avro import avro_names
from ggfmt.formats.goldengate.avro.plan import AvroPlan, Template, describe, is_by_image, starts_with_texts
from ggfmt.formats.goldengate.avro.scan import MessageScanner, container_scanner, scanned_batch, stream_scanner
from ggfmt.formats.goldengate.avro.schema import metadata_schema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, wrapper
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS, MetaColumn, Roles
from ggfmt.formats.goldengate.options import op_keys, op_kinds
from ggfmt.formats.goldengate.reading import check_operation_type, defined_table
from ggfmt.formats.records.batching import BATCH_ROWS, BatchingReader, HeldTable, Spans
from ggfmt.formats.records.problems import legal_values
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef, name_of_fields


@dataclass
class _AvroTable(HeldTable):
    plan: AvroPlan


class AvroReader(BatchingReader[_AvroTable]):
    """Base of both readers. `max_rows` limits a batch; 0 for no limit."""

    max_rows: ClassVar[int] = 0
    scanner: MessageScanner | None = None
    transaction_tokens = TRANSACTION_TOKENS

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._kinds = op_kinds(source.options)
        self._spans = reading.Spans()

    @abstractmethod
    def messages(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        """Buffer the messages of a chunk."""

    def decode_chunk(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        self._spans = reading.Spans()
        self.know_spans(self._spans)
        yield from self.messages(chunk)

    def spans(self, chunk: reading.Chunk) -> Spans:
        return self._spans

    def columns(self, table: _AvroTable) -> ChangeBatch:
        return table.plan.batch(table.operations, table.ordinals, self.reads_tokens)

    def scanned_columns(self, table: _AvroTable, scanned: SourceBatch) -> ChangeBatch:
        return scanned_batch(table.plan, scanned, self.reads_tokens)

    def hold_table(self, plan: AvroPlan) -> _AvroTable:
        table = self.tables.get(plan.table.full_name)
        if table is None or table.plan is not plan:
            table = self.tables[plan.table.full_name] = _AvroTable(plan.table, plan)
        return table

    def _hold(self, plan: AvroPlan, message: dict[str, Any], start: int, end: int) -> Iterator[reading.Event]:
        problem = self._problem(plan, message)
        if problem is not None:
            yield self._reject(start, end, problem)
            return
        table = self.hold_table(plan)
        table.operations.append(message)
        table.ordinals.append(self._next(start, end))
        if self.held(table) == self.max_rows:
            yield from self.batch(table)

    def _next(self, start: int, end: int) -> int:
        """Return the ordinal of a record in the current chunk."""
        self._spans.add(start, end)
        self.ordinal += 1
        return self.ordinal - 1

    def _reject(self, start: int, end: int, diagnostic: Diagnostic) -> reading.Reject:
        return self.reject(self._next(start, end), diagnostic)

    def _problem(self, plan: AvroPlan, message: dict[str, Any]) -> Diagnostic | None:
        place = Span(table=plan.table.full_name, position=plan.position(message))
        if plan.kind(message) is None:
            word = str(message[plan.op_field])
            word = word if len(word) <= 40 else "..."
            return Diagnostic(
                "GG304", f"`{plan.op_field}` cannot be `{word}`", place, legal_values(op_keys(self.source.options))
            )
        if plan.unknown:
            reason = "the schema has a column that the definition of the table lacks"
            return Diagnostic("GG204", reason, Span(table=plan.table.full_name, field=plan.unknown[0]))
        return None


_STREAM_HELP = (
    "check `--definitions`, `--input-format` and `--input-config`; messages with schema ids need `--schema-registry`"
)


BLOCKS_BYTES = 1 << 20  # of a container file per chunk


@dataclass(frozen=True)
class ContainerLayout(reading.Layout):
    """`template`: the metadata of messages; None if the schema decides."""

    template: Template = field(default=None, kw_only=True)


def _template(source: WriterSettings) -> Template:
    template: Template = getattr(source.options, "meta_columns_template", None)
    return template


class AvroContainerReader(AvroReader):
    """Reads object container files. Each block is a batch, and a file with another schema is a schema change."""

    by_image: bool

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._template = _template(source)

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        header = _header(head)
        if isinstance(header, Diagnostic) or is_by_image(header.schema) is not cls.by_image:
            return None
        if "connect.name" in header.schema or not starts_with_texts(header.schema):
            return None  # written by Connect's converter, or by another system
        return "it starts like an Avro object container of " + ("operations" if cls.by_image else "rows")

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> reading.Layout:
        return ContainerLayout(splittable=False, template=_template(source))

    @staticmethod
    def chunks(
        stream: BinaryIO, file: str, start: int, length: int | None, layout: reading.Layout
    ) -> Iterator[reading.Chunk]:
        head = containers.read_file_head(stream, file, layout)
        if isinstance(head, reading.Chunk):
            yield head
            return
        assert isinstance(layout, ContainerLayout)
        header = _header(head)
        if isinstance(header, Diagnostic):
            if head:
                yield reading.Chunk(file, 0, head, layout, ((0, len(head)),), problem=header)
            return
        described = describe(header.schema, layout.template)
        if isinstance(described, Diagnostic):
            yield reading.Chunk(file, 0, header.data, layout, ((0, len(header.data)),), problem=described)
            return
        yield from containers.container_chunks(head, stream, file, layout, BLOCKS_BYTES, empty=True)

    def messages(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        header = _header(chunk.data)
        if isinstance(header, Diagnostic):
            yield self._reject(0, len(chunk.data), header)
            return
        if not chunk.offset:
            metadata, table = _described(header, chunk.data, self._template)
            table = self.catalog.settle(table)
            self._plan = AvroPlan(header.schema, table, self._kinds, metadata)
            self.scanner = container_scanner(self._plan, self.reads_tokens)
            self.hold_table(self._plan)
            if table != self.catalog.get(table.full_name):
                self.catalog = self.catalog.with_tables([table])
                yield reading.SchemaChange.met(table, chunk, 0)
        for start, end, count, data in containers.split_blocks(chunk.data, header, chunk.layout.max_record):
            if isinstance(data, containers.CorruptContainerError):
                yield self._reject(start, end, Diagnostic("GG313", str(data)))
            else:
                yield from self._block(self._plan, start, end, count, data)

    def _block(self, plan: AvroPlan, start: int, end: int, count: int, data: bytes) -> Iterator[reading.Event]:
        stream = io.BytesIO(data)
        while count:
            if self.scanner is not None:
                taken, place, *_ = self.scanner.native.scan(data, stream.tell(), count, self.ordinal)
                self._spans.repeat(start, end, taken)
                self.ordinal += taken
                count -= taken
                stream.seek(place)
            if not count:
                break
            count -= 1
            try:
                message: Any = fastavro.schemaless_reader(stream, plan.decode, None)
            except DECODE_ERRORS:
                yield self._reject(start, end, Diagnostic("GG313", "a message in a block cannot be read"))
                break
            yield from self._hold(plan, message, start, end)
        yield from self.drain(True)


class ContainerDiscovery(reading.ChangeDiscovery):
    """Finds the tables of container files by their headers."""

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self._template = _template(source)

    def read(self, chunk: reading.Chunk) -> None:
        header = _header(chunk.data)
        if chunk.offset or isinstance(header, Diagnostic):
            return
        _, table = _described(header, chunk.data, self._template)
        self.found.append(reading.SchemaChange.met(table, chunk, 0))


def _described(header: containers.Header, data: bytes, template: Template) -> tuple[Sequence[MetaColumn], TableDef]:
    """Return the metadata and the definition in the header of a file, with the keys that its first message names."""
    described = describe(header.schema, template)
    assert not isinstance(described, Diagnostic)  # or the chunk would have that problem
    metadata, table = described
    first: Any = None
    try:
        _, _, count, block = next(containers.split_blocks(data, header, reading.MAX_RECORD_BYTES), (0, 0, 0, b""))
        if count and isinstance(block, bytes):
            first = fastavro.schemaless_reader(io.BytesIO(block), fastavro.parse_schema(header.schema), None)
    except (containers.CorruptContainerError, *DECODE_ERRORS):
        pass
    place = Roles.of(metadata).key_columns
    keys = first[metadata[place].name] if first is not None and place is not None else ()
    return metadata, table.with_keys(keys)


def _header(data: bytes) -> containers.Header | Diagnostic:
    try:
        header = containers.read_header(data)
        fastavro.parse_schema(header.schema)
        problem = containers.unsafe_reason(header.schema)
        if problem is not None:
            return Diagnostic("GG313", problem)
    except containers.CorruptContainerError as error:
        return Diagnostic("GG313", str(error))
    except MemoryError:
        raise
    except Exception:  # fastavro raises many kinds of exceptions for invalid schemas
        return Diagnostic("GG313", "the schema in the header is not an Avro schema")
    return header


class AvroStreamReader(AvroReader):
    """Reads adjacent messages. The whole file is one chunk, because nothing separates messages."""

    max_rows = BATCH_ROWS

    by_image: ClassVar[bool]

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._plans: dict[str | None, AvroPlan] = {}
        options = source.options
        self._metadata = options.metadata(source.context)
        self._roles = Roles.of(self._metadata)
        self._head: FastSchema = fastavro.parse_schema(dict(metadata_schema(self._metadata)))
        self._delimiter = options.line_delimiter.encode()
        outer = wrapper(options, source.context)
        self._wrapper = None if outer is None else fastavro.parse_schema(dict(outer.document))
        self.scanner = stream_scanner(
            self.by_image, self._kinds, self.reads_tokens, self._metadata, outer is not None, self._delimiter
        )

    @staticmethod
    def sniff(head: bytes) -> str | None:
        return None  # binary data cannot be recognized

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> reading.Layout:
        check_operation_type(source.options.metadata(source.context), "Avro messages")
        return reading.Layout(splittable=False)

    @staticmethod
    def chunks(
        stream: BinaryIO, file: str, start: int, length: int | None, layout: reading.Layout
    ) -> Iterator[reading.Chunk]:
        data = stream.read()
        if data:
            yield reading.Chunk(file, 0, data, layout)

    def messages(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        stream = io.BytesIO(chunk.data)
        while True:
            name = yield from self._scanned(stream, chunk.data)
            if (start := stream.tell()) >= len(chunk.data):
                break
            message = self.read_message(stream)
            if isinstance(message, Diagnostic):
                # Go on at the next delimiter, or at the end.
                place = chunk.data.find(self._delimiter, start) if self._delimiter else -1
                end = len(chunk.data) if place < 0 else place + len(self._delimiter)
                yield self._reject(start, end, message)
                stream.seek(end)
            else:
                plan, decoded = message
                yield from self._hold(plan, decoded, start, stream.tell())
                held = self.tables.get(plan.table.full_name)
                # A table without operations has no order among others.
                if self.scanner is not None and held is not None:
                    if name is not None:
                        self.scanner.bind(name, plan)
                    self._limit(held)

    def _scanned(self, stream: io.BytesIO, data: bytes) -> Generator[reading.Event, None, bytes | None]:
        """Pass over the messages that the kernel takes. Return the name of the next table if it does not know it."""
        if self.scanner is None:
            return None
        while True:
            start = stream.tell()
            taken, place, full, ends, name = self.scanner.native.scan(data, start, -1, self.ordinal)
            if taken:
                self._spans.follow(start, array("q", memoryview(ends).cast("q")))
            self.ordinal += taken
            stream.seek(place)
            if full < 0:
                following: bytes | None = name
                return following
            held = self.tables[self.scanner.table(full)]
            yield from self.batch(held)
            self._limit(held)

    def _limit(self, held: HeldTable) -> None:
        """Make the kernel stop when there are enough operations for a batch."""
        assert self.scanner is not None
        self.scanner.limit(held.definition.full_name, self.max_rows - len(held.operations))

    def read_message(self, stream: io.BytesIO) -> tuple[AvroPlan, dict[str, Any]] | Diagnostic:
        try:
            payload: io.BytesIO = stream
            if self._wrapper is None:
                name = self._name(stream)
            else:
                wrapped: Any = fastavro.schemaless_reader(stream, self._wrapper, None)
                name, payload = wrapped["table_name"], io.BytesIO(wrapped["payload"])
            plan = self._plan(name)
            if isinstance(plan, Diagnostic):
                return plan
            message: Any = fastavro.schemaless_reader(payload, plan.decode, None)
        except DECODE_ERRORS:
            return Diagnostic("GG313", "the bytes are not an Avro message of a known table", help=_STREAM_HELP)
        if self._delimiter and stream.read(len(self._delimiter)) != self._delimiter:
            return Diagnostic("GG313", "no `lineDelimiter` follows the message", help=_STREAM_HELP)
        return plan, message

    def _name(self, stream: io.BytesIO) -> str | None:
        """Return the table name in the metadata of the message at a place; None without one."""
        if not self._roles.name:
            return None
        start = stream.tell()
        head: Any = fastavro.schemaless_reader(stream, self._head, None)
        stream.seek(start)
        return name_of_fields([head[self._metadata[place].name] for place in self._roles.name])

    def _plan(self, name: str | None) -> AvroPlan | Diagnostic:
        if name not in self._plans:
            table = defined_table(self.catalog, name, "messages", "schema", "messages do")
            if isinstance(table, Diagnostic):
                return table
            options, context = self.source.options, self.source.context
            problem = name_problem(avro_names(options, context, table, self.by_image), table.full_name, is_name)
            if problem is not None:
                return problem.diagnostic
            schema = avro_schema(table, options, context, self.by_image).document
            self._plans[name] = AvroPlan(schema, table, self._kinds, self._metadata)
        return self._plans[name]


class AvroStreamRouter(reading.Router):
    """Passes over messages by the schemas of their tables."""

    reader: ClassVar[type[AvroStreamReader]]

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        super().__init__(catalog, source)
        self._reader = self.reader(catalog, Projection(), source)
        self._bound = array("q", [0])  # the number of the table, by its number in the notes of the scanner
        if self._reader.scanner is not None:
            self._reader.scanner.route()

    def route(self, chunk: reading.Chunk) -> reading.Routed:
        scanner, stream, size = self._reader.scanner, io.BytesIO(chunk.data), len(chunk.data)
        starts, tables = [int64s(array("q"))], [int64s(array("q"))]
        while stream.tell() < size:
            name = None
            if scanner is not None:
                taken, place, _, notes, name = scanner.native.scan(chunk.data, stream.tell(), -1, 0)
                starts.append(scanner.starts_in(notes, taken))
                tables.append(int64s(self._bound).take(scanner.tables_in(notes, taken)))
                stream.seek(place)
                if place == size:
                    break
            starts.append(int64s(array("q", [stream.tell()])))
            message = self._reader.read_message(stream)
            if isinstance(message, Diagnostic):
                raise reading.Unroutable  # what follows decides where it ends
            table = message[0].table.full_name
            tables.append(int64s(array("q", [self.number(table)])))
            if scanner is not None and name is not None and scanner.bind(name, message[0]):
                self._bound.append(self.number(table))
        return reading.Routed(chunk, pa.concat_arrays(starts), (), pa.concat_arrays(tables))


def made(base: type[Any], by_image: bool, **attributes: Any) -> type[Any]:
    """Return a class for messages of both images, or for those of rows."""
    return type(f"{base.__name__}{'Op' if by_image else 'Row'}", (base,), {"by_image": by_image, **attributes})


def _messages(by_image: bool) -> reading.ReadSupport:
    """Return how messages are read: those of a registry contain the ids of their schemas."""

    def other(source: WriterSettings) -> reading.ReadSupport | None:
        from ggfmt.formats.goldengate.avro.framed import framed_input

        return framed_input(by_image) if source.options is not None and source.options.schema_registry else None

    reader = made(AvroStreamReader, by_image)
    return reading.ReadSupport(reader, router=made(AvroStreamRouter, by_image, reader=reader), other=other)


def _containers(by_image: bool) -> reading.ReadSupport:
    return reading.ReadSupport(made(AvroContainerReader, by_image), ContainerDiscovery)


READ_SIDES = {
    "avro_row": _messages(by_image=False),
    "avro_op": _messages(by_image=True),
    "avro_row_ocf": _containers(by_image=False),
    "avro_op_ocf": _containers(by_image=True),
}
