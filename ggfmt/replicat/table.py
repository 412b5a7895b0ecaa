"""The table of parameters, options of MAP and functions (`parameters.txt`), which the parser and all pages follow."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache

from ggfmt.dataclasses import dataclass


class MessageEffect(str, Enum):
    """What an entry does to messages, or the file to which it belongs."""

    DECIDES = "decides"
    NONE = "none"
    ASSUMED = "assumed"
    REFUSED = "refused"
    EXTRACT = "Extract"
    MANAGER = "Manager"
    GLOBALS = "GLOBALS"


OTHER_FILES = (MessageEffect.EXTRACT, MessageEffect.MANAGER, MessageEffect.GLOBALS)


class Section(str, Enum):
    PARAMETER = "parameters"
    OPTION = "options"
    FUNCTION = "functions"


@dataclass(frozen=True)
class TableEntry:
    """A parameter with its opposites, an option of MAP, or a function. `names` are in upper case, without `@`."""

    section: Section
    names: tuple[str, ...]
    form: str
    default: str
    scope: str
    effect: MessageEffect
    source: str
    doc: str

    @property
    def shown(self) -> str:
        """Return what a file has: the names and the form, such as `@STRCAT (text, …)`."""
        mark = "@" if self.section is Section.FUNCTION else ""
        return f"{' | '.join(mark + name for name in self.names)} {self.form}".strip()


def _read() -> Iterator[TableEntry]:
    lines = (pkgutil.get_data(__package__, "parameters.txt") or b"").decode().splitlines()
    section, row, doc = Section.PARAMETER, "", ""
    for line in (*lines, "["):
        if line.startswith(" "):
            doc = f"{doc} {line.strip()}".lstrip()
            continue
        if row:
            names, form, default, scope, effect, source = (
                part.strip().replace("\0", "|") for part in row.replace("\\|", "\0").split("|")
            )
            yield TableEntry(
                section, tuple(names.split(", ")), form, default, scope, MessageEffect(effect), source, doc
            )
        row, doc = ("" if line[:1] in ("", "#", "[") else line), ""
        if line[:1] == "[" and line != "[":
            section = Section(line[1:-1])


@cache
def entries(section: Section) -> Mapping[str, TableEntry]:
    """Return the entries of a section by each of their names."""
    return {name: entry for entry in all_entries() if entry.section is section for name in entry.names}


@cache
def all_entries() -> tuple[TableEntry, ...]:
    return tuple(_read())
