"""GoldenGate's own keys and format properties: what ggfmt accepts and ignores, and what it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggfmt.config.handler_types import read_table
from ggfmt.options.releases import FIRST_RELEASE

_SECTIONS = read_table("goldengate_keys.txt")
_OUTSIDE_SCOPE = _SECTIONS.pop("+keys").properties
OUTSIDE_SCOPE = _OUTSIDE_SCOPE.all_names


def is_outside_scope(key: str) -> bool:
    """Return whether GoldenGate uses this key, which is below no handler, for something that ggfmt does not do."""
    return _OUTSIDE_SCOPE.find(key) is not None


def listing(names: Sequence[str], quote: str = "`") -> str:
    """Return the names as a list in words: `a`, `b` and `c`."""
    quoted = [f"{quote}{name}{quote}" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


@dataclass(frozen=True)
class FormatProperty:
    """A format property of GoldenGate that ggfmt's `formats` of the same ids lack; `since`: its first release."""

    name: str
    formats: tuple[str, ...]
    since: str

    @property
    def owner(self) -> str:
        return owner_in_words(self.formats, self.since)


def owner_in_words(formats: Sequence[str], since: str) -> str:
    if since == ADAPTER:
        return f"{listing(formats)} of the Java adapter"
    return (
        listing(formats)
        if since in ("", FIRST_RELEASE)
        else f"{listing(formats)} from GoldenGate for Big Data {since} on"
    )


ADAPTER = "Java adapter"


GOLDENGATE_PROPERTIES = tuple(
    FormatProperty(known.name, tuple(formats[1:].split()), known.since)
    for formats, section in _SECTIONS.items()
    for known in section.properties.properties
)

# Formats of GoldenGate that ggfmt lacks.
GOLDENGATE_FORMATS: tuple[str, ...] = ("sequencefile", "binary")

ADAPTER_FORMATS: tuple[str, ...] = ("csv", "fixed", "xml2")
