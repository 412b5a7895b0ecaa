"""Words that `ggfmt explain` explains: codes, properties and their values, keywords, releases, owners of properties.

A word of a Replicat's parameter file is explained, too, such as `MAP` and `@STRCAT`.

A property may be given by its name (`pkUpdateHandling`), by the end of its key (`format.pkUpdateHandling`) or as a
whole key (`gg.handler.x.format.pkUpdateHandling`), in any case, and by its aliases and misprints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.config.handler_options import HandlerOptions
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    EVENT_HANDLERS,
    FORMAT,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    HANDLERS,
    KEYS,
    OF_JAVA_ADAPTER,
    OWN,
    PROCESS,
    TARGETS,
    Owner,
    OwnerKind,
)
from ggfmt.config.replacements import is_replacement
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.codes import CODES, Code
from ggfmt.diagnostics.diagnostic import did_you_mean, listing
from ggfmt.formats import FORMATS
from ggfmt.formats.goldengate import metacolumns
from ggfmt.lazy import lazy_regex
from ggfmt.options import templates
from ggfmt.options.releases import RELEASES, Release, find_release
from ggfmt.options.spec import OptionSpec, PropertySet
from ggfmt.options.value_types import Choice

if TYPE_CHECKING:
    from ggfmt.replicat.table import TableEntry

# The keys below each kind, by the start of a key; the last group is the name in the kind.
_KEYS = {
    OwnerKind.FORMAT: lazy_regex(r"(?:gg\.handler\.([^.]+)\.)?format(?:ter)?\.(.+)", re.DOTALL | re.IGNORECASE),
    OwnerKind.HANDLER: lazy_regex(r"gg\.handler\.([^.]+)\.(.+)", re.DOTALL | re.IGNORECASE),
    OwnerKind.EVENT_HANDLER: lazy_regex(r"gg\.eventhandler\.([^.]+)\.(.+)", re.DOTALL | re.IGNORECASE),
    OwnerKind.OWN: lazy_regex(r"()ggfmt\.(.+)", re.DOTALL | re.IGNORECASE),
}
_APPLIED = Owner(OwnerKind.HANDLER, "handler", PropertySet((FORMAT, *HandlerOptions.specs())), doc="All handlers.")
OWNERS: tuple[Owner, ...] = (
    *(owner for owner in FORMAT_OWNERS.values() if owner.kind is OwnerKind.FORMAT),
    _APPLIED,
    HANDLERS,
    *HANDLER_TYPES.values(),
    *(owner for owner in FORMAT_OWNERS.values() if owner.kind is OwnerKind.HANDLER),
    *EVENT_HANDLER_TYPES.values(),
    EVENT_HANDLERS,
    OWN,
    KEYS,
    PROCESS,
    *TARGETS.values(),
)


@dataclass(frozen=True)
class Variant:
    """A declaration of a property, and the owners that have it so."""

    spec: OptionSpec
    owners: tuple[Owner, ...]

    @property
    def formats(self) -> tuple[str, ...]:
        return tuple(owner.name for owner in self.owners if FORMAT_OWNERS.get(owner.name) is owner)


@dataclass(frozen=True)
class KeywordSymbol:
    """A keyword of templates: the templates that have it, each with its value."""

    name: str
    meanings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PropertySymbol:
    """A property of owners of one kind: its declarations, which may differ between them.

    `handler`: the name in the given key. `renamed`: the word is not the property's own name. `others`: keys of the same
    name. `keyword`: the keyword of templates of the same name.
    """

    kind: OwnerKind
    variants: tuple[Variant, ...]
    handler: str | None = None
    renamed: bool = False
    others: tuple[str, ...] = ()
    keyword: KeywordSymbol | None = None

    @property
    def name(self) -> str:
        return self.variants[0].spec.name

    @property
    def key(self) -> str:
        return f"{self.kind.value}{self.name}"


@dataclass(frozen=True)
class ReplicatWord:
    """A word of a Replicat's parameter file: a parameter, an option of MAP or a function; some are two of them."""

    entries: tuple[TableEntry, ...]


@dataclass(frozen=True)
class ValueSymbol:
    """A word that is a legal value: the keys that have it, each with what it does there."""

    word: str
    meanings: tuple[tuple[str, str], ...]


Symbol = Code | PropertySymbol | KeywordSymbol | ReplicatWord | Release | ValueSymbol | tuple[Owner, ...]
_RELEASE = lazy_regex(r"[0-9]+(?:\.[0-9]+)*(?:c|ai)?", re.IGNORECASE)
_WRAPPER, _OF_WRAPPER = "CDATA", "GG114"
_MENTIONS = 5


def find_symbol(word: str) -> Symbol | None:
    key = word.partition("=")[0].strip()
    code = _OF_WRAPPER if key.partition("[")[0].upper() == _WRAPPER else key.upper()
    if code in CODES:
        return CODES[code]
    release = find_release(key) if _RELEASE.fullmatch(key) else None
    if release is not None:
        return RELEASES[release]
    if key[:1] == "@" or key.isupper():
        return find_replicat_word(key) or _find_of_handlers(key) or _find_value(key)
    return _find_of_handlers(key) or find_replicat_word(key) or _find_value(key)


def _find_value(word: str) -> ValueSymbol | None:
    found: dict[str, str] = {}
    types: dict[str, list[str]] = {}
    names: list[str] = []
    for owner in OWNERS:
        for spec in owner.own:
            words = spec.kind.words if isinstance(spec.kind, Choice) else {}
            own = next((known for known in words if known.lower() == word.lower()), None)
            if own is not None:
                key = f"{owner.kind.value}{spec.name}"
                found[key] = found.get(key) or words[own]
                types.setdefault(key, []).append(owner.name)
                names.append(own)
    docs = {f"{owner.kind.value}{spec.name}": spec.doc for owner in reversed(OWNERS) for spec in owner.own}
    of_types = {key: f" Of {listing(own)}." if {*own} < {*HANDLER_TYPES} else "" for key, own in types.items()}
    meanings = tuple((key, (doc or docs[key]) + of_types[key]) for key, doc in found.items())
    return ValueSymbol(names[0], meanings) if names else None


def find_replicat_word(word: str) -> ReplicatWord | None:
    from ggfmt.replicat.table import Section, all_entries

    name, is_function = word.removeprefix("@").upper(), word.startswith("@")
    named = [entry for entry in all_entries() if name in entry.names]
    # Some functions have the names of parameters.
    found = [entry for entry in named if (entry.section is Section.FUNCTION) == is_function]
    return ReplicatWord(tuple(found or (() if is_function else named))) if named else None


def _find_of_handlers(key: str) -> Symbol | None:
    keyword = _keyword(key.strip("${}[]"))
    if key.startswith("${"):
        return keyword
    found = _property(key)
    return replace(found, keyword=keyword) if found else owners(key) or keyword


def owners(name: str) -> tuple[Owner, ...]:
    """Return what has properties under a name: a type of handlers may be a target too."""
    found = tuple(
        owner for owner in OWNERS if owner.name.lower() == name.lower() and owner.kind is not OwnerKind.PROCESS
    )
    return found[:1] if found and found[0] in (_APPLIED, OWN) else found


def option_sets() -> dict[str, dict[str, PropertySet]]:
    """Return the properties under each name in small letters, by the start of their keys."""
    found: dict[str, dict[str, PropertySet]] = {}
    for owner in OWNERS:
        if owner.properties and owner.name != "keys" and owner not in (HANDLERS, EVENT_HANDLERS):
            found.setdefault(owner.name, {})[owner.kind.value] = owner.properties
    return found


def nearest(word: str) -> str | None:
    key = word.partition("=")[0].strip()
    parts = next((match for form in _KEYS.values() if (match := form.fullmatch(key))), None)
    near = _nearest_replicat_word(key) if key[:1] == "@" or key.isupper() else None
    return near or did_you_mean(parts[2] if parts else key, dict(titles())) or _nearest_replicat_word(key)


def _nearest_replicat_word(word: str) -> str | None:
    from ggfmt.replicat.table import Section, all_entries

    marks = {section: "@" * (section is Section.FUNCTION) for section in Section}
    return did_you_mean(word, [marks[entry.section] + name for entry in all_entries() for name in entry.names])


def titles() -> Iterator[tuple[str, str]]:
    """Yield every word that can be explained, once, with a short title: codes, owners, properties, keywords."""
    found = {name: code.title for name, code in CODES.items()}
    for owner in OWNERS:
        if owner.kind is not OwnerKind.PROCESS and owner is not EVENT_HANDLERS:
            found.setdefault(owner.name, owner.doc)
    for owner in OWNERS:
        for spec in owner.own:
            found.setdefault(spec.name, spec.doc)
    known = {name.lower() for name in found}
    keywords = {**templates.MEANINGS, **_METACOLUMNS}
    return iter((found | {name: doc for name, doc in keywords.items() if name.lower() not in known}).items())


def names_with(word: str) -> list[str]:
    """Return the first of the words that can be explained and have a word in their names or titles."""
    form = re.compile(rf"(?<![a-z]){re.escape(word)}s?(?![a-z])", re.IGNORECASE)
    names = titles() if word.isidentifier() else ()
    return [name for name, title in names if form.search(f"{name} {title}")][:_MENTIONS]


_METACOLUMNS = {keyword.name: keyword.doc for keyword in metacolumns.KEYWORDS.values()}


def _keyword(word: str) -> KeywordSymbol | None:
    lists = (("`metaColumnsTemplate`", _METACOLUMNS), ("names, topics and keys", templates.MEANINGS))
    found = [
        (where, name, doc) for where, known in lists for name, doc in known.items() if name.lower() == word.lower()
    ]
    return KeywordSymbol(found[-1][1], tuple((where, doc) for where, _, doc in found)) if found else None


def _property(key: str) -> PropertySymbol | None:
    parts = [(kind, match) for kind, form in _KEYS.items() if (match := form.fullmatch(key))]
    if parts:
        kind, match = parts[0]
        return _find((kind,), match[2], match[1])
    return _find(tuple(OwnerKind), key)


def _find(kinds: Iterable[OwnerKind], name: str, handler: str | None = None) -> PropertySymbol | None:
    found: dict[OwnerKind, dict[OptionSpec, list[tuple[Owner, OptionSpec]]]] = {}
    for owner in OWNERS:
        # What a manual says of all handlers counts, not what ggfmt does.
        is_listed = owner is _APPLIED and HANDLERS.own.find(name) is not None
        spec = _spec(owner, name) if owner.kind in kinds and not is_listed else None
        if spec is not None:
            alike = replace(spec, source="", attr="")
            found.setdefault(owner.kind, {}).setdefault(alike, []).append((owner, spec))
    if any(_is_here(owner) for having in found.get(OwnerKind.FORMAT, {}).values() for owner, _ in having):
        formats = found[OwnerKind.FORMAT].items()
        found[OwnerKind.FORMAT] = {spec: having for spec, having in formats if any(_is_here(own) for own, _ in having)}
    symbols = []
    for kind, groups in sorted(found.items(), key=lambda item: _is_of_others(item[1])):
        variants = [_variant(having) for having in groups.values()]
        variants = [own for own in variants if handler in [owner.name for owner in own.owners]] or variants
        variants = [own for own in variants if not own.spec.is_other_name(name)] or variants
        own = variants[0].spec.name
        renamed = kind is not OwnerKind.PROCESS and name not in (own, own[:1].upper() + own[1:])  # after `set` in Java
        symbols.append(PropertySymbol(kind, tuple(variants), handler or None, renamed))
    if not symbols:
        return None
    others = dict.fromkeys(symbol.key for symbol in symbols if symbol.key != symbols[0].key)
    return replace(symbols[0], others=tuple(others))


def _is_here(format: Owner) -> bool:
    """Return whether ggfmt has a format of handler files: its own `csv` is another one."""
    return format.name in FORMATS and format.since != OF_JAVA_ADAPTER


def _variant(having: Sequence[tuple[Owner, OptionSpec]]) -> Variant:
    source = next((spec.source for _, spec in having if spec.source), "")
    return Variant(replace(having[0][1], source=source), tuple(owner for owner, _ in having))


def _is_of_others(groups: Mapping[OptionSpec, Sequence[tuple[Owner, OptionSpec]]]) -> bool:
    """Return whether only formats of other systems have the property."""
    formats = [FORMATS.get(owner.name) for having in groups.values() for owner, _ in having]
    return all(format is not None and not format.options.of_goldengate for format in formats)


def _spec(owner: Owner, name: str) -> OptionSpec | None:
    if owner is not KEYS:
        return owner.own.find(name)
    name = name.rstrip("0123456789") if is_replacement(name) else name
    ends = (spec for spec in owner.own if spec.is_open and f".{spec.name}".lower().endswith(f".{name}".lower()))
    return owner.own.find(name) or next(ends, None)
