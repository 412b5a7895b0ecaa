"""Maxwell's JSON, read.

A statement with a `def` is a definition of its table from its place on; all other statements, and the start and end of
a bootstrap, are counted. Rows that are encrypted cannot be read.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.maxwell import COMMIT, NUMBER_TOKENS, SNAPSHOT, TEXT_TOKENS, scan
from ggfmt.formats.mysql.types import sql_type
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, non_null
from ggfmt.formats.records.options import ABSENT_NULL
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.refused import RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.scanner import Grammar, ScannedBatch
from ggfmt.model.table import Column, Kind, SqlType, TableDef, join_name

_OPS = {"insert": "I", "update": "U", "delete": "D", "bootstrap-insert": "I"}
_MARKS = {"bootstrap-start": "bootstrap start", "bootstrap-complete": "bootstrap complete"}
_STATEMENTS = ("table-", "database-")


class MaxwellRecord(msgspec.Struct, gc=False):
    """The members of a message that are known here."""

    type: str | None = None
    database: str | None = None
    table: str | None = None
    ts: int | None = None
    data: Raw = ABSENT
    old: Raw = ABSENT
    definition: Raw = msgspec.field(default=ABSENT, name="def")
    encrypted: Raw = ABSENT
    position: str | None = None
    primary_key_columns: tuple[str, ...] | None = None
    xid: int | None = None
    xoffset: int | None = None
    commit: bool | None = None
    gtid: str | None = None
    server_id: int | None = None
    thread_id: int | None = None
    schema_id: int | None = None
    push_ts: int | None = None
    query: str | None = None
    primary_key: Raw = ABSENT
    sql: Raw = ABSENT


class MaxwellColumn(msgspec.Struct, gc=False):
    """A column in a statement's `def`."""

    name: str
    type: str
    length: int | None = msgspec.field(default=None, name="column-length")
    charset: str | None = None


class MaxwellTable(msgspec.Struct, gc=False):
    """The `def` of a statement."""

    columns: tuple[MaxwellColumn, ...]
    database: str | None = None
    table: str | None = None
    keys: tuple[str, ...] | None = msgspec.field(default=None, name="primary-key")


_table = msgspec.json.Decoder(MaxwellTable).decode


class Maxwell(Dialect):
    record = MaxwellRecord
    scanned = True
    empty_old_is_none = True
    overlay = True
    keeps_json = frozenset({Kind.STRING})

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.absent_is_null = getattr(self.options, "absent_means", None) == ABSENT_NULL

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        kind = members.get("type")
        if "database" not in members or not isinstance(kind, str) or "isDdl" in members:
            return None
        known = kind in _OPS or kind in _MARKS or kind.startswith(_STATEMENTS)
        return f"`database` and the type `{kind[:40]}`" if known else None

    def changes(self, record: MaxwellRecord) -> Meaning:
        table = join_name(record.database, record.table)
        if non_null(record.encrypted) is not None:
            help = "have Maxwell write the rows without `encrypt`"
            raise RecordError("GG305", "the record has no `data`: it is encrypted", help, table or None)
        kind = record.type
        op = _OPS.get(kind) if kind is not None else None
        if kind is None or op is None:
            return self._others(record, kind)
        if not table or not record.table:
            raise missing_member_error("table", "every row must name its table")
        row = non_null(record.data)
        if row is None:
            raise missing_member_error("data", None, table, what=f"a record of the type `{kind}`")
        if record.primary_key_columns:
            self.add_key(table, record.primary_key_columns)
        before = after = None
        if op == "D":
            before = row
        else:
            after = row
            if op == "U":
                before = non_null(record.old)
        op_ts = None if record.ts is None else record.ts * 1_000_000
        tokens = self._tokens(record, kind) if self.with_tokens else {}
        return (Change(table, op, op_ts, record.position or record.gtid, before, after, tokens),)

    def grammar(self, record: MaxwellRecord) -> Grammar | None:
        notes = self.notes(())
        return None if notes is None else scan.grammar(*notes)

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray | pa.Int64Array, pa.StringArray]:
        position, gtid = scanned.values("position"), scanned.values("gtid")
        position = pc.if_else(pc.not_equal(position, "").fill_null(False), position, gtid)
        return scale_numbers(scanned.values("ts"), 1_000_000), position

    def _tokens(self, record: MaxwellRecord, kind: str) -> dict[str, str]:
        tokens = {}
        for name in NUMBER_TOKENS:
            number = getattr(record, name)
            if number is not None:
                tokens[name] = str(number)
        for name in TEXT_TOKENS:
            text = getattr(record, name)
            if text is not None:
                tokens[name] = text
        if record.commit:
            tokens[COMMIT] = "true"
        if kind == "bootstrap-insert":
            tokens[SNAPSHOT] = "true"
        return tokens

    def _others(self, record: MaxwellRecord, kind: str | None) -> Meaning:
        if kind is None:
            raise missing_member_error("type", "every record of Maxwell has one")
        if kind in _MARKS:
            return _MARKS[kind]
        if kind.startswith(_STATEMENTS):
            definition = non_null(record.definition)
            if definition is None:
                return f"ddl {kind[:40]}"
            return (self.described(bytes(definition), lambda: _described_table(definition, record)),)
        raise no_op("type", kind, _OPS, more=" and those of statements")


def _described_table(definition: Raw, record: MaxwellRecord) -> TableDef:
    """The table of a statement's `def`."""
    reason = "`def` does not give a name and a type for each column"
    table = decoded(_table, definition, reason, join_name(record.database, record.table))
    name = join_name(table.database or record.database, table.table or record.table)
    names = [column.name for column in table.columns]
    if len(set(names)) < len(names):
        raise RecordError("GG308", "`def` has two columns of one name", None, name)
    return TableDef(name, tuple(Column(column.name, _type(column)) for column in table.columns)).with_keys(
        table.keys or ()
    )


def _type(column: MaxwellColumn) -> SqlType:
    """The type of a column as its values are written: a BIT is a number, and texts without a charset are bytes."""
    if column.type.lower() == "bit":
        return SqlType(Kind.INTEGER)
    type = sql_type(column.type)
    if type.kind is Kind.STRING and column.charset == "binary":
        return SqlType(Kind.BINARY)
    if type.kind in (Kind.TIME, Kind.TIMESTAMP) and column.length is not None:
        return SqlType(type.kind, scale=column.length)
    return type


READ_SIDES = {"maxwell_json": dialect_input(Maxwell)}
