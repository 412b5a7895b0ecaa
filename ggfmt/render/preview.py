"""A preview as text: plain, or in color on a terminal.

No data can control the terminal: characters that do not print are shown as escapes, in a color of their own, so that
they differ from the same characters in the data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from ggfmt.commit.names import counted
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.writing import Line, ShownField, ShownMessage
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import diagnostics_rich, diagnostics_text, text_width, write_text
from ggfmt.sinks.preview.handler import DefinitionRecord, HandlerPreview, Message, ShownFields, TablePreview
from ggfmt.sinks.preview.preview import Preview

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {
    "heading": "bold",
    "name": "cyan",
    "value": "",
    "null": "magenta",
    "delimiter": "bold yellow",
    "punctuation": "dim",
    "remark": "dim italic",
    "escape": "yellow",
    "warning": "bold yellow",
}
_MAX_NAME_WIDTH = 40

_Part = tuple[str, str] | Diagnostic  # text and the name of its style


def preview_text(preview: Preview) -> str:
    return "".join(diagnostics_text([part]) if isinstance(part, Diagnostic) else part[0] for part in _preview(preview))


def preview_rich(preview: Preview, columns: int | None = None) -> Text:
    """Return the same text with styles for a rich console of that many columns."""
    from rich.text import Text

    whole = Text(end="")
    for part in _preview(preview):
        if isinstance(part, Diagnostic):
            whole.append_text(diagnostics_rich([part], columns))
        else:
            whole.append(part[0], _STYLES[part[1]])
    return whole


def print_preview(preview: Preview, stream: TextIO) -> None:
    """Write a preview to a stream; in color if it is a terminal and `NO_COLOR` is not set."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        write_text(preview_text(preview), stream)
        return
    from rich.console import Console

    console = Console(file=stream)
    console.print(preview_rich(preview, console.width), soft_wrap=True, end="")


def _preview(preview: Preview) -> Iterator[_Part]:
    sections = [(handler, table) for handler in preview.handlers for table in handler.tables]
    for number, (handler, table) in enumerate(sections):
        if number:
            yield "\n", "value"
        yield from _table(handler, table, preview.whole)
    if preview.strays:
        if sections:
            yield "\n", "value"
        yield "Unreadable records of other tables\n", "heading"
        yield from preview.strays
        yield from _more(preview.more_strays)
    elif not sections:
        yield "No operations found.\n", "heading"


def _table(handler: HandlerPreview, table: TablePreview, whole: bool) -> Iterator[_Part]:
    met = counted(table.operations, "operation")
    where = "in the input" if whole else "in the part that was read"
    yield f"Handler {visible(handler.handler)}, format {handler.format}, table {visible(table.table)}", "heading"
    yield f": {met} {where}\n", "value"
    described, number = False, 0
    for item in table.items:
        if isinstance(item, ShownFields):
            yield from _fields(item, described)
            described = True
        elif isinstance(item, DefinitionRecord):
            yield "\nDefinition record\n", "heading"
            yield from _shown(item.shown)
        elif isinstance(item, Message):
            number += 1
            yield "\n", "value"
            yield from _message(item, number)
        else:
            yield "\n", "value"
            yield item
    yield from _more(table.more_rejects)


def _more(rejects: int) -> Iterator[_Part]:
    if rejects:
        yield f"... and {counted(rejects, 'more record')} with such errors\n", "remark"


def _fields(fields: ShownFields, changed: bool) -> Iterator[_Part]:
    if changed:
        yield "\nThe definition of the table changes here\n", "heading"
    for fact in fields.about:
        yield f"  {visible(fact)}\n", "remark"
    yield "Fields\n", "heading"
    width = len(str(len(fields.names)))
    for number, name in enumerate(fields.names, 1):
        yield f"  {number:{width}}: ", "punctuation"
        yield f"{visible(name)}\n", "name"


def _message(message: Message, number: int) -> Iterator[_Part]:
    position = "no position" if not message.position else f"position {visible(message.position)}"
    origin = ", from a primary key update" if message.of_key_update else ""
    yield f"Message {number}: {message.kind}, {position}{origin}\n", "heading"
    yield from _shown(message.shown)


def _shown(shown: ShownMessage) -> Iterator[_Part]:
    for line in shown.lines:
        yield "  ", "value"
        yield from _line(line)
        yield "\n", "value"
    yield from _named(shown.fields)
    for warning in shown.warnings:
        yield "  warning: ", "warning"
        yield f"{visible(warning)}\n", "value"


def _line(line: Line) -> Iterator[_Part]:
    for piece in line:
        yield from _painted(piece.text, piece.role)


def _named(fields: Sequence[ShownField]) -> Iterator[_Part]:
    names = [visible(field.name) for field in fields]
    width = max((min(text_width(name), _MAX_NAME_WIDTH) for name in names), default=0)
    digits = len(str(len(fields)))
    for number, (name, field) in enumerate(zip(names, fields, strict=True), 1):
        yield f"  {number:{digits}}  ", "punctuation"
        yield f"{name}{' ' * (width - text_width(name))}", "name"
        if field.value:
            yield "  ", "value"
            yield from _painted(field.value, "null" if field.remark else "value")
        if field.remark:
            yield f"  ({field.remark})", "remark"
        yield "\n", "value"


def _painted(text: str, style: str) -> Iterator[_Part]:
    if text.isprintable() or style == "delimiter":
        yield visible(text), style
        return
    for prints, characters in groupby(text, str.isprintable):
        yield visible("".join(characters)), style if prints else "escape"
