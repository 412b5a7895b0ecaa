"""Dialects: how the records of a change data capture system become operations.

A dialect decodes records and says of each what it is: operations (`Change`), a definition (`RecordSchema`), another
kind of record (a word, which is counted), or a mistake (`RecordError`, or a `Diagnostic`). Reading a file of records,
making columns of images, definitions, rejects and discovery are the same for all dialects (`records.reader`,
`records.discovery`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.columnar.strings import Kernel
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.files import head_objects
from ggfmt.formats.json.values import parse
from ggfmt.formats.records import roles
from ggfmt.formats.records.members import MemberDecoder
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Catalog, Kind, TableDef
from ggfmt.options.value_types import keys_of

# From a column as the source wrote it to the column as the model has it; with it the rows that cannot be converted. A
# `help` of the callable says what to do about those.
Convert = Callable[[ImageColumn], tuple[ImageColumn, Sequence[int]]]


@dataclass(frozen=True)
class RecordSchema:
    """What a record tells of its table: the definition, and how the values of each column are encoded.

    `converts` goes with `table.columns`; None where values are texts as they stand. `keys` are the names of key columns
    as the record has them.
    """

    table: TableDef
    converts: tuple[Convert | None, ...]
    keys: tuple[str, ...] = ()

    def converts_of(self, table: TableDef) -> tuple[Convert | None, ...]:
        """How the values of each column are encoded, by a definition with these columns among others, in any order."""
        by_name = dict(zip(self.table.column_names, self.converts, strict=True))
        return tuple(by_name.get(name) for name in table.column_names)


class Change(NamedTuple):
    """One operation of a record.

    table      the full name
    op         one of `OP_TYPES`
    op_ts      a text as messages carry it, or microseconds since 1970; None where there is none
    position   a text; None where there is none
    before, after  the images, each as the bytes of a JSON object, as a dict from column name to text, None for NULL, or
               as a row that the dialect decoded (`rows.StructRows`); None where the operation has no such image
    tokens     texts by name
    described  what the record tells of its table; None where the definition must come from elsewhere
    """

    table: str
    op: str
    op_ts: str | int | None
    position: str | None
    before: Any
    after: Any
    tokens: dict[str, str]
    record_schema: RecordSchema | None = None


@dataclass(frozen=True)
class MessageKey:
    """The key of a fact: the names of the members of the keys that the messages with changes of a table have."""

    table: str


# What a record means to a dialect: what it holds, the kind of a record that is no change, or what is wrong with it.
Meaning = Iterable[Change | RecordSchema] | str | Diagnostic


_NULL = Raw(b"null")
ABSENT = Raw(b"")  # the default of members that stay as they are: to msgspec, `Raw | None` means null alone


def non_null(value: Raw) -> Raw | None:
    """A member that stays as it is, or None if it is absent or null."""
    return None if value in (ABSENT, _NULL) else value


def converting(kernel: Kernel) -> Convert:
    """What converts the values of a column by a kernel."""

    def convert(column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, bad = kernel(column.values)
        return ImageColumn(values, column.present), bad

    return convert


_STAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?Z?", re.ASCII)


def stamp_text(text: str) -> str | None:
    """A time stamp as in ISO 8601, of UTC or of no zone, with six digits of a second; None if it is none."""
    parts = _STAMP.fullmatch(text)
    return None if parts is None else f"{parts[1]} {parts[2]}.{parts[3] or '':0<6}"


class Dialect(ABC):
    """The records of one system. An instance serves one split: it may remember what earlier records told.

    record     the type that a JSON record is decoded into; members that a struct does not name are passed over and
               counted
    members    operations by the name of such a member in their record
    overlay    the before image of an update has changed columns only: the others are as in the after image
    partial_before  the before image of an update has some columns only: the others are missing
    keys_only  before images mean something in key columns alone: the others are missing
    ordered    the order of columns in what records tell of their tables means something; where it does not, a table
               keeps the order in which it was first told
    keeps_json  kinds of columns in which a JSON number or boolean is told from the same as a string, where no schema
               says what it is
    keeps_nested  in columns of texts a JSON object or array is told from the same as a string
    keys_stay  a definition in the stream that names no key takes over that of the one before it
    takes_message_keys  the keys of Kafka messages name the primary keys of tables
    schema_kind  the word under which records that define a table are counted; None: they are not counted
    in_bulk    most records can be taken all at once: by `by_table`, `changes_of_table` and `images_of_table`
    scanned    the native scanner can take such records: by `grammar`
    ops        for the scanner, operation types by their texts in records
    row_token  for the scanner, as in `roles.Grammar`
    empty_old_is_none  an update whose before image has no columns has none
    absent_is_null  NULL is left out of images of whole rows: a column that one of them lacks is NULL
    by_kind    how values are encoded in columns of a kind, where it is not as texts
    with_tokens  whether anybody asked for tokens
    keys       the names of key columns by table, as far as records tell them apart from definitions
    told       operations by their table and the names of key columns that their record tells so
    learned    what records told besides tables that other records, in any split, cannot be understood without
    lacking    records were met that cannot be understood without what others tell: the discovery is run once more, with
               all that was learned as `source.facts`
    trusted    the definitions that the user gave, by full name
    catalog    for a reader, the definitions that hold for the next record; None in a discovery
    """

    record: Any
    overlay: ClassVar[bool] = False
    partial_before: ClassVar[bool] = False
    keys_only: bool = False
    ordered: ClassVar[bool] = True
    keeps_json: ClassVar[frozenset[Kind]] = frozenset()
    keeps_nested: ClassVar[bool] = True
    keys_stay: ClassVar[bool] = True
    takes_message_keys: ClassVar[bool] = True
    schema_kind: ClassVar[str | None] = None
    in_bulk: ClassVar[bool] = False
    scanned: ClassVar[bool] = False
    ops: ClassVar[roles.Ops] = MappingProxyType({})
    row_token: ClassVar[str | None] = None
    empty_old_is_none: ClassVar[bool] = False
    absent_is_null: bool = False
    by_kind: ClassVar[Mapping[Kind, Convert]] = {}

    def __init__(self, source: WriterSettings = DEFAULT_SETTINGS, with_tokens: bool = True) -> None:
        self.source = source
        self.options = source.options
        self.with_tokens = with_tokens
        self.keys: dict[str, tuple[str, ...]] = {}
        self.told: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.learned: dict[Any, Any] = dict(source.facts)
        self.members: Counter[str] = Counter()
        self.lacking = False
        self.trusted: Mapping[str, TableDef] = {}
        self.catalog: Catalog | None = None
        self._record_schemas: dict[Hashable, RecordSchema] = {}
        self._latest_schemas: dict[str, tuple[Hashable, RecordSchema]] = {}
        self._grammars: dict[Hashable, roles.Grammar] = {}

    def keyed(self, table: TableDef) -> TableDef:
        """The definition with the primary key that the user gave by the option `primaryKeys`, or that the keys of
        messages have, if it tells none."""
        keys = self.keys_elsewhere(table.full_name)
        if not keys or table.primary_keys:
            return table
        return table.with_keys(keys)

    def keys_elsewhere(self, table: str) -> tuple[str, ...]:
        """The names of a table's key columns by the option `primaryKeys`, or else by the keys of messages."""
        given = keys_of(table, getattr(self.options, "primary_keys", ()))
        names: tuple[str, ...] = self.learned.get(MessageKey(table), ())
        return given or names

    def learn_key(self, table: str, chunk: Chunk, place: int) -> None:
        """Takes note of the key of the message with the first change of a table that has one, which is in a place of a
        chunk."""
        fact = MessageKey(table)
        if fact in self.learned:
            return
        key = None if chunk.wrapped is None else chunk.wrapped.messages[place].key
        names = dumps.key_names(key) or chunk.layout.keys
        if names:
            self.learned[fact] = names

    def add_key(self, table: str, keys: tuple[str, ...], operations: int = 1) -> None:
        """Takes note of the key that a record tells which does not describe its table; the first one holds."""
        self.keys.setdefault(table, keys)
        self.told[table, keys] += operations

    def described(
        self,
        identity: Hashable,
        make: Callable[[], TableDef],
        converts: tuple[Convert | None, ...] | None = None,
        keys: tuple[str, ...] = (),
    ) -> RecordSchema:
        """What records tell of a table by a definition that is made once for each identity; None: `converts` of it."""
        record_schema = self._record_schemas.get(identity)
        if record_schema is None:
            table = self.keyed(make())
            own = self.converts(table) if converts is None else converts
            record_schema = self._record_schemas[identity] = RecordSchema(table, own, keys)
        return record_schema

    def described_in_any_order(
        self, table: str, parts: Hashable, make: Callable[[], TableDef], keys: tuple[str, ...] = ()
    ) -> RecordSchema:
        """What records tell of a table in no order of their own: made anew where the `parts` are not those that the
        record before it told, so that no earlier record, which may be in another split, decides on the order."""
        known, record_schema = self._latest_schemas.get(table, (None, None))
        if record_schema is None or known != parts:
            definition = self.keyed(make())
            record_schema = RecordSchema(definition, self.converts(definition), keys)
            self._latest_schemas[table] = parts, record_schema
        return record_schema

    @staticmethod
    @abstractmethod
    def sniff(members: dict[str, Any]) -> str | None:
        """Why the members of a record look like this dialect, in words that go on "a record has ..."; None if not."""

    @abstractmethod
    def changes(self, record: Any) -> Meaning:
        """What a decoded record holds, in order; RecordError if it is a mistake."""

    def by_table(self, records: Sequence[Any]) -> Mapping[str, Sequence[int]] | None:
        """Group decoded records by the names of their tables: their places among them, in order. None if one of them
        may be something else than a single operation of a table that a reader knows."""
        return None

    def changes_of_table(self, table: str, records: Sequence[Any]) -> list[Change] | None:
        """Make the operations of the records of a table, as `by_table` grouped them, one of each, in order.

        Return None if `changes` has to look at one of them.
        """
        raise NotImplementedError

    def images_of_table(self, table: str, records: Sequence[Any]) -> list[Any]:
        """The images in the records of a table, for a discovery, null among them; `keys` has the table's key after
        that."""
        raise NotImplementedError

    def first_grammar(self) -> roles.Grammar | None:
        """How the native scanner takes records before the first one was seen; None if that has to be seen."""
        return None

    def identified(self, identity: bytes) -> TableDef | None:
        """The definition for records of an identity; None where that takes more than the identity."""
        return None

    def grammar(self, record: Any) -> roles.Grammar | None:
        """How the native scanner takes records like this one, the last that `changes` was asked about, which became
        operations; None if it does not. Records of one identity must have one table, `record_schema` and key."""
        return self.declared_grammar() if self.scanned else None

    def declared_grammar(self, *conditions: str, ops: roles.Ops | None = None) -> roles.Grammar | None:
        """Make the grammar that `record` declares under some conditions; by default with the `ops` of the dialect.

        Return None if records had more unknown members than the scanner has room for.
        """
        notes = self.notes(roles.places(self.record, conditions))
        return None if notes is None else self.make_grammar(self.record, conditions, notes, ops)

    def make_grammar(
        self,
        record: type[msgspec.Struct],
        conditions: tuple[str, ...],
        notes: roles.Notes,
        ops: roles.Ops | None = None,
        inherited: bool = True,
    ) -> roles.Grammar:
        """As `roles.make_grammar`; under the same conditions `ops` must be the same."""
        key = record, conditions, notes, inherited
        grammar = self._grammars.get(key)
        if grammar is None:
            own = self.ops if ops is None else ops
            grammar = roles.make_grammar(record, own, conditions, notes, self.row_token, inherited)
            self._grammars[key] = grammar
        return grammar

    def notes(self, places: Iterable[roles.Place]) -> roles.Notes | None:
        """Make members of the unknown members in some objects of the records so far; None if they are too many."""
        learned = [(place, self.decoder.learned(*place)) for place in places]
        if sum(roles.MAX_NOTES + 1 if names is None else len(names) for _, names in learned) > roles.MAX_NOTES:
            return None
        return tuple(
            (place, tuple(roles.note(name, ".".join((*place, name))) for name in names or ()))
            for place, names in learned
        )

    def scannable(self, table: TableDef) -> bool:
        """Whether records of a table may be taken by the scanner."""
        return True

    def states(self, record: Any, table: TableDef) -> bytes | None:
        """Of each column in which images such a record has a value, as `Scanner.bind` takes it; None: images tell."""
        return None

    def decode_scanned(self, scanned: ScannedBatch) -> ScannedBatch:
        """Operations that the scanner took, with the values that their texts stand for."""
        return scanned

    def common_tokens(self, table: TableDef) -> Mapping[str, str]:
        """The tokens, behind all others, of any operation of a table that the scanner took."""
        return {}

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray | pa.Int64Array, pa.StringArray]:
        """Of operations that the scanner took, `op_ts`, texts or microseconds since 1970 (int64), and `position`."""
        raise NotImplementedError

    @cached_property
    def decoder(self) -> Any:
        """What decodes one JSON record (`decode`) and those of a chunk (`decode_lines`), None for a tombstone."""
        of_struct = isinstance(self.record, type) and issubclass(self.record, msgspec.Struct)
        return MemberDecoder(self.record) if of_struct else msgspec.json.Decoder(self.record | None)

    def passed_over(self, record: Any) -> Sequence[str]:
        """The names of members of a record, the last that `changes` was asked about, that mean nothing here."""
        return self.decoder.passed_over(record) if isinstance(record, msgspec.Struct) else ()

    def decoded(self, chunk: Chunk) -> Iterator[Any] | None:
        """The records of a chunk, decoded, one for each of its spans, a Diagnostic for one that cannot be; None where
        they are JSON objects. Spans that decoding alone tells are added to an empty list of `chunk.spans`, each before
        its record."""
        return None

    def opened(self, chunk: Chunk) -> Chunk:
        """The chunk as it is to be decoded."""
        return chunk

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        """How values are encoded in tables that records do not describe."""
        return tuple(self.by_kind.get(column.type.kind) for column in table.columns)

    # Where the records of a file are; for JSON, as the files of all dialects in JSON are laid out.

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return dumps.find_layout(head, whole)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dumps.chunks(stream, file, start, length, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        """Start and end of every record of a chunk."""
        return json_files.record_spans(chunk)


# What the records of a chunk are to a dialect, for its reader and its discovery.

Examination = list[Change | RecordSchema] | str | Diagnostic
Examined = Iterator[Examination]


def decode_records(dialect: Dialect, chunk: Chunk) -> tuple[Chunk, Iterable[Any]]:
    """Decode the records of a chunk. Return the chunk as it was cut to find them, and the records as
    `classify_records` takes them."""
    chunk = dialect.opened(chunk)
    own = dialect.decoded(chunk)
    if own is not None:
        return chunk, own
    records = _all_at_once(dialect, chunk)
    if records is not None:
        return chunk, records
    chunk = chunk.settled()
    return chunk, _one_by_one(dialect, chunk)


def runs(dialect: Dialect, records: Iterable[Any]) -> Iterator[tuple[list[Any], Iterable[Any]]]:
    """Divide decoded records into runs: those that the dialect may take all at once, or those that it has to look at
    one by one; the other of the two is empty."""
    if not dialect.in_bulk:
        yield [], records
        return
    for kind, run in groupby(records, key=type):
        if issubclass(kind, msgspec.Struct):
            yield list(run), ()
        else:
            yield [], run


def examined_one(dialect: Dialect, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
    """A record in a chunk of JSON, decoded, and what it is."""
    record = _decoded(dialect, chunk, start, end)
    return record, next(classify_records(dialect, [record]))


def classify_records(dialect: Dialect, records: Iterable[Any]) -> Examined:
    """Classify decoded records; None is a tombstone, and a Diagnostic says what is wrong with a record."""
    for record in records:
        if record is None:
            yield "tombstone"
        elif isinstance(record, Diagnostic):
            yield record
        else:
            try:
                meaning = dialect.changes(record)
                if isinstance(meaning, (str, Diagnostic)):
                    yield meaning
                    continue
                items = list(meaning)
            except RecordError as error:
                yield error.diagnostic
                continue
            if items and isinstance(items[0], Change):
                for name in dialect.passed_over(record):
                    dialect.members[name] += len(items)
            yield items


def _all_at_once(dialect: Dialect, chunk: Chunk) -> Sequence[Any] | None:
    """The records of a chunk; None if there are others than the dialect's in it, or if they were cut before."""
    if chunk.spans is not None:
        return None
    try:
        if not chunk.data.isascii():
            str(chunk.data, "utf-8")  # members that are skipped or kept raw are not checked otherwise
        records: Sequence[Any] = dialect.decoder.decode_lines(chunk.data)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return None
    return records


def _one_by_one(dialect: Dialect, chunk: Chunk) -> Iterator[Any]:
    for start, end in dialect.spans(chunk):
        yield _decoded(dialect, chunk, start, end)


def _decoded(dialect: Dialect, chunk: Chunk, start: int, end: int) -> Any:
    record = chunk.data[start:end]
    try:
        if not record.isascii():
            str(record, "utf-8")
        return dialect.decoder.decode(record)
    except (ValueError, RecursionError) as error:
        return _malformed(record, chunk.last and end == len(chunk.data), str(error))


def _malformed(record: bytes, last: bool, reason: str) -> Diagnostic | None:
    members = parse(record, last)
    if members is None or isinstance(members, Diagnostic):
        return members
    what, _, place = reason.partition(" - at ")
    where = f" at {place}" if place else ""
    return Diagnostic("GG308", f"the record has a member of the wrong type: {what[:1].lower()}{what[1:]}{where}")


def sniff(dialect: type[Dialect], head: bytes) -> str | None:
    """The first record that looks like the dialect decides."""
    for record in head_objects(head):
        reason = dialect.sniff(record)
        if reason is not None:
            return f"a record has {reason}"
    return None
