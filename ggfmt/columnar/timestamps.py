"""Times between numbers and texts, a column at once.

Time stamps are texts as GoldenGate writes them, `2013-06-02 22:14:36.000000`, without a zone; numbers count from the
start of 1970.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_STRING = pa.string()
_COLON = "^([0-9]{4}-[0-9]{2}-[0-9]{2}):([0-9])"
_ZONE = ":[0-9]{2}(?:[.][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_FIRST, _LAST = -62135596800_000000, 253402300799_999999  # the years 1 to 9999, in microseconds


def micros_text(values: Sequence[int | None] | pa.Int64Array) -> tuple[pa.StringArray, list[int]]:
    """Microseconds as time stamps with six digits, and the rows that are outside of the years 1 to 9999."""
    numbers = values if isinstance(values, pa.Array) else _int64s(values)
    fits = pc.and_(pc.greater_equal(numbers, _FIRST), pc.less_equal(numbers, _LAST))
    bad = pc.indices_nonzero(pc.invert(fits.fill_null(True))).to_pylist()
    if bad:
        numbers = pc.if_else(fits, numbers, pa.scalar(None, pa.int64()))
    return numbers.cast(pa.timestamp("us")).cast(_STRING), bad


def scaled(numbers: pa.StringArray, factor: int) -> pa.Int64Array:
    """Whole numbers of at most 18 digits, as texts, times a factor up to a million. One far outside of the years 1 to
    9999 then becomes another."""
    longs = numbers.cast(pa.int64())
    if factor == 1 or longs.null_count == len(longs):
        return longs
    most = 10**18 // factor
    within = pc.max_element_wise(pc.min_element_wise(longs, most, skip_nulls=False), -most, skip_nulls=False)
    return pc.multiply(within, factor)


def times_of_micros(texts: pa.StringArray) -> pa.StringArray:
    """Texts of microseconds as time stamps with six digits; NULL for those that are none."""
    whole = pc.match_substring_regex(texts, "^-?[0-9]{1,18}$")
    return micros_text(pc.if_else(whole, texts, pa.scalar(None, _STRING)).cast(pa.int64()))[0]


def _int64s(values: Sequence[int | None]) -> pa.Int64Array:
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is None or abs(v) < 1 << 63 else _LAST + 1 for v in values], pa.int64())


def text_micros(texts: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Time stamps as microseconds, and the rows that are none.

    Between date and time there is a blank, a `T`, or a colon as in trails; there are up to six digits of a second.
    """
    try:
        return texts.cast(pa.timestamp("us")).cast(pa.int64()), []
    except pa.ArrowInvalid:
        texts = pc.replace_substring_regex(texts, _COLON, r"\1 \2")
    numbers: list[int | None] = []
    bad = []
    for row, text in enumerate(texts):
        try:
            numbers.append(text.cast(pa.timestamp("us")).cast(pa.int64()).as_py())
        except pa.ArrowInvalid:
            numbers.append(None)
            bad.append(row)
    return pa.array(numbers, pa.int64()), bad


def zoned(texts: pa.StringArray) -> pa.BooleanArray:
    """Whether texts end as time stamps with a zone do; NULL is false."""
    return pc.match_substring_regex(texts, _ZONE).fill_null(False)


def instant_micros(texts: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """As `text_micros`, of time stamps in UTC, or with a zone of their own."""
    with_zone = zoned(texts)
    if not with_zone.true_count:
        return text_micros(texts)
    nothing = pa.scalar(None, _STRING)
    numbers, bad = text_micros(pc.if_else(with_zone, nothing, texts))
    own: list[int | None] = []
    for row, text in enumerate(pc.if_else(with_zone, texts, nothing)):
        try:
            own.append(text.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())
        except pa.ArrowInvalid:
            own.append(None)
            bad.append(row)
    return pc.coalesce(numbers, pa.array(own, pa.int64())), bad


def floor_millis(micros: pa.Int64Array) -> pa.Int64Array:
    """Microseconds as milliseconds, before 1970 too those that have passed; NULL stays NULL."""
    return pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999, 0)), 1000)
