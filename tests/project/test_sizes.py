"""Limits for the size of the package: a commit may lower them, and raises them only with a reason in its message."""

from __future__ import annotations

import sys
import threading
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from places import ROOT

import ggfmt

# Lines of Python by package; "" for the modules beside them.
PYTHON_LINES = {
    "": 2_039,
    "arrow": 249,
    "cli": 2_430,
    "columnar": 2_169,
    "commands": 2_081,
    "commit": 2_544,
    "comparison": 2_721,
    "config": 7_020,
    "database": 516,
    "definitions": 1_252,
    "diagnostics": 619,
    "docs": 207,
    "doctor": 575,
    "formats": 33_351,
    "frames": 3_114,
    "java": 1_444,
    "kafka": 1_443,
    "kernels": 496,
    "model": 854,
    "options": 1_614,
    "reading": 7_111,
    "render": 3_134,
    "replicat": 3_292,
    "rowfiles": 987,
    "rows": 12_547,
    "sinks": 6_477,
    "spark": 2_145,
}
C_LINES = 8_524
MODULES = 120  # of which one conversion calls a function


def _lines(*patterns: str) -> int:
    files = (file for pattern in patterns for file in (ROOT / "ggfmt").glob(pattern))
    return sum(file.read_bytes().count(b"\n") for file in files)


def test_the_package_does_not_grow() -> None:
    packages = {path.name for path in (ROOT / "ggfmt").iterdir() if (path / "__init__.py").is_file()}
    assert {*packages, ""} == PYTHON_LINES.keys()
    lines = {name: _lines(f"{name}/**/*.py") for name in packages} | {"": _lines("*.py")}
    assert {name: count for name, count in lines.items() if count > PYTHON_LINES[name]} == {}
    assert _lines("**/*.c", "**/*.h") <= C_LINES


@pytest.mark.process
def test_a_conversion_leads_through_few_modules(tmp_path: Path) -> None:
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:  # the bodies of modules and classes are not
            called.add(frame.f_globals.get("__name__", ""))

    sample = ROOT / "samples" / "tcustord.json"
    ggfmt.convert(sample, output=tmp_path / "first", to="json")  # declarations and imports count once for all
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        ggfmt.convert(sample, output=tmp_path / "second", to="json")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = {name for name in called if name.startswith("ggfmt")}
    assert "ggfmt.formats.records.reader" in own
    assert len(own) <= MODULES, sorted(own)
