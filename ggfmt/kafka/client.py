"""Clients of Kafka (librdkafka, by the extra `kafka`), with the settings of a cluster."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.kafka.address import SCHEME

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

SECONDS = 30.0  # that a broker may take for an answer


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
        return {**self.properties, "bootstrap.servers": self.brokers, **named}

    def admin(self) -> AdminClient:
        """Return an admin client, which must outlive the futures that it makes."""
        client: AdminClient = _library("confluent_kafka.admin").AdminClient(self.config())
        return client

    def producer(self, **own: Any) -> Producer:
        client: Producer = _library("confluent_kafka").Producer(self.config(**own))
        return client

    def consumer(self, **own: Any) -> Consumer:
        """Return a consumer that commits no offsets and reads committed messages alone."""
        fixed = {"group_id": "ggfmt", "enable_auto_commit": False, "isolation_level": "read_committed"}
        fixed |= {"enable_partition_eof": True, "auto_offset_reset": "error", "allow_auto_create_topics": False}
        client: Consumer = _library("confluent_kafka").Consumer(self.config(**(fixed | own)))
        return client


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        message, help = "Kafka needs the package `confluent-kafka`", "install it with `pip install 'ggfmt[kafka]'`"
        raise UsageError(Diagnostic("GG571", message, help=help)) from None


@contextmanager
def kafka_errors_stop(shown: str) -> Iterator[None]:
    """Raise Abend GG571 for an error of Kafka; `shown` is the address."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise Abend(kafka_error(error, shown)) from None


def kafka_error(error: Exception, shown: str) -> Diagnostic:
    found = error.args[0] if error.args else error
    reason = found.str() if hasattr(found, "str") else str(found)
    return Diagnostic("GG571", f"Kafka: {reason}", Span(file=shown))
