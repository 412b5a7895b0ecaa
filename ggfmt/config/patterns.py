"""Names with `*` for any text, compared without regard to case."""

from __future__ import annotations

from collections.abc import Sequence


class Patterns:
    """Names, compared without regard to case; `*` in a name matches any text."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._names = frozenset(pattern.lower() for pattern in patterns if "*" not in pattern)
        # Compare piece by piece: compiling one expression of all of them takes longer than checking a whole file.
        self._pieces = [tuple(pattern.lower().split("*")) for pattern in patterns if "*" in pattern]

    def fit(self, name: str) -> bool:
        folded = name.lower()
        return folded in self._names or any(_fits(folded, pieces) for pieces in self._pieces)


def _fits(name: str, pieces: Sequence[str]) -> bool:
    first, *inner, last = pieces
    if not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in inner:
        place = name.find(piece, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return at <= end
