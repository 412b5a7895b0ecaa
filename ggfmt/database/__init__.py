"""Connections to databases: PostgreSQL by ADBC, and what is common to all."""

import re


def is_database(given: str) -> bool:
    return re.match(r"postgres(?:ql)?://", given) is not None
