"""How the cost of a run grows with tables and splits.

usage: python tests/bench/scale.py [--rounds N] [--against TREE] [--largest]

Converts GoldenGate's JSON to JSON with `--master none`, each time in a process of its own, in turns with the checkout
TREE. Prints the median seconds of CPU and MB of memory at the peak, and whether the output is that of one split.
`--largest` adds runs of 200 MB.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Case(NamedTuple):
    operations: int
    tables: int
    splits: int


CASES = [Case(20_000, tables, splits) for tables in (1, 20, 500, 2000) for splits in (1, 20)]
LARGEST = [Case(700_000, tables, splits) for tables, splits in ((1, 26), (100, 26), (2000, 26), (5000, 200))]


def record(number: int, table: str) -> str:
    names = {f"C{place}": f"value {number % 9973}-{place}" for place in range(5)}
    image = {"ID": number, "AMOUNT": f"{number % 1000}.50", **names}
    head = {"table": table, "op_type": "I", "op_ts": "2026-01-01 10:00:00.000000", "pos": f"{number:020d}"}
    return json.dumps({**head, "primary_keys": ["ID"], "after": image}, separators=(",", ":"))


def digest(out: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in (out / "json").rglob("*") if path.is_file()):
        found.update(path.read_bytes())
    return found.hexdigest()


def run(tree: Path, source: Path, split: int, out: Path) -> tuple[float, float]:
    """Return seconds of CPU and MB at the peak."""
    command = [sys.executable, "-m", "ggfmt", "-q", "run", str(source), "--to", "json", "--master", "none"]
    command += ["--split-size", str(split), "--current-timestamp", "2026-01-01 00:00:00", "-o", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = _PEAK.format(command=command)
    env = {**os.environ, "PYTHONPATH": str(tree)}
    shown = subprocess.run([sys.executable, "-c", peak], check=True, cwd=tree, env=env, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(shown.stdout) / 1024


_PEAK = """
import resource, subprocess
subprocess.run({command}, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--largest", action="store_true")
    given = parser.parse_args()
    trees = [ROOT, *([given.against.resolve()] if given.against else [])]
    print("operations  tables  splits " + "".join(f"  CPU s of {tree.name}  MB" for tree in trees) + "  equal")
    with tempfile.TemporaryDirectory() as folder:
        for case in [*CASES, *(LARGEST if given.largest else [])]:
            source = Path(folder, "in.json")
            with source.open("w") as file:
                for number in range(case.operations):
                    file.write(record(number, f"S.T{number % case.tables}") + "\n")
            split = -(-source.stat().st_size // case.splits)
            figures: list[list[tuple[float, float]]] = [[] for _ in trees]
            digests = set()
            for number in range(given.rounds):
                for tree, found in zip(trees, figures, strict=True):
                    out = Path(folder, f"{number}-{len(found)}-{tree.name}-{case.tables}-{case.splits}")
                    found.append(run(tree, source, split, out))
                    digests.add(digest(out))
            shown = "".join(
                f"{statistics.median(seconds for seconds, _ in found):18.2f} {max(peak for _, peak in found):5.0f}"
                for found in figures
            )
            print(f"{case.operations:10,} {case.tables:7,} {case.splits:7} {shown}  {len(digests) == 1}", flush=True)


if __name__ == "__main__":
    main()
