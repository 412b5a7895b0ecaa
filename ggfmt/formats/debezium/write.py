"""Writer of Debezium's JSON: one message per line, as an envelope alone or with its schema."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import CONNECT_ESCAPES, Conditional, join
from ggfmt.columnar.strings import count_texts
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import PLACEHOLDER_AS_MISSING
from ggfmt.formats.debezium import AS_PLACEHOLDER, DebeziumOptions
from ggfmt.formats.debezium.encode import encoding_of
from ggfmt.formats.debezium.envelope import EventEnvelope, TokenColumns
from ggfmt.formats.debezium.values import placeholder_forms
from ggfmt.formats.records.formatter import DialectFormatter, json_object, json_words, text_output
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef

_CODES = json_words("cudt")


class DebeziumFormatter(DialectFormatter):
    fields = ("before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns")

    def __init__(self, table: TableDef, options: DebeziumOptions, context: Context, clock: Clock) -> None:
        self.encodings = [encoding_of(column.type, options) for column in table.columns]
        keeps = [not options.schemas_enable and encoding.schema["type"] == "string" for encoding in self.encodings]
        values = [encoding.values for encoding in self.encodings]
        super().__init__(table, context, clock, values, keeps, CONNECT_ESCAPES)
        self._options = options
        self._forms = placeholder_forms(options.unavailable_value_placeholder)
        self._form_texts = tuple(non_null_values(self._forms))
        row = [
            {**encoding.schema, "optional": True, "field": column.name}
            for column, encoding in zip(table.columns, self.encodings, strict=True)
        ]
        self.envelope = EventEnvelope(table, options, row, context.include_tokens)

    def format(self, batch: ChangeBatch) -> pa.StringArray | pa.BinaryArray:
        rows = len(batch)
        tokens = TokenColumns(batch.tokens, rows)
        source, transaction, snapshot, schemas = self.envelope.parts(tokens, self.micros(batch), batch.position)
        before, after = (self.object_pieces(self.shown(image), rows, "null") for image in (batch.before, batch.after))
        code = _CODES.piece(batch.op)
        if snapshot is not None:
            code = Conditional(pc.and_(snapshot, pc.equal(batch.op, OpType.INSERT.value)), ['"r"'], [code])
        millis = self.clock.millis()
        payload = json_object(
            {
                "before": before,
                "after": after,
                "source": source,
                "transaction": transaction,
                "op": code,
                "ts_ms": str(millis),
                "ts_us": f"{millis}000",
                "ts_ns": f"{millis}000000",
            }
        )
        message = payload if schemas is None else json_object({"schema": schemas, "payload": payload})
        return join([*message, "\n"], rows)

    def misfit(self, field: str, message: str = "the value does not match the type of its column") -> Diagnostic:
        diagnostic = super().misfit(field, message)
        help = self.encodings[self.table.column_names.index(field)].help
        return diagnostic if help is None else Diagnostic(diagnostic.code, message, diagnostic.span, help)

    def shown(self, image: Image) -> Image:
        """Return the image with placeholders for missing values, if the options require them."""
        columns = []
        for column, encoding, values in zip(self.table.columns, self.encodings, image.columns, strict=True):
            may_hold = encoding.schema["type"] in ("string", "bytes")
            if may_hold and any(count_texts(values.values, (), self._form_texts)):
                hits = pc.is_in(values.values, self._forms)
                for mask in (values.present, image.exists):
                    hits = hits if mask is None else pc.and_(hits, mask)
                self.count(PLACEHOLDER_AS_MISSING, column.name, hits.true_count)
            if self._options.missing == AS_PLACEHOLDER and encoding.placeholder is not None:
                values = _with_placeholder(values, encoding.placeholder)
            columns.append(values)
        return Image(tuple(columns), image.exists)


def _with_placeholder(column: ImageColumn, placeholder: str) -> ImageColumn:
    if column.present is None:
        return column
    return replace(column, values=pc.if_else(column.present, column.values, placeholder), present=None)


WRITE_SIDES = {"debezium_json": text_output(DebeziumFormatter)}
