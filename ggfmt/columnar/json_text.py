"""JSON texts of values and of images, compact or pretty-printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import or_empty
from ggfmt.columnar.pieces import (
    COMMA,
    JSON_ESCAPES,
    CommaJoined,
    Conditional,
    Encoding,
    Piece,
    TextPiece,
    choose,
    escape_json_text,
    join,
)
from ggfmt.columnar.strings import Kernel, TextPattern, all_match, by_value, rows_where
from ggfmt.dataclasses import dataclass
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import Image

# JSON values, with `null` for NULL, and the rows whose value is illegal.
_STRING = pa.string()

JsonValues = tuple[Piece, list[int]]
Values = Callable[[pa.StringArray], JsonValues]
# Pieces, and (row, column) of each illegal value.
Pieces = tuple[list[Piece], list[tuple[int, int]]]


@dataclass(frozen=True)
class Style:
    """White space of a JSON text: before a member at depth n, and before the brace after such members."""

    pretty: bool

    def member(self, depth: int) -> str:
        return "\n" + "    " * depth if self.pretty else ""

    def close(self, depth: int) -> str:
        return "\n" + "    " * (depth - 1) if self.pretty else ""


class ImageObjects:
    """Makes the JSON objects of the images of a table. What depends on the columns alone is computed once. `keeps`:
    columns in which JSON values of the source that are not strings stay as they are. `depth`: the depth of the members.
    `escapes`: those of their names."""

    def __init__(
        self,
        names: Sequence[str],
        values: Sequence[Values],
        style: Style,
        keeps: Sequence[bool] | None = None,
        depth: int = 2,
        escapes: dict[int, str] = JSON_ESCAPES,
    ) -> None:
        self._keeps = (False,) * len(names) if keeps is None else tuple(keeps)
        gap = style.member(depth)
        self._values = tuple(values)
        self._labels = tuple(f"{gap}{escape_json_text(name, escapes)}:" for name in names)
        self._close = style.close(depth) + "}"

    def of(self, image: Image, rows: int, otherwise: str = "") -> Pieces:
        """Return the pieces of n objects, with `otherwise` where there is no image."""
        members, bad = self._members(image, rows)
        return [*choose(image.exists, rows, ["{", CommaJoined(members), self._close], [otherwise])], bad

    def members_of(self, image: Image, rows: int) -> Pieces:
        """Return the members of the objects, none where there is no image. Each member starts with its comma."""
        members, bad = self._members(image, rows)
        return [*choose(image.exists, rows, members, [""])], bad

    def _members(self, image: Image, rows: int) -> Pieces:
        pieces: list[Piece] = []
        bad = []
        for index, (column, label) in enumerate(zip(image.columns, self._labels, strict=True)):
            value, wrong = self._values[index](column.values)
            if self._keeps[index] and column.json is not None:
                value = Conditional(column.json, [_on_one_line(column.values, column.json)], [value])
            bad += [(row, index) for row in wrong if self._shows(image, index, row)]
            pieces += choose(column.present, rows, [COMMA, label, value], [])
        return pieces, bad

    def _shows(self, image: Image, index: int, row: int) -> bool:
        column = image.columns[index]
        if self._keeps[index] and column.json is not None and column.json[row].as_py():
            return False
        return all(mask is None or mask[row].as_py() for mask in (image.exists, column.present))


def _on_one_line(values: pa.StringArray, json: pa.BooleanArray) -> Piece:
    """Return the values; JSON that spans several lines loses its white space."""
    values = or_empty(values)
    laid_out = pc.and_(pc.match_substring(values, "\n"), json)
    if not laid_out.true_count:
        return values
    texts = [str(msgspec.json.format(text, indent=-1)) for text in non_null_values(values.filter(laid_out))]
    return pc.replace_with_mask(values, laid_out, pa.array(texts, pa.string()))


_JSON_NUMBER = lazy_regex(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_JAVA_NUMBER = lazy_regex(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)


def json_strings(array: pa.StringArray, encoding: Encoding = Encoding.JSON) -> TextPiece:
    """Return the texts as JSON strings, and NULL as `null`."""
    return TextPiece(array, encoding, "null", '"', '"')


def quote_json(array: pa.StringArray, encoding: Encoding = Encoding.JSON) -> pa.StringArray:
    return join([json_strings(array, encoding)])


def json_numbers(array: pa.StringArray) -> tuple[Piece, list[int]]:
    """Return the texts as JSON numbers, NULL as `null`, and the rows whose text is not a number. A JSON number keeps
    its digits. Other texts that Java's BigDecimal reads are written as BigDecimal prints them."""
    if all_match(array, TextPattern.JSON_NUMBER):
        return TextPiece(array, null="null"), []
    numbers, bad = _numbers(array)
    return TextPiece(numbers, null="null"), bad


def _number(text: str) -> str | None:
    if _JSON_NUMBER.fullmatch(text):
        return text
    if not _JAVA_NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return str(number or abs(number))  # BigDecimal has no negative zero


_numbers = by_value(_number)


def json_number(array: pa.Int64Array, encoding: Encoding = Encoding.DIGITS) -> TextPiece:
    """Return numbers by their digits, or times in another unit; NULL as `null`."""
    return TextPiece(array, encoding, "null")


def json_booleans(array: pa.StringArray) -> tuple[Piece, list[int]]:
    """Return `true` and `false` as JSON booleans, NULL as `null`, and the rows with any other text."""
    if all_match(array, TextPattern.JSON_BOOLEAN):
        return TextPiece(array, null="null"), []
    known = pc.is_in(array, pa.array(["true", "false"], _STRING))
    return TextPiece(array, null="null"), rows_where(pc.and_not(array.is_valid(), known))


def json_texts(kernel: Kernel) -> Values:
    def values(column: pa.StringArray) -> JsonValues:
        converted, bad = kernel(column)
        return json_strings(converted), bad

    return values


def json_values(kernel: Kernel) -> Values:
    def values(column: pa.StringArray) -> JsonValues:
        converted, bad = kernel(column)
        return TextPiece(converted, null="null"), bad

    return values
