"""Kernels over texts: patterns that texts match, functions of one value, and substitutes for NULL and missing."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.columns import texts
from ggfmt.columnar.pieces import Conditional, Encoding, Piece, TextPiece
from ggfmt.kernels import primitives
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ImageColumn

_STRING = pa.string()


class TextPattern(IntEnum):
    """Patterns of texts; the numbers are those in `fits.c`."""

    JSON_NUMBER = 0
    JSON_BOOLEAN = 1
    XML = 2
    SHORT_INTEGER = 3
    SHORT_FLOAT = 4
    SHORT_DOUBLE = 5


def all_match(array: pa.StringArray, form: TextPattern) -> bool:
    """Return whether all values are NULL or match a pattern."""
    return primitives.fits(array, form)


def count_texts(array: pa.StringArray, within: tuple[str, ...], whole: tuple[str, ...]) -> tuple[int, ...]:
    """Count the values that contain each of `within`, none for an empty text, then those that equal each of `whole`."""
    return primitives.count(array, within, whole)


def represent(column: ImageColumn, null: str, missing: str, quoted: bool = False) -> Piece:
    """Return the values of a column, in quotes or not, with a text for NULL and a text for missing."""
    quotes = (Encoding.DOUBLED, null, '"', '"') if quoted else (Encoding.AS_IS, null)
    values = TextPiece(column.values, *quotes)
    return values if column.present is None else Conditional(column.present, [values], [missing])


# Texts, with NULL for NULL, and the rows whose value is wrong.
Converted = tuple[pa.StringArray, list[int]]
Kernel = Callable[[pa.StringArray], Converted]


def rows_where(mask: pa.BooleanArray) -> list[int]:
    return non_null_values(pc.indices_nonzero(mask)) if mask.true_count else []


def by_value(make: Callable[[str], str | None]) -> Kernel:
    """Return a kernel that calls a function per distinct value: None or a ValueError stands for a wrong value."""

    def kernel(values: pa.StringArray) -> Converted:
        encoded = values.dictionary_encode()
        distinct: list[str | None] = []
        for text in non_null_values(as_strings(encoded.dictionary)):
            try:
                distinct.append(make(text))
            except ValueError:
                distinct.append(None)
        converted = texts(distinct).take(encoded.indices)
        return converted, rows_where(pc.and_(values.is_valid(), converted.is_null()))

    return kernel


def plain_number(number: Decimal) -> str:
    """Return a number without an exponent, and without zeros that mean nothing: equal numbers have equal texts."""
    plain = f"{number:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "") else plain


_INTEGER = "^(?:0|-?[1-9][0-9]*)$"  # the canonical text of whole numbers
_MAX_EXPONENT = 1000


def exact_number(text: str) -> Decimal | None:
    """Return a number; None for other texts and for huge exponents."""
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    exponent = number.as_tuple().exponent
    return number if isinstance(exponent, int) and abs(exponent) <= _MAX_EXPONENT else None


def canonical_numbers(texts: pa.StringArray) -> pa.StringArray:
    """Return numbers so that equal ones have equal texts: `1.0`, `1e0` and `1` become `1`. Other texts stay."""
    if pc.all(pc.match_substring_regex(texts, _INTEGER), min_count=0).as_py():
        return texts
    return _canonical(texts)[0]


def _canonical_number(text: str) -> str:
    number = exact_number(text)
    return text if number is None or text != text.strip() else plain_number(number)


_canonical = by_value(_canonical_number)


def reject_all(values: pa.StringArray) -> Converted:
    return values, rows_where(values.is_valid())


# The last character before `=` has bits that no byte has: they are zero.
_BASE64 = lazy_regex("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?", re.ASCII)


def bytes_of(text: str) -> bytes | None:
    """Decode Base64; None if the text is not strictly Base64."""
    return a2b_base64(text) if _BASE64.fullmatch(text) else None


_BOOLEANS = pa.array(["0", "1", "false", "true"], _STRING)
_BOOLEAN_TEXTS = pa.array(["false", "true", "false", "true"], _STRING)


def booleans(values: pa.StringArray) -> Converted:
    """Return `true` and `false`, which the values may write as 1 and 0."""
    places = pc.index_in(values, _BOOLEANS)
    return _BOOLEAN_TEXTS.take(places), rows_where(pc.and_(places.is_null(), values.is_valid()))
