"""Diagnostics as text for a person (plain, or with colour on a terminal) and as JSON for a program.

    conf/json.properties:7:38: error[GG103] `gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`
      7 | gg.handler.k.format.pkUpdateHandling=del-insert
        |                                      ^^^^^^^^^^
      help: legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?

Nothing that a file holds can steer the terminal: what does not print is shown as an escape.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TextIO

from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible

if TYPE_CHECKING:
    from rich.text import Text

_WIDTH = 120
_LEAST_WIDTH = 20
_TAB = "    "
_CUT = "..."

_STYLES = {
    "place": "bold",
    Severity.ERROR.value: "bold red",
    Severity.WARNING.value: "bold yellow",
    Severity.NOTE.value: "bold cyan",
    "gutter": "blue",
    "help": "cyan",
}

_Piece = tuple[str, str]  # text, and the name of its style


def diagnostics_text(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as plain text, each in lines of its own; every line ends with a line break."""
    return "".join(text for diagnostic in diagnostics for text, _ in _pieces(diagnostic))


def diagnostics_rich(diagnostics: Iterable[Diagnostic], columns: int | None = None) -> Text:
    """The same text, with styles for a rich console; source lines are cut to fit into so many columns."""
    from rich.text import Text

    whole = Text(end="")
    for diagnostic in diagnostics:
        for text, style in _pieces(diagnostic, columns):
            whole.append(text, _STYLES.get(style))
    return whole


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as a JSON list of objects; members of a place that is not known are left out."""
    return json.dumps([as_dict(diagnostic) for diagnostic in diagnostics], indent=2) + "\n"


def print_diagnostics(diagnostics: Iterable[Diagnostic], stream: TextIO) -> None:
    """Write the findings to a stream, with colour and to its width if it is a terminal."""
    if not stream.isatty():
        write_text(diagnostics_text(diagnostics), stream)
        return
    from rich.console import Console

    console = Console(file=stream)
    console.print(diagnostics_rich(diagnostics, console.width), soft_wrap=True, end="")


def write_text(text: str, stream: TextIO) -> None:
    """Write a text to a stream, whose encoding may lack any of its characters."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """How many findings there are: `2 errors, 1 warning`; `no findings` for none."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts if count) or "no findings"


def _pieces(diagnostic: Diagnostic, columns: int | None = None) -> Iterator[_Piece]:
    span = diagnostic.span
    place = visible(str(span))
    if place:
        yield f"{place}: ", "place"
    severity = diagnostic.severity.value
    yield f"{severity}[{diagnostic.code}]", severity
    yield f" {visible(diagnostic.message)}\n", "message"
    if span.source is not None:
        number = "" if span.line is None else str(span.line)
        yield f"  {number} | ", "gutter"
        width = _WIDTH
        if columns is not None:
            width = min(width, max(columns - len(f"  {number} | ") - 2 * len(_CUT), _LEAST_WIDTH))
        if span.column is None:
            yield f"{_excerpt(span.source, 0, 1, width)[0]}\n", "source"
        else:
            source, blanks, carets = _excerpt(span.source, span.column - 1, span.length, width)
            yield f"{source}\n", "source"
            yield f"  {' ' * len(number)} | ", "gutter"
            yield f"{' ' * blanks}{'^' * carets}\n", severity
    if diagnostic.help:
        yield "  help: ", "help"
        yield f"{visible(diagnostic.help)}\n", "message"


def _excerpt(source: str, start: int, length: int, width: int) -> tuple[str, int, int]:
    """What to show of a source line, how many columns come before its carets, and how many carets there are.

    The `length` characters from `start` are the ones to point at. A line of more columns than `width` is cut on both
    sides.
    """
    cells = [_TAB if character == "\t" else visible(character) for character in source]
    start = min(start, len(cells))
    end = max(min(start + length, len(cells)), start)
    columns = [0, *accumulate(map(text_width, cells))]
    first, last = 0, len(cells)
    if columns[-1] > width:
        # A line cut on the left shows what is before the carets; on the right it shows as much as there is room for.
        while columns[start] - columns[first] > width // 2 and columns[-1] - columns[first] > width:
            first += 1
        while columns[last] - columns[first] > width:
            last -= 1
    end = min(end, last)
    left = _CUT if first else ""
    shown = left + "".join(cells[first:last]) + (_CUT if last < len(cells) else "")
    return shown.rstrip(), len(left) + columns[start] - columns[first], max(columns[end] - columns[start], 1)


def text_width(cell: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_character_width(character) for character in cell)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def as_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    """A finding as an object of JSON; members of a place that is not known are left out."""
    span = diagnostic.span
    place = {item.name: getattr(span, item.name) for item in fields(Span) if getattr(span, item.name) is not None}
    if span.column is None:
        place.pop("length")
    described: dict[str, Any] = {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
    }
    if diagnostic.help:
        described["help"] = diagnostic.help
    if diagnostic.fix is not None:
        described["fix"] = diagnostic.fix
    return {name: sound(value) for name, value in (described | place).items()}


def sound(value: object) -> object:
    """The value with escapes for halves of surrogate pairs, which many readers of JSON refuse."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
