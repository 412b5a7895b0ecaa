"""SharePlex's JSON, read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Raw

from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Meaning, Statement
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.problems import RecordError, decoded, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.statements import unclear
from ggfmt.formats.shareplex import AFTER
from ggfmt.lazy import lazy_regex

_OPS = {"INS": "I", "INSERT": "I", "UPD": "U", "UPDATE": "U", "DEL": "D", "DELETE": "D", "TRUNCATE": "T"}
_FORMS: roles.Ops = {form: op for name, op in _OPS.items() for form in (name, name.lower())}
_BEFORE_HALF, _AFTER_HALF = "UPDATE BEFORE", "UPDATE AFTER"
_LEGAL = ("ins", "upd", "del", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
_DROP = "DROP TABLE"
_UNCLEAR = ("DROP PARTITION", "DROP SUBPARTITION", "DROP USER", "DROP TABLESPACE", "RENAME", "RENAME TABLE")
_STATEMENT = lazy_regex(r"(ALTER|CREATE|DROP|ADD|MODIFY|RENAME)\b", re.ASCII)


class SharePlexMeta(msgspec.Struct, gc=False):
    """The operation of a message."""

    op: Annotated[str | None, roles.op(_FORMS)] = None
    table: Annotated[str | None, roles.name()] = None
    time: Annotated[str | None, roles.time(roles.STAMP_TEXT)] = None
    scn: Annotated[int | str | None, roles.position()] = None
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


class SharePlex(DeclaredDialect):
    record = SharePlexRecord
    scalars_only = True
    table_help = "set `tableName=OWNER.TABLE` with `--input-option`"

    def grammar(self, record: SharePlexRecord) -> roles.Grammar | None:
        return None if self.options.complete_after else super().grammar(record)

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        meta = members.get("meta")
        if not isinstance(meta, dict) or not isinstance(meta.get("op"), str):
            return None
        return "`meta` with `op`" if members.keys() <= {"meta", "data", "key"} else None

    def table(self, record: SharePlexRecord) -> str:
        return super().table(record) or self.options.table_name

    def images(self, record: SharePlexRecord, op: str, table: str) -> Sequence[Images]:
        ((before, after),) = super().images(record, op, table)
        if op == "T":
            return ((None, None),)
        if op == "U" and before is not None and self.options.complete_after:
            reason = "`data` or `key` is not an object"
            old, changed = (decoded(raw_members, image, reason, table) for image in (before, after))
            after = msgspec.json.encode({**old, **changed})
        return ((before, after),)

    def others(self, record: SharePlexRecord, word: str | None) -> Meaning:
        if word is None:
            return super().others(record, word)
        name = " ".join(word.upper().split())
        if name in _OPS:
            return self.operations(record, _OPS[name])
        if name not in (_BEFORE_HALF, _AFTER_HALF):
            return self._statement(name, record)
        if self.options.update_halves != AFTER:
            help = "set `updateHalves=after` with `--input-option` to read it without its before image"
            raise RecordError("GG304", f"`op` is `{name}`, one half of an update", help, self.table(record) or None)
        return "update before" if name == _BEFORE_HALF else self.operations(record, "U")

    def _statement(self, name: str, record: SharePlexRecord) -> Meaning:
        if not _STATEMENT.match(name):
            raise no_op("op", name, _LEGAL, more=", and names of DDL statements")
        word, head = f"ddl {name[:40].lower()}", self.change(record, "T", self.table(record))
        if name in _UNCLEAR or (name == _DROP and not head.table):
            return (Statement(word, (), (unclear(head.table),)),)
        return (Statement(word, (head,) if name == _DROP else ()),)


READ_SIDES = {"shareplex_json": dialect_input(SharePlex)}
