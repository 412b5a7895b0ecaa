"""Sizes that users see have decimal units: a kB has 1,000 bytes, an MB 1,000,000, a GB 1,000,000,000."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from documents import documents
from places import PACKAGE

from ggfmt.doctor.finding import size_text
from ggfmt.reading.files import MAX_MEMORY_BYTES, damage

_BINARY = re.compile(r"\b(?:[KMGT]iB|KB)\b")
_SHIFTED = re.compile(r">> ?(?:10|20|30)\b|/ ?(?:1024|\(1 << \d0\))")


@pytest.mark.parametrize("number", [1, 999, 1000, 1_500_000, 64 << 20, 300_000_505, 5 * 10**9])
def test_a_size_is_shown_in_decimal_units(number: int) -> None:
    value, unit = size_text(number).split(" ")
    assert float(value) * {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}[unit] == pytest.approx(number, rel=0.05)


def test_no_page_has_binary_units() -> None:
    found = {name: _BINARY.findall(path.read_text(encoding="utf-8")) for name, path in documents().items()}
    assert {name: units for name, units in found.items() if units} == {}


def texts(path: Path) -> list[str]:
    """What a module may show: its texts but for docstrings, and what is computed within them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docstrings = {id(node.body[0].value) for node in described if node.body and isinstance(node.body[0], ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found.append(node.value)
        elif isinstance(node, ast.FormattedValue):
            found.append(ast.unparse(node.value))
    return found


def test_no_message_has_binary_units() -> None:
    found = [(str(path), text) for path in sorted(PACKAGE.rglob("*.py")) for text in texts(path)]
    assert len({path for path, _ in found}) > 300
    assert [place for place in found if _BINARY.search(place[1]) or _SHIFTED.search(place[1])] == []


def test_a_limit_is_shown_in_the_same_units() -> None:
    told = damage(MemoryError("memory usage limit"), "xz")
    assert f"{MAX_MEMORY_BYTES // 10**6} MB" in told
