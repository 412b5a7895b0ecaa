"""Kernels for the metadata of operations: keys of operation types, time stamps, positions and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings
from ggfmt.columnar.pieces import Conditional, Equals, Piece, Repeated
from ggfmt.model.change import OP_TYPES

_STRING = pa.string()
_OP_TYPES = pa.array(OP_TYPES, _STRING)


class OpKeys:
    """The words, or their bytes, that a format writes for insert, update, delete and, if it has one, truncate."""

    def __init__(self, words: Sequence[str | bytes], type: pa.DataType = _STRING) -> None:
        self._words = tuple(words)
        self._type = type
        self._plain = self._words == OP_TYPES

    def of(self, op: pa.StringArray) -> pa.Array[Any]:
        return op if self._plain else pa.array(self._words, self._type).take(pc.index_in(op, _OP_TYPES))

    def piece(self, op: pa.StringArray) -> Piece:
        """The words as a piece of messages."""
        if self._plain:
            return op
        *words, (_, last) = zip(OP_TYPES, self._words, strict=False)
        piece: Piece = last
        for kind, word in reversed(words):
            piece = Conditional(Equals(op, kind), [word], [piece])
        return piece


def or_empty(array: pa.StringArray) -> pa.StringArray:
    return pc.fill_null(array, "") if array.null_count else array


def token_texts(
    tokens: StringMapArray | None, pair: Callable[[pa.StringArray, pa.StringArray], Sequence[Piece]], separator: str
) -> Piece:
    """The tokens of each operation as one text: `pair` puts name and value together, `separator` divides pairs."""
    return (
        "" if tokens is None else Repeated(tokens, pair(as_strings(tokens.keys), as_strings(tokens.items)), separator)
    )
