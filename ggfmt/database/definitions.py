"""Table definitions from the catalog of a PostgreSQL database, for `--definitions`."""

from __future__ import annotations

from ggfmt.database.postgresql import PostgreSQL
from ggfmt.definitions.source import warn_of_unknown_types
from ggfmt.model.table import STRING, Column, TableDef, join_name
from ggfmt.model.type_names import type_of


def table_definitions(url: str) -> dict[str, TableDef]:
    """Return the tables of all schemas, by full name. Raises: as `PostgreSQL`."""
    database = PostgreSQL(url, ("set transaction isolation level repeatable read read only",))
    try:
        columns: dict[str, list[Column]] = {}
        for each in database.catalog():
            if each.name is not None:
                is_text = each.category in ("E", "C")  # enums and rows
                type = STRING if is_text else type_of(each.written or "", "postgres")
                found = Column(each.name, type, not each.required)
                columns.setdefault(join_name(each.schema, each.table), []).append(found)
        keys = database.primary_keys()
        tables = {name: TableDef(name, tuple(of)).with_keys(keys.get(name, ())) for name, of in columns.items()}
    finally:
        database.close()
    warn_of_unknown_types(tables.values())
    return tables
