"""The first messages of each table, byte for byte as a run would write them, from the beginning of the inputs.

No more is read than is needed: a window of the first bytes, which grows until it has enough messages. Each window is
read from its start, so that definitions found in it hold for all of it, as those of a run hold for the whole input.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial, reduce
from operator import or_

from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.replacement import Replacer, UnusableName, check_table_names
from ggfmt.config.handler_options import HandlerConfig, RunOptions
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.reading import Event, Reader, Reject, SchemaChange, SplitBoundaryError
from ggfmt.model.change import ChangeBatch
from ggfmt.options.value_types import Replacements
from ggfmt.reading.account import log_account, take_counts
from ggfmt.reading.files import read_errors_stop
from ggfmt.reading.recognition import explained, reader_of
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest, missing_table
from ggfmt.reading.splits import ReadJob, Split, SplitReader
from ggfmt.reading.standard_input import check_standard_input
from ggfmt.reading.tasks import RecordCounts
from ggfmt.reading.topics import SpooledInputs
from ggfmt.sinks.messages.pipeline import HandlerSettings
from ggfmt.sinks.preview.handler import FirstRejects, HandlerPreview, PreviewHandler

log = logging.getLogger("ggfmt")

ENOUGH_BYTES = 1 << 20  # after that, rare tables may have fewer messages


@dataclass(frozen=True, kw_only=True)
class PreviewSettings(ScanRequest):
    handlers: Sequence[HandlerConfig]
    count: int = 5
    current_timestamp: datetime | None = None
    run_options: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)


@dataclass(frozen=True)
class Preview:
    """A preview. `strays`: the first unreadable records of no shown table. `whole`: all inputs were read. `counts`:
    what was read and is in no message."""

    handlers: tuple[HandlerPreview, ...]
    strays: tuple[Diagnostic, ...] = ()
    more_strays: int = 0
    whole: bool = True
    counts: RecordCounts = field(default_factory=RecordCounts)

    @property
    def rejected(self) -> bool:
        tables = (table for handler in self.handlers for table in handler.tables)
        return bool(self.strays) or any(isinstance(item, Diagnostic) for table in tables for item in table.items)


def preview(settings: PreviewSettings) -> Preview:
    """Return the first messages of every handler. Raises: UsageError GG315 if the patterns name no table."""
    check_standard_input(settings.inputs)
    with ExitStack() as held:
        files = settings.list(SpooledInputs(held, settings.topics, lazy=True))
        # A file may grow while its first bytes are read.
        return _preview(settings, Scan(settings, [replace(file, watched=False) for file in files]))


def _preview(settings: PreviewSettings, scan: Scan) -> Preview:
    window, scan.may_lack = scan.window(), True
    while True:
        job, (shown,) = scan.run(scan.job, _PreviewSink(settings), InProcess(), cut=window, from_head=False)
        if window.has_everything or shown.enough:
            break
        window.grow()
        if not settings.selection.tables and window.size > ENOUGH_BYTES:
            break
    if window.has_everything and settings.selection.hides:
        from ggfmt.reading.masks import check_masks

        check_masks(settings.selection, job.definitions, settings.keys, may_lack=False)
    result = shown.preview(window.has_everything)
    for warning in shown.warnings():
        log.warning("%s", warning)
    log_account(shown.counts, level=logging.DEBUG if result.handlers and result.handlers[0].tables else logging.INFO)
    discovers = FORMATS[job.input_format].read_support.by(job.source).discovery is not None
    if job.settled and not window.has_everything and discovers:
        log.info(
            "the definitions come from the part that was read; a run reads all data, and may find other definitions"
        )
    return result


@dataclass(frozen=True)
class _PreviewSink:
    settings: PreviewSettings

    def task(self, job: ReadJob) -> Callable[[Split, int], _PreviewPass]:
        """Raises: Abend if two tables get one name."""
        check_table_names(job.catalog.current, self.settings.replacements)
        return partial(self._read, job)

    def discard(self) -> None:
        """Do nothing: a preview writes nothing."""

    def _read(self, job: ReadJob, split: Split, attempt: int) -> _PreviewPass:
        shown = _PreviewPass(self.settings, job)
        shown.read(split)
        check_table_names(shown.names, self.settings.replacements)
        return shown


class _DiscoveryRequired(Exception):
    """The data has a table or a metadata record without a definition."""


class _PreviewPass:
    """One pass over the first bytes, as a `ReadOutcome`. `names`: by the name of a table in the input."""

    def __init__(self, settings: PreviewSettings, job: ReadJob) -> None:
        clock = Clock(settings.current_timestamp)
        self.handlers = [
            PreviewHandler(HandlerSettings.of(config, settings.run_options), clock, settings.count)
            for config in settings.handlers
        ]
        projection = reduce(or_, (handler.projection for handler in self.handlers))
        self.reader: Reader = reader_of(job.input_format, job.source)(job.catalog, projection, job.source)
        self.names: dict[str, str] = {}
        self.abend: Diagnostic | None = None
        self.undefined = False
        self.crossed: int | None = None
        self.stopped = self.scattered = False
        self.operations: Counter[tuple[str, str]] = Counter()
        self.counts = RecordCounts()
        self._selection = settings.selection
        self._settled = job.settled
        self._format = job.input_format, job.reason
        self._replacer = Replacer(settings.replacements) if settings.replacements else None
        self._operations: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._unread: dict[str | None, FirstRejects] = {}

    @property
    def enough(self) -> bool:
        """Return whether there is a table to show, and every such table has enough messages."""
        return bool(self._operations) and all(handler.enough for handler in self.handlers)

    @read_errors_stop()
    def read(self, split: Split) -> None:
        """Read a split once; set `undefined` or `crossed` if the scan has to read it in another way."""
        source = SplitReader(self.reader, split, replace(self._selection, tables=(), exclude=()))
        try:
            for events in source:
                self._take(events)
            take_counts(self.counts, self.reader, source.skipped)
        except SplitBoundaryError:
            assert source.input is not None
            self.crossed = source.input.index
        except _DiscoveryRequired:
            self.undefined = True

    def _take(self, events: Iterator[Event]) -> None:
        for event in events:
            if isinstance(event, ChangeBatch):
                self._batch(event)
            elif not self._settled and (
                isinstance(event, SchemaChange) or (isinstance(event, Reject) and event.of_unknown_table)
            ):
                raise _DiscoveryRequired
            elif isinstance(event, Reject):
                rejects = self._unread.setdefault(event.diagnostic.span.table, FirstRejects())
                why = event.diagnostic if rejects.full else explained(event, *self._format)
                rejects.add(event.ordinal, why)

    def preview(self, whole: bool) -> Preview:
        unread: dict[str, FirstRejects] = {}
        strays = FirstRejects()
        for source, rejects in self._unread.items():
            written = self.names.get(source or "")
            if written in self._operations:
                unread[written] = rejects
            elif source is None or self._selection.selects(source):
                strays += rejects
            else:
                self.counts.skipped[source] += rejects.count
        if self._selection.tables and not self._operations and not strays.count:
            names = list(dict.fromkeys(self.names.values()))
            raise UsageError.of(*(missing_table("--table", pattern, names) for pattern in self._selection.tables))
        met = {name: self._operations[name] for name in sorted(self._operations, key=self._first.__getitem__)}
        handlers = tuple(handler.preview(met, unread) for handler in self.handlers)
        first = tuple(diagnostic for _, diagnostic in strays.first)
        return Preview(handlers, first, strays.count - len(first), whole, self.counts)

    def warnings(self) -> Iterator[str]:
        losing = [handler for handler in self.handlers if handler.notes or handler.lost_characters]
        if losing:
            # Most previews have no warning, and need none of its imports.
            from ggfmt.sinks.messages.report import HandlerTotals, RunTotals, warnings

            totals = {it.name: HandlerTotals(notes=it.notes, lost_characters=it.lost_characters) for it in losing}
            yield from warnings(RunTotals(handlers=totals))

    def _batch(self, batch: ChangeBatch) -> None:
        source, unusable = batch.table.full_name, None
        if self._replacer is not None:
            try:
                batch = self._replacer.batch(batch)
            except UnusableName as error:
                unusable = error.diagnostic
        name = self.names[source] = batch.table.full_name
        if not self._selection.selects(source, name):
            self.counts.skipped[source] += len(batch)
            return
        self._operations[name] = self._operations.get(name, 0) + len(batch)
        self._first[name] = min(self._first.get(name, first := batch.ordinal[0].as_py()), first)
        for handler in self.handlers:
            rejected = handler.write(batch) if unusable is None else ((row, unusable) for row in range(len(batch)))
            for row, diagnostic in rejected:
                ordinal, rejects = batch.ordinal[row].as_py(), handler.rejects(name)
                if not rejects.full:  # the place of a record takes long to find
                    chunk, start, _ = self.reader.locate(ordinal)
                    diagnostic = diagnostic.at(**chunk.span(start).record)
                rejects.add(ordinal, diagnostic.at(position=batch.position[row].as_py()))
