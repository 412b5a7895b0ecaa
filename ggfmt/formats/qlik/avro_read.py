"""Qlik Replicate's messages in Avro, read.

The schema of a change decides how the values of each column become texts. Of the logical types, dates, times, time
stamps and decimals are known. fastavro decodes them as the plain numbers and bytes, so that no digit is lost, and no
date outside of Python's range.

If changes are regular, one kernel makes JSON of them for the native scanner (`JsonOfChanges`), in which values are the
same texts. A schema has a number there, which is a part of the identity of its records: masks and rows depend on it.
"""

from __future__ import annotations

import base64
import io
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, BinaryIO

import fastavro
import msgspec
import pyarrow as pa

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, Spans
from ggfmt.formats.avro import programs
from ggfmt.formats.avro.containers import CorruptContainerError, Truncated
from ggfmt.formats.avro.programs import Program, UnsupportedSchemaError
from ggfmt.formats.avro.schemas import DECODE_ERRORS, without_logical_types
from ggfmt.formats.connect.values import decimal_text
from ggfmt.formats.json.values import Text
from ggfmt.formats.qlik import BIG_ENDIAN
from ggfmt.formats.qlik import envelope as envelopes
from ggfmt.formats.qlik.envelope import MAX_BYTES, AvroEnvelope, read_envelope, read_head
from ggfmt.formats.qlik.messages import AVRO, QlikAvroChange, QlikBody, QlikHeaders, QlikRecord
from ggfmt.formats.qlik.read import Qlik, QlikDiscovery
from ggfmt.formats.records.decoding import WRONG_MEMBER, msgspec_reason
from ggfmt.formats.records.dialect import Meaning
from ggfmt.formats.records.images import TextImage
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import SourceBatch, places_of
from ggfmt.java.numbers import NOT_FINITE_TEXTS
from ggfmt.kernels import kernel
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Catalog, TableDef

_MASKS = ("changeMask", "columnMask")
_CHANGE = b"atMSG\x04DT"  # how envelopes of changes start

Schema = Any  # a parsed JSON document
Maker = Callable[[Any], str]

_EPOCH = datetime(1970, 1, 1)
_MICROS = {"millis": 1000, "micros": 1, "nanos": 0}
_DAY = 86_400_000_000


def named_types(schema: Schema, names: dict[str, Schema] | None = None) -> dict[str, Schema]:
    names = {} if names is None else names
    if isinstance(schema, list):
        for branch in schema:
            named_types(branch, names)
    elif isinstance(schema, dict):
        if isinstance(schema.get("name"), str) and schema.get("type") in ("record", "enum", "fixed"):
            names[schema["name"].rpartition(".")[2]] = schema
        for inner in (schema.get("type"), schema.get("items"), schema.get("values")):
            if isinstance(inner, (dict, list)):
                named_types(inner, names)
        for field in schema.get("fields") or ():
            named_types(field.get("type"), names)
    return names


def value_of(schema: Schema, names: Mapping[str, Schema]) -> Schema:
    """The type of a value that may be null besides, names replaced by what they stand for."""
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null" and branch != {"type": "null"}]
        return value_of(branches[0], names) if len(branches) == 1 else schema
    if isinstance(schema, str):
        return names.get(schema.rpartition(".")[2], schema)
    if isinstance(schema, dict) and isinstance(schema.get("type"), (dict, list)):
        return value_of(schema["type"], names)
    return schema


@dataclass(frozen=True, eq=False)
class Texts:
    """How values become texts: what the exact reader calls, None for texts; and what the kernel takes and shows."""

    make: Maker | None
    kinds: frozenset[int]
    show: int = programs.PLAIN
    size: int | None = None


Rows = Mapping[str, Mapping[str, Texts]]  # by the member, and by the column


def columns_of(schema: Schema, member: str) -> dict[str, Texts]:
    """The columns of a member of a change that is a row. Raises: ValueError if the schema has no such member."""
    names = named_types(schema)
    fields = {field["name"]: field["type"] for field in schema["fields"]} if isinstance(schema, dict) else {}
    row = value_of(fields.get(member), names)
    if not isinstance(row, dict) or "fields" not in row:
        raise ValueError
    return {field["name"]: _column_texts(value_of(field["type"], names)) for field in row["fields"]}


def _column_texts(schema: Schema) -> Texts:
    if schema in ("string", {"type": "string"}):
        return Texts(None, frozenset({programs.STRING}))
    plain = schema if isinstance(schema, dict) else {"type": schema}
    kind, logical, scale = plain.get("type"), plain.get("logicalType"), plain.get("scale", 0)
    if logical == "date" and kind == "int":
        return Texts(lambda days: (_EPOCH + timedelta(days)).date().isoformat(), _LONG, programs.DATE)
    prefix, _, unit = str(logical).rpartition("-")
    micros = _MICROS.get(unit)
    if prefix == "time" and kind in ("int", "long") and micros:
        return Texts(partial(time_text, micros), _LONG, programs.TIME, micros)
    if prefix in ("timestamp", "local-timestamp") and kind == "long" and micros:
        return Texts(partial(stamp_text, micros), _LONG, programs.STAMP, micros)
    if logical == "decimal" and kind in ("bytes", "fixed") and isinstance(scale, int):
        return Texts(partial(unscaled_text, scale), frozenset({programs.BYTES}), programs.DECIMAL, scale)
    if kind == "float":
        return Texts(single_text, frozenset({programs.FLOAT}), programs.AS_TEXT)
    return Texts(text_not_null, _AS_THEY_ARE)


def text_not_null(value: Any) -> str:
    """A value of a primitive type as a text. Raises: ValueError for one of another type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return NOT_FINITE_TEXTS.get(repr(value), repr(value))
    raise ValueError


def single_text(value: float) -> str:
    """The fewest digits that are this number of 32 bits."""
    text: str = pa.scalar(value, pa.float32()).cast(pa.string()).as_py()
    return NOT_FINITE_TEXTS.get(text, text)


def time_text(unit: int, value: int) -> str:
    if not 0 <= value * unit < _DAY:
        raise ValueError
    return _moment(value * unit).rpartition(" ")[2]


def stamp_text(unit: int, value: int) -> str:
    return _moment(value * unit)


def _moment(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ", "microseconds")


def unscaled_text(scale: int, value: bytes) -> str:
    return decimal_text(int.from_bytes(value, "big", signed=True), scale)


_LONG = frozenset({programs.LONG})
_WORDS = frozenset({programs.NULL, programs.STRING, programs.ENUM})
_HEADER = _WORDS | {programs.LONG, programs.BOOLEAN}
_MASK = _WORDS | {programs.BYTES, programs.FIXED}
_AS_THEY_ARE = _HEADER | _MASK | {programs.DOUBLE}
_WORD = Texts(None, _WORDS)
_HEADERS = {name: Texts(None, _MASK if name in _MASKS else _HEADER) for name in QlikHeaders.__struct_fields__}
_ODD = b"?"  # no JSON: in the place of a record that is for the exact reader
_TAIL = b"}"
_MAX_MARKS = 1024  # that are remembered
_FEW = 16  # records that are made JSON at once, after some that were no records


@dataclass(frozen=True, eq=False)
class MessageSchema:
    """The schema of messages as fastavro's `parse_schema` has it; of changes also the columns of each row."""

    decode: Any
    rows: Rows


class JsonOfChanges:
    """Makes JSON of the records of chunks. `plan_of` gives the plan of changes that start with some bytes, up to their
    message, and the id of their schema; None for records that are no changes, or none that can be decoded."""

    def __init__(self, plan_of: Callable[[bytes], tuple[MessageSchema, str | None] | None]) -> None:
        self._plan_of = plan_of
        self._forms: dict[bytes, _Form | None] = {}  # by what the records start with
        self._writers: dict[MessageSchema, tuple[Any, int]] = {}  # with their numbers
        self._size = 0  # of what stood before the message of the last record

    def of(self, chunk: Chunk) -> Chunk:
        """Make a chunk of JSON records; a record that only the exact reader can read becomes invalid JSON."""
        if len(chunk.data) > MAX_BYTES:
            return chunk
        data, places = chunk.data, places_of(chunk.spans or ())
        count = len(places) // 2
        made: list[bytes] = []
        spans = Spans()
        place = size = 0
        most = count
        while place < count:
            start, end = places[2 * place], places[2 * place + 1]
            mark, form = self._form(data, start, end)
            taken = 0
            if form is not None:
                asked = min(most, count - place)
                done, stop, text, sizes = form.writer.write(data, start, asked, mark, form.head, _TAIL)
                if done == 1 and stop == end:  # records of several tables alternate
                    made.append(text)
                    spans.add(size, size + len(text))
                    size += len(text)
                    place += 1
                    continue
                borders = array("q")
                borders.frombytes(sizes)
                taken = _first_other(borders[::2], places[2 * place + 1 : 2 * place + len(borders) : 2])
                most = 4 * asked if 2 * taken == len(borders) else _FEW
                if taken:
                    ends = borders[1 : 2 * taken : 2]
                    made.append(text[: ends[-1]])
                    spans.follow(size, array("q", [size + end for end in ends]))
                    size += ends[-1]
            if not taken:
                taken = 1
                made.append(_ODD)
                spans.add(size, size + len(_ODD))
                size += len(_ODD)
            place += taken
        return replace(chunk, data=b"".join(made), spans=spans)

    def _form(self, data: bytes, start: int, end: int) -> tuple[bytes, _Form | None]:
        mark = data[start : start + self._size]
        if not mark or mark not in self._forms:
            try:
                *_, self._size = read_head(data[start:end], 0)
            except CorruptContainerError:
                return b"", None
            mark = data[start : start + self._size]
            if mark not in self._forms:
                if len(self._forms) >= _MAX_MARKS:
                    self._forms.clear()
                self._forms[mark] = self._form_of(mark)
        return mark, self._forms[mark]

    def _form_of(self, mark: bytes) -> _Form | None:
        found = self._plan_of(mark)
        if found is None:
            return None
        plan, schema_id = found
        if plan not in self._writers:
            self._writers[plan] = _writer(plan), len(self._writers)
        writer, number = self._writers[plan]
        if writer is None:
            return None
        head = b'{"schema":%d,"messageSchemaId":%s,"message":' % (number, msgspec.json.encode(schema_id))
        return _Form(writer, head)


@dataclass(frozen=True)
class _Form:
    writer: Any
    head: bytes


def _first_other(numbers: array[int], others: array[int]) -> int:
    """How many numbers are the same, up to one that is not."""
    if numbers == others:
        return len(numbers)
    return next(place for place, pair in enumerate(zip(numbers, others, strict=True)) if pair[0] != pair[1])


def _writer(plan: MessageSchema) -> Any:
    """What writes messages of a plan as JSON; None where the kernel cannot, and where the JSON of messages that are to
    be refused could be taken for that of others."""
    return kernel(
        lambda native: native.AvroToJson(programs.nested_program(_program(programs.program(plan.decode), plan.rows)))
    )


def _program(message: Program, rows: Rows) -> Program:
    makers = {name: partial(_row, columns) for name, columns in rows.items()}
    words = dict.fromkeys(("schema", "table"), partial(_column, _WORD))
    return _with_fields(message, {**makers, "headers": partial(_with_columns, _HEADERS), **words})


def _with_fields(record: Program, makers: Mapping[str, Callable[[Program], Program]]) -> Program:
    if record[0] != programs.RECORD:
        raise UnsupportedSchemaError("a record that is none")
    *head, names, fields = record
    made = (
        makers[name](field) if (name := _name(text)) in makers else field
        for text, field in zip(names, fields, strict=True)
    )
    return (*head, names, tuple(made))


def _name(text: bytes) -> str:
    name: str = msgspec.json.decode(text[:-1])
    return name


def _branches(node: Program, make: Callable[[Program], Program]) -> Program:
    """A program with all values of another one, less null."""
    if node[0] == programs.UNION:
        return (*node[:4], tuple(_branches(branch, make) for branch in node[4]))
    return node if node[0] == programs.NULL else make(node)


def _row(columns: Mapping[str, Texts], node: Program) -> Program:
    def made(row: Program) -> Program:
        if row[0] != programs.RECORD or list(map(_name, row[3])) != list(columns):
            raise UnsupportedSchemaError("a row of other columns")
        return _with_columns(columns, row)

    return _branches(node, made)


def _with_columns(columns: Mapping[str, Texts], node: Program) -> Program:
    makers = {name: partial(_column, texts) for name, texts in columns.items()}
    return _branches(node, lambda record: _with_fields(record, makers))


def _column(texts: Texts, node: Program) -> Program:
    """The program of texts. Raises: UnsupportedSchemaError for values of other types, which could be taken for the
    same."""

    def made(branch: Program) -> Program:
        kind, _, size, names, children = branch
        if kind not in texts.kinds:
            raise UnsupportedSchemaError("a value of a type that no column has")
        if texts.show != programs.PLAIN:
            return (kind, texts.show, texts.size, names, children)
        return (kind, programs.AS_TEXT if kind == programs.DOUBLE else programs.PLAIN, size, names, children)

    return _branches(node, made)


class QlikAvro(Qlik):
    """Images are dicts of texts."""

    record = QlikAvroChange
    reads_text = False

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._plans: dict[tuple[str, bool], MessageSchema | None] = {}
        self._latest: QlikRecord | None = None  # the change that was asked about last
        self._json = JsonOfChanges(self._plan_of)

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        return "it starts like a Qlik Replicate envelope in Avro" if head.startswith(envelopes.MAGIC) else None

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
                    raise CorruptContainerError("extra bytes follow the message")
                yield envelope
            except Truncated:
                if chunk.last and end == len(chunk.data):
                    reason = "the file ends in the middle of a record"
                    yield Diagnostic("GG302", reason, help="read the file again when it is complete")
                else:
                    yield Diagnostic("GG313", "a length in the message exceeds the size of the message", help=_HELP)
            except CorruptContainerError as error:
                yield Diagnostic("GG313", str(error), help=_HELP)

    def changes(self, record: Any) -> Meaning:
        assert isinstance(record, AvroEnvelope)
        if record.type == "MD":
            return super().changes(self._metadata(record))
        if record.type == "DT":
            self.wait()
            self._latest = self._data(record)
            return super().changes(self._latest)
        return super().changes(QlikRecord(type=record.type))

    # What the scanner takes

    def as_json(self, chunk: Chunk) -> Chunk:
        return self._json.of(chunk)

    def grammar(self, record: AvroEnvelope) -> Grammar | None:
        change = self._latest
        assert change is not None and change.message is not None
        table, known = self.known(change, change.message)
        if not self.takes_mask(change.message, table, known):
            return None
        return self.make_grammar(self.record, (AVRO, self.other), ())

    def states(self, record: AvroEnvelope, table: TableDef) -> bytes | None:
        change = self._latest
        assert change is not None and change.message is not None
        return self.mask_states(change, change.message, table)

    def decode_scanned(self, scanned: SourceBatch) -> SourceBatch:
        return replace(
            scanned, before=tuple(map(_texts_of, scanned.before)), after=tuple(map(_texts_of, scanned.after))
        )

    def _plan_of(self, head: bytes) -> tuple[MessageSchema, str | None] | None:
        """The plan of changes in envelopes that start so, and the id of their schema; None where they are refused."""
        kind, schema_id, schema, _ = read_head(head, 0)
        if kind != "DT":
            return None
        try:
            self.wait()
            return self._plan(self._schema_of(schema_id, schema), True), schema_id
        except RecordError:
            return None

    def table_of(self, head: bytes) -> TableDef | None:
        """The definition, by metadata messages, of the table of all changes in envelopes that start so, or None."""
        if not head.startswith(_CHANGE):
            return None
        schema_id = read_head(head, 0)[1]
        candidates = self._by_id.get(schema_id, []) if schema_id else []
        return candidates[0].record_schema.table if len(candidates) == 1 else None

    # Images

    def image(self, value: Any) -> Any:
        return value if isinstance(value, TextImage) else None

    def width(self, image: Any) -> int:
        return len(image)

    def without(self, image: Any, names: frozenset[str], null: bool) -> Any:
        if image is None:
            return None
        return TextImage({k: v for k, v in image.items() if k not in names or (null and v is not None)})

    # Messages

    def _metadata(self, envelope: AvroEnvelope) -> QlikRecord:
        if envelope.schema is None:
            raise RecordError("GG313", "a metadata message has no `messageSchema`, so ggfmt cannot decode it")
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
        for name, columns in rows.items():
            setattr(body, name, _texts(message.get(name), columns))
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
                raise RecordError("GG313", reason, "also read the file with the metadata message")
        return schema

    def _decode(self, envelope: AvroEnvelope, schema: str, rows: bool) -> dict[str, Any]:
        plan = self._plan(schema, rows)
        stream = io.BytesIO(envelope.message)
        try:
            message: Any = fastavro.schemaless_reader(stream, plan.decode, None)
        except DECODE_ERRORS:
            raise RecordError("GG313", "the message does not match its schema") from None
        if stream.tell() != len(envelope.message) or not isinstance(message, dict):
            raise RecordError("GG313", "the message does not match its schema")
        return message

    def _plan(self, text: str, rows: bool) -> MessageSchema:
        key = text, rows
        if key not in self._plans:
            try:
                schema = json.loads(text)
                members = ("data", "beforeData") if rows else ()
                makers = {name: columns_of(schema, name) for name in members if name == "data" or _has(schema, name)}
                self._plans[key] = MessageSchema(fastavro.parse_schema(without_logical_types(schema)), makers)
            except MemoryError:
                raise
            except Exception:  # a schema can be wrong in more ways than its parser has exceptions for
                self._plans[key] = None
        plan = self._plans[key]
        if plan is None:
            raise RecordError("GG313", "the schema of the message is not an Avro schema of Qlik messages")
        return plan


_HELP = "use files of Qlik Replicate envelopes: a message without an envelope does not name its schema"


def _has(schema: Any, name: str) -> bool:
    return any(field["name"] == name for field in schema["fields"])


def _converted(value: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise RecordError("GG308", f"{WRONG_MEMBER}{msgspec_reason(str(error))}") from None


def _texts(row: Any, columns: Mapping[str, Texts]) -> TextImage | None:
    if row is None:
        return None
    image = TextImage()
    for name, texts in columns.items():
        value = row[name]
        try:
            image[name] = value if value is None or texts.make is None else Text(texts.make(value))
        except (ValueError, TypeError, OverflowError):
            reason = "a value is out of the range of its type, or has a type that columns cannot have"
            raise RecordError("GG314", reason, field=name) from None
    return image


def _texts_of(column: ImageColumn) -> ImageColumn:
    return ImageColumn(column.values, column.present)


class QlikAvroDiscovery(QlikDiscovery):
    """Passes over changes whose envelopes start as others did that showed the table which they have now."""

    _dialect: QlikAvro

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self._shown: dict[bytes, TableDef] = {}  # by what envelopes start with, up to their message
        self._size = 0  # of the start of the latest one

    def _read_metadata(self, chunk: Chunk) -> None:
        spans = self.dialect.spans(chunk)
        others = [span for span in spans if not chunk.data.startswith(_CHANGE, span[0])]
        self._dialect.lacking |= len(others) < len(spans)
        super()._read_metadata(replace(chunk, spans=others))

    def read(self, chunk: Chunk) -> None:
        if not self._dialect.searched:
            super().read(chunk)
            return
        left: list[tuple[int, int]] = []
        for start, end in self.dialect.spans(chunk):
            mark = chunk.data[start : min(end, start + self._size)]
            if mark not in self._shown:
                mark = self._head(chunk.data[start:end])
            table = self._shown.get(mark)
            if table is None:
                table = self._dialect.table_of(mark)
                if table is None:
                    left.append((start, end))
                    continue
            elif not self._is_new(table):
                continue
            self._read_run(chunk, left)
            self._read_run(chunk, [(start, end)])
            if not self._is_new(table):
                self._shown[mark] = table
        self._read_run(chunk, left)

    def _read_run(self, chunk: Chunk, spans: list[tuple[int, int]]) -> None:
        if spans:
            super().read(replace(chunk, spans=list(spans)))
            spans.clear()

    def _head(self, record: bytes) -> bytes:
        try:
            *_, self._size = read_head(record, 0)
        except CorruptContainerError:
            return b""
        return record[: self._size]


READ_SIDES = {"qlik_avro": dialect_input(QlikAvro, discovery=QlikAvroDiscovery, router=None)}
