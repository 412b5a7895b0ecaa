"""Metadata messages, and the schemas of messages, of a table that is written.

The schemas are those of a recorded metadata message, with all headers that are documented; a column in the metadata is
of one named record for all columns, so that no name of a column can be taken for that of another type. What is not
known is empty (`timestamp`) or 1 (`tableVersion`). The id of a schema is made from the definition.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ggfmt.columnar.avro import FALSE, NULL, TRUE, VALUE, text_bytes
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.dataclasses import dataclass
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.qlik import QlikOptions, is_name
from ggfmt.formats.qlik.messages import MAGIC
from ggfmt.formats.qlik.types import avro_type, type_word
from ggfmt.model.table import TableDef

OPERATIONS = ("INSERT", "UPDATE", "DELETE", "REFRESH")
_ID_DIGITS = 32
_COLUMN = {
    "ordinal": "int",
    "type": "string",
    "length": "int",
    "precision": "int",
    "scale": "int",
    "primaryKeyPosition": "int",
    "nullable": "boolean",
}
_LINEAGE = {
    "server": "string",
    "task": "string",
    "schema": "string",
    "table": "string",
    "tableVersion": "long",
    "timestamp": "string",
}
HEADERS: dict[str, Any] = {
    "operation": {"type": "enum", "name": "operation", "symbols": list(OPERATIONS)},
    "changeSequence": "string",
    "timestamp": "string",
    "streamPosition": "string",
    "transactionId": "string",
    "changeMask": ["null", "bytes"],
    "columnMask": ["null", "bytes"],
    "transactionEventCounter": ["null", "long"],
    "transactionLastEvent": ["null", "boolean"],
    "externalSchemaId": ["null", "string"],
}


@dataclass(frozen=True)
class TableMessages:
    """What the messages of a table have in common: the id of their schema, the metadata message and its schema, which
    is None where a name of a column cannot be one in Avro."""

    schema_id: str
    message: dict[str, Any]
    schema: str | None

    @property
    def text(self) -> str:
        envelope = {
            "magic": MAGIC,
            "type": "MD",
            "headers": None,
            "messageSchemaId": self.schema_id,
            "messageSchema": self.schema,
            "message": self.message,
        }
        return compact_json(envelope) + "\n"

    @property
    def data(self) -> bytes:
        assert self.schema is not None
        message = b"".join(
            [
                text_bytes(self.message["schemaId"]),
                _record(self.message["lineage"], _LINEAGE),
                *(_record(column, _COLUMN) for column in self.message["tableStructure"]["tableColumns"].values()),
                text_bytes(self.message["dataSchema"]),
            ]
        )
        schema = VALUE + text_bytes(self.schema)
        return envelope_head("MD", self.schema_id) + schema + zigzag_varint(len(message)) + message


def envelope_head(kind: str, schema_id: str) -> bytes:
    """The start of an envelope in Avro, up to `messageSchema`."""
    return MAGIC.encode() + text_bytes(kind) + NULL + VALUE + text_bytes(schema_id)


def table_messages(table: TableDef, options: QlikOptions) -> TableMessages:
    columns = {}
    for ordinal, column in enumerate(table.columns, 1):
        word, length, precision, scale = type_word(column.type)
        values = (ordinal, word, length, precision, scale, column.key, column.nullable)
        columns[column.name] = dict(zip(_COLUMN, values, strict=True))
    lineage = (options.server, options.task, table.schema or "", table.name, 1, "")
    named = all(map(is_name, table.column_names))
    data_schema = compact_json(_data_schema(table)) if named else ""
    identity = compact_json([table.full_name, *lineage, columns, data_schema])
    schema_id = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS].upper()
    message = {
        "schemaId": schema_id,
        "lineage": dict(zip(_LINEAGE, lineage, strict=True)),
        "tableStructure": {"tableColumns": columns},
        "dataSchema": data_schema,
    }
    return TableMessages(schema_id, message, compact_json(_metadata_schema(table)) if named else None)


def _schema(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": k, "type": v} for k, v in fields.items()]}


def _data_schema(table: TableDef) -> dict[str, Any]:
    row = _schema("Data", {column.name: ["null", avro_type(column.type)] for column in table.columns})
    return _schema("DataRecord", {"data": row, "beforeData": ["null", "Data"], "headers": _schema("Headers", HEADERS)})


def _metadata_schema(table: TableDef) -> dict[str, Any]:
    columns: dict[str, Any] = dict.fromkeys(table.column_names, "Column")
    if table.columns:  # the first use of a named type defines it
        columns[table.columns[0].name] = _schema("Column", dict(_COLUMN))
    structure = _schema("TableStructure", {"tableColumns": _schema("TableColumns", columns)})
    lineage = _schema("Lineage", dict(_LINEAGE))
    fields = {"schemaId": "string", "lineage": lineage, "tableStructure": structure, "dataSchema": "string"}
    return _schema("MetadataMessage", fields)


def _record(values: dict[str, Any], fields: dict[str, str]) -> bytes:
    encoded = []
    for name, kind in fields.items():
        value = values[name]
        if kind == "string":
            encoded.append(text_bytes(value))
        elif kind == "boolean":
            encoded.append(TRUE if value else FALSE)
        else:
            encoded.append(zigzag_varint(value))
    return b"".join(encoded)
