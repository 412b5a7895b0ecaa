"""Writer of messages of the Kafka Connect handler, as Kafka's JSON converter writes them: compact, one per line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar import avro, json_text
from ggfmt.columnar.images import and_present, with_nulls
from ggfmt.columnar.metadata import Clock, token_texts
from ggfmt.columnar.pieces import CONNECT_ESCAPES, Encoding, Piece, escape_json_text, join
from ggfmt.columnar.strings import by_value, rows_where
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api import writing
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import MISSING_AS_NULL, TIME_CUT
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.text import connect_json, connect_strings, quote, quoted
from ggfmt.formats.connect.values import encoded, millis, numeric, too_fine, whole
from ggfmt.formats.goldengate.kafkaconnect import NUMERIC, OP, ConnectOptions, KafkaConnectOptions, struct_name
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, POSITION, TIMESTAMP, MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.formats.goldengate.writing import MetaValues, handle_key_updates, misfits, template_projection
from ggfmt.formats.records.formatter import COMPACT, missing_from
from ggfmt.java.numbers import double_text, float_text, single
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Kind, SqlType, TableDef

_ROW_NAME = "row"  # the name of the struct of an image
_FLAG_SCHEMA = {"type": "boolean", "optional": True}

_CONTAINERS = {ALL_TOKENS: connect.STRING_MAP, KEY_COLUMNS: connect.STRINGS}

_INT64_DIGITS, _DOUBLE_DIGITS = 18, 15  # digits that an int64, or a double, can always hold
_NUMBER = lazy_regex(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class ConnectColumn:
    """The writing of a column: its Connect schema without `optional` and the name of the field, and the function that
    makes JSON values from texts. `wanted`: the allowed values, in words, for errors. `cut`: times may lose digits."""

    schema: dict[str, Any]
    values: json_text.Values
    wanted: str = "a text"
    cut: bool = False


def column_type(type: SqlType, options: KafkaConnectOptions) -> ConnectColumn:
    """Return the type of a column. By the manual and messages of 21.1, release 12.3 and later ones do not differ."""
    kind = type.kind
    if options.treat_all_columns_as_strings:
        return _STRING
    if kind is Kind.BOOLEAN:
        return ConnectColumn({"type": "boolean"}, json_text.json_booleans, "`true` or `false`")
    if kind is Kind.FLOAT:
        return ConnectColumn({"type": "float"}, by_number(_float), "a number in the range of a float")
    if kind is Kind.DOUBLE:
        return _DOUBLE
    if kind in (Kind.DECIMAL, Kind.NUMBER) and options.enable_decimal_logical_type:
        return _decimal(type, options)
    if kind is Kind.INTEGER or (kind is Kind.DECIMAL and type.scale == 0 and _fits(type, _INT64_DIGITS)):
        return ConnectColumn({"type": "int64"}, whole, "a whole number of 64 bits")
    if kind in (Kind.DECIMAL, Kind.NUMBER):
        known = kind is Kind.DECIMAL and type.precision is not None and _fits(type, _DOUBLE_DIGITS)
        if options.map_large_numbers_as_strings and not known:
            return _STRING
        without_sizes = kind is Kind.NUMBER or (type.precision, type.scale) == (None, None)
        return _WHOLE_OR_DOUBLE if options.whole_numbers_as_integers and without_sizes else _DOUBLE
    if kind in (Kind.DATE, Kind.TIMESTAMP) and options.enable_timestamp_logical_type:
        schema = {"type": "int64", "name": connect.TIMESTAMP, "version": 1}
        return ConnectColumn(schema, millis, "a time stamp", cut=True)
    return _STRING


def _fits(type: SqlType, digits: int) -> bool:
    return type.precision is None or type.precision <= digits


def _decimal(type: SqlType, options: KafkaConnectOptions) -> ConnectColumn:
    scale = options.oracle_number_scale if type.kind is Kind.NUMBER or type.scale is None else type.scale
    schema = {"type": "bytes", "name": connect.DECIMAL, "version": 1, "parameters": {"scale": str(scale)}}
    if options.decimal_format == NUMERIC:
        values = json_text.json_values(by_value(partial(numeric, scale=scale)))
    else:
        values = json_text.json_texts(by_value(partial(encoded, scale=scale)))
    return ConnectColumn(schema, values, f"a number with at most {scale} digits after the decimal point")


def by_number(text_of: Callable[[float], str]) -> json_text.Values:
    """Make JSON values of numbers in Java's notation; for numbers that JSON lacks, strings as Jackson writes them."""

    def text(value: str) -> str | None:
        if value in writing.NOT_FINITE:
            return f'"{text_of(float(value))}"'
        number = float(value) if _NUMBER.fullmatch(value) else math.inf
        return text_of(number) if math.isfinite(number) else None

    return json_text.json_values(by_value(text))


def _float(number: float) -> str:
    nearest = single(number)
    if math.isinf(nearest) and math.isfinite(number):
        raise ValueError
    return float_text(nearest)


_STRING = ConnectColumn({"type": "string"}, quoted)
_DOUBLE = ConnectColumn({"type": "double"}, by_number(double_text), "a number in the range of a double")
_WHOLE_OR_DOUBLE = replace(_DOUBLE, values=by_number(lambda n: str(int(n)) if n.is_integer() else double_text(n)))


class MetadataFields:
    """The metadata fields of one table: their names, their schemas in the converter's form, and their values."""

    def __init__(self, table: TableDef, options: ConnectOptions, context: Context, clock: Clock) -> None:
        self._columns = options.metadata(context)
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._table = table
        self.names = tuple(column.name for column in self._columns)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        text = {"type": "string", "optional": True}
        return [{**_CONTAINERS.get(column.keyword, text), "field": column.name} for column in self._columns]

    def values(self, batch: ChangeBatch) -> list[Piece]:
        return [self._json(column, batch) for column in self._columns]

    def avro(self, batch: ChangeBatch) -> list[Piece]:
        """Return the values in Avro, as unions with null."""
        return [piece for column in self._columns for piece in self._avro(column, batch)]

    def _avro(self, column: MetaColumn, batch: ChangeBatch) -> list[Piece]:
        keyword = column.keyword
        if keyword == ALL_TOKENS:
            return [avro.VALUE, avro.END if batch.tokens is None else avro.string_maps(batch.tokens)]
        if keyword == KEY_COLUMNS:
            return [avro.VALUE + avro.array_bytes(self._table.key_names)]
        values = self._of(column, batch)
        return [avro.VALUE + avro.text_bytes(values)] if isinstance(values, str) else avro.optional_strings(values)[0]

    def _json(self, column: MetaColumn, batch: ChangeBatch) -> Piece:
        keyword = column.keyword
        if keyword == ALL_TOKENS:
            return join(["{", token_texts(batch.tokens, _pair, ","), "}"], len(batch))
        if keyword == KEY_COLUMNS:
            return f"[{','.join(map(quote, self._table.key_names))}]"
        values = self._of(column, batch)
        return quote(values) if isinstance(values, str) else json_text.quote_json(values, Encoding.CONNECT)

    def _of(self, column: MetaColumn, batch: ChangeBatch) -> pa.StringArray | str:
        """Return a text for each operation, or the one of all; null for an operation without a time or position."""
        if column.keyword in (TIMESTAMP, POSITION):
            return batch.op_ts if column.keyword == TIMESTAMP else batch.position
        values = self._values.of(column, batch)
        return str(values.as_py()) if isinstance(values, pa.Scalar) else values


def _pair(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
    return [connect_strings(names), ":", connect_strings(values)]


class KafkaConnectFormatter(writing.Formatter):
    def __init__(self, table: TableDef, options: KafkaConnectOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self._options = options
        self._by_image = options.message_formatting == OP
        self._types = [column_type(column.type, options) for column in table.columns]
        self.floats = writing.floating(type.schema["type"] for type in self._types)
        self._metadata = MetadataFields(table, options, context, clock)
        self._required = [options.enable_nonnullable and not column.nullable for column in table.columns]
        fields = self._column_fields()
        names = [field["field"] for field, _ in fields]
        self._objects = json_text.ImageObjects(
            names, [values for _, values in fields], COMPACT, escapes=CONNECT_ESCAPES
        )
        self.connect_schema = self._schema([field for field, _ in fields])
        self._start, self._end = ("", "\n")
        if options.schemas_enable:
            self._start = f'{{"schema":{connect_json(self.connect_schema)},"payload":'
            self._end = "}\n"
        self.fields = (*self._metadata.names, *(("before", "after") if self._by_image else names))

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        if self._by_image:
            return batch, range(len(batch))
        return handle_key_updates(batch, self._options.pk_update_handling)

    def format(self, batch: ChangeBatch) -> pa.StringArray | pa.BinaryArray:
        rows = len(batch)
        members: dict[str, Piece] = dict(zip(self._metadata.names, self._metadata.values(batch), strict=True))
        objects = [join(self._encoded(batch, image), rows) for image in self._shown(batch)]
        if self._by_image:
            members |= dict(zip(("before", "after"), objects, strict=True))
            columns: Piece = "}"
        else:
            columns = pc.utf8_slice_codeunits(objects[0], 1)
            if members and self.table.columns:
                columns = join([",", columns])
        pieces: list[Piece] = [self._start, "{"]
        for place, (name, values) in enumerate(members.items()):
            pieces += [f"{',' if place else ''}{escape_json_text(name, CONNECT_ESCAPES)}:", values]
        return join([*pieces, columns, self._end], rows)

    def _shown(self, batch: ChangeBatch) -> list[Image]:
        """Return both images, or that of the row, whose columns are missing where there is none."""
        images = [batch.before, batch.after] if self._by_image else [batch.row_image()]
        for image in () if self._options.include_is_missing_fields else images:
            for column, values in zip(self.table.columns, image.columns, strict=True):
                self.count(MISSING_AS_NULL, column.name, missing_from(values, image.exists))
        if self._by_image:
            return images
        exists = images[0].exists_mask(len(batch))
        return [Image(tuple(ImageColumn(column.values, and_present(exists, column)) for column in images[0].columns))]

    def _column_fields(self) -> list[tuple[dict[str, Any], json_text.Values]]:
        """Return the schema of each field for the columns, and the function that makes its JSON values."""
        fields: list[tuple[dict[str, Any], json_text.Values]] = []
        for column, type, required in zip(self.table.columns, self._types, self._required, strict=True):
            head, *rest = type.schema.items()
            schema = dict([head, ("optional", not required), *rest, ("field", column.name)])
            fields.append((schema, type.values))
            if self._options.include_is_missing_fields:
                fields.append(({**_FLAG_SCHEMA, "field": f"{column.name}{MISSING_SUFFIX}"}, lambda flags: (flags, [])))
        return fields

    def _schema(self, columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
        fields = self._metadata.schemas
        if self._by_image:
            struct = {"type": "struct", "fields": columns, "optional": True, "name": _ROW_NAME}
            fields += [{**struct, "field": image} for image in ("before", "after")]
        else:
            fields += columns
        name = struct_name(self._options, self.table)
        return {"type": "struct", "fields": fields, "optional": False, "name": name}

    def _encoded(self, batch: ChangeBatch, image: Image) -> list[Piece]:
        """Return n objects with all columns; null for a missing image. Raises: RowErrors for illegal values."""
        rows = len(batch)
        exists = image.exists_mask(rows)
        columns = []
        for index, column in enumerate(image.columns):
            values = with_nulls(column)
            self._check(batch, index, pc.and_(exists, values.is_null()))
            if self._types[index].cut:
                shown = values if image.exists is None else values.filter(exists)
                cut = "the message supports"
                self.count(TIME_CUT, self.table.columns[index].name, too_fine(shown), than=cut)
            columns.append(ImageColumn(values))
            if self._options.include_is_missing_fields:
                present = and_present(pa.repeat(pa.scalar(True), rows), column)
                columns.append(ImageColumn(pc.if_else(present, "false", "true")))
        objects, wrong = self._encode(Image(tuple(columns), image.exists), rows)
        if wrong:
            step = 2 if self._options.include_is_missing_fields else 1
            bad = [(row, place // step) for row, place in wrong]
            raise writing.RowErrors(misfits(batch, bad, lambda column: self._types[column].wanted))
        return objects

    def _encode(self, image: Image, rows: int) -> tuple[list[Piece], list[tuple[int, int]]]:
        """Return n objects, and (row, field) of each value that is not of its type."""
        return self._objects.of(image, rows, "null")

    def _check(self, batch: ChangeBatch, index: int, null: pa.BooleanArray) -> None:
        """Check the columns that cannot be NULL by their schema. Raises: RowErrors for rows without a value."""
        if self._required[index] and null.true_count:
            reason = "the column is defined as NOT NULL, and the operation has no value for it"
            name, position = self.table.columns[index].name, batch.position
            found = []
            for row in rows_where(null):
                place = Span(table=self.table.full_name, field=name, position=position[row].as_py())
                found.append((row, Diagnostic("GG409", reason, place, "set `enableNonnullable=false`")))
            raise writing.RowErrors(found)


WRITE_SIDES = {
    "kafkaconnect_json": writing.WriteSupport(
        formatter=KafkaConnectFormatter,
        framing=lambda table, options, context: writing.TextFraming("UTF-8"),
        projection=lambda options: template_projection(options, options.message_formatting == OP),
    )
}
