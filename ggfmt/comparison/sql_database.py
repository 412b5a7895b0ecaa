"""The tables of a database that SQLAlchemy reads, such as MariaDB and Oracle, as a side of a comparison.

All tables are read in one transaction that sees one state, if ggfmt knows how the database begins it. A password
reaches the driver and nothing else.
"""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ggfmt.comparison.files import Columns
from ggfmt.comparison.sql_values import JSON_TEXTS, Reading, mysql_reading, reading
from ggfmt.comparison.values import storage_type
from ggfmt.database.sql_connection import MYSQL_DIALECTS, SqlConnection
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import join_name
from ggfmt.reading.files import not_found
from ggfmt.rowfiles.files import ColumnError

log = logging.getLogger("ggfmt")
# What MariaDB makes of a column that is declared as JSON: a text, and this check.
_CHECKS = "select constraint_schema, table_name, check_clause from information_schema.check_constraints"
_JSON_CLAUSE = lazy_regex("json_valid\\(`((?:[^`]|``)*)`\\)")
_SYSTEM_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog", "guest"}
_BATCH_ROWS = 1 << 14
# What begins a transaction that reads one state, by dialect.
_BEGIN = {
    **dict.fromkeys(
        MYSQL_DIALECTS, ("SET SESSION time_zone = '+00:00'", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    ),
    "oracle": ("ALTER SESSION SET TIME_ZONE = 'UTC'", "SET TRANSACTION READ ONLY"),
    "sqlite": ("BEGIN",),
    "postgresql": ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL TIMEZONE = 'UTC'"),
}


class SqlDatabase(SqlConnection):
    """The tables of a database. Raises: as above; UsageError GG310 for a file of SQLite that does not exist."""

    def _connected(self, url: str) -> Any:
        address = self._address
        if address.dialect == "sqlite" and address.database and not Path(address.database).exists():
            # SQLite would make the file.
            raise UsageError.of(not_found(self.shown, "database"))
        return super()._connected(url)

    def _start(self) -> None:
        with self.errors():
            self._begin()
            self.tables = self._find_tables()
            self._json = self._json_columns()

    def _begin(self) -> None:
        statements = _BEGIN.get(self._connection.dialect.name)
        if statements is None:
            message = "%s: ggfmt cannot read all tables in one snapshot; compare while no program changes the tables"
            log.warning(message, self.shown)
        for statement in statements or ():
            self._connection.exec_driver_sql(statement)

    def _find_tables(self) -> dict[str, SqlTable]:
        inspector = self._sql.inspect(self._connection)
        return {
            join_name(schema, name): SqlTable(self, inspector, schema, name)
            for schema in self._schemas(inspector)
            for name in inspector.get_table_names(schema=schema)
        }

    def _schemas(self, inspector: Any) -> Sequence[str | None]:
        dialect = self._connection.dialect.name
        if dialect == "sqlite":
            return [None]
        if dialect == "oracle" or (dialect in MYSQL_DIALECTS and self._address.database):
            return [inspector.default_schema_name]
        return [name for name in inspector.get_schema_names() if name.lower() not in _SYSTEM_SCHEMAS]

    def _json_columns(self) -> set[tuple[str | None, str, str]]:
        if not getattr(self._connection.dialect, "is_mariadb", False):
            return set()
        rows = self._connection.execute(self._sql.text(_CHECKS))
        found = ((schema, table, _JSON_CLAUSE.fullmatch(check)) for schema, table, check in rows)
        return {(schema, table, clause[1].replace("``", "`")) for schema, table, clause in found if clause}

    def rows(self, table: SqlTable, columns: Sequence[Any]) -> Iterator[Sequence[Sequence[Any]]]:
        source = self._sql.table(table.table, schema=table.schema)
        query = self._sql.select(*columns).select_from(source)
        options = {"yield_per": _BATCH_ROWS}
        with self.errors(table.name):
            result = self._connection.execute(query, execution_options=options)
            cursor = result.cursor
            try:
                yield from result.partitions()
            except BaseException:
                _abandon(cursor)
                self._connection.invalidate()
                raise

    def column(self, name: str, reading: Reading) -> Any:
        """Return the expression of a column. MySQL writes FLOAT with six digits, if it is no sum."""
        column: Any = self._sql.column(name)
        if reading.as_text:
            return self._sql.cast(column, self._sql.String)
        return column.op("+")(self._sql.literal_column("0e0")) if reading.is_rounded else column

    def reading(self, table: SqlTable, column: str, type: Any) -> Reading:
        if (table.schema, table.table, column) in self._json:
            return JSON_TEXTS
        dialect = self._connection.dialect.name
        return (mysql_reading(type) if dialect in MYSQL_DIALECTS else None) or reading(type, self._sql.types)


class SqlTable:
    """The rows of a table, with the interface of `TableRows`."""

    named = True
    sparse = False

    def __init__(self, database: SqlDatabase, inspector: Any, schema: str | None, table: str) -> None:
        self.schema, self.table, self.name = schema, table, join_name(schema, table)
        self._database, self._inspector = database, inspector

    @cached_property
    def key(self) -> tuple[str, ...]:
        with self._database.errors(self.name):
            found = self._inspector.get_pk_constraint(self.table, schema=self.schema)
        return tuple(found.get("constrained_columns") or ())

    @cached_property
    def _readings(self) -> dict[str, Reading]:
        with self._database.errors(self.name), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a type that SQLAlchemy does not know; its values are texts
            columns = self._inspector.get_columns(self.table, schema=self.schema)
        return {column["name"]: self._database.reading(self, column["name"], column["type"]) for column in columns}

    @cached_property
    def columns(self) -> Columns:
        return {name: reading.type for name, reading in self._readings.items()}

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        readings = [self._readings[name] for name in names]
        schema = pa.schema([(f"{place}", storage_type(reading.type)) for place, reading in enumerate(readings)])
        columns = [self._database.column(name, reading) for name, reading in zip(names, readings, strict=True)]
        every = self._database.rows(self, columns)
        for rows in every:
            try:
                values = zip(*rows, strict=True)
                arrays = [reading.array(of, name) for reading, of, name in zip(readings, values, names, strict=True)]
            except ColumnError:
                deque(every, maxlen=0)  # the connection has to be free for the other columns
                raise
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _abandon(cursor: Any) -> None:
    """Let PyMySQL not read the rest of the rows, which are many or cannot come, when it forgets its cursor."""
    pending = getattr(cursor, "_result", None)
    if pending is not None and hasattr(pending, "unbuffered_active"):
        pending.unbuffered_active = False
