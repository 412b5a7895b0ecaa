"""Which releases of GoldenGate have the properties of a handler, and what of them ggfmt does not do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from ggfmt.config.goldengate_keys import GoldenGateProperty
from ggfmt.config.lint.assembly import Assembly
from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import trim
from ggfmt.options.releases import FIRST_RELEASE, RELEASES, has, is_later
from ggfmt.options.spec import Options

GOLDENGATE = "GoldenGate for Big Data"

# The code of a property that ggfmt does not do, and that of the same where messages are to be written.
UNCOVERED, REFUSED = "GG126", "GG127"


@dataclass(frozen=True)
class _Use:
    """A property that has an effect only in releases from `since` on and up to `until`."""

    entry: Entry
    since: str
    until: str | None


def check_releases(assembly: Assembly, release: str | None, told: bool) -> Iterator[Diagnostic]:
    """GG111 for the first property that does not fit the release, GG126 for each that ggfmt does not do.

    `release` is None if its value is illegal; `told`: the configuration names it, so that a property of a later one is
    without effect in it.
    """
    uses = _uses(assembly)
    if release is not None:
        misfit = next((use for use in uses if not has(release, use.since, use.until)), None)
        if misfit is not None:
            yield _misfit(misfit, uses, assembly.name, release)
    for entry, known in assembly.uncovered:
        if _is_on(entry) and (release is None or not told or has(release, known.since, None)):
            yield _uncovered(entry, known)


def _uses(assembly: Assembly) -> list[_Use]:
    """What the handler uses, in the order of the files. A switch that is off is used in no release."""
    uses = [_Use(entry, known.since, None) for entry, known in assembly.uncovered if _is_on(entry)]
    sets: list[tuple[str, Options]] = [("", assembly.handler)]
    sets += [("format.", assembly.options)] if assembly.options is not None else []
    for prefix, options in sets:
        for spec in options.specs():
            name, value = prefix + spec.name, getattr(options, spec.attr)
            entry = assembly.given.get(name)
            if entry is None or name in assembly.illegal or not spec.since or value is False:
                continue
            # The default is what releases do that do not have the property yet, but not what those do that had it.
            uses.append(_Use(entry, FIRST_RELEASE if value == spec.default else spec.since, spec.until))
    places = {id(entry): index for index, entry in enumerate(assembly.entries)}
    return sorted(uses, key=lambda use: places[id(use.entry)])


def _is_on(entry: Entry) -> bool:
    return trim(entry.value).lower() not in ("", "false")


def _misfit(misfit: _Use, uses: list[_Use], handler: str, release: str) -> Diagnostic:
    is_new = is_later(misfit.since, release)
    reach = f"from {GOLDENGATE} {misfit.since} on" if is_new else f"of {GOLDENGATE} up to {misfit.until}"
    fitting = [name for name in RELEASES if all(has(name, use.since, use.until) for use in uses)]
    if fitting:
        which = f"set `ggfmt.compatibility={fitting[0]}`" if len(fitting) == 1 else "set `ggfmt.compatibility`"
        help = f"all properties of `{handler}` fit {' and '.join(filter(None, (', '.join(fitting[:-1]), fitting[-1])))}"
        help += f": {which}" + (" to one of them" if len(fitting) > 1 else "")
    else:
        newest = reduce(lambda one, other: other if is_later(other.since, one.since) else one, uses)
        oldest = next(use for use in uses if use.until is not None and is_later(newest.since, use.until))
        help = f"no release has them all: `{newest.entry.key}` came with {newest.since}, and"
        help += f" `{oldest.entry.key}` ended with {oldest.until}"
    return Diagnostic("GG111", f"`{misfit.entry.key}` is a property {reach}", misfit.entry.key_span, help)


def _uncovered(entry: Entry, known: GoldenGateProperty) -> Diagnostic:
    message = f"`{entry.key}` is fine in {GOLDENGATE} {known.since}, but ggfmt does not do it"
    return Diagnostic(UNCOVERED, message, entry.key_span, "what ggfmt writes will differ")


def refusal(uncovered: Diagnostic) -> Diagnostic:
    """The error for a property that ggfmt does not do, where messages are to be written."""
    help = "what ggfmt would write differs from GoldenGate's messages; `ggfmt.uncovered=ignore` allows it"
    return replace(uncovered, code=REFUSED, help=help)
