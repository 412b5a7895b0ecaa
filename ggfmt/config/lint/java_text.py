"""Characters of a handler file that Java reads as others, and a byte order mark that hides the first key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ggfmt.config.properties import SETTINGS, Entry
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible

MARK = "GG143"  # the code of a byte order mark, which a fix removes

_MATTERS = re.compile(r"gg\.(?:handler|eventhandler|schemareplace|contentreplace|transform)|ggfmt\.", re.IGNORECASE)
_WIDE = re.compile(r"[^\x00-\x7f](?:.*[^\x00-\x7f])?")
_MAX_SHOWN = 20


def check_mark(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG143 if the first line of a file is a property. `entries`: those of files with a byte order mark."""
    for entry in entries:
        if entry.line == 1 and entry.column == 1 and entry.file != SETTINGS:
            message = f"the byte order mark of the file hides `{visible(entry.key)}` from GoldenGate"
            yield Diagnostic(MARK, message, entry.key_span, "save the file without it, or start it with a comment")


def check_characters(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG144 for keys and values with characters beyond ASCII in a file in UTF-8.

    Java reads each of their bytes as a character.
    """
    for entry in entries:
        if not entry.misread or not _MATTERS.match(entry.key):
            continue
        match = _WIDE.search(entry.source, entry.column - 1)
        if match is None or entry.secret:
            message = f"`{visible(entry.key)}` has characters that Java reads as others"
            yield Diagnostic("GG144", message, entry.value_span, "write them as `\\uXXXX`")
            continue
        wide = match[0]
        span = Span(entry.file, entry.line, match.start() + 1, len(wide), entry.source)
        read = wide.encode().decode("iso-8859-1")
        shown = f"`{wide[:_MAX_SHOWN]}` as the {len(read)} characters `{visible(read[:_MAX_SHOWN])}`"
        escaped = "".join(character if character.isascii() else _escape(character) for character in wide)
        message = f"Java reads {shown} in the value of `{visible(entry.key)}`"
        yield Diagnostic("GG144", message, span, f"write `{escaped}`", escaped)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'big'):04x}" for at in range(0, len(units), 2))
