"""Handlers of Kafka Connect: keys and values as the converters of the producer file make them, with their schemas."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from kafka_broker import KafkaBroker, kafka_broker
from runs import operation, write_lines
from schema_registry import RegistryStub, schema_registry

import ggfmt
from ggfmt.diagnostics.diagnostic import GgfmtError

__all__ = ["kafka_broker"]

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with schema_registry() as stub:
        yield stub


def send(broker: KafkaBroker, directory: Path, producer: dict[str, str], **options: Any) -> tuple[str, ggfmt.Result]:
    prefix = options.pop("prefix", None) or f"c{uuid.uuid4().hex[:8]}"
    formatting = options.pop("formatting", "op")
    (directory / "producer.properties").write_text("".join(f"{key}={value}\n" for key, value in producer.items()))
    handler = directory / "handler.properties"
    handler.write_text(
        f"gg.handlerlist=k\ngg.handler.k.type=kafkaconnect\ngg.handler.k.messageFormatting={formatting}\n"
        "gg.handler.k.kafkaProducerConfigFile=producer.properties\n"
        f"gg.handler.k.topicMappingTemplate={prefix}.${{tableName}}\n"
        "gg.handler.k.keyMappingTemplate=${primaryKeys}\n"
    )
    records = [{**operation(number, "S.T"), "primary_keys": ["ID"]} for number in range(5)]
    given = write_lines(directory / "in.json", records)
    asked: dict[str, Any] = {"output": broker.address, "create_topics": 1, "job": prefix, "master": "none[1]"}
    return f"{prefix}.T", ggfmt.convert(given, handler, **(asked | options))


def test_json_has_schemas_unless_the_producer_file_says_otherwise(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic, _ = send(kafka_broker, tmp_path, {"key.converter": JSON, "value.converter": JSON})
    ((key, value), *others) = kafka_broker.messages(topic)[0]
    assert len(others) == 4
    assert key == b'{"schema":{"type":"string","optional":false},"payload":"0"}'
    assert value is not None
    assert value.endswith(b"}")
    assert json.loads(value)["payload"]["after"]["NAME"] == "name 0"
    plain = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
    topic, _ = send(kafka_broker, tmp_path, {"key.converter": JSON, "value.converter": JSON, **plain})
    key, value = kafka_broker.messages(topic)[0][0]
    assert key == b'"0"'
    assert json.loads(value or b"")["after"]["NAME"] == "name 0"


def test_avro_has_the_ids_of_the_registry(kafka_broker: KafkaBroker, registry: RegistryStub, tmp_path: Path) -> None:
    producer = {"key.converter": AVRO, "value.converter": AVRO, "schema.registry.url": registry.url, "acks": "1"}
    topic, result = send(kafka_broker, tmp_path, producer, dry_run=True)
    assert result.topics[0].totals.messages == 5
    assert registry.subjects == {}
    topic, _ = send(kafka_broker, tmp_path, producer, formatting="row")
    assert set(registry.subjects) == {f"{topic}-key", f"{topic}-value"}
    for place, (key, value) in enumerate(kafka_broker.messages(topic)[0]):
        read: list[Any] = []
        for side, data in (("key", key), ("value", value)):
            (number,) = registry.subjects[f"{topic}-{side}"]
            assert data is not None
            assert data[:5] == b"\0" + number.to_bytes(4, "big")
            read.append(fastavro.schemaless_reader(io.BytesIO(data[5:]), registry.schemas[number], None))
        assert read[0] == f"{place}"
        assert read[1]["NAME"] == f"name {place}"


@pytest.mark.parametrize("strategy", ["Topic", "Record", "TopicRecord"])
@pytest.mark.parametrize(("converter", "made_by"), [(AVRO, AvroDeserializer), (SCHEMA, JSONDeserializer)])
def test_a_topic_is_read_back_by_ggfmt_and_by_confluent(
    converter: str, made_by: Any, strategy: str, kafka_broker: KafkaBroker, registry: RegistryStub, tmp_path: Path
) -> None:
    class_name = f"io.confluent.kafka.serializers.subject.{strategy}NameStrategy"
    producer = {
        "key.converter": converter,
        "value.converter": converter,
        "schema.registry.url": registry.url,
        "value.converter.value.subject.name.strategy": class_name,
    }
    topic, _ = send(kafka_broker, tmp_path, producer, formatting="row")
    subject = {"Topic": f"{topic}-value", "Record": "S.T", "TopicRecord": f"{topic}-S.T"}[strategy]
    assert set(registry.subjects) == {f"{topic}-key", subject}
    client = SchemaRegistryClient({"url": registry.url})
    if converter == AVRO:
        deserializer: Any = made_by(client)
    else:
        deserializer = made_by(None, schema_registry_client=client, json_decode=json.loads)
    for place, message in enumerate(kafka_broker.messages(topic)[0]):
        for field, data in zip((MessageField.KEY, MessageField.VALUE), message, strict=True):
            read = deserializer(data, SerializationContext(topic, field))
            assert read == f"{place}" if field == MessageField.KEY else read["NAME"] == f"name {place}"
    given: Any = {"input_format": "kafkaconnect_avro", "schemaRegistry": registry.url}
    table = ggfmt.scan(f"{kafka_broker.address}/{topic}", "S.T", **given).read_all()
    rows: list[Any] = table.column("after").to_pylist()
    assert [row["NAME"] for row in rows] == [f"name {place}" for place in range(5)]


def test_a_schema_that_the_registry_refuses_sends_nothing(
    kafka_broker: KafkaBroker, registry: RegistryStub, tmp_path: Path
) -> None:
    prefix = f"c{uuid.uuid4().hex[:8]}"
    registry.add({"type": "record", "name": "Other", "fields": []}, f"{prefix}.T-value")
    registry.fixed.add(f"{prefix}.T-value")
    producer = {"key.converter": AVRO, "value.converter": AVRO, "schema.registry.url": registry.url}
    with pytest.raises(GgfmtError) as caught:
        send(kafka_broker, tmp_path, producer, prefix=prefix)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GG578"
    assert f"{prefix}.T-value" in diagnostic.message
    with pytest.raises(GgfmtError):
        send(kafka_broker, tmp_path, producer, prefix=prefix, dry_run=True)


def test_a_password_of_the_registry_is_not_shown(
    kafka_broker: KafkaBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with schema_registry("user:canary-5a1") as stub, caplog.at_level(1):
        producer = {"key.converter": AVRO, "value.converter": AVRO, "schema.registry.url": stub.url}
        secret = {"value.converter.basic.auth.user.info": "user:canary-5a1"}
        secret |= {"key.converter.basic.auth.user.info": "user:canary-5a1"}
        _, result = send(kafka_broker, tmp_path, producer | secret)
        with pytest.raises(GgfmtError) as caught:
            send(kafka_broker, tmp_path, producer)
    shown = f"{caplog.text} {result.totals} {result.manifests} {result!r} {caught.value} {caught.value.diagnostics}"
    assert "canary-5a1" not in shown
    assert caught.value.diagnostics[0].code == "GG578"
