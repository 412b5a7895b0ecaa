"""Readers of JSON records with a native scanner: it takes regular records, and the exact reader takes the odd ones.

The reader holds the operations of both side by side, and makes one batch of them in the order of the records. Without
kernels, and if most records are odd, the exact reader takes all records.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator

from ggfmt.formats.api.reading import Chunk, Event
from ggfmt.formats.json.cut import is_value
from ggfmt.formats.records.batching import BATCH_ROWS, BatchingReader, Table, Wrong
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import ScannedBatch, Scanner, places_of
from ggfmt.kernels import REFUSALS, native
from ggfmt.model.change import ChangeBatch

_FEW = 16  # so few odd records of a chunk do not turn the scanner off
_MANY = 4  # if more than one record of so many is odd, the exact reader is faster
_PAUSE = 16  # chunks for the exact reader then


class ScanningReader(BatchingReader[Table]):
    """A reader with a scanner. If `scanner` is None, the exact reader takes all records."""

    scanner: Scanner | None = None
    _pause = 0

    def use_scanner(self, grammar: Grammar | None) -> None:
        """Scan with a grammar from here on. The scanner before must not hold operations."""
        asked = self.projection
        self.scanner = None
        if native is not None and grammar is not None:
            try:
                self.scanner = Scanner(grammar, asked.row_only, asked.row_only and asked.key_updates, asked.tokens)
            except REFUSALS:
                return

    @abstractmethod
    def take_in_exactly(self, chunk: Chunk) -> Iterator[Event]:
        """Decode a chunk as `decode_chunk` does, without the scanner."""

    @abstractmethod
    def take_odd(self, chunk: Chunk, start: int, end: int, identity: bytes | None) -> Iterator[Event]:
        """Decode the record of a chunk from `start` to `end`.

        If no table is bound to its `identity`, the reader may bind one.
        """

    @abstractmethod
    def scanned_columns(self, table: Table, scanned: ScannedBatch) -> ChangeBatch | Wrong:
        """Make a batch as `columns` does, of operations that the scanner took."""

    @abstractmethod
    def scanned_position(self, scanned: ScannedBatch, row: int) -> str | None:
        """Return the position of an operation that becomes a reject."""

    def took(self, scanned: ScannedBatch) -> None:
        """Count the unknown members of operations that the scanner took."""

    def know(self, identity: bytes) -> bool:
        """Bind a table by the identity of its records alone; return False if that is impossible."""
        return False

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        # Exact decoding of whole chunks does not find records that contradict provisional definitions.
        if (self.scanner is None or self._pause) and not self.catalog.provisional:
            self._pause = max(0, self._pause - 1)
            yield from self.take_in_exactly(chunk)
            return
        first = self.ordinal
        odd = 0
        places = None if chunk.spans is None else places_of(chunk.spans)
        place = 0
        while self.scanner is not None:
            if places is None:
                found = self.scanner.scan(chunk.data, place, self.ordinal)
            else:
                found = self.scanner.scan_spans(chunk.data, places, self.ordinal - first, self.ordinal)
            self.ordinal += found.taken
            if found.start == len(chunk.data):
                break
            if found.identity is not None and self.know(found.identity):
                place = found.start
                continue
            if places is None and not is_value(chunk.data, found.start, found.end):
                chunk = self.settled(chunk)
                places = places_of(self.spans(chunk))
                continue
            odd += found.identity is None  # the first record of a table is always odd
            yield from self.take_odd(chunk, found.start, found.end, found.identity)
            place = found.end
        else:
            yield from self._rest(chunk, places, place, first)
        if odd > _FEW and odd * _MANY > self.ordinal - first:
            self._pause = _PAUSE

    def _rest(self, chunk: Chunk, places: array[int] | None, place: int, first: int) -> Iterator[Event]:
        """Decode the rest of a chunk exactly, after a record turned the scanner off."""
        if places is None:
            chunk = self.settled(chunk)
            places = places_of(self.spans(chunk))
        for index in range(2 * (self.ordinal - first), len(places), 2):
            yield from self.take_odd(chunk, places[index], places[index + 1], None)

    # Operations that the scanner took

    @property
    def holds(self) -> bool:
        return super().holds or (self.scanner is not None and self.scanner.largest() > 0)

    def held(self, table: Table) -> int:
        taken = 0 if self.scanner is None else self.scanner.rows(table.definition.full_name)
        return super().held(table) + taken

    def drain(self, everything: bool) -> Iterator[Event]:
        full = self.scanner is None or self.scanner.largest() >= BATCH_ROWS
        if full or everything or self.projection.in_order or any(map(super().held, self.tables.values())):
            yield from super().drain(everything)

    def collect(self, table: Table) -> Iterator[ChangeBatch]:
        name = table.definition.full_name
        scanned = None if self.scanner is None else self.scanner.take(name)
        if scanned is not None:
            self.took(scanned)
        while scanned is not None and len(scanned):
            batch = self.scanned_columns(table, scanned)
            if isinstance(batch, ChangeBatch):
                yield batch
                break
            for row in sorted(batch):
                place = {"table": name, "position": self.scanned_position(scanned, row)}
                table.refused.append(self.reject(scanned.ordinal[row].as_py(), batch[row].at(**place)))
            scanned = scanned.without(batch)
        yield from super().collect(table)
