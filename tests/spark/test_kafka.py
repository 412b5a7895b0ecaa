"""Senders on Spark whose workers are killed, or that have copies: each message is there once all the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from kafka_broker import KafkaBroker, kafka_broker
from kafka_runs import Changes, Found, Point, ended
from spark_cluster import standalone_cluster

pytestmark = pytest.mark.spark
__all__ = ["kafka_broker"]

COMMIT = "ggfmt.sinks.kafka.send:_Sender._commit"
LOCAL = ("--master", "local[2]", "--split-size", "500k")


def attempts(changes: Changes) -> list[int]:
    return [len(mark.read_text().split()) for mark in sorted((changes.directory / "marks").iterdir())]


def test_killed_workers(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 20_000, 1_000)
    point = Point(COMMIT, 2, commit=1_000, owners=(0, 1))
    options = [*LOCAL, "--create-topics", "3", "--job", changes.schema]
    assert changes.run(kafka_broker.address, *options, point=point) == (0, "")
    assert attempts(changes) == [2, 2]
    changes.assert_exact(kafka_broker.brokers)


@pytest.mark.long
@pytest.mark.parametrize(("first", "second"), [(LOCAL, ()), ((), LOCAL)], ids=["from Spark", "to Spark"])
def test_a_run_goes_on_elsewhere(
    kafka_broker: KafkaBroker, tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """With another number of senders. Those of Spark live on for a moment when their driver is killed."""
    changes = Changes(tmp_path, 40_000, 1_000)
    point = Point(COMMIT, 3, harm=3.0, commit=1_000, owners=(0, 1) if first else ())
    options = ["--create-topics", "4", "--job", changes.schema]
    process = changes.start(kafka_broker.address, *first, *options, point=point)
    limit = time.monotonic() + 90
    while not any(Found(kafka_broker.brokers, [topic]).count for topic in changes.topics):
        assert time.monotonic() < limit
        time.sleep(0.2)
    process.kill()
    ended(process)
    assert changes.run(kafka_broker.address, *second, *options) == (0, "")
    changes.assert_exact(kafka_broker.brokers)
    time.sleep(4)  # senders that live on wake up
    changes.assert_exact(kafka_broker.brokers)


@pytest.mark.long
def test_copies_of_slow_senders(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 40_000, 1_000)
    (tmp_path / "cluster").mkdir()
    point = Point(COMMIT, 2, commit=1_000, harm=15.0, owners=(0,))
    conf = {"speculation": "true", "speculation.interval": "100ms", "speculation.quantile": "0.3"}
    conf |= {"speculation.efficiency.enabled": "false", "speculation.multiplier": "1.01", "executor.memory": "512m"}
    conf |= {"scheduler.minRegisteredResourcesRatio": "1"}
    given = [part for name, value in conf.items() for part in ("--spark-conf", f"spark.{name}={value}")]
    with standalone_cluster(tmp_path / "cluster", 2) as master:
        options = ["--master", master, *given, "--create-topics", "4", "--job", changes.schema]
        staging = ["--staging", str(tmp_path / "staging")]
        assert changes.run(kafka_broker.address, *options, *staging, point=point) == (0, "")
    assert attempts(changes)[0] >= 2
    changes.assert_exact(kafka_broker.brokers)
