"""Qlik Replicate's messages in Avro, read."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import fastavro
import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSupport
from ggfmt.formats.avro.logical import plain
from ggfmt.formats.qlik import BIG_ENDIAN
from ggfmt.formats.qlik import envelope as envelopes
from ggfmt.formats.qlik.avro_scan import JsonOfChanges, Plan
from ggfmt.formats.qlik.avro_values import Maker, columns_of
from ggfmt.formats.qlik.dialect import Qlik
from ggfmt.formats.qlik.envelope import AvroEnvelope, EnvelopeError, Truncated, read_envelope, read_head
from ggfmt.formats.qlik.messages import AVRO, QlikAvroChange, QlikBody, QlikHeaders, QlikRecord
from ggfmt.formats.records.classification import Examination, classify_records
from ggfmt.formats.records.dialect import Meaning
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.reader import DialectReader
from ggfmt.formats.records.refused import RecordError
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.model.change import ImageColumn

_DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError, RecursionError)
_MASKS = ("changeMask", "columnMask")


class QlikAvro(Qlik):
    """Images are dicts of texts."""

    scanned = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._plans: dict[tuple[str, bool], Plan | None] = {}
        self._latest: QlikRecord | None = None  # the change that was asked about last
        self.json = JsonOfChanges(self._plan_of)

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return envelopes.chunks(stream, file, layout)

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        for start, end in self.spans(chunk):
            try:
                envelope, place = read_envelope(chunk.data[start:end], 0)
                if place != end - start:
                    raise EnvelopeError("bytes follow the message that are none")
                yield envelope
            except Truncated:
                if chunk.last and end == len(chunk.data):
                    reason = "the file ends in the middle of a record"
                    yield Diagnostic("GG302", reason, help="read the file again when it is whole")
                else:
                    yield Diagnostic("GG313", "a length in the message reaches beyond it", help=_HELP)
            except EnvelopeError as error:
                yield Diagnostic("GG313", str(error), help=_HELP)

    def changes(self, record: AvroEnvelope) -> Meaning:  # type: ignore[override]
        if record.type == "MD":
            return super().changes(self._metadata(record))
        if record.type == "DT":
            self.wait()
            self._latest = self._data(record)
            return super().changes(self._latest)
        return super().changes(QlikRecord(type=record.type))

    # What the scanner takes

    def grammar(self, record: AvroEnvelope) -> Grammar | None:
        change = self._latest
        assert change is not None and change.message is not None
        table, known = self.known(change, change.message)
        if not self.shown_whole(change.message, table, known) or not self.tells_the_same(table, known):
            return None
        return self.make_grammar(QlikAvroChange, (AVRO, self.other), ())

    def decode_scanned(self, scanned: ScannedBatch) -> ScannedBatch:
        return replace(
            scanned, before=tuple(map(_texts_of, scanned.before)), after=tuple(map(_texts_of, scanned.after))
        )

    def _plan_of(self, head: bytes) -> tuple[Plan, str | None] | None:
        """The plan of changes in envelopes that start so, and the id of their schema; None where they are refused."""
        kind, schema_id, schema, _ = read_head(head, 0)
        if kind != "DT":
            return None
        try:
            self.wait()
            return self._plan(self._schema_of(schema_id, schema), True), schema_id
        except RecordError:
            return None

    # Images

    def image(self, value: Any) -> Any:
        return value if isinstance(value, dict) else None

    def width(self, image: Any) -> int:
        return len(image)

    def without(self, image: Any, names: frozenset[str], null: bool) -> Any:
        if image is None:
            return None
        return {k: v for k, v in image.items() if k not in names or (null and v is not None)}

    # Messages

    def _metadata(self, envelope: AvroEnvelope) -> QlikRecord:
        if envelope.schema is None:
            raise RecordError("GG313", "a metadata message has no `messageSchema`, without which it cannot be decoded")
        message = self._decode(envelope, envelope.schema, rows=False)
        wanted = ("schemaId", "lineage", "tableStructure", "dataSchema")
        body = _converted({name: message[name] for name in wanted if name in message}, QlikBody)
        return QlikRecord(type="MD", messageSchemaId=envelope.schema_id, message=body)

    def _data(self, envelope: AvroEnvelope) -> QlikRecord:
        record = QlikRecord(type="DT", messageSchemaId=envelope.schema_id)
        schema = self._schema_of(envelope.schema_id, envelope.schema)
        message = self._decode(envelope, schema, rows=True)
        rows = self._plan(schema, True).rows
        body = record.message = QlikBody()
        for name, makers in rows.items():
            setattr(body, name, _texts(message.get(name), makers))
        headers = message.get("headers")
        if not isinstance(headers, dict):
            raise RecordError("GG313", "the schema of a change has no `headers`")
        headers = {name: headers[name] for name in QlikHeaders.__struct_fields__ if name in headers}
        for name in _MASKS:
            if isinstance(headers.get(name), bytes):
                mask = headers[name] if self.options.avro_mask_byte_order == BIG_ENDIAN else headers[name][::-1]
                headers[name] = mask.hex()
        body.headers = _converted(headers, QlikHeaders)
        for name in ("schema", "table"):
            if isinstance(message.get(name), str):
                setattr(body, name, message[name])
        return record

    def _schema_of(self, schema_id: str | None, schema: str | None) -> str:
        """The schema of changes by the id that their envelopes have, if they do not have the schema themselves."""
        if schema is None:
            record = QlikRecord(type="DT", messageSchemaId=schema_id)
            _, known = self.known(record, record)
            schema = None if known is None else known.metadata.schema
            if schema is None:
                reason = "neither the message nor a metadata message has the schema of the change"
                raise RecordError("GG313", reason, "read the file with its metadata message too")
        return schema

    def _decode(self, envelope: AvroEnvelope, schema: str, rows: bool) -> dict[str, Any]:
        plan = self._plan(schema, rows)
        stream = io.BytesIO(envelope.message)
        try:
            message: Any = fastavro.schemaless_reader(stream, plan.decode, None)
        except _DECODE_ERRORS:
            raise RecordError("GG313", "the message is none of its schema") from None
        if stream.tell() != len(envelope.message) or not isinstance(message, dict):
            raise RecordError("GG313", "the message is none of its schema")
        return message

    def _plan(self, text: str, rows: bool) -> Plan:
        key = text, rows
        if key not in self._plans:
            try:
                schema = json.loads(text)
                members = ("data", "beforeData") if rows else ()
                makers = {name: columns_of(schema, name) for name in members if name == "data" or _has(schema, name)}
                self._plans[key] = Plan(fastavro.parse_schema(plain(schema)), makers)
            except Exception:  # a schema can be wrong in more ways than its parser has exceptions for
                self._plans[key] = None
        plan = self._plans[key]
        if plan is None:
            raise RecordError("GG313", "the schema of the message is no Avro schema of such messages")
        return plan


_HELP = "a file has envelopes of Qlik Replicate, one after the other: a message without one does not tell its schema"


def _has(schema: Any, name: str) -> bool:
    return any(field["name"] == name for field in schema["fields"])


def _converted(value: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        where = f" at {place}" if place else ""
        reason = f"the record has a member of the wrong type: {what[:1].lower()}{what[1:]}{where}"
        raise RecordError("GG308", reason) from None


def _texts(row: Any, makers: Mapping[str, Maker | None]) -> dict[str, str | None] | None:
    """An image, None where there is none."""
    if row is None:
        return None
    image: dict[str, str | None] = {}
    for name, maker in makers.items():
        value = row[name]
        try:
            image[name] = value if value is None or maker is None else maker(value)
        except (ValueError, TypeError, OverflowError):
            reason = "a value is out of the range of its type, or of a type that no column has"
            raise RecordError("GG314", reason, field=name) from None
    return image


def _texts_of(column: ImageColumn) -> ImageColumn:
    """A column whose values are no JSON, whatever the scanner took them from."""
    return ImageColumn(column.values, column.present)


class QlikAvroReader(DialectReader):
    """Has one kernel make JSON of changes, and another take that."""

    dialect = QlikAvro
    _dialect: QlikAvro

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        self._taken = chunk, self.ordinal
        scanned = self.scanner is not None and (self.catalog.provisional or not self._pause)
        yield from super().decode_chunk(self._dialect.json.of(chunk) if scanned else chunk)

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
        chunk, first = self._taken
        assert chunk.spans is not None
        span = chunk.spans[self.ordinal - first]
        (record,) = self._dialect.decoded(replace(chunk, spans=[span]))
        return record, next(classify_records(self._dialect, [record]))

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        return "it starts as an envelope of Qlik Replicate in Avro" if head.startswith(envelopes.MAGIC) else None


class QlikAvroDiscovery(DialectDiscovery):
    dialect = QlikAvro


READ_SIDES = {"qlik_avro": ReadSupport(QlikAvroReader, QlikAvroDiscovery)}
