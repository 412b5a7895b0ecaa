"""Tables of the page: their cells, how many rows they have at most, and what hides a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggfmt.commit.names import counted
from ggfmt.render.report.markup import Content, Markup, element, join

MOST_ROWS = 10_000  # what a browser opens at once; the manifest has all
Row = Sequence[Content]

_FILTERED = 12  # rows, from which on the script of the page offers to filter and to sort


@dataclass(frozen=True)
class Column:
    """`number`: of counts, to the right and sorted by their values; `bar`: of bars, without a heading to read."""

    title: str
    number: bool = False
    bar: bool = False


def table(columns: Sequence[Column], rows: Sequence[Row], caption: str, class_: str | None = None) -> Markup:
    """A table, in a box of its own that scrolls where a window is too narrow. Those of a class of their own are short;
    others can be filtered where they are long."""
    heads = [
        element("th", column.title, scope="col", class_="n" if column.number else "b" if column.bar else None)
        for column in columns
    ]
    body = [_row(columns, row) for row in rows[:MOST_ROWS]]
    parts = [
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
    ]
    whole = element("table", *parts, class_=class_, data_filter=len(rows) >= _FILTERED and class_ is None)
    note = None
    if len(rows) > MOST_ROWS:
        more = f"{len(rows) - MOST_ROWS:,} more are not on this page; the manifest in the output directory has all."
        note = element("p", more, class_="note")
    return join((element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption), note))


def _row(columns: Sequence[Column], row: Row) -> Markup:
    cells = []
    for column, cell in zip(columns, row, strict=True):
        class_ = "n" if column.number else "b" if column.bar else None
        cells.append(element("td", cell, class_=class_))
    return element("tr", *cells)


def folded(what: str, number: int, content: Markup) -> Markup:
    """A table that opens with a click."""
    return element("details", element("summary", f"{what} ({number:,})"), content)


def facts(rows: Sequence[tuple[str, Content]]) -> Markup:
    """Names and what they are."""
    return element("dl", *(element("div", element("dt", key), element("dd", value)) for key, value in rows))


def top(number: int, of: int, noun: str) -> str:
    """`20 tables`, or `the first 15 of 20 tables`."""
    return counted(of, noun) if number >= of else f"the first {number} of {counted(of, noun)}"
