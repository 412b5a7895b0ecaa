"""Names of properties: the option that a key means, and a suggestion for a key that means none.

The case of a name does not matter: files that work with GoldenGate use any case. Names that are clear but not right
(misprints of the manual, aliases) are found too, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ggfmt.config import goldengate_keys
from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic, did_you_mean
from ggfmt.formats.api.format import Format
from ggfmt.options.spec import OptionSpec

_HANDLER_KEY = re.compile(r"gg\.handler\.([^.]+)\.(.+)", re.DOTALL)
_SECTIONS = ("handler", "eventhandler")
_DOUBLED = re.compile(r"(.+)format\.\1", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class OptionMatch:
    """The option that a name means; `renamed`: the name is not the option's own."""

    spec: OptionSpec
    renamed: bool


@dataclass(frozen=True)
class HandlerKey:
    """A key below a handler: the handler's name and the rest; `format.` starts a property of the format."""

    handler: str
    rest: str

    @property
    def is_format(self) -> bool:
        return self.rest.lower() in ("format", "formatter")

    @property
    def format_property(self) -> str | None:
        head, dot, tail = self.rest.partition(".")
        return tail if dot and head.lower() in ("format", "formatter") else None

    @property
    def misspells_format(self) -> bool:
        return self.rest.partition(".")[0].lower() != "format"


def handler_key(key: str, listed: Iterable[str] = ()) -> HandlerKey | None:
    for name in sorted(listed, key=len, reverse=True):
        prefix = f"gg.handler.{name}."
        if key.startswith(prefix) and len(key) > len(prefix):
            return HandlerKey(name, key[len(prefix) :])
    match = _HANDLER_KEY.fullmatch(key)
    return HandlerKey(match[1], match[2]) if match else None


def find_option(name: str, specs: Sequence[OptionSpec]) -> OptionMatch | None:
    """Return the option that a name means: by its own name in any case, an alias or a doubled name."""
    folded = name.lower()
    for spec in specs:
        if spec.name.lower() == folded:
            return OptionMatch(spec, renamed=False)
    doubled = _DOUBLED.fullmatch(folded)
    for spec in specs:
        if (doubled and spec.name.lower() == doubled[1]) or folded in map(str.lower, spec.aliases):
            return OptionMatch(spec, renamed=True)
    return None


def rename_finding(entry: Entry, name: str, read_as: str, help: str | None = None) -> Diagnostic:
    """Return GG102 for a key that is read as another. `name`: the right key."""
    fix = name if entry.is_plain else None
    return Diagnostic("GG102", f"`{entry.key}` is read as `{read_as}`", entry.key_span, help, fix)


def find_unsupported_property(name: str, format: Format) -> goldengate_keys.FormatProperty | None:
    """Return the property of GoldenGate's format of that id, if ggfmt's format lacks it."""
    for known in goldengate_keys.GOLDENGATE_PROPERTIES:
        if known.name.lower() == name.lower() and format.name in known.formats:
            return known
    return None


def owner(name: str, formats: Mapping[str, Format]) -> str | None:
    """Return the formats that have the property, in words, those of GoldenGate before others; None if none has it."""
    matches = {known: find_option(name, known.options.specs()) for known in formats.values()}
    having = {known: match.spec for known, match in matches.items() if match is not None}
    of_goldengate = [known for known in having if known.options.of_goldengate and not known.handler_type]
    own = [(known.name, having[known].since) for known in of_goldengate]
    own += [
        (format, known.since)
        for known in goldengate_keys.GOLDENGATE_PROPERTIES
        for format in known.formats
        if known.name.lower() == name.lower()
    ]
    if own:
        return goldengate_keys.owner_in_words([format for format, _ in own], own[0][1])
    return goldengate_keys.listing([known.name for known in having]) if having else None


def nearest_handler_property(
    name: str, handler: Sequence[OptionSpec], known: Sequence[str], format: Sequence[OptionSpec]
) -> str | None:
    """Return what an unknown property of a handler probably means. `known`: the properties of its type."""
    misplaced = find_option(name, format)
    if misplaced:
        return f"format.{misplaced.spec.name}"
    return did_you_mean(name, ["format", *(spec.name for spec in handler), *known])


def nearest_format_property(name: str, handler: Sequence[OptionSpec], format: Sequence[OptionSpec]) -> str | None:
    misplaced = find_option(name, handler)
    if misplaced:
        return misplaced.spec.name
    near = did_you_mean(name, [spec.name for spec in format])
    return f"format.{near}" if near else None


def nearest_key(key: str, listed: Iterable[str]) -> str | None:
    match = re.fullmatch(r"(?:gg\.)?(?:handlers?\.)?([^.]+)\.(.+)", key, re.DOTALL | re.IGNORECASE)
    if match and match[1] in set(listed):
        return f"gg.handler.{match[1]}.{match[2]}"
    if key.startswith("gg.handler.") and key[len("gg.handler.") :] in set(listed):
        return f"{key}.format"
    inner = re.search(r"gg\.(?:event)?handler\..+", key[1:], re.DOTALL)
    if inner:
        return inner[0]
    section = re.fullmatch(r"gg\.([^.]+)\.([^.]+\..+)", key, re.DOTALL)
    near = did_you_mean(section[1], _SECTIONS) if section else None
    if section and near:
        return f"gg.{near}.{section[2]}"
    plain = [known for known in goldengate_keys.OUTSIDE_SCOPE if "*" not in known]
    return did_you_mean(key, ["gg.handlerlist", *plain])


_PLACEHOLDER = re.compile(r"name|[<{\[(]name[>}\])]", re.IGNORECASE)


def is_placeholder(handler: str) -> bool:
    return _PLACEHOLDER.fullmatch(handler) is not None


def nearest_handler(name: str, known: Iterable[str]) -> str | None:
    known = list(known)
    near = did_you_mean(name, known)
    if near is not None:
        return near
    pairs = ((other, sorted((name.lower(), other.lower()), key=len)) for other in known)
    return next((other for other, (short, long) in pairs if len(short) > 2 and short in long), None)
