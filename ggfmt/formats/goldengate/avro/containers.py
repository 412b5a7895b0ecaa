"""Readers of GoldenGate's object container files, whose headers tell their schema."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import fastavro

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import MAX_RECORD_BYTES, Chunk, Discovery, Event, Layout, SchemaChange, too_long
from ggfmt.formats.avro.blocks import Blocks, CorruptContainerError, Header, parts, read_header, unsafe
from ggfmt.formats.avro.containers import read_file_head
from ggfmt.formats.goldengate.avro.described import Template, is_by_image, metadata_of, starts_with_texts, table_of
from ggfmt.formats.goldengate.avro.plan import Plan
from ggfmt.formats.goldengate.avro.reader import DECODE_ERRORS, AvroReader
from ggfmt.formats.goldengate.avro.scan import container_scan
from ggfmt.formats.goldengate.discovery import settle_changes
from ggfmt.formats.goldengate.metacolumn_roles import Roles
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.model.table import Catalog, TableDef

BLOCKS_BYTES = 1 << 20  # of a container file in one chunk


@dataclass(frozen=True)
class ContainerLayout(Layout):
    """`template`: the metadata of messages, None where the schema is to tell them."""

    template: Template = field(default=None, kw_only=True)


def _template(source: WriterSettings) -> Template:
    """The metadata that the reader of container files is told of."""
    template: Template = getattr(source.options, "meta_columns_template", None)
    return template


class AvroContainerReader(AvroReader):
    """Reads object container files; a chunk is the header and some blocks, each of which is a batch. A file of another
    schema than the one before is a metadata change event of its table."""

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
            return None  # Connect's converter made it, or another system did
        return "it starts as an Avro object container of " + ("operations" if cls.by_image else "rows")

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return ContainerLayout(splittable=False, template=_template(source))

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        head = read_file_head(stream, file, layout)
        if isinstance(head, Chunk):
            yield head
            return
        assert isinstance(layout, ContainerLayout)
        header = _header(head)
        if isinstance(header, Diagnostic):
            if head:
                yield Chunk(file, 0, head, layout, ((0, len(head)),), problem=header)
            return
        described = table_of(header.schema, layout.template)
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
            metadata = metadata_of(header.schema, self._template)
            assert not isinstance(metadata, Diagnostic)  # or the chunk would have that problem
            table = self.catalog.settle(_table_in(header, chunk.data, metadata))
            self._plan = Plan(header.schema, table, self._keys, metadata)
            self.scan = container_scan(self._plan, self.projection.tokens)
            self.hold_table(self._plan)
            if table != self.catalog.get(table.full_name):
                self.catalog = self.catalog.with_tables([table])
                yield SchemaChange.met(table, chunk, 0)
        for start, end, count, data in parts(chunk.data, header, chunk.layout.max_record):
            if isinstance(data, CorruptContainerError):
                yield self._reject(start, end, Diagnostic("GG313", str(data)))
            else:
                yield from self._block(self._plan, start, end, count, data)

    def _block(self, plan: Plan, start: int, end: int, count: int, data: bytes) -> Iterator[Event]:
        stream = io.BytesIO(data)
        while count:
            if self.scan is not None:
                taken, place, *_ = self.scan.scanner.scan(data, stream.tell(), count, self.ordinal)
                self.took(start, end, taken)
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


class AvroRowContainerReader(AvroContainerReader):
    by_image = False


class AvroOpContainerReader(AvroContainerReader):
    by_image = True


class ContainerDiscovery(Discovery):
    """The tables of container files, by their headers."""

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._found: list[SchemaChange] = []
        self._template = _template(source)

    def read(self, chunk: Chunk) -> None:
        header = _header(chunk.data)
        if chunk.offset or isinstance(header, Diagnostic):
            return
        metadata = metadata_of(header.schema, self._template)
        assert not isinstance(metadata, Diagnostic)  # or the chunk would have that problem
        self._found.append(SchemaChange.met(_table_in(header, chunk.data, metadata), chunk, 0))

    def findings(self) -> list[SchemaChange]:
        return self._found

    settle = staticmethod(settle_changes)


def _table_in(header: Header, data: bytes, metadata: Sequence[MetaColumn]) -> TableDef:
    """The definition in the header of a file, with the keys that its first message names."""
    try:
        _, _, count, block = next(parts(data, header, MAX_RECORD_BYTES), (0, 0, 0, b""))
        first: Any = None
        if count and isinstance(block, bytes):
            first = fastavro.schemaless_reader(io.BytesIO(block), fastavro.parse_schema(header.schema), None)
    except (CorruptContainerError, *DECODE_ERRORS):
        first = None
    place = Roles.of(metadata).key_columns
    keys = first[metadata[place].name] if first is not None and place is not None else ()
    table = table_of(header.schema, metadata, keys)
    assert isinstance(table, TableDef)
    return table


def _header(data: bytes) -> Header | Diagnostic:
    try:
        header = read_header(data)
        fastavro.parse_schema(header.schema)
        problem = unsafe(header.schema)
        if problem is not None:
            return Diagnostic("GG313", problem)
    except CorruptContainerError as error:
        return Diagnostic("GG313", str(error))
    except Exception:  # a schema can be wrong in more ways than its parser has exceptions for
        return Diagnostic("GG313", "the schema in the header is no Avro schema")
    return header
