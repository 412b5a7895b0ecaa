"""The Avro schema of DTS's records, and the words that records contain as numbers.

There are two versions: the older one has no `bornTimestamp`. The schema is the one that Alibaba publishes for
consumers, without its descriptions.
"""

from __future__ import annotations

from typing import Any

NAMESPACE = "com.alibaba.dts.formats.avro"

SOURCE_TYPES = (
    "MySQL", "Oracle", "SQLServer", "PostgreSQL", "MongoDB", "Redis", "DB2", "PPAS", "DRDS", "HBASE", "HDFS", "FILE",
    "OTHER",
)  # fmt: skip
OPERATIONS = (
    "INSERT", "UPDATE", "DELETE", "DDL", "BEGIN", "COMMIT", "ROLLBACK", "ABORT", "HEARTBEAT", "CHECKPOINT", "COMMAND",
    "FILL", "FINISH", "CONTROL", "RDB", "NOOP", "INIT",
)  # fmt: skip
EMPTY_OBJECTS = ("NULL", "NONE")

_TIME_PARTS = ("year", "month", "day", "hour", "minute", "second", "millis")
_RECORDS: dict[str, dict[str, Any]] = {
    "Integer": {"precision": "int", "value": "string"},
    "Character": {"charset": "string", "value": "bytes"},
    "Decimal": {"value": "string", "precision": "int", "scale": "int"},
    "Float": {"value": "double", "precision": "int", "scale": "int"},
    "Timestamp": {"timestamp": "long", "millis": "int"},
    "DateTime": {part: ["null", "int"] for part in _TIME_PARTS},
    "TimestampWithTimeZone": {"value": "DateTime", "timezone": "string"},
    "BinaryGeometry": {"type": "string", "value": "bytes"},
    "TextGeometry": {"type": "string", "value": "string"},
    "BinaryObject": {"type": "string", "value": "bytes"},
    "TextObject": {"type": "string", "value": "string"},
}
# The types of a value, by their place in the union.
BRANCHES = ("null", *_RECORDS, "EmptyObject")
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("safeSourcePosition", "sourceTxid"), ""),
    **dict.fromkeys(("objectName", "processTimestamps", "fields", "beforeImages", "afterImages"), None),
    "tags": {},
    "bornTimestamp": 0,
}


def record_schema(born: bool = True) -> dict[str, Any]:
    """Return the schema of a record. The first use of each named type contains its definition."""
    values = [branch if branch == "null" else _value_type(branch) for branch in BRANCHES]
    images = ["null", "string", {"type": "array", "items": values}]
    again = ["null", "string", {"type": "array", "items": list(BRANCHES)}]
    source = _record(
        "Source", {"sourceType": {"type": "enum", "name": "SourceType", "symbols": SOURCE_TYPES}, "version": "string"}
    )
    field = _record("Field", {"name": "string", "dataTypeNumber": "int"})
    members: dict[str, Any] = {
        "version": "int",
        "id": "long",
        "sourceTimestamp": "long",
        "sourcePosition": "string",
        "safeSourcePosition": "string",
        "sourceTxid": "string",
        "source": source,
        "operation": {"type": "enum", "name": "Operation", "symbols": OPERATIONS},
        "objectName": ["null", "string"],
        "processTimestamps": ["null", {"type": "array", "items": "long"}],
        "tags": {"type": "map", "values": "string"},
        "fields": ["null", "string", {"type": "array", "items": field}],
        "beforeImages": images,
        "afterImages": again,
    }
    if born:
        members["bornTimestamp"] = "long"
    schema = _record("Record", members)
    schema["namespace"] = NAMESPACE
    for member in schema["fields"]:
        if member["name"] in _DEFAULTS:
            member["default"] = _DEFAULTS[member["name"]]
    return schema


def _value_type(name: str) -> dict[str, Any]:
    if name == "EmptyObject":
        return {"type": "enum", "name": name, "symbols": EMPTY_OBJECTS}
    schema = _record(name, _RECORDS[name])
    if name == "DateTime":
        for member in schema["fields"]:
            member["default"] = None
    return schema


def _record(name: str, members: dict[str, Any]) -> dict[str, Any]:
    fields = [{"name": member, "type": kind} for member, kind in members.items()]
    return {"type": "record", "name": name, "fields": fields}


def version_of(schema: Any) -> bool | None:
    """Return whether records of a parsed schema have a `bornTimestamp`; None if it is not a schema of DTS's records."""
    try:
        shape = _shape(schema, {})
    except MemoryError:
        raise
    except Exception:  # a schema can be wrong in more ways than there are exceptions for
        return None
    return next((born for born in (True, False) if _SHAPES[born] == shape), None)


def _shape(schema: Any, named: dict[str, Any]) -> Any:
    """Replace all names in a schema by their definitions."""
    if isinstance(schema, list):
        return ("union", *(_shape(branch, named) for branch in schema))
    if isinstance(schema, str):
        return named.get(schema.rpartition(".")[2], schema)
    kind = schema["type"]
    if kind == "array":
        return (kind, _shape(schema["items"], named))
    if kind == "map":
        return (kind, _shape(schema["values"], named))
    if kind not in ("record", "enum"):
        return _shape(kind, named)
    name = schema["name"].rpartition(".")[2]
    members = schema["symbols"] if kind == "enum" else [(f["name"], _shape(f["type"], named)) for f in schema["fields"]]
    named[name] = (kind, name, tuple(members))
    return named[name]


_SHAPES = {born: _shape(record_schema(born), {}) for born in (False, True)}
