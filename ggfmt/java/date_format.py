"""Java's `SimpleDateFormat`: masks by which ggfmt parses times, and masks by which it writes them.

To parse: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and up to nine `S` stand for as many digits; other characters than
letters, and text in single quotes, stand for themselves. ggfmt accepts no other letters: `Z`, `X` and `z` would name
zones, `hh` needs `a`, `MMM` a language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache

from ggfmt.dataclasses import dataclass
from ggfmt.java.text import InvalidValueError, UnsupportedValueError
from ggfmt.lazy import lazy_regex

_PARTS = {"yyyy": "([0-9]{4})", **dict.fromkeys(("MM", "dd", "HH", "mm", "ss"), "([0-9]{2})")}
_TOKEN = lazy_regex(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+", re.DOTALL)
_MICROS, _NANOS = 6, 9
_HELP = "write `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and up to nine `S`, as in `yyyy-MM-dd HH:mm:ss.SSSSSS`"


@dataclass(frozen=True)
class DateMask:
    """A regular expression for the texts of a mask, and the rewrite (RE2) to `2013-06-02 22:14:36.123456`."""

    pattern: str
    rewrite: str


def _tokens(mask: str, unclosed: InvalidValueError) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a mask: a text and None, or a word of one letter and the letter. Raises: `unclosed`."""
    place = 0
    while place < len(mask):
        token = _TOKEN.match(mask, place)
        if token is None:
            raise unclosed
        quoted, letter = token.groups()
        yield (token[0] if quoted is None else quoted.replace("''", "'") or "'"), letter
        place = token.end()


@lru_cache
def date_mask(mask: str) -> DateMask:
    """Return the mask. Raises: InvalidValueError for a mask that ggfmt cannot parse times by."""
    pattern, digits = "", 0
    groups: dict[str, int] = {}
    for word, letter in _tokens(mask, InvalidValueError("has a quote without its end", _HELP)):
        if letter is None:
            pattern += re.escape(word)
            continue
        if word not in _PARTS and not (letter == "S" and len(word) <= _NANOS):
            raise InvalidValueError(f"has `{word}`, by which ggfmt reads no times", _HELP)
        if letter in groups:
            raise InvalidValueError(f"has `{word}` twice", _HELP)
        groups[letter] = len(groups) + 1
        digits = len(word) if letter == "S" else digits
        pattern += _PARTS.get(word) or _fraction(len(word))
    lacking = next((word for word in ("yyyy", "MM", "dd") if word[0] not in groups), None)
    if lacking is not None:
        raise InvalidValueError(f"has no `{lacking}`", _HELP)

    def part(letter: str) -> str:
        return f"\\{groups[letter]}" if letter in groups else "00"

    fraction = ""
    if "S" in groups:
        fraction = f".\\{groups['S']}" + "0" * (_MICROS - digits)
    rewrite = f"{part('y')}-{part('M')}-{part('d')} {part('H')}:{part('m')}:{part('s')}{fraction}"
    return DateMask(f"^{pattern}$", rewrite)


def _fraction(digits: int) -> str:
    """Return the pattern of digits of a second; those beyond microseconds must be 0."""
    if digits <= _MICROS:
        return f"([0-9]{{{digits}}})"
    return f"([0-9]{{{_MICROS}}})0{{{digits - _MICROS}}}"


# Times written by a mask, in UTC and with English names. Letters that depend on the country of a Java process (weeks,
# and their years) are refused by name.

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OF_COUNTRY = {"Y": "the year of a week", "w": "the week of a year", "W": "the week of a month"}

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "D": lambda moment: moment.timetuple().tm_yday,
    "F": lambda moment: (moment.day - 1) // 7 + 1,
    "d": lambda moment: moment.day,
    "u": datetime.isoweekday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
}


@dataclass(frozen=True)
class DateFormat:
    """A mask: texts, and pairs of a letter and its number of repetitions."""

    pieces: tuple[str | tuple[str, int], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, str))

    def show(self, moment: datetime) -> str:
        return "".join(piece if isinstance(piece, str) else _field(*piece, moment) for piece in self.pieces)


def meant_mask(mask: str) -> str:
    """Return a mask with the letters that were certainly meant: `MM` for months, `mm` for minutes, no year of weeks,
    and hours up to 24 if `a` does not say which half of the day.
    """
    tokens = list(_TOKEN.finditer(mask))
    words = [token[0] for token in tokens]
    places = [place for place, token in enumerate(tokens) if token[2]]
    letters = [tokens[place][2] for place in places]
    around = list(zip(["", *letters], letters, [*letters[1:], ""], places, strict=False))
    for before, letter, after, place in around:
        if letter == "M" and before in [*"HhKk"] and len(words[place]) == 2 and after not in [*"yYdD"]:
            words[place] = words[place].lower()
    has_months = any(words[place][0] in "ML" for place in places)
    for before, letter, after, place in around:
        if letter == "m" and not has_months and before not in [*"HhKk"] and {before, after} & {*"yYdD"}:
            words[place] = words[place].upper()
    has_months = any(words[place][0] in "ML" for place in places)
    for letter, place in zip(letters, places, strict=True):
        if (letter == "Y" and "w" not in letters) or (letter == "D" and len(words[place]) < 3 and has_months):
            words[place] = words[place].lower()
    twelve = [place for letter, place in zip(letters, places, strict=True) if letter == "h" and "a" not in letters]
    for place in twelve:
        words[place] = words[place].upper()
    return "".join(words)


def parse_date_format(mask: str) -> DateFormat:
    """Parse a mask. Raises: InvalidValueError for letters that Java lacks, or whose meaning depends on the country."""
    pieces: list[str | tuple[str, int]] = []
    message = f"has the date mask `{mask}`, in which a `'` is not closed"
    for word, letter in _tokens(mask, InvalidValueError(message, "write `''` for a `'`")):
        if letter is None:
            pieces.append(word)
        elif letter in _OF_COUNTRY:
            message = f"has `{letter}` in its date mask: {_OF_COUNTRY[letter]} is not the same in all countries"
            raise UnsupportedValueError(message, "write `yyyy` for the year, and `MM` and `dd` for the day")
        elif letter in "yMLEGazZX" or letter in _NUMBERS:
            pieces.append((letter, len(word)))
        else:
            message = f"has `{letter}` in its date mask, which no Java date has"
            raise InvalidValueError(message, "put text between `'`, or write a mask such as `yyyy-MM-dd_HH-mm-ss.SSS`")
    return DateFormat(tuple(pieces))


def _field(letter: str, count: int, moment: datetime) -> str:
    if letter in _NUMBERS:
        return f"{_NUMBERS[letter](moment):0{count}d}"
    if letter == "y":
        return f"{moment.year % 100:02d}" if count == 2 else f"{moment.year:0{count}d}"
    if letter in "ML":
        name = _MONTHS[moment.month - 1]
        return f"{moment.month:0{count}d}" if count < 3 else name[:3] if count == 3 else name
    if letter == "E":
        name = _DAYS[moment.weekday()]
        return name[:3] if count < 4 else name
    if letter == "z":
        return "UTC" if count < 4 else "Coordinated Universal Time"
    return {"G": "AD", "a": "AM" if moment.hour < 12 else "PM", "Z": "+0000", "X": "Z"}[letter]
