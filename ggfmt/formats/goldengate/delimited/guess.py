"""What delimited text looks like: a guess for the help of an error, never for reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from ggfmt.lazy import lazy_regex

_DELIMITERS = ",|;\t^~\x01"
_IN_SHELLS = {"\t": r"$'fieldDelimiter=CDATA[\t]'", "\x01": r"$'fieldDelimiter=CDATA[\x01]'"}
_MAX_LINES = 100
_TIME = r"\d{4}-\d\d-\d\d[T :]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
# The metadata fields in the order in which they are written: the switch of each, and what its values look like.
_METADATA = (
    ("includeOpType", r"[IUDT]"),
    ("includeTableName", r"[^\W\d][\w$#]*(?:\.[^\W\d][\w$#]*){1,2}"),
    ("includeOpTimestamp", _TIME),
    ("includeCurrentTimestamp", _TIME),
    ("includePosition", r"\d{16,}"),
)
_NAME = lazy_regex(r"[^\W\d][\w$#]*")


def guessed_options(head: bytes) -> list[str] | None:
    """Return the arguments of the command line with which a file of delimited text that starts so can be read; None if
    it does not look like delimited text of GoldenGate."""
    text = head.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [line for line in text.split("\n")[: _MAX_LINES + 1] if line]
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # the head may end within it
    for delimiter in _DELIMITERS:
        rows = [line.split(delimiter) for line in lines]
        switches = _switches(rows)
        if switches is not None:
            shown = _IN_SHELLS.get(delimiter) or quote(f"fieldDelimiter={delimiter}")
            return ["--input-format delimitedtext", *(f"--input-option {option}" for option in (shown, *switches))]
    return None


def guessed_command(file: str, head: bytes) -> str | None:
    options = guessed_options(head)
    if options is None:
        return None
    return f"ggfmt run {quote(file)} {' '.join(options)} --definitions FILE --to json -o out"


def _switches(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Return the switches without their defaults; None if the fields are not those of such text."""
    place, found = 0, []
    for switch, pattern in _METADATA:
        if all(len(row) > place and re.fullmatch(pattern, row[place]) for row in rows):
            place += 1
        elif switch in ("includeOpType", "includeTableName"):
            return None
        else:
            found.append(f"{switch}=false")
    columns = [row[place:] for row in rows]
    names = columns[0][::2] if columns else []
    named = len(rows) > 1 and len(columns[0]) > 1 and all(map(_NAME.fullmatch, names))
    if named and all(row[::2] == names and len(row) == 2 * len(names) for row in columns):
        found.append("includeColumnNames=true")
    return found if rows and columns[0] else None
