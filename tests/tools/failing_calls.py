"""Failed calls to the system: runs whose files give an error at one call, and the runs after them.

usage: python tests/tools/failing_calls.py [--story S] [--round N] [--call N] [--kind K] [--every] [--errors E,E]
                                           [--sample N] [--seed S] [--list]

A story is a command that runs three times, each time with a new file of input. A case is a story, a round, the number
of a call of that round (`failing_calls.c`), and an error. The round with the error prints no traceback. If its exit
status is 0, its output is right. The same command then ends with 0, and so do the next rounds, with the output of
rounds without an error. Of the calls of one kind, the first and the last one fail, and with `--every` each. `--sample`
takes so many cases by chance; `--list` shows the calls.

Exit status 1 if a case went wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROUNDS = 3
ERRORS = ("EIO", "ENOSPC", "EACCES")
TIME_LIMIT_SECONDS = 60.0
_CLOCK = re.compile(rb'"current_ts":"[^"]*"')
_CHANGING = re.compile(r"[0-9]{4}-[0-9_.-]+-[0-9a-f]{8}(?=[ /.]|$)|[0-9]+")  # what distinguishes files of one kind
OPTIONS = ["--master", "none[1]", "--no-progress"]
STORIES: dict[str, list[str]] = {
    "run": ["run", "in", "-o", "out", "--to", "json", "--mode", "overwrite"],
    "run-checkpoint": ["run", "in", "-o", "out", "--to", "json", "--checkpoint", "seen"],
    "consolidate": ["consolidate", "in", "-o", "out", "--starts-empty", "--mode", "overwrite"],
    "consolidate-checkpoint": ["consolidate", "in", "-o", "out", "--starts-empty", "--checkpoint", "seen"],
}


@dataclass(frozen=True)
class Case:
    story: str
    round: int
    call: int
    error: str

    def __str__(self) -> str:
        return f"{self.story}, round {self.round + 1}, call {self.call}: {self.error}"


def build(directory: Path) -> Path:
    """Compile the library to preload."""
    library = directory / "failing_calls.so"
    source = str(HERE / "failing_calls.c")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-fPIC", "-shared", source, "-o", str(library), "-ldl"], check=True)
    return library


def with_library(directory: Path, arguments: Sequence[str], **others: Any) -> subprocess.CompletedProcess[str]:
    """Run this program in a process that has the library."""
    environment = {**os.environ, "LD_PRELOAD": str(build(directory)), "GGFMT_FAILING_CALLS": "1"}
    command = [sys.executable, __file__, "--directory", str(directory), *arguments]
    return subprocess.run(command, env=environment, text=True, **others)


def write_round(number: int) -> None:
    """Write the input of a round: inserts, updates and deletes of three tables."""
    records = []
    for n in range(number * 12, number * 12 + 12):
        head = {"table": f"S.T{n % 3}", "op_ts": "2026-01-01 00:00:00.000000", "primary_keys": ["ID"]}
        records.append({**head, "pos": f"{2 * n:020}", "op_type": "I", "after": {"ID": str(n), "V": "x" * (n % 90)}})
        if number and n % 4 == 0:
            before = {"ID": str(n - 12), "V": "x" * ((n - 12) % 90)}
            records.append({**head, "pos": f"{2 * n + 1:020}", "op_type": "D", "before": before})
    Path("in").mkdir(exist_ok=True)
    Path(f"in/{number}.json").write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(f"in/{number}.json", (1_700_000_000 + number,) * 2)


def contents() -> dict[str, str]:
    """Return the digests of the rows and messages in the output, by directory."""
    found: dict[str, list[bytes]] = {}
    for directory, names, files in os.walk("out", followlinks=True):
        names[:] = sorted(name for name in names if not name.startswith("_"))
        for name in sorted(files):
            if not name.startswith(("_", ".")):
                data = _CLOCK.sub(b"", Path(directory, name).read_bytes())
                found.setdefault(directory, []).append(data)
    return {directory: hashlib.sha256(b"".join(parts)).hexdigest() for directory, parts in found.items()}


def in_fork(do: Callable[[], int | None], output: Path) -> int | str:
    """Call a function in a fork; return its exit status."""
    process = os.fork()
    if not process:
        status = 97
        try:
            file = os.open(output, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(file, 1)
            os.dup2(file, 2)
            status = do() or 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 98
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    while time.monotonic() < deadline:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return "no end"


class Laboratory:
    """Runs stories in forks of this process, in `work` of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._work = self._directory / "work"
        self.output = self._directory / "output.txt"
        self._calls = self._directory / "calls.txt"
        self._states: dict[str, list[dict[str, str]]] = {}  # of each story, the contents after each round
        (self._directory / "tmp").mkdir(exist_ok=True)
        os.environ["TMPDIR"] = str(self._work / "tmp")
        self._arm = ctypes.CDLL(None).failing_calls_arm

    def run(self, story: str, call: int = 0, error: int = 0) -> int | str:
        from ggfmt.__main__ import run

        def start() -> int:
            sys.argv = ["ggfmt", *STORIES[story], *OPTIONS]
            log = os.open(self._calls, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            self._arm(os.fsencode(self._work), ctypes.c_long(call), error, log)
            return run()

        return in_fork(start, self.output)

    def struck(self, call: int) -> str:
        lines = self._calls.read_text(errors="replace").splitlines()
        return next((line for line in lines if line.startswith(f"{call} ")), "")

    def prepare(self, story: str) -> list[list[str]]:
        """Make the states before each round. Return the calls of each round."""
        self._restore(None)
        calls, states = [], []
        for number in range(ROUNDS):
            self._keep(f"{story}-{number}")
            write_round(number)
            status = self.run(story)
            assert status == 0, f"{story}: {status}: {self.output.read_text()}"
            calls.append(self._calls.read_text().splitlines())
            states.append(contents())
        self._states[story] = states
        return calls

    def _keep(self, name: str) -> None:
        shutil.rmtree(self._directory / name, ignore_errors=True)
        shutil.copytree(".", self._directory / name, symlinks=True)

    def _restore(self, name: str | None) -> None:
        os.chdir(self._directory)
        shutil.rmtree(self._work, ignore_errors=True)
        if name is None:
            self._work.mkdir()
        else:
            shutil.copytree(self._directory / name, self._work, symlinks=True)
        (self._work / "tmp").mkdir(exist_ok=True)
        os.chdir(self._work)

    def problem(self, case: Case) -> str | None:
        """Try a case. Return what is wrong."""
        self._restore(f"{case.story}-{case.round}")
        write_round(case.round)
        status = self.run(case.story, case.call, getattr(errno, case.error))
        said, struck = self.output.read_text(errors="replace"), self.struck(case.call)
        where = f"{case}: {struck}"
        wanted = self._states[case.story]
        if "Traceback" in said or "defect of ggfmt" in said or status not in (0, 2, 3, 5):
            return f"{where}: exit status {status}: {said[-1500:]}"
        if status == 0 and contents() != wanted[case.round]:
            return f"{where}: exit status 0, and another output"
        for number in range(case.round, min(case.round + 2, ROUNDS)):
            write_round(number)
            again = self.run(case.story)
            if again != 0:
                then = self.output.read_text(errors="replace")[-600:]
                return f"{where}: exit status {status}: {said[-600:]}\n    then round {number + 1}: {again}: {then}"
            if contents() != wanted[number]:
                return f"{where}: exit status {status}: {said[-300:]}\n    then round {number + 1} has another output"
        return None


def kind_of(line: str) -> str:
    """Return what a call is, as a name and a kind of path."""
    _, name, path = line.split(" ", 2)
    return f"{name} {_CHANGING.sub('#', path.lstrip('/'))}"


def selected(lines: Sequence[str], kinds: Collection[str] | None) -> list[int]:
    """Return the numbers of calls: the first and the last of each kind."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        kind = kind_of(line)
        first.setdefault(kind, number)
        last[kind] = number
    wanted = first.keys() if kinds is None else first.keys() & kinds
    return sorted({found[kind] for found in (first, last) for kind in wanted})


def cases_of(calls: dict[str, list[list[str]]], given: argparse.Namespace) -> Iterator[Case]:
    for story, rounds in calls.items():
        for number, lines in enumerate(rounds):
            if given.round in (None, number + 1):
                every = range(1, len(lines) + 1) if given.every else selected(lines, given.kind)
                for call in every if given.call is None else [given.call]:
                    yield from (Case(story, number, call, error) for error in given.errors.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=STORIES, action="append")
    parser.add_argument("--errors", default=",".join(ERRORS))
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--every", action="store_true", help="all calls, and not the first and the last of each kind")
    parser.add_argument("--round", type=int, help="cases of this round alone, from 1 on")
    parser.add_argument("--call", type=int, help="cases of the call with this number alone")
    parser.add_argument("--kind", action="append", help="calls of this kind alone, such as `unlink out/_ggfmt/lock`")
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    if "GGFMT_FAILING_CALLS" not in os.environ:
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files there are synced in no time
        with tempfile.TemporaryDirectory(dir=memory) as directory:
            return with_library(Path(directory), sys.argv[1:]).returncode
    del os.environ["LD_PRELOAD"]  # of processes that ggfmt starts
    import importlib
    import pkgutil

    import ggfmt

    for module in pkgutil.walk_packages(ggfmt.__path__, "ggfmt."):
        if not any(part in module.name for part in (".spark", "__main__", ".frames")):
            try:
                importlib.import_module(module.name)
            except ImportError:
                pass
    laboratory = Laboratory(given.directory)
    calls = {story: laboratory.prepare(story) for story in given.story or STORIES}
    if given.list:
        print(*(line for rounds in calls.values() for lines in rounds for line in lines), sep="\n")
        return 0
    cases = list(cases_of(calls, given))
    if given.sample:
        cases = random.Random(given.seed).sample(cases, min(given.sample, len(cases)))
    problems, began = 0, time.monotonic()
    for case in cases:
        problem = laboratory.problem(case)
        if problem is not None:
            problems += 1
            print(problem, flush=True)
    print(f"{len(cases)} cases, {problems} problems; {time.monotonic() - began:.0f} s")
    return problems > 0


if __name__ == "__main__":
    sys.exit(main())
