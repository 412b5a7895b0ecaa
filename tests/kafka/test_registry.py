"""The client of schema registries."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import pytest
from schema_registry import RegistryStub, schema_registry

from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.kafka.registry import MAX_DEPTH, SchemaRegistry, StoredSchema, UnresolvedReferenceError

ROW = json.dumps({"type": "record", "name": "T", "fields": [{"name": "ID", "type": "long"}]})
SUBJECT = "S.T/é-value"


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryStub]:
    with schema_registry(user="ada:pa:ss") as stub:
        yield stub


@pytest.fixture
def stub(server: RegistryStub, monkeypatch: pytest.MonkeyPatch) -> RegistryStub:
    server.schemas.clear()
    server.about.clear()
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
    stored = StoredSchema("AVRO", ROW)
    assert (again.find(SUBJECT, ROW), again.schema(1), again.schema(9)) == (1, stored, None)
    made = len(stub.paths)
    assert (again.find(SUBJECT, ROW), again.schema(1)) == (1, stored)
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


def referring(stub: RegistryStub, subject: str, *others: str, version: int = 1) -> int:
    """Add a schema to a subject that refers to a version of other subjects."""
    schema = {"type": "record", "name": subject, "fields": [{"name": name, "type": name} for name in others]}
    references = [{"name": name, "subject": name, "version": version} for name in others]
    return stub.add(schema, subject, references=references)


def test_references_are_followed_once_each(stub: RegistryStub) -> None:
    for subject, *others in (["d"], ["c", "d"], ["b", "d", "c"], ["a", "b", "c"]):
        number = referring(stub, subject, *others)
    found = SchemaRegistry(stub.url).schema(number)
    assert found is not None
    assert list(found.references) == ["d", "c", "b"]  # a schema is before those that refer to it
    assert json.loads(found.references["c"])["name"] == "c"
    assert len(stub.paths) == 4


@pytest.mark.parametrize(
    ("others", "version", "said"),
    [
        ({"a": ["a"]}, 1, "in a circle"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, 1, "in a circle"),
        ({"a": ["nothing"]}, 1, "version 1 of `nothing`, which is missing"),
        ({"b": [], "a": ["b"]}, 2, "version 2 of `b`"),
        ({f"s{place}": [f"s{place + 1}"] for place in range(MAX_DEPTH + 2)}, 1, "too many"),
        (
            {"a": [f"s{place}" for place in range(71)], **{f"s{place}": [] for place in range(71)}},
            1,
            "too many",
        ),
    ],
)
def test_references_that_lead_nowhere(
    others: dict[str, list[str]], version: int, said: str, monkeypatch: pytest.MonkeyPatch, stub: RegistryStub
) -> None:
    monkeypatch.setattr("ggfmt.kafka.registry.MAX_REFERENCES", 70)
    numbers = {subject: referring(stub, subject, *own, version=version) for subject, own in others.items()}
    with pytest.raises(UnresolvedReferenceError, match=said):
        SchemaRegistry(stub.url).schema(numbers.get("a", 1))


def test_other_kinds_of_schemas_have_their_kind(stub: RegistryStub) -> None:
    number = stub.add('syntax = "proto3";', "t-value", schemaType="PROTOBUF")
    assert SchemaRegistry(stub.url).schema(number) == StoredSchema("PROTOBUF", 'syntax = "proto3";')


@pytest.mark.parametrize(("status", "body"), [(500, b"<html>"), (200, b"<html>"), (200, b"[]"), (200, b""), (403, b"")])
def test_answers_of_no_registry(status: int, body: bytes, stub: RegistryStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.kafka.registry.RETRIES", 0)
    monkeypatch.setattr(stub, "answer", lambda method, path, given: (status, body))
    with pytest.raises(Abend, match=r"GG578") as error:
        SchemaRegistry(stub.url).schema(1)
    assert "pa:ss" not in str(error.value)


def test_the_registry_of_the_client_for_tests() -> None:
    registry = SchemaRegistry("mock://tests")
    number = registry.register("t-value", ROW)
    assert registry.schema(number) == StoredSchema("AVRO", ROW)
    assert [registry.find("t-value", text) for text in (ROW, "1")] == [number, None]
