"""Decoders of Debezium's values: decimals, dates, times, bits, and the placeholder of unavailable values.

Kernels take a column of texts (JSON strings without their quotes, other JSON values as they are). They return texts,
and the rows whose value has another encoding. Rare values beyond Arrow's types are decoded one by one: years outside 1
to 9999, times of day that are negative or over 24 hours, and PostgreSQL's infinities.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from functools import partial
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.columns import JsonColumn, texts
from ggfmt.columnar.pieces import text_buffer
from ggfmt.columnar.strings import Converted, Kernel, by_value, bytes_of, rows_where
from ggfmt.formats.connect.values import by_quotes, decoded
from ggfmt.formats.debezium import placeholder_bytes
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind

TimeUnit: TypeAlias = Literal["ms", "us", "ns"]

DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}

_STRING = pa.string()
_INTEGER = "^-?[0-9]{1,19}$"
_DAY = 86400
_FIRST_DAY, _LAST_DAY = -719162, 2932896  # the first and last day of the years 1 to 9999
_INFINITIES = {9223372036825200000: "infinity", -9223372036832400000: "-infinity"}  # the numbers of PostgreSQL's driver


# Numbers


class _Variable(msgspec.Struct):
    scale: int
    value: str


_variable = msgspec.json.Decoder(_Variable).decode


def _variable_decimal(text: str) -> str | None:
    """Read a decimal that contains its scale: `{"scale":2,"value":"AVI="}`."""
    try:
        variable = _variable(text)
    except RecursionError:
        return None
    return decoded(variable.value, variable.scale) if abs(variable.scale) <= 2000 else None


variable_decimals = by_value(_variable_decimal)


def unsigned_longs(values: pa.StringArray) -> Converted:
    """Read unsigned 64-bit numbers, which the source wrote as signed ones."""
    negative = rows_where(pc.fill_null(pc.starts_with(values, "-"), False))
    if not negative:
        return values, []
    mended = by_value(lambda text: str(int(text) + (1 << 64)) if re.fullmatch("-[0-9]{1,19}", text) else None)
    longs, bad = mended(values.take(pa.array(negative, pa.int64())))
    mask = pc.starts_with(values, "-").fill_null(False)
    return pc.replace_with_mask(values, mask, longs), [negative[row] for row in bad]


# Dates and times


def int64s(values: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Read whole numbers of 64 bits, and return the rows that have none."""
    try:
        if text_buffer(values).to_pybytes().find(b"x") < 0:  # Arrow takes hexadecimal digits
            return pc.cast(values, pa.int64()), []
    except pa.ArrowInvalid:
        pass
    fits = pc.match_substring_regex(values, _INTEGER)
    marked = zip(values.to_pylist(), fits.to_pylist(), strict=True)
    numbers = [int(text) if text is not None and fit else None for text, fit in marked]
    kept = [n if n is not None and -(1 << 63) <= n < 1 << 63 else None for n in numbers]
    longs = pa.array(kept, pa.int64())
    return longs, rows_where(pc.and_(values.is_valid(), longs.is_null()))


def _epoch(values: pa.StringArray, first: int, end: int, type: pa.DataType, other: Callable[[int], str]) -> Converted:
    """Print numbers from `first` to before `end` as Arrow prints the `type`, and other numbers with `other`."""
    numbers, bad = int64s(values)
    fits = pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, end))
    odd = rows_where(pc.invert(fits.fill_null(True)))
    inside = pc.if_else(fits, numbers, pa.scalar(None, pa.int64())) if odd else numbers
    printed = pc.cast((inside.cast(pa.int32()) if type.bit_width == 32 else inside).cast(type), _STRING)
    if odd:
        mask = pc.invert(fits.fill_null(True))
        printed = pc.replace_with_mask(printed, mask, texts([other(numbers[row].as_py()) for row in odd]))
    return printed, bad


def _time_text(text: str) -> str | None:
    """Return a date, a time of day or both without a zone, with their digits; None if the calendar does not have it."""
    text = text.replace("T", " ")
    day, _, clock = text.rpartition(" ") if ":" in text else (text, "", "")
    if day:
        datetime.fromisoformat(day)
    if clock:
        time.fromisoformat(clock[:8])
    return text


_time_texts = by_value(_time_text)
_DAY_TEXT, _CLOCK_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
_TIME_TEXTS = {
    Kind.DATE: f"^{_DAY_TEXT}$",
    Kind.TIME: f"^{_CLOCK_TEXT}$",
    Kind.TIMESTAMP: f"^{_DAY_TEXT}[ T]{_CLOCK_TEXT}$",
}


def or_texts(kernel: Kernel, kind: Kind) -> Kernel:
    """Return a kernel that also accepts texts of dates or times, which Flink CDC writes under the same schema names."""
    pattern = _TIME_TEXTS[kind]

    def convert(values: pa.StringArray) -> Converted:
        written = pc.fill_null(pc.match_substring_regex(values, pattern), False)
        if not written.true_count:
            return kernel(values)
        nothing = pa.scalar(None, _STRING)
        numbers, bad = kernel(pc.if_else(written, nothing, values))
        own, wrong = _time_texts(pc.if_else(written, values, nothing))
        return pc.coalesce(own, numbers), sorted({*bad, *wrong})

    return convert


def dates(values: pa.StringArray) -> Converted:
    return _epoch(values, _FIRST_DAY, _LAST_DAY + 1, pa.date32(), day_text)


def timestamps(unit: TimeUnit) -> Kernel:
    """Return a kernel for times since 1970 in a unit of Arrow, without a zone."""
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


def _nanos(values: pa.StringArray) -> Converted:
    """Read nanoseconds since 1970; 64 bits cover the years 1677 to 2262."""
    numbers, bad = int64s(values)
    return pc.cast(pc.cast(numbers, pa.timestamp("ns")), _STRING), bad


def clocks(unit: TimeUnit) -> Kernel:
    """Return a kernel for times of day in a unit of Arrow, and for durations: they may be negative or over 24 hours."""
    type: pa.DataType = pa.time32(unit) if unit == "ms" else pa.time64(unit)
    other = partial(clock_text, unit=unit)
    return partial(_epoch, first=0, end=_DAY * 10 ** DIGITS[unit], type=type, other=other)


def day_text(day: int) -> str:
    """Return the date of a day number (0: 1970-01-01). Years before 1 have a sign, in astronomical numbering."""
    cycle, inside = divmod(day - _FIRST_DAY, 146097)  # the calendar repeats every 400 years
    alike = date.fromordinal(inside + 1)
    year = alike.year + 400 * cycle
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{alike.month:02d}-{alike.day:02d}"


def clock_text(number: int, unit: str) -> str:
    per_second: int = 10 ** DIGITS[unit]
    seconds, fraction = divmod(abs(number), per_second)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{'-' if number < 0 else ''}{hours:02d}:{minute:02d}:{second:02d}.{fraction:0{DIGITS[unit]}d}"


def iso_texts(values: pa.StringArray) -> Converted:
    """Make dates and times without a zone of ISO 8601 texts in UTC; others stay as they are."""
    if not text_buffer(values).to_pybytes().count(b"Z"):
        return values, []
    stamps = pc.replace_substring_regex(values, "^([0-9-]+)T([0-9:.]+)Z$", r"\1 \2")
    return pc.replace_substring_regex(stamps, "^([0-9:.-]+)Z$", r"\1"), []


# Other values


def bits(length: int | None) -> Kernel:
    """Return a kernel that reads Base64 of bytes, lowest byte first, as `length` binary digits."""

    def make(text: str) -> str | None:
        data = bytes_of(text)
        if data is None:
            return None
        number = int.from_bytes(data, "little")
        width = length or 8 * len(data)
        return f"{number:0{width}b}" if number.bit_length() <= width else None

    return by_value(make)


# Unavailable values


def placeholder_forms(option: str) -> pa.StringArray:
    """Return the texts of an unavailable value, in columns of all types and handling modes but geometry."""
    data = placeholder_bytes(option)
    text = data.decode("utf-8", "replace")
    uuid = UUID(bytes=hashlib.md5(data, usedforsecurity=False).digest(), version=3)
    forms = [
        text,  # texts, JSON, XML
        base64.b64encode(data).decode(),  # bytes, `binary.handling.mode=bytes` and `base64`
        base64.urlsafe_b64encode(data).decode(),  # `base64-url-safe`
        data.hex(),  # `hex`
    ]
    shapes = [
        {text: text},  # `hstore`, with `hstore.handling.mode=map` and `json`
        [text],  # `text[]`
        list(data),  # `int[]`, `bigint[]`
        [str(uuid)],  # `uuid[]`
    ]
    for separators in ((",", ":"), (", ", ": ")):
        forms += [json.dumps(shape, ensure_ascii=False, separators=separators) for shape in shapes]
    return texts(list(dict.fromkeys(forms)))


def _fixed_point() -> str:
    """Return a regular expression for the WKB of an unavailable `geometry`, `geography` or `point` in its JSON.

    It is POINT(-99999999 -99999999), with or without the SRID 4326 in it, in both orders of bytes.
    """
    x = y = -99999999.0
    points = [
        struct.pack(f"{order}B{layout}", first, *numbers, x, y)
        for order, first in (("<", 1), (">", 0))
        for layout, numbers in (("Idd", (1,)), ("IIdd", (0x20000001, 4326)))
    ]
    return f'"wkb": ?"(?:{"|".join(re.escape(base64.b64encode(point).decode()) for point in points)})"'


_FIXED_POINT = _fixed_point()


def _unavailable(column: ImageColumn, placeholders: pa.StringArray) -> pa.BooleanArray | None:
    found = pc.is_in(column.values, placeholders)
    if isinstance(column, JsonColumn) and pc.match_substring(column.values, '{"').true_count:
        found = pc.or_(found, pc.fill_null(pc.match_substring_regex(column.values, _FIXED_POINT), False))
    return found if found.true_count else None


class ValueDecoding:
    """Decoder of the columns of images: unavailable values become missing and are marked, others go through a kernel.

    `quoted` is the kernel for values that were JSON strings, `plain` for all others; None keeps the values as they are.
    `help` says what to do about wrong values.
    """

    def __init__(
        self, placeholders: pa.StringArray, quoted: Kernel | None, plain: Kernel | None, help: str | None = None
    ) -> None:
        self.help = help
        self._placeholders = placeholders
        self._shortest = min(28, pc.min(pc.binary_length(placeholders)).as_py() or 0)  # 28: the WKB of a point, Base64
        self._quoted = quoted
        self._plain = plain

    def __call__(self, column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, present = column.values, column.present
        longest = pc.max(pc.binary_length(values)).as_py() or 0  # most columns have only values shorter than any form
        unavailable = _unavailable(column, self._placeholders) if longest >= self._shortest else None
        if unavailable is not None:
            values = pc.if_else(unavailable, pa.scalar(None, _STRING), values)
            there = pc.invert(unavailable)
            present = there if present is None else pc.and_(present, there)
        texts, bad = by_quotes(values, column, self._quoted, self._plain)
        return ImageColumn(texts, present, unavailable=unavailable), bad
