"""The documentation site in a real browser: a headless Chromium that playwright steers.

    pip install -e '.[docs]' playwright
    python tests/tools/site_browser.py [--chromium FILE] [--screenshots DIRECTORY]

Builds the site, and serves it on the loopback interface. Without `--chromium`, playwright's own is used (`playwright
install chromium`). Each check prints a line; the exit code is 1 if one failed. This is no part of the standard tests,
as a browser is none of their dependencies.
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

WIDTHS = (1280, 700, 400)
MIN_CONTRAST = 4.5  # WCAG 2, level AA
_TEXT = "article h1, article h2, article p, article li, article td, article th, article code, article code span"
_SHOWN = ("index", "how-to/load-delta", "reference/commands", "reference/codes", "reference/formats/json")
_TOGGLE = "header label[for^=__palette]:visible"
_SCHEME = "document.body.getAttribute('data-md-color-scheme')"
_MAX_WAIT = 30_000  # milliseconds, on a machine that does other things too
_Check = Callable[["Site"], None]


class Site:
    """A built site, and windows to open its pages in."""

    def __init__(self, browser: Browser, directory: Path, address: str) -> None:
        self.browser = browser
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


def the_search_finds_a_property(site: Site) -> None:
    with site.window("index") as window:
        window.click("header .md-search__button")
        window.keyboard.type("prettyPrint")
        found = window.locator("a:has-text('prettyPrint')")
        found.first.wait_for(timeout=_MAX_WAIT)
        print("  prettyPrint: " + ", ".join(dict.fromkeys(each.inner_text().split("\n")[0] for each in found.all())))
        found.first.click()
        window.wait_for_url(lambda address: "/index.html" not in address, timeout=_MAX_WAIT)
        assert "prettyPrint" in window.locator("article").inner_text()


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
    the_search_finds_a_property,
    the_theme_follows_the_system_until_a_reader_chooses,
    text_can_be_read_in_both_themes,
    blocks_of_code_are_copied,
    all_can_be_read_without_a_script,
)


def main() -> int:
    given = browser_arguments(__doc__).parse_args()
    with chromium(given.chromium) as browser, tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "site"
        build(directory, strict=False)  # a check lists the broken links
        with served(directory) as address:
            site = Site(browser, directory, address)
            failed = run_checks(CHECKS, site)
            if given.screenshots is not None:
                take_pictures(site.window, _SHOWN, given.screenshots)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
