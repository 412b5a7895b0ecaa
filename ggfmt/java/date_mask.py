"""Java's masks of dates (`java.text.SimpleDateFormat`), as far as they say each part of a time by digits.

`yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and up to nine `S` stand for as many digits; what is no letter, or is in single
quotes, for itself. No other letters are taken: `Z`, `X` and `z` would name zones, `hh` needs `a`, `MMM` a language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ggfmt.java.text import InvalidValueError

_PARTS = {"yyyy": "([0-9]{4})", **dict.fromkeys(("MM", "dd", "HH", "mm", "ss"), "([0-9]{2})")}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'])", re.DOTALL)
_MICROS, _NANOS = 6, 9
_HELP = "write `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and up to nine `S`, as in `yyyy-MM-dd HH:mm:ss.SSSSSS`"


@dataclass(frozen=True)
class DateMask:
    """What texts match, and what makes `2013-06-02 22:14:36.123456` of one: a pattern and a rewrite of RE2."""

    pattern: str
    rewrite: str


@lru_cache
def date_mask(mask: str) -> DateMask:
    """The mask, or InvalidValueError for one that ggfmt cannot read times by."""
    pattern, place = "", 0
    groups: dict[str, int] = {}
    while place < len(mask):
        token = _TOKEN.match(mask, place)
        if token is None:
            raise InvalidValueError("has a quote without its end", _HELP)
        quoted, letter, other = token.groups()
        place = token.end()
        if letter is None:
            literal = other if other is not None else quoted.replace("''", "'") or "'"
            pattern += re.escape(literal)
            continue
        word = token.group()
        if word not in _PARTS and not (letter == "S" and len(word) <= _NANOS):
            raise InvalidValueError(f"has `{word}`, by which ggfmt reads no times", _HELP)
        if letter in groups:
            raise InvalidValueError(f"has `{word}` twice", _HELP)
        groups[letter] = len(groups) + 1
        pattern += _PARTS.get(word) or _fraction(len(word))
    lacking = next((word for word in ("yyyy", "MM", "dd") if word[0] not in groups), None)
    if lacking is not None:
        raise InvalidValueError(f"has no `{lacking}`", _HELP)

    def part(letter: str) -> str:
        return f"\\{groups[letter]}" if letter in groups else "00"

    fraction = ""
    if "S" in groups:
        digits = next(len(token.group()) for token in _TOKEN.finditer(mask) if token.group(2) == "S")
        fraction = f".\\{groups['S']}" + "0" * (_MICROS - digits)
    rewrite = f"{part('y')}-{part('M')}-{part('d')} {part('H')}:{part('m')}:{part('s')}{fraction}"
    return DateMask(f"^{pattern}$", rewrite)


def _fraction(digits: int) -> str:
    """Digits of a second; those beyond microseconds have to be 0."""
    if digits <= _MICROS:
        return f"([0-9]{{{digits}}})"
    return f"([0-9]{{{_MICROS}}})0{{{digits - _MICROS}}}"
