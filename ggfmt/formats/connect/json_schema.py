"""Schemas of Kafka Connect in JSON Schema, and back, as Confluent's converter makes them (`JsonSchemaData`).

The title is the name of a schema. Keywords have what JSON Schema has no word for: `connect.type`, `connect.index`,
`connect.version`, `connect.parameters`. An optional schema is `oneOf` null and the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ggfmt.formats.avro.confluent import properties_of
from ggfmt.formats.connect import schemas as connect

Schema = Any  # a schema in its JSON form

MAX_TYPES = 100_000  # in a schema; references can repeat types without end
_JSON_TYPES = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "integer"),
    **dict.fromkeys(("float32", "float64", "float", "double"), "number"),
    "boolean": "boolean", "string": "string", "bytes": "string",
}  # fmt: skip
_PLAIN = {"boolean", "string"}  # types that need no `connect.type`
_LONG_NAMES = {"float": "float32", "double": "float64"}
_CONNECT_TYPES = {"integer": "int64", "number": "float64", "boolean": "boolean", "string": "string"}
_NULL = {"type": "null"}
_TEXT = {"type": "string", "optional": False}


def json_schema(schema: Mapping[str, Any], numeric: bool = False, index: int | None = None) -> Schema:
    """Return the JSON Schema of a schema of Connect. `numeric`: decimals are numbers. `index`: place in its struct."""
    kind = schema["type"]
    made: dict[str, Any]
    if kind == "struct":
        fields = enumerate(schema["fields"])
        made = {"type": "object", "properties": {own["field"]: json_schema(own, numeric, n) for n, own in fields}}
    elif kind == "array":
        made = {"type": "array", "items": json_schema(schema["items"], numeric)}
    elif kind == "map":
        values = json_schema(schema["values"], numeric)
        made = {"type": "object", "connect.type": "map", "additionalProperties": values}
    else:
        is_number = numeric and schema.get("name") == connect.DECIMAL
        made = {"type": "number" if is_number else _JSON_TYPES[kind]}
        made |= {} if kind in _PLAIN else {"connect.type": _LONG_NAMES.get(kind, kind)}
    about = {"title": "name", "connect.version": "version", "connect.parameters": "parameters"}
    made |= {keyword: schema[name] for keyword, name in about.items() if schema.get(name)}
    if schema.get("optional"):
        made = {"oneOf": [_NULL, made]}
    return made if index is None else {**made, "connect.index": index}


def connect_schema(schema: Schema, documents: Mapping[str, Schema]) -> dict[str, Any]:
    """Convert a JSON Schema into the schema of Connect. `documents`: what it refers to, by name.

    Raises: ValueError if that is impossible, RecursionError for types that contain themselves.
    """
    return _read(schema, schema, documents, iter(range(MAX_TYPES)))


def _read(schema: Schema, root: Schema, documents: Mapping[str, Schema], left: Iterator[int]) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise ValueError("a type that is not an object")
    if next(left, None) is None:
        raise ValueError(f"more than {MAX_TYPES:,} types")
    if "$ref" in schema:
        return _read(*_referred(schema["$ref"], root, documents), documents, left)
    kind = schema.get("type")
    branches = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(kind, list):
        branches = [{**schema, "type": each} for each in kind]
    if isinstance(branches, list):
        others = [branch for branch in branches if not isinstance(branch, dict) or branch.get("type") != "null"]
        if len(others) != 1:
            raise ValueError("a union of several types")
        found = _read(others[0], root, documents, left)
        return {**found, "optional": found["optional"] or len(others) < len(branches)}
    about: dict[str, Any] = {"optional": False}
    about |= {"name": schema["title"]} if isinstance(schema.get("title"), str) else {}
    parameters = schema.get("connect.parameters")
    if isinstance(parameters, dict):
        about["parameters"] = {name: str(value) for name, value in parameters.items()}
    own = schema.get("connect.type")
    if kind == "object" and own == "map":
        values = _read(schema.get("additionalProperties"), root, documents, left)
        return {"type": "map", "keys": _TEXT, "values": values, **about}
    if kind == "object":
        fields = [{**_read(part, root, documents, left), "field": name} for name, part in properties_of(schema)]
        return {"type": "struct", "fields": fields, **about}
    if kind == "array":
        items = _read(schema.get("items"), root, documents, left)
        entry = {field["field"]: field for field in items.get("fields", ())}
        if own == "map" and entry.keys() == {"key", "value"}:
            return {"type": "map", "keys": entry["key"], "values": entry["value"], **about}
        return {"type": "array", "items": items, **about}
    if kind is None and isinstance(schema.get("enum"), list):
        kind = "string"
    if kind not in _CONNECT_TYPES:
        raise ValueError("a type that the converter does not write")
    return {"type": own if own in _JSON_TYPES else _CONNECT_TYPES[kind], **about}


def _referred(reference: Any, root: Schema, documents: Mapping[str, Schema]) -> tuple[Schema, Schema]:
    """Return what a reference refers to, and the document that has it."""
    name, _, pointer = reference.partition("#") if isinstance(reference, str) else ("?", "", "")
    found = document = documents.get(name) if name else root
    for part in pointer.split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    if found is None or (pointer and not pointer.startswith("/")):
        raise ValueError("a reference to a missing type")
    return found, document
