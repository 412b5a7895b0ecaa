"""Kafka: addresses of brokers and topics, clients with their settings, and schema registries."""
