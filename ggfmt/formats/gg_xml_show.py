"""XML, shown: the message line by line; line ends inside of CDATA sections are part of a value and break no line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggfmt.formats.show import Piece, Shown, TextShow

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
    def text(self, text: str) -> Shown:
        lines: list[list[Piece]] = [[]]
        for part in _PART.finditer(text):
            if part.lastgroup == "break":
                lines.append([])
            else:
                lines[-1] += _pieces(part.lastgroup, part[0])
        if not lines[-1]:
            lines.pop()
        return Shown(tuple(map(tuple, lines)))


def _pieces(kind: str | None, text: str) -> Iterator[Piece]:
    if kind == "section":
        yield Piece("punctuation", text[:9])
        yield Piece("value", text[9:-3])
        yield Piece("punctuation", text[-3:])
    elif kind == "tag":
        for item in _IN_TAG.finditer(text):
            if item.lastgroup == "name":
                yield Piece("name", item[0])
            elif item.lastgroup == "value":
                yield Piece("value", item[0])
            else:
                yield Piece("punctuation", item[0])
    else:
        yield Piece("remark" if kind == "instruction" else "value", text)
