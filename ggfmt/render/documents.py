"""Pages of the documents: rendered for a terminal, and as they are for a pipe."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TextIO

from ggfmt.render.diagnostics.text import write_text

_LINK = re.compile(r"\[([^]]+)\]\(([^):]+)\)")
_WIDTH = 120


def print_page(text: str, stream: TextIO) -> None:
    """Write a page of Markdown to a stream: laid out if it is a terminal, else as it is."""
    if not stream.isatty():
        write_text(text if text.endswith("\n") else f"{text}\n", stream)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=stream)
    page = Markdown(_LINK.sub(_command, text), hyperlinks=True)
    console.print(page, width=min(console.width, _WIDTH))


def print_topics(topics: Sequence[tuple[str, str]], stream: TextIO) -> None:
    """Write the topics, each with a sentence, one below the other."""
    width = max(len(topic) for topic, _ in topics) + 2
    if not stream.isatty():
        write_text("".join(f"{topic:{width}}{sentence}\n" for topic, sentence in topics), stream)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for topic, sentence in topics:
        table.add_row(Text(topic, "bold"), Text(sentence))
    Console(file=stream).print(table)


def _command(link: re.Match[str]) -> str:
    """A link to another page as the command that shows it; one within a page, or to a file, as its text."""
    page, _, anchor = link[2].partition("#")
    if not page.endswith(".md"):
        return link[1]
    topic = posixpath.basename(page).removesuffix(".md")
    if re.fullmatch("gg[0-9]{3}", anchor):
        topic = anchor.upper()
    return f"{link[1]} (`ggfmt docs {topic}`)"
