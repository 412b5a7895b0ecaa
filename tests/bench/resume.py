"""What a run costs that goes on where an interrupted one has stopped: its computing beside that of a whole run.

usage: python tests/bench/resume.py [--megabytes N] [--shape NAME] [--tables N] [--at PERCENT] [--rounds N] [--master M]
                                   [--command NAME]

Each round makes a whole run, and then one whose processes are killed after PERCENT of the time of the whole one, and
the same command again. Seconds are those of all processes on this machine, with their start.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.data import SHAPES, TABLES, make
from comparison.measured import Measure, measure
from processes import descendants


def many_tables(data: Path, tables: int) -> None:
    """Let the operations be of so many tables, each table of the shape one after the other in time."""
    for file in data.rglob("*.json"):
        lines = file.read_bytes().splitlines(keepends=True)
        with file.open("wb") as out:
            for number, line in enumerate(lines):
                head, _, rest = line.partition(b'","op_type"')
                out.write(b'%s_%05d","op_type"%s' % (head, number * tables // TABLES // len(lines), rest))


def results(out: Path) -> int:
    """Count the results of a run that is not committed."""
    staged = out / "_ggfmt"
    return 0 if (staged / "journal.json").exists() else sum(1 for _ in staged.glob("staging/*/results/*"))


def killed_after(seconds: float, command: list[str], out: Path) -> int:
    """Start a run, and kill all its processes after some seconds. Return how many results it has: none after its
    commit."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(seconds)
    for process in [run.pid, *descendants(run.pid)]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    run.wait()
    return results(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--shape", choices=SHAPES, default="tables")
    parser.add_argument("--tables", type=int, default=TABLES, help="for the shape `tables`: a multiple of its tables")
    parser.add_argument("--at", type=float, default=90.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="none[2]")
    parser.add_argument("--split-size", default="8m")
    parser.add_argument("--command", choices=("run", "consolidate"), default="run")
    parser.add_argument("--work", type=Path, help="where data and outputs are made (default: a temporary directory)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.work) as name:
        work, wholes, rests = Path(name), list[Measure](), list[Measure]()
        made = make(work / "data", asked.shape, asked.megabytes * 10**6)
        if asked.tables != TABLES:
            many_tables(work / "data", asked.tables)
        print(f"{made.operations:,} operations, {made.size / 1e6:,.0f} MB, {os.cpu_count()} processors", flush=True)

        def command(out: Path) -> list[str]:
            words = ["--log-level", "warn", asked.command, str(work / "data"), "-o", str(out), "--resume"]
            words += ["--to", "json"] if asked.command == "run" else []
            words += ["--split-size", asked.split_size, "--master", asked.master]
            return [sys.executable, "-m", "ggfmt", *words]

        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        for _ in range(asked.rounds):
            whole, out = work / "whole", work / "out"
            wholes.append(measure(command(whole), environment))
            shutil.rmtree(whole)
            seconds = wholes[-1].whole * asked.at / 100
            while not (left := killed_after(seconds, command(out), out)):  # after its commit
                shutil.rmtree(out)
                seconds *= 0.95
            rests.append(measure(command(out), environment))
            shutil.rmtree(out)
            print(f"killed with {left} results", flush=True)
        cpu, rest = (median(each.cpu for each in found) for found in (wholes, rests))
        print(f"whole   {cpu:6.2f} s of CPU, {median(each.seconds for each in wholes):6.2f} s")
        print(
            f"resumed {rest:6.2f} s of CPU ({100 * rest / cpu:.0f} %), {median(each.seconds for each in rests):6.2f} s"
        )


if __name__ == "__main__":
    main()
