"""The messages of many partitions at once: each range whole, once and in order, or an error with its place."""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka_broker import KafkaBroker, running_broker
from kafka_broker import kafka_broker as kafka_broker

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.consume import Cluster, Pair, Partition


@pytest.fixture
def cluster(kafka_broker: KafkaBroker) -> Iterator[Cluster]:
    with closing(Cluster(ClientSettings(kafka_broker.brokers))) as found:
        yield found


def ranges(cluster: Cluster, topic: str, count: int) -> list[Partition]:
    bounds = cluster.bounds([(topic, number) for number in range(count)])
    return [Partition(*pair, *offsets, f"{pair[0]}/{pair[1]}") for pair, offsets in bounds.items()]


def values(cluster: Cluster, parts: Iterable[Partition]) -> dict[Partition, list[bytes | None]]:
    found: dict[Partition, list[bytes | None]] = defaultdict(list)
    for part, messages in cluster.read(parts):
        assert len(messages)
        found[part] += messages["value"].to_pylist()
    return found


def numbered(broker: KafkaBroker, count: int, partitions: int = 1) -> str:
    topic = broker.topic(partitions)
    for partition in range(partitions):
        broker.send(topic, [(None, b"%d" % number) for number in range(count)], partition=partition)
    return topic


def transactions(broker: KafkaBroker, topic: str, partitions: int, ends: str) -> None:
    """A transaction for each letter, with three messages in each partition: `c` is committed, `a` aborted."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.brokers, "transactional.id": topic})
    producer.init_transactions(20)
    for number, end in enumerate(ends):
        producer.begin_transaction()
        for place in range(3 * partitions):
            producer.produce(topic, f"{number}{end}{place // partitions}", partition=place % partitions)
        producer.flush(20)
        (producer.commit_transaction if end == "c" else producer.abort_transaction)(20)


@pytest.mark.parametrize("ends", ["c", "a", "ca", "ac", "cac", "aacaa", "caaac"])
def test_gaps_of_control_records_and_aborted_messages(ends: str, kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = kafka_broker.topic(5)
    transactions(kafka_broker, topic, 4, ends)  # the last partition is empty
    parts = ranges(cluster, topic, 5)
    found = values(cluster, parts)
    expected = [f"{number}{end}{place}".encode() for number, end in enumerate(ends) if end == "c" for place in range(3)]
    assert [found[part] for part in parts] == [*[expected] * 4, []]


@pytest.mark.parametrize("end", range(9))
def test_a_range_may_end_in_a_gap(end: int, kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = kafka_broker.topic(2)
    transactions(kafka_broker, topic, 2, "cac")
    parts = [Partition(topic, number, start, end, "") for number in (0, 1) for start in range(end + 1)]
    found = values(cluster, parts)
    there = {0: b"0c0", 1: b"0c1", 2: b"0c2", 8: b"2c0"}  # 3: control; 4 to 6: aborted; 7: control
    for part, start in zip(parts, [*range(end + 1)] * 2, strict=True):
        assert found[part] == [value for offset, value in there.items() if start <= offset < end]


def test_ranges_of_one_partition(kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = numbered(kafka_broker, 5_000, 2)
    other = numbered(kafka_broker, 50)
    bounds = [(0, 10), (4_000, 4_500), (5, 4_200), (10, 10), (0, 10), (4_999, 5_000), (0, 5_000), (20, 10)]
    parts = [Partition(topic, 1, *each, "") for each in bounds]
    parts += [parts[0], Partition(other, 0, 0, 50, ""), Partition(topic, 0, 7, 9, "")]
    found = values(cluster, parts)
    wanted = [*bounds, bounds[0], (0, 50), (7, 9)]
    for part, (start, end) in zip(parts, wanted, strict=True):
        assert found[part] == [b"%d" % number for number in range(start, end)]


def test_a_range_ends_where_it_was_asked_to(kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = numbered(kafka_broker, 3_000, 4)
    parts = [Partition(topic, 0, 0, 1, ""), Partition(topic, 1, 0, 3_000, "", limit=7), *ranges(cluster, topic, 4)[2:]]
    found: dict[Partition, int] = defaultdict(int)
    for part, messages in cluster.read(parts):
        found[part] += len(messages)
        if part is parts[2]:
            part.end = part.place
    assert [found[part] for part in parts[:2]] == [1, 7]
    assert found[parts[2]] < 3_000
    assert found[parts[3]] == 3_000
    assert [part.place for part in parts] == [1, 7, found[parts[2]], 3_000]


def test_two_readings_in_turns(kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = numbered(kafka_broker, 2_000, 3)
    parts = ranges(cluster, topic, 3)
    left = [cluster.read([part]) for part in parts[:2]] + [cluster.read([parts[2], parts[2]])]
    found: dict[Partition, list[bytes | None]] = defaultdict(list)
    while left:
        reading = left.pop(0)
        for part, messages in reading:
            found[part] += messages["value"].to_pylist()
            left.append(reading)
            break
    assert [found[part] for part in parts] == [[b"%d" % number for number in range(2_000)]] * 3


def test_messages_that_arrive_meanwhile_are_of_no_range(kafka_broker: KafkaBroker, cluster: Cluster) -> None:
    topic = numbered(kafka_broker, 500, 3)
    found: dict[Pair, list[bytes | None]] = defaultdict(list)
    for part, messages in cluster.read(ranges(cluster, topic, 3)):
        found[part.pair] += messages["value"].to_pylist()
        kafka_broker.send(topic, [(None, b"later")] * 5)
    assert [found[topic, number] for number in range(3)] == [[b"%d" % number for number in range(500)]] * 3


# Harm


def delete_records(broker: KafkaBroker, topic: str) -> None:
    from confluent_kafka import TopicPartition

    settings = ClientSettings(broker.brokers)  # which has to outlive what it is asked
    admin = settings.admin()
    (deleted,) = admin.delete_records([TopicPartition(topic, 1, 30)]).values()
    deleted.result(20)


def delete(broker: KafkaBroker, topic: str) -> None:
    settings = ClientSettings(broker.brokers)
    settings.admin().delete_topics([topic])[topic].result(20)


def make_again(broker: KafkaBroker, topic: str) -> None:
    delete(broker, topic)
    broker.topic(3, topic)
    broker.send(topic, [(None, b"other")] * 5, partition=1)


@pytest.mark.parametrize(
    ("harm", "message"),
    [(delete_records, "messages from offset 20 are gone"), (make_again, "messages from offset 20 are gone")],
)
def test_what_a_topic_loses_while_it_is_read(
    harm: Callable[[KafkaBroker, str], None], message: str, kafka_broker: KafkaBroker, cluster: Cluster
) -> None:
    topic = numbered(kafka_broker, 100, 3)
    parts = ranges(cluster, topic, 3)
    parts[1].end = 20
    parts.append(Partition(topic, 1, 20, 100, f"{topic}/1 again"))  # which is fetched after the others
    reading = cluster.read(parts)
    next(reading)
    harm(kafka_broker, topic)
    with pytest.raises(Abend) as caught:
        list(reading)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.file) == ("GG579", f"{topic}/1 again")
    assert message in found.message


def test_a_topic_that_is_deleted_while_it_is_read(
    kafka_broker: KafkaBroker, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggfmt.kafka.consume.SECONDS", 3.0)
    topic = numbered(kafka_broker, 100)
    reading = cluster.read([Partition(topic, 0, 0, 20, "first"), Partition(topic, 0, 20, 100, "second")])
    next(reading)
    delete(kafka_broker, topic)
    with pytest.raises(Abend) as caught:
        list(reading)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.file) == ("GG571", "second")


@pytest.mark.parametrize("seconds", [1.0, None])
def test_a_broker_that_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None) -> None:
    monkeypatch.setattr("ggfmt.kafka.consume.SECONDS", 3.0)
    with running_broker(tmp_path) as broker:
        topic = broker.topic(3)
        broker.send(topic, [(None, b"1")], partition=1)
        with closing(Cluster(ClientSettings(broker.brokers))) as cluster:
            parts = ranges(cluster, topic, 3)
            parts[0].end = parts[1].end = 10  # as if an open transaction hid them: nothing comes
            parts[1].place = 1
            if seconds is None:
                with pytest.raises(Abend) as caught:
                    values(cluster, parts)
                (found,) = caught.value.diagnostics
                assert (found.code, found.span.file) == ("GG571", f"{topic}/0")
                assert "in 3 seconds at offset 0, although the range ends at 10, nor in 1 more" in found.message
                return
            os.kill(broker.process.pid, signal.SIGSTOP)
            goes_on = threading.Timer(seconds, os.kill, [broker.process.pid, signal.SIGCONT])
            goes_on.start()
            parts[0].end, parts[1].place, parts[1].end = 0, 0, 1
            assert values(cluster, parts) == {parts[1]: [b"1"]}
            goes_on.join()


def test_what_the_client_refuses_is_the_reason(kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker of the tests sends more than it is asked for, and the client takes no more than it is set to."""
    monkeypatch.setattr("ggfmt.kafka.consume.SECONDS", 2.0)
    topic = kafka_broker.topic(1)
    kafka_broker.send(topic, [(None, b"x" * 1000)] * 40)
    sizes = {"message.max.bytes": "1000", "fetch.max.bytes": "1000", "receive.message.max.bytes": "2000"}
    with closing(Cluster(ClientSettings(kafka_broker.brokers, sizes))) as cluster:
        part = Partition(topic, 0, 0, 40, kafka_broker.address)
        with pytest.raises(Abend, match=r"GG571.*range ends at 40: .*increase receive\.message\.max\.bytes"):
            list(cluster.read([part]))
