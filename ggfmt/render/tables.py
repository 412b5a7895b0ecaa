"""Tables for a terminal. No word is cut: a table that does not fit becomes a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult

_TEXT_WIDTH = 24  # columns below which a text of several words is hard to read
_INDENT = 2


class FittedTable:
    """A table as wide as the console, with columns that are at least as wide as their longest words.

    If they do not fit, it becomes a list. `right`: the number of last columns that are aligned to the right. `layout`:
    arguments of rich's table.
    """

    def __init__(
        self, headings: Sequence[Text], rows: Sequence[Sequence[Text]], *, right: int = 0, **layout: Any
    ) -> None:
        self._headings, self._rows, self._right, self._layout = headings, rows, right, layout

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [(heading, *cells) for heading, *cells in zip(self._headings, *self._rows, strict=True)]
        # At least its longest word, and more for a text of several words.
        least = [
            max(max(min(cell.cell_len, _TEXT_WIDTH), _longest_word(cell)) for cell in column) for column in columns
        ]
        borders = Measurement.get(console, options.update(width=10_000), self._empty([1] * len(columns))).maximum
        room = options.max_width - borders + len(columns)
        if sum(least) > room:
            yield from self._list(console, options.max_width)
            return
        table = self._empty(_share(least, [max(cell.cell_len for cell in column) for column in columns], room))
        for row in self._rows:
            table.add_row(*row)
        yield table

    def _empty(self, widths: Sequence[int]) -> Table:
        table = Table(**self._layout)
        for number, (heading, width) in enumerate(zip(self._headings, widths, strict=True)):
            justify: JustifyMethod = "right" if number >= len(widths) - self._right else "left"
            table.add_column(heading, width=width, justify=justify, overflow="fold")
        return table

    def _list(self, console: Console, room: int) -> Iterator[Text]:
        title = self._layout.get("title")
        if title:
            yield Text.assemble(title, "\n")
        if self._headings[0].plain:
            yield Text.assemble(self._headings[0], ":")
        for number, (first, *cells) in enumerate(self._rows):
            if number:
                yield Text()
            yield Text.assemble(first, style="bold")
            for heading, cell in zip(self._headings[1:], cells, strict=True):
                if cell.plain:
                    named = Text.assemble(heading, ": ", cell) if heading.plain else cell
                    yield from _wrapped(console, named, room)


def _longest_word(text: Text) -> int:
    return max((Text(word).cell_len for word in text.plain.split()), default=0)


def _share(least: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    """Share the room: each column gets its least width; those that want little more come first."""
    widths = list(least)
    spare = room - sum(least)
    order = sorted(range(len(least)), key=lambda column: wanted[column] - least[column])
    for place, column in enumerate(order):
        more = min(max(wanted[column] - least[column], 0), spare // (len(order) - place))
        widths[column] += more
        spare -= more
    return widths


def _wrapped(console: Console, text: Text, room: int) -> Iterator[Text]:
    """Break a text into indented lines. A word as wide as the console has no indent."""
    indent = max(min(2 * _INDENT, room - _longest_word(text)), 0)
    lines = text.wrap(console, room - indent, overflow="fold")
    for number, line in enumerate(lines):
        line.rstrip()
        yield Text.assemble(" " * (min(indent, _INDENT) if not number else indent), line)
