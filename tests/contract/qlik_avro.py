"""Qlik Replicate's messages in Avro, made by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro

ID = "8FB9D3C10EA4B25751DF9CC8318F0A02"


def column(ordinal: int, type: str = "STRING", key: int = 0, **others: Any) -> dict[str, Any]:
    sizes = {"length": 0, "precision": 0, "scale": 0}
    return {"ordinal": ordinal, "type": type, **sizes, "primaryKeyPosition": key, "nullable": not key, **others}


ENVELOPE = fastavro.parse_schema(
    {
        "type": "record",
        "name": "MessageEnvelope",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic5", "size": 5}},
            {"name": "type", "type": "string"},
            {"name": "headers", "type": ["null", {"type": "map", "values": "string"}]},
            {"name": "messageSchemaId", "type": ["null", "string"]},
            {"name": "messageSchema", "type": ["null", "string"]},
            {"name": "message", "type": "bytes"},
        ],
    }
)
HEADERS = [
    {
        "name": "operation",
        "type": {"type": "enum", "name": "operation", "symbols": ["INSERT", "UPDATE", "DELETE", "REFRESH"]},
    },
    *({"name": name, "type": "string"} for name in ("changeSequence", "timestamp", "streamPosition", "transactionId")),
    *({"name": name, "type": [{"type": "null"}, {"type": "bytes"}]} for name in ("changeMask", "columnMask")),
]


def record(name: str, fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def data_schema(columns: dict[str, Any], headers: Any = HEADERS) -> str:
    row = record("Data", [{"name": name, "type": ["null", kind]} for name, kind in columns.items()])
    fields = [
        {"name": "data", "type": row},
        {"name": "beforeData", "type": ["null", "Data"]},
        {"name": "headers", "type": record("Headers", headers)},
    ]
    return json.dumps(record("DataRecord", fields))


def encoded(schema: str, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), value)
    return out.getvalue()


def envelope(kind: str, message: bytes, schema_id: str | None = ID, schema: str | None = None, **others: Any) -> bytes:
    out = io.BytesIO()
    value = {
        "magic": b"atMSG", "type": kind, "headers": None, "messageSchemaId": schema_id, "messageSchema": schema,
        "message": message, **others,
    }  # fmt: skip
    fastavro.schemaless_writer(out, ENVELOPE, value)
    return out.getvalue()


COLUMNS = {"ID": column(1, "INT4", 1), "NAME": column(2), "PRICE": column(3, "NUMERIC", precision=10, scale=2)}
SCHEMA = data_schema({"ID": "int", "NAME": "string", "PRICE": "string"})
ROW = {"ID": 1, "NAME": "a", "PRICE": "10.50"}


def metadata(columns: dict[str, Any] = COLUMNS, schema: str = SCHEMA, table: str = "T") -> bytes:
    inner = [
        {"name": name, "type": record(name, [
            {"name": member, "type": "string" if member == "type" else "boolean" if member == "nullable" else "int"}
            for member in about
        ])}
        for name, about in columns.items()
    ]  # fmt: skip
    lineage = {"server": "srv", "task": "job", "schema": "S", "table": table, "tableVersion": 1, "timestamp": "x"}
    own = record(
        "MetadataMessage",
        [
            {"name": "schemaId", "type": "string"},
            {"name": "lineage", "type": record("Lineage", [
                {"name": name, "type": "long" if name == "tableVersion" else "string"} for name in lineage
            ])},
            {"name": "tableStructure", "type": record("TableStructure", [
                {"name": "tableColumns", "type": record("TableColumns", inner)}
            ])},
            {"name": "dataSchema", "type": "string"},
        ],
    )  # fmt: skip
    text = json.dumps(own)
    value = {"schemaId": ID, "lineage": lineage, "tableStructure": {"tableColumns": columns}, "dataSchema": schema}
    return envelope("MD", encoded(text, value), schema=text)


def change(
    operation: str, data: Any, before: Any = None, schema: str = SCHEMA, told: str | None = None, **headers: Any
) -> bytes:
    own = {
        "operation": operation, "changeSequence": "201", "timestamp": "2023-03-21T21:34:19.511", "streamPosition": "p1",
        "transactionId": "tx", "changeMask": None, "columnMask": None, **headers,
    }  # fmt: skip
    message = encoded(schema, {"data": data, "beforeData": before, "headers": own})
    return envelope("DT", message, None if told else ID, told)
