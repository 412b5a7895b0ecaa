"""The router of all dialects: it finds the table of each record, and leaves the images to the reader."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import ClassVar

import pyarrow as pa

from ggfmt.columnar.columns import int64s
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import EVERY_TABLE_OF, Chunk, Routed, Router, Unroutable
from ggfmt.formats.records.dialect import Change, Examination, RecordSchema
from ggfmt.formats.records.scanner import OddRecord
from ggfmt.formats.records.scanning import DialectScanning
from ggfmt.model.table import Catalog, TableDef


class DialectRouter(DialectScanning, Router):
    """The scanner finds the table of records whose identity it knows; other records are decoded."""

    depends_on_facts: ClassVar[bool] = True  # while a dialect lacks facts, it does not know the tables of records

    routes = True

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        super().__init__(catalog, source)
        self.make_dialect(source, catalog.trusted)
        self.set_aside()
        self.start_scanner()

    def set_aside(self) -> None:
        self.bound = array("q", [0])  # the number of the table, by its number in the notes of the scanner

    def route(self, chunk: Chunk) -> Routed:
        """Raises: Unroutable if a record has several tables, or its table depends on other records."""
        if chunk.problem is not None or chunk.layout.keys:
            raise Unroutable
        self.ordinal = 0
        self._cut, self._is_cut = chunk, False
        self._starts: pa.Int64Array | None = None
        self._found: list[pa.Int64Array] = []
        whole = array("q")
        for _, _, start, meaning in self.examined(chunk):
            self.ordinal += 1
            if start is None:
                whole.append(self._table_of(meaning))
            else:
                self._found.append(int64s(array("q", [self._table_of(meaning)])))
        if self.depends_on_facts and self._dialect.lacking:
            raise Unroutable
        records: Chunk = self._cut
        starts = self._starts
        if chunk.wrapped is not None:
            records = replace(chunk.wrapped.chunk, input=chunk.input)
            assert records.spans is not None
            self._is_cut = any(problem.code == "GG302" for problem in chunk.wrapped.problems.values())
            if not records.layout.array:
                starts = int64s(array("q", (start for start, _ in records.spans)))
        tables = pa.concat_arrays([*self._found, int64s(whole)])
        if starts is None:
            spans = self.spans(records) if records.spans is None else records.spans
            return Routed(records, None, spans, tables, self._is_cut)
        if not self._is_cut and not records.data.endswith(b"\n"):
            records = replace(records, data=records.data + b"\n")  # the line of another file may follow
        return Routed(records, starts, (), tables, self._is_cut)

    def hold_instead(self, chunk: Chunk, cut: Chunk) -> None:
        self._cut = cut

    def key_of_next(self) -> bytes | None:
        wrapped = self._cut.wrapped
        has_key = wrapped is not None and self.dialect.has_message_keys(self._cut)
        return wrapped.messages[self.ordinal].key if wrapped is not None and has_key else None

    def know_starts(self, starts: pa.Int64Array) -> None:
        self._starts = starts

    def know_tables(self, tables: pa.Int64Array) -> None:
        if len(tables):
            self._found.append(int64s(self.bound).take(tables))

    def _table_of(self, meaning: Examination) -> int:
        """Return the number of the table of a record by its classification; 0 for a record without a table."""
        self._is_cut |= isinstance(meaning, Diagnostic) and meaning.code == "GG302"
        tables = set()
        for item in meaning if isinstance(meaning, list) else ():
            if isinstance(item, Change):
                tables.add(item.table)
            elif isinstance(item, RecordSchema):
                tables.add(item.table.full_name)
            elif self.statements:
                tables.update(change.table for change in item.emptied)
        if len(tables) > 1 or any(name.endswith(EVERY_TABLE_OF) for name in tables):
            raise Unroutable
        return self.number(tables.pop() if tables else "")

    def bind(self, identity: bytes, odd: OddRecord) -> None:
        name = odd.meaning[0].table
        if not self.scanner.bind_alias(identity, name) and self.scanner.bind(identity, TableDef(name, ())):
            self.bound.append(self.number(name))
