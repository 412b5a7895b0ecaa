"""Clients of Kafka (librdkafka, by the extra `kafka`), with the settings of a cluster."""

from __future__ import annotations

import importlib
import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import (
    IMPORT_ERRORS,
    MASK,
    Abend,
    Diagnostic,
    UsageError,
    names_secret,
    package_error,
    without_credentials,
)
from ggfmt.kafka import SCHEME
from ggfmt.lazy import lazy_regex

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import ClusterMetadata as ClusterMetadata

SECONDS = 30.0  # that a broker may take for an answer
_FAILING_SECONDS = 5.0  # while connections fail: a broker may be starting
_SILENT_SECONDS = 15.0  # while nothing answers and nothing fails

log = logging.getLogger("ggfmt.kafka")

# What to do, by a word of librdkafka's reason.
_HELPS = (
    (r"resolve|not known", "check the name of the broker, and whether this machine can look it up"),
    (
        r"certificate",
        "name the certificates of the authority by `ssl.truststore.type=PEM` and `ssl.truststore.location`",
    ),
    (r"SSL|TLS", "check `security.protocol`: this port may be one without TLS"),
    (r"SASL|authenti|OIDC|token", "check `sasl.mechanism`, and the user and the password, which ggfmt does not show"),
    (
        r"response size|Disconnected|APIVERSION",
        "check `security.protocol` and the port: the broker speaks another protocol",
    ),
    (r"[Aa]uthoriz", "ask for the right on the topic, the group or the transactional id"),
    (r"answers|onnect|imed out|transport", "check the host and the port, and whether the broker runs"),
)
_AROUND_REASON = lazy_regex(r"^\[thrd:[^\]]*\]: |/bootstrap(?=:)| \(after [0-9]+ms in state \w+.*\)$", re.DOTALL)
_COMBINED = "Failed to create producer: "


class LibraryLog:
    """Takes the lines of librdkafka, which are for people who search for an error; keeps why a connection failed, and
    whether a transaction has."""

    reason = ""
    has_failed_transaction = False

    def log(self, level: int, form: str, facility: str, client: str, text: str) -> None:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s", without_credentials(form % (facility, client, text)))
        if level >= (logging.INFO if facility == "FAIL" else logging.ERROR) and facility != "TXNERR":
            self.reason = _AROUND_REASON.sub("", text)
        self.has_failed_transaction |= facility == "TXNERR"


@dataclass(frozen=True, repr=False)
class ClientSettings:
    """How to reach a cluster. `properties`: librdkafka's, by name; they may hold passwords. Pickled to tasks."""

    brokers: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return f"{SCHEME}://{self.brokers}"

    def config(self, **own: Any) -> dict[str, Any]:
        """Return a configuration of librdkafka; `own` has names with `_` for `.`, and wins."""
        named = {name.replace("_", "."): value for name, value in own.items()}
        return {"logger": LibraryLog(), **self.properties, "bootstrap.servers": self.brokers, **named}

    def __reduce__(self) -> tuple[type[ClientSettings], tuple[str, Mapping[str, str]]]:
        return ClientSettings, (self.brokers, self.properties)

    @cached_property
    def _connection(self) -> tuple[AdminClient, LibraryLog]:
        """One client for all questions, as it must outlive the futures that it makes."""
        lines = LibraryLog()
        return library("confluent_kafka.admin").AdminClient(self.config(logger=lines)), lines

    def admin(self) -> AdminClient:
        return self._connection[0]

    def producer(self, **own: Any) -> Producer:
        client: Producer = library("confluent_kafka").Producer(self.config(**own))
        return client

    def consumer(self, **own: Any) -> Consumer:
        """Return a consumer that commits no offsets and reads committed messages alone."""
        fixed = {"group_id": "ggfmt", "enable_auto_commit": False, "isolation_level": "read_committed"}
        fixed |= {"enable_partition_eof": True, "auto_offset_reset": "error", "allow_auto_create_topics": False}
        client: Consumer = library("confluent_kafka").Consumer(self.config(**(fixed | own)))
        return client

    def metadata(self) -> ClusterMetadata:
        """Return brokers and topics. Raises: Abend GG571, with the reason, if no broker answers within some seconds."""
        admin, lines = self._connection
        lines.reason = ""
        from confluent_kafka import KafkaException

        start = time.monotonic()
        while True:
            try:
                return admin.list_topics(timeout=1)
            except KafkaException:
                admin.poll(0)  # takes the lines
                seconds = _FAILING_SECONDS if lines.reason else _SILENT_SECONDS
                if time.monotonic() - start > seconds:
                    reason = lines.reason or f"timed out after {seconds:.0f} seconds"
                    raise Abend.of(_unable(f"no broker answers: {reason}", self.shown)) from None

    def topics(self) -> dict[str, int]:
        """Return the number of partitions of each topic. Raises: as `metadata`."""
        return {name: len(topic.partitions) for name, topic in self.metadata().topics.items()}

    def refused(self) -> list[tuple[str | None, str]]:
        """Return the names of properties that librdkafka refuses, each with the reason; None for a combination.

        It connects to nothing. No reason has the value of a secret.
        """
        whole = self._refusal({**self.properties, "transactional.id": "ggfmt"})
        if whole is None:
            return []
        found: list[tuple[str | None, str]] = []
        for name, value in self.properties.items():
            reason = self._refusal({name: value})
            if reason is not None and not reason.startswith(_COMBINED):
                found.append((name, reason))
        return found or [(None, whole.removeprefix(_COMBINED))]

    def _refusal(self, properties: Mapping[str, str]) -> str | None:
        api = library("confluent_kafka")
        try:
            api.Producer({**properties, "logger": LibraryLog()})
        except (api.KafkaException, TypeError, ValueError) as error:
            reason = reason_of(error).strip()
            for name, value in properties.items():
                if value and names_secret(name):
                    reason = reason.replace(value, MASK)
            return reason
        return None


def library(name: str) -> Any:
    """Return a module of the extra. Raises: UsageError GG571 without it."""
    try:
        return importlib.import_module(name)
    except IMPORT_ERRORS as error:
        message, help = "Kafka needs the package `confluent-kafka`", "install it with `pip install 'ggfmt[kafka]'`"
        raise UsageError.of(package_error("GG571", message, name, error, help)) from None


@contextmanager
def kafka_errors_stop(shown: str) -> Iterator[None]:
    """Raise Abend GG571 for an error of Kafka; `shown` is the address."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise Abend.of(kafka_error(error, shown)) from None


def kafka_error(error: Exception, shown: str, reason: str = "") -> Diagnostic:
    """Return GG571; `reason`: why the broker does not answer, where the error says only that it does not."""
    return _unable(f"Kafka: {reason or reason_of(error)}", shown)


def reason_of(error: Exception) -> str:
    found = error.args[0] if error.args else error
    return found.str() if hasattr(found, "str") else str(found)


def _unable(message: str, shown: str) -> Diagnostic:
    help = next((help for word, help in _HELPS if re.search(word, message)), None)
    return Diagnostic("GG571", message, shown, help)
