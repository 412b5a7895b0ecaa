"""GoldenGate Data Streams, read.

Records as the JSON formatter writes them are understood too: operation types of one letter, and `table`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Span
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.records import (
    DDL,
    OBJECT_METADATA,
    OP_WORDS,
    STREAM_METADATA,
    UPSERT,
    origin,
    table_def,
)
from ggfmt.formats.goldengate.streams import INSERT, REFUSE, TOKENS, StreamsOptions
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Found, RecordSchema, Refused, given
from ggfmt.formats.records.options import ABSENT_NULL
from ggfmt.formats.records.reader import DialectReader, dialect_input
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import TableDef

_EMPTY = Raw(b"{}")
_tokens = msgspec.json.Decoder(dict[str, Raw]).decode


class StreamRecord(msgspec.Struct, gc=False):
    """The members of a record that mean something here."""

    op_type: str | None = None
    qual_table: str | None = None
    table: str | None = None
    op_ts: str | None = None
    pos: int | str | None = None
    before: Raw = ABSENT
    after: Raw = ABSENT
    xid: Raw = ABSENT
    csn: Raw = ABSENT
    op_seqno: Raw = ABSENT
    trans_ind: Raw = ABSENT
    tokens: Raw = ABSENT
    primary_keys: tuple[str, ...] | None = None
    columns: Raw = ABSENT
    ddl: Raw = ABSENT
    schema: Raw = msgspec.field(default=ABSENT, name="$schema")
    specversion: str | None = None
    data: Raw = ABSENT


@lru_cache(maxsize=64)
def _record_class(before: str, after: str) -> Any:
    """The class of records whose images have these names."""
    if (before, after) == ("before", "after"):
        return StreamRecord
    fields = msgspec.structs.fields(StreamRecord)
    names = {field.name: field.encode_name for field in fields} | {"before": before, "after": after}
    members = [(field.name, field.type, field.default) for field in fields]
    return msgspec.defstruct("StreamRecord", members, rename=names, gc=False)


class Streams(Dialect):
    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        options = self.options if isinstance(self.options, StreamsOptions) else StreamsOptions()
        self._names_clash = options.before_image_name == options.after_image_name
        self.record = StreamRecord
        if not self._names_clash:
            self.record = _record_class(options.before_image_name, options.after_image_name)
        self._decode = msgspec.json.Decoder(self.record).decode
        self.absent_is_null = options.absent_means == ABSENT_NULL
        self._upsert = options.upsert
        self._ops = {name: name for name in OP_TYPES} | OP_WORDS
        self._ops |= dict(zip(op_keys(options), ("I", "U", "D", "T"), strict=True))
        self._described: dict[tuple[str, bytes], RecordSchema] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return (
            None  # the reader looks at the whole head: only the first operation tells the file from a JSON formatter's
        )

    def changes(self, record: StreamRecord) -> Found:
        if self._names_clash:
            help = "give two names with `--input-option`"
            raise Refused("GG305", "`beforeImageName` and `afterImageName` are the same", help)
        if record.specversion is not None:
            return self._enveloped(record)
        kind = record.op_type
        if kind is None:
            if given(record.schema) is not None:
                return "json schema"
            raise Refused("GG305", "the record has no `op_type`", "every operation has one")
        op = self._ops.get(kind)
        if op is None:
            if kind == STREAM_METADATA:
                return "stream metadata"
            if kind == DDL:
                return "ddl"
        table = record.qual_table or record.table
        if not table:
            raise Refused("GG305", "the record has no `qual_table`", "every operation must name its table")
        if kind == OBJECT_METADATA:
            return (self._describe(table, bytes(record.columns)),)
        if op is None:
            op = self._odd(kind, table)
        if record.primary_keys:
            self.keys[table] = record.primary_keys
        before, after = given(record.before), given(record.after)
        if before == _EMPTY and op in "IT":
            before = None
        if after == _EMPTY and op in "DT":
            after = None
        position = None if record.pos is None else str(record.pos)
        tokens = self._tokens(record, table) if self.with_tokens else {}
        return (Change(table, op, record.op_ts, position, before, after, tokens),)

    def _enveloped(self, record: StreamRecord) -> Found:
        """What the `data` of a CloudEvents envelope holds."""
        data = given(record.data)
        if data is None:
            raise Refused("GG305", "the event has no `data`")
        try:
            inner = self._decode(data)
        except (ValueError, RecursionError):
            raise Refused("GG308", "the `data` of the event is no record of Data Streams") from None
        if inner.specversion is not None:
            raise Refused("GG308", "the `data` of the event is an event")
        return self.changes(inner)

    def _odd(self, kind: str, table: str) -> str:
        if kind != UPSERT:
            shown = kind if len(kind) <= 40 else "that"
            help = f"legal values are {', '.join(f'`{name}`' for name in self._ops)}"
            raise Refused("GG304", f"`op_type` cannot be `{shown}`", help, table)
        if self._upsert == REFUSE:
            help = "say `upsert=insert` or `upsert=update` with `--input-option`"
            raise Refused("GG304", "an UPSERT may be an insert or an update", help, table)
        return "I" if self._upsert == INSERT else "U"

    def _tokens(self, record: StreamRecord, table: str) -> dict[str, str]:
        tokens = {}
        more = given(record.tokens)
        if more is not None:
            try:
                tokens = {name: _text(value) for name, value in _tokens(more).items()}
            except (ValueError, RecursionError):
                raise Refused("GG308", "`tokens` is not an object", None, table) from None
        for name in TOKENS:
            value = given(getattr(record, name))
            if value is not None:
                tokens[name] = _text(value)
        return tokens

    def _describe(self, table: str, columns: bytes) -> RecordSchema:
        described = self._described.get((table, columns))
        if described is None:
            try:
                found = table_def(table, msgspec.json.decode(columns) if columns else None, Span(table=table))
            except (ValueError, RecursionError):
                raise Refused("GG308", "`columns` cannot be decoded", None, table) from None
            if not isinstance(found, TableDef):
                raise Refused(found.code, found.message, found.help, table, found.span.field)
            definition = self.keyed(found)
            described = self._described[table, columns] = RecordSchema(definition, self.converts(definition))
        return described


def _text(value: Raw) -> str:
    data = bytes(value)
    return str(msgspec.json.decode(data)) if data.startswith(b'"') else str(data, "utf-8")


class StreamsReader(DialectReader):
    dialect = Streams

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        found = origin(head)
        return found[1] if found is not None and found[0] else None


READ_SIDES = {"goldengate_streams_json": replace(dialect_input(Streams), reader=StreamsReader)}
