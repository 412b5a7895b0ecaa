"""Random messages, put together by the native kernels and in plain Python, made from a seed."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from ggfmt import kernels
from ggfmt.arrow.arrays import StringMapArray, as_string_maps, as_strings, narrow
from ggfmt.columnar import avro
from ggfmt.columnar.images import differ
from ggfmt.columnar.pieces import (
    COMMA,
    CommaJoined,
    Conditional,
    Encoding,
    Equals,
    Piece,
    Repeated,
    TextPiece,
    join,
    join_binary,
)
from ggfmt.columnar.strings import TextPattern, count_texts
from ggfmt.formats.goldengate.xml.write import unsupported_characters
from ggfmt.model.change import Image, ImageColumn

_PARTS = [
    '"', "\\", "\r", "\n", "\0", "\x1f", "]]>", "]]", "&", "<", "'", "é", "€", "😀", "\ufffe", "\uffff", "a", "1", ",",
]  # fmt: skip
_TEXTS = list(Encoding)[: Encoding.DOUBLED + 1]
_NUMBERS = list(Encoding)[Encoding.DIGITS : Encoding.NANOS + 1]
_MAP = pa.map_(pa.string(), pa.string())
_DIGITS = [
    "0", "-0", "1", "-17", "1.5", "-0.25", "123456789012345", "999999999999999999", "1e5", "x", "", "true", "false",
]  # fmt: skip


class Random:
    """Arrays, pieces and columns as a seed has them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def text(self) -> str:
        long = self.draw.random() < 0.02
        size = self.draw.randrange(9000) if long else self.draw.choice((0, 1, 3, 15, 16, 17, 40))
        return "".join(self.draw.choices(_PARTS if self.draw.random() < 0.5 else "abcdefgh", k=size))

    def texts(self, rows: int, nulls: bool) -> pa.StringArray:
        return as_strings(self.array(rows, pa.string(), nulls))

    def mask(self, rows: int) -> pa.BooleanArray:
        return narrow(self.array(rows, pa.bool_(), False), pa.BooleanArray)

    def maps(self, rows: int) -> StringMapArray:
        return as_string_maps(self.array(rows, _MAP, False))

    def array(self, rows: int, kind: pa.DataType, nulls: bool) -> pa.Array[Any]:
        """A slice of a larger array, so that it starts anywhere."""
        before = self.draw.randrange(12)
        made = [self._value(kind) for _ in range(before + rows + self.draw.randrange(3))]
        if nulls and self.draw.random() < 0.7:
            made = [None if self.draw.random() < 0.3 else value for value in made]
        return pa.array(made, kind).slice(before, rows)

    def _value(self, kind: pa.DataType) -> object:
        if kind == pa.bool_():
            return self.draw.random() < 0.5
        if kind == pa.int64():
            return self.draw.choice((0, -1, 999, -1001, self.draw.randrange(-(1 << 62), 1 << 62)))
        if kind == _MAP:
            return [(self.text(), self.text()) for _ in range(self.draw.choice((0, 0, 1, 3)))]
        return self.text()

    def piece(self, rows: int, depth: int) -> Piece:
        kind = self.draw.randrange(8 if depth else 4)
        if kind == 0:
            return self.text()
        if kind == 1:
            return self.array(rows, pa.string(), False)
        if kind == 2:
            array = self.array(rows, pa.int64(), True)
            return TextPiece(array, self.draw.choice(_NUMBERS), self.text(), self.text(), self.text())
        if kind == 3:
            return self._encoded(self.array(rows, pa.string(), True))
        if kind == 4:
            maps = self.maps(rows)
            return Repeated(maps, [self._encoded(maps.keys), self._encoded(maps.items)], self.text())
        if kind == 5:
            pieces = [[COMMA, "x", self.piece(rows, depth - 1)] for _ in range(self.draw.randrange(1, 4))]
            return CommaJoined([Conditional(self.mask(rows), member) for member in pieces])
        where: pa.BooleanArray | Equals = self.mask(rows) if kind == 6 else Equals(self.texts(rows, True), "")
        return Conditional(where, self.pieces(rows, depth - 1), self.pieces(rows, depth - 1))

    def _encoded(self, array: pa.Array[Any]) -> TextPiece:
        return TextPiece(array, self.draw.choice(_TEXTS), self.text(), self.text(), self.text())

    def pieces(self, rows: int, depth: int) -> list[Piece]:
        return [self.piece(rows, depth) for _ in range(self.draw.randrange(4))]

    def image(self, rows: int, columns: int) -> Image:
        made = []
        for _ in range(columns):
            texts = [self.draw.choice((None, *_DIGITS)) for _ in range(rows)]
            present = self.mask(rows) if self.draw.random() < 0.5 else None
            made.append(ImageColumn(pa.array(texts, pa.string()), present))
        return Image(tuple(made), self.mask(rows) if self.draw.random() < 0.5 else None)


def everything(seed: int) -> list[object]:
    """What is made of one seed."""
    made = Random(seed)
    rows = made.draw.choice((0, 1, 2, 5, 40))
    texts = made.texts(rows, True)
    mask = unsupported_characters(texts)
    kinds = [made.draw.choice(sorted(avro.ENCODERS)) for _ in range(made.draw.randrange(4))]
    pieces, bad = avro.ImageEncoder(kinds, made.draw.random() < 0.5).required(made.image(rows, len(kinds)), rows)
    return [
        join(made.pieces(rows, 3), rows).to_pylist(),
        sorted(bad) or join_binary(pieces, rows).to_pylist(),
        avro.string_maps(made.maps(rows)).to_pylist(),
        count_texts(texts, (made.text(), '"'), (made.text(), "")),
        differ(texts, made.texts(rows, True)).to_pylist(),
        [False] * rows if mask is None else mask.to_pylist(),
    ]


def compare(seed: int) -> None:
    """An error where the kernels and plain Python make something else of a seed."""
    native = kernels.native
    made = everything(seed)
    for form in TextPattern:  # of arrays of any texts
        native.fits(Random(seed).array(20, pa.string(), True), form)
    with patch.object(kernels, "native", None):
        assert everything(seed) == made
