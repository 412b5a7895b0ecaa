"""The properties of producers: what becomes of each name, and what is refused where."""

from __future__ import annotations

import logging
import pickle
import re
import string
from collections.abc import Mapping
from pathlib import Path

import pytest

from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span
from ggfmt.kafka.address import parse_address
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.properties import Property, client_settings, variables

ADDRESS = parse_address("kafka://broker")
SECURITY = "org.apache.kafka.common.security"
CANARY = "c4nary-p4ss"


def source(properties: Mapping[str, str], file: str = "p.properties") -> list[Property]:
    return [Property(name, value, Span(file, line)) for line, (name, value) in enumerate(properties.items(), 1)]


def translated(properties: Mapping[str, str], *later: Mapping[str, str]) -> Mapping[str, str]:
    settings, _ = client_settings(ADDRESS, source(properties), *(source(each, "later") for each in later))
    return settings.properties


def refused(properties: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    with pytest.raises(ConfigurationError) as caught:
        client_settings(ADDRESS, source(properties))
    assert {each.code for each in caught.value.diagnostics} == {"GG576"}
    assert CANARY not in f"{caught.value!r}{caught.value}"
    return caught.value.diagnostics


def test_a_production_file(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    given = {
        "bootstrap.servers": "other:9092",
        "acks": "1",
        "compression.type": "gzip",
        "reconnect.backoff.ms": "1000",
        "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "batch.size": "102400 ",
        "linger.ms": "10",
        "max.request.size": "5024000",
        "send.buffer.bytes": "5024000",
        "buffer.memory": "33554432",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schema.registry.url": "http://registry:8081",
        "converter.type": "key",
        "interceptor.classes": "",
        "retries": "0",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "10",
        "delivery.timeout.ms": "120000",
        "transactional.id": "mine",
    }
    settings, converters = client_settings(ADDRESS, source(given))
    assert settings.brokers == "broker:9092"
    assert dict(settings.properties) == {
        "compression.type": "gzip",
        "reconnect.backoff.ms": "1000",
        "batch.size": "102400",
        "linger.ms": "10",
        "message.max.bytes": "5024000",
    }
    assert list(converters) == ["key.converter", "value.converter.schema.registry.url", "converter.type"]
    assert [record.getMessage() for record in caplog.records] == [
        "the address `kafka://broker:9092` replaces the brokers of p.properties:1",
        "ggfmt sends each message once, and sets these itself: acks, retries, enable.idempotence, "
        "max.in.flight.requests.per.connection, delivery.timeout.ms, transactional.id",
    ]


def test_values_that_ask_for_the_same_need_no_word(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    same = {"acks": "all", "enable.idempotence": "TRUE", "bootstrap.servers": "broker:9092", "retries": "2147483647"}
    assert dict(translated(same)) == {}
    assert caplog.records == []


def test_java_takes_0_for_none() -> None:
    assert translated({"batch.size": "0", "linger.ms": "0"}) == {"batch.size": "1", "linger.ms": "0"}


def test_later_sources_win_name_by_name() -> None:
    first = {"linger.ms": "1", "client.id": "a", "sasl.jaas.config": login("plain.PlainLoginModule", "u", "file")}
    found = translated(first, {"linger.ms": "2"}, {"sasl.password": "variable"})
    assert dict(found) == {
        "client.id": "a", "sasl.username": "u", "linger.ms": "2", "sasl.password": "variable",
    }  # fmt: skip
    found = translated({"sasl.password": "file"}, {"sasl.jaas.config": login("plain.PlainLoginModule", "u", "later")})
    assert found["sasl.password"] == "later"


def test_variables_have_the_names_in_capitals() -> None:
    found = variables({"GGFMT_KAFKA_SASL_PASSWORD": r"a\tb", "GGFMT_MASTER": "none", "GGFMT_KAFKA_ACKS": "all"})
    assert [(each.name, each.value, each.span.file) for each in found] == [
        ("sasl.password", r"a\tb", "GGFMT_KAFKA_SASL_PASSWORD"), ("acks", "all", "GGFMT_KAFKA_ACKS"),
    ]  # fmt: skip
    assert r"a\tb" not in repr(found)
    with pytest.raises(ConfigurationError, match=r"^GGFMT_KAFKA_NO_SUCH: error\[GG576\] `no\.such`"):
        client_settings(ADDRESS, variables({"GGFMT_KAFKA_NO_SUCH": "x"}))
    settings, _ = client_settings(ADDRESS, variables({"GGFMT_KAFKA_SASL_PASSWORD": "${a}"}))
    assert settings.properties == {"sasl.password": "${a}"}, "a text of the environment refers to nothing"


# Logins


def login(module: str, user: str, password: str) -> str:
    return f'{SECURITY}.{module} required username="{user}" password="{password}";'


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
@pytest.mark.parametrize(
    ("written", "password"),
    [("a b;=", "a b;="), (r"a\"b\\c", r'a"b\c'), (r"a\tb\101", "a\tbA"), ("'", "'")],
)
def test_a_login_of_java(mechanism: str, module: str, written: str, password: str) -> None:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": login(module, "u", written),
    }
    expected = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.username": "u"}
    assert dict(translated(given)) == {**expected, "sasl.password": password}


@pytest.mark.parametrize("first", [*string.ascii_letters, *string.digits, *"_.$-"])
def test_a_value_without_quotes_is_taken_as_it_is(first: str) -> None:
    jaas = f"{SECURITY}.plain.PlainLoginModule required username=u password={first}bn;"
    assert translated({"sasl.jaas.config": jaas})["sasl.password"] == f"{first}bn"


def test_a_login_with_a_token() -> None:
    common = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    url = {"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}
    jaas = (
        f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required clientId=me clientSecret='{CANARY}' scope=\"a b\"\n"
        ' extension_logicalCluster="lkc" extension_pool = p ;'
    )
    of_oauth = {
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": CANARY,
        "sasl.oauthbearer.scope": "a b",
        "sasl.oauthbearer.method": "oidc",
    }
    handler = f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
    old = {"sasl.jaas.config": jaas, "sasl.login.callback.handler.class": handler}
    extensions = {"sasl.oauthbearer.extensions": "logicalCluster=lkc,pool=p"}
    assert translated(common | url | old) == {**common, **url, **of_oauth, **extensions}
    new = {
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": CANARY,
        "sasl.oauthbearer.scope": "a b",
    }
    assert translated(common | url | new) == {**common, **url, **of_oauth}


# TLS


def test_keys_and_certificates_in_pem(tmp_path: Path) -> None:
    files = {
        "ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem", "ssl.truststore.password": "x",
        "ssl.keystore.type": "PEM", "ssl.keystore.location": "own.pem", "ssl.key.password": CANARY,
        "ssl.endpoint.identification.algorithm": "", "ssl.enabled.protocols": "TLSv1.3",
    }  # fmt: skip
    assert translated(files) == {
        "ssl.ca.location": "ca.pem", "ssl.certificate.location": "own.pem", "ssl.key.location": "own.pem",
        "ssl.key.password": CANARY, "ssl.endpoint.identification.algorithm": "none",
    }  # fmt: skip
    store = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "own.p12", "ssl.keystore.password": CANARY}
    assert translated(store) == {"ssl.keystore.location": "own.p12", "ssl.keystore.password": CANARY}
    body = "A" * 100
    texts = {"ssl.keystore.key": f"-----BEGIN KEY----- {body} -----END KEY-----", "ssl.truststore.certificates": body}
    assert translated(texts) == {
        "ssl.key.pem": f"-----BEGIN KEY-----\n{'A' * 64}\n{'A' * 36}\n-----END KEY-----\n", "ssl.ca.pem": body,
    }  # fmt: skip


# Refusals


@pytest.mark.example("GG576")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("interceptor.classes", "com.example.Audit", "ggfmt cannot apply `interceptor.classes`"),
        ("partitioner.class", "com.example.Mine", "ggfmt cannot apply `partitioner.class`"),
        ("partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner", "`partitioner.class`"),
        ("partitioner.ignore.keys", "true", "ggfmt cannot apply `partitioner.ignore.keys`"),
        ("value.serializer", "org.apache.kafka.common.serialization.StringSerializer", "`value.serializer`"),
        ("metric.reporters", "com.example.Reporter", "ggfmt cannot apply `metric.reporters`"),
        ("config.providers", "file", "ggfmt cannot apply `config.providers`"),
        ("sasl.client.callback.handler.class", "software.amazon.msk.auth.iam.X", "ggfmt cannot apply"),
        ("sasl.kerberos.service.name", "kafka", "ggfmt cannot apply `sasl.kerberos.service.name`"),
        ("plugin.library.paths", "/tmp/x.so", "ggfmt cannot apply `plugin.library.paths`"),
        ("ssl.truststore.type", "JKS", "ggfmt cannot apply `ssl.truststore.type`"),
        ("ssl.truststore.location", "trust.jks", "`ssl.truststore.location` is a Java key store"),
        ("ssl.keystore.location", "key.jks", "`ssl.keystore.location` is a Java key store"),
        ("sasl.password", f"${{file:/x:{CANARY}}}", "`sasl.password` refers to a value elsewhere"),
        ("ssl.key.password", f"ORACLEWALLET[{CANARY}]", "`ssl.key.password` refers to a value elsewhere"),
        ("no.such.name", CANARY, "`no.such.name` is not a property that ggfmt can apply"),
        ("error_cb", CANARY, "this is not a property of a producer"),
        ("logger", CANARY, "this is not a property of a producer"),
        (f"MIIE{CANARY}Q", "", "this is not a property of a producer"),
        ("linger.ms", CANARY, "`linger.ms` has a value that cannot be applied"),
        ("linger.ms", "900001", "`linger.ms` has a value that cannot be applied; give a number from 0 to 900000"),
        ("security.protocol", CANARY, "`security.protocol` has a value that cannot be applied"),
        ("security.protocol", "SASL_SSL", "the login is by Kerberos"),
        ("sasl.jaas.config", f"password={CANARY}", "`sasl.jaas.config` has no login that ggfmt can do"),
        ("sasl.jaas.config", login("plain.PlainLoginModule", "u", CANARY)[:-1], "`sasl.jaas.config` has no login"),
        ("sasl.jaas.config", f'com.sun.security.auth.module.Krb5LoginModule required x="{CANARY}";', "has no login"),
        ("sasl.jaas.config", f"{SECURITY}.scram.ScramLoginModule required tokenauth='{CANARY}';", "`tokenauth`"),
    ],
)
def test_what_cannot_be_applied_is_refused_by_its_name_and_place(name: str, value: str, message: str) -> None:
    (found,) = refused({"linger.ms": "1", name: value} if name != "linger.ms" else {"client.id": "a", name: value})
    assert message in f"{found.message}; {found.help}"
    assert (found.span.file, found.span.line) == ("p.properties", 2)
    assert found.help


@pytest.mark.parametrize(
    "name",
    [
        *("interceptor.classes", "partitioner.class", "partitioner.ignore.keys", "key.serializer", "value.serializer"),
        *("auto.register.schemas", "use.latest.version", "value.subject.name.strategy", "avro.use.logical.type"),
    ],
)
def test_no_help_advises_to_remove_what_can_change_messages(name: str) -> None:
    (found,) = refused({name: "com.example.Mine"})
    assert found.help
    assert not re.search("remove|leave out|write ByteArraySerializer", found.help)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.username and sasl.password must be set"),
        ({"security.protocol": "SSL", "ssl.key.pem": CANARY}, "ssl.key.pem failed"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "NONE", "sasl.password": CANARY}, "Unsupported SASL"),
    ],
)
def test_settings_that_do_not_fit_together(properties: Mapping[str, str], reason: str) -> None:
    (found,) = refused(properties)
    assert found.message.startswith(f"these settings do not fit together: {reason}")
    assert found.span == Span("p.properties")


def test_all_findings_at_once() -> None:
    found = refused({"metric.reporters": "x", "value.serializer": "y", "a_b": "z"})
    assert [each.span.line for each in found] == [1, 2, 3]
    assert len(refused({"foo.bar": "x", "batch.size": "-1"})) == 2


def test_settings_go_to_tasks_and_show_nothing() -> None:
    settings, _ = client_settings(ADDRESS, source({"sasl.username": "u", "sasl.password": CANARY}))
    assert CANARY not in f"{settings!r}{settings}{settings.shown}"
    again: ClientSettings = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert again.config()["sasl.password"] == CANARY
