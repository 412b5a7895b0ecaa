"""What a terminal can do, and its size."""

from __future__ import annotations

import os
from typing import TextIO

from ggfmt.config.ci_server import in_ci

_FALLBACK_COLUMNS = 80


def is_interactive(stream: TextIO | None) -> bool:
    """Return whether a person looks at a stream: a terminal that can redraw a line, and not the log of a CI server."""
    if stream is None or not stream.isatty() or os.environ.get("TERM", "").lower() in ("dumb", "unknown") or in_ci():
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
