"""A preview as text: plain, or in color on a terminal.

No data can control the terminal: characters that do not print are shown as escapes, in a color of their own, so that
they differ from the same characters in the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TextIO

from ggfmt.commit.names import counted
from ggfmt.formats.api.writing import ShownField, ShownMessage
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.render.diagnostics import STYLES as DIAGNOSTIC_STYLES
from ggfmt.render.diagnostics import Piece, diagnostic_pieces, plain, print_styled
from ggfmt.render.terminal import text_width, write_text
from ggfmt.sinks.preview import DefinitionRecord, HandlerPreview, Message, Preview, ShownFields, TablePreview

STYLES = {
    "heading": "bold",
    "name": "cyan",
    "value": "",
    "null": "magenta",
    "punctuation": "dim",
    "remark": "dim italic",
    "escape": "yellow",
    "warning": "bold yellow",
}
# What JSON and XML have in a line: names, NULL, and texts, which contain neither. A text ends with the line at the
# latest: in other formats, a quote may have no end.
_PART = lazy_regex(
    r"""
      (?P<name> "[^"\\]*(?:\\.[^"\\]*)*"(?=[ ]*:) | </?\w+ | \b\w+(?==['"]) )
    | (?P<null> \bnull\b )
    | "[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z) | '[^']*(?:'|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_MAX_NAME_WIDTH = 40


def preview_text(preview: Preview) -> str:
    return plain(_preview(preview, None))


def print_preview(preview: Preview, stream: TextIO) -> None:
    """Write a preview to a stream; in color if it is a terminal and `NO_COLOR` is not set."""
    if os.environ.get("NO_COLOR"):
        write_text(preview_text(preview), stream, is_data=True)
    else:
        print_styled(lambda columns: _preview(preview, columns), DIAGNOSTIC_STYLES | STYLES, stream, is_data=True)


def _preview(preview: Preview, columns: int | None) -> Iterator[Piece]:
    sections = [(handler, table) for handler in preview.handlers for table in handler.tables]
    for number, (handler, table) in enumerate(sections):
        if number:
            yield "\n", "value"
        yield from _table(handler, table, preview.whole, columns)
    if preview.strays:
        if sections:
            yield "\n", "value"
        yield "Unreadable records of other tables\n", "heading"
        for stray in preview.strays:
            yield from diagnostic_pieces(stray, columns)
        yield from _more(preview.more_strays)
    elif not sections:
        yield "No operations found.\n", "heading"


def _table(handler: HandlerPreview, table: TablePreview, whole: bool, columns: int | None) -> Iterator[Piece]:
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
            yield from message_pieces(item.shown)
        elif isinstance(item, Message):
            number += 1
            yield "\n", "value"
            yield from _message(item, number)
        else:
            yield "\n", "value"
            yield from diagnostic_pieces(item, columns)
    yield from _more(table.more_rejects)


def _more(rejects: int) -> Iterator[Piece]:
    if rejects:
        yield f"... and {counted(rejects, 'more record')} with such errors\n", "remark"


def _fields(fields: ShownFields, changed: bool) -> Iterator[Piece]:
    if changed:
        yield "\nThe definition of the table changes here\n", "heading"
    for fact in fields.about:
        yield f"  {visible(fact)}\n", "remark"
    yield "Fields\n", "heading"
    width = len(str(len(fields.names)))
    for number, name in enumerate(fields.names, 1):
        yield f"  {number:{width}}: ", "punctuation"
        yield f"{visible(name)}\n", "name"


def _message(message: Message, number: int) -> Iterator[Piece]:
    position = "no position" if not message.position else f"position {visible(message.position)}"
    origin = ", from a primary key update" if message.of_key_update else ""
    yield f"Message {number}: {message.kind}, {position}{origin}\n", "heading"
    yield from message_pieces(message.shown)


def message_pieces(shown: ShownMessage) -> Iterator[Piece]:
    for line in shown.lines:
        yield "  ", "value"
        yield from _highlighted(line)
        yield "\n", "value"
    yield from _named(shown.fields)
    for warning in shown.warnings:
        yield "  warning: ", "warning"
        yield f"{visible(warning)}\n", "value"


def _named(fields: Sequence[ShownField]) -> Iterator[Piece]:
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


def _highlighted(line: str) -> Iterator[Piece]:
    place = 0
    for part in _PART.finditer(line):
        yield from _painted(line[place : part.start()], "value")
        yield from _painted(part[0], part.lastgroup or "value")
        place = part.end()
    yield from _painted(line[place:], "value")


def _painted(text: str, style: str) -> Iterator[Piece]:
    if text.isprintable():
        yield visible(text), style
        return
    for prints, characters in groupby(text, str.isprintable):
        yield visible("".join(characters)), style if prints else "escape"
