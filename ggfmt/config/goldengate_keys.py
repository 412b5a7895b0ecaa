"""GoldenGate's own keys and format properties: what ggfmt accepts and ignores, and what it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggfmt.config.patterns import Patterns
from ggfmt.options.releases import FIRST_RELEASE

# The process around the handlers.
_KEYS = (
    "goldengate.* javawriter.* jvm.* java.* javax.* gg.abend* gg.aggregate* gg.binaryencoding* gg.brokerurl",
    "gg.checkpoint* gg.classpath* gg.compressed* gg.eventhandler* gg.format gg.format.* gg.handlerlist.nop gg.hooks*",
    "gg.includeggtokens gg.initialload* gg.interactive gg.jmx* gg.log* gg.lob* gg.mdp.* gg.md.* gg.metadata*",
    "gg.native* gg.op* gg.parallel* gg.performance* gg.recoverypath gg.report* gg.source* gg.stage* gg.stats*",
    "gg.status* gg.target* gg.timezone* gg.transaction* gg.userexit* gg.validate*",
)
OUTSIDE_SCOPE = tuple(key for keys in _KEYS for key in keys.split())
_OUTSIDE_SCOPE = Patterns(OUTSIDE_SCOPE)


def is_outside_scope(key: str) -> bool:
    """Return whether GoldenGate uses this key, which is below no handler, for something that ggfmt does not do."""
    return _OUTSIDE_SCOPE.fit(key)


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


def _properties(formats: tuple[str, ...], since: str, names: str) -> list[FormatProperty]:
    return [FormatProperty(name, formats, since) for name in names.split()]


GOLDENGATE_PROPERTIES: tuple[FormatProperty, ...] = (
    *_properties(("delimitedtext_op",), "19.1", "enableFieldDescriptorHeaders"),
    *_properties(("json", "json_row"), "21", "enableJsonArrayOutput"),
    *_properties(("xml",), "12.3.2", "metaColumnsTemplate"),
    *_properties(
        ("csv", "fixed"),
        ADAPTER,
        "delim quote metacols missingColumnChar presentColumnChar nullColumnChar beginTxChar middleTxChar endTxChar"
        " wholeTxChar insertChar updateChar deleteChar truncateChar endOfLine justify includeBefores",
    ),
)

# Formats of GoldenGate that ggfmt lacks.
GOLDENGATE_FORMATS: tuple[str, ...] = ("sequencefile", "binary")

ADAPTER_FORMATS: tuple[str, ...] = ("csv", "fixed", "xml2")
