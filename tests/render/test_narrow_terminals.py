"""No word of a page, a table or an explanation is cut, however narrow the terminal is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.text import Text
from strategies import examples
from terminal import Terminal, unstyled

from ggfmt import docs
from ggfmt.config.symbols import find_symbol, option_sets, titles
from ggfmt.options.reference import table_cells
from ggfmt.render import reference
from ggfmt.render.tables import FittedTable
from ggfmt.render.terminal import text_width
from ggfmt.render.wrapping import wrap_lines, wrap_words, write_lines

WIDTHS = [60, 80, 120]
INDENT = 8  # columns of lists, of lists in lists, and of blanks at the edges of a table
BORDERS = re.compile("[│┃┏┓┗┛┡┩┳╇┴┬├┤┼└┘━─]")


@pytest.fixture(params=WIDTHS)
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of the terminal."""
    width = int(request.param)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    return width


def words(text: str) -> Counter[str]:
    """The words of a text. The heading of a cell in a list has a colon, which is not counted."""
    return Counter(word.removesuffix(":") for word in BORDERS.sub(" ", text).split())


def check_words(text: str, terminal: Terminal, columns: int) -> list[str]:
    """Check that a terminal shows all words of a text that can fit, as wholes; return its lines."""
    shown = unstyled(terminal.getvalue())
    fitting = Counter({word: count for word, count in words(text).items() if text_width(word) <= columns - INDENT})
    assert fitting
    assert fitting - words(shown) == Counter()
    return [line.rstrip() for line in shown.split("\n")]


@cache
def parts(topic: str) -> tuple[str, frozenset[str]]:
    """The text of a page without its marks, and its lines of code."""
    text = reference._LINK.sub(reference._command, docs.pages()[topic].text)
    shown, code = list[str](), set[str]()
    for token in MarkdownIt().enable("table").parse(text):
        if token.type in ("fence", "code_block"):
            shown.append(token.content)
            code.update(line.strip() for line in token.content.splitlines())
        address = ""
        for child in token.children or ():
            shown.append(" " if child.type in ("softbreak", "hardbreak") else child.content)
            address = str(child.attrs.get("href", address))
            if child.type == "link_close":
                shown.append(f" ({address})")
        shown.append("\n")
    return "".join(shown), frozenset(code)


@pytest.mark.parametrize("topic", docs.pages())
def test_no_word_of_a_page_is_cut(topic: str, columns: int) -> None:
    text, code = parts(topic)
    terminal = Terminal()
    reference.print_page(docs.pages()[topic].text, terminal)
    for line in check_words(text, terminal, columns):
        assert text_width(line) <= columns or line.strip() in code


def test_no_word_of_the_lists_is_cut(columns: int) -> None:
    terminal = Terminal()
    topics = [topic for topics in docs.listed().values() for topic in topics]
    reference.print_topics(docs.listed(), terminal)
    reference.print_rich(reference.formats_table(), terminal)
    lines = check_words(" ".join(" ".join(topic) for topic in topics), terminal, columns)
    assert max(map(text_width, lines)) <= columns


@pytest.mark.parametrize("name", option_sets())
def test_no_word_of_the_options_is_cut(name: str, columns: int) -> None:
    (specs, *_), terminal = option_sets()[name].values(), Terminal()
    reference.print_rich(reference.options_table(specs, "gg.handler.<name>.format."), terminal)
    cells = " ".join(cell.replace("`", "") for row in table_cells(specs)[1] for cell in row)
    lines = check_words(cells, terminal, columns)
    assert max(map(text_width, lines)) <= columns


@pytest.mark.parametrize("word", ["GG205", "json", "pkUpdateHandling", "ggfmt.compatibility", "metaColumnsTemplate"])
def test_no_word_of_an_explanation_is_cut(word: str, columns: int) -> None:
    symbol = find_symbol(word)
    assert symbol is not None
    explanation, terminal = reference.explain(symbol, word), Terminal()
    reference.print_explanation(explanation, terminal)
    lines = check_words(reference.explanation_text(explanation), terminal, columns)
    samples = {line.strip() for sample in explanation.samples for line in sample.lines}
    assert [line for line in lines if text_width(line) > columns and line.strip() not in samples] == []


def test_explanations_have_no_line_without_need_that_is_wider_than_a_terminal() -> None:
    for word, _ in list(titles())[::3]:
        symbol = find_symbol(word)
        assert symbol is not None
        explanation = reference.explain(symbol, word)
        samples = {line.strip() for sample in explanation.samples for line in sample.lines}
        for line in reference.explanation_text(explanation, 60).splitlines():
            assert text_width(line) <= 60 or line.strip() in samples or len(line.split()) <= 3


# Any text, and any table.


def text_of(words: list[str]) -> str:
    return " ".join(words)


TEXTS = st.lists(st.text("ab-x宽", min_size=1, max_size=12), max_size=30).map(text_of)


@examples(100)
@given(TEXTS, st.integers(1, 40), st.integers(1, 40))
def test_a_line_is_broken_between_words(text: str, room: int, further: int) -> None:
    lines = wrap_words(text, room, further)
    assert text_of(lines) == text
    for number, line in enumerate(lines):
        assert text_width(line) <= (further if number else room) or " " not in line
    for line, after in pairwise(lines):  # none of them is broken before it has to be
        assert text_width(f"{line} {after.split()[0]}") > (room if line is lines[0] else further)


def test_lines_keep_their_indent() -> None:
    text = "head\n  one two three four five\n\nword\n"
    assert wrap_lines(text, 40) == text
    assert wrap_lines(text, 21) == "head\n  one two three four\n five\n\nword\n"
    assert wrap_lines(f"  {'word ' * 12}end\n", 30).splitlines() == [
        "  word word word word word",
        "      word word word word word",
        "      word word end",
    ]


def test_a_pipe_gets_lines_unbroken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    line = "one two three four five six\n"
    for stream, shown in ((Terminal(), "one two three four\nfive six\n"), (Pipe(), line)):
        write_lines(line, stream)
        assert [part.strip() for part in stream.getvalue().splitlines()] == shown.splitlines()


class Pipe(Terminal):
    def isatty(self) -> bool:
        return False


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Text], list[list[Text]]]:
    width = draw(st.integers(2, 9))
    cells = st.lists(TEXTS.map(Text), min_size=width, max_size=width)
    return draw(cells), draw(st.lists(cells, min_size=1, max_size=3))


@examples(30)
@given(tables(), st.integers(26, 100), st.booleans())
def test_any_table_shows_its_words(table: tuple[list[Text], list[list[Text]]], columns: int, boxed: bool) -> None:
    headings, rows = table
    terminal = Terminal()
    console = Console(file=terminal, width=columns)
    console.print(FittedTable(headings, rows, box=HEAVY_HEAD if boxed else None, pad_edge=boxed))
    shown = unstyled(terminal.getvalue())
    assert sum((words(cell.plain) for row in rows for cell in row), Counter()) - words(shown) == Counter()
    assert max(map(text_width, shown.splitlines())) <= columns


def test_a_table_of_texts_becomes_a_list() -> None:
    headings = [Text(name) for name in ("name", "size", "what")]
    rows = [[Text("first"), Text("10"), Text("word " * 8)], [Text("second"), Text(""), Text("short")]]
    assert list(lines_of(FittedTable(headings, rows, box=None, pad_edge=False), 30)) == [
        "name:",
        "first",
        "  size: 10",
        "  what: word word word word",
        "    word word word word",
        "",
        "second",
        "  what: short",
    ]


def lines_of(table: FittedTable, columns: int) -> Iterator[str]:
    terminal = Terminal()
    Console(file=terminal, width=columns).print(table)
    return (line.rstrip() for line in unstyled(terminal.getvalue()).splitlines())
