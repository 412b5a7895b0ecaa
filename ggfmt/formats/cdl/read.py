"""Huawei's CDL JSON, read, in version 1.0 and, where the payload is as by Debezium, 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.cdl.types import PayloadField, column_of
from ggfmt.formats.json.values import json_text
from ggfmt.formats.records import problems, roles
from ggfmt.formats.records.dialect import ABSENT, Change, Convert, Dialect, Meaning, RecordSchema, non_null
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.model.table import Column, TableDef, join_name

_V1, _V2 = "1.0", "2.0"
_OPS = {
    _V1: {"INSERT": "I", "UPDATE": "U", "DELETE": "D"},
    _V2: {"c": "I", "r": "I", "u": "U", "d": "D"},
}
_SCANNED_OPS: Mapping[str, roles.Ops] = {
    _V1: _OPS[_V1],
    _V2: {**_OPS[_V2], "r": roles.OpToken("I", "snapshot", "true", rank=60)},
}
_CHANGE = "0"
_SNAPSHOTS = ("true", "first", "last")  # the values of `snapshot` that are tokens
_NO_SNAPSHOTS = (None, "false")

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_field = msgspec.json.Decoder(PayloadField).decode


class Property(msgspec.Struct, gc=False):
    name: str | None = None
    value: Raw = ABSENT


class Transaction(msgspec.Struct, gc=False):
    properties: Annotated[list[Property] | None, roles.token_list("lsn", 0)] = None


class Origin(msgspec.Struct, gc=False):
    """`source` of version 2.0."""

    db: Annotated[str | None, roles.identity()] = None
    schema: Annotated[str | None, roles.identity()] = None
    table: Annotated[str | None, roles.identity()] = None
    snapshot: Annotated[Raw, roles.identity(), roles.Token(60, unless="false")] = ABSENT
    ts_ms: Annotated[int | None, roles.slot()] = None
    lsn: Annotated[str | int | None, roles.slot()] = None
    txId: Annotated[Raw, roles.Token(20)] = ABSENT
    version: Annotated[Raw, roles.Token(21)] = ABSENT
    connector: Annotated[Raw, roles.Token(22)] = ABSENT
    name: Annotated[Raw, roles.Token(23)] = ABSENT


class Payload(msgspec.Struct, gc=False):
    message_version: Annotated[str | None, roles.identity()] = None
    message_type: Annotated[str | None, roles.Token(50, unless=_CHANGE)] = None
    before: Annotated[Raw, roles.before()] = ABSENT
    unique: Annotated[Raw, roles.names()] = ABSENT
    LOB_COLUMNS: Annotated[Raw, roles.Token(30)] = ABSENT
    HEARTBEAT_IDENTIFIER: Annotated[Raw, roles.Token(40)] = ABSENT
    ts_ms: Annotated[Raw, roles.skip()] = ABSENT
    DATA_STORE: Annotated[Raw, roles.skip(), roles.Token(10, unless="", when=_V1)] = ABSENT
    SEG_OWNER: Annotated[str | None, roles.identity(when=_V1), roles.skip()] = None
    TABLE_NAME: Annotated[str | None, roles.identity(when=_V1), roles.skip()] = None
    TIMESTAMP: Annotated[int | None, roles.slot(when=_V1), roles.skip()] = None
    OPERATION: Annotated[str | None, roles.op(when=_V1), roles.skip()] = None
    transaction: Annotated[Transaction | None, roles.enter(required=False, when=_V1), roles.skip(roles.NULL)] = None
    data: Annotated[Raw, roles.after(when=_V1), roles.skip()] = ABSENT
    source: Annotated[Origin | None, roles.enter(when=_V2), roles.skip(roles.NULL)] = None
    op: Annotated[str | None, roles.op(when=_V2), roles.skip()] = None
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


class Cdl(Dialect):
    record = CdlRecord
    scalars_only = True
    scanned = True
    transaction_tokens = ("txId",)

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._schemas: dict[bytes, _Schema] = {}

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
        kind, tag = (payload.OPERATION, "OPERATION") if version == _V1 else (payload.op, "op")
        if kind is None and payload.message_type is not None and payload.message_type != _CHANGE:
            return f"message type {payload.message_type[:40]}"
        table = self._table(payload, version)
        if kind is None:
            raise problems.missing_member_error(tag, "every change must have an operation", table, what="`payload`")
        op = _OPS[version].get(kind)
        if op is None:
            raise problems.no_op(tag, kind[: problems.MAX_SHOWN], _OPS[version], table)
        record_schema = self._describe(record, table, version)
        position, tokens = self._tokens(payload, version, kind)
        origin = payload.source or Origin()
        millis = payload.TIMESTAMP if version == _V1 else origin.ts_ms
        after = non_null(payload.data if version == _V1 else payload.after)
        op_ts = None if millis is None else millis * 1000
        return (Change(table, op, op_ts, position, non_null(payload.before), after, tokens, record_schema),)

    def grammar(self, record: CdlRecord) -> roles.Grammar | None:
        payload = record.payload
        if payload is None or payload.message_version is None:
            return None
        snapshot = None if payload.source is None else _text(payload.source.snapshot, "snapshot")
        if snapshot not in (*_NO_SNAPSHOTS, *_SNAPSHOTS):
            return None
        return self.declared_grammar(payload.message_version, ops=_SCANNED_OPS[payload.message_version])

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray | pa.Int64Array, pa.StringArray]:
        time = "TIMESTAMP" if "TIMESTAMP" in scanned.places else "ts_ms"
        return scale_numbers(scanned.values(time), 1000), scanned.values("lsn")

    def _table(self, payload: Payload, version: str) -> str:
        if version == _V1:
            parts = (self.options.database_name, payload.SEG_OWNER, payload.TABLE_NAME)
            tag = "TABLE_NAME"
        else:
            origin = payload.source or Origin()
            parts = (origin.db or self.options.database_name, origin.schema, origin.table)
            tag = "source.table"
        if not parts[-1]:
            raise problems.missing_member_error(tag, problems.NAME_TABLE, what="`payload`")
        return join_name(*parts)

    def _tokens(self, payload: Payload, version: str, kind: str) -> tuple[str | None, dict[str, str]]:
        """The position and the tokens of a change."""
        values: dict[str, Raw] = {}
        position = None
        if version == _V1:
            properties = (payload.transaction or Transaction()).properties or ()
            values = {item.name: item.value for item in properties if item.name is not None}
            values["DATA_STORE"] = payload.DATA_STORE
            position = _text(values.pop("lsn", ABSENT), "lsn")
        elif payload.source is not None:
            origin = payload.source
            position = None if origin.lsn is None else str(origin.lsn)
            for name in ("txId", "version", "connector", "name"):
                values[name] = getattr(origin, name)
        if not self.with_tokens:
            return position, {}
        values["LOB_COLUMNS"] = payload.LOB_COLUMNS
        values["HEARTBEAT_IDENTIFIER"] = payload.HEARTBEAT_IDENTIFIER
        tokens = {name: text for name, value in values.items() if (text := _text(value, name)) is not None}
        if not tokens.get("DATA_STORE"):
            tokens.pop("DATA_STORE", None)
        if payload.message_type is not None and payload.message_type != _CHANGE:
            tokens["message_type"] = payload.message_type
        snapshot = None if payload.source is None else _text(payload.source.snapshot, "snapshot")
        if snapshot in _SNAPSHOTS:
            tokens["snapshot"] = snapshot
        elif kind == "r":
            tokens["snapshot"] = "true"
        return position, tokens

    def _describe(self, record: CdlRecord, table: str, version: str) -> RecordSchema | None:
        assert record.payload is not None
        unique = non_null(record.payload.unique)
        data = b"" if non_null(record.schema) is None else bytes(record.schema)
        schema = self._schema(data, version) if data else None
        keys = schema.keys if schema is not None else ()
        if not keys and unique is not None:
            keys = _names(unique, table)
            if schema is not None:  # the order of members means nothing
                places = {column.name: place for place, column in enumerate(schema.columns)}
                keys = tuple(sorted(keys, key=lambda name: places.get(name, len(places))))
        if schema is None or not schema.columns:
            if keys:
                self.add_key(table, keys)
            return None
        columns = schema.columns
        return self.described(
            (table, data, keys), lambda: TableDef(table, columns).with_keys(keys), schema.converts, keys
        )

    def _schema(self, data: bytes, version: str) -> _Schema:
        schema = self._schemas.get(data)
        if schema is None:
            schema = self._schemas[data] = _parsed(data, version)
        return schema


def _parsed(data: bytes, version: str) -> _Schema:
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


def _names(unique: Raw, table: str) -> tuple[str, ...]:
    return tuple(problems.decoded(_members, unique, "`unique` is not an object", table))


def _text(value: Raw, name: str) -> str | None:
    """A JSON value as a text, None for null or nothing."""
    return None if non_null(value) is None else problems.decoded(json_text, value, f"`{name}` is not a valid string")


READ_SIDES = {"cdl_json": dialect_input(Cdl)}
