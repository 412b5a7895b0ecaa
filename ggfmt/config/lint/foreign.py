"""What a file holds besides properties of GoldenGate: prose, keys of other programs, places to be filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ggfmt.config.comments import is_prose
from ggfmt.config.goldengate_keys import is_outside_scope
from ggfmt.config.properties import SETTINGS, Entry, decode, is_utf_16
from ggfmt.config.property_names import handler_key
from ggfmt.diagnostics.diagnostic import Diagnostic, Span

# `GG.` alone is as often the schema of a table, in files of other kinds.
_OURS = re.compile(r"(?:\A|[\r\n])[ \t\f]*(?:(?:gg|goldengate|ggfmt)\.|(?i:gg\.handler))")

_FAMILY = re.compile(r"(?:gg|goldengate|javawriter|jvm|ggfmt|javax?)\.", re.IGNORECASE)
_KEY = re.compile(r"[\w$-]+(?:\.[\w$-]+)*")
_MOST_BLOCKS = 10  # of prose in a file; what is behind them is told at once

# Jinja and Terraform; what is between the marks of a value may be anything, what is between those of a statement not.
# The limits are for lines that start many and end none.
_STATEMENT = re.compile(r"\{%-?\s{0,9}\w[^\n]{0,200}?%\}|%\{~?\s{0,9}(?:if|else|endif|for|endfor)\b[^}\n]{0,200}\}")
_VALUE = re.compile(r"\{\{[^{}\n]+\}\}")
_VARIABLE = re.compile(r"\$\{[^{}\s]+\}")

# Keys whose values have `${...}` of GoldenGate's own, or of a Java replacement.
_OWN_TEMPLATE = re.compile(r"template|partitioner|replacestring", re.IGNORECASE)


def has_properties(content: bytes) -> bool:
    """Whether a line of the file starts with a key of GoldenGate or ggfmt; true where that cannot be told."""
    return is_utf_16(content) or _OURS.search(decode(content).text) is not None


def is_foreign(entry: Entry) -> bool:
    """Whether the key is of no family that GoldenGate has keys of; one that is typed on a command line is not."""
    return entry.file != SETTINGS and not _FAMILY.match(entry.key)


def is_sentence(entry: Entry) -> bool:
    """Whether the line is prose and no property: a key is one word, and its value is not the rest of a sentence."""
    if not is_foreign(entry) or is_prose(entry) or not entry.key:
        return False
    words = len(entry.value.split())
    if not _KEY.fullmatch(entry.key):
        return True
    if "." in entry.key or "=" in entry.separator:
        return False
    return words > 2 if ":" in entry.separator else words != 1


def check_prose(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """GG130 for each block of lines of prose; for all that is behind the first blocks of a file, one for all."""
    for _, of_file in groupby(entries, key=lambda entry: entry.file):
        blocks = [list(block) for prose, block in groupby(of_file, key=is_sentence) if prose]
        if len(blocks) > _MOST_BLOCKS:
            rest = [entry for block in blocks[_MOST_BLOCKS - 1 :] for entry in block]
            blocks = [*blocks[: _MOST_BLOCKS - 1], rest]
        for number, block in enumerate(blocks, 1):
            lines = "a line is no property" if len(block) == 1 else f"{len(block)} lines are no properties"
            where = " in this and later places" if number == _MOST_BLOCKS else ""
            yield Diagnostic("GG130", f"{lines}{where}", block[0].key_span, "a comment without `#`?")


@dataclass(frozen=True)
class Template:
    """A file with places to be filled in: the finding that says so, and the lines that cannot be judged for them.

    `whole`: no line can be, as handlers or formats are filled in too, or statements choose lines.
    """

    finding: Diagnostic
    lines: frozenset[int]
    whole: bool

    def judged(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings that stand whatever is filled in, and the one of the template."""
        file = self.finding.span.file
        kept = [found for found in findings if not (found.span.file == file and found.span.line in self.lines)]
        return [self.finding] if self.whole else [*kept, self.finding]


def find_template(entries: Sequence[Entry]) -> Template | None:
    """What of a file is filled in before GoldenGate reads it; None for a file that is as it is."""
    places = [(entry, place) for entry in entries if (place := _place(entry)) is not None]
    if not places:
        return None
    entry, (text, _) = places[0]
    lines = len(places)
    message = f"`{text}` is filled in before GoldenGate reads the file"
    message += f", as {lines - 1} other line{'s are' if lines > 2 else ' is'}" if lines > 1 else ""
    numbers = (range(entry.line, entry.line + 1 + len(entry.continued)) for entry, _ in places)
    whole = any(decides for _, (_, decides) in places)
    left = "no line is judged" if whole else "such lines are not judged"
    span = Span(entry.file, entry.line, entry.column, entry.key_length or 1, entry.source)
    at = entry.source.find(text)
    if at >= 0:
        span = Span(entry.file, entry.line, at + 1, len(text), entry.source)
    return Template(Diagnostic("GG131", message, span, left), frozenset(n for r in numbers for n in r), whole)


def _place(entry: Entry) -> tuple[str, bool] | None:
    """The first place of an entry that is filled in, and whether it decides on handlers, formats or lines."""
    line = f"{entry.key}{entry.separator}{entry.value}"
    statement = _STATEMENT.search(line) or _VALUE.match(line) or _VARIABLE.match(line)
    if statement is None and is_sentence(entry):
        return None
    place = statement or _VALUE.search(line) or _VARIABLE.search(entry.key)
    if place is None and not _OWN_TEMPLATE.search(entry.key) and not is_outside_scope(entry.key):
        place = _VARIABLE.search(entry.value)
    if place is None:
        return None
    # A key ends at a blank, which a place may have.
    in_key = place.string is not entry.value and place.start() < len(entry.key)
    return "***" if entry.secret else place[0], statement is not None or in_key or _decides(entry)


def _decides(entry: Entry) -> bool:
    key = handler_key(entry.key)
    if key is None:
        return entry.key.lower() == "gg.handlerlist"
    return key.is_format or key.rest.lower() == "type"
