"""Where the producer file of a handler is found, and that no message of it has a secret."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ggfmt.config.kafka_producer import DEFAULT_FILE, producer_properties
from ggfmt.diagnostics.diagnostic import ConfigurationError, GgfmtError, MissingFileError
from ggfmt.kafka.address import parse_address
from ggfmt.kafka.properties import client_settings

NAMED = "gg.handler.k.KafkaProducerConfigFile=mine.properties\n"
CANARY = "c4nary-p4ss"


@pytest.fixture
def handler_file(tmp_path: Path) -> Path:
    path = tmp_path / "dirprm" / "kafka.props"
    path.parent.mkdir()
    path.write_text(NAMED)
    return path


def client_ids(handler_file: Path, *settings: str, given: Path | None = None, **variables: str) -> list[str]:
    sources = producer_properties("k", [str(handler_file)], settings, None if given is None else str(given), variables)
    return [each.value for source in sources for each in source]


def test_beside_the_handler_file(handler_file: Path) -> None:
    (handler_file.parent / "mine.properties").write_text("client.id=beside\n")
    assert client_ids(handler_file) == ["beside"]


def test_in_a_directory_of_the_class_path(handler_file: Path) -> None:
    handler_file.write_text(f"{NAMED}gg.classpath=/opt/kafka/libs/*: ../etc :lib.jar\n")
    (handler_file.parents[1] / "etc").mkdir()
    (handler_file.parents[1] / "etc" / "mine.properties").write_text("client.id=class path\n")
    assert client_ids(handler_file) == ["class path"]
    (handler_file.parent / "mine.properties").write_text("client.id=beside\n")
    assert client_ids(handler_file) == ["beside"]


def test_a_setting_names_it(handler_file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.properties").write_text("client.id=other\n")
    setting = f"gg.handler.k.kafkaProducerConfigFile={tmp_path}/other.properties"
    assert client_ids(handler_file, setting) == ["other"]


def test_the_usual_name_may_be_absent(handler_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    handler_file.write_text("gg.handlerlist=k\n")
    assert client_ids(handler_file) == []
    (line,) = caplog.messages
    assert line == f"the handler `k` names no file of a producer, and `{DEFAULT_FILE}` does not exist"
    (handler_file.parent / DEFAULT_FILE).write_text("client.id=default\n")
    assert client_ids(handler_file) == ["default"]


def test_a_named_file_that_is_absent_is_refused(handler_file: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError) as caught:
        client_ids(handler_file)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line) == ("GG576", 1)
    assert found.help is not None
    assert "--producer-config" in found.help
    assert str(handler_file.parent / "mine.properties") in found.help
    given = tmp_path / "given.properties"
    given.write_text("client.id=given\n")
    assert client_ids(handler_file, given=given) == ["given"]


def test_the_order_of_the_sources(handler_file: Path, tmp_path: Path) -> None:
    (handler_file.parent / "mine.properties").write_text("client.id=beside\n")
    (tmp_path / "given.properties").write_text("client.id=given\n")
    found = client_ids(handler_file, given=tmp_path / "given.properties", GGFMT_KAFKA_CLIENT_ID="variable")
    assert found == ["beside", "given", "variable"]


@pytest.mark.parametrize(
    "line",
    [
        f'sasl.jaas.config=org.X required password="{CANARY}\\u12";',
        f"ssl.keystore.key={CANARY}\\u12",
        f'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required\n username="u"\n {CANARY}',
        f"ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{CANARY.upper()}\n-----END PRIVATE KEY-----",
        f"sasl.password {CANARY}\\u",
    ],
)
def test_a_broken_file_shows_no_secret(line: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.properties"
    path.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n{line}\n")
    with pytest.raises(ConfigurationError) as caught:
        client_settings(parse_address("kafka://b"), *producer_properties(None, [], [], str(path), {}))
    shown = f"{caught.value}{caught.value.diagnostics!r}"
    assert CANARY.lower() not in shown.lower()
    assert {each.code for each in caught.value.diagnostics} <= {"GG108", "GG576"}


def test_a_given_file_that_is_absent(tmp_path: Path) -> None:
    with pytest.raises(GgfmtError) as caught:
        list(producer_properties(None, [], [], str(tmp_path / "none.properties"), {}))
    assert (caught.value.exit_code, caught.value.diagnostics[0].code) == (2, "GG100")
