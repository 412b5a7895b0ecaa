"""Diagnostics as JUnit XML, which most build servers show: a test suite for each file, a test case for each finding.

An error or a warning is a failure, a file without any is one test case that passes, a note is part of the suite's
output. Names of test cases stay when lines move. What does not print, and so all that XML cannot carry, is shown as an
escape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible
from ggfmt.render.diagnostics.identity import names
from ggfmt.render.diagnostics.text import diagnostics_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def diagnostics_junit(findings: Mapping[str, Sequence[Diagnostic]]) -> str:
    """The findings of each file, by its name, as XML in ASCII; it ends with a line break."""
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
    for finding, name in zip(failures, names(failures), strict=True):
        case = SubElement(suite, "testcase", classname=file, name=name)
        message = visible(finding.message)
        SubElement(case, "failure", type=finding.code, message=message).text = diagnostics_text([finding])
    if not failures:
        SubElement(suite, "testcase", classname=file, name="validate-config")
    if notes:
        SubElement(suite, "system-out").text = diagnostics_text(notes)
    return suite
