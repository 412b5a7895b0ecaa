"""Conversion of times between numbers and texts, a column at once.

Time stamps are texts as GoldenGate writes them, `2013-06-02 22:14:36.000000`, without a zone. Numbers count from the
start of 1970.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.strings import by_value, rows_where

_STRING = pa.string()
_COLON = "^([0-9]{4}-[0-9]{2}-[0-9]{2}):([0-9])"
_ZONE = ":[0-9]{2}(?:[.][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
# Texts of days and times that Arrow's cast accepts, with at most six fraction digits.
_DAY = (
    "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
)
_CLOCK = "[ T](?:[01][0-9]|2[0-3])(?::[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?)?"
_OFFSET = "(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
_DATED = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T]|$)"
_TIME = f"^(?:{_DAY})(?:{_CLOCK})?$"
_TIME_WITH_ZONE = f"^(?:{_DAY}){_CLOCK}{_OFFSET}$"
FIRST_MICROS, LAST_MICROS = -62135596800_000000, 253402300799_999999  # the years 1 to 9999, in microseconds


def micros_text(values: Sequence[int | None] | pa.Int64Array) -> tuple[pa.StringArray, list[int]]:
    """Return microseconds as time stamps with six fraction digits, and the rows outside of the years 1 to 9999."""
    numbers = values if isinstance(values, pa.Array) else _int64s(values)
    fits = pc.and_(pc.greater_equal(numbers, FIRST_MICROS), pc.less_equal(numbers, LAST_MICROS))
    bad = rows_where(pc.invert(fits.fill_null(True)))
    if bad:
        numbers = pc.if_else(fits, numbers, pa.scalar(None, pa.int64()))
    return pc.cast(pc.cast(numbers, pa.timestamp("us")), _STRING), bad


def scale_numbers(numbers: pa.StringArray, factor: int) -> pa.Int64Array:
    """Return whole numbers, as texts of at most 18 digits, times a factor of at most a million. Numbers far outside of
    the years 1 to 9999 are clamped."""
    longs = pc.cast(numbers, pa.int64())
    if factor == 1 or longs.null_count == len(longs):
        return longs
    most = 10**18 // factor
    within = pc.max_element_wise(pc.min_element_wise(longs, most, skip_nulls=False), -most, skip_nulls=False)
    return pc.multiply(within, factor)


def times_of_micros(texts: pa.StringArray) -> pa.StringArray:
    """Return texts of microseconds as time stamps with six fraction digits; NULL for other texts."""
    whole = pc.match_substring_regex(texts, "^-?[0-9]{1,18}$")
    return micros_text(pc.cast(pc.if_else(whole, texts, pa.scalar(None, _STRING)), pa.int64()))[0]


def _int64s(values: Sequence[int | None]) -> pa.Int64Array:
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is None or abs(v) < 1 << 63 else LAST_MICROS + 1 for v in values], pa.int64())


def text_micros(texts: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Return time stamps as microseconds, and the rows with other texts. A blank, a `T`, or a colon as in trails
    separates date and time. A second has up to six fraction digits."""
    try:
        return pc.cast(pc.cast(texts, pa.timestamp("us")), pa.int64()), []
    except pa.ArrowInvalid:
        return cast_times(pc.replace_substring_regex(texts, _COLON, r"\1 \2"), pa.timestamp("us"))


def cast_times(texts: pa.StringArray, type: pa.DataType) -> tuple[pa.Int64Array, list[int]]:
    """Return texts as Arrow's numbers for timestamps of a type, and the rows that Arrow refuses. One bad text makes
    Arrow's cast refuse the whole column. So the texts that match a known form are cast at once. Of the others, each
    distinct text that starts with a date is cast separately."""
    known = pc.match_substring_regex(texts, _TIME_WITH_ZONE if getattr(type, "tz", None) else _TIME)
    nothing = pa.scalar(None, _STRING)
    try:
        numbers = pc.cast(pc.cast(pc.if_else(known, texts, nothing), type), pa.int64())
        others = pc.if_else(known, nothing, texts)
    except pa.ArrowInvalid:  # one is out of range, such as a time that does not fit 64 bits of nanoseconds
        numbers, others = pa.nulls(len(texts), pa.int64()), texts
    others = pc.if_else(pc.match_substring_regex(others, _DATED), others, nothing)
    if others.null_count < len(others):
        found, _ = by_value(lambda text: str(pa.scalar(text, _STRING).cast(type).cast(pa.int64()).as_py()))(others)
        numbers = pc.coalesce(numbers, pc.cast(found, pa.int64()))
    return numbers, rows_where(pc.and_(texts.is_valid(), numbers.is_null()))


def has_zone(texts: pa.StringArray) -> pa.BooleanArray:
    """Return whether texts end with a time zone; false for NULL."""
    return pc.fill_null(pc.match_substring_regex(texts, _ZONE), False)


def instant_micros(texts: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Return time stamps in UTC, or with their own zone, as `text_micros` does."""
    with_zone = has_zone(texts)
    if not with_zone.true_count:
        return text_micros(texts)
    nothing = pa.scalar(None, _STRING)
    numbers, bad = text_micros(pc.if_else(with_zone, nothing, texts))
    zoned_numbers, zoned_bad = cast_times(pc.if_else(with_zone, texts, nothing), pa.timestamp("us", "UTC"))
    return pc.coalesce(numbers, zoned_numbers), [*bad, *zoned_bad]


def floor_millis(micros: pa.Int64Array) -> pa.Int64Array:
    """Return microseconds as milliseconds, rounded down, also before 1970; NULL stays NULL."""
    return pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999, 0)), 1000)
