"""Diagnostics as a Code Quality report of GitLab, which shows them in merge requests.

The format is that of GitLab's documents (docs.gitlab.com/ci/testing/code_quality): a list of objects with
`description`, `check_name`, `fingerprint`, `severity` and `location`. GitLab knows a finding again by its fingerprint,
which is made of the file, the code and what the finding is about, so that it stays when lines move.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ggfmt.config.lint.files import relative_name
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible
from ggfmt.render.diagnostics.identity import names

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def diagnostics_gitlab(findings: Mapping[str, Sequence[Diagnostic]]) -> str:
    """The findings of each file as JSON; paths are relative to the project that GitLab builds, or to the directory."""
    issues = [
        _issue(finding, file, name)
        for file, of_file in findings.items()
        for finding, name in zip(of_file, names(of_file), strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Diagnostic, file: str, name: str) -> dict[str, Any]:
    path = _path(file)
    line = finding.span.line if finding.span.file == file else None  # that of a setting is on the command line
    text = visible(finding.message)
    if finding.help:
        text += f"; {visible(finding.help)}"
    return {
        "description": text,
        "check_name": finding.code,
        "fingerprint": hashlib.sha256(f"{path}\n{name}".encode()).hexdigest(),
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": path, "lines": {"begin": line or 1}},
    }


def _path(file: str) -> str:
    # GitLab sets the variable in each job.
    return visible(relative_name(file, os.environ.get("CI_PROJECT_DIR")) or file)
