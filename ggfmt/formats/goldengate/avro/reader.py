"""What readers of GoldenGate's Avro share: decoded messages become batches of operations."""

from __future__ import annotations

import struct
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Reject
from ggfmt.formats.goldengate.avro.plan import Plan
from ggfmt.formats.goldengate.avro.scan import Scan
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.records.batching import BatchingReader, HeldTable, Spans
from ggfmt.formats.records.refused import legal_values
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog

DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError, RecursionError)


@dataclass
class _Table(HeldTable):
    plan: Plan
    scan: Scan | None


class _Places(Sequence[tuple[int, int]]):
    """Where the records of a chunk are."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")

    def append(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def repeat(self, start: int, end: int, count: int) -> None:
        """As many records in one place."""
        self._starts.extend(array("q", [start]) * count)
        self._ends.extend(array("q", [end]) * count)

    def follow(self, start: int, ends: Any) -> None:
        """Records behind each other; `ends` are 64-bit numbers."""
        stops = array("q")
        stops.frombytes(ends)
        if stops:
            self._starts.append(start)
            self._starts.extend(stops[:-1])
            self._ends.extend(stops)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        if isinstance(index, int):
            return self._starts[index], self._ends[index]
        return list(zip(self._starts[index], self._ends[index], strict=True))


class AvroReader(BatchingReader[_Table]):
    """What both kinds of readers share: decoded messages become batches, none of which reaches over a chunk. The places
    of messages are known only to whoever decodes them. `most_rows` are those of a batch, 0 for no bound."""

    most_rows: ClassVar[int] = 0

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._keys = op_keys(source.options)
        self._spans = _Places()
        self.scan: Scan | None = None  # of the present plans

    @abstractmethod
    def messages(self, chunk: Chunk) -> Iterator[Event]:
        """Holds the messages of a chunk."""

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        self._spans = _Places()
        self.know_spans(self._spans)
        yield from self.messages(chunk)
        yield from self.drain(True)

    def spans(self, chunk: Chunk) -> Spans:
        return self._spans

    def columns(self, table: _Table) -> ChangeBatch:
        return table.plan.batch(table.operations, table.ordinals, self.projection.tokens)

    def held(self, table: _Table) -> int:
        return super().held(table) + (0 if table.scan is None else table.scan.count(table.plan))

    def collect(self, table: _Table) -> Iterator[ChangeBatch]:
        if table.scan is not None and table.scan.count(table.plan):
            yield table.scan.batch(table.plan)
        yield from super().collect(table)

    def hold_table(self, plan: Plan) -> _Table:
        """The table that holds the operations of a plan, some of which the kernel may take."""
        table = self.tables.get(plan.table.full_name)
        if table is None or table.plan is not plan:
            table = self.tables[plan.table.full_name] = _Table(plan.table, plan, self.scan)
        return table

    def _hold(self, plan: Plan, message: dict[str, Any], start: int, end: int) -> Iterator[Event]:
        """Keeps a message that lies there in the present chunk, unless it is no operation."""
        problem = self._problem(plan, message)
        if problem is not None:
            yield self._reject(start, end, problem)
            return
        table = self.hold_table(plan)
        table.operations.append(message)
        table.ordinals.append(self._next(start, end))
        if self.held(table) == self.most_rows:
            yield from self.batch(table)

    def took(self, start: int, end: int, count: int) -> None:
        """Takes note of operations that the kernel took, all of them in one place of the present chunk."""
        self._spans.repeat(start, end, count)
        self.ordinal += count

    def note_records(self, start: int, ends: Any, count: int) -> None:
        """Takes note of operations that the kernel took, one behind the other."""
        self._spans.follow(start, ends)
        self.ordinal += count

    def _next(self, start: int, end: int) -> int:
        """The ordinal of a record that lies there in the present chunk."""
        self._spans.append(start, end)
        self.ordinal += 1
        return self.ordinal - 1

    def _reject(self, start: int, end: int, diagnostic: Diagnostic) -> Reject:
        return self.reject(self._next(start, end), diagnostic)

    def _problem(self, plan: Plan, message: dict[str, Any]) -> Diagnostic | None:
        """Why a message is no operation."""
        place = Span(table=plan.table.full_name, position=plan.position(message))
        if plan.kind(message) is None:
            word = plan.op_key(message)
            word = word if len(word) <= 40 else "that"
            return Diagnostic("GG304", f"`{plan.op_field}` cannot be `{word}`", place, legal_values(self._keys))
        if plan.unknown:
            reason = "the schema has a column that the definition of the table lacks"
            return Diagnostic("GG204", reason, Span(table=plan.table.full_name, field=plan.unknown[0]))
        return None
