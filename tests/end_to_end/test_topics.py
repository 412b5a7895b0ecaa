"""Topics that ggfmt has written and reads again: they give what a file of the same messages gives."""

from __future__ import annotations

import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from debezium_recording import KEYS
from dialects import DATA
from kafka_broker import KafkaBroker, kafka_broker
from round_trips import (
    READ,
    STORY,
    STORY_FORMAT,
    TABLES,
    Operation,
    handler,
    of_story,
    view,
    write_as,
    write_story,
)
from schema_registry import RegistryStub, schema_registry

import ggfmt
from ggfmt.diagnostics.diagnostic import ConfigurationError, UsageError
from ggfmt.formats import FORMATS

__all__ = ["kafka_broker"]

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"

RECORDING = DATA / "debezium-live" / "postgresql-without-schema.jsonl"
TABLES_OF_STORY = ("GG.ORDERS", "LONE")


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with schema_registry() as stub:
        yield stub


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = [replace(item, table=table) for item in STORY for table in TABLES_OF_STORY]
    return write_story(tmp_path_factory.mktemp("story") / "in.json", items)


def handler_file(name: str, folder: Path, topic: str = "", registry: str = "") -> Path:
    """The configuration of a handler that writes a format: to files, or to a topic."""
    lines = ["gg.handlerlist=h", *handler(name, folder / "dirdef")]
    if topic:
        lines += [
            f"gg.handler.h.type={FORMATS[name].handler_type or 'kafka'}",
            "gg.handler.h.mode=op",
            f"gg.handler.h.topicMappingTemplate={topic}",
            "gg.handler.h.keyMappingTemplate=${primaryKeys}",
            f"gg.handler.h.kafkaProducerConfigFile={folder / 'producer.properties'}",
        ]
        converter = AVRO if name == "kafkaconnect_avro" else JSON
        converters = [f"key.converter={converter}", f"value.converter={converter}", f"schema.registry.url={registry}"]
        (folder / "producer.properties").write_text("\n".join(converters))
    path = folder / f"{'topic' if topic else 'files'}.properties"
    path.write_text("\n".join(lines))
    return path


def accepted(story: Path, name: str, folder: Path) -> Path:
    """The operations of a story that a format can write: a topic has no place for others."""
    result = ggfmt.convert(
        story, handler_file(name, folder), input_format=STORY_FORMAT, output=folder / "all", definitions=TABLES,
        on_reject="quarantine", master="none[1]",
    )  # fmt: skip
    rejected = {reject.record for reject in result.rejects}
    path = folder / "accepted.json"
    path.write_bytes(b"".join(line for line in story.read_bytes().splitlines(True) if line.strip() not in rejected))
    return path


def sent(broker: KafkaBroker, story: Path, configuration: Path, partitions: int = 1) -> None:
    """Send a story as the messages of a handler."""
    ggfmt.convert(
        story, configuration, input_format=STORY_FORMAT, output=broker.address, create_topics=partitions,
        definitions=TABLES, master="none[1]",
    )  # fmt: skip


def by_table(operations: list[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for item in of_story(operations):
        found[item.table].append(item)
    return found


# Of each kind of values one: the others take as long again, and go the same way.
QUICK = ("json", "delimitedtext", "avro_op", "xml", "kafkaconnect_avro", "dts_avro", "qlik_avro", "debezium_json")


def quick(name: str) -> Any:
    return name if name in QUICK else pytest.param(name, marks=pytest.mark.long)


REFUSED = [name for name in READ if name.endswith("_ocf")] + ["arcion_csv", "debezium_avro"]


@pytest.mark.parametrize("name", [quick(name) for name in READ if name not in REFUSED])
def test_a_topic_gives_what_a_file_gives(
    name: str, kafka_broker: KafkaBroker, registry: RegistryStub, story: Path, tmp_path: Path
) -> None:
    story = accepted(story, name, tmp_path)
    file, written = write_as(story, name, tmp_path / "file")
    expected = view(file, tmp_path / "expected", name, written)
    topic = f"r{uuid.uuid4().hex[:8]}"
    sent(kafka_broker, story, handler_file(name, tmp_path, topic, registry.url))
    if name == "kafkaconnect_avro":
        written = replace(written, options=replace(written.options, schema_registry=registry.url))
    address: Any = f"{kafka_broker.address}/{topic}"
    found = view(address, tmp_path / "found", name, written)
    found = [replace(item, pos=None) if (item.pos or "").startswith(topic) else item for item in found]
    assert by_table(found) == by_table(expected)


@pytest.mark.parametrize("name", REFUSED)
def test_a_format_of_files_is_refused(name: str, kafka_broker: KafkaBroker, story: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        sent(kafka_broker, story, handler_file(name, tmp_path, "t"))
    assert caught.value.diagnostics[0].code == "GG112"


def test_operations_without_a_frame_are_no_transaction(kafka_broker: KafkaBroker, story: Path, tmp_path: Path) -> None:
    configuration = handler_file("dts_avro", tmp_path, "t")
    configuration.write_text(
        configuration.read_text().replace("mode=op", "mode=tx").replace("${primaryKeys}", "${null}")
    )
    with pytest.raises(UsageError, match=r"error\[GG577\] with `mode=tx`"):
        sent(kafka_broker, accepted(story, "dts_avro", tmp_path), configuration)


def keys(item: Operation) -> set[str | None]:
    return {image["ID"] for image in (item.before, item.after) if image and "ID" in image}


@pytest.mark.parametrize("name", ["avro_op", "qlik_json"])
def test_topics_of_tables_keep_the_order_of_each_key(
    name: str, kafka_broker: KafkaBroker, story: Path, tmp_path: Path
) -> None:
    story = accepted(story, name, tmp_path)
    file, written = write_as(story, name, tmp_path / "file")
    prefix = f"r{uuid.uuid4().hex[:8]}"
    configuration = handler_file(name, tmp_path, f"{prefix}.${{fullyQualifiedTableName}}")
    sent(kafka_broker, story, configuration, partitions=3)
    address: Any = f"{kafka_broker.address}/{prefix}.*"
    found = by_table(view(address, tmp_path / "found", name, written))
    for table, operations in by_table(view(file, tmp_path / "expected", name, written)).items():
        operations = [replace(item, pos=None) for item in operations]
        of_topic = [replace(item, pos=None) for item in found[table]]
        assert len(of_topic) == len(operations)
        for key in {key for item in operations for key in keys(item)}:
            assert [item for item in of_topic if keys(item) == {key}] == [
                item for item in operations if keys(item) == {key}
            ]


@pytest.mark.skipif(not RECORDING.is_file(), reason="the recorded messages are not there")
def test_topics_of_debezium_give_the_rows_of_its_files(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    prefix = f"d{uuid.uuid4().hex[:8]}"
    keys_of = {table: keys.split(",") for table, keys in (part.split("=") for part in KEYS.split(";"))}
    lines = RECORDING.read_bytes().splitlines(keepends=True)
    messages: dict[str, list[tuple[bytes | None, bytes | None]]] = defaultdict(list)
    topic, key = "", None
    for line in lines:
        record = json.loads(line)
        source = record and record.get("source")
        if source:
            topic = "{schema}.{table}".format(**source)
            row = record["after"] if record["after"] is not None else record["before"]
            named = {name: row[name] for name in keys_of[topic]} if row is not None else None
            key = None if named is None else json.dumps(named).encode()
        if record is None or source:
            messages[topic].append((key, None if record is None else line.rstrip(b"\n")))
        else:
            messages["transaction"].append((None, line.rstrip(b"\n")))
    for topic, sent in messages.items():
        name = f"{prefix}.{re.sub('[^A-Za-z0-9._-]', '_', topic)}"
        kafka_broker.send(kafka_broker.topic(3, name), sent, headers=[("__debezium.context.task", b"0")])

    def rows(given: Any, folder: Path, **others: Any) -> dict[str, list[str]]:
        ggfmt.consolidate(given, folder, to="parquet", master="none[1]", **others)
        found: dict[str, list[str]] = {}
        for path in folder.rglob("*.parquet"):
            rows = [repr(row) for row in parquet.read_table(path).to_pylist()]
            found.setdefault(path.relative_to(folder).parts[0], []).extend(rows)
        return {table: sorted(rows) for table, rows in found.items()}

    expected = rows(RECORDING, tmp_path / "file", input_options={"primaryKeys": KEYS})
    assert len(expected) == len(keys_of)
    assert rows(f"{kafka_broker.address}/{prefix}.*", tmp_path / "topic") == expected


def test_a_topic_goes_into_another_and_not_into_itself(kafka_broker: KafkaBroker, story: Path, tmp_path: Path) -> None:
    topic = f"r{uuid.uuid4().hex[:8]}"
    sent(kafka_broker, story, handler_file("json", tmp_path, topic))
    address = f"{kafka_broker.address}/{topic}"
    seen: Any = {"checkpoint": tmp_path / "seen", "job": topic, "master": "none[1]", "create_topics": 1}
    configuration = handler_file("avro_op", tmp_path, f"{topic}.again")
    for count in (len(story.read_bytes().splitlines()), 0):
        result = ggfmt.convert(address, configuration, output=kafka_broker.address, definitions=TABLES, **seen)
        assert result.totals["operations_read"] == count
    again = handler_file("json", tmp_path, topic)
    with pytest.raises(UsageError, match="the topic is an input and an output"):
        ggfmt.convert(address, again, output=kafka_broker.address, definitions=TABLES, master="none[1]")
    sizes = [len(kafka_broker.messages(name)[0]) for name in (topic, f"{topic}.again")]
    assert sizes == [len(story.read_bytes().splitlines())] * 2
