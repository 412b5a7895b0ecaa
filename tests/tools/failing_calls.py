"""Failed calls to the system: runs whose files give an error at one call, and the runs after them.

usage: python tests/tools/failing_calls.py [--story S] [--round N] [--call N] [--kind K] [--every] [--errors E,E]
                                           [--sample N] [--seed S] [--list]

A story is a command that runs three times, each time with a new file of input. A case is a story, a round, the number
of a call of that round (`failing_calls.c`), and an error. The round with the error prints no traceback. If its exit
status is 0, its output is right. The same command then ends with 0, and so do the next rounds, with the output of
rounds without an error. Equal states are followed once. Of the calls of one kind, the first and the last one fail, and
with `--every` each. `--sample` takes so many cases by chance; `--list` shows the calls.

Exit status 1 if a case went wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from fault_cases import count_wrong, fresh_copy, parser_of, select_cases

HERE = Path(__file__).resolve().parent
ROUNDS = 3
ERRORS = ("EIO", "ENOSPC", "EACCES")
TIME_LIMIT_SECONDS = 60
_CLOCK = re.compile(rb'"current_ts":"[^"]*"')
_CHANGING = re.compile(r"[0-9]{4}-[0-9_.-]+-[0-9a-f]{8}(?=[ /.-]|$)|[0-9]+")  # what distinguishes files of one kind
_TIME = re.compile(rb"20[0-9]{2}-[01][0-9]-[0-9]{2}[T_][0-9]{2}[:-][0-9]{2}[:-][0-9]{2}[.][0-9]+(-[0-9a-f]{8})?")
_SECONDS = re.compile(rb": [0-9]+[.][0-9]+")
_DIGEST = re.compile(rb"[0-9a-f]{64}")
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


def with_library(directory: Path, arguments: Sequence[str], **others: Any) -> subprocess.CompletedProcess[str]:
    """Compile the library to preload, and run this program in a process that has it."""
    source, library = str(HERE / "failing_calls.c"), str(directory / "failing_calls.so")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-fPIC", "-shared", source, "-o", library, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": library, "GGFMT_FAILING_CALLS": "1"}
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
    file, kept = Path(f"in/{number}.json"), Path(f"../inputs/{number}.json")  # checkpoints have the inodes of files
    if not kept.exists():
        kept.write_text("".join(json.dumps(record) + "\n" for record in records))
        os.utime(kept, (1_700_000_000 + number,) * 2)
    file.parent.mkdir(exist_ok=True)
    if not file.exists():
        os.link(kept, file)


def copy(source: str, target: str) -> None:
    """Copy a file, but link one of the input."""
    (os.link if "/in/" in source else shutil.copy2)(source, target)


def fingerprint() -> str:
    """Return a digest of all files but temporary ones. Of times and names of runs, it has the order alone."""
    parts, paths = [], {}
    for path in sorted(Path().rglob("*")):
        if path.parts[0] != "tmp":
            data = os.fsencode(os.readlink(path)) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
            parts.append(b"%s %o %s" % (bytes(path), path.lstat().st_mode, _SECONDS.sub(b"", data)))
            paths[hashlib.sha256(data).hexdigest().encode()] = bytes(path)
    whole = _DIGEST.sub(lambda digest: paths.get(digest[0], digest[0]), b"\0".join(parts))  # data may have times
    order = {time: b"%d" % place for place, time in enumerate(sorted({time[0] for time in _TIME.finditer(whole)}))}
    return hashlib.sha256(_TIME.sub(lambda time: order[time[0]], whole)).hexdigest()


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


def in_fork(do: Callable[[], int | None], output: Path) -> int:
    """Call a function in a fork; return its exit status, or `-SIGALRM` if it does not end."""
    process = os.fork()
    if not process:
        signal.alarm(TIME_LIMIT_SECONDS)
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
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Laboratory:
    """Runs stories in forks of this process, in `work` of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._work = self._directory / "work"
        self.output = self._directory / "output.txt"
        self._calls = self._directory / "calls.txt"
        self._states: dict[str, list[dict[str, str]]] = {}  # of each story, the contents after each round
        self._known: dict[tuple[str, int, int, str], str | None] = {}  # what is wrong with rounds that follow a state
        (self._directory / "inputs").mkdir(exist_ok=True)
        os.environ["TMPDIR"] = str(self._work / "tmp")
        self._arm = ctypes.CDLL(None).failing_calls_arm

    def run(self, story: str, call: int = 0, error: int = 0) -> int:
        from ggfmt.__main__ import run

        def start() -> int:
            sys.argv = ["ggfmt", *STORIES[story], *OPTIONS]
            log = os.open(self._calls, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            self._arm(os.fsencode(self._work), ctypes.c_long(call), error, log)
            return run()

        return in_fork(start, self.output)

    def prepare(self, story: str) -> list[list[str]]:
        """Make the states before each round. Return the calls of each round."""
        self._restore("nothing")
        calls, states = [], self._states.setdefault(story, [])
        for number in range(ROUNDS):
            fresh_copy(self._work, self._directory / f"{story}-{number}", copy)
            write_round(number)
            status = self.run(story)
            assert status == 0, f"{story}: {status}: {self.output.read_text()}"
            calls.append(self._calls.read_text().splitlines())
            states.append(contents())
        return calls

    def _restore(self, name: str) -> None:
        os.chdir(self._directory)
        fresh_copy(self._directory / name, self._work, copy)
        (self._work / "tmp").mkdir(parents=True, exist_ok=True)
        os.chdir(self._work)

    def try_case(self, case: Case) -> str:
        """Return how a case ended; AssertionError if something is wrong."""
        self._restore(f"{case.story}-{case.round}")
        write_round(case.round)
        status = self.run(case.story, case.call, getattr(errno, case.error))
        said, calls = self.output.read_text(errors="replace"), self._calls.read_text(errors="replace").splitlines()
        struck = next((line for line in calls if line.startswith(f"{case.call} ")), "")
        where = f"{struck}: exit status {status}: {said[-1500:]}"
        assert "Traceback" not in said and "defect of ggfmt" not in said and status in (0, 2, 3, 5), where
        assert status or contents() == self._states[case.story][case.round], f"another output: {where}"
        then = self._follow(case.story, case.round, min(case.round + 2, ROUNDS))
        assert then is None, f"{where}\n    then {then}"
        return f"exit status {status}"

    def _follow(self, story: str, number: int, end: int) -> str | None:
        """Make the rounds from a number on. Return what is wrong. Most errors leave states that others have left."""
        if number == end:
            return None
        state = (story, number, end, fingerprint())
        if state not in self._known:
            write_round(number)
            status = self.run(story)
            said = f"round {number + 1} has another output: {status}: {self.output.read_text(errors='replace')[-600:]}"
            is_right = status == 0 and contents() == self._states[story][number]
            self._known[state] = self._follow(story, number + 1, end) if is_right else said
        return self._known[state]


def kind_of(line: str) -> str:
    """Return what a call is, as a name and a kind of path."""
    _, name, path = line.split(" ", 2)
    return f"{name} {_CHANGING.sub('#', path.lstrip('/'))}"


def selected(lines: Sequence[str], kinds: Collection[str] | None) -> list[int]:
    """Return the numbers of calls: the first and the last of each kind."""
    numbered = [(kind_of(line), number) for number, line in enumerate(lines, 1)]
    found = {*dict(numbered).items(), *dict(reversed(numbered)).items()}
    return sorted(number for kind, number in found if kinds is None or kind in kinds)


def cases_of(calls: dict[str, list[list[str]]], given: argparse.Namespace) -> Iterator[Case]:
    for story, rounds in calls.items():
        for number, lines in enumerate(rounds):
            if given.round in (None, number + 1):
                every = range(1, len(lines) + 1) if given.every else selected(lines, given.kind)
                for call in every if given.call is None else [given.call]:
                    yield from (Case(story, number, call, error) for error in given.errors.split(","))


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--story", choices=STORIES, action="append")
    parser.add_argument("--errors", default=",".join(ERRORS))
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
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    laboratory = Laboratory(given.directory)
    calls = {story: laboratory.prepare(story) for story in given.story or STORIES}
    if given.list:
        print(*(line for rounds in calls.values() for lines in rounds for line in lines), sep="\n")
        return 0
    cases, began = select_cases(cases_of(calls, given), given), time.monotonic()
    problems = count_wrong([(case, partial(laboratory.try_case, case)) for case in cases], every=500)
    print(f"{len(cases)} cases, {problems} problems; {time.monotonic() - began:.0f} s")
    return problems > 0


if __name__ == "__main__":
    sys.exit(main())
