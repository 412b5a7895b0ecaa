"""Diagnostics as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

    ::error file=conf/json.properties,line=7,endLine=7,col=38,endColumn=47,title=GG103::`a` cannot be `b`%0Ahelp: ...

The last column is part of the place. What does not print is shown as an escape, so that a file cannot write a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def diagnostics_github(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as one command each; every command ends with a line break."""
    return "".join(map(_command, diagnostics))


def _command(diagnostic: Diagnostic) -> str:
    properties = ",".join(f"{name}={visible(value).translate(_IN_PROPERTY)}" for name, value in _properties(diagnostic))
    message = visible(diagnostic.message)
    if diagnostic.help:
        message += f"\nhelp: {visible(diagnostic.help)}"
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{message.translate(_IN_DATA)}\n"


def _properties(diagnostic: Diagnostic) -> Iterator[tuple[str, str]]:
    span = diagnostic.span
    if span.file is not None:
        yield "file", span.file
    if span.line is not None:
        yield "line", str(span.line)
        yield "endLine", str(span.line)
        if span.column is not None:
            yield "col", str(span.column)
            yield "endColumn", str(span.column + max(span.length, 1) - 1)
    yield "title", diagnostic.code
