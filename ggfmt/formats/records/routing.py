"""The router of all dialects: it finds the table of each record, and leaves the images to the reader."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from ggfmt.columnar.columns import int64s
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import EVERY_TABLE_OF, Chunk, Routed, Router, Unroutable
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Dialect, Examination, RecordSchema, classify_records
from ggfmt.formats.records.scanner import DEFINITIONS, MAX_GRAMMARS, JsonScanner, OddRecord, Scanning
from ggfmt.kernels import kernel
from ggfmt.model.table import Catalog, TableDef


def examined_one(
    dialect: Dialect, chunk: Chunk, start: int, end: int, key: bytes | None = None
) -> tuple[Any, Examination]:
    """Return a record of a JSON chunk, decoded, and its classification; `key`: that of its message."""
    record = dialect.record_at(chunk, start, end)
    return record, next(classify_records(dialect, [record], [key]))


class DialectScanning(Scanning):
    """A reader, a discovery or a router of the records of `dialect`, and how its scanner gets to know them.

    A record that became operations says by which grammar the scanner takes others like it, and for which table.
    """

    dialect: ClassVar[type[Dialect]]
    scanner: Any = None  # a JsonScanner, unless a format has its own
    routes: ClassVar[bool] = False  # the scanner only finds tables
    _dialect: Any
    _grammar: roles.Grammar | None = None
    _grammars_left = MAX_GRAMMARS

    def make_dialect(self, source: WriterSettings, trusted: Mapping[str, TableDef], with_tokens: bool = False) -> None:
        self._dialect = self.dialect(source, with_tokens)
        self._dialect.trusted = trusted

    def start_scanner(self) -> None:
        if self.dialect.scanned:
            self._use(self._dialect.first_grammar() or roles.NO_RECORDS)

    def make_scanner(self, native: Any, grammar: roles.Grammar) -> JsonScanner:
        return JsonScanner(native, grammar, False, False, False, DEFINITIONS, self.routes)

    @abstractmethod
    def set_aside(self) -> None:
        """Take what the scanner holds, before another one takes its place."""

    @abstractmethod
    def bind(self, identity: bytes, odd: OddRecord) -> None:
        """Bind the identity of a record that became operations, if the scanner can take such records."""

    def reads_whole(self, chunk: Chunk) -> bool:
        """Return whether to decode the next chunk as a whole."""
        return self.pauses()

    def as_json(self, chunk: Chunk) -> Chunk:
        """Return the chunk as the scanner reads it."""
        return chunk

    def examined(self, chunk: Chunk) -> Iterator[tuple[Chunk, int, int | None, Examination]]:
        """Yield the classification of the records to look at: all of a chunk, or those that the scanner does not take.

        Before it: the chunk, cut into records if that was necessary, the number of records before this one, and its
        start; None if the chunk is decoded as a whole. Count the record in `ordinal` before you ask for the next one.
        """
        if self.reads_whole(chunk):
            cut, records = self._dialect.decoded_records(chunk)
            self.hold_instead(chunk, cut)
            for number, meaning in enumerate(classify_records(self._dialect, records, self._dialect.message_keys(cut))):
                yield cut, number, None, meaning
        else:
            for odd in self.odd_records(self.as_json(chunk)):
                yield odd.chunk, odd.number, odd.start, odd.meaning
                self.learn(odd)

    def spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        return self.dialect.spans(chunk)

    def key_of_next(self) -> bytes | None:
        """Return the key of the message with the next record; None if the dialect takes no columns from it."""
        return None

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
        return examined_one(self._dialect, chunk, start, end, self.key_of_next())

    def learn(self, odd: OddRecord) -> None:
        """Let the scanner take records like this one from now on if it became operations, and the scanner can."""
        is_operation = isinstance(odd.meaning, list) and odd.meaning and isinstance(odd.meaning[0], Change)
        grammar = self._dialect.grammar(odd.record) if is_operation else None
        if grammar is not None and grammar != self._grammar:
            self._use(grammar)
        elif grammar is not None and odd.identity is not None and self.scanner is not None:
            self.bind(odd.identity, odd)

    def _use(self, grammar: roles.Grammar) -> None:
        if self._grammars_left:
            self.set_aside()
            self._grammar = grammar
            self._grammars_left -= 1
            self.scanner = kernel(lambda native: self.make_scanner(native, grammar))


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
        if (
            chunk.problem is not None
            or chunk.layout.keys
            or (chunk.wrapped is not None and chunk.wrapped.messages is None)
        ):
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
            if not records.layout.array and records.layout.messages is None:
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
        return wrapped.key(self.ordinal) if wrapped is not None and has_key else None

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
