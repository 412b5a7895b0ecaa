"""Kafka: addresses of brokers and topics, clients with their settings, and schema registries."""

SCHEME = "kafka"


def is_kafka(text: str) -> bool:
    return text[: len(SCHEME) + 3].lower() == f"{SCHEME}://"
