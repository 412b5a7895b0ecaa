"""Kernels over texts: JSON values, substitutes for NULL and missing, and looking for texts in texts."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import IntEnum

import pyarrow as pa

from ggfmt import kernels
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.escapes import text_buffer
from ggfmt.columnar.join import join
from ggfmt.columnar.pieces import Conditional, Encoding, Piece, Text
from ggfmt.model.change import ImageColumn

_STRING = pa.string()

_JSON_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_JAVA_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)


class TextPattern(IntEnum):
    """What texts may be, as `fits.c` has it."""

    JSON_NUMBER = 0
    JSON_BOOLEAN = 1
    XML = 2
    SHORT_INTEGER = 3
    SHORT_FLOAT = 4
    SHORT_DOUBLE = 5


def all_match(array: pa.StringArray, form: TextPattern) -> bool:
    """Whether all values are NULL or of a form, by the native kernel; without one nothing is known."""
    try:
        return kernels.native is not None and kernels.native.fits(array, form)
    except kernels.REFUSALS:
        return False


def count_texts(array: pa.StringArray, within: tuple[str, ...], whole: tuple[str, ...]) -> tuple[int, ...]:
    """How many values hold each of some texts, and then how many are each of some; none holds the empty text."""
    if kernels.native is not None:
        try:
            counts: tuple[int, ...] = kernels.native.count(array, within, whole)
            return counts
        except kernels.REFUSALS:
            pass
    held = (_count_holding(array, text) for text in within)
    return (*held, *(pc.equal(array, text).true_count for text in whole))


def _count_holding(array: pa.StringArray, substring: str) -> int:
    # One scan over all of them usually says that none does.
    if not substring or text_buffer(array).to_pybytes().find(substring.encode()) < 0:
        return 0
    return pc.sum(pc.match_substring(array, substring)).as_py() or 0


def json_strings(array: pa.StringArray, encoding: Encoding = Encoding.JSON) -> Text:
    """The texts as JSON strings, NULL as `null`."""
    return Text(array, encoding, "null", '"', '"')


def quote_json(array: pa.StringArray, encoding: Encoding = Encoding.JSON) -> pa.StringArray:
    """As `json_strings`, as an array."""
    return join([json_strings(array, encoding)])


def json_numbers(array: pa.StringArray) -> tuple[Piece, list[int]]:
    """The texts as JSON numbers, NULL as `null`, and the rows whose text is no number.

    A text that is a JSON number keeps its digits; others that Java's BigDecimal reads are printed as it prints them.
    """
    if all_match(array, TextPattern.JSON_NUMBER):
        return Text(array, null="null"), []
    fits = pc.match_substring_regex(array, _JSON_NUMBER)
    texts = pc.fill_null(array, "null") if array.null_count else array
    if pc.all(fits, min_count=0).as_py():
        return texts, []
    odd = non_null_values(pc.indices_nonzero(pc.invert(fits.fill_null(True))))
    numbers: list[str] = []
    bad = []
    for row in odd:
        text = array[row].as_py()
        if _JAVA_NUMBER.fullmatch(text):
            number = Decimal(text)
            numbers.append(str(number or abs(number)))  # BigDecimal has no negative zero
        else:
            bad.append(row)
            numbers.append("null")
    mask = pc.invert(fits.fill_null(True))
    return pc.replace_with_mask(texts, mask, pa.array(numbers, _STRING)), bad


def json_number(array: pa.Int64Array, encoding: Encoding = Encoding.DIGITS) -> Text:
    """Numbers by their digits, or times in another unit, NULL as `null`."""
    return Text(array, encoding, "null")


def json_booleans(array: pa.StringArray) -> tuple[Piece, list[int]]:
    """`true` and `false` as JSON booleans, NULL as `null`, and the rows with any other text."""
    if all_match(array, TextPattern.JSON_BOOLEAN):
        return Text(array, null="null"), []
    fits = pc.or_(array.is_null(), pc.is_in(array, pa.array(["true", "false"], _STRING)))
    return pc.fill_null(array, "null"), non_null_values(pc.indices_nonzero(pc.invert(fits)))


def represent(column: ImageColumn, null: str, missing: str, quoted: bool = False) -> Piece:
    """The values of a column, in quotes or not, with a text for NULL and one for missing."""
    quotes = (Encoding.DOUBLED, null, '"', '"') if quoted else (Encoding.AS_IS, null)
    values = Text(column.values, *quotes)
    return values if column.present is None else Conditional(column.present, [values], [missing])
