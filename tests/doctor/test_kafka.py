"""`ggfmt doctor --kafka`: what it finds out about a cluster, and about what is none."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker, kafka_broker
from schema_registry import schema_registry
from spark_cluster import closed_port
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.doctor import kafka
from ggfmt.doctor.examination import examine
from ggfmt.doctor.finding import Finding, State
from ggfmt.kafka import client
from ggfmt.kafka.address import parse_address

__all__ = ["kafka_broker"]

CANARY = "c4nary-p4ss"
CHECKS = ["kafka_client", "kafka_brokers", "kafka_topics", "kafka_rights", "kafka_transactions", "kafka_messages"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the checks of the machine."""
    monkeypatch.setattr(f"{examine.__module__}.examine", lambda settings: [])
    monkeypatch.setattr(client, "_FAILING_SECONDS", 0.0)


def doctor(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["doctor", "--output-format", "json", *arguments])
    assert CANARY not in result.output
    return result.exit_code, {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}


def ask(broker: KafkaBroker) -> dict[str, Finding]:
    return {each.name: each for each in kafka.ask_kafka(parse_address(broker.address), [], None)}


@pytest.mark.parametrize("scheme", ["", "kafka://"])
def test_a_cluster_that_has_it_all(kafka_broker: KafkaBroker, scheme: str) -> None:
    status, found = doctor("--kafka", f"{scheme}{kafka_broker.brokers}")
    assert status == 0
    assert list(found) == CHECKS
    assert {finding["state"] for finding in found.values()} == {"ok"}
    assert found["kafka_client"]["facts"] == {"version": importlib.metadata.version("confluent-kafka")}
    assert found["kafka_brokers"]["facts"]["brokers"] == [kafka_broker.brokers]
    assert found["kafka_brokers"]["message"].startswith("1 broker of the cluster `")


def test_the_topic_with_the_states_of_jobs(kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    for policy, expected in (("compact", State.OK), ("delete", State.PROBLEM)):
        name = kafka_broker.topic(1, config={"cleanup.policy": policy})
        monkeypatch.setattr(kafka, "STATE_TOPIC", name)
        found = ask(kafka_broker)["kafka_topics"]
        assert found.state is expected
        assert found.facts["state_topic"] == ("compacted" if expected is State.OK else "not compacted")
    monkeypatch.setattr(kafka, "STATE_TOPIC", "absent")
    assert ask(kafka_broker)["kafka_topics"].facts["state_topic"] == "absent"


def test_what_a_cluster_may_answer(kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Abend("GG571", "Kafka: not authorized")

    monkeypatch.setattr(kafka, "access_rules", lambda settings: None)
    monkeypatch.setattr(kafka, "broker_settings", lambda settings, broker: {"message.max.bytes": "1048588"})
    monkeypatch.setattr(kafka, "Transactions", refuse)
    found = ask(kafka_broker)
    assert found["kafka_rights"].message == "the cluster has no authorizer: everyone may do everything"
    assert found["kafka_messages"].facts == {"largest_bytes": 1048588}
    assert found["kafka_transactions"].state is State.PROBLEM
    monkeypatch.setattr(kafka, "access_rules", refuse)
    assert ask(kafka_broker)["kafka_rights"].state is State.WARNING


def test_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGFMT_KAFKA_SASL_PASSWORD", CANARY)
    with closed_port() as port:
        status, found = doctor("--kafka", f"127.0.0.1:{port}")
    assert (status, list(found)) == (1, CHECKS[:2])
    assert "Connection refused" in found["kafka_brokers"]["message"]


def test_settings_that_cannot_be_applied(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text(f"sasl.password={CANARY}\ninterceptor.classes=com.example.Audit\n")
    status, found = doctor("--kafka", "broker", "--producer-config", str(file))
    assert (status, list(found)) == (1, CHECKS[:1])
    assert found["kafka_client"]["message"] == f"ggfmt cannot apply `interceptor.classes` (in {file}:2:1)"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(kafka, "version", missing)
    status, found = doctor("--kafka", "broker")
    assert (status, list(found)) == (1, CHECKS[:1])
    assert found["kafka_client"]["help"] == "install it with `pip install 'ggfmt[kafka]'`"


def test_an_address_that_is_none() -> None:
    for address in ("http://host:9092", f"me:{CANARY}@host"):
        result = CliRunner().invoke(app, ["doctor", "--kafka", address])
        assert isinstance(result.exception, UsageError)
        assert CANARY not in str(result.exception)


@pytest.mark.parametrize("arguments", [("--producer-config", "x"), ("--schema-registry", "http://x")])
def test_options_of_a_cluster_need_one(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"error[GG565] `{arguments[0]}` needs `--kafka`")


def test_a_schema_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_ask_cluster", lambda address, sources: iter(()))
    with schema_registry(f"me:{CANARY}") as stub:
        stub.add("string", "a-key", "b-key")
        _, found = doctor("--kafka", "broker", "--schema-registry", stub.url)
        assert found["schema_registry"]["state"] == "problem"
        monkeypatch.setenv("GGFMT_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO", f"me:{CANARY}")
        _, found = doctor("--kafka", "broker", "--schema-registry", stub.url)
        assert found["schema_registry"]["state"] == "ok"
        assert found["schema_registry"]["facts"] == {"url": stub.url, "subjects": 2}


def test_a_schema_registry_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_ask_cluster", lambda address, sources: iter(()))
    with closed_port() as port:
        for address in (f"http://127.0.0.1:{port}", f"http://me:{CANARY}@127.0.0.1:{port}", "no-url", "file:///etc"):
            status, found = doctor("--kafka", "broker", "--schema-registry", address)
            assert (status, found["schema_registry"]["state"]) == (1, "problem")
