"""Avro schemas as GoldenGate's Avro formatters write them, and the two numbers that identify a schema in a message.

* The text is that of `Schema.toString(true)` of Avro 1.8, as formatted by Jackson, without a line end (manual, 6.4.3
  and 6.5.3).
* `schema_hash` is Java's `String.hashCode()` of that text, `schema_fingerprint` the CRC-64-AVRO of the schema's
  Parsing Canonical Form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from fastavro.schema import fingerprint, to_parsing_canonical_form

from ggfmt.dataclasses import dataclass
from ggfmt.formats.goldengate.avro import IMAGE
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, MetaColumn
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.formats.json.values import compact_json
from ggfmt.java.text import string_hash
from ggfmt.model.table import TableDef

Schema = Any  # a JSON value: an Avro schema or a part of one


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
        """The fingerprint, signed as by Java's `SchemaNormalization.parsingFingerprint64`."""
        digits = fingerprint(to_parsing_canonical_form(dict(self.document)), "CRC-64-AVRO")
        return int.from_bytes(bytes.fromhex(digits), "little", signed=True)


def message_schema(
    table: TableDef,
    metadata: Sequence[MetaColumn],
    types: Sequence[Schema],
    by_image: bool,
    flagged: bool,
    properties: Mapping[str, str],
) -> AvroSchema:
    """Return the schema of messages. `types`: Avro types of the columns; `flagged`: a flag follows each column."""
    fields = _columns(table, types, flagged)
    if by_image:
        image = {"type": "record", "name": IMAGE, "fields": fields}
        fields = [_optional("before", image), _optional("after", IMAGE)]
    namespace = ".".join(table.parts[:-1])
    return AvroSchema(
        {
            "type": "record",
            "name": table.name,
            **({"namespace": namespace} if namespace else {}),
            "fields": [*map(_metadata_field, metadata), *fields],
            **properties,
        }
    )


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


def jackson(value: Schema, depth: int = 0) -> str:
    """Return a JSON text as Jackson's default pretty printer formats it: objects span lines, arrays do not."""
    if isinstance(value, Mapping):
        if not value:
            return "{ }"
        gap = "  " * (depth + 1)
        members = (f"{gap}{jackson(name)} : {jackson(member, depth + 1)}" for name, member in value.items())
        return "{\n" + ",\n".join(members) + "\n" + "  " * depth + "}"
    if isinstance(value, list):
        return f"[ {', '.join(jackson(item, depth) for item in value)} ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)
