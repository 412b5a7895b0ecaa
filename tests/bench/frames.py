"""Frames of ggfmt beside Spark's own reader of JSON with a schema: the same files, the same sinks, in turns.

usage: python tests/bench/frames.py [--megabytes N] [--rounds N] [--master M]

One Spark reads GoldenGate JSON of one table, as `ggfmt.frames.read` (generic, and typed by the table) and as
`spark.read.schema(...).json`, and writes it to `noop` and to Parquet. Prints the medians of seconds of CPU (of the JVM
and all Python workers, as Linux counts it) and of the clock, and how often Spark's own reader goes into them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.data import ORDER_COLUMNS, ORDER_NUMBERS, orders, write_lines

from ggfmt import frames
from ggfmt.spark.session import SparkRunner, SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = "GG.TCUSTORD"
FILES = 4


def cpu_seconds() -> float:
    """Of this process and all that it has started, also of those that have ended."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended by now
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours and pid not in ours}:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    image = ", ".join(f"{name} {'double' if name in ORDER_NUMBERS else 'string'}" for name in ORDER_COLUMNS)
    head = "table string, op_type string, op_ts timestamp, pos string, tokens map<string,string>"
    schema = f"{head}, before struct<{image}>, after struct<{image}>"
    with tempfile.TemporaryDirectory() as temporary, SparkRunner(SparkSettings(asked.master)):
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.getOrCreate()
        source = Path(temporary) / "in"
        source.mkdir()
        for number in range(FILES):
            write_lines(source / f"{number}.json", orders([TABLE]), asked.megabytes * 10**6 // FILES)
        readers: dict[str, DataFrame] = {
            "spark.read.json": spark.read.schema(schema).json(str(source)),
            "ggfmt, typed": frames.read(spark, source, table=TABLE),
            "ggfmt, generic": frames.read(spark, source),
        }
        sinks: dict[str, Callable[[DataFrame], None]] = {
            "noop": lambda frame: frame.write.format("noop").mode("overwrite").save(),
            "parquet": lambda frame: frame.write.mode("overwrite").parquet(f"{temporary}/out"),
        }
        for sink, write in sinks.items():
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in readers}
            for turn in range(asked.rounds + 1):
                for name, frame in readers.items():
                    clock, cpu = time.perf_counter(), cpu_seconds()
                    write(frame)
                    if turn:  # the first is to warm up
                        found[name].append((cpu_seconds() - cpu, time.perf_counter() - clock))
            medians = {name: [median(of) for of in zip(*times, strict=True)] for name, times in found.items()}
            base = medians["spark.read.json"]
            for name, (cpu, clock) in medians.items():
                shares = f"{cpu / base[0]:.2f} x, {clock / base[1]:.2f} x"
                print(f"{sink:8} {name:16} {cpu:7.2f} s of CPU, {clock:7.2f} s   {shares}", flush=True)


if __name__ == "__main__":
    main()
