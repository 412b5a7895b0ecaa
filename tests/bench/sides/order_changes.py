"""Changes of the benchmarks' order table, as GoldenGate's JSON, for `last_rows.py`."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from comparison.data import SHAPES

ORDER_SHAPES = ("orders", "small", "merge-100", "merge-100k", "shift")
_TABLE, _KEY = "GG.TCUSTORD", "ORDER_ID"
_SHIFTED, _MOVED = 300_000, 5_000


def make_orders(given: dict[str, Any]) -> None:
    """Write the changes of a shape into files of the directory `{data}`; of merges, the rows before them besides."""
    shape, data = given["shape"], Path(given["data"])
    data.mkdir()
    lines: Iterator[bytes]
    if shape in ("orders", "small"):
        lines = (line for line, _ in zip(SHAPES["orders"].lines(), range(given["operations"]), strict=False))
    elif shape == "shift":
        lines = _shift()
    else:
        lines = _merge(data, given)
    with (data / "changes.json").open("wb") as file:
        file.writelines(lines)


def _order(number: int, value: int) -> dict[str, str | int | float]:
    return {
        "CUST_CODE": f"C{value % 9973:05d}",
        "ORDER_DATE": f"2024-0{value % 9 + 1}-11:15:{value % 60:02d}:00",
        "PRODUCT_CODE": f"PRODUCT-{value % 131}",
        _KEY: str(number),
        "PRODUCT_PRICE": value % 10**6 + 0.5,
        "PRODUCT_AMOUNT": value % 9,
        "TRANSACTION_ID": str(number * 7),
    }


class _Changes:
    """Operations in order, with positions; a transaction has a second of its own."""

    def __init__(self) -> None:
        self._count = 0

    def line(self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, transaction: int) -> bytes:
        second = transaction % 86_400
        time = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        day = transaction // 86_400 % 28 + 1
        record = {"table": _TABLE, "op_type": op, "op_ts": f"2024-06-{day:02d} {time}.000000"}
        record["pos"] = f"{self._count:020d}"
        self._count += 1
        images = {name: image for name, image in (("before", before), ("after", after)) if image is not None}
        return json.dumps({**record, **images}, separators=(",", ":")).encode() + b"\n"


def _merge(data: Path, given: dict[str, Any]) -> Iterator[bytes]:
    """Make the rows of earlier changes, and yield updates of some of them."""
    import ggfmt

    changes, draw = _Changes(), random.Random(7)
    rows = given["operations"]
    with (data / "before.json").open("wb") as file:
        file.writelines(changes.line("I", None, _order(number, number), number) for number in range(rows))
    options = {"key": _KEY, "master": "none", "checkpoint": given["seen"]}
    ggfmt.consolidate(str(data), given["target"], **options)
    for name in ("target", "seen"):
        Path(given[name]).rename(f"{data}-{name}")
    for turn in range(100 if given["shape"] == "merge-100" else 100_000):
        number, value = draw.randrange(rows), draw.randrange(10**6)
        yield changes.line("U", _order(number, number), _order(number, value), rows + turn)


def write_lake_changes(data: Path, rows: int, changed: Mapping[int, int]) -> None:
    """Write inserts of `rows` orders to `before.json`, and updates of some of them to `changes.json`.

    changed  by the number of an order its new value
    """
    changes = _Changes()
    with (data / "before.json").open("wb") as file:
        file.writelines(changes.line("I", None, _order(number, number), number) for number in range(rows))
    with (data / "changes.json").open("wb") as file:
        for turn, (number, value) in enumerate(changed.items()):
            file.write(changes.line("U", _order(number, number), _order(number, value), rows + turn))


def order_rows(changed: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return the rows after the updates of `write_lake_changes`."""
    return [_order(number, value) for number, value in changed.items()]


def _shift() -> Iterator[bytes]:
    """Yield inserts, some updates and moves to free keys, and one statement that adds 1 to keys in a row."""
    changes, draw = _Changes(), random.Random(3)
    rows = {2 * _SHIFTED + 2 * number: number for number in range(_SHIFTED)} | {n: n for n in range(_SHIFTED)}
    for turn, (number, value) in enumerate(rows.items()):
        yield changes.line("I", None, _order(number, value), turn)
    transaction = len(rows)
    for number in draw.sample(range(2 * _SHIFTED, 4 * _SHIFTED, 2), _MOVED):
        value = rows[number]
        yield changes.line("U", _order(number, value), _order(number + 1, value), transaction)
        transaction += 1
    for number in range(_SHIFTED):
        yield changes.line("U", _order(number, rows[number]), _order(number + 1, rows[number]), transaction)
