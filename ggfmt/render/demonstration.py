"""One change in several formats, and what one property adds to its message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.writing import ShownMessage
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import STYLES, Piece
from ggfmt.render.preview import STYLES as PREVIEW_STYLES
from ggfmt.render.preview import message_pieces

ADDED = "added"
DEMO_STYLES = STYLES | PREVIEW_STYLES | {ADDED: "bold green"}
_WORD = re.compile(r"\w+|\W")


@dataclass(frozen=True)
class Demonstration:
    """What a demonstration shows of one change of a table.

    messages  by heading, the message of the change
    setting   a property, with the message without it and with it
    calls     what to do next
    """

    change: str
    messages: Sequence[tuple[str, ShownMessage]]
    setting: tuple[str, str, str] | None
    calls: Sequence[str]


def demonstration_pieces(shown: Demonstration) -> Iterator[Piece]:
    yield f"{visible(shown.change)}\n", "heading"
    for heading, message in shown.messages:
        yield f"\n{heading}\n", "heading"
        yield from message_pieces(message)
    if shown.setting is not None:
        name, before, after = shown.setting
        yield f"\nWith {name}, the message gets what is in {{+ +}}\n", "heading"
        yield "  ", "value"
        yield from _difference(before, after)
        yield "\n", "value"
    yield "\nNext, with a file of yours\n", "heading"
    for call in shown.calls:
        yield f"  {call}\n", "name"


def _difference(before: str, after: str) -> Iterator[Piece]:
    """Yield a text with marks around what another one does not have."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        part = visible("".join(new[start:end]))
        if part:
            yield (part, "value") if kind == "equal" else (f"{{+{part}+}}", ADDED)
