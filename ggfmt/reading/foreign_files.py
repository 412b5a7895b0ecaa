"""Files that people hand to ggfmt, and that hold no changes, or changes in a form that it does not read."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress

from ggfmt.formats.json.files import UnsupportedMessages
from ggfmt.formats.plain.layout import is_western
from ggfmt.reading.kinds import kinds

_ROWS = "export the rows as CSV, and read them with `--csv`"
_NO_CHANGES = "name only files with changes in a format that `ggfmt formats` lists"
_OF_TRAILS = "for a trail of GoldenGate, see `ggfmt docs read-trails`"
_UTF_8 = "convert it to UTF-8, for example with `iconv -f %s -t UTF-8`"
_LOOKED_AT = 8 << 10  # bytes; some expressions try each of them
# GB 2312 has the frequent characters, by sound, and punctuation there. Other charsets have whole words elsewhere.
_FREQUENT_CHINESE = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
_DELIMITERS = (b",", b";", b"\t", b"|")


def identify_foreign(head: bytes) -> UnsupportedMessages | None:
    """Return what a file with such first bytes is, if it fits no format; None if it may be anything."""
    start = head[:_LOOKED_AT]
    return _look_at(start, "binary") or _look_at(start, "text")


def identify_last(head: bytes) -> UnsupportedMessages | None:
    """Return what a file probably is that nothing else names; None if it may be anything."""
    start = head[:_LOOKED_AT]
    return _look_at(start, "charset") or _other_charset(head) or _look_at(start, "last") or _table(start)


def _look_at(head: bytes, section: str) -> UnsupportedMessages | None:
    return next((kind for start, kind in kinds(section) if start.match(head)), None)


def _other_charset(head: bytes) -> UnsupportedMessages | None:
    text = head[: head.rfind(b"\n") + 1] or head  # the head may end within a character
    with suppress(UnicodeDecodeError):
        text.decode()
        if b"\0" not in text:
            return None
    if re.search(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]", text):
        return UnsupportedMessages("a binary file", f"ggfmt reads no trails: {_OF_TRAILS}; otherwise, {_NO_CHANGES}")
    pairs = re.findall(rb"[\x80-\xff].", text, re.DOTALL)
    frequent = sum(_FREQUENT_CHINESE.match(pair) is not None for pair in pairs)
    if not is_western(text) and frequent > 0.9 * len(pairs):
        return UnsupportedMessages(
            "a text that is not in UTF-8, and may be in GBK", f"if it is Chinese, {_UTF_8 % 'GBK'}"
        )
    return UnsupportedMessages(
        "a text that is not in UTF-8", _UTF_8 % ("WINDOWS-1252" if is_western(text) else "CHARSET")
    )


def _table(head: bytes) -> UnsupportedMessages | None:
    lines = [line for line in head.splitlines()[:20] if line]
    counts = (Counter(line.count(delimiter) for line in lines) for delimiter in _DELIMITERS)
    if len(lines) > 1 and any(not count[0] and count.most_common(1)[0][1] * 2 > len(lines) for count in counts):
        return UnsupportedMessages("a table of rows", _ROWS)
    return None
