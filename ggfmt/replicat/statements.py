"""What a Replicat's parameter file says, after macros, includes and the parameters that hold for the MAPs after them.

The parser makes these, the mapping step of a run obeys them, and the linter checks them. A place is that of the text,
perhaps in an included file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ggfmt.dataclasses import dataclass, field, fields, is_dataclass, replace
from ggfmt.diagnostics.diagnostic import Span


@dataclass(frozen=True)
class WrittenName:
    """One part of the name of a table, or the name of a column. `quoted`: in double quotes, so that case counts."""

    text: str
    quoted: bool = False

    @property
    def is_wild(self) -> bool:
        return "*" in self.text or "?" in self.text

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The names that fit the wildcards. Without quotes, upper and lower case are the same."""
        texts = {"*": ".*", "?": "."}
        pattern = "".join(texts.get(char) or re.escape(char) for char in self.text)
        return re.compile(pattern, re.DOTALL | (0 if self.quoted else re.IGNORECASE))


@dataclass(frozen=True)
class ObjectName:
    """The name of a table, one to three parts; parts may have wildcards."""

    parts: tuple[WrittenName, ...]
    span: Span = field(compare=False)

    @property
    def is_exact(self) -> bool:
        return not any(part.is_wild for part in self.parts)

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(part.text.casefold() for part in self.parts)


# Expressions of COLMAP, FILTER and WHERE, as they are written: what they mean is for those who evaluate them.


@dataclass(frozen=True)
class ColumnReference:
    """A column. `image`: `AFTER` unless the file says `BEFORE`."""

    name: WrittenName
    span: Span = field(compare=False)
    image: str = "AFTER"


@dataclass(frozen=True)
class NumberLiteral:
    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class TextLiteral:
    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Call:
    """A function such as `@STRCAT`. `name` is in upper case without `@`; a word such as NULL or LEFT is a `Word`."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Word:
    """`@NULL`, `@PRESENT` and `@ABSENT` of a WHERE, in upper case without `@`."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Operation:
    """`symbol` is an operator in upper case: `+ - * / \\ = <> > < >= <= AND OR`, or a sign `-` without `left`.

    `enclosed`: it has its own parentheses. No page gives a precedence, so that two operators without
    parentheses between them have no known meaning, unless they are the same and of one kind.
    """

    symbol: str
    left: Expression | None
    right: Expression
    span: Span = field(compare=False)
    enclosed: bool = False


Expression = ColumnReference | NumberLiteral | TextLiteral | Call | Word | Operation


@dataclass(frozen=True)
class ColumnMapping:
    """A column of the target, and what it gets."""

    target: WrittenName
    value: Expression
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Filter:
    """A FILTER or a WHERE. Only operations of the kinds `tested` (letters I, U, D) are tested; others pass."""

    condition: Expression
    span: Span = field(compare=False)
    tested: str = "IUD"
    is_where: bool = False


@dataclass(frozen=True)
class Kinds:
    """Which operations a MAP takes, and as what."""

    inserts: bool = True
    updates: bool = True
    deletes: bool = True
    truncates: bool = False
    insert_all: bool = False  # INSERTALLRECORDS
    insert_updates: bool = False
    insert_deletes: bool = False
    update_deletes: bool = False
    update_inserts: bool = False


@dataclass(frozen=True)
class ColumnMatches:
    """The COLMATCH of a MAP. `names`: pairs of a column of the target and one of the source."""

    names: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MapStatement:
    """`MAP source, TARGET target, …;`.

    key       the columns of KEYCOLS; empty if it has none
    columns   the pairs of COLMAP; None without COLMAP
    defaults  COLMAP has USEDEFAULTS, or there is no COLMAP: columns of equal names map, too
    filters   all have to hold
    """

    source: ObjectName
    target: ObjectName
    span: Span = field(compare=False)
    kinds: Kinds = Kinds()
    matches: ColumnMatches = ColumnMatches()
    key: tuple[WrittenName, ...] = ()
    columns: tuple[ColumnMapping, ...] | None = None
    defaults: bool = True
    filters: tuple[Filter, ...] = ()

    def does_as(self, other: MapStatement) -> bool:
        """Return whether another MAP does the same, perhaps with other tables."""
        return other == replace(self, source=other.source, target=other.target)


@dataclass(frozen=True)
class GivenParameter:
    """A parameter as it is given: its name in upper case, and what follows in its line."""

    name: str
    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class ReplicatFile:
    """A parameter file as a whole. Paths are as written.

    excludes  names of MAPEXCLUDE; those of SCHEMAEXCLUDE and CATALOGEXCLUDE as `schema.*` and `catalog.*.*`
    source_definitions, target_definitions  SOURCEDEFS and TARGETDEFS; their texts are the paths
    group_operations, max_operations  GROUPTRANSOPS and MAXTRANSOPS; None if they are not given
    parameters  all but MAP, in the order of the file; included files are where they are included
    """

    file: str
    group: str | None = None
    properties: str | None = None
    maps: tuple[MapStatement, ...] = ()
    excludes: tuple[ObjectName, ...] = ()
    source_definitions: tuple[GivenParameter, ...] = ()
    target_definitions: tuple[GivenParameter, ...] = ()
    allows_duplicates: bool = False
    group_operations: int | None = None
    max_operations: int | None = None
    parameters: tuple[GivenParameter, ...] = ()


def parts_of(value: Any) -> Iterator[Any]:
    """Yield statements or expressions, and all that they consist of."""
    if is_dataclass(value):
        yield value
        value = tuple(getattr(value, each.name) for each in fields(value))
    for part in value if isinstance(value, tuple) else ():
        yield from parts_of(part)
