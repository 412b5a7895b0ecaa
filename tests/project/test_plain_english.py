"""What a user reads is in plain English, as far as that can be measured."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from places import PACKAGE, ROOT, TESTS

from ggfmt import docs
from ggfmt.cli import app
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats import FORMATS

MAX_WORDS = 25  # in a sentence
MIN_WORDS = 4  # of a text in the code that may be a message
# Words that are not those of the field, or send a reader to search for what they stand for.
PRIVATE = re.compile(
    r"\b(?:told|tells?|nobody|somebody|whoever|lies?|lying|behind|at once|of it|as one|anew"
    r"|(?:is|are|was|were) (?:none|no (?!longer|more|fewer|less|later))"
    r"|there (?:is|are|was|were) (?:not|no|none|nothing)|(?:is|are|was) not there|that (?:is|are) there"
    r"|(?:that|those) of|(?:that|those|one) (?:that|which)"
    r"|what (?:it|they) (?:is|are|has|have)|(?:is|are|has|have) to be"
    r"|says? (?:so|it)|stands?(?: (?:in|for|behind))?"
    r"|is (?:said|meant) (?:of|by)|of its own|carr(?:y|ies|ied) out"
    r"|(?:un)?recogni[s]\w+|colou[r]\w*|flavou[r]\w*|behaviou[r]\w*|neighbou[r]\w*)\b"  # other spellings than Spark's
    r"|(?:^|[.:;] )What (?:is|are|was|has|a|the)\b",
    re.IGNORECASE,
)
# What docstrings and comments may not have either: the words that hide most.
OPAQUE = re.compile(
    r"\b(?:told|tells?|nobody|somebody|whoever|lies?|lying|anew|says? (?:so|it)|stands?(?! for)|carr(?:y|ies|ied) out"
    r"|(?:un)?recogni[s]\w+|colou[r]\w*|flavou[r]\w*|behaviou[r]\w*|neighbou[r]\w*)\b",
    re.IGNORECASE,
)
_C_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_CODE = re.compile(r"`+[^`]*`+")
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_BLOCKS = re.compile(r"^```.*?^```$|^\|[^\n]*$|^#[^\n]*$|^<!--[^\n]*-->$", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`*\"(]|ggfmt)|\n\n+|\n(?=[*-] |[0-9]+\. )")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in Markdown, without blocks of code, tables and headings; a word for each piece of
    code.
    """
    for sentence in _SENTENCE.split(_LINK.sub(r"\1", _BLOCKS.sub("\n\n", text))):
        plain = " ".join(_CODE.sub("X", sentence).replace("*", "").split())
        if plain:
            yield plain


def cells(text: str) -> Iterator[str]:
    """Yield the cells of the tables of a text, with a word for each piece of code."""
    for row in _ROW.findall(text):
        yield from filter(None, map(str.strip, _CODE.sub("X", _LINK.sub(r"\1", row)).split("|")))


def findings(text: str) -> Iterator[str]:
    """Yield what a reader stumbles over in a text. Cells of tables list values, and may be long."""
    for sentence in sentences(text):
        if len(sentence.split()) > MAX_WORDS:
            yield f"{len(sentence.split())} words: {sentence}"
    for sentence in (*sentences(text), *cells(text)):
        for match in PRIVATE.finditer(sentence):
            yield f"`{match[0].strip('. ')}`: {sentence}"


def opaque(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring or a comment that hide what they mean."""
    for sentence in sentences(text):
        for match in OPAQUE.finditer(sentence):
            yield f"`{match[0]}`: {sentence}"


@cache
def code_texts() -> list[tuple[Path, str]]:
    """Return the docstrings and comments of the package and of tests, with their files; in Python and in C."""
    found: list[tuple[Path, str]] = []
    for file in sorted([*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]):
        source = file.read_text(encoding="utf-8")
        found += ((file, text) for text in (*docstrings(source), *comments(source)))
    for file in sorted([*PACKAGE.rglob("*.[ch]"), *TESTS.rglob("*.[ch]")]):
        found += ((file, text) for text in c_comments(file.read_text(encoding="utf-8")))
    return found


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""


def comments(source: str) -> Iterator[str]:
    """Yield the comments of a module in Python; those of following lines are one."""
    found: dict[int, str] = {}  # by the line below the comment
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            above = found.pop(token.start[0], "")
            found[token.start[0] + 1] = f"{above} {token.string.lstrip('#')}"
    yield from found.values()


def c_comments(source: str) -> Iterator[str]:
    yield from (re.sub(r"^ *\* ?", "", text, flags=re.MULTILINE) for text in _C_COMMENT.findall(source))


def texts() -> Iterator[tuple[str, str]]:
    """Yield all texts that a person reads, with what they are of: a page, a command, codes, a format, or a module."""
    for topic, page in docs.pages().items():
        yield f"page {topic}", page.text
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        yield name, (ROOT / name).read_text(encoding="utf-8")
    yield from _help_texts()
    for code in CODES.values():
        yield "codes", f"{code.title}.\n\n{code.explanation}"
    for format in FORMATS.values():
        yield f"format {format.name}", format.doc
        for spec in format.options.specs():
            yield f"format {format.name}", spec.doc
        for loss in format.losses:
            yield f"format {format.name}", loss.text
    for file in sorted({*(ROOT / "ggfmt").rglob("*.py")} - {ROOT / "ggfmt" / "diagnostics" / "codes.py"}):
        for text in _messages(file):
            yield f"module {file.relative_to(ROOT / 'ggfmt').as_posix()}", text


def _help_texts() -> Iterator[tuple[str, str]]:
    program: Any = typer.main.get_command(app)
    for name, command in program.commands.items():
        yield f"command {name}", command.help or ""
        for option in command.params:
            if not option.hidden:
                yield f"command {name}", getattr(option, "help", None) or ""


def _messages(file: Path) -> Iterator[str]:
    """Yield the texts of a module that may be a message, with X for what is put into them: all of some words that are
    not docstrings.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    within = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in ast.walk(node)}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = _text(node)
        if text is None or id(node) in docstrings or (id(node) in within and not isinstance(node, ast.JoinedStr)):
            continue
        if len(text.split()) >= MIN_WORDS and "\n" not in text:
            yield text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[-0-9.]*[sdrf]", "X", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value.value) if isinstance(value, ast.Constant) else "X" for value in node.values)
    return None


# How many findings a text may have. This list only shrinks: a number that is too high is an error, too.
EXCEPTIONS = {
    "module formats/avro/programs.py": 1,  # texts of exceptions that nothing shows
    "module formats/json/dumps.py": 1,
    "module formats/qlik/avro_read.py": 1,
    "module java/regex.py": 1,  # names of categories
}


def test_texts_have_short_sentences_and_no_words_of_our_own() -> None:
    found: dict[str, list[str]] = {}
    for name, text in texts():
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
    named = {name.partition(" ")[0] for name, _ in texts()}
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
