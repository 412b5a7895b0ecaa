"""Files as tools write them that dump Kafka topics: records in messages of every shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

TOPIC = "server.public.t"
IN_JSON = (
    "json", "json_row", "goldengate_streams_json", "canal_json", "arcion_json", "cdl_json", "debezium_json",
    "qlik_json", "maxwell_json", "shareplex_json", "dms_json", "wal2json",
)  # fmt: skip


def kcat(number: int, key: str | None, value: str | None, **others: Any) -> dict[str, Any]:
    return {
        "topic": TOPIC, "partition": 3, "offset": number, "tstype": "create", "ts": 1700000000000, "broker": 1,
        "headers": ["a", "b"], "key": key, "payload": value, **others,
    }  # fmt: skip


def in_kcat(number: int, key: str | None, value: str | None) -> bytes:
    return json.dumps(kcat(number, key, value), separators=(",", ":"), ensure_ascii=number % 2 == 0).encode()


def in_pair(number: int, key: str | None, value: str | None) -> bytes:
    return json.dumps({"key": key, "value": value}, ensure_ascii=False).encode()


def in_nested_pair(number: int, key: str | None, value: str | None) -> bytes:
    return f'{{"key": {key or "null"}, "value": {value or "null"}, "offset": {number}}}'.encode()


def in_line(number: int, key: str | None, value: str | None) -> bytes:
    return f"{key or 'null'}\t{value or 'null'}".encode()


def in_long_line(number: int, key: str | None, value: str | None) -> bytes:
    return f"CreateTime:1700000000000\tPartition:3\tOffset:{number}\t{key or 'null'}\t{value or 'null'}".encode()


Wrap = Callable[[int, "str | None", "str | None"], bytes]
WRAPS: Sequence[Wrap] = (in_kcat, in_pair, in_nested_pair, in_line, in_long_line)


def wrapped(wrap: Wrap, records: Sequence[bytes], key: str | None = None) -> bytes:
    return b"".join(wrap(number, key, record.decode()) + b"\n" for number, record in enumerate(records))
