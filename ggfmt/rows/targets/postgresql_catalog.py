"""The tables of a PostgreSQL database that take rows, as its catalog has them."""

from __future__ import annotations

from ggfmt.database.postgresql import PostgreSQL
from ggfmt.model.sql import Sql, sql
from ggfmt.model.table import join_name
from ggfmt.rows.targets.database_table import CatalogTable, ForeignKey, TargetCatalog, UniqueIndex
from ggfmt.rows.targets.postgresql_types import read_types

_SCHEMAS = sql("select nspname::text from pg_catalog.pg_namespace")
_ALL = sql("1600")  # the most columns that a table has


def _names(numbers: Sql, table: Sql, count: Sql = _ALL) -> Sql:
    return sql(
        "array(select a.attname::text from unnest({}) with ordinality as u (number, place)\n"
        "  join pg_catalog.pg_attribute a on a.attrelid = {} and a.attnum = u.number\n"
        "  where u.place <= {} order by u.place)",
        numbers,
        table,
        count,
    )


_FOREIGN_KEYS = sql(
    "select k.conrelid::bigint, k.confrelid::bigint, k.confupdtype::text, k.confdeltype::text, k.condeferrable,\n"
    "  {}, {}\n"
    "from pg_catalog.pg_constraint k where k.contype = 'f' and k.conparentid = 0",
    _names(sql("k.conkey"), sql("k.conrelid")),
    _names(sql("k.confkey"), sql("k.confrelid")),
)
_UNIQUE_INDEXES = sql(
    "select i.indrelid::bigint, i.indisprimary, i.indimmediate, i.indnullsnotdistinct, {}\n"
    "from pg_catalog.pg_index i where i.indisunique and i.indexprs is null",
    _names(sql("i.indkey::int2[]"), sql("i.indrelid"), sql("i.indnkeyatts")),
)
_PARTITION_KEYS = sql(
    "select p.partrelid::bigint, {} from pg_catalog.pg_partitioned_table p",
    _names(sql("p.partattrs::int2[]"), sql("p.partrelid")),
)
_SEQUENCES = sql("""
select d.refobjid::bigint, a.attname::text, n.nspname::text, s.relname::text
from pg_catalog.pg_depend d
join pg_catalog.pg_class s on s.oid = d.objid and s.relkind = 'S'
join pg_catalog.pg_namespace n on n.oid = s.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
  and case s.relkind when 'S' then pg_catalog.has_sequence_privilege(s.oid, 'SELECT, UPDATE') end
""")


class PostgreSQLCatalog(TargetCatalog):
    """The tables of a PostgreSQL database."""

    def __init__(self, database: PostgreSQL) -> None:
        self.schemas: dict[str, dict[str, CatalogTable]] = {schema: {} for (schema,) in database.rows(_SCHEMAS)}
        keys, types = database.primary_keys(), read_types(database)
        by_oid: dict[int, CatalogTable] = {}
        for column in database.catalog():
            table = by_oid.get(column.oid)
            if table is None:
                table = by_oid[column.oid] = self.schemas[column.schema][column.table] = CatalogTable(
                    column.schema, column.table, column.oid, column.kind == "p"
                )
                table.identity = column.oid
                table.key = keys.get(join_name(column.schema, column.table), ())
            if column.name is not None:
                table.columns[column.name] = column
                table.types[column.name] = types[column.type_oid]
        for key in map(ForeignKey._make, database.rows(_FOREIGN_KEYS)):
            if key.table in by_oid:
                by_oid[key.table].foreign_keys.append(key)
            if key.to in by_oid:
                by_oid[key.to].acts_on_delete |= key.on_delete != "a" or not key.is_deferrable
        for oid, is_primary, is_immediate, one_null, names in database.rows(_UNIQUE_INDEXES):
            if oid in by_oid and is_primary:
                by_oid[oid].defers_key = not is_immediate
            elif oid in by_oid and is_immediate:
                by_oid[oid].unique.append(UniqueIndex(one_null, names))
        for oid, names in database.rows(_PARTITION_KEYS):
            if oid in by_oid:
                by_oid[oid].partition_key = names
        for oid, column_name, *sequence in database.rows(_SEQUENCES):
            if oid in by_oid:
                by_oid[oid].sequences[column_name] = (sequence[0], sequence[1])
