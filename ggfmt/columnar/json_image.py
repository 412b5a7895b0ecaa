"""Images as JSON objects: a text for each operation, compact or laid out over lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.escapes import escape_json_text
from ggfmt.columnar.metadata import or_empty
from ggfmt.columnar.pieces import COMMA, CommaJoined, Conditional, Piece
from ggfmt.model.change import Image

# JSON values, `null` for NULL, and the rows whose value is illegal.
JsonValues = tuple[Piece, list[int]]
Values = Callable[[pa.StringArray], JsonValues]
# Pieces, and (row, column) of values that are illegal.
Pieces = tuple[list[Piece], list[tuple[int, int]]]


@dataclass(frozen=True)
class Style:
    """White space of a JSON text. `member(n)` stands before a member, `close(n)` before the brace that ends an object
    with members at depth n."""

    pretty: bool

    def member(self, depth: int) -> str:
        return "\n" + "    " * depth if self.pretty else ""

    def close(self, depth: int) -> str:
        return "\n" + "    " * (depth - 1) if self.pretty else ""


class ImageObjects:
    """Makes the objects of the images of one table; what depends on the columns alone is worked out once.

    `keeps` tells of which columns values that were JSON in the source, though no strings, stay what they were. `depth`
    is that of the members.
    """

    def __init__(
        self,
        names: Sequence[str],
        values: Sequence[Values],
        style: Style,
        keeps: Sequence[bool] | None = None,
        depth: int = 2,
    ) -> None:
        self._keeps = (False,) * len(names) if keeps is None else tuple(keeps)
        gap = style.member(depth)
        self._values = tuple(values)
        self._labels = tuple(f"{gap}{escape_json_text(name)}:" for name in names)
        self._close = style.close(depth) + "}"

    def of(self, image: Image, rows: int, otherwise: str = "") -> Pieces:
        """Pieces of n objects, `otherwise` where there is no image."""
        members, bad = self._members(image, rows)
        return _where_there(image, rows, ["{", CommaJoined(members), self._close], otherwise), bad

    def members_of(self, image: Image, rows: int) -> Pieces:
        """The members of the objects alone, none where there is no image; each starts with its comma."""
        members, bad = self._members(image, rows)
        return _where_there(image, rows, members), bad

    def _members(self, image: Image, rows: int) -> Pieces:
        pieces: list[Piece] = []
        bad = []
        for index, (column, label) in enumerate(zip(image.columns, self._labels, strict=True)):
            value, wrong = self._values[index](column.values)
            if self._keeps[index] and column.json is not None:
                value = Conditional(column.json, [_on_one_line(column.values, column.json)], [value])
            bad += [(row, index) for row in wrong if self._shows(image, index, row)]
            if column.present is None or column.present.true_count == rows:
                pieces += [COMMA, label, value]
            else:
                pieces.append(Conditional(column.present, [COMMA, label, value]))
        return pieces, bad

    def _shows(self, image: Image, index: int, row: int) -> bool:
        """Whether a value is shown as one of the type of its column."""
        column = image.columns[index]
        if self._keeps[index] and column.json is not None and column.json[row].as_py():
            return False
        return all(mask is None or mask[row].as_py() for mask in (image.exists, column.present))


def _where_there(image: Image, rows: int, pieces: list[Piece], otherwise: str = "") -> list[Piece]:
    exists = image.exists
    there = rows if exists is None else exists.true_count
    if exists is None or there == rows:
        return pieces
    return [Conditional(exists, pieces, [otherwise])] if there else [otherwise]


def _on_one_line(values: pa.StringArray, json: pa.BooleanArray) -> Piece:
    """The values, those that are JSON less their white space if they are laid out over lines."""
    values = or_empty(values)
    laid_out = pc.and_(pc.match_substring(values, "\n"), json)
    if not laid_out.true_count:
        return values
    texts = [str(msgspec.json.format(text, indent=-1)) for text in non_null_values(values.filter(laid_out))]
    return pc.replace_with_mask(values, laid_out, pa.array(texts, pa.string()))
