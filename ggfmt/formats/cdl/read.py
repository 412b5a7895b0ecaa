"""Huawei's CDL JSON, read, in version 1.0 and, where the payload is as by Debezium, 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Raw

from ggfmt.dataclasses import dataclass
from ggfmt.formats.cdl.types import PayloadField, column_of
from ggfmt.formats.records import problems, roles
from ggfmt.formats.records.declared import DeclaredDialect, member_text_or_none
from ggfmt.formats.records.dialect import ABSENT, Meaning, RecordSchema, none_if_null
from ggfmt.formats.records.images import Convert
from ggfmt.formats.records.reader import dialect_input
from ggfmt.model.table import Column, TableDef, join_name

_V1, _V2 = "1.0", "2.0"
_OPS: Mapping[str, roles.Ops] = {
    _V1: {"INSERT": "I", "UPDATE": "U", "DELETE": "D"},
    _V2: {"c": "I", "r": roles.OpToken("I", "snapshot", "true", rank=60), "u": "U", "d": "D"},
}
_CHANGE = "0"
_SNAPSHOTS = ("true", "first", "last")  # the values of `snapshot` that are tokens

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_field = msgspec.json.Decoder(PayloadField).decode


class CdlProperty(msgspec.Struct, gc=False):
    name: str | None = None
    value: Raw = ABSENT


class Transaction(msgspec.Struct, gc=False):
    properties: Annotated[list[CdlProperty] | None, roles.token_list("lsn", 0)] = None


class CdlSource(msgspec.Struct, gc=False):
    """`source` of version 2.0."""

    db: Annotated[str | None, roles.name()] = None
    schema: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.name()] = None
    snapshot: Annotated[Raw, roles.identity(), roles.Token(60, unless="false")] = ABSENT
    ts_ms: Annotated[int | None, roles.time("ms")] = None
    lsn: Annotated[str | int | None, roles.position()] = None
    txId: Annotated[Raw, roles.Token(20)] = ABSENT
    version: Annotated[Raw, roles.Token(21)] = ABSENT
    connector: Annotated[Raw, roles.Token(22)] = ABSENT
    name: Annotated[Raw, roles.source(), roles.Token(23)] = ABSENT


class Payload(msgspec.Struct, gc=False):
    message_version: Annotated[str | None, roles.identity()] = None
    message_type: Annotated[str | None, roles.Token(50, unless=_CHANGE)] = None
    before: Annotated[Raw, roles.before()] = ABSENT
    unique: Annotated[Raw, roles.names()] = ABSENT
    LOB_COLUMNS: Annotated[Raw, roles.Token(30)] = ABSENT
    HEARTBEAT_IDENTIFIER: Annotated[Raw, roles.Token(40)] = ABSENT
    ts_ms: Annotated[Raw, roles.skip()] = ABSENT
    DATA_STORE: Annotated[Raw, roles.skip(), roles.Token(10, unless="", when=_V1)] = ABSENT
    SEG_OWNER: Annotated[str | None, roles.name(when=_V1), roles.skip()] = None
    TABLE_NAME: Annotated[str | None, roles.name(when=_V1), roles.skip()] = None
    TIMESTAMP: Annotated[int | None, roles.time("ms", when=_V1), roles.skip()] = None
    OPERATION: Annotated[str | None, roles.op(_OPS[_V1], when=_V1), roles.skip()] = None
    transaction: Annotated[Transaction | None, roles.enter(required=False, when=_V1), roles.skip(roles.NULL)] = None
    data: Annotated[Raw, roles.after(when=_V1), roles.skip()] = ABSENT
    source: Annotated[CdlSource | None, roles.enter(when=_V2), roles.skip(roles.NULL)] = None
    op: Annotated[str | None, roles.op(_OPS[_V2], when=_V2), roles.skip()] = None
    after: Annotated[Raw, roles.after(when=_V2), roles.skip()] = ABSENT


class CdlRecord(msgspec.Struct, gc=False):
    schema: Annotated[Raw, roles.identity()] = ABSENT
    payload: Annotated[Payload | None, roles.enter()] = None


@dataclass(frozen=True)
class _Schema:
    """The content of a schema: columns, how their values are written, and the names of the key columns, if any."""

    columns: tuple[Column, ...]
    converts: tuple[Convert | None, ...]
    keys: tuple[str, ...]


_NO_SCHEMA = _Schema((), (), ())


class Cdl(DeclaredDialect):
    record = CdlRecord
    scalars_only = True
    transaction_tokens = ("txId",)

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        payload = members.get("payload")
        if isinstance(payload, dict) and payload.get("message_version") in tuple(_OPS):
            return f"a `payload` of `message_version` {payload['message_version']}"
        return None

    def changes(self, record: CdlRecord) -> Meaning:
        payload = record.payload
        if payload is None:
            raise problems.missing_member_error("payload", "every CDL message must have a payload")
        version = payload.message_version
        if version not in _OPS:
            if version is None:
                raise problems.missing_member_error(
                    "message_version", "every CDL message must have a version", what="`payload`"
                )
            raise problems.RecordError(
                "GG308", f"`message_version` cannot be `{version[:40]}`", "legal values are 1.0 and 2.0"
            )
        return super().changes(record)

    def conditions(self, record: CdlRecord) -> tuple[str, ...]:
        return () if record.payload is None else (record.payload.message_version or "",)

    def grammar(self, record: CdlRecord) -> roles.Grammar | None:
        source = None if record.payload is None else record.payload.source
        snapshot = None if source is None else member_text_or_none(source.snapshot, "snapshot")
        return super().grammar(record) if snapshot in (None, "false", *_SNAPSHOTS) else None

    def others(self, record: CdlRecord, word: str | None) -> Meaning:
        kind = None if record.payload is None else record.payload.message_type
        if word is None and kind is not None and kind != _CHANGE:
            return f"message type {kind[:40]}"
        return super().others(record, word)

    def table(self, record: CdlRecord) -> str:
        payload = record.payload or Payload()
        origin = payload.source or CdlSource()
        database = self.options.database_name
        parts = (origin.db or database, origin.schema, origin.table)
        if payload.message_version == _V1:
            parts = (database, payload.SEG_OWNER, payload.TABLE_NAME)
        return join_name(*parts) if parts[-1] else ""

    def tokens(self, record: CdlRecord, op: str | roles.OpToken) -> dict[str, str]:
        tokens = super().tokens(record, op)
        if tokens.get("snapshot", "true") not in _SNAPSHOTS:
            del tokens["snapshot"]
            if isinstance(op, roles.OpToken):
                tokens[op.name] = op.text
        return tokens

    def describe(self, record: CdlRecord, table: str) -> RecordSchema | None:
        assert record.payload is not None
        unique = none_if_null(record.payload.unique)
        data = b"" if none_if_null(record.schema) is None else bytes(record.schema)
        schema = _parsed(data, record.payload.message_version) if data else _NO_SCHEMA
        columns, keys = schema.columns, schema.keys
        if not keys and unique is not None:
            names = problems.decoded(_members, unique, "`unique` is not an object", table)
            places = {column.name: place for place, column in enumerate(columns)}
            keys = tuple(sorted(names, key=lambda name: places.get(name, len(places))))  # members have no order
        if columns:
            identity = table, data, keys
            return self.described(identity, lambda: TableDef(table, columns).with_keys(keys), schema.converts, keys)
        if keys:
            self.add_key(table, keys)
        return None


@lru_cache(maxsize=1024)
def _parsed(data: bytes, version: str | None) -> _Schema:
    members = problems.decoded(_field, data, "`schema` is not a Kafka Connect schema").fields or ()
    images = {member.field: member.fields or () for member in members}
    fields: dict[str, PayloadField] = {}
    for image in ("data" if version == _V1 else "after", "before"):
        for field in images.get(image, ()):
            if field.field:
                fields.setdefault(field.field, field)
    types = {name: column_of(field) for name, field in fields.items()}
    columns = tuple(Column(name, type, bool(fields[name].optional)) for name, (type, _) in types.items())
    keys = tuple(dict.fromkeys(field.field for field in images.get("unique", ()) if field.field))
    return _Schema(columns, tuple(convert for _, convert in types.values()), keys)


READ_SIDES = {"cdl_json": dialect_input(Cdl)}
