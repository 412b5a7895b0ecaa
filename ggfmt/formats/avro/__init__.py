"""Avro for several systems: container files, Confluent's wire format, schemas, and programs of the native kernels."""
