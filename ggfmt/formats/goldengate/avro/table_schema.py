"""The Avro schemas of a table's messages, by the options of their handler."""

from __future__ import annotations

from ggfmt.formats.api.context import Context
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema, operation_schema, row_schema
from ggfmt.formats.goldengate.types import MessageType, target_type
from ggfmt.model.table import TableDef

_AVRO_TYPES = {
    MessageType.STRING: "string",
    MessageType.BOOLEAN: "boolean",
    MessageType.INTEGER: "long",
    MessageType.FLOAT: "float",
    MessageType.DOUBLE: "double",
}


def avro_types(table: TableDef, options: AvroOptions, release: str) -> list[str]:
    """The Avro type of each column, less the `null` that stands in a union with it."""
    if options.treat_all_columns_as_strings:
        return ["string"] * len(table.columns)
    return [_AVRO_TYPES[target_type(column.type, release)] for column in table.columns]


def avro_schema(table: TableDef, options: AvroOptions, context: Context, by_image: bool) -> AvroSchema:
    """The schema of a table's messages: `by_image` tells operation messages from row messages."""
    make = operation_schema if by_image else row_schema
    return make(table, avro_types(table, options, context.release))
