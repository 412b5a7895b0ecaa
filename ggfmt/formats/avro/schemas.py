"""Functions for Avro schemas of any system: legal names, logical types, and schema resolution."""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

# What fastavro raises for data that do not match their schema.
DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError, RecursionError)


def is_name(text: str) -> bool:
    """Return whether Avro for Java accepts a name: letters, digits and `_`, no digit first. Java checks UTF-16 units,
    so characters beyond the BMP are not letters."""
    return (text[:1] == "_" or text[:1].isalpha()) and all(
        char <= "\uffff" and (char == "_" or char.isalpha() or unicodedata.category(char) == "Nd") for char in text
    )


Schema = Any  # a schema in its JSON form
MAX_PRECISION = 4000  # digits of a decimal that is read; Python refuses to convert longer numbers to text


def is_timestamp(kind: Schema) -> bool:
    return isinstance(kind, dict) and (kind.get("type"), kind.get("logicalType")) == ("long", "timestamp-micros")


def is_decimal(kind: Schema) -> bool:
    """Return whether a type is a decimal with legal precision and scale."""
    if not isinstance(kind, dict) or (kind.get("type"), kind.get("logicalType")) != ("bytes", "decimal"):
        return False
    precision, scale = kind.get("precision"), kind.get("scale")
    return type(precision) is int and type(scale) is int and 0 <= scale <= precision <= MAX_PRECISION


def is_strings(kind: Schema) -> bool:
    return isinstance(kind, dict) and (kind.get("type"), kind.get("items")) == ("array", "string")


def is_string_map(kind: Schema) -> bool:
    return isinstance(kind, dict) and (kind.get("type"), kind.get("values")) == ("map", "string")


def without_logical_types(schema: Schema) -> Schema:
    """Return the schema without logical types: values decode as their base type, without loss. Types in no namespace
    get that around them: references to them have no namespace either, and fastavro searches them there."""
    if isinstance(schema, list):
        return [without_logical_types(item) for item in schema]
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if key != "logicalType" and (key, value) != _NO_NAMESPACE}
        return {key: without_logical_types(value) for key, value in kept.items()}
    return schema


_NO_NAMESPACE = ("namespace", "")
_NAMED = ("record", "error", "enum", "fixed")


def with_definitions(schema: Schema, others: Iterable[Schema]) -> Schema:
    """Return a schema that is complete in itself: the types that it takes from others are defined at their first use.

    Raises: ValueError for a type with a wrong name or wrong fields.
    """
    found: dict[str, Schema] = {}
    for other in others:
        _inline(other, "", {}, found)
    return _inline(schema, "", found, {}) if found else schema


def _inline(schema: Schema, space: str, others: Mapping[str, Schema], known: dict[str, Schema]) -> Schema:
    """Return a schema with the definitions of `others` in place of names that `known` lacks; add its types to them.

    `space`: the namespace around the schema, in which Java looks for a name first, and then in none.
    """
    if isinstance(schema, list):
        return [_inline(branch, space, others, known) for branch in schema]
    if isinstance(schema, str):
        names = [schema] if "." in schema or not space else [f"{space}.{schema}", schema]
        name = next((name for name in names if name in known or name in others), schema)
        return name if name in known or name not in others else _inline(others[name], "", others, known)
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if schema.get("type") in _NAMED:
        own_name = schema.get("name")
        if not isinstance(own_name, str):
            raise ValueError("a type without a name")
        before, _, last = own_name.rpartition(".")
        space = before or str(schema.get("namespace", space) or "")
        full_name = f"{space}.{last}" if space else last
        if full_name in known:
            return full_name
        known[full_name] = made
        made |= {"name": last, "namespace": space}
    for part in ("type", "items", "values"):
        if isinstance(made.get(part), (str, dict, list)):
            made[part] = _inline(made[part], space, others, known)
    fields = made.get("fields") or ()
    if not all(isinstance(field, dict) for field in fields):
        raise ValueError("a record with wrong fields")
    if fields:
        made["fields"] = [{**field, "type": _inline(field.get("type"), space, others, known)} for field in fields]
    return made


_PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


def can_read(reader: Schema, writer: Schema) -> bool:
    """Return whether a reader with one schema resolves every datum of a writer with another."""
    return _resolves(reader, writer, {}, {})


def describe_change(old: Schema, new: Schema) -> str:
    """Describe the compatibility of a schema change in the terms of schema registries."""
    backward, forward = can_read(new, old), can_read(old, new)
    if backward and forward:
        return "fully compatible"
    if backward:
        return "backward compatible: the new schema reads old data, the old one does not read new data"
    if forward:
        return "forward compatible: the old schema reads new data, the new one does not read old data"
    return "not compatible: neither schema reads data of the other schema"


def _resolves(reader: Schema, writer: Schema, readers: dict[str, Schema], writers: dict[str, Schema]) -> bool:
    reader, writer = _named(reader, readers), _named(writer, writers)
    if isinstance(writer, list):
        return all(_resolves(reader, branch, readers, writers) for branch in writer)
    if isinstance(reader, list):
        return any(_resolves(branch, writer, readers, writers) for branch in reader)
    kind, written = _kind(reader), _kind(writer)
    if kind != written:
        return kind in _PROMOTIONS.get(written, ())
    if kind == "record":
        given = {field["name"]: field["type"] for field in writer["fields"]}
        # Visit every field: a named type is defined at its first use, and later fields refer to it.
        verdicts = [
            _resolves(field["type"], given[field["name"]], readers, writers)
            if field["name"] in given
            else "default" in field
            for field in reader["fields"]
        ]
        return reader.get("name") == writer.get("name") and all(verdicts)
    content = {"array": "items", "map": "values"}.get(kind)
    return content is None or _resolves(reader[content], writer[content], readers, writers)


def _named(schema: Schema, known: dict[str, Schema]) -> Schema:
    """Return the schema for a name that was defined before; other schemas stay as they are."""
    if isinstance(schema, dict) and "name" in schema:
        known[schema["name"]] = schema
    return known.get(schema, schema) if isinstance(schema, str) else schema


def _kind(schema: Schema) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)
