"""The Avro types and schemas of a table's messages, by the options of the handler."""

from __future__ import annotations

from typing import Any

from ggfmt.columnar.avro import ENCODERS, AvroEncoder, optional_decimals, optional_micros
from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions, is_flagged
from ggfmt.formats.goldengate.avro.schema import AvroSchema, message_schema, wrapper_schema
from ggfmt.formats.goldengate.schemas import MessageType, metadata_property, target_type
from ggfmt.java.date_format import date_mask
from ggfmt.model.table import Kind, SqlType, TableDef
from ggfmt.options.releases import RELEASES

ORACLE_DIGITS = 38  # maximum precision of a NUMBER(p,s)
# Precision of a NUMBER without precision. Oracle's manuals say 164 in one place and 168 in another; ggfmt uses the
# first. Only schemas show the difference: no NUMBER has so many digits.
NUMBER_PRECISION = 164
_LONG_DIGITS, _DOUBLE_DIGITS = 18, 15  # digits that every long and every double holds


@dataclass(frozen=True)
class ColumnType:
    """The type of a column: its schema without `null`, the encoder of its values, and a description of legal values."""

    schema: Any
    encode: AvroEncoder
    wanted: str = ""

    @property
    def title(self) -> str:
        if isinstance(self.schema, str):
            return self.schema
        sizes = [str(self.schema[name]) for name in ("precision", "scale") if name in self.schema]
        return f"{self.schema['logicalType']}({','.join(sizes)})" if sizes else str(self.schema["logicalType"])


def _plain(name: str, wanted: str = "") -> ColumnType:
    return ColumnType(name, ENCODERS[name], wanted)


_STRING = _plain("string")
_PLAIN = {
    MessageType.STRING: _STRING,
    MessageType.BOOLEAN: _plain("boolean", "`true` or `false`"),
    MessageType.INTEGER: _plain("long", "a whole number of 64 bits"),
    MessageType.FLOAT: _plain("float", "a number in the range of a float"),
    MessageType.DOUBLE: _plain("double", "a number in the range of a double"),
}


def avro_types(table: TableDef, options: AvroOptions, context: Context) -> list[ColumnType]:
    return [_column_type(column.type, options, context) for column in table.columns]


def _column_type(source: SqlType, options: AvroOptions, context: Context) -> ColumnType:
    if options.treat_all_columns_as_strings:
        return _STRING
    if options.enable_timestamp_logical_type and source.kind in (Kind.DATE, Kind.TIMESTAMP):
        return _timestamp(context.timestamp_mask)
    target = target_type(source, context.release)
    if options.enable_decimal_logical_type and _is_decimal(source):
        if options.map_oracle_numbers_as_strings and _is_number(source):
            return _STRING
        return _decimal(source, options)
    if options.map_large_numbers_as_strings and _may_not_fit(source, target):
        return _STRING
    return _PLAIN[target]


def _is_number(source: SqlType) -> bool:
    """Return whether a type is NUMBER without precision and scale."""
    sizes = (source.precision, source.scale)
    return source.kind is Kind.NUMBER or (source.kind is Kind.DECIMAL and sizes == (None, None))


def _is_decimal(source: SqlType) -> bool:
    """Return whether a column becomes a decimal: a number that is neither a machine integer nor floating."""
    large = source.kind is Kind.INTEGER and (source.precision or 0) > _LONG_DIGITS
    return large or source.kind in (Kind.DECIMAL, Kind.NUMBER)


def _decimal(source: SqlType, options: AvroOptions) -> ColumnType:
    """Return the decimal type of a column. Avro allows neither negative scales nor scales above the precision. If the
    definition lacks a precision, as those of DEFGEN do, the precision is that of the largest NUMBER(p,s)."""
    if _is_number(source):
        precision, scale = NUMBER_PRECISION, options.oracle_number_scale
    else:
        given = source.scale or 0
        precision, scale = (source.precision or ORACLE_DIGITS) + max(-given, 0), max(given, 0)
    precision = max(precision, scale)
    if options.max_precision is not None:
        precision = min(precision, options.max_precision)
        scale = min(scale, precision)
    schema = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    wanted = f"a number of at most {precision} digits, {scale} of them after the decimal point"
    return ColumnType(schema, optional_decimals(precision, scale), wanted)


def _timestamp(mask: str) -> ColumnType:
    """Return the type of times with a mask. Only a reader can do without a mask."""
    encode = optional_micros(date_mask(mask)) if mask else ENCODERS["long"]
    schema = {"type": "long", "logicalType": "timestamp-micros"}
    return ColumnType(schema, encode, f"a time that matches the mask `{mask}`")


def _may_not_fit(source: SqlType, target: MessageType) -> bool:
    """Return whether a long or a double may lose digits. A column of unknown size may have as many as NUMBER."""
    if source.kind in (Kind.FLOAT, Kind.DOUBLE):
        return False
    if target is MessageType.INTEGER:
        known = source.precision if source.precision is not None or source.kind is Kind.INTEGER else ORACLE_DIGITS
        return (known or 0) > _LONG_DIGITS
    return target is MessageType.DOUBLE and (source.precision or ORACLE_DIGITS) > _DOUBLE_DIGITS


def avro_schema(table: TableDef, options: AvroOptions, context: Context, by_image: bool) -> AvroSchema:
    """Return the schema of a table's messages: operation messages if `by_image`, else row messages. If messages contain
    its hash, the text is the one that GoldenGate hashes, without a property of ggfmt."""
    types = [column.schema for column in avro_types(table, options, context)]
    is_hashed = wrapper(options, context) is not None and not by_fingerprint(options, context)
    properties = {} if is_hashed else metadata_property(options, context)
    flagged = is_flagged(options, by_image)
    return message_schema(table, options.metadata(context), types, by_image, flagged, properties)


def wrapper(options: AvroOptions, context: Context) -> AvroSchema | None:
    if not isinstance(options, AvroOpOptions) or not options.wrap_message_in_generic_avro_message:
        return None
    return wrapper_schema(by_fingerprint(options, context))


def by_fingerprint(options: AvroOptions, context: Context) -> bool:
    """Return whether wrappers name the schema of their message by fingerprint, not by hash."""
    given = options.generic_wrapper_use_fingerprint if isinstance(options, AvroOpOptions) else None
    return RELEASES[context.release].fingerprint if given is None else given
