"""The tables and columns that a command reads, and what takes the place of values that it hides."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal, Protocol

from ggfmt.dataclasses import dataclass, field
from ggfmt.model.table import TableDef, join_name, name_parts

How = Literal["null", "hash", "fixed"]


@dataclass(frozen=True)
class Mask:
    """What takes the place of the values of a column: NULL, a keyed hash, or `text`. A missing value stays missing, and
    NULL stays NULL.

    table  the full name of the table, or its last part
    """

    table: str
    column: str
    how: How
    text: str = ""

    def __str__(self) -> str:
        return f"{self.table}.{join_name(self.column)}={self.how}" + (f":{self.text}" if self.how == "fixed" else "")


def short_names(table: str) -> tuple[str, str]:
    """Return the names by which masks know a table: in full, and by its last part."""
    return table, join_name(name_parts(table)[-1])


def is_named(name: str, table: str) -> bool:
    return name in short_names(table)


class TableMaps(Protocol):
    """The MAPs of a Replicat's parameter file; `joins`: two tables may have one target. `shown` is for a record."""

    @property
    def file_name(self) -> str: ...

    @property
    def shown(self) -> str: ...

    @property
    def joins(self) -> bool: ...

    def join(self, tables: Collection[str]) -> bool:
        """Return whether some of these tables have one target."""

    @property
    def group(self) -> tuple[int, int | None]:
        """The operations of a group: whole transactions up to the first number, but no more than the second."""

    @property
    def needs_tokens(self) -> bool: ...

    def needs_images(self, tables: Iterable[TableDef]) -> bool:
        """Return whether the rows of these tables, and which updates change their keys, may not be all that they
        need."""

    def names(self, table: str) -> bool:
        """Return whether operations of a table may reach the handler."""


@dataclass(frozen=True)
class TableSelection:
    """Select tables by name; without patterns, all of them.

    tables   patterns of the tables to select; empty: all
    exclude  patterns of the tables to leave out; they win over `tables`
    columns  the columns to read, by table, as `Mask.table` has it; all columns of other tables
    masks    at most one for each column
    key      the secret of all hashes
    maps     give tables other names, columns and kinds of operations, after all else, and select tables too

    `*` stands for any characters of a part of a name, `?` for one. A pattern of two parts, such as `GG.*`, matches the
    last two parts of a name. Upper and lower case are the same.
    """

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    masks: tuple[Mask, ...] = ()
    key: bytes = field(default=b"", repr=False)
    maps: TableMaps | None = None

    def __bool__(self) -> bool:
        return bool(self.tables or self.exclude or self.changes)

    @property
    def changes(self) -> bool:
        """Whether sinks see something else than the reader yields."""
        return self.hides or self.maps is not None

    @property
    def hides(self) -> bool:
        """Whether columns or values do not leave the reader."""
        return bool(self.columns or self.masks)

    @property
    def options(self) -> dict[str, list[str]]:
        """The selection by option, for a record that has no secret."""
        maps = [] if self.maps is None else [self.maps.shown]
        return _sets({"--table": self.tables, "--exclude": self.exclude, "--replicat": maps}) | self.hidden

    @property
    def hidden(self) -> dict[str, list[str]]:
        """What is hidden, as `options` has it; a digest shows whether two keys are the same."""
        import hmac  # most commands do without

        columns = [f"{table}={','.join(names)}" for table, names in self.columns]
        keys = [hmac.digest(self.key, b"ggfmt mask key", "sha256").hex()[:16]] if self.key else []
        return _sets({"--columns": columns, "--mask": map(str, self.masks), "--mask-key": keys})

    def selects(self, *names: str) -> bool:
        """Return whether a table is selected, by its full name; a table may have several names."""
        return self.has_patterns_for(*names) and (self.maps is None or self.maps.names(names[0]))

    def selects_result(self, name: str) -> bool:
        """Return whether a table of a result may be one of those selected. After MAPs it has another name."""
        return self.maps is not None or self.selects(name)

    def has_patterns_for(self, *names: str) -> bool:
        """Return whether a table is selected but for MAPs."""
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


def _sets(given: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {option: found for option, texts in given.items() if (found := sorted(set(texts)))}


def _any_matches(patterns: Iterable[str], names: Collection[str]) -> bool:
    return any(_matches(pattern, name) for pattern in patterns for name in names)


def _matches(pattern: str, name: str) -> bool:
    wanted = name_parts(pattern.lower())
    parts = name_parts(name.lower())[-len(wanted) :]
    # A part may have the characters of patterns itself.
    same = (part == own or fnmatchcase(part, own) for own, part in zip(wanted, parts, strict=False))
    return len(parts) == len(wanted) and all(same)


ALL_TABLES = TableSelection()
