"""ggfmt beside other engines, on the same data, in turns: one table.

usage: python tests/bench/compare.py [--megabytes N] [--rounds N] [--workload NAME ...] [--peer NAME ...]

It makes its data itself, 2 GB of each shape by default: all of it takes some 20 GB below `--work` and hours.
With `--megabytes 50 --rounds 1` it takes minutes. Peers are in the extra `test`. The table is Markdown on standard
output; standard error shows the progress.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from comparison.machine import machine, versions
from comparison.measured import Failed
from comparison.running import Bench, Run, variables
from comparison.table import NOTES, Results, brief, each, figures, head, median, rows
from comparison.workloads import OWN, PEERS, WORKLOADS, Workload


def turns(
    bench: Bench, workload: Workload, rounds: int, programs: set[str], chosen: set[str]
) -> dict[tuple[str, str], list[Run] | str]:
    """All rounds of a workload, with the sides of these names or all; a side that fails is not tried again."""
    results: dict[tuple[str, str], list[Run] | str] = {}
    for number in range(rounds):
        for side in workload.sides:
            if chosen and side.name not in chosen:
                continue
            runs = results.setdefault((workload.name, side.name), []) if side.program in programs else "left out"
            if isinstance(runs, str):
                continue
            try:
                run = bench.run(workload, side)
                runs.append(run)
                told = f"{run.measure.seconds:.1f} s"
            except Failed as error:
                results[workload.name, side.name] = told = str(error)
            print(f"round {number + 1}, {workload.name}, {side.name}: {told}", file=sys.stderr, flush=True)
    return results


def reading_costs(results: Results) -> dict[str, float]:
    """Microseconds of computing that an operation takes to be read, by format: medians."""
    found = {side: runs for (workload, side), runs in results.items() if workload == "reading"}
    return {side: round(median(each(runs, "cpu")) * 1e6, 2) for side, runs in found.items() if isinstance(runs, list)}


def elsewhere(results: Results) -> str:
    """How much of the machine other processes took while sides ran."""
    measures = [run.measure for found in results.values() for run in found if isinstance(run, Run)]
    seconds = sum(measure.whole for measure in measures)
    share = sum(measure.elsewhere for measure in measures) / seconds if seconds else 0
    return f"other processes took {max(share, 0):.2f} cores meanwhile"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000, help="of data, for each shape (default 2000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (default 3)")
    parser.add_argument("--workload", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), help="default: all")
    parser.add_argument("--peer", nargs="*", choices=PEERS, default=list(PEERS), help="default: all")
    sides = sorted({side.name for workload in WORKLOADS.values() for side in workload.sides})
    parser.add_argument(
        "--side", nargs="+", choices=sides, default=[], metavar="NAME", help="default: all of a workload"
    )
    parser.add_argument("--record", type=Path, help="write what reading costs, for the page on speed, to this file")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="default: all that there are")
    parser.add_argument("--work", type=Path, help="where data and outputs are made (default: a temporary directory)")
    parser.add_argument("--java-home", help="the Java of all sides (default: the one that ggfmt finds)")
    parser.add_argument("--seconds", type=float, default=3600, help="after which a run is given up (default 3600)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the side that runs, and deletes the data
    with tempfile.TemporaryDirectory(dir=given.work) as work:
        directory = Path(work)
        base = variables(given.java_home, directory / "tmp")
        bench = Bench(directory, given.cores, given.megabytes, base, given.seconds)
        results: dict[tuple[str, str], list[Run] | str] = {}
        print(head(), flush=True)
        for name in given.workload:
            found = turns(bench, WORKLOADS[name], given.rounds, {*given.peer, *OWN}, {*given.side})
            results |= found
            print(rows(WORKLOADS[name], found), flush=True)
        print(f"\n{brief(results)}\n\n{figures(results)}\n")
        print(f"{machine(given.cores)}; {elsewhere(results)}. {given.megabytes:,} MB, {given.rounds} rounds.\n")
        print(f"{versions(base)}.")
        print("\n".join(f"\n{note}" for note in NOTES))
        if given.record is not None:
            record = {"machine": machine(given.cores), "rounds": given.rounds, "microseconds": reading_costs(results)}
            given.record.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
