"""Kernels for Avro's binary encoding (Avro specification 1.8, "Binary Encoding" and "Decimal").

An encoder takes n texts and returns the pieces that represent them in n messages. `ggfmt.columnar.pieces.join_binary`
joins all pieces of the messages at once.

Decimals are exact: a text with more fraction digits than the scale, or more digits than the precision, is not a value
of the type. Their bytes are those of Java's `BigInteger.toByteArray()`: as few as show the sign, the most significant
first. Times (`timestamp-micros`) are microseconds since 1970 as a long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray
from ggfmt.columnar.pieces import (
    Conditional,
    Encoding,
    Piece,
    Repeated,
    TextPiece,
    join_binary,
    text_buffer,
    zigzag_varint,
)
from ggfmt.columnar.strings import TextPattern, all_match, rows_where
from ggfmt.columnar.timestamps import text_micros
from ggfmt.kernels.plain import sized
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import Image, ImageColumn

if TYPE_CHECKING:
    from ggfmt.java.date_format import DateMask


_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)

NULL, VALUE = b"\0", b"\2"  # the branches of a union of null and another type
FALSE, TRUE = b"\0", b"\1"
END = b"\0"  # ends the blocks of an array or a map


def text_bytes(text: str) -> bytes:
    return sized(text)


def array_bytes(texts: Sequence[str]) -> bytes:
    return (zigzag_varint(len(texts)) + b"".join(map(text_bytes, texts)) if texts else b"") + END


def longs(values: pa.Int64Array) -> list[Piece]:
    """Encode n longs; no bytes for null."""
    return [TextPiece(values, Encoding.VARINT, b"")]


def strings(values: pa.Array[Any]) -> list[Piece]:
    """Encode n strings or bytes, from texts or binaries without nulls."""
    return [TextPiece(values, Encoding.SIZED)]


Encoded = tuple[list[Piece], list[int]]
AvroEncoder = Callable[[pa.StringArray], Encoded]  # the second result: rows whose text is not a value of the type


def optional_strings(values: pa.StringArray) -> Encoded:
    """Encode n unions of null and string."""
    return [TextPiece(values, Encoding.SIZED, NULL, VALUE)], []


NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,10})?"
FLOATING = f"^(?:{NUMBER}|[+-]?(?:NaN|Infinity))$"
NOT_FINITE = "^[+-]?(?:NaN|Infinity)$"


def doubles(values: pa.StringArray) -> Encoded:
    """Encode n doubles, from texts that Java's BigDecimal reads, or `NaN`, `Infinity` and `-Infinity`; no bytes for
    null. A number that is too large for the type is not a value of the type. Java would write infinity."""
    return _floating(values, pa.float64(), 8)


def _floating(values: pa.StringArray, kind: pa.DataType, width: int) -> Encoded:
    try:
        numbers = values.cast(kind)
    except pa.ArrowInvalid:
        return [], rows_unlike(values, FLOATING)
    if not pc.all(pc.is_finite(numbers), min_count=0).as_py():
        overflown = pc.and_(pc.invert(pc.is_finite(numbers)), pc.invert(pc.match_substring_regex(values, NOT_FINITE)))
        bad = rows_where(overflown)
        if bad:
            return [], bad
    wide = pa.Array.from_buffers(pa.binary(width), len(numbers), [None, numbers.buffers()[1]], offset=numbers.offset)
    return [pc.fill_null(wide.cast(_BINARY), _NOTHING)], []


def exact_longs(texts: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Return texts that Java reads as a long (`BigDecimal.longValueExact`), NULL as NULL, and the rows with other
    texts. `3.00` and `3E0` are 3; `3.5` is not a long."""
    try:
        data = text_buffer(texts).to_pybytes()
        if b"x" in data or b"X" in data:  # Arrow reads hexadecimal digits
            raise pa.ArrowInvalid
        return pc.cast(texts, pa.int64()), []
    except pa.ArrowInvalid:
        exact = pa.array([None if text is None else exact_long(text) for text in texts.to_pylist()], pa.int64())
        return exact, rows_where(pc.and_(texts.is_valid(), exact.is_null()))


_LARGEST_EXPONENT = 18
_JAVA_NUMBER = lazy_regex(NUMBER, re.ASCII)


def exact_long(text: str) -> int | None:
    """Return a number that Java's BigDecimal reads as a long (`BigDecimal.longValueExact`), or None."""
    if not _JAVA_NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return 0
    if number.adjusted() > _LARGEST_EXPONENT or number.adjusted() < 0 or number != number.to_integral_value():
        return None
    exact = int(number)
    return exact if -(1 << 63) <= exact < 1 << 63 else None


def rows_unlike(values: pa.StringArray, pattern: str) -> list[int]:
    """Return the rows whose text does not match; null matches."""
    fits = pc.match_substring_regex(values, pattern)
    return rows_where(pc.invert(fits))


def optional(values: pa.Array[Any], pieces: list[Piece]) -> Encoded:
    """Return the pieces of n values as those of unions: null has only the number of its branch."""
    return [Conditional(values.is_valid(), [VALUE, *pieces], [NULL])] if values.null_count else [VALUE, *pieces], []


def _unions(values: pa.StringArray, pieces: list[Piece], bad: list[int]) -> Encoded:
    return ([NULL], bad) if bad else optional(values, pieces)


def _optional(pattern: TextPattern, encoding: Encoding, exact: AvroEncoder) -> AvroEncoder:
    """Return the encoder of n unions of null and a type: by the texts alone if they match a pattern, else `exact`."""

    def encode(values: pa.StringArray) -> Encoded:
        if all_match(values, pattern):
            return [TextPiece(values, encoding, NULL, VALUE)], []
        return _unions(values, *exact(values))

    return encode


def _longs(values: pa.StringArray) -> Encoded:
    numbers, bad = exact_longs(values)
    return longs(numbers), bad


optional_booleans = _optional(
    TextPattern.JSON_BOOLEAN, Encoding.BOOLEAN, lambda values: ([], rows_unlike(values, "^(?:true|false)$"))
)
optional_longs = _optional(TextPattern.SHORT_INTEGER, Encoding.LONG, _longs)
optional_floats = _optional(TextPattern.SHORT_FLOAT, Encoding.FLOAT, lambda values: _floating(values, pa.float32(), 4))
optional_doubles = _optional(TextPattern.SHORT_DOUBLE, Encoding.DOUBLE, doubles)

ENCODERS: dict[str, AvroEncoder] = {
    "string": optional_strings,
    "boolean": optional_booleans,
    "long": optional_longs,
    "float": optional_floats,
    "double": optional_doubles,
}


def string_maps(maps: StringMapArray) -> pa.BinaryArray:
    """Encode n maps of strings, each as one block."""
    return join_binary([Repeated(maps, [*strings(maps.keys), *strings(maps.items)], counted=True), END])


class ImageEncoder:
    """Encoder of the columns of images, one after the other. A missing value is null. `flagged` adds a boolean after
    each column, which is true if the column is missing."""

    def __init__(self, types: Sequence[str | AvroEncoder], flagged: bool) -> None:
        """`types` has the name of each type, or an encoder."""
        self._encoders = [ENCODERS[type] if isinstance(type, str) else type for type in types]
        self._flagged = flagged

    def pieces(
        self, columns: Sequence[ImageColumn], exists: pa.BooleanArray | None = None
    ) -> tuple[list[Piece], list[tuple[int, int]]]:
        """Return the pieces for n rows, if an image exists there, and (row, column) of each value that cannot be
        encoded."""
        pieces: list[Piece] = []
        bad: list[tuple[int, int]] = []
        for index, (encode, column) in enumerate(zip(self._encoders, columns, strict=True)):
            present = column.present
            encoded, wrong = encode(column.values)
            there = exists if present is None else present if exists is None else pc.and_(present, exists)
            if wrong and there is not None:  # what stands for missing values may be anything
                encoded, wrong = encode(pc.if_else(there, column.values, pa.scalar(None, column.values.type)))
            pieces += encoded if present is None else [Conditional(present, encoded, [NULL])]
            bad += [(row, index) for row in wrong]
            if self._flagged:
                pieces.append(FALSE if present is None else Conditional(present, [FALSE], [TRUE]))
        return pieces, bad

    def required(self, image: Image, rows: int) -> tuple[list[Piece], list[tuple[int, int]]]:
        """Return the pieces for n times the columns of an image; all columns are null where there is no image."""
        missing = (NULL + TRUE if self._flagged else NULL) * len(self._encoders)
        return self._where_there(image, rows, b"", missing)

    def optional(self, image: Image, rows: int) -> tuple[list[Piece], list[tuple[int, int]]]:
        """Return the pieces for n unions of null and a record of the columns; null where there is no image."""
        return self._where_there(image, rows, VALUE, NULL)

    def _where_there(
        self, image: Image, rows: int, lead: bytes, otherwise: bytes
    ) -> tuple[list[Piece], list[tuple[int, int]]]:
        there = rows if image.exists is None else image.exists.true_count
        if not there:
            return [otherwise], []
        exists = None if there == rows else image.exists
        pieces, bad = self.pieces(image.columns, exists)
        return [lead, *pieces] if exists is None else [Conditional(exists, [lead, *pieces], [otherwise])], bad


_LONG_DIGITS = 18  # a long holds any number of so many digits
_MAX_SCALE = 38  # of a decimal of 128 bits
_BYTES = pa.array([*(bytes([n]) for n in range(256)), b""], _BINARY)
_NO_BYTE = pa.scalar(256, pa.int64())
_DECIMAL_LENGTHS = pa.array([NULL, *(VALUE + zigzag_varint(n) for n in range(1, 9))], _BINARY)
_PLAIN_NUMBER = r"^-?[0-9]{1,18}(?:\.[0-9]*)?$"


def optional_decimals(precision: int, scale: int) -> AvroEncoder:
    """Return the encoder of n unions of null and a decimal in bytes, from texts that Java's BigDecimal reads."""
    return partial(_decimals, precision=precision, scale=scale)


def _decimals(values: pa.StringArray, precision: int, scale: int) -> Encoded:
    if values.null_count == len(values):
        return [NULL], []
    numbers = _unscaled_longs(values, scale) if scale <= _MAX_SCALE else None
    if numbers is None:
        return _decimals_singly(values, precision, scale)
    if precision <= _LONG_DIGITS:
        bad = pc.greater_equal(pc.abs(numbers), 10**precision)
        if pc.any(bad).as_py():
            return [NULL], rows_where(bad)
    return _long_bytes(numbers), []


def _unscaled_longs(values: pa.StringArray, scale: int) -> pa.Int64Array | None:
    """Return the unscaled numbers, or None unless all texts are plain and short numbers."""
    if not pc.all(pc.match_substring_regex(values, _PLAIN_NUMBER), min_count=0).as_py():
        return None
    try:
        decimals = values.cast(pa.decimal128(38, scale))
        buffers = decimals.buffers()
        whole = pa.Array.from_buffers(pa.decimal128(38, 0), len(decimals), buffers, offset=decimals.offset)
        return pc.cast(whole, pa.int64())
    except pa.ArrowInvalid:
        return None


def _long_bytes(numbers: pa.Int64Array) -> list[Piece]:
    """Return the length and the bytes of n numbers, with a piece for each byte."""
    sign = pc.shift_right(pc.shift_right(numbers, 32), 31)
    rest = pc.bit_wise_xor(numbers, sign)  # has the bits of the number without its sign
    largest = pc.max(rest).as_py()
    lengths = pc.cast(pc.is_valid(numbers), pa.int64())
    for place in range(1, 8):
        if largest >> (8 * place - 1):
            more = pc.greater_equal(rest, 1 << (8 * place - 1))
            lengths = pc.add(lengths, pc.fill_null(pc.cast(more, pa.int64()), 0))
    pieces: list[Piece] = [_DECIMAL_LENGTHS.take(lengths)]
    for place in reversed(range(pc.max(lengths).as_py())):
        byte = pc.bit_wise_and(pc.shift_right(numbers, 8 * place), 255)
        if place:
            byte = pc.if_else(pc.greater(lengths, place), byte, _NO_BYTE)
        pieces.append(_BYTES.take(pc.fill_null(byte, _NO_BYTE)))
    return pieces


def _decimals_singly(values: pa.StringArray, precision: int, scale: int) -> Encoded:
    bad = []
    encoded = []
    for row, text in enumerate(values.to_pylist()):
        number = 0 if text is None else unscaled(text, precision, scale)
        if number is None:
            bad.append(row)
        elif text is None:
            encoded.append(NULL)
        else:
            data = number.to_bytes(((number if number >= 0 else ~number).bit_length() + 8) // 8, "big", signed=True)
            encoded.append(VALUE + zigzag_varint(len(data)) + data)
    return ([NULL], bad) if bad else ([pa.array(encoded, _BINARY)], [])


def unscaled(text: str, precision: int, scale: int) -> int | None:
    """Return a number of Java's BigDecimal times ten to the power of the scale; None if the type cannot hold it."""
    if not _JAVA_NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return 0
    if number.adjusted() + scale >= precision:
        return None
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    if shift < 0:
        if any(digits[shift:]):
            return None
        digits = digits[:shift]
    else:
        digits += (0,) * shift
    return int(Decimal((sign, digits, 0)))


def optional_micros(mask: DateMask) -> AvroEncoder:
    """Return the encoder of n unions of null and a time, from texts that follow a mask, in UTC without a zone."""
    return partial(_micros, mask=mask)


def _micros(values: pa.StringArray, mask: DateMask) -> Encoded:
    if values.null_count == len(values):
        return [NULL], []
    unlike = pc.fill_null(pc.invert(pc.match_substring_regex(values, mask.pattern)), False)
    if unlike.true_count:
        return [NULL], rows_where(unlike)
    numbers, bad = text_micros(pc.replace_substring_regex(values, mask.pattern, mask.rewrite))
    return _unions(values, longs(numbers), bad)
