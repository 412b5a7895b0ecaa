"""Rows of a table `S.T`, and Debezium's records of their changes in PostgreSQL."""

from __future__ import annotations

from typing import Any

GONE = "__debezium_unavailable_value"


def row(key: int, name: str, value: str = "v") -> dict[str, Any]:
    return {"ID": str(key), "N": name, "V": value}


def debezium(lsn: int, op: str, before: Any = None, after: Any = None, tx: int = 7) -> dict[str, Any]:
    source = {"connector": "postgresql", "name": "db", "schema": "S", "table": "T"}
    return {
        "before": before,
        "after": after,
        "op": op,
        "source": {**source, "lsn": lsn, "txId": tx, "ts_ms": tx * 1000},
    }
