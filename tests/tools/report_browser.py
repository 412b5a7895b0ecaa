"""The page of `ggfmt report` in a real browser: a headless Chromium that playwright steers.

    pip install playwright
    python tests/tools/report_browser.py [--chromium FILE] [--screenshots DIRECTORY]

Without `--chromium`, playwright's own is used (`playwright install chromium`). Each check prints a line; the exit code
is 1 if one failed. This is no part of the standard tests, as a browser is none of their dependencies.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from browsers import SCROLL_WIDTH, WORST_CONTRAST, browser_arguments, chromium, opened, run_checks, take_pictures
from playwright.sync_api import Browser, Page
from reports import NAMES, changed, hostile_output, output

from ggfmt.java.text import visible
from ggfmt.render.report.page import page
from ggfmt.sinks.messages.run_history import read_run

MANY = 5_000
MAX_SECONDS = 5.0  # to open the page of many tables; on an idle machine it takes a third of one
WIDTHS = (400, 700, 1280, 2560)
_Check = Callable[["Pages"], None]


class Pages:
    """The pages of some outputs, and windows to open them in."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.files: dict[str, Path] = {}
        self._add("usual", output(folder / "usual"))
        self._add("one", output(folder / "one", ("GG.TCUSTORD",), 1))
        self._add("hostile", hostile_output(folder / "hostile"))
        many = output(folder / "many", count=60)
        changed(many, _grow)
        self._add("many", many)

    def _add(self, name: str, out: Path) -> None:
        self.files[name] = self.folder / f"{name}.html"
        self.files[name].write_text(page(read_run(str(out))), encoding="utf-8")

    @contextmanager
    def window(self, name: str, width: int = 1280, scheme: Any = "light") -> Iterator[Page]:
        """Open the page from `file:`. Fails if the page asks for anything else, or has a message."""
        address = self.files[name].as_uri()
        with opened(self.browser, address, width, scheme) as (window, events):
            yield window
            assert (events.requests, events.messages) == ([address], [])


def _grow(document: dict[str, Any]) -> None:
    """A manifest of many tables, with two files and a loss of each."""
    totals, files = document["totals"], document["files"]
    names = [f"APP{number % 40:02d}.TABLE_{number:05d}" for number in range(MANY)]
    totals["operations"] = {name: {"I": number, "U": 7, "D": 1} for number, name in enumerate(names)}
    loss = {"loss": "delimiter_inside", "code": "GG403", "column": "NAME", "values": 3, "what": "with a delimiter"}
    totals["handlers"]["d"]["losses"] = [{**loss, "table": name} for name in names]
    totals["warnings"] = [f"[GG403] table {name}: 3 values" for name in names]
    document["files"] = [{**files[number % 2], "table": name} for name in names for number in range(2)]


def every_page_loads_nothing_and_fits_every_window(pages: Pages) -> None:
    for name in pages.files:
        for width in WIDTHS:
            with pages.window(name, width) as window:
                assert window.evaluate(SCROLL_WIDTH) <= width, (name, width)


def types_have_different_colors(pages: Pages) -> None:
    for scheme in ("light", "dark"):
        with pages.window("usual", scheme=scheme) as window:
            style = "found => found.map(each => getComputedStyle(each).fill)"
            colors = {
                kind: set(window.eval_on_selector_all(f"svg rect.op-{kind}", style))
                for kind in ("insert", "update", "delete", "truncate")
            }
            assert all(len(each) == 1 for each in colors.values()), colors
            assert len(set.union(*colors.values())) == 4, colors


def parts_of_bars_lie_within_their_bar(pages: Pages) -> None:
    for width in (400, 1280):
        with pages.window("usual", width) as window:
            boxes = window.eval_on_selector_all(
                "svg.row rect",
                "found => found.map(each => [each, each.parentElement].map(of => of.getBoundingClientRect()))"
                ".map(([part, bar]) => [bar.left, part.left, part.right, bar.right])",
            )
            assert len(boxes) > 20
            for left, start, end, right in boxes:
                assert left - 1 <= start <= end <= right + 1


def text_can_be_read_in_both_themes(pages: Pages) -> None:
    """The least contrast that WCAG 2 allows is 4.5 to 1."""
    for scheme in ("light", "dark"):
        with pages.window("usual", scheme=scheme) as window:
            words = "h1, h2, h3, p, dt, dd, b, th, td, caption, code, span, .badge, footer p"
            worst, text = window.eval_on_selector_all(words, WORST_CONTRAST)
            assert worst >= 4.5, (scheme, worst, text)


def names_do_nothing(pages: Pages) -> None:
    with pages.window("hostile") as window:
        assert window.title().startswith("ggfmt run r<script>")
        assert window.locator("script").count() == 0
        names = window.eval_on_selector_all("td:first-child bdi", "found => found.map(each => each.textContent)")
        assert {visible(name) for name in NAMES} <= set(names), names


def the_policy_stops_what_is_not_of_the_page(pages: Pages) -> None:
    text = pages.files["usual"].read_text(encoding="utf-8")
    attacks = (
        "<script>document.title = 'owned'</script><style>h1 { color: red }</style>"
        "<img src='x.png' onerror='document.title = 1'><p style='color: red'></p><iframe src='x.html'></iframe>"
    )
    attacked = pages.folder / "attacked.html"
    attacked.write_text(text.replace("<main>", f"<main>{attacks}"), encoding="utf-8")
    window = pages.browser.new_page()
    refused: list[str] = []
    window.on("console", lambda message: refused.append(message.text))
    window.goto(attacked.as_uri())
    assert window.title().startswith("ggfmt run")
    assert window.evaluate("getComputedStyle(document.querySelector('h1')).color") != "rgb(255, 0, 0)"
    assert len([line for line in refused if "Content Security Policy" in line]) >= 5, refused
    window.close()


def a_page_of_many_tables_opens_at_once(pages: Pages) -> None:
    start = time.perf_counter()
    with pages.window("many") as window:
        window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.perf_counter() - start
        assert seconds < MAX_SECONDS, seconds
        print(f"  {MANY:,} tables, {pages.files['many'].stat().st_size:,} bytes: {seconds:.2f} s")


def all_is_reached_by_keys(pages: Pages) -> None:
    with pages.window("many") as window:
        regions = window.get_by_role("region").count()
        assert regions > 5
        reached = set()
        for _ in range(60):
            window.keyboard.press("Tab")
            reached.add(window.evaluate("document.activeElement.getAttribute('aria-label') || ''"))
        assert any(text.startswith(f"{MANY:,} tables") for text in reached), reached


CHECKS: tuple[_Check, ...] = (
    every_page_loads_nothing_and_fits_every_window,
    types_have_different_colors,
    parts_of_bars_lie_within_their_bar,
    text_can_be_read_in_both_themes,
    names_do_nothing,
    the_policy_stops_what_is_not_of_the_page,
    a_page_of_many_tables_opens_at_once,
    all_is_reached_by_keys,
)


def main() -> int:
    given = browser_arguments(__doc__).parse_args()
    logging.getLogger("ggfmt").addHandler(logging.NullHandler())
    with chromium(given.chromium) as browser, tempfile.TemporaryDirectory() as folder:
        pages = Pages(browser, Path(folder))
        failed = run_checks(CHECKS, pages)
        if given.screenshots is not None:
            take_pictures(pages.window, pages.files, given.screenshots, full_page=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
