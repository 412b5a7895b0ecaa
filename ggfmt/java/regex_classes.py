"""Characters and classes of Java's regular expressions: escapes, properties and `[...]`, as sets of characters.

What Java's releases read differently, or Python has no tables of, is refused by its name. Of `\\p{L}` and the like the
tables are those of the Python that runs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ggfmt.java.code_points import CATEGORIES, CodePoints, category
from ggfmt.java.text import InvalidValueError, visible

LINE_END = CodePoints.of("\n\r\x85\u2028\u2029")
VERTICAL = LINE_END | CodePoints.of("\x0b\f")

_DIGIT = CodePoints.of((48, 57))
_LETTER = CodePoints.of((65, 90), (97, 122))
_SPACE = CodePoints.of(" \t\n\x0b\f\r")
_PUNCT = CodePoints.of((33, 47), (58, 64), (91, 96), (123, 126))
_HORIZONTAL = CodePoints.of(" \t\xa0\u1680\u180e\u202f\u205f\u3000", (0x2000, 0x200A))
_CLASSES = {"d": _DIGIT, "w": _LETTER | _DIGIT | CodePoints.of("_"), "s": _SPACE, "h": _HORIZONTAL, "v": VERTICAL}
_POSIX = {
    "Lower": CodePoints.of((97, 122)),
    "Upper": CodePoints.of((65, 90)),
    "ASCII": CodePoints.of((0, 127)),
    "Alpha": _LETTER,
    "Digit": _DIGIT,
    "Alnum": _LETTER | _DIGIT,
    "Punct": _PUNCT,
    "Graph": CodePoints.of((33, 126)),
    "Print": CodePoints.of((32, 126)),
    "Blank": CodePoints.of(" \t"),
    "Cntrl": CodePoints.of((0, 31), (127, 127)),
    "XDigit": CodePoints.of((48, 57), (65, 70), (97, 102)),
    "Space": _SPACE,
}
_CASED = {"Lower", "Upper", "Lu", "Ll", "Lt"}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_ESCAPE_NAMES = {
    "G": "the end of the match before",
    "X": "a grapheme cluster",
    "N": "a character by its name",
}
_VERSIONS = "Java releases read differently"


def refused(
    what: str, why: str = "has no exact equal in Python", help: str = "write it in another way"
) -> InvalidValueError:
    return InvalidValueError(f"has {what}, which {why}", help)


def pattern_error(what: str) -> InvalidValueError:
    return InvalidValueError(
        f"is no Java pattern: {what}", "correct it; a backslash is written `\\\\` in a handler file"
    )


@dataclass(frozen=True)
class Flags:
    """The inline flags that are carried out."""

    i: bool = False
    m: bool = False
    s: bool = False
    d: bool = False


class PatternCursor:
    """A pattern without `\\Q...\\E`, read from left to right; `flags` are those that hold here."""

    def __init__(self, pattern: str) -> None:
        self.text = _unquoted(pattern)
        self.at = 0
        self.flags = Flags()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def next(self, wanted: str) -> str:
        """The next character; an error that lacks `wanted` if there is none."""
        if self.at >= len(self.text):
            raise pattern_error(f"it ends where {wanted} should follow")
        self.at += 1
        return self.text[self.at - 1]

    def eat(self, text: str) -> bool:
        starts = self.text.startswith(text, self.at)
        self.at += len(text) * starts
        return starts

    def match(self, pattern: str) -> str | None:
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def escaped(self, char: str) -> int | CodePoints:
        """What an escape stands for inside of a class as well: a character, or a set of them."""
        if char.lower() in _CLASSES:
            points = _CLASSES[char.lower()]
            return points if char.islower() else ~points
        if char in "pP":
            points = self._property()
            return points if char == "p" else ~points
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "c":
            return ord(self.next("a character")) ^ 64
        digits = {"0": r"[0-3][0-7]{0,2}|[4-7][0-7]?", "x": r"[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\}", "u": r"[0-9A-Fa-f]{4}"}
        if char in digits:
            match = self.match(digits[char])
            if match is None:
                raise pattern_error(f"`\\{char}` is not followed by its digits")
            code = int(match.strip("{}"), 8 if char == "0" else 16)
            if char == "u" and 0xD800 <= code < 0xDC00:
                low = self.match(r"\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}")
                code = 0x10000 + (code - 0xD800) * 0x400 + int(low[2:], 16) - 0xDC00 if low else code
            if code > sys.maxunicode or 0xD800 <= code < 0xE000:
                raise pattern_error(f"`\\{char}{match}` is no character")
            return code
        if char in _ESCAPE_NAMES:
            raise refused(f"`\\{char}` ({_ESCAPE_NAMES[char]})")
        if char.isascii() and char.isalnum():
            raise pattern_error(f"`\\{char}` is no escape here")
        return ord(char)

    def _property(self) -> CodePoints:
        match = self.match(r"\{[^}]*\}|[A-Za-z]")
        if match is None:
            raise pattern_error("`\\p` is not followed by the name of a property")
        name = match.strip("{}")
        plain = re.sub(r"^(?:Is(?=[A-Z][a-z]?$)|(?:gc|general_category)=)", "", name)
        if self.flags.i and plain in _CASED:
            raise refused(f"`\\p{{{name}}}` under `(?i)`", _VERSIONS)
        if plain in CATEGORIES:
            return category(plain)
        if name in _POSIX:
            return _POSIX[name]
        help = "give a general category such as `\\p{L}`, a POSIX class such as `\\p{Alpha}`, or a range"
        raise refused(f"`\\p{{{visible(name)}}}`", help=help)

    def character_class(self) -> CodePoints:
        """The rest of a class after its `[`."""
        negated = self.eat("^")
        operands: list[CodePoints] = []
        points, parts, nested = CodePoints(), 0, 0
        start = self.at
        while True:
            if self.eat("&&"):
                if not parts or self.peek() in ("&", "^", "]"):
                    raise refused("`&&` without a class on both sides", _VERSIONS)
                operands.append(points)
                points, parts, nested = CodePoints(), 0, 0
                start = self.at
                continue
            char = self.next("`]`")
            if char == "]" and (parts or operands):
                break
            parts += 1
            if char == "[":
                nested += 1
                points |= self.character_class()
            else:
                points |= self.cased(self._class_item(char))
            mixed = nested and parts > 1
            if mixed and (operands or self.text.startswith("&&", self.at)):
                text = self.text[start : self.at]
                help = "put all of it into brackets of its own"
                raise refused(f"`{visible(text)}` beside `&&`", _VERSIONS, help)
            if negated and nested:
                raise refused("a class inside of `[^...]`", _VERSIONS, "negate the classes inside")
        for operand in operands:
            if negated:
                raise refused("`&&` inside of `[^...]`", _VERSIONS, "negate the classes inside")
            points &= operand
        return ~points if negated else points

    def _class_item(self, char: str) -> CodePoints:
        """A character, an escape or a range."""
        first: int | CodePoints = self.escaped(self.next("an escaped character")) if char == "\\" else ord(char)
        is_range = self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("[", "]", "")
        if isinstance(first, CodePoints):
            if is_range and self.text[self.at - 1] == "v":
                raise refused("a range that starts with `\\v`", _VERSIONS)
            return first
        if not is_range:
            return CodePoints.of((first, first))
        self.at += 1
        char = self.next("the end of a range")
        last = self.escaped(self.next("an escaped character")) if char == "\\" else ord(char)
        if isinstance(last, CodePoints) or last < first:
            raise pattern_error("a range in a class ends before it starts")
        return CodePoints.of((first, last))

    def cased(self, points: CodePoints) -> CodePoints:
        return points.in_either_case() if self.flags.i else points


def _unquoted(pattern: str) -> str:
    """The pattern with `\\Q...\\E` written as escapes."""
    pieces = re.split(r"((?:\\(?!Q).|[^\\]|\\\Z)+)|\\Q(.*?)(?:\\E|\Z)", pattern, flags=re.DOTALL)
    return "".join(_unquoted_pieces(pieces))


def _unquoted_pieces(pieces: list[str | None]) -> Iterator[str]:
    for between, plain, quoted in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=False):
        assert not between
        yield plain or "".join(f"\\x{{{ord(char):x}}}" for char in quoted or "")
