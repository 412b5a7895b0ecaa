"""Lines that are broken between words, never within one."""

from __future__ import annotations

from typing import TextIO

from ggfmt.lazy import lazy_regex
from ggfmt.render.terminal import columns_of, text_width, write_text

_FURTHER = 4  # columns by which the rest of a line is indented
_MIN_ROOM = 20
_WORD = lazy_regex(r"\s*\S+")


def wrap_words(text: str, room: int, further: int | None = None) -> list[str]:
    """Break a line into lines of at most `room` columns, those after the first of at most `further`.

    A wider word gets a line of its own. Blanks at the start, and between words of one line, stay.
    """
    lines: list[str] = []
    for piece in _WORD.findall(text):
        if lines and text_width(lines[-1] + piece) <= (room if len(lines) == 1 or further is None else further):
            lines[-1] += piece
        else:
            lines.append(piece.lstrip() if lines else piece)
    return lines or [""]


def indented(text: str, margin: int, columns: int | None) -> str:
    """Break a text that starts in the column `margin`, and indent its other lines as far; None: do not break it."""
    if columns is None:
        return text
    return f"\n{'':{margin}}".join(wrap_words(text, max(columns - margin, _MIN_ROOM)))


def wrap_lines(text: str, columns: int) -> str:
    broken = []
    for line in text.splitlines():
        indent = min(len(line) - len(line.lstrip()) + _FURTHER, max(columns - _MIN_ROOM, 0))
        broken.append(f"\n{'':{indent}}".join(wrap_words(line, columns, columns - indent)))
    return "".join(f"{line}\n" for line in broken)


def write_lines(text: str, stream: TextIO) -> None:
    """Write lines to a stream; on a terminal, broken between words to its width."""
    write_text(wrap_lines(text, columns_of(stream)) if stream.isatty() else text, stream)
