"""DTS's records decoded from Avro's binary encoding (Avro specification 1.8, "Binary Encoding").

The schema of records makes the decoder. A branch of a union must be one byte, and a datum must use all its bytes: the
bytes at the end show the version of the schema.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ggfmt.formats.avro.containers import read_bytes, read_long
from ggfmt.formats.dts.schema import record_schema

Record = tuple[Any, ...]  # the name of its type, and its values
Cell = Record | str | None  # a value, a word of `EMPTY_OBJECTS`, or NULL
Read = Callable[[bytes, int], tuple[Any, int]]  # returns the value at a place, and the place after it


class MalformedRecordError(ValueError):
    """Error for bytes that are not a record."""


class DtsRecord(NamedTuple):
    """A record by the members of its schema. `source` and `fields` have records."""

    version: int
    id: int
    timestamp: int
    position: str
    safe_position: str
    transaction: str
    source: Record
    operation: str
    object_name: str | None
    process_timestamps: list[int] | None
    tags: dict[str, str]
    fields: list[Record] | str | None
    before: list[Cell] | str | None
    after: list[Cell] | str | None
    born: int

    @property
    def source_type(self) -> str:
        return str(self.source[1])

    @property
    def source_version(self) -> str:
        return str(self.source[2])


def datum(data: bytes) -> DtsRecord:
    """Decode a record of either version. Raises: MalformedRecordError if the bytes are not one record."""
    record, place = record_at(data, 0, None)
    if place != len(data):
        raise MalformedRecordError("extra bytes follow the record")
    return record


def record_at(data: bytes, start: int, born: bool | None) -> tuple[DtsRecord, int]:
    """Decode the record at a place, and return it with the place after it. `born`: the record has a `bornTimestamp`;
    None: it has one if bytes are left. Raises: MalformedRecordError if there is no record."""
    stamp = 0
    try:
        members, place = _record(data, start)
        if born or (born is None and place != len(data)):
            stamp, place = read_long(data, place)
    except (ValueError, IndexError, struct.error):
        raise MalformedRecordError("the bytes are not a DTS record") from None
    return DtsRecord._make((*members[1:], stamp)), place


def _text(data: bytes, place: int) -> tuple[str, int]:
    value, place = read_bytes(data, place)
    return value.decode(), place


def _double(data: bytes, place: int) -> tuple[float, int]:
    return struct.unpack_from("<d", data, place)[0], place + 8


_PRIMITIVES: dict[str, Read] = {
    "null": lambda data, place: (None, place),
    "int": read_long,
    "long": read_long,
    "double": _double,
    "bytes": read_bytes,
    "string": _text,
}


def _reader(schema: Any, named: dict[str, Read]) -> Read:
    if isinstance(schema, str):
        return _PRIMITIVES.get(schema) or named[schema]
    if isinstance(schema, list):
        return _union([_reader(branch, named) for branch in schema])
    kind = schema["type"]
    if kind == "array":
        return _items(_reader(schema["items"], named))
    if kind == "map":
        return _mapping(_reader(schema["values"], named))
    if kind == "enum":
        read = _union([_constant(symbol) for symbol in schema["symbols"]])
    else:
        # ggfmt ignores the names of types: they may be any bytes.
        types = ("bytes" if field["name"] == "type" else field["type"] for field in schema["fields"])
        read = _members(schema["name"], [_reader(type, named) for type in types])
    named[schema["name"]] = read
    return read


def _constant(value: str) -> Read:
    return lambda data, place: (value, place)


def _union(branches: Sequence[Read]) -> Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        branch = data[place]
        if branch & 1:
            raise MalformedRecordError
        return branches[branch >> 1](data, place + 1)

    return read


def _members(name: str, fields: Sequence[Read]) -> Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        values = [name]
        for field in fields:
            value, place = field(data, place)
            values.append(value)
        return tuple(values), place

    return read


def _items(item: Read) -> Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        values: list[Any] = []
        while True:
            count, place = read_long(data, place)
            if not count:
                return values, place
            if count < 0:  # the size of the items in bytes follows
                _, place = read_long(data, place)
            for _ in range(abs(count)):
                value, place = item(data, place)
                values.append(value)

    return read


def _mapping(value: Read) -> Read:
    entries = _items(_members("", [_text, value]))

    def read(data: bytes, place: int) -> tuple[Any, int]:
        found, place = entries(data, place)
        return {name: content for _, name, content in found}, place

    return read


_record = _reader(record_schema(born=False), {})
