"""Markup from values: whatever is no markup is text, and text cannot become anything else.

Names come from the data. They are shown with escapes for what does not print, as in every text of ggfmt, and each in an
element of its own whose direction is nobody else's.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from ggfmt.java.text import visible

_VOID = {"br", "meta"}  # elements that have no content and no end


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | int | None  # a `Markup` as it is, anything else as text; nothing for None


def text(value: str | int) -> Markup:
    """A value as text; a number with commas."""
    return Markup(html.escape(visible(f"{value:,}" if isinstance(value, int) else value)))


def element(tag: str, /, *children: Content, **attributes: Content | float | bool) -> Markup:
    """An element. Of the name of an attribute a last `_` is left out and others become `-`; one without a value is
    left out, and one that is true stands alone."""
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    start = f"<{tag}{given}>"
    return Markup(start if tag in _VOID else f"{start}{join(children)}</{tag}>")


def join(parts: Iterable[Content]) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts if part is not None))


def name(value: str) -> Markup:
    """A name from the data."""
    return element("bdi", value)


def code(value: str) -> Markup:
    """A word to type, a path or a value."""
    return element("code", name(value))


def _attribute(key: str, value: Content | float | bool) -> str:
    shown = key.removesuffix("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {shown}" if value else ""
    if isinstance(value, (int, float)):
        return f' {shown}="{value:.10g}"'
    return f' {shown}="{text(str(value))}"'
