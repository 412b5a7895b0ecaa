"""Reader of XML, and the discovery of what its tables are.

Every message lists all columns of its table in order, so that another list is a metadata change event. For a table of
`--definitions` it is not: what the file says holds, and a column that it does not have is a mistake.

What the format does not show is lost before it is read: the before image of an update in which every column is missing
is taken for none at all, and an absent time stamp or position is an empty text.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from ggfmt.columnar.from_python import MISSING, int64s, text_column, texts, token_maps
from ggfmt.columnar.images import unless_all
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import (
    Chunk,
    Discovery,
    Event,
    Layout,
    ReadSupport,
    SchemaChange,
    UnknownTable,
)
from ggfmt.formats.api.spans import Spans
from ggfmt.formats.goldengate.discovery import settle_changes
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.xml import records as xml_records
from ggfmt.formats.goldengate.xml.operation import XmlOperation, examine, misfit
from ggfmt.formats.goldengate.xml.records import find_layout, records
from ggfmt.formats.goldengate.xml.regular import RegularOperations
from ggfmt.formats.records.batching import BatchingReader, HeldTable
from ggfmt.formats.records.problems import unknown_column
from ggfmt.java.charsets import native_charset
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, Column, TableDef
from ggfmt.options.value_types import NATIVE


@dataclass
class _Table(HeldTable):
    """The operations held for a table. All list the columns `listed`; `places` tells where in that list each column of
    the definition is, None for one that is not."""

    listed: tuple[str, ...]
    places: tuple[int | None, ...]


class XmlReader(BatchingReader[_Table]):
    """Reads GoldenGate XML; `source.options`, if there are some, are `XmlOptions`."""

    sniff = staticmethod(xml_records.sniff)

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._kinds = _kinds(source)
        self._regular = RegularOperations(self._kinds, True, projection.tokens)

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> Layout:
        charset = "UTF-8" if source.options is None else source.options.encoding
        return find_layout(head, native_charset() if charset == NATIVE else charset)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return xml_records.chunks(stream, file, layout)

    def spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        return [(record.start, record.end) for record in records(chunk)]

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        first, spans = self.ordinal, Spans()
        self.know_spans(spans)
        for record in self._regular.odd_records(chunk, first, spans):
            self.ordinal = first + len(spans) - 1
            operation = examine(record.content, self.projection.tokens)
            problem = operation if isinstance(operation, Diagnostic) else (yield from self._hold(operation))
            if problem is not None:
                yield self.reject(self.ordinal, problem)
        self.ordinal = first + len(spans)

    def _hold(self, operation: XmlOperation) -> Generator[Event, None, Diagnostic | None]:
        """Keeps an operation until there is a batch of them, or tells what is wrong with it."""
        table = self.tables.get(operation.table)
        if table is None or table.listed != operation.columns:
            problem = yield from self._meet(operation)
            if problem is not None or self._regular.again:
                return problem
        kind = self._kinds.get(operation.type or "")
        problem = misfit(operation, kind, self._kinds)
        if problem is not None or kind is None:
            return problem
        for name in operation.unknown:
            self.members[name] += 1
        operation.kind = kind
        table = self.tables[operation.table]
        table.operations.append(operation)
        table.ordinals.append(self.ordinal)
        return None

    def _meet(self, operation: XmlOperation) -> Generator[Event, None, Diagnostic | None]:
        """Makes ready for the columns that an operation lists, or tells why it cannot be an operation of its table."""
        name = operation.table
        definition = self.catalog.get(name)
        if definition is None:
            return UnknownTable.named(name, Span(table=name, position=operation.position))
        changed = False
        if name not in self.catalog.trusted:
            listed = _definition(name, operation.columns)
            if listed.column_names != definition.column_names:
                changed, definition = True, self.catalog.settle(listed)
        unknown = next((column for column in operation.columns if column not in definition.column_names), None)
        if unknown is not None:
            return unknown_column("the operation", name, unknown, operation.position)
        if changed:
            yield from self.change_schema(definition, self.ordinal)
        elif name in self.tables:
            yield from self.batch(self.tables[name])
        place_of = {column: place for place, column in enumerate(operation.columns)}
        places = tuple(place_of.get(column) for column in definition.column_names)
        self.tables[name] = _Table(definition, operation.columns, places)
        self._regular.bind(name, operation.columns)
        return None

    def held(self, table: _Table) -> int:
        return super().held(table) + self._regular.held(table.definition.full_name)

    def collect(self, table: _Table) -> Iterator[ChangeBatch]:
        scanned = self._regular.take(table.definition.full_name)
        if scanned is not None:
            op_ts, position = scanned.slots
            yield ChangeBatch(
                table.definition,
                scanned.op,
                op_ts.values,
                position.values,
                Image(_placed(table.places, scanned.before, len(scanned)), unless_all(scanned.has_before)),
                Image(_placed(table.places, scanned.after, len(scanned)), unless_all(scanned.has_after)),
                scanned.ordinal,
                scanned.tokens,
            )
        yield from super().collect(table)

    def columns(self, table: _Table) -> ChangeBatch:
        operations: list[XmlOperation] = table.operations
        kinds = [operation.kind for operation in operations]
        befores = [kind == "D" or (kind == "U" and op.has_before) for op, kind in zip(operations, kinds, strict=True)]
        return ChangeBatch(
            table.definition,
            texts(kinds),
            texts([operation.op_ts for operation in operations]),
            texts([operation.position for operation in operations]),
            _image(table.places, [operation.before for operation in operations], befores),
            _image(table.places, [operation.after for operation in operations], [kind in "IU" for kind in kinds]),
            int64s(table.ordinals),
            token_maps(operation.tokens for operation in operations) if self.projection.tokens else None,
        )


def _kinds(source: WriterSettings) -> dict[str, str]:
    """What the words for operation types stand for."""
    kinds = {name: op.value for op in OpType for name in (op.value, op.name)}
    if source.options is not None:
        kinds |= dict(zip(op_keys(source.options), (op.value for op in OpType), strict=True))
    return kinds


def _placed(places: Sequence[int | None], columns: Sequence[ImageColumn], rows: int) -> tuple[ImageColumn, ...]:
    """The columns that are listed, in the places of the definition."""
    absent = ImageColumn(pa.nulls(rows, pa.string()), pa.repeat(pa.scalar(False), rows))
    return tuple(absent if place is None else columns[place] for place in places)


def _image(places: Sequence[int | None], rows: Sequence[Sequence[str | None]], exists: Sequence[bool]) -> Image:
    listed = list(zip(*rows, strict=True))
    absent = [MISSING] * len(rows)
    columns: list[ImageColumn] = [text_column(absent if place is None else listed[place]) for place in places]
    return Image(tuple(columns), None if all(exists) else pa.array(exists, pa.bool_()))


def _definition(table: str, columns: Sequence[str]) -> TableDef:
    return TableDef(table, tuple(map(Column, columns)))


class XmlDiscovery(Discovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._trusted = catalog.trusted
        self._last: dict[str, tuple[str, ...]] = {}
        self._findings: list[SchemaChange] = []
        self._regular = RegularOperations({}, False, False)

    def read(self, chunk: Chunk) -> None:
        for record in self._regular.odd_records(chunk, 0, Spans()):
            operation = examine(record.content, False)
            if isinstance(operation, XmlOperation) and self._last.get(operation.table) != operation.columns:
                self._last[operation.table] = operation.columns
                self._regular.bind(operation.table, operation.columns)
                if operation.table not in self._trusted:
                    table = _definition(operation.table, operation.columns)
                    self._findings.append(SchemaChange.met(table, chunk, record.start))

    def findings(self) -> list[SchemaChange]:
        return self._findings

    settle = staticmethod(settle_changes)


READ_SIDES = {"xml": ReadSupport(XmlReader, XmlDiscovery)}
