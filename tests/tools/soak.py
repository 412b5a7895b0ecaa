"""The soak: one command with a checkpoint, called again and again over input that grows, and killed at random times.

usage: python tests/tools/soak.py [--rounds N] [--seed S] [--spark]

In each round a writer adds files, goes on with one that is not done (which `--settle` leaves alone), rotates logs by
renaming them, and removes some that were read. Then the command is called, and in most rounds its driver is killed by
SIGKILL between its start and a little after its usual end. At the end it is called until it has nothing to do. Each
operation that was written is in the output exactly once then, those of a file in their order, and `ggfmt verify` finds
the output as its runs left it. `--spark` runs it on Spark instead of in one process.

Prints figures; exit status 1 if an operation is missing, doubled or out of order. The directory is kept then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import SUPPORT
from runs import JSON_LINES, content, operation, write_lines

TABLES, SETTLE, HOUR = 12, 600, 3600.0
CALL_WITHIN = 120.0

_IN_PROCESS = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from runs import JSON_LINES, run_ggfmt
started, source, out, seen = sys.argv[1:]
Path(started).touch()
run_ggfmt([Path(source)], Path(out), *JSON_LINES, current_timestamp=None, checkpoint=seen, settle={SETTLE})
"""


class Writer:
    """Writes operations with numbers into files: `written` counts those of files that are done."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.directory = directory
        self.chance = chance
        self.next = 0
        self.written = 0
        self.names = 0
        self.growing: list[int] = []
        self.done: list[Path] = []
        directory.mkdir()

    def numbers(self, count: int) -> list[int]:
        self.next += count
        return list(range(self.next - count, self.next))

    def file(self, path: Path, numbers: list[int], ago: float) -> None:
        draft = path.with_name(f".{path.name}")
        write_lines(draft, [operation(number, f"GG.T{number % TABLES}") for number in numbers])
        moment = time.time() - ago
        os.utime(draft, (moment, moment))
        draft.rename(path)

    def round(self) -> None:
        for _ in range(self.chance.randrange(3)):
            self.names += 1
            path = self.directory / f"a{self.names:06d}.json"
            numbers = self.numbers(self.chance.randrange(1, 60))
            self.file(path, numbers, HOUR)
            self.written += len(numbers)
            self.done.append(path)
        if self.chance.random() < 0.3:
            self.rotate()
        # One file goes on from round to round, until it is done; it comes after all others.
        self.growing += self.numbers(self.chance.randrange(1, 20))
        growing = self.directory / "z-growing.json"
        self.file(growing, self.growing, 0)
        if self.chance.random() < 0.3:
            self.finish()

    def finish(self) -> None:
        self.names += 1
        path = self.directory / f"y{self.names:06d}.json"
        (self.directory / "z-growing.json").rename(path)
        os.utime(path, (time.time() - HOUR,) * 2)
        self.written += len(self.growing)
        self.growing = []
        self.done.append(path)

    def rotate(self) -> None:
        for number in range(3, 0, -1):
            old = self.directory / (f"x.log.{number - 1}" if number > 1 else "x.log")
            if old.exists() and not (self.directory / f"x.log.{number}").exists():
                old.rename(self.directory / f"x.log.{number}")
        if not (self.directory / "x.log").exists():
            numbers = self.numbers(self.chance.randrange(1, 30))
            self.file(self.directory / "x.log", numbers, HOUR)
            self.written += len(numbers)

    def remove_some(self) -> None:
        """Of files that a run has read which ended well: some, and the last of the logs."""
        for path in list(self.done):
            if self.chance.random() < 0.3:
                path.unlink()
                self.done.remove(path)
        (self.directory / "x.log.3").unlink(missing_ok=True)


class Soak:
    def __init__(self, top: Path, chance: random.Random, spark: bool) -> None:
        self.top, self.chance, self.spark = top, chance, spark
        self.out, self.seen = top / "out", top / "seen"
        self.writer = Writer(top / "in", chance)
        self.figures: Counter[str] = Counter()
        self.usual = 0.0

    def call(self, kill: bool) -> int:
        """One call of the command; its exit status."""
        marker = self.top / "started"
        marker.unlink(missing_ok=True)
        source = self.top / "in"
        if self.spark:
            marker.touch()
            command = [sys.executable, "-m", "ggfmt", "run", str(source), "-o", str(self.out), "--no-progress"]
            command += ["--checkpoint", str(self.seen), "--settle", str(SETTLE)]
            command += [word for line in JSON_LINES for word in ("--set", line)]
        else:
            command = [sys.executable, "-c", _IN_PROCESS, *map(str, (marker, source, self.out, self.seen))]
        log = self.top / "log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command, stdout=errors, stderr=errors, env={**os.environ, "TMPDIR": str(self.top)}
            )
            while not marker.exists() and process.poll() is None:
                time.sleep(0.001)
            began = time.monotonic()
            try:
                process.wait(self.chance.random() * self.usual * 1.2 if kill else CALL_WITHIN)
            except subprocess.TimeoutExpired:
                if not kill:
                    raise
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.figures["killed"] += 1
                if (self.out / "_ggfmt" / "journal.json").exists():
                    self.figures["killed in the middle of a commit"] += 1
                return -signal.SIGKILL
        took = time.monotonic() - began
        self.usual = (self.usual + took) / 2 if self.usual else took
        if process.returncode:
            raise AssertionError(f"exit status {process.returncode}: {log.read_text(errors='replace')[-2000:]}")
        self.figures["ended well"] += 1
        return 0

    def run(self, rounds: int) -> list[str]:
        """What is wrong at the end."""
        self.writer.round()
        self.call(kill=False)
        for _ in range(rounds):
            self.writer.round()
            if self.call(kill=self.chance.random() < 0.85) == 0:
                self.writer.remove_some()
        self.call(kill=False)
        before = self.found()
        self.call(kill=False)
        problems = [] if self.found() == before else ["a run with nothing to do changed the output"]
        counts = Counter(before)
        expected = set(range(self.writer.next)) - set(self.writer.growing)
        assert len(expected) == self.writer.written
        problems += [f"operation {number} is there {count} times" for number, count in counts.items() if count > 1]
        problems += [f"operation {number} is missing" for number in sorted(expected - counts.keys())]
        problems += [f"operation {number} is of a file that grows" for number in sorted(counts.keys() - expected)]
        command = [sys.executable, "-m", "ggfmt", "verify", str(self.out)]
        verified = subprocess.run(command, capture_output=True, text=True, check=False, timeout=CALL_WITHIN)
        if verified.returncode:
            problems.append(f"ggfmt verify: {verified.stdout}{verified.stderr}")
        self.figures["operations"] = len(before)
        return problems

    def found(self) -> list[int]:
        return [int(json.loads(line)["pos"]) for line in content(self.out, "j").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--spark", action="store_true")
    arguments = parser.parse_args()
    top = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(top, random.Random(arguments.seed), arguments.spark)
    started = time.monotonic()
    problems = soak.run(arguments.rounds)
    figures = ", ".join(f"{name}: {number}" for name, number in soak.figures.items())
    print(f"seed {arguments.seed}, {arguments.rounds} rounds in {time.monotonic() - started:.0f} s; {figures}")
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems; see {top}")
    shutil.rmtree(top)


if __name__ == "__main__":
    main()
