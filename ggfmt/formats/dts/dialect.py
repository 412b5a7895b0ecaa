"""What DTS's records are."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.avro.containers import CorruptContainerError, Header, read_header, split_blocks
from ggfmt.formats.dts import KEYS_TAG
from ggfmt.formats.dts import files as dts_files
from ggfmt.formats.dts.charsets import decoder
from ggfmt.formats.dts.ddl import NoTable, is_truncate, truncated
from ggfmt.formats.dts.decode import (
    BINARY_GEOMETRY,
    BINARY_OBJECT,
    CHARACTER,
    CHARACTER_BYTES,
    DATE,
    DATETIME,
    DAY_TIME,
    DECIMAL,
    EPOCH,
    FLOAT,
    INTEGER,
    PARTS,
    TAGS,
    TEXT_GEOMETRY,
    TEXT_OBJECT,
    TIME,
    YEAR,
    YEAR_MONTH,
    ZONED,
    Cell,
    Decoder,
    DtsRecord,
    MalformedRecordError,
    RowFields,
)
from ggfmt.formats.dts.schema import version_of
from ggfmt.formats.dts.tokens import tokens_of
from ggfmt.formats.dts.types import ORACLE, TypeHint, hint_of
from ggfmt.formats.records.dialect import Change, Dialect, Meaning, RecordSchema
from ggfmt.formats.records.refused import NAME_TABLE, RecordError, decoded, missing_member_error
from ggfmt.model.table import Column, Kind, SqlType, TableDef

_OPS = {"INSERT": "I", "INIT": "I", "UPDATE": "U", "DELETE": "D"}
_OTHERS = {"BEGIN": "transaction begin", "COMMIT": "transaction commit", "ROLLBACK": "transaction rollback"}
_PRIMARY = "PRIMARY"
_keys = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode

# Values of DTS as the texts of the model. `millis`, the fraction of a second, has six digits, of Oracle nine. A time
# with negative parts is a negative time. Seconds since 1970 are shown as UTC; a time with a zone has the zone behind
# it, after a blank.

Maker = Callable[[Any], str]  # of a cell that is not None

MICROS, NANOS = 6, 9
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799  # the years 1 to 9999
_MOST = (999999, 12, 31, 9999, 59, 60, 10**NANOS)  # of each part of a time

# What kind of column a value says it is in.
_KINDS = {
    INTEGER: Kind.INTEGER,
    CHARACTER: Kind.STRING,
    CHARACTER_BYTES: Kind.BINARY,
    DECIMAL: Kind.DECIMAL,
    FLOAT: Kind.DOUBLE,
    EPOCH: Kind.TIMESTAMP,
    DATE: Kind.DATE,
    TIME: Kind.TIME,
    DATETIME: Kind.TIMESTAMP,
    YEAR: Kind.INTEGER,
    YEAR_MONTH: Kind.INTERVAL,
    DAY_TIME: Kind.INTERVAL,
    BINARY_GEOMETRY: Kind.BINARY,
    BINARY_OBJECT: Kind.BINARY,
    TEXT_GEOMETRY: Kind.STRING,
    TEXT_OBJECT: Kind.STRING,
}


class UnreadableValueError(ValueError):
    """A value that has no text in its column; the message says why, in one clause."""


def kind_of(cell: tuple[Any, ...]) -> Kind | None:
    """The kind of column that a value says it is in; None if it says none."""
    return kind_of(cell[1]) if cell[0] == ZONED else _KINDS.get(cell[0])


@cache
def makers(kind: Kind, digits: int) -> tuple[Maker, ...]:
    """What makes texts of the cells of a column, by their tags; `digits` are those of a fraction of a second."""
    if kind is Kind.BINARY:
        return tuple(_BYTES.get(tag, _no_bytes) for tag in range(TAGS))
    texts: dict[int, Maker] = {
        INTEGER: _own,
        CHARACTER: _character,
        DECIMAL: _own,
        FLOAT: _float,
        EPOCH: lambda cell: _epoch(cell, digits),
        **{tag: lambda cell: _time(cell, digits) for tag in (DATE, TIME, DATETIME, YEAR, YEAR_MONTH, DAY_TIME, PARTS)},
        ZONED: lambda cell: f"{_time(cell[1], digits)} {_zone(cell[2])}",
        TEXT_GEOMETRY: _own,
        TEXT_OBJECT: _own,
    }
    if kind is Kind.BOOLEAN:
        texts[TEXT_OBJECT] = _boolean
        texts[CHARACTER] = lambda cell: _boolean((CHARACTER, _character(cell)))
    return tuple(texts.get(tag, _no_text) for tag in range(TAGS))


def _own(cell: Any) -> str:
    text: str = cell[1]
    return text


def _no_text(cell: Any) -> str:
    raise UnreadableValueError("the value is bytes, and its column holds none")


def _no_bytes(cell: Any) -> str:
    raise UnreadableValueError("the value is no bytes, and its column holds bytes")


def _base64(cell: Any) -> str:
    return base64.b64encode(cell[-1]).decode()


_BYTES: dict[int, Maker] = dict.fromkeys((CHARACTER, CHARACTER_BYTES, BINARY_GEOMETRY, BINARY_OBJECT), _base64)


def _character(cell: Any) -> str:
    _, charset, data = cell
    decode = decoder(charset)
    word = charset if len(charset) <= 40 and charset.isprintable() else "of the value"
    if decode is None:
        raise UnreadableValueError(f"the charset `{word}` is not known")
    try:
        return decode(data)
    except ValueError:
        raise UnreadableValueError(f"the bytes are no text in the charset `{word}`") from None


_BOOLEANS = {"t": "true", "true": "true", "1": "true", "f": "false", "false": "false", "0": "false"}


def _boolean(cell: Any) -> str:
    text = _BOOLEANS.get(cell[1].lower())
    if text is None:
        raise UnreadableValueError("the value is neither true nor false")
    return text


def _float(cell: Any) -> str:
    number: float = cell[1]
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _fraction(value: int | None, digits: int) -> str:
    if value is None:
        return ""
    if not 0 <= value < 10**digits:
        raise UnreadableValueError(f"`millis` has more than {digits} digits")
    return f".{value:0{digits}}"


def _epoch(cell: Any, digits: int) -> str:
    _, seconds, fraction = cell
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise UnreadableValueError("the time is out of range")
    year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{_fraction(fraction, digits)}"


def _zone(zone: str) -> str:
    if not zone or len(zone) > 60 or not zone.isprintable():
        raise UnreadableValueError("the time has no name of its zone")
    return zone


def _time(cell: Any, digits: int) -> str:
    tag, *parts = cell
    if tag == DATETIME:
        year, month, day, hour, minute, second, fraction = parts
        if year >= 0 <= month <= 12 and 0 <= day <= 31 and 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59:
            moment = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
            return moment + _fraction(fraction, digits)
    minus = ""
    if any(part is not None and part < 0 for part in parts):
        minus = "-"
        parts = [None if part is None else abs(part) for part in parts]
    year, month, day, hour, minute, second, fraction = parts
    if any(part is not None and part > most for part, most in zip(parts, _MOST, strict=True)):
        raise UnreadableValueError("a part of the time is out of range")
    if tag == DATETIME:
        moment = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    elif tag == DATE:
        return f"{minus}{year:04}-{month:02}-{day:02}"
    elif tag == TIME:
        moment = f"{hour:02}:{minute:02}:{second:02}"
    elif tag == YEAR:
        return f"{minus}{year}"
    elif tag == YEAR_MONTH:
        return f"{minus}{year}-{month}"
    elif tag == DAY_TIME:
        moment = f"{day} {hour:02}:{minute:02}:{second:02}"
    else:
        raise UnreadableValueError("the time has some of its parts only")
    return f"{minus}{moment}{_fraction(fraction, digits)}"


@dataclass(frozen=True)
class _Table:
    """What the columns of records mean: the definition and, for each column, what makes texts of its values.

    `learns`: the columns whose values tell their kind, by place, with the kinds that they may tell, and the tags of the
    cells that did. `kinds` and `digits` are what the makers were made for.
    """

    record_schema: RecordSchema
    names: tuple[str, ...]
    makers: tuple[tuple[Maker, ...], ...]
    learns: tuple[tuple[int, frozenset[Kind], set[int]], ...]
    kinds: tuple[Kind, ...]
    digits: int


class Dts(Dialect):
    """Images are dicts of texts. What is learned are the kinds of columns that their values show: keys are a table, a
    column and a kind."""

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.records = Decoder()
        self._tables: dict[tuple[str, str, bytes, str | None], _Table] = {}
        self._told_by: dict[int, _Table] = {}  # by the identity of what records tell of their tables
        self._schemas: dict[bytes, bool | None] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return None

    # Records of a file

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return dts_files.layout(head)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dts_files.chunks(stream, file, start, length, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return dts_files.spans(chunk)

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        if chunk.layout.splittable:
            for start, end in self.spans(chunk):
                yield self.line(chunk.data[start:end])
        elif chunk.spans is None:
            yield from self._block(chunk.data, chunk.layout.max_record)
        else:
            for start, end in chunk.spans:
                yield self.prefixed(chunk.data[start:end])

    def line(self, line: bytes) -> DtsRecord | Diagnostic:
        try:
            return self.records.datum(dts_files.line_datum(line))
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)
        except ValueError:
            return Diagnostic("GG313", "the line is no Base64", help=_HELP)

    def prefixed(self, data: bytes) -> DtsRecord | Diagnostic:
        size = int.from_bytes(data[: dts_files.PREFIX_BYTES], "big") + dts_files.PREFIX_BYTES
        if size >= dts_files.MOST_BYTES:
            return Diagnostic("GG313", "the length of a record is out of range", help=_HELP)
        if size > len(data) or len(data) < dts_files.PREFIX_BYTES:
            help = "read the file again when it is whole"
            return Diagnostic("GG302", "the file ends in the middle of a record", help=help)
        try:
            return self.records.datum(data[dts_files.PREFIX_BYTES :])
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)

    def _block(self, data: bytes, limit: int) -> Iterator[DtsRecord | Diagnostic]:
        try:
            header = read_header(data)
            born = self.born(header)
            for _, _, count, block in split_blocks(data, header, limit):
                if isinstance(block, CorruptContainerError):
                    raise block
                place = 0
                for _ in range(count):
                    record, place = self.records.record(block, place, born)
                    yield record
                if place != len(block):
                    raise CorruptContainerError(TOO_LONG)
        except (CorruptContainerError, MalformedRecordError) as error:
            yield Diagnostic("GG313", str(error))

    def born(self, header: Header) -> bool:
        """Whether the records of a container file have a `bornTimestamp`; CorruptContainerError if they are none of
        DTS's."""
        if header.data not in self._schemas:
            self._schemas[header.data] = born_in(header.schema)
        born = self._schemas[header.data]
        if born is None:
            raise CorruptContainerError("the schema of the file is not the one of DTS's records")
        return born

    # What a record is

    def changes(self, record: DtsRecord) -> Meaning:
        op = _OPS.get(record.operation)
        if op is None:
            return self._others(record)
        if not record.object_name:
            raise missing_member_error("objectName", NAME_TABLE)
        name = record.object_name
        fields = record.fields
        if not isinstance(fields, RowFields):
            raise RecordError("GG305", "the record has no list of `fields`", None, name)
        table = self._table(name, record, fields)
        # Before any value is refused: what is learned must not depend on what else is wrong.
        for image in (record.before, record.after):
            if isinstance(image, list) and len(image) == len(table.names):
                self._learn(name, table, image)
        before = self._image(table, record.before, "beforeImages", name)
        after = self._image(table, record.after, "afterImages", name)
        return [self._change(record, name, op, before, after, table.record_schema)]

    def _others(self, record: DtsRecord) -> Meaning:
        if record.operation != "DDL":
            return other(record.operation)
        statement = record.after
        if not isinstance(statement, str) or not is_truncate(statement):
            return "ddl"
        try:
            names = truncated(statement, record.object_name, record.source_type)
        except NoTable as error:
            raise RecordError("GG305", str(error)) from None
        changes = []
        for row, name in enumerate(names):
            change = self._change(record, name, "T", None, None, None)
            if self.with_tokens and len(names) > 1:
                change.tokens["row"] = str(row)
            changes.append(change)
        return changes

    def _change(
        self, record: DtsRecord, name: str, op: str, before: Any, after: Any, record_schema: RecordSchema | None
    ) -> Change:
        op_ts = record.timestamp * 1_000_000 if record.timestamp else None
        tokens = tokens_of(record) if self.with_tokens else {}
        return Change(name, op, op_ts, record.position or None, before, after, tokens, record_schema)

    # Tables

    def _table(self, name: str, record: DtsRecord, fields: RowFields) -> _Table:
        keys = record.tags.get(KEYS_TAG)
        identity = name, record.source_type, fields.data, keys
        table = self._tables.get(identity)
        if table is None:
            table = self._tables[identity] = self._describe(name, record.source_type, fields, keys)
            self._told_by[id(table.record_schema)] = table
        return table

    def told_by(self, record_schema: RecordSchema) -> _Table:
        """What the columns mean of records that tell this of their table."""
        return self._told_by[id(record_schema)]

    def _describe(self, name: str, source_type: str, fields: RowFields, keys_text: str | None) -> _Table:
        if len(set(fields.names)) < len(fields.names):
            raise RecordError("GG308", "`fields` names a column twice", None, name)
        keys: tuple[str, ...] = ()
        if keys_text:
            reason = f"the tag `{KEYS_TAG}` is not an object of lists of columns"
            keys = decoded(_keys, keys_text, reason, name).get(_PRIMARY, ())
        trusted = (
            {column.name: column.type.kind for column in self.trusted[name].columns} if name in self.trusted else {}
        )
        columns: list[Column] = []
        kinds: list[Kind] = []
        digits = NANOS if source_type == ORACLE else MICROS
        learns: list[tuple[int, frozenset[Kind], set[int]]] = []
        for place, (column, number) in enumerate(zip(fields.names, fields.numbers, strict=True)):
            known = hint_of(source_type, number)
            seen = {kind for kind in known.learns if (name, column, kind.value) in self.source.facts}
            kind = known.settled(seen)
            columns.append(Column(column, SqlType(kind)))
            if column in trusted:
                kind = trusted[column]
            elif known.learns - seen:
                learns.append((place, known.learns, set()))
            kinds.append(kind)
        definition = self.keyed(TableDef(name, tuple(columns)).with_keys(keys))
        record_schema = RecordSchema(definition, (None,) * len(columns))
        makers_of = tuple(makers(kind, digits) for kind in kinds)
        return _Table(record_schema, fields.names, makers_of, tuple(learns), tuple(kinds), digits)

    def _image(
        self, table: _Table, cells: list[Cell] | str | None, member: str, name: str
    ) -> dict[str, str | None] | None:
        if not cells:
            return None
        if isinstance(cells, str):
            raise RecordError("GG308", f"`{member}` of a change is a text", None, name)
        if len(cells) != len(table.names):
            reason = f"`fields` has {len(table.names)} columns and `{member}` has {len(cells)} values"
            raise RecordError("GG308", reason, None, name)
        image: dict[str, str | None] = {}
        for column, make, cell in zip(table.names, table.makers, cells, strict=True):
            if cell is None:
                image[column] = None
            elif cell:
                try:
                    image[column] = make[cell[0]](cell)
                except UnreadableValueError as error:
                    raise RecordError("GG314", str(error), None, name, column) from None
        return image

    def _learn(self, name: str, table: _Table, cells: list[Cell]) -> None:
        """Takes note of the kinds that values show, and that all records are to be seen once more if a column is
        thereby of another kind."""
        for place, kinds, tags in table.learns:
            cell = cells[place]
            if not cell or cell[0] in tags:
                continue
            if cell[0] != ZONED:
                tags.add(cell[0])
            kind = kind_of(cell)
            column = table.record_schema.table.columns[place]
            if kind in kinds and (name, column.name, kind.value) not in self.learned:
                self.learned[name, column.name, kind.value] = True
                seen = {kind for kind in kinds if (name, column.name, kind.value) in self.learned}
                self.lacking |= TypeHint(column.type.kind, kinds).settled(seen) is not column.type.kind


def other(operation: str) -> str:
    """What a record is that is no change."""
    return _OTHERS.get(operation) or operation.lower()


TOO_LONG = "bytes follow the records of a block"
_HELP = (
    "a file has records of DTS, each behind its length in four bytes, or as Base64 in a line, or in Avro's containers"
)


def born_in(schema: Any) -> bool | None:
    """Whether records of a schema have a `bornTimestamp`; None if it is none of DTS's."""
    try:
        return version_of(schema)
    except Exception:  # a schema can be wrong in more ways than there are exceptions for
        return None
