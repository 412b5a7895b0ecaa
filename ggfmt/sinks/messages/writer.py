"""One handler's part of a task: its messages go to files in staging, those that have no message or no file back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.clock import Clock
from ggfmt.commit.names import FileLocation, counted
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.formats.api.context import Projection
from ggfmt.formats.api.losses import CHARACTER_REPLACED
from ggfmt.formats.api.writing import LossNote
from ggfmt.location import child
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.scan.steps import FORMATTING, WRITING, Stopwatch
from ggfmt.sinks.messages.job import HandlerOutput, Job
from ggfmt.sinks.messages.layout import Partition, file_name_conflict_error
from ggfmt.sinks.messages.partitions import MOST_PARTITIONS, Partitioner, too_many_partitions
from ggfmt.sinks.messages.pipeline import FormattedBatch, Pipeline, Preamble
from ggfmt.sinks.messages.rejects import RejectFiles
from ggfmt.sinks.messages.staging import InterleavedWriter, StagedFile, StagedSeries, WriteBuffer

_STRICT_HELP = "choose another format or other options, or leave out `--strict-fidelity`"


@dataclass
class HandlerTaskOutput:
    """What one handler got in one task."""

    files: list[StagedFile] = field(default_factory=list)
    rejects: list[StagedFile] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    extras: int = 0
    left_out: int = 0
    notes: Counter[LossNote] = field(default_factory=Counter)
    lost_characters: int = 0
    traces: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Table:
    """A table as the files of one handler have it at present: its series by partition. There is one alone where nothing
    divides it, and none where tables share files."""

    definition: TableDef
    preamble: Preamble | None
    series: dict[Partition, StagedSeries]
    partitioner: Partitioner | None


class HandlerWriter:
    """One handler's part of a task, which is the one of `ordinal`, after `epoch` metadata changes."""

    def __init__(
        self,
        job: Job,
        ordinal: int,
        epoch: int,
        target: HandlerOutput,
        attempt: int,
        clock: Clock,
        watch: Stopwatch,
    ) -> None:
        self.target = target
        self._settings = target.settings
        self._pipeline = Pipeline(target.settings, clock)
        self._split = ordinal
        self._trace = job.trace
        self._watch = watch
        self._directory = child(job.staging[target.root], f"{ordinal:06d}-{attempt}-{target.handler}")
        Store(self._directory).make_directory("")
        self.rejects = RejectFiles(self._directory, target.handler, ordinal)
        self._result = HandlerTaskOutput()
        self._tables: dict[str, _Table] = {}
        self._waiting = WriteBuffer()
        self._moment = job.moment
        self._owners: dict[FileLocation, tuple[str, Partition]] = {}
        self._interleaved = None
        if not self._settings.partition_by_table:
            self._interleaved = InterleavedWriter(self._series("", str(epoch), None))

    @property
    def projection(self) -> Projection:
        return self._settings.projection

    def write(self, batch: ChangeBatch) -> Iterator[tuple[int, Diagnostic]]:
        """Formats a batch, less the operations that cannot be formatted, which are handed back by their row."""
        refused, formatted = self._pipeline.format(batch)
        self._watch.lap(FORMATTING)
        yield from refused
        if formatted is None:
            return
        if self._trace:
            self._result.traces += formatted.traced()
        table = self._table(batch.table)
        if self._interleaved is not None:
            self._count(formatted)
            self._interleaved.write(formatted.messages, formatted.arranged, table.preamble)
        elif table.partitioner is None:
            self._count(formatted)
            self._write(table, (), formatted.messages, formatted.arranged.position)
        else:
            yield from self._write_divided(table, table.partitioner, formatted)
        self._watch.lap(WRITING)

    def _count(self, formatted: FormattedBatch) -> None:
        self._result.messages += len(formatted.messages)
        self._result.extras += len(formatted.messages) - len(formatted.operations)

    def _write_divided(
        self, table: _Table, partitioner: Partitioner, formatted: FormattedBatch
    ) -> Iterator[tuple[int, Diagnostic]]:
        """Writes messages to the files of their partitions; hands back operations that have a message without one."""
        divided = partitioner.divide(formatted.arranged)
        homeless: dict[int, Diagnostic] = {}
        for partition, rows in divided:
            try:
                self._series_of(table, partition)
            except Abend as error:
                (diagnostic,) = error.diagnostics
                if diagnostic.code != "GG516":
                    raise
                homeless |= dict.fromkeys((formatted.sources[row] for row in non_null_values(rows)), diagnostic)
        kept = pa.array([source not in homeless for source in formatted.sources], pa.bool_())
        for partition, rows in divided:
            rows = rows.filter(kept.take(rows)) if homeless else rows
            self._result.messages += len(rows)
            self._result.extras += len(rows)
            if len(rows):
                self._write(table, partition, formatted.messages.take(rows), formatted.arranged.position.take(rows))
        self._result.extras -= len(formatted.operations) - len(homeless)
        for row, diagnostic in sorted(homeless.items(), key=lambda item: item[0]):
            yield formatted.rows[row], diagnostic.at(position=formatted.operations.position[row].as_py())

    def _write(self, table: _Table, partition: Partition, messages: pa.Array[Any], positions: pa.StringArray) -> None:
        preambles = () if table.preamble is None else (table.preamble,)
        self._series_of(table, partition).write(messages, positions, preambles)

    def loss(self) -> Diagnostic | None:
        """The first values of those written so far that are not shown as they are."""
        for note, count in self._pipeline.notes.items():
            reason = f"{counted(count, 'value')} {note.detail} (`{note.loss}`)"
            return Diagnostic("GG407", reason, Span(table=note.table, field=note.field), _STRICT_HELP)
        lost = sum(series.lost for series in self._every_series())
        if lost:
            reason = f"the encoding does not have {counted(lost, 'character')} (`{CHARACTER_REPLACED.id}`)"
            return Diagnostic("GG407", reason, help="choose another `encoding`")
        return None

    def end_of_chunk(self) -> None:
        if self._interleaved is not None:
            self._interleaved.end_of_chunk()
            self._watch.lap(WRITING)

    def new_epoch(self, epoch: int) -> None:
        """Takes note of a metadata change event, which a file of all tables may have to end at."""
        if self._interleaved is not None:
            self._interleaved.end_of_chunk()
            self._interleaved.series.new_definition(str(epoch), self._settings.framing(None))

    def close(self) -> HandlerTaskOutput:
        """Ends all files and says what was written."""
        result = self._result
        for series in self._every_series():
            series.roll()
            result.files += series.files
            result.lost_characters += series.lost
        result.notes = self._pipeline.notes
        result.left_out = self._pipeline.left_out
        result.rejects = self.rejects.close()
        result.rejected.update(self.rejects.by_code)
        self._watch.lap(WRITING)
        return result

    def _every_series(self) -> list[StagedSeries]:
        if self._interleaved is not None:
            return [self._interleaved.series]
        return [series for table in self._tables.values() for series in table.series.values()]

    def _table(self, definition: TableDef) -> _Table:
        """What there is of a table, once its files know that the definition holds from here on."""
        name = definition.full_name
        table = self._tables.get(name)
        if table is not None and table.definition == definition:
            return table
        series = {} if table is None else table.series
        for each in series.values():
            each.new_definition(definition.fingerprint, self._settings.framing(definition))
        columns = self.target.layout.columns(name)
        partitioner = Partitioner(definition, columns) if columns else None
        preamble = self._settings.preamble(definition)
        table = self._tables[name] = _Table(definition, preamble, series, partitioner)
        return table

    def _series_of(self, table: _Table, partition: Partition) -> StagedSeries:
        """The files of a partition, which begin with its first message. Abend GG516 if they have no name."""
        series = table.series.get(partition)
        if series is None:
            definition = table.definition
            if len(table.series) >= MOST_PARTITIONS:
                raise Abend(too_many_partitions(definition.full_name))
            series = self._series(definition.full_name, definition.fingerprint, definition, partition)
            table.series[partition] = series
        return series

    def _series(self, name: str, definition: str, table: TableDef | None, partition: Partition = ()) -> StagedSeries:
        layout = self.target.layout
        place = layout.place(table, self._moment, partition)
        first = self._owners.setdefault(place, (name, partition))
        if first != (name, partition):
            raise file_name_conflict_error(first, (name, partition), layout.columns(name), place.path)
        framing = self._settings.framing(table)
        return StagedSeries(
            self.target, self._directory, self._split, name, definition, framing, place, partition, self._waiting
        )
