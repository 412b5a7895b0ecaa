"""SharePlex's JSON, read."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, Statement, non_null, stamp_text
from ggfmt.formats.records.problems import RecordError, decoded, missing_member_error
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.formats.records.statements import unclear
from ggfmt.formats.shareplex import AFTER

_OPS = {
    "INS": "I",
    "INSERT": "I",
    "UPD": "U",
    "UPDATE": "U",
    "DEL": "D",
    "DELETE": "D",
    "TRUNCATE": "T",
}
_BEFORE_HALF, _AFTER_HALF = "UPDATE BEFORE", "UPDATE AFTER"
_DROP = "DROP TABLE"
_UNCLEAR = ("DROP PARTITION", "DROP SUBPARTITION", "DROP USER", "DROP TABLESPACE", "RENAME", "RENAME TABLE")
_STATEMENT = re.compile(r"(ALTER|CREATE|DROP|ADD|MODIFY|RENAME)\b", re.ASCII)


class SharePlexMeta(msgspec.Struct, gc=False):
    """The operation of a message."""

    op: Annotated[str | None, roles.op()] = None
    table: Annotated[str | None, roles.identity()] = None
    time: Annotated[str | None, roles.slot(roles.STAMP | roles.NULL)] = None
    scn: Annotated[int | str | None, roles.slot()] = None
    userid: Annotated[int | str | None, roles.Token(0)] = None
    rowid: Annotated[int | str | None, roles.Token(3)] = None
    trans: Annotated[int | str | None, roles.transaction(), roles.Token(4)] = None
    seq: Annotated[int | str | None, roles.Token(1)] = None
    size: Annotated[int | str | None, roles.Token(2)] = None
    idx: Annotated[int | str | None, roles.Token(5)] = None
    posttime: Annotated[str | None, roles.Token(6)] = None


class SharePlexRecord(msgspec.Struct, gc=False):
    """The members of a message."""

    meta: Annotated[SharePlexMeta | None, roles.enter()] = None
    data: Annotated[Raw, roles.row()] = ABSENT
    key: Annotated[Raw, roles.old()] = ABSENT


class SharePlex(Dialect):
    record = SharePlexRecord
    scalars_only = True
    scanned = True
    transaction_members = ("trans",)
    ops: ClassVar[roles.Ops] = {form: op for name, op in _OPS.items() for form in (name, name.lower())}

    def grammar(self, record: SharePlexRecord) -> roles.Grammar | None:
        return None if self.options.complete_after else self.declared_grammar()

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray | pa.Int64Array, pa.StringArray]:
        return scanned.values("time"), scanned.values("scn")

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        meta = members.get("meta")
        if not isinstance(meta, dict) or not isinstance(meta.get("op"), str):
            return None
        return "`meta` with `op`" if members.keys() <= {"meta", "data", "key"} else None

    def changes(self, record: SharePlexRecord) -> Meaning:
        meta = record.meta
        if meta is None or meta.op is None:
            raise missing_member_error("op` in `meta", "every SharePlex message must have an operation type")
        name = " ".join(meta.op.upper().split())
        op = _OPS.get(name)
        if op is None:
            if name not in (_BEFORE_HALF, _AFTER_HALF):
                return self._statement(name, meta)
            if self.options.update_halves != AFTER:
                help = "set `updateHalves=after` with `--input-option` to read it without its before image"
                raise RecordError("GG304", f"`op` is `{name}`, one half of an update", help, meta.table)
            if name == _BEFORE_HALF:
                return "update before"
            op = "U"
        table = self._table(meta)
        if not table:
            help = "set `tableName=OWNER.TABLE` with `--input-option`"
            raise missing_member_error("table` in `meta", help)
        row, key = non_null(record.data), non_null(record.key)
        if row is None and op != "T":
            raise missing_member_error("data", None, table)
        before: Any = None
        after: Any = None
        if op == "D":
            before = row
        elif op == "I":
            after = row
        elif op == "U":
            before, after = key, row
            if key is not None and row is not None and self.options.complete_after:
                after = _overlaid(key, row, table)
        return (self._change(meta, table, op, before, after),)

    def _table(self, meta: SharePlexMeta) -> str:
        name: str = meta.table or self.options.table_name
        return name

    def _change(self, meta: SharePlexMeta, table: str, op: str, before: Any, after: Any) -> Change:
        op_ts = _stamp(meta.time, table) if meta.time else None
        position = None if meta.scn is None else str(meta.scn)
        tokens = roles.tokens_of(SharePlexMeta, meta) if self.with_tokens else {}
        transaction = str(meta.trans) if self.with_transactions and meta.trans is not None else None
        return Change(table, op, op_ts, position, before, after, tokens, transaction=transaction)

    def _statement(self, name: str, meta: SharePlexMeta) -> Meaning:
        if not _STATEMENT.match(name):
            raise _no_op(name)
        word, head = f"ddl {name[:40].lower()}", self._change(meta, self._table(meta), "T", None, None)
        if name in _UNCLEAR or (name == _DROP and not head.table):
            return (Statement(word, (), (unclear(head.table),)),)
        return (Statement(word, (head,) if name == _DROP else ()),)


def _no_op(name: str) -> RecordError:
    word = name if len(name) <= 40 else "..."
    help = "legal values are `ins`, `upd`, `del`, `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`, and names of DDL statements"
    return RecordError("GG304", f"`op` cannot be `{word}`", help)


def _overlaid(key: Raw, row: Raw, table: str) -> bytes:
    """The row after an update: the row before it with what changed."""
    before, changed = (decoded(raw_members, image, "`data` or `key` is not an object", table) for image in (key, row))
    return msgspec.json.encode({**before, **changed})


def _stamp(time: str, table: str) -> str:
    stamp = stamp_text(time)
    if stamp is None:
        raise RecordError("GG308", "`time` is not a time such as `2017-06-16T14:24:34`", None, table)
    return stamp


READ_SIDES = {"shareplex_json": dialect_input(SharePlex)}
