"""Writer of GoldenGate Data Streams: operations, and the object metadata of tables."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.json_text import json_strings
from ggfmt.columnar.metadata import Clock, token, token_texts
from ggfmt.columnar.pieces import Piece, escape_json_text, join
from ggfmt.formats.api.format import ABSENT_NULL, Context
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.reading import OBJECT_METADATA
from ggfmt.formats.goldengate.streams import TOKENS, StreamsOptions
from ggfmt.formats.records import formatter
from ggfmt.formats.records.formatter import DialectFormatter
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import Kind, TableDef

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE)
_TYPES = {**dict.fromkeys(_NUMBERS, "number"), Kind.BOOLEAN: "boolean"}


def object_metadata(table: TableDef, options: StreamsOptions) -> bytes:
    """Return the record that describes a table, with its delimiter; empty if the options exclude it."""
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
        values = [formatter.quoted] * len(table.columns) if as_strings else formatter.native_values(table)
        super().__init__(table, context, clock, values)
        self.options = options
        self._op_keys = formatter.json_words(op_keys(options))
        keys = ",".join(map(escape_json_text, table.key_names))
        self._keys = f"[{keys}]" if options.include_primary_keys else None
        self._name = escape_json_text(table.full_name)
        names = ("qual_table", "op_type", "op_ts", "pos", *TOKENS)
        self.fields = (*names, options.before_image_name, options.after_image_name)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        options = self.options
        tokens = token_texts(batch.tokens, _pair, ",") if self.include_tokens else None
        message = formatter.json_object(
            {
                "qual_table": self._name,
                "op_type": self._op_keys.of(batch.op),
                "op_ts": formatter.quoted_if_valid(batch.op_ts),
                "pos": formatter.quoted_if_valid(batch.position),
                **{name: formatter.quoted_if_valid(token(batch.tokens, name, rows)) for name in TOKENS},
                "primary_keys": self._keys,
                "tokens": None if tokens is None else ["{", tokens, "}"],
                options.before_image_name: self._objects_if_any(batch.before, rows),
                options.after_image_name: self._objects_if_any(batch.after, rows),
            }
        )
        return join([*message, options.delimiter], rows)

    def _objects_if_any(self, image: Image, rows: int) -> pa.StringArray:
        objects = self.objects(self._shown(image, rows), rows)
        return pc.if_else(pc.not_equal(objects, ""), objects, pa.scalar(None, pa.string()))

    def _shown(self, image: Image, rows: int) -> Image:
        absent_is_null = self.options.absent_means == ABSENT_NULL
        if absent_is_null:
            self.count_missing(image)
        return self.without_nulls(image, rows, absent_is_null) if self.options.omit_null_column_values else image


def _pair(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
    return [json_strings(names), ":", json_strings(values)]


WRITE_SIDES = {"goldengate_streams_json": formatter.text_output(StreamsFormatter, object_metadata)}
