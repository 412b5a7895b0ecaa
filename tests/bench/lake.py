"""Changes merged into Delta and Iceberg tables, beside delta-rs and pyiceberg, in turns.

usage: python tests/bench/lake.py [--rows N] [--changes N ...] [--rounds N] [--side NAME ...] [--work DIR]

The sides of one format merge the same updates into the same table, which a first run of ggfmt made. Tables are put back
before each turn, outside of the measured time.

ggfmt-delta, ggfmt-iceberg  read GoldenGate's JSON, find the rows and merge them, with a checkpoint and a manifest
ggfmt-delta-marks, ggfmt-iceberg-marks  the same, into tables where merges mark rows as deleted
delta-rs          `MERGE` of rows that are already consolidated, from Parquet
pyiceberg-files   the same rows: files with changed keys rewritten by hand with Arrow, and one snapshot
pyiceberg-upsert  `Table.upsert` of the same rows; up to 100 changes only

Time is that of the whole work with all imports. Sides that come to other rows than the rest fail. The seconds that
other processes computed meanwhile are in brackets. For each side follow the files that its last turn wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.machine import machine
from comparison.measured import Failed, Measure, measure
from consolidate import report

SCRIPT = Path(__file__).resolve().parent / "sides" / "lake_merges.py"
FORMATS = {
    "Delta": ("ggfmt-delta", "ggfmt-delta-marks", "delta-rs"),
    "Iceberg": ("ggfmt-iceberg", "ggfmt-iceberg-marks", "pyiceberg-files", "pyiceberg-upsert"),
}
MAX_UPSERTED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, nargs="+", default=[100, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    every = [side for sides in FORMATS.values() for side in sides]
    parser.add_argument("--side", nargs="+", choices=every, default=every)
    parser.add_argument("--work", type=Path, help="where data and tables are made (default: a temporary directory)")
    options = parser.parse_args()
    for changes in options.changes:
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            compare(changes, options, Path(work))
    print(machine(len(os.sched_getaffinity(0))))


def compare(changes: int, options: argparse.Namespace, work: Path) -> None:
    """Make the tables and the changes, merge these by all sides in turns, and report the figures."""
    given: dict[str, str | int] = {"rows": options.rows, "changes": changes, "data": f"{work}/data"}
    tables = ("delta", "delta-marks", "iceberg", "iceberg-marks")
    given |= {f"{name}-{to}": f"{work}/{name}-{to}" for name in ("lake", "seen") for to in tables}
    measure([sys.executable, str(SCRIPT), "make", json.dumps(given)])
    results: dict[str, dict[str, list[Measure] | str]] = {name: {} for name in FORMATS}
    for _ in range(options.rounds):
        for name, sides in FORMATS.items():
            for side in sides:
                if side not in options.side or (side == "pyiceberg-upsert" and changes > MAX_UPSERTED):
                    continue
                runs = results[name].setdefault(side, [])
                if isinstance(runs, str):
                    continue
                try:
                    command = [sys.executable, str(SCRIPT), side, json.dumps(given)]
                    runs.append(measure(command, seconds=3600, marked=True))
                except Failed as error:
                    results[name][side] = str(error)
    for name in FORMATS:
        report(f"{name}, {options.rows:,} rows, {changes:,} changes", results[name])
        for side, runs in results[name].items():
            if runs and not isinstance(runs, str):
                print(f"  {side}: {runs[-1].lines[-2]}")


if __name__ == "__main__":
    main()
