"""Clients of a cluster: why no broker answers, what the log has, and that nothing shows a password."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaException, TopicCollection, Uuid
from kafka_broker import KafkaBroker, kafka_broker
from spark_cluster import closed_port

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError
from ggfmt.kafka import client
from ggfmt.kafka.address import parse_address
from ggfmt.kafka.client import ClientSettings, kafka_errors_stop
from ggfmt.kafka.cluster import access_rules, topic_ids, topic_settings
from ggfmt.kafka.jobs import Transactions

__all__ = ["kafka_broker"]

CANARY = "c4nary-p4ss"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "u",
    "sasl.password": CANARY,
}
TOKEN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": CANARY,
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FAILING_SECONDS", 0.0)
    monkeypatch.setattr(client, "_SILENT_SECONDS", 2.0)


@contextmanager
def server(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """A server that does one thing with every connection; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            kept = []
            while True:
                try:
                    kept.append(listening.accept()[0])
                    serve(kept[-1])
                except OSError:
                    if listening.fileno() < 0:
                        return

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def unreachable(brokers: str, **properties: str) -> Diagnostic:
    settings = ClientSettings(brokers, {name.replace("_", "."): value for name, value in properties.items()})
    return failure(settings)


def failure(settings: ClientSettings) -> Diagnostic:
    with pytest.raises(Abend) as caught:
        settings.metadata()
    shown = "".join(traceback.format_exception(caught.value))
    assert CANARY not in f"{shown}{caught.value.diagnostics!r}"
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.file) == ("GG571", f"kafka://{settings.brokers}")
    return found


def test_a_port_that_nobody_listens_at(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG, "ggfmt")
    with closed_port() as port:
        found = failure(ClientSettings(f"127.0.0.1:{port}", LOGIN | {"debug": "all"}))
    assert found.message.startswith("no broker answers: sasl_plaintext://127.0.0.1:")
    assert found.message.endswith(" failed: Connection refused")
    assert found.help == "check the host and the port, and whether the broker runs"
    assert {(record.name, record.levelname) for record in caplog.records} == {("ggfmt.kafka", "DEBUG")}
    assert CANARY not in caplog.text
    assert not re.search(r"^%[0-9]", "".join(capfd.readouterr()), re.MULTILINE)  # as the library itself writes lines


def test_a_name_that_no_server_knows() -> None:
    found = unreachable("nowhere.invalid:9092")
    assert "nowhere.invalid:9092: Failed to resolve" in found.message
    assert found.help is not None
    assert "check the name of the broker" in found.help


def test_a_broker_that_is_silent() -> None:
    with server(lambda connection: None) as brokers:
        clock = time.monotonic()
        assert unreachable(brokers).message == "no broker answers: timed out after 2 seconds"
        assert time.monotonic() - clock < 10


def test_a_server_of_another_kind() -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with server(answer) as brokers:
        found = failure(ClientSettings(brokers, LOGIN))
        assert "Invalid response size" in found.message
        assert found.help == "check `security.protocol` and the port: the broker speaks another protocol"
        found = unreachable(brokers, security_protocol="SSL")
        assert "wrong version number" in found.message
        assert found.help == "check `security.protocol`: this port may be one without TLS"


def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "30"]
    make += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def shake_hands(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(100)

    with server(shake_hands) as brokers:
        found = unreachable(brokers, security_protocol="SSL")
        assert "certificate verify failed" in found.message
        assert found.help is not None
        assert "ssl.truststore.location" in found.help
        # The name of the certificate is another, and is compared unless that is switched off.
        assert (
            "certificate verify failed"
            in unreachable(brokers, security_protocol="SSL", ssl_ca_location=str(certificate)).message
        )
        assert (
            "certificate"
            not in unreachable(
                brokers,
                security_protocol="SSL",
                ssl_ca_location=str(certificate),
                ssl_endpoint_identification_algorithm="none",
            ).message
        )
        assert "Disconnected" in unreachable(brokers).message


def test_a_token_that_nobody_gives(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ggfmt")
    with server(lambda connection: None) as brokers, closed_port() as port:
        url = f"http://me:{CANARY}@127.0.0.1:{port}/token"
        found = failure(ClientSettings(brokers, TOKEN | {"sasl.oauthbearer.token.endpoint.url": url}))
    assert "Failed to retrieve OIDC token" in found.message
    assert found.help is not None
    assert "the password" in found.help
    assert CANARY not in caplog.text


def test_a_broker_that_answers(kafka_broker: KafkaBroker, capfd: pytest.CaptureFixture[str]) -> None:
    settings = ClientSettings(kafka_broker.brokers)
    topic = kafka_broker.topic(4, config={"cleanup.policy": "compact"})
    capfd.readouterr()
    assert settings.topics()[topic] == 4
    assert topic_settings(settings, [topic])[topic]["cleanup.policy"] == "compact"
    assert access_rules(settings) == 0
    Transactions(settings, "ggfmt.doctor").close()
    assert capfd.readouterr() == ("", "")


def test_an_error_of_the_cluster_stops(kafka_broker: KafkaBroker) -> None:
    settings = ClientSettings(kafka_broker.brokers)
    with pytest.raises(Abend, match="GG571"):
        topic_settings(settings, ["no-such-topic"])
    with pytest.raises(Abend, match="GG571"), kafka_errors_stop(settings.shown):
        settings.producer(sasl_mechanism="NONE", security_protocol="SASL_SSL")


@pytest.mark.example("GG571")
@pytest.mark.parametrize("address", ["kafka://", "kafka://a b:1", "kafka://host:port", f"kafka://u:{CANARY}@host"])
def test_an_address_without_a_broker(address: str) -> None:
    with pytest.raises(UsageError, match="GG571") as caught:
        parse_address(address)
    assert CANARY not in str(caught.value)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(UsageError, match=r"GG571.*ggfmt\[kafka\]"):
        ClientSettings("broker:9092").producer()


class Described:
    """An admin client of a cluster with ids: of two topics, of which one was made before topics had ids."""

    def describe_topics(self, names: TopicCollection, **own: object) -> dict[str, Future[SimpleNamespace]]:
        answers: dict[str, Future[SimpleNamespace]] = {}
        for name, id in (("a", Uuid(1, 2)), ("old", Uuid(0, 0)), ("none", None)):
            answers[name] = Future()
            if id is None:
                answers[name].set_exception(KafkaException("unknown topic"))
            else:
                answers[name].set_result(SimpleNamespace(topic_id=id))
        return answers


def test_the_ids_of_topics(kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ClientSettings(kafka_broker.brokers)
    assert topic_ids(settings, [kafka_broker.topic(1), "none"]) == {}  # this broker has none
    monkeypatch.setattr(ClientSettings, "admin", lambda self: Described())
    assert topic_ids(settings, ["a", "old", "none"]) == {"a": str(Uuid(1, 2))}
    assert topic_ids(settings, []) == {}
