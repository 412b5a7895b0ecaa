"""Consolidation beside the reference, on as many random histories as there is time for.

usage: python tests/tools/prove_consolidation.py [--seeds N] [--first SEED] [--shape NAME ...] [--stories N]

For every seed and shape of a table (`histories.SHAPES`) rows, versions, what could not be decided, net changes, the
rows at a time, and the rest of a history over the rows of its first part. Needs Spark, and some 30 seconds for each
pair. Prints what differs, with the story that it is of, and ends with 1 then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from consolidation_proof import (
    check_base,
    check_changes,
    check_files,
    check_keyless,
    check_keyless_changes,
    check_moment,
    check_rows,
    check_told,
)
from frame_session import frame_session
from histories import SHAPES, History, history
from round_trips import Operation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check = Callable[["SparkSession", Path, History], None]


def checks(told: History, random: Random) -> dict[str, Check]:
    """What there is to check of a history, at places and moments by chance."""
    places = sorted(random.sample(range(len(told.story)), 2))
    if not told.shape.key:
        return {"rows": check_keyless, f"changes since {places[0]}": partial(check_keyless_changes, since=places[0])}
    times = [item.op_ts for item in told.story if isinstance(item, Operation) and item.op_ts is not None]
    moment = random.choice(times)
    every: dict[str, Check] = {
        "rows": check_rows,
        "told": check_told,
        "changes, {} to {}".format(*places): partial(check_changes, since=places[0], as_of=places[1]),
        f"rows at {moment}": partial(check_moment, moment=moment),
        f"over a base, at {places[0]}": partial(check_base, place=places[0]),
    }
    if not told.shape.definitions:  # which have no position
        every["files"] = partial(check_files, seed=random.randrange(1000))
    return every


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10, help="how many (default 10)")
    parser.add_argument("--first", type=int, default=100, help="the first of them (default 100)")
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES), help="default: all")
    parser.add_argument("--stories", type=int, default=1000, help="in each history (default 1000)")
    asked = parser.parse_args()
    failed = 0
    with frame_session() as spark:
        for seed in range(asked.first, asked.first + asked.seeds):
            for name in asked.shape:
                told = history(replace(SHAPES[name], stories=asked.stories), seed)
                for what, check in checks(told, Random(seed)).items():
                    with tempfile.TemporaryDirectory() as folder:
                        try:
                            check(spark, Path(folder), told)
                        except AssertionError as error:
                            failed += 1
                            print(f"{name}, seed {seed}, {what}: {error}\n", flush=True)
                print(f"{name}, seed {seed}: {len(told.story)} operations", file=sys.stderr, flush=True)
    print(f"{failed} differences")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
