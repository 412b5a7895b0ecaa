"""Rows of all types that row files have, with their extreme values, and hostile texts."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from ggfmt.location import Location
from ggfmt.rowfiles.writers import WrittenFile, write_rows

Row = dict[str, Any]

TYPES: dict[str, pa.DataType] = {
    "TEXT": pa.string(),
    "FLAG": pa.bool_(),
    "SMALL": pa.int16(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DAY": pa.date32(),
    "INSTANT": pa.timestamp("us", "UTC"),
    "LOCAL": pa.timestamp("us"),
    "WIDE": pa.decimal128(38, 10),
    "FRACTION": pa.decimal128(38, 38),
    "NUMBER": pa.decimal128(20, 0),
    "NOTHING": pa.string(),
}
SCHEMA = pa.schema(list(TYPES.items()))


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type, misc]


ROWS: list[Row] = [
    {
        "TEXT": "a",
        "FLAG": True,
        "SMALL": -(2**15),
        "INT": -(2**31),
        "LONG": -(2**63),
        "FLOAT": -0.0,
        "DOUBLE": float("nan"),
        "DAY": date(1, 1, 1),
        "INSTANT": utc(1700, 1, 1),
        "LOCAL": datetime(1, 1, 1, 0, 0, 0, 1),
        "WIDE": Decimal("-9999999999999999999999999999.9999999999"),
        "FRACTION": Decimal("0." + "9" * 38),
        "NUMBER": Decimal(10**20 - 1),
        "NOTHING": None,
    },
    dict.fromkeys(TYPES),
    {
        "TEXT": "",
        "FLAG": False,
        "SMALL": 2**15 - 1,
        "INT": 2**31 - 1,
        "LONG": 2**63 - 1,
        "FLOAT": 0.5,
        "DOUBLE": -0.0,
        "DAY": date(9999, 12, 31),
        "INSTANT": utc(2020, 1, 1, 10, 0, 0, 1),
        "LOCAL": datetime(9999, 12, 31, 23, 59, 59, 999999),
        "WIDE": Decimal("1E-10"),
        "FRACTION": Decimal("1E-38"),
        "NUMBER": Decimal(0),
        "NOTHING": None,
    },
    {
        **dict.fromkeys(TYPES),
        "FLOAT": float("inf"),
        "DOUBLE": float("-inf"),
        "DAY": date(1969, 12, 31),
        "INSTANT": utc(1969, 12, 31, 23, 59, 59),
        "LOCAL": datetime(1969, 12, 31, 23, 59, 59, 999999),
    },
    {**dict.fromkeys(TYPES), "FLOAT": 2.0**100, "DOUBLE": 5e-324, "DAY": date(1500, 2, 28)},
]
FAR_INSTANTS = [utc(1, 1, 1), utc(1969, 12, 31, 23, 59, 59, 999999), utc(9999, 12, 31, 23, 59, 59, 999999)]
HOSTILE = [
    "", " ", "a,b", 'q"u""o', "line\nfeed", "return\rhere", "\r\n", "NULL", "null", "\\", "'", "ä😀\u2028\x7f</", "\t",
    "\x00", "\x1f", "{}", "[1]", "NaN", None,
]  # fmt: skip


def batch(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema)


def texts(*values: str | None) -> pa.RecordBatch:
    """A column of texts besides a number."""
    numbers = pa.array(range(len(values)), pa.int64())
    return pa.RecordBatch.from_arrays([numbers, pa.array(values, pa.string())], ["N", "TEXT"])


def write(path: Any, to: str, *batches: pa.RecordBatch, schema: pa.Schema | None = None) -> WrittenFile:
    return write_rows(Location.of(str(path)), to, "S.T", batches[0].schema if schema is None else schema, batches)


def same(rows: list[Row]) -> list[str]:
    """Rows as texts, which are equal if all values are: also NaN, the sign of zero, and the zone of a time."""
    return [repr({name: _plain(value) for name, value in row.items()}) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc)
    return Fraction(value) if isinstance(value, Decimal) else value
