"""What was probably meant in place of lines of a handler file, for `--unsafe-fixes`.

Where a line goes on in the next, or shows a masked secret, there is none.
"""

from __future__ import annotations

import re

from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Rewrite

_BLANKS = " \t\f"
_PLAIN_KEY = re.compile(r"[\w.-]+")


def removed(entry: Entry) -> Rewrite | None:
    """The file without the entry."""
    return None if entry.secret else Rewrite(entry.line, (entry.source, *entry.continued), ())


def renamed_key(entry: Entry, key: str) -> Rewrite | None:
    """The entry under another key."""
    if not entry.is_plain or not _PLAIN_KEY.fullmatch(key):
        return None
    start = entry.column - 1
    return _line(entry, entry.source[:start] + key + entry.source[start + entry.key_length :])


def comment_above(entry: Entry, at: int) -> Rewrite | None:
    """The entry less what is a comment from an index of its line on, which becomes the line above."""
    comment = entry.source[at:].lstrip("#/-;" + _BLANKS).rstrip(_BLANKS)
    rest = entry.source[:at].rstrip(_BLANKS)
    if rest.endswith("\\"):  # it escapes a blank, and would join the next line
        return None
    return _line(entry, f"{rest[: entry.column - 1]}# {comment}", rest)


def comment_only(entry: Entry, mark: str) -> Rewrite | None:
    """The line as the comment that it was meant to be, less the mark that starts none."""
    start = entry.column - 1
    return _line(entry, f"{entry.source[:start]}# {entry.source[start + len(mark) :].lstrip(_BLANKS)}")


def _line(entry: Entry, *lines: str) -> Rewrite | None:
    if entry.secret or entry.continued:
        return None
    return Rewrite(entry.line, (entry.source,), lines)
