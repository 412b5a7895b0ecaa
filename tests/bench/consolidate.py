"""Consolidation beside Spark's own formulation by hand and DuckDB, on the same changes, in turns.

usage: python tests/bench/consolidate.py [--operations N] [--keys N] [--rounds N] [--shape NAME ...] [--side NAME ...]
       python tests/bench/consolidate.py --memory [--operations 20000000]

The rows after the operations are written to Parquet. `ggfmt` works in one process and `cluster` is ggfmt on a local
Spark, of GoldenGate's JSON; the others read Parquet. `whole` has full images, of which by hand the last one of a key
is taken (`row_number`; `arg_max` in DuckDB). In `partial` updates tell some columns, each of which is by hand the last
that was told since the key was inserted (`last(..., ignorenulls)`; `arg_max ... filter`). `moves` has updates of keys
besides, which there is no formulation by hand of. Sides that come to other rows than the rest fail. DuckDB is installed
into an environment of its own. `--memory` runs ggfmt alone, in one process and on a driver of 1 GB. Peaks are those of
the first process (`driver`), of the largest JVM, and of the largest other process (`worker`).
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
from comparison.running import REQUIREMENTS, variables
from environments import NotInstalled, environment

SIDES = ("ggfmt", "cluster", "spark", "duckdb")
IN_GGFMT = ("ggfmt", "cluster")
SHAPES = ("whole", "partial", "moves")
SCRIPT = Path(__file__).resolve().parent / "sides" / "last_rows.py"


def interpreter(side: str, directory: Path) -> Path:
    try:
        return environment(directory / side, *REQUIREMENTS[side]) if side in REQUIREMENTS else Path(sys.executable)
    except NotInstalled as error:
        raise Failed(f"not installed: {error}") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, help="default 1,000,000, or with --memory 20,000,000")
    parser.add_argument("--keys", type=int, help="that are inserted first (default: a tenth of the operations)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--side", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", action="store_true", help="ggfmt alone, on a driver of 1 GB")
    parser.add_argument("--work", type=Path, help="where data and outputs are made (default: a temporary directory)")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ggfmt-bench"
    parser.add_argument("--environments", type=Path, default=cache, help=f"those of the peers (default {cache})")
    asked = parser.parse_args()
    operations = asked.operations or (20_000_000 if asked.memory else 1_000_000)
    keys = asked.keys or operations // 10
    sides, rounds = asked.side, asked.rounds
    if asked.memory:
        sides, rounds = [side for side in sides if side in IN_GGFMT], 1
    with tempfile.TemporaryDirectory(dir=asked.work) as work:
        base = variables(None, Path(work, "tmp"))
        for shape in asked.shape:
            told = {"shape": shape, "data": f"{work}/{shape}", "target": f"{work}/out", "cores": asked.cores}
            told |= {"operations": operations, "keys": keys, "memory": "1g" if asked.memory else "4g"}
            measure([sys.executable, str(SCRIPT), "make", json.dumps({**told, "memory": "4g"})], base)
            found: dict[str, list[Measure] | str] = {}
            for _ in range(rounds):
                for side in sides:
                    runs = found.setdefault(side, [])
                    if isinstance(runs, str) or (shape == "moves" and side not in IN_GGFMT):
                        continue
                    try:
                        command = [str(interpreter(side, asked.environments)), str(SCRIPT), side, json.dumps(told)]
                        runs.append(measure(command, base, 3600, marked=True))
                    except Failed as error:
                        found[side] = str(error)
                    shutil.rmtree(told["target"], ignore_errors=True)
            report(f"{shape}, {operations:,} operations, {keys:,} keys", found)
            shutil.rmtree(f"{work}/{shape}")
            shutil.rmtree(f"{work}/{shape}-json")
    print(machine(asked.cores))


def report(title: str, found: dict[str, list[Measure] | str]) -> None:
    """Medians, how often those of the first side go into the others, and whether all came to the same rows."""
    print(title)
    first: tuple[float, float] | None = None
    results = {runs[0].lines[-1] for runs in found.values() if runs and not isinstance(runs, str)}
    for side, runs in found.items():
        if isinstance(runs, str):
            print(f"  {side:8} {runs}")
        elif runs:
            cpu, seconds = median(run.cpu for run in runs), median(run.seconds for run in runs)
            first = first or (cpu, seconds)
            peaks = {kind: max(run.peaks[kind] for run in runs) / 1e6 for kind in runs[0].peaks}
            peak = ", ".join(f"{kind} {size:,.0f} MB" for kind, size in peaks.items() if size)
            shares = f"{cpu / first[0]:.2f} x, {seconds / first[1]:.2f} x"
            print(f"  {side:8} {cpu:7.2f} s of CPU, {seconds:7.2f} s, {peak}   {shares}", flush=True)
    if len(results) > 1:
        raise SystemExit(f"the sides have come to other rows: {sorted(results)}")


if __name__ == "__main__":
    main()
