"""Kernels for XML: texts as attribute values and in CDATA sections, and columns of operations as `<col>` elements.

What XML 1.0 cannot carry (section 2.2: control characters but for tab, line feed and carriage return; U+FFFE; U+FFFF)
is found by one scan over all texts of a column, and told as the mask of the rows that hold it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.join import Piece
from ggfmt.columnar.strings import text_buffer
from ggfmt.model.change import Image

# A parser makes a blank of a bare tab or line end in an attribute, and a line feed of a bare carriage return anywhere.
_IN_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", "'": "&apos;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_IN_CDATA = {"]]>": "]]]]><![CDATA[>", "\r": "]]>&#13;<![CDATA["}

_FOREIGN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FOREIGN_RE2 = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{FFFE}\x{FFFF}]"
_CARRIED = bytes(sorted({0x09, 0x0A, 0x0D, *range(0x20, 0x100)}))
_NONCHARACTERS = tuple(character.encode() for character in "\ufffe\uffff")

_STRING = pa.string()
_VALUE, _NULL, _MISSING = range(3)


def foreign_character(text: str) -> str | None:
    """The first character of a text that XML cannot carry, as `U+0000`; None if there is none."""
    match = _FOREIGN.search(text)
    return None if match is None else f"U+{ord(match[0]):04X}"


@dataclass(frozen=True)
class Escaped:
    """Texts ready to stand in a document; `foreign` is true where XML cannot carry one, None if it does so nowhere."""

    texts: pa.StringArray
    foreign: pa.BooleanArray | None


def attribute(array: pa.StringArray) -> Escaped:
    """The texts as they stand between the single quotes of an attribute."""
    return _escape(array, _IN_ATTRIBUTE)


def cdata(array: pa.StringArray) -> Escaped:
    """The texts as they stand between `<![CDATA[` and `]]>`; what cannot be in one section is divided over two."""
    return _escape(array, _IN_CDATA)


def attribute_text(text: str) -> str:
    """One text as it stands between the single quotes of an attribute."""
    return "".join(_IN_ATTRIBUTE.get(character, character) for character in text)


def _escape(array: pa.StringArray, replacements: Mapping[str, str]) -> Escaped:
    data = text_buffer(array).to_pybytes()
    if not data:
        return Escaped(array, None)
    low = pc.min(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py() < 0x20
    foreign = None
    if (low and data.translate(None, _CARRIED)) or any(character in data for character in _NONCHARACTERS):
        foreign = pc.match_substring_regex(array, _FOREIGN_RE2).fill_null(False)
    for text, replacement in replacements.items():
        if (low or text >= " ") and text.encode() in data:
            array = pc.replace_substring(array, text, replacement)
    return Escaped(array, foreign)


# The texts before, between and after the values of the two images, by the states of the value in both.
_OPENING = {"before": "   <before><![CDATA[", "after": "   <after><![CDATA["}
_CLOSING = {"before": "]]></before>\n", "after": "]]></after>\n"}


def _frame(old: int, new: int) -> tuple[str, str, str]:
    if old == new == _MISSING:
        return "  <missing/>\n", "", ""
    opening, closing = [], []
    for side, state in (("before", old), ("after", new)):
        empty = "" if state == _VALUE else f"   <{side} {'isNull' if state == _NULL else 'missing'}='true'/>\n"
        opening.append(empty or _OPENING[side])
        closing.append("" if empty else _CLOSING[side])
    return opening[0], closing[0] + opening[1], closing[1]


_FRAMES = [_frame(old, new) for old in range(3) for new in range(3)]
_FRAME_ARRAYS = [pa.array(texts, _STRING) for texts in zip(*_FRAMES, strict=True)]

State: TypeAlias = Any  # an int, the same in every row, or an array of n int8


@dataclass(frozen=True)
class _Side:
    """One column of an image: its state in every row, and the texts where it has a value, empty ones elsewhere."""

    state: State
    texts: Piece
    foreign: pa.BooleanArray | None


class ColumnElement:
    """Makes the `<col>` elements of one column; what depends on the column alone is worked out once."""

    def __init__(self, name: str, index: int) -> None:
        self._index = index
        self._open = f" <col name='{attribute_text(name)}' index='{index}'>\n"

    def of(self, before: Image, after: Image, rows: int) -> tuple[list[Piece], pa.BooleanArray | None]:
        """Pieces that joined are n elements; and where XML cannot carry one of the values, None for nowhere."""
        old, new = self._side(before, rows), self._side(after, rows)
        if isinstance(old.state, int) and isinstance(new.state, int):
            first, middle, last = _FRAMES[3 * old.state + new.state]
        else:
            frame = pc.add(pc.multiply(_int8(old.state), _int8(3)), _int8(new.state))
            first, middle, last = (texts.take(frame) for texts in _FRAME_ARRAYS)
        pieces: list[Piece] = [self._open, first, old.texts, middle, new.texts, last, " </col>\n"]
        masks = [side.foreign for side in (old, new) if side.foreign is not None]
        return pieces, pc.or_(*masks) if len(masks) == 2 else masks[0] if masks else None

    def _side(self, image: Image, rows: int) -> _Side:
        column = image.columns[self._index]
        there = column.present
        if image.exists is not None:
            there = image.exists if there is None else pc.and_(there, image.exists)
        if there is not None and there.true_count == rows:
            there = None
        elif there is not None and not there.true_count:
            return _Side(_MISSING, "", None)
        if there is None and not column.values.null_count:
            escaped = cdata(column.values)
            return _Side(_VALUE, escaped.texts, escaped.foreign)
        state = pc.if_else(column.values.is_null(), _int8(_NULL), _int8(_VALUE))
        if there is not None:
            state = pc.if_else(there, state, _int8(_MISSING))
        valued = pc.equal(state, _int8(_VALUE))
        if not valued.true_count:
            return _Side(_NULL if there is None else state, "", None)
        escaped = cdata(pc.if_else(valued, column.values, ""))
        return _Side(state, escaped.texts, escaped.foreign)


def _int8(value: State) -> pa.Int8Scalar | pa.Int8Array:
    return pa.scalar(value, pa.int8()) if isinstance(value, int) else value
