"""The base of the reader, the discovery and the router of a dialect: which of its records they look at, and how.

While most records are regular, the scanner takes these, and the others are decoded and classified one by one. Otherwise
all records of a chunk are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Dialect, Examination, classify_records
from ggfmt.formats.records.scanner import DEFINITIONS, MAX_GRAMMARS, JsonScanner, OddRecord, Scanning
from ggfmt.kernels import kernel
from ggfmt.model.table import TableDef


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
