"""Kernels for the metadata of operations: keys of operation types, tokens, and the current time stamp."""

from __future__ import annotations

import calendar
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, narrow, string_maps
from ggfmt.columnar.pieces import Conditional, Equals, Piece, Repeated
from ggfmt.model.change import OP_TYPES, without_empty

_STRING = pa.string()
_OP_TYPES = pa.array(OP_TYPES, _STRING)


class OpKeys:
    """The words, or their bytes, that a format writes for insert, update, delete and perhaps truncate."""

    def __init__(self, words: Sequence[str | bytes], type: pa.DataType = _STRING) -> None:
        self._words = tuple(words)
        self._type = type
        self._plain = self._words == OP_TYPES

    def of(self, op: pa.StringArray) -> pa.Array[Any]:
        return op if self._plain else pa.array(self._words, self._type).take(pc.index_in(op, _OP_TYPES))

    def piece(self, op: pa.StringArray) -> Piece:
        if self._plain:
            return op
        *words, (_, last) = zip(OP_TYPES, self._words, strict=False)
        piece: Piece = last
        for kind, word in reversed(words):
            piece = Conditional(Equals(op, kind), [word], [piece])
        return piece


def or_empty(array: pa.StringArray) -> pa.StringArray:
    """Return the texts with an empty text for NULL."""
    return pc.fill_null(array, "") if array.null_count else array


def token_texts(
    tokens: StringMapArray | None, pair: Callable[[pa.StringArray, pa.StringArray], Sequence[Piece]], separator: str
) -> Piece:
    """Return the tokens of each operation as one text. `pair` joins name and value, `separator` divides pairs."""
    return (
        "" if tokens is None else Repeated(tokens, pair(as_strings(tokens.keys), as_strings(tokens.items)), separator)
    )


def token(tokens: StringMapArray | None, name: str, rows: int) -> pa.StringArray:
    """Return the token of each of n operations, or NULL if an operation has no token of that name."""
    if tokens is None:
        return pa.nulls(rows, pa.string())
    return as_strings(pc.map_lookup(tokens, pa.scalar(name, pa.string()), "first"))


def first_token(tokens: StringMapArray, names: Sequence[str]) -> pa.StringArray:
    """Return of each operation the first of some tokens that is not empty, or NULL; `names` has at least one name."""
    return pc.coalesce(*(without_empty(token(tokens, name, len(tokens))) for name in names))


def with_common(tokens: StringMapArray, common: Mapping[str, str]) -> StringMapArray:
    """Append tokens that all operations share to the tokens of each operation."""
    count = len(tokens)
    return _appended(tokens, {name: pa.repeat(pa.scalar(text, pa.string()), count) for name, text in common.items()})


def with_added(tokens: StringMapArray | None, columns: Mapping[str, pa.StringArray]) -> StringMapArray:
    """Append a token for each column to the tokens of each operation, unless it is NULL or the operation has one of the
    same name; None if no operation has tokens."""
    if tokens is None:
        count = len(next(iter(columns.values())))
        none = pa.array([], pa.string())
        tokens = string_maps(pa.array([0] * (count + 1), pa.int32()), none, none)
    else:
        lacking = {name: token(tokens, name, len(tokens)).is_null() for name in columns}
        columns = {name: pc.if_else(lacking[name], texts, None) for name, texts in columns.items()}
    return _appended(tokens, columns)


def _appended(tokens: StringMapArray, columns: Mapping[str, pa.StringArray]) -> StringMapArray:
    """Append the values of columns that are not NULL to the tokens of each operation."""
    if not columns:
        return tokens
    rows = len(tokens)
    every = pa.array(range(rows), pa.int64())
    own, items = (pa.ListArray.from_arrays(tokens.offsets, part) for part in (tokens.keys, tokens.items))
    names, texts = [own.flatten()], [items.flatten()]
    rows_of = [pc.list_parent_indices(own).cast(pa.int64())]
    lengths: pa.Array[Any] = pc.fill_null(pc.list_value_length(own), 0)
    for name, column in columns.items():
        there = column.is_valid()
        texts.append(column.drop_null())
        names.append(pa.repeat(pa.scalar(name, pa.string()), len(texts[-1])))
        rows_of.append(every.filter(there))
        lengths = pc.add(lengths, there.cast(pa.int32()))
    order = pc.sort_indices(pa.concat_arrays(rows_of))  # the sort is stable
    keys, values = (as_strings(pa.concat_arrays(parts).take(order)) for parts in (names, texts))
    places = narrow(pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)]), pa.Int32Array)
    return string_maps(places, keys, values)


_PER_MS = 1000
_COUNTERS = [f"{n:03d}" for n in range(_PER_MS)]
_STAMP_BYTES = 26


class Clock:
    """The source of the current time stamp of messages, in local time. A `fixed` (naive) time gives the same stamp
    every time. GoldenGate's `current_ts` has millisecond precision. The last three of its six fraction digits count the
    operations within a millisecond, so that the stamps of a process are distinct and increasing."""

    def __init__(self, fixed: datetime | None = None) -> None:
        self.fixed = fixed
        self._next = 0  # in thousandths of a millisecond
        self._ends = array("i", [0])  # offsets of consecutive stamps
        self._last = (0, "", "")  # a second, a format, and the second in that format

    def stamps(self, count: int, iso8601: bool) -> pa.StringArray | pa.StringScalar:
        """Return `count` stamps, later than all earlier ones; a single scalar if the clock is fixed."""
        form = "%Y-%m-%dT%H:%M:%S" if iso8601 else "%Y-%m-%d %H:%M:%S"
        if self.fixed is not None:
            return pa.scalar(self.fixed.strftime(form) + f".{self.fixed.microsecond:06d}", pa.string())
        start = self._take(count)
        end = start + count
        stamps = ""
        while start < end:
            ms, counter = divmod(start, _PER_MS)
            size = min(_PER_MS - counter, end - start)
            moment = f"{self._shown(ms // 1000, form)}.{ms % 1000:03d}"
            stamps += moment + moment.join(_COUNTERS[counter : counter + size])
            start += size
        if len(self._ends) <= count:
            self._ends = array("i", range(0, _STAMP_BYTES * (count + 1), _STAMP_BYTES))
        return pa.StringArray.from_buffers(count, pa.py_buffer(self._ends), pa.py_buffer(stamps.encode()))

    def _shown(self, second: int, form: str) -> str:
        if self._last[:2] != (second, form):
            self._last = (second, form, datetime.fromtimestamp(second).strftime(form))
        return self._last[2]

    def micros(self, count: int) -> pa.StringArray | pa.StringScalar:
        """Return stamps as `stamps` does, in microseconds since 1970. A fixed time counts as UTC."""
        if self.fixed is not None:
            moment = self.fixed.replace(tzinfo=timezone.utc)
            return pa.scalar(str(calendar.timegm(moment.utctimetuple()) * 1_000_000 + moment.microsecond), pa.string())
        return pc.cast(pa.array(range(start := self._take(count), start + count), pa.int64()), pa.string())

    def _take(self, count: int) -> int:
        start = max(self._next, time.time_ns() // 1_000_000 * _PER_MS)
        self._next = start + count
        return start

    def millis(self) -> int:
        """Return the current time in milliseconds since 1970. A fixed time counts as UTC."""
        if self.fixed is None:
            return time.time_ns() // 1_000_000
        return round(self.fixed.replace(tzinfo=timezone.utc).timestamp() * 1000)
