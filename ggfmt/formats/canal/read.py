"""Canal's JSON, read."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.strings import booleans, by_value
from ggfmt.formats.canal import DELETE_IN_OLD
from ggfmt.formats.json.values import json_name, raw_members
from ggfmt.formats.mysql.types import sql_type
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Change, Meaning, RecordSchema, none_if_null
from ggfmt.formats.records.images import Images, converting
from ggfmt.formats.records.problems import RecordError, decoded, missing_member_error
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.formats.records.statements import Effect, What, effects_of, in_database, statement
from ggfmt.model.change import PASSING, without_empty
from ggfmt.model.table import Column, Kind, TableDef, join_name

_ROW = "row"  # the token with the number of an operation in its message
_OPS: roles.Ops = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "INIT": roles.OpToken("I", "snapshot", "true", rank=2)}


def _base64(text: str) -> str:
    """Base64 of bytes, each of which was written as the character with its number."""
    return base64.b64encode(text.encode("latin-1")).decode()


_BY_KIND = {Kind.BINARY: converting(by_value(_base64)), Kind.BOOLEAN: converting(booleans)}


class Tidb(msgspec.Struct, gc=False):
    """The member that TiCDC adds to a message."""

    commitTs: Annotated[int | str | None, roles.transaction(rank=1), roles.Token(3, unless="")] = None
    watermarkTs: Annotated[int | str | None, roles.skip(roles.NULL)] = None
    onlyHandleKey: Annotated[bool | None, roles.same(b"false")] = None
    claimCheckLocation: Annotated[str | None, roles.skip(roles.NULL)] = None


class CanalRecord(msgspec.Struct, gc=False):
    data: Annotated[list[Raw] | None, roles.row(listed=True)] = None
    database: Annotated[str | None, roles.name()] = None
    es: Annotated[int | str | None, roles.time("ms")] = None
    id: Annotated[int | str | None, roles.position(1), roles.Token(0, unless="")] = None
    isDdl: Annotated[bool | None, roles.same(b"false")] = None
    mysqlType: Annotated[Raw, roles.identity()] = ABSENT
    old: Annotated[list[Raw] | None, roles.old(listed=True)] = None
    pkNames: Annotated[tuple[str, ...] | None, roles.identity()] = None
    sql: Annotated[str | None, roles.skip()] = None
    sqlType: Annotated[Raw, roles.skip()] = ABSENT
    table: Annotated[str | None, roles.name()] = None
    ts: Annotated[int | str | None, roles.skip()] = None
    type: Annotated[str | None, roles.op(_OPS)] = None
    gtid: Annotated[str | None, roles.position(), roles.transaction(), roles.Token(1, unless="")] = None
    tidb: Annotated[Tidb | None, roles.enter(required=False)] = msgspec.field(default=None, name="_tidb")


class Canal(DeclaredDialect):
    record = CanalRecord
    scalars_only = True
    more_ops = ", and types of DDL statements"
    overlay = True
    ordered = False
    by_kind = _BY_KIND

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        kind = members.get("type")
        if "isDdl" in members and "type" in members:
            return "`isDdl` and `type`"
        if isinstance(members.get("data"), list) and isinstance(kind, str) and kind.isupper() and "table" in members:
            return "`table`, rows in `data` and a `type` in capitals"
        return None

    def changes(self, record: CanalRecord) -> Meaning:
        if record.type == "TIDB_WATERMARK" or (record.tidb is not None and record.tidb.watermarkTs is not None):
            return "watermark"
        return self.others(record, record.type) if record.isDdl else super().changes(record)

    def operations(self, record: CanalRecord, op: str | roles.OpToken) -> list[Change]:
        changes = super().operations(record, op)
        if len(changes) > 1 and self.with_tokens:
            changes = [one._replace(tokens={**one.tokens, _ROW: str(row)}) for row, one in enumerate(changes)]
        return changes

    def grammar(self, record: CanalRecord) -> roles.Grammar | None:
        grammar = super().grammar(record)
        return grammar and grammar._replace(row_token=_ROW)

    def change(self, record: CanalRecord, *args: Any, **options: Any) -> Change:
        made = super().change(record, *args, **options)
        return made._replace(origin=PASSING) if self.with_transactions and not record.gtid else made

    def origins(self, scanned: SourceBatch) -> pa.StringArray:
        """Say that the numbers in `id` are of a process of Canal, and start again with the next one."""
        return pc.if_else(without_empty(scanned.values("gtid")).is_null(), PASSING, pa.nulls(len(scanned), pa.string()))

    def images(self, record: CanalRecord, op: str, table: str) -> Sequence[Images]:
        if record.tidb is not None:
            _refuse_part_of_row(record.tidb, table)
        data, old = record.data, record.old
        if op == "D" and self.options.delete_rows == DELETE_IN_OLD and data is None:
            data = [row for row in old or () if none_if_null(row) is not None]
        if not data:
            if op == "D" and old:
                help = "if DTS wrote the message before 2022-03-20, set `deleteRows=old` with `--input-option`"
                raise missing_member_error("data", help, table, what="a DELETE")
            raise RecordError("GG305", f"a message of type {record.type} has no rows in `data`", None, table)
        if op != "U" or old is None:
            return [(row, None) if op == "D" else (None, row) for row in data]
        if len(old) != len(data):
            raise RecordError("GG308", f"`data` has {len(data)} rows and `old` has {len(old)}", None, table)
        return [(none_if_null(before), after) for before, after in zip(old, data, strict=True)]

    def others(self, record: CanalRecord, word: str | None) -> Meaning:
        if word is None:
            return super().others(record, word)
        of_tables = record.isDdl or word in ("DDL", "INIT_DDL", "QUERY")
        effects = effects_of(record.sql) if of_tables and record.sql else []
        if word == "TRUNCATE" or any(effect.what is What.TRUNCATE for effect in effects):
            table = self.named_table(record)
            return [self.change(record, "T", table, record_schema=self.describe(record, table))]
        if not of_tables:
            return super().others(record, word)
        if word == "ERASE" and not record.sql:
            effects = [Effect(What.DROP, ((record.table,),)) if record.table else Effect(What.UNCLEAR)]
        elif word == "RENAME" and not record.sql:
            effects = [Effect(What.UNCLEAR)]
        counted = "ddl" if word in ("DDL", "INIT_DDL") else f"ddl {word.lower()}"
        name = join_name(record.database, record.table)
        return [statement(counted, effects, in_database(record.database), self.change(record, "T", name))]

    def describe(self, record: CanalRecord, table: str) -> RecordSchema | None:
        types_text = none_if_null(record.mysqlType)
        keys = record.pkNames or ()
        if types_text is None:
            if keys:
                self.add_key(table, keys, len(record.data or record.old or (None,)))
            return None
        reason = "`mysqlType` is not an object"
        types, pairs = decoded(partial(_types, table), bytes(types_text), reason, table)
        parts = pairs, frozenset(keys)
        return self.described_in_any_order(table, parts, lambda: _definition(table, types, record, keys), keys)


@lru_cache(maxsize=1024)
def _types(table: str, text: bytes) -> tuple[Mapping[str, str], frozenset[tuple[str, str]]]:
    """The types of columns by name, and the same in no order."""
    types = msgspec.json.decode(text, type=dict[str, Any])
    for name, type in types.items():
        if not isinstance(type, str):
            raise RecordError("GG308", f"`mysqlType` has {json_name(type)} and not a string", None, table, name)
    return types, frozenset(types.items())


def _definition(table: str, types: Mapping[str, str], record: CanalRecord, keys: Sequence[str]) -> TableDef:
    """The definition by `mysqlType`, in the order of a row if that is another one: TiCDC writes types in any order."""
    names = list(types)
    shown = [name for name in _first_row(record) if name in types]
    if shown != [name for name in names if name in set(shown)]:
        names = list(dict.fromkeys((*shown, *names)))
    return TableDef(table, tuple(Column(name, sql_type(types[name])) for name in names)).with_keys(keys)


def _first_row(record: CanalRecord) -> Iterable[str]:
    for row in (*(record.data or ()), *(record.old or ())):
        if none_if_null(row) is not None:
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


READ_SIDES = {"canal_json": dialect_input(Canal)}
