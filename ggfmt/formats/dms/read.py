"""AWS DMS's JSON, read.

The shapes of records are those of the user guide (CHAP_Target.Kafka, CHAP_Target.Kinesis) and of records captured from
RDS PostgreSQL (tests of commons-codec by CrateDB).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, cast

import msgspec
from msgspec import Raw

from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.dms import DmsOptions
from ggfmt.formats.json.repeated import Once
from ggfmt.formats.json.values import raw_members, scalar_or_none, texts_or_none
from ggfmt.formats.records import problems, roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Meaning, Statement, none_if_null
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import is_plain
from ggfmt.formats.records.statements import renamed
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.model.type_names import rule_of, sized_type, unknown_type

_OF_SNAPSHOT = roles.OpToken("I", "snapshot", "true", rank=1)
_OPS: roles.Ops = {
    "load": _OF_SNAPSHOT, "insert": "I", "update": "U", "delete": "D", "create": "I", "read": _OF_SNAPSHOT
}  # fmt: skip
_TRUNCATES = ("truncate-table", "TruncateTable")  # as others are spelt in records, and by the description
_TYPES = ("data", "control")
_STRUCTURE = frozenset({"record-type", "operation", "schema-name", "table-name", "stream-position"})

_COMMITTED, _UNCOMMITTED = "commit-timestamp", "timestamp"  # the conditions are the members with the time


class DmsColumn(msgspec.Struct, gc=False):
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
    kind: Annotated[str | None, roles.same(b'"data"', required=True)] = msgspec.field(default=None, name="record-type")
    operation: Annotated[str | None, roles.op(_OPS)] = None
    schema: Annotated[str | None, roles.name()] = msgspec.field(default=None, name="schema-name")
    table: Annotated[str | None, roles.name(required=True)] = msgspec.field(default=None, name="table-name")
    position: Annotated[str | None, roles.position(takes=roles.STRING | roles.NULL | roles.INTEGER)] = msgspec.field(
        default=None, name="stream-position"
    )
    commit: Annotated[
        str | None,
        roles.time(roles.STAMP_TEXT, roles.STAMP, required=True, when=_COMMITTED),
        roles.skip(roles.NULL, when=_UNCOMMITTED),
    ] = msgspec.field(default=None, name="commit-timestamp")
    timestamp: Annotated[
        str | None, roles.time(roles.STAMP_TEXT, when=_UNCOMMITTED), roles.skip(roles.ANY), roles.Token(when=_COMMITTED)
    ] = None
    snapshot: Annotated[str | None, roles.skip(0)] = None  # odd: the operation decides on this token


class DmsRecord(msgspec.Struct, rename={"texts": "\x7ftexts", "before": "before-image"}):
    """The members of a record.

    before  under any name that an option gives it
    texts   the texts of all members of `metadata`
    """

    metadata: Annotated[DmsMetadata, roles.enter(others=roles.Token())]
    data: Annotated[Raw, roles.row()] = ABSENT
    control: Annotated[Raw, roles.skip()] = ABSENT
    before: Annotated[Raw, roles.old()] = ABSENT
    texts: dict[str, str | None] = {}


_control = msgspec.json.Decoder(DmsControl).decode


class Dms(DeclaredDialect):
    record = DmsRecord
    scalars_only = True
    transaction_tokens = ("transaction-id",)
    keeps_json = frozenset({Kind.STRING})

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options = cast(DmsOptions, source.options or DmsOptions())
        self._prefix = self.options.before_prefix
        self._known = frozenset({"metadata", "data", "control", self.options.before_image})

    @cached_property
    def decoder(self) -> Any:
        return msgspec.json.Decoder(dict[str, Raw] | None)

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        metadata = members.get("metadata")
        known = isinstance(metadata, dict) and metadata.get("record-type") in _TYPES and "operation" in metadata
        return "`metadata` with a `record-type`" if known else None

    @cached_property
    def once(self) -> Once:
        return Once({**super().once.members, self.options.before_image: None})

    def changes(self, record: Mapping[str, Raw]) -> Meaning:
        block = none_if_null(record.get("metadata", ABSENT))
        if block is None:
            raise problems.missing_member_error("metadata", "every DMS record must have metadata")
        texts = problems.decoded(_texts, block, "`metadata` is not an object")
        kind = texts.get("record-type")
        if kind not in _TYPES:
            if kind is None:
                raise problems.missing_member_error(
                    "record-type", "every DMS record must have a type", what="`metadata`"
                )
            raise problems.RecordError(
                "GG308", f"`record-type` cannot be `{kind[: problems.MAX_SHOWN]}`", problems.legal_values(_TYPES)
            )
        row, control, old = (record.get(name, ABSENT) for name in ("data", "control", self.options.before_image))
        own = DmsRecord(msgspec.convert(texts, DmsMetadata), row, control, old, texts)
        return super().changes(own) if kind == "data" else self._control(own, own.metadata.operation)

    def conditions(self, record: DmsRecord) -> tuple[str, ...]:
        return (_COMMITTED if record.metadata.commit else _UNCOMMITTED,)

    def is_partial(self, op: str) -> bool:
        return op == "U"

    def images(self, record: DmsRecord, op: str, table: str) -> Sequence[Images]:
        before, after = cast("tuple[Raw, Raw]", super().images(record, op, table)[0])
        row = before if op == "D" else after
        if not self._prefix or self._prefix.encode() not in bytes(row):
            return ((before, after),)
        row, old = self._parted(row, before if op == "U" else None, op, table)
        return ((row, None) if op == "D" else (old, row),)

    def tokens(self, record: DmsRecord, op: str | roles.OpToken) -> dict[str, str]:
        time = "commit-timestamp" if record.metadata.commit else "timestamp"
        own = {name: text for name, text in record.texts.items() if text is not None}
        tokens = {name: text for name, text in own.items() if name not in _STRUCTURE and name != time}
        return {**tokens, op.name: op.text} if isinstance(op, roles.OpToken) else tokens

    def passed_over(self, record: Any) -> Sequence[str]:
        return [name for name in record if name not in self._known]

    # The scanner

    def grammar(self, record: Mapping[str, Raw]) -> roles.Grammar | None:
        image = self.options.before_image
        if not is_plain(image) or image in ("metadata", "data", "control"):
            return None
        committed = texts_or_none(record["metadata"]).get("commit-timestamp")
        grammar = self.make_grammar(DmsRecord, (_COMMITTED if committed else _UNCOMMITTED,), ())
        return grammar._replace(members=(*grammar.members[:-1], grammar.members[-1]._replace(name=image.encode())))

    def scannable(self, table: TableDef) -> bool:
        return not self._prefix or not any(name.startswith(self._prefix) for name in table.column_names)

    def _parted(self, row: Raw, old: Raw | None, op: str, table: str) -> tuple[Raw, Raw | None]:
        """The row without the columns that have values before an update, and these by the names of their columns."""
        members = problems.decoded(raw_members, row, "`data` is not an object", table)
        before = {} if old is None else problems.decoded(raw_members, old, "the before image is not an object", table)
        after = {}
        for name, value in members.items():
            own = name.removeprefix(self._prefix)
            if own == name or not own or (op != "U" and none_if_null(value) is not None):
                after[name] = value
            elif op == "U":
                before[own] = value
        rest = Raw(msgspec.json.encode(before)) if before or old is not None else None
        return Raw(msgspec.json.encode(after)), rest

    def _control(self, record: DmsRecord, operation: str | None) -> Meaning:
        if operation is None:
            return self.others(record, None)
        if operation in _TRUNCATES:
            return (self.change(record, "T", self.named_table(record)),)
        control = none_if_null(record.control)
        if control is not None:
            reason = "`control` does not describe a table in the format of DMS"
            described = problems.decoded(_control, control, reason).definition
            if described is not None and described.columns:
                table = self.named_table(record)
                return (self.described((table, bytes(control)), lambda: self._definition(table, described)),)
        word = f"control {operation[: problems.MAX_SHOWN]}"
        kind = operation.replace("-", "").lower()
        if kind not in ("droptable", "renametable"):
            return word
        head = self.change(record, "T", self.named_table(record))
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
    own = {name: scalar_or_none(value, name) for name, value in members.items() if name in _STRUCTURE}
    return {**texts_or_none(metadata), **own}


def _type(column: DmsColumn) -> SqlType:
    rule = rule_of(column.type.lower(), "dms")
    if rule is None:
        return unknown_type(column.type)
    if rule.kind is Kind.DECIMAL:
        return SqlType(rule.kind, precision=column.precision or None, scale=column.scale)
    if rule.kind in (Kind.TIME, Kind.TIMESTAMP):
        # DMS writes them in UTC, with `Z`.
        return SqlType(rule.kind, scale=column.scale, zoned=rule.kind is Kind.TIMESTAMP)
    return sized_type(rule, [column.length or None])


READ_SIDES = {"dms_json": dialect_input(Dms)}
