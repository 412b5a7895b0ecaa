"""The only caller of Arrow's element-wise join, which has a trap.

`binary_join_element_wise` with `null_handling="skip"` leaves out a row whose inputs are all null, so that an operation
would vanish: here a null is an error of the caller, and the length is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Piece: TypeAlias = Any  # a text for every row, a scalar for all, or an array of n texts

_OPTIONS = pc.JoinOptions(null_handling="emit_null")
_STRING = pa.string()
_EMPTY = pa.scalar("", _STRING)


def join(pieces: Sequence[Piece], rows: int | None = None) -> pa.StringArray:
    """The pieces of each row put together: arrays of n texts without nulls, and constants.

    `rows` is n, needed only where there may be no array among the pieces.
    """
    merged: list[Piece] = []
    arrays: list[pa.StringArray] = []
    for piece in pieces:
        if isinstance(piece, pa.Scalar):
            piece = piece.as_py()
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece  # one constant where two meet
        elif not isinstance(piece, str):
            arrays.append(piece)
            merged.append(piece)
        elif piece:
            merged.append(piece)
    if not arrays:
        assert rows is not None, "a join of constants needs a number of rows"
        return repeat("".join(map(str, merged)), rows)
    if len(merged) == 1:
        return arrays[0]
    arguments = [pa.scalar(piece, _STRING) if isinstance(piece, str) else piece for piece in merged]
    joined = pc.binary_join_element_wise(*arguments, _EMPTY, options=_OPTIONS)
    if len(joined) != len(arrays[0]) or joined.null_count:
        raise AssertionError("a join lost rows")
    return joined


def repeat(text: str, count: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(text, _STRING), count)
