"""Avro once more: what a message says, as a plain record, and how an object container file is read, by the book."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import Any

import fastavro
from oracle import OP_OPTIONS, PlainImage, PlainOperation, PlainTable, row_image

METADATA = ("table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens")
TYPES = {
    "12.2": {"boolean": "boolean", **dict.fromkeys(("integer", "decimal", "float", "double"), "double")},
    "12.3": {
        "boolean": "boolean",
        "integer": "long",
        "float": "float",
        **dict.fromkeys(("decimal", "number", "double"), "double"),
    },
}


def avro_type(kind: str, options: Mapping[str, Any], release: str) -> str:
    return "string" if options["treat_all_columns_as_strings"] else TYPES[release].get(kind, "string")


def value(text: str | None, kind: str) -> Any:
    """The value of a text, which is one of the Avro type `kind`."""
    if text is None or kind == "string":
        return text
    if kind == "boolean":
        return {"true": True, "false": False}[text]
    if kind == "long":
        whole, _, fraction = text.partition(".")
        assert not fraction.strip("0")
        return int(whole)
    number = float(text)
    return struct.unpack("<f", struct.pack("<f", number))[0] if kind == "float" else number


def record(
    table: PlainTable,
    operation: PlainOperation,
    options: Mapping[str, Any],
    release: str,
    include_tokens: bool,
    current_ts: str,
    by_image: bool,
) -> dict[str, Any]:
    """The message of an operation as a reader of Avro is to find it."""

    def columns(image: PlainImage) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for column in table.columns:
            found[column.name] = value(image.get(column.name), avro_type(column.kind, options, release))
            if by_image or options.get("include_is_missing_fields"):
                found[column.name + "_isMissing"] = column.name not in image
        return found

    message: dict[str, Any] = {
        "table": table.name,
        "op_type": options[OP_OPTIONS[operation.op]],
        "op_ts": operation.op_ts or "",
        "current_ts": current_ts,
        "pos": operation.pos or "",
        "primary_keys": table.keys,
        "tokens": dict(operation.tokens) if include_tokens else {},
    }
    if not by_image:
        return message | columns(row_image(operation))
    message["before"] = None if operation.before is None else columns(operation.before)
    message["after"] = None if operation.after is None else columns(operation.after)
    return message


def decode_stream(data: bytes, schema: Mapping[str, Any], delimiter: bytes = b"") -> list[Any]:
    """The messages of a stream, each followed by the delimiter."""
    parsed = fastavro.parse_schema(dict(schema))
    stream = io.BytesIO(data)
    found = []
    while stream.tell() < len(data):
        found.append(fastavro.schemaless_reader(stream, parsed, None))
        assert stream.read(len(delimiter)) == delimiter
    return found
