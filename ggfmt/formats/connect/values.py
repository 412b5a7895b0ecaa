"""Values of Kafka Connect's types as texts, and as its JSON converter writes them.

A decimal is Base64 of a big-endian number in two's complement, without the decimal point; the schema has the scale.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.json_text import JsonValues, Values, json_numbers
from ggfmt.columnar.pieces import join
from ggfmt.columnar.strings import Converted, Kernel, TextPattern, all_match, by_value, bytes_of, reject_all, rows_where
from ggfmt.columnar.timestamps import floor_millis, instant_micros, micros_text
from ggfmt.formats.connect import schemas as connect
from ggfmt.model.table import STRING, Kind, SqlType

_FARTHEST = 1 << 62
_DAY = 86400_000000
_MAX_DIGITS = 1000

# Decimals

_PLAIN = re.compile(r"[+-]?[0-9]{1,1500}(?:\.[0-9]{1,1500})?", re.ASCII)
_EXPONENT = re.compile(r"[+-]?(?:[0-9]{1,1500}(?:\.[0-9]{0,1500})?|\.[0-9]{1,1500})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_MAX_BYTES = 1600  # Python prints no more digits


def decimals(scale: int) -> Kernel:
    return by_value(lambda text: decoded(text, scale))


def decoded(text: str, scale: int) -> str | None:
    """Decode a decimal of a scale from Base64; None if the text is not Base64."""
    data = bytes_of(text)
    return decimal_text(int.from_bytes(data, "big", signed=True), scale) if data and len(data) <= _MAX_BYTES else None


def decimal_text(number: int, scale: int) -> str:
    """Return `number` times ten to the power of `-scale`."""
    if scale <= 0:
        return f"{number}{'0' * -scale if number else ''}"
    digits = str(number if number >= 0 else -number)
    if len(digits) <= scale:
        digits = digits.zfill(scale + 1)
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def encoded(text: str, scale: int) -> str | None:
    """Encode a decimal in Base64; None if the text is no decimal, or has more fraction digits than the scale."""
    parts = unscaled(text)
    if parts is None:
        return None
    number, own = parts
    if own > scale:
        number, rest = divmod(number, 10 ** (own - scale))
        if rest:
            return None
    elif own < scale:
        number *= 10 ** (scale - own)
    return base64_of(number)


def unscaled(text: str) -> tuple[int, int] | None:
    """Return a whole number and the scale by which a text gives it; None for no number."""
    if _PLAIN.fullmatch(text):
        whole, _, fraction = text.partition(".")
        return int(whole + fraction), len(fraction)
    if not _EXPONENT.fullmatch(text):
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    return -number if sign else number, -exponent


def base64_of(number: int) -> str:
    bits = (number if number >= 0 else ~number).bit_length()
    return b2a_base64(number.to_bytes(bits // 8 + 1, "big", signed=True), newline=False).decode()


# Reading


def read_as(type: str, name: str, parameters: Mapping[str, Any] | None) -> tuple[SqlType, Kernel | None]:
    """Return the SQL type of a schema, and the kernel for its values; None if they are texts already."""
    if name == connect.DECIMAL:
        scale, precision = (_int((parameters or {}).get(size)) for size in ("scale", connect.PRECISION))
        kernel = reject_all if scale is None or abs(scale) > _MAX_DIGITS else decimals(scale)
        return SqlType(Kind.DECIMAL, precision=precision, scale=scale), kernel
    return _TIMES.get(name) or (connect.TYPES.get(type, STRING), None)


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _numbers(values: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Parse whole numbers; also return the rows whose text is no whole number."""
    fits = pc.match_substring_regex(values, r"^-?[0-9]{1,18}$")
    numbers = pc.cast(pc.if_else(fits, values, pa.scalar(None, pa.string())), pa.int64())
    return numbers, rows_where(pc.invert(fits.fill_null(True)))


def _times(scale: int, first: int, last: int | None, most: int = _FARTHEST) -> Kernel:
    """Return a kernel from numbers that count `scale` microseconds each to some characters of the text of a time stamp.
    `most`: how many microseconds there can be; with any other number than the default, the number cannot be
    negative."""
    high = most // scale
    low = -high if most == _FARTHEST else 0

    def kernel(values: pa.StringArray) -> Converted:
        numbers, bad = _numbers(values)
        inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        bad += rows_where(pc.invert(inside.fill_null(True)))
        texts, far = micros_text(pc.multiply(pc.if_else(inside, numbers, pa.scalar(None, pa.int64())), scale))
        return pc.utf8_slice_codeunits(texts, first, last), [*bad, *far]

    return kernel


_TIMES: dict[str, tuple[SqlType, Kernel | None]] = {
    connect.TIMESTAMP: (SqlType(Kind.TIMESTAMP), _times(1000, 0, None)),
    connect.DATE: (SqlType(Kind.DATE), _times(_DAY, 0, 10)),
    connect.TIME: (SqlType(Kind.TIME), _times(1000, 11, None, _DAY - 1)),
}

# Writing

_FINER_THAN_MICROS = r"(\.[0-9]{6})[0-9]{1,3}([^0-9]|$)"
_FINER_THAN_MILLIS = r"\.[0-9]{3}[0-9]*[1-9]"


def millis(values: pa.StringArray) -> Converted:
    """Return time stamps as milliseconds since 1970 in UTC, cut off."""
    numbers, bad = instant_micros(pc.replace_substring_regex(values, _FINER_THAN_MICROS, r"\1\2"))
    return pc.fill_null(pc.cast(floor_millis(numbers), pa.string()), "null"), bad


def too_fine(values: pa.StringArray) -> int:
    """Count the time stamps with more digits than milliseconds."""
    return int(pc.match_substring_regex(values, _FINER_THAN_MILLIS).true_count)


def whole(values: pa.StringArray) -> Converted:
    """Return whole numbers of 64 bits as JSON, and the rows with other values."""
    if all_match(values, TextPattern.SHORT_INTEGER):
        return pc.fill_null(values, "null"), []
    numbered, bad = json_numbers(values)
    texts = join([numbered])
    odd = pc.indices_nonzero(pc.invert(pc.match_substring_regex(texts, r"^(?:null|-?(?:0|[1-9][0-9]{0,17}))$")))
    if not len(odd):
        return texts, bad
    numbers = non_null_values(texts)
    for row in non_null_values(odd):
        number = Decimal(numbers[row])
        if abs(number.adjusted()) > 20 or number != number.to_integral_value() or not -(1 << 63) <= number < 1 << 63:
            bad.append(row)
            numbers[row] = "null"
        else:
            numbers[row] = str(int(number))
    return pa.array(numbers, pa.string()), bad


def within(values: Values, bits: int | None) -> Values:
    """Return the kernel for numbers of fewer bits, from the one for numbers of 64 bits."""
    if bits is None:
        return values
    end = 1 << (bits - 1)

    def checked(texts: pa.StringArray) -> JsonValues:
        json, bad = values(texts)
        if not all_match(texts, TextPattern.SHORT_INTEGER):
            texts = join([json])
            texts = pc.if_else(pc.equal(texts, "null"), pa.scalar(None, pa.string()), texts)
        numbers = pc.cast(texts, pa.float64())  # which has all numbers of fewer bits
        beyond = pc.or_(pc.less(numbers, float(-end)), pc.greater_equal(numbers, float(end)))
        return json, sorted({*bad, *rows_where(beyond)}) if beyond.true_count else bad

    return checked
