"""Reader of XML, and the discovery of what its tables are.

Every message lists all columns of its table in order, so that another list is a metadata change event. For a table of
`--definitions` it is not: what the file says holds, and a column that it does not have is a mistake.

What the format does not show is lost before it is read: the before image of an update in which every column is missing
is taken for none at all, and an absent time stamp or position is an empty text.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import pyarrow as pa

from ggfmt.columnar.from_python import MISSING, int64s, text_column, texts, token_maps
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import (
    Chunk,
    Discovered,
    Discovery,
    Event,
    Layout,
    Reader,
    ReadSide,
    Reject,
    SchemaChange,
    UnknownTable,
)
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.xml import records as xml_records
from ggfmt.formats.goldengate.xml.operation import XmlOperation, examine, misfit
from ggfmt.formats.goldengate.xml.records import find_layout, records
from ggfmt.formats.records.held import BATCH_ROWS, HeldChunks
from ggfmt.java.charsets import native_charset
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, Column, TableDef
from ggfmt.options.value_types import NATIVE


@dataclass
class _Table:
    """The operations held for a table. All list the columns `listed`; `places` tells where in that list each column of
    the definition is, None for one that is not."""

    definition: TableDef
    listed: tuple[str, ...]
    places: tuple[int | None, ...]
    operations: list[XmlOperation] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    ordinals: array[int] = field(default_factory=lambda: array("q"))


class XmlReader(Reader):
    """Reads GoldenGate XML; `source.options`, if there are some, are `XmlOptions`."""

    sniff = staticmethod(xml_records.sniff)

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._kinds = {name: op.value for op in OpType for name in (op.value, op.name)}
        if source.options is not None:
            self._kinds |= dict(zip(op_keys(source.options), (op.value for op in OpType), strict=True))
        self._ordinal = 0
        self._held = HeldChunks(lambda chunk: [(record.start, record.end) for record in records(chunk)])
        self._tables: dict[str, _Table] = {}

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> Layout:
        charset = "UTF-8" if source.options is None else source.options.encoding
        return find_layout(head, native_charset() if charset == NATIVE else charset)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return xml_records.chunks(stream, file, layout)

    def read(self, chunk: Chunk) -> Iterator[Event]:
        self._held.add(self._ordinal, chunk)
        for record in records(chunk):
            operation = examine(record.content, self.projection.tokens)
            problem = operation if isinstance(operation, Diagnostic) else None
            if isinstance(operation, XmlOperation):
                table = self._tables.get(operation.table)
                if table is None or table.listed != operation.columns:
                    problem = yield from self._meet(operation, chunk, record.start)
                problem = problem or self._take_in(operation)
            if problem is not None:
                place = problem.at(file=chunk.file, offset=chunk.offset + record.start)
                yield Reject(self._ordinal, chunk.data[record.start : record.end], place)
            self._ordinal += 1
        full = self._held.full
        for table in self._tables.values():
            if full or self.projection.in_order or len(table.operations) >= BATCH_ROWS:
                yield from self._batch(table)
        if not any(table.operations for table in self._tables.values()):
            self._held.clear()

    def flush(self) -> Iterator[Event]:
        for table in self._tables.values():
            yield from self._batch(table)
        self._held.clear()

    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        return self._held.locate(ordinal)

    def _meet(self, operation: XmlOperation, chunk: Chunk, start: int) -> Generator[Event, None, Diagnostic | None]:
        """Makes ready for the columns that an operation lists, or tells why it cannot be an operation of its table."""
        name, here = operation.table, Span(table=operation.table, position=operation.position)
        definition = self.catalog.get(name)
        if definition is None:
            return UnknownTable.named(name, here)
        changed = None
        if name not in self.catalog.trusted:
            found = _definition(operation.table, operation.columns)
            if found.column_names != definition.column_names:
                changed = definition = self.catalog.settle(found)
        unknown = next((column for column in operation.columns if column not in definition.column_names), None)
        if unknown is not None:
            return Diagnostic(
                "GG204",
                "the operation has a column that the definition of the table lacks",
                Span(table=name, field=unknown, position=operation.position),
                "correct the definition, or leave it out of `--definitions` to have it discovered",
            )
        for table in list(self._tables.values()):
            if table.definition.full_name == name or (changed is not None and self.projection.in_order):
                yield from self._batch(table)
        listed = {column: place for place, column in enumerate(operation.columns)}
        places = tuple(listed.get(column) for column in definition.column_names)
        self._tables[name] = _Table(definition, operation.columns, places)
        if changed is not None:
            self.catalog = self.catalog.with_tables([changed])
            yield SchemaChange(changed, chunk.input, chunk.offset + start)
        return None

    def _take_in(self, operation: XmlOperation) -> Diagnostic | None:
        """Keeps an operation until there is a batch of them, or tells what is wrong with it."""
        kind = self._kinds.get(operation.type or "")
        problem = misfit(operation, kind, self._kinds)
        if problem is not None or kind is None:
            return problem
        for name in operation.unknown:
            self.members[name] += 1
        table = self._tables[operation.table]
        table.operations.append(operation)
        table.kinds.append(kind)
        table.ordinals.append(self._ordinal)
        return None

    def _batch(self, table: _Table) -> Iterator[Event]:
        """The operations held for a table as one batch."""
        operations, kinds, ordinals = table.operations, table.kinds, table.ordinals
        if not operations:
            return
        table.operations, table.kinds, table.ordinals = [], [], array("q")
        befores = [kind == "D" or (kind == "U" and op.has_before) for op, kind in zip(operations, kinds, strict=True)]
        yield ChangeBatch(
            table.definition,
            texts(kinds),
            texts([operation.op_ts for operation in operations]),
            texts([operation.position for operation in operations]),
            _image(table.places, [operation.before for operation in operations], befores),
            _image(table.places, [operation.after for operation in operations], [kind in "IU" for kind in kinds]),
            int64s(ordinals),
            token_maps(operation.tokens for operation in operations) if self.projection.tokens else None,
        )


def _image(places: Sequence[int | None], rows: Sequence[Sequence[str | None]], exists: Sequence[bool]) -> Image:
    listed = list(zip(*rows, strict=True))
    absent = [MISSING] * len(rows)
    columns: list[ImageColumn] = [text_column(absent if place is None else listed[place]) for place in places]
    return Image(tuple(columns), None if all(exists) else pa.array(exists, pa.bool_()))


def _definition(table: str, columns: Sequence[str]) -> TableDef:
    return TableDef(table, tuple(map(Column, columns)))


@dataclass(frozen=True)
class Listed:
    """The columns of a table from one place of the input on."""

    table: str
    columns: tuple[str, ...]
    input: int
    offset: int


class XmlDiscovery(Discovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._last: dict[str, tuple[str, ...]] = {}
        self._findings: list[Listed] = []

    def read(self, chunk: Chunk) -> None:
        for record in records(chunk):
            operation = examine(record.content, False)
            if isinstance(operation, XmlOperation) and self._last.get(operation.table) != operation.columns:
                self._last[operation.table] = operation.columns
                place = (chunk.input, chunk.offset + record.start)
                self._findings.append(Listed(operation.table, operation.columns, *place))

    def findings(self) -> list[Listed]:
        return self._findings

    @staticmethod
    def settle(findings: Sequence[list[Listed]], catalog: Catalog, every_shape: bool) -> Discovered:
        first: dict[str, TableDef] = {}
        current: dict[str, TableDef] = {}
        events = []
        for found in (found for split in findings for found in split):
            if found.table in catalog.trusted:
                continue
            table = _definition(found.table, found.columns)
            if found.table not in first:
                first[found.table] = table
            elif current[found.table] != table:
                events.append(SchemaChange(table, found.input, found.offset))
            current[found.table] = table
        return Discovered(tuple(first.values()), tuple(events))


READ_SIDES = {"xml": ReadSide(XmlReader, XmlDiscovery)}
