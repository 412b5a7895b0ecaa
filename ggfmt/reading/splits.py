"""Inputs cut into splits, and the records of a split.

Splits are made here and not by Spark, whose file sources pack files by size and promise no order.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Reader, Reject, SchemaChange, SplitBoundaryError
from ggfmt.java.text import visible
from ggfmt.model.change import ChangeBatch
from ggfmt.model.selection import ALL_TABLES, TableSelection
from ggfmt.model.table import Catalog, TableDef
from ggfmt.reading.files import defect, open_unchanged, read_error
from ggfmt.reading.recognition import PlannedInput, reader_of

if TYPE_CHECKING:
    from ggfmt.reading.view import View
    from ggfmt.replicat.account import Fate

SPLIT_BYTES = 256 << 20
MIN_SPLIT_BYTES = 8 << 20
FIRST_WINDOW_BYTES = 64 << 10
WINDOW_GROWTH = 4

log = logging.getLogger("ggfmt")


J = TypeVar("J", bound="ReadJob")


@dataclass(frozen=True)
class ReadJob:
    """How tasks read: the format of the inputs, and the definitions of tables."""

    input_format: str
    catalog: Catalog
    events: tuple[SchemaChange, ...] = ()  # metadata changes in the data, in input order
    settled: bool = False  # all definitions in the data are known, so that no task need look for more
    source: WriterSettings = DEFAULT_SETTINGS
    reason: str = ""  # why the input format was taken, with the place that shows it
    selection: TableSelection = ALL_TABLES  # the tables whose operations are read
    routed: bool = False  # a task reads the operations of some tables, whatever was between them
    statements: bool = False  # statements that drop or create tables are operations
    may_divide: int = 0  # tasks of so many splits may ask to divide the records by table

    @property
    def definitions(self) -> list[TableDef]:
        """All definitions of tables."""
        return [*self.catalog.tables(), *(event.table for event in self.events)]

    @property
    def shown(self: J) -> J:
        """The job with the definitions of what is shown; tasks read by those of the data."""
        view = view_of(self.selection)
        if view is None:
            return self

        def shown(tables: Mapping[str, TableDef]) -> dict[str, TableDef]:
            return {own.full_name: own for table in tables.values() for own in view.tables(table)}

        catalog = replace(self.catalog, trusted=shown(self.catalog.trusted), current=shown(self.catalog.current))
        events = (replace(event, table=own) for event in self.events for own in view.tables(event.table))
        selection = self.selection if self.selection.maps is None else ALL_TABLES  # its patterns are for other names
        return replace(self, catalog=catalog, events=tuple(dict.fromkeys(events)), selection=selection)

    def reader(self, catalog: Catalog, projection: Projection) -> Reader:
        """Return a reader of some splits. `catalog`: the definitions where they start."""
        maps = self.selection.maps
        if maps is not None:
            tables = [table for table in self.definitions if self.selection.selects(table.full_name)]
            in_order = projection.in_order or (maps.joins and maps.join({table.full_name for table in tables}))
            projection = replace(
                projection,
                row_only=projection.row_only and not maps.needs_images(tables),
                key_updates=True,
                tokens=projection.tokens or maps.needs_tokens,
                in_order=in_order,
            )
        return reader_of(self.input_format, self.source)(catalog, projection, self.source)

    def catalog_at(self, split: Split) -> Catalog:
        return self.catalog.with_tables(event.table for event in self.events[: self.epoch_at(split)])

    def epoch_at(self, split: Split) -> int:
        if not self.events:
            return 0
        first = split.first
        place = (first.input.index, first.start)
        return sum((event.input, event.line) < place for event in self.events)

    def epoch_after(self, event: SchemaChange) -> int:
        return self._epochs[event.input, event.offset, event.table.full_name]

    @cached_property
    def _epochs(self) -> dict[tuple[int, int, str], int]:
        places = ((event.input, event.offset, event.table.full_name) for event in self.events)
        return {place: number for number, place in enumerate(places, 1)}


@dataclass
class Budget:
    """The number of bytes that a window reads, after decompression; `exceeded`: the inputs have more."""

    size: int
    used: int = 0
    exceeded: bool = False

    def take(self, size: int) -> bool:
        if self.used >= self.size:
            self.exceeded = True
            return False
        self.used += size
        return True


@dataclass(frozen=True)
class Range:
    """The records of an input that start in `length` bytes from `start`; None: up to the end, or the budget's."""

    input: PlannedInput
    start: int
    length: int | None
    budget: Budget | None = None

    @property
    def size(self) -> int:
        return self.input.file.size if self.length is None else self.length

    def chunks(self, reader: type[Reader]) -> Iterator[Chunk]:
        """Yield the chunks of the range. Raises: Abend GG310 if its file has changed since the plan, `read_error`."""
        file, is_reading = self.input.file, True
        try:
            end = None if self.length is None or file.compression is not None else self.start + self.length
            with open_unchanged(file, 0 if file.compression else self.start, end) as stream:
                for chunk in reader.chunks(stream, file.shown, self.start, self.length, self.input.layout):
                    if self.budget is not None and not self.budget.take(len(chunk.data)):
                        return
                    is_reading = False
                    yield replace(chunk, input=self.input.index)
                    is_reading = True
        except (OSError, pa.ArrowException) as error:
            if is_reading:  # otherwise the caller has what it needs, and the file could not be closed
                raise read_error(file, error) from None


@dataclass(frozen=True)
class Split:
    ordinal: int
    ranges: Iterable[Range]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.ranges)

    @property
    def first(self) -> Range:
        return next(iter(self.ranges))


class Cut(Protocol):
    """Inputs that are cut into splits."""

    @property
    def all(self) -> Sequence[Split]: ...

    @property
    def sizes(self) -> list[int]:
        """The bytes of each split."""

    def read_whole(self, crossed: Collection[int]) -> None:
        """Keep the inputs with these indices whole: a record crosses the end of a range in them. Splits without ranges
        of them stay as they are, with their ordinals."""


class Splits:
    """Splits of about equal size, in input order. Files that cannot be split stay whole; small files share a split."""

    def __init__(self, inputs: Sequence[PlannedInput], tasks: int, split_size: int | None = None) -> None:
        """`tasks`: how many splits there should be, unless they would be small or large."""
        total = sum(item.file.size for item in inputs)
        share = -(-total // tasks)  # rounded up: the rest would be a task of a few bytes
        self._inputs = inputs
        self.all: Sequence[Split] = _cut(inputs, split_size or min(max(share, MIN_SPLIT_BYTES), SPLIT_BYTES))

    @property
    def sizes(self) -> list[int]:
        return [split.size for split in self.all]

    def read_whole(self, crossed: Collection[int]) -> None:
        for item in self._inputs:
            if item.index in crossed:
                log.info(
                    "%s: a record crosses a split boundary; one task reads the whole file (same result, slower)",
                    visible(item.file.shown),
                )
        cut = (Split(split.ordinal, tuple(_with_whole(split.ranges, crossed))) for split in self.all)
        self.all = [split for split in cut if split.ranges]


def _with_whole(ranges: Iterable[Range], crossed: Collection[int]) -> Iterator[Range]:
    """Yield ranges, with one for all of an input of `crossed` in the place of its first."""
    for part in ranges:
        if part.input.index not in crossed:
            yield part
        elif not part.start:
            yield Range(replace(part.input, whole=True), 0, None)


def _cut(inputs: Sequence[PlannedInput], size: int) -> list[Split]:
    groups: list[list[Range]] = [[]]
    room = size
    for item in inputs:
        if item.file.compression is not None or item.whole or not item.layout.splittable:
            if room < size and item.file.size > room:
                groups.append([])
                room = size
            groups[-1].append(Range(item, 0, None))
            room -= item.file.size
        else:
            start = 0
            while start < item.file.size:
                length = min(room, item.file.size - start)
                groups[-1].append(Range(item, start, length))
                start += length
                room -= length
                if room <= 0:
                    groups.append([])
                    room = size
        if room <= 0:
            groups.append([])
            room = size
    return [Split(ordinal, tuple(ranges)) for ordinal, ranges in enumerate(group for group in groups if group)]


class Window:
    """The first bytes of inputs as one split that grows by chunks. It opens an input only when its turn comes."""

    def __init__(self, count: int, input: Callable[[int], PlannedInput], size: int = FIRST_WINDOW_BYTES) -> None:
        self._count, self._input, self._size = count, input, size
        self._budget = Budget(size)
        self._whole: set[int] = set()

    @property
    def all(self) -> Sequence[Split]:
        return [Split(0, self)]

    @property
    def sizes(self) -> list[int]:
        return [self._size]

    @property
    def size(self) -> int:
        return self._size

    @property
    def used(self) -> int:
        """The number of bytes of the last read, after decompression."""
        return self._budget.used

    @property
    def has_everything(self) -> bool:
        return not self._budget.exceeded

    def read_whole(self, crossed: Collection[int]) -> None:
        self._whole |= set(crossed)

    def grow(self) -> None:
        self._size = max(self._size, self.used) * WINDOW_GROWTH

    def __iter__(self) -> Iterator[Range]:
        """Yield the ranges from the first; each iteration counts from zero."""
        budget = self._budget = Budget(self._size)
        for index in range(self._count):
            if budget.exceeded:
                return
            item = self._input(index)
            file = item.file
            seekable = file.compression is None and file.opened is None
            if item.layout.splittable and seekable and index not in self._whole:
                yield from self._ranges(item, budget)
            else:
                yield Range(item, 0, None, budget)

    def _ranges(self, item: PlannedInput, budget: Budget) -> Iterator[Range]:
        start = 0
        while start < item.file.size:
            end = FIRST_WINDOW_BYTES
            while end <= budget.used:
                end *= WINDOW_GROWTH
            length = min(min(end, self._size) - budget.used, item.file.size - start)
            if not budget.take(length):
                return
            yield Range(item, start, length)
            start += length


class SplitReader:
    """A reader over the ranges of a split, chunk by chunk. It passes on the events of the selected tables, masked.

    start    is called with each range that has records, and its first chunk
    input    the present one
    skipped  number of records of other tables, by table
    account  what became of operations by the MAPs of a Replicat
    """

    def __init__(
        self,
        reader: Reader,
        split: Split,
        selection: TableSelection = ALL_TABLES,
        start: Callable[[Range, Chunk], None] = lambda part, chunk: None,
        skipped: Counter[str] | None = None,
        account: Counter[Fate] | None = None,
    ) -> None:
        self._reader, self._split, self._selection, self._start = reader, split, selection, start
        self.input: PlannedInput | None = None
        self.skipped: Counter[str] = Counter() if skipped is None else skipped
        self.account: Counter[Fate] = Counter() if account is None else account
        self._view = view_of(selection, self.account)

    def __iter__(self) -> Iterator[Iterator[Event]]:
        """Yield the events of each chunk, and those at the end. Raises: Abend GG310, or GG512 for an exception that no
        reader should raise; SplitBoundaryError if one task has to read all of `input`."""
        place = Span()
        for part in self._split.ranges:
            self.input = part.input
            for number, chunk in enumerate(part.chunks(type(self._reader))):
                if not number:
                    self._start(part, chunk)
                place = chunk.span(0)
                yield self._selected(guarded(self._reader.read(chunk), place))
        yield self._selected(guarded(self._reader.flush(), place))

    def _selected(self, events: Iterator[Event]) -> Iterator[Event]:
        if self._selection:
            events = (event for event in events if self._selects(event))
        return events if self._view is None else self._view.events(events, self._reader.catalog)

    def _selects(self, event: Event) -> bool:
        """Return whether the table of an event is selected. A record whose table is unknown, and a statement, is."""
        if isinstance(event, Reject):
            name, records = event.diagnostic.span.table, 1
        elif isinstance(event, (ChangeBatch, SchemaChange)):
            name, records = event.table.full_name, len(event) if isinstance(event, ChangeBatch) else 0
        else:  # a statement, which may be on several tables
            return True
        if name is None or self._selection.selects(name):
            return True
        if self._view is None or not self._selection.has_patterns_for(name):
            self.skipped[name] += records
        elif records:
            self._view.leave_out(name, records)
        return False


def view_of(selection: TableSelection, account: Counter[Fate] | None = None) -> View | None:
    """Return what changes operations between a reader and a sink; None if nothing does."""
    if not selection.changes:
        return None
    from ggfmt.reading.view import View  # most runs do without

    return View(selection, account)


def guarded(events: Iterator[Event], place: Span) -> Iterator[Event]:
    """Yield the events of a chunk at this place. Raises: Abend GG512 for an exception that no reader should raise."""
    try:
        yield from events
    except (SplitBoundaryError, OSError, MemoryError, Abend):
        raise
    except Exception as error:
        raise Abend.of(defect(error, place)) from None
