"""Consolidation beside DuckDB, on the same changes, in turns.

usage: python tests/bench/consolidate.py [--operations N] [--keys N] [--rounds N] [--shape NAME ...] [--side NAME ...]
       python tests/bench/consolidate.py --memory --shape whole partial

The rows after the operations are written to Parquet. `ggfmt` works in one process and `cluster` is ggfmt on a local
Spark; both and DuckDB read the same files of GoldenGate's JSON. Time is that of the whole work with all imports.

orders      the order table of the other benchmarks, with whole images
small       1,000 of its operations, beside `ggfmt run`, which writes them as messages
merge-100, merge-100k  so many updates merged into the rows of an earlier run, by its checkpoint
tables      tables with two rows each, beside `ggfmt run`
changes     a table whose columns change with every second operation
shift       300,000 keys that one statement adds 1 to, and 5,000 moves to free keys
whole       full images, of which DuckDB takes the last one of a key (`arg_max`)
partial     updates show some columns, each of which is in DuckDB the last that was set since the key was inserted

Sides that come to other rows than the rest fail. The seconds that other processes computed meanwhile are in brackets.
`--memory` runs ggfmt alone, in one process and on a driver of
1 GB. Peaks are those of the first process (`driver`), of the largest JVM, and of the largest other process (`worker`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.machine import machine
from comparison.measured import Failed, Measure, measure
from comparison.running import variables

SIDES = ("ggfmt", "cluster", "run", "duckdb")
IN_GGFMT = ("ggfmt", "cluster")
SHAPES = {  # the sides of each, and the number of operations (of merges, of rows); the number of keys is a tenth of it
    "orders": (("ggfmt", "cluster", "duckdb"), 951_000),
    "small": (("ggfmt", "run"), 1_000),
    "merge-100": (("ggfmt",), 1_000_000),
    "merge-100k": (("ggfmt",), 1_000_000),
    "tables": (("ggfmt", "run"), 2_000),
    "changes": (("ggfmt",), 600),
    "shift": (("ggfmt", "cluster"), 905_000),
    "whole": (("ggfmt", "cluster", "duckdb"), 1_000_000),
    "partial": (("ggfmt", "cluster", "duckdb"), 1_000_000),
}
SCRIPT = Path(__file__).resolve().parent / "sides" / "last_rows.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, help="instead of those of the shapes; with --memory 20,000,000")
    parser.add_argument("--keys", type=int, help="that are inserted first in the last two shapes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--side", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", action="store_true", help="ggfmt alone, on a driver of 1 GB")
    parser.add_argument("--work", type=Path, help="where data and outputs are made (default: a temporary directory)")
    options = parser.parse_args()
    for shape in options.shape:
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            compare(shape, options, Path(work))
    print(machine(options.cores))


def compare(shape: str, options: argparse.Namespace, work: Path) -> None:
    """Make the data of a shape, run its sides in turns, and report their figures."""
    sides, operations = SHAPES[shape]
    operations = options.operations or (20_000_000 if options.memory else operations)
    sides, rounds = (IN_GGFMT, 1) if options.memory else (sides, options.rounds)
    base = variables(None, work / "tmp")
    given: dict[str, str | int] = {
        "shape": shape,
        "data": f"{work}/data",
        "target": f"{work}/out",
        "seen": f"{work}/seen",
    }
    given |= {"cores": options.cores, "memory": "1g" if options.memory else "4g"}
    given |= {"operations": operations, "keys": options.keys or operations // 10}
    measure([sys.executable, str(SCRIPT), "make", json.dumps({**given, "memory": "4g"})], base)
    results: dict[str, list[Measure] | str] = {}
    for _ in range(rounds):
        for side in sides:
            runs = results.setdefault(side, [])
            if isinstance(runs, str) or side not in options.side:
                continue
            try:
                command = [sys.executable, str(SCRIPT), side, json.dumps(given)]
                runs.append(measure(command, base, 3600, marked=True))
            except Failed as error:
                results[side] = str(error)
            for name in ("out", "seen"):
                shutil.rmtree(work / name, ignore_errors=True)
    report(f"{shape}, {operations:,} {'rows' if shape.startswith('merge') else 'operations'}", results)


def report(title: str, results: dict[str, list[Measure] | str]) -> None:
    """Print medians, and how often those of the first side go into the others; fail if sides came to other rows."""
    print(title)
    first: tuple[float, float] | None = None
    sums = {run.lines[-1] for runs in results.values() if not isinstance(runs, str) for run in runs if run.lines}
    for side, runs in results.items():
        if isinstance(runs, str):
            print(f"  {side:8} {runs}")
        elif runs:
            cpu, seconds = median(run.cpu for run in runs), median(run.seconds for run in runs)
            first = first or (cpu, seconds)
            peaks = {kind: max(run.peaks[kind] for run in runs) / 1e6 for kind in runs[0].peaks}
            peak = ", ".join(f"{kind} {size:,.0f} MB" for kind, size in peaks.items() if size)
            elsewhere = median(run.elsewhere for run in runs)
            shares = f"{cpu / first[0]:.2f} x, {seconds / first[1]:.2f} x   ({elsewhere:.1f} s elsewhere)"
            print(f"  {side:8} {cpu:7.2f} s of CPU, {seconds:7.2f} s, {peak}   {shares}", flush=True)
    if len(sums) > 1:
        raise SystemExit(f"the sides have come to other rows: {sorted(sums)}")


if __name__ == "__main__":
    main()
