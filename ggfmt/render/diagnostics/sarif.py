"""Diagnostics as a SARIF 2.1.0 log, for code scanning and editors.

A region ends before `endColumn`. The source line is the snippet of the context region, as the line is more than the
region itself. What does not print is shown as an escape, but for fixes, which are to be applied. A rule has the part of
the codes' page that tells of it as its help, and its address (`helpUri`) where the documents have one on the web: the
schema asks for an absolute one, and a path of this machine would mean nothing to others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ggfmt import docs
from ggfmt.config.lint.files import relative_name
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.version import VERSION

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def diagnostics_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as the log of one run, with the rules of the codes that occur."""
    findings = list(diagnostics)
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {"driver": {"name": "ggfmt", "version": VERSION, "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(name: str) -> dict[str, Any]:
    code = CODES[name]
    words = [word for word in code.title.split() if word not in ("a", "an")]
    page = docs.address("codes", name.lower())
    return {
        "id": name,
        "name": "".join(word[:1].upper() + word[1:] for word in words if word.isalnum()),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.explanation},
        "help": {"text": f"{code.explanation} `ggfmt docs {name}` shows an example.", "markdown": docs.find(name)},
        **({} if page is None else {"helpUri": page}),
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(finding: Diagnostic, rule: int) -> dict[str, Any]:
    text = visible(finding.message)
    if finding.help:
        text += f"\nhelp: {visible(finding.help)}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": text},
    }
    span = finding.span
    if span.file is None:
        return result
    artifact = {"uri": _uri(span.file)}
    place: dict[str, Any] = {"artifactLocation": artifact}
    if span.line is not None:
        place["region"] = _region(span)
        if span.source is not None:
            place["contextRegion"] = {"startLine": span.line, "snippet": {"text": visible(span.source)}}
    result["locations"] = [{"physicalLocation": place}]
    if finding.fix is not None and span.column is not None:
        inserted = finding.fix.encode("utf-8", "backslashreplace").decode()
        replacement = {"deletedRegion": _region(span), "insertedContent": {"text": inserted}}
        change = {"artifactLocation": artifact, "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": f"write `{visible(finding.fix)}`"}, "artifactChanges": [change]}]
    return result


def _region(span: Span) -> dict[str, int]:
    if span.line is None or span.column is None:
        return {} if span.line is None else {"startLine": span.line}
    return {"startLine": span.line, "startColumn": span.column, "endColumn": span.column + span.length}


def _uri(file: str) -> str:
    relative = relative_name(file)
    return Path(os.path.abspath(file)).as_uri() if relative is None else quote(os.fsencode(relative))
