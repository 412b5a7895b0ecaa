"""DTS's records taken into columns by the native kernel (`kernels/dts_scan.c`), as far as they are regular."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from ggfmt.formats.api.context import Projection
from ggfmt.formats.dts.charsets import MYSQL_CHARSETS, decoder
from ggfmt.formats.dts.schema import OPERATIONS, SOURCE_TYPES
from ggfmt.formats.dts.tokens import WORDS
from ggfmt.formats.records import scanner
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.kernels import REFUSALS, native
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Kind, TableDef

# As in dts_scan.c.
_TEXTS, _BYTES, _BOOLEANS = range(3)
_FIRST_LOAD, _COUNTED, _LEFT = b"L", b"-", b"?"
_LETTERS = {"INSERT": b"I", "UPDATE": b"U", "DELETE": b"D", "INIT": _FIRST_LOAD, "DDL": _LEFT}
_ASCII = "".join(map(chr, range(128)))


class Scan:
    """What the kernel took of the records of a split, by table."""

    def __init__(self, asked: Projection) -> None:
        self._asked = asked
        ops = b"".join(_LETTERS.get(operation, _COUNTED) for operation in OPERATIONS)
        sources = tuple(source.encode() for source in SOURCE_TYPES)
        rules = scanner.image_rules()
        self._native = native.DtsScanner(WORDS, sources, ops, *_charsets(), rules, asked.row_only, asked.tokens)
        self._numbers: dict[str, int] = {}

    def bind(
        self, identity: bytes, definition: TableDef, names: Sequence[str], kinds: Sequence[Kind], digits: int
    ) -> None:
        """Has records of an identity, with columns of these names and kinds, taken as operations of a table, of which
        nothing may be held; they stay odd where the kernel cannot take them."""
        self.forget(definition.full_name)
        places = {name: place for place, name in enumerate(definition.column_names)}
        if not places.keys() >= set(names):
            return
        modes = bytes(_BYTES if k is Kind.BINARY else _BOOLEANS if k is Kind.BOOLEAN else _TEXTS for k in kinds)
        own = tuple(places[name] for name in names)
        try:
            self._numbers[definition.full_name] = self._native.bind(identity, own, modes, len(places), digits)
        except REFUSALS:
            return

    def forget(self, table: str) -> None:
        """Leaves the records of a table to others, until it is bound again."""
        number = self._numbers.pop(table, None)
        if number is not None:
            self._native.unbind(number)

    def scan(self, block: bytes, place: int, most: int, born: bool, ordinal: int) -> tuple[int, int, bytes | None]:
        """Takes records that follow each other: how many, where it stopped, and the identity of the record there, if it
        is bound to no table."""
        found: tuple[int, int, bytes | None] = self._native.scan(block, place, most, born, ordinal)
        return found

    def scan_spans(
        self, data: bytes, spans: array[int], first: int, prefix: int, ordinal: int
    ) -> tuple[int, bytes | None]:
        """Takes records in spans from the `first` on, each behind its length in `prefix` bytes: how many, and as
        `scan`."""
        taken, _, identity = self._native.scan_spans(data, spans, first, prefix, ordinal)
        return taken, identity

    def counted(self) -> Iterator[tuple[str, int]]:
        """How many records were met that are no changes, by their operation, since this was asked last."""
        return ((name, n) for name, n in zip(OPERATIONS, self._native.counts(), strict=True) if n)

    def rows(self, table: str) -> int:
        """How many operations are held of a table."""
        number = self._numbers.get(table)
        return 0 if number is None else int(self._native.rows(number))

    def batch(self, definition: TableDef) -> ChangeBatch:
        """The operations held of a table, of which there are some."""
        scanned = ScannedBatch.of(self._native.take(self._numbers[definition.full_name]), self._asked.tokens)
        asked, key_update = self._asked, None
        if asked.row_only and asked.key_updates:
            keys = tuple(scanned.before[place] for place in definition.key_indices)
            key_update = scanner.key_updates(replace(scanned, before=keys), definition)
        op_ts, position = (column.values for column in scanned.slots)
        return scanned.batch(definition, op_ts, position, asked.row_only, key_update)


def make_scan(asked: Projection) -> Scan | None:
    """What takes records of a split; None where no kernel can."""
    try:
        return None if native is None else Scan(asked)
    except REFUSALS:
        return None


@cache
def _charsets() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The names of charsets that are UTF-8, and of those of whose bytes ASCII is ASCII."""
    unicode = tuple(name.encode() for name, codec in MYSQL_CHARSETS.items() if codec == "utf-8")
    return unicode, tuple(name.encode() for name in (*MYSQL_CHARSETS, "latin1") if _has_ascii(name))


def _has_ascii(charset: str) -> bool:
    decode = decoder(charset)
    try:
        return decode is not None and decode(_ASCII.encode()) == _ASCII
    except ValueError:
        return False
