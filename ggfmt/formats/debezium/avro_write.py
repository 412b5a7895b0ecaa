"""Writer of Debezium in Avro: the events of the JSON format, with the Avro schema for their Connect schema.

All events of a table have the same schema, whatever tokens their operations have. Tokens that are members of source
blocks in JSON are in the map `tokens`, like all other tokens.
"""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar import avro
from ggfmt.columnar.avro import text_bytes as text
from ggfmt.columnar.columns import token_maps
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import Piece, join, join_binary
from ggfmt.columnar.timestamps import floor_millis
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import MISSING_AS_NULL
from ggfmt.formats.api.writing import RowErrors, floating
from ggfmt.formats.connect.avro_write import FramedFormatter, base64_bytes, by_value, encoder_of, framed_output
from ggfmt.formats.debezium import OWN, DebeziumAvroOptions
from ggfmt.formats.debezium.encode import ColumnEncoding
from ggfmt.formats.debezium.envelope import EventColumns, TokenColumns
from ggfmt.formats.debezium.write import DebeziumFormatter
from ggfmt.formats.records.formatter import missing_from
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Kind, TableDef

_OPS = pa.array([text(code) for code in ("c", "u", "d", "t", "r")], pa.binary())
_OP_TYPES = pa.array([op.value for op in OpType], pa.string())
_READ = 4  # the index of `r`
_MAX_MICROS = ((1 << 63) - 1) // 1000  # maximum number of microseconds that fit as nanoseconds into 64 bits


def _encoder(kind: Kind, encoding: ColumnEncoding) -> avro.AvroEncoder:
    if encoding.schema["type"] == "bytes" and kind is Kind.BINARY:
        return by_value(base64_bytes)
    return encoder_of(encoding.schema["type"], encoding.values, encoding.as_it_is)


class DebeziumAvroFormatter(FramedFormatter, DebeziumFormatter):
    def __init__(self, table: TableDef, options: DebeziumAvroOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options.as_in_json(), context, clock)
        kinds = [column.type.kind for column in table.columns]
        self._columns = avro.ImageEncoder(list(map(_encoder, kinds, self.encodings)), flagged=False)
        self.floats = floating(encoding.schema["type"] for encoding in self.encodings)
        self.use(options, json.loads(self.envelope.schema_text))

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        rows = len(batch)
        head = self.head(batch)
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
                head,
                *images,
                *self._source(event, tokens, micros, batch.position),
                *_transaction(event, rows),
                _OPS.take(code),
                *(join_binary([avro.VALUE, *avro.longs(now.slice(unit, 1))], 1)[0].as_py() for unit in range(3)),
            ],
            rows,
        )

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


WRITE_SIDES = {"debezium_avro": framed_output(DebeziumAvroFormatter, lambda options: Projection(tokens=True))}
