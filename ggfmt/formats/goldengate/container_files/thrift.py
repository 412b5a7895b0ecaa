"""Thrift's compact protocol, which describes itself: a struct is read and written without its declaration.

The footer of a Parquet file is such a struct, without maps. Unknown fields stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ggfmt.columnar.pieces import varint, zigzag_varint
from ggfmt.formats.avro.containers import read_varint, unzigzag


class Type(IntEnum):
    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    STRUCT = 12


class Value(NamedTuple):
    """A value of a field: `content` is a bool, an int, bytes (also of a DOUBLE), `Items` or a `Struct`."""

    type: Type
    content: Any


class Items(NamedTuple):
    """The items of a list or a set, all of one type."""

    type: Type
    contents: Sequence[Any]


Struct = dict[int, Value]  # fields by their number, in any order

_WHOLE = frozenset({Type.I16, Type.I32, Type.I64})
_MAX_SHORT = 14  # a list of more items has their number behind its first byte
_DOUBLE_BYTES = 8


def i32(number: int) -> Value:
    return Value(Type.I32, number)


def text(value: str) -> Value:
    return Value(Type.BINARY, value.encode())


def structs(values: Iterable[Struct]) -> Value:
    return Value(Type.LIST, Items(Type.STRUCT, list(values)))


def read_struct(data: bytes) -> Struct:
    """Return the struct that starts `data`; an IndexError or ValueError if there is none."""
    return _Reader(data).struct()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def _byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def _take(self, size: int) -> bytes:
        start, self._place = self._place, self._place + size
        if self._place > len(self._data):
            raise ValueError("the data end within a value")
        return self._data[start : self._place]

    def _varint(self) -> int:
        value, self._place = read_varint(self._data, self._place)
        return value

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else unzigzag(self._varint())
            kind = Type(head & 15)
            content = kind is Type.TRUE if kind in (Type.TRUE, Type.FALSE) else self._content(kind)
            fields[number] = Value(kind, content)
        return fields

    def _content(self, kind: Type) -> Any:
        if kind in _WHOLE:
            return unzigzag(self._varint())
        if kind is Type.BINARY:
            return self._take(self._varint())
        if kind is Type.STRUCT:
            return self.struct()
        if kind in (Type.LIST, Type.SET):
            head = self._byte()
            inner = Type(head & 15)
            count = self._varint() if head >> 4 > _MAX_SHORT else head >> 4
            return Items(inner, [self._content(inner) for _ in range(count)])
        if kind is Type.DOUBLE:
            return self._take(_DOUBLE_BYTES)
        byte = self._byte()
        return byte == Type.TRUE if kind in (Type.TRUE, Type.FALSE) else byte


def struct_bytes(fields: Struct) -> bytes:
    """Return a struct as bytes, its fields in the order of their numbers."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def _write_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for number, (kind, content) in sorted(fields.items()):
        if kind in (Type.TRUE, Type.FALSE):
            kind = Type.TRUE if content else Type.FALSE
        if 0 < number - last <= 15:
            out.append(number - last << 4 | kind)
        else:
            out.append(kind)
            out += zigzag_varint(number)
        last = number
        if kind not in (Type.TRUE, Type.FALSE):
            _write(out, kind, content)
    out.append(0)


def _write(out: bytearray, kind: Type, content: Any) -> None:
    if kind in _WHOLE:
        out += zigzag_varint(content)
    elif kind is Type.BINARY:
        out += varint(len(content))
        out += content
    elif kind is Type.STRUCT:
        _write_struct(out, content)
    elif kind in (Type.LIST, Type.SET):
        count = len(content.contents)
        out.append(min(count, _MAX_SHORT + 1) << 4 | content.type)
        if count > _MAX_SHORT:
            out += varint(count)
        for item in content.contents:
            _write(out, content.type, item)
    elif kind is Type.DOUBLE:
        out += content
    elif kind in (Type.TRUE, Type.FALSE):
        out.append(Type.TRUE if content else Type.FALSE)
    else:
        out.append(content)
