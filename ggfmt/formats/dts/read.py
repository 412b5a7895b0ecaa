"""Reader of DTS's Avro.

`Dts` decodes records one by one. The scanner (`kernels/dts_scan.c`) converts regular records into columns.

Values become the texts of the model. `millis`, the fraction of a second, has six digits, from Oracle nine. A time with
negative parts is a negative time. Seconds since 1970 become UTC. A time with a zone has the zone after a space.
"""

from __future__ import annotations

import base64
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, Routed, Unroutable
from ggfmt.formats.avro.containers import CorruptContainerError, Header, read_header, split_blocks
from ggfmt.formats.dts import KEYS_TAG, decode
from ggfmt.formats.dts import files as dts_files
from ggfmt.formats.dts.ddl import NoTable, is_truncate, resolver, truncated
from ggfmt.formats.dts.decode import Cell, DtsRecord, MalformedRecordError, Record
from ggfmt.formats.dts.schema import OPERATIONS, SOURCE_TYPES, version_of
from ggfmt.formats.dts.tokens import TRANSACTION, WORDS, tokens_of
from ggfmt.formats.dts.types import ORACLE, TEXT_OR_BYTES, TypeHint, hint_of, is_zoned
from ggfmt.formats.json.values import Text
from ggfmt.formats.mysql.charsets import BINARY, MYSQL_CHARSETS, decoder
from ggfmt.formats.records import scanner
from ggfmt.formats.records.dialect import Change, Dialect, Meaning, RecordSchema, classify_records
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.images import TextImage
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error
from ggfmt.formats.records.reader import DialectReader, DialectTable, dialect_input
from ggfmt.formats.records.routing import DialectRouter, DialectScanning
from ggfmt.formats.records.scanner import OddRecord, Scanner, SourceBatch, places_of
from ggfmt.formats.records.statements import effects_of, statement
from ggfmt.java.numbers import NOT_FINITE_TEXTS
from ggfmt.kernels import kernel
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef

# The same numbers as in dts_scan.c.
_TO_TEXTS, _TO_BYTES, _TO_BOOLEANS = range(3)
_FIRST_LOAD, _COUNTED, _LEFT = b"L", b"-", b"?"
_LETTERS = {"INSERT": b"I", "UPDATE": b"U", "DELETE": b"D", "INIT": _FIRST_LOAD, "DDL": _LEFT}
_ASCII = "".join(map(chr, range(128)))

_OPS = {"INSERT": "I", "INIT": "I", "UPDATE": "U", "DELETE": "D"}
_OTHERS = {"BEGIN": "transaction begin", "COMMIT": "transaction commit", "ROLLBACK": "transaction rollback"}
_PRIMARY = "PRIMARY"
_keys = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode

# Has a scanner take so many records of a block from a place on: how many it took, the next place, and its identity.
Take = Callable[[bytes, int, int, bool], tuple[int, int, bytes | None]]

MICROS, NANOS = 6, 9
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799  # the years 1 to 9999
_MOST = (999999, 12, 31, 9999, 59, 60, 10**NANOS)  # maximum of each part of a time

_KINDS = {
    "Integer": Kind.INTEGER,
    "Character": Kind.STRING,
    "Decimal": Kind.DECIMAL,
    "Float": Kind.DOUBLE,
    "Timestamp": Kind.TIMESTAMP,
    "BinaryGeometry": Kind.BINARY,
    "TextGeometry": Kind.STRING,
    "BinaryObject": Kind.BINARY,
    "TextObject": Kind.STRING,
}
_AS_BYTES = ("Character", "BinaryGeometry", "BinaryObject")  # what a binary column may have

# The kinds and the texts of times by the letters of their parts, without the fraction of a second.
_PARTS = "yMdhms"
_CLOCK = "{3:02}:{4:02}:{5:02}"
_TIMES = {
    "yMd": (Kind.DATE, "{0:04}-{1:02}-{2:02}"),
    "hms": (Kind.TIME, _CLOCK),
    _PARTS: (Kind.TIMESTAMP, "{0:04}-{1:02}-{2:02} " + _CLOCK),
    "y": (Kind.INTEGER, "{0}"),
    "yM": (Kind.INTERVAL, "{0}-{1}"),
    "dhms": (Kind.INTERVAL, "{2} " + _CLOCK),
}


class UnreadableValueError(ValueError):
    """Error for a value that has no text in its column; its message gives the reason."""


def kind_of(cell: Record) -> Kind | None:
    """Return the kind of column that a value shows; None if it shows none."""
    name, *values = cell
    if name == "TimestampWithTimeZone":
        return kind_of(values[0])
    if name == "DateTime":
        kind, _ = _TIMES.get(_parts(values), (None, ""))
        return kind
    return Kind.BINARY if name == "Character" and values[0].lower() == BINARY else _KINDS[name]


def text_of(cell: Record, kind: Kind, digits: int) -> str:
    """Return the text of a value in a column of a kind. Raises: UnreadableValueError if there is none."""
    name, *values = cell
    if kind is Kind.BINARY:
        if name not in _AS_BYTES:
            raise UnreadableValueError("the value is not binary, but its column is binary")
        return base64.b64encode(values[1]).decode()
    if kind_of(cell) is Kind.BINARY:
        raise UnreadableValueError("the value is binary, but its column is not binary")
    if name == "Float":
        return _float(values[0])
    if name == "Timestamp":
        return _epoch(values[0], values[1], digits)
    if name == "DateTime":
        return _time(values, digits)
    if name == "TimestampWithTimeZone":
        return f"{_time(values[0][1:], digits)} {_zone(values[1])}"
    text: str = values[0] if name == "Decimal" else _character(*values) if name == "Character" else values[1]
    return _boolean(text) if kind is Kind.BOOLEAN and name in ("Character", "TextObject") else text


def _character(charset: str, data: bytes) -> str:
    read = decoder(charset)
    word = charset if len(charset) <= 40 and charset.isprintable() else "..."
    if read is None:
        raise UnreadableValueError(f"the charset `{word}` is unknown")
    try:
        return read(data)
    except ValueError:
        raise UnreadableValueError(f"the bytes are not valid text in the charset `{word}`") from None


_BOOLEANS = {"t": "true", "true": "true", "1": "true", "f": "false", "false": "false", "0": "false"}


def _boolean(text: str) -> str:
    if text.lower() not in _BOOLEANS:
        raise UnreadableValueError("the value is neither true nor false")
    return _BOOLEANS[text.lower()]


def _float(number: float) -> str:
    return NOT_FINITE_TEXTS.get(repr(number), repr(number))


def _fraction(value: int | None, digits: int) -> str:
    if value is None:
        return ""
    if not 0 <= value < 10**digits:
        raise UnreadableValueError(f"`millis` has more than {digits} digits")
    return f".{value:0{digits}}"


def _epoch(seconds: int, fraction: int, digits: int) -> str:
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise UnreadableValueError("the time is out of range")
    year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{_fraction(fraction, digits)}"


def _zone(zone: str) -> str:
    if not zone or len(zone) > 60 or not zone.isprintable():
        raise UnreadableValueError("the time has no valid name of a time zone")
    return zone


def _parts(parts: Sequence[int | None]) -> str:
    """Return the letters of the parts that a time has."""
    return "".join(letter for letter, part in zip(_PARTS, parts, strict=False) if part is not None)


def _time(parts: Sequence[int | None], digits: int) -> str:
    there = _parts(parts)
    signed = parts[:-1] if there == _PARTS else parts  # a date has no negative fraction of a second
    minus = any(part is not None and part < 0 for part in signed)
    if minus:
        parts = [None if part is None else abs(part) for part in parts]
    if any(part is not None and part > most for part, most in zip(parts, _MOST, strict=True)):
        raise UnreadableValueError("a part of the time is out of range")
    if there not in _TIMES:
        raise UnreadableValueError("the time has only some of its parts")
    _, form = _TIMES[there]
    fraction = _fraction(parts[-1], digits) if form.endswith(_CLOCK) else ""
    return f"{'-' if minus else ''}{form.format(*parts)}{fraction}"


class _Learned(NamedTuple):
    """A column whose values determine its kind, in all definitions of the table where it has the same type number.

    key       the table, the column, the source and the type number: with a kind, the key of a fact
    possible  the kinds that count
    shown     the kinds of values so far
    """

    place: int
    key: tuple[str, str, str, int]
    possible: frozenset[Kind]
    shown: set[Kind]


@dataclass(frozen=True)
class _DtsTable:
    """The definition of a table, and the kinds of its columns. `digits`: those of a fraction of a second."""

    record_schema: RecordSchema
    names: tuple[str, ...]
    learns: tuple[_Learned, ...]
    kinds: tuple[Kind, ...]
    digits: int

    def kinds_of_values(self) -> tuple[Kind, ...] | None:
        """Return the kinds of columns by the values so far, such that a value of another kind that would change the
        definition does not fit; None if more kinds are possible."""
        kinds = list(self.kinds)
        for place, _, possible, shown in self.learns:
            if possible != TEXT_OR_BYTES or (kinds[place] is not Kind.STRING and not shown & TEXT_OR_BYTES):
                return None
            kinds[place] = Kind.BINARY if Kind.BINARY in shown else Kind.STRING
        return tuple(kinds)


class Dts(Dialect):
    """Dialect of DTS's records. Discovery collects the kinds that values show, by table, column and kind."""

    transaction_tokens = (TRANSACTION,)

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._tables: dict[tuple[str, str, tuple[Record, ...], str | None], _DtsTable] = {}
        self._by_schema: dict[int, _DtsTable] = {}  # by the identity of the record schema
        self._schemas: dict[bytes, bool | None] = {}

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        """Return why the first record, or the schema of a container file, shows this format; None if it does not."""
        if dts_files.is_container(head):
            try:
                version = version_of(read_header(head).schema)
            except CorruptContainerError:
                return None
            return None if version is None else "it starts like an Avro object container of DTS records"
        try:
            if dts_files.is_base64(head):
                decode.datum(dts_files.line_datum(head.lstrip().split(b"\n", 1)[0]))
                return "its first line is a DTS record in Base64"
            end = dts_files.PREFIX_BYTES + int.from_bytes(head[: dts_files.PREFIX_BYTES], "big")
            if len(head) < end:
                return None
            decode.datum(head[dts_files.PREFIX_BYTES : end])
        except ValueError:
            return None
        return "it starts with the length of a DTS record, and the record"

    # Records of a file

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=dts_files.is_base64(head))  # only a file of lines

    chunks = staticmethod(dts_files.chunks)
    spans = staticmethod(dts_files.spans)

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        if chunk.layout.splittable:
            for start, end in self.spans(chunk):
                yield self.line(chunk.data[start:end])
        elif chunk.spans is None:
            yield from self._block(chunk)
        else:
            for start, end in chunk.spans:
                yield self.prefixed(chunk.data[start:end])

    def line(self, line: bytes) -> DtsRecord | Diagnostic:
        try:
            return decode.datum(dts_files.line_datum(line))
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)
        except ValueError:
            return Diagnostic("GG313", "the line is not Base64", help=_HELP)

    def prefixed(self, data: bytes) -> DtsRecord | Diagnostic:
        size = int.from_bytes(data[: dts_files.PREFIX_BYTES], "big") + dts_files.PREFIX_BYTES
        if size >= dts_files.MAX_BYTES:
            return Diagnostic("GG313", "the length of a record is out of range", help=_HELP)
        if size > len(data) or len(data) < dts_files.PREFIX_BYTES:
            help = "read the file again when it is complete"
            return Diagnostic("GG302", "the file ends in the middle of a record", help=help)
        try:
            return decode.datum(data[dts_files.PREFIX_BYTES :])
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)

    def _block(self, chunk: Chunk) -> Iterator[DtsRecord | Diagnostic]:
        try:
            for record, _ in self.in_blocks(chunk, lambda block, place, count, born: (0, place, None)):
                yield record
        except (CorruptContainerError, MalformedRecordError) as error:
            yield Diagnostic("GG313", str(error))

    def in_blocks(self, chunk: Chunk, take: Take) -> Iterator[tuple[DtsRecord, bytes | None]]:
        """Yield the records of a chunk of a container file that a scanner does not take, with their identities. Raises:
        CorruptContainerError or MalformedRecordError for damaged records."""
        header = read_header(chunk.data)
        born = self.born(header)
        for _, _, count, block in split_blocks(chunk.data, header, chunk.layout.max_record):
            if isinstance(block, CorruptContainerError):
                raise block
            place = 0
            while count:
                taken, place, identity = take(block, place, count, born)
                count -= taken
                if count:
                    record, place = decode.record_at(block, place, born)
                    count -= 1
                    yield record, identity
            if place != len(block):
                raise CorruptContainerError("extra bytes follow the records of a block")

    def born(self, header: Header) -> bool:
        """Return whether records have a `bornTimestamp`. Raises: CorruptContainerError for another schema."""
        if header.data not in self._schemas:
            self._schemas[header.data] = version_of(header.schema)
        born = self._schemas[header.data]
        if born is None:
            raise CorruptContainerError("the schema of the file is not the schema of DTS records")
        return born

    # The meaning of a record

    def changes(self, record: DtsRecord) -> Meaning:
        op = _OPS.get(record.operation)
        if op is None:
            return self._others(record)
        if not record.object_name:
            raise missing_member_error("objectName", NAME_TABLE)
        name = record.object_name
        fields = record.fields
        if not isinstance(fields, list):
            raise RecordError("GG305", "the record has no list `fields`", None, name)
        table = self._table(name, record, tuple(fields))
        # Learn before rejecting a value: what is learned must not depend on other errors in the record.
        for image in (record.before, record.after):
            if isinstance(image, list) and len(image) == len(table.names):
                self._learn(table, image)
        before = self._image(table, record.before, "beforeImages", name)
        after = self._image(table, record.after, "afterImages", name)
        return [self._change(record, name, op, before, after, table.record_schema)]

    def _others(self, record: DtsRecord) -> Meaning:
        if record.operation != "DDL":
            return other(record.operation)
        text = record.after if isinstance(record.after, str) else ""
        if not is_truncate(text):
            resolve = resolver(record.object_name, record.source_type)
            head = self._change(record, record.object_name or "", "T", None, None, None)
            return [statement("ddl", effects_of(text), resolve, head)]
        try:
            names = truncated(text, record.object_name, record.source_type)
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
        self,
        record: DtsRecord,
        name: str,
        op: str,
        before: TextImage | None,
        after: TextImage | None,
        record_schema: RecordSchema | None,
    ) -> Change:
        op_ts = record.timestamp * 1_000_000 if record.timestamp else None
        tokens = tokens_of(record) if self.with_tokens else {}
        return Change(name, op, op_ts, record.position or None, before, after, tokens, record_schema)

    # Tables

    def _table(self, name: str, record: DtsRecord, fields: tuple[Record, ...]) -> _DtsTable:
        keys = record.tags.get(KEYS_TAG)
        identity = name, record.source_type, fields, keys
        table = self._tables.get(identity)
        if table is None:
            table = self._tables[identity] = self._describe(name, record.source_type, fields, keys)
            self._by_schema[id(table.record_schema)] = table
        return table

    def table_of(self, record_schema: RecordSchema) -> _DtsTable:
        return self._by_schema[id(record_schema)]

    def _describe(self, name: str, source_type: str, fields: Sequence[Record], keys_text: str | None) -> _DtsTable:
        names = tuple(column for _, column, _ in fields)
        if len(set(names)) < len(names):
            raise RecordError("GG308", "`fields` names a column twice", None, name)
        keys: tuple[str, ...] = ()
        if keys_text:
            reason = f"the tag `{KEYS_TAG}` is not an object with lists of columns"
            keys = decoded(_keys, keys_text, reason, name).get(_PRIMARY, ())
        trusted = (
            {column.name: column.type.kind for column in self.trusted[name].columns} if name in self.trusted else {}
        )
        columns: list[Column] = []
        kinds: list[Kind] = []
        learns: list[_Learned] = []
        for place, (_, column, number) in enumerate(fields):
            known = hint_of(source_type, number)
            key = name, column, source_type, number
            seen = {kind for kind in known.learns if (*key, kind.value) in self.source.facts}
            kind = known.settled(seen)
            type = SqlType(kind, zoned=is_zoned(source_type, number), base64=kind is Kind.BINARY)
            columns.append(Column(column, type))
            if column in trusted:
                kind = trusted[column]
            elif known.learns - seen:
                learns.append(_Learned(place, key, known.learns, set()))
            kinds.append(kind)
        definition = self.keyed(TableDef(name, tuple(columns)).with_keys(keys))
        record_schema = RecordSchema(definition, (None,) * len(columns))
        digits = NANOS if source_type == ORACLE else MICROS
        return _DtsTable(record_schema, names, tuple(learns), tuple(kinds), digits)

    def _image(self, table: _DtsTable, cells: list[Cell] | str | None, member: str, name: str) -> TextImage | None:
        if not cells:
            return None
        if isinstance(cells, str):
            raise RecordError("GG308", f"`{member}` of a change is a string, not a list", None, name)
        if len(cells) != len(table.names):
            reason = f"`fields` has {len(table.names)} columns and `{member}` has {len(cells)} values"
            raise RecordError("GG308", reason, None, name)
        image = TextImage()
        for column, kind, cell in zip(table.names, table.kinds, cells, strict=True):
            if cell is None or cell == "NULL":
                image[column] = None
            elif not isinstance(cell, str):
                try:
                    image[column] = Text(text_of(cell, kind, table.digits))
                except UnreadableValueError as error:
                    raise RecordError("GG314", str(error), None, name, column) from None
        return image

    def _learn(self, table: _DtsTable, cells: list[Cell]) -> None:
        """Record the kinds that values show. If a column gets another kind, discovery runs once more."""
        for place, key, possible, shown in table.learns:
            cell = cells[place]
            kind = None if cell is None or isinstance(cell, str) else kind_of(cell)
            if kind is None or kind in shown:
                continue
            shown.add(kind)
            fact = (*key, kind.value)
            if kind in possible and fact not in self.learned:
                self.learned[fact] = True
                seen = {kind for kind in possible if (*key, kind.value) in self.learned}
                described = table.record_schema.table.columns[place].type.kind
                self.lacking |= TypeHint(described, possible).settled(seen) is not described


def other(operation: str) -> str:
    return _OTHERS.get(operation) or operation.lower()


_HELP = (
    "use DTS records with a four-byte length before each record, one Base64 line per record, or Avro container files"
)


class DtsScanner(Scanner):
    def __init__(self, native: Any, row_only: bool, tokens: bool, routes: bool = False) -> None:
        ops = b"".join(_LETTERS.get(operation, _COUNTED) for operation in OPERATIONS)
        sources = tuple(source.encode() for source in SOURCE_TYPES)
        rules = scanner.image_rules()
        super().__init__(native.DtsScanner(WORDS, sources, ops, *_charsets(), rules, row_only, tokens), tokens)
        if routes:
            self.route()

    def bind(self, identity: bytes, definition: TableDef, table: _DtsTable, kinds: Sequence[Kind]) -> None:
        """Take records of an identity as operations of a definition, with the names of `table` and these kinds."""
        places = {name: place for place, name in enumerate(definition.column_names)}
        if not places.keys() >= set(table.names):
            self.forget(definition.full_name)
            return
        modes = bytes(
            _TO_BYTES if k is Kind.BINARY else _TO_BOOLEANS if k is Kind.BOOLEAN else _TO_TEXTS for k in kinds
        )
        own = tuple(places[name] for name in table.names)
        self.bind_table(definition.full_name, identity, own, modes, len(places), table.digits)

    def counted(self) -> Iterator[tuple[str, int]]:
        """Yield the number of records that are not changes, by operation, since the last call."""
        return ((name, n) for name, n in zip(OPERATIONS, self.native.counts(), strict=True) if n)


@cache
def _charsets() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the names of charsets that are UTF-8, and of charsets that extend ASCII."""
    unicode = tuple(name.encode() for name, codec in MYSQL_CHARSETS.items() if codec == "utf-8")
    return unicode, tuple(name.encode() for name in (*MYSQL_CHARSETS, "latin1") if _has_ascii(name))


def _has_ascii(charset: str) -> bool:
    read = decoder(charset)
    try:
        return read is not None and read(_ASCII.encode()) == _ASCII
    except ValueError:
        return False


class DtsScanning(DialectScanning):
    """A reader, a discovery or a router that has the scanner take the records of blocks, lines or frames."""

    scanner: Any  # a DtsScanner, or None
    _dialect: Dts

    @abstractmethod
    def learn_change(self, change: Change, identity: bytes | None) -> None:
        """Let the scanner take records of an identity from now on if it can, as one of them had this change."""

    def learn(self, odd: OddRecord) -> None:
        for item in odd.meaning if isinstance(odd.meaning, list) and self.scanner is not None else ():
            if isinstance(item, Change):
                self.learn_change(item, odd.identity)

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Any]:
        data = chunk.data[start:end]
        record = self._dialect.line(data) if chunk.layout.splittable else self._dialect.prefixed(data)
        return record, next(classify_records(self._dialect, [record]))

    def odd_records(self, chunk: Chunk) -> Iterator[OddRecord]:
        assert self.scanner is not None
        if chunk.layout.splittable or chunk.spans is not None:
            yield from self._in_spans(chunk, self.scanner)
            return
        first = self.ordinal
        try:
            for record, identity in self._dialect.in_blocks(chunk, self._take):
                meaning = next(classify_records(self._dialect, [record]))
                yield OddRecord(chunk, self.ordinal - first, None, record, meaning, identity)
        except (CorruptContainerError, MalformedRecordError) as error:
            yield OddRecord(chunk, self.ordinal - first, None, None, Diagnostic("GG313", str(error)), None)

    def _take(self, block: bytes, place: int, count: int, born: bool) -> tuple[int, int, bytes | None]:
        taken, place, _, _, identity = self.scanner.native.scan(block, place, count, self.ordinal, born)
        self.ordinal += taken
        return taken, place, identity

    def _in_spans(self, chunk: Chunk, scanner: DtsScanner) -> Iterator[OddRecord]:
        first = self.ordinal
        spans = self._dialect.spans(chunk)
        data, places, prefix = chunk.data, spans, dts_files.PREFIX_BYTES
        if chunk.layout.splittable:
            data, places = dts_files.line_datums(data, spans)
            prefix = 0
        flat = places_of(places)
        while (number := self.ordinal - first) < len(spans):
            taken, _, _, notes, identity = scanner.native.scan_spans(data, flat, number, self.ordinal, prefix)
            self.ordinal += taken
            self.know_tables(scanner.tables_in(notes, taken))
            if number + taken < len(spans):
                start, end = spans[number + taken]
                record, meaning = self.examined_at(chunk, start, end)
                yield OddRecord(chunk, number + taken, start, record, meaning, identity)


class DtsReader(DtsScanning, DialectReader):
    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self.scanner = kernel(lambda native: DtsScanner(native, projection.row_only, self.reads_tokens))

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        yield from super().decode_chunk(chunk)
        for operation, count in () if self.scanner is None else self.scanner.counted():
            self.others[other(operation)] += count

    def learn_change(self, change: Change, identity: bytes | None) -> None:
        held = self.tables.get(change.table)
        if identity is None or held is None or held.record_schema is None:
            return
        if held.record_schema is change.record_schema:
            table = self._dialect.table_of(held.record_schema)
            self.scanner.bind(identity, held.definition, table, table.kinds)

    def scanned_columns(self, table: DialectTable, scanned: SourceBatch) -> ChangeBatch:
        asked, key_update = self.projection, None
        if asked.row_only and asked.key_updates:
            keys = tuple(scanned.before[place] for place in table.definition.key_indices)
            key_update = scanner.key_updates(keys, scanned.after, table.definition)
        op_ts, position = (column.values for column in scanned.slots)
        return scanned.batch(table.definition, op_ts, position, asked.row_only, key_update)


class DtsDiscovery(DtsScanning, DialectDiscovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self.scanner = kernel(lambda native: DtsScanner(native, True, False))
        self._bound: dict[str, tuple[RecordSchema, tuple[Kind, ...]]] = {}  # by table

    def read(self, chunk: Chunk) -> None:
        super().read(chunk)
        for name in self._bound:
            self._drop(name)

    def learn_change(self, change: Change, identity: bytes | None) -> None:
        """Pass over later records with this identity, if they and their values cannot show more."""
        name, record_schema = change.table, change.record_schema
        if record_schema is None:
            return
        table = self._dialect.table_of(record_schema)
        kinds = table.kinds_of_values()
        self._drop(name)
        if self._is_new(record_schema.table) or kinds is None or identity is None:
            self.scanner.forget(name)
            self._bound.pop(name, None)
        elif self._bound.get(name) != (record_schema, kinds):
            self._bound[name] = record_schema, kinds
            self.scanner.bind(identity, record_schema.table, table, kinds)

    def _forget(self, name: str) -> None:
        self._drop(name)
        super()._forget(name)

    def _drop(self, table: str) -> None:
        """Release the operations held for a table: only their definitions matter."""
        if self.scanner is not None:
            self.scanner.take(table)


class DtsRouter(DtsScanning, DialectRouter):
    depends_on_facts = False

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        super().__init__(catalog, source)
        self.scanner = kernel(lambda native: DtsScanner(native, True, False, routes=True))

    def route(self, chunk: Chunk) -> Routed:
        if chunk.spans is None and not chunk.layout.splittable:
            raise Unroutable  # a record of a block is in no file by itself
        return super().route(chunk)

    def learn_change(self, change: Change, identity: bytes | None) -> None:
        if identity is not None and self.scanner.bind_table(change.table, identity, (), b"", 0, MICROS):
            self.bound.append(self.number(change.table))


READ_SIDES = {"dts_avro": dialect_input(Dts, DtsReader, DtsDiscovery, DtsRouter)}
