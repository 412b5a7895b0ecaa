"""The first messages of each table, byte for byte as a run would write them, from the beginning of the inputs.

No more is read than is needed: a window of the first bytes, which grows until it has enough messages. Each window is
read from its start, so that definitions found in it hold for all of it, as those of a run hold for the whole input.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial, reduce
from operator import or_

import pyarrow as pa

from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.replacement import Replacer, UnusableName, check_table_names
from ggfmt.commit.names import counted
from ggfmt.config.handler_options import HandlerConfig, RunOptions
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import Event, Reject, SchemaChange, SplitBoundaryError
from ggfmt.formats.api.writing import Formatter, Framing, LossNote, Show, ShownMessage, show_bytes, show_text
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.selection import ALL_TABLES
from ggfmt.model.table import Catalog
from ggfmt.options.value_types import Replacements
from ggfmt.reading.files import read_errors_stop
from ggfmt.reading.recognition import explained
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest, missing_table
from ggfmt.reading.splits import ReadJob, Split, SplitReader, view_of
from ggfmt.reading.standard_input import SpooledInputs, check_standard_input
from ggfmt.reading.tasks import RecordCounts, log_account, take_counts
from ggfmt.sinks.messages.pipeline import FormattedBatch, HandlerSettings, Pipeline
from ggfmt.summary import Summarized, Summary, SummaryTable

MAX_REJECTS = 3  # shown for a table; the others are counted
HOPELESS = 1000  # rejects of a table, after which the preview stops to wait for its messages


@dataclass(frozen=True)
class Message:
    """One message with its bytes in the file or block; `of_key_update`: one of the two of a primary key update."""

    kind: str
    position: str | None
    data: bytes
    shown: ShownMessage
    of_key_update: bool = False


@dataclass(frozen=True)
class ShownFields:
    """A definition that applies from here on: the fields of its messages, and facts about their files."""

    names: tuple[str, ...]
    about: tuple[str, ...]


@dataclass(frozen=True)
class DefinitionRecord:
    data: bytes
    shown: ShownMessage


Item = Message | ShownFields | DefinitionRecord | Diagnostic


@dataclass(frozen=True)
class TablePreview:
    """A table by its name in the messages, with its first messages, definitions and rejects in input order."""

    table: str
    operations: int
    items: tuple[Item, ...]
    more_rejects: int = 0


@dataclass(frozen=True)
class HandlerPreview:
    handler: str
    format: str
    tables: tuple[TablePreview, ...]


@dataclass
class FirstRejects:
    count: int = 0
    first: list[tuple[int, Diagnostic]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return len(self.first) >= MAX_REJECTS

    def add(self, ordinal: int, diagnostic: Diagnostic) -> None:
        self.count += 1
        if not self.full:
            self.first.append((ordinal, diagnostic))

    def __add__(self, other: FirstRejects) -> FirstRejects:
        first = sorted([*self.first, *other.first], key=lambda item: item[0])
        return FirstRejects(self.count + other.count, first[:MAX_REJECTS])


class PreviewHandler:
    def __init__(self, settings: HandlerSettings, clock: Clock, count: int) -> None:
        self.name = settings.handler
        self.lost_characters = 0
        self._settings = settings
        self._pipeline = Pipeline(settings, clock)
        self._count = count
        self._tables: dict[str, _PreviewedTable] = {}

    @property
    def projection(self) -> Projection:
        return self._settings.projection

    @property
    def enough(self) -> bool:
        return all(table.enough for table in self._tables.values())

    @property
    def notes(self) -> Counter[LossNote]:
        return self._pipeline.notes

    def write(self, batch: ChangeBatch) -> Iterator[tuple[int, Diagnostic]]:
        name = batch.table.full_name
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _PreviewedTable(self._count)
        if not table.enough:
            table.begin(self._pipeline.formatter(batch.table), batch.ordinal[0].as_py())
        start = step = 0
        while start < len(batch) and not table.enough:
            # No more than are missing, unless they were rejects: the search must not take long.
            step = max(2 * step, self._count - table.messages)
            rows = range(start, min(start + step, len(batch)))
            start = rows.stop
            yield from self._rows(table, batch, rows)

    def rejects(self, table: str) -> FirstRejects:
        return self._tables.setdefault(table, _PreviewedTable(self._count)).rejects

    def preview(self, operations: Mapping[str, int], unread: Mapping[str, FirstRejects]) -> HandlerPreview:
        """Return the tables in `operations`; `unread` are their records that cannot be read."""
        tables = (
            self._tables[name].preview(name, count, unread.get(name, FirstRejects()))
            for name, count in operations.items()
        )
        return HandlerPreview(self.name, self._settings.format, tuple(tables))

    def _rows(self, table: _PreviewedTable, batch: ChangeBatch, wanted: range) -> Iterator[tuple[int, Diagnostic]]:
        refused, formatted = self._pipeline.format(batch, wanted)
        yield from refused
        if formatted is None:
            return
        messages, arranged = formatted.messages, formatted.arranged
        show, framing = self._show(table, formatted)
        for row in range(min(len(messages), self._count - table.messages)):
            data, lost = messages[row].as_py(), 0
            if show.framed:
                data, lost = framing.frame(messages.slice(row, 1))
            self.lost_characters += lost
            split = formatted.operations.op[formatted.sources[row]].as_py() != arranged.op[row].as_py()
            kind, position = OpType(arranged.op[row].as_py()).name.lower(), arranged.position[row].as_py()
            display = show.message(bytes(data))
            table.add(arranged.ordinal[row].as_py(), Message(kind, position, bytes(data), display, split))

    def _show(self, table: _PreviewedTable, formatted: FormattedBatch) -> tuple[Show, Framing]:
        """Make the way to show a definition at its first message: others may have no schema."""
        if table.shows is None:
            settings, formatter, messages = self._settings, formatted.formatter, formatted.messages
            make, framing = settings.write_support.show, settings.framing(formatter.table)
            if make is not None:
                show: Show = make(formatter, settings.options, settings.context)
            elif pa.types.is_binary(messages.type):
                show = show_bytes(formatter, framing.container)
            else:
                show = show_text(getattr(settings.options, "encoding", "UTF-8"))
            table.shows = show, framing
            preamble = settings.preamble(formatter.table)
            record = None if preamble is None else DefinitionRecord(preamble.data, show.message(preamble.data))
            table.describe(show.about, record, formatted.arranged.ordinal[0].as_py())
        return table.shows


class _PreviewedTable:
    def __init__(self, count: int) -> None:
        self.messages = 0
        self.rejects = FirstRejects()
        self.shows: tuple[Show, Framing] | None = None
        self._formatter: Formatter | None = None
        self._count = count
        self._items: list[tuple[int, Item]] = []

    @property
    def enough(self) -> bool:
        return self.messages >= self._count or self.rejects.count >= HOPELESS

    def begin(self, formatter: Formatter, ordinal: int) -> None:
        if formatter is not self._formatter:
            self._items.append((ordinal if self._formatter is not None else -1, ShownFields(formatter.fields, ())))
            self._formatter = formatter
            self.shows = None

    def describe(self, about: tuple[str, ...], record: DefinitionRecord | None, first: int) -> None:
        """Add facts to the last definition, and the record before its first message, which has the ordinal `first`."""
        place = max(index for index, (_, item) in enumerate(self._items) if isinstance(item, ShownFields))
        ordinal, item = self._items[place]
        assert isinstance(item, ShownFields)
        self._items[place] = ordinal, ShownFields(item.names, about)
        if record is not None:
            self._items.append((first, record))

    def add(self, ordinal: int, message: Message) -> None:
        self._items.append((ordinal, message))
        self.messages += 1

    def preview(self, name: str, operations: int, unread: FirstRejects) -> TablePreview:
        rejects = self.rejects + unread
        items = sorted([*self._items, *rejects.first], key=lambda item: item[0])
        return TablePreview(name, operations, tuple(item for _, item in items), rejects.count - len(rejects.first))


log = logging.getLogger("ggfmt")

ENOUGH_BYTES = 1 << 20  # after that, rare tables may have fewer messages


@dataclass(frozen=True, kw_only=True)
class PreviewSettings(ScanRequest):
    handlers: Sequence[HandlerConfig]
    count: int = 5
    current_timestamp: datetime | None = None
    run_options: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)


@dataclass(frozen=True, repr=False)
class Preview(Summarized):
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

    @property
    def _summary(self) -> Summary:
        rows: list[tuple[str, ...]] = []
        for handler in self.handlers:
            for table in handler.tables:
                for item in table.items:
                    if isinstance(item, (Message, Diagnostic)):
                        what = item.code if isinstance(item, Diagnostic) else item.kind
                        text = item.message if isinstance(item, Diagnostic) else "\n".join(item.shown.lines)
                        rows.append((handler.handler, table.table, what, text))
        tables = {(handler.handler, table.table) for handler in self.handlers for table in handler.tables}
        facts = [f"{counted(len(rows), 'message')} of {counted(len(tables), 'table')}"]
        return Summary("ggfmt.preview", facts, [SummaryTable(("handler", "table", "operation", "message"), rows)])


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
    view = view_of(settings.selection) if window.has_everything else None
    if view is not None:
        view.check(job.definitions, settings.keys, may_lack=False)
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
        check_table_names(job.shown.catalog.current, self.settings.replacements)
        return partial(self._read, job)

    def discard(self) -> None:
        """Do nothing: a preview writes nothing."""

    def go_on(self) -> None:
        """Do nothing: no task stops another one."""

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
        if job.selection.maps is not None:  # which decide on all definitions, of which later ones are not known yet
            projection = replace(projection, row_only=False)
        self.reader = job.reader(job.catalog, projection)
        self.names: dict[str, str] = {}
        self.abend: Diagnostic | None = None
        self.undefined = False
        self.crossed: int | None = None
        self.stopped = self.scattered = self.is_whole = False
        self.operations: Counter[tuple[str, str]] = Counter()
        self.counts = RecordCounts()
        selection, mapped = settings.selection, settings.selection.maps is not None
        # Patterns match names after replacements, too, but not those that MAPs give.
        self._selection = selection if mapped else replace(selection, tables=(), exclude=())
        self._of_names = ALL_TABLES if mapped else selection
        self._settled = job.settled
        self._format = job.input_format, job.reason
        self._replacer = Replacer(settings.replacements) if settings.replacements else None
        self._operations: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._unread: dict[str | None, FirstRejects] = {}

    def stays(self, before: Catalog, after: Catalog) -> bool:
        """Return False: a preview shows what the last pass has read."""
        return False

    @property
    def enough(self) -> bool:
        """Return whether there is a table to show, and every such table has enough messages."""
        return bool(self._operations) and all(handler.enough for handler in self.handlers)

    @read_errors_stop()
    def read(self, split: Split) -> None:
        """Read a split once; set `undefined` or `crossed` if the scan has to read it in another way."""
        source = SplitReader(self.reader, split, self._selection)
        try:
            for events in source:
                self._take(events)
            take_counts(self.counts, self.reader, source)
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
            elif source is None or self._of_names.selects(source):
                strays += rejects
            else:
                self.counts.skipped[source] += rejects.count
        patterns = () if self.counts.mapped else (self._selection.tables or self._of_names.tables)
        if patterns and not self._operations and not strays.count:
            names = list(dict.fromkeys(self.names.values())) or [*self.counts.skipped]
            raise UsageError.of(*(missing_table("--table", pattern, names) for pattern in patterns))
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
        if not self._of_names.selects(source, name):
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
