"""Tables of a MariaDB database. Its changes are one transaction, after what is missing was made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.commit.names import counted
from ggfmt.commit.records import MANIFEST
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.model.sql import MYSQL, Sql, sql
from ggfmt.rows.tables import RowTable
from ggfmt.rows.targets.database import DatabaseTarget, TableWork
from ggfmt.rows.targets.database_state import OUTPUT
from ggfmt.rows.targets.database_table import CatalogTable, TargetCatalog, TargetColumn, TargetTable, table_error
from ggfmt.rows.targets.mariadb_state import ApplyMariaDB, MariaDBCatalog
from ggfmt.rows.targets.mariadb_table import TEXTS, MariaDBTable
from ggfmt.rows.targets.mariadb_types import MariaDBColumn, name_of

_MAX_NAME = 64  # characters
_COLUMN = re.compile(r" for column\W.*?\b([cvw])([0-9]+)\W* at row [0-9]+")


class MariaDBTarget(DatabaseTarget):
    """The tables of the database in the URL; schemas of the source have no meaning."""

    title = "MariaDB"
    exchange_help = "apply these changes by hand"
    _database: ApplyMariaDB

    def _catalog(self) -> MariaDBCatalog:
        return MariaDBCatalog(self._database)

    def _schema(self, name: str, parts: Sequence[str], catalog: TargetCatalog) -> str:
        return self._database.schema

    def _new_name(self, table: str, name: str) -> str:
        if len(name) > _MAX_NAME or name != name.rstrip(" ") or not name or max(name) > "\uffff" or "\0" in name:
            help = "create the table with another name, or leave it out with `--exclude`"
            raise table_error(table, f"MariaDB cannot have the name `{name}`", help)
        return name.lower() if self._database.folds and name == table.rsplit(".", 1)[-1] else name

    def _new_type(self, table: RowTable, column: str) -> Sql:
        return name_of(table.types[column], column in table.key, column in table.found)

    def _column(self, table: RowTable, source: str, there: CatalogTable, name: str) -> MariaDBColumn:
        column = MariaDBColumn(source, table.types[source], there.columns[name])
        if not there.is_transactional:
            raise table_error(table.name, "the table has no transactions", "run `alter table ... engine=InnoDB` for it")
        if not column.has_rule:
            message = f"ggfmt has no rule for the type `{column.there.cast}` of `{source}` in the database"
            raise table_error(table.name, message, "leave the column out with `--columns`", source)
        return column

    def _table(self, source: str, there: CatalogTable, columns: Sequence[Any], key: tuple[int, ...]) -> MariaDBTable:
        return MariaDBTable(len(self._tables), source, there, columns, key, self._database.options.keeps_deleted)

    def _computed_help(self, table: TargetTable, column: TargetColumn) -> str:
        return "leave the column out with `--columns`"

    def _check_same(self, table: RowTable, there: CatalogTable, entry: Mapping[str, Any], identity: object) -> None:
        """MariaDB has the time when a table was made or altered, but not which of them it was."""
        if entry.get("oids", [None])[0] in (None, identity):
            return
        help = "run with `--accept` to go on with the table as it is now"
        for source, (_, known, type) in entry.get("there", {}).items():
            if source in table.epochs[-1].columns and known not in there.columns:
                message = f"the column `{known}` was dropped or renamed in the database"
                raise table_error(table.name, message, f"give it its name again; or {help}", source)
            if source in table.epochs[-1].columns and there.columns[known].written != type:
                message = f"the type of the column is `{there.columns[known].written}` now, and was `{type}`"
                raise table_error(table.name, message, help, source)
        if not self.staged.staged[table.name].stats.truncates:
            message = f"the table {MYSQL.identifier(there.name)} was altered or made again since the last run"
            raise table_error(table.name, message, f"look whether its rows are there; then {help}")

    def _stage_keys(self, tables: Sequence[RowTable]) -> None:
        self._database.make_state()
        self._keep_identities()
        for table in tables:
            made, touched = self._tables[table.name], self._keys(table)
            self._touched[table.name] = len(touched)
            names = [f"s{j}" for j in range(len(made.key))]
            self._bring(made, names, touched.rename_columns(names).to_batches(), made.bring_keys())
            self._check_exact(table.name, *made.inexact_keys())
            self._database.execute(sql("drop temporary table {}", TEXTS), made.source)

    def _keep_identities(self) -> None:
        """Write down that this run has altered tables: if it dies, the next one knows them."""
        altered = self._database.altered & self._known.keys() & self._tables.keys()
        for name in altered:
            self._known[name]["oids"][0] = self._tables[name].there.identity
        if altered and self.previous is not None:
            self._database.keep(f"{OUTPUT}/{MANIFEST}", json.dumps(self.previous.document).encode())

    def _stage_rows(self, changes: Sequence[TableWork]) -> None:
        for change in changes:
            made = self._tables[change.table.source]
            names = [*(f"s{i}" for i in range(len(made.columns))), *(f"f{j}" for j in range(len(made.key)))]
            self._bring(made, names, change.batches(self.suffix), made.bring_rows())
            self._check_exact(made.source, *made.inexact())
            self._database.execute(sql("drop temporary table {}", TEXTS), made.source)

    def _bring(
        self,
        table: MariaDBTable,
        names: Sequence[str],
        rows: Iterable[pa.RecordBatch],
        statements: Sequence[Sql],
    ) -> None:
        database = self._database
        database.load(names, rows, table.source)
        try:
            for statement in statements:
                database.execute(statement, table.source)
        except Abend as error:
            raise _with_place(error, table) from None

    def _check_exact(self, table: str, columns: Sequence[MariaDBColumn], query: Sql) -> None:
        for column, count in zip(columns, next(self._database.rows(query)), strict=True):
            if count:
                message, help = column.loss(counted(int(count), "value"))
                raise table_error(table, message, help, column.source)


def _with_place(error: Abend, table: MariaDBTable) -> Abend:
    """Name the column of the table for that of a temporary one."""
    diagnostic = error.diagnostics[0]
    found = _COLUMN.search(diagnostic.message)
    if found is None:
        return error
    column = table.columns[int(found[2]) if found[1] == "c" else table.key[int(found[2])]]
    span = replace(diagnostic.span, table=table.source, field=column.source)
    help = f"nothing was changed; give the column `{column.source}` a type that has the value, such as `longtext`"
    return Abend.of(replace(diagnostic, message=_COLUMN.sub("", diagnostic.message), span=span, help=help))
