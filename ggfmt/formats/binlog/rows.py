"""Rows of events as JSON objects, which the scanner and the exact reader of records take.

`RowJsonWriter` is exact; `kernels/binlog_rows.c` writes the same text of regular rows.
"""

from __future__ import annotations

import math
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from struct import Struct
from typing import Any

import msgspec

from ggfmt.formats.binlog import times
from ggfmt.formats.binlog.events import EventBytes, EventError, decompressed
from ggfmt.formats.binlog.json_binary import json_text
from ggfmt.formats.binlog.table_map import INTEGERS, METADATA_HELP, BinlogColumn, LoggedTable
from ggfmt.formats.binlog.table_map import LoggedType as T
from ggfmt.formats.mysql.charsets import BINARY, decoder
from ggfmt.formats.records.problems import RecordError
from ggfmt.java.numbers import NOT_FINITE_TEXTS, float_text
from ggfmt.kernels import kernel

_float, _double = Struct("<f").unpack, Struct("<d").unpack
_NULL = b"null"
_encode = msgspec.json.encode
Decode = Callable[[EventBytes], bytes]  # returns the JSON of a value


# The same numbers as in binlog_rows.c.
(
    _SIGNED, _UNSIGNED, _UTF8, _ASCII, _BASE64, _DECIMAL, _DATE, _DATETIME, _TIMESTAMP, _TIME, _DOUBLE, _FLOAT, _YEAR,
    _MEMBER, _MEMBERS, _BITS, _EXACT,
) = range(17)  # fmt: skip
_FORMS: Mapping[int, int] = {
    T.DECIMAL: _DECIMAL, T.DATE: _DATE, T.DATETIME: _DATETIME, T.TIMESTAMP: _TIMESTAMP, T.TIME: _TIME, T.YEAR: _YEAR,
    T.DOUBLE: _DOUBLE, T.FLOAT: _FLOAT, T.BIT: _BITS, T.ENUM: _MEMBER, T.SET: _MEMBERS,
}  # fmt: skip
_ASCII_BYTES = bytes(range(128))


class RowJsonWriter:
    """Writes the rows of a table as JSON: with a kernel, if there is one, or else exactly. `head`: the first members of
    its records."""

    def __init__(self, table: LoggedTable, name: str, head: bytes = b"") -> None:
        assert table.names is not None
        self._table = name
        self._names = [_encode(name) + b":" for name in table.names]
        self._fields = table.names
        self._decode = [_decoder_of(column) for column in table.columns]
        self._count = len(table.columns)
        columns = zip(self._names, map(_form_of, table.columns), strict=True)
        self.head = head
        self.native = kernel(lambda native: native.BinlogRows(tuple((name, *form) for name, form in columns), head))

    def write(self, data: bytes, place: int, end: int, images: Sequence[bytes]) -> tuple[int, Sequence[bytes]]:
        """Return the number of rows between two places of an event, and the JSON objects of each image, with commas
        between them. `images`: the bits of the columns that each image of a row has. Raises: EventError, RecordError"""
        found = None if self.native is None else self.native.write(data, place, end, *images)
        if found is not None and found[0] and all(map(is_utf8, found[1])):
            rows: tuple[int, Sequence[bytes]] = found
            return rows
        return self._exact(data, place, end, images)

    def _exact(self, data: bytes, place: int, end: int, images: Sequence[bytes]) -> tuple[int, Sequence[bytes]]:
        cursor = EventBytes(data, place, end)
        columns = [[n for n in range(self._count) if bits[n >> 3] >> (n & 7) & 1] for bits in images]
        found: list[list[bytes]] = [[] for _ in images]
        while cursor.left():
            start = cursor.place
            for shown, rows in zip(columns, found, strict=True):
                rows.append(self._image(cursor, shown))
            if cursor.place == start:
                raise EventError("an image of a row has no columns")
        return len(found[0]), [b",".join(rows) for rows in found]

    def _image(self, cursor: EventBytes, shown: Sequence[int]) -> bytes:
        nulls = cursor.take((len(shown) + 7) // 8)
        members = []
        for place, number in enumerate(shown):
            if nulls[place >> 3] >> (place & 7) & 1:
                value = _NULL
            else:
                try:
                    value = self._decode[number](cursor)
                except _Unreadable as error:
                    raise RecordError("GG308", str(error), error.help, self._table, self._fields[number]) from None
            members.append(self._names[number] + value)
        return b"{%b}" % b",".join(members)


class _Unreadable(Exception):
    """A value that has no text; the message says why."""

    def __init__(self, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.help = help


def is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(str(text, "utf-8"))
    except UnicodeDecodeError:
        return False


def _form_of(column: BinlogColumn) -> tuple[int, int, int, int, tuple[bytes, ...]]:
    """Return what the kernel needs to know of the values of a column."""
    kind, size, before = column.type, column.size, 0
    form = _FORMS.get(kind, _EXACT)
    if kind in INTEGERS:
        form = _UNSIGNED if column.unsigned else _SIGNED
    elif kind in (T.GEOMETRY, T.VECTOR):
        form = _BASE64
    elif kind in (T.VARCHAR, T.VAR_STRING, T.STRING, T.BLOB):
        form = _form_of_text(column.charset or "utf8mb4")
        before = size if kind == T.STRING and form == _BASE64 else 0
        size = size if kind == T.BLOB else 2 if size > 255 else 1
    elif kind == T.DECIMAL:
        before = column.precision - column.digits
    symbols = column.symbols
    if kind in (T.ENUM, T.SET) and symbols is None:
        form = _EXACT
    return form, size, column.digits, before, tuple(_encode(symbol)[1:-1] for symbol in symbols or ())


def _form_of_text(charset: str) -> int:
    if charset == BINARY:
        return _BASE64
    if charset in ("utf8mb4", "utf8mb3"):
        return _UTF8
    decode = decoder(charset)
    try:
        return _ASCII if decode is not None and decode(_ASCII_BYTES) == _ASCII_BYTES.decode() else _EXACT
    except ValueError:
        return _EXACT


def _decoder_of(column: BinlogColumn) -> Decode:
    kind = column.type
    if kind in INTEGERS or kind == T.BIT:
        order: Any = "big" if kind == T.BIT else "little"
        return partial(_integer, column.size, order, kind != T.BIT and not column.unsigned)
    if kind in (T.VARCHAR, T.VAR_STRING, T.STRING):
        return partial(_text, 2 if column.size > 255 else 1, _value_of(column))
    if kind in (T.BLOB, T.GEOMETRY, T.VECTOR):
        as_bytes = kind != T.BLOB
        return partial(_text, column.size, _bytes if as_bytes else _value_of(column))
    if kind in (T.BLOB_COMPRESSED, T.VARCHAR_COMPRESSED):
        size = column.size if kind == T.BLOB_COMPRESSED else 2 if column.size > 255 else 1
        return partial(_text, size, partial(_unpacked, _value_of(column)))
    if kind == T.JSON:
        return partial(_text, column.size, lambda data: _encode(json_text(data)))
    if kind in (T.ENUM, T.SET):
        return partial(_enum if kind == T.ENUM else _set, column.size, column.symbols)
    if kind == T.YEAR:
        return _year
    if kind in (T.FLOAT, T.DOUBLE):
        return partial(_number, kind == T.FLOAT)
    read: Callable[[EventBytes], str]
    if kind == T.DECIMAL:
        read = partial(times.decimal_text, precision=column.precision, scale=column.digits)
    elif kind in _OF_DIGITS:
        read = partial(_OF_DIGITS[kind], digits=column.digits)
    else:
        read = _PLAIN[kind]
    return lambda cursor: b'"%b"' % read(cursor).encode()


_OF_DIGITS: dict[int, Any] = {T.TIMESTAMP: times.timestamp_of, T.DATETIME: times.datetime_of, T.TIME: times.time_of}
_PLAIN: dict[int, Callable[[EventBytes], str]] = {
    T.DATE: times.date_of,
    T.OLD_TIMESTAMP: times.old_timestamp_of,
    T.OLD_TIME: times.old_time_of,
    T.OLD_DATETIME: times.old_datetime_of,
}


def _year(cursor: EventBytes) -> bytes:
    number = cursor.number(1)
    return b"%d" % (number + 1900 * bool(number))


def _integer(size: int, order: Any, signed: bool, cursor: EventBytes) -> bytes:
    return b"%d" % int.from_bytes(cursor.take(size), order, signed=signed)


def _number(is_single: bool, cursor: EventBytes) -> bytes:
    number = _float(cursor.take(4))[0] if is_single else _double(cursor.take(8))[0]
    if not math.isfinite(number):
        return b'"%b"' % NOT_FINITE_TEXTS[repr(number)].encode()
    return float_text(number).encode() if is_single else _encode(number)


def _text(size: int, value: Callable[[bytes], bytes], cursor: EventBytes) -> bytes:
    return value(cursor.take(cursor.number(size)))


def _bytes(data: bytes) -> bytes:
    return b'"%b"' % b64encode(data)


def _value_of(column: BinlogColumn) -> Callable[[bytes], bytes]:
    """Return what makes JSON of the bytes of a text or of binary data. BINARY(n) lacks zero bytes at its end."""
    if column.charset == BINARY:
        size = column.size if column.type == T.STRING else 0
        return lambda data: _bytes(data.ljust(size, b"\0"))
    charset = column.charset or "utf8mb4"
    decode = decoder(charset)

    def value(data: bytes) -> bytes:
        if decode is None:
            raise _Unreadable(f"ggfmt cannot read the charset `{charset}`")
        try:
            return _encode(decode(data))
        except ValueError:
            raise _Unreadable(f"the bytes of a text are not {charset}") from None

    return value


def _unpacked(value: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Return the JSON of a value in a compressed column of MariaDB."""
    if not data:
        return value(data)
    head = data[0]
    if not head:
        return value(data[1:])
    start = 1 + (head & 7)
    size = int.from_bytes(data[1:start], "big")
    text = decompressed(data[start:], size, -zlib.MAX_WBITS if head & 8 else zlib.MAX_WBITS)
    if head & 0xF0 != 0x80 or text is None:
        raise _Unreadable("a compressed value is damaged")
    return value(text)


_NO_SYMBOLS = "the log does not have the members of the ENUM or SET"


def _enum(size: int, symbols: Sequence[str] | None, cursor: EventBytes) -> bytes:
    number = cursor.number(size)
    if not number:
        return b'""'
    if symbols is None:
        raise _Unreadable(_NO_SYMBOLS, METADATA_HELP)
    if number > len(symbols):
        raise _Unreadable(f"the ENUM has no member {number}")
    return _encode(symbols[number - 1])


def _set(size: int, symbols: Sequence[str] | None, cursor: EventBytes) -> bytes:
    bits = cursor.number(size)
    if bits and symbols is None:
        raise _Unreadable(_NO_SYMBOLS, METADATA_HELP)
    if bits >> len(symbols or ()):
        raise _Unreadable("the SET has an unknown member")
    return _encode(",".join(symbol for n, symbol in enumerate(symbols or ()) if bits >> n & 1))
