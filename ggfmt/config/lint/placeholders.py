"""What a manual or a template writes in place of a name or a value, and somebody left in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ggfmt.config.properties import Entry
from ggfmt.config.property_names import is_placeholder
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import trim, visible

_LEFT_IN = re.compile(r"<[a-z][\w .-]*>|(?<![a-z0-9])your[-_ ][\w-]+", re.IGNORECASE)

# Values that are texts of any kind: `<null>` may well be meant.
_ANY_TEXT = re.compile(
    r"gg\.handler\..+\.(?:format\..+|filter)|gg\.(?:schema|content)replace.+", re.IGNORECASE | re.DOTALL
)
_GOLDENGATE = re.compile(r"(?:gg|goldengate|javawriter|jvm)\.", re.IGNORECASE)

_EVENT_HANDLER = re.compile(r"gg\.eventhandler\.([^.]+)\.(.+)", re.IGNORECASE | re.DOTALL)
_CHAINED = re.compile(r"gg\.(?:event)?handler\.[^.]+\.eventhandler|gg\.eventhandlerlist", re.IGNORECASE)


def placeholders(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """GG129 for each value with a placeholder in it, GG101 for properties of an event handler called `name`."""
    for entry in entries:
        found = None
        if _GOLDENGATE.match(entry.key) and not _ANY_TEXT.fullmatch(entry.key):
            found = _LEFT_IN.search(entry.value)
        if found is None:
            continue
        span = entry.value_span
        at = entry.source.find(found[0], entry.value_column - 1)
        if at >= 0:
            span = replace(span, column=at + 1, length=len(found[0]))
        what = "a placeholder" if entry.secret else f"`{visible(found[0])}`"
        message = f"the value of `{entry.key}` has {what} in it, which stands for something else"
        yield Diagnostic("GG129", message, span, "write what is meant")
    yield from _event_handlers(entries)


def _event_handlers(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    below = [(entry, match) for entry in entries if (match := _EVENT_HANDLER.fullmatch(entry.key))]
    called = {trim(name) for entry in entries if _CHAINED.fullmatch(entry.key) for name in entry.value.split(",")}
    others = list(dict.fromkeys(match[1] for _, match in below if not is_placeholder(match[1])))
    for entry, match in below:
        if not is_placeholder(match[1]) or match[1] in called or not others:
            continue
        help = f"`{match[1]}` stands for the name of an event handler: write "
        help += f"`gg.eventhandler.{others[0]}.{match[2]}`" if len(others) == 1 else "one that is there"
        yield Diagnostic(
            "GG101", f"`{entry.key}` is never applied: it belongs to no event handler", entry.key_span, help
        )
