"""The owners of properties in handler files: types of handlers and event handlers, targets, formats, and others.

`properties.txt` lists the properties of GoldenGate. Values, default and effect of a property that ggfmt applies are
declared in Python, and are not repeated there.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from ggfmt.config.handler_options import DEFAULT_FORMAT, HandlerOptions, KafkaOptions, RunOptions, Work
from ggfmt.dataclasses import dataclass, replace
from ggfmt.formats import FORMATS, WRITTEN, formats_of_handlers
from ggfmt.formats.goldengate.metacolumns import Template
from ggfmt.lazy import LazyMapping
from ggfmt.options.releases import FIRST_RELEASE, UNKNOWN, release_numbers
from ggfmt.options.spec import NO_PROPERTIES, Need, Options, OptionSpec, PropertySet
from ggfmt.options.templates import FileNameTemplate, HexBytes, MessageTemplate, PathTemplate
from ggfmt.options.value_types import (
    AwsRegion,
    Bool,
    Charset,
    Choice,
    Duration,
    Int,
    JavaClass,
    Number,
    Path,
    Size,
    Text,
    TimesOfDay,
    Unknown,
    Uri,
    ValueType,
)


class OwnerKind(str, Enum):
    """A kind of owners of properties, by the start of their keys."""

    HANDLER = "gg.handler.<name>."
    FORMAT = "gg.handler.<name>.format."
    EVENT_HANDLER = "gg.eventhandler.<name>."
    PROCESS = ""
    OWN = "ggfmt."
    TARGET = "gg.target="


class Formats(str, Enum):
    DEFAULT = "chooses a formatter; without it, messages are delimited text"
    GIVEN = "chooses a formatter; what messages are without it is not known, or depends on other properties"
    OWN = "has no effect: the handler makes its messages without a formatter, in a fixed format that ggfmt writes"
    NONE = "has no effect: the handler makes its messages without a formatter"


@dataclass(frozen=True)
class Owner:
    """What has properties, by its name in a handler file.

    own      its properties, without those that all owners of its kind have (`common`)
    doc      what it is, in a sentence
    since    the first release whose manual has it; `UNKNOWN` without a source
    until    the last one; None if it has not ended
    source   where the releases are known from, as in `properties.txt`
    """

    kind: OwnerKind
    name: str
    own: PropertySet
    common: PropertySet = NO_PROPERTIES
    doc: str = ""
    since: str = FIRST_RELEASE
    until: str | None = None
    source: str = ""

    @cached_property
    def properties(self) -> PropertySet:
        return PropertySet((*self.own, *(spec for spec in self.common if spec.name not in self.own.names)))

    def find(self, name: str) -> OptionSpec | None:
        return self.properties.find(name)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the legal values of a property that has words for them."""
        known = self.find(name)
        assert known is not None and isinstance(known.kind, Choice)
        return tuple(known.kind.words)


@dataclass(frozen=True)
class HandlerType(Owner):
    """`complete`: its properties are from a complete table of a manual."""

    formats: Formats = Formats.DEFAULT
    complete: bool = False

    @property
    def ignores_format(self) -> bool:
        return self.formats in (Formats.NONE, Formats.OWN) and self.own.find("format") is None


@dataclass(frozen=True)
class EventHandlerType(Owner):
    """`scheme`: that of the URIs of its store; None if a handler file does not describe it in full."""

    work: Work = Work.NONE
    scheme: str | None = None

    @property
    def options(self) -> type[Options] | None:
        """How a converted file is written."""
        return _converted(_CONVERTED[self.name]) if self.name in _CONVERTED else None

    @property
    def required(self) -> Sequence[OptionSpec]:
        known = self.own if self.work is Work.NONE else (*self.common, *self.own)
        return [spec for spec in known if spec.need is Need.REQUIRED]


@dataclass(frozen=True)
class Target(Owner):
    """A target that makes its handlers itself: the event handlers behind its File Writer, and its stages, if known."""

    chain: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


OF_JAVA_ADAPTER = "Java adapter"  # in place of a release
FILE_WRITER = "filewriter"

# Handlers of these types send messages to Kafka, as a run can do (`KafkaOptions`).
KAFKA_TYPES = ("kafka", "kafkaconnect")

# Handlers of these types write files; all others send messages, or write to databases.
FILE_TYPES = ("hdfs", FILE_WRITER)

# The table: a head of each section, and lines of properties; indented lines belong to the line above them.

_VALUES: dict[str, ValueType[Any]] = {
    type(kind).__name__: kind
    for kind in (
        *(AwsRegion(), Bool(), Charset(), Duration(), FileNameTemplate(), HexBytes(), Int(), JavaClass()),
        *(MessageTemplate(), Number(), Path(), PathTemplate(), Size(), Template(), Text(), TimesOfDay()),
    )
}
_VALUES |= {"": Unknown(), "Int 0 to 38": Int(0, 38), "Int from 1": Int(1)}
_NEEDS = {"required": Need.REQUIRED, "expected": Need.USUAL}
_CONVERTED = {"parquet": "ParquetOptions", "orc": "OrcOptions"}


def _converted(options: str) -> type[Options]:
    from ggfmt.formats.goldengate import container_files

    found: type[Options] = getattr(container_files, options)
    return found


_Lines = list[tuple[str, str]]  # each with the indented lines below it, as one text


def _sections() -> dict[str, _Lines]:
    """Return the lines of each section, by its head without facts, which are the first line."""
    found: dict[str, _Lines] = {}
    lines: _Lines = []
    for line in (pkgutil.get_data(__package__, "properties.txt") or b"").decode().splitlines():
        if line[:1] == "[":
            head, _, facts = line[1:].partition("]")
            lines = found[head] = [(facts, "")]
        elif line[:1] == " ":
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {line.strip()}".lstrip()
        elif line and line[0] != "#":
            lines.append((line, ""))
    return found


_SECTIONS = _sections()


def _facts(text: str) -> dict[str, Any]:
    pairs = (fact.strip().partition("=") for fact in text.split(";") if fact.strip())
    return {name: value if equals else True for name, equals, value in pairs}


def _listed(head: str, declared: PropertySet = NO_PROPERTIES, since: str = FIRST_RELEASE) -> Iterator[OptionSpec]:
    """Yield the properties of a section, which is there `since` a release.

    `declared`: those that complete a line of the same name.
    """
    for line, effect in _SECTIONS.get(head, [])[1:]:
        if line[0] == "+":
            group = line[1:]
            yield from _converted(group).specs() if group in _CONVERTED.values() else _listed(line, declared, since)
            continue
        name, values, text, source = map(str.strip, f"{line}|||".split("|")[:4])
        found = declared.find(name)
        known = (
            found if found is not None and found.name == name else OptionSpec(name, "", Unknown(), None, "", since, ())
        )
        if values:
            known = replace(known, kind=_kind(values), default=None, since=since, until=None, aliases=(), disputed=())
        facts = {"since": _since(known, since, source), **_facts(text)}
        if "default" in facts:
            facts["default"] = known.kind.parse(facts["default"]) if facts["default"] else None
        if "aliases" in facts:
            facts["aliases"] = tuple(facts["aliases"].split())
        for word in facts.keys() & _NEEDS:
            others = facts.pop(word)
            facts |= {"need": _NEEDS[word], "substitutes": () if others is True else tuple(others.split())}
        facts |= {"doubtful": source.startswith("M"), "source": source, "doc": effect or known.doc}
        yield replace(known, **{"need": Need.NONE, **facts})


def _since(known: OptionSpec, owner: str, source: str) -> str:
    """Return the first release of a property without this fact: that of its owner, if a manual has the property."""
    if owner == UNKNOWN or known.attr:
        return owner if owner == UNKNOWN else max(known.since, owner, key=release_numbers)
    is_known = source[:1] == "S" and (owner != FIRST_RELEASE or "12.2.0.1" in source)
    return owner if is_known or owner == OF_JAVA_ADAPTER else UNKNOWN


def _kind(values: str) -> ValueType[Any]:
    if values.startswith("Uri "):
        return Uri(tuple(values.split()[1:]))
    return _VALUES.get(values) or Choice(dict.fromkeys(values.split(", "), ""))


_O = TypeVar("_O", bound=Owner)


def _owners(kind: OwnerKind, word: str, make: type[_O], common: PropertySet = NO_PROPERTIES) -> LazyMapping[_O]:
    """Return the owners of a kind that the table has. `word`: the start of their heads."""

    def made(name: str) -> _O:
        head = f"{word} {name}"
        facts, doc = _SECTIONS[head][0]
        given = _facts(facts)
        known = {fact: _READ[fact](value) if fact in _READ else value for fact, value in given.items()}
        declared = _declared(name) if kind is OwnerKind.HANDLER else NO_PROPERTIES
        own = PropertySet(_listed(head, declared, given.get("since", FIRST_RELEASE)))
        return make(kind, name, own, common, doc, **known)

    return LazyMapping((head[len(word) + 1 :] for head in _SECTIONS if head.startswith(f"{word} ")), made)


def _declared(name: str) -> PropertySet:
    """Return what ggfmt declares of the properties of a type of handlers."""
    own = [spec for format in formats_of_handlers(name) for spec in FORMATS[format].options.specs()]
    return PropertySet((*own, FORMAT, *HandlerOptions.specs(), *(KafkaOptions.specs() if name in KAFKA_TYPES else ())))


_READ: dict[str, Any] = {
    "formats": lambda text: Formats[text],
    "work": lambda text: Work[text],
    "chain": lambda text: tuple(text.split(" -> ")),
    "stages": lambda text: tuple(text.split()),
}
_WORDS = LazyMapping(WRITTEN, lambda name: FORMATS[name].doc)
FORMAT = OptionSpec(
    "format", "format", Choice(_WORDS), DEFAULT_FORMAT, "Choose the format.", FIRST_RELEASE, ("formatter",)
)


def _of_all(kind: OwnerKind, head: str) -> Owner:
    """Return the owner of what all types of a kind have."""
    since = _facts(_SECTIONS[head][0][0]).get("since", FIRST_RELEASE)
    return Owner(kind, head, PropertySet(_listed(head, PropertySet((FORMAT, *HandlerOptions.specs())), since)))


HANDLERS = _of_all(OwnerKind.HANDLER, "handler")
HANDLER_TYPES = _owners(OwnerKind.HANDLER, "handler", HandlerType, HANDLERS.own)
EVENT_HANDLERS = _of_all(OwnerKind.EVENT_HANDLER, "eventhandler")
EVENT_HANDLER_TYPES = _owners(OwnerKind.EVENT_HANDLER, "eventhandler", EventHandlerType, EVENT_HANDLERS.own)
TARGETS = _owners(OwnerKind.TARGET, "target", Target)

KEYS = Owner(OwnerKind.PROCESS, "keys", PropertySet(_listed("keys")))  # those that ggfmt reads
PROCESS = Owner(OwnerKind.PROCESS, "process", PropertySet(_listed("process")))  # those for work that ggfmt does not do
OWN = Owner(OwnerKind.OWN, "ggfmt", RunOptions.specs())

NAME_KEYWORDS = PropertySet(_listed("keywords of names"))
METADATA_KEYWORDS = PropertySet(_listed("keywords of metadata"))


_OF_FORMATS: dict[str, list[str]] = {}  # the sections with properties that ggfmt lacks
for _head in _SECTIONS:
    for _name in _head.split()[1:] if _head.startswith("format ") else ():
        _OF_FORMATS.setdefault(_name, []).append(_head)


def _format_owner(name: str) -> Owner:
    """Return the owner of the properties of a format, with those that ggfmt lacks."""
    lacking: list[OptionSpec] = []
    since, doc = FIRST_RELEASE, ""
    for head in _OF_FORMATS.get(name, ()):
        doc = _SECTIONS[head][0][1]
        since = _facts(_SECTIONS[head][0][0]).get("since", FIRST_RELEASE)
        lacking += (replace(spec, changes=True) for spec in _listed(head, since=since))
    format = FORMATS.get(name)
    if format is None:
        return Owner(
            OwnerKind.FORMAT, name, PropertySet(lacking), doc=f"{doc} ggfmt does not have the format.", since=since
        )
    kind = OwnerKind.HANDLER if format.handler_type else OwnerKind.FORMAT
    own = format.options.specs()
    if format.writes is None and lacking:  # in a handler file, the name is that of another format
        names = {spec.name for spec in lacking}
        own = PropertySet(spec for spec in own if spec.name not in names)
    else:
        since = format.since
    return Owner(kind, name, PropertySet((*own, *lacking)), doc=format.doc, since=since)


FORMAT_OWNERS = LazyMapping(dict.fromkeys((*FORMATS, *_OF_FORMATS)), _format_owner)


def types_having(name: str) -> tuple[str, ...]:
    is_common = HANDLERS.find(name) is not None
    return tuple(known.name for known in HANDLER_TYPES.values() if is_common or known.own.find(name) is not None)
