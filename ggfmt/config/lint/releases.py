"""The release of GoldenGate that a handler file is for, as its properties show.

A sign is a property, a type, a format or a part of a value that manuals of some releases have. The newest sign says
from which release on the file can be, the oldest last release up to which. `ggfmt.compatibility` overrides them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.lint.chains import EventHandlers
from ggfmt.config.properties import ARGUMENTS, Entry
from ggfmt.config.property_table import KEYS, METADATA_KEYWORDS, NAME_KEYWORDS, PROCESS, TARGETS, Owner
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, listing
from ggfmt.java.text import trim
from ggfmt.lazy import lazy_regex
from ggfmt.options.releases import (
    DEFAULT_RELEASE,
    FIRST_RELEASE,
    GOLDENGATE,
    UNKNOWN,
    find_release,
    is_later,
    is_later_than_named,
    manual_name,
    release_numbers,
)
from ggfmt.options.spec import OptionSpec, PropertySet
from ggfmt.options.templates import MessageTemplate, PathTemplate

_CHANGE = "set `ggfmt.compatibility` to change that"
_EVENT_HANDLERS = "12.3.2"
_AFTER_FIXED = "19.1"  # names in brackets in `metaColumnsTemplate`
_KEYWORD = lazy_regex(r"\$\{\s*(\w+)")
LAST_OF_SEVERAL_HANDLERS = "21"


@dataclass(frozen=True)
class Sign:
    """A place of a file that some releases have alone: `first` to `last`, None for one that has not ended.

    `instead`: the properties that other releases have in its place, as far as they are known.
    """

    entry: Entry
    what: str
    first: str
    last: str | None = None
    instead: tuple[OptionSpec, ...] = ()

    def where(self, several: bool) -> str:
        if self.entry.file in ARGUMENTS:
            return f"`{self.entry.file}` has {self.what}"
        file = f" of {self.entry.file}" if several else ""
        return f"line {self.entry.line}{file} has {self.what}"


@dataclass(frozen=True)
class ReleaseFinding:
    """The release that messages follow, a key of `RELEASES`, and why, in a sentence.

    `given`: `ggfmt.compatibility` names it. `contradiction`: two signs that no release has both, the newer first.
    """

    release: str
    reason: str
    given: bool = False
    contradiction: tuple[Sign, Sign] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.reason


def given_release(release: str, entry: Entry, assemblies: Sequence[HandlerBuilder]) -> ReleaseFinding:
    where = f"`{entry.file}`" if entry.file in ARGUMENTS else f"line {entry.line}"
    reason = f"release {manual_name(release)}, set by `ggfmt.compatibility` in {where}"
    types = {each.type.name for each in assemblies if each.type is not None and each.type.since == UNKNOWN}
    if types:
        reason += f"; no source says whether it has handlers of the type {listing(sorted(types))}"
    return ReleaseFinding(release, reason, True)


def found_release(signs: Sequence[Sign]) -> ReleaseFinding:
    several = len({sign.entry.file for sign in signs if sign.entry.file not in ARGUMENTS}) > 1
    newest = max(signs, key=lambda sign: release_numbers(sign.first), default=None)
    oldest = min((sign for sign in signs if sign.last), key=lambda sign: release_numbers(sign.last or ""), default=None)
    if newest is not None and newest.first == FIRST_RELEASE:
        newest = None
    chosen = (find_release(newest.first) if newest else None) or DEFAULT_RELEASE
    assumed = f"ggfmt assumes {manual_name(chosen)}; {_CHANGE}"
    contradiction = None
    if newest is not None and oldest is not None and oldest.last is not None:
        if is_later(newest.first, oldest.last):
            contradiction = newest, oldest
        range = f"release {manual_name(newest.first)} to {manual_name(oldest.last)}"
        range = f"release {manual_name(newest.first)}" if newest.first == oldest.last or contradiction else range
        reason = f"{range}, because {newest.where(several)} and {oldest.where(several)}; {assumed}"
    elif newest is not None:
        since = f"release {manual_name(newest.first)} or later, because {newest.where(several)}"
        reason = f"{since}; {assumed}"
    elif oldest is not None and oldest.last is not None:
        reason = f"release {manual_name(oldest.last)} or earlier, because {oldest.where(several)}; {assumed}"
    else:
        reason = f"no property shows a release: {assumed}"
    return ReleaseFinding(chosen, reason, contradiction=contradiction)


def contradiction(found: ReleaseFinding) -> Iterator[Diagnostic]:
    """Yield GG140 for signs that no release has together."""
    if found.contradiction is None:
        return
    newer, older = found.contradiction
    assert older.last is not None
    several = newer.entry.file != older.entry.file
    message = f"{newer.what} came with {manual_name(newer.first)}, and {older.where(several)}, which ended with "
    message += manual_name(older.last)
    help = "remove what the file's release does not have, or set `ggfmt.compatibility`"
    yield Diagnostic("GG140", message, newer.entry.key_span, help)


def misfits(
    assemblies: Sequence[HandlerBuilder], event_handlers: EventHandlers, entries: Sequence[Entry], named: str
) -> Iterator[Diagnostic]:
    """Yield GG111 for what a given release does not have, once a line, except formats and their properties.

    `named`: the release as `ggfmt.compatibility` names it. What a type brings with it is not reported beside the type.
    """
    groups = [[*_of_type(assembly), *_of_properties(assembly)] for assembly in assemblies]
    groups += ([sign] for assembly in assemblies for sign in _of_values(assembly, named))
    groups += _of_event_handlers(event_handlers)
    groups += [[sign] for sign in _of_keys(entries)]
    newest: dict[tuple[str | None, int | None], Sign] = {}
    for group in groups:
        lacking = [sign for sign in group if trim(sign.entry.value) and not _fits(named, sign.first, sign.last)]
        for sign in lacking[:1] if lacking and lacking[0] is group[0] else lacking:
            place = sign.entry.key_span.file, sign.entry.key_span.line
            known = newest.get(place)
            newest[place] = sign if known is None or is_later(sign.first, known.first) else known
    yield from (_misfit(sign, named) for sign in newest.values())


def _misfit(sign: Sign, named: str) -> Diagnostic:
    is_new = is_later_than_named(sign.first, named)
    how = f"came with {GOLDENGATE} {manual_name(sign.first)}"
    if not is_new:
        how = f"is not known after {GOLDENGATE} {manual_name(sign.last or '')}"
    message = f"{sign.what} {how}, and `ggfmt.compatibility` is {named}"
    instead = [known.name for known in sign.instead if _fits(named, known.since, known.until)]
    help = "remove it, or set `ggfmt.compatibility` to a release that has it"
    if instead:
        help = f"write {listing(instead)}, or set `ggfmt.compatibility` to a release that has `{sign.entry.key}`"
    return Diagnostic("GG111", message, sign.entry.key_span, help)


def _fits(named: str, since: str, until: str | None) -> bool:
    """Return whether a release, as a user names it, is between two others."""
    ended = until is not None and is_later(find_release(named) or named, until)
    return not ended and not is_later_than_named(since, named)


def _of_values(assembly: HandlerBuilder, named: str) -> Iterator[Sign]:
    """Yield the signs in the template of a property that a release has, as a user names it."""
    entry = assembly.given.get("format.metaColumnsTemplate")
    spec = assembly.format.options.specs().find("metaColumnsTemplate") if assembly.format is not None else None
    if entry is not None and spec is not None and spec.since and _fits(named, spec.since, None):
        yield from _of_template(assembly, entry)


def signs(
    assemblies: Sequence[HandlerBuilder],
    event_handlers: EventHandlers,
    entries: Sequence[Entry],
    names: Mapping[str, object],
) -> list[Sign]:
    found = [sign for assembly in assemblies for sign in _of_handler(assembly)]
    found += (sign for group in _of_event_handlers(event_handlers) for sign in group)
    found += _of_keys(entries)
    several = (entry for entry in entries if entry.key.lower() == "gg.handlerlist" and len(names) > 1)
    found += (Sign(entry, "several handlers", FIRST_RELEASE, LAST_OF_SEVERAL_HANDLERS) for entry in several)
    places = {id(entry): place for place, entry in enumerate(entries)}
    kept = (sign for sign in found if trim(sign.entry.value) and (sign.last or is_later(sign.first, FIRST_RELEASE)))
    return sorted(kept, key=lambda sign: places.get(id(sign.entry), len(places)))


def _of_handler(assembly: HandlerBuilder) -> Iterator[Sign]:
    yield from _of_type(assembly)
    yield from _of_format(assembly)
    yield from _of_properties(assembly)


def _of_type(assembly: HandlerBuilder) -> Iterator[Sign]:
    if assembly.type is not None and assembly.type_entry is not None:
        yield _of_owner(assembly.type_entry, f"the type `{assembly.type.name}`", assembly.type)


def _of_owner(entry: Entry, what: str, owner: Owner) -> Sign:
    return Sign(entry, what, owner.since, owner.until)


def _of_format(assembly: HandlerBuilder) -> Iterator[Sign]:
    type, format, given = assembly.type, assembly.format, assembly.given
    if format is not None and "format" in given:
        yield Sign(given["format"], f"the format `{format.name}`", format.since)
    for entry, known in assembly.uncovered.values():
        yield Sign(entry, f"`{known.name}`", known.since)
    specs = format.options.specs() if format is not None else ()
    for spec, entry in ((spec, given[name]) for spec in specs if (name := f"format.{spec.name}") in given):
        of_type = type.find(spec.name) if type is not None and assembly.format_of_type is not None else None
        yield Sign(entry, f"`{spec.name}`", of_type.since if of_type is not None and spec.since else spec.since)
        if spec.name == "metaColumnsTemplate" and spec.since:
            yield from _of_template(assembly, entry)


def _of_properties(assembly: HandlerBuilder) -> Iterator[Sign]:
    type, given = assembly.type, assembly.given
    if type is None:
        return
    for name, entry in (*given.items(), *assembly.others.items()):
        own = type.find(name) if not name.startswith("format") else None
        if own is not None:
            yield from _of_property(entry, own, type)
            if isinstance(own.kind, MessageTemplate | PathTemplate):
                yield from _of_keywords(entry, NAME_KEYWORDS)


def _of_property(entry: Entry, known: OptionSpec, owner: Owner) -> Iterator[Sign]:
    """Yield the sign of a property, with the one that replaced it, or the one that it replaced."""
    if known.doubtful:
        return
    instead = (spec for spec in owner.own if known.name == spec.replaced_by or spec.name == known.replaced_by)
    yield Sign(entry, f"`{known.name}`", known.since, known.until, tuple(instead))


def _of_template(assembly: HandlerBuilder, entry: Entry) -> Iterator[Sign]:
    columns = getattr(assembly.options, "meta_columns_template", None) or ()
    if any(column.name != column.keyword for column in columns):
        yield Sign(entry, "names in brackets in `metaColumnsTemplate`", _AFTER_FIXED)
    yield from _of_keywords(entry, METADATA_KEYWORDS)


def _of_keywords(entry: Entry, keywords: PropertySet) -> Iterator[Sign]:
    """Yield the sign of the newest keyword in a value."""
    found = (known for word in _KEYWORD.findall(entry.value) if (known := keywords.find(word)) is not None)
    newest = max(
        (known for known in found if known.since != UNKNOWN),
        key=lambda known: release_numbers(known.since),
        default=None,
    )
    if newest is not None:
        yield Sign(entry, f"`${{{newest.name}}}`", newest.since)


def _of_event_handlers(event_handlers: EventHandlers) -> Iterator[list[Sign]]:
    """Yield the signs of each block, that of its type first."""
    for block in event_handlers.blocks.values():
        type = block.type
        if type is None or not block.used:
            continue
        place = block.given.get("type", block.entries[0])
        found = [_of_owner(place, f"an event handler of the type `{type.name}`", type)]
        for name, entry in block.given.items():
            known = type.own.find(name)
            if known is not None and is_later(known.since, _EVENT_HANDLERS):
                found += _of_property(entry, known, type)
        yield found


def _of_keys(entries: Iterable[Entry]) -> Iterator[Sign]:
    for entry in entries:
        key = entry.key.lower()
        if key == "gg.target":
            target = TARGETS.get(trim(entry.value).lower())
            yield (
                _of_owner(entry, f"the target `{target.name}`", target) if target else Sign(entry, "`gg.target`", "21")
            )
            continue
        for owner in (PROCESS, KEYS):
            known = owner.find(key)
            if known is not None and not known.is_open:
                yield from _of_property(entry, known, owner)
