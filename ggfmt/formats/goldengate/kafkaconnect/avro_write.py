"""Writer of messages of the Kafka Connect handler, as Confluent's Avro converter writes them."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar import avro
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import Piece, join_binary
from ggfmt.formats.api.format import Context
from ggfmt.formats.connect.avro_write import FramedFormatter, encoder_of, framed_output
from ggfmt.formats.goldengate.kafkaconnect import OP, KafkaConnectAvroOptions
from ggfmt.formats.goldengate.kafkaconnect.write import KafkaConnectFormatter
from ggfmt.formats.goldengate.writing import template_projection
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import TableDef


class KafkaConnectAvroFormatter(FramedFormatter, KafkaConnectFormatter):
    def __init__(self, table: TableDef, options: KafkaConnectAvroOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options.as_in_json(), context, clock)
        self.use(options, self.connect_schema)
        encoders = []
        for field, values in self._column_fields():
            encoder = encoder_of(field["type"], values, as_it_is=True)
            encoders.append(encoder if field["optional"] else _required(encoder))
        self._columns = avro.ImageEncoder(encoders, flagged=False)

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        pieces: list[Piece] = [self.head(batch), *self._metadata.avro(batch)]
        for image in self._shown(batch):
            pieces += self._encoded(batch, image)
        return join_binary(pieces, len(batch))

    def _encode(self, image: Image, rows: int) -> tuple[list[Piece], list[tuple[int, int]]]:
        return self._columns.optional(image, rows) if self._by_image else self._columns.required(image, rows)


def _required(encode: avro.AvroEncoder) -> avro.AvroEncoder:
    """Return the encoder of n values without the branch of their union; no bytes for null."""

    def encoder(values: pa.StringArray) -> avro.Encoded:
        pieces, wrong = encode(values)
        return [pc.binary_slice(join_binary(pieces, len(values)), 1)], wrong

    return encoder


WRITE_SIDES = {
    "kafkaconnect_avro": framed_output(
        KafkaConnectAvroFormatter, lambda options: template_projection(options, options.message_formatting == OP)
    )
}
