"""Kafka Connect: the schemas and decimals that the messages of several systems have."""
