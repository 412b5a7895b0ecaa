"""Diagnostics have declared codes, and name the nearest known word."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import PACKAGE
from strategies import examples

from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic, did_you_mean

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


WORDS = st.text("abcABß_. ", max_size=12) | st.sampled_from(["topicMappingTemplate", "keyMappingTemplate", "type"])


@given(WORDS, st.lists(WORDS.filter(bool), max_size=8))
@examples(200)
def test_the_nearest_word_is_that_of_the_standard_library(word: str, known: list[str]) -> None:
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    longer = [name for name in folded if len(word) >= 4 and name.startswith(word.casefold())]
    expected = folded[near[0]] if near and 2 * len(near[0]) >= len(word) else None
    assert did_you_mean(word, known) == (folded[min(longer, key=len)] if longer else expected)


def test_words_without_common_letters_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difflib, "SequenceMatcher", None)
    assert did_you_mean("zzzzqqqq", ("topicMappingTemplate", "keyMappingTemplate", "z")) is None
    assert did_you_mean("z" * 100_000, ("z" * 100_000,)) is None
    with pytest.raises(TypeError):
        did_you_mean("topicMapingTemplate", ("topicMappingTemplate",))
