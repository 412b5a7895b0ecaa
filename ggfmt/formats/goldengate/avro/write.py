"""The writer of Avro: formatters, schemas, and a Hive table over container files."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import fastavro
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.avro import END, ImageEncoder, array_bytes, string_maps, strings, text_bytes
from ggfmt.columnar.metadata import Clock, OpKeys
from ggfmt.columnar.pieces import Piece, join_binary, zigzag_varint
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api import writing
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import MISSING_AS_NULL
from ggfmt.formats.avro.containers import MessageStream, ObjectContainer
from ggfmt.formats.goldengate import metacolumns, schemas
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions, AvroRowOcfOptions, is_flagged
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, avro_types, by_fingerprint, wrapper
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.writing import MetaValues, handle_key_updates, misfits, template_projection
from ggfmt.java.charsets import byte_order_mark, encoder
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.sql import sql
from ggfmt.model.table import TableDef


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return str(value) if isinstance(value, Decimal | datetime) else value


class AvroFormatter(writing.Formatter):
    """Makes messages of one image, or of both if `by_image`, after the metadata."""

    by_image: bool

    def __init__(self, table: TableDef, options: AvroOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self.options = options
        self._context = context
        self._metadata = options.metadata(context)
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._shows_tokens = context.include_tokens or options.meta_columns_template is not None
        self._types = avro_types(table, options, context)
        self.floats = writing.floating(type.schema for type in self._types)
        self._columns = ImageEncoder(
            [column.encode for column in self._types], flagged=is_flagged(options, self.by_image)
        )
        self._table = text_bytes(table.full_name)
        self._op_keys = OpKeys([text_bytes(key) for key in op_keys(options)], pa.binary())
        self._primary_keys = array_bytes(table.key_names)
        self._wrapper_head, self._end = b"", b""
        if isinstance(options, AvroOpOptions):
            self.delimiter = options.line_delimiter
            self._end = self.delimiter.encode()
            if options.wrap_message_in_generic_avro_message:
                schema = avro_schema(table, options, context, self.by_image)
                number = schema.fingerprint if by_fingerprint(options, context) else schema.hash
                self._wrapper_head = self._table + zigzag_varint(number)
        prefix = "before and after: " if self.by_image else ""
        columns = (f"{prefix}{name} ({kind.title})" for name, kind in zip(table.column_names, self._types, strict=True))
        self.fields = (*(column.name for column in self._metadata), *columns)

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        count = len(batch)
        columns, bad = self._data(batch)
        if bad:
            raise writing.RowErrors(misfits(batch, bad, lambda column: self._types[column].wanted))
        message: list[Piece] = []
        for column in self._metadata:
            message += self._metadata_value(column, batch)
        message += columns
        if not self._wrapper_head:
            return join_binary([*message, self._end], count)
        return join_binary([self._wrapper_head, *strings(join_binary(message, count)), self._end], count)

    def _metadata_value(self, column: metacolumns.MetaColumn, batch: ChangeBatch) -> list[Piece]:
        if column.keyword == metacolumns.OBJECT_NAME:
            return [self._table]
        if column.keyword == metacolumns.OP_TYPE:
            return [self._op_keys.piece(batch.op)]
        if column.keyword == metacolumns.KEY_COLUMNS:
            return [self._primary_keys]
        if column.keyword == metacolumns.ALL_TOKENS:
            return [string_maps(batch.tokens) if self._shows_tokens and batch.tokens is not None else END]
        value = self._values.of(column, batch)
        if isinstance(value, str):
            return [text_bytes(value)]
        return [text_bytes(value.as_py())] if isinstance(value, pa.Scalar) else strings(value)

    def decoded(self, message: bytes) -> list[Any]:
        """Return the wrapper of a message, if there is one, and the record in it, as a reader sees them."""
        outer, schema = self._schemas
        values: list[Any] = []
        if outer is not None:
            wrapping: Any = fastavro.schemaless_reader(io.BytesIO(message), outer, None)
            message = wrapping["payload"]
            values.append({**wrapping, "payload": f"{len(message)} bytes, with this content:"})
        return [*values, _shown(fastavro.schemaless_reader(io.BytesIO(message), schema, None))]

    @cached_property
    def _schemas(self) -> list[Any]:
        schema = avro_schema(self.table, self.options, self._context, self.by_image)
        documents = (wrapper(self.options, self._context), schema)
        return [each and fastavro.parse_schema(dict(each.document)) for each in documents]

    @abstractmethod
    def _data(self, batch: ChangeBatch) -> tuple[list[Piece], list[tuple[int, int]]]:
        """Return the pieces after the metadata, and (row, column) of values that cannot be written."""


class AvroRowFormatter(AvroFormatter):
    by_image = False
    options: AvroRowOcfOptions

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        return handle_key_updates(batch, self.options.pk_update_handling)

    def _data(self, batch: ChangeBatch) -> tuple[list[Piece], list[tuple[int, int]]]:
        image = batch.row_image()
        shown = pc.not_equal(batch.op, OpType.TRUNCATE.value)
        for column, values in zip(self.table.columns, image.columns, strict=True):
            if values.present is not None and not self.options.include_is_missing_fields:
                self.count(MISSING_AS_NULL, column.name, pc.and_not(shown, values.present).true_count)
        return self._columns.required(image, len(batch))


class AvroOpFormatter(AvroFormatter):
    by_image = True

    def _data(self, batch: ChangeBatch) -> tuple[list[Piece], list[tuple[int, int]]]:
        before, wrong_before = self._columns.optional(batch.before, len(batch))
        after, wrong_after = self._columns.optional(batch.after, len(batch))
        return [*before, *after], [*wrong_before, *wrong_after]


def _schema_files(
    table: TableDef, options: AvroOptions, context: Context, by_image: bool
) -> tuple[writing.SchemaFile, ...]:
    if not options.generate_schema:
        return ()
    schemas = {table.full_name: avro_schema(table, options, context, by_image)}
    outer = wrapper(options, context)
    if outer is not None:
        schemas["generic_wrapper"] = outer
    mark, encode = byte_order_mark(options.encoding), encoder(options.encoding).encode
    return tuple(writing.SchemaFile(f"{name}.avsc", mark + encode(schema.text)[0]) for name, schema in schemas.items())


def _framing(
    table: TableDef | None, options: AvroOptions, context: Context, by_image: bool, container: bool
) -> writing.Framing:
    if not container:
        return MessageStream()
    assert table is not None, "a container file has one schema"
    return ObjectContainer(table, avro_schema(table, options, context, by_image).compact, context.codec)


def _hive_table(
    table: TableDef, options: AvroOptions, context: Context, location: str, by_image: bool
) -> str | Diagnostic:
    """Return a Hive table over the container files of a table, which takes its columns from their schema."""
    literal = {"avro.schema.literal": avro_schema(table, options, context, by_image).compact}
    return schemas.create_table(table, (), sql("STORED AS AVRO"), location, literal)


def _writer(by_image: bool, container: bool) -> writing.WriteSupport:
    return writing.WriteSupport(
        formatter=AvroOpFormatter if by_image else AvroRowFormatter,
        framing=partial(_framing, by_image=by_image, container=container),
        projection=partial(template_projection, by_image=by_image),
        schema=partial(_schema_files, by_image=by_image),
        ddl=partial(_hive_table, by_image=by_image) if container else None,
    )


WRITE_SIDES = {
    "avro_row": _writer(by_image=False, container=False),
    "avro_op": _writer(by_image=True, container=False),
    "avro_row_ocf": _writer(by_image=False, container=True),
    "avro_op_ocf": _writer(by_image=True, container=True),
}
