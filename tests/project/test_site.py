"""The documentation site has all pages, shows them as they are written, and its links lead somewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import make_site
import pytest
from markdown_it import MarkdownIt
from places import ROOT

from ggfmt import docs
from ggfmt.version import VERSION

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_nav_is_that_of_the_sections() -> None:
    """If not: `python tests/tools/make_site.py` writes it."""
    configuration = make_site.CONFIGURATION.read_text(encoding="utf-8")
    assert configuration == make_site.with_nav(configuration)
    assert configuration.count(make_site.nav()) == 1


def test_the_nav_has_every_page_once() -> None:
    named = re.findall(r'"([\w/-]+\.md)"', make_site.nav())
    assert sorted(named) == sorted(["index.md", *(page.path for page in docs.pages().values())])


def test_the_home_page_links_to_pages_alone() -> None:
    page = make_site.home_page(
        "[a](ggfmt/docs/how-to/a.md#b), [the\nlog](CHANGELOG.md), ![seen](ggfmt/docs/p.svg), [c](#d), [e](https://f.org/)"
    )
    assert page == "[a](how-to/a.md#b), the\nlog, ![seen](p.svg), [c](#d), [e](https://f.org/)"


def test_pages_become_those_of_python_markdown_and_keep_their_lines() -> None:
    fence = "```text\n<!-- f -->\n- g\n  h\n| `i\\|j` |\n```\n"
    page = f"<!-- a -->\n1. b\n\n   ```text\n     c\n   ```\n\n| `d\\|e` \\| |\n\n{fence}"
    expected = page.replace("<!-- a -->", "").replace("`d\\|e`", "`d|e`").replace("\n   ", "\n    ")
    assert make_site.site_page(page) == expected


def test_no_line_ends_within_an_option() -> None:
    block = "<pre><span></span><code>ggfmt --handler a</code></pre>"
    page = f"<code>ggfmt run a-b --on-reject=quarantine -c --</code>{block}<p>--mode</p>"
    assert make_site.finished_page(page) == (
        '<code>ggfmt run a-b <span class="option">--on-reject</span>=quarantine <span class="option">-c</span> --'
        f"</code>{block}<p>--mode</p>"
    )


def test_keys_reach_the_menu_and_the_page_of_a_code_leads_up() -> None:
    page = '<label class="md-header__button md-icon" for="__drawer"></label><article class="a"></article>'
    finished = make_site.finished_page(page, is_of_code=True)
    assert 'for="__drawer" tabindex="0" aria-label="Menu">' in finished
    assert re.search(r'aria-label="Path">.*href="../codes.html".*<article class="a">', finished, re.DOTALL)
    assert "codes.html" not in make_site.finished_page(page)


def test_the_site_names_its_release_and_the_source_if_the_project_does() -> None:
    assert f'[project]\ncopyright = "ggfmt {VERSION}"\na = 1\n' == make_site.configured("[project]\na = 1\n", "")
    declared = '[project.urls]\nSource = "https://a.org/b"\n'
    assert 'repo_url = "https://a.org/b"\na = 1' in make_site.configured("[project]\na = 1\n", declared)


@pytest.mark.parametrize(("scheme", "ground"), [("default", "#eef0ff"), ("slate", "#121627")])
def test_links_can_be_read_in_both_themes(scheme: str, ground: str) -> None:
    """`ground` is behind the entry of the shown page in the menu. At least 4.5 to 1: WCAG 2, level AA."""
    style = (ROOT / "tests" / "tools" / "site.css").read_text(encoding="utf-8")
    color = re.search(rf'"{scheme}"\]\[data-md-color-accent\] {{\s+--md-accent-fg-color: (#\w+);', style)
    assert color is not None
    light, dark = sorted((_luminance(color[1]), _luminance(ground)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def _luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def test_links_that_lead_nowhere_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b.css").touch()
    home = '<a href="a/c.html#d"><a href="a/c.html#e"><a href="f.html"><a href="">'
    page = '<p id="d"><a href="../"><a href="/"><a href="#d"><a href="#g"><link href="../b.css"><img src="i.svg">'
    (tmp_path / "index.html").write_text(home, encoding="utf-8")
    (tmp_path / "a" / "c.html").write_text(f'{page}<a href="https://h.org/">', encoding="utf-8")
    assert make_site.broken_links(tmp_path) == [
        "a/c.html: #g",
        "a/c.html: i.svg",
        "index.html: a/c.html#e",
        "index.html: f.html",
    ]


def test_a_directory_with_other_files_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(make_site.SiteError, match="no site"):
        make_site.build(tmp_path)
    assert (tmp_path / "mine").exists()


def test_without_zensical_the_command_to_install_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(make_site.SiteError, match=r"pip install -e '\.\[docs\]'"):
        make_site.build(tmp_path / "site")


# The built site

_SHOWN = {"a", "code", "h1", "h2", "h3", "h4", "li", "ol", "pre", "table", "td", "th", "ul"}


class _Shown(HTMLParser):
    """What a reader sees of a page: tags and texts, by lines. Texts are without blanks, and without links to places."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self._in_permalink = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._in_permalink = attributes.get("class") == "headerlink"
        if tag in _SHOWN and not self._in_permalink:
            self.text += f"\n<{tag}{attributes.get('start') or ''}>\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in _SHOWN and not self._in_permalink:
            self.text += f"\n</{tag}>\n"
        self._in_permalink = False

    def handle_data(self, data: str) -> None:
        if not self._in_permalink:
            self.text += "".join(data.split())


def _shown(html: str) -> list[str]:
    """Return what a reader sees. Two lists without a text between them are one: a comment may part them."""
    return re.sub(r"</ul>\s*<ul>", "", _Shown(html).text).split()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as the documented command makes it; a link that leads nowhere fails it."""
    pytest.importorskip("zensical", reason="needs the extra `docs`")
    directory = tmp_path_factory.mktemp("built") / "site"
    make_site.build(directory)
    return directory


@pytest.mark.long
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert make_site.broken_links(site) == []
    assert (site / "index.html").is_file()


@pytest.mark.long
def test_no_page_asks_another_host_for_anything_or_has_a_comment(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"<(?:link|script|img|iframe)\b[^>]*(?:href|src)=\"?(?:https?:)?//[^>]*>", text) == [], file
        assert "<!-- generated" not in text
        assert "<!-- output" not in text


@pytest.mark.long
def test_pages_have_what_keys_and_screen_readers_need(site: Path) -> None:
    """What `site_browser.py --axe` found, as far as HTML shows it."""
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"<th[^>]*>\s*</th>", text) == [], file
        assert text.count('aria-label="Navigation"') == 1, file  # each landmark has a name of its own
        assert len(re.findall(r'for="__drawer" tabindex="0" aria-label="Menu"', text)) == 1, file
        assert re.findall(r"(?<!</span>)<code>[^<]*--\w", text) == [], file
        assert (make_site._WAY_UP in text) == (file.parent.name == "codes"), file
        assert f"ggfmt {VERSION}" in text, file


@pytest.mark.long
@pytest.mark.parametrize("topic", docs.pages())
def test_the_site_shows_a_page_as_commonmark_does(site: Path, topic: str) -> None:
    """As GitHub does. Zensical has Python-Markdown, which reads lists, tables and tags in another way."""
    page = docs.pages()[topic]
    text = (ROOT / "ggfmt" / "docs" / page.path).read_text(encoding="utf-8")
    html = (site / page.path).with_suffix(".html").read_text(encoding="utf-8")
    article = html.partition("<article")[2].partition("</article>")[0]
    _, start, shown = article.partition("<h1")
    expected = MarkdownIt("commonmark").enable("table").render(text)
    assert _shown(start + shown) == _shown(expected[expected.index("<h1") :])
