"""Diagnostics in the format of reviewdog, which puts them into reviews of many services.

A `DiagnosticResult` of its `proto/rdf/reviewdog.proto`: columns count bytes of UTF-8 from 1, a range ends before its
`end`. A safe fix is a suggestion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ggfmt import docs
from ggfmt.config.lint.files import relative_name
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.render.diagnostics.text import sound

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def diagnostics_rdjson(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as one JSON object."""
    found = [_diagnostic(finding) for finding in diagnostics]
    return json.dumps({"source": {"name": "ggfmt"}, "diagnostics": found}, indent=2) + "\n"


def _diagnostic(finding: Diagnostic) -> dict[str, Any]:
    text = visible(finding.message)
    if finding.help:
        text += f"\nhelp: {visible(finding.help)}"
    page = docs.address("codes", finding.code.lower())
    code = {"value": finding.code, **({} if page is None else {"url": page})}
    told: dict[str, Any] = {"message": text, "severity": _SEVERITIES[finding.severity], "code": code}
    span = finding.span
    if span.file is None:
        return told
    told["location"] = {"path": visible(relative_name(span.file) or span.file)}
    if span.line is not None:
        told["location"]["range"] = _range(span)
        if finding.fix is not None and span.column is not None:
            told["suggestions"] = [{"range": _range(span), "text": sound(finding.fix)}]
    return told


def _range(span: Span) -> dict[str, Any]:
    if span.column is None:
        return {"start": {"line": span.line}}
    ends = (span.column - 1, span.column - 1 + span.length)
    start, end = ({"line": span.line, "column": _bytes_before(span, index) + 1} for index in ends)
    return {"start": start, "end": end}


def _bytes_before(span: Span, index: int) -> int:
    """How many bytes of UTF-8 come before a character of the line; behind the line, a byte a character."""
    source = span.source or ""
    return len(source[:index].encode("utf-8", "replace")) + max(index - len(source), 0)
