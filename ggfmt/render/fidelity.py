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

Whether a reader of the messages gets something back: `kept`, `in part` or `lost`, with the settings that this depends
on and what is read instead. Microseconds are those of the operation's time. Order is that of the operations of one
transaction, over all its tables, as far as positions show it.
"""
_OF_PAIRS = """\
## What is left after two formats

The format that is read is in the rows, the one that is written in the columns, by the number of its row. The letters
are {letters}: a capital letter is kept, a small one is kept in part, a dot is lost, under the settings that keep the
most. Keys and types from `--definitions` are not counted.
"""


def loss_list(name: str) -> str:
    """Return the losses of a format, one sentence a line."""
    return "".join(f"* {loss.text}\n" for loss in FORMATS[name].losses)


def loss_table() -> str:
    """Return the losses of each format, in sentences."""
    rows = [(f"`{format.name}`", " ".join(loss.text for loss in format.losses)) for format in _written()]
    return _table(("Format", "What its messages do not show"), rows)


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
    letters = ", ".join(f"`{letter}` {aspect.value}" for aspect, letter in LETTERS.items())
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
