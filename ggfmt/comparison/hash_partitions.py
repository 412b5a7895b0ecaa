"""Rows that go together brought together: by a number made of the values that have to be equal, in files on disk where
they are more than memory should hold.

Arrow has no function for such a number. It is made of the bytes of values as words of 64 bits, a column at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value, narrow

FAN_OUT_BITS = 5
FAN_OUT = 1 << FAN_OUT_BITS
CHUNK_ROWS, CHUNK_BYTES = 1 << 17, 16 << 20
_LONG, _WORD, _BINARY, _STRING = pa.int64(), pa.uint64(), pa.binary(), pa.string()
_NOTHING, _ZERO = pa.scalar(0x9E3779B97F4A7C15, _WORD), pa.scalar(0, _WORD)
_FACTORS = [pa.scalar(number, _WORD) for number in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
_WORD_BYTES, _MOST_BYTES = 8, 64  # of a long text its first and its last bytes count, and how many it has

Batches = Iterator[pa.RecordBatch]
Keys: TypeAlias = "Callable[[pa.RecordBatch], Sequence[pa.Array[Any]]]"  # the values by which rows go together


def numbers(columns: Sequence[pa.Array[Any]]) -> pa.UInt64Array:
    """A number for each row: equal values have equal ones. Other values have others, but for a few."""
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
        yield from _divided(column, type.bit_width // 8)
    else:
        if pa.types.is_boolean(type) or pa.types.is_int32(type) or pa.types.is_date(type):
            column = column.cast(pa.int32()).cast(_LONG)
        yield narrow(pc.fill_null(column.view(_LONG), 0).view(_WORD), pa.UInt64Array)


def _text_words(column: pa.Array[Any]) -> Iterator[pa.UInt64Array]:
    """Two words: how many bytes a text has, and a sum of its bytes, to which those add nothing that it lacks."""
    data = pc.fill_null(column.view(_BINARY), b"")
    lengths = pc.binary_length(data)
    yield pc.cast(lengths, _WORD)
    most = pc.max(lengths).as_py() or 0
    width = min(-(-most // _WORD_BYTES) * _WORD_BYTES, _MOST_BYTES)
    found = pa.repeat(_ZERO, len(data))
    if not width:
        yield found
        return
    for start, stop in ((0, width), (-width, None))[: 1 + (most > _MOST_BYTES)]:
        if start < 0:
            data = pc.if_else(pc.greater(lengths, _MOST_BYTES), data, pa.scalar(b"", _BINARY))
        for place, word in enumerate(_divided(_padded(pc.binary_slice(data, start, stop), width), width)):
            factor = pa.scalar((2 * place + 1 - start) * 0x9E3779B97F4A7C15 % (1 << 64) | 1, _WORD)
            mixed = pc.bit_wise_xor(word, pc.shift_right(word, pa.scalar(32, _WORD)))
            found = pc.add(found, pc.multiply(mixed, factor))
    yield found


def _padded(data: pa.Array[Any], width: int) -> pa.Array[Any]:
    whole = pc.ascii_rpad(data.view(_STRING), width=width, padding="\0")
    return pa.Array.from_buffers(pa.binary(width), len(whole), [None, whole.buffers()[2]])


def _divided(column: pa.Array[Any], width: int) -> Iterator[pa.UInt64Array]:
    """Values of so many bytes as words."""
    count = width // _WORD_BYTES
    validity, data = column.buffers()[0], column.buffers()[1]
    words = pa.Array.from_buffers(_WORD, len(column) * count, [None, data], offset=column.offset * count)
    lists = pa.FixedSizeListArray.from_arrays(words, count)
    for place in range(count):
        word = narrow(pc.list_element(lists, place), pa.UInt64Array)
        yield word if validity is None else pc.if_else(column.is_valid(), word, _NOTHING)


def in_chunks(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Small batches joined to larger ones, large ones cut."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for start in range(0, len(batch), CHUNK_ROWS):
            part = batch.slice(start, CHUNK_ROWS)
            waiting.append(part)
            rows, size = rows + len(part), size + part.nbytes
            if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
                yield joined(waiting)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield joined(waiting)


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of one schema as one; there is at least one."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(at) for batch in batches]) for at in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


class HashPartitions:
    """Rows in `FAN_OUT` files of a directory, by the bits of their numbers that belong to a level. `rows`: how many
    each file has."""

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        self._files = [directory / f"{number:02d}" for number in range(FAN_OUT)]
        self._schema = schema
        self.rows = [0] * FAN_OUT
        directory.mkdir()

    def write(self, batches: Iterable[pa.RecordBatch], keys: Keys, level: int) -> None:
        """OSError where the disk does not take them."""
        options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
        with ExitStack() as opened:
            writers = [
                opened.enter_context(
                    pa.ipc.new_stream(opened.enter_context(file.open("wb")), self._schema, options=options)
                )
                for file in self._files
            ]
            for chunk in batches:
                for place, part in _parted(chunk, keys(chunk), level):
                    writers[place].write_batch(part)
                    self.rows[place] += len(part)

    def read(self, place: int) -> Batches:
        """The rows of a file, which is removed then."""
        with self._files[place].open("rb") as stream, pa.ipc.open_stream(stream) as reader:
            yield from reader
        self._files[place].unlink()


def _parted(chunk: pa.RecordBatch, keys: Sequence[pa.Array[Any]], level: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    shifted = pc.shift_right(numbers(keys), pa.scalar(level * FAN_OUT_BITS, _WORD))
    places = pc.bit_wise_and(shifted, pa.scalar(FAN_OUT - 1, _WORD)).cast(pa.uint8())
    ordered = chunk.take(pc.sort_indices(places))
    counts = counts_by_value(places)
    start = 0
    for place in sorted(counts):
        yield place, ordered.slice(start, counts[place])
        start += counts[place]
