"""Avro schemas as GoldenGate's Avro formatters make them, and the two numbers that name a schema in a message.

* The text is that of `Schema.toString(true)` of Avro 1.8, which Jackson lays out, without a line end; in the manual,
  6.4.3 and 6.5.3 print it.
* `schema_hash` is Java's `String.hashCode()` of that text, `schema_fingerprint` the CRC-64-AVRO of the schema's
  Parsing Canonical Form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.avro.names import is_name
from ggfmt.formats.json.values import compact_json
from ggfmt.model.table import TableDef

Schema = Any  # a JSON value: an Avro schema or a part of one

METADATA = ("table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens")
IMAGE = "columns"  # the record of an image in the operation format
MISSING_SUFFIX = "_isMissing"
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True)
class AvroSchema:
    """A schema by its document, with what is made of it."""

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
        return java_hash(self.text)

    @cached_property
    def fingerprint(self) -> int:
        return crc_64_avro(canonical_form(self.document).encode())


def row_schema(table: TableDef, types: Sequence[str]) -> AvroSchema:
    """The schema of row messages; `types` has the Avro type of each column."""
    fields = [_optional(name, kind) for name, kind in zip(table.column_names, types, strict=True)]
    return AvroSchema(_record(table, fields))


def operation_schema(table: TableDef, types: Sequence[str]) -> AvroSchema:
    """The schema of operation messages; `types` has the Avro type of each column."""
    fields: list[Schema] = []
    for name, kind in zip(table.column_names, types, strict=True):
        fields += [_optional(name, kind), {"name": name + MISSING_SUFFIX, "type": "boolean"}]
    image = {"type": "record", "name": IMAGE, "fields": fields}
    return AvroSchema(_record(table, [_optional("before", image), _optional("after", IMAGE)]))


def wrapper_schema(fingerprint: bool) -> AvroSchema:
    """The schema of generic wrappers, which name the wrapped message's schema by hash or by fingerprint."""
    number = {"name": "schema_fingerprint", "type": "long"} if fingerprint else {"name": "schema_hash", "type": "int"}
    fields = [{"name": "table_name", "type": "string"}, number, {"name": "payload", "type": "bytes"}]
    return AvroSchema({"type": "record", "name": "generic_wrapper", "namespace": "oracle.goldengate", "fields": fields})


def _optional(name: str, kind: Schema) -> Schema:
    return {"name": name, "type": ["null", kind], "default": None}


def _record(table: TableDef, fields: Sequence[Schema]) -> Mapping[str, Schema]:
    namespace = ".".join(table.parts[:-1])
    return {
        "type": "record",
        "name": table.name,
        **({"namespace": namespace} if namespace else {}),
        "fields": [
            *({"name": name, "type": "string"} for name in METADATA[:5]),
            {"name": "primary_keys", "type": {"type": "array", "items": "string"}},
            {"name": "tokens", "type": {"type": "map", "values": "string"}, "default": {}},
            *fields,
        ],
    }


def name_problem(table: TableDef, by_image: bool) -> Diagnostic | None:
    """Why there is no Avro schema of a table (GG206); None if there is one. `by_image`: the operation format."""
    for problem in _name_problems(table, by_image):
        help = "replace the characters or the name by `gg.schemareplaceregex` and `gg.schemareplacestring`"
        place = replace(problem.span, table=table.full_name)
        return replace(problem, span=place, help=help)
    return None


def _name_problems(table: TableDef, by_image: bool) -> Iterator[Diagnostic]:
    for part in table.parts:
        if not is_name(part):
            yield Diagnostic("GG206", f"`{part}` in the name of the table is not a legal Avro name")
    if len(table.parts) == 1 and table.name in PRIMITIVES:
        yield Diagnostic("GG206", f"a record of Avro cannot be named `{table.name}`, which is a type")
    if by_image and table.name == IMAGE:
        yield Diagnostic("GG206", f"the table has the name of the record of its images, `{IMAGE}`")
    columns = set(table.column_names)
    for name in table.column_names:
        if not is_name(name):
            yield Diagnostic("GG206", f"`{name}` is not a legal Avro name", Span(field=name))
        elif by_image and name + MISSING_SUFFIX in columns:
            message = f"the column has the name of the field that tells whether `{name}` is missing"
            yield Diagnostic("GG206", message, Span(field=name + MISSING_SUFFIX))
        elif not by_image and name in METADATA:
            yield Diagnostic("GG206", "the column has the name of a metadata field", Span(field=name))


def jackson(value: Schema, depth: int = 0) -> str:
    """A JSON text as Jackson's default pretty printer lays it out: objects over lines, arrays within one."""
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
    """The Parsing Canonical Form of a schema made here (Avro specification 1.8)."""
    if isinstance(schema, list):
        return f"[{','.join(canonical_form(branch, namespace) for branch in schema)}]"
    if isinstance(schema, str):
        return _quoted(schema if schema in PRIMITIVES or not namespace else f"{namespace}.{schema}")
    kind = schema["type"]
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


def java_hash(text: str) -> int:
    """Java's `String.hashCode()`: over UTF-16 units, a signed number of 32 bits."""
    result = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        result = (31 * result + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return result - (result >> 31 << 32)


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
    """The 64-bit Rabin fingerprint of the Avro specification, as a signed number like that of Java's
    `SchemaNormalization.parsingFingerprint64`."""
    crc = _EMPTY_CRC
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc - (crc >> 63 << 64)
