"""Programs of the native kernels for Avro: trees of nodes as a schema has them (`kernels/avro_program.h`).

The scanner takes records into columns by a program some of whose nodes have an action on their value
(`kernels/avro_scan.c`). The writer makes JSON of data by a program without actions (`kernels/avro_json.c`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ggfmt.dataclasses import dataclass

Schema = Any  # a parsed JSON document
Program = tuple[Any, ...]  # type, how it is shown, size, texts, children, and, if there is one, an action and its place
Path = tuple[str, ...]  # the names of the fields that lead to a value

# As in avro_program.h.
NULL, BOOLEAN, LONG, FLOAT, DOUBLE, BYTES, STRING, ENUM, FIXED, UNION, RECORD, ARRAY, MAP = range(13)
(PLAIN, AS_TEXT, DATE, TIME, STAMP, DECIMAL) = range(6)

# As in avro_scan.c.
(SKIP, CELL, SLOT, OP, FLAG, TOKEN, TOKENS, IMAGE, NAME) = range(9)

# As in avro_columns.c.
(PUT, ITEM, LIST, GROUP) = range(1, 5)

_PRIMITIVES = {
    "null": NULL, "boolean": BOOLEAN, "int": LONG, "long": LONG, "float": FLOAT, "double": DOUBLE,
    "bytes": BYTES, "string": STRING,
}  # fmt: skip
_MAX_DEPTH = 30


class UnsupportedSchemaError(ValueError):
    """There is no program for a schema: the exact reader reads all of its records."""


@dataclass(frozen=True)
class Use:
    """What becomes of a value: an action and its place, how it is shown, with a size, and the name of a TOKEN."""

    action: int = SKIP
    place: int = 0
    show: int = PLAIN
    size: int | None = None
    token: bytes | None = None


_NO_USE = Use()


def program(schema: Schema, uses: Mapping[Path, Use] | None = None) -> Program:
    """Return the program of a schema of fastavro; without uses, the one that writes JSON. Unions have uses of a
    branch."""
    return _node(schema, (), 0, schema.get("__named_schemas", {}), uses or {})


def record(fields: Sequence[Program]) -> Program:
    return (RECORD, PLAIN, None, (b"",) * len(fields), tuple(fields))


def nested_program(inner: Program) -> Program:
    """Return the program of bytes that contain data of a program."""
    return (BYTES, PLAIN, None, (), (inner,))


def _node(schema: Schema, path: Path, depth: int, named: Mapping[str, Schema], uses: Mapping[Path, Use]) -> Program:
    if depth > _MAX_DEPTH:
        raise UnsupportedSchemaError("the schema is nested too deeply")
    if isinstance(schema, list):
        return (UNION, PLAIN, None, (), tuple(_node(branch, path, depth + 1, named, uses) for branch in schema))
    use = uses.get(path, _NO_USE)
    action = () if use.action == SKIP else (use.action, use.place)
    if isinstance(schema, str):
        kind = _PRIMITIVES.get(schema)
        if kind is None:
            if schema not in named:
                raise UnsupportedSchemaError("a name that stands for nothing")
            return _node(named[schema], path, depth + 1, named, uses)
        if kind == NULL and use.action in (FLAG, TOKENS, IMAGE):
            action = ()
        show, size = (use.show, use.size) if kind in (LONG, BYTES) else (PLAIN, None)
        return (kind, show, size, () if use.token is None else (use.token,), (), *action)
    kind = schema["type"]
    if kind in ("record", "error"):
        fields = schema["fields"]
        if len({field["name"] for field in fields}) < len(fields):
            raise UnsupportedSchemaError("a record has two fields of one name")
        names = tuple(msgspec.json.encode(field["name"]) + b":" for field in fields)
        inner = tuple(_node(field["type"], (*path, field["name"]), depth + 1, named, uses) for field in fields)
        return (RECORD, PLAIN, None, names, inner, *action)
    if kind in ("array", "map"):
        item = _node(schema["items" if kind == "array" else "values"], (), depth + 1, named, {})
        return (ARRAY if kind == "array" else MAP, PLAIN, None, (), (item,), *action)
    if kind == "enum":
        return (ENUM, PLAIN, None, tuple(map(msgspec.json.encode, schema["symbols"])), (), *action)
    if kind == "fixed":
        return (FIXED, PLAIN, schema["size"], (), (), *action)
    return _node(kind, path, depth + 1, named, uses)
