"""Writing of records of Kafka Connect in Avro, as Confluent's converter does it: values, framings and schemas."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import fastavro
import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar import avro
from ggfmt.columnar.json_text import Values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join, zigzag_varint
from ggfmt.columnar.strings import bytes_of, rows_where
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.writing import Formatter, Framing, RowErrors, SchemaFile, WriteSupport
from ggfmt.formats.avro.confluent import CONTAINER, FramedOptions
from ggfmt.formats.avro.containers import MessageStream, ObjectContainer
from ggfmt.formats.avro.schemas import without_logical_types
from ggfmt.formats.connect.avro import avro_schema
from ggfmt.formats.json.values import compact_json
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef

_BINARY = pa.binary()

# Values: those of JSON with the same Connect schemas, in Avro's binary encoding.


def encoder_of(type: str, values: Values, as_it_is: bool) -> avro.AvroEncoder:
    """Return an encoder of texts as unions of null and a value of a type of Connect. `values` makes the value in JSON;
    `as_it_is`: it is the text."""
    if type == "boolean":
        return avro.optional_booleans
    if type in ("float", "float32"):
        return avro.optional_floats
    if type in ("double", "float64"):
        return avro.optional_doubles
    if type.startswith("int"):
        return _of_json(values, avro.optional_longs, lambda text: text)
    if type == "bytes":
        return _of_json(values, by_value(base64_bytes), _unquoted)
    if type == "struct":
        return _of_json(values, by_value(_variable), lambda text: text)
    return avro.optional_strings if as_it_is else _of_json(values, avro.optional_strings, _unquoted)


def _of_json(
    values: Values, encode: avro.AvroEncoder, text_of: Callable[[pa.StringArray], pa.StringArray]
) -> avro.AvroEncoder:
    """Make an encoder of the JSON values for texts; it reports the rows whose text is no value of the type."""

    def encoder(column: pa.StringArray) -> avro.Encoded:
        made, wrong = values(column)
        if wrong:
            return [avro.NULL], wrong
        json = join([made])
        there = pc.and_(column.is_valid(), pc.not_equal(json, "null"))
        return encode(pc.if_else(there, text_of(json), pa.scalar(None, pa.string())))

    return encoder


def _unquoted(json: pa.StringArray) -> pa.StringArray:
    return pc.utf8_slice_codeunits(json, 1, -1)


def by_value(make: Callable[[str], bytes]) -> avro.AvroEncoder:
    """Return an encoder that calls a function once for each distinct text; the function raises ValueError for a bad
    text.
    """

    def encoder(column: pa.StringArray) -> avro.Encoded:
        distinct = column.dictionary_encode()
        made: list[bytes | None] = []
        for value in non_null_values(as_strings(distinct.dictionary)):
            try:
                made.append(avro.VALUE + make(value))
            except ValueError:
                made.append(None)
        values = pa.array(made, _BINARY).take(distinct.indices)
        wrong = rows_where(pc.and_(column.is_valid(), values.is_null()))
        return [pc.fill_null(values, pa.scalar(avro.NULL, _BINARY))], wrong

    return encoder


def base64_bytes(text: str) -> bytes:
    data = bytes_of(text)
    if data is None:
        raise ValueError
    return zigzag_varint(len(data)) + data


def _variable(text: str) -> bytes:
    value: dict[str, Any] = msgspec.json.decode(text)
    return zigzag_varint(value["scale"]) + base64_bytes(value["value"])


# Messages


class FramedFormatter(Formatter):
    """Base of formatters of such records. `schema` is the Avro schema of the messages."""

    schema: Any

    def use(self, options: FramedOptions, schema: Mapping[str, Any]) -> None:
        """Set the schema by that of Connect, and what precedes messages by the options."""
        self.schema = avro_schema(schema)
        self._head = options.head_of(self.table, self.schema)

    def head(self, batch: ChangeBatch) -> bytes:
        """Return what precedes each message. Raises: RowErrors if the id of the schema is unknown."""
        if isinstance(self._head, Diagnostic):
            places = batch.position.to_pylist()
            raise RowErrors([(row, self._head.at(position=place)) for row, place in enumerate(places)])
        return self._head

    def decoded(self, message: bytes) -> list[Any]:
        head = self._head if isinstance(self._head, bytes) else b""
        return [fastavro.schemaless_reader(io.BytesIO(message[len(head) :]), self._parsed, None)]

    @cached_property
    def _parsed(self) -> Any:
        return fastavro.parse_schema(without_logical_types(self.schema))


def framed_output(
    formatter: Callable[[TableDef, Any, Context, Clock], FramedFormatter], projection: Callable[[Any], Projection]
) -> WriteSupport:
    def schema_files(table: TableDef, options: FramedOptions, context: Context) -> tuple[SchemaFile, ...]:
        schema = formatter(table, options, context, Clock()).schema
        content = json.dumps(schema, indent=2, ensure_ascii=False).encode()
        return (SchemaFile(f"{table.full_name}.avsc", content),)

    def framing(table: TableDef | None, options: FramedOptions, context: Context) -> Framing:
        if options.file_framing != CONTAINER:
            return MessageStream()
        assert table is not None, "a file holds the records of one table"
        schema = formatter(table, options, context, Clock()).schema
        return ObjectContainer(table, compact_json(schema), context.codec)

    return WriteSupport(formatter=formatter, framing=framing, projection=projection, schema=schema_files)
