"""Delimited text, GoldenGate for Big Data 12.2, 6.2: `delimitedtext`.

* One image: of an insert or update the after image, of a delete the before image; a truncate has all columns missing.
* Metadata fields, then the columns, each divided from the next by the field delimiter; a suppressed field leaves none.
* Values are written raw: one that holds a delimiter will be read as more fields. Such values are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.join import Piece, join, repeat
from ggfmt.columnar.metadata import OpKeys, joined_pairs, or_empty, token_texts
from ggfmt.columnar.text import count_holding, represent
from ggfmt.errors import Diagnostic
from ggfmt.formats import hive_ddl
from ggfmt.formats.base import Context, Format, Formatter, Needs, Note
from ggfmt.formats.framing import TextFraming
from ggfmt.formats.gg_delimited_read import DelimitedTextReader
from ggfmt.formats.shared import (
    DELETE_INSERT,
    UPDATE,
    handle_key_updates,
    iso8601_option,
    op_key_option,
    op_keys,
    pk_update_option,
)
from ggfmt.model.change import ChangeBatch, ImageColumn
from ggfmt.model.table import TableDef
from ggfmt.options.kinds import NATIVE, Bool, Charset, Text
from ggfmt.options.spec import Options, option


@dataclass(frozen=True)
class DelimitedTextOptions(Options):
    include_column_names: bool = option(Bool(), False, "Write the name of each column as a field before its value.")
    include_op_timestamp: bool = option(Bool(), True, "Write the operation time stamp.")
    include_current_timestamp: bool = option(Bool(), True, "Write the current time stamp.")
    include_op_type: bool = option(Bool(), True, "Write the operation type.")
    include_table_name: bool = option(Bool(), True, "Write the fully qualified table name.")
    include_position: bool = option(Bool(), True, "Write the position in the trail.")
    insert_op_key: str = op_key_option("insert", "I")
    update_op_key: str = op_key_option("update", "U")
    delete_op_key: str = op_key_option("delete", "D")
    truncate_op_key: str = op_key_option("truncate", "T")
    encoding: str = option(
        Charset(), NATIVE, "The charset of the output; `native` is the charset of the machine that starts the run."
    )
    field_delimiter: str = option(Text(), "\x01", "Stands between fields.")
    line_delimiter: str = option(Text(), "\n", "Stands after each message.")
    key_value_delimiter: str = option(Text(), "=", "Stands between the name and the value of a token.")
    key_value_pair_delimiter: str = option(Text(), ",", "Stands between tokens.", aliases=("kevValuePairDelimiter",))
    pk_update_handling: str = pk_update_option()
    null_value_representation: str = option(Text(), "NULL", "Stands for a NULL.")
    missing_value_representation: str = option(Text(), "", "Stands for a column that is not in the image.")
    iso8601_format: bool = iso8601_option()


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
            count = count_holding(image.values, delimiter)
            if count:
                self.notes[
                    Note(
                        "GG403",
                        self.table.full_name,
                        column,
                        f"with the {name} delimiter inside, which will be read back wrong",
                    )
                ] += count

    def _look_for_representations(self, column: str, image: ImageColumn) -> None:
        for state, text in (
            ("NULL", self.options.null_value_representation),
            ("missing column", self.options.missing_value_representation),
        ):
            count = pc.sum(pc.equal(image.values, text)).as_py() or 0
            if count:
                what = f"equal to the text that stands for a {state}, which will be read back as one"
                self.notes[Note("GG406", self.table.full_name, column, what)] += count


def needs(options: DelimitedTextOptions) -> Needs:
    handling = options.pk_update_handling
    return Needs(row_only=handling != DELETE_INSERT, key_updates=handling != UPDATE)


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


FORMATS = (
    Format(
        name="delimitedtext",
        doc="Delimited text: one line an operation, metadata fields and then the columns of one image.",
        options=DelimitedTextOptions,
        formatter=DelimitedTextFormatter,
        framing=lambda table, options, context: TextFraming(options.encoding),
        needs=needs,
        reader=DelimitedTextReader,
        ddl=hive_table,
        losses=(
            "The before image of an update is not shown, nor the after image of a delete.",
            "A value equal to the representation of NULL or of a missing column is not told from it.",
            "A value that holds a delimiter is read as more fields or lines.",
        ),
    ),
)
