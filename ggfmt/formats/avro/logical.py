"""Logical types of Avro: data are read as what they annotate, so that no digit and no date is lost on the way."""

from __future__ import annotations

from typing import Any

Schema = Any  # a schema as its JSON says it


def plain(schema: Schema) -> Schema:
    """The schema without logical types."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if isinstance(schema, dict):
        return {key: plain(value) for key, value in schema.items() if key != "logicalType"}
    return schema
