"""Diagnostics in one line each, `file:line:column: CODE message`, as editors and scripts take them."""

from __future__ import annotations

from collections.abc import Iterable

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible


def diagnostics_concise(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings in a line each; what does not print is shown as an escape."""
    return "".join(f"{_place(finding)}{finding.code} {visible(finding.message)}\n" for finding in diagnostics)


def _place(finding: Diagnostic) -> str:
    place = visible(str(finding.span))
    return f"{place}: " if place else ""
