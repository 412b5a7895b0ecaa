"""The corpus of handler files: right ones, and mistakes that are planted into right ones.

`right_files.txt` has sections `=== TITLE | MARKS`; marks are `crlf` and the name of an encoding. A section of
`mistakes.txt` is a right file, a line `---`, and mistakes with an empty line between them. A mistake is one or more
lines in place of those with their keys, or at the end; `+` before a line puts it there although its key is given.
`«` and `»` surround what a person would point at. `? WORDS` are in the message or its help. `! LINE` is right in place
of the marked line, `!` alone removes it. Without them, the fix of ggfmt mends the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^=== (.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Mistake:
    """A file with a mistake: the place of it, words of its finding, and the mended file if ggfmt has no fix."""

    title: str
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
    for title, section in sections(path):
        base, _, blocks = section.partition("---\n")
        for block in filter(None, blocks.strip("\n").split("\n\n")):
            yield _planted(title, base.splitlines(), block.splitlines())


def _planted(title: str, lines: list[str], block: list[str]) -> Mistake:
    lines = list(lines)
    words, mended = [], None
    for line in block:
        if line.startswith("? "):
            words = line[2:].split(" ")
        elif line.startswith("!"):
            mended = line[2:]
        else:
            key = re.sub("[«»]", "", line).partition("=")[0]
            places = [number for number, other in enumerate(lines) if other.partition("=")[0] == key]
            if places:
                lines[places[0]] = line
            else:
                lines.append(line.removeprefix("+"))
    number = next(number for number, line in enumerate(lines) if "«" in line)
    start, end = lines[number].index("«"), lines[number].index("»") - 1
    planted = [re.sub("[«»]", "", line) for line in lines]
    right = None if mended is None else [*planted[:number], *([mended] if mended else []), *planted[number + 1 :]]
    return Mistake(
        f"{title}: {planted[number]}",
        "\n".join(planted) + "\n",
        number + 1,
        start + 1,
        end - start,
        tuple(words),
        None if right is None else "\n".join(right) + "\n",
    )
