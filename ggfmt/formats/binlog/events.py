"""Events of binary logs: their kinds, and those that are not rows (MySQL internals manual, "Binary Log Event"; MariaDB
Knowledge Base, "Replication Protocol").

An event has a header of 19 bytes: time, kind, server, size with the header, place after the event, flags.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from struct import Struct
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa

from ggfmt.lazy import lazy_regex

HEADER_BYTES = 19
CHECKSUM_BYTES = 4
unpack_header = Struct("<IBIIIH").unpack_from
IGNORABLE = 0x80  # a flag of events that a reader need not know
_IN_USE = 1  # a flag of the first event
STATEMENT_END = 1  # a flag of row events


class EventKind(IntEnum):
    """Kinds of events that ggfmt reads or names. Those from 160 on are of MariaDB."""

    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    APPEND_BLOCK = 9
    DELETE_FILE = 11
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    ANNOTATE_ROWS = 160
    BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    GTID_LIST = 163
    START_ENCRYPTION = 164
    QUERY_COMPRESSED = 165
    WRITE_ROWS_COMPRESSED_V1 = 166
    UPDATE_ROWS_COMPRESSED_V1 = 167
    DELETE_ROWS_COMPRESSED_V1 = 168
    WRITE_ROWS_COMPRESSED = 169
    UPDATE_ROWS_COMPRESSED = 170
    DELETE_ROWS_COMPRESSED = 171


K = EventKind
QUERIES = frozenset({K.QUERY, K.QUERY_COMPRESSED})
GTIDS = frozenset({K.GTID, K.ANONYMOUS_GTID, K.GTID_TAGGED, K.MARIADB_GTID})
PASSED_OVER = frozenset({
    K.STOP, K.ROTATE, K.INTVAR, K.APPEND_BLOCK, K.DELETE_FILE, K.RAND, K.USER_VAR, K.BEGIN_LOAD_QUERY, K.HEARTBEAT,
    K.IGNORABLE, K.ROWS_QUERY, K.PREVIOUS_GTIDS, K.TRANSACTION_CONTEXT, K.VIEW_CHANGE, K.HEARTBEAT_V2, K.ANNOTATE_ROWS,
    K.BINLOG_CHECKPOINT, K.GTID_LIST,
})  # fmt: skip


# Kinds of events with rows: the operation type, whether the event has version 2, and whether it is compressed.
ROWS = {
    first + n: (op, first in (K.WRITE_ROWS, K.WRITE_ROWS_COMPRESSED), first >= K.WRITE_ROWS_COMPRESSED_V1)
    for first in (K.WRITE_ROWS_V1, K.WRITE_ROWS, K.WRITE_ROWS_COMPRESSED_V1, K.WRITE_ROWS_COMPRESSED)
    for n, op in enumerate("IUD")
}


class EventError(ValueError):
    """Bytes that are not what their event should have; the message says which."""


class EventBytes:
    """A place in the bytes of an event. Methods raise EventError where the bytes end too early."""

    def __init__(self, data: bytes, place: int = 0, end: int | None = None) -> None:
        self.data = data
        self.place = place
        self.end = len(data) if end is None else end

    def take(self, count: int) -> bytes:
        start, self.place = self.place, self.place + count
        if count < 0 or self.place > self.end:
            raise EventError("the event ends too early")
        return self.data[start : self.place]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def packed(self) -> int:
        """Return a number of one byte, or of as many bytes as its first byte says ("length-encoded integer")."""
        first = self.number(1)
        if first < 251:
            return first
        if first not in _PACKED:
            raise EventError("a length in the event is invalid")
        return self.number(_PACKED[first])

    def text(self) -> bytes:
        return self.take(self.packed())

    def left(self) -> int:
        return self.end - self.place


_PACKED = {252: 2, 253: 3, 254: 8}


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise EventError(f"{what} has {size:,} bytes unpacked, and the limit is {limit:,}: increase `--max-record`")


def inflated(cursor: EventBytes, limit: int) -> bytes:
    """Return the rest of an event of MariaDB without its compression. Raises: EventError"""
    head = cursor.number(1)
    size = int.from_bytes(cursor.take(head & 7), "big")
    if (head & 0xF8) != 0x80:
        raise EventError("the compression of the event is unknown")
    _check_size("the event", size, limit)
    data = decompressed(cursor.take(cursor.left()), size)
    if data is None:
        raise EventError("the compressed part of the event is damaged")
    return data


def decompressed(data: bytes, size: int, window_bits: int = zlib.MAX_WBITS) -> bytes | None:
    """Return what zlib has compressed; None if it is damaged, or has another size."""
    unpacker = zlib.decompressobj(window_bits)
    try:
        found = unpacker.decompress(data, size + 1)
    except zlib.error:
        return None
    return found if len(found) == size and unpacker.eof else None


_QUERY = Struct("<IIBHH").unpack


def query_of(event: bytes, end: int, limit: int) -> tuple[str, str]:
    """Return the default database and the text of the statement in a `QUERY` event. Raises: EventError"""
    cursor = EventBytes(event, HEADER_BYTES, end)
    _, _, database_size, _, variables = _QUERY(cursor.take(13))
    cursor.take(variables)
    database = _decoded(cursor.take(database_size))
    cursor.take(1)
    is_packed = event[4] == K.QUERY_COMPRESSED
    return database, _decoded(inflated(cursor, limit) if is_packed else cursor.take(cursor.left()))


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


_XA = lazy_regex(r"XA (COMMIT|ROLLBACK) (.*?)(?:\s+(ONE PHASE))?\s*$", 34)  # re.DOTALL | re.IGNORECASE
_SAVEPOINT = lazy_regex(r"(SAVEPOINT|ROLLBACK(?: WORK)? TO(?: SAVEPOINT)?) (.+)", 34)


class Step(NamedTuple):
    """What an event does to a transaction: one of `BEGIN`, `COMMIT`, `ROLLBACK`, `PREPARE`, `XA COMMIT`, `XA ROLLBACK`,
    `SAVEPOINT`, `ROLLBACK TO`; and the name of the transaction or the savepoint, if that has one."""

    word: str
    name: str = ""


_BEGIN, _COMMIT = Step("BEGIN"), Step("COMMIT")


def step_of(event: bytes, end: int) -> Step | None:
    """Return what an event does to its transaction; None if it does nothing to it. Raises: EventError"""
    kind = event[4]
    if kind == K.XID:
        return _COMMIT
    if kind == K.QUERY:
        is_begin = event[end - 6 : end] == b"\0BEGIN"
        return _BEGIN if is_begin else _step_of_query(query_of(event, end, 0)[1])
    if kind != K.XA_PREPARE:
        return None
    cursor = EventBytes(event, HEADER_BYTES, end)
    one_phase, format_id, first, second = cursor.number(1), cursor.number(4), cursor.number(4), cursor.number(4)
    name = f"X'{cursor.take(first).hex().upper()}',X'{cursor.take(second).hex().upper()}',{format_id}"
    return Step("COMMIT" if one_phase else "PREPARE", name)


def _step_of_query(sql: str) -> Step | None:
    """Return what a statement does to its transaction; None if it is another statement."""
    text = sql[:4096].strip()
    word = text[:9].upper()
    if word in ("BEGIN", "COMMIT", "ROLLBACK"):
        return Step(word)
    if word.startswith("XA START") or text.upper() == "START TRANSACTION":
        return Step("BEGIN")
    if word.startswith("XA ") and (xa := _XA.match(text)):
        word = "COMMIT" if xa[3] and xa[1].upper() == "COMMIT" else f"XA {xa[1].upper()}"
        return Step(word, xa[2].replace(" ", "").upper())  # as in the event
    if word in ("SAVEPOINT", "ROLLBACK ") and (savepoint := _SAVEPOINT.match(text)):
        return Step("SAVEPOINT" if savepoint[1].upper() == "SAVEPOINT" else "ROLLBACK TO", savepoint[2].strip())
    return None


_MARIADB_GTID = Struct("<QI").unpack


def gtid_of(event: bytes, end: int) -> str:
    """Return the identifier of a transaction; empty if the event does not have it. Raises: EventError"""
    cursor = EventBytes(event, HEADER_BYTES, end)
    if event[4] == K.MARIADB_GTID:
        number, domain = _MARIADB_GTID(cursor.take(12))
        return f"{domain}-{unpack_header(event)[2]}-{number}"
    if event[4] != K.GTID:
        return ""
    return f"{UUID(bytes=cursor.take(17)[1:])}:{cursor.number(8)}"


def is_alone(event: bytes, end: int) -> bool:
    """Return whether one statement follows a GTID, without an end of a transaction. Raises: EventError"""
    if event[4] == K.MARIADB_GTID and end <= HEADER_BYTES + 12:
        raise EventError("the event ends too early")
    return event[4] != K.MARIADB_GTID or bool(event[HEADER_BYTES + 12] & 1)


def checksum_of_format(event: bytes) -> int:
    """Return how events after a `FORMAT_DESCRIPTION` event are checked: 0 for not, 1 for CRC32. Raises: EventError"""
    cursor = EventBytes(event, HEADER_BYTES)
    version = cursor.number(2)
    cursor.take(54)
    if version != 4 or cursor.number(1) != HEADER_BYTES:
        raise EventError("the version of the log is not 4; MySQL writes version 4 since 5.0")
    if len(event) < HEADER_BYTES + 57 + 27 + 1 + CHECKSUM_BYTES or event[-5] > 1:
        raise EventError("it is unknown whether events have checksums, as in logs before MySQL 5.6")
    return event[-5]


def is_checked(event: bytes) -> bool:
    """Return whether an event has its own CRC32 at its end."""
    checked: bytes | memoryview = memoryview(event)[:-CHECKSUM_BYTES]
    if event[4] == K.FORMAT_DESCRIPTION:  # the server sets a flag in a log that it still writes
        checked = event[:17] + bytes([event[17] & ~_IN_USE]) + event[18:-CHECKSUM_BYTES]
    return zlib.crc32(checked) == int.from_bytes(event[-CHECKSUM_BYTES:], "little")


def events_of_payload(event: bytes, end: int, limit: int) -> list[bytes]:
    """Return the events in a `TRANSACTION_PAYLOAD` event, without checksums. Raises: EventError"""
    cursor = EventBytes(event, HEADER_BYTES, end)
    fields: dict[int, int] = {}
    while (kind := cursor.packed()) != 0:
        field = EventBytes(cursor.text())
        fields[kind] = field.packed()
    packed, size = cursor.take(cursor.left()), fields.get(3, 0)
    _check_size("the transaction", size, limit)
    if fields.get(2) not in (_ZSTD, _PLAIN) or fields.get(1, len(packed)) != len(packed):
        raise EventError("the compression of the transaction is unknown")
    if fields[2] == _ZSTD:
        try:
            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
                packed = stream.read(size + 1)
        except (OSError, pa.ArrowException):
            packed, size = b"", -1
        if len(packed) != size:
            raise EventError("the compressed transaction is damaged")
    found, place = [], 0
    while place < len(packed):
        size = int.from_bytes(packed[place + 9 : place + 13], "little")
        if size < HEADER_BYTES or place + size > len(packed):
            raise EventError("the compressed transaction is damaged")
        found.append(packed[place : place + size])
        place += size
    return found


_ZSTD, _PLAIN = 0, 255
