"""Table maps: what the events with rows of a table need to be read (MySQL's `Table_map_log_event`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache

from ggfmt.dataclasses import dataclass, replace
from ggfmt.formats.binlog.events import HEADER_BYTES, EventBytes, EventError
from ggfmt.formats.mysql.charsets import BINARY, decoder
from ggfmt.formats.mysql.types import sql_type
from ggfmt.formats.records.problems import RecordError
from ggfmt.model.table import Kind, SqlType, TableDef
from ggfmt.model.type_names import UNSIGNED_DIGITS

METADATA_HELP = "set `binlog_row_metadata=FULL` in the server, for later logs"


class LoggedType(IntEnum):
    """Types of columns in a table map, as the server numbers them. Those from 140 on are of MariaDB."""

    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    OLD_TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    OLD_TIME = 11
    OLD_DATETIME = 12
    YEAR = 13
    VARCHAR = 15
    BIT = 16
    TIMESTAMP = 17
    DATETIME = 18
    TIME = 19
    BLOB_COMPRESSED = 140
    VARCHAR_COMPRESSED = 141
    VECTOR = 242
    JSON = 245
    DECIMAL = 246
    ENUM = 247
    SET = 248
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


T = LoggedType
INTEGERS: Mapping[int, tuple[int, str]] = {
    T.TINY: (1, "tinyint"), T.SHORT: (2, "smallint"), T.INT24: (3, "mediumint"), T.LONG: (4, "int"),
    T.LONGLONG: (8, "bigint"),
}  # fmt: skip
_SIGNED = frozenset({*INTEGERS, T.FLOAT, T.DOUBLE, T.DECIMAL})  # and YEAR in MariaDB
_BLOBS = frozenset({T.BLOB, T.BLOB_COMPRESSED})
_LENGTHS = frozenset({T.VARCHAR, T.VAR_STRING, T.VARCHAR_COMPRESSED})
_TEXTS = frozenset({*_BLOBS, *_LENGTHS, T.STRING})
_OLD_TIMES = frozenset({T.OLD_TIMESTAMP, T.OLD_TIME, T.OLD_DATETIME})
_META_BYTES: Mapping[int, int] = {
    **dict.fromkeys(_LENGTHS | {T.BIT, T.DECIMAL, T.STRING, T.ENUM, T.SET}, 2),
    **dict.fromkeys(_BLOBS | {T.FLOAT, T.DOUBLE, T.JSON, T.GEOMETRY, T.VECTOR, T.TIMESTAMP, T.DATETIME, T.TIME}, 1),
}
_TIMES = {T.TIMESTAMP: Kind.TIMESTAMP, T.OLD_TIMESTAMP: Kind.TIMESTAMP, T.DATETIME: Kind.TIMESTAMP,
          T.OLD_DATETIME: Kind.TIMESTAMP, T.TIME: Kind.TIME, T.OLD_TIME: Kind.TIME}  # fmt: skip

# Numbers of collations by charset: the default and the others, with ranges. MariaDB adds 1024 for its variants without
# padding; its UCA 14 collations start at 2048, 256 for each charset in this order.
_COLLATIONS = """
big5 1 84|latin2 2 9 21 27 77|dec8 3 69|cp850 4 80|latin1 5 8 15 31 47-49 94|hp8 6 72|koi8r 7 74|swe7 10 82
ascii 11 65|ujis 12 91|sjis 13 88|cp1251 14 23 50-52|hebrew 16 71|tis620 18 89|euckr 19 85|latin7 20 41 42 79
koi8u 22 75|gb2312 24 86|greek 25 70|cp1250 26 34 44 66 99|gbk 28 87|cp1257 29 58 59|latin5 30 78|armscii8 32 64
utf8mb3 33 76 83 192-215 223 576-578|ucs2 35 90 128-151 159 640-642|cp866 36 68|keybcs2 37 73|macce 38 43
macroman 39 53|cp852 40 81|utf8mb4 45 46 224-247 255-323 608-610|utf16 54 55 101-124 672-674|utf16le 56 62
cp1256 57 67|utf32 60 61 160-183 736-738|binary 63|geostd8 92 93|cp932 95 96|eucjpms 97 98|gb18030 248-250
"""
_UCA = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
_WIDTHS = {"utf8mb4": 4, "utf16": 4, "utf16le": 4, "utf32": 4, "gb18030": 4, "utf8mb3": 3, "ujis": 3, "eucjpms": 3,
           **dict.fromkeys(("big5", "sjis", "euckr", "gb2312", "gbk", "ucs2", "cp932"), 2)}  # fmt: skip


@cache
def _charsets() -> Mapping[int, str]:
    found = {}
    for line in _COLLATIONS.replace("\n", "|").strip("|").split("|"):
        charset, *numbers = line.split()
        for text in numbers:
            first, _, last = text.partition("-")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1), charset))
    return found


def charset_of(collation: int) -> str | None:
    """Return the charset of a collation by its number; None if it is unknown."""
    if 2048 <= collation < 2048 + 256 * len(_UCA):
        return _UCA[(collation - 2048) >> 8]
    if collation > 1024 and collation not in _charsets():
        collation -= 1024
    return _charsets().get(collation)


@dataclass(frozen=True)
class BinlogColumn:
    """A column of a table map. `number`: its place in the table, from 0.

    size     bytes of the length before a value, of a value, or of a number
    digits   digits after the point of a decimal, or of a second; bits of a bit field
    unsigned  None if the log does not have it
    charset  None if the log does not have it
    symbols  the texts of an ENUM or a SET; None if the log does not have them
    """

    number: int
    type: int
    size: int = 0
    digits: int = 0
    precision: int = 0
    unsigned: bool | None = None
    charset: str | None = None
    symbols: tuple[str, ...] | None = None


@dataclass(frozen=True)
class LoggedTable:
    """A table as an event describes it. `names` and `keys` are None if the event does not have them; `keys` are places
    of columns. `has_metadata`: the log says which columns are unsigned, and their charsets."""

    database: str
    table: str
    columns: tuple[BinlogColumn, ...]
    names: tuple[str, ...] | None
    keys: tuple[int, ...] | None
    has_metadata: bool


def table_map(event: bytes, of_mariadb: bool) -> LoggedTable:
    """Return the map of a `TABLE_MAP` event without its checksum. Raises: EventError"""
    cursor = EventBytes(event, HEADER_BYTES + 8)
    try:
        database = cursor.take(cursor.number(1)).decode()
        cursor.take(1)
        table = cursor.take(cursor.number(1)).decode()
        cursor.take(1)
        types = cursor.take(cursor.packed())
        columns = list(_columns(types, EventBytes(cursor.text())))
        if of_mariadb and not _OLD_TIMES.isdisjoint(types):
            raise EventError("the table has times as before MariaDB 10.1, whose digits the log does not have")
        cursor.take((len(types) + 7) // 8)  # which columns can be NULL
        return _described(database, table, columns, cursor, of_mariadb)
    except UnicodeDecodeError:
        raise EventError("a name in a table map is not UTF-8") from None


def _columns(types: bytes, meta: EventBytes) -> Iterator[BinlogColumn]:
    for number, kind in enumerate(types):
        own = meta.take(_META_BYTES.get(kind, 0))
        size = int.from_bytes(own, "little")
        if kind in (T.STRING, T.ENUM, T.SET):
            real, size = own[0], own[1]
            if kind == T.STRING and real & 0x30 != 0x30:  # two bits of the length are in the type
                size |= ((real & 0x30) ^ 0x30) << 4
                real |= 0x30
            kind = real
            if kind not in (T.STRING, T.ENUM, T.SET, T.VAR_STRING):
                raise EventError(f"the table map has a column of the unknown type {kind}")
            yield BinlogColumn(number, T.STRING if kind == T.VAR_STRING else kind, size)
        elif kind == T.DECIMAL:
            yield BinlogColumn(number, kind, digits=own[1], precision=own[0])
        elif kind == T.BIT:
            bits = own[0] + 8 * own[1]
            yield BinlogColumn(number, kind, (bits + 7) // 8, bits)
        elif kind in (T.TIMESTAMP, T.DATETIME, T.TIME):
            if size > 6:
                raise EventError("the table map has a time with more than six digits")
            yield BinlogColumn(number, kind, (size + 1) // 2, size)
        elif kind in set(T):
            yield BinlogColumn(number, kind, INTEGERS[kind][0] if kind in INTEGERS else size)
        else:
            raise EventError(f"the table map has a column of the unknown type {kind}")


def _described(
    database: str, table: str, columns: list[BinlogColumn], cursor: EventBytes, of_mariadb: bool
) -> LoggedTable:
    """Return the table map with what follows the columns: a kind, a size, and data.

    MariaDB has the sign of a YEAR, and the charset of a GEOMETRY; MySQL has the charset of a VECTOR.
    """
    parts: dict[int, EventBytes] = {}
    while cursor.left():
        kind = cursor.number(1)
        parts[kind] = EventBytes(cursor.text())
    signs = parts.get(1)
    if signs is not None:
        with_sign = _SIGNED | {T.YEAR} if of_mariadb else _SIGNED
        signed = [place for place, column in enumerate(columns) if column.type in with_sign]
        bits = signs.take((len(signed) + 7) // 8)
        for n, place in enumerate(signed):
            columns[place] = replace(columns[place], unsigned=bool(bits[n >> 3] & 0x80 >> (n & 7)))
    texts = _TEXTS | {T.GEOMETRY if of_mariadb else T.VECTOR}
    for kinds, by_default, by_column in ((texts, 2, 3), ({T.ENUM, T.SET}, 10, 11)):
        places = [place for place, column in enumerate(columns) if column.type in kinds]
        for place, collation in zip(places, _collations(parts, len(places), by_default, by_column), strict=False):
            columns[place] = replace(columns[place], charset=charset_of(collation) or f"collation {collation}")
    for kind, type in ((6, T.ENUM), (5, T.SET)):
        lists = parts.get(kind)
        for place, column in enumerate(columns):
            if lists is not None and column.type == type:
                count = lists.packed()
                symbols = tuple(_symbol(lists.text(), column.charset) for _ in range(count))
                columns[place] = replace(column, symbols=symbols)
    names = None
    if 4 in parts:
        names = tuple(parts[4].text().decode() for _ in columns)
        if len(set(names)) < len(names):
            raise EventError("the table map has two columns with the same name")
    keys = list(_items(parts[8])) if 8 in parts else list(_items(parts[9]))[::2] if 9 in parts else None
    if keys and max(keys) >= len(columns):
        raise EventError("the table map has a key without its column")
    if names is not None and keys is None:
        keys = []
    has_metadata = not any(
        (column.type in INTEGERS and column.unsigned is None) or (column.type in _TEXTS and column.charset is None)
        for column in columns
    )
    return LoggedTable(database, table, tuple(columns), names, None if keys is None else tuple(keys), has_metadata)


def _symbol(text: bytes, charset: str | None) -> str:
    decode = decoder("utf8mb4" if charset in (None, BINARY) else str(charset))
    if decode is None:
        raise EventError(f"ggfmt cannot read the charset `{charset}`")
    try:
        return decode(text)
    except ValueError:
        return text.decode()


def _items(cursor: EventBytes) -> Iterator[int]:
    while cursor.left():
        yield cursor.packed()


def _collations(parts: Mapping[int, EventBytes], count: int, by_default: int, by_column: int) -> Sequence[int]:
    if by_column in parts:
        found = list(_items(parts[by_column]))
        if len(found) != count:
            raise EventError("the table map does not have one charset for each text column")
        return found
    if by_default not in parts:
        return ()
    first, *others = _items(parts[by_default])
    found = [first] * count
    for place, collation in zip(others[::2], others[1::2], strict=False):
        if place >= count:
            raise EventError("the table map has a charset without its column")
        found[place] = collation
    return found


def type_of_column(column: BinlogColumn) -> SqlType:
    kind = column.type
    if kind in INTEGERS:
        return sql_type(INTEGERS[kind][1] + " unsigned" * bool(column.unsigned))
    if kind in _TIMES:
        zoned = kind in (T.TIMESTAMP, T.OLD_TIMESTAMP)
        return SqlType(_TIMES[T(kind)], scale=column.digits, zoned=zoned)
    if kind == T.DECIMAL:
        return SqlType(Kind.DECIMAL, precision=column.precision, scale=column.digits)
    if kind == T.BIT:
        return SqlType(Kind.INTEGER, precision=UNSIGNED_DIGITS if column.digits == 64 else None)
    if kind in _TEXTS and column.charset is not None:
        size = None if kind in _BLOBS else column.size - (kind == T.VARCHAR_COMPRESSED)
        if column.charset == BINARY:
            return SqlType(Kind.BINARY, length=size, base64=True)
        return SqlType(Kind.STRING, length=None if size is None else size // _WIDTHS.get(column.charset, 1))
    return _PLAIN.get(kind, SqlType(Kind.STRING))


_PLAIN: Mapping[int, SqlType] = {
    T.FLOAT: SqlType(Kind.FLOAT),
    T.DOUBLE: SqlType(Kind.DOUBLE),
    T.DATE: SqlType(Kind.DATE),
    T.YEAR: sql_type("year"),
    T.GEOMETRY: SqlType(Kind.BINARY, base64=True),
    T.VECTOR: SqlType(Kind.BINARY, base64=True),
}


def completed(found: LoggedTable, name: str, given: TableDef | None) -> LoggedTable:
    """Return a table map with the names, and the charsets and signs of columns, from the definition of the table by its
    place, if the log does not have them. Raises: RecordError if both do not."""
    if found.names is not None and found.has_metadata:
        return found
    if given is None:
        help = (
            f"{METADATA_HELP}; for this log, give the definition of the table with `--definitions`, after a line "
            f"`USE {name.partition('.')[0]};` if it names no database"
        )
        raise RecordError("GG305", "the log does not name the columns of the table", help, name)
    if len(given.columns) != len(found.columns):
        reason = f"the table has {len(found.columns)} columns in the log, and {len(given.columns)} in its definition"
        raise RecordError("GG305", reason, METADATA_HELP, name)
    if not found.has_metadata:
        columns = [
            replace(
                column,
                unsigned=column.unsigned if column.unsigned is not None else _is_unsigned(column, own.type),
                charset=column.charset or (BINARY if own.type.kind is Kind.BINARY else None),
            )
            for column, own in zip(found.columns, given.columns, strict=True)
        ]
        found = replace(found, columns=tuple(columns))
    return replace(found, names=given.column_names) if found.names is None else found


def _is_unsigned(column: BinlogColumn, type: SqlType) -> bool:
    if column.type == T.LONGLONG:
        return type.precision == UNSIGNED_DIGITS
    return type.kind is Kind.INTEGER and type.bits is None
