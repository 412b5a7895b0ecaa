"""The preview of one handler: the first messages of each table, as their format shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

from ggfmt.columnar.metadata import Clock
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.writing import Formatter, Framing, LossNote, Show, ShownMessage, show_bytes, show_text
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.sinks.messages.pipeline import FormattedBatch, HandlerSettings, Pipeline

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
