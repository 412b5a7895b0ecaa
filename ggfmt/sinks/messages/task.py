"""One task: reads a split, formats it for every handler, and leaves files in staging.

Runs in a Spark worker or in the calling process, with the same outcome. A mistake in the data is part of the outcome;
only what is no fault of the data (a full disk, a defect) is raised, so that Spark tries again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats.api.reading import Event, Reader, Reject, SchemaChange, SplitBoundaryError
from ggfmt.model.change import ChangeBatch
from ggfmt.scan.recognition import other_format, reader_of
from ggfmt.scan.splits import Split, SplitReader
from ggfmt.scan.steps import READING
from ggfmt.sinks.messages.job import Job
from ggfmt.sinks.messages.sink import Sink, TaskOutcome, TaskStopped, in_task


def run_split(job: Job, split: Split, attempt: int) -> TaskOutcome:
    """Reads and writes one split. `attempt` is unique, so that attempts of one split do not meet in staging."""
    return in_task(job.staging.values(), split.ordinal, lambda: _Task(job, split, attempt).run())


MOST_EXPLAINED = 100  # rejects of a task for which other formats are tried: that takes longer than to set one aside


class _Task:
    def __init__(self, job: Job, split: Split, attempt: int) -> None:
        self.job = job
        self.split = split
        self.sink = Sink(job, split.ordinal, job.epoch_at(split), attempt)
        self.outcome = self.sink.outcome
        projection = [output.projection for output in self.sink.outputs]
        combined = projection[0]
        for other in projection[1:]:
            combined |= other
        self.reader: Reader = reader_of(job.input_format, job.source)(job.catalog_at(split), combined, job.source)
        self.unexplained = MOST_EXPLAINED

    def run(self) -> TaskOutcome:
        self.sink.watch.lap(None)
        source = SplitReader(self.reader, self.split)
        try:
            for events in source:
                self._handle(events)
                self.sink.end_of_chunk()
            self.sink.close()
        except TaskStopped:
            pass
        except Abend as error:
            (self.outcome.abend,) = error.diagnostics
        except SplitBoundaryError:
            assert source.input is not None
            self.outcome.crossed = source.input.index
        self.outcome.steps = self.sink.watch.seconds
        self.outcome.others, self.outcome.members = self.reader.others, self.reader.members
        self.outcome.remarks = self.reader.remarks
        return self.outcome

    def _handle(self, events: Iterator[Event]) -> None:
        for event in events:
            self.sink.watch.lap(READING)
            if isinstance(event, ChangeBatch):
                self.sink.write(event, self._locate)
            elif isinstance(event, Reject):
                if event.of_unknown_table and not self.job.settled:
                    self._undefined()
                self.sink.reject(event.record, self._explained(event))
            else:
                self._definition(event)
        self.sink.watch.lap(READING)

    def _explained(self, reject: Reject) -> Diagnostic:
        """Why a record is a reject, with the format that it is of, if that is another than the input's."""
        diagnostic = reject.diagnostic
        if not self.unexplained:
            return diagnostic
        self.unexplained -= 1
        found = other_format(reject.record, self.job.input_format)
        if found is None:
            return diagnostic
        name, reason = found
        help = f"this record is of `{name}`: {reason}; the input is read as `{self.job.input_format}`"
        if self.job.reason:
            help += f": {self.job.reason}"
        return replace(diagnostic, help=f"{help}; give the records of each format in files and runs of their own")

    def _locate(self, ordinal: int) -> tuple[bytes, dict[str, object]]:
        chunk, start, end = self.reader.locate(ordinal)
        return chunk.data[start:end], {"file": chunk.file, "offset": chunk.offset + start}

    def _definition(self, event: SchemaChange) -> None:
        if not self.job.settled:
            self._undefined()
        for output in self.sink.outputs:
            output.new_epoch(self.job.epoch_after(event))

    def _undefined(self) -> None:
        self.outcome.undefined = True
        raise TaskStopped
