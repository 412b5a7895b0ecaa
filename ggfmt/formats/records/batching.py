"""What readers of records share: operations are held by table until there are enough for a batch, or a definition
changes; the chunks that they come from are held with them, so that the place of a record can be told."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Reader, Reject, SchemaChange
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

BATCH_ROWS = 4096
HELD_BYTES = 32 << 20  # operations of rare tables are held over this much input

Spans = Sequence[tuple[int, int]]
Wrong = dict[int, Diagnostic]  # by the row of a batch


class PlacingReader(Reader):
    """A reader that knows where its records are, as long as it holds their chunks; `ordinal` is that of the next."""

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self.ordinal = 0
        self._chunks: list[tuple[int, Chunk]] = []
        self._latest: tuple[Chunk, Spans] | None = None

    @abstractmethod
    def take_in(self, chunk: Chunk) -> Iterator[Event]:
        """The events of a chunk as far as they cannot wait; operations may be held back."""

    @abstractmethod
    def spans(self, chunk: Chunk) -> Spans:
        """Start and end of every record of a chunk."""

    def read(self, chunk: Chunk) -> Iterator[Event]:
        self._chunks.append((self.ordinal, chunk))
        yield from self.take_in(chunk)
        yield from self.hand_out(sum(len(held.data) for _, held in self._chunks) >= HELD_BYTES)
        if not self.holds:
            self._forget()

    def flush(self) -> Iterator[Event]:
        yield from self.hand_out(True)
        self._forget()

    @property
    def holds(self) -> bool:
        """Whether operations are held back."""
        return False

    def hand_out(self, everything: bool) -> Iterator[Event]:
        """What has been held back for long enough, or everything."""
        return iter(())

    def _forget(self) -> None:
        self._chunks.clear()
        self._latest = None

    def know_spans(self, chunk: Chunk, spans: Spans) -> None:
        """Takes the spans of the latest chunk from whoever has them before they are asked for."""
        self._latest = chunk, spans

    def spans_of(self, chunk: Chunk) -> Spans:
        """The `spans` of a chunk, which are work to find and are kept for the latest one."""
        if self._latest is None or self._latest[0] is not chunk:
            self._latest = chunk, self.spans(chunk)
        return self._latest[1]

    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        first, chunk = self._chunks[bisect_right(self._chunks, ordinal, key=lambda held: held[0]) - 1]
        start, end = self.spans_of(chunk)[ordinal - first]
        return chunk, start, end

    def reject(self, ordinal: int, diagnostic: Diagnostic) -> Reject:
        chunk, start, end = self.locate(ordinal)
        return Reject(ordinal, chunk.data[start:end], diagnostic.at(file=chunk.file, offset=chunk.offset + start))


@dataclass
class HeldTable:
    """The operations of a table that were read and not yet handed out, and the ordinals of their records."""

    definition: TableDef
    operations: list[Any] = field(default_factory=list, kw_only=True)
    ordinals: array[int] = field(default_factory=lambda: array("q"), kw_only=True)


Table = TypeVar("Table", bound=HeldTable)


class BatchingReader(PlacingReader, Generic[Table]):
    """A reader whose operations wait in `tables`, by full name, until there are enough for a batch."""

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self.tables: dict[str, Table] = {}

    @abstractmethod
    def columns(self, table: Table) -> ChangeBatch | Wrong:
        """The operations held for a table, of which there are some, or what is wrong with some of them."""

    @staticmethod
    def position(operation: Any) -> str | None:
        """The position of an operation that turned out to be none."""
        position: str | None = operation.position
        return position

    @property
    def holds(self) -> bool:
        return any(table.operations for table in self.tables.values())

    def hand_out(self, everything: bool) -> Iterator[Event]:
        for table in self.tables.values():
            if everything or self.projection.in_order or len(table.operations) >= BATCH_ROWS:
                yield from self.batch(table)

    def batch(self, table: Table) -> Iterator[Event]:
        """The operations held for a table as one batch, after rejects of those that turn out to be none."""
        while table.operations:
            batch = self.columns(table)
            operations, ordinals = table.operations, table.ordinals
            table.operations, table.ordinals = [], array("q")
            if isinstance(batch, ChangeBatch):
                yield batch
                return
            for row in sorted(batch):
                place = {"table": table.definition.full_name, "position": self.position(operations[row])}
                yield self.reject(ordinals[row], batch[row].at(**place))
            table.operations = [operation for row, operation in enumerate(operations) if row not in batch]
            table.ordinals = array("q", (ordinal for row, ordinal in enumerate(ordinals) if row not in batch))

    def change_schema(self, definition: TableDef, ordinal: int) -> Iterator[Event]:
        """A metadata change event at a record, after the operations before it that must not wait."""
        held = self.tables.get(definition.full_name)
        if self.projection.in_order:
            yield from self.hand_out(True)
        elif held is not None:
            yield from self.batch(held)
        self.catalog = self.catalog.with_tables([definition])
        chunk, start, _ = self.locate(ordinal)
        yield SchemaChange(definition, chunk.input, chunk.offset + start)
