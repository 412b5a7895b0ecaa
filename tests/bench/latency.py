"""How long a run waits for a store that answers late: one task reads from S3 and writes to it.

usage: python tests/bench/latency.py [--megabytes N] [--rounds N] [--milliseconds N ...] [--shape NAME]

A server in a process of its own holds the objects in memory and answers each request after so many milliseconds, in
turns. The share of waiting is that of the time which the task does not take with 0 milliseconds. The rest of a run is
what it asks of the store before and after its tasks, whatever their number.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.data import SHAPES, make
from comparison.measured import Measure, measure

SUPPORT = Path(__file__).resolve().parents[1] / "support"


def run(file: Path, milliseconds: int, work: Path) -> tuple[float, Measure, str]:
    """Return the seconds of the task, what the whole work took, and the requests."""
    words = [sys.executable, str(SUPPORT / "slow_store.py"), str(milliseconds / 1000), f"bucket/in/changes.json={file}"]
    server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PYTHONPYCACHEPREFIX": str(work / "compiled"),
    }
    program = Path(__file__).resolve().parent / "sides" / "in_ggfmt.py"
    words = ["--log-level", "warn", "run", "s3://bucket/in", "-o", "s3://bucket/out", "--to", "json"]
    words += ["--master", "none[1]", "--split-size", "1g", "--report", str(work / "report")]
    try:
        found = measure([sys.executable, str(program), *words], environment, marked=True)
    finally:
        sent = server.communicate("")[0]
    return json.loads((work / "report").read_text())["seconds_in_tasks"], found, sent.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=int, nargs="+", default=[0, 20, 50, 200])
    parser.add_argument("--shape", choices=SHAPES, default="orders")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        whole = work / "changes.json"
        with whole.open("wb") as out:
            for file in make(work / "data", asked.shape, asked.megabytes * 10**6).files:
                out.write(file.read_bytes())
        shutil.rmtree(work / "data")
        runs: dict[int, list[tuple[float, Measure]]] = {each: [] for each in asked.milliseconds}
        requests = {}
        for _ in range(asked.rounds):
            for each, found in runs.items():
                seconds, measured, requests[each] = run(whole, each, work)
                found.append((seconds, measured))
    first = median(seconds for seconds, _ in runs[asked.milliseconds[0]])
    for each, found in runs.items():
        seconds, waiting = median(task for task, _ in found), median(max(0.0, task - first) / task for task, _ in found)
        rest = median(whole.seconds for _, whole in found) - seconds
        print(f"{each:4} ms: task {seconds:6.2f} s, {waiting:4.0%} waiting; rest {rest:6.2f} s; {requests[each]}")


if __name__ == "__main__":
    main()
