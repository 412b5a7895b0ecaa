"""Numbers of rows by their values: codes within some rows, and hashes, as words of 64 bits. Arrow has neither.

Equal values of one type have equal hashes on every machine and in every process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow

_LONG, _WORD, _BINARY, _STRING = pa.int64(), pa.uint64(), pa.binary(), pa.string()
_NOTHING, _ZERO = pa.scalar(0x9E3779B97F4A7C15, _WORD), pa.scalar(0, _WORD)
_FACTORS = [pa.scalar(number, _WORD) for number in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
_WORD_BYTES, _MAX_BYTES = 8, 64  # of a long text, the first and the last bytes and the length count


def row_hashes(columns: Sequence[pa.Array[Any]]) -> pa.UInt64Array:
    """Return a hash for each row: equal values have equal hashes, other values different ones, with few exceptions."""
    found = pa.repeat(_NOTHING, len(columns[0]))
    for column in columns:
        for word in _words(column):
            if column.null_count:
                word = pc.if_else(column.is_null(), _NOTHING, word)
            found = pc.multiply(pc.bit_wise_xor(found, word), _FACTORS[0])
            found = pc.bit_wise_xor(found, pc.shift_right(found, pa.scalar(29, _WORD)))
            found = pc.multiply(found, _FACTORS[1])
    return pc.bit_wise_xor(found, pc.shift_right(found, pa.scalar(32, _WORD)))


def _words(column: pa.Array[Any]) -> Iterator[pa.UInt64Array]:
    type = column.type
    if pa.types.is_string(type) or pa.types.is_binary(type):
        yield from _text_words(column)
    elif pa.types.is_decimal(type):
        yield from _as_words(column, type.bit_width // 8)
    else:
        if pa.types.is_float32(type):
            column = column.view(pa.int32()).cast(_LONG)
        elif pa.types.is_boolean(type) or pa.types.is_date32(type):
            column = column.cast(pa.int32()).cast(_LONG)
        elif type.bit_width < 64:
            column = column.cast(_LONG)
        yield narrow(pc.fill_null(column.view(_LONG), 0).view(_WORD), pa.UInt64Array)


def _text_words(column: pa.Array[Any]) -> Iterator[pa.UInt64Array]:
    """Return two words: the length of a text, and a sum of its bytes, to which absent bytes add nothing."""
    data = pc.fill_null(column.view(_BINARY), b"")
    lengths = pc.binary_length(data)
    yield pc.cast(lengths, _WORD)
    most = pc.max(lengths).as_py() or 0
    width = min(-(-most // _WORD_BYTES) * _WORD_BYTES, _MAX_BYTES)
    found = pa.repeat(_ZERO, len(data))
    if not width:
        yield found
        return
    for start, stop in ((0, width), (-width, None))[: 1 + (most > _MAX_BYTES)]:
        if start < 0:
            data = pc.if_else(pc.greater(lengths, _MAX_BYTES), data, pa.scalar(b"", _BINARY))
        for place, word in enumerate(_as_words(_padded(pc.binary_slice(data, start, stop), width), width)):
            factor = pa.scalar((2 * place + 1 - start) * 0x9E3779B97F4A7C15 % (1 << 64) | 1, _WORD)
            mixed = pc.bit_wise_xor(word, pc.shift_right(word, pa.scalar(32, _WORD)))
            found = pc.add(found, pc.multiply(mixed, factor))
    yield found


def _padded(data: pa.Array[Any], width: int) -> pa.Array[Any]:
    whole = pc.ascii_rpad(data.view(_STRING), width=width, padding="\0")
    return pa.Array.from_buffers(pa.binary(width), len(whole), [None, whole.buffers()[2]])


def _as_words(column: pa.Array[Any], width: int) -> Iterator[pa.UInt64Array]:
    count = width // _WORD_BYTES
    validity, data = column.buffers()[0], column.buffers()[1]
    words = pa.Array.from_buffers(_WORD, len(column) * count, [None, data], offset=column.offset * count)
    lists = pa.FixedSizeListArray.from_arrays(words, count)
    for place in range(count):
        word = narrow(pc.list_element(lists, place), pa.UInt64Array)
        yield word if validity is None else pc.if_else(column.is_valid(), word, _NOTHING)


def row_codes(columns: Sequence[pa.Array[Any]]) -> pa.Int64Array:
    """Return a number for each row, the same for equal values. NULL equals NULL."""
    codes: pa.Int64Array | None = None
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        own = pc.cast(encoded.indices, _LONG)
        if codes is None:
            codes = own
        else:
            pairs = pc.add(pc.multiply(codes, len(encoded.dictionary)), own)
            codes = pc.cast(pairs.dictionary_encode().indices, _LONG)
    assert codes is not None
    return codes
