"""Runs to Kafka, on a real broker: where messages go, what the cluster remembers, and what is refused."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from kafka_broker import KafkaBroker, kafka_broker
from msgspec import structs
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.consume import Mark
from ggfmt.kafka.jobs import Transactions, make_topics
from ggfmt.reading.content import END_BYTES
from ggfmt.render.runs import print_verification
from ggfmt.sinks.kafka import run as sink
from ggfmt.sinks.kafka import send as sender
from ggfmt.sinks.kafka.run import KafkaSink
from ggfmt.sinks.kafka.state import read_run
from ggfmt.sinks.kafka.verification import verify

__all__ = ["kafka_broker"]


@dataclass
class Place:
    """Topics of one test: their names begin with `prefix`, which is the name of the job too."""

    broker: KafkaBroker
    prefix: str
    directory: Path

    @property
    def settings(self) -> dict[str, str]:
        return {
            "gg.handler.k.type": "kafka",
            "gg.handler.k.mode": "op",
            "gg.handler.k.format": "json",
            "gg.handler.k.topicMappingTemplate": f"{self.prefix}.${{fullyQualifiedTableName}}",
            "gg.handler.k.keyMappingTemplate": "${primaryKeys}",
        }

    def send(self, *inputs: Path, settings: Mapping[str, str] | None = None, **options: Any) -> ggfmt.Result:
        asked: dict[str, Any] = {"output": self.broker.address, "create_topics": 3, "job": self.prefix} | options
        return ggfmt.convert(inputs, settings=self.settings | dict(settings or {}), **{"master": "none[1]", **asked})

    def messages(self, table: str, isolation: str = "read_committed") -> list[list[tuple[bytes | None, bytes | None]]]:
        return self.broker.messages(f"{self.prefix}.{table}", isolation)

    def values(self, table: str) -> list[list[dict[str, Any]]]:
        return [[json.loads(value or b"null") for _, value in part] for part in self.messages(table)]

    def count(self, *tables: str) -> int:
        return sum(len(part) for table in tables for part in self.messages(table))


@pytest.fixture
def place(kafka_broker: KafkaBroker, tmp_path: Path) -> Place:
    return Place(kafka_broker, f"p{uuid.uuid4().hex[:8]}", tmp_path)


def changes(path: Path, numbers: Sequence[int], tables: Sequence[str] = ("S.A", "S.B"), keys: int = 7) -> Path:
    records = []
    for number in numbers:
        record = operation(number, tables[number % len(tables)], ID=str(number % keys))
        records.append({**record, "primary_keys": ["ID"]})
    return write_lines(path, records)


def failed(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(GgfmtError) as caught:
        call()
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message


class Stopped(Exception):
    """What kills a run in a test."""


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the next run fail after so many transactions of its sender."""
    from ggfmt.sinks.kafka import send

    def stop(transactions: int) -> None:
        left = [transactions]
        commit = Transactions.commit

        def failing(self: Transactions, records: Mapping[str, bytes]) -> None:
            if any("/" in name for name in records):
                if not left[0]:
                    monkeypatch.setattr(Transactions, "commit", commit)
                    raise Stopped
                left[0] -= 1
            commit(self, records)

        monkeypatch.setattr(Transactions, "commit", failing)

    monkeypatch.setattr(send, "_COMMIT_MESSAGES", 10)
    return stop


def test_messages_have_the_topic_the_key_and_the_partition_of_the_handler(place: Place) -> None:
    result = place.send(changes(place.directory / "in.json", range(100)))
    for table, rest in (("S.A", 0), ("S.B", 1)):
        found = place.messages(table)
        assert len(found) == 3
        by_key: dict[bytes, list[int]] = {}
        for part in found:
            for key, value in part:
                record = json.loads(value or b"")
                assert record["after"]["ID"].encode() == key
                by_key.setdefault(key or b"", []).append(int(record["pos"]))
        assert {key: sorted(numbers) for key, numbers in by_key.items()} == by_key
        assert sorted(number for numbers in by_key.values() for number in numbers) == list(range(rest, 100, 2))
        assert len({sum(key in dict(part) for part in found) for key in by_key}) == 1
    topics = result.totals["handlers"]["k"]["topics"]
    assert {name: topic["messages"] for name, topic in topics.items()} == {
        f"{place.prefix}.S.A": 50,
        f"{place.prefix}.S.B": 50,
    }
    assert [plan.partitions for plan in result.topics] == [3, 3]
    assert result.manifest["job"] == place.prefix


def test_messages_are_those_of_files_without_their_delimiters(place: Place, tmp_path: Path) -> None:
    given = changes(tmp_path / "in.json", range(20), ("S.A",))
    for format in ("json", "xml", "delimitedtext", "debezium_json", "avro_row"):
        own = Place(place.broker, f"{place.prefix}.{format}", tmp_path)
        stamp = "2026-01-31T18:30:51"
        own.send(given, settings={"gg.handler.k.format": format}, current_timestamp=stamp, create_topics=1)
        (found,) = own.messages("S.A")
        ggfmt.convert(
            given,
            settings=place.settings | {"gg.handler.k.format": format},
            output=tmp_path / format,
            current_timestamp=stamp,
            master="none[1]",
        )
        (file,) = (tmp_path / format / "k" / "S.A").glob("S.A*")
        values = [value or b"" for _, value in found]
        assert len(values) == 20
        if format == "debezium_json":
            assert not any(value.endswith(b"\n") for value in values)
            values = [value + b"\n" for value in values]
        assert b"".join(values) == file.read_bytes()


def test_a_missing_topic_is_refused_before_anything_is_sent(place: Place) -> None:
    given = changes(place.directory / "in.json", range(10))
    place.broker.topic(2, f"{place.prefix}.S.A")
    code, message = failed(lambda: place.send(given, create_topics=None))
    assert (code, message) == ("GG572", f"the cluster has no topic `{place.prefix}.S.B`")
    assert place.count("S.A") == 0
    place.send(given, create_topics="2:1")
    assert place.count("S.A", "S.B") == 10


def test_a_run_that_was_cut_off_is_ended_by_the_next_one(place: Place, stop_after: Callable[[int], None]) -> None:
    given = changes(place.directory / "in.json", range(200))
    for transactions in (0, 3, 1):
        stop_after(transactions)
        with pytest.raises(Stopped):
            place.send(given)
    last, _ = read_run(ClientSettings(place.broker.brokers), place.prefix)
    assert last is not None
    assert not last.is_complete
    assert 0 < place.count("S.A", "S.B") < 200
    assert [finding.code for finding in verify(ClientSettings(place.broker.brokers), place.prefix).findings] == [
        "GG574"
    ]
    place.send(given)
    for table, rest in (("S.A", 0), ("S.B", 1)):
        numbers = [[int(value["pos"]) for value in part] for part in place.values(table)]
        assert all(part == sorted(part) for part in numbers)
        assert sorted(number for part in numbers for number in part) == list(range(rest, 200, 2))
        assert len({value["current_ts"] for part in place.values(table) for value in part}) == 1
    found = verify(ClientSettings(place.broker.brokers), place.prefix)
    assert (found.runs, found.messages.total(), found.findings) == (1, 200, [])


def test_a_run_with_other_splits_goes_on_where_the_first_one_was(
    place: Place, stop_after: Callable[[int], None]
) -> None:
    given = changes(place.directory / "in.json", range(300))
    stop_after(4)
    with pytest.raises(Stopped):
        place.send(given)
    place.send(given, split_size=5000)
    assert place.count("S.A", "S.B") == 300
    assert verify(ClientSettings(place.broker.brokers), place.prefix).findings == []


def test_a_run_that_would_make_other_messages_does_not_go_on(place: Place, stop_after: Callable[[int], None]) -> None:
    stop_after(2)
    with pytest.raises(Stopped):
        place.send(changes(place.directory / "in.json", range(100)))
    sent = place.count("S.A", "S.B")
    given = changes(place.directory / "in.json", range(1, 101))
    assert failed(lambda: place.send(given))[0] == "GG574"
    assert failed(lambda: place.send(given, mode="append"))[0] == "GG574"
    assert place.count("S.A", "S.B") == sent


def made_again(place: Place, table: str, count: int) -> None:
    """Make a topic again, with more messages than a run has sent."""
    topic = f"{place.prefix}.{table}"
    deleted(place, topic)
    place.broker.topic(3, topic)
    for partition in range(3):
        place.broker.send(topic, [(None, b"%d" % number) for number in range(count)], partition=partition)


def deleted(place: Place, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": place.broker.brokers})
    admin.delete_topics([topic])[topic].result(20)


def test_a_topic_that_was_made_again_is_not_sent_the_rest(place: Place, stop_after: Callable[[int], None]) -> None:
    given, table = changes(place.directory / "in.json", range(200)), "S.A"
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    made_again(place, table, 300)
    for _ in range(2):
        code, message = failed(lambda: place.send(given))
        assert code == "GG574"
        assert "it was deleted and made again; partition " in message
    assert place.count(table) == 900
    place.send(given, job=f"{place.prefix}-again")
    assert place.count(table) == 900 + 100


def test_an_interrupted_run_does_not_make_a_deleted_topic_again(
    place: Place, stop_after: Callable[[int], None]
) -> None:
    given = changes(place.directory / "in.json", range(200))
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    deleted(place, f"{place.prefix}.S.A")
    code, message = failed(lambda: place.send(given))
    assert (code, "it was deleted" in message) == ("GG574", True)
    assert f"{place.prefix}.S.A" not in ClientSettings(place.broker.brokers).topics()


def test_a_topic_that_was_made_again_with_fewer_partitions(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    given = changes(place.directory / "in.json", range(30))
    place.send(given)
    deleted(place, f"{place.prefix}.S.A")
    place.broker.topic(1, f"{place.prefix}.S.A")
    assert failed(lambda: place.send(given))[0] == "GG574"
    place.send(changes(place.directory / "more.json", range(30, 40)), mode="append")
    assert "it was deleted" in caplog.text
    assert place.count("S.A") == 5


def test_a_complete_run_knows_topics_that_were_made_again(
    place: Place, stop_after: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    given = changes(place.directory / "in.json", range(30))
    place.send(given)
    made_again(place, "S.A", 60)
    assert failed(lambda: place.send(given))[0] == "GG574"
    place.send(changes(place.directory / "more.json", range(30, 40)), mode="append")
    assert "S.A: the topic does not have all that run" in caplog.text
    assert place.count("S.B") == 20


@pytest.mark.parametrize("has_ids", [False, True])
def test_messages_that_topics_no_longer_keep(
    place: Place,
    stop_after: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    has_ids: bool,
) -> None:
    for module in (sink, sender) if has_ids else ():
        monkeypatch.setattr(
            module, "topic_ids", lambda settings, topics: dict.fromkeys(topics, "Tt5vZkNGSfaVO8mtdpGLaA")
        )
    given = changes(place.directory / "in.json", range(200), ("S.A",), keys=1)
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    ((topic, number),) = [
        (t, n) for t in [f"{place.prefix}.S.A"] for n, part in enumerate(place.messages("S.A")) if part
    ]
    delete_records(place, topic, number, 25)
    code, message = failed(lambda: place.send(given))
    assert (code, "keeps messages only from offset" in message) == ("GG574", True)
    place.send(given, job=f"{place.prefix}-again")
    delete_records(place, topic, number, 100)
    place.send(given, job=f"{place.prefix}-again")
    assert "keeps messages only from offset" in caplog.text


def delete_records(place: Place, topic: str, number: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": place.broker.brokers})
    (removed,) = admin.delete_records([TopicPartition(topic, number, offset)]).values()
    removed.result(20)


def test_the_ids_of_topics(place: Place, stop_after: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """As with brokers that have ids. A topic that this run has sent nothing to may be another one."""
    known: dict[str, str] = {}
    for module in (sink, sender):
        monkeypatch.setattr(module, "topic_ids", lambda settings, topics: {topic: known[topic] for topic in topics})
    known |= {f"{place.prefix}.{table}": f"{table}-1" for table in ("S.A", "S.B")}
    given = changes(place.directory / "in.json", range(200))
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    last, _ = read_run(ClientSettings(place.broker.brokers), place.prefix)
    assert last is not None
    assert last.ids == known
    assert place.count("S.A")
    assert not place.count("S.B")
    known[f"{place.prefix}.S.A"] = "S.A-2"
    code, message = failed(lambda: place.send(given))
    assert (code, "its id was `S.A-1`, and is `S.A-2`" in message) == ("GG574", True)
    known[f"{place.prefix}.S.A"] = "S.A-1"
    made_again(place, "S.B", 20)
    known[f"{place.prefix}.S.B"] = "S.B-2"
    place.send(given)
    last, _ = read_run(ClientSettings(place.broker.brokers), place.prefix)
    assert last is not None
    assert last.ids == known
    assert (place.count("S.A"), place.count("S.B")) == (100, 60 + 100)
    assert verify(ClientSettings(place.broker.brokers), place.prefix).findings == []


@pytest.mark.parametrize("sent", [0, 3])
def test_a_deleted_topic_that_nothing_was_sent_to_is_made_again(
    place: Place, stop_after: Callable[[int], None], sent: int
) -> None:
    given = changes(place.directory / "in.json", range(200))
    stop_after(sent)
    with pytest.raises(Stopped):
        place.send(given)
    deleted(place, f"{place.prefix}.S.B")
    place.send(given)
    assert place.count("S.A", "S.B") == 200


def test_records_of_an_earlier_version_have_neither_ids_nor_last_messages(
    place: Place, stop_after: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = changes(place.directory / "in.json", range(200))
    stop_after(3)
    with monkeypatch.context() as earlier:
        encode = sender._Sender._record
        earlier.setattr(sender._Sender, "_record", lambda *them: structs.replace(encode(*them), last=Mark()))
        with pytest.raises(Stopped):
            place.send(given)
    place.send(given)
    assert place.count("S.A", "S.B") == 200


def test_an_open_transaction_of_another_program_does_not_hide_what_was_sent(
    place: Place, stop_after: Callable[[int], None]
) -> None:
    given = changes(place.directory / "in.json", range(200), ("S.A",), keys=1)
    topic = f"{place.prefix}.S.A"
    place.broker.topic(1, topic)
    other = Producer({"bootstrap.servers": place.broker.brokers, "transactional.id": topic})
    other.init_transactions(20)
    other.begin_transaction()
    other.produce(topic, b"x", b"y", 0)
    other.flush(20)
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    other.produce(topic, b"x", b"y", 0)
    other.flush(20)
    place.send(given)
    other.abort_transaction(20)
    assert place.count("S.A") == 200


@pytest.mark.parametrize("topic", ["ggfmt.state", "__consumer_offsets", "__transaction_state"])
@pytest.mark.parametrize("place_of_name", ["template", "table", "schemas"])
def test_topics_of_kafka_and_ggfmt_are_no_targets(place: Place, topic: str, place_of_name: str) -> None:
    owner, _, name = topic.rpartition(".")
    tables = (topic if owner else f"S.{name}",)
    given = changes(place.directory / "in.json", range(3), tables if place_of_name == "table" else ("S.A",))
    own = {
        "template": {"gg.handler.k.topicMappingTemplate": topic},
        "table": {"gg.handler.k.topicMappingTemplate": "${fullyQualifiedTableName}" if owner else "${tableName}"},
        "schemas": {"gg.handler.k.schemaTopicName": topic, "gg.handler.k.format": "avro_op"},
    }[place_of_name]
    for options in ({}, {"dry_run": True}):
        code, message = failed(lambda options=options: place.send(given, settings=own, **options))  # type: ignore[misc]
        assert (code, message) == ("GG577", f"the topic is one of {'ggfmt' if owner else 'Kafka'} itself")


def test_the_limit_of_a_topic_that_the_run_makes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may have another limit for new topics than the client has."""
    make = make_topics

    def with_limit(settings: ClientSettings, topics: Mapping[str, int], replication: int, **own: Any) -> None:
        make(settings, topics, replication, {"max.message.bytes": "2000"})

    monkeypatch.setattr(sink, "make_topics", with_limit)
    given = changes(place.directory / "in.json", range(10))
    given.write_bytes(given.read_bytes().replace(b'"name 6"', b'"%s"' % (b"x" * 3000)))
    for _ in range(2):
        code, message = failed(lambda: place.send(given))
        assert code == "GG573"
        assert message.endswith("the topic takes 2,000 (`max.message.bytes`); nothing was sent")
    assert place.count("S.A") == 0


def test_a_second_attempt_says_what_the_first_one_has_sent(place: Place, stop_after: Callable[[int], None]) -> None:
    given = changes(place.directory / "in.json", range(200))
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    sent = place.count("S.A", "S.B")
    admin = AdminClient({"bootstrap.servers": place.broker.brokers})
    lower = ConfigEntry("max.message.bytes", "100")
    resource = ConfigResource(ConfigResource.Type.TOPIC, f"{place.prefix}.S.A", incremental_configs=[lower])
    lower.incremental_operation = AlterConfigOpType.SET
    admin.incremental_alter_configs([resource])[resource].result(20)
    code, message = failed(lambda: place.send(given))
    assert code == "GG573"
    assert message.endswith(f"an earlier attempt has sent {sent} messages, and this one none")


def test_what_was_sent_is_not_sent_again(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    given = changes(place.directory / "in.json", range(30))
    first = place.send(given)
    with caplog.at_level("INFO"):
        result = place.send(given)
    assert "has sent these messages; ggfmt compares them, and sends none" in caplog.text
    assert "going on" not in caplog.text
    assert result.manifest["run"] == first.manifest["run"]
    assert place.count("S.A", "S.B") == 30
    more = changes(place.directory / "more.json", range(30, 40))
    assert failed(lambda: place.send(more))[0] == "GG574"
    place.send(more, mode="append")
    assert place.count("S.A", "S.B") == 40


def test_a_file_that_was_corrected_in_its_middle_is_not_the_one_that_was_sent(place: Place) -> None:
    given = changes(place.directory / "in.json", range(1200), ("S.A",))
    place.send(given, job=None)
    data = given.read_bytes()
    assert len(data) > 2 * END_BYTES
    given.write_bytes(data.replace(b'"name 600"', b'"NAME 600"'))
    assert failed(lambda: place.send(given, job=None))[0] == "GG574"
    assert place.count("S.A") == 1200


def test_without_a_name_the_job_follows_from_inputs_and_settings(
    place: Place, stop_after: Callable[[int], None]
) -> None:
    given = changes(place.directory / "in.json", range(100))
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given, job=None)
    place.send(given, job=None)
    place.send(given, job=None)
    assert place.count("S.A", "S.B") == 100
    place.send(changes(place.directory / "more.json", range(100, 120)), job=None)
    assert place.count("S.A", "S.B") == 120


@pytest.mark.example("GG575")
def test_the_older_of_two_runs_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    given = changes(place.directory / "in.json", range(100))
    send = KafkaSink._send

    def overtaken(self: KafkaSink, run: Any) -> None:
        monkeypatch.setattr(KafkaSink, "_send", send)
        place.send(given)
        send(self, run)

    monkeypatch.setattr(KafkaSink, "_send", overtaken)
    code, message = failed(lambda: place.send(given))
    assert code == "GG575"
    assert "has taken over" in message
    assert place.count("S.A", "S.B") == 100


def test_a_run_that_is_overtaken_while_it_takes_over_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    given = changes(place.directory / "in.json", range(100))

    def overtaken(*asked: Any) -> None:
        monkeypatch.setattr(sink, "make_topics", make_topics)
        place.send(given)
        make_topics(*asked)

    monkeypatch.setattr(sink, "make_topics", overtaken)
    assert failed(lambda: place.send(given))[0] == "GG575"
    assert place.count("S.A", "S.B") == 100


def test_a_run_that_is_overtaken_while_it_sends_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from ggfmt.sinks.kafka import send as senders

    given = changes(place.directory / "in.json", range(100))
    monkeypatch.setattr(senders, "_COMMIT_MESSAGES", 10)
    commit = Transactions.commit

    def overtaken(self: Transactions, records: Mapping[str, bytes]) -> None:
        if any("/" in name for name in records):
            monkeypatch.setattr(Transactions, "commit", commit)
            place.send(given)
        commit(self, records)

    monkeypatch.setattr(Transactions, "commit", overtaken)
    assert failed(lambda: place.send(given))[0] == "GG575"
    assert place.count("S.A", "S.B") == 100
    assert verify(ClientSettings(place.broker.brokers), place.prefix).findings == []


def test_a_message_that_is_too_large_is_found_before_the_first_is_sent(place: Place) -> None:
    place.broker.topic(2, f"{place.prefix}.S.A", {"max.message.bytes": "2000"})
    records = [operation(number, "S.A", NAME="x" * (3000 if number == 50 else 1)) for number in range(100)]
    given = write_lines(place.directory / "in.json", [{**record, "primary_keys": ["ID"]} for record in records])
    code, message = failed(lambda: place.send(given))
    assert code == "GG573"
    assert "the topic takes 2,000" in message
    assert place.count("S.A") == 0
    plan = place.send(given, dry_run=True).topics[0]
    assert plan.limit == 2000
    assert plan.totals.largest > 3000


def test_a_mistake_in_the_data_sends_nothing(place: Place) -> None:
    given = changes(place.directory / "in.json", range(50))
    given.write_bytes(given.read_bytes() + b"no record\n")
    with pytest.raises(Abend):
        place.send(given)
    assert f"{place.prefix}.S.A" not in ClientSettings(place.broker.brokers).topics()


def test_a_topic_with_another_number_of_partitions_is_refused(place: Place, stop_after: Callable[[int], None]) -> None:
    from confluent_kafka.cimpl import NewPartitions

    given = changes(place.directory / "in.json", range(100), ("S.A",))
    stop_after(3)
    with pytest.raises(Stopped):
        place.send(given)
    admin = ClientSettings(place.broker.brokers).admin()
    for made in admin.create_partitions([NewPartitions(f"{place.prefix}.S.A", 5)]).values():
        made.result(10)
    assert failed(lambda: place.send(given))[0] == "GG574"


def test_an_atomic_run_is_one_transaction(place: Place, stop_after: Callable[[int], None]) -> None:
    given = changes(place.directory / "in.json", range(100))
    stop_after(0)
    with pytest.raises(Stopped):
        place.send(given, atomic=True)
    assert place.count("S.A", "S.B") == 0
    place.send(given, atomic=True)
    assert place.count("S.A", "S.B") == 100


def test_a_dry_run_sends_nothing_and_remembers_nothing(place: Place) -> None:
    given = changes(place.directory / "in.json", range(30))
    result = place.send(given, dry_run=True)
    assert [(plan.topic, plan.partitions, plan.totals.messages, plan.is_new) for plan in result.topics] == [
        (f"{place.prefix}.S.A", 3, 15, True),
        (f"{place.prefix}.S.B", 3, 15, True),
    ]
    assert all(plan.totals.bytes > 15 * 100 for plan in result.topics)
    client = ClientSettings(place.broker.brokers)
    assert f"{place.prefix}.S.A" not in client.topics()
    assert read_run(client, place.prefix)[0] is None


def test_a_rate_is_kept(place: Place) -> None:
    given = changes(place.directory / "in.json", range(30))
    start = time.monotonic()
    result = place.send(given, rate="20/s")
    assert result.totals["seconds_by_step"]["sending"] >= 1.4
    assert time.monotonic() - start >= 1.4
    assert place.count("S.A", "S.B") == 30


def test_a_transaction_ends_before_a_long_pause(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster would end it, when the pauses of a low rate outlast it."""
    from ggfmt.sinks.kafka import send

    events: list[float] = []
    monkeypatch.setattr(send, "time", SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=events.append))
    commit = Transactions.commit

    def noting(self: Transactions, records: Mapping[str, bytes]) -> None:
        events.append(-1.0)
        commit(self, records)

    monkeypatch.setattr(Transactions, "commit", noting)
    place.send(changes(place.directory / "in.json", range(3)), rate=0.01)
    assert place.count("S.A", "S.B") == 3
    pauses = [number for number, event in enumerate(events) if event > send._COMMIT_SECONDS]
    assert len(pauses) == 3
    assert {events[number - 1] for number in pauses} == {-1.0}


@pytest.mark.parametrize("rest", ["/orders", "?to=5"])
def test_the_address_of_a_run_is_of_a_whole_cluster(place: Place, rest: str) -> None:
    with pytest.raises(UsageError, match=r"GG571.*whole cluster"):
        ggfmt.convert(
            changes(place.directory / "in.json", range(3)),
            settings=place.settings,
            output=f"{place.broker.address}{rest}",
            master="none[1]",
        )


TRANSACTIONS = [
    {"database": "S", "table": "A", "type": "insert", "ts": 1, "xid": xid, "data": {"ID": number}}
    for number, xid in enumerate((7, 7, 7, 8, 9, 9))
]


def test_a_transaction_is_one_message_without_a_key(place: Place) -> None:
    given = write_lines(place.directory / "in.json", TRANSACTIONS)
    settings = {
        "gg.handler.k.mode": "tx",
        "gg.handler.k.topicMappingTemplate": place.prefix,
        "gg.handler.k.keyMappingTemplate": "${null}",
        "gg.handler.k.format.jsonDelimiter": "|",
    }
    result = place.send(given, settings=settings, create_topics=1)
    (found,) = place.broker.messages(place.prefix)
    assert [key for key, _ in found] == [None, None, None]
    numbers = [[json.loads(part)["after"]["ID"] for part in (value or b"").split(b"|")[:-1]] for _, value in found]
    assert numbers == [[0, 1, 2], [3], [4, 5]]
    assert result.topics[0].totals.messages == 3
    assert verify(ClientSettings(place.broker.brokers), place.prefix).messages.total() == 3


def test_a_transaction_as_a_message_needs_to_be_known(place: Place) -> None:
    given = changes(place.directory / "in.json", range(3))
    settings = {
        "gg.handler.k.mode": "tx",
        "gg.handler.k.topicMappingTemplate": place.prefix,
        "gg.handler.k.keyMappingTemplate": "${null}",
    }
    code, message = failed(lambda: place.send(given, settings=settings))
    assert code == "GG577"
    assert "does not show" in message


def test_messages_without_a_key_take_the_partitions_in_turn(place: Place, stop_after: Callable[[int], None]) -> None:
    given = changes(place.directory / "in.json", range(40), ("S.A",))
    stop_after(2)
    with pytest.raises(Stopped):
        place.send(given, settings={"gg.handler.k.keyMappingTemplate": "${null}"})
    place.send(given, settings={"gg.handler.k.keyMappingTemplate": "${null}"}, split_size=2000)
    numbers = [[int(value["pos"]) for value in part] for part in place.values("S.A")]
    assert numbers == [list(range(start, 40, 3)) for start in range(3)]


def test_headers_and_schemas_go_with_the_messages(place: Place) -> None:
    from confluent_kafka import TopicPartition

    given = changes(place.directory / "in.json", range(40))
    settings = {
        "gg.handler.k.format": "avro_row",
        "gg.handler.k.metaHeadersTemplate": "${objectname[table]},${optype[op]}",
        "gg.handler.k.schemaTopicName": f"{place.prefix}.schemas",
    }
    result = place.send(given, settings=settings, split_size=2000)
    assert result.manifest["topics"][f"{place.prefix}.schemas"]["messages"] == 2
    schemas = [pair for part in place.broker.messages(f"{place.prefix}.schemas") for pair in part]
    assert sorted(key or b"" for key, _ in schemas) == [b"S.A", b"S.B"]
    assert {json.loads(value or b"")["name"] for _, value in schemas} == {"A", "B"}
    consumer = ClientSettings(place.broker.brokers).consumer(auto_offset_reset="earliest")
    consumer.assign([TopicPartition(f"{place.prefix}.S.A", number, 0) for number in range(3)])
    headers = [message.headers() for message in consumer.consume(20, 10)]
    consumer.close()
    assert headers == [[("table", b"S.A"), ("op", b"I")]] * 20


@pytest.mark.parametrize("own", [{}, {"gg.handler.k.mode": "tx"}])
def test_descriptions_of_tables_come_once_and_divide_no_transaction(place: Place, own: dict[str, str]) -> None:
    records = [operation(number, f"S.{'AB'[number % 2]}") for number in range(8)]
    records = [{**record, "primary_keys": ["ID"], "tokens": {"xid": f"{n // 4}"}} for n, record in enumerate(records)]
    settings = {
        "gg.handler.k.format": "qlik_json",
        "gg.handler.k.topicMappingTemplate": f"{place.prefix}.all",
        "gg.handler.k.keyMappingTemplate": "${null}" if own else "${primaryKeys}",
    }
    given = write_lines(place.directory / "in.json", records)
    place.send(given, settings=settings | own, create_topics=1, split_size=400)
    values = [(value or b"").count(b'"type":"DT"') for _, value in place.messages("all")[0]]
    assert values == ([0, 0, 4, 4] if own else [0, 1, 0, *[1] * 7])


def test_messages_of_another_program_are_seen_by_the_verification(place: Place) -> None:
    result = place.send(changes(place.directory / "in.json", range(30), ("S.A",)), create_topics=1)
    client = ClientSettings(place.broker.brokers)
    printed = io.StringIO()
    print_verification(verify(client, place.prefix), printed)
    size = result.totals["handlers"]["k"]["bytes"]
    shown = f"job {place.prefix}, topic {place.prefix}.S.A: 30 messages\n1 run, 1 topic, {size:,} bytes: no findings\n"
    assert printed.getvalue() == shown
    record, _ = read_run(client, place.prefix)
    assert record is not None
    place.broker.send(f"{place.prefix}.S.A", [(b"1", b"x")])
    assert verify(client, place.prefix).findings == []  # behind the run
    assert failed(lambda: verify(client, "none"))[0] == "GG574"


def test_a_checkpoint_sends_each_file_once(place: Place) -> None:
    directory = place.directory / "in"
    directory.mkdir()
    for day in range(3):
        changes(directory / f"{day}.json", range(day * 10, day * 10 + 10))
        place.send(directory, checkpoint=place.directory / "checkpoint")
        assert place.count("S.A", "S.B") == day * 10 + 10
    result = place.send(directory, checkpoint=place.directory / "checkpoint")
    assert result.totals["operations_read"] == 0
    assert place.count("S.A", "S.B") == 30


def test_a_checkpoint_that_was_not_written_is_made_up_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = place.directory / "in"
    directory.mkdir()
    checkpoint = place.directory / "checkpoint"
    changes(directory / "0.json", range(10))
    place.send(directory, checkpoint=checkpoint)
    changes(directory / "1.json", range(10, 20))
    with monkeypatch.context() as patched:
        patched.setattr(sink, "commit", lambda *_: (_ for _ in ()).throw(Stopped()))
        with pytest.raises(Stopped):
            place.send(directory, checkpoint=checkpoint)
    assert place.count("S.A", "S.B") == 20
    changes(directory / "2.json", range(20, 30))
    result = place.send(directory, checkpoint=checkpoint)  # ends the run that was cut off, and sends what is new
    assert place.count("S.A", "S.B") == 30
    assert [plan.totals.messages for plan in result.topics] == [10, 10]


def test_a_checkpoint_of_another_time_is_refused(place: Place) -> None:
    directory = place.directory / "in"
    directory.mkdir()
    changes(directory / "0.json", range(10))
    place.send(directory, checkpoint=place.directory / "one")
    place.send(directory, checkpoint=place.directory / "two")  # as if the run had not come to write it
    assert place.count("S.A", "S.B") == 10
    changes(directory / "1.json", range(10, 20))
    place.send(directory, checkpoint=place.directory / "two")
    for name, job in (("three", place.prefix), ("one", place.prefix), ("two", f"{place.prefix}-2")):
        code, _ = failed(partial(place.send, directory, checkpoint=place.directory / name, job=job))
        assert code == "GG574"
    assert place.count("S.A", "S.B") == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_reject": "quarantine"}, "topics cannot contain rejects"),
        ({"mode": "overwrite"}, "messages that are in a topic cannot be replaced"),
        ({"job": None, "checkpoint": "c"}, "`checkpoint` needs the name of the job"),
        ({"rate": 0}, "a number of messages in a second, not `0`"),
        ({"rate": float("nan")}, "a number of messages in a second"),
        ({"rate": 5, "atomic": True}, "must not wait for `rate`"),
        ({"job": "a/b"}, "`a/b` is not a valid name of a job"),
        ({"create_topics": "0"}, "needs a number of partitions"),
        ({"rate": "fast"}, "needs a number of messages in a second"),
        ({"settings": {"gg.handler.k.schemaTopicName": "s"}}, "the schemas of `json` to a topic is not known"),
        ({"settings": {"gg.handler.k.type": "hdfs"}}, "other handlers have no topics of Kafka"),
    ],
)
def test_what_does_not_go_with_topics_is_refused(place: Place, options: dict[str, Any], message: str) -> None:
    code, found = failed(lambda: place.send(changes(place.directory / "in.json", range(3)), **options))
    assert code == "GG577"
    assert message in found


@pytest.mark.parametrize("option", [{"job": "a"}, {"rate": 0}, {"atomic": True}, {"create_topics": 3}])
def test_options_of_kafka_need_kafka(tmp_path: Path, option: dict[str, Any]) -> None:
    given = changes(tmp_path / "in.json", range(3))
    code, _ = failed(lambda: ggfmt.convert(given, to="json", output=tmp_path / "out", master="none[1]", **option))
    assert code == "GG577"


def test_the_verification_reads_all_topics_at_once(place: Place) -> None:
    """A client that meets a topic asks for its place and waits: a second for each that comes after another."""
    tables = tuple(f"S.T{number}" for number in range(12))
    place.send(changes(place.directory / "in.json", range(600), tables), create_topics=3)
    start = time.monotonic()
    found = verify(ClientSettings(place.broker.brokers), place.prefix)
    assert time.monotonic() - start < 4
    assert (found.files, found.messages.total(), found.findings) == (12, 600, [])
