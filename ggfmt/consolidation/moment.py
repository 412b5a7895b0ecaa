"""A moment that is asked for: a time, or a position."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from ggfmt.consolidation.asked import unusable

_LOOKS_LIKE_A_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T :].*)?")


def time_of(text: str) -> datetime | None:
    """The time that a moment is; None if it is a position. A time without a zone is one of UTC, as in frames, and a day
    is its last microsecond. UsageError GG551 for a text that looks like a time and is none."""
    if not _LOOKS_LIKE_A_TIME.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise unusable(f"`{text}` is no time", "give one as `2026-01-31T12:00:00`, or a position") from None
    if len(text) == len("2026-01-31"):
        moment = moment.replace(hour=23, minute=59, second=59, microsecond=999999)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
