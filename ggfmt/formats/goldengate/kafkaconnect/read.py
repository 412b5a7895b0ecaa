"""Reader of messages of the Kafka Connect handler: operations or rows, with or without a schema.

A message with the last fields `before` and `after` is an operation. Its metadata are the other fields. In a row, the
metadata are the first fields, in the order of the handler, and the rest are columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.dataclasses import dataclass, replace
from ggfmt.formats.api.format import Context, WriterSettings
from ggfmt.formats.connect.schemas import SchemaField, decode_schema
from ggfmt.formats.connect.values import read_as
from ggfmt.formats.goldengate.kafkaconnect import INSERT, REFUSE, KafkaConnectOptions
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.reading import MetadataDialect, MetadataMembers
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.formats.json.repeated import EVERY, Once
from ggfmt.formats.json.values import raw_members, texts_or_none
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Meaning, RecordSchema, none_if_null
from ggfmt.formats.records.images import Convert
from ggfmt.formats.records.problems import MAX_SHOWN, NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.roles import Grammar
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import Column, TableDef, name_of_fields

_IMAGES = ("before", "after")


@dataclass(frozen=True)
class ConnectSchema:
    """The content of a schema: the name of the struct, the metadata fields, whether images follow, and the columns."""

    name: str
    metadata: tuple[MetaColumn, ...]
    by_image: bool
    columns: tuple[Column, ...]
    converts: tuple[Convert | None, ...]
    flags: frozenset[str]


class KafkaConnect(MetadataDialect):
    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options: KafkaConnectOptions = source.options or KafkaConnectOptions()
        self._ops = dict(zip(op_keys(self.options), OP_TYPES, strict=True))
        self._schemas: dict[bytes, ConnectSchema] = {}
        self.scanned_metadata = MetadataMembers(())

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        payload = members.get("payload")
        if isinstance(payload, dict) and "op_type" in payload and "table" in payload and "schema" in members:
            return "a `payload` with `table` and `op_type`"
        return None

    @cached_property
    def once(self) -> Once:
        return Once({"payload": EVERY}, EVERY.prefixes)

    def changes(self, record: dict[str, Raw]) -> Meaning:
        schema = None
        if record.keys() == {"schema", "payload"}:
            payload = none_if_null(record["payload"])
            if payload is None:
                return "tombstone"
            if none_if_null(record["schema"]) is not None:
                schema = self._schema(record["schema"])
            record = decoded(raw_members, payload, "`payload` is not an object")
        elif not record:
            raise RecordError("GG305", "the record is empty")
        columns = self._metadata(record) if schema is None else schema.metadata
        metadata = _metadata(columns)
        places = metadata.roles
        table = name_of_fields([metadata.text(record, place) for place in places.name])
        table = table or ("" if schema is None else schema.name) or self.options.table
        if not table:
            help = f"{NAME_TABLE}: set `table` with `--input-option`"
            raise missing_member_error("table", help)
        op = self._op(metadata.text(record, places.op), table)
        row = {name: value for name, value in record.items() if name not in metadata.names}
        if _is_by_image(row) if schema is None else schema.by_image:
            before, after = (none_if_null(record.get(name, ABSENT)) for name in _IMAGES)
            op = op or _op_of_images(before, after)
        else:
            image = Raw(msgspec.json.encode(row))
            op = op or self._op_of_rows(table)
            before, after = {"D": (image, None), "T": (None, None)}.get(op, (None, image))
        flags = None if schema is None else schema.flags
        before, after = (None if image is None else _without_missing(image, flags) for image in (before, after))
        position = metadata.text(record, places.position)
        tokens = _tokens(metadata, record, table) if self.with_tokens else {}
        described = self._describe(table, schema, metadata.keys(record, table))
        return (Change(table, op, metadata.time(record, table), position, before, after, tokens, described),)

    # The scanner

    def grammar(self, record: dict[str, Raw]) -> Grammar | None:
        schema, wrapped = None, record.keys() == {"schema", "payload"}
        if wrapped:
            schema = None if none_if_null(record["schema"]) is None else self._schema(record["schema"])
            record = raw_members(record["payload"])
        columns = self._metadata(record) if schema is None else schema.metadata
        metadata = _metadata(columns)
        places = metadata.roles
        row = tuple(name for name in record if name not in metadata.names)
        by_image = row == _IMAGES if schema is None else schema.by_image
        if (schema is None and not places.name) or (schema is not None and schema.flags):
            return None
        with_key = places.key_columns is not None and metadata.names[places.key_columns] in record
        key = wrapped, schema is None, by_image, with_key, columns
        if key not in self._grammars:
            grammar = self._make_grammar(wrapped, schema is not None, by_image, metadata, with_key)
            if grammar is None:
                return None
            self._grammars[key] = grammar
        self.scanned_metadata = metadata
        return self._grammars[key]

    def _make_grammar(
        self, wrapped: bool, described: bool, by_image: bool, metadata: MetadataMembers, with_key: bool
    ) -> Grammar | None:
        own = metadata.members(with_key, both_tokens=True)
        if own is None:
            return None
        images = [replace(role, required=True) for role in (roles.before(), roles.after())]
        named = [role.named(name) for role, name in zip(images, _IMAGES, strict=True)]
        members = (*own, *(named if by_image else ()))
        if len({member.name for member in members}) < len(members):
            return None
        of_columns = () if by_image else ((b"", roles.ROW),)
        if wrapped:
            schema = roles.identity(required=True) if described else roles.same(b"null", required=True)
            members = schema.named("schema"), roles.enter(others=roles.COLUMNS).around("payload", members)
        return Grammar(members, self._ops, columns=of_columns)

    def scannable(self, table: TableDef) -> bool:
        names = table.column_names
        return not any(name.endswith(MISSING_SUFFIX) and name.removesuffix(MISSING_SUFFIX) in names for name in names)

    def _metadata(self, names: Mapping[str, Any]) -> tuple[MetaColumn, ...]:
        """Return the metadata fields of a message: those of the template, else the fixed ones at its start."""
        template = self.options.meta_columns_template
        if template is not None:
            return tuple(column for column in template if column.name in names)
        found: list[MetaColumn] = []
        left = list(_FIXED)
        for name in names:
            place = next((place for place, column in enumerate(left) if column.name == name), None)
            if place is None:
                break
            found.append(left[place])
            left = left[place + 1 :]
        return tuple(found)

    def _op(self, word: str | None, table: str) -> str | None:
        if word is None:
            return None
        op = self._ops.get(word)
        if op is None:
            raise no_op("op_type", word[:MAX_SHOWN], self._ops, table)
        return op

    def _op_of_rows(self, table: str) -> str:
        if self.options.row_op == REFUSE:
            help = "set `rowOp` with `--input-option`"
            raise RecordError("GG305", "the row does not have an operation", help, table)
        return "I" if self.options.row_op == INSERT else "U"

    # Schemas

    def _describe(self, table: str, schema: ConnectSchema | None, keys: tuple[str, ...]) -> RecordSchema | None:
        if schema is None or not schema.columns:
            if keys:
                self.add_key(table, keys)
            return None
        columns = schema.columns
        return self.described(
            (table, id(schema), keys), lambda: TableDef(table, columns).with_keys(keys), schema.converts, keys
        )

    def _schema(self, data: Raw) -> ConnectSchema:
        key = bytes(data)
        if key not in self._schemas:
            self._schemas[key] = self._parsed(decoded(decode_schema, data, "`schema` is not a Kafka Connect schema"))
        return self._schemas[key]

    def _parsed(self, schema: SchemaField) -> ConnectSchema:
        fields = {field.field: field for field in schema.fields or () if field.field}
        metadata = self._metadata(fields)
        names = {column.name for column in metadata}
        rest = {name: field for name, field in fields.items() if name not in names}
        by_image = tuple(rest) == _IMAGES and all(field.type == "struct" for field in rest.values())
        if by_image:
            rest = {field.field: field for image in _IMAGES for field in rest[image].fields or () if field.field}
        flags = frozenset(
            name
            for name, field in rest.items()
            if name.endswith(MISSING_SUFFIX) and name.removesuffix(MISSING_SUFFIX) in rest and field.type == "boolean"
        )
        columns, converts = [], []
        for name, field in rest.items():
            if name not in flags:
                type, convert = read_as(field)
                columns.append(Column(name, type, field.optional))
                converts.append(convert)
        return ConnectSchema(schema.name or "", metadata, by_image, tuple(columns), tuple(converts), flags)


_metadata = lru_cache(maxsize=64)(MetadataMembers)
_FIXED = KafkaConnectOptions(include_primary_keys=True).metadata(Context(include_tokens=True))


def _tokens(metadata: MetadataMembers, record: Mapping[str, Raw], table: str) -> dict[str, str]:
    value = metadata.raw(record, metadata.roles.tokens)
    texts = {} if value is None else decoded(texts_or_none, value, "the tokens are not an object", table)
    every: dict[str, str | None] = {**metadata.single_tokens(record)}
    every.update(texts)
    return {name: text for name, text in every.items() if text is not None}


def _is_by_image(row: Mapping[str, Raw]) -> bool:
    """Return whether a message without a schema has images: after its metadata, only JSON objects or null."""
    if tuple(row) != _IMAGES:
        return False
    images = map(none_if_null, row.values())
    return all(image is None or bytes(image)[:1] == b"{" for image in images)


def _op_of_images(before: Raw | None, after: Raw | None) -> str:
    if before is None:
        return "T" if after is None else "I"
    return "D" if after is None else "U"


def _without_missing(image: Raw, flags: frozenset[str] | None) -> Raw:
    """Return the image without flags, and without the columns that they mark. `flags` None: there is no schema."""
    if flags is not None and not flags:
        return image
    if MISSING_SUFFIX.encode() not in bytes(image):
        return image
    members = decoded(raw_members, image, "an image is not an object")
    if flags is None:
        flags = frozenset(
            name
            for name, value in members.items()
            if name.endswith(MISSING_SUFFIX)
            and name.removesuffix(MISSING_SUFFIX) in members
            and bytes(value) in (b"true", b"false")
        )
    missing = {name.removesuffix(MISSING_SUFFIX) for name in flags if bytes(members.get(name, ABSENT)) == b"true"}
    kept = {name: value for name, value in members.items() if name not in flags and name not in missing}
    return Raw(msgspec.json.encode(kept))


READ_SIDES = {"kafkaconnect_json": dialect_input(KafkaConnect)}
