"""Qlik Replicate's messages in Avro, written."""

from __future__ import annotations

import base64

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import from_buffers, narrow
from ggfmt.columnar import avro
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import Piece, join_binary, zigzag_varint
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.writing import RowErrors, WriteSupport, floating
from ggfmt.formats.avro.containers import MessageStream
from ggfmt.formats.qlik import LITTLE_ENDIAN, QlikAvroOptions
from ggfmt.formats.qlik.masks import BYTES, mask_pieces
from ggfmt.formats.qlik.metadata import OPERATIONS, envelope_head, table_messages
from ggfmt.formats.qlik.types import avro_type
from ggfmt.formats.qlik.write import Bits, Parts, QlikFormatter
from ggfmt.formats.records.formatter import quoted
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Kind, TableDef

_OPERATIONS = pa.array([zigzag_varint(place) for place in range(len(OPERATIONS))], pa.binary())


class QlikAvroFormatter(QlikFormatter):
    options: QlikAvroOptions

    def __init__(self, table: TableDef, options: QlikAvroOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options, context, clock, [quoted] * len(table.columns))
        types = [avro_type(column.type) for column in table.columns]
        self.floats = floating(types)
        self._columns = avro.ImageEncoder(["string" if kind == "bytes" else kind for kind in types], flagged=False)
        self._head = envelope_head("DT", self.common.schema_id) + avro.NULL

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        return narrow(super().format(batch), pa.BinaryArray)

    def messages(self, parts: Parts, rows: int) -> pa.BinaryArray:
        data, wrong = self._row(parts.data, rows, required=True)
        before, wrong_before = self._row(parts.before, rows, required=False)
        bad = dict(sorted(wrong | wrong_before))
        if bad:
            names = self.table.column_names
            raise RowErrors([(row, self.misfit(names[column])) for row, column in sorted(bad.items())])
        message = [
            *data,
            *before,
            _OPERATIONS.take(parts.operation),
            *avro.strings(parts.sequence),
            *avro.strings(parts.timestamp),
            *avro.strings(parts.place),
            *avro.strings(parts.transaction),
            self._mask(parts.changed, parts.has_changed, rows),
            self._mask(parts.present, parts.has_present, rows),
            *avro.optional_longs(parts.counter)[0],
            *avro.optional_booleans(parts.last)[0],
            *avro.optional_strings(parts.external)[0],
        ]
        return join_binary([self._head, *avro.strings(join_binary(message, rows))], rows)

    def _row(self, image: Image, rows: int, required: bool) -> tuple[list[Piece], set[tuple[int, int]]]:
        """The pieces of a row of the table; and (row, column) of values that cannot be written."""
        columns = []
        bad: set[tuple[int, int]] = set()
        for index, (definition, column) in enumerate(zip(self.table.columns, image.columns, strict=True)):
            if definition.type.kind is Kind.BINARY:
                column, wrong = _bytes(column)
                there = wrong if image.exists is None else [row for row in wrong if image.exists[row].as_py()]
                bad |= {(row, index) for row in there}
            columns.append(column)
        encode = self._columns.required if required else self._columns.optional
        pieces, wrong_values = encode(Image(tuple(columns), image.exists), rows)
        return pieces, bad | set(wrong_values)

    def _mask(self, bits: Bits, there: pa.BooleanArray, rows: int) -> pa.BinaryArray:
        pieces = mask_pieces(bits, BYTES)
        if self.options.avro_mask_byte_order == LITTLE_ENDIAN:
            pieces.reverse()
        mask = join_binary([avro.VALUE + zigzag_varint(len(pieces)), *pieces], rows)
        return pc.if_else(there, mask, pa.scalar(avro.NULL, pa.binary()))


def _bytes(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    made: list[bytes | None] = []
    bad = []
    for row, text in enumerate(column.values.to_pylist()):
        try:
            made.append(None if text is None else base64.b64decode(text, validate=True))
        except ValueError:
            made.append(None)
            bad.append(row)
    # Strings and bytes are encoded alike, and nothing reads these as texts.
    return ImageColumn(from_buffers(pa.string(), len(made), pa.array(made, pa.binary()).buffers())), bad


WRITE_SIDES = {
    "qlik_avro": WriteSupport(
        formatter=QlikAvroFormatter,
        framing=lambda table, options, context: MessageStream(),
        preamble=lambda table, options: table_messages(table, options).data,
        projection=lambda options: Projection(tokens=True),
    )
}
