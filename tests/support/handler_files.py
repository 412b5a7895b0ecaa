"""The corpus of handler files: right ones, and mistakes that are planted into right ones.

`right_files.txt` has sections `=== TITLE | MARKS`; marks are `crlf` and the name of an encoding. A section of
`mistakes.txt` is a right file, a line `---`, and mistakes with an empty line between them. A mistake is one or more
lines in place of those with their keys, or at the end; `+` before a line puts it there although its key is given.
`«` and `»` surround what a person would point at. `? WORDS` are in the message or its help. `! LINE` is right in place
of the marked line, `!` alone removes it. Without them, the fix of ggfmt mends the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^=== (.*)\n", re.MULTILINE)
_MARKS = re.compile("[«»]")


@dataclass(frozen=True)
class Mistake:
    """A right file, the lines that spoil it, and what comes of them: the place of the mistake, words of its finding,
    and the mended file if ggfmt has no fix."""

    base: tuple[str, ...]
    change: tuple[str, ...]
    text: str
    line: int
    column: int
    length: int
    words: tuple[str, ...]
    mended: str | None


def sections(path: Path) -> Iterator[tuple[str, str]]:
    parts = _SECTION.split(path.read_text(encoding="utf-8"))
    yield from zip(parts[1::2], parts[2::2], strict=True)


def right_files(path: Path) -> Iterator[tuple[str, bytes]]:
    for head, text in sections(path):
        title, _, marks = head.partition(" | ")
        encoding = "utf-8"
        for mark in marks.split():
            if mark == "crlf":
                text = text.replace("\n", "\r\n")
            else:
                encoding = mark
        yield title, text.encode(encoding)


def mistakes(path: Path) -> Iterator[Mistake]:
    for _, section in sections(path):
        base, _, blocks = section.partition("---\n")
        for block in filter(None, blocks.strip("\n").split("\n\n")):
            yield _mistake(tuple(base.splitlines()), block.splitlines())


def planted(lines: Iterable[str], change: Iterable[str]) -> list[str]:
    """The lines of a file after a change, each line in place of the one with its key, or at the end."""
    result = list(lines)
    for line in change:
        key = _MARKS.sub("", line).partition("=")[0]
        place = next((number for number, other in enumerate(result) if other.partition("=")[0] == key), len(result))
        result[place : place + 1] = [line.removeprefix("+")]
    return result


def _mistake(base: tuple[str, ...], block: list[str]) -> Mistake:
    change = [line for line in block if line[0] not in "?!"]
    words, rest = next(line[2:].split(" ") for line in block if line[0] == "?"), block[-1]
    lines = planted(base, change)
    number = next(number for number, line in enumerate(lines) if "«" in line)
    start, end = lines[number].index("«"), lines[number].index("»") - 1
    lines = [_MARKS.sub("", line) for line in lines]
    mended = [*lines[:number], *filter(None, [rest[2:]]), *lines[number + 1 :]] if rest[0] == "!" else None
    return Mistake(
        base,
        tuple(_MARKS.sub("", line) for line in change),
        _joined(lines),
        number + 1,
        start + 1,
        end - start,
        tuple(words),
        None if mended is None else _joined(mended),
    )


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
