"""Addresses of Kafka: `kafka://BROKER[,BROKER]` for output, `kafka://BROKER/TOPIC?from=...` for input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from ggfmt.diagnostics.diagnostic import Span, UsageError, without_credentials

SCHEME = "kafka"
_ADDRESS = re.compile(r"kafka://([^/?]*)/?([^?]*)(?:\?(.*))?", re.IGNORECASE | re.DOTALL)
_BROKER = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_PORT = 9092


@dataclass(frozen=True)
class KafkaAddress:
    """Where messages are.

    brokers  hosts with ports, divided by commas, as Kafka's `bootstrap.servers`
    topic    the text after the brokers, without its escapes; empty for a whole cluster
    options  what follows `?`
    """

    brokers: str
    topic: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        return f"{SCHEME}://{self.brokers}" + (f"/{self.topic}" if self.topic else "")


def is_kafka(text: str) -> bool:
    return text[: len(SCHEME) + 3].lower() == f"{SCHEME}://"


def parse_address(text: str) -> KafkaAddress:
    """Parse an address. Raises: UsageError GG571 for one without a broker, or with a password."""
    found = _ADDRESS.fullmatch(text)
    assert found is not None, "the caller knows that it is an address of Kafka"
    hosts = found[1].split(",")
    place = Span(file=without_credentials(text))
    if "@" in found[1]:
        help = "put them into a file for `--producer-config`, or into `GGFMT_KAFKA_SASL_USERNAME` and the like"
        raise UsageError("GG571", "an address of Kafka cannot have a user or a password", place, help)
    if not all(map(_BROKER.fullmatch, hosts)):
        help = "write `kafka://HOST:9092`, or several brokers as `kafka://HOST:9092,HOST:9092`"
        raise UsageError("GG571", "the address of Kafka has no valid broker", place, help)
    brokers = ",".join(host if re.search(r":[0-9]+$", host) else f"{host}:{_PORT}" for host in hosts)
    query = (found[3] or "").replace("+", "%2B")  # it is no form: a time may have the zone `+05:30`
    return KafkaAddress(brokers, unquote(found[2]), tuple(parse_qsl(query, keep_blank_values=True)))


def parse_cluster(text: str) -> KafkaAddress:
    """Parse the address of a whole cluster. Raises: UsageError GG571 for one with a topic or options, and as above."""
    address = parse_address(text)
    if address.topic or address.options:
        cluster = f"{SCHEME}://{address.brokers}"
        message = "this address is of a whole cluster, and cannot have a topic or options"
        raise UsageError("GG571", message, address.shown, f"write `{cluster}`")
    return address
