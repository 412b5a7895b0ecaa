"""The pages of reports in a real browser: a headless Chromium that playwright steers.

    pip install -e '.[browser]'
    python tests/tools/report_browser.py [--chromium FILE] [--screenshots DIRECTORY]

Without `--chromium`, playwright's own is used (`playwright install chromium`). Each check prints a line; the exit code
is 1 if one failed. `pytest -m browser` runs the same checks.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from browsers import SCROLL_WIDTH, WORST_CONTRAST, browser_arguments, chromium, opened, run_checks, take_pictures
from playwright.sync_api import Browser, Page
from reports import NAMES, changed, hostile_output, output

from ggfmt.comparison.comparison import Comparison, TableComparison
from ggfmt.comparison.rows import RowExample
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.render.report.comparison import comparison_report
from ggfmt.render.report.manifests import run_report
from ggfmt.render.report.page import Report, failure, page
from ggfmt.sinks.messages.run_history import read_run, run_of

MANY = 5_000
MAX_SECONDS = 20.0  # to open, sort or filter many tables; on an idle machine it takes one
WIDTHS = (390, 700, 1280, 2560)
_TABLE_NAMES = [f"APP{number % 40:02d}.TABLE_{number:05d}" for number in range(MANY)]
_HOSTILE = (*NAMES, "\U0001f4a3\U0001f469\u200d\U0001f680", "w" * 300, "GG.T")
_Check = Callable[["Pages"], None]


class Pages:
    """The pages of some outputs, and windows to open them in."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.files: dict[str, Path] = {}
        many = output(folder / "many", count=60)
        changed(many, _grow)
        outputs = {
            "usual": output(folder / "usual"),
            "one": output(folder / "one", ("GG.TCUSTORD",), 1),
            "hostile": hostile_output(folder / "hostile"),
            "many": many,
        }
        for name, out in outputs.items():
            self._add(name, run_report(read_run(str(out))))
        for name, names in (("", _HOSTILE), ("-many", _TABLE_NAMES), ("-none", [])):
            rows = run_of(f"s3://user:secret@bucket/{NAMES[0]}", _rows(names))
            self._add(f"rows{name}", run_report(rows))
            if names != _TABLE_NAMES:
                self._add(
                    f"apply{name}", run_report(rows, "apply", "Rolled back", [f"delete from {x};" for x in names])
                )
            self._add(f"compare{name}", comparison_report(_comparison(names), 1.5))
        error = Diagnostic("GG588", f"the table takes no `{NAMES[1]}`", Span(table=NAMES[0]), "see GG301")
        self._add("failure", failure("apply", "Stopped by an error", [error]))

    @property
    def small(self) -> list[str]:
        return [name for name in self.files if "many" not in name]

    def _add(self, name: str, report: Report) -> None:
        self.files[name] = self.folder / f"{name}.html"
        self.files[name].write_text(page(report), encoding="utf-8")

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
    names = _TABLE_NAMES
    totals["operations"] = {name: {"I": number, "U": 7, "D": 1} for number, name in enumerate(names)}
    loss = {"loss": "delimiter_inside", "code": "GG403", "column": "NAME", "values": 3, "what": "with a delimiter"}
    totals["handlers"]["d"]["losses"] = [{**loss, "table": name} for name in names]
    totals["warnings"] = [f"[GG403] table {name}: 3 values" for name in names]
    document["files"] = [{**files[number % 2], "table": name} for name in names for number in range(2)]


def _rows(names: Sequence[str]) -> dict[str, Any]:
    """A manifest of rows in which nothing is well."""
    table = {"operations": {"I": 5, "U": 2}, "key": ["ID"], "rows": 4, "unresolved": 1, "unfit": {NAMES[0]: 3}}
    tables = {name: {**table, "contradictions": {NAMES[1]: 1}, "unset": {name: {"added_later": 2}}} for name in names}
    return {
        "ggfmt": "1",
        "run": "r",
        "time": "2026-01-31_18-30-00.000",
        "mode": "error",
        "input_format": "json",
        "consolidated": {"kind": "current", "to": "parquet"},
        "tables": tables,
        "rejects": {"GG301": len(names)},
        "set_aside": {name: {"reason": f"GG588 {name}", "kept": 7} for name in names[:20]},
        "warnings": [f"[GG403] {name}" for name in names],
        "files": [{"path": f"{name}/part-0.parquet", "table": name, "rows": 4, "bytes": 9} for name in names],
    }


def _comparison(names: Sequence[str]) -> Comparison:
    column = NAMES[0]
    example = RowExample("different", {"ID": 1}, {"ID": 1, column: column}, {"ID": 1, column: None})
    found = [
        TableComparison(name, ("ID",), 700 * number, 1, 2, 3, {name: 3}, {name: example}, examples=(example,))
        for number, name in enumerate(names)
    ]
    return Comparison("postgresql://a", NAMES[0], tuple(found), skipped_b=tuple(names[:1]))


def every_page_loads_nothing_and_fits_every_window(pages: Pages) -> None:
    for name in pages.files:
        for width in WIDTHS if name in pages.small else WIDTHS[:1]:
            with pages.window(name, width) as window:
                assert window.evaluate(SCROLL_WIDTH) <= width, (name, width)


def no_card_is_empty(pages: Pages) -> None:
    boxes = "section, article, .tiles > div, .scroll, td:first-child"
    for name in pages.small:
        with pages.window(name, WIDTHS[0]) as window:
            found = window.eval_on_selector_all(
                boxes,
                "found => found.map(each => [each.innerText.trim().length, each.offsetHeight, each.outerHTML])"
                ".filter(([length, height]) => !length || height < 15).map(each => each[2].slice(0, 200))",
            )
            assert found == [], (name, found)


def short_words_of_code_stay_whole(pages: Pages) -> None:
    for name in pages.small:
        with pages.window(name, WIDTHS[0]) as window:
            found = window.eval_on_selector_all(
                "code",
                "found => found.filter(each => /^\\S{1,10}$/.test(each.textContent)"
                " && each.getClientRects().length > 1).map(each => each.textContent)",
            )
            assert found == [], (name, found)


def codes_link_to_their_meanings(pages: Pages) -> None:
    for name in pages.small:
        with pages.window(name) as window:
            dead = window.eval_on_selector_all(
                "a",
                "found => found.map(each => each.getAttribute('href'))"
                ".filter(to => !document.getElementById(to.slice(1)))",
            )
            assert dead == [], (name, dead)
            assert window.locator("a").count() or name in ("one", "rows-none", "apply-none"), name


def tables_are_sorted_and_filtered_by_keys_alone(pages: Pages) -> None:
    with pages.window("many") as window:
        region = window.locator("section", has=window.locator("#operations-by-table"))
        table = region.locator("table").first
        first = "each => each.tBodies[0].querySelector('tr:not([hidden])').cells[0].textContent"
        button = table.get_by_role("button", name="Table")
        for order, expected in (("ascending", _TABLE_NAMES[0]), ("descending", max(_TABLE_NAMES))):
            start = time.perf_counter()
            button.focus()
            window.keyboard.press("Enter")
            seconds = time.perf_counter() - start
            assert seconds < MAX_SECONDS, seconds
            assert table.locator("th[aria-sort]").get_attribute("aria-sort") == order
            assert table.evaluate(first) == expected
        start = time.perf_counter()
        region.get_by_label("Filter: ").first.focus()
        window.keyboard.type("table_00123")
        assert table.evaluate(first) == "APP03.TABLE_00123"
        assert region.locator("output").first.text_content() == f"1 of {MANY} rows"
        assert time.perf_counter() - start < MAX_SECONDS


def a_picture_of_the_whole_page_has_all_tables(pages: Pages) -> None:
    with pages.window("many") as window:
        look = "const look = () => document.querySelector('.long') ? setTimeout(look, 50) : done()"
        window.evaluate(f"new Promise(done => {{ {look}; look(); }})")
        each = "found => found.every(each => each.checkVisibility({contentVisibilityAuto: true}))"
        assert window.eval_on_selector_all("tbody tr:first-child", each)


def numbers_are_sorted_as_numbers(pages: Pages) -> None:
    with pages.window("compare") as window:
        table = window.locator("table").first
        table.get_by_role("button", name="Equal").click()
        shown = table.evaluate("each => [...each.tBodies[0].rows].slice(0, 3).map(row => row.cells[2].textContent)")
        assert shown == ["8,400", "7,700", "7,000"], shown


def without_scripts_there_are_plain_tables(pages: Pages) -> None:
    address = pages.files["many"].as_uri()
    with opened(pages.browser, address, script=False) as (window, _):
        assert window.locator("tbody tr").count() > MANY
        assert window.locator("button, input").count() == 0


def a_phone_shows_numbers_and_bars(pages: Pages) -> None:
    with pages.window("usual", WIDTHS[0]) as window:
        region = window.locator("section", has=window.locator("#operations-by-table"))
        for selector in ("td:nth-child(3)", "td.b rect"):
            box = region.locator(selector).first.bounding_box()
            assert box is not None and box["width"] > 5 and box["x"] + 5 < WIDTHS[0], (selector, box)
        region.get_by_role("button", name="Table").click(timeout=5000)  # nothing covers it
    for name in pages.small:
        with pages.window(name, WIDTHS[0]) as window:
            edges = (
                "found => found.flatMap(each => [...each.rows[0].cells].map((head, place) => [head.textContent,"
                " ...[head, each.rows[1].cells[place]].map(cell => cell.getBoundingClientRect().right)]))"
            )
            for title, head, cell in window.eval_on_selector_all("table", edges):
                assert not title or abs(head - cell) < 1, (name, title, head, cell)


def a_printed_page_begins_with_a_table(pages: Pages) -> None:
    """The first sheet has the tiles and, below, the first card: no card waits for a sheet of its own."""
    with pages.window("usual", 794) as window:
        window.emulate_media(media="print")
        top = window.locator("section").nth(1).bounding_box()
        assert top is not None and top["y"] < 1000, top
        assert not window.locator("label").first.is_visible()
        assert window.locator(".scroll").first.evaluate("each => getComputedStyle(each).overflow") == "visible"


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
    for width in (390, 1280):
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
        for name in pages.small:
            with pages.window(name, scheme=scheme) as window:
                words = "h1, h2, h3, p, dt, dd, b, th, td, caption, code, span, a, button, label, .badge, footer p"
                worst, text = window.eval_on_selector_all(words, WORST_CONTRAST)
                assert worst >= 4.5, (name, scheme, worst, text)


def names_do_nothing(pages: Pages) -> None:
    with pages.window("hostile") as window:
        assert window.title().startswith("ggfmt run of <script>")
        names = window.eval_on_selector_all("td:first-child bdi", "found => found.map(each => each.textContent)")
        assert {visible(name) for name in NAMES} <= set(names), names
    for name in pages.small:
        assert "secret" not in pages.files[name].read_text(encoding="utf-8"), name
        with pages.window(name) as window:
            window.mouse.move(200, 300)
            assert window.locator("script").count() == 1, name
            assert window.locator("img, iframe, object, [onclick], [onerror]").count() == 0, name


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
    with pages.window("hostile") as window:
        wanted = window.locator("button, input, [tabindex='0'], a").count()
        assert wanted > 50
        for _ in range(wanted):
            window.keyboard.press("Tab")
            window.evaluate("document.activeElement.dataset.reached = 1")
        assert window.locator("[data-reached]").count() == wanted
        assert window.locator("[data-reached]:not([aria-label])", has_not_text=re.compile(r"\S")).count() == 0


CHECKS: tuple[_Check, ...] = (
    every_page_loads_nothing_and_fits_every_window,
    no_card_is_empty,
    short_words_of_code_stay_whole,
    codes_link_to_their_meanings,
    tables_are_sorted_and_filtered_by_keys_alone,
    a_picture_of_the_whole_page_has_all_tables,
    numbers_are_sorted_as_numbers,
    without_scripts_there_are_plain_tables,
    a_phone_shows_numbers_and_bars,
    a_printed_page_begins_with_a_table,
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
