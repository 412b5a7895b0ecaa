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

PYTHON_LINES = 85_408
C_LINES = 7_532
MODULES = 120  # of which one conversion calls a function


def _lines(*patterns: str) -> int:
    files = (file for pattern in patterns for file in (ROOT / "ggfmt").rglob(pattern))
    return sum(file.read_bytes().count(b"\n") for file in files)


def test_the_package_does_not_grow() -> None:
    assert _lines("*.py") <= PYTHON_LINES
    assert _lines("*.c", "*.h") <= C_LINES


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
