"""Values as Debezium encodes them, made texts: decimals, dates, times, bits, and the placeholder of unavailable values.

Kernels take a column of texts (JSON strings without their quotes, other JSON values with their own characters) and give
texts and the rows whose value is not so encoded. What is rare, and beyond Arrow's types, is worked out one by one:
years outside of 1 to 9999, times of day that are negative or over 24 hours, and PostgreSQL's infinities.
"""

from __future__ import annotations

import base64
import json
import re
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.from_python import JsonColumn, texts
from ggfmt.columnar.strings import text_buffer
from ggfmt.formats.debezium import placeholder_bytes
from ggfmt.model.change import ImageColumn

# Texts and the rows that have none for being wrong.
Made = tuple[pa.StringArray, list[int]]
Kernel = Callable[[pa.StringArray], Made]

DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
MOST_SCALE = 20000  # PostgreSQL's goes up to 16383

_STRING = pa.string()
_INTEGER = "^-?[0-9]{1,19}$"
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^(?:NaN|[+-]?Infinity)$"
_DAY = 86400
_FIRST_DAY, _LAST_DAY = -719162, 2932896  # of the years 1 to 9999
_INFINITIES = {9223372036825200000: "infinity", -9223372036832400000: "-infinity"}  # in the driver's numbers


def by_value(make: Callable[[str], str | None]) -> Kernel:
    """A kernel of a function that is called once for each distinct value; it gives None for a wrong one."""

    def kernel(values: pa.StringArray) -> Made:
        encoded = values.dictionary_encode()
        made = texts([make(text) for text in encoded.dictionary.to_pylist()]).take(encoded.indices)
        return made, _indices(pc.and_(values.is_valid(), made.is_null()))

    return kernel


def _indices(mask: pa.BooleanArray) -> list[int]:
    found: list[int] = pc.indices_nonzero(mask).to_pylist() if mask.true_count else []
    return found


# Numbers


def decimals(scale: int) -> Kernel:
    """Base64 of big-endian numbers in two's complement, as decimals of a scale."""

    def kernel(values: pa.StringArray) -> Made:
        encoded = values.dictionary_encode()
        distinct = encoded.dictionary
        good = pc.match_substring_regex(distinct, _BASE64)
        if good.true_count < len(distinct):
            distinct = pc.if_else(good, distinct, "")
        made = texts([_decimal(text, scale) for text in distinct.to_pylist()]).take(encoded.indices)
        return made, _indices(pc.and_(values.is_valid(), made.is_null()))

    return kernel


def _decimal(text: str, scale: int) -> str | None:
    data = a2b_base64(text)
    if not data or len(data) > 1600:  # Python prints no more digits
        return None
    return decimal_text(int.from_bytes(data, "big", signed=True), scale)


def decimal_text(number: int, scale: int) -> str:
    """`number` times ten to the power of `-scale`."""
    if scale <= 0:
        return f"{number}{'0' * -scale if number else ''}"
    digits = str(number if number >= 0 else -number)
    if len(digits) <= scale:
        digits = digits.zfill(scale + 1)
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


class _Variable(msgspec.Struct):
    scale: int
    value: str


_variable = msgspec.json.Decoder(_Variable).decode


def _variable_decimal(text: str) -> str | None:
    """A decimal that brings its scale: `{"scale":2,"value":"AVI="}`."""
    try:
        found = _variable(text)
    except (ValueError, RecursionError):
        return None
    if abs(found.scale) > 2000 or not re.fullmatch(_BASE64, found.value):
        return None
    return _decimal(found.value, found.scale)


variable_decimals = by_value(_variable_decimal)


def numbers(values: pa.StringArray) -> Made:
    """Numbers as they stand, checked."""
    fits = pc.match_substring_regex(values, _NUMBER)
    return values, _indices(pc.invert(fits.fill_null(True)))


def unsigned_longs(values: pa.StringArray) -> Made:
    """Whole numbers of 64 bits without a sign, which were written as if the first bit were one."""
    negative = _indices(pc.starts_with(values, "-").fill_null(False))
    if not negative:
        return values, []
    mended = by_value(lambda text: str(int(text) + (1 << 64)) if re.fullmatch("-[0-9]{1,19}", text) else None)
    made, bad = mended(values.take(pa.array(negative, pa.int64())))
    mask = pc.starts_with(values, "-").fill_null(False)
    return pc.replace_with_mask(values, mask, made), [negative[row] for row in bad]


# Dates and times


def int64s(values: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Whole numbers of 64 bits, and the rows that have none."""
    try:
        if text_buffer(values).to_pybytes().find(b"x") < 0:  # Arrow takes hexadecimal digits
            return values.cast(pa.int64()), []
    except pa.ArrowInvalid:
        pass
    fits = pc.match_substring_regex(values, _INTEGER)
    numbers = [int(text) if fit else None for text, fit in zip(values.to_pylist(), fits.to_pylist(), strict=True)]
    kept = [n if n is not None and -(1 << 63) <= n < 1 << 63 else None for n in numbers]
    made = pa.array(kept, pa.int64())
    return made, _indices(pc.and_(values.is_valid(), made.is_null()))


def _epoch(values: pa.StringArray, first: int, end: int, type: pa.DataType, other: Callable[[int], str]) -> Made:
    """Numbers from `first` to before `end` as Arrow prints them as a `type`, others as `other` does."""
    found, bad = int64s(values)
    fits = pc.and_(pc.greater_equal(found, first), pc.less(found, end))
    odd = _indices(pc.invert(fits.fill_null(True)))
    inside = pc.if_else(fits, found, pa.scalar(None, pa.int64())) if odd else found
    narrow = inside.cast(pa.int32()) if type.bit_width == 32 else inside
    made = narrow.cast(type).cast(_STRING)
    if odd:
        mask = pc.invert(fits.fill_null(True))
        made = pc.replace_with_mask(made, mask, texts([other(found[row].as_py()) for row in odd]))
    return made, bad


def dates(values: pa.StringArray) -> Made:
    """Days since 1970."""
    return _epoch(values, _FIRST_DAY, _LAST_DAY + 1, pa.date32(), day_text)


def timestamps(unit: str) -> Kernel:
    """Times since 1970 in a unit of Arrow, without a zone."""
    if unit == "ns":
        return _nanos
    per_second: int = 10 ** DIGITS[unit]

    def other(number: int) -> str:
        special = _INFINITIES.get(number if unit == "us" else number * 1000)
        if special is not None:
            return special
        day, rest = divmod(number, _DAY * per_second)
        return f"{day_text(day)} {clock_text(rest, unit)}"

    first, end = _FIRST_DAY * _DAY * per_second, (_LAST_DAY + 1) * _DAY * per_second
    return partial(_epoch, first=first, end=end, type=pa.timestamp(unit), other=other)


def _nanos(values: pa.StringArray) -> Made:
    """64 bits of nanoseconds span the years 1677 to 2262."""
    found, bad = int64s(values)
    return found.cast(pa.timestamp("ns")).cast(_STRING), bad


def clocks(unit: str) -> Kernel:
    """Times of day in a unit of Arrow, and durations: they may be negative and over 24 hours."""
    type = pa.time32(unit) if unit == "ms" else pa.time64(unit)
    other = partial(clock_text, unit=unit)
    return partial(_epoch, first=0, end=_DAY * 10 ** DIGITS[unit], type=type, other=other)


def day_text(day: int) -> str:
    """The date so many days after the start of 1970; of years before 1, as astronomers count them, with a sign."""
    cycle, inside = divmod(day - _FIRST_DAY, 146097)  # the calendar repeats itself every 400 years
    found = date.fromordinal(inside + 1)
    year = found.year + 400 * cycle
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{found.month:02d}-{found.day:02d}"


def clock_text(number: int, unit: str) -> str:
    per_second: int = 10 ** DIGITS[unit]
    seconds, fraction = divmod(abs(number), per_second)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{'-' if number < 0 else ''}{hours:02d}:{minute:02d}:{second:02d}.{fraction:0{DIGITS[unit]}d}"


def iso_texts(values: pa.StringArray) -> Made:
    """Dates and times as in ISO 8601 in a zone that is none; others stay as they are."""
    if not text_buffer(values).to_pybytes().count(b"Z"):
        return values, []
    made = pc.replace_substring_regex(values, "^([0-9-]+)T([0-9:.]+)Z$", r"\1 \2")
    return pc.replace_substring_regex(made, "^([0-9:.-]+)Z$", r"\1"), []


# Others


def bits(length: int | None) -> Kernel:
    """Base64 of bytes, the lowest first, as so many binary digits."""

    def make(text: str) -> str | None:
        if not re.fullmatch(_BASE64, text):
            return None
        data = a2b_base64(text)
        number = int.from_bytes(data, "little")
        width = length or 8 * len(data)
        return f"{number:0{width}b}" if number.bit_length() <= width else None

    return by_value(make)


_BOOLEANS = {"true": "true", "false": "false", "1": "true", "0": "false"}
booleans = by_value(_BOOLEANS.get)


# Unavailable values


def placeholder_forms(option: str) -> pa.StringArray:
    """The texts that stand for an unavailable value in the columns of any type."""
    data = placeholder_bytes(option)
    text = data.decode("utf-8", "replace")
    encoded = base64.b64encode(data).decode()
    shapes = [[text], [encoded], list(data), {text: text}]
    forms = [text, encoded]
    for separators in ((",", ":"), (", ", ": ")):
        forms += [json.dumps(shape, ensure_ascii=False, separators=separators) for shape in shapes]
    return texts(list(dict.fromkeys(forms)))


class ValueDecoding:
    """Makes the columns of images: unavailable values become missing, and others go through a kernel.

    `quoted` is for values that were JSON strings, `plain` for all others; None leaves them as they are. `help` says
    what to do about values that are wrong.
    """

    def __init__(
        self, placeholders: pa.StringArray, quoted: Kernel | None, plain: Kernel | None, help: str | None = None
    ) -> None:
        self.help = help
        self._placeholders = placeholders
        self._quoted = quoted
        self._plain = plain

    def __call__(self, column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, present = column.values, column.present
        unavailable = pc.is_in(values, self._placeholders)
        if unavailable.true_count:
            values = pc.if_else(unavailable, pa.scalar(None, _STRING), values)
            there = pc.invert(unavailable)
            present = there if present is None else pc.and_(present, there)
        made, bad = self._made(values, column)
        return ImageColumn(made, present), bad

    def _made(self, values: pa.StringArray, column: ImageColumn) -> Made:
        if self._quoted is self._plain:
            return (values, []) if self._plain is None else self._plain(values)
        quoted = column.quoted if isinstance(column, JsonColumn) else True
        if quoted is True:
            return (values, []) if self._quoted is None else self._quoted(values)
        if quoted is None:
            return (values, []) if self._plain is None else self._plain(values)
        null = pa.scalar(None, _STRING)
        made, bad = values, []
        for kernel, where in ((self._quoted, quoted), (self._plain, pc.invert(quoted))):
            if kernel is not None:
                own, wrong = kernel(pc.if_else(where, values, null))
                made = pc.if_else(where, own, made)
                bad += wrong
        return made, bad


def refused(values: pa.StringArray) -> Made:
    """No value is right."""
    return values, _indices(values.is_valid())
