"""The first messages of each table, byte for byte as a run would write them, from the beginning of the inputs.

No more is read than is needed: a window of the first bytes, which grows until it has enough messages. Each window is
read from its start, so that definitions found in it hold for all of it, as those of a run hold for the whole input.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.replacement import Replacer, UnusableName, two_tables
from ggfmt.config.handler_options import RunOptions
from ggfmt.config.handlers import HandlerConfig
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError, suggestion
from ggfmt.engine.discovery import resolve_findings
from ggfmt.engine.pipeline import HandlerSettings
from ggfmt.engine.preview.handler import FirstRejects, HandlerPreview, PreviewHandler
from ggfmt.engine.preview.head import FIRST_BYTES, GROWTH, Head
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import DiscoveryResult, Event, Reader, Reject, SchemaChange, SplitBoundaryError
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.replacements import Replacements

log = logging.getLogger("ggfmt")

ENOUGH_BYTES = 1 << 20  # after that, tables that are rare may be left with fewer messages


@dataclass(frozen=True)
class PreviewSettings:
    """What `ggfmt preview` was asked for: `count` messages of each table, or of those that `table` names."""

    inputs: Sequence[str]
    handlers: Sequence[HandlerConfig]
    count: int = 5
    table: str | None = None
    input_format: str = "auto"
    definitions: Mapping[str, TableDef] = field(default_factory=dict)
    current_timestamp: datetime | None = None
    own: RunOptions = field(default_factory=RunOptions)
    source: WriterSettings = DEFAULT_SETTINGS
    replacements: Replacements = field(default_factory=Replacements)


@dataclass(frozen=True)
class Preview:
    """What was found. `strays` are the first records that cannot be read and are of none of the tables shown, and
    `more_strays` counts the others; `whole` tells that there is no more in the inputs."""

    handlers: tuple[HandlerPreview, ...]
    strays: tuple[Diagnostic, ...] = ()
    more_strays: int = 0
    whole: bool = True

    @property
    def rejected(self) -> bool:
        """Whether there are records that cannot be read, or operations that a handler cannot write."""
        tables = (table for handler in self.handlers for table in handler.tables)
        return bool(self.strays) or any(isinstance(item, Diagnostic) for table in tables for item in table.items)


class _DiscoveryRequired(Exception):
    """The window has a table or a metadata record that nobody had looked for."""


def preview(settings: PreviewSettings) -> Preview:
    """The first messages of every handler.

    UsageError GG315 if `table` names none of the tables; Abend if an input cannot be read, or two tables get one name.
    """
    with ExitStack() as held:
        return _preview(settings, Head(settings.inputs, settings.input_format, settings.source, held))


def _preview(settings: PreviewSettings, head: Head) -> Preview:
    discovering = not settings.definitions
    size = FIRST_BYTES
    while True:
        try:
            window = _read(settings, head, size, discovering)
        except _DiscoveryRequired:
            discovering = True
            continue
        except SplitBoundaryError as crossed:
            head.read_whole(crossed.file)
            continue
        if head.whole or window.enough:
            break
        size = max(size, head.read) * GROWTH
        if settings.table is None and size > ENOUGH_BYTES:
            break
    result = window.preview(head.whole)
    for warning in window.warnings():
        log.warning("%s", warning)
    if discovering and not head.whole and FORMATS[head.input_format].read_support.by(head.source).discovery is not None:
        log.info("definitions are as found in the part that was read; a run reads all of the data, and may find others")
    return result


def _read(settings: PreviewSettings, head: Head, size: int, discovering: bool) -> _PreviewPass:
    catalog, source = Catalog(dict(settings.definitions)), head.source
    if discovering:
        discovered = _discovered(head, catalog, size)
        catalog, source = catalog.with_tables(discovered.tables), replace(source, facts=discovered.facts)
    _check_names(catalog.current, settings)
    window = _PreviewPass(settings, head.reader, catalog, source, settled=discovering)
    for chunk in head.chunks(size):
        window.take(window.reader.read(chunk))
    window.take(window.reader.flush())
    _check_names(window.names, settings)
    return window


def _discovered(head: Head, catalog: Catalog, size: int) -> DiscoveryResult:
    """What the window tells of its tables."""

    def look(every_shape: bool, source: WriterSettings) -> Sequence[object]:
        make = FORMATS[head.input_format].read_support.by(source).discovery
        assert make is not None
        discovery = make(catalog, every_shape, source)
        for chunk in head.chunks(size):
            if chunk.problem is None:
                discovery.read(chunk)
        return [discovery.findings()]

    return resolve_findings(head.input_format, catalog, head.source, look)


def _check_names(tables: Iterable[str], settings: PreviewSettings) -> None:
    diagnostic = two_tables(tables, settings.replacements.schema)
    if diagnostic is not None:
        raise Abend(diagnostic)


class _PreviewPass:
    """One reading of the first bytes. `names` has what each table met is called in messages, by its name in the input.

    `settled`: definitions have been looked for, so that a table without one has none.
    """

    def __init__(
        self, settings: PreviewSettings, reader: type[Reader], catalog: Catalog, source: WriterSettings, settled: bool
    ) -> None:
        clock = Clock(settings.current_timestamp)
        self.handlers = [
            PreviewHandler(HandlerSettings.of(config, settings.own), clock, settings.count)
            for config in settings.handlers
        ]
        projection = self.handlers[0].projection
        for handler in self.handlers[1:]:
            projection |= handler.projection
        self.reader = reader(catalog, projection, source)
        self.names: dict[str, str] = {}
        self._wanted = settings.table
        self._settled = settled
        self._replacer = Replacer(settings.replacements) if settings.replacements else None
        self._operations: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._unread: dict[str | None, FirstRejects] = {}

    @property
    def enough(self) -> bool:
        """Whether there is a table to be shown, and no such table has fewer messages than are wanted."""
        return bool(self._operations) and all(handler.enough for handler in self.handlers)

    def take(self, events: Iterator[Event]) -> None:
        for event in events:
            if isinstance(event, ChangeBatch):
                self._batch(event)
            elif not self._settled and (isinstance(event, SchemaChange) or event.of_unknown_table):
                raise _DiscoveryRequired
            elif isinstance(event, Reject):
                rejects = self._unread.setdefault(event.diagnostic.span.table, FirstRejects())
                rejects.add(event.ordinal, event.diagnostic)

    def preview(self, whole: bool) -> Preview:
        unread: dict[str, FirstRejects] = {}
        strays = FirstRejects()
        for source, rejects in self._unread.items():
            written = self.names.get(source or "")
            if written in self._operations:
                unread[written] = rejects
            elif source is None or self._is_wanted(source):
                strays += rejects
        if self._wanted is not None and not self._operations and not strays.count:
            raise UsageError(self._no_table(self._wanted))
        met = {name: self._operations[name] for name in sorted(self._operations, key=self._first.__getitem__)}
        handlers = tuple(handler.preview(met, unread) for handler in self.handlers)
        first = tuple(diagnostic for _, diagnostic in strays.first)
        return Preview(handlers, first, strays.count - len(first), whole)

    def warnings(self) -> Iterator[str]:
        """What was written otherwise than a reader might expect, in the words of a run."""
        of_handlers = {
            handler.name: (handler.notes, handler.lost_characters)
            for handler in self.handlers
            if handler.notes or handler.lost_characters
        }
        if of_handlers:
            from ggfmt.engine import report  # most previews have nothing to warn of, and need none of what it loads

            totals = {
                name: report.HandlerTotals(notes=notes, lost_characters=lost)
                for name, (notes, lost) in of_handlers.items()
            }
            yield from report.warnings(report.Totals(handlers=totals))

    def _batch(self, batch: ChangeBatch) -> None:
        source, unusable = batch.table.full_name, None
        if self._replacer is not None:
            try:
                batch = self._replacer.batch(batch)
            except UnusableName as error:
                unusable = error.diagnostic
        name = self.names[source] = batch.table.full_name
        if not self._is_wanted(source, name):
            return
        self._operations[name] = self._operations.get(name, 0) + len(batch)
        self._first[name] = min(self._first.get(name, first := batch.ordinal[0].as_py()), first)
        for handler in self.handlers:
            rejected = handler.write(batch) if unusable is None else ((row, unusable) for row in range(len(batch)))
            for row, diagnostic in rejected:
                ordinal, rejects = batch.ordinal[row].as_py(), handler.rejects(name)
                if not rejects.full:  # it takes long to find the place of a record
                    chunk, start, _ = self.reader.locate(ordinal)
                    diagnostic = diagnostic.at(file=chunk.file, offset=chunk.offset + start)
                rejects.add(ordinal, diagnostic.at(position=batch.position[row].as_py()))

    def _is_wanted(self, *names: str) -> bool:
        """Whether one of the names of a table, in full or by its last part, is the one that is asked for."""
        if self._wanted is None:
            return True
        wanted = self._wanted.lower()
        return any(wanted in (name.lower(), name.lower().rpartition(".")[2]) for name in names)

    def _no_table(self, wanted: str) -> Diagnostic:
        met = list(dict.fromkeys(self.names.values()))
        help = f"tables in the data are {', '.join(f'`{name}`' for name in met[:_MOST_NAMES])}" if met else None
        if len(met) > _MOST_NAMES:
            help = f"{help} and {len(met) - _MOST_NAMES} more"
        near = suggestion(wanted, [*met, *(name.rpartition(".")[2] for name in met)])
        return Diagnostic(
            "GG315", f"`--table` names `{wanted}`, of which there is no operation", help=_joined(help, near)
        )


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None


_MOST_NAMES = 10
