"""Programs of the native kernel that takes records in Avro into columns (`kernels/avro_scan.c`): a tree of readers as a
schema has them, some of which put what they read somewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Any  # a parsed JSON document
Program = tuple[Any, ...]  # type, action, place, how it is shown, argument, children
Path = tuple[str, ...]  # the names of the fields that lead to a value

# As in avro_scan.c.
(_NULL, _BOOLEAN, _LONG, _FLOAT, _DOUBLE, _BYTES, _STRING, _ENUM, _FIXED, _UNION, _RECORD, _ARRAY, _MAP) = range(13)
(SKIP, CELL, SLOT, OP, FLAG, TOKEN, TOKENS, IMAGE, NAME) = range(9)
(PLAIN, MICROS, DECIMAL) = range(3)

_PRIMITIVES = {
    "null": _NULL, "boolean": _BOOLEAN, "int": _LONG, "long": _LONG, "float": _FLOAT, "double": _DOUBLE,
    "bytes": _BYTES, "string": _STRING,
}  # fmt: skip
_MOST_DEPTH = 30


class Unscannable(ValueError):
    """There is no program for a schema: the exact reader reads all of its records."""


@dataclass(frozen=True)
class Use:
    """What becomes of a value. `argument` is the scale of a DECIMAL, the name of a TOKEN."""

    action: int = SKIP
    place: int = 0
    show: int = PLAIN
    argument: int | bytes | None = None


_NO_USE = Use()


def program(schema: Schema, uses: Mapping[Path, Use]) -> Program:
    """The program of a schema as fastavro's `parse_schema` has it. A use of a union is one of its branches."""
    return _Maker(schema.get("__named_schemas", {}), uses).node(schema, (), 0)


def record(fields: Sequence[Program]) -> Program:
    """The program of a record of fields."""
    return (_RECORD, SKIP, 0, PLAIN, None, tuple(fields))


class _Maker:
    def __init__(self, named: Mapping[str, Schema], uses: Mapping[Path, Use]) -> None:
        self._named = named
        self._uses = uses

    def node(self, schema: Schema, path: Path, depth: int) -> Program:
        if depth > _MOST_DEPTH:
            raise Unscannable("the schema is nested too deeply")
        if isinstance(schema, list):
            children = tuple(self.node(branch, path, depth + 1) for branch in schema)
            return (_UNION, SKIP, 0, PLAIN, None, children)
        use = self._uses.get(path, _NO_USE)
        if isinstance(schema, str):
            kind = _PRIMITIVES.get(schema)
            if kind is None:
                return self.node(self._named_as(schema), path, depth + 1)
            action = SKIP if kind == _NULL and use.action in (FLAG, TOKENS, IMAGE) else use.action
            show = use.show if kind in (_LONG, _BYTES) else PLAIN
            return (kind, action, use.place, show, use.argument, ())
        kind = schema["type"]
        if kind in ("record", "error"):
            fields = schema["fields"]
            if len({field["name"] for field in fields}) < len(fields):
                raise Unscannable("a record has two fields of one name")
            inner = tuple(self.node(field["type"], (*path, field["name"]), depth + 1) for field in fields)
            return (_RECORD, use.action, use.place, PLAIN, use.argument, inner)
        if kind == "array":
            return (_ARRAY, use.action, use.place, PLAIN, None, (self._passed_over(schema["items"], depth),))
        if kind == "map":
            return (_MAP, use.action, use.place, PLAIN, None, (self._passed_over(schema["values"], depth),))
        if kind == "enum":
            return (_ENUM, use.action, use.place, PLAIN, len(schema["symbols"]), ())
        if kind == "fixed":
            return (_FIXED, use.action, use.place, PLAIN, schema["size"], ())
        return self.node(kind, path, depth + 1)

    def _passed_over(self, schema: Schema, depth: int) -> Program:
        return _Maker(self._named, {}).node(schema, (), depth + 1)

    def _named_as(self, name: str) -> Schema:
        if name not in self._named:
            raise Unscannable("a name that stands for nothing")
        return self._named[name]
