"""How a message is shown to a person: lines of pieces, each a text with the role that it plays.

A format says what the parts of its messages are (`Writer.show`); what paints them gives each role a style, and makes
visible what does not print. The texts of pieces are as they stand in the message.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ggfmt.java.charsets import byte_order_mark, can_decode, codec_of

Role = Literal["name", "value", "null", "delimiter", "punctuation", "remark"]

HEX_LINES = 8
HEX_BYTES = 16  # in a line
_FLAT = 100  # characters: a JSON value that is longer is laid out over lines


@dataclass(frozen=True)
class ShownPiece:
    role: Role
    text: str


Line = tuple[ShownPiece, ...]


@dataclass(frozen=True)
class ShownField:
    """One field of a message, by its name; `remark` says of a value what its text does not show."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class ShownMessage:
    """One message: its lines, its fields where it is divided into fields, and what a reader of it will stumble over."""

    lines: tuple[Line, ...]
    fields: tuple[ShownField, ...] = ()
    warnings: tuple[str, ...] = ()


class Show(ABC):
    """Shows the messages of one table definition.

    `about` has facts about the files, one a line. `framed`: messages are given as they stand in a file, and not as they
    are before files of blocks are made of them.
    """

    about: tuple[str, ...] = ()
    framed: bool = True

    @abstractmethod
    def message(self, data: bytes) -> ShownMessage:
        """One message from its bytes, with the delimiter behind it."""


class TextShow(Show):
    """Shows text messages of a charset; as it stands here, each in one line. Of a charset that cannot be decoded the
    bytes are shown."""

    def __init__(self, charset: str) -> None:
        self._codec = codec_of(charset) if can_decode(charset) else None
        mark = byte_order_mark(charset)
        self.about = () if charset == "UTF-8" else (f"encoding {charset}",)
        if mark:
            self.about += (f"each file starts with the byte order mark {mark.hex(' ')}",)

    def message(self, data: bytes) -> ShownMessage:
        return ShownMessage(hex_lines(data)) if self._codec is None else self.text(data.decode(self._codec, "replace"))

    def text(self, text: str) -> ShownMessage:
        return ShownMessage(((ShownPiece("value", text),),))


class BytesShow(Show):
    """Shows messages that are no text."""

    def message(self, data: bytes) -> ShownMessage:
        return ShownMessage(hex_lines(data))


def hex_lines(data: bytes) -> tuple[Line, ...]:
    """The first bytes as hexadecimal digits and as ASCII, with the offset of each line."""
    lines: list[Line] = []
    for start in range(0, min(len(data), HEX_LINES * HEX_BYTES), HEX_BYTES):
        part = data[start : start + HEX_BYTES]
        ascii = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        digits = f"{part.hex(' '):{3 * HEX_BYTES - 1}}"
        lines.append(
            (
                ShownPiece("remark", f"{start:08x}  "),
                ShownPiece("value", digits),
                ShownPiece("punctuation", "  "),
                ShownPiece("name", ascii),
            )
        )
    left = len(data) - HEX_LINES * HEX_BYTES
    if left > 0:
        lines.append((ShownPiece("remark", f"... {left:,} more byte{'s' * (left > 1)}"),))
    return tuple(lines)


_TOKEN = re.compile(
    r"""
      (?P<text> "[^"\\]*(?:\\.[^"\\]*)*" ) (?P<named> (?=[ ]*:) )?
    | (?P<break> \n )
    | (?P<punctuation> [\]\[{},:] | [ \t\r]+ )
    | (?P<word> [^\]\[{},:"\s]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def json_lines(text: str) -> tuple[tuple[Line, ...], str]:
    """The lines of the JSON object or array that a text starts with, and the text behind it."""
    lines: list[list[ShownPiece]] = [[]]
    end = depth = 0
    for token in _tokens(text):
        kind, text_of = token.lastgroup, token[0]
        end = token.end()
        if kind == "break":
            lines.append([])
        elif kind == "word":
            lines[-1].append(ShownPiece("null" if text_of == "null" else "value", text_of))
        elif kind == "punctuation":
            lines[-1].append(ShownPiece("punctuation", text_of))
            depth += (text_of in "{[") - (text_of in "}]")
            if text_of in "}]" and not depth:
                break
        else:
            lines[-1].append(ShownPiece("name" if kind == "named" else "value", text_of))
    return tuple(map(tuple, lines)), text[end:]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    place = 0
    while (token := _TOKEN.match(text, place)) is not None:
        yield token
        place = token.end()


def laid_out(value: Any, depth: int = 0) -> str:
    """A JSON text of a value: a member a line at the top, and below it where the text of a member gets long."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (depth and len(flat) <= _FLAT):
        return flat
    gap, end = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, list):
        return "[" + ",".join(gap + laid_out(item, depth + 1) for item in value) + end + "]"
    members: Sequence[str] = [
        f"{gap}{json.dumps(name, ensure_ascii=False)}: {laid_out(item, depth + 1)}" for name, item in value.items()
    ]
    return "{" + ",".join(members) + end + "}"
