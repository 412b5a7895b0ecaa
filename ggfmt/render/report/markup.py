"""Elements of the page. Only a `Html` is used unchanged; anything else is text, so no name can become markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from ggfmt.java.text import visible
from ggfmt.render.report.facts import TYPES, in_order


class Html(str):
    __slots__ = ()


Content = str | int | None  # None is nothing


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
    return element("code", name(value))


def marked(value: str) -> Html:
    """Return a text with what is between backticks as code."""
    parts = value.split("`")
    if len(parts) % 2 == 0:  # one has no end
        return name(value)
    return element("bdi", *(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


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
