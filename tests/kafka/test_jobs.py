"""The records of jobs in the cluster: what others have written to their topic, and a topic that forgets."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from kafka_broker import KafkaBroker, kafka_broker, running_broker

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.jobs import STATE_TOPIC, Transactions, make_state_topic, read_records
from ggfmt.sinks.kafka.send import PartitionRecord, partition_records
from ggfmt.sinks.kafka.state import read_run

__all__ = ["kafka_broker"]


@pytest.fixture
def job() -> str:
    return uuid.uuid4().hex


@pytest.mark.parametrize(
    "value", [b"garbage", b"1 {}", b"1 garbage", b'1 {"record":"AAAA"}', b"9999 {", b"\xff\x00", b""]
)
def test_a_record_of_another_program(kafka_broker: KafkaBroker, job: str, value: bytes) -> None:
    settings = ClientSettings(kafka_broker.brokers)
    make_state_topic(settings)
    kafka_broker.send(STATE_TOPIC, [(job.encode(), value), (b"\xff", value), (b"other", value)])
    with pytest.raises(Abend, match=r"GG574.*is not one of this ggfmt"):
        read_run(settings, job)
    assert read_run(settings, uuid.uuid4().hex) == (None, {})
    kafka_broker.send(STATE_TOPIC, [(job.encode(), None)])
    assert read_run(settings, job) == (None, {})
    kafka_broker.send(STATE_TOPIC, [(f"{job}/t/0".encode(), value)])
    with pytest.raises(Abend, match="GG574"):
        partition_records(read_records(settings, job), job, "run")
    kafka_broker.send(STATE_TOPIC, [(f"{job}/t/0".encode(), None), (b"other", None), (b"\xff", None)])


def test_a_topic_that_forgets(tmp_path: Path) -> None:
    with running_broker(tmp_path) as broker:
        broker.topic(3, STATE_TOPIC)
        with pytest.raises(Abend, match=r"GG574.*cleanup\.policy"):
            make_state_topic(ClientSettings(broker.brokers))


def test_a_long_record(kafka_broker: KafkaBroker, job: str) -> None:
    settings = ClientSettings(kafka_broker.brokers)
    make_state_topic(settings)
    transactions = Transactions(settings, job)
    transactions.commit({job: b"x" * 1_200_000, f"{job}/t/0": b'{"run":"r","messages":1,"digest":""}'})
    transactions.close()
    found = read_records(settings, job)
    assert found[job] == b"x" * 1_200_000
    assert partition_records(found, job, "r") == {("t", 0): PartitionRecord("r", 1, "")}
    kafka_broker.send(STATE_TOPIC, [(name.encode(), None) for name in (job, f"{job}#1", f"{job}#2", f"{job}/t/0")])
