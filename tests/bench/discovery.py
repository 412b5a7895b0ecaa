"""How long it takes to find definitions in GoldenGate JSON, beside reading it with them.

usage: python tests/bench/discovery.py [--megabytes N] [--rounds N] [SHAPE ...]

Prints for each shape of data the least seconds of CPU of one process: to find the definitions in all of the data, in as
many passes as they need; to read the data with these definitions; and to read the data with the definitions of its
first records, if these are enough. The shapes are those of `comparison/data.py`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from comparison.data import SHAPES, write_lines

from ggfmt.formats.api.format import Projection
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.reading.splits import ReadJob

_SHAPES = ["orders", "wide", "tables", "partial", "escaped"]


def read(scan: Scan, job: ReadJob) -> None:
    reader = scan.reader(job.catalog, Projection(), job.source)
    for split in scan.splits(1).all:
        for part in split.ranges:
            for chunk in part.chunks(scan.reader):
                for _ in reader.read(chunk):
                    pass
    for _ in reader.flush():
        pass


def least(rounds: int, work: Callable[[], object]) -> str:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return f"{min(times):.3f} s"


def figures(path: Path, rounds: int) -> list[str]:
    request = ScanRequest([str(path)])
    scan = Scan(request, request.list())
    job, _ = scan.discover(InProcess())
    known = scan.discover_from_head(scan.job)
    return [
        least(rounds, lambda: scan.discover(InProcess())),
        least(rounds, lambda: read(scan, job)),
        "-" if known is None else least(rounds, lambda: read(scan, known)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", default=_SHAPES)
    parser.add_argument("--megabytes", type=int, default=40, help="of each shape (default 40)")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print("| Shape | Definitions from all data | Reading | Reading with those of the first records |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as work:
        for shape in asked.shapes:
            path = Path(work) / f"{shape}.json"
            write_lines(path, SHAPES[shape].lines(), asked.megabytes * 10**6)
            print("|", " | ".join([shape, *figures(path, asked.rounds)]), "|", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
