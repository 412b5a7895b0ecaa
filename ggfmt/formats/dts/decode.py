"""DTS's records decoded from Avro's binary encoding (Avro specification 1.8, "Binary Encoding").

The decoder supports only this schema, in two versions. A datum must use all its bytes: the bytes at the end show the
version.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ggfmt.formats.avro.containers import read_varint, unzigzag
from ggfmt.formats.dts.charsets import BINARY
from ggfmt.formats.dts.schema import BRANCHES, OPERATIONS, SOURCE_TYPES

# The tag of a cell: the first item of its tuple, before its values. The parts of a time determine its tag.
(
    INTEGER,  # the text
    CHARACTER,  # the charset, the bytes
    CHARACTER_BYTES,  # the charset, the bytes; the column holds bytes and not text
    DECIMAL,  # the text
    FLOAT,  # the number
    EPOCH,  # seconds since 1970, the fraction
    DATE, TIME, DATETIME, YEAR, YEAR_MONTH, DAY_TIME, PARTS,  # the seven parts, each a number or None
    ZONED,  # a time as above, the zone
    BINARY_GEOMETRY, BINARY_OBJECT,  # the bytes
    TEXT_GEOMETRY, TEXT_OBJECT,  # the text
) = range(18)  # fmt: skip
TAGS = 18

Cell = tuple[Any, ...] | None  # None is NULL
NONE: Cell = ()  # the value is missing


class MalformedRecordError(ValueError):
    """Error for bytes that are not a record."""


class RowFields(NamedTuple):
    """The names and type numbers of a record's columns, and the bytes from which they were decoded."""

    data: bytes
    names: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(slots=True)
class DtsRecord:
    version: int
    id: int
    timestamp: int
    position: str
    safe_position: str
    transaction: str
    source_type: str
    source_version: str
    operation: str
    object_name: str | None
    process_timestamps: list[int] | None
    tags: dict[str, str]
    fields: RowFields | str | None
    before: list[Cell] | str | None
    after: list[Cell] | str | None
    born: int


class Decoder:
    """Decoder of records. Consecutive records of one table have the same columns, which it decodes once."""

    def __init__(self) -> None:
        self._fields: dict[str | None, RowFields] = {}

    def datum(self, data: bytes) -> DtsRecord:
        """Decode a record of either version from all of the bytes.

        Raises: MalformedRecordError if they are not a record.
        """
        record, place = self.record(data, 0, None)
        if place != len(data):
            raise MalformedRecordError("extra bytes follow the record")
        return record

    def record(self, data: bytes, start: int, born: bool | None) -> tuple[DtsRecord, int]:
        """Decode the record at a place, and return it with the place after it.

        `born`: the record has a `bornTimestamp`; None: it has one if bytes are left. Raises: MalformedRecordError if
        there is no record.
        """
        try:
            record, place = self._record(data, start)
            if born or (born is None and place != len(data)):
                record.born, place = _long(data, place)
        except (ValueError, IndexError, struct.error):
            raise MalformedRecordError("the bytes are not a DTS record") from None
        if place > len(data):
            raise MalformedRecordError("the record is incomplete")
        return record, place

    def _record(self, data: bytes, place: int) -> tuple[DtsRecord, int]:
        version, place = _long(data, place)
        identity, place = _long(data, place)
        timestamp, place = _long(data, place)
        position, place = _text(data, place)
        safe_position, place = _text(data, place)
        transaction, place = _text(data, place)
        source_type, place = _symbol(data, place, SOURCE_TYPES)
        source_version, place = _text(data, place)
        operation, place = _symbol(data, place, OPERATIONS)
        object_name: str | None = None
        branch, place = data[place], place + 1
        if branch == 2:
            object_name, place = _text(data, place)
        elif branch:
            raise MalformedRecordError
        process, place = _process(data, place)
        tags, place = _tags(data, place)
        fields, place = self._columns(data, place, object_name)
        before, place = _image(data, place)
        after, place = _image(data, place)
        record = DtsRecord(
            version, identity, timestamp, position, safe_position, transaction, source_type, source_version, operation,
            object_name, process, tags, fields, before, after, 0,
        )  # fmt: skip
        return record, place

    def _columns(self, data: bytes, place: int, table: str | None) -> tuple[RowFields | str | None, int]:
        known = self._fields.get(table)
        # No encoding of columns is a prefix of another one, so equal bytes mean equal columns.
        if known is not None and data.startswith(known.data, place):
            return known, place + len(known.data)
        start = place
        branch, place = data[place], place + 1
        if not branch:
            return None, place
        if branch == 2:
            return _text(data, place)
        if branch != 4:
            raise MalformedRecordError
        names, numbers = [], []
        while True:
            count, place = _block(data, place)
            if not count:
                break
            for _ in range(count):
                name, place = _text(data, place)
                number, place = _long(data, place)
                names.append(name)
                numbers.append(number)
        fields = self._fields[table] = RowFields(data[start:place], tuple(names), tuple(numbers))
        return fields, place


def _long(data: bytes, place: int) -> tuple[int, int]:
    value = data[place]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), place + 1
    value, place = read_varint(data, place)
    return unzigzag(value), place


def _bytes(data: bytes, place: int) -> tuple[bytes, int]:
    size = data[place]
    place += 1
    if size >= 0x80:
        size, place = read_varint(data, place - 1)
    end = place + (size >> 1)
    if size & 1 or end > len(data):
        raise MalformedRecordError
    return data[place:end], end


def _text(data: bytes, place: int) -> tuple[str, int]:
    size = data[place]
    place += 1
    if size >= 0x80:
        size, place = read_varint(data, place - 1)
    end = place + (size >> 1)
    if size & 1 or end > len(data):
        raise MalformedRecordError
    return data[place:end].decode(), end


def _symbol(data: bytes, place: int, symbols: tuple[str, ...]) -> tuple[str, int]:
    value = data[place]
    if value & 1 or value >= 0x80:
        raise MalformedRecordError
    return symbols[value >> 1], place + 1


def _block(data: bytes, place: int) -> tuple[int, int]:
    """Return the number of items in a block of an array or a map, and the place after it."""
    count, place = _long(data, place)
    if count < 0:  # the size of the items in bytes follows
        _, place = _long(data, place)
    return abs(count), place


def _process(data: bytes, place: int) -> tuple[list[int] | None, int]:
    branch, place = data[place], place + 1
    if not branch:
        return None, place
    if branch != 2:
        raise MalformedRecordError
    stamps: list[int] = []
    while True:
        count, place = _block(data, place)
        if not count:
            return stamps, place
        for _ in range(count):
            value, place = _long(data, place)
            stamps.append(value)


def _tags(data: bytes, place: int) -> tuple[dict[str, str], int]:
    tags: dict[str, str] = {}
    while True:
        count, place = _block(data, place)
        if not count:
            return tags, place
        for _ in range(count):
            name, place = _text(data, place)
            tags[name], place = _text(data, place)


def _image(data: bytes, place: int) -> tuple[list[Cell] | str | None, int]:
    branch, place = data[place], place + 1
    if not branch:
        return None, place
    if branch == 2:
        return _text(data, place)
    if branch != 4:
        raise MalformedRecordError
    cells: list[Cell] = []
    while True:
        count, place = _block(data, place)
        if not count:
            return cells, place
        for _ in range(count):
            branch, place = data[place], place + 1
            if not branch:
                cells.append(None)
                continue
            if branch & 1:
                raise MalformedRecordError
            cell, place = _CELLS[branch >> 1](data, place)
            cells.append(cell)


def _null(data: bytes, place: int) -> tuple[Cell, int]:
    return None, place


def _integer(data: bytes, place: int) -> tuple[Cell, int]:
    _, place = _long(data, place)
    value, place = _text(data, place)
    return (INTEGER, value), place


def _character(data: bytes, place: int) -> tuple[Cell, int]:
    charset, place = _text(data, place)
    value, place = _bytes(data, place)
    return (CHARACTER_BYTES if charset.lower() == BINARY else CHARACTER, charset, value), place


def _decimal(data: bytes, place: int) -> tuple[Cell, int]:
    value, place = _text(data, place)
    _, place = _long(data, place)
    _, place = _long(data, place)
    return (DECIMAL, value), place


_double = struct.Struct("<d").unpack_from


def _float(data: bytes, place: int) -> tuple[Cell, int]:
    (value,) = _double(data, place)
    _, place = _long(data, place + 8)
    _, place = _long(data, place)
    return (FLOAT, value), place


def _epoch(data: bytes, place: int) -> tuple[Cell, int]:
    seconds, place = _long(data, place)
    fraction, place = _long(data, place)
    return (EPOCH, seconds, fraction), place


# The kind of time by its present parts, one bit for each, without the fraction of the second.
_TIMES = {0b000111: DATE, 0b111000: TIME, 0b111111: DATETIME, 0b000001: YEAR, 0b000011: YEAR_MONTH, 0b111100: DAY_TIME}
_PARTS = tuple(1 << part for part in range(7))


def _datetime(data: bytes, place: int) -> tuple[Cell, int]:
    parts: list[int | None] = []
    there = 0
    for bit in _PARTS:
        branch = data[place]
        if branch == 2:
            there |= bit
            part = data[place + 1]
            place += 2
            if part >= 0x80:
                part, place = read_varint(data, place - 1)
            parts.append((part >> 1) ^ -(part & 1))
        elif branch:
            raise MalformedRecordError
        else:
            parts.append(None)
            place += 1
    return (_TIMES.get(there & 0b111111, PARTS), *parts), place


def _zoned(data: bytes, place: int) -> tuple[Cell, int]:
    time, place = _datetime(data, place)
    zone, place = _text(data, place)
    return (ZONED, time, zone), place


def _typed(kind: Any, read: Callable[[bytes, int], tuple[Any, int]]) -> Callable[[bytes, int], tuple[Cell, int]]:
    """Return a decoder of a record with a type name, which it ignores, and a value."""

    def cell(data: bytes, place: int) -> tuple[Cell, int]:
        _, place = _bytes(data, place)
        value, place = read(data, place)
        return (kind, value), place

    return cell


def _empty(data: bytes, place: int) -> tuple[Cell, int]:
    if data[place] > 2 or data[place] & 1:
        raise MalformedRecordError
    return (NONE if data[place] else None), place + 1


_CELLS = (
    _null, _integer, _character, _decimal, _float, _epoch, _datetime, _zoned, _typed(BINARY_GEOMETRY, _bytes),
    _typed(TEXT_GEOMETRY, _text), _typed(BINARY_OBJECT, _bytes), _typed(TEXT_OBJECT, _text), _empty,
)  # fmt: skip
assert len(_CELLS) == len(BRANCHES)
