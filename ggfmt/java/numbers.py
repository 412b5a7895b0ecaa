"""Floating-point numbers as Java 19 prints them: the shortest digits that identify the number."""

from __future__ import annotations

import math
from array import array
from decimal import Decimal

NOT_FINITE_TEXTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # Java's words by those of Python and Arrow
_FLOAT_DIGITS = 9  # enough to identify any float


def double_text(number: float) -> str:
    return _text(number, repr(number))


def float_text(number: float) -> str:
    """Return the text of a number that is a float of 32 bits."""
    shortest = (f"{number:.{digits}g}" for digits in range(1, _FLOAT_DIGITS + 1))
    return _text(number, next((text for text in shortest if single(float(text)) == number), repr(number)))


def single(number: float) -> float:
    """Return the nearest float of 32 bits; an infinite one beyond their range."""
    return array("f", [number])[0]


def _text(number: float, digits: str) -> str:
    if not math.isfinite(number):
        return NOT_FINITE_TEXTS[repr(number)]
    if len(Decimal(digits).as_tuple().digits) == 1:  # Java prints the nearest number with two digits: 4.9E-324
        digits = f"{number:.1e}"
    sign, figures, exponent = Decimal(digits).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, figures)).rstrip("0") or "0"
    exponent += len(figures) - 1  # the exponent of the first digit
    minus = "-" if sign else ""
    if text == "0":
        return f"{minus}0.0"
    if -3 <= exponent < 7:
        if exponent < 0:
            return f"{minus}0.{'0' * (-exponent - 1)}{text}"
        whole = text[: exponent + 1].ljust(exponent + 1, "0")
        return f"{minus}{whole}.{text[exponent + 1 :] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{exponent}"
