"""Wall time of an empty Spark job in a fresh process: plain PySpark beside ggfmt's session, runs interleaved.

usage: startup.py [-n RUNS] [--java-home DIR]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PLAIN = """
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[2]").getOrCreate()
assert session.sparkContext.parallelize([1], 1).map(lambda item: item).collect() == [1]
session.stop()
"""
OURS = """
from ggfmt.spark.session import SparkRunner, SparkSettings
with SparkRunner(SparkSettings("local[2]")) as session:
    assert session.run(lambda item, attempt: item, [1]) == [1]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--java-home", help="the Java of all runs (default: the one that ggfmt finds)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        measure(arguments.n, arguments.java_home, cache)


def measure(runs: int, java_home: str | None, cache: str) -> None:
    """Print the median of `runs` runs of each side, after the class-data archive has been made in `cache`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "XDG_CACHE_HOME": cache}
    if java_home:
        environment["JAVA_HOME"] = environment["GGFMT_JAVA_HOME"] = java_home
    sides = {
        "plain PySpark": (PLAIN, environment),
        "ggfmt, no archive": (OURS, {**environment, "XDG_CACHE_HOME": os.path.join(cache, "none")}),
        "ggfmt, class archive": (OURS, environment),
    }
    making = [sys.executable, "-m", "ggfmt", "doctor", "--class-archive"]
    made = subprocess.run(making, env=environment, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(made.stdout)
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(runs):
        for side, (script, variables) in sides.items():
            start = time.perf_counter()
            ended = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, check=False)
            if ended.returncode == 0:
                seconds[side].append(time.perf_counter() - start)
    for side, times in seconds.items():
        shown = " ".join(f"{value:.2f}" for value in times)
        told = f"median {statistics.median(times):.2f} s   ({shown})" if len(times) == runs else "does not start"
        sys.stdout.write(f"{side:<22} {told}\n")


if __name__ == "__main__":
    main()
