"""Records that are no operations though they should be: what dialects raise, and how it is put in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.reading import UnknownTable
from ggfmt.model.table import join_name

Decoded = TypeVar("Decoded")
MOST_SHOWN = 40  # characters of a word of the input in a message
NAME_TABLE = "every change must name its table"


class RecordError(Exception):
    """A record that is no operation, though it should be one; the diagnostic says why."""

    def __init__(
        self, code: str, message: str, help: str | None = None, table: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, Span(table=table, field=field), help)


class UndiscoveredTableError(RecordError):
    """A record that means nothing until a discovery has read the whole input."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__("GG205", message, help)
        self.diagnostic = UnknownTable("GG205", message, help=help)


def missing_member_error(
    member: str, help: str | None = None, table: str | None = None, what: str = "the record"
) -> RecordError:
    """GG305 for what has no such member."""
    return RecordError("GG305", f"{what} has no `{member}`", help, table)


def no_op(member: str, value: str, legal: Iterable[str], table: str | None = None, more: str = "") -> RecordError:
    """GG304 for a word that stands for no type of operation."""
    word = value if len(value) <= MOST_SHOWN else "that"
    return RecordError("GG304", f"`{member}` cannot be `{word}`", f"{legal_values(legal)}{more}", table)


def legal_values(words: Iterable[str]) -> str:
    return f"legal values are {', '.join(f'`{word}`' for word in words)}"


def decoded(decode: Callable[[Any], Decoded], data: Any, otherwise: str, table: str | None = None) -> Decoded:
    """What a decoder makes of data; Refused (GG308), with the reason `otherwise`, if it cannot."""
    try:
        return decode(data)
    except (ValueError, RecursionError):
        raise RecordError("GG308", otherwise, None, table) from None


def joined_name(parts: Sequence[str | None], what: str) -> str:
    """The full name of a table from its parts; Refused (GG306) if one of them cannot be told from two."""
    if any("." in part for part in parts if part):
        raise RecordError("GG306", f"a part of {what} holds a dot", "rename the table: a dot divides the parts")
    return join_name(*parts)
