"""One run of one side of a workload: the command, the environment that it needs, and what it took."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from places import ROOT, TESTS
from round_trips import WRITTEN

from comparison.data import SHAPES, Data
from comparison.measured import Failed, Measure, measure
from comparison.store import Store
from comparison.workloads import Side, Workload

SIDES = TESTS / "bench" / "sides"
SCRIPTS = {
    "fastavro": "in_spark.py",
    **{peer: f"in_{peer}.py" for peer in ("spark", "duckdb", "polars")},
}
_HANDLERS = {
    "delimited": ("delimitedtext", "fieldDelimiter=|", "encoding=UTF-8"),
    "json": ("json", "jsonDelimiter=CDATA[\\n]", "generateSchema=false"),
    "avro": ("avro_row_ocf", "generateSchema=false"),
}


@dataclass(frozen=True)
class Run:
    """What one run took, and of which operations and bytes."""

    measure: Measure
    operations: int
    size: int


@dataclass
class Bench:
    """`directory` is for all that is made; `base` are the variables of every process. Each run is given up after
    `seconds`."""

    directory: Path
    cores: int
    megabytes: int
    base: Mapping[str, str]
    seconds: float | None = None

    def __post_init__(self) -> None:
        self.target = self.directory / "out"
        made = self.directory / "data"
        made.mkdir(parents=True)
        self.store = Store(made, f"local[{self.cores}]", dict(self.base))

    def run(self, workload: Workload, side: Side) -> Run:
        """Failed where the side does not do its work."""
        cores = side.cores or self.cores
        variables = {**self.base, **({} if side.kernels else {"GGFMT_KERNELS": "off"})}
        if side.program in ("command", "session"):
            return self._whole(workload, side, cores, variables)
        data = self._data(workload, side)
        statuses = [0, 4] if data.broken and side.program == "ggfmt" else [0]
        command = self._command(workload, side, data, cores)
        try:
            found = measure(command, variables, self.seconds, statuses, marked=True)
            self._check(workload, side, data, found)
        finally:
            shutil.rmtree(self.target, ignore_errors=True)
        return Run(found, data.operations, data.size)

    def _data(self, workload: Workload, side: Side) -> Data:
        megabytes = max(1, round(self.megabytes * workload.part))
        return self.store.data(side.data or workload.data, min(megabytes, workload.megabytes or megabytes))

    def _whole(self, workload: Workload, side: Side, cores: int, variables: dict[str, str]) -> Run:
        if side.program == "session":
            session = [sys.executable, str(SIDES / "in_session.py"), str(cores)]
            return Run(measure(session, variables, self.seconds), 0, 0)
        data = self._data(workload, side) if workload.data else None
        words = [str(ROOT / word) if (ROOT / word).is_file() else word for word in side.words]
        command = [sys.executable, "-m", "ggfmt", "--log-level", "warn", "run", *words, "-o", str(self.target)]
        command += [] if data is None else [str(data.directory)]
        command += [] if "--master" in words else ["--master", f"local[{cores}]"]
        try:
            found = measure(command, variables, self.seconds)
            if data is None:
                return Run(found, 0, 0)
            self._check(workload, side, data, found)
            return Run(found, data.operations, data.size)
        finally:
            shutil.rmtree(self.target, ignore_errors=True)

    def _command(self, workload: Workload, side: Side, data: Data, cores: int) -> list[str]:
        name = side.data or workload.data
        if side.program == "reading":
            format = self.store.format(name)
            handler = self.store.handler_file(name) if format in WRITTEN else "-"
            given = handler, self.store.definitions(name), data.directory
            return [sys.executable, str(SIDES / "in_reader.py"), format, *map(str, given)]
        if side.program == "ggfmt":
            return [sys.executable, str(SIDES / "in_ggfmt.py"), *self._words(workload, side, data, cores)]
        shape = SHAPES[self.store.shape(name)]
        told = {
            "work": workload.work,
            "files": [str(path) for path in data.files],
            "source": str(data.files[0].parent),
            "target": str(self.target),
            "cores": cores,
            "columns": shape.columns,
            "numbers": shape.numbers,
            "known": side.known,
            "by_table": len(shape.tables) > 1,
            "tolerant": data.broken > 0,
        }
        return [sys.executable, str(SIDES / SCRIPTS[side.program]), json.dumps(told)]

    def _words(self, workload: Workload, side: Side, data: Data, cores: int) -> list[str]:
        """The arguments of `ggfmt`."""
        name = side.data or workload.data
        format, *settings = _HANDLERS[workload.work]
        lines = [f"gg.handler.b.format={format}", *(f"gg.handler.b.format.{setting}" for setting in settings)]
        words = [
            "--log-level",
            "warn",
            "run",
            str(data.directory),
            "-o",
            str(self.target),
            "--master",
            f"{'local' if side.spark else 'none'}[{cores}]",
        ]
        words += [word for line in lines for word in ("--set", line)]
        if name not in SHAPES:
            words += ["--input-config", str(self.store.handler_file(name))]
        words += ["--definitions", str(self.store.definitions(name))] if side.known else []
        return words + (["--on-reject", "quarantine"] if data.broken else [])

    def _check(self, workload: Workload, side: Side, data: Data, found: Measure) -> None:
        """Failed where what was written cannot be all."""
        if side.program == "reading":
            count = int(found.lines[-1])
        elif workload.work == "avro":
            import fastavro

            count = 0
            for path in self._written():
                with path.open("rb") as stream:
                    count += sum(block.num_records for block in fastavro.block_reader(stream))
        else:
            count = sum(_lines(path) for path in self._written())
        if count < data.operations:
            raise Failed(f"{count:,} messages of {data.operations:,} operations")

    def _written(self) -> list[Path]:
        """The files of messages: what starts with `_` or `.` is none."""
        found = (path for path in self.target.rglob("*") if path.is_file())
        return [path for path in found if not any(part[0] in "_." for part in path.relative_to(self.target).parts)]


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def variables(java_home: str | None, directory: Path) -> dict[str, str]:
    """Those of every process: one Java for all, and a directory for what they leave behind."""
    from ggfmt.spark.installations import find_java

    home = str(find_java(java_home).home)
    directory.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "JAVA_HOME": home, "GGFMT_JAVA_HOME": home, "TMPDIR": str(directory)}
