"""Kernels for XML: texts as attribute values and in CDATA sections, and columns of operations as `<col>` elements.

What XML 1.0 cannot carry (section 2.2: control characters but for tab, line feed and carriage return; U+FFFE; U+FFFF)
is found by one scan over all texts of a column, and told as the mask of the rows that hold it.
"""

from __future__ import annotations

import re

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.pieces import ATTRIBUTE_ESCAPES, Conditional, Encoding, Piece, Text, text_buffer
from ggfmt.columnar.strings import TextPattern, all_match
from ggfmt.model.change import Image

_FOREIGN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FOREIGN_RE2 = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{FFFE}\x{FFFF}]"
_CARRIED = bytes(sorted({0x09, 0x0A, 0x0D, *range(0x20, 0x100)}))
_NONCHARACTERS = tuple(character.encode() for character in "\ufffe\uffff")


def foreign_character(text: str) -> str | None:
    """The first character of a text that XML cannot carry, as `U+0000`; None if there is none."""
    match = _FOREIGN.search(text)
    return None if match is None else f"U+{ord(match[0]):04X}"


def foreign(array: pa.StringArray) -> pa.BooleanArray | None:
    """Where XML cannot carry a text; None if it can carry all."""
    if all_match(array, TextPattern.XML):
        return None
    data = text_buffer(array).to_pybytes()
    if data.translate(None, _CARRIED) or any(character in data for character in _NONCHARACTERS):
        return pc.fill_null(pc.match_substring_regex(array, _FOREIGN_RE2), False)
    return None


def attribute(array: pa.StringArray) -> Text:
    """The texts as they stand between the single quotes of an attribute; nothing for NULL."""
    return Text(array, Encoding.ATTRIBUTE, "")


def cdata(array: pa.StringArray) -> Text:
    """The texts as they stand between `<![CDATA[` and `]]>`, what cannot be in one section divided over two; nothing
    for NULL."""
    return Text(array, Encoding.CDATA, "")


def attribute_text(text: str) -> str:
    """One text as it stands between the single quotes of an attribute."""
    return text.translate(ATTRIBUTE_ESCAPES)


class ColumnElement:
    """Makes the `<col>` elements of one column; what depends on the column alone is worked out once."""

    def __init__(self, name: str, index: int) -> None:
        self._index = index
        self._open = f" <col name='{attribute_text(name)}' index='{index}'>\n"

    def of(self, before: Image, after: Image) -> tuple[list[Piece], pa.BooleanArray | None]:
        """Pieces that joined are n elements; and where XML cannot carry one of the values, None for nowhere."""
        old, new = (_Side(name, image, self._index) for name, image in (("before", before), ("after", after)))
        values = old.either(
            [old.value, *new.either([new.value], [new.missing])],
            new.either([old.missing, new.value], ["  <missing/>\n"]),
        )
        masks = [mask for mask in (old.foreign(), new.foreign()) if mask is not None]
        return [self._open, *values, " </col>\n"], pc.or_(*masks) if len(masks) == 2 else masks[0] if masks else None


class _Side:
    """One column of an image: `value` and `missing` are the elements of a value, or NULL, and of a missing one."""

    def __init__(self, name: str, image: Image, index: int) -> None:
        column = image.columns[index]
        there = column.present
        if image.exists is not None:
            there = image.exists if there is None else pc.and_(there, image.exists)
        self._there = there
        self._values = column.values
        null = f"   <{name} isNull='true'/>\n"
        self.value = Text(column.values, Encoding.CDATA, null, f"   <{name}><![CDATA[", f"]]></{name}>\n")
        self.missing = f"   <{name} missing='true'/>\n"

    def either(self, present: list[Piece], missing: list[Piece]) -> list[Piece]:
        """Some pieces where the column is there, others where it is missing."""
        count = len(self._values) if self._there is None else self._there.true_count
        if self._there is None or count == len(self._values):
            return present
        return [Conditional(self._there, present, missing)] if count else missing

    def foreign(self) -> pa.BooleanArray | None:
        """Where XML cannot carry the value."""
        mask = foreign(self._values)
        return mask if mask is None or self._there is None else pc.and_(mask, self._there)
