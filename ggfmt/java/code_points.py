"""Sets of characters, as the classes of a regular expression name them: unions, intersections and complements."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

LAST = sys.maxunicode


@dataclass(frozen=True)
class CodePoints:
    """A set of code points: `ranges` are pairs of first and last, in order, that neither meet nor overlap."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, *items: str | tuple[int, int]) -> CodePoints:
        """The characters of texts, and ranges."""
        pairs: list[tuple[int, int]] = []
        for item in items:
            pairs.extend([(ord(c), ord(c)) for c in item] if isinstance(item, str) else [item])
        return cls(tuple(_merged(pairs)))

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints(tuple(_merged([*self.ranges, *other.ranges])))

    def __and__(self, other: CodePoints) -> CodePoints:
        return ~(~self | ~other)

    def __invert__(self) -> CodePoints:
        gaps = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CodePoints(tuple(gaps))

    def __sub__(self, other: CodePoints) -> CodePoints:
        return self & ~other

    def in_either_case(self) -> CodePoints:
        """The set with the letters A to Z beside a to z and the other way round; others have no case here."""
        lower, upper = self & CodePoints(((97, 122),)), self & CodePoints(((65, 90),))
        turned = [*((a - 32, b - 32) for a, b in lower.ranges), *((a + 32, b + 32) for a, b in upper.ranges)]
        return self | CodePoints(tuple(_merged(turned)))

    def python(self) -> str:
        """A part of a pattern for `re` that matches one character of the set, in every mode."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return python_escape(self.ranges[0][0])
        return _class(self, python_escape)

    def re2(self) -> str | None:
        """The same for RE2; None for the empty set, which it cannot write."""
        return _class(self, "\\x{{{:x}}}".format) if self.ranges else None


def python_escape(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _class(points: CodePoints, escape: Callable[[int], str]) -> str:
    inside = "".join(
        escape(first) if first == last else f"{escape(first)}-{escape(last)}" for first, last in points.ranges
    )
    return f"[{inside}]" if inside else f"[^{escape(0)}-{escape(LAST)}]"


def _merged(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    ordered = sorted(pairs)
    if not ordered:
        return
    start, end = ordered[0]
    for first, last in ordered[1:]:
        if first > end + 1:
            yield start, end
            start, end = first, last
        else:
            end = max(end, last)
    yield start, end


def category(prefix: str) -> CodePoints:
    """The characters of a general category (`Lu`) or of all that start with a letter (`L`), by Python's tables."""
    merged: list[tuple[int, int]] = []
    for name, ranges in _categories().items():
        if name.startswith(prefix):
            merged += ranges
    return CodePoints(tuple(_merged(merged)))


_NAMES = "L Lu Ll Lt Lm Lo M Mn Me Mc N Nd Nl No Z Zs Zl Zp C Cc Cf Co Cs Cn P Pd Ps Pe Pc Po Pi Pf S Sm Sc Sk So"
CATEGORIES = frozenset(_NAMES.split(" "))


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    by_name: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, group in groupby(map(unicodedata.category, map(chr, range(LAST + 1)))):
        end = start + sum(1 for _ in group)
        by_name.setdefault(name, []).append((start, end - 1))
        start = end
    return by_name
