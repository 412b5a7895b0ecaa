"""Schemas of Kafka Connect in Avro, and back, as Confluent's converter makes them (`AvroData`).

Attributes have what Avro has no word for: `connect.name`, `connect.version`, `connect.parameters`, `connect.type`.
An optional schema is a union with null. Connect's own Decimal, Date, Time and Timestamp are logical types too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ggfmt.formats.connect import schemas as connect

Schema = Any  # a schema in its JSON form

_AVRO = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float", "float32": "float",
    "double": "double", "float64": "double", "boolean": "boolean", "string": "string", "bytes": "bytes",
}  # fmt: skip
_CONNECT = {
    "int": "int32", "long": "int64", "float": "float", "double": "double", "boolean": "boolean", "string": "string",
    "bytes": "bytes",
}  # fmt: skip
_LOGICAL = {
    ("int", "date"): connect.DATE,
    ("int", "time-millis"): connect.TIME,
    ("long", "timestamp-millis"): connect.TIMESTAMP,
    ("bytes", "decimal"): connect.DECIMAL,
    ("fixed", "decimal"): connect.DECIMAL,
}
_LOGICAL_NAMES = {name: (base, word) for (base, word), name in _LOGICAL.items() if base != "fixed"}
_PRECISION = 64  # of a decimal without one
_STRUCT = "ConnectDefault"


def adjusted(full_name: str) -> str:
    """Return a full name with `_` for each character that Avro does not allow."""
    parts = (re.sub("[^A-Za-z0-9_]", "_", part) for part in full_name.split(".") if part)
    return ".".join(re.sub("^[0-9]", "_", part) for part in parts)


# To Avro


def avro_schema(schema: Mapping[str, Any], known: dict[str, Schema] | None = None) -> Schema:
    """Return the Avro schema of a schema of Connect, with the name alone of a struct that it contains already."""
    known = {} if known is None else known
    made = _made(schema, known)
    return ["null", made] if schema.get("optional") else made


def _made(schema: Mapping[str, Any], known: dict[str, Schema]) -> Schema:
    kind, name = schema["type"], schema.get("name")
    made: dict[str, Any]
    if kind == "array":
        made = {"type": "array", "items": avro_schema(schema["items"], known)}
    elif kind == "map":
        made = {"type": "map", "values": avro_schema(schema["values"], known)}
    elif kind == "struct":
        full_name = adjusted(name or _STRUCT)
        if full_name in known:
            return full_name
        space, _, last = full_name.rpartition(".")
        within = any("." in outer for outer in known)
        made = {"type": "record", "name": last, **({"namespace": space} if space or within else {})}
        known[full_name] = made
        made["fields"] = [_field(field, known) for field in schema["fields"]]
    else:
        made = {"type": _AVRO[kind]}
        if kind in ("int8", "int16"):
            made["connect.type"] = kind
        if name == connect.DECIMAL:
            made |= _decimal(schema.get("parameters") or {})
        elif name in _LOGICAL_NAMES:
            made["logicalType"] = _LOGICAL_NAMES[name][1]
    about = {"connect.version": schema.get("version"), "connect.parameters": schema.get("parameters")}
    made |= {attribute: value for attribute, value in about.items() if value}
    if name:
        made["connect.name"] = name
    return made if len(made) > 1 else made["type"]


def _field(field: Mapping[str, Any], known: dict[str, Schema]) -> dict[str, Any]:
    made = {"name": field["field"], "type": avro_schema(field, known)}
    return {**made, "default": None} if field.get("optional") else made


def _decimal(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the attributes of a decimal: the logical type too if Avro does not allow the scale, as the converter."""
    scale, precision = int(parameters.get("scale", 0)), int(parameters.get(connect.PRECISION, _PRECISION))
    return {"scale": scale, "precision": precision, "logicalType": "decimal"}


# From Avro


def connect_schema(schema: Schema) -> dict[str, Any]:
    """Convert an Avro schema into the schema of Connect. Raises: ValueError if that is impossible."""
    return _read(schema, {}, "")


def _read(schema: Schema, known: dict[str, dict[str, Any]], space: str) -> dict[str, Any]:
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch not in ("null", {"type": "null"})]
        if len(branches) != 1:
            raise ValueError("a union of several types")
        return {**_read(branches[0], known, space), "optional": len(branches) < len(schema)}
    if isinstance(schema, str):
        if schema in _CONNECT:
            return {"type": _CONNECT[schema], "optional": False}
        full_name = schema if "." in schema or not space else f"{space}.{schema}"
        found = known.get(full_name) or known.get(schema)
        if found is None:
            raise ValueError("it uses an undefined type name")
        return {**found, "optional": False}
    if not isinstance(schema, dict):
        raise ValueError("neither a name nor an object")
    kind = schema.get("type")
    if isinstance(kind, dict | list):
        return _read(kind, known, space)
    about: dict[str, Any] = {"optional": False}
    name, parameters = schema.get("connect.name"), schema.get("connect.parameters")
    logical = _LOGICAL.get((str(kind), str(schema.get("logicalType"))))
    if logical == connect.DECIMAL or name == connect.DECIMAL:
        sizes = {"scale": schema.get("scale", 0), connect.PRECISION: schema.get("precision")}
        shown = {size: str(value) for size, value in sizes.items() if value not in (None, _PRECISION)}
        parameters = {**shown, **(parameters if isinstance(parameters, dict) else {})}
    if isinstance(name or logical, str):
        about["name"] = name or logical
    if isinstance(parameters, dict):
        about["parameters"] = {size: str(value) for size, value in parameters.items()}
    if kind == "array":
        return {"type": "array", "items": _read(schema.get("items"), known, space), **about}
    if kind == "map":
        text = {"type": "string", "optional": False}
        return {"type": "map", "keys": text, "values": _read(schema.get("values"), known, space), **about}
    if kind in ("record", "enum", "fixed"):
        return _named(schema, known, space, about)
    if not isinstance(kind, str) or kind not in _CONNECT:
        raise ValueError("an unknown type")
    own = schema.get("connect.type")
    return {"type": own if own in ("int8", "int16") else _CONNECT[kind], **about}


def _named(
    schema: dict[str, Any], known: dict[str, dict[str, Any]], space: str, about: dict[str, Any]
) -> dict[str, Any]:
    name = schema.get("name")
    if not isinstance(name, str):
        raise ValueError("a type without a name")
    space = name.rpartition(".")[0] if "." in name else str(schema.get("namespace", space) or "")
    full_name = name if "." in name or not space else f"{space}.{name}"
    if schema["type"] != "record":
        made: dict[str, Any] = {"type": "string" if schema["type"] == "enum" else "bytes", **about}
    else:
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise ValueError("a record without fields")
        members = [{**_read(field.get("type"), known, space), "field": field.get("name")} for field in fields]
        made = {"type": "struct", "fields": members, "name": full_name, **about}
    known[full_name] = made
    return made
