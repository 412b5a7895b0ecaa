"""The fidelity matrix in Markdown: what each format keeps, and what two formats keep together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import (
    MATRIX,
    Aspect,
    FidelityLevel,
    describe_fidelity,
    surviving_aspects,
    unavoidable_losses,
)

LETTERS = {
    Aspect.MISSING: "M",
    Aspect.NULL: "N",
    Aspect.DIGITS: "D",
    Aspect.MICROSECONDS: "U",
    Aspect.TOKENS: "T",
    Aspect.POSITION: "P",
    Aspect.KEYS: "K",
    Aspect.TYPES: "Y",
    Aspect.TRUNCATE: "X",
    Aspect.ORDER: "O",
}

_OF_FORMATS = """\
## What each format keeps

The table shows what a reader gets back: `kept`, `in part` or `lost`, with the settings that decide. Microseconds are
those of the operation time. Order is the order of operations in a transaction, across tables, as far as positions show
it.
"""
_OF_PAIRS = """\
## What two formats keep together

Rows are the format that ggfmt reads. Columns are the format that it writes, by the number of its row.

{letters}

A capital letter means kept, a small letter kept in part, and a dot lost, with the best settings. Keys and types from
`--definitions` do not count.
"""


def loss_list(name: str) -> str:
    """Return the losses of a format, one sentence a line."""
    return "".join(f"* {loss.text}\n" for loss in FORMATS[name].losses)


def format_table() -> str:
    """Return for each format how much of each aspect it keeps."""
    rows = [(f"`{format.name}`", *(describe_fidelity(format, aspect) for aspect in MATRIX)) for format in _written()]
    return _table(("Format", *(aspect.value for aspect in MATRIX)), rows)


def pair_table() -> str:
    """Return for each pair of formats what operations keep, at best, from one format (in rows, numbered) to the other
    (in columns, by these numbers), in letters. The losses of a format that ggfmt does not write are unknown.
    """
    written = _written()
    read = [format for format in written if format.reads is not None]
    numbers = {format.name: str(number) for number, format in enumerate(written, 1)}
    rows = [
        (numbers[first.name], f"`{first.name}`", *(f"`{in_letters(first, second)}`" for second in written))
        for first in read
    ]
    return _table(("", "From", *(numbers[format.name] for format in written)), rows)


def matrix_part() -> str:
    """Return both tables as a part of a page, with an explanation."""
    letters = _table(
        ("Letter", "Meaning"), [(f"`{letter}`", aspect.value) for aspect, letter in LETTERS.items()]
    ).rstrip()
    return f"{_OF_FORMATS}\n{format_table()}\n{_OF_PAIRS.format(letters=letters)}\n{pair_table()}"


def in_letters(first: Format, second: Format) -> str:
    """Return a letter for each aspect: in lower case if a part of it is kept, a dot if nothing is."""
    found = surviving_aspects(unavoidable_losses(first), unavoidable_losses(second))
    return "".join(
        {FidelityLevel.KEPT: letter, FidelityLevel.PART: letter.lower(), FidelityLevel.LOST: "."}[found[aspect]]
        for aspect, letter in LETTERS.items()
    )


def _written() -> list[Format]:
    return [format for format in FORMATS.values() if format.writes is not None]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
