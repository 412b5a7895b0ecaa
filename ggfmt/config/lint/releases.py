"""Which releases of GoldenGate have the properties of a handler, and what of them ggfmt does not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ggfmt.config.goldengate_keys import GoldenGateProperty
from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import trim
from ggfmt.options.releases import FIRST_RELEASE, RELEASES, Metadata, is_available, is_later

GOLDENGATE = "GoldenGate for Big Data"

# The code of a property that ggfmt does not do, and that of the same where messages are to be written.
UNCOVERED, REFUSED = "GG126", "GG127"


@dataclass(frozen=True)
class _OptionUse:
    """A property, or the format `format`, that has an effect only in releases from `since` on and up to `until`."""

    entry: Entry
    since: str
    until: str | None
    format: str = ""

    def __str__(self) -> str:
        return f"`{self.format}` is a format" if self.format else f"`{self.entry.key}` is a property"


def check_releases(assemblies: Sequence[HandlerBuilder], release: str | None, told: bool) -> Iterator[Diagnostic]:
    """GG111 for the first property of a handler that does not fit the release, GG126 for each that ggfmt does not do.

    `release` is None if its value is illegal; `told`: the configuration names it, so that a property of a later one is
    without effect in it.
    """
    uses = [_uses(assembly) for assembly in assemblies]
    common = _fitting([use for of_one in uses for use in of_one])
    for assembly, of_one in zip(assemblies, uses, strict=True):
        yield from _check(assembly, of_one, common, release, told)


def _check(
    assembly: HandlerBuilder, uses: Sequence[_OptionUse], common: Sequence[str], release: str | None, told: bool
) -> Iterator[Diagnostic]:
    if release is not None:
        misfit = next((use for use in uses if not is_available(release, use.since, use.until)), None)
        if misfit is not None:
            yield _misfit(misfit, uses, common, assembly.name, release)
        yield from _metadata(assembly, release)
    for entry, known in assembly.uncovered.values():
        if _is_on(entry) and (release is None or not told or is_available(release, known.since, None)):
            yield _uncovered(entry, known)


def _metadata(assembly: HandlerBuilder, release: str) -> Iterator[Diagnostic]:
    """What is to be said of a format that has templates, where the handler gives none."""
    if getattr(assembly.options, "meta_columns_template", ()) is not None:
        return
    place = next((entry.key_span for entry in assembly.entries), Span())
    own = assembly.format_of_type is not None
    key = f"gg.handler.{assembly.name}.{'' if own else 'format.'}metaColumnsTemplate"
    if RELEASES[release].metadata is Metadata.UNKNOWN and not own:
        message = f"what metadata {GOLDENGATE} {release} writes without `{key}` is not known"
        help = "set it; or set `ggfmt.compatibility` to 21 for none, or to 12.3.2 for those of earlier releases"
        yield Diagnostic("GG138", message, place, help)
    elif RELEASES[release].metadata is Metadata.TEMPLATE:
        message = f"messages of handler `{assembly.name}` have no metadata, not even the operation type"
        yield Diagnostic("GG139", message, place, f"set `{key}` if readers need them")


def _uses(assembly: HandlerBuilder) -> list[_OptionUse]:
    """What the handler uses, in the order of the files."""
    uses = [_OptionUse(entry, known.since, None) for entry, known in assembly.uncovered.values() if _is_on(entry)]
    # What a handler itself does beside its format is the same in the messages of all releases.
    for spec in assembly.options.specs() if assembly.options is not None else ():
        name, value = f"format.{spec.name}", getattr(assembly.options, spec.attr)
        entry = assembly.given.get(name)
        if entry is None or name in assembly.illegal or not spec.since:
            continue
        # As by default, or switched off, is what a release does that does not have the property yet. One that has it no
        # more does what it does with the switch off.
        as_ever = value == spec.default or (value is False and spec.default is not True)
        uses.append(_OptionUse(entry, FIRST_RELEASE if as_ever else spec.since, None if value is False else spec.until))
    chosen = assembly.given.get("format")
    if chosen is not None and assembly.format is not None and assembly.format.since != FIRST_RELEASE:
        uses.append(_OptionUse(chosen, assembly.format.since, None, assembly.format.name))
    places = {id(entry): index for index, entry in enumerate(assembly.entries)}
    return sorted(uses, key=lambda use: places[id(use.entry)])


def _is_on(entry: Entry) -> bool:
    return trim(entry.value).lower() not in ("", "false")


def _fitting(uses: Sequence[_OptionUse]) -> list[str]:
    return [name for name in RELEASES if all(is_available(name, use.since, use.until) for use in uses)]


def _misfit(
    misfit: _OptionUse, uses: Sequence[_OptionUse], common: Sequence[str], handler: str, release: str
) -> Diagnostic:
    """`common` are the releases that fit all handlers."""
    is_new = is_later(misfit.since, release)
    reach = f"from {GOLDENGATE} {misfit.since} on" if is_new else f"of {GOLDENGATE} up to {misfit.until}"
    fitting = _fitting(uses)
    if fitting and not common:
        help = f"all properties of `{handler}` fit {_names(fitting)}, but no release fits all handlers"
    elif fitting:
        which = f"`ggfmt.compatibility={common[0]}`" if len(common) == 1 else "`ggfmt.compatibility` to one of them"
        whose = f"of `{handler}`" if fitting == common else "of all handlers"
        help = f"all properties {whose} fit {_names(common)}: set {which}"
    else:
        newest = reduce(lambda one, other: other if is_later(other.since, one.since) else one, uses)
        oldest = next(use for use in uses if use.until is not None and is_later(newest.since, use.until))
        help = f"no release has them all: `{newest.entry.key}` came with {newest.since}, and"
        help += f" `{oldest.entry.key}` ended with {oldest.until}"
    return Diagnostic("GG111", f"{misfit} {reach}", misfit.entry.key_span, help)


def _names(releases: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(releases[:-1]), releases[-1])))


def _uncovered(entry: Entry, known: GoldenGateProperty) -> Diagnostic:
    message = f"`{entry.key}` is fine in {GOLDENGATE} {known.since}, but ggfmt does not do it"
    return Diagnostic(UNCOVERED, message, entry.key_span, "what ggfmt writes will differ")


def refusal(uncovered: Diagnostic) -> Diagnostic:
    """The error for a property that ggfmt does not do, where messages are to be written."""
    help = "what ggfmt would write differs from GoldenGate's messages; `ggfmt.uncovered=ignore` allows it"
    return replace(uncovered, code=REFUSED, help=help)
