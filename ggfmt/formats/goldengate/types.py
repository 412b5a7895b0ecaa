"""The types that GoldenGate's formatters give to columns, by release."""

from __future__ import annotations

from enum import Enum

from ggfmt.model.table import Kind, SqlType
from ggfmt.options.releases import RELEASES

# What a primitive type of an Avro schema says of a column.
AVRO_KINDS = {
    "string": Kind.STRING,
    "boolean": Kind.BOOLEAN,
    "int": Kind.INTEGER,
    "long": Kind.INTEGER,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "bytes": Kind.BINARY,
}


class MessageType(str, Enum):
    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DOUBLE = "double"


def target_type(source: SqlType, release: str) -> MessageType:
    """The type of a column in messages. No trail of these releases has booleans; those of other sources stay such."""
    kind = source.kind
    if kind is Kind.BOOLEAN:
        return MessageType.BOOLEAN
    if not RELEASES[release].typed_numbers:
        return (
            MessageType.DOUBLE if kind in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE) else MessageType.STRING
        )
    if kind is Kind.INTEGER or (kind is Kind.DECIMAL and source.scale == 0):
        return MessageType.INTEGER
    if kind is Kind.FLOAT:
        return MessageType.FLOAT
    return MessageType.DOUBLE if kind in (Kind.DECIMAL, Kind.NUMBER, Kind.DOUBLE) else MessageType.STRING
