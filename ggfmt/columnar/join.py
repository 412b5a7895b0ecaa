"""The only caller of Arrow's element-wise join, which has a trap.

`binary_join_element_wise` with `null_handling="skip"` leaves out a row whose inputs are all null, so that an operation
would vanish: here a null is an error of the caller, and the length is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Piece: TypeAlias = Any  # a text (or bytes) for every row, a scalar for all, or an array of n texts (or binaries)

_OPTIONS = pc.JoinOptions(null_handling="emit_null")
_STRING = pa.string()
_NO_TEXT = pa.scalar("", _STRING)
_NO_BYTES = pa.scalar(b"", pa.binary())


def join(pieces: Sequence[Piece], rows: int | None = None) -> pa.StringArray:
    """The pieces of each row put together: arrays of n texts without nulls, and constants.

    `rows` is n, needed only where there may be no array among the pieces.
    """
    return _join(pieces, rows, _NO_TEXT)


def join_binary(pieces: Sequence[Piece], rows: int | None = None) -> pa.BinaryArray:
    """As `join`, of arrays of n binaries and constants of bytes."""
    return _join(pieces, rows, _NO_BYTES)


def _join(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar) -> pa.Array:
    merged: list[Piece] = []
    arrays: list[pa.Array] = []
    for piece in pieces:
        if isinstance(piece, pa.Scalar):
            piece = piece.as_py()
        if not _is_constant(piece):
            arrays.append(piece)
            merged.append(piece)
        elif merged and _is_constant(merged[-1]):
            merged[-1] += piece  # one constant where two meet
        elif piece:
            merged.append(piece)
    if not arrays:
        assert rows is not None, "a join of constants needs a number of rows"
        return pa.repeat(pa.scalar(merged[0], empty.type) if merged else empty, rows)
    if len(merged) == 1:
        return arrays[0]
    arguments = [pa.scalar(piece, empty.type) if _is_constant(piece) else piece for piece in merged]
    joined = pc.binary_join_element_wise(*arguments, empty, options=_OPTIONS)
    if len(joined) != len(arrays[0]) or joined.null_count:
        raise AssertionError("a join lost rows")
    return joined


def _is_constant(piece: Piece) -> bool:
    return isinstance(piece, (str, bytes))


def repeat(text: str, count: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(text, _STRING), count)
