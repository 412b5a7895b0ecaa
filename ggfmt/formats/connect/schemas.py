"""Schemas of Kafka Connect in JSON: the types of fields, and the names of what goes beyond them."""

from __future__ import annotations

from typing import Any

from ggfmt.model.table import Kind

LOGICAL = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = (f"{LOGICAL}{name}" for name in ("Decimal", "Date", "Time", "Timestamp"))
PRECISION = "connect.decimal.precision"  # a parameter of a decimal, beside its `scale`

# What the values of a type are, where they are no texts; floating-point numbers have the names of Avro too.
KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), Kind.INTEGER),
    **dict.fromkeys(("float", "float32"), Kind.FLOAT),
    **dict.fromkeys(("double", "float64"), Kind.DOUBLE),
    "boolean": Kind.BOOLEAN,
    "bytes": Kind.BINARY,
}


def field(name: str, type: str, optional: bool = False) -> dict[str, Any]:
    """A field of a primitive type."""
    return {"type": type, "optional": optional, "field": name}
