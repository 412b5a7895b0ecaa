"""Binary logs as MySQL 8 and MariaDB write them, by their manuals; for tests, and not by the code that reads them."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAGIC = b"\xfebin"
SERVER = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
UTF8MB4, LATIN1, BINARY = 45, 8, 63


def event(
    kind: int, body: bytes, time: int = 0, server: int = 1, checked: bool = True, at: int = 0, flags: int = 0
) -> bytes:
    """An event; `at` is its offset."""
    size = 19 + len(body) + 4 * checked
    made = struct.pack("<IBIIIH", time, kind, server, size, at + size, flags) + body
    return made + struct.pack("<I", zlib.crc32(made)) * checked


def packed(number: int) -> bytes:
    if number < 251:
        return bytes([number])
    return b"\xfc" + struct.pack("<H", number) if number < 1 << 16 else b"\xfd" + struct.pack("<I", number)[:3]


def text(data: bytes) -> bytes:
    return packed(len(data)) + data


def description(version: str = "8.0.36", checked: bool = True, flags: int = 0) -> bytes:
    body = struct.pack("<H50sI", 4, version.encode(), 0) + bytes([19]) + bytes(41) + bytes([int(checked)])
    made = event(15, body, at=4)
    return made[:17] + struct.pack("<H", flags) + made[19:]


def head(version: str = "8.0.36", checked: bool = True) -> bytes:
    return MAGIC + description(version, checked)


def query(sql: str, database: str = "", **others: Any) -> bytes:
    name = database.encode()
    return event(2, struct.pack("<IIBHH", 7, 0, len(name), 0, 0) + name + b"\0" + sql.encode(), **others)


def gtid(number: int, **others: Any) -> bytes:
    return event(33, b"\1" + SERVER.bytes + struct.pack("<Q", number) + b"\2" + bytes(16), **others)


def maria_gtid(number: int, flags: int = 0, **others: Any) -> bytes:
    return event(162, struct.pack("<QIB", number, 0, flags) + bytes(6), **others)


def xid(**others: Any) -> bytes:
    return event(16, struct.pack("<Q", 5), **others)


def xa_prepare(name: bytes, one_phase: bool = False, **others: Any) -> bytes:
    return event(38, struct.pack("<BIII", one_phase, 1, len(name), 0) + name, **others)


def bits(flags: Sequence[Any]) -> bytes:
    return sum(1 << n for n, flag in enumerate(flags) if flag).to_bytes((len(flags) + 7) // 8, "little")


def field(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + text(data)


def metadata(
    names: Iterable[str] = (),
    keys: Sequence[int] | None = None,
    unsigned: Sequence[bool] = (),
    charsets: Sequence[int] = (),
    enums: Sequence[Sequence[str]] = (),
    sets: Sequence[Sequence[str]] = (),
    default_charset: Sequence[int] = (),
) -> bytes:
    """Metadata of a table map. `charsets` are collations of text columns, `default_charset` one, and others."""
    made = b""
    if unsigned:
        flags = sum(0x80 >> (n & 7) << 8 * (n >> 3) for n, flag in enumerate(unsigned) if flag)
        made += field(1, flags.to_bytes((len(unsigned) + 7) // 8, "little"))
    if default_charset:
        made += field(2, b"".join(map(packed, default_charset)))
    if charsets:
        made += field(3, b"".join(map(packed, charsets)))
    if names:
        made += field(4, b"".join(text(name.encode()) for name in names))
    for kind, lists in ((6, enums), (5, sets)):
        if lists:
            made += field(kind, b"".join(packed(len(one)) + b"".join(text(s.encode()) for s in one) for one in lists))
    if keys is not None:
        made += field(8, b"".join(map(packed, keys)))
    return made


def table_map(
    database: str, table: str, types: Sequence[tuple[int, bytes]], extra: bytes = b"", number: int = 90, **others: Any
) -> bytes:
    """A table map; `types` has the type and the metadata of each column."""
    names = b"".join(bytes([len(name.encode())]) + name.encode() + b"\0" for name in (database, table))
    own = b"".join(meta for _, meta in types)
    body = number.to_bytes(6, "little") + b"\1\0" + names + packed(len(types)) + bytes(kind for kind, _ in types)
    return event(19, body + text(own) + bits([True] * len(types)) + extra, **others)


Image = Mapping[int, bytes | None]  # values by the place of the column; None is NULL


def image(values: Image) -> bytes:
    shown = [values[place] for place in sorted(values)]
    return bits([value is None for value in shown]) + b"".join(value for value in shown if value is not None)


def rows(
    op: str, count: int, images: Sequence[Image], number: int = 90, is_v2: bool = True, flags: int = 1,
    kind: int | None = None, **others: Any,
) -> bytes:  # fmt: skip
    """Rows of one kind: images in turns, before and after, for updates. All have the columns of the first ones."""
    head_ = number.to_bytes(6, "little") + struct.pack("<H", flags) + (b"\2\0" if is_v2 else b"") + packed(count)
    shown = b"".join(bits([place in one for place in range(count)]) for one in images[: 1 + (op == "U")])
    kind = kind or {"I": 30, "U": 31, "D": 32}[op] - (0 if is_v2 else 7)
    return event(kind, head_ + shown + b"".join(map(image, images)), **others)


def inserted(values: bytes | str) -> bytes:
    """A value of VARCHAR(255) or less."""
    data = values.encode() if isinstance(values, str) else values
    return bytes([len(data)]) + data


def varchar(size: int = 255) -> tuple[int, bytes]:
    return 15, struct.pack("<H", size)


def payload(inner: bytes, compressed: bytes | None = None, **others: Any) -> bytes:
    """A compressed transaction: `compressed` is `inner` by zstd; None for no compression."""
    data = inner if compressed is None else compressed
    kind = packed(255) if compressed is None else packed(0)
    fields = packed(2) + text(b"\xfc\xff\0" if compressed is None else kind)
    fields += packed(1) + text(packed(len(data))) + packed(3) + text(packed(len(inner)))
    return event(40, fields + packed(0) + data, **others)


def deflated(body: bytes, place: int) -> bytes:
    """The body of an event of MariaDB, compressed from a place on."""
    size = len(body) - place
    return body[:place] + b"\x82" + struct.pack(">H", size) + zlib.compress(body[place:])
