"""Avro schemas as GoldenGate's Avro formatters write them, and the two numbers that identify a schema in a message.

* The text is that of `Schema.toString(true)` of Avro 1.8, as formatted by Jackson, without a line end (manual, 6.4.3
  and 6.5.3).
* `schema_hash` is Java's `String.hashCode()` of that text, `schema_fingerprint` the CRC-64-AVRO of the schema's
  Parsing Canonical Form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ggfmt.formats.goldengate.avro import IMAGE, PRIMITIVES
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, MetaColumn
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.formats.json.values import compact_json
from ggfmt.java.text import string_hash
from ggfmt.model.table import TableDef

Schema = Any  # a JSON value: an Avro schema or a part of one

NO_PROPERTIES: Mapping[str, str] = {}


@dataclass(frozen=True)
class AvroSchema:
    """A schema by its JSON document, with its texts and numbers."""

    document: Mapping[str, Schema]

    @cached_property
    def text(self) -> str:
        """The content of an `.avsc` file."""
        return jackson(self.document)

    @cached_property
    def compact(self) -> str:
        """The schema in the header of an object container file."""
        return compact_json(self.document)

    @cached_property
    def hash(self) -> int:
        return string_hash(self.text)

    @cached_property
    def fingerprint(self) -> int:
        return crc_64_avro(canonical_form(self.document).encode())


def row_schema(
    table: TableDef,
    metadata: Sequence[MetaColumn],
    types: Sequence[Schema],
    flagged: bool = False,
    properties: Mapping[str, str] = NO_PROPERTIES,
) -> AvroSchema:
    """Return the schema of row messages. `types` has the Avro type of each column. `flagged` adds a flag after each
    column. `properties` are added to the record."""
    return AvroSchema({**_record(table, metadata, _columns(table, types, flagged)), **properties})


def operation_schema(
    table: TableDef,
    metadata: Sequence[MetaColumn],
    types: Sequence[Schema],
    flagged: bool = True,
    properties: Mapping[str, str] = NO_PROPERTIES,
) -> AvroSchema:
    """Return the schema of operation messages. `types` has the Avro type of each column. `properties` are added to the
    record."""
    image = {"type": "record", "name": IMAGE, "fields": _columns(table, types, flagged)}
    images = [_optional("before", image), _optional("after", IMAGE)]
    return AvroSchema({**_record(table, metadata, images), **properties})


def _columns(table: TableDef, types: Sequence[Schema], flagged: bool) -> list[Schema]:
    fields: list[Schema] = []
    for name, kind in zip(table.column_names, types, strict=True):
        fields.append(_optional(name, kind))
        if flagged:
            fields.append({"name": name + MISSING_SUFFIX, "type": "boolean"})
    return fields


def metadata_schema(metadata: Sequence[MetaColumn]) -> Mapping[str, Schema]:
    """Return the schema of a record of the metadata, with which the messages of all tables start."""
    return {"type": "record", "name": "metadata", "fields": [_metadata_field(column) for column in metadata]}


def wrapper_schema(fingerprint: bool) -> AvroSchema:
    """Return the schema of generic wrappers, which name the schema of their message by hash or by fingerprint."""
    number = {"name": "schema_fingerprint", "type": "long"} if fingerprint else {"name": "schema_hash", "type": "int"}
    fields = [{"name": "table_name", "type": "string"}, number, {"name": "payload", "type": "bytes"}]
    return AvroSchema({"type": "record", "name": "generic_wrapper", "namespace": "oracle.goldengate", "fields": fields})


def _optional(name: str, kind: Schema) -> Schema:
    return {"name": name, "type": ["null", kind], "default": None}


def _metadata_field(column: MetaColumn) -> Schema:
    if column.keyword == KEY_COLUMNS:
        return {"name": column.name, "type": {"type": "array", "items": "string"}}
    if column.keyword == ALL_TOKENS:
        return {"name": column.name, "type": {"type": "map", "values": "string"}, "default": {}}
    return {"name": column.name, "type": "string"}


def _record(table: TableDef, metadata: Sequence[MetaColumn], fields: Sequence[Schema]) -> Mapping[str, Schema]:
    namespace = ".".join(table.parts[:-1])
    return {
        "type": "record",
        "name": table.name,
        **({"namespace": namespace} if namespace else {}),
        "fields": [*map(_metadata_field, metadata), *fields],
    }


def jackson(value: Schema, depth: int = 0) -> str:
    """Return a JSON text as Jackson's default pretty printer formats it: objects span lines, arrays do not."""
    if isinstance(value, Mapping):
        if not value:
            return "{ }"
        gap = "  " * (depth + 1)
        members = (f"{gap}{_quoted(name)} : {jackson(member, depth + 1)}" for name, member in value.items())
        return "{\n" + ",\n".join(members) + "\n" + "  " * depth + "}"
    if isinstance(value, list):
        return f"[ {', '.join(jackson(item, depth) for item in value)} ]" if value else "[ ]"
    return _quoted(value)


def _quoted(value: Schema) -> str:
    return json.dumps(value, ensure_ascii=False)


def canonical_form(schema: Schema, namespace: str = "") -> str:
    """Return the Parsing Canonical Form of a schema from this module (Avro specification 1.8)."""
    if isinstance(schema, list):
        return f"[{','.join(canonical_form(branch, namespace) for branch in schema)}]"
    if isinstance(schema, str):
        return _quoted(schema if schema in PRIMITIVES or not namespace else f"{namespace}.{schema}")
    kind = schema["type"]
    if kind in PRIMITIVES:
        return _quoted(kind)  # without the logical type
    if kind != "record":
        content = "items" if kind == "array" else "values"
        return f'{{"type":"{kind}","{content}":{canonical_form(schema[content], namespace)}}}'
    namespace = schema.get("namespace", namespace)
    name = f"{namespace}.{schema['name']}" if namespace else schema["name"]
    fields = ",".join(
        f'{{"name":{_quoted(field["name"])},"type":{canonical_form(field["type"], namespace)}}}'
        for field in schema["fields"]
    )
    return f'{{"name":{_quoted(name)},"type":"record","fields":[{fields}]}}'


_EMPTY_CRC = 0xC15D213AA4D7A795


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_EMPTY_CRC if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def crc_64_avro(data: bytes) -> int:
    """Return the 64-bit Rabin fingerprint of the Avro specification, as a signed number like that of Java's
    `SchemaNormalization.parsingFingerprint64`."""
    crc = _EMPTY_CRC
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc - (crc >> 63 << 64)
