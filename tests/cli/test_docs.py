"""`ggfmt docs`: pages by topic, code and format, laid out on a terminal and plain in a pipe."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import documents
import pytest
from command_line import loaded
from terminal import ESCAPE, on_terminal, unstyled

from ggfmt import docs
from ggfmt.render.reference import print_page

GGFMT = [sys.executable, "-m", "ggfmt", "docs"]


def piped(*arguments: str) -> str:
    return subprocess.run([*GGFMT, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def plain(shown: str) -> str:
    """What a terminal showed, without color, and with one blank between words."""
    return " ".join(unstyled(shown).split())


def test_without_a_topic_all_pages_are_listed() -> None:
    *lines, last = piped().splitlines()
    assert last.startswith("`ggfmt docs TOPIC` shows a page")
    assert [line for line in lines if line and line[0] != " "] == [*docs.SECTIONS, "Formats"]
    lines = [line.strip() for line in lines if line[:1] == " "]
    assert [line.split()[0] for line in lines] == list(docs.pages())
    assert {
        "options",
        "codes",
        "input",
        "output",
        "install",
        "fidelity",
        "security",
        "limits",
    } <= docs.pages().keys()
    for line, page in zip(lines, docs.pages().values(), strict=True):
        assert re.fullmatch(rf"{page.topic} +[A-Z`].+\?", line)
        assert page.text.startswith(f"# {page.title}\n\n")


@pytest.mark.parametrize("topic", docs.pages())
def test_a_pipe_gets_the_page_as_it_is_without_marks_of_what_is_generated(topic: str) -> None:
    page = docs.pages()[topic]
    text = (documents.DOCS / page.path).read_text(encoding="utf-8")
    code, shown = documents.called(["docs", topic])
    assert code == 0
    assert shown == re.sub(r"(?m)^<!-- .*? -->\n+", "", text)
    assert "<!--" not in re.sub("`.*?`", "", shown)
    assert "\n\n\n" not in re.sub("(?ms)^```.*?^```", "(code)", shown)


@pytest.mark.parametrize(
    ("topic", "help"),
    [
        ("outputs", "did you mean `output`?"),
        ("GG25", "did you mean `GG205`?"),
        ("canal_jsn", "did you mean `canal_json`?"),
        ("pkUpdateHandling", "`ggfmt explain pkUpdateHandling` explains it"),
        ("zzzz", "`ggfmt docs` lists the pages"),
        ("checkpoint files", "did you mean `checkpoints`?"),
    ],
)
def test_a_topic_that_is_none(topic: str, help: str) -> None:
    code, told = documents.called(["docs", topic])
    assert code == 2
    assert told.startswith(f"error[GG508] unknown page `{topic}`\n")
    assert help.startswith("did you mean `GG") or told.endswith(f"  help: {help}\n")
    assert "help: " in told


def test_a_terminal_shows_the_page_laid_out(tmp_path: Path) -> None:
    status, shown = on_terminal([*GGFMT, "fidelity"], tmp_path)
    assert status == 0
    assert ESCAPE in shown
    told = plain(shown)
    assert docs.pages()["fidelity"].summary in told
    assert "**" not in told
    assert "<!--" not in told
    assert "(ggfmt docs GG407)" in told
    assert "GG407 (" not in told
    assert ".md" not in told


def test_a_terminal_shows_the_topics(tmp_path: Path) -> None:
    status, shown = on_terminal(GGFMT, tmp_path)
    assert status == 0
    assert ESCAPE in shown
    assert plain(shown) == " ".join(piped().split())


def test_a_stream_that_lacks_a_character_shows_an_escape() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_page("# A\n\nCAF\xc9", stream)
    stream.seek(0)
    assert stream.read() == "# A\n\nCAF\\xc9\n"


@pytest.mark.parametrize("arguments", [["docs"], ["docs", "GG205"], ["docs", "canal_json"]], ids=" ".join)
def test_it_loads_no_more_than_explain(arguments: list[str]) -> None:
    assert loaded(arguments) - sys.stdlib_module_names <= loaded(["explain", "GG103"])


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("snowflake", "load-snowflake"),
        ("Neovim", "use-in-an-editor"),
        ("compare rows", "compare-rows"),
        ("exit codes validate-config", "checking"),
        ("trailing zzzz", ""),  # the pages that have the most of the words
    ],
)
def test_a_search_lists_the_best_page_first(words: str, first: str) -> None:
    code, shown = documents.called(["docs", "--search", words])
    assert code == 0
    heading, *lines = shown.split("\n\n")[0].splitlines()
    assert re.fullmatch(r"[0-9]+ pages?", heading)
    assert int(heading.split()[0]) == len([line for line in lines if re.match(r"  \S", line)])
    assert lines[0].split()[0] == first or not first
    word = words.split()[0].lower()
    assert all(word in page.text.lower() for page, _, _ in docs.search(words))


@pytest.mark.parametrize("words", ["", "zzzz", "(", "[a-", "\\"])
def test_a_search_without_a_page_ends_with_2(words: str) -> None:
    code, shown = documents.called(["docs", "--search", words])
    assert ((code == 2) == (not docs.search(words)) and words != "") or code == 2
    assert "Traceback" not in shown
    assert documents.called(["docs", "output", "--search", "x"])[0] == 2


def test_a_topic_that_several_pages_are_about_lists_them() -> None:
    shown = documents.called(["docs", "kafka"])[1]
    assert re.search(r"help: [0-9]+ pages are about it: (`[\w-]+`, ){5}`[\w-]+`; `ggfmt docs --search kafka`", shown)
    assert "`send-to-kafka`" in shown
