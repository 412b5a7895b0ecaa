"""Reader of GoldenGate Data Streams.

It also accepts records of the JSON formatter: operation types of one letter, and `table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Span
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.goldengate import reading
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.streams import INSERT, REFUSE, StreamsOptions
from ggfmt.formats.json.repeated import Once
from ggfmt.formats.json.values import raw_members, token_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Meaning, none_if_null, without_empty_images
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.problems import RecordError, decoded, missing_member_error
from ggfmt.formats.records.reader import dialect_input
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import TableDef

_ID = roles.STRING | roles.INTEGER | roles.NULL


class StreamRecord(msgspec.Struct, gc=False):
    qual_table: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.identity()] = None
    op_type: Annotated[str | None, roles.op()] = None
    op_ts: Annotated[str | None, roles.time(roles.TEXT)] = None
    pos: Annotated[int | str | None, roles.position()] = None
    before: Annotated[Raw, roles.before()] = ABSENT
    after: Annotated[Raw, roles.after()] = ABSENT
    xid: Annotated[Raw, roles.transaction(_ID), roles.Token(1)] = ABSENT
    csn: Annotated[Raw, roles.Token(2)] = ABSENT
    op_seqno: Annotated[Raw, roles.Token(3)] = ABSENT
    trans_ind: Annotated[Raw, roles.Token(4)] = ABSENT
    tokens: Annotated[Raw, roles.tokens()] = ABSENT
    primary_keys: Annotated[tuple[str, ...] | None, roles.identity()] = None
    columns: Annotated[Raw, roles.skip()] = ABSENT
    ddl: Annotated[Raw, roles.skip()] = ABSENT
    schema: Annotated[Raw, roles.skip()] = msgspec.field(default=ABSENT, name="$schema")
    data: Annotated[Raw, roles.skip()] = ABSENT
    specversion: Annotated[str | None, roles.skip(roles.NULL)] = None


@lru_cache(maxsize=64)
def _record_class(before: str, after: str) -> Any:
    if (before, after) == ("before", "after"):
        return StreamRecord
    fields = msgspec.structs.fields(StreamRecord)
    names = {field.name: field.encode_name for field in fields} | {"before": before, "after": after}
    members = [(field.name, field.type, field.default) for field in fields]
    return msgspec.defstruct("StreamRecord", members, rename=names, gc=False)


class Streams(DeclaredDialect):
    record = StreamRecord
    scalars_only = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        options = self.options if isinstance(self.options, StreamsOptions) else StreamsOptions()
        self.record = _record_class(options.before_image_name, options.after_image_name)
        self._decode = msgspec.json.Decoder(self.record).decode
        self._upsert = options.upsert
        keys = zip(op_keys(options), ("I", "U", "D", "T"), strict=True)
        self._ops = {name: name for name in OP_TYPES} | reading.OP_WORDS | dict(keys)

    @cached_property
    def once(self) -> Once:
        own = super().once
        return Once({**own.members, "data": own})

    def grammar(self, record: StreamRecord) -> roles.Grammar | None:
        grammar = None if record.specversion is not None else super().grammar(record)
        return None if grammar is None else grammar._replace(ops=self._ops)

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        writer = reading.origin(head)
        return writer[1] if writer is not None and writer[0] else None

    def changes(self, record: StreamRecord) -> Meaning:
        if record.specversion is not None:
            return self._enveloped(record)
        op = None if record.op_type is None else self._ops.get(record.op_type)
        return self.others(record, record.op_type) if op is None else self.operations(record, op)

    def others(self, record: StreamRecord, word: str | None) -> Meaning:
        if word is None and none_if_null(record.schema) is not None:
            return "json schema"
        if word == reading.STREAM_METADATA:
            return "stream metadata"
        if word == reading.DDL:
            text = msgspec.json.decode(record.ddl) if bytes(record.ddl)[:1] == b'"' else None
            return [reading.ddl_statement(text, record.op_ts, None if record.pos is None else str(record.pos))]
        if word == reading.OBJECT_METADATA:
            table, columns = self.named_table(record), bytes(record.columns)
            described = self.described((table, columns), lambda: _described_table(table, columns))
            return (described,) if described.table.columns else "object metadata"  # of a table with truncates alone
        if word != reading.UPSERT:
            return super().others(record, word)
        if self._upsert == REFUSE:
            help = "set `upsert=insert` or `upsert=update` with `--input-option`"
            raise RecordError("GG304", "an UPSERT may be an insert or an update", help, self.table(record) or None)
        return self.operations(record, "I" if self._upsert == INSERT else "U")

    def table(self, record: StreamRecord) -> str:
        return record.qual_table or record.table or ""

    def images(self, record: StreamRecord, op: str, table: str) -> Sequence[Images]:
        return (without_empty_images(op, none_if_null(record.before), none_if_null(record.after)),)

    def describe(self, record: StreamRecord, table: str) -> None:
        if record.primary_keys:
            self.keys.setdefault(table, record.primary_keys)

    def tokens(self, record: StreamRecord, op: str | roles.OpToken) -> dict[str, str]:
        more = none_if_null(record.tokens)
        tokens = {} if more is None else decoded(_texts, more, "`tokens` is not an object", self.table(record))
        return tokens | super().tokens(record, op)

    def _enveloped(self, record: StreamRecord) -> Meaning:
        data = none_if_null(record.data)
        if data is None:
            raise missing_member_error("data", what="the event")
        inner = decoded(self._decode, data, "the `data` of the event is not a Data Streams record")
        if inner.specversion is not None:
            raise RecordError("GG308", "the `data` of the event is another event")
        return self.changes(inner)


def _described_table(name: str, columns: bytes) -> TableDef:
    members = decoded(msgspec.json.decode, columns, "`columns` cannot be decoded", name) if columns else None
    table = reading.table_def(name, members, Span(table=name))
    if not isinstance(table, TableDef):
        raise RecordError(table.code, table.message, table.help, name, table.span.field)
    return table


def _texts(tokens: Raw) -> dict[str, str]:
    return {name: token_text(value) for name, value in raw_members(tokens).items()}


READ_SIDES = {"goldengate_streams_json": dialect_input(Streams)}
