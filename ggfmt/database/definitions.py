"""Table definitions from the catalog of a PostgreSQL database, for `--definitions`."""

from __future__ import annotations

from ggfmt.database.postgresql import PostgreSQL
from ggfmt.definitions.sql import sql_type
from ggfmt.model.table import Column, TableDef, join_name


def table_definitions(url: str) -> dict[str, TableDef]:
    """Return the tables of all schemas, by full name. Raises: as `PostgreSQL`."""
    database = PostgreSQL(url, ("set transaction isolation level repeatable read read only",))
    try:
        columns: dict[str, list[Column]] = {}
        for each in database.catalog():
            if each.name is not None:
                found = Column(each.name, sql_type(each.written or "", "postgres"), not each.required)
                columns.setdefault(join_name(each.schema, each.table), []).append(found)
        keys = database.primary_keys()
        return {name: TableDef(name, tuple(of)).with_keys(keys.get(name, ())) for name, of in columns.items()}
    finally:
        database.close()
