"""Debezium in Confluent's framing, as serializers of Confluent write it: JSON Schema, and Avro with references."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from dialects import Read, lines, read, read_anywhere, told
from scanners import without_kernels
from schema_registry import RegistryStub, schema_registry

from ggfmt.formats.avro import confluent
from ggfmt.formats.avro.confluent import head
from ggfmt.formats.avro.schemas import with_definitions
from ggfmt.formats.connect.avro import avro_schema
from ggfmt.formats.connect.json_schema import MAX_TYPES, connect_schema, json_schema
from ggfmt.formats.connect.schemas import field

NAME = "debezium_avro"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
PRICE = {"type": "bytes", "optional": True, "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}}
ROW = {
    "type": "struct",
    "optional": True,
    "name": "s.public.orders.Value",
    "fields": [
        field("ID", "int32"),
        {**PRICE, "field": "PRICE"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "field": "AT"},
        {"type": "array", "items": {"type": "string", "optional": True}, "optional": True, "field": "WORDS"},
        field("DATA", "bytes", True),
        field("SIZE", "double", True),
        field("SHORT", "int16", True),
    ],
}
SOURCE = {
    "type": "struct",
    "optional": False,
    "name": "io.debezium.connector.postgresql.Source",
    "fields": [field(name, "string") for name in ("connector", "db", "schema", "table")],
}
EVENT: dict[str, Any] = {
    "type": "struct",
    "optional": False,
    "name": "s.public.orders.Envelope",
    "fields": [
        {**ROW, "field": "before"},
        {**ROW, "field": "after"},
        {**SOURCE, "field": "source"},
        field("op", "string"),
        field("ts_ms", "int64", True),
    ],
}
AT = SerializationContext("orders", MessageField.VALUE)
PLACE = {"connector": "postgresql", "db": "d", "schema": "public", "table": "orders"}


def event(number: int, price: Any = "BNI=") -> dict[str, Any]:
    row = {"ID": number, "PRICE": price, "AT": 1370211276123456, "WORDS": ["ä", None], "SIZE": 0.5, "SHORT": -1}
    return {"before": None, "after": {**row, "DATA": "AAE="}, "source": PLACE, "op": "c", "ts_ms": number}


@pytest.fixture
def stub() -> Iterator[RegistryStub]:
    with schema_registry() as server:
        confluent.registry.cache_clear()
        yield server


def found(stub: RegistryStub, data: bytes) -> Read:
    return read(NAME, data, told(NAME, schemaRegistry=stub.url))


def in_json(stub: RegistryStub, *events: Any, schema: Any = None) -> list[bytes]:
    text = json.dumps(json_schema(EVENT) if schema is None else schema)
    serializer: Any = JSONSerializer(text, SchemaRegistryClient({"url": stub.url}), conf={"validate": False})
    return [serializer(item, AT) for item in events]


def dump(*messages: bytes | None) -> bytes:
    """A dump of messages, whose ends are known."""
    texts = (None if message is None else base64.b64encode(message).decode() for message in messages)
    return b"".join(json.dumps({"key": None, "value": text}).encode() + b"\n" for text in texts)


def expected(*events: Any, schema: Any = EVENT) -> Any:
    """What ggfmt reads of the same events in JSON with schemas."""
    texts = lines(*({"schema": schema, "payload": item} for item in events)).replace(b", ", b",").replace(b": ", b":")
    result = read("debezium_json", texts)
    assert result.reasons == []
    return result.operations


@pytest.mark.process
@pytest.mark.parametrize("price", ["BNI=", 12.34, 1234, 10**25, -0.5, None])
def test_json_schema_is_read_as_json_with_schemas(price: Any, stub: RegistryStub) -> None:
    events = [event(number, price) for number in range(5)]
    schema = json_schema(EVENT, numeric=not isinstance(price, str))
    messages = in_json(stub, *events, schema=schema)
    result = found(stub, b"".join(messages))
    assert result.reasons == []
    assert result.operations == expected(*events)
    source = told(NAME, schemaRegistry=stub.url)
    for setting in (nullcontext, without_kernels):
        with setting():
            assert read_anywhere(NAME, dump(*messages), source) == (result.operations, [], {})
    assert connect_schema(schema, {}) == json.loads(
        json.dumps(EVENT).replace('"version": 1, ', "").replace("double", "float64")
    )


@pytest.mark.process
def test_a_topic_can_have_several_kinds(stub: RegistryStub) -> None:
    client = SchemaRegistryClient({"url": stub.url})
    serializer: Any = AvroSerializer(
        client, json.dumps(avro_schema(EVENT)), conf={"subject.name.strategy.type": "TOPIC"}
    )
    row = {**event(1)["after"], "PRICE": None, "DATA": b"\0\1"}
    in_avro: bytes = serializer({**event(1), "after": row}, AT)
    as_json, last = in_json(stub, event(2), event(3))
    other = stub.add('syntax = "proto3"; message M {}', "orders-value", schemaType="PROTOBUF")
    avro_head, json_head = in_avro[:5], as_json[:5]
    assert avro_head != json_head
    bad = {
        head(other) + b"\0\2": "GG318",
        head(77) + b"{}": "GG318",
        json_head: "GG301",
        json_head[:3]: "GG302",
        json_head + b'{"op":"c"': "GG301",
        as_json + b"}": "GG301",
        as_json + as_json[5:]: "GG301",
        json_head + b'null,"payload":{}': "GG301",
        as_json.replace(b'"op"', b'"\xff"'): "GG303",
        as_json[:-1] + b',"op":"d"}': "GG329",
        as_json + b"\0": "GG301",
        json_head + in_avro[5:]: "GG303",
        avro_head + as_json[5:]: "GG319",
        in_avro[:-1]: "GG319",
        b'{"op":"c"}': "GG319",
    }
    messages: list[bytes | None] = [in_avro, None, as_json]
    for message in bad:
        messages += [message, as_json, in_avro]
    source = told(NAME, schemaRegistry=stub.url)
    operations, rejects, others = read_anywhere(NAME, dump(*messages, last), source)
    assert [reject.code for reject in rejects] == list(bad.values())
    assert [item.after["ID"] for _, item in operations] == ["1", "2", *["2", "1"] * len(bad), "3"]
    assert others == {"tombstone": 1}
    assert "`PROTOBUF`" in rejects[0].message


@pytest.mark.process
def test_documents_follow_each_other_without_an_end(stub: RegistryStub) -> None:
    first, second = in_json(stub, event(1), event(2))
    spaced = second[:5] + json.dumps(event(2), indent=1).encode() + b"\n"
    result = found(stub, first + spaced + first)
    assert result.reasons == []
    assert [item.after["ID"] for _, item in result.operations if item.after] == ["1", "2", "1"]
    result = found(stub, first + second[:-4] + first)
    assert (result.operations, len(result.rejects)) == (expected(event(1)), 1)
    assert result.rejects[0].record == second[:-4] + first


# References

VALUE, PLACES = "s.public.orders.Value", "io.debezium.connector.postgresql.Source"


@pytest.mark.process
def test_avro_with_references_is_as_without(stub: RegistryStub) -> None:
    whole: Any = avro_schema(EVENT)
    before, after, source, *rest = whole["fields"]
    stub.add(before["type"][1], VALUE)
    stub.add(source["type"], PLACES)
    parts = [{**before, "type": ["null", VALUE]}, after, {**source, "type": PLACES}, *rest]
    references = [SchemaReference(name, name, 1) for name in (VALUE, PLACES)]
    schema = Schema(json.dumps({**whole, "fields": parts}), "AVRO", references)
    client = SchemaRegistryClient({"url": stub.url})
    events = [{**event(n), "after": {**event(n)["after"], "PRICE": None, "DATA": b"\0"}} for n in range(3)]
    made = []
    for own in (schema, json.dumps(whole)):
        serializer: Any = AvroSerializer(client, own, conf={"subject.name.strategy.type": "TOPIC"})
        made.append(b"".join(serializer(item, AT) for item in events))
    results = [found(stub, data) for data in made]
    assert results[0].reasons == []
    assert results[0].operations == results[1].operations
    assert len(results[0].operations) == 3


LEAF = {"type": "record", "name": "Leaf", "namespace": "n", "fields": [{"name": "E", "type": "E"}]}
ENUM = {"type": "enum", "name": "n.E", "symbols": ["A"]}
BARE = {"type": "fixed", "name": "Bare", "size": 2}


@pytest.mark.parametrize(
    ("type", "inlined"),
    [
        ("n.E", {**ENUM, "name": "E", "namespace": "n"}),
        ({"type": "n.E"}, {"type": {**ENUM, "name": "E", "namespace": "n"}}),
        (["null", "n.E"], ["null", {**ENUM, "name": "E", "namespace": "n"}]),
        ({"type": "map", "values": "Bare"}, {"type": "map", "values": {**BARE, "namespace": ""}}),
        ("string", "string"),
        ("n.Other", "n.Other"),
        (
            {"type": "array", "items": "n.Leaf"},
            {
                "type": "array",
                "items": {**LEAF, "fields": [{"name": "E", "type": {**ENUM, "name": "E", "namespace": "n"}}]},
            },
        ),
    ],
)
def test_types_are_defined_at_their_first_use(type: Any, inlined: Any) -> None:
    schema = {"type": "record", "name": "m.R", "fields": [{"name": "a", "type": type}, {"name": "b", "type": "n.E"}]}
    made = with_definitions(schema, [ENUM, LEAF, BARE])
    assert made["fields"][0]["type"] == inlined
    second = made["fields"][1]["type"]
    assert second == ("n.E" if "A" in json.dumps(inlined) else {**ENUM, "name": "E", "namespace": "n"})


@pytest.mark.parametrize("other", [{"type": "record", "name": 1}, {"type": "record", "name": "R", "fields": [1]}])
def test_references_to_broken_schemas(other: Any, stub: RegistryStub) -> None:
    stub.add(other, "o")
    number = stub.add(["o"], references=[{"name": "o", "subject": "o", "version": 1}])
    assert [reason[:5] for reason in found(stub, head(number) + b"\0").reasons] == ["GG318"]


# JSON Schemas of others

REFERRING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/definitions/x~1y"},
        "b": {"anyOf": [{"$ref": "other.json#/definitions/n"}, {"type": "null"}]},
        "c": {"type": ["null", "string"]},
        "d": {"enum": ["x", "y"]},
    },
    "definitions": {"x/y": {"type": "integer", "connect.type": "int8"}},
}
OTHER = {"definitions": {"n": {"$ref": "#/definitions/m"}, "m": {"type": "number"}}}


def test_references_of_json_schema() -> None:
    assert connect_schema(REFERRING, {"other.json": OTHER})["fields"] == [
        field("a", "int8"),
        field("b", "float64", True),
        field("c", "string", True),
        field("d", "string"),
    ]


def many(count: int) -> Any:
    """Types that refer to the next one twice."""
    both = [
        {f"t{n}": {"type": "object", "properties": {side: {"$ref": f"#/t{n + 1}"} for side in "ab"}}}
        for n in range(count)
    ]
    return {
        "$ref": "#/t0",
        f"t{count}": {"type": "string"},
        **{name: made for own in both for name, made in own.items()},
    }


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (5, "not an object"),
        ({"$ref": "#/nothing"}, "missing type"),
        ({"$ref": "else.json"}, "missing type"),
        ({"$ref": "#name"}, "missing type"),
        ({"$ref": "#"}, "recursion"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "recursion"),
        (many(60), f"more than {MAX_TYPES:,}"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "several types"),
        ({"type": "array"}, "not an object"),
        ({"allOf": [{"type": "string"}]}, "does not write"),
    ],
)
def test_json_schemas_that_are_none_of_connect(schema: Any, said: str, stub: RegistryStub) -> None:
    number = stub.add(schema, schemaType="JSON")
    (reason,) = found(stub, head(number) + b"{}").reasons
    assert reason.startswith("GG313")
    assert said in reason
