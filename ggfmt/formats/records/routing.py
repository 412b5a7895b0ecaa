"""The router of all dialects: it finds the table of each record, and leaves the images to the reader."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa

from ggfmt.columnar.columns import int64s
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Routed, Router, Unroutable
from ggfmt.formats.records.dialect import (
    Change,
    Dialect,
    Examination,
    RecordSchema,
    classify_records,
    decode_records,
    examined_one,
)
from ggfmt.formats.records.roles import NO_RECORDS, Grammar
from ggfmt.formats.records.scanner import MAX_GRAMMARS, ROUTES, JsonScanner, OddRecord, Scanning
from ggfmt.kernels import kernel
from ggfmt.model.table import Catalog, TableDef


class DialectRouter(Scanning, Router):
    """The scanner finds the table of records whose identity it knows; other records are decoded."""

    dialect: ClassVar[type[Dialect]]
    scanner: Any = None

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        super().__init__(catalog, source)
        self._dialect = self.dialect(source, with_tokens=False)
        self._dialect.trusted = catalog.trusted
        self._numbers = {"": 0}  # of tables
        self._grammar: Grammar | None = None
        self._grammars_left = MAX_GRAMMARS
        if self.dialect.scanned:
            self._use_scanner(self._dialect.first_grammar() or NO_RECORDS)

    def route(self, chunk: Chunk) -> Routed:
        """Raises: Unroutable if a record has several tables, or its table depends on other records."""
        if chunk.wrapped is not None or chunk.problem is not None or chunk.layout.keys:
            raise Unroutable
        self.ordinal = 0
        self._cut = chunk
        self._starts: pa.Int64Array | None = None
        self._found: list[pa.Int64Array] = []
        if self.pauses():
            self._cut, records = decode_records(self._dialect, chunk)
            self._found.append(int64s(array("q", map(self._table_of, classify_records(self._dialect, records)))))
        else:
            for odd in self.odd_records(chunk):
                self.ordinal += 1
                self._found.append(int64s(array("q", [self._table_of(odd.meaning)])))
                self._learn(odd)
        if self._dialect.lacking:
            raise Unroutable
        spans = self._spans(self._cut) if self._starts is None else ()
        return Routed(self._cut, self._starts, spans, pa.concat_arrays(self._found or [int64s(array("q"))]))

    def _spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        return self.spans(chunk) if chunk.spans is None else chunk.spans

    def spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        return self.dialect.spans(chunk)

    def settled(self, chunk: Chunk) -> Chunk:
        self._cut = super().settled(chunk)
        return self._cut

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
        return examined_one(self._dialect, chunk, start, end)

    def know_starts(self, starts: pa.Int64Array) -> None:
        self._starts = starts

    def know_tables(self, tables: pa.Int64Array | None) -> None:
        if tables is not None and len(tables):
            self._found.append(int64s(self._bound).take(tables))

    def _table_of(self, meaning: Examination) -> int:
        """Return the number of the table of a record by its classification; 0 for a record without a table."""
        tables = set()
        for item in meaning if isinstance(meaning, list) else ():
            if isinstance(item, Change):
                tables.add(item.table)
            elif isinstance(item, RecordSchema):
                tables.add(item.table.full_name)
        if len(tables) > 1:
            raise Unroutable
        name = tables.pop() if tables else ""
        if name not in self._numbers:
            self._numbers[name] = len(self.tables)
            self.tables.append(name)
        return self._numbers[name]

    def _use_scanner(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._bound = array("q")  # the number of the table by its number in the scanner
        self.scanner = None
        if self._grammars_left:
            self._grammars_left -= 1
            self.scanner = kernel(lambda native: JsonScanner(native, grammar, False, False, False, ROUTES))

    def _learn(self, odd: OddRecord) -> None:
        """Let the scanner find the table of records like this one, which became operations, from now on if it can."""
        if not isinstance(odd.meaning, list) or not odd.meaning or not isinstance(odd.meaning[0], Change):
            return
        grammar = self._dialect.grammar(odd.record)
        if grammar is not None and grammar != self._grammar:
            self._use_scanner(grammar)
        elif grammar is not None and odd.identity is not None and self.scanner is not None:
            name = odd.meaning[0].table
            if not self.scanner.bind_alias(odd.identity, name) and self.scanner.bind(odd.identity, TableDef(name, ())):
                self._bound.append(self._numbers[name])


def router_of(dialect: type[Dialect]) -> type[Router]:
    return type(f"{dialect.__name__}Router", (DialectRouter,), {"dialect": dialect})
