"""Diagnostics have declared codes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from places import PACKAGE

from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic

_CODE = re.compile(r"GG[0-9]{3}")


def test_a_diagnostic_has_a_declared_code() -> None:
    with pytest.raises(ValueError, match="`GG999` is not declared"):
        Diagnostic("GG999", "x")
    with pytest.raises(ValueError, match="`GG10` is not declared"):
        replace(Diagnostic("GG101", "x"), code="GG10")


def _codes() -> Iterator[tuple[str, str]]:
    """Every text in the package that is a code, and its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
                yield node.value, f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_every_code_in_the_package_is_declared() -> None:
    found = list(_codes())
    assert len(found) > len(CODES)
    assert [place for code, place in found if code not in CODES] == []
