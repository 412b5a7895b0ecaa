"""The text of a binary log, read: `events` makes a record of each row, and definitions say what its values are."""

from __future__ import annotations

from binascii import b2a_base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any, BinaryIO

import msgspec
import pyarrow as pa

from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, Remark
from ggfmt.formats.json.values import Text
from ggfmt.formats.mysqlbinlog import MysqlbinlogTextOptions, events
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import Change, Meaning
from ggfmt.formats.records.images import Columns, TextImage
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.statements import What, effects_of, in_database, statement
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Column, Kind, TableDef
from ggfmt.model.type_names import UNSIGNED_DIGITS

_INTEGER = lazy_regex(r"(-?[0-9]{1,20})(?: \(([0-9]{1,20})\))?")
_DECIMAL = lazy_regex(r"-?[0-9]+(?:\.[0-9]+)?")
_FLOAT = lazy_regex(r"(-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?) *")
_DATE = lazy_regex(r"'([0-9]{4}):([0-9]{2}):([0-9]{2})'")
_CLOCK = lazy_regex(r"'(-?[0-9]{2,3}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)'")
_TIME = lazy_regex(r"'([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)'")
_EPOCH = lazy_regex(r"([0-9]{1,10})(\.[0-9]{1,6})?")
_BITS = lazy_regex(r"b'([01]{1,64})'")
_MEMBERS = lazy_regex(r"'((?:[^'\\]|\\.)*)'")
_CHARSET = lazy_regex(r"CHARSET (\w+)")
_CODECS = {
    "latin1": "cp1252", "utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "ascii": "ascii", "gbk": "gbk",
    "utf16": "utf-16-be", "ucs2": "utf-16-be", "utf32": "utf-32-be", "latin2": "iso8859-2", "cp1251": "cp1251",
    "cp1250": "cp1250", "koi8r": "koi8-r", "big5": "big5", "sjis": "shift_jis", "ujis": "euc_jp", "euckr": "euc_kr",
}  # fmt: skip
_CONTROL, _HEX, _ANY = (
    lazy_regex(r"\\x([01][0-9a-f])"),
    lazy_regex(r"\\x([0-9a-f]{2})"),
    lazy_regex(r"\\(?:x([0-9a-f]{2})|(.))"),
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0"}
_EPOCH_START = datetime(1970, 1, 1)
_WITH_METADATA = "print the log with `--print-table-metadata`"
_ZERO_TIME = "0000-00-00 00:00:00"

FLOATS = "with FLOAT, of which the text has six digits"
CONTROLS = r"with `\x0a` or the like in a text, which is a control character or these characters"
ZEROS = "with bytes that are shorter than their column, and may have had zero bytes at their end"


class BinlogRow(msgspec.Struct, gc=False):
    """A row or a statement.

    columns        the names and types of the table's columns, if the text has its metadata
    before, after  cells: the number of the column, the value as it is printed, and the type in the comment
    """

    op: Annotated[str | None, roles.op({"I": "I", "U": "U", "D": "D"})] = None
    table: Annotated[str | None, roles.name()] = None
    ts: Annotated[str | None, roles.time(roles.TEXT)] = None
    pos: Annotated[str | None, roles.position()] = None
    gtid: Annotated[str | None, roles.transaction(), roles.Token(0)] = None
    server: str | None = None
    columns: list[tuple[str, str]] | None = None
    before: list[tuple[int, str, str | None]] | None = None
    after: list[tuple[int, str, str | None]] | None = None
    sql: str | None = None
    database: str | None = None


class MysqlbinlogText(DeclaredDialect):
    record = BinlogRow
    scanned = False

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options: Any = source.options or MysqlbinlogTextOptions()
        self._lost: Counter[Remark] = Counter()
        self._losses: set[str] = set()  # of the operation in hand

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        return "events as `mysqlbinlog` prints them" if events.HEAD.search(head) else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False, envelope=events.EVENTS)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return events.chunks(stream, file, layout)

    def is_partial(self, op: str) -> bool:
        return op in ("U", "D")

    def others(self, record: BinlogRow, word: str | None) -> Meaning:
        if record.sql is None:
            return super().others(record, word)
        effects = effects_of(record.sql)
        head = self.change(record, "T", "")
        resolve = in_database(record.database)
        truncated = [effect for effect in effects if effect.what is What.TRUNCATE]
        emptied = [head._replace(table=resolve(effect, name) or "") for effect in truncated for name in effect.names]
        rest = [effect for effect in effects if effect.what is not What.TRUNCATE]
        return [*emptied, statement(None if emptied else "statement", rest, resolve, head)]

    def operations(self, record: BinlogRow, op: str | roles.OpToken) -> list[Change]:
        table = self.named_table(record)
        definition = self.trusted.get(table)
        change = self.change(record, op, table)
        if definition is None:
            return [change]  # the reader asks for the definition
        names = [name for name, _ in record.columns or ()]
        if names and names != list(definition.column_names):
            help = "give the definition of the table at this place of the log; divide the text where it changes"
            raise RecordError("GG305", "the text has other columns than the definition", help, table)
        self._losses.clear()
        before, after = (self._image(cells, record, definition) for cells in (record.before, record.after))
        if change.op == "I" and after is not None and len(after) < len(definition.columns):
            help = "set `binlog_row_image=FULL`"
            raise RecordError("GG305", "an insert lacks a column, whose default the text does not show", help, table)
        self._lost.update(Remark("GG330", table, detail) for detail in self._losses)
        return [change._replace(before=before, after=after)]

    def remarks(self, table: str, after: Columns, rows: pa.BooleanArray) -> Mapping[Remark, int]:
        found = {remark: count for remark, count in self._lost.items() if remark.table == table}
        for remark in found:
            del self._lost[remark]
        return found

    # Values

    def _image(
        self, cells: Sequence[tuple[int, str, str | None]] | None, record: BinlogRow, table: TableDef
    ) -> TextImage | None:
        if cells is None:
            return None
        image = TextImage()
        for number, text, comment in cells:
            if not 0 < number <= len(table.columns):
                raise RecordError("GG305", f"the definition does not have a column {number}", None, table.full_name)
            column = table.columns[number - 1]
            own = record.columns[number - 1][1] if record.columns else ""
            try:
                value = None if text == "NULL" else self._value(text, column, comment or "", own, record)
            except ValueError as error:
                raise RecordError("GG314", str(error), None, table.full_name, column.name) from None
            image[column.name] = None if value is None else Text(value)
        return image

    def _value(self, text: str, column: Column, comment: str, own: str, record: BinlogRow) -> str:
        """Return the text of a value. `comment`, `own`: its type in the comment and in the metadata, or nothing.

        Raises: ValueError says why the value cannot be known
        """
        kind = column.type.kind
        if kind in (Kind.FLOAT, Kind.DOUBLE):
            if kind is Kind.DOUBLE and not text.endswith(" ") and not (own or comment).startswith("FLOAT"):
                return repr(float(_float(text)))
            self._losses.add(FLOATS)  # the tool pads FLOAT with blanks, and no other number
            return _float(text)
        if kind in _SIMPLE:
            return _SIMPLE[kind](text)
        if kind is Kind.INTEGER:
            return _integer(text, column, comment.startswith("YEAR") or own.startswith("YEAR"))
        bits = _BITS.fullmatch(text)
        if bits is not None and (own or comment).startswith("BIT"):
            return bits[1]
        if own.startswith(("ENUM", "SET")):
            return _members(text, own)
        if len(text) < 2 or not text.startswith("'") or not text.endswith("'"):
            raise ValueError(
                "the text does not show a value of ENUM, SET or BIT; print the log with `--print-table-metadata`"
            )
        if comment.startswith("GEOMETRY") or own.startswith(("GEOMETRY", "POINT")):
            raise ValueError("the text does not show the value of a geometry")
        data = self._unescaped(text[1:-1], record.server).encode("latin-1")
        if kind is Kind.BINARY:
            return self._bytes(data, column, comment, own)
        if own.startswith("BINARY"):
            raise ValueError("the column has bytes, and the definition says that it has texts")
        charset = _CHARSET.search(own)
        codec = "utf-8" if charset is None else _CODECS.get(charset[1])
        try:
            return data.decode(codec or "")
        except (UnicodeDecodeError, LookupError):
            help = "print the log with `--print-table-metadata`" if charset is None else "ggfmt does not read it"
            raise ValueError(
                f"the character set of the value is unknown or other than the metadata say; {help}"
            ) from None

    def _unescaped(self, text: str, server: str | None) -> str:
        if "\\" not in text:
            return text
        form = self.options.escapes
        if form == "auto":
            release = server or ""
            form = "mariadb" if "MariaDB" in release else "mysql5" if release.startswith(("5.6", "5.7")) else "mysql8"
            if not release:
                raise ValueError("the text has a backslash, and does not show which tool wrote it; set `escapes`")
        if form == "mariadb":
            made = _CONTROL.sub(lambda found: chr(int(found[1], 16)), text)
            if made != text:
                self._losses.add(CONTROLS)
            return made
        if form == "mysql5":
            return _HEX.sub(lambda found: chr(int(found[1], 16)), text)
        return _ANY.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LETTERS.get(found[2], found[2]), text)

    def _bytes(self, data: bytes, column: Column, comment: str, own: str) -> str:
        length = column.type.length or 0
        if own.startswith("BINARY") or (not own and comment.startswith("STRING")):
            data = data.ljust(length, b"\0")
        elif len(data) < length and not own and not comment:
            self._losses.add(ZEROS)
        return b2a_base64(data, newline=False).decode()


def _matched(pattern: Any, what: str) -> Callable[[str], str]:
    def value(text: str) -> str:
        found = pattern.fullmatch(text)
        if found is None:
            raise ValueError(f"the value is not {what}; correct the definition")
        return "-".join(found.groups()) if found.lastindex and found.lastindex > 1 else str(found[1])

    return value


_float = _matched(_FLOAT, "a floating-point number")


def _decimal(text: str) -> str:
    if not _DECIMAL.fullmatch(text):
        raise ValueError("the value is not a decimal number; correct the definition")
    return text


def _boolean(text: str) -> str:
    if text not in ("0", "1"):
        raise ValueError("the value is neither 0 nor 1; correct the definition")
    return "true" if text == "1" else "false"


def _timestamp(text: str) -> str:
    """Return a DATETIME, or a TIMESTAMP in UTC: the text has it as seconds since 1970."""
    found = _EPOCH.fullmatch(text)
    if found is None:
        return _datetime(text)
    if not int(found[1]):
        return _ZERO_TIME + (found[2] or "")
    return f"{_EPOCH_START + timedelta(seconds=int(found[1]))}{found[2] or ''}"


_datetime = _matched(_TIME, "a time")
_SIMPLE: Mapping[Kind, Callable[[str], str]] = {
    Kind.DECIMAL: _decimal,
    Kind.NUMBER: _decimal,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _matched(_DATE, "a date"),
    Kind.TIME: _matched(_CLOCK, "a time of day"),
    Kind.TIMESTAMP: _timestamp,
}


def _integer(text: str, column: Column, is_year: bool) -> str:
    """Return an integer. If its sign bit is set, the text has both readings, and the definition decides."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        raise ValueError("the value is not a whole number; correct the definition")
    if is_year:
        return "0" if found[1] == "1900" else str(found[1])  # 0000, as 1900 is not a year
    if found[2] is None:
        return str(found[1])
    bits = (int(found[2]) - int(found[1])).bit_length() - 1
    own, digits = column.type.bits, column.type.precision
    if own is not None and own != (32 if bits == 24 else bits):
        raise ValueError(f"the value has {bits} bits, and the definition has {own}")
    is_signed = own is not None or (bits == 64 and digits != UNSIGNED_DIGITS)
    return str(found[1] if is_signed else found[2])


def _members(text: str, own: str) -> str:
    """Return the texts of a value of ENUM or SET."""
    names = [name.replace("\\'", "'").replace("\\\\", "\\") for name in _MEMBERS.findall(own)]
    bits = _BITS.fullmatch(text)
    if own.startswith("SET") and bits is not None:
        number = int(bits[1], 2)
        if number >> len(names):
            raise ValueError("the value has a member that the metadata do not have")
        return ",".join(name for place, name in enumerate(names) if number >> place & 1)
    if not text.isdecimal() or int(text) > len(names):
        raise ValueError("the value has a member that the metadata do not have")
    return names[int(text) - 1] if int(text) else ""


READ_SIDES = {"mysqlbinlog_text": replace(dialect_input(MysqlbinlogText, router=None), discovery=None)}
