"""Arcion's JSON, read.

The columns of a table are those of `exists`, at first in its order: other columns, but not another order, are another
definition from there on. A NATIVE message has no `exists`: its columns are found in the images.

`exists` is a part of a record's identity: the scanner takes records with the same states, once the exact reader has
read one of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.formats.arcion.changes import (
    COUNTS_IN_TEXT,
    CURSOR_IN_TEXT,
    NEW,
    OLD,
    ArcionChange,
    ArcionDialect,
    Texts,
    check_op,
    check_states,
    images_of,
)
from ggfmt.formats.json.files import AVRO_JSON
from ggfmt.formats.json.values import Text, decode, is_avro_union, raw_members, scalar_or_none
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Meaning, none_if_null
from ggfmt.formats.records.images import TextImage, text_image
from ggfmt.formats.records.members import KeepingDecoder
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import NOT_NAMED, SourceBatch
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import TableDef, join_name

_texts = msgspec.json.Decoder(dict[str, Text | None]).decode
_NULL = pa.scalar(None, pa.string())


class Namespace(msgspec.Struct, gc=False):
    catalog: Annotated[str | None, roles.identity()] = None
    schema: Annotated[str | None, roles.identity()] = None
    hash: Annotated[Raw, roles.skip()] = ABSENT


class TableName(msgspec.Struct, gc=False):
    namespace: Annotated[Namespace | None, roles.enter(required=False)] = None
    name: Annotated[str | None, roles.identity()] = None
    hash: Annotated[Raw, roles.skip()] = ABSENT


class ArcionRecord(ArcionChange, gc=False, rename={"raw": "\x7fraw"}):
    """The known members of a message.

    payload  shows that the message is one of Debezium
    raw      the whole record, if it does not name a table
    """

    tableName: Annotated[TableName | None, roles.enter()] = None
    exists: Annotated[dict[str, str | int | None] | None, roles.identity()] = None
    payload: Annotated[Raw, roles.skip()] = ABSENT
    raw: Raw = ABSENT


class Arcion(ArcionDialect):
    record = ArcionRecord

    @cached_property
    def decoder(self) -> Any:
        return KeepingDecoder(ArcionRecord, lambda record: record.tableName is not None)

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        name = members.get("tableName")
        if isinstance(name, dict) and "namespace" in name and "opType" in members:
            return "`tableName` with a `namespace`, and `opType`"
        return None

    def changes(self, record: ArcionRecord) -> Meaning:
        nameless = record.tableName is None and record.opType is None and not none_if_null(record.payload)
        if nameless and self.options.table:
            row = TextImage(self._with_nulls(self._image(record.raw, "the record", self.options.table)) or {})
            tokens = {"snapshot": "true"} if self.with_tokens else {}
            return (Change(self.options.table, "I", None, None, None, row, tokens),)
        table = self._table(record)
        op = check_op(record.opType, table)
        old, new = self._image(record.before, "`before`", table), self._image(record.after, "`after`", table)
        record_schema = None
        if record.exists is None:
            images = (old or None if op == "I" else old, new or None if op == "D" else new)
        else:
            states = record.exists
            if not states:
                raise RecordError("GG305", "`exists` names no columns", None, table)
            record_schema = self.describe(table, tuple(states))
            images = images_of(op, *_chosen(states, old or {}, new or {}, table))
        images = (self._with_nulls(images[0]), self._with_nulls(images[1]))
        reason = "`cursor` or `operationcount` is not a valid string"
        texts = (("cursor", record.cursor), ("operationcount", record.operationcount))
        cursor, counts = (decoded(partial(_text, name), value, reason, table) for name, value in texts)
        return (self.change(table, op, images, cursor, counts, record_schema),)

    def grammar(self, record: ArcionRecord) -> roles.Grammar | None:
        if record.tableName is None:
            return None
        in_text = ((CURSOR_IN_TEXT, record.cursor), (COUNTS_IN_TEXT, record.operationcount))
        return self.declared_grammar(*(condition for condition, value in in_text if not _is_object(value)))

    def states(self, record: ArcionRecord, table: TableDef) -> bytes | None:
        states = record.exists
        if states is None:
            return None
        return bytes(int(states[name] or 0) if name in states else NOT_NAMED for name in table.column_names)

    def decode_scanned(self, scanned: SourceBatch) -> SourceBatch:
        null = self.options.null_literal
        before, after = (
            tuple(_column_with_nulls(column, null) for column in columns) for columns in (scanned.before, scanned.after)
        )
        return replace(scanned, before=before, after=after)

    def _table(self, record: ArcionRecord) -> str:
        name = record.tableName
        if name is None:
            help = "if the record is a row of a snapshot, set `table` with `--input-option`"
            if none_if_null(record.payload) is not None:
                help = "if the record is Arcion's Debezium-like JSON, use `--input-format debezium_json`"
            raise missing_member_error("tableName", help)
        if not name.name:
            raise missing_member_error("name", NAME_TABLE, what="`tableName`")
        namespace = name.namespace or Namespace()
        schema = namespace.schema if namespace.schema != self.options.schema_filler else None
        return join_name(namespace.catalog, schema, name.name)

    def _image(self, image: Raw, name: str, table: str) -> Texts | None:
        if none_if_null(image) is None:
            return None
        try:
            return _texts(image)
        except (ValueError, RecursionError):
            pass
        members = decoded(decode, image, f"{name} is not an object with string values", table)
        if isinstance(members, dict) and any(map(is_avro_union, members.values())):
            raise RecordError(
                "GG321", f"the record is {AVRO_JSON.what}, which ggfmt does not read", AVRO_JSON.help, table
            )
        reason = f"{name} is not an object with string values"
        return decoded(lambda data: text_image(raw_members(data)), image, reason, table)

    def _with_nulls(self, image: Texts | None) -> Texts | None:
        null = self.options.null_literal
        if image is None or null not in image.values():
            return image
        return {name: None if value == null else value for name, value in image.items()}


def _column_with_nulls(column: ImageColumn, null: str) -> ImageColumn:
    equal = pc.equal(column.values, null)
    values = pc.if_else(equal, _NULL, column.values) if equal.true_count else column.values
    return replace(column, values=values)


def _chosen(states: dict[str, str | int | None], old: Texts, new: Texts, table: str) -> tuple[Texts, Texts]:
    codes = {name: None if state is None else str(state) for name, state in states.items()}
    check_states(set(codes.values()), table)
    for image in (old, new):
        if not image.keys() <= codes.keys():
            name = next(name for name in image if name not in codes)
            raise RecordError("GG305", "`exists` lacks a column of an image", None, table, name)
    try:
        return (
            {name: old[name] for name, code in codes.items() if code in OLD},
            {name: new[name] for name, code in codes.items() if code in NEW},
        )
    except KeyError as error:
        raise RecordError(
            "GG305", "an image lacks a column that it has according to `exists`", None, table, error.args[0]
        ) from None


def _text(name: str, value: Raw) -> str | None:
    """Return the text of a JSON object, which may be in a string; None if the member is absent."""
    data = bytes(value)
    if not data:
        return None
    return str(data, "utf-8") if _is_object(value) else scalar_or_none(value, name)


def _is_object(value: Raw) -> bool:
    return bytes(value).startswith(b"{")


READ_SIDES = {"arcion_json": dialect_input(Arcion)}
