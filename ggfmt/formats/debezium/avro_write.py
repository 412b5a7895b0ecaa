"""Writer of Debezium in Avro: the events of the JSON format, with the Avro schema for their Connect schema.

All events of a table have the same schema, whatever tokens their operations have. Tokens that are members of source
blocks in JSON are in the map `tokens`, like all other tokens.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import fastavro
import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar import avro
from ggfmt.columnar.avro import text_bytes as text
from ggfmt.columnar.columns import token_maps
from ggfmt.columnar.json_text import Values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import Piece, join, join_binary, zigzag_varint
from ggfmt.columnar.strings import bytes_of, rows_where
from ggfmt.columnar.timestamps import floor_millis
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import MISSING_AS_NULL
from ggfmt.formats.api.writing import Framing, RowErrors, SchemaFile, WriteSupport, floating
from ggfmt.formats.avro import confluent
from ggfmt.formats.avro.containers import MessageStream, ObjectContainer
from ggfmt.formats.connect.avro import avro_schema
from ggfmt.formats.debezium import CONTAINER, OWN, DebeziumAvroOptions
from ggfmt.formats.debezium.encode import Encoding
from ggfmt.formats.debezium.envelope import EventColumns, TokenColumns
from ggfmt.formats.debezium.write import DebeziumFormatter
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.records.formatter import missing_from
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Kind, TableDef

_OPS = pa.array([text(code) for code in ("c", "u", "d", "t", "r")], pa.binary())
_OP_TYPES = pa.array([op.value for op in OpType], pa.string())
_READ = 4  # the index of `r`
_MAX_MICROS = ((1 << 63) - 1) // 1000  # maximum number of microseconds that fit as nanoseconds into 64 bits

# Values of Debezium in Avro: the values of JSON with the same Connect schemas, in Avro's binary encoding.

_BINARY = pa.binary()


def encoder(kind: Kind, encoding: Encoding) -> avro.AvroEncoder:
    """Return an encoder of texts as unions of null and a value."""
    type = encoding.schema["type"]
    if type == "boolean":
        return avro.optional_booleans
    if type == "float32":
        return avro.optional_floats
    if type == "float64":
        return avro.optional_doubles
    if type.startswith("int"):
        return _of_json(encoding.values, avro.optional_longs, lambda text: text)
    if type == "bytes" and kind is Kind.BINARY:
        return _by_value(_decoded)
    if type == "bytes":
        return _of_json(encoding.values, _by_value(_decoded), _unquoted)
    if type == "struct":
        return _of_json(encoding.values, _by_value(_variable), lambda text: text)
    return avro.optional_strings if encoding.as_it_is else _of_json(encoding.values, avro.optional_strings, _unquoted)


def _of_json(
    values: Values, encode: avro.AvroEncoder, text_of: Callable[[pa.StringArray], pa.StringArray]
) -> avro.AvroEncoder:
    """Make an encoder of the JSON values for texts; it reports the rows whose text is no value of the type."""

    def encoder(column: pa.StringArray) -> avro.Encoded:
        made, wrong = values(column)
        if wrong:
            return [avro.NULL], wrong
        json = join([made])
        there = pc.and_(column.is_valid(), pc.not_equal(json, "null"))
        return encode(pc.if_else(there, text_of(json), pa.scalar(None, pa.string())))

    return encoder


def _unquoted(json: pa.StringArray) -> pa.StringArray:
    return pc.utf8_slice_codeunits(json, 1, -1)


def _by_value(make: Callable[[str], bytes]) -> avro.AvroEncoder:
    """Return an encoder that calls a function once for each distinct text; the function raises ValueError for a bad
    text.
    """

    def encoder(column: pa.StringArray) -> avro.Encoded:
        distinct = column.dictionary_encode()
        made: list[bytes | None] = []
        for value in non_null_values(as_strings(distinct.dictionary)):
            try:
                made.append(avro.VALUE + make(value))
            except ValueError:
                made.append(None)
        values = pa.array(made, _BINARY).take(distinct.indices)
        wrong = rows_where(pc.and_(column.is_valid(), values.is_null()))
        return [pc.fill_null(values, pa.scalar(avro.NULL, _BINARY))], wrong

    return encoder


def _decoded(text: str) -> bytes:
    data = bytes_of(text)
    if data is None:
        raise ValueError
    return zigzag_varint(len(data)) + data


def _variable(text: str) -> bytes:
    value: dict[str, Any] = msgspec.json.decode(text)
    return zigzag_varint(value["scale"]) + _decoded(value["value"])


class DebeziumAvroFormatter(DebeziumFormatter):
    def __init__(self, table: TableDef, options: DebeziumAvroOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options.as_in_json(), context, clock)
        self._problem: Diagnostic | None = None
        kinds = [column.type.kind for column in table.columns]
        self._columns = avro.Columns(list(map(encoder, kinds, self.encodings)), flagged=False)
        self.floats = floating(encoding.schema["type"] for encoding in self.encodings)
        self._head = b""
        if options.file_framing != CONTAINER:
            number = _schema_number(table, options, self.schema)
            if isinstance(number, Diagnostic):
                self._problem = number
            else:
                self._head = confluent.head(number)

    @property
    def schema(self) -> Any:
        return avro_schema(json.loads(self.envelope.schema_text))

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        rows = len(batch)
        if self._problem is not None:
            places = batch.position.to_pylist()
            raise RowErrors([(row, self._problem.at(position=places[row])) for row in range(rows)])
        micros = self.micros(batch)
        tokens = TokenColumns(batch.tokens, rows)
        event = self.envelope.columns(tokens)
        images = [*self._image_pieces(batch.before, rows), *self._image_pieces(batch.after, rows)]
        millis = self.clock.millis()
        of_snapshot = pc.and_(event.snapshot.is_valid(), pc.equal(batch.op, OpType.INSERT.value))
        code = pc.if_else(of_snapshot, _READ, pc.index_in(batch.op, _OP_TYPES))
        now = pa.array([millis, millis * 1000, millis * 1_000_000], pa.int64())
        return join_binary(
            [
                self._head,
                *images,
                *self._source(event, tokens, micros, batch.position),
                *_transaction(event, rows),
                _OPS.take(code),
                *(join_binary([avro.VALUE, *avro.longs(now.slice(unit, 1))], 1)[0].as_py() for unit in range(3)),
            ],
            rows,
        )

    def decoded(self, message: bytes) -> list[Any]:
        return [fastavro.schemaless_reader(io.BytesIO(message[len(self._head) :]), self._parsed, None)]

    @cached_property
    def _parsed(self) -> Any:
        return fastavro.parse_schema(self.schema)

    def _image_pieces(self, image: Image, rows: int) -> list[Piece]:
        shown = self.shown(image)
        for column, values in zip(self.table.columns, shown.columns, strict=True):
            self.count(MISSING_AS_NULL, column.name, missing_from(values, shown.exists))
        pieces, wrong = self._columns.optional(shown, rows)
        if wrong:
            raise RowErrors([(row, self._misfit_of(shown, row, column)) for row, column in sorted(wrong)])
        return pieces

    def _source(
        self, event: EventColumns, tokens: TokenColumns, micros: pa.Int64Array, position: pa.StringArray
    ) -> list[Piece]:
        fits = pc.less_equal(pc.abs(micros), _MAX_MICROS)
        nanos = pc.multiply(pc.if_else(fits, micros, pa.scalar(None, pa.int64())), 1000)
        pieces: list[Piece] = [
            text(OWN),
            *avro.strings(event.connector.fill_null(OWN)),
            *avro.strings(event.name.fill_null(self._options.topic_prefix)),
            *_longs(floor_millis(micros)),
            *avro.optional_strings(pc.fill_null(event.snapshot, "false"))[0],
            *_strings(event.database),
            *_strings(event.schema),
            text(self.table.name),
            *_longs(micros),
            *_longs(nanos),
            *avro.optional_strings(position)[0],
        ]
        if self.include_tokens:
            pieces += _tokens(tokens)
        return pieces


def _strings(texts: pa.StringArray | str | None) -> list[Piece]:
    if texts is None or isinstance(texts, str):
        return [avro.NULL] if texts is None else [avro.VALUE + text(texts)]
    return avro.optional_strings(texts)[0]


def _longs(numbers: pa.Int64Array) -> list[Piece]:
    return avro.optional(numbers, avro.longs(numbers))[0]


def _tokens(tokens: TokenColumns) -> list[Piece]:
    """Encode n unions of null and a map of the tokens without another place."""
    objects = join([tokens.others()], tokens.rows)
    if pc.all(pc.equal(objects, "null"), min_count=0).as_py():
        return [avro.NULL]
    listed = [msgspec.json.decode(item) or {} for item in non_null_values(objects)]
    maps = join_binary([avro.VALUE, avro.string_maps(token_maps(listed))], tokens.rows)
    return [pc.if_else(pc.equal(objects, "null"), pa.scalar(avro.NULL, pa.binary()), maps)]


def _transaction(event: EventColumns, rows: int) -> list[Piece]:
    there = event.in_transaction
    if not there.true_count:
        return [avro.NULL]
    members: list[Piece] = [avro.VALUE]
    for name, values in event.transaction.items():
        members += avro.optional_strings(values)[0] if name == "id" else avro.optional_longs(values)[0]
    return [pc.if_else(there, join_binary(members, rows), pa.scalar(avro.NULL, pa.binary()))]


# Schemas


def _schema_number(table: TableDef, options: DebeziumAvroOptions, schema: Any) -> int | Diagnostic:
    given = dict(options.schema_ids)
    text = given.get(table.full_name, given.get(table.name))
    if text is not None:
        return int(text)
    found = _registry(options.schema_registry_directory).number_of(schema)
    if found is not None:
        return found
    reason = "`schemaRegistryDirectory` does not have the schema of the table's messages"
    help = "register the output of `ggfmt schema --kind avro` and save it there as `<id>.avsc`, or set `schemaIds`"
    return Diagnostic("GG215", reason, Span(table=table.full_name), help)


@cache
def _registry(directory: str) -> confluent.Registry:
    return confluent.Registry(directory)


def _schema_files(table: TableDef, options: DebeziumAvroOptions, context: Context) -> tuple[SchemaFile, ...]:
    schema = DebeziumAvroFormatter(table, options, context, Clock()).schema
    content = json.dumps(schema, indent=2, ensure_ascii=False).encode()
    return (SchemaFile(f"{table.full_name}.avsc", content),)


def _framing(table: TableDef | None, options: DebeziumAvroOptions, context: Context) -> Framing:
    if options.file_framing != CONTAINER:
        return MessageStream()
    assert table is not None, "a file holds the records of one table"
    schema = DebeziumAvroFormatter(table, options, context, Clock()).schema
    return ObjectContainer(table, compact_json(schema), context.codec)


WRITE_SIDES = {
    "debezium_avro": WriteSupport(
        formatter=DebeziumAvroFormatter,
        framing=_framing,
        projection=lambda options: Projection(tokens=True),
        schema=_schema_files,
    )
}
