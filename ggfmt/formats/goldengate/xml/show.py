"""XML, shown: the message line by line; line ends inside of CDATA sections are part of a value and break no line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggfmt.formats.api.show import ShownMessage, ShownPiece, TextShow

_PART = re.compile(
    r"""
      (?P<section> <!\[CDATA\[ .*? \]\]> )
    | (?P<instruction> <\? .*? \?> )
    | (?P<tag> < (?: [^<>'"] | '[^']*' | "[^"]*" )* > )
    | (?P<break> \n )
    | (?P<text> [^<\n]+ | < )
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_TAG = re.compile(
    r"""
      (?P<value> '[^']*' | "[^"]*" )
    | (?P<name> [^\s<>/='"]+ )
    | (?P<punctuation> [\s<>/='"]+? )
    """,
    re.VERBOSE | re.DOTALL,
)


class XmlShow(TextShow):
    def text(self, text: str) -> ShownMessage:
        lines: list[list[ShownPiece]] = [[]]
        for part in _PART.finditer(text):
            if part.lastgroup == "break":
                lines.append([])
            else:
                lines[-1] += _pieces(part.lastgroup, part[0])
        if not lines[-1]:
            lines.pop()
        return ShownMessage(tuple(map(tuple, lines)))


def _pieces(kind: str | None, text: str) -> Iterator[ShownPiece]:
    if kind == "section":
        yield ShownPiece("punctuation", text[:9])
        yield ShownPiece("value", text[9:-3])
        yield ShownPiece("punctuation", text[-3:])
    elif kind == "tag":
        for item in _IN_TAG.finditer(text):
            if item.lastgroup == "name":
                yield ShownPiece("name", item[0])
            elif item.lastgroup == "value":
                yield ShownPiece("value", item[0])
            else:
                yield ShownPiece("punctuation", item[0])
    else:
        yield ShownPiece("remark" if kind == "instruction" else "value", text)
