"""How long `ggfmt compare` takes for two CSV files of ten columns.

usage: python tests/bench/tables.py [--rows N] [--rounds N]

Prints the median seconds of CPU of one process: for the same rows in another order, and for rows of which three columns
are spelled otherwise; with a key and without one; by values and by characters.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import ggfmt

_NAMES = ["id", "name", "amount", "quantity", "at", "day", "flag", "note", "code", "ratio"]
_WAYS: dict[str, dict[str, Any]] = {
    "with a key": {"key": "id"},
    "with a key, as text": {"key": "id", "as_": "text"},
    "whole rows": {},
}


def rows(count: int) -> list[list[str]]:
    drawn = random.Random(1)
    found = []
    for number in range(count):
        at = str(datetime(2026, 1, 1) + timedelta(seconds=7 * number))
        amount, note = f"{drawn.randrange(10**7) / 100:.2f}", f"some text of a note {drawn.randrange(10**6)}"
        row = [str(number), f"name {number % 5000}", amount, str(number % 100), at, at[:10], "t" if number % 3 else "f"]
        found.append([*row, note, f"{number % 1000:05d}", repr(drawn.random())])
    return found


def respelled(row: list[str]) -> list[str]:
    number, name, amount, quantity, at, day, flag, *rest = row
    words = {"t": "true", "f": "false"}
    return [number, name, f"{amount}0", quantity, f"{at.replace(' ', 'T')}.000", day, words[flag], *rest]


def write(path: Path, found: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_NAMES, *found])
    return path


def seconds(a: Path, b: Path, asked: dict[str, Any]) -> float:
    start = time.process_time()
    ggfmt.compare(a, b, **asked)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        found = rows(asked.rows)
        a, other = write(Path(work) / "a.csv", found), write(Path(work) / "respelled.csv", [*map(respelled, found)])
        random.Random(2).shuffle(found)
        shuffled = write(Path(work) / "shuffled.csv", found)
        del found
        print("| Compared | The same rows in another order | Three columns spelled otherwise |\n| --- | ---: | ---: |")
        for name, options in _WAYS.items():
            times = [[seconds(a, b, options) for b in (shuffled, other)] for _ in range(asked.rounds)]
            medians = (f"{statistics.median(column):.1f} s" for column in zip(*times, strict=True))
            print("|", " | ".join([name, *medians]), "|", flush=True)


if __name__ == "__main__":
    main()
