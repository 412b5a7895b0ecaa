"""Faults at every call to a file system: runs in this process on an Arrow file system that fails on demand.

usage: python tests/tools/faults.py [--sample N] [--chains N] [--seed S] [--kind K] [--mode M] [--roots N] [--fault F]
                                    [--divided]

A case is a kind of store (a disk, or an object store without locks, directories and renames), a mode, one or two
output directories, the number of a call, and what happens there: an error before or after it was done, the death of the
process, or its death in the middle of a write. After it: the error is one that ggfmt reports; the output is as it was
before or as it should be, file by file and byte by byte, at the latest when the next run has begun; what the run said
is true; the next run does its own work, and `ggfmt verify` finds nothing wrong. Where nothing was committed the same
run is made again, and then leaves what it should. `--sample` takes so many cases by chance instead of all; `--chains`
makes so many series of runs on one output, each with a fault at a call by chance, and an undisturbed one at their end.
With `--divided` the runs first divide the records of splits by table, into files in staging.

Exit status 1 if one case went wrong.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pyarrow as pa
import pyarrow.fs as pafs
from fault_cases import Files, count_wrong, differences, fresh_copy, parser_of, select_cases
from routed import always_routed, never_routed
from runs import JSON_LINES, PIPES, operation, run_ggfmt, snapshot, write_lines

from ggfmt.commit import journal, locking, store
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, UsageError
from ggfmt.location import Location
from ggfmt.sinks.messages.verification import verify

FIRST, FAULTY, NEXT = (datetime(2020, 1, day) for day in (1, 2, 3))
KINDS, MODES, FAULTS = ("disk", "objects"), ("error", "append", "overwrite"), ("before", "after", "death", "torn")


class Died(BaseException):
    """Stands for the end of the process: nothing handles it, and nothing can be done on the file system after it."""


@dataclass
class Faults:
    """Counts calls to the file system, and lets the one of number `at` go wrong."""

    at: int | None = None
    fault: str = "before"
    calls: int = 0
    dead: bool = False
    struck: str = ""

    def call(self, name: str, do: Callable[[], Any], tear: Callable[[], Any] | None = None) -> Any:
        if self.dead:
            raise Died
        number, self.calls = self.calls, self.calls + 1
        if number != self.at:
            return do()
        self.struck = name
        if self.fault == "after":
            do()
        elif self.fault == "torn" and tear is not None:
            tear()
        if self.fault in ("before", "after"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.dead = True
        raise Died


def _native(file: Any) -> pa.NativeFile:
    """A file of Python's as one of Arrow's."""
    return pa.PythonFile(file, mode="w")


class Handler(pafs.FileSystemHandler):
    """The local file system, each call of which may fail. As an object store it has no directories but those that
    objects are in, and an object is there once its stream is closed."""

    def __init__(self, faults: Faults, kind: str) -> None:
        self.faults = faults
        self.kind = kind
        self.local = pafs.LocalFileSystem()

    def get_type_name(self) -> str:
        return self.kind

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: str | list[str]) -> list[pafs.FileInfo]:
        assert isinstance(paths, list), "Arrow hands a list to handlers"
        return cast("list[pafs.FileInfo]", self._call("look", paths[0], lambda: self.local.get_file_info(paths)))

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        found = self._call("list", selector.base_dir, lambda: self.local.get_file_info(selector))
        return cast("list[pafs.FileInfo]", found)

    def create_dir(self, path: str, recursive: bool) -> None:
        if self.kind == "disk":
            self._call("create_dir", path, lambda: self.local.create_dir(path, recursive=recursive))

    def delete_dir(self, path: str) -> None:
        names = sorted(Path(path).rglob("*"))
        half = [item for item in names if item.is_file()][: len(names) // 2]

        def tear() -> None:
            for item in half:
                item.unlink()

        self._call("delete_dir", path, lambda: shutil.rmtree(path), tear)
        self._vanish(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._call("delete", path, lambda: os.unlink(path))
        self._vanish(path)

    def move(self, source: str, target: str) -> None:
        assert self.kind == "disk", "an object store has no rename"
        self._call("move", target, lambda: self.local.move(source, target))

    def copy_file(self, source: str, target: str) -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        self._call("copy", target, lambda: shutil.copyfile(source, target))

    def _opened(self, call: str, path: str, opened: Callable[[], pa.NativeFile]) -> pa.NativeFile:
        return cast("pa.NativeFile", self._call(call, path, opened))

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self._opened("open", path, lambda: self.local.open_input_stream(path))

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self._opened("open", path, lambda: self.local.open_input_file(path))

    def open_output_stream(self, path: str, metadata: object) -> pa.NativeFile:
        if self.kind == "objects":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return self._opened("create", path, lambda: _native(Object(self, path)))
        return self._opened("create", path, lambda: _native(File(self, path, "wb")))

    def open_append_stream(self, path: str, metadata: object) -> pa.NativeFile:
        return self._opened("append", path, lambda: _native(File(self, path, "ab")))

    def _call(self, name: str, path: str, do: Callable[[], Any], tear: Callable[[], Any] | None = None) -> Any:
        return self.faults.call(f"{name} {os.path.basename(path)}", do, tear)

    def _vanish(self, path: str) -> None:
        """Directories of an object store are gone with the last object in them."""
        if self.kind == "objects":
            for directory in Path(path).parents:
                try:
                    directory.rmdir()
                except OSError:
                    break


class File:
    """A file of a disk that is written to."""

    def __init__(self, handler: Handler, path: str, mode: str) -> None:
        self.handler, self.path = handler, path
        self.file = open(path, mode, buffering=0)  # noqa: SIM115 - until the stream is closed
        self.closed = False

    def write(self, data: Any) -> int:
        content = bytes(data)
        tear = lambda: self.file.write(content[: len(content) // 2])  # noqa: E731
        self.handler._call("write", self.path, lambda: self.file.write(content), tear)
        return len(content)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.file.close()
            self.handler._call("close", self.path, lambda: None)


class Object:
    """An object that is there, whole, once it is closed."""

    def __init__(self, handler: Handler, path: str) -> None:
        self.handler, self.path = handler, path
        self.content = b""
        self.closed = False

    def write(self, data: Any) -> int:
        content = bytes(data)

        def do() -> None:
            self.content += content

        self.handler._call("write", self.path, do)
        return len(content)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.handler._call("close", self.path, self._put)

    def _put(self) -> None:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        Path(self.path).write_bytes(self.content)


@contextmanager
def faulty(faults: Faults, kind: str) -> Iterator[None]:
    """What runs in here is on a file system with faults. What holds a directory is let go of as the end of a process
    lets go of it: locks are free, leases grow old."""
    fs = pafs.PyFileSystem(Handler(faults, kind))
    holds: list[Any] = []

    def file_system(location: Location) -> tuple[pafs.FileSystem, str]:
        return fs, location.path

    def recorded(real: Any) -> Any:
        def release(hold: Any) -> None:
            if not faults.dead:
                real.release(hold)

        def init(hold: Any, *arguments: Any) -> None:
            holds.append(hold)
            real.__init__(hold, *arguments)

        return type(real.__name__, (real,), {"__init__": init, "release": release})

    real_remove = store.Store.remove_if_empty

    def remove_if_empty(self: store.Store, name: str = "") -> None:
        if not faults.dead:
            real_remove(self, name)

    real_init = store.Store.__init__

    def init(self: store.Store, root: Location) -> None:
        real_init(self, root)
        self.local = self.renames = kind != "objects"

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Location, "file_system", file_system))
        stack.enter_context(mock.patch.object(store.Store, "__init__", init))
        stack.enter_context(mock.patch.object(locking, "Lock", recorded(locking.Lock)))
        stack.enter_context(mock.patch.object(locking, "Lease", recorded(locking.Lease)))
        stack.enter_context(mock.patch.object(store.Store, "remove_if_empty", remove_if_empty))

        # The disk is not waited for: what survives a failure of power cannot be tried here.
        def synced(path: str) -> bool:
            faults.call("sync", bool)
            return True

        stack.enter_context(mock.patch.object(store, "sync", synced))
        stack.enter_context(mock.patch.object(store, "sync_file_system", synced))
        stack.enter_context(mock.patch.object(journal, "REQUESTS_AT_ONCE", 1))
        try:
            yield
        finally:
            for hold in holds:
                if hasattr(hold, "_file"):
                    hold._file.close()
                if hasattr(hold, "_ended"):
                    hold._ended.set()


@dataclass(frozen=True)
class Case:
    kind: str
    mode: str
    roots: int
    fault: str
    at: int

    def __str__(self) -> str:
        roots = "one directory" if self.roots == 1 else "two directories"
        return f"{self.kind}, {self.mode}, {roots}: {self.fault} at call {self.at}"


class Laboratory:
    """What the cases of one call have in common; all of it is in `directory`."""

    def __init__(self, directory: Path, divided: bool = False) -> None:
        self.directory = directory
        self._way = always_routed if divided else never_routed
        self.source = write_lines(directory / "in.json", [operation(n, f"GG.T{n % 2}") for n in range(6)])
        self.small = write_lines(directory / "small.json", [operation(n, "GG.T0") for n in range(3)])
        self._before: dict[tuple[str, int], Path] = {}
        self._after: dict[tuple[str, str, int], tuple[Files, int]] = {}

    def settings(self, out: Path, roots: int) -> tuple[str, ...]:
        both = (*JSON_LINES[:2], f"gg.handler.j.rootFilePath={out / 'one'}")
        if roots == 1:
            return both
        return (*both, *PIPES, f"gg.handler.d.rootFilePath={out / 'two'}", "gg.handlerlist=j,d")

    def before(self, mode: str, roots: int) -> Path:
        """An output that a run finds: nothing, or what an earlier run wrote."""
        key = ("none" if mode == "error" else "some", roots)
        if key not in self._before:
            out = self.directory / f"before-{key[0]}-{roots}"
            out.mkdir()
            if mode != "error":
                run_ggfmt([self.source], None, *self.settings(out, roots), current_timestamp=FIRST)
            self._before[key] = out
        return self._before[key]

    def fresh(self, mode: str, roots: int) -> Path:
        """Such an output, to be worked on. It keeps its name, which manifests have."""
        return fresh_copy(self.before(mode, roots), self.directory / "out")

    def run(self, faults: Faults, case: Case, out: Path, moment: datetime = FAULTY) -> str:
        """A run on the faulty file system, and how it ended."""
        try:
            settings = self.settings(out, case.roots)
            with faulty(faults, case.kind), self._way():
                run_ggfmt([self.source], None, *settings, mode=case.mode, current_timestamp=moment, split_size=400)
        except (Abend, CommittedWithErrors, UsageError) as error:
            return type(error).__name__
        except Died:
            return "Died"
        except OSError as error:  # of a task, which Spark makes a GG505 of
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            if not {"run_split", "route_split"} & {*frames}:
                raise
            return "Abend"
        finally:
            for lease in out.glob("*/_ggfmt/leases/*"):
                os.utime(lease, (0, 0))
        return "done"

    def undisturbed(self, case: Case) -> tuple[Files, int]:
        """What the run leaves without a fault, and how many calls it makes."""
        key = (case.kind, case.mode, case.roots)
        if key not in self._after:
            out, faults = self.fresh(case.mode, case.roots), Faults()
            assert self.run(faults, case, out) == "done"
            self._after[key] = files(out), faults.calls
        return self._after[key]

    def cases(self) -> list[Case]:
        found = []
        for kind in KINDS:
            for mode in MODES:
                for roots in (1, 2):
                    _, calls = self.undisturbed(Case(kind, mode, roots, "before", 0))
                    found += [Case(kind, mode, roots, fault, at) for fault in FAULTS for at in range(calls)]
        return found

    def try_case(self, case: Case) -> str:
        """How the case went, in a few words; AssertionError if it went wrong."""
        new, _ = self.undisturbed(case)
        out = self.fresh(case.mode, case.roots)
        old = files(out)
        faults = Faults(case.at, case.fault)
        ended = self.run(faults, case, out)
        left = files(out)
        if ended == "done":
            assert left == new, f"the run said that it was done at {faults.struck}; {differences(left, new)}"
        elif ended in ("Abend", "UsageError"):
            assert left == old, f"nothing was to be committed at {faults.struck}; {differences(left, old)}"
        found = self.next_run(case, out)
        if ended == "CommittedWithErrors":
            assert found == new, f"the run was to be committed at {faults.struck}; {differences(found, new)}"
        if ended == "Died":
            whole = found in (old, new)
            assert whole, f"neither at {faults.struck}; {differences(found, old)}; {differences(found, new)}"
        if found == old != new:
            shutil.rmtree(out)
            again = self.fresh(case.mode, case.roots)
            assert self.run(Faults(), case, again) == "done"
            assert files(again) == new
        return f"{ended}, {'committed' if found == new else 'as before'}"

    def next_run(self, case: Case, out: Path) -> Files:
        """Another run, by which all is to be in order; the files that are not its own."""
        with faulty(Faults(), case.kind):
            run_ggfmt([self.small], None, *self.settings(out, case.roots), mode="append", current_timestamp=NEXT)
        for root in sorted(out.iterdir()):
            findings = verify(str(root)).findings
            assert not findings, str(findings[0])
        found = files(out)
        mark = f"_{NEXT:%Y-%m-%d}_"
        return {name: digest for name, digest in found.items() if mark not in name}

    def try_chain(self, choice: random.Random, runs: int = 6) -> str:
        """A series of runs that append, each with a fault; AssertionError if one of them is there in part."""
        case = Case(choice.choice(KINDS), "append", choice.choice((1, 2)), choice.choice(FAULTS), 0)
        out = self.fresh("append", case.roots)
        _, calls = self.undisturbed(case)
        moments = [FAULTY + timedelta(hours=hour) for hour in range(runs)]
        endings = []
        for moment in moments:
            faults = Faults(choice.randrange(calls + 40), choice.choice(FAULTS))
            endings.append(self.run(faults, case, out, moment))
        found = self.next_run(case, out)
        for moment, ended in zip(moments, endings, strict=True):
            own = sum(f"_{moment:%Y-%m-%d_%H}" in name for name in found)
            assert own in (0, 2 * case.roots), f"a run is there in part: {own} files"
            assert ended != "done" or own, "a run that was done is not there"
            assert ended not in ("Abend", "UsageError") or not own, "a run that was stopped is there"
            assert ended != "CommittedWithErrors" or own, "a run that was committed is not there"
        return f"chain of {', '.join(endings)}"


def files(out: Path) -> Files:
    """The files of all outputs but for ggfmt's own, and the schemas, which are the same before and after."""
    return {
        name: digest
        for name, digest in snapshot(out).items()
        if not any(part.startswith("_") or part == "dirdef" for part in name.split("/"))
    }


def main() -> int:
    parser = parser_of(__doc__, kind=KINDS, mode=MODES, fault=FAULTS)
    parser.add_argument("--chains", type=int, default=0)
    parser.add_argument("--roots", type=int, choices=(1, 2))
    parser.add_argument("--divided", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ggfmt-faults-") as directory:
        laboratory = Laboratory(Path(directory), given.divided)
        wanted = select_cases(laboratory.cases(), given, "kind", "mode", "fault", "roots")
        tries: list[tuple[object, Callable[[], str]]] = [(case, partial(laboratory.try_case, case)) for case in wanted]
        chain = partial(laboratory.try_chain, random.Random(given.seed))
        tries += [(f"chain {number}", chain) for number in range(given.chains)]
        return 1 if count_wrong(tries, every=500) else 0


if __name__ == "__main__":
    sys.exit(main())
