"""Elements of the page. Only a `Html` is used unchanged; anything else is text, so no name can become markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import without_credentials
from ggfmt.java.text import visible
from ggfmt.render.report.facts import TYPES, in_order

WORD = 16  # characters of code that stay on one line
MAX_TEXT = 400  # characters of a reason
LONG_ROWS = 500  # a browser lays out more only where they are seen, or once it is idle
MAX_ROWS = 10_000  # of a table: a browser opens these at once, and the manifest has all
_CODE = re.compile(r"\b(GG\d{3})\b")


class Html(str):
    __slots__ = ()


Content = str | int | None  # None is nothing
Row = Sequence[Content]
Fact = tuple[str, Content]


def text(value: str | int) -> Html:
    return Html(html.escape(visible(f"{value:,}" if isinstance(value, int) else value)))


def join(parts: Iterable[Content]) -> Html:
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts if part is not None))


def element(tag: str, /, *children: Content, **attributes: str | None) -> Html:
    """Return an element. In names of attributes, a final `_` is dropped and others become `-`; None leaves one out."""
    given = (
        f' {key.removesuffix("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{''.join(given)}>{join(children)}</{tag}>")


def name(value: str) -> Html:
    return element("bdi", value)


def code(value: str) -> Html:
    """Return a text as code; a code of ggfmt links to its meaning on the page."""
    shown = _code(name(value), len(value))
    return element("a", shown, href=f"#{value}") if value in CODES else shown


def _code(shown: str, length: int) -> Html:
    return element("code", shown, class_="word" if length <= WORD else None)


def marked(value: str) -> Html:
    """Return a text with what is between backticks as code, and links from codes to their meanings."""
    parts = value.split("`")
    if len(parts) % 2 == 0:  # one has no end
        parts = [value]
    words = (part if place % 2 else _CODE.split(part) for place, part in enumerate(parts))
    linked = (_code(each, len(each)) if isinstance(each, str) else _with_links(each) for each in words)
    return element("bdi", *linked)


def _with_links(words: Sequence[str]) -> Html:
    return join(code(word) if word in CODES else word for word in words)


def key(kind: str) -> Html:
    return element("i", class_=f"key {_class(kind)}", aria_hidden="true")


def bar(counts: Mapping[str, float], most: float) -> Html:
    """Return a bar with a part for each type; one with the total `most` is as long as its cell.

    The lengths are attributes, because the policy of the page forbids inline styles.
    """
    parts = []
    start = 0.0
    for kind in in_order(counts):
        width = 100 * counts[kind] / most
        place = {"x": f"{start:.3f}%", "width": f"{width:.3f}%", "height": "100%"}
        parts.append(element("rect", **place, class_=_class(kind)))
        start += width
    return element("svg", *parts, class_="row", aria_hidden="true")


def _class(kind: str) -> str:
    return f"op-{TYPES.get(kind, 'other')}"


def table(titles: Sequence[str], rows: Sequence[Row], caption: str) -> Html | None:
    """Return a table in a box that scrolls; None without rows.

    A `#` before a title is for numbers, which are right-aligned. A column without a title has bars.
    """
    if not rows:
        return None
    if len(rows) > MAX_ROWS:
        caption += f" {len(rows) - MAX_ROWS:,} more rows are not on this page."
    classes = [("n" if title[0] == "#" else None) if title else "b" for title in titles]

    def line(tag: str, cells: Iterable[Content], scope: str | None = None) -> Html:
        pairs = zip(cells, classes, strict=True)
        return element("tr", *(element(tag, cell, scope=scope, class_=kind) for cell, kind in pairs))

    head = element("thead", line("th", (title.removeprefix("#") for title in titles), "col"))
    body = element("tbody", *(line("td", row) for row in rows[:MAX_ROWS]))
    whole = element("table", element("caption", caption), head, body)
    kind = "scroll long" if len(rows) > LONG_ROWS else "scroll"
    return element("div", whole, class_=kind, tabindex="0", role="region", aria_label=caption)


def facts(rows: Sequence[Fact]) -> Html:
    return element("dl", *(element("div", element("dt", key), element("dd", value)) for key, value in rows))


def section(title: str, *parts: Html | None) -> Html | None:
    if not any(parts):
        return None
    id = title.lower().replace(" ", "-")
    return element("section", element("h2", title, id=id), *parts, aria_labelledby=id)


def path(given: str) -> Html:
    return code(without_credentials(given))


def cut(given: str) -> Html:
    shown = without_credentials(given)
    return marked(shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}...")
