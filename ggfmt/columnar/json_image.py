"""Images as JSON objects: a text for each operation, compact or laid out over lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.join import Piece, join, repeat
from ggfmt.columnar.strings import escape_json_text
from ggfmt.model.change import Image, ImageColumn

# Makes JSON values, `null` for NULL, of the values of a column; the second result are rows whose value is illegal.
_Texts = tuple[list[Piece], list[tuple[int, int]]]  # pieces of n texts, and (row, column) of values that are illegal
Values = Callable[[pa.StringArray], tuple[pa.StringArray, list[int]]]


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

    def of(self, image: Image, rows: int) -> tuple[pa.StringArray, list[tuple[int, int]]]:
        """n objects, the empty text where there is no image; and (row, column) of values that are illegal."""
        return self._where_there(image, rows, self._objects)

    def members_of(self, image: Image, rows: int) -> tuple[pa.StringArray, list[tuple[int, int]]]:
        """As `of`, the members of the objects alone, divided by commas."""
        return self._where_there(image, rows, self._members)

    @staticmethod
    def _where_there(
        image: Image, rows: int, make: Callable[[Sequence[ImageColumn], int], _Texts]
    ) -> tuple[pa.StringArray, list[tuple[int, int]]]:
        if image.exists is None or image.exists.true_count == rows:
            pieces, bad = make(image.columns, rows)
            return join(pieces, rows), bad
        if not image.exists.true_count:
            return repeat("", rows), []
        there = pc.indices_nonzero(image.exists)
        pieces, bad = make([column.take(there) for column in image.columns], len(there))
        filled = pc.replace_with_mask(repeat("", rows), image.exists, join(pieces, len(there)))
        return filled, [(there[row].as_py(), column) for row, column in bad]

    def _objects(self, columns: Sequence[ImageColumn], rows: int) -> _Texts:
        pieces, bad = self._members(columns, rows)
        return ["{", *pieces, self._close], bad

    def _members(self, columns: Sequence[ImageColumn], rows: int) -> _Texts:
        full = [column.present is None or column.present.true_count == rows for column in columns]
        anchor = full.index(True) if True in full else len(columns)
        pieces: list[Piece] = []
        bad = []
        for index, column in enumerate(columns):
            values, wrong = self._values[index](column.values)
            if self._keeps[index] and column.json is not None:
                values = pc.if_else(column.json, _on_one_line(column.values, column.json), values)
                wrong = [row for row in wrong if not column.json[row].as_py()]
            bad += [(row, index) for row in wrong if column.present is None or column.present[row].as_py()]
            label = self._labels[index]
            if full[index]:
                pieces += [label if index == anchor else f",{label}", values]
            else:
                # Up to the first member that is always there the comma follows, from there on it leads.
                member = join([label, values, ","] if index < anchor else [",", label, values])
                pieces.append(pc.if_else(column.present, member, ""))
        if anchor == len(columns):
            pieces = [pc.replace_substring_regex(join(pieces, rows), ",$", "")]
        return pieces, bad


def _on_one_line(values: pa.StringArray, json: pa.BooleanArray) -> pa.StringArray:
    """The values, those that are JSON less their white space if they are laid out over lines."""
    laid_out = pc.and_(pc.match_substring(values, "\n").fill_null(False), json)
    if not laid_out.true_count:
        return values
    texts = [str(msgspec.json.format(text, indent=-1)) for text in values.filter(laid_out).to_pylist()]
    return pc.replace_with_mask(values, laid_out, pa.array(texts, pa.string()))
