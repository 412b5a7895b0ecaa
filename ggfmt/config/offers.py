"""What an editor offers where a handler file is written: keys, and words of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ggfmt.config.comments import before_comment
from ggfmt.config.handler_options import DEFAULT_FORMAT, HandlerOptions
from ggfmt.config.properties import Entry, parse_content
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    EVENT_HANDLERS,
    FORMAT,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    KEYS,
    OWN,
    PROCESS,
    TARGETS,
    Formats,
)
from ggfmt.formats.goldengate import metacolumns
from ggfmt.java.charsets import charset_names
from ggfmt.java.text import trim
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import OptionSpec
from ggfmt.options.templates import MEANINGS, MessageTemplate, PathTemplate
from ggfmt.options.value_types import Bool, Charset, Choice, ValueType

_LINE = lazy_regex(r"[ \t\f]*((?:\\.|[^\\:= \t\f])*)(?:[ \t\f]*[:=]|[ \t\f])?[ \t\f]*", re.DOTALL)
_BLOCK = lazy_regex(r"gg\.(event)?handler\.([^.]+)\.", re.IGNORECASE)


def offers(content: bytes, before: str) -> tuple[int, Mapping[str, str]]:
    """Return what may be at the end of `before`, the line up to the cursor: words, each with a short description.

    The number is the place in `before` from which on a word replaces the text.
    """
    entries = parse_content(content, "").entries
    match = _LINE.match(before)
    assert match is not None
    folded = match[1].lower()
    known: dict[str, tuple[str, OptionSpec]] = {}
    for name, spec in _keys(entries, match[1]):
        known.setdefault(name.lower(), (name, spec))
    if match.end() == match.end(1):  # the key has no end
        near = (pair for name, pair in known.items() if name.startswith(folded) and not pair[1].is_open)
        return match.start(1), {name: spec.doc for name, spec in near}
    words = _words(folded, known[folded][1].kind if folded in known else None, entries)
    started = re.search(r"(?:\$\{\w*|[^,\s${}]*)\Z", before[match.end() :])
    assert started is not None
    return match.end() + started.start(), words


def _keys(entries: Sequence[Entry], typed: str) -> Iterator[tuple[str, OptionSpec]]:
    """Yield all that a file can have: by the types and formats of its handlers, and of the one in the key `typed`."""
    given = {entry.key.lower(): before_comment(entry) for entry in entries}
    for prefix in dict.fromkeys((*_blocks(entries), *(match[0] for match in [_BLOCK.match(typed)] if match))):
        type, format = (given.get(f"{prefix}{name}".lower(), "").lower() for name in ("type", "format"))
        below = _of_event_handler(type) if prefix.lower().startswith("gg.event") else _of_handler(type, format)
        yield from ((prefix + name, spec) for name, spec in below)
    yield "gg.target", _choice("target", TARGETS)
    yield from ((spec.name, spec) for owner in (KEYS, PROCESS) for spec in owner.own)
    yield from ((f"ggfmt.{spec.name}", spec) for spec in OWN.own)


def _blocks(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the prefixes of the keys of all handlers and event handlers, also of those that are only listed."""
    for entry in entries:
        if entry.key.lower() == "gg.handlerlist":
            yield from (f"gg.handler.{trim(name)}." for name in before_comment(entry).split(",") if trim(name))
        elif match := _BLOCK.match(entry.key):
            yield match[0]


def _of_handler(type: str, format: str) -> Iterator[tuple[str, OptionSpec]]:
    yield "type", _choice("handler", HANDLER_TYPES)
    known = HANDLER_TYPES.get(type)
    types = HANDLER_TYPES.values() if known is None else (known,)
    applied = HandlerOptions.specs() if known is None else ()
    yield from _named((FORMAT, *applied, *(spec for each in types for spec in each.properties)))
    chosen = FORMAT_OWNERS.get(format or DEFAULT_FORMAT)
    if chosen is not None and (known is None or known.formats in (Formats.DEFAULT, Formats.GIVEN)):
        yield from ((f"format.{spec.name}", spec) for spec in chosen.own)


def _of_event_handler(type: str) -> Iterator[tuple[str, OptionSpec]]:
    yield "type", _choice("event handler", EVENT_HANDLER_TYPES)
    known = EVENT_HANDLER_TYPES.get(type)
    yield from _named((known or EVENT_HANDLERS).properties)


def _named(specs: Iterable[OptionSpec]) -> Iterator[tuple[str, OptionSpec]]:
    return ((spec.name, spec) for spec in specs)


def _choice(what: str, words: Iterable[str]) -> OptionSpec:
    return OptionSpec("type", "", Choice(dict.fromkeys(words, "")), None, f"Choose the type of the {what}.", "", ())


def _words(key: str, kind: ValueType[Any] | None, entries: Sequence[Entry]) -> Mapping[str, str]:
    """Return the words that a value may have, each with a short description."""
    if key == "gg.handlerlist" or key.endswith(".eventhandler"):
        matches = (match for prefix in _blocks(entries) if (match := _BLOCK.match(prefix)))
        return {match[2]: "" for match in matches if bool(match[1]) == (key != "gg.handlerlist")}
    if isinstance(kind, Bool):
        return {"true": "", "false": ""}
    if isinstance(kind, Choice):
        return kind.words
    if isinstance(kind, Charset):
        return dict.fromkeys(charset_names(), "")
    if isinstance(kind, metacolumns.Template):
        return {f"${{{known.name}}}": known.doc for known in metacolumns.KEYWORDS.values()}
    if isinstance(kind, (PathTemplate, MessageTemplate)):
        return {f"${{{name}}}": doc for name, doc in MEANINGS.items()}
    return {}
