"""Maxwell's JSON, read.

A statement with a `def` is a definition of its table from its place on; all other statements, and the start and end of
a bootstrap, are counted. Rows that are encrypted cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import fill_missing, nulls_of_changes
from ggfmt.formats.api.reading import Remark
from ggfmt.formats.json.shapes import NESTED, ColumnShape
from ggfmt.formats.json.values import is_avro_union
from ggfmt.formats.maxwell import SNAPSHOT
from ggfmt.formats.mysql.types import sql_type
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Meaning, Statement, none_if_null
from ggfmt.formats.records.images import Columns
from ggfmt.formats.records.problems import RecordError, decoded
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.statements import EVERY, What, effects_of, in_database, renamed, statement
from ggfmt.model.table import Column, Kind, SqlType, TableDef, join_name

_OPS: roles.Ops = {
    "insert": "I",
    "update": "U",
    "delete": "D",
    "bootstrap-insert": roles.OpToken("I", SNAPSHOT, "true", rank=9),
}
_MARKS = {"bootstrap-start": "bootstrap start", "bootstrap-complete": "bootstrap complete"}
_STATEMENTS = ("table-", "database-")
_ABSENT = "without a column of the table, which stays as it was; if the source omits NULL, set `absentMeans=null`"


class MaxwellRecord(msgspec.Struct, gc=False):
    database: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.name()] = None
    type: Annotated[str | None, roles.op(_OPS)] = None
    ts: Annotated[int | None, roles.time("s")] = None
    xid: Annotated[int | None, roles.transaction(), roles.Token(0)] = None
    xoffset: Annotated[int | None, roles.Token(1)] = None
    commit: Annotated[bool | None, roles.Token(8, unless="false")] = None
    position: Annotated[str | None, roles.position()] = None
    gtid: Annotated[str | None, roles.position(1), roles.Token(7)] = None
    server_id: Annotated[int | None, roles.origin(), roles.Token(2)] = None
    thread_id: Annotated[int | None, roles.Token(3)] = None
    schema_id: Annotated[int | None, roles.Token(4)] = None
    push_ts: Annotated[int | None, roles.Token(5)] = None
    primary_key: Annotated[Raw, roles.skip()] = ABSENT
    primary_key_columns: Annotated[tuple[str, ...] | None, roles.identity()] = None
    data: Annotated[Raw, roles.row()] = ABSENT
    old: Annotated[Raw, roles.old()] = ABSENT
    query: Annotated[str | None, roles.Token(6)] = None
    encrypted: Annotated[Raw, roles.skip(roles.NULL)] = ABSENT
    definition: Annotated[Raw, roles.skip()] = msgspec.field(default=ABSENT, name="def")
    sql: Annotated[Raw, roles.skip()] = ABSENT


class MaxwellColumn(msgspec.Struct, gc=False):
    name: str
    type: str
    length: int | None = msgspec.field(default=None, name="column-length")
    charset: str | None = None
    signed: bool | None = None


class MaxwellTable(msgspec.Struct, gc=False):
    columns: tuple[MaxwellColumn, ...]
    database: str | None = None
    table: str | None = None
    keys: tuple[str, ...] | None = msgspec.field(default=None, name="primary-key")


_table = msgspec.json.Decoder(MaxwellTable).decode


class Maxwell(DeclaredDialect):
    record = MaxwellRecord
    empty_old_is_none = True
    overlay = True
    keeps_json = frozenset({Kind.STRING})
    more_ops = ", and types of DDL statements"

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        kind = members.get("type")
        if "database" not in members or not isinstance(kind, str) or "isDdl" in members:
            return None
        known = kind in _OPS or kind in _MARKS or kind.startswith(_STATEMENTS)
        return f"`database` and the type `{kind[:40]}`" if known else None

    # A row shows all its columns, unless Maxwell omits NULL: a column that only `old` has is NULL.

    def grammar(self, record: MaxwellRecord) -> roles.Grammar | None:
        grammar = super().grammar(record)
        return grammar and grammar._replace(shows_rows=True)

    def needs_before_image(self, op: str, key_updates: bool) -> bool:
        return op in ("D", "U")

    def shown_columns(
        self, before: Columns, after: Columns, op: pa.StringArray, has_before: pa.BooleanArray
    ) -> Columns:
        return nulls_of_changes(before, after, pc.and_(pc.equal(op, "U"), has_before))

    def compared_columns(self, before: Columns, after: Columns, both: pa.BooleanArray) -> tuple[Columns, Columns]:
        return before, fill_missing(after, both)

    def remarks(self, table: str, after: Columns, rows: pa.BooleanArray) -> Mapping[Remark, int]:
        absent = (pc.invert(column.present) for column in after if column.present is not None)
        lacking = pc.and_(rows, reduce(pc.or_, absent, pc.invert(rows))).true_count
        return {Remark("GG324", table, _ABSENT): lacking} if lacking and not self.absent_is_null else {}

    def shape_of(self, value: Any) -> ColumnShape:
        """An object is the value of a column of JSON, unless it looks like a value of Avro."""
        return NESTED if isinstance(value, dict) and value and not is_avro_union(value) else super().shape_of(value)

    def changes(self, record: MaxwellRecord) -> Meaning:
        if none_if_null(record.encrypted) is not None:
            help = "configure Maxwell to write rows without `encrypt`"
            raise RecordError("GG305", "the record has no `data`: it is encrypted", help, self.table(record) or None)
        return super().changes(record)

    def describe(self, record: MaxwellRecord, table: str) -> None:
        if record.primary_key_columns:
            self.add_key(table, record.primary_key_columns)

    def others(self, record: MaxwellRecord, word: str | None) -> Meaning:
        if word in _MARKS:
            return _MARKS[word]
        if word is None or not word.startswith(_STATEMENTS):
            return super().others(record, word)
        definition = none_if_null(record.definition)
        if definition is None:
            return [self._statement(record, word, f"ddl {word[:40]}")]
        described = self.described(bytes(definition), lambda: _described_table(record))
        return [described, self._statement(record, word, None, described.table.full_name)]

    def _statement(self, record: MaxwellRecord, kind: str, word: str | None, new: str = "") -> Statement:
        """The statement of a record, whose type says what it does. `new`: the name of its table afterwards."""
        op_ts = None if record.ts is None else record.ts * 1000  # of statements in milliseconds
        head = self.change(record, "T", join_name(record.database, record.table))._replace(op_ts=op_ts)
        if kind == "database-drop":
            return Statement(word, (head._replace(table=f"{join_name(record.database)}.{EVERY}"),))
        if kind == "table-drop":
            return Statement(word, (head,))
        sql = none_if_null(record.sql)
        effects = effects_of(msgspec.json.decode(sql)) if sql is not None and bytes(sql)[:1] == b'"' else []
        if kind == "table-create":
            created = not effects if sql is None else any(effect.what is What.CREATE for effect in effects)
            return Statement(word, (head,) if created else ())
        old = _defined(record, "old")[1] if none_if_null(record.old) is not None else ""
        if new and old and old != new:
            return Statement(word, (), (renamed(old, f"`{new}`"),))
        return statement(word, effects, in_database(record.database), head)


def _defined(record: MaxwellRecord, member: str) -> tuple[MaxwellTable, str]:
    """The table of a statement by `def`, or before the statement by `old`, and its full name."""
    reason = f"`{member}` does not have a name and a type for each column"
    data = record.old if member == "old" else record.definition
    table = decoded(_table, data, reason, join_name(record.database, record.table))
    return table, join_name(table.database or record.database, table.table or record.table)


def _described_table(record: MaxwellRecord) -> TableDef:
    table, name = _defined(record, "def")
    names = [column.name for column in table.columns]
    if len(set(names)) < len(names):
        raise RecordError("GG308", "`def` has two columns with the same name", None, name)
    return TableDef(name, tuple(Column(column.name, _type(column)) for column in table.columns)).with_keys(
        table.keys or ()
    )


def _type(column: MaxwellColumn) -> SqlType:
    """The type of a column as its values are written: a BIT is a number, and texts without a charset are bytes."""
    if column.type.lower() == "bit":
        return SqlType(Kind.INTEGER)
    unsigned = " unsigned" if column.signed is False else ""
    type = sql_type(f"{column.type}{unsigned}{f' charset {column.charset}' if column.charset else ''}")
    if type.kind in (Kind.TIME, Kind.TIMESTAMP) and column.length is not None:
        return SqlType(type.kind, scale=column.length)
    return type


READ_SIDES = {"maxwell_json": dialect_input(Maxwell)}
