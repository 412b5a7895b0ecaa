"""Made-up files in Avro, by chance and always the same for a seed, and damage done to them: for the property that the
native kernel and the exact reader return the same, and for its fuzzing."""

from __future__ import annotations

import base64
import ctypes
import io
import json
import math
import random
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import fastavro
from contract import qlik_avro as qlik_messages
from scanners import with_kernels
from strategies import plain_operations

from ggfmt.arrow.arrays import non_null_values
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Reader, Reject, SchemaChange
from ggfmt.formats.avro.schemas import without_logical_types
from ggfmt.formats.dts import schema as dts_schema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, wrapper
from ggfmt.formats.goldengate.metacolumns import Template
from ggfmt.kernels import native
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef

_TEXTS = ("", "I", "abc", "NULL", "Ünï ¢", "😀" * 3, "x" * 40, "a\0b", "17520.00", "2013-06-02 22:14:36.000000")
_NUMBERS = (0, 1, -1, 63, 64, -65, 127, 10**6, -(10**12), 2**31, 2**62, 2**63 - 1, -(2**63), 1388534400000000)
_REALS = (0.0, -0.0, 1.5, 17520.0, 1e15, 1e16, 123456789.123, 1e-3, 9.5e-4, 1e300, 5e-324, 0.1, -2.675, 1 / 3,
          math.nan, math.inf, -math.inf, 999999999999999.9, 4503599627370497.5)  # fmt: skip
_TEMPLATES = (
    None,
    "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${position[pos]},${alltokens[tokens]}",
    "${optype[kind]},${schema},${table},${token[one].A},${csn},${timestampmicro}",
    "${optype[op_type]},${catalog},${schema},${table},${primarykeycolumns[keys]},${position}",
    "${optype[op_type]}",
)
_KINDS = (Kind.STRING, Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE, Kind.BOOLEAN, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Case:
    """A file of a format, with the options of its reader."""

    format: str
    data: bytes
    source: WriterSettings
    definitions: Mapping[str, TableDef] = field(default_factory=dict)
    tokens: bool = True
    row_only: bool = False


def text(chance: random.Random) -> str:
    return chance.choice(_TEXTS) if chance.random() < 0.9 else "é" * chance.randrange(200)


def long(chance: random.Random) -> int:
    if chance.random() < 0.3:
        return chance.choice(_NUMBERS)
    return chance.randrange(-(1 << chance.randrange(1, 63)), 1 << chance.randrange(1, 63))


def real(chance: random.Random) -> float:
    if chance.random() < 0.4:
        return float(chance.choice(_REALS))
    if chance.random() < 0.5:
        return chance.randrange(-(10**9), 10**9) / float(10 ** chance.randrange(7))
    return float(struct.unpack("<d", chance.randbytes(8))[0])


def named_in(schema: Any) -> dict[str, Any]:
    """The records of a schema by their names."""
    if isinstance(schema, list):
        return {name: found for branch in schema for name, found in named_in(branch).items()}
    if not isinstance(schema, dict) or "fields" not in schema:
        return {}
    inner = {name: found for part in schema["fields"] for name, found in named_in(part["type"]).items()}
    return {**inner, schema["name"]: schema}


def value(schema: Any, chance: random.Random, named: dict[str, Any]) -> Any:
    """A datum of a schema, whose logical types count for nothing."""
    if isinstance(schema, list):
        return value(chance.choice(schema) if chance.random() < 0.4 else schema[-1], chance, named)
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {part["name"]: value(part["type"], chance, named) for part in schema["fields"]}
    if kind == "enum":
        return chance.choice(schema["symbols"])
    if kind == "array":
        return [value(schema["items"], chance, named) for _ in range(chance.randrange(3))]
    if kind == "map":
        return {text(chance): value(schema["values"], chance, named) for _ in range(chance.randrange(3))}
    made: dict[str, Callable[[], Any]] = {
        "null": lambda: None,
        "boolean": lambda: chance.random() < 0.3,
        "int": lambda: chance.randrange(-(2**31), 2**31),
        "long": lambda: long(chance),
        "float": lambda: chance.choice((0.0, 0.1, -1.5, 3e38, math.inf, math.nan, 16777217.0)),
        "double": lambda: real(chance),
        "bytes": lambda: chance.randbytes(chance.choice((0, 1, 2, 3, 8, 9, 20, 70))),
        "string": lambda: text(chance),
    }
    return made[kind]()


def datum(schema: Any, message: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, message)
    return stream.getvalue()


def container(schema: Any, messages: list[Any], chance: random.Random) -> bytes:
    stream = io.BytesIO()
    codec = chance.choice(("null", "null", "deflate"))
    fastavro.writer(
        stream, schema, messages, codec, sync_interval=chance.choice((1, 300, 16000)), sync_marker=b"m" * 16
    )
    return stream.getvalue()


# GoldenGate


def _table(name: str, chance: random.Random) -> TableDef:
    columns = []
    for place in range(chance.randrange(1, 6)):
        kind = chance.choice(_KINDS)
        type = SqlType(kind)
        if kind is Kind.DECIMAL:
            type = SqlType(kind, precision=chance.choice((5, 18, 38)), scale=chance.choice((0, 2, 5)))
        columns.append(Column(f"C{place}", type))
    return TableDef(name, tuple(columns))


def goldengate(chance: random.Random) -> Case:
    name = chance.choice(("avro_row_ocf", "avro_op_ocf", "avro_row", "avro_op"))
    stream = not name.endswith("_ocf")
    template = chance.choice(_TEMPLATES)
    given: dict[str, Any] = {
        "meta_columns_template": None if template is None else Template().parse(template),
        "enable_decimal_logical_type": chance.random() < 0.5,
        "enable_timestamp_logical_type": chance.random() < 0.5,
    }
    if name.startswith("avro_row"):
        given["include_is_missing_fields"] = chance.random() < 0.5
    if stream:
        given["line_delimiter"] = chance.choice(("", "\n", "é|"))
        given["wrap_message_in_generic_avro_message"] = chance.random() < 0.3
    options: Any = FORMATS[name].options(**given)
    context = Context(release=chance.choice(("12.2", "19.1")))
    if template is None and context.release == "19.1":
        context = Context(release="12.2")
    tables = [
        _table(f"S.T{n}", chance) for n in range(chance.randrange(1, 4) if stream and template != _TEMPLATES[4] else 1)
    ]
    by_image = "op" in name
    schemas = {
        table.full_name: without_logical_types(dict(avro_schema(table, options, context, by_image).document))
        for table in tables
    }
    messages = []
    for _ in range(chance.choice((1, 5, 40))):
        table = chance.choice(tables)
        schema = schemas[table.full_name]
        message = value(schema, chance, named_in(schema))
        roles = {column.name: column.keyword for column in options.metadata(context)}
        for member, keyword in roles.items():
            words = {"optype": chance.choice("IIUUDDT" + ("X" if chance.random() < 0.1 else "")), "schema": "S",
                     "objectname": table.full_name, "table": table.name, "catalog": "",
                     "timestampmicro": chance.choice(("1388534400000000", "-1", "x", ""))}  # fmt: skip
            message[member] = words.get(keyword, message[member])
        messages.append((table, message))
    if not stream:
        schema = dict(avro_schema(tables[0], options, context, by_image).document)
        plain = io.BytesIO(container(without_logical_types(schema), [message for _, message in messages], chance))
        return Case(name, plain.getvalue(), WriterSettings(options, context), tokens=chance.random() < 0.8)
    outer = wrapper(options, context)
    data = b""
    for table, message in messages:
        payload = datum(schemas[table.full_name], message)
        if outer is not None:
            number = outer.document["fields"][1]["name"]
            payload = datum(dict(outer.document), {"table_name": table.full_name, number: 5, "payload": payload})
        data += payload + options.line_delimiter.encode()
    definitions = {table.full_name: table for table in tables}
    return Case(name, data, WriterSettings(options, context), definitions, tokens=chance.random() < 0.8)


# Data Transmission Service

_TIMES = ("date", "time", "both", "year", "odd")
_CELLS = (
    "Integer", "Character", "Decimal", "Float", "Timestamp", "DateTime", "TimestampWithTimeZone", "BinaryGeometry",
    "TextGeometry", "BinaryObject", "TextObject", "EmptyObject",
)  # fmt: skip


def _parts(chance: random.Random, regular: bool) -> dict[str, int | None]:
    names = ("year", "month", "day", "hour", "minute", "second")
    kind = chance.choice(_TIMES[:4] if regular else _TIMES)
    there = {"date": names[:3], "time": names[3:], "both": names, "year": names[:1]}.get(kind, ())
    if kind == "odd":
        there = tuple(name for name in names if chance.random() < 0.6)
    most = (10000, 12, 31, 24, 60, 60)
    low = -1 if kind == "odd" else 0
    parts: dict[str, int | None] = dict.fromkeys((*names, "millis"))
    for name, last in zip(names, most, strict=True):
        if name in there:
            parts[name] = chance.randrange(low, last)
    if "second" in there and chance.random() < 0.7:
        parts["millis"] = chance.choice((0, 5, 999999, *(() if regular else (10**6, 999999999))))
    return parts


# What is in columns, by MySQL's numbers of types.
_USUAL = {3: "Integer", 8: "Integer", 253: "Character", 246: "Decimal", 252: "BinaryObject", 5: "Float", 12: "DateTime",
          16: "Integer", 999: "TextObject"}  # fmt: skip


def _cell(name: str, chance: random.Random, regular: bool) -> Any:
    charset = (
        "utf8mb4" if regular else chance.choice(("utf8mb4", "UTF8", "latin1", "gbk", "binary", "nonsense", "x" * 40))
    )
    letters = {
        "Integer": {"precision": 4, "value": str(long(chance))},
        "Character": {"charset": charset, "value": text(chance).encode() if regular else chance.randbytes(4)},
        "Decimal": {"value": "12.50", "precision": 9, "scale": 2},
        "Float": {"value": real(chance), "precision": 0, "scale": 0},
        "Timestamp": {"timestamp": chance.choice((0, -1, 1388534400, 10**12)), "millis": chance.choice((0, 7, 10**6))},
        "DateTime": _parts(chance, regular),
        "TimestampWithTimeZone": {
            "value": _parts(chance, regular),
            "timezone": chance.choice(("UTC", "+08:00", "", "Zo\nne")),
        },
        "BinaryGeometry": {"type": "x", "value": chance.randbytes(5)},
        "TextGeometry": {"type": "x", "value": "POINT(1 2)"},
        "BinaryObject": {"type": "x", "value": chance.randbytes(chance.randrange(5))},
        "TextObject": {"type": "x", "value": chance.choice(("t", "False", "0", text(chance)))},
    }
    return (
        chance.choice(("NULL", "NONE")) if name == "EmptyObject" else (f"{dts_schema.NAMESPACE}.{name}", letters[name])
    )


def dts(chance: random.Random) -> Case:
    born = chance.random() < 0.5
    schema = fastavro.parse_schema(dts_schema.record_schema(born))
    regular = chance.random() < 0.6
    tables = []
    for number in range(chance.randrange(1, 4)):
        columns = [
            (f"C{n}", chance.choice((3, 8, 253, 246, 252, 5, 12, 16, 999))) for n in range(chance.randrange(1, 5))
        ]
        kinds = [_USUAL[number] if regular else chance.choice(_CELLS) for _, number in columns]
        keys = chance.choice((None, '{"PRIMARY":["C0"]}', '{"PRIMARY":["C0"]}' if regular else "[]"))
        tables.append((f"S.T{number // 2}", columns, kinds, keys))
    records = []
    for _ in range(chance.choice((1, 6, 40))):
        name, columns, kinds, keys = chance.choice(tables)

        def image(kinds: list[str] = kinds) -> Any:
            if chance.random() < (0.01 if regular else 0.05):
                return chance.choice(("", "text", []))
            made = [
                None
                if chance.random() < 0.2
                else _cell(kind if regular else chance.choice((kind, *_CELLS)), chance, regular)
                for kind in kinds
            ]
            return made[: chance.randrange(len(made) + 1)] if chance.random() < (0.002 if regular else 0.02) else made

        operation = chance.choice(
            ("INSERT", "UPDATE", "DELETE", "INIT", "COMMIT")
            if regular
            else ("INSERT", "UPDATE", "DELETE", "INIT", "BEGIN", "COMMIT", "HEARTBEAT", "DDL")
        )
        fields = [{"name": column, "dataTypeNumber": number} for column, number in columns]
        tags = {text(chance): text(chance) for _ in range(chance.randrange(3))} if chance.random() < 0.5 else {}
        if chance.random() < 0.1 and not regular:
            tags[chance.choice(("id", "tags.id", "snapshot", "version"))] = "t"
        if keys is not None:
            tags["pk_uk_info"] = keys
        change = operation in ("INSERT", "UPDATE", "DELETE", "INIT") or chance.random() < 0.1
        stamps = (0, 1388534400, 1388534400) if regular else (0, 1388534400, -1, 10**13)
        source_type = "MySQL" if regular else chance.choice(("MySQL", "Oracle", "PostgreSQL"))
        record = {
            "version": chance.choice((0, 1)), "id": long(chance),
            "sourceTimestamp": chance.choice(stamps), "sourcePosition": text(chance),
            "safeSourcePosition": text(chance), "sourceTxid": text(chance),
            "source": {"sourceType": source_type, "version": text(chance)},
            "operation": operation, "objectName": name if change and chance.random() < 0.95 else None,
            "processTimestamps": chance.choice((None, [], [1, -2], [5] * (3 if regular else 20))), "tags": tags,
            "fields": fields if change else None,
            "beforeImages": image() if change and operation in ("UPDATE", "DELETE") else None,
            "afterImages": image() if change and operation != "DELETE" else None,
        }  # fmt: skip
        if operation == "DDL":
            record["afterImages"] = chance.choice(("truncate table T0", "create table x (y int)"))
        if born:
            record["bornTimestamp"] = chance.choice((0, 5))
        records.append(record)
    framing = chance.choice(("lengths", "container", "lines"))
    if framing == "container":
        data = container(schema, records, chance)
    else:
        datums = [datum(schema, record) for record in records]
        if framing == "lengths":
            data = b"".join(len(each).to_bytes(4, "big") + each for each in datums)
        else:
            data = b"".join(base64.b64encode(each) + b"\n" for each in datums)
    source = WriterSettings(FORMATS["dts_avro"].options())
    return Case("dts_avro", data, source, tokens=chance.random() < 0.8, row_only=chance.random() < 0.4)


# Debezium


_ROW_TYPES: tuple[Any, ...] = (
    "int", "long", "string", "double", "float", "boolean", "bytes",
    {"type": "int", "connect.name": "io.debezium.time.Date"},
    {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
    {"type": "bytes", "scale": 2, "precision": 9, "connect.name": "org.apache.kafka.connect.data.Decimal",
     "logicalType": "decimal"},
    {"type": "array", "items": "string"}, {"type": "map", "values": "double"},
    {"type": "enum", "name": "Mood", "symbols": ["GOOD", "BAD"]},
)  # fmt: skip


_registry = tempfile.TemporaryDirectory(prefix="ggfmt-avro-cases-")


def debezium(chance: random.Random) -> Case:
    optional = chance.random() < 0.7
    fields = []
    for place in range(chance.randrange(1, 6)):
        kind = chance.choice(_ROW_TYPES)
        if isinstance(kind, dict) and kind["type"] == "enum":
            kind = {**kind, "name": f"Mood{place}"}
        fields.append({"name": f"C{place}", "type": ["null", kind] if optional else kind})
    row = {"type": "record", "name": "Value", "fields": fields}
    block: dict[str, Any] = {
        "version": "string", "connector": "string", "name": "string", "ts_ms": "long", "snapshot": ["null", "string"],
        "db": "string", "table": "string", "file": "string", "pos": "long", "row": "int", "gtid": ["null", "string"],
    }  # fmt: skip
    source = {"type": "record", "name": "Source", "fields": [{"name": n, "type": t} for n, t in block.items()]}
    envelope = {
        "type": "record", "name": "Envelope", "namespace": "s.t", "fields": [
            {"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "Value"]},
            {"name": "source", "type": source}, {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"]},
        ],
    }  # fmt: skip
    schema = without_logical_types(envelope)
    events = []
    for _ in range(chance.choice((1, 5, 40))):
        op = chance.choice("cccuudrtmx" if chance.random() < 0.1 else "cuudr")
        own = {"db": "S", "table": chance.choice(("T1", "T2")), "ts_ms": chance.choice((1388534400000, 1388534400001))}
        event = {
            "before": value(row, chance, {}) if op in "ud" and chance.random() < 0.95 else None,
            "after": value(row, chance, {}) if op in "cur" else None,
            "source": {**value(source, chance, {}), **own}, "op": op, "ts_ms": chance.choice((None, 5)),
        }  # fmt: skip
        events.append(event)
    options: Any = FORMATS["debezium_avro"].options()
    if chance.random() < 0.5:
        data = container(schema, events, chance)
    else:
        number = zlib.crc32(json.dumps(envelope).encode()) >> 1
        Path(_registry.name, f"{number}.avsc").write_text(json.dumps(envelope), encoding="utf-8")
        options = replace(options, schema_registry=_registry.name)
        data = b"".join(b"\0" + number.to_bytes(4, "big") + datum(schema, event) for event in events)
    return Case("debezium_avro", data, WriterSettings(options), {}, chance.random() < 0.8, chance.random() < 0.4)


# Qlik Replicate


_QLIK_TYPES: tuple[Any, ...] = (
    "int", "long", "string", "double", "float", "boolean", "bytes", ["string", "long"], ["double", "bytes"],
    ["float", "string"], {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"}, {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"}, {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": -2},
    {"type": "array", "items": "string"}, {"type": "enum", "name": "Mood", "symbols": ["GOOD", "BAD"]},
)  # fmt: skip
_QLIK_STAMPS = ("2023-03-21T21:34:19.511", "2023-03-21T21:34:19Z", "", "2023-02-30T00:00:00", "noon", None)
_COUNTS = (0, 1, -1, 8729, 36930001, 86399999, 86400000, -719162, -719163, 2932896, 2932897)  # of days, or less
_QLIK_HEADERS: dict[str, tuple[Any, ...]] = {
    "operation": (
        {"type": "enum", "name": "operation", "symbols": ["INSERT", "UPDATE", "DELETE", "REFRESH", "refresh", "X"]},
        "string",
    ),
    "changeSequence": ("string", "long", ["null", "string"], "double"),
    "timestamp": (["null", "string"],),
    "streamPosition": ("string", ["null", "string"], "bytes"),
    "transactionId": ("string", "string", "bytes", "long"),
    "changeMask": (["null", "bytes"], ["null", "string"]),
    "columnMask": (["null", "bytes"], ["null", "bytes"], ["null", "string"]),
    "transactionEventCounter": (["null", "long"], "string", "float"),
    "transactionLastEvent": (["null", "boolean"],),
    "externalSchemaId": (["null", "string"],),
    "other": ("double", "string"),
}


def _qlik_schema(chance: random.Random, hostile: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The types of columns, and the schema of their changes."""
    columns = {}
    for place in range(chance.randrange(1, 12)):
        kind = chance.choice(_QLIK_TYPES if hostile and chance.random() < 0.4 else _QLIK_TYPES[:7])
        columns[f"C{place}"] = {**kind, "name": f"Mood{place}"} if "symbols" in kind else kind
    odd = hostile and chance.random() < 0.5
    headers = [
        {"name": name, "type": chance.choice(kinds) if odd else kinds[0]} for name, kinds in _QLIK_HEADERS.items()
    ]
    schema = json.loads(qlik_messages.data_schema(columns, headers))
    if hostile and chance.random() < 0.3:
        schema["fields"] += [{"name": name, "type": "string"} for name in ("schema", "table", "note")]
    return columns, schema


def _mask(kind: Any, columns: int, chance: random.Random) -> Any:
    number = (1 << columns) - 1
    if chance.random() < 0.2:
        number = chance.randrange(1 << (columns + (chance.random() < 0.1)))
    mask = number.to_bytes(columns // 8 + 1, "big")
    return None if chance.random() < 0.3 else mask if "bytes" in kind else mask.hex()


def _qlik_message(columns: dict[str, Any], schema: Any, hostile: bool, chance: random.Random) -> dict[str, Any]:
    message: dict[str, Any] = value(schema, chance, named_in(schema))
    words = ("INSERT", "UPDATE", "UPDATE", "DELETE", "REFRESH", *(("refresh", "X") if hostile else ()))
    operation = chance.choice(words)
    stamp = chance.choice(_QLIK_STAMPS if hostile and chance.random() < 0.2 else _QLIK_STAMPS[:2])
    message["headers"] |= {"operation": operation, "timestamp": stamp}
    for part in schema["fields"][2]["type"]["fields"]:
        if part["name"].endswith("Mask"):
            message["headers"][part["name"]] = _mask(part["type"], len(columns), chance)
    for image in filter(None, (message["data"], message["beforeData"])):
        for name, kind in columns.items():
            if isinstance(kind, dict) and kind["type"] in ("int", "long") and chance.random() < 0.9:
                image[name] = chance.choice(_COUNTS if kind["type"] == "int" else (*_COUNTS, 1679409261000001))
    if operation != "UPDATE" and chance.random() < 0.9:
        message["beforeData"] = None
    if "table" in message:
        message |= {"schema": "S", "table": chance.choice(("T0", "T1"))}
    return message


def qlik(chance: random.Random) -> Case:
    hostile = chance.random() < 0.5
    tables = []
    data = b""
    for place in range(chance.choice((1, 1, 3))):
        columns, schema = _qlik_schema(chance, hostile)
        about = {name: qlik_messages.column(ordinal) for ordinal, name in enumerate(columns, 1)}
        number = f"{place:032}"
        metadata = qlik_messages.metadata(about, json.dumps(schema), f"T{place}")
        data += metadata.replace(qlik_messages.ID.encode(), number.encode())
        tables.append((number, columns, schema, without_logical_types(schema)))
    for _ in range(chance.choice((1, 5, 40))):
        number, columns, schema, decode = chance.choice(tables)
        payload = datum(decode, _qlik_message(columns, decode, hostile, chance))
        own_schema = json.dumps(schema) if chance.random() < 0.1 else None
        around = {"headers": {"a": text(chance)}} if chance.random() < 0.1 else {}
        payload += b"\0" if hostile and chance.random() < 0.03 else b""
        data += qlik_messages.envelope("DT", payload, number, own_schema, **around)
        data += b"\n" if chance.random() < 0.1 else b""
    options: Any = FORMATS["qlik_avro"].options()
    options = replace(options, position=chance.choice(("streamPosition", "changeSequence")))
    return with_facts(
        Case("qlik_avro", data, WriterSettings(options), {}, chance.random() < 0.8, chance.random() < 0.4)
    )


def with_facts(case: Case) -> Case:
    """A case whose source has what a discovery learns."""
    side = import_module(FORMATS[case.format].reads or "").READ_SIDES[case.format]
    discovery = side.discovery(Catalog(), False, case.source)
    layout = side.reader.layout(case.data, True, case.source)
    for chunk in side.reader.chunks(io.BytesIO(case.data), "file", 0, None, layout):
        discovery.read(chunk)
    found = side.discovery.settle([discovery.findings()], Catalog(), False)
    return replace(case, source=replace(case.source, facts=found.facts))


MAKERS: dict[str, Callable[[random.Random], Case]] = {
    "goldengate": goldengate,
    "dts": dts,
    "debezium": debezium,
    "qlik": qlik,
}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The data with some bytes changed, put in, left out, or the end lacking."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(changed) + 1)
        what = chance.randrange(5)
        if what == 0:
            del changed[place:]
        elif what == 1:
            changed[place : place + 1] = bytes([chance.choice((0, 1, 2, 3, 127, 128, 255, chance.randrange(256)))])
        elif what == 2:
            del changed[place : place + chance.randrange(1, 4)]
        elif what == 3:
            changed[place:place] = chance.choice((b"\xff" * 9 + b"\x01", b"\x80" * 10, b"\x02", chance.randbytes(3)))
        elif changed:
            changed[place - 1] ^= 1 << chance.randrange(8)
    return bytes(changed)


# What a reader returns


def on_exact_memory() -> AbstractContextManager[None]:
    """The kernels get copies of the data that end with the memory that they are in, so that a sanitizer sees each read
    beyond them."""
    kinds = ("AvroColumns", "AvroScanner", "AvroToJson", "DtsScanner", "JsonScanner")
    exactly = {kind: partial(_Exactly, getattr(native, kind)) for kind in kinds}
    return with_kernels({**exactly, "envelopes": partial(_on_copy, native.envelopes)})


class _Exactly:
    """A kernel's object whose data are copied before it gets them."""

    def __init__(self, kind: Any, *given: Any) -> None:
        self._inner = kind(*given)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return partial(_on_copy, method) if name in ("decode", "scan", "scan_spans", "write") else method


def _on_copy(method: Callable[..., Any], data: bytes, *others: Any) -> Any:
    return method((ctypes.c_char * len(data)).from_buffer_copy(data), *others)


def reader_class(name: str) -> type[Reader]:
    module = FORMATS[name].reads
    assert module is not None
    reader: type[Reader] = import_module(module).READ_SIDES[name].reader
    return reader


def told(case: Case, damage: Callable[[bytes], bytes] = bytes) -> list[Any]:
    """All that a reader returns for a file, in values that can be compared."""
    data = damage(case.data)
    kind = reader_class(case.format)
    layout = kind.layout(data, True, case.source)
    reader = kind(Catalog(dict(case.definitions)), Projection(case.row_only, case.row_only, case.tokens), case.source)
    events: list[Any] = []

    def note(event: object) -> None:
        if isinstance(event, ChangeBatch):
            ordinals = non_null_values(event.ordinal)
            places = [(chunk.offset, *span) for chunk, *span in map(reader.locate, ordinals)]
            keys = None if event.key_update is None else event.key_update.to_pylist()
            kept = event.tokens is None
            events.append((event.table, plain_operations(event), ordinals, places, keys, kept))
        elif isinstance(event, Reject):
            events.append((event.ordinal, event.record, event.diagnostic))
        else:
            assert isinstance(event, SchemaChange)
            events.append(event)

    for number, chunk in enumerate(kind.chunks(io.BytesIO(data), "file", 0, None, layout)):
        for event in reader.read(replace(chunk, input=number)):
            note(event)
    for event in reader.flush():
        note(event)
    return [*events, dict(reader.others), dict(reader.members), dict(reader.remarks)]
