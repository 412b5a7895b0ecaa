"""Table definitions from the catalog of a PostgreSQL database, for `--definitions`."""

from __future__ import annotations

from ggfmt.database.postgresql import PostgreSQL
from ggfmt.definitions.sql import sql_type
from ggfmt.model.table import Column, TableDef, join_name

_COLUMNS = """
select n.nspname::text, c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relkind in ('r', 'p') and not c.relispartition and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
order by n.nspname, c.relname, a.attnum
"""


def table_definitions(url: str) -> dict[str, TableDef]:
    """Return the tables of all schemas, by full name. Raises: as `PostgreSQL`."""
    database = PostgreSQL(url, ("set transaction isolation level repeatable read read only",))
    try:
        columns: dict[str, list[Column]] = {}
        for schema, table, name, type, required in database.rows(_COLUMNS):
            found = Column(name, sql_type(type, "postgres"), not required)
            columns.setdefault(join_name(schema, table), []).append(found)
        keys = database.primary_keys()
        return {name: TableDef(name, tuple(of)).with_keys(keys.get(name, ())) for name, of in columns.items()}
    finally:
        database.close()
