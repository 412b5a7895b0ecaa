"""Runs to Kafka that are killed, overtaken, or find other topics: each message is there once, in the order of its key.

`kafka_runs` has the consumer, which knows nothing of ggfmt.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from kafka_broker import KafkaBroker, kafka_broker, running_broker
from kafka_runs import Changes, Found, Point, ended, wait_until_stopped

__all__ = ["kafka_broker"]

COMMIT = "ggfmt.sinks.kafka.send:_Sender._commit"


def test_killed_runs_go_on(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 30_000, 5_000)
    brokers, options = kafka_broker.brokers, ("--create-topics", "3", "--job", changes.schema)
    seen = [0]
    for point, code in (
        (Point(COMMIT, 3), -signal.SIGKILL),  # with an open transaction
        (Point("ggfmt.kafka.jobs:Transactions.commit", 4, after=True), -signal.SIGKILL),
        (Point(COMMIT, 2, harm="TERM", pause=0.1), 143),
    ):
        assert changes.run(kafka_broker.address, *options, point=point)[0] == code
        seen.append(Found(brokers, changes.topics).count)
    assert 0 < seen[1] < seen[2] < seen[3] < changes.count
    # A sender that is killed while it commits leaves an open transaction, which hides the records.
    dead = Producer({"bootstrap.servers": brokers, "transactional.id": f"ggfmt.{changes.schema}.0"})
    dead.init_transactions(20)
    dead.begin_transaction()
    dead.produce("ggfmt.state", b"1 {}", f"{changes.schema}/{changes.topics[0]}/0", 0)
    assert not dead.flush(20)
    assert changes.run(kafka_broker.address, *options, seconds=40) == (0, "")
    changes.assert_exact(brokers)


def test_of_two_runs_of_a_job_the_newer_one_sends(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 6_000, 500)
    options = ["--create-topics", "3", "--job", changes.schema]
    older = changes.start(kafka_broker.address, *options, point=Point(COMMIT, 2, harm="STOP", commit=1_000))
    wait_until_stopped(older)
    newer = changes.start(kafka_broker.address, *options, point=Point(COMMIT, 2, harm="STOP", commit=1_000))
    wait_until_stopped(newer)
    older.send_signal(signal.SIGCONT)
    code, text = ended(older)
    assert code == 3
    assert "GG575" in text
    newer.send_signal(signal.SIGCONT)
    assert ended(newer) == (0, "")
    changes.assert_exact(kafka_broker.brokers)


@pytest.mark.parametrize("call", [pytest.param(1, marks=pytest.mark.long), 3])
def test_a_run_that_wakes_up_after_its_successor_has_ended(
    kafka_broker: KafkaBroker, tmp_path: Path, call: int
) -> None:
    changes = Changes(tmp_path, 6_000, 500)
    options = ["--create-topics", "3", "--job", changes.schema]
    older = changes.start(kafka_broker.address, *options, point=Point(COMMIT, call, harm="STOP", commit=1_000))
    wait_until_stopped(older)
    assert changes.run(kafka_broker.address, *options) == (0, "")
    older.send_signal(signal.SIGCONT)
    code, text = ended(older)
    assert code == 3
    assert "GG575" in text
    changes.assert_exact(kafka_broker.brokers)


def test_a_changed_number_of_partitions(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 3_000, 500)
    options = ["--create-topics", "3", "--job", changes.schema]
    changes.run(kafka_broker.address, *options, point=Point(COMMIT, 2, commit=1_000))
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    admin.create_partitions([NewPartitions(changes.topics[0], 5)])[changes.topics[0]].result(10)
    before = Found(kafka_broker.brokers, changes.topics).count
    code, text = changes.run(kafka_broker.address, *options)
    assert code == 3
    assert "GG574" in text
    assert Found(kafka_broker.brokers, changes.topics).count == before


def test_a_topic_that_was_deleted_and_made_again(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 3_000, 500)
    options = ["--create-topics", "3", "--job", changes.schema]
    changes.run(kafka_broker.address, *options, point=Point(COMMIT, 3, commit=1_000))
    topic = changes.topics[0]
    admin = AdminClient({"bootstrap.servers": kafka_broker.brokers})
    admin.delete_topics([topic])[topic].result(10)
    code, text = changes.run(kafka_broker.address, *options)
    assert code == 3
    assert "GG574" in text
    code, text = changes.run(kafka_broker.address, *options)
    assert code == 3
    assert "GG574" in text


def test_a_message_that_is_too_large_sends_nothing(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 3_000, 500)
    for topic in changes.topics:
        kafka_broker.topic(3, topic, {"max.message.bytes": "20000"})
    file = changes.source / "0.json"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1_500] = lines[1_500].replace(b'"CITY":"', b'"CITY":"' + b"x" * 20_000)
    file.write_bytes(b"".join(lines))
    code, text = changes.run(kafka_broker.address, "--job", changes.schema)
    assert code == 3
    assert "GG573" in text
    assert Found(kafka_broker.brokers, changes.topics, "read_uncommitted").count == 0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_kills_at_random_moments(kafka_broker: KafkaBroker, tmp_path: Path, seed: int) -> None:
    changes = Changes(tmp_path, 200_000, 5_000)
    options = ["--create-topics", "3", "--job", changes.schema]
    chance = random.Random(seed)
    kills = [signal.SIGKILL] * 6 + [signal.SIGTERM, signal.SIGINT]
    chance.shuffle(kills)
    for number, kill in enumerate(kills):
        point = Point("ggfmt.sinks.kafka.send:_Sender._send", harm=0.0, commit=5_000, pause=0.15)
        process = changes.start(kafka_broker.address, *options, point=point)
        assert process.stderr is not None
        process.stderr.readline()
        time.sleep(chance.uniform(0, 0.3 if number < 4 else 1.2))
        process.send_signal(kill)
        assert ended(process)[0] == (-kill if kill == signal.SIGKILL else 128 + kill)
    assert 0 < Found(kafka_broker.brokers, changes.topics).count < changes.count
    assert changes.run(kafka_broker.address, *options) == (0, "")
    changes.assert_exact(kafka_broker.brokers)


def kill_points() -> Iterator[tuple[Point, int]]:
    """Moments at which a run is killed: before and after the nth call of each function that sends, waits or commits."""
    names = (
        COMMIT,
        "ggfmt.kafka.jobs:Transactions.commit",
        "ggfmt.kafka.jobs:Transactions.send",
        "ggfmt.kafka.jobs:Transactions.flush",
        "ggfmt.sinks.kafka.send:_Sender._wait",
        "ggfmt.sinks.kafka.send:read_records",
        "ggfmt.sinks.kafka.run:KafkaSink._take_over",
    )
    moments = ((call, after) for call in (1, 2, 3, 5, 8, 13, 21) for after in (False, True))
    found = ((name, call, after) for call, after in moments for name in names if call == 1 or name not in names[-2:])
    for number, (name, call, after) in enumerate(cycle(found)):
        harm = "TERM" if number % 5 == 4 else "KILL"
        yield Point(name, call, after, harm, commit=100), -signal.SIGKILL if harm == "KILL" else 143


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("kills", "gap"), [(8, 0.001), pytest.param(100, 0.004, marks=pytest.mark.long)])
def test_kills_at_each_step_of_a_replay(kafka_broker: KafkaBroker, tmp_path: Path, kills: int, gap: float) -> None:
    """Series of kills, each of which ends with a run that is not killed; after each kill consumers see a prefix."""
    options = ["--create-topics", "3", "--timestamps", "op_ts", "--headers", "--tombstones", "--pace", "2x"]
    points, done, series = kill_points(), 0, 0
    while done < kills:
        series += 1
        changes = Changes(tmp_path / f"{series}", 2_000, 300, series, gaps=[gap] * 2_000, tombstones=True)
        given, before = [*options, "--job", changes.schema], 0
        for point, code in islice(points, 8):
            ended_with = changes.run(kafka_broker.address, *given, point=point)[0]
            assert ended_with in (0, code)
            done += ended_with == code
            found = Found(kafka_broker.brokers, changes.topics)
            found.assert_replayed(changes.schema)
            assert all(values == changes.expected[place][: len(values)] for place, values in found.values.items())
            assert found.count >= before
            before = found.count
            if ended_with == 0:
                break
        assert changes.run(kafka_broker.address, *given)[0] == 0
        changes.assert_exact(kafka_broker.brokers)
        Found(kafka_broker.brokers, changes.topics).assert_replayed(changes.schema)
    print(f"{done} kills in {series} jobs")


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """A broker to kill."""
    with running_broker(tmp_path) as broker:
        yield broker


def six_thousand(directory: Path) -> tuple[Changes, list[str]]:
    changes = Changes(directory / "in", 6_000, 500)
    return changes, ["--create-topics", "3", "--job", changes.schema]


def paused(changes: Changes, broker: KafkaBroker, options: list[str]) -> subprocess.Popen[str]:
    """Return a run that pauses after its third transaction, once the broker has written what was sent so far."""
    point = Point(COMMIT, 3, after=True, harm=2.0, commit=1_000)
    process = changes.start(broker.address, *options, point=point)
    assert process.stderr is not None
    assert process.stderr.readline() == "pause\n"
    time.sleep(1.5)
    return process


def test_a_broker_that_is_killed_and_started_again(own_broker: KafkaBroker, tmp_path: Path) -> None:
    changes, options = six_thousand(tmp_path)
    process = paused(changes, own_broker, options)
    own_broker.kill()
    own_broker.restart()
    assert ended(process) == (0, "")
    changes.assert_exact(own_broker.brokers)


@pytest.mark.long
def test_a_broker_that_is_gone_for_longer_than_a_transaction(own_broker: KafkaBroker, tmp_path: Path) -> None:
    changes, options = six_thousand(tmp_path)
    process = paused(changes, own_broker, options)
    own_broker.kill()
    code, text = ended(process)
    assert code == 3
    assert "GG571" in text
    assert "Connection refused" in text
    own_broker.restart()
    assert changes.run(own_broker.address, *options) == (0, "")
    changes.assert_exact(own_broker.brokers)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_the_broker_does_not_answer(own_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path / "in", 6_000, 500)
    process = changes.start(
        own_broker.address, "--create-topics", "3", point=Point(COMMIT, 3, after=True, harm=0.1, commit=1_000)
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "pause\n"
    own_broker.kill()
    time.sleep(0.4)  # the run goes on after 0.1 s, and may give up by itself after a second
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    code, text = ended(process)
    assert code == 130
    assert "goes on where the last transaction ended" in text
    assert time.monotonic() - start < 5


@pytest.mark.long
def test_all_or_nothing_in_one_transaction(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 30_000, 500)
    brokers, options = kafka_broker.brokers, ("--create-topics", "3", "--job", changes.schema, "--atomic")
    for name, call in (("ggfmt.kafka.jobs:Transactions.flush", 4), ("ggfmt.kafka.jobs:Transactions.commit", 2)):
        assert changes.run(kafka_broker.address, *options, point=Point(name, call))[0] == -signal.SIGKILL
        assert Found(brokers, changes.topics).count == 0
        assert Found(brokers, changes.topics, "read_uncommitted").count > 0
    assert changes.run(kafka_broker.address, *options) == (0, "")
    changes.assert_exact(brokers)


@pytest.mark.long
def test_a_rate(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path, 12_000, 500)
    options = ["--create-topics", "3", "--job", changes.schema, "--rate", "500"]
    start = time.monotonic()
    process = changes.start(kafka_broker.address, *options)
    while not Found(kafka_broker.brokers, changes.topics).count:  # a transaction takes ten seconds
        assert time.monotonic() - start < 60
        time.sleep(0.5)
    process.kill()
    ended(process)
    sent = Found(kafka_broker.brokers, changes.topics).count
    assert 4_000 < sent <= 6_000
    assert time.monotonic() - start > sent / 500 - 1
    start = time.monotonic()
    assert changes.run(kafka_broker.address, *options) == (0, "")
    assert (changes.count - sent) / 500 - 1 < time.monotonic() - start < (changes.count - sent) / 500 + 10
    changes.assert_exact(kafka_broker.brokers)


@pytest.mark.long
def test_three_days_with_a_checkpoint(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    changes = Changes(tmp_path / "here", 9_000, 500, files=3)
    waiting, checkpoint = tmp_path / "waiting", tmp_path / "checkpoint"
    changes.source.rename(waiting)
    changes.source.mkdir()
    options = ["--create-topics", "3", "--job", changes.schema, "--checkpoint", str(checkpoint)]

    def day(number: int) -> None:
        (waiting / f"{number}.json").rename(changes.source / f"{number}.json")

    def count() -> int:
        return Found(kafka_broker.brokers, changes.topics).count

    day(0)
    assert changes.run(kafka_broker.address, *options) == (0, "")
    assert count() == 3_000
    shutil.copytree(checkpoint, tmp_path / "older")
    day(1)
    killed = -signal.SIGKILL, ""
    assert changes.run(kafka_broker.address, *options, point=Point(COMMIT, 2, commit=500)) == killed
    assert 3_000 < count() < 6_000
    day(2)
    # All of the second day is sent, and not in the checkpoint; a run ends it, and goes on with the third day.
    end = Point("ggfmt.sinks.kafka.run:KafkaSink._end", after=True)
    assert changes.run(kafka_broker.address, *options, point=end) == killed
    assert count() == 6_000
    elsewhere = tmp_path / "elsewhere"  # as another machine has it
    changes.directory.rename(elsewhere)
    changes.directory, changes.source, changes.config = elsewhere, elsewhere / "changes", elsewhere / "kafka.properties"
    for _ in range(2):
        assert changes.run(kafka_broker.address, *options)[0] == 0
        assert count() == 9_000
    changes.assert_exact(kafka_broker.brokers, days=3)
    shutil.rmtree(checkpoint)
    shutil.copytree(tmp_path / "older", checkpoint)
    code, text = changes.run(kafka_broker.address, *options)
    assert code == 2
    assert "GG574" in text
    assert count() == 9_000
