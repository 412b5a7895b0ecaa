"""What is asked of the operations of a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion

Kind = Literal["current", "history", "changes"]
Order = Literal["auto", "position", "input"]
Kept = Literal["deleted", "unresolved"]

CURRENT, DELETED, UNRESOLVED = "current", "deleted", "unresolved"

# The marks of rows. A user sees them with one underscore less, as no column of a table may be called like this.
STATE = "__state"  # where rows are kept that are not current
OP = "__op"  # of a version, or of a net change
VALID_FROM_POSITION, VALID_FROM_TS = "__valid_from_position", "__valid_from_ts"
VALID_TO_POSITION, VALID_TO_TS = "__valid_to_position", "__valid_to_ts"
VALIDITY = (VALID_FROM_POSITION, VALID_FROM_TS, VALID_TO_POSITION, VALID_TO_TS)


@dataclass(frozen=True)
class Asked:
    """`as_of` and `since` are times or positions, as texts; see `ggfmt.consolidation.moment`.

    kind    the rows after the last operation, every version of each row, or net changes since a moment
    as_of   the last moment that counts; None for all operations
    since   for `changes`: those of operations after it; None for all
    order   by positions where these order, or as files and their records follow each other
    keep    rows that are not current, with a mark in `_state`
    """

    kind: Kind = "current"
    as_of: str | None = None
    since: str | None = None
    order: Order = "auto"
    keep: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _check("order", [self.order], get_args(Order))
        _check("keep", self.keep, get_args(Kept))
        if self.since is not None and self.kind != "changes":
            raise unusable("`since` is for net changes", "ask for changes, or leave `since` out")
        if DELETED in self.keep and self.kind != "current":
            help = "a history tells when a row ended, and changes have deletes"
            raise unusable(f"rows that were deleted are kept in current rows only, not in {self.kind}", help)

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that rows have behind the columns of their table; see `shown`."""
        of_kind = {"current": (), "history": (*VALIDITY, OP), "changes": (OP,)}[self.kind]
        return (*of_kind, STATE) if self.keep else of_kind

    @property
    def states(self) -> frozenset[str]:
        """Of rows that are in the result."""
        return self.keep | {CURRENT}


def _check(name: str, words: Collection[str], legal: tuple[str, ...]) -> None:
    for word in sorted(words):
        if word not in legal:
            help = suggestion(word, legal) or f"legal values are {', '.join(f'`{value}`' for value in legal)}"
            raise unusable(f"`{name}` cannot be `{word}`", help)


def unusable(message: str, help: str | None = None) -> UsageError:
    return UsageError(Diagnostic("GG551", message, help=help))


def shown(mark: str) -> str:
    """What a mark is called in a result."""
    return mark[1:]
