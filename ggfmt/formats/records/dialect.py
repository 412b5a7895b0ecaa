"""Dialects: how the records of a change data capture system become operations.

A dialect decodes records and classifies each one:

- operations (`Change`)
- a table definition (`RecordSchema`)
- a statement on tables (`Statement`)
- another kind of record: the dialect returns a word, and the reader counts the records by this word
- a mistake: the dialect raises `RecordError` or returns a `Diagnostic`

All dialects share the rest: `records.reader` reads files and makes columns, definitions and rejects.
`records.discovery` infers definitions.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache, reduce
from itertools import repeat
from typing import Any, BinaryIO, ClassVar, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.strings import Kernel
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.cut import WHITE
from ggfmt.formats.json.files import head_objects
from ggfmt.formats.json.repeated import EVERY, Once, repeated_error, repeated_in_lines, repeated_member
from ggfmt.formats.json.values import parse, raw_members
from ggfmt.formats.records import roles
from ggfmt.formats.records.members import MemberDecoder
from ggfmt.formats.records.options import ABSENT_NULL
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.scanner import MAX_GRAMMARS, JsonScanner, OddRecord, Scanning, SourceBatch
from ggfmt.kernels import kernel
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ImageColumn, without_empty
from ggfmt.model.table import Catalog, Kind, TableDef
from ggfmt.options.value_types import key_of

# Converts a column from the encoding of the source to that of the model. Returns the column and the rows that it cannot
# convert. The callable may have an attribute `help`: it says what the user can do about these rows.
Convert = Callable[[ImageColumn], tuple[ImageColumn, Sequence[int]]]


@dataclass(frozen=True)
class RecordSchema:
    """A table definition from a record, with the encoding of the values of each column.

    table      the definition
    converts   one conversion per column, in the order of `table.columns`; None if the values are plain texts
    keys       the names of the key columns as they are in the record
    """

    table: TableDef
    converts: tuple[Convert | None, ...]
    keys: tuple[str, ...] = ()

    def converts_of(self, table: TableDef) -> tuple[Convert | None, ...]:
        """Return the conversions in the column order of another definition; None for columns that this one lacks."""
        by_name = dict(zip(self.table.column_names, self.converts, strict=True))
        return tuple(by_name.get(name) for name in table.column_names)


class Change(NamedTuple):
    """One operation of a record.

    table      the full name of the table
    op         one of `OP_TYPES`
    op_ts      a text in the format of messages, or microseconds since 1970; None if the record has no time
    position   a text; None if the record has no position
    before, after  the images; None if the operation has no such image. An image has one of two forms: the bytes of a
               JSON object; a dict from column name to text, None for NULL
    tokens     texts by name
    record_schema  the definition in the record; None if the definition must come from elsewhere
    transaction  the id of the transaction; None if the record has none or the dialect has no `with_transactions`
    origin     which log the position is of, as in `ChangeBatch`
    """

    table: str
    op: str
    op_ts: str | int | None
    position: str | None
    before: Any
    after: Any
    tokens: dict[str, str]
    record_schema: RecordSchema | None = None
    transaction: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class Statement:
    """A statement on tables.

    word      the reader counts the record under this word; None: it does not count the record
    emptied   truncates of the tables that have no rows after the statement, because it drops or creates them. A name
              that ends in `.*` stands for all tables before the dot.
    warnings  other consequences for the rows of tables
    """

    word: str | None
    emptied: tuple[Change, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class MessageKey:
    """The key of the fact which members the keys of the messages with changes of a table have."""

    table: str


# The meaning of a record: its changes, definitions and statements, the kind of a record without them, or the problem
# with it.
Item = Change | RecordSchema | Statement
Meaning = Iterable[Item] | str | Diagnostic


NO_ORIGINS = (None, "", "0")  # MySQL's connector writes the server 0 in snapshots
_NULL = Raw(b"null")
# The default of raw members. The type `Raw | None` does not work: msgspec accepts only null for it.
ABSENT = Raw(b"")


def non_null(value: Raw) -> Raw | None:
    """Return a raw member, or None if the member is absent or null."""
    return None if value in (ABSENT, _NULL) else value


def without_empty_images(op: str, before: Raw | None, after: Raw | None) -> tuple[Raw | None, Raw | None]:
    """Return both images of an operation; None for an empty object where operations of this type have no image."""
    if before is not None and op in "IT" and _is_empty(before):
        before = None
    if after is not None and op in "DT" and _is_empty(after):
        after = None
    return before, after


def _is_empty(image: Raw) -> bool:
    return bytes(image).translate(None, WHITE) == b"{}"


def converting(kernel: Kernel) -> Convert:
    """Return a conversion that applies a kernel to the values of a column."""

    def convert(column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, bad = kernel(column.values)
        return ImageColumn(values, column.present), bad

    return convert


_STAMP = lazy_regex(r"(\d{4}-\d\d-\d\d)[T ](?!24)(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z?", re.ASCII)  # Python 3.14 reads 24


@lru_cache(maxsize=256)
def stamp_text(text: str) -> str | None:
    """Return an ISO 8601 timestamp, in UTC or without a zone, with six fractional digits; None for any other text."""
    parts = _STAMP.fullmatch(text)
    if parts is None:
        return None
    try:
        datetime.fromisoformat(f"{parts[1]} {parts[2]}")
    except ValueError:  # the calendar does not have it
        return None
    return f"{parts[1]} {parts[2]}.{parts[3] or '':0<6}"


class Dialect(ABC):
    """The record format of one system.

    A subclass sets the class attributes and implements `changes`. `sniff` or `sniff_file` recognizes its files. One
    instance reads one split, and may keep state from earlier records.

    How to decode records:

    record     the type that ggfmt decodes a JSON record into, unless the dialect has its own decoder. If the type is a
               struct, it declares the roles of members, and the decoder skips and counts members that it does not
               declare.
    scanned    the native scanner can take records of this dialect, with the grammar from `grammar`
    reads_text  the records in files are JSON, which the scanner of a discovery can pass over
    row_token  for the scanner: the token for the number of an operation in its record, as in `roles.Grammar`
    by_kind    conversions by kind of column; columns of other kinds contain plain texts

    Where the id of the transaction is; without both, operations have no such ids:

    transaction_members  the members of records that are slots and ids; the first one that is not empty counts. By
               default, those with the role `roles.transaction`. The dialect also sets `Change.transaction`.
    transaction_tokens  the tokens with the id; the first one that is not empty counts. The reader then makes all tokens
               if the caller requests the ids: this is slower.

    What images contain:

    overlay    the before image of an update has only the changed columns; the other columns equal the after image
    partial_before  the before image of an update has only some columns; the other columns are missing
    keys_only  only the key columns of before images are meaningful; ggfmt makes the other columns missing
    empty_old_is_none  if the before image of an update has no columns, the update has no before image
    shows_rows  images of whole rows have all columns, unless the source omits NULL, so that a column that only the
               before image of an update has is NULL; the dialect is an overlay, and `absentMeans` is an option
    absent_is_null  images of whole rows omit NULL: if such an image lacks a column, the column is NULL
    keeps_json  kinds of columns in which ggfmt distinguishes a JSON number or boolean from a string with the same
               text. This applies only if no record describes the table.
    keeps_nested  in text columns, ggfmt distinguishes a JSON object or array from a string with the same text
    json_columns  the source has columns of JSON values and writes them as JSON: an object is the value of its column
    scalars_only  the source never writes an object as the value of a column
    structs       the sorted names of the members of objects that are values as they are

    What records say about tables:

    ordered    the column order of definitions in records is meaningful. If not, a table keeps the order of its first
               definition.
    keys_stay  a definition in the stream without a key inherits the key of the previous definition
    takes_message_keys  the keys of Kafka messages name the primary keys of tables
    schema_kind  the word under which the reader counts records that define a table; None: the reader does not count
               them
    checks_definitions  the dialect finds every record that contradicts a provisional catalog, as in `Reader`

    State of an instance:

    with_tokens  the reader needs tokens
    with_transactions  the caller requested the ids of transactions
    members    the number of operations by undeclared member: how many operations had the member in their record
    keys       the names of key columns by table, from records that contain a key but no definition
    key_counts  the number of operations by table and key columns, from records that contain a key but no definition
    sources    by table the names that sources give themselves, with the member; a failover does not change them
    learned    facts from records, besides tables, without which other records in any split cannot be understood
    lacking    the dialect found records that need facts from other records. Discovery then runs once more, with all
               learned facts as `source.facts`.
    trusted    the definitions from the user, by full name
    catalog    in a reader: the definitions in effect for the next record; in a discovery: None
    message_key  the key of the Kafka message with the record in hand; None if it is not in a message
    completed  the tables with images that lacked a column of the key of their message
    flattened  the tables with a definition from the user whose records are their rows
    """

    record: Any
    overlay: ClassVar[bool] = False
    partial_before: ClassVar[bool] = False
    keys_only: bool = False
    ordered: ClassVar[bool] = True
    keeps_json: ClassVar[frozenset[Kind]] = frozenset()
    keeps_nested: ClassVar[bool] = True
    json_columns: ClassVar[bool] = False
    scalars_only: ClassVar[bool] = False
    structs: ClassVar[frozenset[tuple[str, ...]]] = frozenset()
    keys_stay: ClassVar[bool] = True
    takes_message_keys: ClassVar[bool] = True
    schema_kind: ClassVar[str | None] = None
    scanned: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True
    checks_definitions: ClassVar[bool] = False
    row_token: ClassVar[str | None] = None
    transaction_members: ClassVar[tuple[str, ...]] = ()
    origin_member: ClassVar[str] = ""
    transaction_tokens: ClassVar[tuple[str, ...]] = ()
    empty_old_is_none: ClassVar[bool] = False
    shows_rows: ClassVar[bool] = False
    by_kind: ClassVar[Mapping[Kind, Convert]] = {}
    with_transactions = False

    def __init__(self, source: WriterSettings = DEFAULT_SETTINGS, with_tokens: bool = True) -> None:
        self.source = source
        self.options = source.options
        self.with_tokens = with_tokens
        self.absent_is_null = getattr(self.options, "absent_means", None) == ABSENT_NULL
        self.keys: dict[str, tuple[str, ...]] = {}
        self.key_counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.learned: dict[Any, Any] = dict(source.facts)
        self.members: Counter[str] = Counter()
        self.sources: dict[str, dict[str, str]] = {}
        self.lacking = False
        self.trusted: Mapping[str, TableDef] = {}
        self.catalog: Catalog | None = None
        self.message_key: bytes | None = None
        self.completed: set[str] = set()
        self.flattened: set[str] = set()
        self._record_schemas: dict[Hashable, RecordSchema] = {}
        self._latest_schemas: dict[str, tuple[Hashable, RecordSchema]] = {}
        self._grammars: dict[Hashable, roles.Grammar] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__
        if _is_struct(own.get("record")) and "transaction_members" not in own:
            cls.transaction_members = tuple(name for name, _ in roles.columns_of(cls.record, roles.TRANSACTION))
            cls.origin_member = next((name for name, _ in roles.columns_of(cls.record, roles.ORIGIN)), "")

    def keyed(self, table: TableDef) -> TableDef:
        """Return a definition with the key of `keys_elsewhere` if it has none itself."""
        keys = self.keys_elsewhere(table.full_name)
        if not keys or table.key_names:
            return table
        return table.with_keys(keys)

    def keys_elsewhere(self, table: str) -> tuple[str, ...]:
        """Return the key columns of a table from the option `primaryKeys`, or else from the message keys."""
        given = key_of(table, getattr(self.options, "primary_keys", ()))
        names: tuple[str, ...] = self.learned.get(MessageKey(table), ())
        return given or names

    def learn_key(self, table: str, chunk: Chunk, place: int) -> None:
        """Learn the key of a table from the message at index `place` of a chunk; the first usable key counts."""
        fact = MessageKey(table)
        if fact in self.learned:
            return
        key = None if chunk.wrapped is None else chunk.wrapped.messages[place].key
        names = dumps.key_names(key) or chunk.layout.keys
        if names:
            self.learned[fact] = names

    def key_columns(self) -> dict[str, Raw]:
        """Return the columns in the key of the message, except members that a router of topics added."""
        return {name: value for name, value in dumps.key_values(self.message_key).items() if not name.startswith("__")}

    def add_key(self, table: str, keys: tuple[str, ...], operations: int = 1) -> None:
        """Store and count the key of operations whose record has no definition. The first key of a table counts."""
        self.keys.setdefault(table, keys)
        self.key_counts[table, keys] += operations

    def described(
        self,
        identity: Hashable,
        make: Callable[[], TableDef],
        converts: tuple[Convert | None, ...] | None = None,
        keys: tuple[str, ...] = (),
    ) -> RecordSchema:
        """Return the record schema for an identity; call `make` once. Default of `converts`: the method."""
        record_schema = self._record_schemas.get(identity)
        if record_schema is None:
            table = self.keyed(make())
            own = self.converts(table) if converts is None else converts
            record_schema = self._record_schemas[identity] = RecordSchema(table, own, keys)
        return record_schema

    def described_in_any_order(
        self, table: str, parts: Hashable, make: Callable[[], TableDef], keys: tuple[str, ...] = ()
    ) -> RecordSchema:
        """Return the record schema of a table whose records list columns in no meaningful order.

        Make a new schema if `parts` differ from those of the previous record. So no earlier record, which may be in
        another split, decides on the column order.
        """
        known, record_schema = self._latest_schemas.get(table, (None, None))
        if record_schema is None or known != parts:
            definition = self.keyed(make())
            record_schema = RecordSchema(definition, self.converts(definition), keys)
            self._latest_schemas[table] = parts, record_schema
        return record_schema

    @classmethod
    def caution(cls, options: Any) -> str:
        """Return what a user should know about tables without a definition; empty if their values are plain."""
        return ""

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        """Return why the start of a file looks like this dialect, by the first record that does; None if none does."""
        for record in head_objects(head):
            reason = cls.sniff(record)
            if reason is not None:
                return f"a record has {reason}"
        return None

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        """Return the reason why the members of a record look like this dialect, or None if they do not.

        The reason completes the sentence "a record has ...".
        """
        return None

    @abstractmethod
    def changes(self, record: Any) -> Meaning:
        """Return the meaning of a decoded record, with its items in order.

        Raises: RecordError if the record should be an operation and is not.
        """

    def first_grammar(self) -> roles.Grammar | None:
        """Return the scanner's grammar for the start of the input; None if it depends on the first record."""
        return None

    def identified(self, identity: bytes) -> TableDef | None:
        """Return the definition for records with an identity; None if the identity alone does not determine it."""
        return None

    def grammar(self, record: Any) -> roles.Grammar | None:
        """Return the grammar with which the native scanner takes records like this one; None if it cannot take them.

        The record is the argument of the last call of `changes`, and it became operations. Records with the same
        identity must have the same table, `record_schema` and key.
        """
        return self.declared_grammar() if self.scanned else None

    def declared_grammar(self, *conditions: str) -> roles.Grammar | None:
        """Return the grammar of `record`; None if records had more unknown members than the scanner has room for."""
        notes = self.notes(roles.places(self.record, conditions))
        return None if notes is None else self.make_grammar(self.record, conditions, notes)

    def make_grammar(
        self,
        record: type[msgspec.Struct],
        conditions: tuple[str, ...],
        notes: roles.Notes,
        inherited: bool = True,
    ) -> roles.Grammar:
        """Return `roles.make_grammar` from a cache. That ids of transactions are requested is a condition too."""
        if self.with_transactions:
            conditions = (*conditions, roles.TRANSACTIONS)
        key = record, conditions, notes, inherited
        grammar = self._grammars.get(key)
        if grammar is None:
            grammar = roles.make_grammar(record, conditions, notes, self.row_token, inherited)
            self._grammars[key] = grammar
        return grammar

    def notes(self, places: Iterable[roles.Place]) -> roles.Notes | None:
        """Return notes for the unknown members that the decoder met in some objects; None if more than `MAX_NOTES`."""
        learned = [(place, self.decoder.learned(*place)) for place in places]
        if sum(roles.MAX_NOTES + 1 if names is None else len(names) for _, names in learned) > roles.MAX_NOTES:
            return None
        return tuple(
            (place, tuple(roles.note(name, ".".join((*place, name))) for name in names or ()))
            for place, names in learned
        )

    def scannable(self, table: TableDef) -> bool:
        """Return whether the scanner may take records of a table."""
        return True

    def states(self, record: Any, table: TableDef) -> bytes | None:
        """Return for each column which images have a value in such records, as bytes for `Scanner.bind`.

        Return None if the scanner finds this in the images themselves.
        """
        return None

    def decode_scanned(self, scanned: SourceBatch) -> SourceBatch:
        """Return scanned operations with the values that their texts stand for."""
        return scanned

    def common_tokens(self, table: TableDef) -> Mapping[str, str]:
        """Return the tokens that all scanned operations of a table have, after all other tokens."""
        return {}

    def times(self, scanned: SourceBatch) -> pa.StringArray | pa.Int64Array:
        """Return `op_ts` of scanned operations: texts, or microseconds since 1970 (int64)."""
        found = [
            _times(scanned.values(name), part)
            for name, part in roles.columns_of(self.record, roles.TIME)
            if name in scanned.places
        ]
        return pc.coalesce(*found) if found else pa.nulls(len(scanned), pa.string())

    def positions(self, scanned: SourceBatch) -> pa.StringArray:
        found = _first_texts(_joined(scanned, parts) for parts in roles.positions_of(self.record))
        return pa.nulls(len(scanned), pa.string()) if found is None else found

    def transactions(self, scanned: SourceBatch) -> pa.StringArray | None:
        """Return the ids of the transactions of scanned operations; None if there is no member with such ids."""
        return _first_texts(scanned.values(name) for name in self.transaction_members if name in scanned.places)

    def origins(self, scanned: SourceBatch) -> pa.StringArray | None:
        """Return the origins of the positions of scanned operations; None if there is no member with them."""
        if self.origin_member not in scanned.places:
            return None
        found = scanned.values(self.origin_member)
        nothing = pc.is_in(found, value_set=pa.array(NO_ORIGINS, pa.string()))
        return pc.if_else(nothing, pa.scalar(None, pa.string()), found)

    @cached_property
    def decoder(self) -> Any:
        """The decoder of one JSON record (`decode`) and of all of a chunk (`decode_lines`). None: a tombstone."""
        return MemberDecoder(self.record) if _is_struct(self.record) else msgspec.json.Decoder(self.record | None)

    @cached_property
    def once(self) -> Once:
        """The members that a JSON record may have only once; of all others, the last one counts."""
        return roles.once_of(self.record) if _is_struct(self.record) else EVERY

    def passed_over(self, record: Any) -> Sequence[str]:
        """Return the names of the members of a record that mean nothing to the dialect.

        The record is the argument of the last call of `changes`.
        """
        return self.decoder.passed_over(record) if isinstance(record, msgspec.Struct) else ()

    def decoded(self, chunk: Chunk) -> Iterator[Any] | None:
        """Return an iterator over the decoded records of a chunk, one per span; None if the records are JSON objects.

        A record that cannot be decoded is a Diagnostic. If only decoding finds the spans, `chunk.spans` is an empty
        list at first. The iterator then appends each span before it yields the record.
        """
        return None

    def opened(self, chunk: Chunk) -> Chunk:
        """Return the chunk in the form that the dialect decodes."""
        return chunk

    def as_json(self, chunk: Chunk) -> Chunk:
        """Return a chunk with JSON of its records for the scanner; a record that only `decoded` reads is no JSON."""
        return chunk

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        """Return one conversion per column for tables that records do not describe; None for plain texts."""
        return tuple(self.by_kind.get(column.type.kind) for column in table.columns)

    # The methods below find the records in a file. The defaults fit the JSON files of all dialects.

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return dumps.find_layout(head, whole)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dumps.chunks(stream, file, start, length, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        """Return start and end of each record in the data of a chunk, in bytes."""
        return json_files.record_spans(chunk)


def _times(values: pa.StringArray, part: roles.Part) -> pa.StringArray | pa.Int64Array:
    if not part.micros:
        return values
    micros = scale_numbers(values, part.micros)
    return micros if part.zero else pc.if_else(pc.equal(micros, 0), pa.scalar(None, pa.int64()), micros)


def _joined(scanned: SourceBatch, parts: Sequence[tuple[str, roles.Part]]) -> pa.StringArray | None:
    """Return the texts of the slots that are parts of one position, with colons between them; None without slots."""
    texts = {name: scanned.values(name) for name, _ in parts if name in scanned.places}
    first = [texts[name] for name, part in parts if name in texts and not part.follows]
    if len(texts) < 2 or all(values.null_count == len(values) for values in first):
        return first[0] if first else None
    exists = reduce(pc.or_, (without_empty(values).is_valid() for values in first))
    joined = pc.binary_join_element_wise(*(values.fill_null("") for values in texts.values()), ":")
    return pc.if_else(exists, pc.ascii_rtrim(joined, ":"), pa.scalar(None, pa.string()))


def _first_texts(columns: Iterable[pa.StringArray | None]) -> pa.StringArray | None:
    """Return for each row the first text that is not empty; None without columns."""
    texts: list[pa.StringArray] = []
    for values in columns:
        if values is not None and (not texts or values.null_count < len(values)):
            texts.append(without_empty(values))
            if not texts[-1].null_count:
                break
    return pc.coalesce(*texts) if len(texts) > 1 else texts[0] if texts else None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


# The classification of the records of a chunk, for the reader and the discovery of a dialect.

Examination = list[Item] | str | Diagnostic
Examined = Iterator[Examination]


def decode_records(dialect: Dialect, chunk: Chunk) -> tuple[Chunk, Iterable[Any]]:
    """Return a chunk, cut into records if that was necessary, and its records as `classify_records` takes them."""
    chunk = dialect.opened(chunk)
    own = dialect.decoded(chunk)
    if own is not None:
        return chunk, own
    records = _all_at_once(dialect, chunk)
    if records is not None:
        return chunk, records
    chunk = chunk.settled()
    return chunk, _one_by_one(dialect, chunk)


def examined_one(
    dialect: Dialect, chunk: Chunk, start: int, end: int, key: bytes | None = None
) -> tuple[Any, Examination]:
    """Return a record of a JSON chunk, decoded, and its classification; `key`: that of its message."""
    record = _decoded(dialect, chunk, start, end)
    return record, next(classify_records(dialect, [record], [key]))


class DialectScanning(Scanning):
    """A reader, a discovery or a router of the records of `dialect`, and how its scanner gets to know them.

    A record that became operations says by which grammar the scanner takes others like it, and for which table.
    """

    dialect: ClassVar[type[Dialect]]
    scanner: Any = None  # a JsonScanner, unless a format has its own
    _dialect: Any
    _grammar: roles.Grammar | None = None
    _grammars_left = MAX_GRAMMARS

    @abstractmethod
    def make_scanner(self, native: Any, grammar: roles.Grammar) -> JsonScanner: ...

    @abstractmethod
    def set_aside(self) -> None:
        """Take what the scanner holds, before another one takes its place."""

    @abstractmethod
    def bind(self, identity: bytes, odd: OddRecord) -> None:
        """Bind the identity of a record that became operations, if the scanner can take such records."""

    def start_scanner(self) -> None:
        self._use(self._dialect.first_grammar() or roles.NO_RECORDS)

    def spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        return self.dialect.spans(chunk)

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
        return examined_one(self._dialect, chunk, start, end)

    def learn(self, odd: OddRecord) -> None:
        """Let the scanner take records like this one from now on if it became operations, and the scanner can."""
        is_operation = isinstance(odd.meaning, list) and odd.meaning and isinstance(odd.meaning[0], Change)
        grammar = self._dialect.grammar(odd.record) if is_operation else None
        if grammar is not None and grammar != self._grammar:
            self._use(grammar)
        elif grammar is not None and odd.identity is not None and self.scanner is not None:
            self.bind(odd.identity, odd)

    def _use(self, grammar: roles.Grammar) -> None:
        if self._grammars_left:
            self.set_aside()
            self._grammar = grammar
            self._grammars_left -= 1
            self.scanner = kernel(lambda native: self.make_scanner(native, grammar))


def message_keys(dialect: Dialect, chunk: Chunk) -> Iterator[bytes | None]:
    """Return the keys of the messages of a chunk in order; endlessly None for a chunk without messages."""
    if chunk.wrapped is None or not dialect.takes_message_keys:
        return repeat(None)
    return (message.key for message in chunk.wrapped.messages)


def classify_records(dialect: Dialect, records: Iterable[Any], keys: Iterable[bytes | None] | None = None) -> Examined:
    """Yield the classification of each decoded record.

    A record that is None is a tombstone. A record that is a Diagnostic describes a problem, and stays as it is. `keys`:
    those of the messages with the records.
    """
    for record, dialect.message_key in zip(records, repeat(None) if keys is None else keys):  # noqa: B905
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
                if dialect.message_key is not None:
                    items = [_with_key(dialect, item) if isinstance(item, Change) else item for item in items]
            except RecordError as error:
                yield error.diagnostic
                continue
            if items and isinstance(items[0], Change):
                for name in dialect.passed_over(record):
                    dialect.members[name] += len(items)
            yield items


def _with_key(dialect: Dialect, change: Change) -> Change:
    """Return a change whose images have the columns of the key of its message.

    They belong to the row, also if a transformation removed them from the value. Do not add them to before images that
    have only some columns. A definition from the user or in the record decides on the columns of its table.
    """
    described = None if change.record_schema is None else change.record_schema.table
    given = dialect.trusted.get(change.table, described)
    names = None if given is None else given.column_names
    key = {name: value for name, value in dialect.key_columns().items() if names is None or name in names}
    partial = change.op == "U" and (dialect.overlay or dialect.partial_before)
    before = change.before if partial else _completed(change.before, key)
    after = _completed(change.after, key)
    if before is change.before and after is change.after:
        return change
    dialect.completed.add(change.table)
    return change._replace(before=before, after=after)


def _completed(image: Any, key: Mapping[str, Raw]) -> Any:
    """Return a JSON image with the columns of a key that it lacks, before all others."""
    if not key or not isinstance(image, (bytes, Raw)):
        return image
    try:
        members = raw_members(image)
    except (ValueError, RecursionError):
        return image  # the reader of images reports it
    return image if members.keys() >= key.keys() else msgspec.json.encode({**key, **members})


def _all_at_once(dialect: Dialect, chunk: Chunk) -> Sequence[Any] | None:
    """Decode all records of a chunk at once; None if one does not fit the dialect, or if the chunk is already cut."""
    if chunk.spans is not None:
        return None
    try:
        if not chunk.data.isascii():
            str(chunk.data, "utf-8")  # the decoder does not check skipped and raw members
        records: list[Any] = dialect.decoder.decode_lines(chunk.data)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return None
    for index, name in repeated_in_lines(chunk.data, dialect.once):
        records[index] = repeated_error(name)
    return records


def _one_by_one(dialect: Dialect, chunk: Chunk) -> Iterator[Any]:
    for start, end in dialect.spans(chunk):
        yield _decoded(dialect, chunk, start, end)


def _decoded(dialect: Dialect, chunk: Chunk, start: int, end: int) -> Any:
    record = chunk.data[start:end]
    try:
        if not record.isascii():
            str(record, "utf-8")
        decoded = dialect.decoder.decode(record)
    except (ValueError, RecursionError) as error:
        return _malformed(record, chunk.last and end == len(chunk.data), str(error))
    name = repeated_member(record, dialect.once)
    return decoded if name is None else repeated_error(name)


def _malformed(record: bytes, last: bool, reason: str) -> Diagnostic | None:
    members = parse(record, last)
    if members is None or isinstance(members, Diagnostic):
        return members
    what, _, place = reason.partition(" - at ")
    where = f" at {place}" if place else ""
    return Diagnostic("GG308", f"the record has a member of the wrong type: {what[:1].lower()}{what[1:]}{where}")
