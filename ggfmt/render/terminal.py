"""What a terminal can do, its size, and how text goes to it."""

from __future__ import annotations

import io
import os
import unicodedata
from typing import TextIO

from ggfmt.config import in_ci

_FALLBACK_COLUMNS = 80


def is_plain() -> bool:
    """Return whether the terminal shows lines of text alone, so that boxes around them are in the way."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def is_interactive(stream: TextIO | None) -> bool:
    """Return whether a person looks at a stream: a terminal that can redraw a line, and neither the log of a CI server
    nor a cell of a notebook."""
    if stream is None or not stream.isatty() or is_plain() or in_ci() or "JPY_PARENT_PID" in os.environ:
        return False
    return os.name != "nt" or "WT_SESSION" in os.environ


def columns_of(stream: TextIO) -> int:
    return _given("COLUMNS") or _size(stream)[0] or _FALLBACK_COLUMNS


def rows_of(stream: TextIO) -> int | None:
    return _given("LINES") or _size(stream)[1] or None


def _given(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() and text.isascii() else 0


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        return os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0


class AsciiOutput(io.TextIOWrapper):
    """Standard output in a POSIX locale: what ggfmt says is ASCII, and what data says is passed on as UTF-8."""

    encoding = "ascii"
    passes_on_data = True


def encodable(text: str, stream: TextIO, is_data: bool = False) -> str:
    """Return a text with escapes for the characters that the encoding of a stream lacks."""
    if is_data and getattr(stream, "passes_on_data", False):
        return text
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def write_text(text: str, stream: TextIO, is_data: bool = False) -> None:
    stream.write(encodable(text, stream, is_data))


def text_width(cell: str) -> int:
    return sum(_character_width(character) for character in cell)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
