"""The changes of a replication slot in PostgreSQL, as JSON records: the dialect of all plugins for logical decoding.

The records are those of wal2json. For other plugins, `Records` makes such records of the rows of a query.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Annotated, Any, BinaryIO, ClassVar

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import fill_missing
from ggfmt.columnar.strings import Converted, Kernel, by_value, rows_where
from ggfmt.columnar.timestamps import LAST_MICROS, has_zone, instant_micros
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json import dumps
from ggfmt.formats.postgresql import query_rows
from ggfmt.formats.postgresql.options import SlotOptions
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import Change, Meaning, RecordSchema, Statement
from ggfmt.formats.records.images import Columns, Convert, completed_after_images, converting
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.routing import DialectRouter
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.change import ImageColumn, without_empty
from ggfmt.model.table import Column, Kind, SqlType, TableDef, join_name
from ggfmt.model.type_names import type_of
from ggfmt.options.value_types import key_of

OPS: roles.Ops = {
    "I": "I", "U": "U", "D": "D", "T": "T", "B": roles.counted("transaction begin"),
    "C": roles.counted("transaction end"), "M": roles.counted("message"),
}  # fmt: skip
_NULL = Raw(b"null")
_ISO = "query the slot in a session with `SET DateStyle = ISO`"
_KINDS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T"}  # wal2json has no truncates in format 1


class ImageCell(msgspec.Struct, gc=False):
    """A column of an image."""

    name: str
    value: Raw
    type: str | None = None


class KeyColumn(msgspec.Struct, gc=False):
    name: str
    type: str | None = None


class OldKeys(msgspec.Struct, gc=False):
    keynames: list[str]
    keyvalues: list[Raw]
    keytypes: list[str] | None = None


class PrimaryKey(msgspec.Struct, gc=False):
    pknames: list[str]
    pktypes: list[str] | None = None


class ChangeOfTransaction(msgspec.Struct, gc=False):
    """A change in format 1."""

    kind: str
    schema: str | None = None
    table: str | None = None
    columnnames: list[str] | None = None
    columnvalues: list[Raw] | None = None
    columntypes: list[str] | None = None
    oldkeys: OldKeys | None = None
    pk: PrimaryKey | None = None


class SlotRecord(msgspec.Struct, gc=False):
    """A change in format 2, or a transaction in format 1."""

    action: Annotated[str | None, roles.op(OPS)] = None
    xid: Annotated[int | None, roles.transaction(), roles.Token(0)] = None
    timestamp: Annotated[str | None, roles.time(roles.TEXT)] = None
    origin: Annotated[int | None, roles.Token(1, unless="0")] = None
    lsn: Annotated[str | None, roles.position()] = None
    nextlsn: Annotated[str | None, roles.position(1)] = None
    schema: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.name()] = None
    columns: Annotated[list[ImageCell] | None, roles.cells(roles.AFTER_CELLS)] = None
    identity: Annotated[list[ImageCell] | None, roles.cells(roles.BEFORE_CELLS)] = None
    pk: Annotated[list[KeyColumn] | None, roles.identity()] = None
    transactional: Annotated[bool | None, roles.skip()] = None
    prefix: Annotated[str | None, roles.skip()] = None
    content: Annotated[str | None, roles.skip()] = None
    change: list[ChangeOfTransaction] | None = None


@dataclass(frozen=True)
class IdentityKey:
    """The key of a fact: the columns of the replica identity of a table, if they are its key."""

    table: str


class SlotDialect(DeclaredDialect):
    """`finds_rows`: learn which columns find rows, and refuse changes whose row the key does not find."""

    finds_rows = True
    record: type[msgspec.Struct] = SlotRecord
    scalars_only = True
    keeps_json = frozenset({Kind.STRING})
    rows: ClassVar[type[query_rows.Records]]
    wrong_time = Diagnostic("GG308", "`timestamp` is not an ISO 8601 time with an offset", help=_ISO)

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options = source.options or SlotOptions()
        self.full_tables = frozenset(self.options.full_identity.split(";"))
        self._schemas: dict[str, RecordSchema] = {}
        self._parts: dict[str, set[Any]] = {}

    # Files

    @classmethod
    def chunks(cls, stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        if layout.envelope in query_rows.FRAMES:
            return query_rows.chunks(stream, file, layout, cls.rows())
        return dumps.chunks(stream, file, start, length, layout)

    # Changes

    def changes(self, record: SlotRecord) -> Meaning:
        if record.change is None:
            return super().changes(record)
        if not record.change:
            return "empty transaction"
        head = self.change(record, "I", "")
        return [self._of_transaction(head, change) for change in record.change]

    def _of_transaction(self, head: Change, change: ChangeOfTransaction) -> Change | Statement:
        if change.kind == "message":
            return Statement("message")
        op = _KINDS.get(change.kind)
        if op is None:
            help = "legal values: `insert`, `update`, `delete`, `message`"
            raise RecordError("GG304", f"`kind` is `{change.kind[:40]}`", help)
        if not change.table:
            raise RecordError("GG305", "a change has no `table`")
        after = _zipped("columnvalues", change.columnnames, change.columnvalues, change.columntypes)
        old, key = change.oldkeys, change.pk
        before = None if old is None else _zipped("keyvalues", old.keynames, old.keyvalues, old.keytypes)
        keys = None if key is None else _zipped("pknames", key.pknames, (_NULL,) * len(key.pknames), key.pktypes)
        return self._change(head, op, join_name(change.schema, change.table), after, before, keys)

    def operations(self, record: SlotRecord, op: str | roles.OpToken) -> list[Change]:
        table = self.named_table(record)
        self.learn_identity(table, record)
        head = self.change(record, op, table)
        return [self._change(head, head.op, table, record.columns, record.identity, record.pk)]

    def _change(
        self,
        head: Change,
        op: str,
        table: str,
        after: Sequence[ImageCell] | None,
        before: Sequence[ImageCell] | None,
        keys: Sequence[KeyColumn | ImageCell] | None,
    ) -> Change:
        """Return the change with the members of its record, which are in `head`."""
        cells = (*(after or ()), *(before or ()))
        if before and keys and not {column.name for column in keys} <= {cell.name for cell in before}:
            self.learn_key_columns(table, before)  # the identity is another index
        if before and self.finds_rows and table not in self.full_tables:
            self.check_key(table, before, keys or ())
        return head._replace(
            table=table,
            op=op,
            before=_image(before, table),
            after=_image(after, table),
            record_schema=self._schema(table, cells, keys),
        )

    def change(self, record: Any, op: str | roles.OpToken, table: str, *args: Any, **others: Any) -> Change:
        made = super().change(record, op, table, *args, **others)
        return made if made.op_ts is None else made._replace(op_ts=_micros(str(made.op_ts)))

    def key_by_records(self, table: str, keys: Sequence[KeyColumn | ImageCell] | None) -> tuple[str, ...] | None:
        """Return the key of a table by the option, the identity, or the key in a record; None if it is unknown."""
        names = key_of(table, self.options.primary_keys) or self.learned.get(IdentityKey(table))
        return names or (None if keys is None else tuple(column.name for column in keys))

    # Keys: only the columns of the replica identity can find the row of an update or a delete.

    def learn_identity(self, table: str, record: SlotRecord) -> None:
        """Learn the key of a table from a change, for a discovery."""
        shown = {cell.name for cell in record.columns or ()}
        if record.pk is None and record.identity and {cell.name for cell in record.identity} < shown:
            self.learn_key_columns(table, record.identity)

    def learn_key_columns(self, table: str, identity: Sequence[ImageCell]) -> None:
        """Learn the key of a table, for a discovery."""
        if self.catalog is None and self.finds_rows and IdentityKey(table) not in self.learned:
            self.learned[IdentityKey(table)] = tuple(cell.name for cell in identity)
            self.lacking = True

    def check_key(self, table: str, identity: Sequence[ImageCell], keys: Sequence[KeyColumn | ImageCell]) -> None:
        """Raises: RecordError if the identity lacks a column of the key, so that the record does not show its row."""
        given = self.trusted.get(table)
        names = (() if given is None else given.key_names) or self.key_by_records(table, keys) or ()
        shown = {cell.name for cell in identity}
        lacking = next((name for name in names if name not in shown), None)
        if lacking is not None:
            help = "the key must be columns of the replica identity: correct `--key`, `primaryKeys` or `--definitions`"
            raise RecordError("GG305", f"the identity does not have the key column `{lacking}`", help, table, lacking)

    # Definitions: a record shows those columns that its images have, and the columns of the key.

    def _schema(
        self, table: str, cells: Sequence[ImageCell], keys: Sequence[KeyColumn | ImageCell] | None
    ) -> RecordSchema | None:
        names = self.key_by_records(table, keys)
        typed = {cell.name: cell.type for cell in cells}
        for column in keys or ():
            typed.setdefault(column.name, column.type)
        if None in typed.values():
            if names:
                self.add_key(table, names)
            return None
        latest = self._schemas.get(table)
        parts = names, tuple(typed.items())
        if latest is not None and parts in self._parts[table]:
            return latest
        columns = tuple(Column(name, column_type(type)) for name, type in typed.items() if type is not None)
        shown = self.keyed(TableDef(table, columns).with_keys(names))
        definition = self.follow(shown, None if latest is None else latest.table)
        if latest is None or definition != latest.table or definition.stated_key != latest.table.stated_key:
            latest = self._schemas[table] = RecordSchema(definition, self.converts(definition), names or ())
            self._parts[table] = set()
        self._parts[table].add(parts)
        return latest

    @classmethod
    def follow(cls, table: TableDef, previous: TableDef | None) -> TableDef:
        """Return the columns of both definitions, with the types of this one: images may lack columns."""
        if previous is None or not previous.columns:
            return table if previous is None or table.stated_key is not None else table.with_keys(previous.stated_key)
        own = {column.name: replace(column, key=0) for column in table.columns}
        columns = [replace(own.pop(column.name, column), key=0) for column in previous.columns]
        keys = previous.stated_key if table.stated_key is None else table.stated_key
        if set(previous.key_names) - set(keys or ()) - set(table.column_names):
            keys = previous.stated_key  # the record does not have all columns of the key
        return TableDef(table.full_name, (*columns, *own.values())).with_keys(keys)

    # Images

    def grammar(self, record: SlotRecord) -> roles.Grammar | None:
        grammar = super().grammar(record) if record.change is None else None
        return grammar and grammar._replace(shows_rows=True)

    def is_partial(self, op: str) -> bool:
        return op in ("U", "D")

    def needs_before_image(self, op: str, key_updates: bool) -> bool:
        return op in ("U", "D")

    def shown_columns(
        self, before: Columns, after: Columns, op: pa.StringArray, has_before: pa.BooleanArray
    ) -> Columns:
        """Add the columns that an update shows only as identity: these are unchanged, and stored out of line."""
        return completed_after_images(before, after, pc.and_(pc.equal(op, "U"), has_before))

    def meaningful_columns(
        self, table: TableDef, before: Columns, rows: pa.BooleanArray
    ) -> tuple[Columns, Mapping[int, Diagnostic]]:
        is_full = table.full_name in self.full_tables
        return fill_missing(before, rows) if is_full else before, {}

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        return tuple(_CONVERTS.get((column.type.kind, column.type.zoned)) for column in table.columns)

    def times(self, scanned: SourceBatch) -> pa.Int64Array:
        texts = super().times(scanned)
        assert isinstance(texts, pa.StringArray)
        return _zoned_micros(without_empty(texts))


def _zipped(
    what: str, names: Sequence[str] | None, values: Sequence[Raw] | None, types: Sequence[str] | None
) -> Sequence[ImageCell] | None:
    if names is None and values is None:
        return None
    names, values = names or (), values or ()
    if len(values) != len(names) or (types is not None and len(types) != len(names)):
        raise RecordError("GG308", f"`{what}` and the lists of names and types beside it have different lengths")
    return [ImageCell(*cell) for cell in zip(names, values, types or repeat(None))]  # noqa: B905


def _image(cells: Sequence[ImageCell] | None, table: str) -> bytes | None:
    """Return the JSON object with the columns of cells; None without cells."""
    if cells is None:
        return None
    members = {cell.name: cell.value for cell in cells}
    if len(members) < len(cells):
        raise RecordError("GG308", "an image has a column twice", None, table)
    return msgspec.json.encode(members)


@lru_cache(maxsize=4096)
def column_type(text: str) -> SqlType:
    """Return the type of a column as its values are written: amounts of money have a currency, and arrays are texts."""
    type = type_of(text, "postgres")
    if type.kind is Kind.BINARY:
        return replace(type, base64=True)
    if text == "money":
        return SqlType(Kind.STRING)
    return type if type.item is None else replace(type, item=None)


def _zoned_micros(texts: pa.StringArray) -> pa.Int64Array:
    """Return times with a zone as microseconds since 1970; of other texts, a number that is out of range."""
    micros, _ = instant_micros(pc.if_else(has_zone(texts), texts, pa.scalar(None, pa.string())))
    return pc.if_else(pc.and_(texts.is_valid(), micros.is_null()), LAST_MICROS + 1, micros)


@lru_cache(maxsize=256)
def _micros(text: str) -> int:
    micros: int = _zoned_micros(pa.array([text], pa.string()))[0].as_py()
    return micros


def _base64_of_hex(text: str) -> str | None:
    try:
        return b2a_base64(bytes.fromhex(text), newline=False).decode() if text.isalnum() or not text else None
    except ValueError:
        return None


class _Converting:
    """A conversion of the values of a column, and what to do about values that it does not take."""

    def __init__(self, kernel: Kernel, help: str) -> None:
        self._convert = converting(kernel)
        self.help = help

    def __call__(self, column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        return self._convert(column)


def _matching(pattern: str) -> Convert:
    def kernel(values: pa.StringArray) -> Converted:
        bad = pc.invert(pc.match_substring_regex(values, pattern))
        return values, rows_where(pc.fill_null(bad, False))

    return _Converting(kernel, _ISO)


_DATE, _CLOCK = "[0-9]{4,7}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_OFFSET = "[+-][0-9]{2}(?::[0-9]{2}){0,2}"
_CONVERTS: Mapping[tuple[Kind, bool], Convert] = {
    (Kind.BINARY, False): _Converting(
        by_value(_base64_of_hex), "query the slot in a session with `SET bytea_output = hex`"
    ),
    (Kind.DATE, False): _matching(f"^(?:{_DATE}(?: BC)?|-?infinity)$"),
    (Kind.TIMESTAMP, False): _matching(f"^(?:{_DATE} {_CLOCK}(?: BC)?|-?infinity)$"),
    (Kind.TIMESTAMP, True): _matching(f"^(?:{_DATE} {_CLOCK}{_OFFSET}(?: BC)?|-?infinity)$"),
}


class SlotRouter(DialectRouter):
    """A router, which needs the tables of records, and not their rows."""

    def make_dialect(self, *args: Any) -> None:
        super().make_dialect(*args)
        self._dialect.finds_rows = False
