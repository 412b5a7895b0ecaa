"""GoldenGate Data Streams, written: operations, and the object metadata of tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.join import Piece, join
from ggfmt.columnar.metadata import OpKeys, token_texts
from ggfmt.columnar.strings import escape_json_text, quote_json
from ggfmt.columnar.tokens import token
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.framing import TextFraming
from ggfmt.formats.api.writing import RowErrors, WriteSide
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.records import OBJECT_METADATA
from ggfmt.formats.goldengate.streams import TOKENS, StreamsOptions
from ggfmt.formats.records.formatter import DialectFormatter, member, native_values, quoted, text_member
from ggfmt.formats.records.options import ABSENT_NULL
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import Kind, TableDef

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE)
_TYPES = {**dict.fromkeys(_NUMBERS, "number"), Kind.BOOLEAN: "boolean"}


def object_metadata(table: TableDef, options: StreamsOptions) -> bytes:
    """The record that describes a table, with its delimiter; empty if none are asked for."""
    if not options.include_object_metadata_records:
        return b""
    columns = []
    for column in table.columns:
        kind = "string" if options.treat_all_columns_as_strings else _TYPES.get(column.type.kind, "string")
        null, key = str(column.nullable).lower(), str(column.key > 0).lower()
        columns.append(f'{escape_json_text(column.name)}:{{"type":"{kind}","null":{null},"key":{key}}}')
    name = escape_json_text(table.full_name)
    record = f'{{"op_type":"{OBJECT_METADATA}","qual_table":{name},"columns":{{{",".join(columns)}}}}}'
    return (record + options.delimiter).encode()


class StreamsFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: StreamsOptions, context: Context, clock: Clock) -> None:
        as_strings = options.treat_all_columns_as_strings
        values = [quoted] * len(table.columns) if as_strings else native_values(table)
        super().__init__(table, context, clock, values)
        self.options = options
        self._op_keys = OpKeys([escape_json_text(key) for key in op_keys(options)])
        keys = ",".join(map(escape_json_text, table.primary_keys))
        self._keys = f',"primary_keys":[{keys}]' if options.include_primary_keys else ""
        self._start = f'{{"qual_table":{escape_json_text(table.full_name)},"op_type":'
        self._end = "}" + options.delimiter
        names = ("qual_table", "op_type", "op_ts", "pos", *TOKENS)
        self.fields = (*names, options.before_image_name, options.after_image_name)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        options = self.options
        if options.before_image_name == options.after_image_name:
            reason = "`beforeImageName` and `afterImageName` are the same"
            problem = Diagnostic("GG408", reason, Span(table=self.table.full_name), "give two names")
            raise RowErrors([(row, problem) for row in range(rows)])
        pieces: list[Piece] = [
            self._start,
            self._op_keys.of(batch.op),
            text_member("op_ts", batch.op_ts),
            text_member("pos", batch.position),
            *(text_member(name, token(batch.tokens, name, rows)) for name in TOKENS),
            self._keys,
        ]
        if self.include_tokens:
            pieces += [',"tokens":{', token_texts(batch.tokens, rows, _pair, ","), "}"]
        for name, image in ((options.before_image_name, batch.before), (options.after_image_name, batch.after)):
            objects = self.objects(self._shown(image, rows), rows)
            there = pc.not_equal(objects, "")
            pieces.append(member(name, pc.if_else(there, objects, pa.scalar(None, pa.string()))))
        return join([*pieces, self._end], rows)

    def _shown(self, image: Image, rows: int) -> Image:
        if not self.options.omit_null_column_values:
            return image
        return self.without_nulls(image, rows, self.options.absent_means == ABSENT_NULL)


def _pair(names: pa.StringArray, values: pa.StringArray) -> pa.StringArray:
    return join([quote_json(names), ":", quote_json(values)])


WRITE_SIDES = {
    "goldengate_streams_json": WriteSide(
        formatter=StreamsFormatter,
        framing=lambda table, options, context: TextFraming("UTF-8"),
        preamble=object_metadata,
        projection=lambda options: Projection(tokens=True),
    )
}
