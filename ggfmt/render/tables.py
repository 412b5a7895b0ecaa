"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ggfmt.formats import FORMATS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def formats_table() -> Table:
    """All formats: id, what can be done with it, and what it is."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("format", "reads", "writes", "schema", "what it is"):
        table.add_column(heading, overflow="fold")
    for name, format in FORMATS.items():
        marks = ("yes" if part is not None else "" for part in (format.reads, format.writes, format.schema_kind))
        table.add_row(name, *marks, format.doc)
    return table


def print_rich(renderable: RenderableType, stream: TextIO) -> None:
    """Print a table, as wide as the terminal; into a pipe without colour, as wide as it needs."""
    from rich.console import Console

    Console(file=stream, width=None if stream.isatty() else 200).print(renderable)
