"""Which findings of handler files are told: by code, by the start of codes, and by file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable
from dataclasses import dataclass

from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import did_you_mean

ALL = "ALL"

# What depends on the machine that a file is checked on.
_OF_MACHINE = ("GG119",)

# A file that cannot be read has no findings that could be chosen from.
_ALWAYS = ("GG100",)

_SELECTABLE = tuple(code for code in CODES if code.startswith("GG1"))


@dataclass(frozen=True)
class FileIgnores:
    """Codes that are not told of some files: `pattern` is a glob below `directory`, or of a file's bare name.

    After `!` it stands for all other files.
    """

    directory: str
    pattern: str
    codes: tuple[str, ...]

    def hold_for(self, path: str) -> bool:
        """Whether they are those of the file, which is given by its absolute path."""
        glob = self.pattern.removeprefix("!")
        below = os.path.join(self.directory, glob)
        fits = fnmatch.fnmatchcase(path, below) or fnmatch.fnmatchcase(os.path.basename(path), glob)
        return fits != self.pattern.startswith("!")


@dataclass(frozen=True)
class Rules:
    """The codes that are told of a file: those that are selected more closely than they are ignored.

    `GG11` stands for all codes that start with it, `ALL` for all; the longer start counts for more, `ignore` where both
    are equal. `never` counts for more than either. `machine`: what depends on the machine is told too.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    machine: bool = True

    def is_enabled(self, code: str) -> bool:
        if code in _ALWAYS or code not in _SELECTABLE:
            return True
        if (code in _OF_MACHINE and not self.machine) or _closest(code, self.never) >= 0:
            return False
        return _closest(code, self.select) > _closest(code, self.ignore)


def unknown(selector: str) -> str | None:
    """What is wrong with what is to stand for codes, and what was probably meant; None if it stands for some."""
    if selector == ALL or (selector and any(code.startswith(selector) for code in _SELECTABLE)):
        return None
    near = did_you_mean(selector, (ALL, *_SELECTABLE))
    return f"did you mean `{near}`?" if near else "codes of handler files are `GG100` and so on, `GG1`, `GG11`, `ALL`"


def _closest(code: str, selectors: Iterable[str]) -> int:
    """How many characters of the code the closest of the selectors names; -1 if none fits."""
    return max((0 if one == ALL else len(one) for one in selectors if one == ALL or code.startswith(one)), default=-1)
