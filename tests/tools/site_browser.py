"""The documentation site in a real browser: a headless Chromium that playwright steers.

    pip install -e '.[docs]' playwright
    npm install --prefix build axe-core
    python tests/tools/site_browser.py [--chromium FILE] [--screenshots DIRECTORY] [--axe FILE]

Builds the site, and serves it on the loopback interface. Without `--chromium`, playwright's own is used (`playwright
install chromium`). `--axe build/node_modules/axe-core/axe.min.js` checks what readers with other needs meet. Each
check prints a line; the exit code is 1 if one failed. This is no part of the standard tests, as a browser is none of
their dependencies.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from browsers import SCROLL_WIDTH, WORST_CONTRAST, browser_arguments, chromium, opened, run_checks, take_pictures
from make_site import broken_links, build
from playwright.sync_api import Browser, Page

from ggfmt import docs

WIDTHS = (1280, 700, 390)
MIN_CONTRAST = 4.5  # WCAG 2, level AA
_TEXT = "article h1, article h2, article p, article li, article td, article th, article code, article code span"
_AXE = "async () => (await axe.run()).violations.flatMap(rule => rule.nodes.map(node => [rule.id, node.html]))"
_FOCUS = """() => {
  const { left, top, right, bottom, width } = document.activeElement.getBoundingClientRect();
  const shown = width > 0 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  return document.activeElement === document.body ? null : [shown, document.activeElement.outerHTML.slice(0, 100)];
}"""
# A page of each kind, and those with the widest tables.
_KINDS = ("404", "tutorial/first-run", "reference/options", "reference/codes/GG309", "explanation/speed")
_SHOWN = ("index", "how-to/load-delta", "reference/commands", "reference/codes", "reference/formats/json")
_TOGGLE = "header label[for^=__palette]:visible"
_SCHEME = "document.body.getAttribute('data-md-color-scheme')"
_MAX_WAIT = 30_000  # milliseconds, on a machine that does other things too
_Check = Callable[["Site"], None]


class Site:
    """A built site, and windows to open its pages in."""

    def __init__(self, browser: Browser, directory: Path, address: str, axe: str | None = None) -> None:
        self.browser = browser
        self.axe = axe  # the script of axe-core
        self.directory = directory
        self.address = address
        self.pages = [name.removesuffix(".md") for name in ("index.md", *(page.path for page in docs.pages().values()))]

    @contextmanager
    def window(self, name: str, width: int = WIDTHS[0], scheme: Any = "light", script: bool = True) -> Iterator[Page]:
        """Open a page. Fails if it asks another host for anything, or has a message."""
        with opened(self.browser, f"{self.address}/{name}.html", width, scheme, script) as (window, events):
            yield window
            strangers = [request for request in events.requests if not request.startswith(f"{self.address}/")]
            assert (strangers, events.messages) == ([], []), name


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: a window that is closed breaks off its requests."""


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a directory on a free port of the loopback interface, and yield its address."""
    with _Server(("127.0.0.1", 0), partial(_Handler, directory=str(directory))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def every_page_asks_no_other_host_and_fits_every_window(site: Site) -> None:
    wide_parts = 0
    for name in site.pages:
        with site.window(name) as window:
            assert window.locator("article h1").count() == 1, name
            for width in WIDTHS:
                window.set_viewport_size({"width": width, "height": 900})
                assert window.evaluate(SCROLL_WIDTH) <= width, (name, width)
            wide_parts += window.eval_on_selector_all(
                "article .md-typeset__scrollwrap, article pre > code",
                "found => found.filter(each => each.scrollWidth > each.clientWidth"
                " && ['auto', 'scroll'].includes(getComputedStyle(each).overflowX)).length",
            )
    assert wide_parts > 0
    print(f"  {len(site.pages)} pages, {WIDTHS} wide; {wide_parts} wide tables and blocks scroll by themselves")


def every_link_leads_to_a_page_and_a_place(site: Site) -> None:
    broken = broken_links(site.directory)
    assert broken == [], "\n  ".join([f"{len(broken)} links:", *broken])


def the_nav_leads_to_every_page(site: Site) -> None:
    with site.window("index") as window:
        listed = window.eval_on_selector_all(".md-nav--primary a.md-nav__link", "found => found.map(each => each.href)")
        assert {f"{site.address}/{name}.html" for name in site.pages} <= set(listed)


def the_search_finds_a_property_and_a_system(site: Site) -> None:
    for word in ("prettyPrint", "Windows"):
        with site.window("index") as window:
            window.click("header .md-search__button")
            window.keyboard.type(word)
            found = window.locator(f"a:has-text('{word}'):visible")
            found.first.wait_for(timeout=_MAX_WAIT)
            print(f"  {word}: " + ", ".join(dict.fromkeys(each.inner_text().split("\n")[0] for each in found.all())))
            found.first.click()
            window.wait_for_url(lambda address: "/index.html" not in address, timeout=_MAX_WAIT)
            assert word in window.locator("article").inner_text()


def the_theme_follows_the_system_until_a_reader_chooses(site: Site) -> None:
    for scheme, expected in (("light", "default"), ("dark", "slate")):
        with site.window("index", scheme=scheme) as window:
            assert window.evaluate(_SCHEME) == expected
            names = []
            for clicked in (False, True, True):
                if clicked:
                    window.click(_TOGGLE)
                names.append(window.get_attribute(_TOGGLE, "title"))
            assert names == ["Switch to light mode", "Switch to dark mode", "Switch to automatic mode"]
            assert window.evaluate(_SCHEME) == "slate"
            window.reload()
            assert window.evaluate(_SCHEME) == "slate"


def text_can_be_read_in_both_themes(site: Site) -> None:
    for name in _SHOWN:
        for scheme in ("light", "dark"):
            with site.window(name, scheme=scheme) as window:
                worst, text = window.eval_on_selector_all(_TEXT, WORST_CONTRAST)
                assert worst >= MIN_CONTRAST, (name, scheme, worst, text)


def axe_finds_nothing_in_any_kind_of_page(site: Site) -> None:
    if site.axe is None:
        return print("  not checked: no --axe FILE")
    for name in (*_SHOWN, *_KINDS):
        for scheme in ("light", "dark"):
            for width in (WIDTHS[0], WIDTHS[-1]):
                with site.window(name, width, scheme) as window:
                    window.evaluate(site.axe)
                    found = window.evaluate(_AXE)
                    assert found == [], (name, scheme, width, found)
    return None


def keys_reach_what_is_shown_alone(site: Site) -> None:
    for name in _KINDS:
        for width in (WIDTHS[0], WIDTHS[-1]):
            with site.window(name, width) as window:
                window.keyboard.press("Tab")
                reached = []
                while (focus := window.evaluate(_FOCUS)) is not None:
                    reached.append(focus[1])
                    assert focus[0], (name, width, focus[1])
                    window.keyboard.press("Tab")
                assert any('for="__drawer"' in each for each in reached) == (width < WIDTHS[0]), (name, width)


def blocks_of_code_are_copied(site: Site) -> None:
    with site.window("how-to/load-delta") as window:
        window.context.grant_permissions(["clipboard-read", "clipboard-write"])
        block = window.locator("article .language-bash").first
        block.hover()
        block.locator("button").first.click()
        assert window.evaluate("navigator.clipboard.readText()").strip() == block.locator("code").inner_text().strip()


def all_can_be_read_without_a_script(site: Site) -> None:
    with site.window("reference/commands", script=False) as window:
        assert window.locator("article table").first.is_visible()
        assert window.locator("article h1").is_visible()


CHECKS: tuple[_Check, ...] = (
    every_page_asks_no_other_host_and_fits_every_window,
    every_link_leads_to_a_page_and_a_place,
    the_nav_leads_to_every_page,
    the_search_finds_a_property_and_a_system,
    the_theme_follows_the_system_until_a_reader_chooses,
    text_can_be_read_in_both_themes,
    axe_finds_nothing_in_any_kind_of_page,
    keys_reach_what_is_shown_alone,
    blocks_of_code_are_copied,
    all_can_be_read_without_a_script,
)


def main() -> int:
    parser = browser_arguments(__doc__)
    parser.add_argument("--axe", type=Path, metavar="FILE", help="the script of axe-core, to check pages with")
    given = parser.parse_args()
    axe = given.axe and given.axe.read_text(encoding="utf-8")
    with chromium(given.chromium) as browser, tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "site"
        build(directory, strict=False)  # a check lists the broken links
        with served(directory) as address:
            site = Site(browser, directory, address, axe)
            failed = run_checks(CHECKS, site)
            if given.screenshots is not None:
                take_pictures(site.window, _SHOWN, given.screenshots)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
