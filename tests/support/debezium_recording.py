"""The rows of a recorded stream of Debezium, worked out from the statements that made it."""

from __future__ import annotations

import base64
import hashlib
import struct
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

Row = dict[str, str | None]


def _sum(value: str) -> bytes:
    return hashlib.md5(value.encode(), usedforsecurity=False).digest()


def _uuid(data: bytes) -> str:
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _order(g: int) -> dict[str, Any]:
    clock = timedelta(microseconds=1) + g * timedelta(seconds=1)
    return {
        "id": str(g),
        "customer": f"cust {g}",
        "price": str((Decimal(g) * Decimal("1.37")).quantize(Decimal("0.01"), ROUND_HALF_UP)),
        "qty": str(g % 9),
        "ratio": g / 7,
        "weight": struct.unpack("f", struct.pack("f", g / 3))[0],
        "paid": "true" if g % 2 == 0 else "false",
        "placed": f"{datetime(2026, 1, 1) + g * timedelta(seconds=1, microseconds=1):%Y-%m-%d %H:%M:%S.%f}",
        "seen": f"{datetime(2026, 6, 1, 10) + g * timedelta(minutes=1):%Y-%m-%dT%H:%M:%S.%fZ}",
        "day": str(date(1969, 12, 28) + timedelta(days=g % 10)),
        "clock": f"{datetime(1970, 1, 1) + clock:%H:%M:%S.%f}",
        "code": _uuid(_sum(str(g))),
        "doc": f'{{"n": {g}, "t": "é\\"\\\\"}}',
        "raw": base64.b64encode(_sum(str(g))).decode(),
        "tags": f'["a","b {g}",null]',
        "bits": g % 1024,
        "money": str(g * Decimal("1000000000000.123456789")),
        "big": str(-g * Decimal("12345678901234567890.1234567890")),
        "note": None if g % 4 == 0 else "x" * (g % 50),
    }


def orders() -> dict[int, dict[str, Any]]:
    with localcontext() as context:
        context.prec = 60
        rows = {g: _order(g) for g in range(1, 301)}
    blank = dict.fromkeys(rows[1])
    rows[9001] = {**blank, "id": "9001", "customer": "only", "note": f"toast {_sum('a').hex()}" * 4000}
    for g in range(1, 200, 10):
        rows[g]["price"] = None
    for g in range(50, 61):
        rows[g + 100000] = {**rows.pop(g), "id": str(g + 100000)}
    for g in range(270, 301):
        del rows[g]
    rows[9100] = {
        **blank,
        "id": "9100",
        "customer": "edge",
        "big": "99999999999999999999999999.9999999999",
        "ratio": float("inf"),
        "weight": -0.0,  # that `money` was NaN is lost before it is written: it is null there
    }
    return rows


def ordered_lines() -> dict[tuple[str, str], Row]:
    rows: dict[int, Row] = {
        g: {
            "order_id": str(g),
            "line_no": str(g % 5),
            "sku": f"SKU{g}".ljust(8),
            "amount": f"{g * Decimal('0.001'):.3f}",
            "span": f"{g:02d}:00:00.000000",
        }
        for g in range(1, 201)
    }
    for g in range(1, 40):
        rows[g]["sku"] = "NEW     "
    for g in range(40, 61):
        rows[g] |= {"amount": None, "span": None}
    for g in range(61, 66):
        rows[g + 5000] = {**rows.pop(g), "order_id": str(g + 5000)}
    rows = {g: row for g, row in rows.items() if g <= 190}
    last: Row = {"line_no": "1", "sku": "S       ", "amount": "1.500"}
    rows[8001] = {"order_id": "8001", **last, "span": None, "extra": "e"}
    rows[8002] = {"order_id": "8002", **last, "extra": "f"}
    return {(str(row["order_id"]), str(row["line_no"])): row for row in rows.values()}


KEYS = "shop.orders=id;shop.lines=order_id,line_no;shop.Weird Näme=the key;shop.nokey=a"
