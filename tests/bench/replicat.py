"""What the MAP of a Replicat costs: a run with it beside one without `--replicat`, on the same data, in turns.

usage: python tests/bench/replicat.py [--megabytes N] [--rounds N] [--side NAME ...] [--master none[N]]

rename   a MAP that gives the table another name
mapped   a MAP with a FILTER, and six columns that functions make
keyed    the same with KEYCOLS, which decides on updates of the key, so that it needs their before images

The changes are those of the order table of the other benchmarks, and are written as delimited text. A line has the
medians of CPU seconds and of seconds of the work alone, and how often those of the run without MAPs go into them. The
MAP with columns writes six columns more, of the operations that its filter leaves.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.data import definition_files, make
from comparison.measured import Measure, measure

_CHANGES = """FILTER (PRODUCT_AMOUNT > 1), COLMAP (USEDEFAULTS,
  OP = @GETENV ('GGHEADER', 'OPTYPE'),
  COMMITTED = @GETENV ('GGHEADER', 'COMMITTIMESTAMP'),
  FULL_CODE = @STRCAT (CUST_CODE, '-', PRODUCT_CODE),
  ORDER_MONTH = @STREXT (ORDER_DATE, 1, 7),
  SIZE = @IF (PRODUCT_AMOUNT > 2, 'large', 'small'),
  KIND = @CASE (PRODUCT_CODE, 'PRODUCT-1', 'first', 'PRODUCT-2', 'second', @COLSTAT (NULL)))"""
_STATED = "ggfmt.updateOpType=UPDATE\n"
MAPS = {
    "without": "",
    "rename": "MAP GG.TCUSTORD, TARGET SHOP.ORDERS;",
    "mapped": f"MAP GG.TCUSTORD, TARGET SHOP.ORDERS, {_CHANGES};",
    "keyed": f"MAP GG.TCUSTORD, TARGET SHOP.ORDERS, KEYCOLS (ORDER_ID), {_CHANGES};",
}


def run(side: str, work: Path, master: str) -> Measure:
    """Run ggfmt with the MAP of a side."""
    words = ["--log-level", "warn", "run", str(work / "data"), "-o", str(work / "out"), "--master", master]
    words += ["--definitions", str(work / "definitions"), "-c", str(work / "bench.properties")]
    if MAPS[side]:
        (work / "maps.prm").write_text(f"REPLICAT bench\n{MAPS[side]}\n")
        words += ["--replicat", str(work / "maps.prm")]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(work / "compiled")}
    program = Path(__file__).resolve().parent / "sides" / "in_ggfmt.py"
    try:
        return measure([sys.executable, str(program), *words], environment, marked=True)
    finally:
        shutil.rmtree(work / "out", ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--side", nargs="+", choices=MAPS, default=list(MAPS))
    parser.add_argument("--master", default="none[1]")
    parser.add_argument("--work", type=Path, help="where data and outputs are made (default: a temporary directory)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.work) as name:
        work = Path(name)
        made = make(work / "data", "orders", asked.megabytes * 10**6)
        definition_files(work / "definitions", "orders")
        (work / "bench.properties").write_text("gg.handlerlist=b\ngg.handler.b.format=delimitedtext\n" + _STATED)
        print(f"{made.operations:,} operations, {made.size / 1e6:,.0f} MB, {os.cpu_count()} processors", flush=True)
        runs: dict[str, list[Measure]] = {side: [] for side in asked.side}
        for _ in range(asked.rounds):
            for side, found in runs.items():
                found.append(run(side, work, asked.master))
    first: tuple[float, float] | None = None
    for side, found in runs.items():
        cpu, seconds = median(each.cpu for each in found), median(each.seconds for each in found)
        first = first or (cpu, seconds)
        print(
            f"{side:8} {cpu:6.2f} s of CPU ({cpu / first[0]:.2f} x), {seconds:6.2f} s ({seconds / first[1]:.2f} x)"
            f", {median(each.elsewhere for each in found):.1f} s elsewhere"
        )


if __name__ == "__main__":
    main()
