"""Canal's JSON, read."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.strings import booleans, by_value
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.canal import DELETE_IN_OLD
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.mysql.types import sql_type
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, RecordSchema, converting, non_null
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.formats.records.statements import Effect, What, effects_of, in_database, statement
from ggfmt.model.table import Column, Kind, TableDef, join_name

_OPS = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "INIT": "I"}
_types = msgspec.json.Decoder(dict[str, str]).decode

_Head: TypeAlias = tuple[int | None, str | None, dict[str, str], str | None]


def _base64(text: str) -> str:
    """Base64 of bytes, each of which was written as the character with its number."""
    return base64.b64encode(text.encode("latin-1")).decode()


_BY_KIND = {Kind.BINARY: converting(by_value(_base64)), Kind.BOOLEAN: converting(booleans)}


class Tidb(msgspec.Struct, gc=False):
    """The member that TiCDC adds to a message."""

    commitTs: Annotated[int | str | None, roles.transaction(), roles.Token(3, unless="")] = None
    watermarkTs: Annotated[int | str | None, roles.skip(roles.NULL)] = None
    onlyHandleKey: Annotated[bool | None, roles.same(b"false")] = None
    claimCheckLocation: Annotated[str | None, roles.skip(roles.NULL)] = None


class CanalRecord(msgspec.Struct, gc=False):
    """The known members of a message."""

    data: Annotated[list[Raw] | None, roles.row(listed=True)] = None
    database: Annotated[str | None, roles.identity()] = None
    es: Annotated[int | str | None, roles.slot(roles.INTEGER | roles.NULL)] = None
    id: Annotated[int | str | None, roles.slot(), roles.Token(0, unless="")] = None
    isDdl: Annotated[bool | None, roles.same(b"false")] = None
    mysqlType: Annotated[Raw, roles.identity()] = ABSENT
    old: Annotated[list[Raw] | None, roles.old(listed=True)] = None
    pkNames: Annotated[tuple[str, ...] | None, roles.identity()] = None
    sql: Annotated[str | None, roles.skip()] = None
    sqlType: Annotated[Raw, roles.skip()] = ABSENT
    table: Annotated[str | None, roles.identity()] = None
    ts: Annotated[int | str | None, roles.skip()] = None
    type: Annotated[str | None, roles.op()] = None
    gtid: Annotated[str | None, roles.slot(), roles.Token(1, unless="")] = None
    tidb: Annotated[Tidb | None, roles.enter(required=False)] = msgspec.field(default=None, name="_tidb")


class Canal(Dialect):
    record = CanalRecord
    scalars_only = True
    scanned = True
    ops: ClassVar[roles.Ops] = {**_OPS, "INIT": roles.OpToken("I", "snapshot", "true", rank=2)}
    row_token = "row"
    transaction_members = ("gtid", "commitTs")
    overlay = True
    ordered = False
    by_kind = _BY_KIND

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._latest: dict[str, tuple[Raw, tuple[str, ...], RecordSchema]] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        kind = members.get("type")
        if "isDdl" in members and "type" in members:
            return "`isDdl` and `type`"
        if isinstance(members.get("data"), list) and isinstance(kind, str) and kind.isupper() and "table" in members:
            return "`table`, rows in `data` and a `type` in capitals"
        return None

    def changes(self, record: CanalRecord) -> Meaning:
        kind = record.type
        if kind is None:
            raise missing_member_error("type", "every Canal message must have a type")
        tidb = record.tidb
        if kind == "TIDB_WATERMARK" or (tidb is not None and tidb.watermarkTs is not None):
            return "watermark"
        if record.isDdl or kind not in _OPS:
            return self._others(record, kind)
        table = self._table(record)
        if tidb is not None:
            _refuse_part_of_row(tidb, table)
        op = _OPS[kind]
        data, old = record.data, record.old
        if op == "D" and self.options.delete_rows == DELETE_IN_OLD and data is None:
            data = [row for row in old or () if non_null(row) is not None]
        if not data:
            if op == "D" and old:
                help = "if DTS wrote the message before 2022-03-20, set `deleteRows=old` with `--input-option`"
                raise missing_member_error("data", help, table, what="a DELETE")
            raise RecordError("GG305", f"a message of type {kind} has no rows in `data`", None, table)
        record_schema = self._describe(record, table)
        head = self._head(record)
        if op == "U" and (old is None or len(old) != len(data)):
            if old is not None:
                raise RecordError("GG308", f"`data` has {len(data)} rows and `old` has {len(old)}", None, table)
            old = [ABSENT] * len(data)
        changes = []
        for index, row in enumerate(data):
            before = after = None
            if op == "D":
                before = row
            else:
                after = row
                if op == "U" and old is not None:
                    before = non_null(old[index])
            changes.append(
                self._change(table, op, head, before, after, record_schema, index if len(data) > 1 else None)
            )
        return changes

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray | pa.Int64Array, pa.StringArray]:
        gtid, identity = scanned.values("gtid"), scanned.values("id")
        position = pc.if_else(pc.not_equal(gtid, "").fill_null(False), gtid, identity)
        return scale_numbers(scanned.values("es"), 1000), position

    def _others(self, record: CanalRecord, kind: str) -> Meaning:
        """A record that is not of rows: a truncate, or a statement or mark that is counted by its kind."""
        of_tables = record.isDdl or kind in ("DDL", "INIT_DDL", "QUERY")
        effects = effects_of(record.sql) if of_tables and record.sql else []
        if kind == "TRUNCATE" or any(effect.what is What.TRUNCATE for effect in effects):
            table = self._table(record)
            return [self._change(table, "T", self._head(record), None, None, self._describe(record, table))]
        if of_tables:
            word = f"ddl {kind.lower()}" if kind not in ("DDL", "INIT_DDL") else "ddl"
            if kind == "ERASE" and not record.sql:
                effects = [Effect(What.DROP, ((record.table,),)) if record.table else Effect(What.UNCLEAR)]
            elif kind == "RENAME" and not record.sql:
                effects = [Effect(What.UNCLEAR)]
            head = self._change(join_name(record.database, record.table), "T", self._head(record), None, None, None)
            return [statement(word, effects, in_database(record.database), head)]
        raise no_op("type", kind, _OPS, more=", and types of DDL statements")

    def _head(self, record: CanalRecord) -> _Head:
        """Time, position and tokens of all rows of a message, and the id of their transaction."""
        op_ts = None if record.es in (None, "") else _millis(record.es) * 1000
        identity = None if record.id is None else str(record.id)
        tokens: dict[str, str] = {}
        if self.with_tokens:
            tokens = roles.tokens_of(CanalRecord, record)
            if record.type == "INIT":
                tokens["snapshot"] = "true"
            if record.tidb is not None:
                tokens |= roles.tokens_of(Tidb, record.tidb)
        transaction = record.gtid or None
        if not transaction and record.tidb is not None and record.tidb.commitTs is not None:
            transaction = str(record.tidb.commitTs)
        return op_ts, record.gtid or identity, tokens, transaction if self.with_transactions else None

    @staticmethod
    def _change(
        table: str,
        op: str,
        head: _Head,
        before: Raw | None,
        after: Raw | None,
        record_schema: RecordSchema | None,
        row: int | None = None,
    ) -> Change:
        op_ts, position, tokens, transaction = head
        own = tokens if row is None else {**tokens, "row": str(row)}
        return Change(table, op, op_ts, position, before, after, own, record_schema, transaction)

    def _table(self, record: CanalRecord) -> str:
        if not record.table:
            raise missing_member_error("table", NAME_TABLE)
        return join_name(record.database, record.table)

    def _describe(self, record: CanalRecord, table: str) -> RecordSchema | None:
        types_text = non_null(record.mysqlType)
        keys = record.pkNames or ()
        if types_text is None:
            if keys:
                self.add_key(table, keys, len(record.data or record.old or (None,)))
            return None
        latest = self._latest.get(table)
        if latest is not None and latest[0] == types_text and latest[1] == keys:
            return latest[2]
        types = decoded(_types, types_text, "`mysqlType` does not have a string for each column", table)
        parts = frozenset(types.items()), frozenset(keys)
        record_schema = self.described_in_any_order(table, parts, lambda: _definition(table, types, record, keys), keys)
        self._latest[table] = Raw(bytes(types_text)), keys, record_schema
        return record_schema


def _definition(table: str, types: Mapping[str, str], record: CanalRecord, keys: Sequence[str]) -> TableDef:
    """The definition by `mysqlType`, in the order of a row if that is another one: TiCDC writes types in any order."""
    names = list(types)
    shown = [name for name in _first_row(record) if name in types]
    if shown != [name for name in names if name in set(shown)]:
        names = list(dict.fromkeys((*shown, *names)))
    return TableDef(table, tuple(Column(name, sql_type(types[name])) for name in names)).with_keys(keys)


def _first_row(record: CanalRecord) -> Iterable[str]:
    for row in (*(record.data or ()), *(record.old or ())):
        if non_null(row) is not None:
            try:
                return raw_members(row)
            except (ValueError, RecursionError):  # that it is no object is found when it is decoded
                break
    return ()


def _refuse_part_of_row(tidb: Tidb, table: str) -> None:
    """Refused for a message that TiCDC made small because its row was too large for one."""
    help = "configure TiCDC to write whole rows: increase `max-message-bytes`, or compress large messages"
    if tidb.claimCheckLocation:
        help = f"read the file that `claimCheckLocation` names instead; or {help}"
        reason = "the row is not in the message, but in the file that `_tidb.claimCheckLocation` names"
        raise RecordError("GG305", reason, help, table)
    if tidb.onlyHandleKey:
        reason = "the message has only the key columns, not the row: `_tidb.onlyHandleKey`"
        raise RecordError("GG305", reason, help, table)


def _millis(value: int | str) -> int:
    try:
        return int(value)
    except ValueError:
        raise RecordError("GG308", "`es` is not a number") from None


READ_SIDES = {"canal_json": dialect_input(Canal)}
