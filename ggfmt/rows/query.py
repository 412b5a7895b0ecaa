"""What a consolidation is asked for: current rows, row history or net changes, and up to which point in time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timezone
from typing import Literal, get_args

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import UsageError, suggestion
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import OnUnfit, RowOrder

Kind = Literal["current", "history", "changes"]
ExtraRows = Literal["deleted", "unresolved"]

CURRENT, DELETED, UNRESOLVED = "current", "deleted", "unresolved"

# Metadata columns of results, without the prefix. Behind the columns of the table.
STATE = "_state"
OP = "_op"
MOVED_FROM = "_ggfmt_moved_from"
VALIDITY = ("_valid_from_position", "_valid_from_ts", "_valid_to_position", "_valid_to_ts")

_LOOKS_LIKE_A_TIME = lazy_regex(r"\d{4}-\d{2}-\d{2}([T :].*)?")


@dataclass(frozen=True)
class RowQuery:
    """The question to the operations of a table."""

    kind: Kind = "current"  # `current` rows, `history` (every version of each row), or net `changes`
    as_of: str | None = None  # a time or a position as text: later operations do not count; None: all count
    since: str | None = None  # for `changes`, the earlier point in time; None: before all operations
    order: RowOrder = "auto"  # by positions if they can be compared, or in the order of the input
    keep: frozenset[str] = frozenset()  # states of rows that the result contains besides current rows
    # what becomes of a value that its column's type does not have: an `error`, `null`, or the row is unresolved
    on_unfit: OnUnfit = "error"
    # tables had no rows before the first operation, so that a key that none has shown is free
    starts_empty: bool = False
    metadata_prefix: str = ""  # before the names of metadata columns
    # current rows show, in `MOVED_FROM`, the key that they had before all operations if it was another one: texts
    traces: bool = False

    def __post_init__(self) -> None:
        _check("order", [self.order], get_args(RowOrder))
        _check("keep", self.keep, get_args(ExtraRows))
        _check("on_unfit", [self.on_unfit], get_args(OnUnfit))
        if self.since is not None and self.kind != "changes":
            raise query_error("`since` applies only to net changes", "request changes, or leave out `since`")
        if DELETED in self.keep and self.kind != "current":
            help = "leave out `deleted`: a history has the end of each row, and changes have deletes"
            raise query_error(f"deleted rows can only be kept with current rows, not with {self.kind}", help)
        for moment in (self.as_of, self.since):
            if moment is not None:
                parse_time(moment)

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        of_kind = {"current": (), "history": (*VALIDITY, OP), "changes": (OP,)}[self.kind]
        traced = (MOVED_FROM,) if self.traces else ()
        return (*of_kind, *traced, STATE) if self.keep else (*of_kind, *traced)

    @property
    def states(self) -> frozenset[str]:
        return self.keep | {CURRENT}


def _check(name: str, words: Collection[str], legal: tuple[str, ...]) -> None:
    for word in sorted(words):
        if word not in legal:
            help = suggestion(word, legal) or f"legal values are {', '.join(f'`{value}`' for value in legal)}"
            raise query_error(f"`{name}` cannot be `{word}`", help)


def query_error(message: str, help: str | None = None) -> UsageError:
    return UsageError("GG551", message, help=help)


def parse_time(moment: str) -> datetime | None:
    """Return the time in a text; None if it is a position. A time without a zone is in UTC, as in frames, and a day
    means its last microsecond. Raises: UsageError GG551 for a text that looks like a time, but is not one."""
    if not _LOOKS_LIKE_A_TIME.fullmatch(moment):
        return None
    try:
        time = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    except ValueError:
        raise query_error(
            f"`{moment}` is not a time", "give a time such as `2026-01-31T12:00:00`, or a position"
        ) from None
    if len(moment) == len("2026-01-31"):
        time = time.replace(hour=23, minute=59, second=59, microsecond=999999)
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
