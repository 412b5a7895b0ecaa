"""What a user reads is in plain English, as far as that can be measured."""

from __future__ import annotations

import re
from collections import Counter

import plain_english
import pytest
from places import PACKAGE, ROOT
from plain_english import c_comments, code_texts, comments, docstrings, findings, opaque, sentences

# How many findings a text may have. This list only shrinks: a number that is too high is an error, too.
EXCEPTIONS = {
    "module formats/avro/programs.py": 1,  # texts of exceptions that nothing shows
    "module formats/json/dumps.py": 1,
    "module formats/qlik/avro_read.py": 1,
    "module java/regex.py": 1,  # names of categories
}


def test_texts_have_short_sentences_and_no_words_of_our_own() -> None:
    found: dict[str, list[str]] = {}
    for name, text in plain_english.texts():
        found.setdefault(name, []).extend(findings(text))
    counts = Counter({name: len(listed) for name, listed in found.items() if listed})
    more = {name: found[name] for name, count in counts.items() if count > EXCEPTIONS.get(name, 0)}
    assert more == {}
    assert {name: count for name, count in EXCEPTIONS.items() if counts[name] < count} == {}, "shrink EXCEPTIONS"


def test_docstrings_and_comments_hide_nothing() -> None:
    found = [f"{file.relative_to(ROOT)}: {problem}" for file, text in code_texts() for problem in opaque(text)]
    assert found == []


_ERROR = r"((?:[A-Z]\w*Error|Abend|RowErrors|CommittedWithErrors) (?:if|for|unless|GG)[^.]*)"
_ERRORS = re.compile(rf"[.]\s+(?:(?:(?!Raises)[^.;])*;\s+)?{_ERROR}")


def test_docstrings_say_what_they_raise_in_one_form() -> None:
    texts = [text for file in sorted(PACKAGE.rglob("*.py")) for text in docstrings(file.read_text(encoding="utf-8"))]
    assert sum("Raises: " in text for text in texts) > 200
    assert [found[1] for text in texts for found in _ERRORS.finditer(f". {text}")] == []


def test_docstrings_and_comments_of_all_kinds_are_read() -> None:
    module = '"""M."""\nclass A:\n    """Told."""\n    async def b(self):\n        """A\n        c."""\n'
    module += "        # It\n        # stands\n        # there.\n        d = 1  # No\n"
    assert list(docstrings(module)) == ["M.", "Told.", "A\nc."]
    assert [" ".join(text.split()) for text in comments(module)] == ["It stands there. No"]
    assert list(c_comments("int a; /* It\n * lies. */ int b; /* No. */")) == [" It\nlies. ", " No. "]
    assert len(list(opaque("It stands for one. It\nstands there, and\nsays so."))) == 2
    suffixes = {file.suffix for file, _ in code_texts()}
    assert suffixes == {".py", ".c", ".h"}


def test_all_texts_are_measured() -> None:
    named = {name.partition(" ")[0] for name, _ in plain_english.texts()}
    assert named == {"page", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "command", "codes", "format", "module"}


@pytest.mark.parametrize(
    "text",
    [
        " ".join(["word"] * 26) + ".",
        "The log tells of it.",
        "`run` says so. What is read stands in the manifest.",
        "* One.\n* A row stands for another.",
        "| Format | Meaning |\n| --- | --- |\n| `x` | flavour those of `y` |",
    ],
)
def test_what_a_reader_stumbles_over_is_found(text: str) -> None:
    assert list(findings(text))


def test_blocks_tables_and_links_are_no_sentences() -> None:
    text = "# What is a title\n\nA `b c d` [link to X](told.md).\n\n```text\ntold\n```\n\n| told | nobody |\n\n"
    text += "End. ggfmt too.\n"
    assert list(sentences(text)) == ["A X link to X.", "End.", "ggfmt too."]
