"""The corpus of handler files: right ones, and mistakes that are planted into right ones.

`right_files.txt` has sections `=== TITLE | MARKS`; marks are `crlf` and the name of an encoding. A section of
`mistakes.txt` is a right file, a line `---`, and mistakes with an empty line between them. A mistake is one or more
lines in place of those with their keys, or at the end; `+` before a line puts it there although its key is given, and
`-` before a key removes its line. `«` and `»` surround what a person would point at. `? WORDS` are in the message or
its help; a `note` is one if it is the first word. `! LINE` is right in place of the marked line, as are several of
them; `!` alone removes it. Without them, the fix of ggfmt mends the file. A section with `{type}` is for each type of
its title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^=== (.*)\n", re.MULTILINE)
_MARKS = re.compile("[«»]")
_BELOW = re.compile(r"gg\.(?:event)?handler\.[^.]")


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

    @property
    def owners(self) -> set[str]:
        """What people get wrong so, such as `eventhandler s3`: the type of the line, and the target of the file; for a
        line below no handler, the type of the first handler."""
        given = {key.lower(): value.strip().lower() for key, _, value in (line.partition("=") for line in self.base)}
        target, first = given.get("gg.target"), given.get("gg.handlerlist", "").partition(",")[0]
        key = self.text.splitlines()[self.line - 1].partition("=")[0].lower()
        _, kind, name, *_ = (key if _BELOW.match(key) else f"gg.handler.{first}").split(".")
        type = given.get(f"gg.{kind}.{name}.type", name)
        return {f"{kind} {type}", *([f"target {target}"] if target else [])}


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
        for type in title.split() if "{type}" in section else [""]:
            base, _, blocks = section.replace("{type}", type).partition("---\n")
            for block in filter(None, blocks.strip("\n").split("\n\n")):
                yield _mistake(tuple(base.splitlines()), block.splitlines())


def planted(lines: Iterable[str], change: Iterable[str]) -> list[str]:
    """The lines of a file after a change, each line in place of the one with its key, or at the end."""
    result = list(lines)
    for line in change:
        key = _MARKS.sub("", line).partition("=")[0].removeprefix("-")
        place = next((number for number, other in enumerate(result) if other.partition("=")[0] == key), len(result))
        result[place : place + 1] = [] if line[0] == "-" else [line.removeprefix("+")]
    return result


def _mistake(base: tuple[str, ...], block: list[str]) -> Mistake:
    change = [line for line in block if line[0] not in "?!"]
    words, right = next(line[2:].split(" ") for line in block if line[0] == "?"), [x for x in block if x[0] == "!"]
    lines = planted(base, change)
    number = next(number for number, line in enumerate(lines) if "«" in line)
    start, end = lines[number].index("«"), lines[number].index("»") - 1
    lines = [_MARKS.sub("", line) for line in lines]
    mended = [*lines[:number], *filter(None, (line[2:] for line in right)), *lines[number + 1 :]] if right else None
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
