"""The types of GoldenGate's handlers: whether they take a formatter, which properties they have, and their values.

The facts are in `handler_types.txt`. GoldenGate ignores the case of types and names. ggfmt applies the properties of
`HandlerOptions`; the legal values of others show what GoldenGate would not start with.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from ggfmt.options.message_templates import MessageTemplate
from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.templates import FileNameTemplate, HexBytes, PathTemplate
from ggfmt.options.value_types import Bool, Choice, Duration, Int, Number, Size, Text, TimesOfDay, ValueType


class Formats(str, Enum):
    DEFAULT = "chooses a formatter; without it, messages are delimited text"
    GIVEN = "chooses a formatter; what messages are without it is not known, or depends on other properties"
    OWN = "has no effect: the handler makes its messages without a formatter, in a fixed format that ggfmt writes"
    NONE = "has no effect: the handler makes its messages without a formatter"


@dataclass(frozen=True)
class GoldenGateProperty:
    """A property of a handler or of an event handler of GoldenGate.

    kind      its legal values; None where they are not known
    since     first release whose manual has it
    until     last release whose manual has it; None if it has not ended, or if that is not known
    default   the default of the manual, in its words; None where no source has it
    doubtful  its name is known from memory alone: nothing may depend on it
    """

    name: str
    kind: ValueType[Any] | None = None
    since: str = FIRST_RELEASE
    until: str | None = None
    default: str | None = None
    required: bool = False
    aliases: tuple[str, ...] = ()
    doubtful: bool = False

    def given_as(self, name: str) -> str:
        """Return the name that identifies a given property: names that fit one pattern are several properties."""
        return name.lower() if "*" in self.name else self.name


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


@dataclass(frozen=True)
class PropertySet:
    properties: tuple[GoldenGateProperty, ...]

    @cached_property
    def _by_name(self) -> dict[str, GoldenGateProperty]:
        names = ((name.lower(), known) for known in self.properties for name in (known.name, *known.aliases))
        return {name: known for name, known in names if "*" not in name}

    @cached_property
    def _patterns(self) -> tuple[tuple[list[str], GoldenGateProperty], ...]:
        # Compare piece by piece: compiling one expression of all of them takes longer than checking a whole file.
        return tuple((known.name.lower().split("*"), known) for known in self.properties if "*" in known.name)

    def find(self, name: str) -> GoldenGateProperty | None:
        """Return the property of a name, without regard to case; `*` in the name of a property matches any text."""
        folded = name.lower()
        own = self._by_name.get(folded)
        return own or next((known for pieces, known in self._patterns if _fits(folded, pieces)), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(known.name for known in self.properties if "*" not in known.name)

    @property
    def all_names(self) -> tuple[str, ...]:
        return tuple(known.name for known in self.properties)

    @property
    def required(self) -> tuple[GoldenGateProperty, ...]:
        return tuple(known for known in self.properties if known.required)


@dataclass(frozen=True)
class HandlerType:
    """A handler type, by the value of `type`.

    `own`: its properties, without those of all types (`COMMON`). `complete`: from a complete table of a manual, so that
    the type has no other property. `mode`: its default, where a manual has it. `since`, `until`: first and last
    release.
    """

    name: str
    formats: Formats
    own: PropertySet
    complete: bool = False
    mode: str | None = None
    since: str = FIRST_RELEASE
    until: str | None = None

    def find(self, name: str) -> GoldenGateProperty | None:
        return self.own.find(name) or COMMON.find(name)

    def has(self, name: str) -> bool:
        return self.find(name) is not None

    def words(self, name: str) -> tuple[str, ...]:
        """Return the legal values of a property that has words for them."""
        known = self.find(name)
        assert known is not None and isinstance(known.kind, Choice)
        return tuple(known.kind.words)


_KINDS: dict[str, ValueType[Any]] = {
    type(kind).__name__: kind
    for kind in (
        *(Bool(), Duration(), FileNameTemplate(), HexBytes(), Int(), MessageTemplate(), Number(), PathTemplate()),
        *(Size(), Text(), TimesOfDay()),
    )
}
_KINDS["Int 0 to 38"] = Int(0, 38)


class Section(NamedTuple):
    """A type in a table, or a group of properties, which has no kind."""

    kind: str
    facts: dict[str, Any]
    properties: PropertySet


def read_table(
    file: str, groups: Mapping[str, Sequence[GoldenGateProperty]] = MappingProxyType({})
) -> dict[str, Section]:
    """Return the sections of a table of this package. `groups`: properties by the name of a group, with its `+`."""
    data = pkgutil.get_data(__package__, file)
    assert data is not None
    heads: dict[str, tuple[str, dict[str, Any]]] = {}
    known: dict[str, list[GoldenGateProperty]] = {name: list(properties) for name, properties in groups.items()}
    section = ""
    for line in data.decode().splitlines():
        if not line or line[0] == "#":
            continue
        names, values, facts = map(str.strip, f"{line}||".split("|")[:3])
        pairs = (fact.strip().partition("=") for fact in facts.split(";") if fact)
        given: dict[str, Any] = {name: value if equals else True for name, equals, value in pairs}
        if "aliases" in given:
            given["aliases"] = tuple(given["aliases"].split())
        if names[0] == "[":
            section = names[1:-1]
            heads[section], known[section] = (values, given), []
        elif names[0] == "+":
            known[section] += known[names]
        else:
            kind: ValueType[Any] | None = Choice(dict.fromkeys(values.split(", "), "")) if values else None
            kind = _KINDS[values] if values[:1].isupper() else kind
            known[section] += [GoldenGateProperty(name, kind, **given) for name in names.split()]
    return {name: Section(*head, PropertySet(tuple(known[name]))) for name, head in heads.items()}


_SECTIONS = read_table("handler_types.txt")
COMMON = _SECTIONS["all"].properties
PROXY = _SECTIONS["+proxy"].properties.properties
HANDLER_TYPES = {
    name: HandlerType(name, Formats[kind], properties, **facts)
    for name, (kind, facts, properties) in _SECTIONS.items()
    if kind
}

# Those that choose the operations that have messages: ggfmt does not apply them.
CHOOSING: tuple[str, ...] = ("filter",)

FILE_WRITER = "filewriter"

# Handlers of these types send messages to Kafka, as a run can do (`KafkaOptions`).
KAFKA_TYPES = ("kafka", "kafkaconnect")

# Handlers of these types write files; all others send messages, or write to databases.
FILE_TYPES = ("hdfs", FILE_WRITER)


def types_having(name: str) -> tuple[str, ...]:
    return tuple(known.name for known in HANDLER_TYPES.values() if known.has(name))


def names_of(*types: HandlerType) -> tuple[str, ...]:
    names = (name for known in types or HANDLER_TYPES.values() for name in (*COMMON.names, *known.own.names))
    return tuple(dict.fromkeys(names))
