"""DTS's Avro, read."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, ReadSupport
from ggfmt.formats.avro.containers import CorruptContainerError, read_header, split_blocks
from ggfmt.formats.dts import files as dts_files
from ggfmt.formats.dts.charsets import MYSQL_CHARSETS, decoder
from ggfmt.formats.dts.decode import Decoder, DtsRecord, MalformedRecordError
from ggfmt.formats.dts.dialect import TOO_LONG, Dts, born_in, other
from ggfmt.formats.dts.schema import OPERATIONS, SOURCE_TYPES
from ggfmt.formats.dts.tokens import WORDS
from ggfmt.formats.records import scanner
from ggfmt.formats.records.classification import classify_records
from ggfmt.formats.records.dialect import Change, RecordSchema
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.reader import DialectReader, DialectTable
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.kernels import REFUSALS, native
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Kind, TableDef

# DTS's records taken into columns by the native kernel (`kernels/dts_scan.c`), as far as they are regular.

# As in dts_scan.c.
_TEXTS, _BYTES, _BOOLEANS = range(3)
_FIRST_LOAD, _COUNTED, _LEFT = b"L", b"-", b"?"
_LETTERS = {"INSERT": b"I", "UPDATE": b"U", "DELETE": b"D", "INIT": _FIRST_LOAD, "DDL": _LEFT}
_ASCII = "".join(map(chr, range(128)))


class Scan:
    """What the kernel took of the records of a split, by table."""

    def __init__(self, asked: Projection) -> None:
        self._asked = asked
        ops = b"".join(_LETTERS.get(operation, _COUNTED) for operation in OPERATIONS)
        sources = tuple(source.encode() for source in SOURCE_TYPES)
        rules = scanner.image_rules()
        self._native = native.DtsScanner(WORDS, sources, ops, *_charsets(), rules, asked.row_only, asked.tokens)
        self._numbers: dict[str, int] = {}

    def bind(
        self, identity: bytes, definition: TableDef, names: Sequence[str], kinds: Sequence[Kind], digits: int
    ) -> None:
        """Has records of an identity, with columns of these names and kinds, taken as operations of a table, of which
        nothing may be held; they stay odd where the kernel cannot take them."""
        self.forget(definition.full_name)
        places = {name: place for place, name in enumerate(definition.column_names)}
        if not places.keys() >= set(names):
            return
        modes = bytes(_BYTES if k is Kind.BINARY else _BOOLEANS if k is Kind.BOOLEAN else _TEXTS for k in kinds)
        own = tuple(places[name] for name in names)
        try:
            self._numbers[definition.full_name] = self._native.bind(identity, own, modes, len(places), digits)
        except REFUSALS:
            return

    def forget(self, table: str) -> None:
        """Leaves the records of a table to others, until it is bound again."""
        number = self._numbers.pop(table, None)
        if number is not None:
            self._native.unbind(number)

    def scan(self, block: bytes, place: int, most: int, born: bool, ordinal: int) -> tuple[int, int, bytes | None]:
        """Takes records that follow each other: how many, where it stopped, and the identity of the record there, if it
        is bound to no table."""
        found: tuple[int, int, bytes | None] = self._native.scan(block, place, most, born, ordinal)
        return found

    def scan_spans(
        self, data: bytes, spans: array[int], first: int, prefix: int, ordinal: int
    ) -> tuple[int, bytes | None]:
        """Takes records in spans from the `first` on, each behind its length in `prefix` bytes: how many, and as
        `scan`."""
        taken, _, identity = self._native.scan_spans(data, spans, first, prefix, ordinal)
        return taken, identity

    def counted(self) -> Iterator[tuple[str, int]]:
        """How many records were met that are no changes, by their operation, since this was asked last."""
        return ((name, n) for name, n in zip(OPERATIONS, self._native.counts(), strict=True) if n)

    def rows(self, table: str) -> int:
        """How many operations are held of a table."""
        number = self._numbers.get(table)
        return 0 if number is None else int(self._native.rows(number))

    def batch(self, definition: TableDef) -> ChangeBatch:
        """The operations held of a table, of which there are some."""
        scanned = ScannedBatch.of(self._native.take(self._numbers[definition.full_name]), self._asked.tokens)
        asked, key_update = self._asked, None
        if asked.row_only and asked.key_updates:
            keys = tuple(scanned.before[place] for place in definition.key_indices)
            key_update = scanner.key_updates(replace(scanned, before=keys), definition)
        op_ts, position = (column.values for column in scanned.slots)
        return scanned.batch(definition, op_ts, position, asked.row_only, key_update)


def make_scan(asked: Projection) -> Scan | None:
    """What takes records of a split; None where no kernel can."""
    try:
        return None if native is None else Scan(asked)
    except REFUSALS:
        return None


@cache
def _charsets() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The names of charsets that are UTF-8, and of those of whose bytes ASCII is ASCII."""
    unicode = tuple(name.encode() for name, codec in MYSQL_CHARSETS.items() if codec == "utf-8")
    return unicode, tuple(name.encode() for name in (*MYSQL_CHARSETS, "latin1") if _has_ascii(name))


def _has_ascii(charset: str) -> bool:
    decode = decoder(charset)
    try:
        return decode is not None and decode(_ASCII.encode()) == _ASCII
    except ValueError:
        return False


class DtsReader(DialectReader):
    """Has the kernel take what is regular, where there is one."""

    dialect = Dts
    _dialect: Dts

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._scan = make_scan(projection)

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        if self._scan is None:
            yield from super().decode_chunk(chunk)
            return
        if chunk.layout.splittable or chunk.spans is not None:
            yield from self._records(chunk, self._scan)
        else:
            yield from self._block(chunk, self._scan)
        for operation, count in self._scan.counted():
            self.others[other(operation)] += count

    def _records(self, chunk: Chunk, scan: Scan) -> Iterator[Event]:
        """The records of a chunk that lie in spans."""
        places = self.spans(chunk)
        data, spans, prefix = chunk.data, places, dts_files.PREFIX_BYTES
        if chunk.layout.splittable:
            data, spans = dts_files.line_datums(data, places)
            prefix = 0
        flat = array("q", chain.from_iterable(spans))
        place = 0
        while place < len(places):
            taken, identity = scan.scan_spans(data, flat, place, prefix, self.ordinal)
            self.ordinal += taken
            place += taken
            if place < len(places):
                start, end = places[place]
                record = chunk.data[start:end]
                decoded = self._dialect.line(record) if chunk.layout.splittable else self._dialect.prefixed(record)
                yield from self._take_odd(decoded, identity)
                place += 1

    def _block(self, chunk: Chunk, scan: Scan) -> Iterator[Event]:
        """The records of a container's block."""
        try:
            header = read_header(chunk.data)
            born = self._dialect.born(header)
            for _, _, count, block in split_blocks(chunk.data, header, chunk.layout.max_record):
                if isinstance(block, CorruptContainerError):
                    raise block
                yield from self._following(block, count, born, scan)
        except (CorruptContainerError, MalformedRecordError) as error:
            yield from self.take_in_one(Diagnostic("GG313", str(error)))

    def _following(self, block: bytes, count: int, born: bool, scan: Scan) -> Iterator[Event]:
        """Records that follow each other; CorruptContainerError or MalformedRecordError where they do not."""
        place = 0
        while count:
            taken, place, identity = scan.scan(block, place, count, born, self.ordinal)
            self.ordinal += taken
            count -= taken
            if count:
                record, place = self._dialect.records.record(block, place, born)
                yield from self._take_odd(record, identity)
                count -= 1
        if place != len(block):
            raise CorruptContainerError(TOO_LONG)

    def _take_odd(self, record: DtsRecord | Diagnostic, identity: bytes | None) -> Iterator[Event]:
        """The events of a record that the kernel left, and has it take the next ones of its identity."""
        meaning = next(classify_records(self._dialect, [record]))
        yield from self.take_in_one(meaning)
        if self._scan is None or identity is None or not isinstance(meaning, list):
            return
        for item in meaning:
            if not isinstance(item, Change):
                continue
            held = self.tables.get(item.table)
            if held is not None and held.record_schema is not None and held.record_schema is item.record_schema:
                told = self._dialect.told_by(held.record_schema)
                self._scan.bind(identity, held.definition, told.names, told.kinds, told.digits)

    def _prepare(self, item: Change | RecordSchema, ordinal: int) -> Generator[Event, None, bool]:
        refused = yield from super()._prepare(item, ordinal)
        if not refused and self._scan is not None:
            self._scan.forget(item.table if isinstance(item, Change) else item.table.full_name)
        return refused

    def held(self, table: DialectTable) -> int:
        taken = 0 if self._scan is None else self._scan.rows(table.definition.full_name)
        return super().held(table) + taken

    def collect(self, table: DialectTable) -> Iterator[ChangeBatch]:
        if self._scan is not None and self._scan.rows(table.definition.full_name):
            yield self._scan.batch(table.definition)
        yield from super().collect(table)

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        """The first record decides, or the schema of a container file."""
        if dts_files.is_container(head):
            try:
                version = born_in(read_header(head).schema)
            except CorruptContainerError:
                return None
            return None if version is None else "it starts as an Avro object container of DTS's records"
        decoder = Decoder()
        try:
            if dts_files.is_base64(head):
                decoder.datum(dts_files.line_datum(head.lstrip().split(b"\n", 1)[0]))
                return "its first line is a record of DTS in Base64"
            end = dts_files.PREFIX_BYTES + int.from_bytes(head[: dts_files.PREFIX_BYTES], "big")
            if len(head) < end:
                return None
            decoder.datum(head[dts_files.PREFIX_BYTES : end])
        except ValueError:
            return None
        return "it starts with the length of a record of DTS, and the record"


class DtsDiscovery(DialectDiscovery):
    dialect = Dts


READ_SIDES = {"dts_avro": ReadSupport(DtsReader, DtsDiscovery)}
