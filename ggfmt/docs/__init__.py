"""The documents: pages in Markdown beside this module, by topic, and the words that name a part of one.

A topic is the name of a page without `.md`. A heading that starts with a code, or with a word in backticks, makes that
a topic too. It names the section below it; on a page of formats, whose sections depend on each other, it names the
page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MARKER = re.compile(r"^<!-- /?generated.*? -->\n+", re.MULTILINE)
_FENCE = re.compile(r"^```")
_HEADING = re.compile(r"(#+) (.+)")
_NAMED = re.compile(r"#+ (?:(GG[0-9]{3})\b|`([\w-]+)`)")

# Pages in the order of a reader's questions; other pages, and those of formats, follow.
_ORDER = (
    *(
        "options",
        "eventhandlers",
        "metadata",
        "input",
        "output",
        "repeated",
        "dataframes",
        "consolidation",
        "types",
        *("delta", "iceberg", "parquet", "lakehouse"),
        "comparing",
        "formats",
        "fidelity",
        "consumers",
        "preview",
        "comparing",
        "checking",
    ),
    *(
        "schemas",
        "python",
        "deployment",
        "spark",
        "doctor",
        "speed",
        "promises",
        "assumptions",
        "limits",
        "security",
        "commands",
        "codes",
        "development",
    ),
    *("vocabulary", "extending"),
)


@dataclass(frozen=True)
class Page:
    """A page: `path` is relative to the directory of the documents, `text` is without the marks of generated parts."""

    topic: str
    path: str
    text: str

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def summary(self) -> str:
        """The first sentence below the title."""
        paragraph = " ".join(self.text.split("\n\n")[1].split())
        return re.split(r"(?<=\.) ", paragraph)[0]

    def sections(self) -> Iterator[tuple[str, str]]:
        """Yield the headings with their texts: from a heading to the next one of its level or a higher one."""
        lines = self.text.splitlines(keepends=True)
        headings = list(_headings(lines))
        for number, level in headings:
            ends = (later for later, other in headings if later > number and other <= level)
            yield lines[number].rstrip("\n"), "".join(lines[number : next(ends, len(lines))])

    def anchors(self) -> Iterator[str]:
        """Yield what a link may name after `#`, as GitHub and others make it from the headings."""
        for heading, _ in self.sections():
            yield re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")


def _headings(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the number and the level of each line that is a heading; lines in fenced blocks are none."""
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        match = None if fenced else _HEADING.match(line)
        if match:
            yield number, len(match[1])


@cache
def pages() -> dict[str, Page]:
    """Return all pages by their topics, those of formats last."""
    root = Path(__file__).parent
    general = sorted(_pages(root, ""), key=lambda page: (*_ORDER, page.topic).index(page.topic))
    return {page.topic: page for page in (*general, *_pages(root / "formats", "formats/"))}


def _pages(directory: Path, prefix: str) -> Iterator[Page]:
    for file in sorted(directory.glob("*.md")):
        yield Page(file.stem, prefix + file.name, _MARKER.sub("", file.read_text(encoding="utf-8")))


@cache
def aliases() -> dict[str, tuple[Page, str]]:
    """Return the words that are not topics themselves and name a page or a section, with the Markdown to show."""
    named: dict[str, tuple[Page, str]] = {}
    for page in pages().values():
        for heading, text in page.sections():
            match = _NAMED.match(heading)
            if match:
                whole = page.path.startswith("formats/")
                named.setdefault(match[1] or match[2], (page, page.text if whole else text))
    return named


def address(topic: str, anchor: str) -> str | None:
    """Return the web address of a place in a page, below the documentation address of the package (`[project.urls]` in
    pyproject.toml).

    None if the package has no such address.
    """
    # it takes longer to import than all other modules here
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        named = metadata("ggfmt").get_all("Project-URL") or []
    except PackageNotFoundError:
        named = []
    root = dict(line.split(", ", 1) for line in named).get("Documentation")
    return None if root is None else f"{root.rstrip('/')}/{pages()[topic].path}#{anchor}"


def find(word: str) -> str | None:
    """Return the Markdown of a topic, a code or a format, in any case; None if there is none."""
    texts = {topic.lower(): page.text for topic, page in pages().items()}
    texts = {name.lower(): text for name, (_, text) in aliases().items()} | texts
    return texts.get(word.lower())
