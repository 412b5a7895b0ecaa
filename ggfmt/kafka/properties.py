"""The properties of a producer, with the names of Java or of librdkafka, as settings of clients.

A name is in one of the tables below, or librdkafka knows it, or it is refused. No finding has a value.
"""

from __future__ import annotations

import logging
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span, list_names
from ggfmt.java.text import trim
from ggfmt.kafka.address import KafkaAddress
from ggfmt.kafka.client import ClientSettings
from ggfmt.lazy import lazy_regex

VARIABLE = "GGFMT_KAFKA_"  # and the name in capitals, with `_` for its dots

log = logging.getLogger("ggfmt.kafka")

# Java's names, and librdkafka's where they differ.
_RENAMED = {
    "max.request.size": "message.max.bytes",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
}

# Java takes 0 for none, and librdkafka begins with 1.
_FROM_ONE = ("batch.size", "retry.backoff.ms")

# What converters and their registry have, which no client knows.
_CONVERTERS = ("key.converter*", "value.converter*", "converter.type", "internal.*.converter*", "schema.registry.*")

# Java's properties that change neither messages nor their order: space, times, numbers of what is measured.
_WITHOUT_EFFECT = (
    "buffer.memory",
    "send.buffer.bytes",
    "receive.buffer.bytes",
    "max.block.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.*",
    "metrics.*",
    "auto.include.jmx.reporter",
    "compression.*.level",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "sasl.login.*.ms",
    "sasl.login.refresh.*",
    "ssl.protocol",
    "ssl.enabled.protocols",
    "ssl.truststore.password",
)

# What ggfmt sets itself, so that each message is there once; with the values that ask for the same.
_OWN = {
    "acks": ("all", "-1"),
    "request.required.acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "retries": ("2147483647",),
    "message.send.max.retries": (),
    "max.in.flight": (),
    "max.in.flight.requests.per.connection": ("1", "2", "3", "4", "5"),
    "delivery.timeout.ms": (),
    "message.timeout.ms": (),
    "transactional.id": (),
    "transaction.timeout.ms": (),
    "partitioner": (),
    "isolation.level": ("read_committed",),
    "group.id": (),
    "auto.offset.reset": (),
    "enable.auto.commit": (),
}

_SERIALIZER = ("org.apache.kafka.common.serialization.ByteArraySerializer",)
_OF_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_NO_JAVA = "remove it: ggfmt runs no Java classes"
# No help advises to remove what can change messages: without it, others than those of GoldenGate would be there.
_CHANGES_MESSAGES = "ggfmt runs no Java classes, and some of them change messages: let GoldenGate send these"
_OTHER_BYTES = "ggfmt sends the bytes of the handler, as ByteArraySerializer does; another serializer changes them"
_OTHER_PARTITIONS = "ggfmt has the default partitioner of Java's producer; others choose other partitions for a key"
_UNKNOWN = "correct the name; ggfmt leaves out no property that it does not know, because it can change messages"
_PEM = "convert the store to PEM, and give the file with `.type=PEM`"

# Properties of which ggfmt can do one value alone: the values without any effect, and what to do about others.
_REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "key.serializer": (_SERIALIZER, _OTHER_BYTES),
    "value.serializer": (_SERIALIZER, _OTHER_BYTES),
    "partitioner.class": (
        ("org.apache.kafka.clients.producer.internals.DefaultPartitioner",),
        _OTHER_PARTITIONS,
    ),
    "partitioner.ignore.keys": (("false",), _OTHER_PARTITIONS),
    "sasl.login.callback.handler.class": (
        (f"{_OF_OAUTH}OAuthBearerLoginCallbackHandler", f"{_OF_OAUTH}secured.OAuthBearerLoginCallbackHandler"),
        _NO_JAVA,
    ),
    "ssl.truststore.type": (("PEM",), _PEM),
    "ssl.keystore.type": (("PEM", "PKCS12"), _PEM),
    "sasl.kerberos.*": ((), "use SCRAM or OAUTHBEARER: ggfmt has no Kerberos"),
    "plugin.*": ((), "remove it: ggfmt loads no libraries"),
    "ssl.engine.*": ((), "remove it: ggfmt loads no libraries"),
    "default.topic.config": ((), "give the properties of topics by their own names"),
    "config.providers*": ((), f"give the values themselves, by variables such as `{VARIABLE}SASL_PASSWORD`"),
    "metric.reporters": ((), _NO_JAVA),
    "security.providers": ((), _NO_JAVA),
    "*.class": ((), _CHANGES_MESSAGES),
    "*.classes": ((), _CHANGES_MESSAGES),
}

_NAME = lazy_regex(r"[a-z][a-z0-9]*([.-][A-Za-z0-9]+)+|debug|acks|retries|partitioner")
_REFERENCE = lazy_regex(r"\$\{[^}]*\}|ORACLEWALLET\[", re.IGNORECASE)
_LIMITS = lazy_regex(r"outside allowed range (\S+?)\.\.(\S+)")


@dataclass(frozen=True)
class Property:
    """A property as written, for a file or a variable. `span`: the place of its name, without the line."""

    name: str
    value: str = field(repr=False)
    span: Span


def variables(environment: Mapping[str, str]) -> list[Property]:
    """Return the properties that the environment has."""
    return [
        Property(name.removeprefix(VARIABLE).lower().replace("_", "."), value, Span(name))
        for name, value in environment.items()
        if name.startswith(VARIABLE)
    ]


def client_settings(address: KafkaAddress, *sources: Iterable[Property]) -> tuple[ClientSettings, dict[str, Property]]:
    """Return settings for clients, and the properties of converters by name. Later sources win, name by name.

    Raises: ConfigurationError with a GG576 for each property that cannot be applied; UsageError without the
    extra.
    """
    given: dict[str, Property] = {}
    for property in (property for source in sources for property in source):
        given.pop(property.name, None)  # the order decides where two names have one meaning
        given[property.name] = property
    converters = {name: given.pop(name) for name in list(given) if _matches(name, _CONVERTERS)}
    translation = _Translation(address, given)
    settings = ClientSettings(address.brokers, {name: value for name, (value, _) in translation.found.items()})
    findings = translation.findings or list(translation.refused_by_library(settings))
    if findings:
        raise ConfigurationError.of(*findings)
    if translation.replaced:
        log.info("ggfmt sends each message once, and sets these itself: %s", ", ".join(translation.replaced))
    return settings, converters


class _Translation:
    """`found`: values by names of librdkafka, each with its origin. `replaced`: names whose values ggfmt sets."""

    def __init__(self, address: KafkaAddress, given: Mapping[str, Property]) -> None:
        self.given = given
        self.found: dict[str, tuple[str, Property]] = {}
        self.findings: list[Diagnostic] = []
        self.replaced: list[str] = []
        for name, property in given.items():
            self._take(name, trim(property.value), property, address)
        self._check_mechanism()

    def _take(self, name: str, value: str, property: Property, address: KafkaAddress) -> None:
        rule = next((rule for pattern, rule in _REFUSED.items() if fnmatchcase(name, pattern)), None)
        if not _NAME.fullmatch(name):
            # It may be a part of a key or of a password.
            self._refuse("this is not a property of a producer", property, _UNKNOWN)
        elif name == "ssl.endpoint.identification.algorithm":
            self.found[name] = value or "none", property
        elif not value or _matches(name, _WITHOUT_EFFECT):
            return
        elif property.span.line is not None and _REFERENCE.search(value):
            help = f"give the value itself, for example by `{VARIABLE}{name.upper().replace('.', '_')}`"
            self._refuse(f"`{name}` refers to a value elsewhere", property, help)
        elif name in ("bootstrap.servers", "metadata.broker.list"):
            if value != address.brokers:
                log.info("the address `%s` replaces the brokers of %s", address.shown, property.span)
        elif name in _OWN:
            if value.lower() not in _OWN[name]:
                self.replaced.append(name)
        elif rule is not None:
            if value not in rule[0]:
                self._refuse(f"ggfmt cannot apply `{name}`", property, rule[1])
        elif name == "sasl.jaas.config":
            self._take_login(value, property)
        elif re.fullmatch(r"ssl\.(key|trust)store\.location", name):
            self._take_store(name, value, property)
        elif name == "ssl.keystore.password":
            if self._type("keystore") == "PKCS12":
                self.found[name] = value, property
        else:
            of_library = _RENAMED.get(name, name)
            value = "1" if value == "0" and name in _FROM_ONE else value
            self.found[of_library] = _with_lines(value) if of_library.endswith(".pem") else value, property
            if name == "sasl.oauthbearer.token.endpoint.url":
                self.found.setdefault("sasl.oauthbearer.method", ("oidc", property))

    def _refuse(self, message: str, property: Property, help: str | None) -> None:
        self.findings.append(Diagnostic("GG576", message, property.span, help))

    # TLS

    def _type(self, store: str) -> str:
        property = self.given.get(f"ssl.{store}.type")
        return "JKS" if property is None else trim(property.value) or "JKS"

    def _take_store(self, name: str, value: str, property: Property) -> None:
        kind = self._type(name.split(".")[1])
        if kind == "PEM" and name == "ssl.keystore.location":
            self.found["ssl.certificate.location"] = self.found["ssl.key.location"] = value, property
        elif kind == "PEM":
            self.found[_RENAMED[name]] = value, property
        elif kind == "PKCS12" and name == "ssl.keystore.location":
            self.found[name] = value, property
        elif kind == "JKS":  # a wrong type is a finding already
            self._refuse(f"`{name}` is a Java key store", property, _PEM)

    # SASL

    def _check_mechanism(self) -> None:
        protocol = self.found.get("security.protocol")
        mechanism = self.found.get("sasl.mechanism") or self.found.get("sasl.mechanisms")
        if protocol is None or not protocol[0].upper().startswith("SASL_"):
            return
        if mechanism is None or mechanism[0] == "GSSAPI":
            help = "set `sasl.mechanism` to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
            self._refuse("the login is by Kerberos, which ggfmt does not have", (mechanism or protocol)[1], help)

    def _take_login(self, value: str, property: Property) -> None:
        parsed = _LOGIN.fullmatch(value)
        names = None if parsed is None else _LOGINS.get(parsed["module"])
        if parsed is None or names is None:
            help = f"give a line with {list_names(name.rpartition('.')[2] for name in _LOGINS)} and its options"
            self._refuse("`sasl.jaas.config` has no login that ggfmt can do", property, help)
            return
        extensions = []
        for option in _LOGIN_OPTION.finditer(parsed["options"]):
            key, text = option["key"], _unquoted(option["value"])
            if key in names:
                self.found[names[key]] = text, property
            elif key.startswith("extension_") and "clientId" in names:
                extensions.append(f"{key.removeprefix('extension_')}={text}")
            else:
                self._refuse(f"`sasl.jaas.config` has the option `{key}`", property, f"give {list_names(names)} alone")
        if extensions:
            self.found["sasl.oauthbearer.extensions"] = ",".join(extensions), property

    def refused_by_library(self, settings: ClientSettings) -> Iterator[Diagnostic]:
        for name, reason in settings.refused():
            if name is None:
                files = dict.fromkeys(property.span.file for property in self.given.values())
                place = Span(next(reversed(files), None))
                yield Diagnostic("GG576", f"these settings do not fit together: {reason}", place)
                continue
            property = self.found[name][1]
            limits = _LIMITS.search(reason)
            if reason.startswith("No such"):
                message, help = "is not a property that ggfmt can apply", _UNKNOWN
            elif limits is not None:
                message, help = "has a value that cannot be applied", f"give a number from {limits[1]} to {limits[2]}"
            else:
                message, help = "has a value that cannot be applied", "see the values in the manual of librdkafka"
            yield Diagnostic("GG576", f"`{property.name}` {message}", property.span, help)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


# Java's `sasl.jaas.config`: a class, a word, options, a semicolon; texts in quotes have the escapes of Java.

_VALUE = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\w.$-]+"
_LOGIN_OPTION = lazy_regex(rf"\s+(?P<key>[\w.$-]+)\s*=\s*(?P<value>{_VALUE})", re.DOTALL)
_LOGIN = lazy_regex(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)"
    rf"(?P<options>(?:\s+[\w.$-]+\s*=\s*(?:{_VALUE}))*)\s*;\s*",
    re.DOTALL | re.IGNORECASE,
)
_USER = {"username": "sasl.username", "password": "sasl.password"}
_CLIENT = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_SECURITY = "org.apache.kafka.common.security"
_LOGINS = {
    f"{_SECURITY}.plain.PlainLoginModule": _USER,
    f"{_SECURITY}.scram.ScramLoginModule": _USER,
    f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule": _CLIENT,
}
_ESCAPE = lazy_regex(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unquoted(text: str) -> str:
    if text[0] not in "\"'":
        return text

    def character(found: re.Match[str]) -> str:
        return chr(int(found[1], 8)) if found[1].isdigit() and found[1] < "8" else _CONTROLS.get(found[1], found[1])

    return _ESCAPE.sub(character, text[1:-1])


_BLOCK = lazy_regex(r"(-----BEGIN [^-]+-----)([^-:]*)(-----END [^-]+-----)")


def _with_lines(pem: str) -> str:
    """Return PEM as OpenSSL reads it: Java also reads a text in one line."""
    return _BLOCK.sub(
        lambda found: "\n".join([found[1], *textwrap.wrap("".join(found[2].split()), 64), found[3], ""]), pem
    )
