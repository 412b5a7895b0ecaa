"""The fault matrix: runs whose processes are killed, each compared with an undisturbed one.

usage: python tests/tools/kills.py [--sample N] [--seed S] [--victim NAME] [--point NAME] [--signal NAME] [--mode NAME]

A case is a victim (driver, JVM, a Python worker, an executor of a standalone cluster, or all processes), a point that
the run has reached as its files and processes show it, a signal and a mode. After it: the run ends by itself, nothing
of it goes on running, and the next run finds the output as it was before or as the run should have left it, file by
file and byte by byte; if the run said that it was done, the latter. Where nothing was committed the same command is
given again, and then leaves what it should. `--sample` takes so many cases by chance instead of all. Linux only.

Exit status 1 if one case went wrong; its directory is kept then.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from fault_cases import Files, count_wrong, differences, fresh_copy, parser_of, select_cases
from processes import descendants, processes
from runs import JSON_LINES, PIPES, operation, run_ggfmt, snapshot, write_lines
from spark_cluster import standalone_cluster

from ggfmt.sinks.messages.verification import verify

OPERATIONS, TABLES, SPLIT = 12_000, 60, "100k"
FIRST, KILLED, NEXT = (datetime(2020, 1, day) for day in (1, 2, 3))
REACHED_WITHIN, ENDS_WITHIN = 90.0, 120.0


@dataclass(frozen=True)
class Case:
    victim: str
    point: str
    signal: str
    mode: str

    def __str__(self) -> str:
        return f"{self.signal} to {self.victim} at {self.point}, mode {self.mode}"


def staged_parts(out: Path) -> int:
    """How many directories of tasks the run has in staging."""
    return sum(1 for _ in (out / "_ggfmt" / "staging").glob("*/*"))


def decided(out: Path) -> bool:
    return (out / "_ggfmt" / "journal.json").exists()


def named(out: Path) -> bool:
    """Whether a file of the run has its final name while others have not."""
    return decided(out) and any((out / "j").rglob(f"*_{KILLED:%Y-%m-%d}_*"))


# What a run has reached, by what can be seen of it from outside. The later ones are short: a run may be past them.
POINTS: dict[str, Callable[[int, Path], bool]] = {
    "start": lambda driver, out: True,
    "jvm": lambda driver, out: any(item.name == "java" for item in descendants(driver).values()),
    "first-split": lambda driver, out: staged_parts(out) > 0,
    "half": lambda driver, out: staged_parts(out) > 16,
    "journal": lambda driver, out: decided(out),
    "moves": lambda driver, out: named(out),
}
VICTIMS = ("driver", "jvm", "worker", "executor", "all")
SIGNALS = ("KILL", "TERM", "INT", "HUP")
MODES = ("error", "append", "overwrite")


def cases() -> list[Case]:
    """Those that make sense: a victim has to be there, and Ctrl-C and a closed terminal are for drivers and for all."""
    found = []
    for victim in VICTIMS:
        for point in POINTS:
            if (victim != "driver" and point == "start") or (victim in ("worker", "executor") and point == "jvm"):
                continue
            for name in SIGNALS if victim in ("driver", "all") else SIGNALS[:2]:
                found += [Case(victim, point, name, mode) for mode in MODES]
    return found


def victims(case: Case, driver: int, cluster: Path | None) -> list[int]:
    if case.victim == "driver":
        return [driver]
    below = descendants(driver)
    if case.victim == "all":
        return [driver, *below]
    if case.victim == "jvm":
        return [child for child, item in below.items() if item.name == "java"]
    if case.victim == "worker":
        return [child for child, item in below.items() if "pyspark.daemon" in item.command][-1:]
    executors = [
        process
        for process, item in processes().items()
        if "CoarseGrainedExecutorBackend" in item.command
        and str(cluster) in (Path(f"/proc/{process}/cwd").resolve().as_posix())
    ]
    return executors[:1]


class Matrix:
    """What the cases of one call have in common; all of it is in `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        tables = [f"GG.T{number:02}" for number in range(TABLES)]
        self.source = directory / "in"
        self.source.mkdir()
        part = OPERATIONS // 4
        for number in range(4):
            rows = range(number * part, number * part + part)
            lines = [operation(n, tables[n * 7 % TABLES], "IUD"[n % 3]) for n in rows]
            write_lines(self.source / f"{number}.json", lines)
        self.small = write_lines(directory / "small.json", [operation(n, tables[n]) for n in range(3)])
        self.before = {mode: directory / f"before-{mode}" for mode in MODES}
        self.undisturbed: dict[str, Files] = {}
        for mode, before in self.before.items():
            if mode != "error":
                run_ggfmt([self.small], before, current_timestamp=FIRST)
            after = fresh_copy(before, directory / f"after-{mode}")
            run_ggfmt([self.source], after, mode=mode, current_timestamp=KILLED)
            self.undisturbed[mode] = files(after)

    def try_case(self, case: Case, master: str, cluster: Path | None) -> str:
        """How the case went, in a few words; AssertionError if it went wrong."""
        out = fresh_copy(self.before[case.mode], self.directory / "out")
        log = self.directory / "run.log"
        command = self._command(out, case.mode, master)
        with log.open("wb") as told:
            driver = subprocess.Popen(command, stderr=told, cwd=self.directory, start_new_session=True)
            hit, mine = self._strike(case, driver, out, cluster)
            try:
                status = driver.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                os.killpg(driver.pid, signal.SIGKILL)
                raise AssertionError(f"the run hangs:\n{log.read_text()[-2000:]}") from None
        text = log.read_text()
        # Python itself has no better words for a signal before it has begun with ggfmt.
        assert "Traceback" not in text or "Fatal Python error" in text, text[-4000:]
        old, new = files(self.before[case.mode]), self.undisturbed[case.mode]
        run_ggfmt([self.small], out, mode="append", current_timestamp=NEXT)  # at once: workers may still be at work
        self._gone([driver.pid, *mine])
        found = files(out)
        odd = [finding for finding in verify(str(out)).findings if "/staging/" not in str(finding.span.file)]
        assert not odd, odd
        mark = f"_{NEXT:%Y-%m-%d}_"
        left = {name: digest for name, digest in found.items() if mark not in name}
        assert len(found) - len(left) == 6, "the next run left other files than its own"
        if status == 0:
            assert left == new, f"the run said that it was done; {differences(left, new)}"
            return f"{hit}, done"
        if left == new:
            return f"{hit}, committed by the next run" if hit == "hit" else f"{hit}, committed"
        assert left == old, f"neither as before nor done; {differences(left, old)}; {differences(left, new)}"
        if case.mode == "error":
            shutil.rmtree(out)
        run_ggfmt([self.source], out, mode=case.mode, current_timestamp=KILLED)
        again = files(out)
        assert {name: again[name] for name in again if mark not in name} == new
        return f"{hit}, nothing committed"

    def _command(self, out: Path, mode: str, master: str) -> list[str]:
        command = [sys.executable, "-m", "ggfmt", "run", str(self.source), "-o", str(out), "--mode", mode]
        command += ["--split-size", SPLIT, "--current-timestamp", KILLED.isoformat(), "--master", master]
        command += ["--spark-conf", "spark.executor.memory=512m", "--set", "gg.handlerlist=j,d"]
        return command + [argument for setting in (*JSON_LINES, *PIPES) for argument in ("--set", setting)]

    def _strike(
        self, case: Case, driver: subprocess.Popen[bytes], out: Path, cluster: Path | None
    ) -> tuple[str, list[int]]:
        """Sends the signal once the point is reached: `hit`, or `missed` if the run was over before; and the processes
        that the run had."""
        deadline = time.monotonic() + REACHED_WITHIN
        reached = POINTS[case.point]
        while driver.poll() is None:
            if reached(driver.pid, out):
                os.kill(driver.pid, signal.SIGSTOP)  # it stays at this point while its processes are looked for
                mine, targets = list(descendants(driver.pid)), victims(case, driver.pid, cluster)
                for target in targets:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(target, getattr(signal, f"SIG{case.signal}"))
                os.kill(driver.pid, signal.SIGCONT)
                if targets:
                    return "hit", mine
            assert time.monotonic() < deadline, "the point was never reached"
            time.sleep(0.0005)
        return "missed", []

    def _gone(self, mine: Sequence[int]) -> None:
        deadline = time.monotonic() + 30
        while left := [process for process in mine if process in processes()]:
            if time.monotonic() > deadline:
                names = ", ".join(processes()[process].name for process in left if process in processes())
                for process in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                raise AssertionError(f"processes of the run go on running: {names}")
            time.sleep(0.05)


def files(out: Path) -> Files:
    """The files of an output but for ggfmt's own."""
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_")}


@contextlib.contextmanager
def masters(directory: Path, wanted: Sequence[Case]) -> Iterator[Callable[[Case], tuple[str, Path | None]]]:
    """Which master a case runs on, and the folder of its cluster; executors need a cluster, which is started once."""
    with contextlib.ExitStack() as stack:
        cluster = directory / "cluster"
        url = ""
        if any(case.victim == "executor" for case in wanted):
            cluster.mkdir()
            url = stack.enter_context(standalone_cluster(cluster))
        yield lambda case: (url, cluster) if case.victim == "executor" else ("local[2]", None)


def main() -> int:
    given = parser_of(__doc__, victim=VICTIMS, point=POINTS, signal=SIGNALS, mode=MODES).parse_args()
    wanted = select_cases(cases(), given, "victim", "point", "signal", "mode")
    for ignored in (signal.SIGINT, signal.SIGHUP):  # what is started in the background may ignore them
        signal.signal(ignored, signal.SIG_DFL)
    directory = Path(tempfile.mkdtemp(prefix="ggfmt-kills-"))
    matrix = Matrix(directory)

    def keep(number: int) -> None:
        fresh_copy(directory / "out", directory / f"wrong-{number}")
        shutil.copy(directory / "run.log", directory / f"wrong-{number}.log")

    with masters(directory, wanted) as master_of:
        wrong = count_wrong([(case, partial(matrix.try_case, case, *master_of(case))) for case in wanted], keep=keep)
    if wrong:
        print(f"what went wrong is in {directory}", file=sys.stderr)
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
