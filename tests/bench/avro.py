"""Avro by kernels against `fastavro.schemaless_writer`, on the same operations, in turns, in one process.

Both start from what they work on best: kernels from the arrays of a batch, fastavro from finished dicts with numbers as
floats. Prints microseconds an operation (medians) and the ratio; ends with 1 if a ratio is below 5.

usage: python tests/bench/avro.py [-n RUNS] [--operations N]
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import fastavro
import pyarrow as pa

from ggfmt.columnar.metadata import Clock
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.avro import AvroOptions, AvroRowOcfOptions
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.formats.goldengate.avro.write import AvroOpFormatter, AvroRowFormatter
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef

WANTED = 5.0
NUMBER = SqlType(Kind.DECIMAL, precision=8, scale=2)
TABLE = TableDef(
    "GG.TCUSTORD",
    (
        Column("CUST_CODE", STRING, key=1),
        Column("ORDER_DATE", STRING, key=2),
        Column("PRODUCT_CODE", STRING, key=3),
        Column("ORDER_ID", STRING, key=4),
        Column("PRODUCT_PRICE", NUMBER),
        Column("PRODUCT_AMOUNT", NUMBER),
        Column("TRANSACTION_ID", STRING),
    ),
)
NUMERIC = ("PRODUCT_PRICE", "PRODUCT_AMOUNT")
NOW = datetime(2015, 9, 18, 13, 39, 35, 447000)


def rows(count: int) -> list[dict[str, Any]]:
    """Operations of all types; images have values of changing length, NULLs and missing columns."""
    result = []
    for n in range(count):
        image: dict[str, str | None] = {
            "CUST_CODE": f"C{n % 977}",
            "ORDER_DATE": f"1995-12-{1 + n % 28:02d}:15:00:00",
            "PRODUCT_CODE": ("CAR", "PLANE", "BICYCLE")[n % 3],
            "ORDER_ID": f"{n * 7 % 100_000}",
            "PRODUCT_PRICE": f"{n * 13 % 20_000}.{n % 100:02d}",
            "PRODUCT_AMOUNT": f"{n % 9}",
            "TRANSACTION_ID": None if n % 10 == 0 else f"{n // 3}",
        }
        op = "IUUD"[n % 4]
        after = dict(image, PRODUCT_AMOUNT=f"{n % 7}")
        if op == "D":
            image = {name: image[name] for name in TABLE.primary_keys}
        result.append(
            {"op": op, "n": n, "before": image if op in "UD" else None, "after": after if op in "IU" else None}
        )
    return result


def batch_of(operations: list[dict[str, Any]]) -> ChangeBatch:
    def image(side: str) -> Image:
        images = [operation[side] or {} for operation in operations]
        columns = []
        for name in TABLE.column_names:
            present = [name in values for values in images]
            values = pa.array([values.get(name) for values in images], pa.string())
            columns.append(ImageColumn(values, None if all(present) else pa.array(present)))
        return Image(tuple(columns), pa.array([operation[side] is not None for operation in operations]))

    return ChangeBatch(
        TABLE,
        pa.array([operation["op"] for operation in operations]),
        pa.array(["2013-06-02 22:14:36.000000"] * len(operations)),
        pa.array([f"{operation['n']:020d}" for operation in operations]),
        image("before"),
        image("after"),
        pa.array(range(len(operations)), pa.int64()),
    )


def records(operations: list[dict[str, Any]], by_image: bool) -> list[dict[str, Any]]:
    def typed(name: str, value: str | None) -> str | float | None:
        return float(value) if value is not None and name in NUMERIC else value

    def flagged(image: dict[str, str | None] | None) -> dict[str, Any] | None:
        if image is None:
            return None
        result: dict[str, Any] = {}
        for name in TABLE.column_names:
            result[name], result[f"{name}_isMissing"] = typed(name, image.get(name)), name not in image
        return result

    result = []
    for operation in operations:
        row: dict[str, Any] = {
            "table": TABLE.full_name,
            "op_type": operation["op"],
            "op_ts": "2013-06-02 22:14:36.000000",
            "current_ts": "2015-09-18T13:39:35.447000",
            "pos": f"{operation['n']:020d}",
            "primary_keys": list(TABLE.primary_keys),
            "tokens": {},
        }
        if by_image:
            row |= {"before": flagged(operation["before"]), "after": flagged(operation["after"])}
        else:
            image = operation["before"] if operation["op"] == "D" else operation["after"]
            row |= {name: typed(name, image.get(name)) for name in TABLE.column_names}
        result.append(row)
    return result


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=7, metavar="RUNS")
    parser.add_argument("--operations", type=int, default=100_000)
    arguments = parser.parse_args()
    operations = rows(arguments.operations)
    size = 5000
    batches = [batch_of(operations[start : start + size]) for start in range(0, len(operations), size)]
    ratios = []
    for name, by_image in (("avro_row", False), ("avro_op", True)):
        clock = Clock(NOW)
        formatter = (
            AvroOpFormatter(TABLE, AvroOptions(), Context(), clock)
            if by_image
            else AvroRowFormatter(TABLE, AvroRowOcfOptions(), Context(), clock)
        )
        schema = fastavro.parse_schema(dict(avro_schema(TABLE, AvroOptions(), Context(), by_image).document))
        data = records(operations, by_image)

        def by_kernels() -> list[pa.Array[Any]]:
            return [formatter.format(batch) for batch in batches]  # noqa: B023

        def by_fastavro() -> list[bytes]:
            result = []
            for record in data:  # noqa: B023
                stream = io.BytesIO()
                fastavro.schemaless_writer(stream, schema, record)  # noqa: B023
                result.append(stream.getvalue())
            return result

        written = [message for array in by_kernels() for message in array.to_pylist()]
        if written != by_fastavro():
            print(f"{name}: the messages differ")
            return 1
        pairs = [(seconds(by_kernels), seconds(by_fastavro)) for _ in range(arguments.n)]
        kernels, plain = (statistics.median(side) / len(operations) * 1e6 for side in zip(*pairs, strict=True))
        ratios.append(plain / kernels)
        print(f"{name}: kernels {kernels:.2f} µs, fastavro {plain:.2f} µs, {plain / kernels:.1f} times as fast")
    return 0 if min(ratios) >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
