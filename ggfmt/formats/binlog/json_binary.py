"""MySQL's binary JSON as text (`sql-common/json_binary.h` of MySQL 8.0).

A value is a type byte and data. Objects and arrays have offsets from their start, of two bytes or of four.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from struct import Struct

from ggfmt.formats.binlog import times
from ggfmt.formats.binlog.events import EventBytes, EventError
from ggfmt.java.numbers import NOT_FINITE_TEXTS

_MAX_DEPTH = 100  # of MySQL's documents
_INTEGERS = {5: (2, True), 6: (2, False), 7: (4, True), 8: (4, False), 9: (8, True), 10: (8, False)}
_INLINE = frozenset({4, 5, 6})  # and 7 and 8 in large objects and arrays
_double = Struct("<d").unpack
_DECIMAL, _DATE, _TIME, _DATETIME, _TIMESTAMP = 246, 10, 11, 12, 7


def json_text(data: bytes) -> str:
    """Return the text of a document, as MySQL prints it: `{"a": [1, 2.0]}`. Raises: EventError"""
    if not data:
        return "null"  # MySQL stores an empty value for JSON that a statement could not set
    return _value(data[0], data, 1, 0)


def _value(kind: int, data: bytes, place: int, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise EventError("a JSON document is too deep")
    if kind < 4:
        return _container(data, place, is_object=kind < 2, is_large=bool(kind & 1), depth=depth)
    cursor = EventBytes(data, place)
    if kind == 4:
        literal = cursor.number(1)
        if literal > 2:
            raise EventError("a JSON literal is invalid")
        return ("null", "true", "false")[literal]
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        return str(int.from_bytes(cursor.take(size), "little", signed=signed))
    if kind == 11:
        number = _double(cursor.take(8))[0]
        return repr(number) if repr(number) not in NOT_FINITE_TEXTS else _quoted(repr(number))
    if kind == 12:
        return _quoted(_text(cursor.take(_length(cursor))))
    if kind == 15:
        type = cursor.number(1)
        return _opaque(type, cursor.take(_length(cursor)))
    raise EventError(f"a JSON value has the unknown type {kind}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EventError("a JSON string is not UTF-8") from None


def _length(cursor: EventBytes) -> int:
    """Return a length of seven bits in each byte, the lowest first; the highest bit says that more follow."""
    length = shift = 0
    while True:
        byte = cursor.number(1)
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return length
        if shift > 28:
            raise EventError("a length in a JSON document is invalid")


def _container(data: bytes, start: int, is_object: bool, is_large: bool, depth: int) -> str:
    width = 4 if is_large else 2
    cursor = EventBytes(data, start)
    count, size = cursor.number(width), cursor.number(width)
    if start + size > len(data):
        raise EventError("a JSON document ends too early")
    cursor.end = start + size
    keys = [(cursor.number(width), cursor.number(2)) for _ in range(count * is_object)]
    items = []
    for _ in range(count):
        kind = cursor.number(1)
        if kind in _INLINE or (is_large and kind in (7, 8)):
            items.append(_value(kind, data[: cursor.place + width], cursor.place, depth + 1))
            cursor.take(width)
        else:
            offset = cursor.number(width)
            if offset >= size:
                raise EventError("a JSON document ends too early")
            items.append(_value(kind, data[: start + size], start + offset, depth + 1))
    if not is_object:
        return f"[{', '.join(items)}]"
    names = (_quoted(_text(EventBytes(data, start + place, start + size).take(length))) for place, length in keys)
    return "{" + ", ".join(f"{name}: {item}" for name, item in zip(names, items, strict=True)) + "}"


def _opaque(type: int, data: bytes) -> str:
    """Return a value of another type of the server."""
    if type == _DECIMAL and len(data) > 2:
        return times.decimal_text(EventBytes(data, 2), data[0], data[1])
    if type in _OPAQUE_TIMES and len(data) == 8:
        return _quoted(_OPAQUE_TIMES[type](int.from_bytes(data, "little", signed=True)))
    return _quoted(f"base64:type{type}:{base64.b64encode(data).decode()}")


def _time(packed: int) -> str:
    whole, fraction = abs(packed) >> 24, abs(packed) & 0xFFFFFF
    clock = f"{whole >> 12 & 0x3FF:02}:{whole >> 6 & 63:02}:{whole & 63:02}.{fraction:06}"
    return f"-{clock}" if packed < 0 else clock


def _datetime(packed: int) -> str:
    return times.datetime_text(packed >> 24, packed & 0xFFFFFF, 6)


_OPAQUE_TIMES: dict[int, Callable[[int], str]] = {
    _TIME: _time,
    _DATETIME: _datetime,
    _TIMESTAMP: _datetime,
    _DATE: lambda packed: _datetime(packed)[:10],
}
