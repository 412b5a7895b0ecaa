"""Columns whose numbers were found in JSON: their type follows from the numbers themselves, and never loses a digit."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.strings import exact_number
from ggfmt.dataclasses import dataclass
from ggfmt.frames.column_types import MAX_DIGITS, TEXT
from ggfmt.kernels.primitives import digits

_LONG = pa.int64()
_PLAIN = "^-?[0-9]+(?:[.][0-9]+)?$"
_DIGITS_OF_LONG = 19
_DIGITS_OF_DOUBLE, _DIGITS_OF_FLOAT = 15, 6  # that these types keep in all numbers
_USUAL_DIGITS = 18  # of a decimal with few digits: later numbers seldom need more


@dataclass
class NumberRange:
    """The numbers of a column so far.

    whole, fraction  the most digits before and after the point
    """

    whole: int = 0
    fraction: int = 0
    is_long: bool = True  # all are whole, and fit 64 bits
    is_number: bool = True  # there are no other values, and none with a huge exponent

    @classmethod
    def of(cls, texts: pa.StringArray) -> NumberRange:
        """Return the range of numbers as JSON has them. NULL does not count."""
        if texts.null_count == len(texts):
            return cls()
        whole, fraction, others = digits(texts)
        found = cls(whole, fraction, not fraction and (whole < _DIGITS_OF_LONG or _are_longs(texts)))
        if others:
            plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), True)
            for text in non_null_values(pc.unique(texts.filter(pc.invert(plain)))):
                found.merge(_range_of(text))
        return found

    @classmethod
    def of_type(cls, type: pa.DataType) -> NumberRange:
        if pa.types.is_decimal(type):
            return cls(type.precision - type.scale, type.scale, False)
        return cls(_DIGITS_OF_LONG) if pa.types.is_integer(type) else cls(is_long=False, is_number=False)

    def merge(self, other: NumberRange) -> None:
        self.whole, self.fraction = max(self.whole, other.whole), max(self.fraction, other.fraction)
        self.is_long &= other.is_long
        self.is_number &= other.is_number

    def fits(self, type: pa.DataType) -> bool:
        """Return whether a type of numbers holds all of the numbers; False for other types."""
        if pa.types.is_decimal(type):
            fits = self.whole <= type.precision - type.scale and self.fraction <= type.scale
        else:
            few = self.whole + self.fraction <= (_DIGITS_OF_DOUBLE if pa.types.is_float64(type) else _DIGITS_OF_FLOAT)
            fits = (pa.types.is_floating(type) and few) or (pa.types.is_integer(type) and self.is_long)
        return self.is_number and fits

    @property
    def type(self) -> pa.DataType:
        """The type that holds all of the numbers: a bigint, a decimal of 18 or 38 digits, or a text."""
        if not self.is_number:
            return TEXT
        if self.is_long:
            return _LONG
        digits = self.whole + self.fraction
        if digits > MAX_DIGITS:
            return TEXT
        return pa.decimal128(_USUAL_DIGITS if digits <= _USUAL_DIGITS else MAX_DIGITS, self.fraction)


def _are_longs(texts: pa.StringArray) -> bool:
    try:
        pc.cast(texts, _LONG)
    except pa.ArrowInvalid:
        return False
    return True


def _range_of(text: str) -> NumberRange:
    """Return the range of a number with an exponent; of another text, that of no number."""
    number = exact_number(text)
    if number is None:
        return NumberRange(is_long=False, is_number=False)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    return NumberRange(max(len(digits) + exponent, 1), max(-exponent, 0), False)


def is_number(type: pa.DataType) -> bool:
    return pa.types.is_integer(type) or pa.types.is_decimal(type)
