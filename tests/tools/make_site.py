"""Builds the documentation site from README.md and the pages of ggfmt/docs.

    python tests/tools/make_site.py [DIRECTORY]

Writes to `build/site`, or to another directory. Before that, brings the nav in zensical.toml up to date. A broken link
ends the build, and says where it is. Needs the extra `docs`.

Zensical builds a copy of the pages. In the copy README.md is the home page, and comments are empty lines: messages have
the line numbers of the pages. Python-Markdown, which Zensical uses, needs two more changes to show the pages as
GitHub does: it indents by four columns in lists, and shows the backslash of `\\|` in the code of tables.

`finished_page` mends the HTML that Zensical makes, and `site.js` what its scripts make.
"""

from __future__ import annotations

import argparse
import importlib.util
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import ROOT

from ggfmt import docs
from ggfmt.version import VERSION

CONFIGURATION = ROOT / "zensical.toml"
_ADDITIONS = ("site.css", "site.js")  # beside this module
_DOCS = "ggfmt/docs"
_HOME = "index.md"
_NAV = re.compile(r"(?<=^# nav: from `SECTIONS` in ggfmt/docs/__init__\.py\n).*?(?=^# /nav$)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- .* -->\n")
_PROBLEM = re.compile(r"Warning: (.+)\n +╭─\[ (.+?) \]")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)([^)]+)\)")
_CODE = re.compile(r"`[^`]+`")
_ITEM = re.compile(r"(?:[*-]|\d+\.) +")
_INLINE_CODE = re.compile(r"(?<!</span>)<code>[^<]+</code>")  # in a block of code, a `span` is before it
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_SOURCE = re.compile(r'^(?:Source|Repository) = "(.+)"$', re.MULTILINE)
_WAY_UP = """<nav class="md-path" aria-label="Path"><ol class="md-path__list"><li class="md-path__item">
<a href="../codes.html" class="md-path__link">Codes</a></li></ol></nav>
"""


class SiteError(Exception):
    """A site that cannot be built. The text says why."""


def nav() -> str:
    """Return the nav of the site in TOML: the home page, the sections of the documents, and the formats."""
    pages = docs.pages()
    sections = {name: [pages[topic].path for topic in topics] for name, topics in docs.SECTIONS.items()}
    sections["Formats"] = [page.path for page in pages.values() if page.is_of_formats]
    lines = [f'  {{ "Home" = "{_HOME}" }},']
    for name, paths in sections.items():
        lines += [f'  {{ "{name}" = [', *(f'    "{path}",' for path in paths), "  ] },"]
    return "\n".join(["nav = [", *lines, "]"]) + "\n"


def with_nav(configuration: str) -> str:
    """Return the text of zensical.toml with the nav of the documents."""
    return _NAV.sub(lambda _: nav(), configuration)


def home_page(readme: str) -> str:
    """Return README.md as the home page. Links to files that are not in the site become their text."""

    def link(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if path and not path.startswith(f"{_DOCS}/"):
            return text
        return f"[{text}]({path.removeprefix(f'{_DOCS}/')}{hash_sign}{anchor})"

    return _LINK.sub(link, readme)


def site_page(text: str) -> str:
    """Return a page without comments, and as Python-Markdown has to have it. Each line keeps its number."""
    return "".join(_adapted(text.splitlines(keepends=True)))


def _adapted(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a page. `width` is the indentation of the list item that a line may belong to."""
    fenced, width = False, 0
    for line in lines:
        if width and line.startswith(" " * width):
            yield "    " + line[width:]
            continue
        if line.startswith("```"):
            fenced = not fenced
        item = None if fenced else _ITEM.match(line)
        if line.strip():
            width = len(item[0]) if item else 0
        if fenced:
            yield line
        elif line.startswith("|"):
            yield _CODE.sub(lambda code: code[0].replace("\\|", "|"), line)
        else:
            yield _COMMENT.sub("\n", line)


def configured(configuration: str, project: str) -> str:
    """Return zensical.toml with the release in the footer, and a link to the source if pyproject.toml has one."""
    source = _SOURCE.search(project)
    lines = [f'copyright = "ggfmt {VERSION}"', *([f'repo_url = "{source[1]}"'] if source else [])]
    return with_nav(configuration).replace("[project]\n", "\n".join(["[project]", *lines, ""]), 1)


def finished_page(html: str, is_of_code: bool = False) -> str:
    """Return a page of Zensical as every reader can use it; `is_of_code`: the page is about a code.

    No line ends within an option. Keys reach the menu of a narrow window. Each landmark has a name of its own, and the
    page of a code leads to the table of all codes.
    """
    html = _INLINE_CODE.sub(lambda inline: _OPTION.sub(r'<span class="option">\g<0></span>', inline[0]), html)
    html = html.replace('class="md-path" aria-label="Navigation"', 'class="md-path" aria-label="Path"')
    menu = '<label class="md-header__button md-icon" for="__drawer"'
    html = html.replace(menu, f'{menu} tabindex="0" aria-label="Menu"')
    return html if not is_of_code else html.replace("<article ", _WAY_UP + "<article ", 1)


class _Page(HTMLParser):
    """The links of a page, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value is not None:
                self.targets.append(value)


def broken_links(site: Path) -> list[str]:
    """Return the links within a site that lead nowhere, each as `PAGE: TARGET`."""
    pages = {
        file.relative_to(site).as_posix(): _Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")
    }
    return [
        f"{name}: {target}"
        for name, page in sorted(pages.items())
        for target in dict.fromkeys(page.targets)
        if not _leads_somewhere(site, pages, name, target)
    ]


def _leads_somewhere(site: Path, pages: dict[str, _Page], name: str, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    # Only 404.html has links that start with `/`: a server shows it for any address.
    path = unquote(parts.path) or posixpath.basename(name)
    found = posixpath.normpath(posixpath.join("/", posixpath.dirname(name), path))[1:]
    if (site / found).is_dir():
        found = posixpath.join(found, "index.html")
    place = unquote(parts.fragment)
    return (site / found).is_file() and (not place or found not in pages or place in pages[found].places)


def build(target: Path, strict: bool = True) -> None:
    """Build the site in a directory, in place of a site that is there.

    Raises: SiteError if Zensical is missing or fails, or if the directory has other files. With `strict`, broken links
    are failures.
    """
    if target.exists() and not (target / "404.html").is_file() and any(target.iterdir()):
        raise SiteError(f"{target} has files that are no site")
    if importlib.util.find_spec("zensical") is None:
        raise SiteError("Zensical is missing: pip install -e '.[docs]'")
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for path, content in _sources().items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_bytes(content)
        command = [sys.executable, "-m", "zensical", "build", *(["--strict"] if strict else [])]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if done.returncode:
            raise SiteError(_problems(_COLOR.sub("", done.stdout + done.stderr)))
        site = project / "build" / "site"
        for file in site.rglob("*.html"):
            html = finished_page(file.read_text(encoding="utf-8"), file.stem in docs.code_pages())
            file.write_text(html, encoding="utf-8")
        broken = broken_links(site) if strict else []
        if broken:
            raise SiteError("\n".join(["links that lead nowhere:", *broken]))
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(site, target)


def _problems(output: str) -> str:
    """Return what Zensical reports, one line for each problem; all of its output if there is none of its warnings."""
    return "\n".join(f"{place}: {problem}" for problem, place in _PROBLEM.findall(output)) or output


def _sources() -> dict[str, bytes]:
    """Return the files that Zensical builds the site from, by their paths in its project."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    paths = [f"{_DOCS}/{page.path}" for page in (*docs.pages().values(), *docs.code_pages().values())]
    pages = {f"{_DOCS}/{_HOME}": home_page(readme)}
    pages |= {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}
    sources = {path: site_page(text) for path, text in pages.items()}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    sources[CONFIGURATION.name] = configured(CONFIGURATION.read_text(encoding="utf-8"), project)
    for name in _ADDITIONS:
        sources[f"{_DOCS}/{name}"] = Path(__file__).with_name(name).read_text(encoding="utf-8")
    pictures = {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in (ROOT / _DOCS).rglob("*.svg")}
    return pictures | {path: text.encode() for path, text in sources.items()}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("directory", type=Path, nargs="?", default=ROOT / "build" / "site")
    target: Path = parser.parse_args(arguments).directory
    CONFIGURATION.write_text(with_nav(CONFIGURATION.read_text(encoding="utf-8")), encoding="utf-8")
    try:
        build(target)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(target / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
