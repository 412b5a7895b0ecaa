"""The warning of columns whose type ggfmt does not know (GG219)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.java.text import visible
from ggfmt.model.table import TableDef

log = logging.getLogger("ggfmt")


def warn_of_unknown_types(tables: Iterable[TableDef]) -> None:
    """Log a warning for each table that has columns with types of unknown names: their values are texts."""
    unknown: dict[str, dict[str, None]] = {}
    for table in tables:
        found = [f"{column.name} {column.type.unknown}" for column in table.columns if column.type.unknown]
        if found:
            unknown.setdefault(table.full_name, {}).update(dict.fromkeys(found))
    for name, columns in unknown.items():
        message = "[GG219] table %s: the types are unknown, and the values are text: %s"
        log.warning(message, visible(name), visible(list_names(columns)))
