"""The tables that a command reads, by patterns of their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from ggfmt.model.table import name_parts


@dataclass(frozen=True)
class TableSelection:
    """Select tables by name; without patterns, all of them.

    tables   patterns of the tables to select; empty: all
    exclude  patterns of the tables to leave out; they win over `tables`

    `*` stands for any characters of a part of a name, `?` for one. A pattern of two parts, such as `GG.*`, matches the
    last two parts of a name. Upper and lower case are the same.
    """

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tables or self.exclude)

    def selects(self, *names: str) -> bool:
        """Return whether a table is selected, by its full name; a table may have several names."""
        known = self._known.get(names)
        if known is None:
            known = self._known[names] = not _any_matches(self.exclude, names) and (
                not self.tables or _any_matches(self.tables, names)
            )
        return known

    def unmatched(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the patterns that match no name, each after the name of its option."""
        names = tuple(names)
        for option, patterns in (("--table", self.tables), ("--exclude", self.exclude)):
            for pattern in patterns:
                if not _any_matches((pattern,), names):
                    yield option, pattern

    @cached_property
    def _known(self) -> dict[tuple[str, ...], bool]:
        return {}


def _any_matches(patterns: Iterable[str], names: Collection[str]) -> bool:
    return any(_matches(pattern, name) for pattern in patterns for name in names)


def _matches(pattern: str, name: str) -> bool:
    wanted = name_parts(pattern.lower())
    parts = name_parts(name.lower())[-len(wanted) :]
    # A part may have the characters of patterns itself.
    same = (part == own or fnmatchcase(part, own) for own, part in zip(wanted, parts, strict=False))
    return len(parts) == len(wanted) and all(same)


ALL_TABLES = TableSelection()
