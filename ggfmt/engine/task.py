"""One task: reads a split, formats it for every handler, and leaves files in staging.

Runs in a Spark worker or in the calling process, with the same outcome. A mistake in the data is part of the outcome;
only what is no fault of the data (a full disk, a defect) is raised, so that Spark tries again.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt import kernels
from ggfmt.columnar.clock import Clock
from ggfmt.columnar.escapes import text_buffer
from ggfmt.columnar.replacement import Replacer, UnusableName
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.engine.files import child, file_system
from ggfmt.engine.inputs import reader_of
from ggfmt.engine.output.writer import HandlerWriter, Written
from ggfmt.engine.plan import Job, Split
from ggfmt.engine.reading import chunks_of, guarded
from ggfmt.engine.steps import READING, Stopwatch
from ggfmt.engine.timeline import Timeline
from ggfmt.formats.api.reading import CrossedBorder, Event, Reader, Reject, Remark, SchemaChange
from ggfmt.model.change import OP_TYPES, ChangeBatch
from ggfmt.model.table import TableDef

STOP_FILE = "stop"  # in a run's staging directory: a task found a reason to abend, so that others need not start


@dataclass(frozen=True)
class DefinitionMet:
    """A table definition at the first operation that a task met of it; `source` is the name that the input has."""

    table: TableDef
    split: int
    ordinal: int
    source: str


@dataclass
class Outcome:
    """What a task did. `abend` is the first mistake in the data where rejects are not set aside; `undefined` tells that
    the task met a table or a metadata record that nobody had looked for, so that a discovery pass is needed; `crossed`
    is the place of an input that has to be read in one (see `CrossedBorder`); `kernels` is what the task ran with."""

    split: int
    written: dict[str, Written] = field(default_factory=dict)
    seen: list[DefinitionMet] = field(default_factory=list)
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
    kernels: str = kernels.state


def unproven(splits: Sequence[Split], outcomes: Sequence[Outcome]) -> set[int]:
    """The inputs of which it is not known whether the first mistake in the data is one: it is in a range that starts
    within a file, of which not all ranges before it have been read."""
    for split, outcome in zip(splits, outcomes, strict=True):
        if outcome.abend is not None:
            first = split.ranges[0]
            before = [
                earlier.stopped
                for item, earlier in zip(splits[: split.ordinal], outcomes, strict=False)
                if first.start and any(part.input.index == first.input.index for part in item.ranges)
            ]
            return {first.input.index} if any(before) else set()
    return set()


class _Stop(Exception):
    """Ends a task early; the outcome says why."""


def run_split(job: Job, split: Split, attempt: int) -> Outcome:
    """Reads and writes one split. `attempt` is unique, so that attempts of one split do not meet in staging."""
    started = time.perf_counter()
    if any(_exists(child(root, STOP_FILE)) for root in job.staging.values()):
        return Outcome(split.ordinal, stopped=True)
    collecting = gc.isenabled()
    gc.disable()  # a chunk is tens of thousands of objects without cycles; looking for some costs a tenth of the time
    try:
        outcome = _Task(job, split, attempt).run()
    finally:
        if collecting:
            gc.enable()
    if outcome.abend is not None or outcome.undefined:
        for root in job.staging.values():
            _touch(child(root, STOP_FILE))
    outcome.seconds = time.perf_counter() - started
    return outcome


class _Task:
    def __init__(self, job: Job, split: Split, attempt: int) -> None:
        self.job = job
        self.split = split
        self.outcome = Outcome(split.ordinal)
        clock, self.watch = Clock(job.current_timestamp), Stopwatch()
        self.outputs = [HandlerWriter(job, split, target, attempt, clock, self.watch) for target in job.targets]
        projection = [output.projection for output in self.outputs]
        combined = projection[0]
        for other in projection[1:]:
            combined |= other
        self.reader: Reader = reader_of(job.input_format, job.source)(job.catalog_at(split), combined, job.source)
        self.replacer = Replacer(job.replacements) if job.replacements else None
        self.tables: dict[str, TableDef] = {}
        self.times: list[tuple[pa.StringArray, pa.StringArray]] = []  # of this chunk
        self.input = 0
        self.place = Span()

    def run(self) -> Outcome:
        self.watch.lap(None)
        try:
            for part in self.split.ranges:
                self.input = part.input.index
                for chunk in chunks_of(type(self.reader), part):
                    self.place = Span(file=chunk.file, offset=chunk.offset)
                    self._handle(self.reader.read(chunk))
                    self._end_of_chunk()
            self._handle(self.reader.flush())
            self._end_of_chunk()
            for output in self.outputs:
                self.outcome.written[output.target.handler] = output.close()
        except _Stop:
            pass
        except Abend as error:
            (self.outcome.abend,) = error.diagnostics
        except CrossedBorder:
            self.outcome.crossed = self.input
        self.outcome.steps = self.watch.seconds
        self.outcome.others, self.outcome.members = self.reader.others, self.reader.members
        self.outcome.remarks = self.reader.remarks
        return self.outcome

    def _end_of_chunk(self) -> None:
        for output in self.outputs:
            output.end_of_chunk()
        self.outcome.timeline.add(self.times)
        self.times = []

    def _handle(self, events: Iterator[Event]) -> None:
        for event in guarded(events, self.place):
            self.watch.lap(READING)
            if isinstance(event, ChangeBatch):
                self._batch(event)
            elif isinstance(event, Reject):
                if event.of_unknown_table and not self.job.settled:
                    self._undefined()
                self.outcome.rejected_records += 1
                for output in self.outputs:
                    self._reject(output, event.record, event.diagnostic)
            else:
                self._definition(event)
        self.watch.lap(READING)

    def _definition(self, event: SchemaChange) -> None:
        if not self.job.settled:
            self._undefined()
        for output in self.outputs:
            output.new_epoch(self.job.epoch_after(event))

    def _undefined(self) -> None:
        self.outcome.undefined = True
        raise _Stop

    def _forbid_losses(self, output: HandlerWriter) -> None:
        """Abend for the first values that a handler could not show as they are, where losses are forbidden."""
        loss = output.loss() if self.job.strict else None
        if loss is not None:
            self.outcome.abend = loss
            raise _Stop

    def _batch(self, batch: ChangeBatch) -> None:
        source = batch.table.full_name
        unusable = None
        if self.replacer is not None:
            try:
                batch = self.replacer.batch(batch)
            except UnusableName as error:
                unusable = error.diagnostic
            except Abend as error:
                (self.outcome.abend,) = error.diagnostics
                raise _Stop from None
        name = batch.table.full_name
        if unusable is None and self.tables.get(source) != batch.table:
            self.tables[source] = batch.table
            self.outcome.seen.append(DefinitionMet(batch.table, self.split.ordinal, batch.ordinal[0].as_py(), source))
        kinds = text_buffer(batch.op).to_pybytes()
        for kind in OP_TYPES:
            count = kinds.count(kind.encode())
            if count:
                self.outcome.operations[name, kind] += count
        self.times.append((batch.op, batch.op_ts))
        for output in self.outputs:
            rejected = output.write(batch) if unusable is None else _every_row(batch, unusable)
            for row, diagnostic in rejected:
                chunk, start, end = self.reader.locate(batch.ordinal[row].as_py())
                place = diagnostic.at(file=chunk.file, offset=chunk.offset + start)
                self._reject(output, chunk.data[start:end], place)
            self._forbid_losses(output)

    def _reject(self, output: HandlerWriter, record: bytes, diagnostic: Diagnostic) -> None:
        if not self.job.quarantine:
            self.outcome.abend = diagnostic
            raise _Stop
        output.rejects.add(record, diagnostic)


def _every_row(batch: ChangeBatch, diagnostic: Diagnostic) -> Iterator[tuple[int, Diagnostic]]:
    for row, position in enumerate(batch.position.to_pylist()):
        yield row, diagnostic.at(position=position)


def _exists(path: str) -> bool:
    fs, inner = file_system(path)
    return bool(fs.get_file_info(inner).type != pafs.FileType.NotFound)


def _touch(path: str) -> None:
    fs, inner = file_system(path)
    with fs.open_output_stream(inner):
        pass
