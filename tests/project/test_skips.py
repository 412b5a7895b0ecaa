"""Each reason to skip a test is declared: CI may lack what it names, or must have it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
from places import TESTS
from skips import ALLOWED, REQUIRED, fail_in_ci, is_allowed

DECLARED = {**ALLOWED, **REQUIRED}


def reasons() -> Iterator[tuple[str, str]]:
    """The place and the reason of each skip in the tests; of a computed text, its constant parts."""
    for path in sorted(TESTS.rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        for call in calls:
            if ast.unparse(call.func).removeprefix("pytest.") not in ("skip", "mark.skipif", "importorskip"):
                continue
            given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"] or call.args[:1]
            parts = (part for value in given for part in ast.walk(value) if isinstance(part, ast.Constant))
            yield f"{path.relative_to(TESTS)}:{call.lineno}", " ".join(str(part.value) for part in parts)


def test_each_skip_is_declared() -> None:
    found = dict(reasons())
    assert len(found) > 60
    undeclared = [place for place, reason in found.items() if not any(re.search(each, reason) for each in DECLARED)]
    assert undeclared == []
    unused = [each for each in ALLOWED if not any(re.search(each, reason) for reason in found.values())]
    assert unused == []


def report(reason: str) -> Any:
    skipped = ("tests/test_x.py", 1, f"Skipped: {reason}")
    return pytest.TestReport("tests/test_x.py::test", ("tests/test_x.py", 1, ""), {}, "skipped", skipped, "setup")


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("there is no PostgreSQL", "failed"),
        ("could not import 'deltalake': No module named 'deltalake'", "failed"),
        ("no native kernels: off", "failed"),
        ("the recorded messages are not there", "skipped"),
    ],
)
def test_a_skip_for_what_ci_must_have_is_a_failure_there(
    reason: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = report(reason), report(reason)
    monkeypatch.delenv("CI", raising=False)
    fail_in_ci(here)
    monkeypatch.setenv("CI", "true")
    fail_in_ci(there)
    assert (here.outcome, there.outcome) == ("skipped", outcome)
    assert is_allowed(reason) is (outcome == "skipped")
