"""The Avro schemas of a table's messages, by the options of their handler."""

from __future__ import annotations

from ggfmt.formats.api.context import Context
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema, operation_schema, row_schema, wrapper_schema
from ggfmt.formats.goldengate.types import MessageType, target_type
from ggfmt.model.table import TableDef
from ggfmt.options.releases import RELEASES

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


def wrapper(options: AvroOptions, context: Context) -> AvroSchema | None:
    """The schema of the wrappers around messages; None if there are none."""
    if not isinstance(options, AvroOpOptions) or not options.wrap_message_in_generic_avro_message:
        return None
    return wrapper_schema(by_fingerprint(options, context))


def by_fingerprint(options: AvroOpOptions, context: Context) -> bool:
    """Whether wrappers name the schema of their message by its fingerprint, and not by its hash."""
    given = options.generic_wrapper_use_fingerprint
    return RELEASES[context.release].fingerprint if given is None else given
