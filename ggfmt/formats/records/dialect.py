"""Dialects: how the records of a change data capture system become operations.

A dialect decodes records and classifies each one:

- operations (`Change`)
- a table definition (`RecordSchema`)
- a statement on tables (`Statement`)
- another kind of record: the dialect returns a word, and the reader counts the records by this word
- a mistake: the dialect raises `RecordError` or returns a `Diagnostic`

It has four parts. This module has what records mean. `records.decoding` finds and decodes them, `records.images` says
what their images contain, and `records.scanned` has the same for the native scanner.

All dialects share the rest: `records.reader` reads files and makes columns, definitions and rejects.
`records.discovery` infers definitions.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Raw

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.json import dumps, shapes
from ggfmt.formats.json.cut import WHITE
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records.images import Convert, ImageRules, JsonImage, TextImage
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.scanned import Scanned
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.value_types import key_of


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
    before, after  the images; None if the operation has no such image
    tokens     texts by name
    record_schema  the definition in the record; None if the definition must come from elsewhere
    transaction  the id of the transaction; None if the record has none or the dialect has no `with_transactions`
    origin     which log the position is of, as in `ChangeBatch`
    """

    table: str
    op: str
    op_ts: str | int | None
    position: str | None
    before: JsonImage | TextImage | None
    after: JsonImage | TextImage | None
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


_NULL = Raw(b"null")
# The default of raw members. The type `Raw | None` does not work: msgspec accepts only null for it.
ABSENT = Raw(b"")


def none_if_null(value: Raw) -> Raw | None:
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


class Dialect(Scanned, ImageRules, ABC):
    """The record format of one system.

    A subclass sets the class attributes and implements `changes`. `sniff` or `sniff_file` recognizes its files. One
    instance reads one split, and may keep state from earlier records.

    ordered    the column order of definitions in records is meaningful. If not, a table keeps the order of its first
               definition.

    State of an instance:

    with_tokens  the reader needs tokens
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
    """

    ordered: ClassVar[bool] = True

    def __init__(self, source: WriterSettings = DEFAULT_SETTINGS, with_tokens: bool = True) -> None:
        Scanned.__init__(self)
        ImageRules.__init__(self, source.options)
        self.source = source
        self.options = source.options
        self.with_tokens = with_tokens
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
        self._record_schemas: dict[Hashable, RecordSchema] = {}
        self._latest_schemas: dict[str, tuple[Hashable, RecordSchema]] = {}

    @abstractmethod
    def changes(self, record: Any) -> Meaning:
        """Return the meaning of a decoded record, with its items in order.

        Raises: RecordError if the record should be an operation and is not.
        """

    @classmethod
    def caution(cls, options: Any) -> str:
        """Return what a user should know about tables without a definition; empty if their values are plain."""
        return ""

    # What records and the keys of their messages say about tables

    @classmethod
    def follow(cls, table: TableDef, previous: TableDef | None) -> TableDef:
        """Return a definition in the stream as it holds after the previous one, whose key it inherits without one."""
        return shapes.follow(table, previous, cls.ordered)

    @classmethod
    def has_message_keys(cls, chunk: Chunk) -> bool:
        """Return whether the records of a chunk are in messages whose keys may name key columns."""
        return (chunk.wrapped is not None and chunk.wrapped.has_names) or bool(chunk.layout.keys)

    def message_keys(self, chunk: Chunk) -> Iterator[bytes | None]:
        """Return the keys of the messages of a chunk in order; endlessly None for a chunk without messages."""
        if chunk.wrapped is None or chunk.wrapped.messages is None or not self.has_message_keys(chunk):
            return repeat(None)
        return iter(chunk.wrapped.messages["key"].to_pylist())

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
        key = None if chunk.wrapped is None else chunk.wrapped.key(place)
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


# The classification of records, for the reader, the discovery and the router of a dialect.

Examination = list[Item] | str | Diagnostic
Examined = Iterator[Examination]


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
    before = change.before if dialect.is_partial(change.op) else _completed(change.before, key)
    after = _completed(change.after, key)
    if before is change.before and after is change.after:
        return change
    dialect.completed.add(change.table)
    return change._replace(before=before, after=after)


def _completed(image: JsonImage | TextImage | None, key: Mapping[str, Raw]) -> JsonImage | TextImage | None:
    """Return a JSON image with the columns of a key that it lacks, before all others."""
    if not key or not isinstance(image, (bytes, Raw)):
        return image
    try:
        members = raw_members(image)
    except (ValueError, RecursionError):
        return image  # the reader of images reports it
    return image if members.keys() >= key.keys() else msgspec.json.encode({**key, **members})
