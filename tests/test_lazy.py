"""Patterns and values that are made at their first use."""

from __future__ import annotations

import pickle
import re

import pytest

from ggfmt.lazy import LazyMapping, lazy_regex


def test_a_pattern_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    compile = re.compile

    def noted(*given: object) -> object:
        compiled.append(given)
        return compile(*given)  # type: ignore[call-overload]

    monkeypatch.setattr(re, "compile", noted)
    pattern = lazy_regex(r"(?P<name>a+)b", re.IGNORECASE)
    assert pattern.pattern == r"(?P<name>a+)b" and compiled == []
    match = pattern.fullmatch("AAb")
    assert match is not None and match["name"] == "AA"
    assert pattern.sub("x", "aabAB") == "xx" and pattern.groups == 1
    assert compiled[0] == (r"(?P<name>a+)b", re.IGNORECASE)
    copied = pickle.loads(pickle.dumps(pattern))
    assert copied.search("-ab-") is not None
    with pytest.raises(AttributeError):
        pattern.unknown  # type: ignore[attr-defined]  # noqa: B018


def test_a_value_is_made_once() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    values = LazyMapping(["a", "b"], make)
    assert list(values) == ["a", "b"] and len(values) == 2 and "a" in values and "z" not in values
    assert made == []
    assert values["a"] == values["a"] == "A" and made == ["a"]
    assert values.get("z") is None and dict(values) == {"a": "A", "b": "B"}
    assert made == ["a", "b"]
