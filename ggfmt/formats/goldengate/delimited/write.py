"""Delimited text, written: the formatter, and a Hive table over its files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.join import Piece, join, repeat
from ggfmt.columnar.metadata import OpKeys, joined_pairs, or_empty, token_texts
from ggfmt.columnar.strings import count_holding, represent
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import Context
from ggfmt.formats.api.framing import TextFraming
from ggfmt.formats.api.losses import DELIMITER_INSIDE, TEXT_AS_STATE
from ggfmt.formats.api.writing import Formatter, WriteSide
from ggfmt.formats.goldengate import hive_ddl
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions
from ggfmt.formats.goldengate.delimited.show import DelimitedTextShow
from ggfmt.formats.goldengate.key_updates import handle_key_updates, row_projection
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.model.change import ChangeBatch, ImageColumn
from ggfmt.model.table import TableDef


class DelimitedTextFormatter(Formatter):
    def __init__(self, table: TableDef, options: DelimitedTextOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self.options = options
        self._op_keys = OpKeys(op_keys(options))
        metadata = (
            ("Operation type", options.include_op_type),
            ("Table name", options.include_table_name),
            ("Operation timestamp", options.include_op_timestamp),
            ("Current timestamp", options.include_current_timestamp),
            ("Position", options.include_position),
            ("Tokens", context.include_tokens),
        )
        fields = [name for name, included in metadata if included]
        for column in table.column_names:
            if options.include_column_names:
                fields.append(f"Name of column {column}")
            fields.append(f"Column {column}")
        self.fields = tuple(fields)

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        return handle_key_updates(batch, self.options.pk_update_handling)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        options = self.options
        fields: list[Piece] = []
        if options.include_op_type:
            fields.append(self._op_keys.of(batch.op))
        if options.include_table_name:
            fields.append(self.table.full_name)
        if options.include_op_timestamp:
            fields.append(or_empty(batch.op_ts))
        if options.include_current_timestamp:
            fields.append(self.clock.stamps(len(batch), options.iso8601_format))
        if options.include_position:
            fields.append(or_empty(batch.position))
        if self.include_tokens:
            pair = joined_pairs(options.key_value_delimiter)
            fields.append(token_texts(batch.tokens, len(batch), pair, options.key_value_pair_delimiter))
        for column, image in zip(self.table.columns, batch.row_image().columns, strict=True):
            self._look_for_delimiters(column.name, image)
            self._look_for_representations(column.name, image)
            if options.include_column_names:
                fields.append(column.name)
            fields.append(represent(image, options.null_value_representation, options.missing_value_representation))
        pieces: list[Piece] = [] if fields else [repeat("", len(batch))]
        for field in fields:
            if pieces:
                pieces.append(options.field_delimiter)
            pieces.append(field)
        return join([*pieces, options.line_delimiter], rows=len(batch))

    def _look_for_delimiters(self, column: str, image: ImageColumn) -> None:
        for name, delimiter in (("field", self.options.field_delimiter), ("line", self.options.line_delimiter)):
            self.count(DELIMITER_INSIDE, column, count_holding(image.values, delimiter), delimiter=name)

    def _look_for_representations(self, column: str, image: ImageColumn) -> None:
        for state, text in (
            ("a NULL", self.options.null_value_representation),
            ("a missing column", self.options.missing_value_representation),
        ):
            self.count(TEXT_AS_STATE, column, pc.equal(image.values, text).true_count, state=state)


def hive_table(table: TableDef, options: DelimitedTextOptions, context: Context, location: str) -> str | Diagnostic:
    """A Hive table over the lines of a table: their metadata as text, and then the columns by their types."""
    included = (
        ("op_type", options.include_op_type),
        ("table", options.include_table_name),
        ("op_ts", options.include_op_timestamp),
        ("current_ts", options.include_current_timestamp),
        ("pos", options.include_position),
        ("tokens", context.include_tokens),
    )
    columns = []
    for column in table.columns:
        if options.include_column_names:
            columns.append((f"{column.name}_name", "STRING"))
        columns.append((column.name, hive_ddl.column_type(column)))
    metadata = hive_ddl.unique([name for name, is_included in included if is_included], [name for name, _ in columns])
    return hive_ddl.text_table(
        table,
        [*((name, "STRING") for name in metadata), *columns],
        options.field_delimiter,
        options.line_delimiter,
        options.null_value_representation,
        location,
    )


WRITE_SIDES = {
    "delimitedtext": WriteSide(
        formatter=DelimitedTextFormatter,
        framing=lambda table, options, context: TextFraming(options.encoding),
        projection=row_projection,
        ddl=hive_table,
        show=lambda formatter, options, context: DelimitedTextShow(formatter, options),
    )
}
