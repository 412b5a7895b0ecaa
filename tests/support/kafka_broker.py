"""A broker of Kafka for tests: noida-db, one binary that speaks the protocol, as a process of its own."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PACKAGE = importlib.util.find_spec("noida_db")
PROGRAM = Path(_PACKAGE.origin).with_name("noida-db") if _PACKAGE is not None and _PACKAGE.origin else None
_START_SECONDS = 30.0


@dataclass
class KafkaBroker:
    """A running broker; `brokers` is what clients take as `bootstrap.servers`.

    It writes its data to files each second: a kill loses what is newer.
    """

    port: int
    directory: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start the broker again after `kill`, with what it has written to files."""
        self.process = _start(self.port, self.directory)

    @property
    def brokers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"kafka://{self.brokers}"

    def topic(self, partitions: int = 3, name: str | None = None, config: Mapping[str, str] | None = None) -> str:
        """Make a topic, by default with a name of its own, and return the name."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        name = name or f"t{uuid.uuid4().hex[:10]}"
        admin = AdminClient({"bootstrap.servers": self.brokers})
        admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))])[name].result(15)
        return name

    def send(self, topic: str, messages: Sequence[tuple[bytes | None, bytes | None]], **own: object) -> None:
        """Send pairs of key and value; `own` as of `Producer.produce`."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.brokers, "partitioner": "murmur2_random"})
        for key, value in messages:
            producer.produce(topic, value, key, **own)  # type: ignore[arg-type]
        assert not producer.flush(20)

    def messages(self, topic: str, isolation: str = "read_committed") -> list[list[tuple[bytes | None, bytes | None]]]:
        """Return key and value of all messages, by partition, as an independent consumer sees them."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.brokers,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,
            }
        )
        try:
            partitions = consumer.list_topics(topic, 10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            found: list[list[tuple[bytes | None, bytes | None]]] = [[] for _ in partitions]
            waiting = set(partitions)
            limit = time.monotonic() + 60
            while waiting:
                assert time.monotonic() < limit, f"no end of the partitions {waiting}"
                for message in consumer.consume(10_000, 0.05):
                    error = message.error()
                    if error is None:
                        found[message.partition() or 0].append((message.key(), message.value()))
                    else:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        waiting.discard(message.partition())
            return found
        finally:
            consumer.close()


@contextmanager
def running_broker(directory: Path) -> Iterator[KafkaBroker]:
    """A broker with its data in a directory; a test is skipped where its wheel is not installed."""
    if PROGRAM is None:
        pytest.skip("noida-db, the broker of the tests, is not installed: its wheel does not exist for every platform")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    broker = KafkaBroker(port, directory, _start(port, directory))
    try:
        yield broker
    finally:
        broker.kill()


def _start(port: int, directory: Path) -> subprocess.Popen[bytes]:
    assert PROGRAM is not None
    PROGRAM.chmod(0o755)  # which the command of the wheel does, too; a kill of that would leave this one
    options = ("--only", "kafka", "--kafka-port", str(port), "--data-dir", str(directory / "data"))
    command = [str(PROGRAM), "start", *options]
    with (directory / "broker.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory)
    try:
        _wait_until_it_answers(port, process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + _START_SECONDS
    while time.monotonic() < limit:
        assert process.poll() is None, "the broker has ended"
        try:
            with socket.create_connection(("127.0.0.1", port), 0.2):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the broker does not answer")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """The broker of this session; tests use topics and jobs with names of their own."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
