"""The tables of a database that SQLAlchemy reads, such as MariaDB and Oracle, as a side of a comparison.

All tables are read in one transaction that sees one state, if ggfmt knows how the database begins it. A password
reaches the driver and nothing else.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ggfmt.comparison.files import Columns
from ggfmt.comparison.sql_values import JSON_TEXTS, Reading, mysql_reading, reading
from ggfmt.comparison.values import storage_type
from ggfmt.database.postgresql import READ_HELP, DatabaseConnection, shown_url
from ggfmt.diagnostics.diagnostic import Abend, UsageError, names_secret, without_credentials
from ggfmt.diagnostics.packages import IMPORT_ERRORS, package_error
from ggfmt.model.table import join_name
from ggfmt.reading.files import not_found
from ggfmt.rowfiles.files import ColumnError

log = logging.getLogger("ggfmt")
# Without a handler Python would print what SQLAlchemy logs of a lost connection, with tracebacks.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

PASSWORD = "GGFMT_DATABASE_PASSWORD"  # the variable with the password of a URL that has none
# Dialects of SQLAlchemy whose URLs are known without `+DRIVER`; others need it.
_DIALECTS = ("mysql", "mariadb", "oracle", "mssql", "sqlite")
_MYSQL = ("mysql", "mariadb")
_DRIVERS = {"mysql": "pymysql", "mariadb": "pymysql", "oracle": "oracledb"}  # if the URL names none
_EXTRAS = {"sqlalchemy": "sqlalchemy", "pymysql": "mysql", "oracledb": "oracle"}
# What MariaDB makes of a column that is declared as JSON: a text, and this check.
_CHECKS = "select constraint_schema, table_name, check_clause from information_schema.check_constraints"
_JSON_CLAUSE = re.compile("json_valid\\(`((?:[^`]|``)*)`\\)")
_SYSTEM_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog", "guest"}
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9_]*)(?:\+([a-zA-Z0-9_]+))?://(?:([^/?#@]*)@)?([^/?#@]*)(/[^?#@]*)?(\?[^@]*)?")
_FILE_URL = re.compile(r"(sqlite)(?:\+([a-zA-Z0-9_]+))?://()()(/[^?#]*)?(\?.*)?")  # nothing before an `@` is a secret
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
_OPTION = re.compile(r"[?&]([^=&]*)=([^&]*)")
_CONNECT_SECONDS = 10
_BATCH_ROWS = 1 << 14
_MAX_MESSAGE = 300
# What begins a transaction that reads one state, by dialect.
_BEGIN = {
    **dict.fromkeys(
        _MYSQL, ("SET SESSION time_zone = '+00:00'", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    ),
    "oracle": ("ALTER SESSION SET TIME_ZONE = 'UTC'", "SET TRANSACTION READ ONLY"),
    "sqlite": ("BEGIN",),
    "postgresql": ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL TIMEZONE = 'UTC'"),
}


def is_sql_database(given: str) -> bool:
    found = re.match(r"([a-zA-Z][a-zA-Z0-9_]*)(\+[a-zA-Z0-9_]+)?://", given)
    return found is not None and (found[2] is not None or found[1].lower() in _DIALECTS)


@dataclass(frozen=True, repr=False)
class _Address:
    """The parts of a URL. `place`: host, port and database, for people."""

    dialect: str
    driver: str | None
    user: str
    database: str
    place: str
    secrets: tuple[str, ...]
    options: tuple[str, ...]


def _parsed(url: str) -> _Address:
    """Raises: UsageError GG580 for a URL with characters that must be escaped; the message has no part of the URL."""
    found = _FILE_URL.fullmatch(url) or _URL.fullmatch(url)
    host = _HOST.fullmatch(found[4]) if found else None
    if found is None or host is None:
        message = "the URL of the database has characters that must be escaped"
        help = "escape `%`, `@`, `/`, `?` and `#` in names and passwords as `%25`, `%40`, `%2F`, `%3F`, `%23`"
        raise UsageError("GG580", message, help=help)
    user, _, password = (found[3] or "").partition(":")
    options = _OPTION.findall(found[6] or "")
    written = [password, *(value for name, value in options if names_secret(name) or name == "odbc_connect")]
    database = unquote((found[5] or "/")[1:])
    place = f"host {unquote(host[1]) or '(local)'}{f', port {host[2]}' if host[2] else ''}"
    place += f", database {database}" if database else ""
    secrets = tuple(secret for text in written for secret in (text, unquote(text)))
    names = tuple(name for name, _ in options)
    return _Address(found[1].lower(), found[2], unquote(user), database, place, secrets, names)


class SqlDatabase(DatabaseConnection):
    """A connection by SQLAlchemy. Raises: UsageError GG310 for a file of SQLite that does not exist, GG580 for a URL
    that is none, GG589 without the driver; Abend GG588 if the database does not respond or refuses."""

    def __init__(self, url: str) -> None:
        self.shown = shown_url(url)
        self._address = _parsed(url)
        try:
            import sqlalchemy
        except IMPORT_ERRORS as error:
            raise _missing_driver("sqlalchemy", error) from None
        self._sql = sqlalchemy
        self._secrets = self._address.secrets
        self._connection = self._connected(url)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _connected(self, url: str) -> Any:
        address, driver = self._address, self._address.driver or _DRIVERS.get(self._address.dialect)
        sqlalchemy = self._sql
        if address.dialect == "sqlite" and address.database and not Path(address.database).exists():
            # SQLite would make the file.
            raise UsageError.of(not_found(self.shown, "database"))
        try:
            parsed = sqlalchemy.make_url(url)
            if driver and not address.driver:
                parsed = parsed.set(drivername=f"{address.dialect}+{driver}")
            if address.database:  # SQLAlchemy 2.0 leaves `%20` as it is
                parsed = parsed.set(database=address.database)
            if parsed.password is None and address.dialect != "sqlite" and os.environ.get(PASSWORD):
                parsed = parsed.set(password=os.environ[PASSWORD])
            arguments = _arguments(address, parsed.password is not None) if driver == "pymysql" else {}
            self._secrets = [*self._secrets, str(parsed.password or ""), str(arguments.get("password", ""))]
            engine = sqlalchemy.create_engine(
                parsed, connect_args=arguments, hide_parameters=True, poolclass=sqlalchemy.NullPool
            )
            return engine.connect()
        except ImportError as error:
            raise _missing_driver(driver or error.name or address.dialect, error) from None
        except sqlalchemy.exc.ArgumentError:  # its text has the URL
            help = "write the URL as `mariadb+pymysql://USER@HOST/DATABASE`, and install the package of the dialect"
            message = f"SQLAlchemy does not know the dialect or the driver of `{address.dialect}` URLs"
            raise UsageError("GG589", message, help=help) from None
        except UsageError:
            raise
        except Exception as error:  # drivers raise any
            reason = self._masked(_reason(error))
            help = _connection_help(address, reason)
            raise Abend("GG588", f"cannot connect to {address.place}: {reason}", self.shown, help) from None

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
        if dialect == "oracle" or (dialect in _MYSQL and self._address.database):
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
        return (mysql_reading(type) if dialect in _MYSQL else None) or reading(type, self._sql.types)

    def _described(self, error: Exception) -> tuple[str, str]:
        message = f"the database {self._address.place} reports: {self._masked(_reason(error))}"
        return message, READ_HELP

    def _masked(self, text: str) -> str:
        return without_credentials(super()._masked(text))


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


# Drivers


def _arguments(address: _Address, has_password: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "charset": "utf8mb4"}
    if not has_password and "read_default_file" not in address.options:
        for name, value in _option_file().items():
            if name == "password" or not address.user:
                found[name] = value
        if os.environ.get("MYSQL_PWD"):
            found["password"] = os.environ["MYSQL_PWD"]
    return {name: value for name, value in found.items() if name not in address.options}


def _option_file() -> dict[str, str]:
    """Return user and password of `[client]` in `~/.my.cnf`. Its host and socket do not count: the URL has them."""
    path = Path("~/.my.cnf").expanduser()
    if not path.is_file():
        return {}
    from pymysql.optionfile import Parser

    parser = Parser()
    try:
        parser.read(path, encoding="utf-8")
    except Exception:  # its text may have a line of the file
        help = "correct the file: it needs a section `[client]` with lines such as `user=NAME`"
        raise UsageError("GG580", "the option file cannot be read", str(path), help) from None
    return {name: parser.get("client", name) for name in ("user", "password") if parser.has_option("client", name)}


def _abandon(cursor: Any) -> None:
    """Let PyMySQL not read the rest of the rows, which are many or cannot come, when it forgets its cursor."""
    pending = getattr(cursor, "_result", None)
    if pending is not None and hasattr(pending, "unbuffered_active"):
        pending.unbuffered_active = False


def _reason(error: Exception) -> str:
    original = getattr(error, "orig", None) or error
    arguments: tuple[Any, ...] = getattr(original, "args", ())
    text = " ".join(str(arguments[-1] if len(arguments) > 1 else original).split())
    return text[:_MAX_MESSAGE] or type(original).__name__


def _connection_help(address: _Address, reason: str) -> str:
    if "denied" in reason.lower() or "password" in reason.lower() or "ORA-01017" in reason:
        if address.dialect in _MYSQL:
            return "check the user; set MYSQL_PWD, or add the password below `[client]` in `~/.my.cnf`"
        return f"check the user; set {PASSWORD} to the password"
    return "check host, port and database, and that the server runs and accepts TCP/IP connections"


def _missing_driver(package: str, error: BaseException) -> UsageError:
    message = f"reading this database needs the package {package}"
    extra = _EXTRAS.get(package)
    wanted = f"'ggfmt[{extra}]'" if extra else package
    return UsageError.of(package_error("GG589", message, package, error, f"pip install {wanted}"))
