"""One handler's part of a preview: the first messages of each table, shown by their format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ggfmt.columnar.clock import Clock
from ggfmt.config.handlers import HandlerConfig
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.engine.pipeline import format_batch
from ggfmt.engine.plan import settled_options
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.show import Show, Shown, TextShow
from ggfmt.formats.api.writing import Formatter, Framing, Note
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.table import TableDef

MOST_REJECTS = 3  # of a table that are shown; the others are counted
HOPELESS = 1000  # rejects of a table, after which it is not read on for more messages of it


@dataclass(frozen=True)
class Message:
    """One message: the kind of its operation in a word, `data` as in the file (of a file of blocks, as in its block),
    and how it is shown. `of_key_update`: it is one of the two that a primary key update became."""

    kind: str
    position: str | None
    data: bytes
    shown: Shown
    of_key_update: bool = False


@dataclass(frozen=True)
class ShownFields:
    """A definition that holds from here on: what its messages are made of, and facts about their files."""

    names: tuple[str, ...]
    about: tuple[str, ...]


@dataclass(frozen=True)
class TablePreview:
    """A table by the name in its messages: how many operations were met of it, and in the order of the input its first
    messages, the definitions that they have, and its first rejects; `more_rejects` counts the others."""

    table: str
    operations: int
    items: tuple[Message | ShownFields | Diagnostic, ...]
    more_rejects: int = 0


@dataclass(frozen=True)
class HandlerPreview:
    handler: str
    format: str
    tables: tuple[TablePreview, ...]


@dataclass
class FirstRejects:
    """Rejects by the ordinal of their record: the first of them, and how many there are."""

    count: int = 0
    first: list[tuple[int, Diagnostic]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether there are so many that others are only counted."""
        return len(self.first) >= MOST_REJECTS

    def add(self, ordinal: int, diagnostic: Diagnostic) -> None:
        self.count += 1
        if not self.full:
            self.first.append((ordinal, diagnostic))

    def __add__(self, other: FirstRejects) -> FirstRejects:
        first = sorted([*self.first, *other.first], key=lambda item: item[0])
        return FirstRejects(self.count + other.count, first[:MOST_REJECTS])


class PreviewHandler:
    """Formats operations for one handler, until there are `count` messages of their table.

    `notes` and `lost_characters` are of all messages made.
    """

    def __init__(self, config: HandlerConfig, release: str, clock: Clock, count: int) -> None:
        self.name = config.name
        self.lost_characters = 0
        self._format = FORMATS[config.format]
        self._options = settled_options(config.options)
        self._context = Context(config.handler.include_tokens, release, config.handler.compression_codec)
        self._by_table = config.handler.partition_by_table
        self._clock = clock
        self._count = count
        self._tables: dict[str, _Table] = {}

    @property
    def projection(self) -> Projection:
        own = self._format.write_side.projection(self._options)
        tokens = own.tokens or self._context.include_tokens
        return Projection(own.row_only, own.key_updates, tokens, in_order=not self._by_table)

    @property
    def enough(self) -> bool:
        return all(table.enough for table in self._tables.values())

    @property
    def notes(self) -> Counter[Note]:
        notes: Counter[Note] = Counter()
        for table in self._tables.values():
            for formatter in table.formatters:
                notes.update(formatter.notes)
        return notes

    def write(self, batch: ChangeBatch) -> Iterator[tuple[int, Diagnostic]]:
        """Formats the first operations of a batch; hands back those that cannot be formatted, by their row."""
        name = batch.table.full_name
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table(self._count)
        if not table.enough and (not table.formatters or table.formatters[-1].table != batch.table):
            formatter = self._format.write_side.formatter(batch.table, self._options, self._context, self._clock)
            table.begin(formatter, batch.ordinal[0].as_py())
        start = step = 0
        while start < len(batch) and not table.enough:
            # No more than are wanted, unless they were rejects: looking for others must not take long.
            step = max(2 * step, self._count - table.messages)
            rows = range(start, min(start + step, len(batch)))
            start = rows.stop
            yield from self._rows(table, batch, rows)

    def rejects(self, table: str) -> FirstRejects:
        """The operations of a table that cannot be written; whoever finds one adds it."""
        return self._tables.setdefault(table, _Table(self._count)).rejects

    def preview(self, operations: Mapping[str, int], unread: Mapping[str, FirstRejects]) -> HandlerPreview:
        """What there is now, of the tables of `operations`; `unread` are records of theirs that cannot be read."""
        tables = (
            self._tables[name].preview(name, count, unread.get(name, FirstRejects()))
            for name, count in operations.items()
        )
        return HandlerPreview(self.name, self._format.name, tuple(tables))

    def _rows(self, table: _Table, batch: ChangeBatch, wanted: range) -> Iterator[tuple[int, Diagnostic]]:
        formatter = table.formatters[-1]
        refused, made = format_batch(formatter, batch, wanted)
        yield from refused
        if made is None:
            return
        show, framing = self._show(table, formatter)
        messages, arranged = made.messages, made.arranged
        for row in range(min(len(messages), self._count - table.messages)):
            data, lost = messages[row].as_py(), 0
            if show.framed:
                data, lost = framing.frame(messages.slice(row, 1))
            self.lost_characters += lost
            split = made.operations.op[made.sources[row]].as_py() != arranged.op[row].as_py()
            kind, position = OpType(arranged.op[row].as_py()).name.lower(), arranged.position[row].as_py()
            shown = show.message(bytes(data))
            table.add(arranged.ordinal[row].as_py(), Message(kind, position, bytes(data), shown, split))

    def _show(self, table: _Table, formatter: Formatter) -> tuple[Show, Framing]:
        """Made for the first message of a definition, because there may be no schema of one without messages."""
        if table.shows is None:
            make = self._format.write_side.show
            charset = getattr(self._options, "encoding", "UTF-8")
            show = TextShow(charset) if make is None else make(formatter, self._options, self._context)
            of_file: TableDef | None = formatter.table if self._by_table else None
            table.shows = show, self._format.write_side.framing(of_file, self._options, self._context)
            table.describe(show.about)
        return table.shows


class _Table:
    """What a handler has of one table; items by the ordinal of their record."""

    def __init__(self, count: int) -> None:
        self.formatters: list[Formatter] = []
        self.messages = 0
        self.rejects = FirstRejects()
        self.shows: tuple[Show, Framing] | None = None
        self._count = count
        self._items: list[tuple[int, Message | ShownFields | Diagnostic]] = []

    @property
    def enough(self) -> bool:
        return self.messages >= self._count or self.rejects.count >= HOPELESS

    def begin(self, formatter: Formatter, ordinal: int) -> None:
        """Takes note of a definition that holds from a record on."""
        self._items.append((ordinal if self.formatters else -1, ShownFields(formatter.fields, ())))
        self.formatters.append(formatter)
        self.shows = None

    def describe(self, about: tuple[str, ...]) -> None:
        """Adds facts to the last definition."""
        place = max(index for index, (_, item) in enumerate(self._items) if isinstance(item, ShownFields))
        ordinal, item = self._items[place]
        assert isinstance(item, ShownFields)
        self._items[place] = ordinal, ShownFields(item.names, about)

    def add(self, ordinal: int, message: Message) -> None:
        self._items.append((ordinal, message))
        self.messages += 1

    def preview(self, name: str, operations: int, unread: FirstRejects) -> TablePreview:
        rejects = self.rejects + unread
        items = sorted([*self._items, *rejects.first], key=lambda item: item[0])
        return TablePreview(name, operations, tuple(item for _, item in items), rejects.count - len(rejects.first))
