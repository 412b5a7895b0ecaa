"""Events of a MariaDB's binary log: rows as they were logged, and statements. The log must have no checksums."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

HEADER = 19
_QUERY, _XID, _TABLE, _GTID = 2, 16, 19, 162
_ROWS = {23: "I", 24: "U", 25: "D"}
# Values are read without their types: unsigned integers, texts of times, and bytes.
Image = dict[int, Any]  # by place of the column


@dataclass
class RowEvent:
    """Changes of one table that one event of the log has."""

    op: str
    schema: str
    table: str
    rows: list[tuple[Image | None, Image | None]]
    position: int = 0
    second: int = 0


@dataclass
class Transaction:
    """What was committed together, or a statement on tables. `statement`: its schema and its text."""

    gtid: str = ""
    second: int = 0
    events: list[RowEvent] = field(default_factory=list)
    xid: int = 0
    statement: tuple[str, str] | None = None
    position: int = 0


class Binlog:
    """Reads one file of a binary log, whose events come as the server writes them."""

    def __init__(self) -> None:
        self.read_to = 4
        self._tables: dict[int, tuple[str, str, list[tuple[int, bytes]]]] = {}

    def transactions(self, data: bytes) -> Iterator[Transaction]:
        """Yield what was committed since the last call. `data`: the whole file."""
        current = Transaction()
        place = self.read_to
        while place + HEADER <= len(data):
            second, type, _, size, _, _ = struct.unpack_from("<IBIIIH", data, place)
            body = data[place + HEADER : place + size]
            if type == _GTID:
                number, domain = struct.unpack_from("<QI", body)
                current = Transaction(f"{domain}-1-{number}", second)
            elif type == _TABLE:
                self._describe(body)
            elif type in _ROWS:
                schema, table, columns = self._tables[_table_id(body)]
                rows = list(_rows(body, type == 24, columns))
                if type == 25:
                    rows = [(after, None) for _, after in rows]
                current.events.append(RowEvent(_ROWS[type], schema, table, rows, place, second))
            elif type == _XID:
                current.xid, current.position, self.read_to = *struct.unpack_from("<Q", body), place, place + size
                yield current
            elif type == _QUERY:
                _, _, named, _, variables = struct.unpack_from("<IIBHH", body)
                schema = body[13 + variables :][:named].decode()
                statement = body[13 + variables + named + 1 :].decode()
                if statement not in ("BEGIN", "COMMIT", "ROLLBACK"):
                    current.statement, current.position = (schema, statement), place
                if statement != "BEGIN":
                    self.read_to = place + size
                    yield current
            place += size

    def _describe(self, body: bytes) -> None:
        texts = []
        place = 8
        for _ in range(2):
            texts.append(body[place + 1 : place + 1 + body[place]].decode())
            place += body[place] + 2
        count, place = _length(body, place)
        types = body[place : place + count]
        _, place = _length(body, place + count)
        columns = []
        for type in types:
            size = _METADATA.get(type, 0)
            columns.append((type, body[place : place + size]))
            place += size
        self._tables[_table_id(body)] = texts[0], texts[1], columns


# Sizes of what a description of a table has of a type
_METADATA = {4: 1, 5: 1, 15: 2, 16: 2, 17: 1, 18: 1, 19: 1, 246: 2, 252: 1, 253: 2, 254: 2}
_NUMBERS = {1: 1, 2: 2, 3: 4, 8: 8, 9: 3, 13: 1}


def _table_id(body: bytes) -> int:
    return int.from_bytes(body[:6], "little")


def _length(body: bytes, place: int) -> tuple[int, int]:
    first = body[place]
    size = {252: 2, 253: 3, 254: 8}.get(first, 0)
    return (int.from_bytes(body[place + 1 : place + 1 + size], "little") if size else first), place + 1 + size


def _bits(data: bytes, count: int) -> list[bool]:
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(count)]


def _rows(
    body: bytes, has_both: bool, columns: Sequence[tuple[int, bytes]]
) -> Iterator[tuple[Image | None, Image | None]]:
    count, place = _length(body, 8)
    size = (count + 7) // 8
    present = []
    for _ in range(1 + has_both):
        present.append([i for i, there in enumerate(_bits(body[place : place + size], count)) if there])
        place += size
    while place < len(body):
        images: list[Image | None] = [None] if not has_both else []
        for places in present:
            width = (len(places) + 7) // 8
            nulls = _bits(body[place : place + width], len(places))
            place += width
            image: Image = {}
            for i, is_null in zip(places, nulls, strict=True):
                image[i] = None
                if not is_null:
                    image[i], place = _value(body, place, *columns[i])
            images.append(image)
        yield images[0], images[1]


def _value(body: bytes, place: int, type: int, metadata: bytes) -> tuple[Any, int]:
    if type in _NUMBERS:
        end = place + _NUMBERS[type]
        return int.from_bytes(body[place:end], "little"), end
    if type in (4, 5):
        return struct.unpack_from("<f" if type == 4 else "<d", body, place)[0], place + metadata[0]
    if type == 10:
        number = int.from_bytes(body[place : place + 3], "little")
        return f"{number >> 9:04d}-{number >> 5 & 15:02d}-{number & 31:02d}", place + 3
    if type in (17, 18, 19):
        size = {17: 4, 18: 5, 19: 3}[type]
        end = place + size + (metadata[0] + 1) // 2
        return _time(type, int.from_bytes(body[place:end], "big"), size, end - place - size, metadata[0]), end
    if type == 246:
        return _decimal(body, place, *metadata)
    if type == 16:
        end = place + metadata[1] + (metadata[0] > 0)
        return int.from_bytes(body[place:end], "big"), end
    if type == 254:
        real, width = metadata
        if real in (247, 248):
            return int.from_bytes(body[place : place + width], "little"), place + width
        longest = width | ((real & 0x30) ^ 0x30) << 4
    else:
        longest = int.from_bytes(metadata, "little")
    prefix = metadata[0] if type == 252 else 1 + (longest > 255)
    end = place + prefix + int.from_bytes(body[place : place + prefix], "little")
    return body[place + prefix : end], end


def _time(type: int, packed: int, size: int, fraction_size: int, digits: int) -> str:
    """Return the text of a time with the digits of its column; of a timestamp, seconds since 1970 with them."""
    shift = 8 * fraction_size
    if type != 17:
        packed -= 1 << 8 * size - 1 << shift
    sign, packed = "-" if packed < 0 else "", abs(packed)
    number, part = packed >> shift, packed & (1 << shift) - 1
    fraction = f".{part:0{2 * fraction_size}d}"[: digits + 1] if digits else ""
    if type == 17:
        return f"{number}{fraction}"
    clock = f"{number >> 12 & 1023 if type == 19 else number >> 12 & 31:02d}:{number >> 6 & 63:02d}:{number & 63:02d}"
    if type == 19:
        return f"{sign}{clock}{fraction}"
    months, day = divmod(number >> 17, 32)
    return f"{months // 13:04d}-{months % 13:02d}-{day:02d} {clock}{fraction}"


_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of up to 9 digits


def _decimal(body: bytes, place: int, precision: int, scale: int) -> tuple[Decimal, int]:
    whole, parts = precision - scale, []
    parts += [whole % 9] + [9] * (whole // 9)
    point = len(parts)
    parts += [9] * (scale // 9) + [scale % 9]
    size = sum(_DIGIT_BYTES[count] for count in parts)
    data = bytearray(body[place : place + size])
    is_negative = not data[0] & 0x80
    data[0] ^= 0x80
    if is_negative:
        data = bytearray(byte ^ 0xFF for byte in data)
    texts, at = [], 0
    for count in parts:
        width = _DIGIT_BYTES[count]
        texts.append(f"{int.from_bytes(data[at : at + width], 'big'):0{count}d}" if count else "")
        at += width
    text = f"{'-' if is_negative else ''}{''.join(texts[:point]) or '0'}"
    return Decimal(f"{text}.{''.join(texts[point:])}" if scale else text), place + size
