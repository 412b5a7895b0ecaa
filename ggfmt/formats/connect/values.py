"""Values of Kafka Connect's types as texts, and as its JSON converter writes them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.json_text import json_numbers
from ggfmt.columnar.pieces import join
from ggfmt.columnar.strings import Converted, Kernel, TextPattern, all_match, reject_all
from ggfmt.columnar.timestamps import floor_millis, instant_micros, micros_text
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.decimals import decimals
from ggfmt.model.table import Kind, SqlType

_FARTHEST = 1 << 62
_DAY = 86400_000000
_MOST_DIGITS = 1000

# Reading


def read_as(type: str, name: str, parameters: Mapping[str, Any] | None) -> tuple[SqlType, Kernel | None]:
    """The SQL type of a schema, and what makes texts of its values; None where they are texts as they stand."""
    if name == connect.DECIMAL:
        scale, precision = (_int((parameters or {}).get(size)) for size in ("scale", connect.PRECISION))
        kernel = reject_all if scale is None or abs(scale) > _MOST_DIGITS else decimals(scale)
        return SqlType(Kind.DECIMAL, precision=precision, scale=scale), kernel
    return _TIMES.get(name) or (SqlType(connect.KINDS.get(type, Kind.STRING)), None)


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _numbers(values: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Texts of whole numbers, and the rows whose text is none."""
    fits = pc.match_substring_regex(values, r"^-?[0-9]{1,18}$")
    numbers = pc.cast(pc.if_else(fits, values, pa.scalar(None, pa.string())), pa.int64())
    return numbers, non_null_values(pc.indices_nonzero(pc.invert(fits.fill_null(True))))


def _times(scale: int, first: int, last: int | None, most: int = _FARTHEST) -> Kernel:
    """A kernel from numbers that count `scale` microseconds each to some characters of the text of a time stamp.

    `most`: how many microseconds there can be; with any other number than the default, the number cannot be negative.
    """
    high = most // scale
    low = -high if most == _FARTHEST else 0

    def kernel(values: pa.StringArray) -> Converted:
        numbers, bad = _numbers(values)
        inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        bad += non_null_values(pc.indices_nonzero(pc.invert(inside.fill_null(True))))
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
    """Time stamps as milliseconds since 1970 in UTC; what is finer is cut off."""
    numbers, bad = instant_micros(pc.replace_substring_regex(values, _FINER_THAN_MICROS, r"\1\2"))
    return pc.fill_null(pc.cast(floor_millis(numbers), pa.string()), "null"), bad


def too_fine(values: pa.StringArray) -> int:
    """How many time stamps tell more than milliseconds."""
    return int(pc.match_substring_regex(values, _FINER_THAN_MILLIS).true_count)


def whole(values: pa.StringArray) -> Converted:
    """Whole numbers of 64 bits."""
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
