"""Diagnostics: what is wrong, where, and what to do about it.

A finding is data (`Diagnostic`) and is rendered at the edge only (`ggfmt.render`). Its code is
declared in `ggfmt.diagnostics.codes`, where its severity comes from. The exception tree:

    GgfmtError                   carries one or more diagnostics and the exit code of the command
      ConfigurationError    1    findings in a handler file or in table definitions
        MissingFileError    2    one of these files is not there, or cannot be read
      UsageError            2    the command line asks for something that cannot be done
      Abend                 3    the run stopped, nothing was committed
      CommittedWithErrors   5    the run is committed, and something failed after that
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.credentials import without_credentials
from ggfmt.diagnostics.exit_codes import AFTER_COMMIT, FINDINGS, STOPPED, USAGE


@dataclass(frozen=True)
class Span:
    """A place: in a text file by line and column, both from 1; in an input by byte offset; in data by table.

    `file` and `source`, the line, are for people: they have lost their credentials.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    length: int = 1
    source: str | None = None
    offset: int | None = None
    table: str | None = None
    field: str | None = None
    position: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None:
            object.__setattr__(self, "file", without_credentials(self.file))
        if self.source is not None:
            object.__setattr__(self, "source", without_credentials(self.source))

    def __str__(self) -> str:
        """The place in one line: `file:line:column` or `file, byte offset`, then table, column and position."""
        parts = []
        if self.file is not None:
            place = self.file
            if self.line is not None:
                place += f":{self.line}"
                if self.column is not None:
                    place += f":{self.column}"
            parts.append(place)
        if self.offset is not None:
            parts.append(f"byte {self.offset}")
        if self.table is not None:
            parts.append(f"table {self.table}")
        if self.field is not None:
            parts.append(f"column {self.field}")
        if self.position is not None:
            parts.append(f"position {self.position}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Rewrite:
    """A change of whole lines of a file: those from `line` on, which are `old` without their ends, become `new`."""

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `message` is a headline in one clause; `help` is an imperative or the legal values. Neither
    shows the credentials of a URI.

    `fix` is what to write in place of the text at `span`, where there is one safe answer. `rewrite` is what was
    probably meant, where writing it may change what the file says.
    """

    code: str
    message: str
    span: Span = Span()
    help: str | None = None
    fix: str | None = None
    rewrite: Rewrite | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", without_credentials(self.message))
        if self.help is not None:
            object.__setattr__(self, "help", without_credentials(self.help))

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    def at(self, **place: object) -> Diagnostic:
        """The same finding with more of its place known (keyword arguments of `Span`)."""
        return replace(self, span=replace(self.span, **place))  # type: ignore[arg-type]

    def __str__(self) -> str:
        place = str(self.span)
        text = f"{place}: " if place else ""
        text += f"{self.severity.value}[{self.code}] {self.message}"
        return f"{text}; {self.help}" if self.help else text


class GgfmtError(Exception):
    """Base of every error that ggfmt raises on purpose; `diagnostics` is never empty."""

    exit_code = STOPPED

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class ConfigurationError(GgfmtError):
    exit_code = FINDINGS


class MissingFileError(ConfigurationError):
    exit_code = USAGE


class UsageError(GgfmtError):
    exit_code = USAGE


class Abend(GgfmtError):
    exit_code = STOPPED


class CommittedWithErrors(GgfmtError):
    exit_code = AFTER_COMMIT


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, ignoring case; None when nothing is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """A ready help text, or None: did you mean `x`?"""
    near = did_you_mean(word, known)
    return f"did you mean `{near}`?" if near else None
