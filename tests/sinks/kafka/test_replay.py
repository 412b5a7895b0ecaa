"""Options that replay changes as they were: the times of messages, and tombstones; seen by a consumer of its own."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_broker import kafka_broker as kafka_broker
from kafka_target import RECENT, Target, change, changes
from kafka_target import target as target

import ggfmt
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.kafka.client import ClientSettings
from ggfmt.sinks.kafka.verification import verify


def test_messages_have_the_times_of_their_changes(target: Target) -> None:
    times = [RECENT + timedelta(microseconds=1_234_567 * number) for number in range(3)]
    result = target.send(*(change(number, at=at) for number, at in enumerate(times)), timestamps="op_ts")
    millis = [int(at.timestamp() * 1000) for at in times]
    assert [message.timestamp() for message in target.messages()] == [(1, each) for each in millis]
    (manifest,) = result.manifests.values()
    assert manifest["topics"][target.topic]["times"] == (millis[0], millis[-1])


def test_by_default_messages_have_the_time_of_sending(target: Target) -> None:
    start = time.time() * 1000
    result = target.send(change(1))
    (message,) = target.messages()
    assert start - 1 <= message.timestamp()[1] <= time.time() * 1000
    (manifest,) = result.manifests.values()
    assert "times" not in manifest["topics"][target.topic]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"message.timestamp.type": "LogAppendTime"}, "the topic has times of the broker"),
        ({"retention.ms": "3600000"}, "`retention.ms=3600000`"),
        ({"message.timestamp.before.max.ms": "1000"}, "`message.timestamp.before.max.ms=1000`"),
        ({"message.timestamp.difference.max.ms": "1000"}, "`message.timestamp.difference.max.ms=1000`"),
    ],
)
def test_times_that_the_topic_does_not_take(
    config: dict[str, str], said: str, kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggfmt.sinks.kafka import run

    target = Target(kafka_broker, tmp_path)
    monkeypatch.setattr(run, "topic_settings", lambda client, topics: dict.fromkeys(topics, config))
    found = target.refused(change(1), timestamps="op_ts")
    assert found.code == "GG573"
    assert said in found.message
    assert found.message.endswith("nothing was sent")
    target.send(change(1))
    assert len(target.messages()) == 1


def test_a_time_after_the_present(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    from ggfmt.sinks.kafka import run

    config = {"message.timestamp.after.max.ms": "3600000", "retention.ms": "-1"}
    monkeypatch.setattr(run, "topic_settings", lambda client, topics: dict.fromkeys(topics, config))
    found = target.refused(change(1, at=RECENT + timedelta(hours=7)), timestamps="op_ts")
    assert "`message.timestamp.after.max.ms=3600000`" in found.message
    target.send(change(1, at=RECENT - timedelta(days=9)), timestamps="op_ts")
    assert len(target.messages()) == 1


@pytest.mark.parametrize("at", [None, "1969-12-31 23:59:59.000000"])
def test_an_operation_without_a_time_that_kafka_can_have(at: str | None, target: Target) -> None:
    record = change(2)
    record.pop("op_ts")
    found = target.refused(change(1), {**record, **({} if at is None else {"op_ts": at})}, timestamps="op_ts")
    assert found.code in {"GG577", "GG303"}


def test_a_tombstone_follows_each_delete(target: Target) -> None:
    given = change(1), change(2, "D"), change(3), change(4, key=2), change(5, "D", key=2)
    result = target.send(*given, tombstones=True)
    found = [(message.key(), message.value() is None) for message in target.messages()]
    assert found == [(b"1", False), (b"1", False), (b"1", True), (b"1", False), *[(b"2", False)] * 2, (b"2", True)]
    (manifest,) = result.manifests.values()
    assert manifest["topics"][target.topic]["messages"] == 7
    assert not verify(ClientSettings(target.broker.brokers), target.job).findings


def test_tombstones_need_keys(target: Target) -> None:
    for settings, said in (
        ({"gg.handler.k.keyMappingTemplate": "${null}"}, "a tombstone needs a key"),
        ({"gg.handler.k.mode": "tx", "gg.handler.k.keyMappingTemplate": "${null}"}, "the message of a transaction"),
    ):
        found = target.refused(change(1), change(2, "D"), tombstones=True, settings=settings)
        assert found.code == "GG577"
        assert said in found.message


def test_headers_tell_the_messages_of_a_run(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    from ggfmt.kafka.jobs import Transactions
    from ggfmt.sinks.kafka import send

    given = [change(number) for number in range(5)]
    monkeypatch.setattr(send, "_COMMIT_MESSAGES", 2)
    commit, commits = Transactions.commit, []

    def failing(self: Transactions, records: Any) -> None:
        if any("/" in name for name in records):
            commits.append(records)
            if len(commits) == 2:
                raise KeyboardInterrupt
        commit(self, records)

    monkeypatch.setattr(Transactions, "commit", failing)
    with pytest.raises(BaseException, match="the same command goes on"):
        target.send(*given, headers=True)
    target.broker.send(target.topic, [(b"1", b"of another program")], headers=[("ggfmt.job", b"other")])
    result = target.send(*given, headers=True)
    (manifest,) = result.manifests.values()
    own = [dict(message.headers()) for message in target.messages() if message.value() != b"of another program"]
    common = {"ggfmt.job": target.job.encode(), "ggfmt.run": manifest["run"].encode()}
    assert own == [{**common, "ggfmt.sequence": b"%d" % number} for number in range(1, 6)]
    verified = verify(ClientSettings(target.broker.brokers), target.job)
    assert not verified.findings
    assert verified.messages[target.job, target.topic] == 5


def test_without_the_option_there_are_no_headers(target: Target) -> None:
    target.send(change(1))
    (message,) = target.messages()
    assert message.headers() is None


def test_headers_of_ggfmt_follow_those_of_the_handler(target: Target) -> None:
    target.send(change(1), headers=True, settings={"gg.handler.k.metaHeadersTemplate": "${optype}"})
    (message,) = target.messages()
    assert [name for name, _ in message.headers()][1:] == ["ggfmt.job", "ggfmt.run", "ggfmt.sequence"]


def test_another_attempt_has_the_same_options(target: Target) -> None:
    given = change(1), change(2, "D")
    target.send(*given, tombstones=True, timestamps="op_ts")
    with pytest.raises(GgfmtError) as caught:
        target.send(*given)
    assert caught.value.diagnostics[0].code == "GG574"
    target.send(*given, tombstones=True, timestamps="op_ts")
    assert len(target.messages()) == 3


@pytest.mark.parametrize("option", [{"timestamps": "op_ts"}, {"tombstones": True}, {"headers": True}])
def test_options_of_kafka_need_kafka(tmp_path: Path, option: dict[str, Any]) -> None:
    with pytest.raises(GgfmtError) as caught:
        ggfmt.convert(changes(tmp_path / "in.json", change(1)), to="json", output=tmp_path / "out", **option)
    assert caught.value.diagnostics[0].code == "GG577"
