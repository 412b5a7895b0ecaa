"""Topics of a real broker as inputs: each message once, up to an end that is fixed at the start, at its place."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import time
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import msgspec
import pyarrow.parquet as parquet
import pytest
from command_line import JSON, call, codes
from kafka_broker import KafkaBroker
from kafka_broker import kafka_broker as kafka_broker
from runs import JSON_LINES, content, manifest, operation, run_ggfmt, write_lines
from temporary_files import temporary as temporary

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, GgfmtError, UsageError
from ggfmt.formats.api.topic_index import TopicIndex
from ggfmt.formats.connect.avro import connect_schema
from ggfmt.formats.connect.json_schema import json_schema
from ggfmt.kafka.address import parse_address
from ggfmt.kafka.consume import Cluster
from ggfmt.location import Location
from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef
from ggfmt.reading.checkpoint import Checkpoint, ProcessedInput
from ggfmt.reading.files import InputFile
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.standard_input import SpooledInputs
from ggfmt.reading.topics import TopicRange


@pytest.fixture(autouse=True)
def collected(temporary: Path) -> Iterator[None]:
    """Messages of topics go with the object that reads them."""
    yield
    gc.collect()


def address_of(broker: KafkaBroker, topic: str) -> Any:
    return f"{broker.address}/{topic}"


def value(number: int, **columns: Any) -> bytes:
    return json.dumps(operation(number, **columns)).encode()


def filled(broker: KafkaBroker, count: int = 6, partitions: int = 1) -> str:
    """A topic with operations, those of one key in one partition."""
    topic = broker.topic(partitions)
    broker.send(topic, [(f"{number % 3}".encode(), value(number)) for number in range(count)])
    return topic


def ids(output: Path) -> list[int]:
    """The numbers of the operations in an output, in order."""
    return [json.loads(line)["after"]["AMOUNT"] for line in content(output, "j").splitlines()]


def read(broker: KafkaBroker, topic: str, tmp_path: Path, **others: Any) -> list[int]:
    output = tmp_path / f"out-{time.monotonic_ns()}"
    run_ggfmt([address_of(broker, topic)], output, *JSON_LINES, **others)
    return ids(output)


def refused(broker: KafkaBroker, topic: str, tmp_path: Path, **others: Any) -> Diagnostic:
    with pytest.raises(GgfmtError) as caught:
        read(broker, topic, tmp_path, **others)
    return caught.value.diagnostics[0]


def transaction(broker: KafkaBroker, topic: str, numbers: range, end: str) -> Any:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.brokers, "transactional.id": f"{topic}-{numbers}"})
    producer.init_transactions(20)
    producer.begin_transaction()
    for number in numbers:
        producer.produce(topic, value(number))
    producer.flush(20)
    if end != "none":
        getattr(producer, f"{end}_transaction")(20)
    return producer


def test_a_topic_is_read_as_a_dump_of_it_is(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    values = [value(1, NAME='é "\\ 😀\n'), None, value(2), b"", json.dumps(operation(3), indent=1).encode()]
    messages = [(b'{"ID":1}' if number else b"\xff\0", each) for number, each in enumerate(values)]
    kafka_broker.send(topic, messages, headers=[("h", b"\xff"), ("n", None)])
    lines = [
        {"topic": topic, "partition": 0, "offset": n, "key": "k", "payload": None if v is None else v.decode()}
        for n, v in enumerate(values)
    ]
    write_lines(tmp_path / "dump.json", lines)
    run_ggfmt([tmp_path / "dump.json"], tmp_path / "expected", *JSON_LINES)
    run_ggfmt([address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES)
    assert content(tmp_path / "out", "j") == content(tmp_path / "expected", "j")
    assert ids(tmp_path / "out") == [1, 2, 3]
    (entry,) = manifest(tmp_path / "out")["inputs"]
    assert entry["path"] == f"{kafka_broker.address}/{topic}/0"


def test_a_message_of_a_transaction_has_several_records(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    values = b"\r\n" + value(1) + value(2), BOM_UTF8 + value(3) + b"\n" + value(4) + b"\n", BOM_UTF8 + value(5)
    kafka_broker.send(topic, [(None, each) for each in values])
    output = tmp_path / "out"
    run_ggfmt([address_of(kafka_broker, topic)], output, *JSON_LINES, "gg.handler.j.includeTokens=true")
    assert ids(output) == [1, 2, 3, 4, 5]
    assert [json.loads(line)["tokens"]["offset"] for line in content(output, "j").splitlines()] == list("00112")


def test_bad_values_are_rejected_at_their_place_with_all_bytes(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, value(1)), (None, b"\0\0\0\0\1\xff"), (None, b"no JSON"), (None, value(2))])
    place = f"{kafka_broker.address}/{topic}/0"
    found = refused(kafka_broker, topic, tmp_path)
    assert (found.code, found.span.file, found.span.message, found.span.offset) == ("GG321", place, 1, None)
    assert f"{place}, offset 1" in str(found)
    result = ggfmt.convert(
        f"{kafka_broker.address}/{topic}", to="json", output=tmp_path / "out", master="none[1]", on_reject="quarantine"
    )
    rejects = list(result.rejects)
    assert [(reject.offset, reject.file) for reject in rejects] == [(1, place), (2, place)]
    assert [reject.record for reject in rejects] == [b"\0\0\0\0\1\xff", b"no JSON"]
    assert [reject.code for reject in rejects] == ["GG321", "GG301"]


@pytest.mark.parametrize("first", [b"no JSON", b"\0\xff", b"Obj\1", b'"text"'])
def test_a_bad_first_value_is_one_reject(first: bytes, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, None), (None, first), (None, value(1, NAME="x" * 400_000)), (None, value(2))])
    given = {"to": "json", "output": tmp_path / "out", "master": "none[1]", "on_reject": "quarantine"}
    result = ggfmt.convert(address_of(kafka_broker, topic), **given)  # type: ignore[arg-type]
    assert [reject.offset for reject in result.rejects] == [1]
    assert result.totals["operations_read"] == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from=2&to=4", [2, 3]),
        ("from=beginning&to=1", [0]),
        ("from=end", []),
        ("to=100", [0, 1, 2, 3, 4, 5]),
        ("from=6", []),
        ("from=2000-01-01T00:00:00&to=2000-01-01T00:00:00Z", []),
        ("from=1009843200000", [0, 1, 2, 3, 4, 5]),
        ("partitions=0", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_range(query: str, expected: list[int], kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    assert read(kafka_broker, f"{filled(kafka_broker)}?{query}", tmp_path) == expected


def test_a_range_by_time(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(minutes=1)  # the broker deletes old messages
    times = [start + timedelta(seconds=number) for number in range(4)]
    milliseconds = [int(time.timestamp() * 1000) for time in times]
    for number, time_of in enumerate(milliseconds):
        kafka_broker.send(topic, [(None, value(number))], timestamp=time_of)
    naive = times[1].replace(tzinfo=None).isoformat()
    assert read(kafka_broker, f"{topic}?from={naive}&to={milliseconds[2]}", tmp_path) == [1]
    zoned = times[1].astimezone(timezone(timedelta(hours=1))).isoformat().replace("+", "%2B")
    assert read(kafka_broker, f"{topic}?from={zoned}", tmp_path) == [1, 2, 3]


@pytest.mark.parametrize(
    ("rest", "code", "said"),
    [
        ("{topic}?form=2", "GG571", "did you mean `from`?"),
        ("{topic}?from=soon", "GG571", "`from` cannot be `soon`"),
        ("{topic}?from=999999999999999999", "GG571", "`from` cannot be `999999999999999999`"),
        ("{topic}?partitions=2-1", "GG571", "`partitions` cannot be"),
        ("{topic}?partitions=0,3", "GG579", "no partition 3"),
        ("{topic}?from=4&to=2", "GG571", "`to` is before `from`"),
        ("{topic}?from=7", "GG579", "offset 7 is after the end of the partition, 6"),
        ("{topic}x", "GG572", "did you mean `{topic}`?"),
        ("nothing.*", "GG572", "the topic does not exist"),
        ("", "GG571", "names no topic"),
    ],
)
def test_what_is_refused(rest: str, code: str, said: str, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = filled(kafka_broker)
    found = refused(kafka_broker, rest.format(topic=topic), tmp_path)
    assert found.code == code
    assert said.format(topic=topic) in str(found)


def commit(broker: KafkaBroker, topic: str, group: str, offsets: dict[int, int]) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.brokers, "group.id": group})
    wanted = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
    consumer.commit(offsets=wanted, asynchronous=False)
    consumer.close()


def test_a_range_from_the_offsets_of_a_group(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    from confluent_kafka import Consumer, TopicPartition

    topic = kafka_broker.topic(2)
    for number in range(2):
        kafka_broker.send(topic, [(None, value(10 * number + place)) for place in range(4)], partition=number)
    group = f"g {topic}"
    query = f"{topic}?from=group:{group.replace(' ', '%20')}"
    assert refused(kafka_broker, query, tmp_path).code == "GG571"
    commit(kafka_broker, topic, group, {0: 2})
    assert read(kafka_broker, query, tmp_path) == [2, 3, 10, 11, 12, 13]
    commit(kafka_broker, topic, group, {1: 4})
    assert read(kafka_broker, query, tmp_path) == [2, 3]
    commit(kafka_broker, topic, group, {1: 5})
    assert refused(kafka_broker, query, tmp_path).code == "GG579"
    consumer = Consumer({"bootstrap.servers": kafka_broker.brokers, "group.id": group})
    left = consumer.committed([TopicPartition(topic, number) for number in range(2)], timeout=10)
    consumer.close()
    assert [place.offset for place in left] == [2, 5]  # reading has committed nothing


def test_a_group_is_no_end(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    for query in ("to=group:g", "from=group:"):
        assert refused(kafka_broker, f"{filled(kafka_broker)}?{query}", tmp_path).code == "GG571"


def test_values_that_a_program_has_compressed_are_refused(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, gzip.compress(value(1)))])
    found = refused(kafka_broker, topic, tmp_path)
    assert (found.code, found.message) == ("GG309", "the first value is a gzip file, which ggfmt does not read")


def test_several_topics_and_globs(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    name = kafka_broker.topic(1)
    for number, ending in enumerate("ba"):
        kafka_broker.send(kafka_broker.topic(1, f"{name}.{ending}"), [(None, value(number))])
    kafka_broker.send(name, [(None, value(2))])
    assert read(kafka_broker, f"{name}.*", tmp_path) == [1, 0]
    assert read(kafka_broker, f"{name},{name}.*,{name}.a", tmp_path) == [2, 1, 0]


def test_a_partition_is_read_once(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = filled(kafka_broker, partitions=2)
    given = [address_of(kafka_broker, f"{topic}?partitions=0"), address_of(kafka_broker, topic)]
    with pytest.raises(UsageError, match="the partition is an input twice"):
        run_ggfmt(given, tmp_path / "out", *JSON_LINES)
    given[0] = f"kafka://localhost:{kafka_broker.port}/{topic}"
    with pytest.raises(UsageError, match="the partition is an input twice"):
        run_ggfmt(given, tmp_path / "out", *JSON_LINES)
    given[0] += "?partitions=0"
    run_ggfmt([given[0], address_of(kafka_broker, f"{topic}?partitions=1")], tmp_path / "out", *JSON_LINES)
    assert sorted(ids(tmp_path / "out")) == [0, 1, 2, 3, 4, 5]


def test_only_committed_messages_before_the_first_open_transaction(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    transaction(kafka_broker, topic, range(2), "commit")
    transaction(kafka_broker, topic, range(10, 13), "abort")
    assert read(kafka_broker, topic, tmp_path) == [0, 1]
    producer = transaction(kafka_broker, topic, range(20, 22), "none")
    kafka_broker.send(topic, [(None, value(30))])
    assert read(kafka_broker, topic, tmp_path) == [0, 1]
    producer.commit_transaction(20)
    assert read(kafka_broker, topic, tmp_path) == [0, 1, 20, 21, 30]
    assert read(kafka_broker, f"{topic}?from=3&to=6", tmp_path) == []


def test_empty_topics_and_partitions(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    assert read(kafka_broker, kafka_broker.topic(2), tmp_path) == []
    topic = kafka_broker.topic(3)
    kafka_broker.send(topic, [(None, value(1))], partition=2)
    assert read(kafka_broker, topic, tmp_path) == [1]


@pytest.mark.example("GG579")
def test_messages_that_a_topic_has_deleted_are_an_error(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    topic = filled(kafka_broker)
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    for future in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        future.result(20)
    found = refused(kafka_broker, f"{topic}?from=0", tmp_path)
    assert found.code == "GG579"
    assert "offset 0 to 3 are gone" in found.message
    assert read(kafka_broker, topic, tmp_path) == [4, 5]


def test_messages_that_go_while_a_topic_is_read_are_an_error(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import KafkaError

    class Event:
        def __init__(self, code: int, topic: str | None) -> None:
            self.error, self.topic = (lambda: KafkaError(code)), (lambda: topic)
            self.partition, self.offset = (lambda: 0), (lambda: None)

    class Consumer:
        def poll(self, seconds: float) -> Event:
            return Event(KafkaError.GROUP_AUTHORIZATION_FAILED, None)  # no one needs the group

        def consume(self, count: int, seconds: float) -> list[Event]:
            return [Event(KafkaError._UNKNOWN_PARTITION, topic)]

        def __getattr__(self, name: str) -> Any:
            return lambda *given: None

    topic = filled(kafka_broker)
    original = Cluster.read

    def failing(self: Cluster, parts: Any) -> Any:
        if parts:  # else a comparison with marks of a checkpoint, of which there is none
            self._consumer.close()
            self._consumer = Consumer()  # type: ignore[assignment]
        return original(self, parts)

    monkeypatch.setattr(Cluster, "read", failing)
    found = refused(kafka_broker, topic, tmp_path)
    assert (found.code, found.message) == ("GG571", "Kafka: Local: Unknown partition")


def test_the_end_is_fixed_at_the_start(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = filled(kafka_broker)
    bounds = Cluster.bounds

    def then_more(self: Cluster, *given: Any) -> Any:
        found = bounds(self, *given)
        kafka_broker.send(topic, [(None, value(100))])
        return found

    monkeypatch.setattr(Cluster, "bounds", then_more)
    assert read(kafka_broker, topic, tmp_path) == [0, 1, 2, 3, 4, 5]


AVRO = b"\0\0\0\0\1\2x"
# What each partition of a topic has; and the kind of the topic, which is that of the first one with values.
ARRIVALS: dict[str, tuple[list[list[bytes | None]], str]] = {
    "JSON": ([[b'{"a":1}', b"a"], [b"b", b'{"a":2}', AVRO], [AVRO, b'{"a":3}']], "JSON"),
    "deletes first": ([[None, None], [None, b'{"a":1}'], [b"text", None], [None]], "JSON"),
    "text": ([[b"a|b", None], [b'{"a":1}', None], [b"c|d"]], "text"),
    "empty first": ([[], [b""], [b"a|b"], [b'{"a":1}', None]], "text"),
    "no values": ([[None, b""], [None]], ""),
    "most of the first": ([[b"a", *[b'{"a":1}'] * 120], [b"b"] * 120], "JSON"),
}


@pytest.mark.parametrize("name", ARRIVALS)
def test_the_order_in_which_partitions_arrive_does_not_matter(
    name: str, kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions, kind = ARRIVALS[name]
    topic = kafka_broker.topic(len(partitions))
    for number, own in enumerate(partitions):
        kafka_broker.send(topic, [(b"k", each) for each in own], partition=number)
    original = Cluster.read

    def reading(order: int) -> list[list[bytes | None]]:
        def reordered(self: Cluster, parts: Any) -> Any:
            parts = list(parts)
            found = [
                (part, messages.slice(row, 1))
                for part, messages in original(self, parts)
                for row in range(len(messages))
            ]
            if order:  # one by one, and the last partitions first, or all in turns
                found.sort(key=lambda item: -item[0].number if order == 1 else item[1]["offset"][0].as_py())
            return iter(found)

        monkeypatch.setattr(Cluster, "read", reordered if order else original)
        with ExitStack() as held:
            files = list_inputs([address_of(kafka_broker, topic)], spooled=SpooledInputs(held))
            return [kept(file) for file in files]

    def kept(file: InputFile) -> list[bytes | None]:
        """The values in a file, by its index."""
        data, index = Path(file.location.path).read_bytes(), TopicIndex.of(file.messages)
        rows = [] if index is None else index.between(0, len(data)).to_pylist()
        if kind == "JSON":
            assert [(row["offset"], row["key"]) for row in rows] == [(place, b"k") for place in range(len(rows))]
        values = [data[row["start"] : row["end"]].removesuffix(b"\n") for row in rows]
        return [None if value == b"null" else value for value in values]

    for order in range(3):
        found = reading(order)
        if kind == "JSON":
            assert found == partitions
        else:
            assert found == [[value for value in own if value and kind] for own in partitions]


@pytest.mark.example("GG321")
@pytest.mark.parametrize("order", [1, -1])
def test_a_value_of_another_kind_in_another_partition(
    order: int, kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first partition says that the values are Avro; the other has one that is not, or that is all it has."""
    topic = kafka_broker.topic(2)
    kafka_broker.send(topic, [(None, AVRO)] * 150, partition=0)
    kafka_broker.send(topic, [(None, b'{"a":1}')] * 150, partition=1)
    original = Cluster.read

    def ordered(self: Cluster, parts: Any) -> Any:
        return iter(sorted(original(self, parts), key=lambda item: order * item[0].number))

    monkeypatch.setattr(Cluster, "read", ordered)
    with ExitStack() as held, pytest.raises(Abend) as caught:
        list_inputs([address_of(kafka_broker, topic)], spooled=SpooledInputs(held))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.file, found.span.message) == ("GG321", f"{address_of(kafka_broker, topic)}/1", 0)


def test_a_topic_that_is_made_again_while_it_is_read(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with brokers that have ids: the new topic may have as many messages as the old one."""
    topic = filled(kafka_broker)
    known = iter(["first", "second"])
    monkeypatch.setattr("ggfmt.kafka.cluster.topic_ids", lambda settings, names: {topic: next(known)})
    found = refused(kafka_broker, topic, tmp_path)
    assert found.code == "GG579"
    assert "made again while ggfmt read it" in found.message


# Values that are no JSON

PLACES = ["file", "offset", "seq"]


COLUMNS = (Column("ID", SqlType(Kind.STRING), key=1), Column("NAME", STRING), Column("AMOUNT", STRING))
DELIMITED: Any = {"input_format": "delimitedtext", "definitions": {"GG.TCUSTORD": TableDef("GG.TCUSTORD", COLUMNS)}}


@pytest.mark.parametrize("name", ["xml", "avro_row", "avro_op"])
def test_values_that_follow_each_other(name: str, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(number) for number in range(4)])
    run_ggfmt([tmp_path / "in.json"], tmp_path / name, f"gg.handler.j.format={name}")
    whole = content(tmp_path / name, "j")
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, None), (None, whole), (None, b""), (None, whole)])
    (tmp_path / "file").write_bytes(whole + b"\n" * (name == "xml") + whole)
    given: Any = {"input_format": name}
    if name != "xml":
        given["definitions"] = tmp_path / name / "dirdef"
    of_file = ggfmt.scan(tmp_path / "file", **given).read_all()
    of_topic = ggfmt.scan(f"{kafka_broker.address}/{topic}", **given).read_all()
    assert of_topic.num_rows == 8
    assert of_topic.drop_columns(PLACES).equals(of_file.drop_columns(PLACES))


def test_one_avro_container(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(number) for number in range(4)])
    run_ggfmt([tmp_path / "in.json"], tmp_path / "avro", "gg.handler.j.format=avro_op_ocf")
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, content(tmp_path / "avro", "j"))])
    assert read(kafka_broker, topic, tmp_path) == [0, 1, 2, 3]
    kafka_broker.send(topic, [(None, content(tmp_path / "avro", "j"))])
    found = refused(kafka_broker, topic, tmp_path)
    assert (found.code, found.span.message) == ("GG321", 1)
    assert read(kafka_broker, f"{topic}?from=1", tmp_path) == [0, 1, 2, 3]


def test_delimited_text(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(number) for number in range(4)])
    run_ggfmt([tmp_path / "in.json"], tmp_path / "text", "gg.handler.j.format=delimitedtext")
    lines = content(tmp_path / "text", "j").splitlines()
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, None), *((None, line) for line in lines[:2]), (None, lines[2] + b"\n" + lines[3])])
    found: list[Any] = [address_of(kafka_broker, topic)]
    run_ggfmt(found, tmp_path / "out", *JSON_LINES, **DELIMITED)
    assert [row["after"]["ID"] for row in map(json.loads, content(tmp_path / "out", "j").splitlines())] == list("0123")
    kafka_broker.send(topic, [(None, b"?\x01GG.TCUSTORD"), (None, lines[0])])
    with pytest.raises(Abend) as caught:
        run_ggfmt(found, tmp_path / "again", *JSON_LINES, **DELIMITED)
    span = caught.value.diagnostics[0].span
    assert (span.file, span.message) == (f"{found[0]}/0", 4)


VALUE = {"type": "record", "name": "Value", "fields": [{"name": "ID", "type": "long"}]}
SCHEMA = {
    "type": "record",
    "name": "Envelope",
    "namespace": "s.public.orders",
    "fields": [
        {"name": "before", "type": ["null", VALUE]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": name, "type": "string"} for name in ("connector", "db", "schema", "table")],
            },
        },
    ],
}


def in_wire_format(number: int) -> bytes:
    stream = io.BytesIO()
    source = {"connector": "postgresql", "db": "d", "schema": "public", "table": "orders"}
    row = {"before": None, "after": {"ID": number}, "op": "c", "ts_ms": number, "source": source}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(SCHEMA), row)
    return b"\0\0\0\0\7" + stream.getvalue()


def test_the_wire_format_of_confluent(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, in_wire_format(number)) for number in range(5)])
    (tmp_path / "7.avsc").write_text(json.dumps(SCHEMA))
    given: Any = {"input_format": "debezium_avro", "schemaRegistryDirectory": str(tmp_path)}
    found = ggfmt.scan(f"{kafka_broker.address}/{topic}", "public.orders", **given).read_all()
    assert [row["ID"] for row in found.column("after").to_pylist() if row is not None] == [0, 1, 2, 3, 4]
    kafka_broker.send(topic, [(None, value(1))])
    with pytest.raises(Abend) as caught:
        ggfmt.scan(f"{kafka_broker.address}/{topic}", **given)
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].span.message) == ("GG321", 5)


def test_a_message_of_another_schema_takes_nothing_from_the_next(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(1)
    (tmp_path / "7.avsc").write_text(json.dumps(SCHEMA))
    (tmp_path / "9.json").write_text(json.dumps(json_schema(connect_schema(SCHEMA))))
    source = {"connector": "postgresql", "db": "d", "schema": "public", "table": "orders"}
    document = json.dumps({"before": None, "after": {"ID": 3}, "op": "c", "ts_ms": 1, "source": source}).encode()
    good, deleted, cut = in_wire_format(1), b"\0\0\0\0\x08" + in_wire_format(5)[5:], in_wire_format(2)[:-1]
    values = [good, deleted, good, None, cut, b"\0\0", b"\0\0\0\0\x09" + document, b"\0\0\0\0\x09{", good, b"\0"]
    kafka_broker.send(topic, [(None, each) for each in values])
    given: Any = {"input_format": "debezium_avro", "schema_registry": tmp_path, "on_reject": "quarantine"}
    output = tmp_path / "out"
    result = ggfmt.convert(address_of(kafka_broker, topic), to="json", output=output, master="none[1]", **given)
    asked: list[str | Path] = ["--to", "json", "--input-format", "debezium_avro", "--schema-registry", tmp_path]
    shown = call("preview", address_of(kafka_broker, topic), *asked).output
    assert "Message 4: insert" in shown
    assert "offset 5: error[GG302]" in shown
    rejects = [(reject.offset, reject.code, reject.record) for reject in result.rejects]
    codes = {1: "GG318", 4: "GG319", 5: "GG302", 7: "GG301", 9: "GG302"}
    assert rejects == [(place, code, values[place]) for place, code in codes.items()]
    written = [json.loads(line) for line in (tmp_path / "out").rglob("*.json").__next__().read_text().splitlines()]
    assert [row["after"]["ID"] for row in written] == [1, 1, 3, 1]


@pytest.mark.parametrize("kind", ["avsc", "json"])
def test_keys_in_the_wire_format_name_the_primary_key(kind: str, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(2)
    messages = [(b"\0\0\0\0\x08" + bytes([number % 3 * 2]), in_wire_format(number % 3)) for number in range(6)]
    (tmp_path / "7.avsc").write_text(json.dumps(SCHEMA))
    key: Any = {"type": "record", "name": "Key", "fields": [{"name": "ID", "type": "long"}]}
    if kind == "json":
        messages = [
            (b"\0\0\0\0\x08" + b'{"ID":%d}' % (number % 3), value) for number, (_, value) in enumerate(messages)
        ]
        key = json_schema(connect_schema(key))
    (tmp_path / f"8.{kind}").write_text(json.dumps(key))
    kafka_broker.send(topic, [*messages, (messages[0][0], None)])
    ggfmt.consolidate(
        address_of(kafka_broker, topic), tmp_path / "rows", to="parquet", master="none[1]",
        input_format="debezium_avro", schema_registry=tmp_path,
    )  # fmt: skip
    (file,) = (tmp_path / "rows").rglob("*.parquet")
    assert sorted(row["ID"] for row in parquet.read_table(file).to_pylist()) == [0, 1, 2]


# Checkpoints


def test_a_checkpoint_has_the_offsets(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(2)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    output = tmp_path / "out"

    def again() -> list[int]:
        run_ggfmt([address_of(kafka_broker, topic)], output, *JSON_LINES, **seen)
        return ids(output)

    kafka_broker.send(topic, [(None, value(0))], partition=0)
    assert again() == [0]
    transaction(kafka_broker, topic, range(10, 12), "abort")
    kafka_broker.send(topic, [(None, value(1))], partition=1)
    assert again() == [0, 1]
    before = manifest(output)["run"]
    assert again() == [0, 1]
    assert manifest(output)["run"] == before
    file = write_lines(tmp_path / "in.json", [operation(5)])
    run_ggfmt([file, address_of(kafka_broker, topic)], output, *JSON_LINES, **seen)
    assert ids(output) == [0, 1, 5]
    kafka_broker.send(topic, [(None, value(2))], partition=0)
    run_ggfmt([address_of(kafka_broker, f"{topic}?from=0"), file], output, *JSON_LINES, **seen)
    assert ids(output) == [0, 1, 5, 2]


def test_a_checkpoint_knows_a_topic_by_one_address_and_takes_new_partitions(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

    topic = filled(kafka_broker, 2)
    target = tmp_path / "out"
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    run_ggfmt([address_of(kafka_broker, topic)], target, *JSON_LINES, **seen)
    other: Any = f"kafka://localhost:{kafka_broker.port}/{topic}"
    with pytest.raises(UsageError, match="the checkpoint has this topic by another address"):
        run_ggfmt([other], target, *JSON_LINES, **seen)
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(20)
    kafka_broker.send(topic, [(None, value(7))], partition=2)
    run_ggfmt([address_of(kafka_broker, topic)], target, *JSON_LINES, **seen)
    assert ids(target) == [0, 1, 7]


def test_a_failed_run_leaves_its_range_to_the_next(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = filled(kafka_broker, 2)
    target = tmp_path / "out"
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    address: Any = f"{kafka_broker.address}/{topic}"
    run_ggfmt([address], target, *JSON_LINES, **seen)
    kafka_broker.send(topic, [(None, value(2)), (None, b"bad")])
    for _ in range(2):
        with pytest.raises(Abend) as caught:
            run_ggfmt([address], target, *JSON_LINES, **seen)
        assert caught.value.diagnostics[0].span.message == 3
    run_ggfmt([address], target, *JSON_LINES, **seen, quarantine=True)
    assert ids(target) == [0, 1, 2]


def test_a_topic_that_was_made_again_is_an_error(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient

    topic = filled(kafka_broker)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    address: Any = f"{kafka_broker.address}/{topic}"
    run_ggfmt([address], tmp_path / "out", *JSON_LINES, **seen)
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    admin.delete_topics([topic])[topic].result(20)
    kafka_broker.topic(1, topic)
    kafka_broker.send(topic, [(None, value(9))])
    with pytest.raises(UsageError) as caught:
        run_ggfmt([address], tmp_path / "out", *JSON_LINES, **seen)
    assert caught.value.diagnostics[0].code == "GG579"
    assert "another topic of that name" in str(caught.value)


def made_again(broker: KafkaBroker, topic: str, partitions: int = 1, config: dict[str, str] | None = None) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": broker.brokers})
    admin.delete_topics([topic])[topic].result(20)
    broker.topic(partitions, topic, config)


@pytest.mark.parametrize("numbers", [range(20, 40), [0, 1, 2, 3, 4, 5, 6, 7]], ids=["other values", "equal values"])
def test_a_topic_that_was_made_again_with_more_messages_is_another_one(
    numbers: Sequence[int], kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = filled(kafka_broker)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    read_again = partial(run_ggfmt, [address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    read_again()
    read_again()  # nothing new; the topic is known again
    made_again(kafka_broker, topic)
    kafka_broker.send(topic, [(None, value(number)) for number in numbers])
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            read_again()
        (found,) = caught.value.diagnostics
        assert (found.code, found.span.file) == ("GG579", f"{kafka_broker.address}/{topic}/0")
        assert "is not the one of the checkpoint" in found.message
        assert found.help is not None
        assert "new `--checkpoint`" in found.help
    assert ids(tmp_path / "out") == list(range(6))


def test_the_id_of_a_topic_that_was_made_again(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with brokers that have ids; messages are not compared then, so that retention and compaction are harmless."""

    topic = filled(kafka_broker)
    known = {topic: "Tt5vZkNGSfaVO8mtdpGLaA"}
    monkeypatch.setattr("ggfmt.kafka.cluster.topic_ids", lambda settings, names: known)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    read_again = partial(run_ggfmt, [address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    read_again()
    kafka_broker.send(topic, [(None, value(6))])
    read_again()
    known[topic] = "another"
    with pytest.raises(UsageError, match=r"GG579.*its id was `Tt5vZkNGSfaVO8mtdpGLaA`, and is `another`"):
        read_again()
    known.clear()  # a broker without ids: the message decides
    kafka_broker.send(topic, [(None, value(7))])
    read_again()
    assert ids(tmp_path / "out") == list(range(8))


def test_messages_that_a_topic_no_longer_keeps_do_not_matter_once_they_were_read(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    topic = filled(kafka_broker)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    run_ggfmt([address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    (deleted,) = admin.delete_records([TopicPartition(topic, 0, 6)]).values()
    deleted.result(20)
    kafka_broker.send(topic, [(None, value(6))])
    run_ggfmt([address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    assert ids(tmp_path / "out") == list(range(7))


def test_a_checkpoint_of_an_earlier_version_has_offsets_alone(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = filled(kafka_broker)
    seen: Any = {"checkpoint": str(tmp_path / "seen")}
    run_ggfmt([address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    (segment,) = (tmp_path / "seen").rglob("*.jsonl")
    block, record = segment.read_text().splitlines()
    without = [*json.loads(record)[:6], "", *json.loads(record)[7:]]
    segment.write_text(f"{block}\n{json.dumps(without)}\n")
    kafka_broker.send(topic, [(None, value(6))])
    run_ggfmt([address_of(kafka_broker, topic)], tmp_path / "out", *JSON_LINES, **seen)
    assert ids(tmp_path / "out") == list(range(7))


def test_the_ranges_of_an_interrupted_run_are_read_again_and_no_others(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = filled(kafka_broker, 12, 2)
    address = address_of(kafka_broker, topic)
    seen = tmp_path / "seen"
    first: Any = f"{address}?partitions=0&to=1"
    run_ggfmt([first], tmp_path / "out", *JSON_LINES, checkpoint=str(seen))
    checkpoint = Checkpoint(Location.of(str(seen)))
    ends, begun = checkpoint.offsets(None)
    assert (ends, begun) == ({f"{address}/0": 1}, None)
    only = [msgspec.to_builtins(ProcessedInput(f"{address}/{n}", 3, None, None, "", False, start=n)) for n in (0, 1)]
    ends, begun = checkpoint.offsets(only)
    with ExitStack() as held:
        files = list_inputs([address], spooled=SpooledInputs(held, ends=ends, begun=begun))
        assert [(file.shown, file.offsets) for file in files] == [(f"{address}/0", (0, 3)), (f"{address}/1", (1, 3))]
        assert [file.shown for file in checkpoint.choose(files, only=only).files] == [f"{address}/0", f"{address}/1"]
        with pytest.raises(UsageError, match="no longer among the inputs"):
            checkpoint.choose(files[:1], only=only)


# Commands


def test_rows_of_a_topic_with_several_partitions(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.topic(3)
    source = {"connector": "postgresql", "db": "d", "schema": "public", "table": "orders"}
    messages: list[tuple[bytes | None, bytes | None]] = []
    for number in range(300):
        row = {"ID": number % 20, "N": number}
        event = {"before": None, "after": row, "op": "c" if number < 20 else "u", "source": source, "ts_ms": number}
        messages.append((json.dumps({"ID": row["ID"]}).encode(), json.dumps(event).encode()))
    messages.append((b'{"ID": 3}', None))
    kafka_broker.send(topic, messages)
    ggfmt.consolidate(f"{kafka_broker.address}/{topic}", tmp_path / "rows", to="parquet", master="none[1]")
    (file,) = (tmp_path / "rows").rglob("*.parquet")
    rows = parquet.read_table(file).to_pylist()
    assert sorted((row["ID"], row["N"]) for row in rows) == [(number, 280 + number) for number in range(20)]


def test_scan_has_the_messages_for_as_long_as_its_reader(kafka_broker: KafkaBroker, temporary: Path) -> None:
    reader = ggfmt.scan(f"{kafka_broker.address}/{filled(kafka_broker)}")
    assert len(os.listdir(temporary)) == 1
    assert reader.read_all().num_rows == 6
    del reader
    gc.collect()
    assert os.listdir(temporary) == []
    with pytest.raises(UsageError):
        ggfmt.scan(f"{kafka_broker.address}/{filled(kafka_broker)}", schema="nothing string")


def test_preview_and_dry_run_read_little(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = filled(kafka_broker, 30_000, 2)
    taken = []
    original = Cluster.read

    def counting(self: Cluster, parts: Any) -> Any:
        for part, messages in original(self, parts):
            taken.append(len(messages))
            yield part, messages

    monkeypatch.setattr(Cluster, "read", counting)
    ended = call("preview", f"{kafka_broker.address}/{topic}", *JSON)
    assert ended.exit_code == 0, ended.output
    assert "GG.TCUSTORD" in ended.output
    assert sum(taken) < 15_000
    taken.clear()
    address = f"{kafka_broker.address}/{topic}"
    ended = call("run", address, *JSON, "-o", tmp_path / "out", "--dry-run", "--master", "none")
    assert ended.exit_code == 0, ended.output
    assert f"{address}/1" in ended.output
    assert sum(taken) <= 15_000
    assert "GG.TCUSTORD" in call("schema", address, "--kind", "json").output


def test_workers_of_a_cluster_need_a_staging_directory(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    ended = call("run", f"{kafka_broker.address}/t", *JSON, "-o", tmp_path / "out", "--master", "spark://h:7077")
    assert codes(ended) == ["GG518"]
    given = write_lines(tmp_path / "in.json", [operation(1)])
    ended = call("run", given, *JSON, "-o", kafka_broker.address, "--master", "spark://h:7077")
    assert codes(ended) == ["GG519"]
    staging = tmp_path / "staging"
    staging.mkdir()
    result = ggfmt.convert(
        f"{kafka_broker.address}/{filled(kafka_broker)}", to="json", output=tmp_path / "out", master="none[1]",
        staging=staging,
    )  # fmt: skip
    assert result.totals["operations_read"] == 6
    assert os.listdir(staging) == []
    ended = call("run", f"{kafka_broker.address}/{filled(kafka_broker)}", *JSON, "--staging", tmp_path / "none", "-o",
                 tmp_path / "other", "--master", "none")  # fmt: skip
    assert codes(ended) == ["GG518"]


def test_a_broker_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.kafka.consume.SECONDS", 0.5)
    ended = call("run", "kafka://127.0.0.1:1/t", *JSON, "-o", tmp_path / "out", "--master", "none")
    assert codes(ended) == ["GG571"]
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")


def test_the_options_of_an_address() -> None:
    address = "kafka://h/a,b.*?from=5&to=end&partitions=3,0-1"
    wanted = TopicRange.of(address)
    assert (wanted.address, wanted.start, wanted.end) == (parse_address(address), 5, "end")
    assert wanted.partitions == [0, 1, 3]


@pytest.mark.parametrize("option", ["from", "to"])
@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2026-01-31T18:30:00+05:30", 13.0),
        ("2026-01-31T18:30:00%2B05:30", 13.0),
        ("2026-01-31T18:30:00-05:30", 24.0),
        ("2026-01-31+18:30:00", 18.5),
        ("2026-01-31+18:30:00+05:30", 13.0),
        ("2026-01-31T18:30:00", 18.5),
    ],
)
def test_the_zone_of_a_time(option: str, text: str, hours: float) -> None:
    wanted = TopicRange.of(f"kafka://h/a+b?{option}={text}")
    point = wanted.start if option == "from" else wanted.end
    assert point == datetime(2026, 1, 31, tzinfo=timezone.utc) + timedelta(hours=hours)
    assert wanted.address.topic == "a+b"
