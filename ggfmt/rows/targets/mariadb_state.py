"""The one connection of a run of `ggfmt apply` to MariaDB.

MariaDB commits at each statement that makes or alters a table, except for temporary ones. These statements therefore
come first, before anything is written.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import md5
from itertools import chain
from typing import Any

import pyarrow as pa

from ggfmt.database.postgresql import CatalogColumn
from ggfmt.database.sql_connection import MYSQL_DIALECTS, SqlConnection
from ggfmt.diagnostics.diagnostic import GgfmtError, Span, UsageError
from ggfmt.model.sql import MYSQL, Sql, joined, sql
from ggfmt.rows.targets.database_state import STATE, ApplyDatabase, ApplyOptions
from ggfmt.rows.targets.database_table import CatalogTable, ForeignKey, TargetCatalog, UniqueIndex
from ggfmt.rows.targets.mariadb_table import TEXTS

_MIN_VERSION = (10, 6)
_BATCH_ROWS = 1 << 14
_PART_BYTES = 1 << 20  # of a file of the state: a statement has a limit
_SETTINGS = (
    "sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
    "transaction isolation level read committed",
    "time_zone = '+00:00'",
    "default_storage_engine = 'InnoDB'",
    "sql_safe_updates = 0",
    "max_statement_time = 0",
    "idle_transaction_timeout = 0",
    "wait_timeout = 86400",
    "autocommit = 0",  # a URL or a server may have set the others
    "lc_messages = 'en_US'",
    "sql_select_limit = 18446744073709551615",
    "sql_auto_is_null = 0",
    "unique_checks = 1",
    "check_constraint_checks = 1",
)
_HELPS = {
    "Lock wait timeout": "run again when the lock is free, or give a longer `--lock-timeout`",
    "foreign key constraint fails": "if the rows are consistent after the run, give `--as-replica`",
    "packet": "raise `max_allowed_packet` of the server",
    "gone away": "run again; if a value is long, raise `max_allowed_packet` of the server",
}
# Values in messages of the server
_VALUE = re.compile(r"(value|entry):? '(?:.*'(?= for )|.*)", re.DOTALL | re.IGNORECASE)
_COLUMNS = sql("""
select t.table_name, c.column_name, c.data_type, c.column_type,
  concat(c.column_type, coalesce(concat(' character set ', c.character_set_name, ' collate ', c.collation_name), '')),
  c.is_nullable = 'NO', c.generation_expression is not null, cast(t.create_time as char), t.engine = 'InnoDB'
from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
where t.table_schema = database() and t.table_type in ('BASE TABLE', 'SYSTEM VERSIONED')
order by t.table_name, c.ordinal_position
""")
_INDEXES = sql("""
select table_name, index_name, column_name, sub_part is not null from information_schema.statistics
where table_schema = database() and not non_unique order by table_name, index_name, seq_in_index
""")
_FOREIGN_KEYS = sql("""
select k.table_name, k.constraint_name, k.referenced_table_name, r.update_rule, r.delete_rule, k.column_name,
  k.referenced_column_name
from information_schema.key_column_usage k join information_schema.referential_constraints r
  on (r.constraint_schema, r.table_name, r.constraint_name) = (k.table_schema, k.table_name, k.constraint_name)
where k.table_schema = database() and k.referenced_table_schema = database()
order by k.table_name, k.constraint_name, k.ordinal_position
""")
_CREATED = sql("""
select cast(create_time as char) from information_schema.tables
where table_schema = database() and table_name = '{}'
""", STATE)  # fmt: skip


def is_mariadb(url: str) -> bool:
    return re.match(rf"({'|'.join(MYSQL_DIALECTS)})(\+pymysql)?://", url) is not None


class ApplyMariaDB(SqlConnection, ApplyDatabase):
    """As above, to MariaDB.

    Raises: as `SqlConnection`; UsageError GG501 while another run of the stream goes on, GG580 without a database,
    GG596 for another server.
    """

    target, dialect = "mariadb", MYSQL
    help = ApplyDatabase.help

    def __init__(self, url: str, options: ApplyOptions, refused: Mapping[str, GgfmtError] | None = None) -> None:
        self._prepare(options, refused)
        self.altered: set[str] = set()  # tables
        self._settings = [*_SETTINGS, f"foreign_key_checks = {int(not options.as_replica)}"]
        if options.lock_timeout is not None:
            seconds = max(1, round(options.lock_timeout))
            self._settings += [f"innodb_lock_wait_timeout = {seconds}", f"lock_wait_timeout = {seconds}"]
        super().__init__(url)

    def _start(self) -> None:
        if not self._address.database:
            raise UsageError("GG580", "the URL names no database", self.shown, "give `mysql://USER@HOST/DATABASE`")
        with self.errors():
            self._driver_connection = self._connection.connection.driver_connection
            version = str(self.value(sql("select version()")))
        numbers = re.match(r"(\d+)\.(\d+).*MariaDB", version)
        if numbers is None or tuple(map(int, numbers.groups())) < _MIN_VERSION:
            message = "`ggfmt apply` needs MariaDB 10.6 or later, or PostgreSQL"
            raise UsageError("GG596", message, self.shown, "use such a server")
        with self.errors(), self._driver_connection.cursor() as cursor:
            self._driver_connection.set_character_set("utf8mb4")
            for setting in self._settings:
                cursor.execute(f"set session {setting}")
        self.schema: str = self.value(sql("select database()"))
        self.folds = bool(self.value(sql("select @@lower_case_table_names")))
        lock = md5(f"{self.schema}\0{self.options.stream}".encode(), usedforsecurity=False).hexdigest()
        if not self.value(sql("select get_lock({}, 1)", MYSQL.literal(f"ggfmt apply {lock}"))):
            message = f"another run is applying changes of the stream `{self.options.stream}`"
            raise UsageError("GG501", message, self.shown, "wait until that run ends")

    def rows(self, query: Sql) -> Iterator[tuple[Any, ...]]:
        with self.errors(), self._driver_connection.cursor() as cursor:
            cursor.execute(query)
            found = cursor.fetchall()
        return iter(found)

    def query(self, query: Sql, table: str | None = None) -> Iterator[pa.RecordBatch]:
        """As above. Bytes come as base64 from columns with the name `bytes`, and as texts from others. Functions of the
        server would not do this: beyond its `max_allowed_packet` their result is NULL."""
        from pymysql.cursors import SSCursor

        with self.errors(table), self._driver_connection.cursor(SSCursor) as cursor:
            cursor.execute(query)
            names = [each[0] for each in cursor.description]
            while rows := cursor.fetchmany(_BATCH_ROWS):
                columns = [_texts(*column, table) for column in zip(names, zip(*rows, strict=True), strict=True)]
                yield pa.RecordBatch.from_arrays(columns, [str(number) for number in range(len(columns))])

    def execute(self, statement: Sql, table: str | None = None) -> int:
        if statement.startswith(("create table", "alter table")):
            if self.options.dry_run:
                message = "MariaDB cannot roll back that a table or a column is made, which `--dry-run` would do"
                help = f"run without `--dry-run`; or first `{statement}`"
                raise UsageError("GG596", message, Span(table=table), help)
            self.altered.add(table or "")
        return super().execute(statement, table)

    def load(self, names: Collection[str], batches: Iterable[pa.RecordBatch], table: str) -> None:
        """Make a temporary table of texts; columns that batches lack are NULL. `i` numbers the rows."""
        columns = joined(", ", [sql("{} longtext", sql(name)) for name in names])
        collation = sql("character set utf8mb4 collate utf8mb4_bin")
        self.execute(sql("create temporary table {} (i bigint, {}) engine=Aria {}", TEXTS, columns, collation), table)
        insert = f"insert into {TEXTS} values ({', '.join(['%s'] * (len(names) + 1))})"
        start = 0
        for batch in batches:
            found = dict(zip(batch.schema.names, batch.columns, strict=True))
            values = [found[name].to_pylist() if name in found else [None] * len(batch) for name in names]
            with self.errors(table), self._driver_connection.cursor() as cursor:
                cursor.executemany(insert, [*zip(range(start, start + len(batch)), *values, strict=True)])
            start += len(batch)
        self.statements.append(f"{insert.partition(' (')[0]} ...; -- {start:,} rows")

    # The state

    @property
    def state_oid(self) -> str | None:
        return next((created for (created,) in self.rows(_CREATED)), None)

    def make_state(self) -> None:
        """Make the table of states. This commits."""
        columns = "stream varbinary(255), name varbinary(255), part int, content longblob not null"
        if self.state_oid is None and not self.options.dry_run:
            self.execute(sql("create table {} ({}, primary key (stream, name, part))", STATE, sql(columns)))

    def _stored(self) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        if self.state_oid is not None:
            where = sql("where stream = {} order by name, part", MYSQL.literal(self.options.stream))
            for name, content in self.rows(sql("select name, content from {} {}", STATE, where)):
                found[name.decode()] = found.get(name.decode(), b"") + content
        return found

    def _store(self, gone: Collection[str], changed: Mapping[str, bytes]) -> None:
        self.make_state()
        names = joined(", ", [sql("''"), *map(MYSQL.literal, gone)])
        self.execute(
            sql("delete from {} where stream = {} and name in ({})", STATE, MYSQL.literal(self.options.stream), names)
        )
        rows = chain.from_iterable(_parts(self.options.stream, *each) for each in changed.items())
        with self.errors(), self._driver_connection.cursor() as cursor:
            cursor.executemany(f"insert into {STATE} values (%s, %s, %s, %s)", rows)

    def keep(self, name: str, content: bytes) -> None:
        """Replace a file of the state, and commit."""
        self._store([name], {name: content})
        self._restored[name] = content
        with self.errors():
            self._driver_connection.commit()

    def _described(self, error: Exception) -> tuple[str, str]:
        reason = " ".join(str(error.args[-1] if error.args else type(error).__name__).split())
        reason = _VALUE.sub(r"\1", self._masked(reason))[:300]
        found = (help for words, help in _HELPS.items() if words in reason and self.help == ApplyDatabase.help)
        help = next((f"nothing was changed; {help}" for help in found), self.help)
        return f"the database {self._address.place} reports: {reason}", help


def _texts(name: str, values: Sequence[Any], table: str | None) -> pa.Array[Any]:
    if name == "bytes":
        values = [None if value is None else b2a_base64(value, newline=False) for value in values]
    try:
        return pa.array(values, pa.string())
    except pa.ArrowInvalid:
        help = "give the column the type `binary` with `--type`"
        raise UsageError("GG596", "a row has bytes that cannot be read as text", Span(table=table), help) from None


def _parts(stream: str, name: str, content: bytes) -> Iterator[tuple[str, str, int, bytes]]:
    for number, start in enumerate(range(0, max(len(content), 1), _PART_BYTES)):
        yield stream, name, number, content[start : start + _PART_BYTES]


class MariaDBCatalog(TargetCatalog):
    """The tables of the database of the connection."""

    def __init__(self, database: ApplyMariaDB) -> None:
        found: dict[str, CatalogTable] = {}
        self.schemas = {database.schema: found}
        for name, column, type, cast, written, required, computed, created, is_innodb in database.rows(_COLUMNS):
            table = found.get(name)
            if table is None:
                table = found[name] = CatalogTable(database.schema, name, len(found) + 1, identity=created)
                table.is_transactional = bool(is_innodb)
            place = (database.schema, name, "r", column, type, "", None, cast, "", "s" if computed else "", written)
            table.columns[column] = CatalogColumn(*place, bool(required), table.oid, len(table.columns) + 1, 0)
        indexes: dict[tuple[str, str], list[tuple[str, bool]]] = {}
        for name, index, column, is_part in database.rows(_INDEXES):
            indexes.setdefault((name, index), []).append((column, bool(is_part)))
        for (name, index), columns in indexes.items():
            names = [column for column, _ in columns]
            if name in found and not any(is_part for _, is_part in columns):
                if index == "PRIMARY":
                    found[name].key = names
                else:
                    found[name].unique.append(UniqueIndex(False, names))
        keys: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
        for name, key, to, on_update, on_delete, column, to_column in database.rows(_FOREIGN_KEYS):
            if name not in found or to not in found:
                continue
            both = keys.get((name, key))
            if both is None:
                both = keys[name, key] = [], []
                actions = on_update[0].lower(), on_delete[0].lower()
                found[name].foreign_keys.append(ForeignKey(found[name].oid, found[to].oid, *actions, False, *both))
                found[to].acts_on_delete = True
            both[0].append(column)
            both[1].append(to_column)
