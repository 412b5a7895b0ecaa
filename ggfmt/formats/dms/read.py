"""AWS DMS's JSON, read.

The shapes of records are those of the user guide (CHAP_Target.Kafka, CHAP_Target.Kinesis) and of records captured from
RDS PostgreSQL (tests of commons-codec by CrateDB).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.dms import DmsOptions
from ggfmt.formats.json.values import json_texts, raw_members, raw_text
from ggfmt.formats.records import problems, roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, Statement, non_null, stamp_text
from ggfmt.formats.records.options import ABSENT_NULL
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import ScannedBatch, is_plain
from ggfmt.formats.records.statements import renamed
from ggfmt.model.table import Column, Kind, SqlType, TableDef, join_name

_OPS = {"load": "I", "insert": "I", "update": "U", "delete": "D", "create": "I", "read": "I"}
_OF_SNAPSHOT = ("load", "read")
_TRUNCATES = ("truncate-table", "TruncateTable")  # as others are spelt in records, and by the description
_TYPES = ("data", "control")
_STRUCTURE = frozenset({"record-type", "operation", "schema-name", "table-name", "stream-position"})

_COMMITTED, _UNCOMMITTED = "commit-timestamp", "timestamp"  # the conditions are the members with the time

_KINDS = {
    "BOOLEAN": Kind.BOOLEAN,
    **dict.fromkeys(("NUMERIC", "DECIMAL"), Kind.DECIMAL),
    **dict.fromkeys(("REAL4", "FLOAT"), Kind.FLOAT),
    **dict.fromkeys(("REAL8", "DOUBLE"), Kind.DOUBLE),
    "DATE": Kind.DATE,
    "TIME": Kind.TIME,
    **dict.fromkeys(("DATETIME", "TIMESTAMP"), Kind.TIMESTAMP),
    **dict.fromkeys(("BYTES", "BLOB"), Kind.BINARY),
}


class DmsColumn(msgspec.Struct, gc=False):
    """A column of a `table-def`."""

    type: str
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None


class DmsTable(msgspec.Struct, gc=False):
    """A `table-def`, with the columns in table order."""

    columns: dict[str, DmsColumn]
    keys: tuple[str, ...] = msgspec.field(default=(), name="primary-key")


class DmsControl(msgspec.Struct, gc=False):
    definition: DmsTable | None = msgspec.field(default=None, name="table-def")


class DmsMetadata(msgspec.Struct):
    """The members of `metadata` for the scanner; the exact reader takes their texts."""

    kind: Annotated[Raw, roles.same(b'"data"', required=True)] = msgspec.field(default=ABSENT, name="record-type")
    operation: Annotated[Raw, roles.op()] = ABSENT
    schema: Annotated[Raw, roles.identity()] = msgspec.field(default=ABSENT, name="schema-name")
    table: Annotated[Raw, roles.identity(required=True)] = msgspec.field(default=ABSENT, name="table-name")
    position: Annotated[Raw, roles.slot(roles.STRING | roles.NULL | roles.INTEGER)] = msgspec.field(
        default=ABSENT, name="stream-position"
    )
    commit: Annotated[
        Raw, roles.slot(roles.STAMP, required=True, when=_COMMITTED), roles.skip(roles.NULL, when=_UNCOMMITTED)
    ] = msgspec.field(default=ABSENT, name="commit-timestamp")
    timestamp: Annotated[Raw, roles.slot(roles.STAMP | roles.NULL, when=_UNCOMMITTED), roles.Token(when=_COMMITTED)] = (
        ABSENT
    )
    snapshot: Annotated[Raw, roles.skip(0)] = ABSENT  # odd: the operation decides on this token


class DmsRecord(msgspec.Struct):
    """The members of a record for the scanner, besides the image before."""

    metadata: Annotated[Raw, roles.enter(DmsMetadata, others=roles.Token())] = ABSENT
    data: Annotated[Raw, roles.row()] = ABSENT
    control: Annotated[Raw, roles.skip()] = ABSENT


_control = msgspec.json.Decoder(DmsControl).decode


class Dms(Dialect):
    record = dict[str, Raw]
    scalars_only = True
    scanned = True
    ops: ClassVar[roles.Ops] = {
        **_OPS, **{word: roles.OpToken(_OPS[word], "snapshot", "true", rank=1) for word in _OF_SNAPSHOT}
    }  # fmt: skip
    transaction_tokens = ("transaction-id",)
    partial_before = True
    keeps_json = frozenset({Kind.STRING})

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options = cast(DmsOptions, source.options or DmsOptions())
        self.absent_is_null = self.options.absent_means == ABSENT_NULL
        self._prefix = self.options.before_prefix
        self._members = frozenset({"metadata", "data", "control", self.options.before_image})

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        metadata = members.get("metadata")
        known = isinstance(metadata, dict) and metadata.get("record-type") in _TYPES and "operation" in metadata
        return "`metadata` with a `record-type`" if known else None

    def changes(self, record: Mapping[str, Raw]) -> Meaning:
        block = non_null(record.get("metadata", ABSENT))
        if block is None:
            raise problems.missing_member_error("metadata", "every DMS record must have metadata")
        metadata = problems.decoded(_texts, block, "`metadata` is not an object")
        operation, kind = metadata.get("operation"), metadata.get("record-type")
        if kind not in _TYPES:
            if kind is None:
                raise problems.missing_member_error(
                    "record-type", "every DMS record must have a type", what="`metadata`"
                )
            raise problems.RecordError(
                "GG308", f"`record-type` cannot be `{kind[: problems.MAX_SHOWN]}`", problems.legal_values(_TYPES)
            )
        if operation is None:
            raise problems.missing_member_error(
                "operation", "every DMS record must have an operation", what="`metadata`"
            )
        if kind == "control" and operation not in _TRUNCATES:
            return self._control(non_null(record.get("control", ABSENT)), metadata, operation)
        table = _table(metadata)
        if kind == "control":
            return (self._change(table, "T", None, None, metadata),)
        op = _OPS.get(operation)
        if op is None:
            raise problems.no_op("operation", operation, _OPS, table)
        row = non_null(record.get("data", ABSENT))
        if row is None:
            raise problems.missing_member_error("data", None, table)
        old = non_null(record.get(self.options.before_image, ABSENT)) if op == "U" else None
        if self._prefix and self._prefix.encode() in bytes(row):
            row, old = self._parted(row, old, op, table)
        before, after = (row, None) if op == "D" else (old, row)
        return (self._change(table, op, before, after, metadata),)

    def passed_over(self, record: Any) -> Sequence[str]:
        return [name for name in record if name not in self._members]

    # The scanner

    def grammar(self, record: Mapping[str, Raw]) -> roles.Grammar | None:
        image = self.options.before_image
        if not is_plain(image) or image in ("metadata", "data", "control"):
            return None
        committed = json_texts(record["metadata"]).get("commit-timestamp")
        grammar = self.make_grammar(DmsRecord, (_COMMITTED if committed else _UNCOMMITTED,), ())
        return grammar._replace(members=(*grammar.members, roles.old().named(image)))

    def scannable(self, table: TableDef) -> bool:
        return not self._prefix or not any(name.startswith(self._prefix) for name in table.column_names)

    def heads(self, scanned: ScannedBatch) -> tuple[pa.StringArray, pa.StringArray]:
        time = next(name for name in (_COMMITTED, _UNCOMMITTED) if name in scanned.places)
        return scanned.values(time), scanned.values("stream-position")

    def _change(
        self, table: str, op: str, before: Raw | None, after: Raw | None, metadata: Mapping[str, Any]
    ) -> Change:
        moment = "commit-timestamp" if metadata.get("commit-timestamp") else "timestamp"
        time = metadata.get(moment)
        stamp = stamp_text(time) if time else None
        if time and stamp is None:
            raise problems.RecordError(
                "GG308", f"`{moment}` is not a time such as `2021-02-18T23:09:09.509179Z`", None, table
            )
        tokens = {}
        if self.with_tokens:
            tokens = {
                name: text
                for name, text in metadata.items()
                if text is not None and name not in _STRUCTURE and name != moment
            }
            if metadata["operation"] in _OF_SNAPSHOT:
                tokens["snapshot"] = "true"
        return Change(table, op, stamp, metadata.get("stream-position"), before, after, tokens)

    def _parted(self, row: Raw, old: Raw | None, op: str, table: str) -> tuple[Raw, Raw | None]:
        """The row without the columns that have values before an update, and these by the names of their columns."""
        members = problems.decoded(raw_members, row, "`data` is not an object", table)
        before = {} if old is None else problems.decoded(raw_members, old, "the before image is not an object", table)
        after = {}
        for name, value in members.items():
            own = name.removeprefix(self._prefix)
            if own == name or not own or (op != "U" and non_null(value) is not None):
                after[name] = value
            elif op == "U":
                before[own] = value
        return _encoded(after), _encoded(before) if before or old is not None else None

    def _control(self, control: Raw | None, metadata: Mapping[str, str | None], operation: str) -> Meaning:
        if control is not None:
            described = problems.decoded(
                _control, control, "`control` does not describe a table in the format of DMS"
            ).definition
            if described is not None and described.columns:
                table = _table(metadata)
                return (self.described((table, bytes(control)), lambda: self._definition(table, described)),)
        word = f"control {operation[: problems.MAX_SHOWN]}"
        kind = operation.replace("-", "").lower()
        if kind not in ("droptable", "renametable"):
            return word
        head = self._change(_table(metadata), "T", None, None, metadata)
        if kind == "droptable":
            return (Statement(word, (head,)),)
        return (Statement(word, (), (renamed(head.table, "a name that the record does not have"),)),)

    def _definition(self, table: str, described: DmsTable) -> TableDef:
        names = described.columns
        added = {self._prefix + name for name in names} if self._prefix else set()
        columns = [Column(name, _type(c), c.nullable) for name, c in names.items() if name not in added]
        return TableDef(table, tuple(columns)).with_keys(described.keys)


def _texts(metadata: Raw) -> dict[str, str | None]:
    members = raw_members(metadata)
    own = {name: raw_text(value, name) for name, value in members.items() if name in _STRUCTURE}
    return {**json_texts(metadata), **own}


def _table(metadata: Mapping[str, str | None]) -> str:
    if not metadata.get("table-name"):
        raise problems.missing_member_error("table-name", problems.NAME_TABLE, what="`metadata`")
    return join_name(metadata.get("schema-name"), metadata["table-name"])


def _encoded(members: Mapping[str, Raw]) -> Raw:
    return Raw(msgspec.json.encode(members))


def _type(column: DmsColumn) -> SqlType:
    word = column.type.upper()
    if re.fullmatch("U?INT[0-9]*", word):
        return SqlType(Kind.INTEGER)
    kind = _KINDS.get(word, Kind.STRING)
    if kind is Kind.DECIMAL:
        return SqlType(kind, precision=column.precision or None, scale=column.scale)
    if kind in (Kind.TIME, Kind.TIMESTAMP):
        # DMS writes them in UTC, with `Z`.
        return SqlType(kind, scale=column.scale, zoned=kind is Kind.TIMESTAMP)
    if kind in (Kind.STRING, Kind.BINARY):
        return SqlType(kind, length=column.length or None)
    return SqlType(kind)


READ_SIDES = {"dms_json": dialect_input(Dms)}
