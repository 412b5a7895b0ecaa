"""What GoldenGate knows and ggfmt does not use: keys accepted in silence, properties and formats told by their name.

The keys are those of GoldenGate for Big Data 12.2 to 21.1 and of the Java adapter before it, as its manuals and public
configuration files have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggfmt.options.releases import FIRST_RELEASE

OUTSIDE_SCOPE: tuple[str, ...] = (
    # The process around the handlers
    "goldengate.*",
    "javawriter.*",
    "jvm.*",
    "java.*",
    "javax.*",
    "gg.abend*",
    "gg.aggregate*",
    "gg.binaryencoding*",
    "gg.brokerurl",
    "gg.checkpoint*",
    "gg.classpath*",
    "gg.compressed*",
    "gg.eventhandler*",
    "gg.format",
    "gg.format.*",
    "gg.handlerlist.nop",
    "gg.hooks*",
    "gg.includeggtokens",
    "gg.initialload*",
    "gg.interactive",
    "gg.jmx*",
    "gg.log*",
    "gg.lob*",
    "gg.mdp.*",
    "gg.md.*",
    "gg.metadata*",
    "gg.native*",
    "gg.op*",
    "gg.parallel*",
    "gg.performance*",
    "gg.recoverypath",
    "gg.report*",
    "gg.source*",
    "gg.stage*",
    "gg.stats*",
    "gg.status*",
    "gg.target*",
    "gg.timezone*",
    "gg.transaction*",
    "gg.userexit*",
    "gg.validate*",
)


class Patterns:
    """Names, compared without regard to case; `*` in one stands for any text."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._names = frozenset(pattern.lower() for pattern in patterns if "*" not in pattern)
        # Compared piece by piece: to compile one expression of all of them takes longer than to check a whole file.
        self._pieces = [tuple(pattern.lower().split("*")) for pattern in patterns if "*" in pattern]

    def fit(self, name: str) -> bool:
        folded = name.lower()
        return folded in self._names or any(_fits(folded, pieces) for pieces in self._pieces)


def _fits(name: str, pieces: Sequence[str]) -> bool:
    """Whether the name has the pieces in their order, with anything between two of them and nothing around them."""
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


_OUTSIDE_SCOPE = Patterns(OUTSIDE_SCOPE)


def is_outside_scope(key: str) -> bool:
    """Whether GoldenGate has the key, which is below no handler, for something that ggfmt does not do."""
    return _OUTSIDE_SCOPE.fit(key)


def listing(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


@dataclass(frozen=True)
class GoldenGateProperty:
    """A format property of GoldenGate that ggfmt's format of the same id lacks: its name, the formats that have it, the
    first release that has it."""

    name: str
    formats: tuple[str, ...]
    since: str

    @property
    def owner(self) -> str:
        """In words, whose property it is."""
        return owner_in_words(self.formats, self.since)


def owner_in_words(formats: Sequence[str], since: str) -> str:
    """Formats, and the release from which on they have a property."""
    if since == ADAPTER:
        return f"{listing(formats)} of the Java adapter"
    return (
        listing(formats)
        if since in ("", FIRST_RELEASE)
        else f"{listing(formats)} from GoldenGate for Big Data {since} on"
    )


ADAPTER = "Java adapter"


def _properties(formats: tuple[str, ...], since: str, names: str) -> list[GoldenGateProperty]:
    return [GoldenGateProperty(name, formats, since) for name in names.split()]


GOLDENGATE_PROPERTIES: tuple[GoldenGateProperty, ...] = (
    *_properties(("delimitedtext_op",), "12.3.2", "enableFieldDescriptorHeaders"),
    *_properties(("json", "json_row"), "21", "enableJsonArrayOutput"),
    *_properties(("xml",), "19.1", "metaColumnsTemplate"),
    *_properties(
        ("csv", "fixed"),
        ADAPTER,
        "delim quote metacols missingColumnChar presentColumnChar nullColumnChar beginTxChar middleTxChar endTxChar"
        " wholeTxChar insertChar updateChar deleteChar truncateChar endOfLine justify includeBefores",
    ),
)

# Formats of GoldenGate that ggfmt lacks.
GOLDENGATE_FORMATS: tuple[str, ...] = ("sequencefile",)

ADAPTER_FORMATS: tuple[str, ...] = ("csv", "fixed", "xml2")
