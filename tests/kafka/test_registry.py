"""The client of schema registries."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import pytest
from schema_registry import RegistryStub, schema_registry

from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.kafka.registry import SchemaRegistry

ROW = json.dumps({"type": "record", "name": "T", "fields": [{"name": "ID", "type": "long"}]})
SUBJECT = "S.T/é-value"


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryStub]:
    with schema_registry(user="ada:pa:ss") as stub:
        yield stub


@pytest.fixture
def stub(server: RegistryStub, monkeypatch: pytest.MonkeyPatch) -> RegistryStub:
    server.schemas.clear()
    server.subjects.clear()
    server.fixed.clear()
    server.paths.clear()
    monkeypatch.setenv("GGFMT_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO", "ada:pa:ss")
    return server


def test_schemas_are_registered_once_and_found_by_their_ids(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    assert registry.find(SUBJECT, ROW) is None
    registry.check(SUBJECT, ROW)
    numbers = [registry.register(SUBJECT, ROW), registry.register(SUBJECT, ROW)]
    assert numbers == [1, 1]
    assert [path.startswith("POST /subjects/S.T%2F%C3%A9-value/versions") for path in stub.paths].count(True) == 1
    again = pickle.loads(pickle.dumps(registry))
    assert (again.find(SUBJECT, ROW), again.schema(1), again.schema(9)) == (1, ROW, None)
    made = len(stub.paths)
    assert (again.find(SUBJECT, ROW), again.schema(1)) == (1, ROW)
    assert len(stub.paths) == made


def test_a_schema_that_the_subject_refuses_stops(stub: RegistryStub) -> None:
    stub.add("string", SUBJECT)
    stub.fixed.add(SUBJECT)
    registry = SchemaRegistry(stub.url)
    for refused in (registry.check, registry.register):
        with pytest.raises(Abend, match=r"GG578.*S.T/é-value") as error:
            refused(SUBJECT, ROW)
        assert "compatib" in str(error.value)
    assert registry.register(SUBJECT, '"string"') == 1


def test_passwords_are_in_no_text(stub: RegistryStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GGFMT_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO")
    with pytest.raises(Abend, match=r"GG578.*401.*GGFMT_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"):
        SchemaRegistry(stub.url).schema(1)
    settings = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "ada:pa:ss"}
    registry = SchemaRegistry(stub.url, settings)
    assert registry.schema(1) is None
    assert "pa:ss" not in repr(registry)
    with pytest.raises(UsageError, match="GG578") as error:
        SchemaRegistry("http://ada:secret@registry:8081")
    assert "secret" not in str(error.value)


@pytest.mark.example("GG578")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("basic.auth.credentials.source", "SASL_INHERIT"),
        ("ssl.truststore.type", "JKS"),
        ("bearer.auth.token", "secret"),
    ],
)
def test_settings_without_support_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"GG578.*`{name}`") as error:
        SchemaRegistry("http://registry", {name: value})
    assert "secret" not in str(error.value)


def test_certificates_are_looked_for() -> None:
    settings = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "no/such.pem"}
    with pytest.raises(Abend, match="GG578"):
        SchemaRegistry("https://127.0.0.1:1", settings).schema(1)


@pytest.mark.process
def test_a_registry_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.kafka.registry.RETRIES", 0)
    with pytest.raises(Abend, match=r"GG578.*does not answer.*check the address"):
        SchemaRegistry("http://127.0.0.1:1").schema(1)


def test_other_kinds_of_schemas_are_refused(stub: RegistryStub, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"schema": "{}", "schemaType": "JSON"}
    monkeypatch.setattr(stub, "answer", lambda method, path, body: (200, answer))
    with pytest.raises(Abend, match=r"GG578.*not an Avro schema"):
        SchemaRegistry(stub.url).schema(1)


def test_the_registry_of_the_client_for_tests() -> None:
    registry = SchemaRegistry("mock://tests")
    number = registry.register("t-value", ROW)
    assert registry.schema(number) == ROW
    assert [registry.find("t-value", text) for text in (ROW, "1")] == [number, None]
