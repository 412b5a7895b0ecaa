"""Reader of GoldenGate's Avro messages in Confluent's wire format, by the schemas of a registry."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any, BinaryIO, ClassVar

import fastavro

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api import reading
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.avro import confluent, containers
from ggfmt.formats.avro.schemas import DECODE_ERRORS
from ggfmt.formats.goldengate.avro.plan import AvroPlan, describe, is_by_image
from ggfmt.formats.goldengate.avro.read import AvroReader, made
from ggfmt.formats.goldengate.metacolumns import Roles
from ggfmt.formats.records.batching import BATCH_ROWS
from ggfmt.formats.records.framed_dumps import framed_chunks
from ggfmt.model.table import Catalog


class FramedReader(AvroReader):
    """Reads messages that follow the ids of their schemas. A schema that differs from the last one of its table is a
    schema change."""

    max_rows = BATCH_ROWS
    by_image: ClassVar[bool]

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._registry = confluent.Registry(source.options.schema_registry)
        self._plans: dict[int, AvroPlan | Diagnostic] = {}
        self._latest: dict[str, AvroPlan] = {}

    @staticmethod
    def sniff(head: bytes) -> str | None:
        return None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> reading.Layout:
        return reading.Layout(splittable=False)

    @staticmethod
    def chunks(
        stream: BinaryIO, file: str, start: int, length: int | None, layout: reading.Layout
    ) -> Iterator[reading.Chunk]:
        yield from framed_chunks(stream, file, layout)

    def messages(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        stream = io.BytesIO(chunk.data)
        if chunk.spans is None:
            while (start := stream.tell()) < len(chunk.data):
                message = self._message(stream, chunk.data)
                yield from self._take(message, chunk, start, stream.tell())
                if isinstance(message, Diagnostic):
                    stream.seek(0, io.SEEK_END)  # only its schema shows where it ends
            return
        for start, end in chunk.spans:
            if start == end:
                self.others["tombstone"] += 1
                self._next(start, end)
                continue
            stream.seek(start)
            message = self._message(stream, chunk.data, end)
            if not isinstance(message, Diagnostic) and stream.tell() != end:
                message = confluent.datum_error(int.from_bytes(chunk.data[start + 1 : start + 5], "big"))
            yield from self._take(
                confluent.alone(message) if isinstance(message, Diagnostic) else message, chunk, start, end
            )

    def _take(
        self, message: tuple[AvroPlan, dict[str, Any]] | Diagnostic, chunk: reading.Chunk, start: int, end: int
    ) -> Iterator[reading.Event]:
        if isinstance(message, Diagnostic):
            yield self._reject(start, len(chunk.data) if chunk.spans is None else end, message)
            return
        plan, decoded = message
        name = plan.table.full_name
        if self._latest.get(name) is not plan:
            yield from self.drain(True)
            self._latest[name] = plan
            if plan.table != self.catalog.get(name):
                self.catalog = self.catalog.with_tables([plan.table])
                yield reading.SchemaChange.met(plan.table, chunk, start)
        yield from self._hold(plan, decoded, start, end)

    def _message(
        self, stream: io.BytesIO, data: bytes, end: int | None = None
    ) -> tuple[AvroPlan, dict[str, Any]] | Diagnostic:
        place = stream.tell()
        number = confluent.number_at(data, place, end)
        if isinstance(number, Diagnostic):
            return number
        body = place + confluent.HEAD_BYTES
        try:
            if number not in self._plans:
                stream.seek(body)
                self._plans[number] = self._plan(self._registry.schema(number), stream)
            plan = self._plans[number]
            stream.seek(body)
            if isinstance(plan, Diagnostic):
                return plan
            decoded: Any = fastavro.schemaless_reader(stream, plan.decode, None)
        except DECODE_ERRORS:
            return confluent.datum_error(number)
        return plan, decoded

    def _plan(self, schema: Any, first: io.BytesIO) -> AvroPlan | Diagnostic:
        """Return the plan of a schema, with the keys that a first message names."""
        if isinstance(schema, Diagnostic):
            return schema
        reason = containers.unsafe_reason(schema)
        if reason is not None:
            return Diagnostic("GG313", reason)
        if not isinstance(schema, dict) or is_by_image(schema) is not self.by_image:
            message = f"the schema is not one of {'operations' if self.by_image else 'rows'} of GoldenGate"
            return Diagnostic("GG313", message, help="give another `--input-format`")
        described = describe(schema, self.source.options.meta_columns_template)
        if isinstance(described, Diagnostic):
            return described
        metadata, table = described
        plan = AvroPlan(schema, table, self._kinds, metadata)
        place = Roles.of(metadata).key_columns
        if place is not None:
            decoded: Any = fastavro.schemaless_reader(first, plan.decode, None)
            table = table.with_keys(decoded[metadata[place].name])
        return AvroPlan(schema, self.catalog.settle(table), self._kinds, metadata)


class FramedDiscovery(reading.ChangeDiscovery):
    """Finds the tables of messages by their schemas."""

    reader: ClassVar[type[FramedReader]]

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self._reader = self.reader(catalog, Projection(), source)

    def read(self, chunk: reading.Chunk) -> None:
        events = chain(self._reader.read(chunk), self._reader.flush())
        self.found += (event for event in events if isinstance(event, reading.SchemaChange))


@cache
def framed_input(by_image: bool) -> reading.ReadSupport:
    reader = made(FramedReader, by_image)
    return reading.ReadSupport(reader, made(FramedDiscovery, by_image, reader=reader))
