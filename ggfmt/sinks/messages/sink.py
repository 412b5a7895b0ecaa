"""Where the operations of one task go: to the files of every handler in staging, and what there is to tell of them."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt import kernels
from ggfmt.columnar.clock import Clock
from ggfmt.columnar.escapes import text_buffer
from ggfmt.columnar.replacement import Replacer, UnusableName
from ggfmt.commit.timeline import Timeline
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats.api.reading import Remark
from ggfmt.location import child, file_system
from ggfmt.model.change import OP_TYPES, ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.scan.steps import Stopwatch
from ggfmt.sinks.messages.job import Job
from ggfmt.sinks.messages.writer import HandlerTaskOutput, HandlerWriter

_KERNELS = kernels.state if kernels.lack is None else f"{kernels.state}; {kernels.lack.help}"
STOP_FILE = "stop"  # in a run's staging directory: a task found a reason to abend, so that others need not start

Locate = Callable[[int], tuple[bytes, dict[str, object]]]


@dataclass(frozen=True)
class DefinitionUse:
    """A table definition at the first operation that a task met of it; `source` is the name that the input has."""

    table: TableDef
    split: int
    ordinal: int
    source: str


@dataclass
class TaskOutcome:
    """What a task did. `abend` is the first mistake in the data where rejects are not set aside; `undefined` tells that
    the task met a table or a metadata record that nobody had looked for, so that a discovery pass is needed; `crossed`
    is the place of an input that has to be read in one (see `CrossedBorder`); `kernels` is what the task ran with."""

    split: int
    written: dict[str, HandlerTaskOutput] = field(default_factory=dict)
    seen: list[DefinitionUse] = field(default_factory=list)
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    timeline: Timeline = field(default_factory=Timeline)
    rejected_records: int = 0
    others: Counter[str] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)
    remarks: Counter[Remark] = field(default_factory=Counter)
    abend: Diagnostic | None = None
    undefined: bool = False
    crossed: int | None = None
    stopped: bool = False
    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    kernels: str = _KERNELS


def in_task(staging: Collection[str], ordinal: int, work: Callable[[], TaskOutcome]) -> TaskOutcome:
    """Do the work of one task, unless another task has left a reason to stop in the staging directories of the run."""
    started = time.perf_counter()
    if any(_exists(child(root, STOP_FILE)) for root in staging):
        return TaskOutcome(ordinal, stopped=True)
    collecting = gc.isenabled()
    gc.disable()  # a chunk is tens of thousands of objects without cycles; looking for some costs a tenth of the time
    try:
        outcome = work()
    finally:
        if collecting:
            gc.enable()
    if outcome.abend is not None or outcome.undefined:
        for root in staging:
            _touch(child(root, STOP_FILE))
    outcome.seconds = time.perf_counter() - started
    return outcome


class TaskStopped(Exception):
    """Ends a task early; the outcome says why."""


class Sink:
    """Takes the operations of a task, in their order, to every handler of the run. `ordinal` is the place of the task
    among all, and `epoch` how many metadata changes there are before it. `attempt` is unique, so that attempts of one
    task do not meet in staging."""

    def __init__(self, job: Job, ordinal: int, epoch: int, attempt: int) -> None:
        self.outcome = TaskOutcome(ordinal)
        self.watch = Stopwatch()
        clock = Clock(job.current_timestamp)
        self.outputs = [
            HandlerWriter(job, ordinal, epoch, target, attempt, clock, self.watch) for target in job.targets
        ]
        self._job = job
        self._replacer = Replacer(job.replacements) if job.replacements else None
        self._tables: dict[str, TableDef] = {}
        self._times: list[tuple[pa.StringArray, pa.StringArray]] = []  # of this chunk

    def stop(self, abend: Diagnostic) -> NoReturn:
        self.outcome.abend = abend
        raise TaskStopped

    def write(self, batch: ChangeBatch, locate: Locate) -> None:
        """Writes a batch for all handlers. `locate` has the bytes of the record of an ordinal, and its place as
        keyword arguments of a `Span`. Stopped where the task is not to go on."""
        source = batch.table.full_name
        unusable = None
        if self._replacer is not None:
            try:
                batch = self._replacer.batch(batch)
            except UnusableName as error:
                unusable = error.diagnostic
            except Abend as error:
                self.stop(error.diagnostics[0])
        name = batch.table.full_name
        if unusable is None and self._tables.get(source) != batch.table:
            self._tables[source] = batch.table
            met = DefinitionUse(batch.table, self.outcome.split, batch.ordinal[0].as_py(), source)
            self.outcome.seen.append(met)
        kinds = text_buffer(batch.op).to_pybytes()
        for kind in OP_TYPES:
            count = kinds.count(kind.encode())
            if count:
                self.outcome.operations[name, kind] += count
        self._times.append((batch.op, batch.op_ts))
        for output in self.outputs:
            rejected = output.write(batch) if unusable is None else _every_row(batch, unusable)
            for row, diagnostic in rejected:
                record, place = locate(batch.ordinal[row].as_py())
                self._set_aside(output, record, diagnostic.at(**place))
            self._forbid_losses(output)

    def reject(self, record: bytes, diagnostic: Diagnostic) -> None:
        """Sets a record aside that is no operation; Stopped where the run does not do that."""
        self.outcome.rejected_records += 1
        for output in self.outputs:
            self._set_aside(output, record, diagnostic)

    def end_of_chunk(self) -> None:
        """Operations of different tables are in order up to here."""
        for output in self.outputs:
            output.end_of_chunk()
        self.outcome.timeline.add(self._times)
        self._times = []

    def close(self) -> None:
        """Ends all files."""
        self.end_of_chunk()
        for output in self.outputs:
            self.outcome.written[output.target.handler] = output.close()

    def _set_aside(self, output: HandlerWriter, record: bytes, diagnostic: Diagnostic) -> None:
        if not self._job.quarantine:
            self.stop(diagnostic)
        output.rejects.add(record, diagnostic)

    def _forbid_losses(self, output: HandlerWriter) -> None:
        """Abend for the first values that a handler could not show as they are, where losses are forbidden."""
        loss = output.loss() if self._job.strict else None
        if loss is not None:
            self.stop(loss)


def _every_row(batch: ChangeBatch, diagnostic: Diagnostic) -> Iterator[tuple[int, Diagnostic]]:
    for row, position in enumerate(batch.position.to_pylist()):
        yield row, diagnostic.at(position=position)


def _exists(path: str) -> bool:
    fs, inner = file_system(path)
    return bool(fs.get_file_info(inner).type != pafs.FileType.NotFound)


def _touch(path: str) -> None:
    fs, inner = file_system(path)
    with fs.open_output_stream(inner, compression=None):
        pass
