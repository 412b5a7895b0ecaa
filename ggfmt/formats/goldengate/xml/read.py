"""The reader of XML, and the discovery of its tables.

Every message lists all columns of its table in order, so that a different list is a schema change. For a table of
`--definitions`, the file decides, and an unknown column is an error.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, BinaryIO

import pyarrow as pa

from ggfmt.columnar.columns import MISSING, int64s, text_column, texts, token_maps
from ggfmt.columnar.images import unless_all
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api import reading
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.xml import records as xml_records
from ggfmt.formats.goldengate.xml.records import XmlRecord, find_layout, named_records, plain_prolog, record_at, records
from ggfmt.formats.records.batching import BatchingReader, HeldTable
from ggfmt.formats.records.problems import legal_values, name_problem, unknown_column
from ggfmt.formats.records.scanner import Scanner, SourceBatch
from ggfmt.java.charsets import native_charset
from ggfmt.kernels import kernel
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, Column, TableDef
from ggfmt.options.value_types import NATIVE

_IN_A_ROW = 16  # after so many odd records, expect the following ones to be odd too
_MAX_COLUMNS = 1 << 17  # of all tables together: each takes some memory


_ATTRIBUTES = frozenset({"table", "type", "ts", "current_ts", "pos", "numCols"})
_TRUE = ("true", "1")
# The image that each operation type cannot have.
_SURPLUS = {"I": ("before",), "U": (), "D": ("after",), "T": ("before", "after")}


@dataclass(slots=True)
class XmlOperation:
    """An operation as written: its table, its columns in order, and their values before and after. `before` and `after`
    are in the order of `columns`; None is NULL, `MISSING` a missing value. `type` is the word in the message, `kind`
    its meaning if known. `unknown` has the names that the format does not define."""

    table: str
    type: str | None
    op_ts: str | None
    position: str | None
    columns: tuple[str, ...]
    before: list[str | None]
    after: list[str | None]
    tokens: dict[str, str]
    unknown: list[str]
    kind: str = ""

    @property
    def has_before(self) -> bool:
        return self.before.count(MISSING) < len(self.before)

    @property
    def has_after(self) -> bool:
        return self.after.count(MISSING) < len(self.after)


def examine(element: Any, with_tokens: bool) -> XmlOperation | Diagnostic:
    """Return the operation of an element, or what is wrong with it by itself."""
    if isinstance(element, Diagnostic):
        return element
    if element.tag != "operation":
        return _malformed("the record is not an `operation` element", Span())
    table = element.get("table")
    problem = _table_problem(table)
    if problem is not None:
        return problem
    operation = XmlOperation(table, element.get("type"), element.get("ts"), element.get("pos"), (), [], [], {}, [])
    operation.unknown += [name for name in element.keys() if name not in _ATTRIBUTES]  # noqa: SIM118 - no dict
    here = Span(table=table, position=operation.position)
    names = []
    for child in element:
        if child.tag == "col":
            names.append(child.get("name"))
            try:
                _add_values(child, operation)
            except ValueError as error:
                return _malformed(str(error), Span(table=table, field=names[-1], position=operation.position))
        elif child.tag != "tokens":
            operation.unknown.append(child.tag)
        elif with_tokens:
            operation.tokens = {
                token.findtext("Name") or "": token.findtext("Value") or "" for token in child.iterchildren("token")
            }
    operation.columns = tuple(names)
    reason = _columns_problem(operation.columns)
    declared = element.get("numCols")
    if reason is None and declared is not None and declared.strip() != str(len(names)):
        reason = f"`numCols` is not {len(names)}, the number of columns"
    return operation if reason is None else _malformed(reason, here)


def _add_values(column: Any, operation: XmlOperation) -> None:
    before: str | None = MISSING
    after: str | None = MISSING
    tags = [child.tag for child in column]
    if tags.count("before") > 1 or tags.count("after") > 1:
        raise ValueError("the column has two images of one kind")
    for child in column:
        tag = child.tag
        if tag == "before":
            before = _value(child)
        elif tag == "after":
            after = _value(child)
        elif tag != "missing":
            operation.unknown.append(tag)
    operation.before.append(before)
    operation.after.append(after)


def _value(element: Any) -> str | None:
    if len(element):
        raise ValueError("a value contains elements")
    text: str | None = element.text
    if text is None or text.isspace():
        if element.get("missing") in _TRUE:
            return MISSING
        return None if element.get("isNull") in _TRUE else text or ""
    return text


def misfit(operation: XmlOperation, kind: str | None, kinds: Mapping[str, str]) -> Diagnostic | None:
    """Return what is wrong with the type of an operation, which is `kind`, or with its images for that type."""
    here = Span(table=operation.table, position=operation.position)
    legal = legal_values(kinds)
    if operation.type is None:
        return Diagnostic("GG305", "the operation has no `type`", here, legal)
    if kind is None:
        word = operation.type if len(operation.type) <= 40 else operation.type[:37] + "..."
        return Diagnostic("GG304", f"`type` cannot be `{word}`", here, legal)
    has = {"before": operation.has_before, "after": operation.has_after}
    surplus = [image for image in _SURPLUS[kind] if has[image]]
    if not surplus:
        return None
    name = OpType(kind).name.lower()
    article = {True: "an", False: "a"}
    images = " and ".join(f"{article[image == 'after']} {image} image" for image in surplus)
    return Diagnostic("GG307", f"{article[name[0] in 'aeiou']} {name} has {images}", here)


@lru_cache(maxsize=1024)
def _table_problem(name: str | None) -> Diagnostic | None:
    if name is None:
        return Diagnostic("GG305", "the operation has no `table`", help="every operation must name its table")
    return name_problem(name)


@lru_cache(maxsize=1024)
def _columns_problem(names: tuple[str | None, ...]) -> str | None:
    if None in names:
        return "a `col` element has no `name`"
    return None if len(set(names)) == len(names) else "two `col` elements have the same `name`"


def _malformed(reason: str, place: Span) -> Diagnostic:
    return Diagnostic("GG312", reason, place)


class XmlScanner(Scanner):
    """The scanner of operations that are written as GoldenGate writes them.

    kinds   meanings of the words for operation types
    keep    operations are kept; else the kernel only checks that they have the columns to which they are bound
    tokens  the tokens are kept too
    """

    def __init__(self, native: Any, kinds: Mapping[str, str], keep: bool, tokens: bool) -> None:
        words = {word.encode(): kind.encode() for word, kind in kinds.items()}
        super().__init__(native.XmlScanner(words, keep, tokens), tokens)
        self._columns: dict[str, int] = {}
        self._left = _MAX_COLUMNS

    def bind(self, table: str, columns: Sequence[str]) -> None:
        self.forget(table)
        self._left += self._columns.pop(table, 0)
        if len(columns) <= self._left and self.bind_table(
            table, table.encode(), tuple(column.encode() for column in columns)
        ):
            self._columns[table] = len(columns)
            self._left -= len(columns)


def odd_records(
    scanner: XmlScanner | None, chunk: reading.Chunk, first: int, spans: reading.Spans
) -> Iterator[XmlRecord]:
    """Have the scanner take the records of a chunk, and yield those that it does not take. `first` is the ordinal of
    the first record. `spans` gets the places of all records up to the yielded one."""
    prolog = None if scanner is None else plain_prolog(chunk)
    place = odd = 0
    while scanner is not None and prolog is not None and odd < _IN_A_ROW:
        _, place, _, taken, _ = scanner.native.scan(chunk.data, place, -1, first + len(spans), prolog)
        if len(memoryview(taken)):
            spans.add_all(taken)
            odd = 0
        record = None if place == len(chunk.data) else record_at(chunk, place)
        if record is None:
            return
        spans.add(record.start, record.end)
        yield record
        place = record.end
        odd += 1
    for record in records(chunk, place):
        spans.add(record.start, record.end)
        yield record


@dataclass
class _XmlTable(HeldTable):
    """The buffered operations of a table. `places` has the place of each column of the definition in `listed`."""

    listed: tuple[str, ...]
    places: tuple[int | None, ...]


class XmlReader(BatchingReader[_XmlTable]):
    """Reads GoldenGate XML. `source.options`, if given, is an `XmlOptions`."""

    sniff = staticmethod(xml_records.sniff)
    scanner: XmlScanner | None = None
    transaction_tokens = TRANSACTION_TOKENS

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._kinds = _kinds(source)
        self.scanner = kernel(lambda native: XmlScanner(native, self._kinds, True, self.reads_tokens))

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> reading.Layout:
        charset = "UTF-8" if source.options is None else source.options.encoding
        return find_layout(head, native_charset() if charset == NATIVE else charset)

    @staticmethod
    def chunks(
        stream: BinaryIO, file: str, start: int, length: int | None, layout: reading.Layout
    ) -> Iterator[reading.Chunk]:
        return xml_records.chunks(stream, file, layout)

    def spans(self, chunk: reading.Chunk) -> Sequence[tuple[int, int]]:
        return [(record.start, record.end) for record in records(chunk)]

    def decode_chunk(self, chunk: reading.Chunk) -> Iterator[reading.Event]:
        first, spans = self.ordinal, reading.Spans()
        self.know_spans(spans)
        for record in odd_records(self.scanner, chunk, first, spans):
            self.ordinal = first + len(spans) - 1
            operation = examine(record.content, self.reads_tokens)
            problem = operation if isinstance(operation, Diagnostic) else (yield from self._hold(operation))
            if problem is not None:
                yield self.reject(self.ordinal, problem)
        self.ordinal = first + len(spans)

    def _hold(self, operation: XmlOperation) -> Generator[reading.Event, None, Diagnostic | None]:
        """Buffer an operation for a batch, or return what is wrong with it."""
        table = self.tables.get(operation.table)
        if table is None or table.listed != operation.columns:
            problem = yield from self._meet(operation)
            if problem is not None:
                return problem
        kind = None if operation.type is None else self._kinds.get(operation.type)
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

    def _meet(self, operation: XmlOperation) -> Generator[reading.Event, None, Diagnostic | None]:
        """Prepare for the columns that an operation lists, or return why it cannot be an operation of its table."""
        name = operation.table
        definition = self.catalog.get(name)
        if definition is None:
            return reading.UnknownTable.named(name, Span(table=name, position=operation.position))
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
        self.tables[name] = _XmlTable(definition, operation.columns, places)
        if self.scanner is not None:
            self.scanner.bind(name, operation.columns)
        return None

    def scanned_columns(self, table: _XmlTable, scanned: SourceBatch) -> ChangeBatch:
        op_ts, position = scanned.slots
        return ChangeBatch(
            table.definition,
            scanned.op,
            op_ts.values,
            position.values,
            Image(_in_table_order(table.places, scanned.before, len(scanned)), unless_all(scanned.has_before)),
            Image(_in_table_order(table.places, scanned.after, len(scanned)), unless_all(scanned.has_after)),
            scanned.ordinal,
            scanned.tokens,
        )

    def columns(self, table: _XmlTable) -> ChangeBatch:
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
            token_maps(operation.tokens for operation in operations) if self.reads_tokens else None,
        )


def _kinds(source: WriterSettings) -> dict[str, str]:
    kinds = {name: op.value for op in OpType for name in (op.value, op.name)}
    if source.options is not None:
        kinds |= dict(zip(op_keys(source.options), (op.value for op in OpType), strict=True))
    return kinds


def _in_table_order(places: Sequence[int | None], columns: Sequence[ImageColumn], rows: int) -> tuple[ImageColumn, ...]:
    absent = ImageColumn(pa.nulls(rows, pa.string()), pa.repeat(pa.scalar(False), rows))
    return tuple(absent if place is None else columns[place] for place in places)


def _image(places: Sequence[int | None], rows: Sequence[Sequence[str | None]], exists: Sequence[bool]) -> Image:
    listed = list(zip(*rows, strict=True))
    absent = [MISSING] * len(rows)
    columns: list[ImageColumn] = [text_column(absent if place is None else listed[place]) for place in places]
    return Image(tuple(columns), None if all(exists) else pa.array(exists, pa.bool_()))


def _definition(table: str, columns: Sequence[str]) -> TableDef:
    return TableDef(table, tuple(map(Column, columns)))


class XmlDiscovery(reading.ChangeDiscovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self._trusted = catalog.trusted
        self._last: dict[str, tuple[str, ...]] = {}
        self._scanner = kernel(lambda native: XmlScanner(native, {}, False, False))

    def read(self, chunk: reading.Chunk) -> None:
        for record in odd_records(self._scanner, chunk, 0, reading.Spans()):
            operation = examine(record.content, False)
            if isinstance(operation, XmlOperation) and self._last.get(operation.table) != operation.columns:
                self._last[operation.table] = operation.columns
                if self._scanner is not None:
                    self._scanner.bind(operation.table, operation.columns)
                if operation.table not in self._trusted:
                    table = _definition(operation.table, operation.columns)
                    self.found.append(reading.SchemaChange.met(table, chunk, record.start))


class XmlRouter(reading.Router):
    def route(self, chunk: reading.Chunk) -> reading.Routed:
        if chunk.problem is not None:
            raise reading.Unroutable
        places, tables = array("q"), array("q")
        name: bytes | None = b""
        for start, name in named_records(chunk):
            places.append(start)
            tables.append(self.number((name or b"").decode("utf-8", "surrogateescape")))
        whole = chunk if name is None else replace(chunk, data=chunk.data + b"\n")
        return reading.Routed(whole, int64s(places), (), int64s(tables), name is None)


READ_SIDES = {"xml": reading.ReadSupport(XmlReader, XmlDiscovery, XmlRouter)}
