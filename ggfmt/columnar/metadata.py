"""Kernels for the metadata of operations: keys of operation types, time stamps, positions and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.join import join
from ggfmt.model.change import OP_TYPES

_STRING = pa.string()
_OP_TYPES = pa.array(OP_TYPES, _STRING)


class OpKeys:
    """The words, or their bytes, that a format writes for insert, update, delete and, if it has one, truncate."""

    def __init__(self, words: Sequence[str | bytes], type: pa.DataType = _STRING) -> None:
        self._words = pa.array(words, type)
        self._plain = tuple(words) == OP_TYPES

    def of(self, op: pa.StringArray) -> pa.Array:
        return op if self._plain else self._words.take(pc.index_in(op, _OP_TYPES))


def or_empty(array: pa.StringArray) -> pa.StringArray:
    return array.fill_null("") if array.null_count else array


def token_texts(
    tokens: pa.MapArray | None,
    count: int,
    pair: Callable[[pa.StringArray, pa.StringArray], pa.StringArray],
    separator: str,
) -> pa.StringArray:
    """The tokens of each operation as one text: `pair` puts name and value together, `separator` divides pairs."""
    if tokens is None:
        return pa.repeat(pa.scalar("", pa.string()), count)
    offsets, first = tokens.offsets, tokens.offsets[0].as_py()
    size = tokens.offsets[-1].as_py() - first
    pairs = pair(tokens.keys.slice(first, size), tokens.items.slice(first, size)) if size else pa.array([], pa.string())
    lists = pa.ListArray.from_arrays(pc.subtract(offsets, first), pairs)
    return pc.binary_join(lists, separator)


def joined_pairs(delimiter: str) -> Callable[[pa.StringArray, pa.StringArray], pa.StringArray]:
    return lambda names, values: join([names, delimiter, values])
