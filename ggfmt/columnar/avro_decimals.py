"""Kernels for Avro's decimals (Avro specification 1.8, "Decimal"): unscaled numbers, most significant byte first.

The number is exact: a text that needs more digits behind its point than the scale, or more digits than the precision,
is no value of the type. The bytes are those of Java's `BigInteger.toByteArray()`: as few as show the sign.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.avro import NULL, NUMBER, VALUE, AvroEncoder, Encoded, zigzag_varint
from ggfmt.columnar.pieces import Piece

_BINARY = pa.binary()
_LONG_DIGITS = 18  # that any long has
_MOST_SCALE = 38  # of a number of 128 bits
_BYTES = pa.array([*(bytes([n]) for n in range(256)), b""], _BINARY)
_NO_BYTE = pa.scalar(256, pa.int64())
_LENGTHS = pa.array([NULL, *(VALUE + zigzag_varint(n) for n in range(1, 9))], _BINARY)
_SHORT = r"^-?[0-9]{1,18}(?:\.[0-9]*)?$"
_NUMBER = re.compile(NUMBER, re.ASCII)


def optional_decimals(precision: int, scale: int) -> AvroEncoder:
    """The encoder of n unions of null and bytes of a decimal, of texts that Java's BigDecimal reads."""
    return partial(_decimals, precision=precision, scale=scale)


def _decimals(values: pa.StringArray, precision: int, scale: int) -> Encoded:
    if values.null_count == len(values):
        return [NULL], []
    numbers = _unscaled_longs(values, scale) if scale <= _MOST_SCALE else None
    if numbers is None:
        return _one_by_one(values, precision, scale)
    if precision <= _LONG_DIGITS:
        bad = pc.greater_equal(pc.abs(numbers), 10**precision)
        if pc.any(bad).as_py():
            return [NULL], non_null_values(pc.indices_nonzero(bad))
    return _short(numbers), []


def _unscaled_longs(values: pa.StringArray, scale: int) -> pa.Int64Array | None:
    """The unscaled numbers, if all are plain and short; None if some are not."""
    if not pc.all(pc.match_substring_regex(values, _SHORT), min_count=0).as_py():
        return None
    try:
        decimals = values.cast(pa.decimal128(38, scale))
        buffers = decimals.buffers()
        whole = pa.Array.from_buffers(pa.decimal128(38, 0), len(decimals), buffers, offset=decimals.offset)
        return pc.cast(whole, pa.int64())
    except pa.ArrowInvalid:
        return None


def _short(numbers: pa.Int64Array) -> list[Piece]:
    """The length and the bytes of n numbers, a piece for each place of a byte."""
    sign = pc.shift_right(pc.shift_right(numbers, 32), 31)
    rest = pc.bit_wise_xor(numbers, sign)  # as many bits as the number has besides its sign
    largest = pc.max(rest).as_py()
    lengths = pc.cast(pc.is_valid(numbers), pa.int64())
    for place in range(1, 8):
        if largest >> (8 * place - 1):
            more = pc.greater_equal(rest, 1 << (8 * place - 1))
            lengths = pc.add(lengths, pc.fill_null(pc.cast(more, pa.int64()), 0))
    pieces: list[Piece] = [_LENGTHS.take(lengths)]
    for place in reversed(range(pc.max(lengths).as_py())):
        byte = pc.bit_wise_and(pc.shift_right(numbers, 8 * place), 255)
        if place:
            byte = pc.if_else(pc.greater(lengths, place), byte, _NO_BYTE)
        pieces.append(_BYTES.take(pc.fill_null(byte, _NO_BYTE)))
    return pieces


def _one_by_one(values: pa.StringArray, precision: int, scale: int) -> Encoded:
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
    """A number that Java's BigDecimal reads, times ten to the power of the scale; None if the type does not have it."""
    if not _NUMBER.fullmatch(text):
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
