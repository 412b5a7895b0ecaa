"""The documents: pages in Markdown beside this module, by topic, and the words that name a part of one.

The folder of a page is its kind. A topic is the name of a page without `.md`. A heading that starts with a word in
backticks makes that a topic too: of its section or, on a page of formats, whose sections depend on each other, of the
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from ggfmt.dataclasses import dataclass
from ggfmt.lazy import lazy_regex

# What makes parts of a page, and what tests and tools read in it: no reader sees these lines.
_COMMENT = lazy_regex(r"^<!-- .*? -->\n+", re.MULTILINE)
_FENCE = lazy_regex(r"^```")
_HEADING = lazy_regex(r"(#+) (.+)")
_NAMED = lazy_regex(r"#+ `([\w-]+)`")
_FORMATS = lazy_regex(r"`([\w-]+)`")  # in the titles of their pages
_SENTENCE_END = lazy_regex(r"(?<=[.?]) ")

# The table of contents: pages in the order of a reader's questions. `zensical.toml` is made from it.
SECTIONS: dict[str, tuple[str, ...]] = {
    title: tuple(topics.split())
    for title, topics in {
        "Start": "first-run install install-in-a-container",
        "How to convert": (
            "write-a-handler-file check-handler-files use-a-replicat-parameter-file check-in-ci use-in-an-editor "
            "preview-messages make-schemas hide-values read-csv windows read-trails read-kafka-dumps "
            "read-a-topic handle-bad-records run-every-day "
            "replay-a-day replay-into-kafka send-to-kafka test-a-consumer upgrade troubleshoot"
        ),
        "How to load": (
            "consolidate-rows compare-rows load-parquet load-delta load-iceberg load-snowflake load-a-database"
            " apply-to-postgresql apply-to-mariadb"
        ),
        "How to run": ("run-on-a-cluster run-on-a-platform use-python use-dataframes use-spark-connect monitor-runs"),
        "Reference": (
            "commands python dataframes options eventhandlers replicat metadata checking input output checkpoints "
            "consolidation types lakehouse applying comparing formats kafka-settings consumers codes doctor limits "
            "changes glossary"
        ),
        "Explanation": "how-a-run-works guarantees exactly-once fidelity row-identity spark speed security",
        "Contribute": (
            "development architecture add-a-format test-a-format add-a-text-format add-a-target add-an-option "
            "add-a-diagnostic add-a-lint-rule promises"
        ),
    }.items()
}

# Topics of earlier releases, and the pages that have their content now.
_FORMER = {
    "assumptions": "limits",
    "delta": "load-delta",
    "deployment": "install",
    "extending": "add-a-format",
    "iceberg": "load-iceberg",
    "parquet": "load-parquet",
    "preview": "preview-messages",
    "repeated": "checkpoints",
    "run-on-databricks": "run-on-a-platform",
    "run-on-emr": "run-on-a-platform",
    "run-on-kubernetes": "run-on-a-platform",
    "schemas": "make-schemas",
    "vocabulary": "glossary",
}


@dataclass(frozen=True)
class Page:
    """A page; `path` is relative to the documents, `text` is without comments."""

    topic: str
    path: str
    text: str

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def summary(self) -> str:
        """Return the first sentence below the title: the question that the page answers."""
        paragraph = " ".join(self.text.split("\n\n")[1].split())
        return _SENTENCE_END.split(paragraph)[0]

    @property
    def is_of_formats(self) -> bool:
        return self.path.startswith("reference/formats/")

    def sections(self) -> Iterator[tuple[str, str]]:
        """Yield the headings with their texts, up to the next of the same level or a higher one."""
        lines = self.text.splitlines(keepends=True)
        headings = list(_headings(lines))
        for number, level in headings:
            ends = (later for later, other in headings if later > number and other <= level)
            yield lines[number].rstrip("\n"), "".join(lines[number : next(ends, len(lines))])


def _headings(lines: list[str]) -> Iterator[tuple[int, int]]:
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        match = None if fenced else _HEADING.match(line)
        if match:
            yield number, len(match[1])


@cache
def pages() -> dict[str, Page]:
    root = Path(__file__).parent
    found = {file.stem: file for file in sorted(root.rglob("*.md"))}
    listed = [topic for topics in SECTIONS.values() for topic in topics]
    of_formats = [topic for topic, file in found.items() if file.parent.name == "formats"]
    return {topic: _page(found[topic], root) for topic in (*listed, *of_formats)}


@cache
def code_pages() -> dict[str, Page]:
    root = Path(__file__).parent
    return {file.stem: _page(file, root) for file in sorted(root.glob("reference/codes/*.md"))}


def listed() -> dict[str, list[tuple[str, str]]]:
    """Return the topics of each section with the questions that their pages answer; those of formats last."""
    found = {title: [(topic, pages()[topic].summary) for topic in topics] for title, topics in SECTIONS.items()}
    of_formats = [(topic, page.summary) for topic, page in pages().items() if page.is_of_formats]
    return {**found, "Formats": of_formats}


def _page(file: Path, root: Path) -> Page:
    return Page(file.stem, file.relative_to(root).as_posix(), _COMMENT.sub("", file.read_text(encoding="utf-8")))


@cache
def aliases() -> dict[str, tuple[Page, str]]:
    """Return the words that are not topics themselves and name a page or a section, with the Markdown to show."""
    named: dict[str, tuple[Page, str]] = {}
    for page in pages().values():
        for heading, text in page.sections():
            match = _NAMED.match(heading)
            if match:
                named[match[1]] = (page, text)
        if page.is_of_formats:
            named |= dict.fromkeys(_FORMATS.findall(page.title), (page, page.text))
    named |= {code: (page, page.text) for code, page in code_pages().items()}
    for former, topic in _FORMER.items():
        named[former] = (pages()[topic], pages()[topic].text)
    return named


def address(code: str) -> str | None:
    """Return the web address of the page of a code, if the package has a documentation address."""
    # it takes longer to import than all other modules here
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        named = metadata("ggfmt").get_all("Project-URL") or []
    except PackageNotFoundError:
        named = []
    root = dict(line.split(", ", 1) for line in named).get("Documentation")
    return None if root is None else f"{root.rstrip('/')}/{code_pages()[code].path}"


def find(word: str) -> str | None:
    """Return the Markdown of a topic, a code or a format, in any case; None if there is none."""
    texts = {topic.lower(): page.text for topic, page in pages().items()}
    if word.lower() not in texts:
        texts = {name.lower(): text for name, (_, text) in aliases().items()}
    return texts.get(word.lower())


def search(words: str) -> list[tuple[Page, str, bool]]:
    """Return the pages that have the most of some words, best first: each with a line, and whether it is about them.

    A word stands for all words that it starts. A page, but not that of a code, is about what is in its topic or title.
    """
    forms = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in words.split()]

    def number(text: str) -> int:
        return sum(form.search(text) is not None for form in forms)

    ranked = []
    for page in (*pages().values(), *code_pages().values()):
        heads = (f"{page.topic} {page.title}", page.summary, " ".join(heading for heading, _ in page.sections()))
        times = sum(len(form.findall(page.text)) for form in forms)
        ranked.append(([number(page.text), *map(number, heads), times], page))
    most = max(rank[0] for rank, _ in ranked)
    best = sorted((item for item in ranked if most and item[0][0] == most), key=lambda item: item[0], reverse=True)
    return [(page, _line_with(page, number), rank[1] == most and page.topic in pages()) for rank, page in best]


def _line_with(page: Page, number: Callable[[str], int]) -> str:
    """Return the first sentence of a page if it has as many words as any line, else the line that has the most."""
    lines = [line.strip("#*| \t") for line in page.text.splitlines() if not line.startswith("```")]
    return max([page.summary, *filter(None, lines)], key=number)


def sample_files() -> dict[str, bytes]:
    """Return the files that the pages use, by their paths below `samples/`: from the package, or from a checkout."""
    package = Path(__file__).parents[1]
    root = next(path for path in (package / "samples", package.parent / "samples") if path.is_dir())
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in sorted(root.rglob("*.*"))}
