"""Pages of Markdown on a terminal: tables that fit, and code as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich import box
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from ggfmt.render.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

PAGE_WIDTH = 120
_INDENT = "  "


class _WordTable(TableElement):
    """A table in which no word is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headings, rows = list[Text](), list[list[Text]]()
        if self.header is not None and self.header.row is not None:
            headings = [cell.content.copy() for cell in self.header.row.cells]
        for heading in headings:
            heading.stylize("cyan")
        if self.body is not None:
            rows = [[cell.content for cell in row.cells] for row in self.body.rows]
        yield Text()
        yield FittedTable(headings, rows, box=box.SIMPLE_HEAD, pad_edge=False, style="cyan")


class _Code(CodeBlock):
    """Lines of code, which are not broken: a terminal that breaks one copies it as a whole."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        # In the colors of the terminal: its background is that of the code.
        lines = Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default").highlight(code)
        lines.rstrip()
        is_top = options.max_width >= min(console.width, PAGE_WIDTH)  # rich crops what is in a list
        for line in lines.split("\n", allow_blank=True):
            shown = Text.assemble(_INDENT, line)
            shown.no_wrap, shown.overflow = is_top, "ignore" if is_top else "fold"
            yield shown


class TerminalPage(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": _WordTable,
        "fence": _Code,
        "code_block": _Code,
    }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(Theme({"markdown.code": "bold cyan"})):  # rich's own has a black background
            yield from super().__rich_console__(console, options)
