"""Operations in XML, looked through by a native kernel where there is one: it takes those that are written as
GoldenGate writes them, and leaves the others, in their order, to who reads any XML. Without a kernel all are left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.api.spans import Spans
from ggfmt.formats.goldengate.xml.records import XmlRecord, plain_prolog, record_at, records
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.kernels import REFUSALS, native

_IN_A_ROW = 16  # odd records that say that those behind them will be odd too
_MOST_COLUMNS = 1 << 17  # of all tables together: each takes some memory


class RegularOperations:
    """What a kernel takes of a row of chunks.

    kinds   what the words for operation types stand for
    keep    whether operations are kept; else it is only seen that they are of the columns that they are bound to
    tokens  whether the tokens are kept too
    """

    def __init__(self, kinds: Mapping[str, str], keep: bool, tokens: bool) -> None:
        self._scanner = _make_scanner(kinds, keep, tokens)
        self._tokens = tokens
        self._numbers: dict[str, int] = {}
        self._bound: dict[str, Sequence[str]] = {}
        self._left = _MOST_COLUMNS
        self._in_hand = False  # a record that the kernel left
        self.again = False  # it gets that record once more: nothing else is to be done with it

    def odd_records(self, chunk: Chunk, first: int, spans: Spans) -> Iterator[XmlRecord]:
        """The records of a chunk that are not taken; `first` is the ordinal of the first of all.

        The places of all up to the one that is given are put into `spans`. Where it leads to another `bind`, it may be
        taken after all; if it is not, it is given again.
        """
        prolog = None if self._scanner is None else plain_prolog(chunk)
        place = odd = 0
        while prolog is not None and odd < _IN_A_ROW:
            assert self._scanner is not None
            place, taken = self._scanner.scan(chunk.data, place, first + len(spans), prolog)
            if len(memoryview(taken)):
                spans.add_all(taken)
                odd = 0
            if place == len(chunk.data):
                return
            record = record_at(chunk, place)
            spans.add(record.start, record.end)
            self._in_hand, self.again = True, False
            yield record
            self._in_hand = False
            if self.again:
                self.again = False
                spans.drop_last()
            else:
                place = record.end
                odd += 1
        for record in records(chunk, place):
            spans.add(record.start, record.end)
            yield record

    def bind(self, table: str, columns: Sequence[str]) -> None:
        """Has operations of a table taken that list these columns, and no others. None may be held of the table."""
        if self._scanner is None:
            return
        self.again = False
        self._left += len(self._bound.pop(table, ()))
        if len(columns) <= self._left:
            try:
                number = self._scanner.bind(table.encode(), tuple(column.encode() for column in columns))
            except REFUSALS:
                pass
            else:
                self._left -= len(columns)
                self._bound[table] = columns
                self._numbers[table] = number
                self.again = self._in_hand
                return
        if table in self._numbers:
            self._scanner.unbind(self._numbers.pop(table))

    def held(self, table: str) -> int:
        """How many operations are held of a table."""
        number = self._numbers.get(table)
        return 0 if number is None or self._scanner is None else int(self._scanner.rows(number))

    def take(self, table: str) -> ScannedBatch | None:
        """The operations held of a table, which are not held any more; None if there are none."""
        if not self.held(table):
            return None
        assert self._scanner is not None
        return ScannedBatch.of(self._scanner.take(self._numbers[table]), self._tokens)


def _make_scanner(kinds: Mapping[str, str], keep: bool, tokens: bool) -> Any:
    """The kernel's scanner; None where there is none, or none that knows such words."""
    try:
        words = {word.encode(): kind.encode() for word, kind in kinds.items()}
        return None if native is None else native.XmlScanner(words, keep, tokens)
    except REFUSALS:
        return None
