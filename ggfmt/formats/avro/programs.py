"""Programs of the native Avro kernels: trees of readers that follow a schema.

One kernel (`kernels/avro_scan.c`) takes records into columns: some readers store what they read. The other
(`kernels/avro_json.c`) writes data as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

Schema = Any  # a parsed JSON document
Program = tuple[Any, ...]  # type, action, place, representation, argument, children
Path = tuple[str, ...]  # the names of the fields that lead to a value

# The numbers are those in avro_scan.c.
NULL, BOOLEAN, LONG, FLOAT, DOUBLE, BYTES, STRING, ENUM, FIXED, UNION, RECORD, ARRAY, MAP = range(13)
(SKIP, CELL, SLOT, OP, FLAG, TOKEN, TOKENS, IMAGE, NAME) = range(9)
(PLAIN, MICROS, DECIMAL) = range(3)

# Representations of values in JSON; the numbers are those in avro_json.c.
(IN_JSON, AS_TEXT, DATE, TIME, STAMP, AS_DECIMAL) = range(6)

_PRIMITIVES = {
    "null": NULL, "boolean": BOOLEAN, "int": LONG, "long": LONG, "float": FLOAT, "double": DOUBLE,
    "bytes": BYTES, "string": STRING,
}  # fmt: skip
_MAX_DEPTH = 30


class UnsupportedSchemaError(ValueError):
    """There is no program for a schema; the exact reader reads all of its records."""


@dataclass(frozen=True)
class Use:
    """What the kernel does with a value. `argument` is the scale of a DECIMAL, or the name of a TOKEN."""

    action: int = SKIP
    place: int = 0
    show: int = PLAIN
    argument: int | bytes | None = None


_NO_USE = Use()


def program(schema: Schema, uses: Mapping[Path, Use]) -> Program:
    """Return the program of a schema from fastavro's `parse_schema`. A use of a union applies to its branches."""
    return _Maker(schema.get("__named_schemas", {}), uses).node(schema, (), 0)


def record(fields: Sequence[Program]) -> Program:
    """Return the program of a record of fields."""
    return (RECORD, SKIP, 0, PLAIN, None, tuple(fields))


def json_program(schema: Schema) -> Program:
    """Return the program that writes data of a schema, from fastavro's `parse_schema`, as JSON."""
    return _json_node(schema, schema.get("__named_schemas", {}), 0)


def nested_program(inner: Program) -> Program:
    """Return the program of bytes that contain data of a program."""
    return (BYTES, IN_JSON, None, (), (inner,))


def _json_node(schema: Schema, named: Mapping[str, Schema], depth: int) -> Program:
    """Return type, representation, size, texts and children of a node."""
    if depth > _MAX_DEPTH:
        raise UnsupportedSchemaError("the schema is nested too deeply")
    if isinstance(schema, list):
        return (UNION, IN_JSON, None, (), tuple(_json_node(branch, named, depth + 1) for branch in schema))
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return (_PRIMITIVES[schema], IN_JSON, None, (), ())
        return _json_node(_named_as(schema, named), named, depth + 1)
    kind = schema["type"]
    if kind in ("record", "error"):
        fields = _fields_of(schema)
        names = tuple(msgspec.json.encode(field["name"]) + b":" for field in fields)
        return (RECORD, IN_JSON, None, names, tuple(_json_node(field["type"], named, depth + 1) for field in fields))
    if kind in ("array", "map"):
        inner = schema["items" if kind == "array" else "values"]
        return (ARRAY if kind == "array" else MAP, IN_JSON, None, (), (_json_node(inner, named, depth + 1),))
    if kind == "enum":
        return (ENUM, IN_JSON, None, tuple(map(msgspec.json.encode, schema["symbols"])), ())
    if kind == "fixed":
        return (FIXED, IN_JSON, schema["size"], (), ())
    return _json_node(kind, named, depth + 1)


def _fields_of(schema: Schema) -> list[Schema]:
    fields: list[Schema] = schema["fields"]
    if len({field["name"] for field in fields}) < len(fields):
        raise UnsupportedSchemaError("a record has two fields of one name")
    return fields


def _named_as(name: str, named: Mapping[str, Schema]) -> Schema:
    if name not in named:
        raise UnsupportedSchemaError("a name that stands for nothing")
    return named[name]


class _Maker:
    def __init__(self, named: Mapping[str, Schema], uses: Mapping[Path, Use]) -> None:
        self._named = named
        self._uses = uses

    def node(self, schema: Schema, path: Path, depth: int) -> Program:
        if depth > _MAX_DEPTH:
            raise UnsupportedSchemaError("the schema is nested too deeply")
        if isinstance(schema, list):
            children = tuple(self.node(branch, path, depth + 1) for branch in schema)
            return (UNION, SKIP, 0, PLAIN, None, children)
        use = self._uses.get(path, _NO_USE)
        if isinstance(schema, str):
            kind = _PRIMITIVES.get(schema)
            if kind is None:
                return self.node(_named_as(schema, self._named), path, depth + 1)
            action = SKIP if kind == NULL and use.action in (FLAG, TOKENS, IMAGE) else use.action
            show = use.show if kind in (LONG, BYTES) else PLAIN
            return (kind, action, use.place, show, use.argument, ())
        kind = schema["type"]
        if kind in ("record", "error"):
            fields = _fields_of(schema)
            inner = tuple(self.node(field["type"], (*path, field["name"]), depth + 1) for field in fields)
            return (RECORD, use.action, use.place, PLAIN, use.argument, inner)
        if kind == "array":
            return (ARRAY, use.action, use.place, PLAIN, None, (self._passed_over(schema["items"], depth),))
        if kind == "map":
            return (MAP, use.action, use.place, PLAIN, None, (self._passed_over(schema["values"], depth),))
        if kind == "enum":
            return (ENUM, use.action, use.place, PLAIN, len(schema["symbols"]), ())
        if kind == "fixed":
            return (FIXED, use.action, use.place, PLAIN, schema["size"], ())
        return self.node(kind, path, depth + 1)

    def _passed_over(self, schema: Schema, depth: int) -> Program:
        return _Maker(self._named, {}).node(schema, (), depth + 1)
