"""How much memory a run takes at most, and that it does not grow with the input: every case in two sizes.

usage: python tests/bench/memory.py [--case NAME] [--scale F]

The cases are the length of the input, the length of a compressed file, the number of tables and the number of columns;
`--scale 0.1` makes the larger sizes a tenth. Prints for each run the peak of the driver, of the JVM and of the largest
Python worker, as Linux counts it (VmHWM, looked at four times a second), and the seconds of the run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.data import SHAPES, orders, write_lines
from comparison.measured import Measure, measure

BLOCK = 64_000_000  # what is made once and then repeated


def of_length(block: Path, target: Path, size: int) -> None:
    with target.with_suffix(".json").open("wb") as out:
        for _ in range(size // BLOCK):
            out.write(block.read_bytes())


def compressed(block: Path, target: Path, size: int) -> None:
    with gzip.open(target.with_suffix(".json.gz"), "wb", compresslevel=1) as out:
        for _ in range(size // BLOCK):
            out.write(block.read_bytes())


def of_tables(block: Path, target: Path, count: int) -> None:
    names = [f"GG.TCUSTORD{number}" for number in range(count)]
    write_lines(target.with_suffix(".json"), orders(names), 100 * 10**6)


def of_columns(block: Path, target: Path, count: int) -> None:
    with target.with_suffix(".json").open("w") as out:
        for row in range(20_000_000 // (count * 20)):
            image = {f"COLUMN_{number:05}": f"{row}" for number in range(count)}
            head = {"table": "GG.WIDE", "op_type": "I", "op_ts": "2024-06-02 22:14:00.000000", "pos": f"{row:020}"}
            out.write(json.dumps(head | {"after": image}) + "\n")


# What makes an input of so much, and the two sizes that are compared.
CASES: dict[str, tuple[Callable[[Path, Path, int], None], int, int]] = {
    "bytes": (of_length, 1_000_000_000, 8_000_000_000),
    "compressed": (compressed, 250_000_000, 2_000_000_000),
    "tables": (of_tables, 200, 20_000),
    "columns": (of_columns, 20, 2_000),
}


def run(source: Path, target: Path) -> Measure:
    command = [sys.executable, "-m", "ggfmt", "--log-level", "warn", "run", str(source), "-o", str(target)]
    return measure([*command, "--master", "local[2]", "--set", "gg.handler.b.format.encoding=UTF-8"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        block = Path(work, "block.json")
        write_lines(block, SHAPES["orders"].lines(), BLOCK)
        for name, (make, small, large) in CASES.items():
            if arguments.case not in (None, name):
                continue
            for size in (small, int(large * arguments.scale)):
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    source = Path(folder, "in")
                    source.mkdir()
                    make(block, source / "data", size)
                    taken = run(source, Path(folder, "out"))
                told = ", ".join(f"{kind} {peak / 1e6:,.0f} MB" for kind, peak in taken.peaks.items())
                print(f"{name} {size:,}: {told}, {taken.whole:.1f} s", flush=True)


if __name__ == "__main__":
    main()
