"""The table of files that ggfmt does not read, by their first bytes."""

from __future__ import annotations

import pkgutil
import re
from functools import lru_cache

from ggfmt.formats.json.files import UnsupportedMessages
from ggfmt.lazy import lazy_regex


@lru_cache
def kinds(section: str) -> tuple[tuple[re.Pattern[bytes], UnsupportedMessages], ...]:
    """Return the kinds of files of a section of the table, with the expressions for their first bytes."""
    table = (pkgutil.get_data(__package__, "foreign_files.txt") or b"").decode()
    lines = table.partition(f"[{section}]\n")[2].partition("\n\n")[0].splitlines()
    ignore = 0 if section == "start" else re.IGNORECASE
    return tuple(
        (lazy_regex(start.encode(), re.DOTALL | ignore), UnsupportedMessages(what, help))
        for start, what, help in (line.split("\t") for line in lines)
    )


def identify_unsupported(head: bytes) -> UnsupportedMessages | None:
    """Return the kind of a file that ggfmt does not read, by its first bytes, decompressed; None for others."""
    return next((kind for start, kind in kinds("start") if start.match(head)), None)
