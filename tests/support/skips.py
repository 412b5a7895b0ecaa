"""Which tests may be skipped where `CI` is set, and why. There, any other skip is a failure.

Packages of the extra `test` are imported plainly. `tests/project/test_skips.py` compares the lists with the tests.
"""

from __future__ import annotations

import os
import re

import pytest

# Reasons of skips, as regular expressions, and why a run of CI may lack what they name.
ALLOWED = {
    r"(messages|changes|stream|cases|schema files|inputs?) (is|are) not there": "data beside the project",
    r"data are (not there|missing)": "data beside the project",
    r"shared (data|reference) is not here|folder of cases": "data beside the project",
    r"no MariaDB that can be started|a database is missing": "Debian's `mariadb-server`, if `.ci/run` may install it",
    r"there is no wal2json": "Debian's `postgresql-15-wal2json`, if `.ci/run` may install it",
    r"Debezium is not installed": "a run of hours, with an environment of its own",
    r"no `tmux`|no `patch`|no less|no bash|no Neovim": "programs of an interactive system",
    r"noida-db, the broker": "no wheel for some platforms",
    r"needs root and setpriv|may mount a directory|can be mounted here": "rights of the user",
    r"cannot exchange names": "file systems",
    r"Linux|a link needs a privilege|SSE2 is on x86|looks at /proc": "other platforms",
    r"needs Python 3\.11": "older Pythons",
    r"this Java has no|only a full JDK 17": "the Java of the package index is a part of a JDK",
    r"a lakehouse has current rows": "a case that does not exist",
    r"needs the extra `(browser|docs|release)`|there is no Chromium|nbformat|nbclient": "extras of long tests",
    r"needs uv|there is no Python": "other Pythons",
    r"the page needs Spark": "another release of Spark",
}
# What CI must have, and where it comes from.
REQUIRED = {
    r"kernels": "`pip install -e .` builds them with a C compiler",
    r"PostgreSQL": "the Debian package `postgresql`, which `.ci/run` installs or asks for",
    r"duckdb": "the extra `test`",
    r"no server of": "the extra `test`; Azurite, which `.ci/run` installs with npm",
}


def is_allowed(reason: str) -> bool:
    return any(re.search(pattern, reason) for pattern in ALLOWED)


def fail_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a failure of a skip whose reason CI does not allow."""
    if not report.skipped or not os.environ.get("CI") or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not is_allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {reason} (see tests/support/skips.py)"
