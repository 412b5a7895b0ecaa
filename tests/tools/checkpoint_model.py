"""A model of repeated runs: files that are written, renamed, copied, packed and restored, with runs in between.

Each operation has a number of its own, so that the model knows which operations exist in which file. After a run that
ends well, every operation of the files that it has found is in the output, as often as files that were new in one run
contained it; after a run that fails, nothing is changed. `StubbedMachine` has no engine below the checkpoint, so that a
step takes about a millisecond, and `RealMachine` carries every run out.

usage: python tests/tools/checkpoint_model.py [--steps N] [--seed S] [--real]

Takes at least N steps (default 20,000) and prints how many runs ended how. Fails with the shortest steps found that
lose or double an operation.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import logging
import lzma
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pyarrow as pa
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from runs import JSON_LINES, content, operation, run_ggfmt

from ggfmt.commit import store
from ggfmt.commit.commit import CommitPart, Participant, commit, lock_all
from ggfmt.commit.records import run_file
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats.api.reading import Layout
from ggfmt.location import Location
from ggfmt.reading.checkpoint import open_checkpoint
from ggfmt.reading.files import open_input
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import PlannedInput

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
NAMES = ("a.log", "b.log", "c.log")
log = logging.getLogger("ggfmt")
MAX_FILES = 14
SECOND = 1_000_000_000


class Output(Participant):
    """Stands for the output directory of a run without engine."""

    handler = "j"
    what = "the output"


class Machine:
    """Files in two directories, backups of them, and what must be in the output."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.directories = (top / "in", top / "more")
        for directory in self.directories:
            directory.mkdir(parents=True)
        self.backups: list[tuple[Path, bytes, int]] = []
        self.out, self.seen = top / "out", top / "seen"
        self.expected: Counter[int] = Counter()
        self.next = 0
        self.clock = time.time_ns() - 10_000_000 * SECOND
        self.verdicts: Counter[str] = Counter()
        self.touched: set[str] = set()

    # What a run is.

    def carry_out(self) -> None:
        raise NotImplementedError

    def numbers(self) -> Counter[int]:
        """The operations in the output, and how often each is."""
        raise NotImplementedError

    def run(self) -> bool:
        """A run; whether it ended well. AssertionError where the output is not what the files demand."""
        files = {path: self.operations(path) for path in self.files()}
        before = self.numbers()
        assert before == self.expected
        kinds, self.touched = self.touched, set()
        try:
            self.carry_out()
        except GgfmtError as error:
            assert re.search("GG310|GG513", str(error)), error
            assert self.numbers() == before
            self.verdicts["refused"] += 1
            self.blamed = [path for path in files if f"{path}: error" in str(error)]
            assert self.blamed, error
            return False
        after = self.numbers()
        there = Counter(number for numbers in files.values() for number in set(numbers))
        for number in there.keys() | before.keys() | after.keys():
            if before[number]:
                assert after[number] == before[number], (number, "read again")
            elif there[number]:
                assert 1 <= after[number] <= there[number], (number, "lost" if not after[number] else "doubled")
            else:
                assert not after[number], (number, "invented")
        self.expected = after
        self.verdicts["read" if after != before else "idle"] += 1
        for kind in kinds:
            self.verdicts[f"accepted: {kind}"] += 1
        return True

    def repair(self) -> None:
        """What a person does after an error: the files that it names are moved away."""
        for path in getattr(self, "blamed", []):
            path.unlink(missing_ok=True)
        self.blamed = []

    # Files.

    def files(self) -> list[Path]:
        return sorted(path for directory in self.directories for path in directory.iterdir())

    @staticmethod
    def operations(path: Path) -> list[int]:
        (file,) = list_inputs([str(path)])
        with open_input(file) as stream:
            return [int(json.loads(line)["pos"]) for line in stream.read().splitlines()]

    def tick(self) -> int:
        self.clock += SECOND
        return self.clock

    def stamp(self, path: Path, moment: int | None = None) -> None:
        moment = self.tick() if moment is None else moment
        os.utime(path, ns=(moment, moment))

    def lines(self, count: int) -> bytes:
        numbers = range(self.next, self.next + count)
        self.next += count
        return b"".join(json.dumps(operation(number)).encode() + b"\n" for number in numbers)

    def free(self, directory: int, name: str) -> Path | None:
        path = self.directories[directory] / name
        return None if path.exists() or len(self.files()) >= MAX_FILES else path

    # Steps; `pick` chooses a file, None where there is none.

    def create(self, directory: int, name: str, count: int) -> None:
        path = self.free(directory, name)
        if path is not None:
            path.write_bytes(self.lines(count))
            self.stamp(path)

    def append(self, path: Path, count: int, keep_time: bool) -> None:
        status = path.stat()
        if path.suffix not in PACKERS:
            with path.open("ab") as file:
                file.write(self.lines(count))
            self.stamp(path, status.st_mtime_ns if keep_time else None)

    def rename(self, path: Path, directory: int, name: str) -> None:
        suffix = path.suffix if path.suffix in PACKERS else ""
        target = self.free(directory, name + suffix)
        if target is not None:
            path.rename(target)
            self.touched.add("rename")

    def touch(self, path: Path, back: int) -> None:
        self.stamp(path, path.stat().st_mtime_ns - back * SECOND if back else None)
        self.touched.add("touch")

    def copy(self, path: Path, directory: int, keep_time: bool) -> None:
        target = self.free(directory, f"copy-{path.name}")
        if target is not None:
            shutil.copy(path, target)
            self.stamp(target, path.stat().st_mtime_ns if keep_time else None)

    def back_up(self, path: Path) -> None:
        self.backups = [*self.backups[-5:], (path, path.read_bytes(), path.stat().st_mtime_ns)]

    def restore(self, number: int, keep_time: bool, in_place: bool) -> None:
        if self.backups:
            path, data, moment = self.backups[number % len(self.backups)]
            if not in_place:
                path.unlink(missing_ok=True)
            path.write_bytes(data)
            self.stamp(path, moment if keep_time else None)
            self.touched.add("restore")

    def compress(self, path: Path, suffix: str, keep: bool) -> None:
        target = path.with_name(path.name + suffix)
        if path.suffix not in PACKERS and not target.exists():
            target.write_bytes(PACKERS[suffix](path.read_bytes()))
            self.stamp(target, path.stat().st_mtime_ns)
            if not keep:
                path.unlink()
                self.touched.add("compress")

    def unpack(self, path: Path) -> None:
        target = path.with_name(path.name.removesuffix(path.suffix))
        if path.suffix in PACKERS and not target.exists():
            (file,) = list_inputs([str(path)])
            with open_input(file) as stream:
                target.write_bytes(stream.read())
            self.stamp(target, path.stat().st_mtime_ns)
            path.unlink()

    def truncate(self, path: Path, lines: int) -> None:
        if path.suffix not in PACKERS:
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
            self.stamp(path)

    def delete(self, path: Path) -> None:
        path.unlink()

    def recreate(self, path: Path, count: int, keep_inode: bool) -> None:
        """Another file of the same name. A time that is equal to that of the last one is no part of the model."""
        if not keep_inode:
            path.unlink()
        data = self.lines(count)
        path.write_bytes(PACKERS[path.suffix](data) if path.suffix in PACKERS else data)
        self.stamp(path)
        self.touched.add("recreate")

    def rotate(self, directory: int, name: str, suffix: str, copy_truncate: bool, count: int) -> None:
        """As logrotate: the last ones move on, the log becomes `.1`, packed or not, and a new one begins."""
        log = self.directories[directory] / name
        if not log.exists() or len(self.files()) >= MAX_FILES:
            return
        for number in (3, 2, 1):
            for ending in ("", *PACKERS):
                old = log.with_name(f"{name}.{number}{ending}")
                if old.exists() and number == 3:
                    old.unlink()
                elif old.exists():
                    old.rename(log.with_name(f"{name}.{number + 1}{ending}"))
        first = log.with_name(f"{name}.1")
        if copy_truncate:
            shutil.copy2(log, first)
            os.truncate(log, 0)
            self.stamp(log)
        else:
            log.rename(first)
        if suffix:
            first.with_name(first.name + suffix).write_bytes(PACKERS[suffix](first.read_bytes()))
            self.stamp(first.with_name(first.name + suffix), first.stat().st_mtime_ns)
            first.unlink()
        if count:
            with log.open("ab") as file:
                file.write(self.lines(count))
            self.stamp(log)
        self.touched.add("rotate")


class RealMachine(Machine):
    """Each run is one of ggfmt, in this process."""

    def carry_out(self) -> None:
        moment = None
        run_ggfmt(
            self.directories,
            self.out,
            *JSON_LINES,
            current_timestamp=moment,
            checkpoint=str(self.seen),
            allow_empty=True,
        )

    def numbers(self) -> Counter[int]:
        if not self.out.exists():
            return Counter()
        return Counter(int(json.loads(line)["pos"]) for line in content(self.out, "j").splitlines())


class StubbedMachine(Machine):
    """Each run lists inputs, chooses by the checkpoint and commits; what it would write is kept here."""

    def __init__(self, top: Path) -> None:
        super().__init__(top)
        self.written: Counter[int] = Counter()
        self.runs = 0

    def carry_out(self) -> None:
        self.runs += 1
        run, output = f"run-{self.runs}", Output(Location.of(str(self.out)))
        with ExitStack() as stack:
            checkpoint = open_checkpoint(str(self.seen), None, "error", [output])
            assert checkpoint is not None
            lock_all([output, checkpoint], run, stack)
            checkpoint.bind([output], [output], "error")
            files = checkpoint.choose(list_inputs([str(path) for path in self.directories], True)).files
            if not files:
                checkpoint.record_renewed(run)
                return
            layout = Layout(splittable=True)
            inputs = [PlannedInput(file, number, layout) for number, file in enumerate(files)]
            part = checkpoint.part(run, [output], inputs)
            mine = CommitPart(output)
            mine.moves += output.stage([(run_file(run), b"{}")])
            commit(run, [mine, part])
            self.written.update(number for file in files for number in self.operations(Path(file.location.path)))

    def numbers(self) -> Counter[int]:
        return Counter(self.written)


NUMBERS, COUNTS, PLACES = st.integers(0, MAX_FILES - 1), st.sampled_from((1, 2, 5, 40)), st.integers(0, 1)
SUFFIXES, YES = st.sampled_from(sorted(PACKERS)), st.booleans()


class Repeated(RuleBasedStateMachine):
    """The steps as rules of hypothesis, which finds the shortest way to a mistake."""

    machine_of: type[Machine] = StubbedMachine
    total: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self._top = tempfile.TemporaryDirectory()
        self.machine = self.machine_of(Path(self._top.name))

    def teardown(self) -> None:
        self.total.update(self.machine.verdicts)
        self._top.cleanup()

    def pick(self, number: int) -> Path | None:
        self.total["steps"] += 1
        files = self.machine.files()
        return files[number % len(files)] if files else None

    @rule(place=PLACES, name=st.sampled_from(NAMES), count=COUNTS)
    def create(self, place: int, name: str, count: int) -> None:
        self.total["steps"] += 1
        self.machine.create(place, name, count)

    @initialize(counts=st.lists(COUNTS, min_size=2, max_size=5))
    def begin(self, counts: list[int]) -> None:
        """Every operation is of interest once some files have been read."""
        for number, count in enumerate(counts):
            self.machine.create(number % 2, NAMES[number // 2], count)
        self.machine.run()

    def then(self, run: bool) -> None:
        if run and not self.machine.run():
            self.machine.repair()

    @rule()
    def run(self) -> None:
        self.total["steps"] += 1
        self.machine.run()

    @rule()
    def run_and_repair(self) -> None:
        self.total["steps"] += 1
        self.then(True)
        self.machine.run()

    @rule(then=YES, number=NUMBERS, place=PLACES, name=st.sampled_from((*NAMES, "d.log", "e.log")))
    def rename(self, number: int, place: int, name: str, then: bool) -> None:
        if path := self.pick(number):
            self.machine.rename(path, place, name)
        self.then(then)

    @rule(then=YES, number=NUMBERS, back=st.sampled_from((0, 100)))
    def touch(self, number: int, back: int, then: bool) -> None:
        if path := self.pick(number):
            self.machine.touch(path, back)
        self.then(then)

    @rule(then=YES, number=NUMBERS, count=COUNTS, keep_time=YES)
    def append(self, number: int, count: int, keep_time: bool, then: bool) -> None:
        if path := self.pick(number):
            self.machine.append(path, count, keep_time)
        self.then(then)

    @rule(then=YES, number=NUMBERS, place=PLACES, keep_time=YES)
    def copy(self, number: int, place: int, keep_time: bool, then: bool) -> None:
        if path := self.pick(number):
            self.machine.copy(path, place, keep_time)
        self.then(then)

    @rule(number=NUMBERS)
    def back_up(self, number: int) -> None:
        if path := self.pick(number):
            self.machine.back_up(path)

    @rule(then=YES, number=st.integers(0, 5), keep_time=YES, in_place=YES)
    def restore(self, number: int, keep_time: bool, in_place: bool, then: bool) -> None:
        self.total["steps"] += 1
        self.machine.restore(number, keep_time, in_place)
        self.then(then)

    @rule(then=YES, number=NUMBERS, suffix=SUFFIXES, keep=YES)
    def compress(self, number: int, suffix: str, keep: bool, then: bool) -> None:
        if path := self.pick(number):
            self.machine.compress(path, suffix, keep)
        self.then(then)

    @rule(then=YES, number=NUMBERS)
    def unpack(self, number: int, then: bool) -> None:
        if path := self.pick(number):
            self.machine.unpack(path)
        self.then(then)

    @rule(then=YES, number=NUMBERS, lines=st.sampled_from((0, 1, 3)))
    def truncate(self, number: int, lines: int, then: bool) -> None:
        if path := self.pick(number):
            self.machine.truncate(path, lines)
        self.then(then)

    @rule(number=NUMBERS)
    def delete(self, number: int) -> None:
        if path := self.pick(number):
            self.machine.delete(path)

    @rule(then=YES, number=NUMBERS, count=COUNTS, keep_inode=YES)
    def recreate(self, number: int, count: int, keep_inode: bool, then: bool) -> None:
        if path := self.pick(number):
            self.machine.recreate(path, count, keep_inode)
        self.then(then)

    @rule(
        then=YES,
        place=PLACES,
        name=st.sampled_from(NAMES),
        suffix=st.one_of(st.just(""), SUFFIXES),
        copy_truncate=YES,
        count=st.sampled_from((0, 2)),
    )
    def rotate(self, place: int, name: str, suffix: str, copy_truncate: bool, count: int, then: bool) -> None:
        self.total["steps"] += 1
        self.machine.rotate(place, name, suffix, copy_truncate, count)
        self.then(then)


def take_steps(
    machine_of: type[Machine], examples: int, steps: int, seed_number: int = 0, shrink: bool = True
) -> Counter[str]:
    """Runs the model; how many runs ended how. AssertionError with the steps that lead to a mistake."""
    made = type("Model", (Repeated,), {"machine_of": machine_of, "total": Counter()})
    told = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    level, durable = log.level, store.durable
    log.setLevel("CRITICAL")
    store.durable = False
    try:
        run_state_machine_as_test(seed(seed_number)(made), settings=told)
    finally:
        log.setLevel(level)
        store.durable = durable
    return made.total  # type: ignore[attr-defined, no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="carry every run out")
    given = parser.parse_args()
    machine_of = RealMachine if given.real else StubbedMachine
    started, verdicts = time.perf_counter(), Counter[str]()
    while verdicts["steps"] < given.steps:
        verdicts += take_steps(machine_of, 100, 50, given.seed + verdicts["steps"])
    print(f"{time.perf_counter() - started:.0f} s")
    for verdict, count in sorted(verdicts.items()):
        print(f"{count:8,} {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
