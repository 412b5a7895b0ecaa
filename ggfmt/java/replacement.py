"""Java's replacements (`$1`, `${name}`), and `String.replaceAll`, in Python."""

from __future__ import annotations

import re
from functools import cached_property

from ggfmt.dataclasses import dataclass, field
from ggfmt.java.regex import JavaRegex
from ggfmt.java.text import InvalidValueError, UnsupportedValueError
from ggfmt.lazy import lazy_regex

_PIECE = lazy_regex(r"\\(.?)|\$(?:([0-9])|\{([A-Za-z][A-Za-z0-9]*)\})?|[^\\$]+", re.DOTALL)


def parse_replacement(text: str, regex: JavaRegex) -> tuple[str | int, ...]:
    pieces: list[str | int] = []
    names = dict(regex.names)
    at = 0
    while match := _PIECE.match(text, at):
        at = match.end()
        if not match[0].startswith("$"):
            if match[0] == "\\":
                raise InvalidValueError(
                    "is not a Java replacement: it ends with `\\`", "write `\\\\\\\\` for a backslash"
                )
            plain = match[0] if match[1] is None else match[1]
            if pieces and isinstance(pieces[-1], str):
                pieces[-1] += plain
            else:
                pieces.append(plain)
            continue
        help = "write `\\\\$` for a dollar sign"
        if match[3] is not None:
            if match[3] not in names:
                raise InvalidValueError(f"refers to the group `{match[3]}`, which the pattern does not have", help)
            number = names[match[3]]
        elif match[2] is not None:
            number = int(match[2])
            if number > regex.groups:
                raise InvalidValueError(f"refers to group {number} of {regex.groups}", help)
            while text[at : at + 1] in tuple("0123456789") and number * 10 + int(text[at]) <= regex.groups:
                number = number * 10 + int(text[at])
                at += 1
        else:
            raise InvalidValueError("is not a Java replacement: `$` is not followed by a group", help)
        if number in regex.repeated:
            raise UnsupportedValueError(
                f"refers to group {number}, which is inside of a repetition", "put the group around it"
            )
        pieces.append(number)
    return tuple(pieces)


@dataclass(frozen=True)
class Replacement:
    """One search and replacement, as Java's `String.replaceAll`: every match, from left to right.

    Raises: InvalidValueError if the text is not a replacement for the pattern. Unlike in Java, an empty match does not
    split a character above U+FFFF. `key`: the property that has the pattern.
    """

    regex: JavaRegex
    text: str
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self.pieces  # noqa: B018  # to raise now and not in a task

    @cached_property
    def pieces(self) -> tuple[str | int, ...]:
        return parse_replacement(self.text, self.regex)

    @property
    def re2(self) -> tuple[str, str] | None:
        """Return the pattern and the replacement for RE2; None if their meaning would differ."""
        numbers = [piece for piece in self.pieces if isinstance(piece, int)]
        if self.regex.re2 is None or any(number > 9 for number in numbers):
            return None
        texts = (f"\\{p}" if isinstance(p, int) else p.replace("\\", "\\\\") for p in self.pieces)
        return self.regex.re2, "".join(texts)

    def apply(self, text: str) -> str:
        """Replace every match. After an empty match, `re.sub` tries the same place again, Java does not."""
        search = self.regex.compiled.search
        pieces: list[str] = []
        at = end = 0
        while at <= len(text) and (match := search(text, at)) is not None:
            pieces.append(text[end : match.start()])
            pieces += (match[piece] or "" if isinstance(piece, int) else piece for piece in self.pieces)
            end = match.end()
            at = end + (match.start() == end)
        return "".join([*pieces, text[end:]]) if pieces else text
