"""Texts that are not what they look like: blanks that are lost, wrappers that are none, names of characters."""

from __future__ import annotations

import re
from typing import Any

from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import JAVA_BLANKS, trim, visible
from ggfmt.options.value_types import Delimiter, Path, Representation, Text, ValueType, escape_value, unwrap_cdata

_CHARACTER = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|.", re.DOTALL)
_WRAPPER = re.compile(r"(<?!?\[?)CDATA\s*([\[({])(.*)", re.DOTALL | re.IGNORECASE)

# How a character is named in other places; in a properties file, `\x01` is `x01` and `\001` is `001`.
_NAMED = re.compile(
    r"\\?U\+?(?P<java>[0-9A-F]{4})|[\\0]?X(?P<hex>[0-9A-F]{2,4})|\\?(?P<octal>[0-3][0-7]{2})"
    r"|\^(?P<control>[A-Z\[\\\]^_])|(?P<letters>(?:\\[TRNF])+)",
    re.IGNORECASE,
)
_LETTERS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}


def misread_wrapper(entry: Entry, kind: ValueType[Any]) -> Diagnostic | None:
    """GG115 if the value was meant to be wrapped in `CDATA[...]`, and is not."""
    text = trim(entry.value)
    match = _WRAPPER.fullmatch(entry.value.lstrip(JAVA_BLANKS))
    if match is None or not isinstance(kind, (Text, Path)) or (text.startswith("CDATA[") and text.endswith("]")):
        return None
    head, _, inner = match.groups()
    if head or not text.startswith("CDATA["):
        closed = re.fullmatch(r"(.*)(?:\]\]>|[\])}])", inner.rstrip(JAVA_BLANKS), re.DOTALL)
        message = f"`{entry.key}` has a wrapper that is not `CDATA[...]`"
        return Diagnostic("GG115", message, entry.value_span, _wrap(entry, closed[1] if closed else inner))
    if "]" in inner:
        message = f"`{entry.key}` has text behind the `]` of its `CDATA[...]`"
        return Diagnostic("GG115", message, entry.value_span, "end the value with the `]`")
    return Diagnostic("GG115", f"`{entry.key}` does not close its `CDATA[`", entry.value_span, _wrap(entry, inner))


def lost_blanks(entry: Entry, kind: ValueType[Any], default: Any = "") -> Diagnostic | None:
    """GG114 if blanks at the ends of the value were meant to be part of the text."""
    value, text = entry.value, trim(entry.value)
    if not isinstance(kind, Text) or unwrap_cdata(text) != text:
        return None
    if not value and default and isinstance(kind, Delimiter) and entry.separator[:1] in ("=", ":"):
        # The blanks behind `=` are no part of the value in any case.
        value = entry.separator[1:]
    if value == text:
        return None
    if not isinstance(kind, (Delimiter, Representation)):
        characters = _CHARACTER.findall(entry.raw)
        lead, trail = len(value) - len(value.lstrip(JAVA_BLANKS)), len(value) - len(value.rstrip(JAVA_BLANKS))
        if not any(character[0] == "\\" for character in characters[:lead] + characters[len(characters) - trail :]):
            return None
    help = f"{_wrap(entry, value)} to keep them, or remove them"
    return Diagnostic("GG114", f"the blanks at the ends of `{entry.key}` are trimmed away", entry.value_span, help)


def odd_delimiter(entry: Entry, kind: ValueType[Any], text: str) -> Diagnostic | None:
    """GG117 if a delimiter is the name of a character, or of more characters than readers know."""
    if not isinstance(kind, Delimiter) or len(text) < 2 or (kind.line and text == "\r\n"):
        return None
    meant = _named(text)
    if meant is not None:
        message = f"`{entry.key}` is the {len(text)} characters `{visible(text)}`"
        help = f"write `{escape_value(Text().render(meant))}` for the character that is meant"
    elif kind.single:
        message, help = f"`{entry.key}` has {len(text)} characters", "give one character"
    else:
        return None
    return Diagnostic("GG117", message, entry.value_span, help)


def _named(text: str) -> str | None:
    """The character, or line end, that the text names; None if it names none."""
    match = _NAMED.fullmatch(text)
    if match is None:
        return None
    if match["letters"]:
        return "".join(_LETTERS[letter] for letter in match["letters"].lower()[1::2])
    if match["control"]:
        return chr(ord(match["control"].upper()) - 64)
    digits = match["java"] or match["hex"]
    code = int(digits, 16) if digits else int(match["octal"], 8)
    return None if 0xD800 <= code < 0xE000 else chr(code)


def _wrap(entry: Entry, text: str) -> str:
    if entry.secret or len(text) > 40:
        return "wrap it in `CDATA[...]`"
    return f"write `{escape_value(f'CDATA[{text}]')}`"
