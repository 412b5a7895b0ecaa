"""The warning of columns whose type ggfmt does not know (GG219)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ggfmt.java.text import visible
from ggfmt.model.table import TableDef

log = logging.getLogger("ggfmt")

_MAX_TABLES, _MAX_COLUMNS = 10, 5


def warn_of_unknown_types(tables: Iterable[TableDef]) -> None:
    """Log a warning for each table that has columns with types of unknown names: they are read as texts."""
    found = {table.full_name: [column for column in table.columns if column.type.unknown] for table in tables}
    found = {name: columns for name, columns in found.items() if columns}
    for name, columns in list(found.items())[:_MAX_TABLES]:
        shown = ", ".join(f"`{visible(each.name)}` ({visible(each.type.unknown)})" for each in columns[:_MAX_COLUMNS])
        more = f" and {len(columns) - _MAX_COLUMNS} more" if len(columns) > _MAX_COLUMNS else ""
        message = "[GG219] table %s: ggfmt does not know the types of %s%s, and reads the values as text"
        log.warning(message, visible(name), shown, more)
    if len(found) > _MAX_TABLES:
        log.warning("[GG219] %s more tables have columns of types that ggfmt does not know", len(found) - _MAX_TABLES)
