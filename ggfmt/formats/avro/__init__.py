"""Avro that several systems share: container files, and whether one schema can read another."""
