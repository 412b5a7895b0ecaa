"""Types of option values: conversion of a properties file's text to a value and back.

Java trims a value of all characters up to U+0020. If the rest is wrapped in `CDATA[...]`, the wrapper is removed, and
its blanks stay (GoldenGate for Big Data 12.2, 6.2.3).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import list_names, suggestion
from ggfmt.java.charsets import canonical_name, charset_names, java_refuses, name_elsewhere, refusal
from ggfmt.java.text import InvalidValueError, UnsupportedValueError, is_java_class, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.releases import find_release

if TYPE_CHECKING:
    from ggfmt.java.regex import JavaRegex
    from ggfmt.java.replacement import Replacement

T = TypeVar("T")

# The replacements of a run as data, without the code that applies them.


@dataclass(frozen=True)
class Transform:
    """A replacement in the columns that patterns select. Each must match a whole name; None matches all."""

    PARTS: ClassVar[tuple[str, ...]] = ("catalog", "schema", "table", "column")

    name: str
    replacement: Replacement
    catalog: JavaRegex | None = None
    schema: JavaRegex | None = None
    table: JavaRegex | None = None
    column: JavaRegex | None = None

    def pattern(self, part: str) -> JavaRegex | None:
        return {"catalog": self.catalog, "schema": self.schema, "table": self.table, "column": self.column}[part]

    def key(self, part: str) -> str:
        return f"gg.transform.{self.name}.matcher.{part}Regex"


@dataclass(frozen=True)
class Replacements:
    schema: tuple[Replacement, ...] = ()
    content: tuple[Replacement, ...] = ()
    transforms: tuple[Transform, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schema or self.content or self.transforms)

    def summary(self) -> Iterator[str]:
        for what, pairs in (("names", self.schema), ("values", self.content)):
            for pair in pairs:
                yield f"in {what}, {_in_words(pair)}"
        for transform in self.transforms:
            patterns = ((part, transform.pattern(part)) for part in transform.PARTS)
            where = ", ".join(f"{part} `{visible(regex.java)}`" for part, regex in patterns if regex) or "all columns"
            yield f"in values by `{transform.name}` ({where}), {_in_words(transform.replacement)}"


def _in_words(pair: Replacement) -> str:
    return f"`{visible(pair.regex.java)}` is replaced by `{visible(pair.text)}`"


def escape_value(text: str) -> str:
    """Return a value as a properties file writes it. Leading blanks need no escape: `CDATA[...]` keeps them."""
    return visible(text.replace("\\", "\\\\"))


def _cannot_be(text: str) -> str:
    return f"cannot be `{text if len(text) <= 60 else text[:57] + '...'}`"


def _is_unicode(text: str) -> bool:
    """Return whether the text has no surrogates, which no file can contain."""
    return text.isascii() or not re.search("[\ud800-\udfff]", text)


def unwrap_cdata(text: str) -> str:
    """Return the text between `CDATA[` and the last `]` of a trimmed value, or the value as it is."""
    if text.startswith("CDATA[") and text.endswith("]"):
        return text[len("CDATA[") : -1]
    return text


class ValueType(ABC, Generic[T]):
    """A type of option values. `keeps_empty`: an empty text is a value, and not the option's default."""

    keeps_empty: ClassVar[bool] = False

    @property
    @abstractmethod
    def legal(self) -> str: ...

    @abstractmethod
    def parse(self, text: str) -> T:
        """Return the value of a trimmed text. Raises: InvalidValueError if the text is illegal."""

    def render(self, value: T) -> str:
        """Return a text that `parse` reads back as `value`."""
        return str(value)


class Unknown(ValueType[str]):
    """Values that no source describes: any text is accepted."""

    legal = "not known"

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Bool(ValueType[bool]):
    legal = "`true`, `false`"

    def parse(self, text: str) -> bool:
        folded = text.lower()
        if folded in ("true", "false"):
            return folded == "true"
        raise InvalidValueError(_cannot_be(text), f"legal values are {self.legal}")

    def render(self, value: bool) -> str:
        return str(value).lower()


@dataclass(frozen=True)
class Int(ValueType[int]):
    low: int = 0
    high: int | None = None

    @property
    def legal(self) -> str:
        return f"a whole number from {self.low}" + ("" if self.high is None else f" to {self.high}")

    def parse(self, text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            number = int(text)
            if self.low <= number and (self.high is None or number <= self.high):
                return number
        raise InvalidValueError(_cannot_be(text), f"give {self.legal}")


NAME_PART_BYTES = 64  # leave room for a table name, a time and a number in a file name
_MILLISECONDS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True)
class Size(ValueType[int]):
    """A number of bytes, with an optional fraction and suffix k, m, g or t (powers of 1024), rounded down."""

    legal = "a number of bytes from 1, with an optional suffix `k`, `m`, `g` or `t`, such as `64m` or `1.1g`"

    def parse(self, text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([kmgt]?)b?", text.lower())
        size = int(Decimal(match[1]) * _UNITS[match[2]]) if match else 0
        if size > 0:
            return size
        raise InvalidValueError(_cannot_be(text), f"give {self.legal}")

    def render(self, value: int) -> str:
        for suffix, unit in sorted(_UNITS.items(), key=lambda item: -item[1]):
            if value % unit == 0:
                return f"{value // unit}{suffix}"
        raise AssertionError("1 divides every size")


@dataclass(frozen=True)
class Duration(ValueType[Decimal]):
    """A time span in milliseconds: one number, with an optional suffix `ms`, `s`, `m` or `h`; off if it is not above 0.

    GoldenGate for Big Data 12.3.2.1, table 5-1.
    """

    legal = "one number with an optional suffix `ms`, `s`, `m` or `h`, such as `30s` or `1.5h`; 0 or less is off"

    def parse(self, text: str) -> Decimal:
        match = re.fullmatch(r"([+-]?[0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s|m|h|)", text.lower())
        if match:
            return Decimal(match[1]) * _MILLISECONDS[match[2]]
        raise InvalidValueError(_cannot_be(text), f"give {self.legal}")


@dataclass(frozen=True)
class TimesOfDay(ValueType[tuple[str, ...]]):
    """Times of a day of 24 hours: `HH:MM[,HH:MM...]`."""

    legal = "times from `00:00` to `23:59`, divided by commas"

    def parse(self, text: str) -> tuple[str, ...]:
        times = tuple(map(trim, text.split(",")))
        if all(re.fullmatch("([01][0-9]|2[0-3]):[0-5][0-9]", time) for time in times):
            return times
        raise InvalidValueError(_cannot_be(text), f"give {self.legal}")

    def render(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


@dataclass(frozen=True)
class Number(ValueType[Decimal]):
    legal = "a number"

    def parse(self, text: str) -> Decimal:
        if re.fullmatch(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?", text):
            return Decimal(text)
        raise InvalidValueError(_cannot_be(text), f"give {self.legal}")


@dataclass(frozen=True)
class Text(ValueType[str]):
    keeps_empty: ClassVar[bool] = True

    legal = "any string"

    def parse(self, text: str) -> str:
        value = unwrap_cdata(text)
        if not _is_unicode(value):
            raise InvalidValueError(_cannot_be(text), "give both halves of the surrogate pair")
        return value

    def render(self, value: str) -> str:
        return value if value == trim(value) == unwrap_cdata(value) and value else f"CDATA[{value}]"


@dataclass(frozen=True)
class Delimiter(Text):
    """A text between or after the parts of a message.

    single   most readers accept only single-character delimiters
    line     the delimiter ends a line, so that `\\r\\n` is as good as a single character
    tokens   the delimiter is written only if the handler includes tokens
    """

    single: bool = False
    line: bool = False
    tokens: bool = False


@dataclass(frozen=True)
class Representation(Text):
    """The text for a value that is NULL or missing."""


@dataclass(frozen=True)
class MemberName(Text):
    """The name of a member of a message, which no other member may have."""


@dataclass(frozen=True)
class OpKey(Text):
    """The word for an operation type. Readers need different words for all types."""


class NamePart(Text):
    """A part of a file name."""

    legal = f"any string of {NAME_PART_BYTES} bytes or less, without `/` and control characters"

    def parse(self, text: str) -> str:
        value = super().parse(text)
        long = len(value.encode(errors="replace")) > NAME_PART_BYTES
        if long or "/" in value or any(character < " " for character in value):
            raise UnsupportedValueError(_cannot_be(text), f"give {self.legal}")
        return value


@dataclass(frozen=True)
class Choice(ValueType[str]):
    """One of a few words, in any case. `words` maps each word to the description of its effect."""

    words: Mapping[str, str]

    def __hash__(self) -> int:
        return hash(tuple(self.words))

    @property
    def legal(self) -> str:
        return list_names(self.words)

    def parse(self, text: str) -> str:
        for word in self.words:
            if word.lower() == text.lower():
                return word
        near = suggestion(text, self.words)
        raise InvalidValueError(_cannot_be(text), f"legal values are {self.legal}" + (f"; {near}" if near else ""))


class ReleaseChoice(Choice):
    """A release of GoldenGate, by its name in `RELEASES` or a longer one such as `12.3.2.1.1`, `21c` or `23ai`."""

    def parse(self, text: str) -> str:
        return find_release(text) or super().parse(text)


class Pairs(ValueType[tuple[tuple[str, str], ...]]):
    """Texts by name: `NAME=TEXT,NAME=TEXT`."""

    legal = "names with their texts, such as `HOME=/ogg,SITE=A`"

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        pairs = []
        for part in text.split(","):
            name, equals, value = map(trim, part.partition("="))
            if not name or not equals:
                raise InvalidValueError(_cannot_be(trim(part)), f"give {self.legal}")
            pairs.append((name, value))
        return tuple(pairs)

    def render(self, value: tuple[tuple[str, str], ...]) -> str:
        return ",".join(f"{name}={text}" for name, text in value)


@dataclass(frozen=True)
class JavaClass(ValueType[str]):
    """The full name of a Java class, whose last part starts with a capital letter."""

    legal = "the name of a Java class"

    def parse(self, text: str) -> str:
        if not is_java_class(text):
            raise InvalidValueError(_cannot_be(text), "give the name of a class, such as `com.example.Driver`")
        return text

    def render(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class Uri(Text):
    """A URI of a library that knows only some schemes; any text is accepted, as for a region."""

    starts: tuple[str, ...] = ()

    @property
    def legal(self) -> str:  # type: ignore[override]
        return f"a text that starts with {' or '.join(f'`{start}`' for start in self.starts)}"


class AwsRegion(ValueType[str]):
    """The name of a region of AWS; a store that is like S3 may have names of its own, so that any text is accepted."""

    legal = "the name of a region, such as `eu-central-1`"
    form = lazy_regex(r"[a-z]+(?:-[a-z]+)+-[0-9]+")

    def parse(self, text: str) -> str:
        return text

    def render(self, value: str) -> str:
        return value


class Path(ValueType[str]):
    """A directory of a file system that ggfmt can access."""

    keeps_empty: ClassVar[bool] = True

    legal = "a path"

    def parse(self, text: str) -> str:
        value = unwrap_cdata(text)
        if not trim(value) or "\0" in value or not _is_unicode(value):
            raise InvalidValueError("is not a path", f"give {self.legal}")
        return value

    def render(self, value: str) -> str:
        return Text().render(value)


@dataclass(frozen=True)
class SchemaDirectory(Path):
    """A directory of schemas, which GoldenGate does not create. `switch`: the option without which there are none."""

    switch: str | None = None


NATIVE = "native"
_MARKED = lazy_regex(r"utf[-_ ]?8[-_ ]?(?:bom|sig|with[-_ ]?bom)", re.IGNORECASE)


@dataclass(frozen=True)
class Charset(ValueType[str]):
    """A charset by one of Java's names or aliases. `messages`: that of messages, not of files beside them."""

    messages: bool = True

    legal = "a charset name or alias of Java, such as `UTF-8`, `ISO-8859-1` or `windows-1252`"

    def parse(self, text: str) -> str:
        if text == NATIVE:
            return NATIVE
        name = canonical_name(text)
        if name is None:
            meant = name_elsewhere(text)
            near = None if meant else suggestion(text, charset_names())
            help = f"write `{meant}`" if meant else f"give {self.legal}" + (f"; {near}" if near else "")
            if _MARKED.fullmatch(text):
                help = "write `UTF-8`, and `gg.handler.NAME.bom=efbbbf` for the byte order mark"
            elif text.lower() == "ansi":
                help = "write the code page of the readers, such as `windows-1252` for Western Europe"
            raise InvalidValueError(_cannot_be(text), help, text, meant)
        reason = refusal(name)
        if reason is not None:
            error = InvalidValueError if java_refuses(name) else UnsupportedValueError
            raise error(_cannot_be(text), f"{reason}; give {self.legal}")
        return name


Keys = tuple[tuple[str, tuple[str, ...]], ...]

EVERY_TABLE = "*"  # names the key of all other tables

# Choices for rows.
RowOrder = Literal["auto", "position", "input"]
OnUnfit = Literal["error", "null", "unresolved"]
ForeignCommits = Literal["refuse", "accept"]
TableErrors = Literal["stop", "set-aside"]


class TableKeys(ValueType[Keys]):
    """Key columns by table, `GG.ORDERS=ID;GG.LINES=ORDER_ID,LINE`, by its full name or the last part."""

    keeps_empty: ClassVar[bool] = True

    legal = "tables with their key columns, such as `S.ORDERS=ID;S.LINES=ORDER_ID,LINE`"

    def parse(self, text: str) -> Keys:
        keys = []
        for part in filter(None, map(trim, text.split(";"))):
            table, equals, columns = map(trim, part.partition("="))
            names = tuple(map(trim, columns.split(",")))
            if not equals or not table or not all(names) or len(set(names)) < len(names):
                raise InvalidValueError(_cannot_be(part), f"give {self.legal}")
            keys.append((table, names))
        return tuple(keys)

    def render(self, value: Keys) -> str:
        return ";".join(f"{table}={','.join(columns)}" for table, columns in value)


def parse_keys(text: str) -> Keys:
    """Return the keys of tables, or `ID` as the key of every table. Raises: InvalidValueError if the text is
    illegal."""
    return TableKeys().parse(text if "=" in text else f"{EVERY_TABLE}={text}")


def keys_of(table: str, keys: Keys) -> tuple[str, ...]:
    """Return the key columns for a table, if it is listed."""
    last = table.rpartition(".")[2]
    return next((columns for name, columns in keys if name in (table, last)), ())


def key_of(table: str, keys: Keys) -> tuple[str, ...]:
    """Return the key columns for a table, or else the key for every table."""
    return keys_of(table, keys) or keys_of(EVERY_TABLE, keys)
