"""A code of diagnostics: its severity, title, explanation and example."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """An error stops a command, a warning stops `validate-config --strict`, a note stops nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Code:
    """One kind of diagnostic: its severity, its general title, and an explanation for `ggfmt explain`.

    `before` shows what is wrong, `after` the same corrected, in a few lines each.
    """

    severity: Severity
    title: str
    explanation: str
    before: str = ""
    after: str = ""


def error(title: str, explanation: str) -> Code:
    return Code(Severity.ERROR, title, explanation)


def warning(title: str, explanation: str) -> Code:
    return Code(Severity.WARNING, title, explanation)


def note(title: str, explanation: str) -> Code:
    return Code(Severity.NOTE, title, explanation)
