"""The base class of the readers of records.

A reader buffers operations by table until it has enough for a batch, or until a definition changes. It keeps the chunks
of these operations too, so that it can locate each record in its file.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values, nulls
from ggfmt.columnar.columns import int64s
from ggfmt.columnar.metadata import first_token, with_added
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import KAFKA_MESSAGES, Chunk, Event, Reader, Reject, SchemaChange, starts_of
from ggfmt.formats.records.scanner import Scanner, SourceBatch
from ggfmt.model.change import PASSING, ChangeBatch, merge_in_order
from ggfmt.model.table import Catalog, TableDef

BATCH_ROWS = 4096
HELD_BYTES = 64 << 20  # after this much input, a reader also returns operations of tables with few operations

_PLACE = ("topic", "partition", "offset")  # of a message

Spans = Sequence[tuple[int, int]]
Wrong = dict[int, Diagnostic]  # problems by row of a batch


@dataclass(eq=False)
class _BufferedChunk:
    """A chunk that the reader keeps.

    first   the ordinal of its first record
    spans   start and end of each record in the data; None before the first use
    starts  the starts of its records in the data; None before the first use
    """

    first: int
    chunk: Chunk
    spans: Spans | None = None
    starts: pa.Int64Array | None = None


@dataclass
class HeldTable:
    """The operations of a table that a reader buffers.

    done        operations that are already batches of columns
    refused     rejects: operations with a problem that the conversion to columns found
    operations  operations that are not yet columns
    ordinals    the ordinals of the records of `operations`
    """

    definition: TableDef
    done: list[ChangeBatch] = field(default_factory=list, kw_only=True)
    refused: list[Reject] = field(default_factory=list, kw_only=True)
    operations: list[Any] = field(default_factory=list, kw_only=True)
    ordinals: array[int] = field(default_factory=lambda: array("q"), kw_only=True)


Table = TypeVar("Table", bound=HeldTable)


class BatchingReader(Reader, Generic[Table]):
    """A reader that buffers operations in `tables`, by full name, until it has enough for a batch.

    It can locate its records while it keeps their chunks.

    scanner             takes regular records; the reader itself reads the others exactly. None: the reader reads all
                        exactly
    ordinal             the ordinal of the next record
    transaction_tokens  the tokens with the id of the transaction; the first one that is not empty counts
    reads_tokens        the reader needs tokens, because the caller requested them or the ids of transactions
    """

    scanner: Scanner | None = None
    transaction_tokens: ClassVar[tuple[str, ...]] = ()

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self.reads_tokens = projection.tokens or (projection.transactions and bool(self.transaction_tokens))
        self.tables: dict[str, Table] = {}
        self.ordinal = 0
        self.wrapped = False  # whether a record was in a Kafka message
        self._chunks: list[_BufferedChunk] = []
        # The bytes of these chunks. A sum for each chunk would take quadratic time if files are small.
        self._held_bytes = 0

    @abstractmethod
    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        """Decode a chunk and yield the events that cannot wait; the reader may buffer operations."""

    @abstractmethod
    def spans(self, chunk: Chunk) -> Spans:
        """Return start and end of each record in the data of a chunk, in bytes."""

    def read(self, chunk: Chunk) -> Iterator[Event]:
        if not self.holds:  # until now, callers may have located records
            self._forget()
        self._chunks.append(_BufferedChunk(self.ordinal, chunk))
        self._held_bytes += len(chunk.data)
        self.wrapped |= chunk.wrapped is not None and chunk.wrapped.messages is not None
        if chunk.problem is not None:
            self.ordinal += 1
            yield self.reject(self.ordinal - 1, chunk.problem)
        else:
            yield from self.decode_chunk(chunk)
        yield from self.drain(self._held_bytes >= HELD_BYTES)

    def flush(self) -> Iterator[Event]:
        yield from self.drain(True)

    def with_transactions(self, batch: ChangeBatch) -> ChangeBatch:
        """Return a batch with the ids of transactions that are tokens, and without tokens that no one requested."""
        if not self.projection.transactions or not self.transaction_tokens or batch.tokens is None:
            return batch
        transaction = first_token(batch.tokens, self.transaction_tokens)
        return replace(batch, transaction=transaction, tokens=batch.tokens if self.projection.tokens else None)

    def _forget(self) -> None:
        self._chunks.clear()
        self._held_bytes = 0

    def know_spans(self, spans: Spans) -> None:
        """Store the spans of the latest chunk, if the caller has them before the reader needs them."""
        self._chunks[-1].spans = spans

    def know_starts(self, starts: pa.Int64Array) -> None:
        """Store the starts of the records in the latest chunk, if the caller has them before the reader needs them."""
        assert len(starts) == self.ordinal - self._chunks[-1].first
        self._chunks[-1].starts = starts

    def hold_instead(self, chunk: Chunk, cut: Chunk) -> None:
        """Replace the latest chunk by the same chunk cut into records."""
        assert self._chunks[-1].chunk is chunk
        self._chunks[-1].chunk = cut
        self._held_bytes += len(cut.data) - len(chunk.data)

    def spans_of(self, held: _BufferedChunk) -> Spans:
        """Return the `spans` of a chunk from a cache, because it takes time to find them."""
        if held.spans is None:
            held.spans = held.chunk.spans if held.chunk.problem is not None else self.spans(held.chunk)
        assert held.spans is not None
        return held.spans

    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        held = self._held(ordinal)
        if held.chunk.wrapped is not None:
            chunk = held.chunk.wrapped.chunk
            assert chunk.spans is not None
            return (replace(chunk, input=held.chunk.input), *chunk.spans[ordinal - held.first])
        return self.locate_value(ordinal)

    def locate_value(self, ordinal: int) -> tuple[Chunk, int, int]:
        """Return the place of a record as `locate` does, but without the Kafka message around it."""
        held = self._held(ordinal)
        start, end = self.spans_of(held)[ordinal - held.first]
        return held.chunk, start, end

    def place(self, ordinal: int) -> tuple[int, int]:
        held = self._held(ordinal)
        assert held.chunk.origins is not None
        origin = held.chunk.origins[ordinal - held.first]
        return origin.input, origin.offset

    @property
    def next_ordinal(self) -> int:
        return self.ordinal

    def offsets(self, ordinals: pa.Int64Array) -> pa.Int64Array:
        return pa.concat_arrays([self._offsets_in(*stretch) for stretch in self._by_chunk(ordinals)])

    def inputs(self, ordinals: pa.Int64Array) -> pa.Int64Array:
        parts = []
        for held, _, of_chunk in self._by_chunk(ordinals):
            assert held.chunk.origins is not None
            parts.append(held.chunk.origins.column("input").take(of_chunk))
        return pa.concat_arrays(parts)

    def _by_chunk(self, ordinals: pa.Int64Array) -> Iterator[tuple[_BufferedChunk, int, pa.Int64Array]]:
        """Yield each chunk with some of the records, the number of its records so far, and their places in it."""
        numbers = non_null_values(ordinals)
        place = 0
        index = bisect_right(self._chunks, numbers[0], key=lambda held: held.first) - 1
        while place < len(numbers):
            held = self._chunks[index]
            end = self._chunks[index + 1].first if index + 1 < len(self._chunks) else self.ordinal
            stop = bisect_left(numbers, end, place)
            if stop > place:
                yield held, end - held.first, pc.subtract(ordinals.slice(place, stop - place), held.first)
            place, index = stop, index + 1

    def _offsets_in(self, held: _BufferedChunk, count: int, places: pa.Int64Array) -> pa.Int64Array:
        chunk = held.chunk if held.chunk.wrapped is None else held.chunk.wrapped.chunk
        if chunk.origins is not None:
            return chunk.origins.column("offset").take(places)
        return pc.add(self._starts_of(held, count).take(places), chunk.offset)

    def _starts_of(self, held: _BufferedChunk, count: int) -> pa.Int64Array:
        """Return the starts in the data of the first `count` records of a chunk: the records read so far."""
        if held.starts is None or len(held.starts) < count:
            wrapped = held.chunk.wrapped
            known = held.spans if wrapped is None else wrapped.chunk.spans
            held.starts = self.starts_of_lines(held.chunk, count) if known is None else None
            if held.starts is None:
                held.starts = int64s(starts_of(known or self.spans_of(held), count))
        return held.starts

    def starts_of_lines(self, chunk: Chunk, count: int) -> pa.Int64Array | None:
        """Return the starts of the records of a chunk if its lines are `count` records, and that is the faster way."""
        return None

    def _held(self, ordinal: int) -> _BufferedChunk:
        return self._chunks[bisect_right(self._chunks, ordinal, key=lambda held: held.first) - 1]

    def message_key(self, ordinal: int) -> bytes | None:
        """Return the key of the message with a record; None if there is none."""
        held = self._held(ordinal)
        wrapped = held.chunk.wrapped
        return None if wrapped is None else wrapped.key(ordinal - held.first)

    def reject(self, ordinal: int, diagnostic: Diagnostic) -> Reject:
        held = self._held(ordinal)
        if held.chunk.wrapped is not None:
            diagnostic = held.chunk.wrapped.problems.get(ordinal - held.first, diagnostic)
        chunk, start, end = self.locate(ordinal)
        return Reject(ordinal, chunk.data[start:end], diagnostic.at(**chunk.span(start).record))

    def columns(self, table: Table) -> ChangeBatch | Wrong:
        """Convert the buffered operations of a table, at least one, to a batch, or return problems by row."""
        raise NotImplementedError

    def scanned_columns(self, table: Table, scanned: SourceBatch) -> ChangeBatch | Wrong:
        """Convert scanned operations to a batch, as `columns` does for exact ones. Only for readers with a scanner."""
        raise NotImplementedError

    @staticmethod
    def position(operation: Any) -> str | None:
        """Return the position of an operation that becomes a reject; None if it has no position."""
        position: str | None = operation.position
        return position

    def scanned_position(self, scanned: SourceBatch, row: int) -> str | None:
        return None

    def took(self, table: Table, scanned: SourceBatch) -> SourceBatch:
        """Return scanned operations without those that the exact reader must read; count their unknown members."""
        return scanned

    @property
    def holds(self) -> bool:
        return any(map(self.held, self.tables.values()))

    def held(self, table: Table) -> int:
        """Count the buffered operations of a table, rejects included."""
        taken = 0 if self.scanner is None else self.scanner.rows(table.definition.full_name)
        return taken + _held(table)

    def drain(self, everything: bool) -> Iterator[Event]:
        least = 1 if everything or self.projection.in_order else BATCH_ROWS * self.projection.batch_growth
        if self.scanner is not None and self.scanner.largest() < least and not any(map(_held, self.tables.values())):
            return
        for table in self.tables.values():
            if self.held(table) >= least:
                yield from self.batch(table)

    def batch(self, table: Table) -> Iterator[Event]:
        """Yield the rejects of a table by ordinal, and then all its buffered operations as one batch."""
        batches = list(self.collect(table))
        rejects, table.refused = table.refused, []
        yield from sorted(rejects, key=lambda reject: reject.ordinal)
        if batches:
            batch = self.with_transactions(merge_in_order(batches))
            yield self._with_messages(batch) if self.wrapped else batch

    def set_aside(self) -> None:
        """Convert all buffered operations to columns, which stay in the buffer, before the reader decodes otherwise."""
        for table in self.tables.values():
            table.done = list(self.collect(table))

    def collect(self, table: Table) -> Iterator[ChangeBatch]:
        """Remove the buffered operations of a table and yield them as batches, or put rejects into `table.refused`."""
        yield from self._collect_scanned(table)
        yield from table.done
        table.done = []
        while table.operations:
            batch = self.columns(table)
            operations, ordinals = table.operations, table.ordinals
            table.operations, table.ordinals = [], array("q")  # frees their memory while the batch is written
            if isinstance(batch, ChangeBatch):
                yield batch
                return
            for row in sorted(batch):
                place = {"table": table.definition.full_name, "position": self.position(operations[row])}
                table.refused.append(self.reject(ordinals[row], batch[row].at(**place)))
            table.operations = [operation for row, operation in enumerate(operations) if row not in batch]
            table.ordinals = array("q", (ordinal for row, ordinal in enumerate(ordinals) if row not in batch))

    def _collect_scanned(self, table: Table) -> Iterator[ChangeBatch]:
        name = table.definition.full_name
        scanned = None if self.scanner is None else self.scanner.take(name)
        if scanned is not None:
            scanned = self.took(table, scanned)
        while scanned is not None and len(scanned):
            batch = self.scanned_columns(table, scanned)
            if isinstance(batch, ChangeBatch):
                yield batch
                return
            for row in sorted(batch):
                place = {"table": name, "position": self.scanned_position(scanned, row)}
                table.refused.append(self.reject(scanned.ordinal[row].as_py(), batch[row].at(**place)))
            scanned = scanned.without(batch)

    def _with_messages(self, batch: ChangeBatch) -> ChangeBatch:
        """Return a batch with the places of its Kafka messages as tokens, and as positions where there is none."""
        columns = self._message_places(batch.ordinal)
        topic, *place = columns.values()
        known = pc.binary_join_element_wise(*place, ":")  # NULL where one is
        places = pc.coalesce(pc.binary_join_element_wise(topic, known, ":"), known)
        position, origin = batch.position, batch.origin
        if origin is not None and self.projection.statements:  # of rows, which need an order
            passing = pc.and_(pc.fill_null(pc.equal(origin, PASSING), False), places.is_valid())
            position, origin = (pc.if_else(passing, pa.scalar(None, pa.string()), each) for each in (position, origin))
        batch = replace(batch, position=pc.coalesce(position, places), origin=origin)
        if not self.projection.tokens:
            return batch
        return replace(batch, tokens=with_added(batch.tokens, columns))

    def _message_places(self, ordinals: pa.Int64Array) -> dict[str, pa.StringArray]:
        """Return topic, partition and offset of the messages with records as texts; NULL for what is unknown."""
        parts = []
        for held, _, places in self._by_chunk(ordinals):
            messages = None if held.chunk.wrapped is None else held.chunk.wrapped.messages
            parts.append(
                [nulls(len(places), KAFKA_MESSAGES.field(name).type) for name in _PLACE]
                if messages is None
                else [messages[name].take(places) for name in _PLACE]
            )
        columns = (pc.cast(pa.concat_arrays(column), pa.string()) for column in zip(*parts, strict=True))
        return dict(zip(_PLACE, columns, strict=True))

    def change_schema(self, definition: TableDef, ordinal: int) -> Iterator[Event]:
        """Change a definition at a record: yield the operations that must come first, and then the schema change."""
        held = self.tables.get(definition.full_name)
        if self.projection.in_order:
            yield from self.drain(True)
        elif held is not None:
            yield from self.batch(held)
        self.catalog = self.catalog.with_tables([definition])
        chunk, start, _ = self.locate(ordinal)
        yield SchemaChange.met(definition, chunk, start)


def _held(table: HeldTable) -> int:
    return len(table.operations) + sum(map(len, table.done)) + len(table.refused)
