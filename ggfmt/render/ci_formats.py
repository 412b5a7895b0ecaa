"""Diagnostics in the formats of CI systems and code review: GitHub, GitLab, RDJSON, SARIF and JUnit."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ggfmt import docs
from ggfmt.config.lint.files import relative_name
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import diagnostics_text, escape_surrogates, finding_names
from ggfmt.version import VERSION

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def diagnostics_github(diagnostics: Iterable[Diagnostic]) -> str:
    return "".join(map(_command, diagnostics))


def _command(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    values: dict[str, str | int | None] = {"file": span.file, "line": span.line, "endLine": span.line}
    if span.line is not None and span.column is not None:
        values |= {"col": span.column, "endColumn": span.column + max(span.length, 1) - 1}
    values["title"] = diagnostic.code
    given = {name: visible(str(value)).translate(_IN_PROPERTY) for name, value in values.items() if value is not None}
    properties = ",".join(f"{name}={value}" for name, value in given.items())
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{_text(diagnostic).translate(_IN_DATA)}\n"


def _text(diagnostic: Diagnostic, before_help: str = "\nhelp: ") -> str:
    return visible(diagnostic.message) + (before_help + visible(diagnostic.help) if diagnostic.help else "")


# A Code Quality report of GitLab, which shows findings in merge requests. The format is that of GitLab's documents
# (docs.gitlab.com/ci/testing/code_quality): a list of objects with `description`, `check_name`, `fingerprint`,
# `severity` and `location`. GitLab recognizes a finding by its fingerprint, which is made of the file, the code and the
# subject of the finding, so that it stays when lines move.

_GITLAB_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def diagnostics_gitlab(findings: Mapping[str, Sequence[Diagnostic]]) -> str:
    """Return the findings of each file as JSON; paths are relative to the project that GitLab builds."""
    issues = [
        _issue(finding, file, name)
        for file, of_file in findings.items()
        for finding, name in zip(of_file, finding_names(of_file), strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Diagnostic, file: str, name: str) -> dict[str, Any]:
    # GitLab sets the variable in each job.
    path = visible(relative_name(file, os.environ.get("CI_PROJECT_DIR")) or file)
    line = finding.span.line if finding.span.file == file else None  # the line of a setting is on the command line
    return {
        "description": _text(finding, "; "),
        "check_name": finding.code,
        "fingerprint": hashlib.sha256(f"{path}\n{name}".encode()).hexdigest(),
        "severity": _GITLAB_SEVERITIES[finding.severity],
        "location": {"path": path, "lines": {"begin": line or 1}},
    }


# The format of reviewdog, which adds findings to reviews of many services. A `DiagnosticResult` of its
# `proto/rdf/reviewdog.proto`: columns count bytes of UTF-8 from 1, a range ends before its `end`. A safe fix is a
# suggestion.

_RDJSON_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def diagnostics_rdjson(diagnostics: Iterable[Diagnostic]) -> str:
    found = [_diagnostic(finding) for finding in diagnostics]
    return json.dumps({"source": {"name": "ggfmt"}, "diagnostics": found}, indent=2) + "\n"


def _diagnostic(finding: Diagnostic) -> dict[str, Any]:
    page = docs.address(finding.code)
    code = {"value": finding.code, **({} if page is None else {"url": page})}
    severity = _RDJSON_SEVERITIES[finding.severity]
    diagnostic: dict[str, Any] = {"message": _text(finding), "severity": severity, "code": code}
    span = finding.span
    if span.file is None:
        return diagnostic
    diagnostic["location"] = {"path": visible(relative_name(span.file) or span.file)}
    if span.line is not None:
        diagnostic["location"]["range"] = _range(span)
        if finding.fix is not None and span.column is not None:
            diagnostic["suggestions"] = [{"range": _range(span), "text": escape_surrogates(finding.fix)}]
    return diagnostic


def _range(span: Span) -> dict[str, Any]:
    if span.column is None:
        return {"start": {"line": span.line}}
    ends = (span.column - 1, span.column - 1 + span.length)
    start, end = ({"line": span.line, "column": _bytes_before(span, index) + 1} for index in ends)
    return {"start": start, "end": end}


def _bytes_before(span: Span, index: int) -> int:
    """Count the UTF-8 bytes before a character of the line; after its end, one for each character."""
    source = span.source or ""
    return len(source[:index].encode("utf-8", "replace")) + max(index - len(source), 0)


# A SARIF 2.1.0 log, for code scanning and editors. A region ends before `endColumn`. The source line is the snippet of
# the context region, because the line is longer than the region. Characters that do not print are shown as escapes,
# except in fixes, which are applied. The help of a rule is the section about it in the page of codes. Its address
# (`helpUri`) is set if the documents are on the web: the schema requires an absolute one, and a local path would mean
# nothing to others.

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def diagnostics_sarif(diagnostics: Iterable[Diagnostic]) -> str:
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
    page = docs.address(name)
    more = f"`ggfmt docs {name}` shows an example, `ggfmt docs {code.page}` what to do."
    return {
        "id": name,
        "name": "".join(word[:1].upper() + word[1:] for word in words if word.isalnum()),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.explanation},
        "help": {"text": f"{code.explanation} {more}", "markdown": docs.find(name)},
        **({} if page is None else {"helpUri": page}),
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(finding: Diagnostic, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": _text(finding)},
    }
    span = finding.span
    if span.file is None:
        return result
    relative = relative_name(span.file)
    uri = Path(os.path.abspath(span.file)).as_uri() if relative is None else quote(os.fsencode(relative))
    artifact = {"uri": uri}
    place: dict[str, Any] = {"artifactLocation": artifact, "region": _region(span)}
    if span.line is not None and span.source is not None:
        place["contextRegion"] = {"startLine": span.line, "snippet": {"text": visible(span.source)}}
    result["locations"] = [{"physicalLocation": place}]
    if finding.fix is not None and span.column is not None:
        replacement = {"deletedRegion": _region(span), "insertedContent": {"text": escape_surrogates(finding.fix)}}
        change = {"artifactLocation": artifact, "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": f"write `{visible(finding.fix)}`"}, "artifactChanges": [change]}]
    return result


def _region(span: Span) -> dict[str, int]:
    if span.line is None or span.column is None:
        return {"startLine": span.line or 1}  # GitHub refuses a log with a place that has no line
    return {"startLine": span.line, "startColumn": span.column, "endColumn": span.column + span.length}


# JUnit XML, which most CI servers show: a test suite for each file, a test case for each finding. An error or a warning
# is a failure, a file without any is one passed test case, and notes are output of the suite. Names of test cases stay
# when lines move. Characters that do not print, and so all that XML lacks, are shown as escapes.


def diagnostics_junit(findings: Mapping[str, Sequence[Diagnostic]]) -> str:
    """Return the findings of each file, by its name, as XML in ASCII; it ends with a line break."""
    from xml.etree.ElementTree import Element, indent, tostring

    suites = Element("testsuites", name="ggfmt validate-config")
    for file, of_file in findings.items():
        suites.append(_suite(visible(file), of_file))
    for count in ("tests", "failures"):
        suites.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    indent(suites)
    document: bytes = tostring(suites, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"


def _suite(file: str, findings: Sequence[Diagnostic]) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    failures = [finding for finding in findings if finding.severity is not Severity.NOTE]
    notes = [finding for finding in findings if finding.severity is Severity.NOTE]
    tests = str(max(len(failures), 1))
    suite = Element("testsuite", name=file, tests=tests, failures=str(len(failures)), errors="0", skipped="0")
    for finding, name in zip(failures, finding_names(failures), strict=True):
        case = SubElement(suite, "testcase", classname=file, name=name)
        message = visible(finding.message)
        SubElement(case, "failure", type=finding.code, message=message).text = diagnostics_text([finding])
    if not failures:
        SubElement(suite, "testcase", classname=file, name="validate-config")
    if notes:
        SubElement(suite, "system-out").text = diagnostics_text(notes)
    return suite
