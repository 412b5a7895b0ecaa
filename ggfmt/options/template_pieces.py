"""What the keywords of a template stand for, each made from `NameContext`.

What data puts in never makes a directory: a `/` of theirs is `DATA_SLASH` in what is shown, which no template can have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from ggfmt.java.date_format import DateFormat
from ggfmt.java.text import InvalidValueError

if TYPE_CHECKING:
    from ggfmt.java.replacement import Replacement

DATA_SLASH = "\0"
NUMBER = "\x01"  # where the number of a file goes

TABLE_NAMES = ("fullyQualifiedTableName", "catalogName", "schemaName", "tableName")

# What GoldenGate has, and ggfmt has no value for.
UNKNOWN_VALUES = {
    "custom": "stands for a Java class, which ggfmt cannot run",
    "env": "is a variable of the machine that GoldenGate runs on",
    "javaProp": "is a property of the Java process of GoldenGate",
    "static": "is not known well enough to ggfmt",
    "concat": "is not known well enough to ggfmt",
    "uuid": "is another one each time, so that a run could not be repeated",
    **{f"{kind}Count": "is known only when a file is full" for kind in ("operation", "insert", "update", "delete")},
    "truncateCount": "is known only when a file is full",
}


@dataclass(frozen=True)
class Value:
    """The value of a column in one operation: `present` is false if the operation lacks the column, `text` None if the
    value is NULL."""

    present: bool
    text: str | None = None


@dataclass(frozen=True)
class NameContext:
    """What names are made of. `table` is the full name of a table and `parts` the parts of it, empty for a file of all
    tables; `values` has the columns that files are told apart by, in capitals; `moment` is in UTC."""

    moment: datetime
    table: str = ""
    parts: tuple[str, ...] = ()
    group: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)


class MissingValueError(InvalidValueError):
    """A value of one operation, of which the template says no name for files."""


class Piece(ABC):
    """A part of a template: what it stands for, the pieces within it, and the texts that a template gives it."""

    @property
    def within(self) -> tuple[Piece, ...]:
        return ()

    @abstractmethod
    def show(self, facts: NameContext) -> str:
        """IllegalValue where there is nothing that it stands for."""

    @property
    def texts(self) -> tuple[str, ...]:
        return ()

    def all(self) -> Iterator[Piece]:
        """The piece and all within it."""
        yield self
        for piece in self.within:
            yield from piece.all()


@dataclass(frozen=True)
class Literal(Piece):
    text: str

    def show(self, facts: NameContext) -> str:
        return self.text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)


@dataclass(frozen=True)
class TableName(Piece):
    """The name of the table, or a part of it; nothing where there is no such part."""

    keyword: str

    def show(self, facts: NameContext) -> str:
        if self.keyword == "fullyQualifiedTableName":
            return of_data(facts.table)
        place = TABLE_NAMES.index(self.keyword) - len(TABLE_NAMES)
        return of_data(facts.parts[place]) if len(facts.parts) >= -place else ""


@dataclass(frozen=True)
class GroupName(Piece):
    def show(self, facts: NameContext) -> str:
        return of_data(facts.group)


@dataclass(frozen=True)
class Timestamp(Piece):
    mask: DateFormat

    def show(self, facts: NameContext) -> str:
        return self.mask.show(facts.moment)

    @property
    def texts(self) -> tuple[str, ...]:
        return self.mask.texts


@dataclass(frozen=True)
class StaticMap(Piece):
    """A text for each table, by full name; `default` for the others, None if they have none."""

    names: tuple[tuple[str, str], ...]
    default: str | None

    def show(self, facts: NameContext) -> str:
        text = dict(self.names).get(facts.table, self.default)
        if text is None:
            raise InvalidValueError(
                "`${staticMap[]}` has no text for the table", "add the table, or a text for all others"
            )
        return text

    @property
    def texts(self) -> tuple[str, ...]:
        return (*(text for _, text in self.names), self.default or "")


@dataclass(frozen=True)
class ColumnValue(Piece):
    """The value of a column of the table: `column` for all tables, or one for each of `columns`; `null` and `missing`
    are the texts for values that are not there, None if they have none."""

    column: str
    columns: tuple[tuple[str, str], ...]
    null: str | None
    missing: str | None

    def column_of(self, table: str) -> str | None:
        return dict(self.columns).get(table) if self.columns else self.column

    def show(self, facts: NameContext) -> str:
        column = self.column_of(facts.table)
        value = None if column is None else facts.values.get(column.upper())
        if value is None:
            message = "`${columnValue[]}` names no column that `partitioner` has for the table"
            raise InvalidValueError(message, "files have the value of a column only where each value has its own")
        if value.text is not None:
            return of_data(value.text)
        text = self.null if value.present else self.missing
        if text is None:
            where, bracket = ("is NULL", "second") if value.present else ("is missing", "third")
            message = f"column `{column}`, which names its file, {where}"
            raise MissingValueError(message, f"give a text for that in a {bracket} bracket of `${{columnValue[]}}`")
        return text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.null or "", self.missing or "")


@dataclass(frozen=True)
class UnknownValue(Piece):
    """What is legal in GoldenGate, and nobody but it knows."""

    keyword: str

    @property
    def reason(self) -> str:
        return UNKNOWN_VALUES[self.keyword]

    def show(self, facts: NameContext) -> str:
        raise InvalidValueError(f"`${{{self.keyword}}}` {self.reason}")


@dataclass(frozen=True)
class Wrapper(Piece):
    """What changes the text that other pieces stand for."""

    inner: tuple[Piece, ...]

    @property
    def within(self) -> tuple[Piece, ...]:
        return self.inner


@dataclass(frozen=True)
class Case(Wrapper):
    """`toUpperCase` and `toLowerCase`."""

    upper: bool

    def show(self, facts: NameContext) -> str:
        text = shown(self.inner, facts)
        return text.upper() if self.upper else text.lower()


@dataclass(frozen=True)
class Substring(Wrapper):
    """The characters from `start`, counted from 0, up to `end`; all of a text that is too short for that, which
    GoldenGate leaves as it is."""

    start: int
    end: int | None

    def show(self, facts: NameContext) -> str:
        text = shown(self.inner, facts)
        end = len(text) if self.end is None else self.end
        return text[self.start : end] if self.start <= end <= len(text) else text


@dataclass(frozen=True)
class Regex(Wrapper):
    """A text in which what a Java regular expression finds is replaced."""

    replacement: Replacement

    def show(self, facts: NameContext) -> str:
        return self.replacement.apply(shown(self.inner, facts))

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.replacement.text,)


class Number(Piece):
    """The place of the number of a file."""

    def show(self, facts: NameContext) -> str:
        return NUMBER


def shown(pieces: Sequence[Piece], facts: NameContext) -> str:
    return "".join(piece.show(facts) for piece in pieces)


def of_data(text: str) -> str:
    """The text without the characters that mean something to whoever divides a name; a single dot is no directory."""
    if text == ".":
        return "%2E"
    return text.replace(DATA_SLASH, "%00").replace(NUMBER, "%01").replace("/", DATA_SLASH)
