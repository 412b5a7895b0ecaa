"""Masks of columns: one big-endian number, whose bit `ordinal - 1` belongs to the column, read and written.

A mask of n columns has n // 8 + 1 bytes; one that is read may have any number of hexadecimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.pieces import Piece
from ggfmt.formats.records.problems import RecordError

_HEX = re.compile(r"[0-9A-Fa-f]+", re.ASCII)
_MAX_SEEN = 1024  # masks of a table that are remembered
_HELP = "check the definition; if the bytes of Avro masks are in the reverse order, set `avroMaskByteOrder`"


class Ordinals:
    """The columns of a table by their ordinals, counted from 1."""

    def __init__(self, columns: Iterable[tuple[str, int]]) -> None:
        self._columns = tuple(columns)
        self._highest = max((ordinal for _, ordinal in self._columns), default=0)
        self._seen: dict[str, frozenset[str]] = {}

    def unset(self, text: str, name: str, table: str) -> frozenset[str]:
        """The columns whose bit is not set in a mask. Raises: RecordError if a bit is set that belongs to no column."""
        unset = self._seen.get(text)
        if unset is None:
            mask = mask_of(text, name, table)
            if mask.bit_length() > self._highest:
                reason = f"`{name}` has a bit for the column {mask.bit_length()}"
                raise RecordError("GG308", f"{reason}, and the highest ordinal is {self._highest}", _HELP, table)
            unset = frozenset(column for column, ordinal in self._columns if not mask >> (ordinal - 1) & 1)
            if len(self._seen) < _MAX_SEEN:
                self._seen[text] = unset
        return unset


def mask_of(text: str, name: str, table: str) -> int:
    """Parse a mask of hexadecimal digits. Raises: RecordError for other characters."""
    if not _HEX.fullmatch(text):
        raise RecordError("GG308", f"`{name}` does not consist of hexadecimal digits", None, table)
    return int(text, 16)


_SYMBOLS: Mapping[int, pa.Array[Any]] = {
    4: pa.array(list("0123456789ABCDEF"), pa.string()),
    8: pa.array([bytes([number]) for number in range(256)], pa.binary()),
}
HEX_DIGITS, BYTES = 4, 8  # bits in a piece


def mask_pieces(bits: Sequence[pa.BooleanArray | bool], width: int) -> list[Piece]:
    """n masks as pieces of `HEX_DIGITS` or `BYTES`, the highest first, from the bits of each column in the order of
    ordinals; a bit is n booleans, or one for all rows."""
    symbols = _SYMBOLS[width]
    pieces: list[Piece] = []
    for group in range((len(bits) // 8 + 1) * 8 // width):
        constant, number = 0, None
        for place, bit in enumerate(bits[group * width : (group + 1) * width]):
            if isinstance(bit, bool):
                constant |= bit << place
            else:
                own = pc.shift_left(bit.cast(pa.int32()), place)
                number = own if number is None else pc.add(number, own)
        pieces.append(symbols[constant] if number is None else symbols.take(pc.add(number, constant)))
    return pieces[::-1]
