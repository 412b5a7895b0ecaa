"""Diagnostics have declared codes, and name the nearest known word."""

from __future__ import annotations

import ast
import difflib
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import PACKAGE
from strategies import examples

from ggfmt import docs
from ggfmt.diagnostics import diagnostic
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, did_you_mean
from ggfmt.formats.api.reading import UnknownTable

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


def test_an_error_survives_another_process() -> None:
    error = pickle.loads(pickle.dumps(UsageError("GG501", "the file exists", "out.json", "name another")))
    assert isinstance(error, UsageError)
    assert str(error) == "out.json: error[GG501] the file exists; name another"


def test_every_code_in_the_package_is_declared() -> None:
    found = list(_codes())
    assert len(found) > len(CODES)
    assert [place for code, place in found if code not in CODES] == []


class MadeError(NamedTuple):
    """A place in the package that makes a diagnostic; `topic`: the page that it names instead of that of its code."""

    place: str
    code: str
    texts: list[str]
    topic: str | None


def _text(node: ast.expr) -> str | None:
    """A text as it is written, with `…` for its values; None for another expression."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def errors() -> Iterator[MadeError]:
    """Every place that makes a diagnostic: by a class of errors, `Diagnostic`, or a function that takes a code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and _CODE.fullmatch(_text(node.args[0]) or ""):
                code, *texts = filter(None, map(_text, [*node.args, *(each.value for each in node.keywords)]))
                topics = [_text(each.value) for each in node.keywords if each.arg == "topic"]
                yield MadeError(f"{path.relative_to(PACKAGE)}:{node.lineno}", code, texts, *(topics or [None]))


def test_each_code_is_made_somewhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "codes.py"]
    assert sorted(set(CODES) - set(_CODE.findall("".join(texts)))) == []
    made = list(errors())
    assert len({each.code for each in made}) > 0.9 * len(CODES)
    assert [each.place for each in made if each.topic and docs.find(each.topic) is None] == []


def test_a_text_of_an_error_is_a_clause() -> None:
    wrong = [
        (each.place, text) for each in errors() for text in each.texts if text.endswith(".") or text != text.strip()
    ]
    assert wrong == []


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


def test_a_finding_with_more_of_its_place_stays_of_its_class() -> None:
    found = UnknownTable.named("GG.T").at(file="in://user:secret@host/x", offset=7)
    assert isinstance(found, UnknownTable)
    assert found == UnknownTable("GG205", found.message, Span("in://host/x", offset=7, table="GG.T"), found.help)


@given(
    st.text(alphabet="ab:/@='\"? \n", max_size=30), st.sampled_from(["", "password", "://u:p@h ", "jdbc:oracle:thin:"])
)
def test_credentials_are_found_wherever_their_forms_are(text: str, form: str) -> None:
    """The function looks at a text with a form only if the text has its marks."""
    text = text[:15] + form + text[15:]
    hidden = diagnostic._ORACLE.sub(r"\1@", diagnostic._without_users(text))
    assert diagnostic.without_credentials(text) == diagnostic._ASSIGNED.sub(diagnostic._assigned, hidden)
