"""Connections to databases: PostgreSQL by ADBC, and what is common to all."""
