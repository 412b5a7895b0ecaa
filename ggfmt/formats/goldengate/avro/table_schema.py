"""The Avro schemas of a table's messages, by the options of their handler."""

from __future__ import annotations

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions, is_flagged
from ggfmt.formats.goldengate.avro.schema import (
    AvroSchema,
    name_problem,
    operation_schema,
    row_schema,
    wrapper_schema,
)
from ggfmt.formats.goldengate.avro.types import avro_types
from ggfmt.formats.goldengate.schema_metadata import metadata_property
from ggfmt.model.table import TableDef
from ggfmt.options.releases import RELEASES


def avro_schema(table: TableDef, options: AvroOptions, context: Context, by_image: bool) -> AvroSchema:
    """The schema of a table's messages: `by_image` tells operation messages from row messages. Where messages have its
    hash, its text is the one that GoldenGate hashes, without a property of ours."""
    make = operation_schema if by_image else row_schema
    types = [column.schema for column in avro_types(table, options, context)]
    is_hashed = wrapper(options, context) is not None and not by_fingerprint(options, context)
    properties = {} if is_hashed else metadata_property(options, context)
    return make(table, options.metadata(context), types, is_flagged(options, by_image), properties)


def table_problem(table: TableDef, options: AvroOptions, context: Context, by_image: bool) -> Diagnostic | None:
    """Why a table cannot be written as Avro; None if it can."""
    by_template = options.meta_columns_template is not None
    return name_problem(table, options.metadata(context), by_template, by_image, is_flagged(options, by_image))


def wrapper(options: AvroOptions, context: Context) -> AvroSchema | None:
    """The schema of the wrappers around messages; None if there are none."""
    if not isinstance(options, AvroOpOptions) or not options.wrap_message_in_generic_avro_message:
        return None
    return wrapper_schema(by_fingerprint(options, context))


def by_fingerprint(options: AvroOptions, context: Context) -> bool:
    """Whether wrappers name the schema of their message by its fingerprint, and not by its hash."""
    given = options.generic_wrapper_use_fingerprint if isinstance(options, AvroOpOptions) else None
    return RELEASES[context.release].fingerprint if given is None else given
