"""The tables of a PostgreSQL database as a side of a comparison, read by ADBC as a stream of Arrow batches.

All tables are read in one read-only transaction, so that they belong to one point in time. libpq finds passwords
(`PGPASSWORD`, `.pgpass`, services); nothing that this module reports contains one.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ggfmt.comparison.files import Columns
from ggfmt.comparison.kinds import GEOMETRY, HSTORE, INTERVAL, JSON, NUMBER, TEXT, TIME_WITH_ZONE, UUID, array_of, bits
from ggfmt.comparison.values import storage_type, stored, stored_type, with_infinite
from ggfmt.diagnostics.diagnostic import MASK, Abend, Diagnostic, Span, UsageError, without_credentials
from ggfmt.model.table import join_name
from ggfmt.rowfiles.files import ColumnError

_SCHEME = re.compile(r"postgres(?:ql)?://")
_ADDRESS = re.compile(r"postgres(?:ql)?://(?:([^@/?]*)@)?([^/?@]*)(?:/([^?@]*))?(?:\?([^@]*))?", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PASSWORD = re.compile(r"(?:^|&)(?:ssl)?password=([^&]*)")
_CONNECT_SECONDS = 10

# Messages of libpq that start so name no part of the URL but host, port, user and database.
_SAFE_MESSAGES = re.compile("connection to server|could not translate host name|no password supplied|fe_sendauth")
READ_HELP = "make sure that the user can read the table, and repeat the comparison"
_STATE = re.compile(r"\s*\bSQLSTATE: .*", re.DOTALL)

_SETTINGS = (
    "set transaction isolation level repeatable read read only",
    "set local client_encoding = 'UTF8'",
    "set local timezone = 'UTC'",
    "set local datestyle = 'ISO'",
    "set local intervalstyle = 'iso_8601'",
    "set local extra_float_digits = 3",
    "set local statement_timeout = 0",
    "set local row_security = off",  # a policy would hide rows: PostgreSQL reports an error instead
)
_COLUMNS = """
select n.nspname, c.relname, c.relkind::text as kind, a.attname,
  base.typname, coalesce(element.typname, '') as element, b.modifier
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_catalog.pg_type t on t.oid = a.atttypid
left join lateral (
  with recursive below (oid, next, modifier) as (
    select t.oid, t.typbasetype, greatest(a.atttypmod, t.typtypmod)
    union all select d.oid, d.typbasetype, greatest(below.modifier, d.typtypmod)
    from below join pg_catalog.pg_type d on d.oid = below.next
  ) select oid, modifier from below where next = 0
) b on true
left join pg_catalog.pg_type base on base.oid = b.oid
left join pg_catalog.pg_type element on element.oid = base.typelem and element.typarray = base.oid
where c.relkind in ('r', 'p') and not c.relispartition and n.nspname <> 'information_schema'
  and n.nspname !~ '^pg_'
order by n.nspname, c.relname, a.attnum
"""
_KEYS = """
select n.nspname, c.relname, a.attname
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
where i.indisprimary and k.place <= i.indnkeyatts
order by n.nspname, c.relname, k.place
"""

# How a column is read: the type of its values in Arrow, and whether the server writes the values as text.
_NATIVE: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    **dict.fromkeys(("int2", "int4", "int8"), pa.int64()),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
    "bytea": pa.binary(),
    **dict.fromkeys(("text", "varchar", "bpchar"), TEXT),
}
_AS_TEXT: dict[str, pa.DataType] = {
    "numeric": NUMBER,
    "interval": INTERVAL,
    "timetz": TIME_WITH_ZONE,
    "uuid": UUID,
    "json": JSON,
    "jsonb": JSON,
    "hstore": HSTORE,
    **dict.fromkeys(("point", "line", "lseg", "box", "path", "polygon", "circle"), GEOMETRY),
}


def is_database(given: str) -> bool:
    return _SCHEME.match(given) is not None


def shown_url(url: str) -> str:
    """Return the URL of a database for people: without a user, a password and options, which may be secrets."""
    return without_credentials(url.partition("?")[0])


@dataclass(frozen=True)
class _Column:
    type: pa.DataType
    is_native: bool


def _column(type: str, element: str, modifier: int | None) -> _Column:
    if element:
        inner = _column(element, "", modifier).type
        return _Column(array_of(stored_type(inner)), False)
    if type in ("bit", "varbit"):
        return _Column(bits(modifier if type == "bit" and modifier and modifier > 0 else None), False)
    if type in _NATIVE:
        return _Column(stored_type(_NATIVE[type]), True)
    return _Column(_AS_TEXT.get(type, TEXT), False)


def _expression(name: str, column: _Column) -> str:
    if column.is_native:
        return name
    # A cast may write another text than the output function of a type, such as `10.0.0.1/32`.
    # A row of which a member is NULL is not NULL, but neither is it `is not null`.
    return f"case when {name} is distinct from null then format('%s', {name}) end"


class DatabaseConnection(ABC):
    """A connection with its tables, in one transaction. Close it by `close`."""

    shown: str  # the URL for people
    _connection: Any
    _secrets: Sequence[str]

    def close(self) -> None:
        """Close the connection, which ends the transaction. A connection that is lost has ended already."""
        with suppress(Exception):
            self._connection.close()

    @contextmanager
    def errors(self, table: str | None = None) -> Iterator[None]:
        """Convert errors of a driver, which may be of any class, to Abend GG588."""
        try:
            yield
        except (Abend, UsageError, ColumnError, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            message, help = self._described(error)
            raise Abend(Diagnostic("GG588", message, Span(file=self.shown, table=table), help)) from None

    @abstractmethod
    def _described(self, error: Exception) -> tuple[str, str]:
        """Return message and help for an error. Messages of a driver may quote a part of the URL."""

    def _masked(self, text: str) -> str:
        for secret in sorted(filter(None, self._secrets), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text


class DatabaseTable:
    """The rows of a table, with the interface of `TableRows`."""

    named = True
    sparse = False

    def __init__(self, database: Database, name: str, schema: str, table: str, kind: str) -> None:
        self.schema = schema
        self._database, self._name = database, name
        # A partitioned table has its rows in its partitions; those that inherit from another are tables of their own.
        self._source = f"{'only ' if kind == 'r' else ''}{_quoted(schema)}.{_quoted(table)}"
        self._columns: dict[str, _Column] = {}

    def add(self, name: str, column: _Column) -> None:
        self._columns[name] = column

    @property
    def columns(self) -> Columns:
        return {name: column.type for name, column in self._columns.items()}

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns = [self._columns[name] for name in names]
        selected = [_expression(_quoted(name), column) for name, column in zip(names, columns, strict=True)]
        schema = pa.schema([(f"{place}", storage_type(column.type)) for place, column in enumerate(columns)])
        for batch in self._database.query(f"select {', '.join(selected)} from {self._source}", self._name):
            with self._database.errors(self._name):
                arrays = [
                    with_infinite(stored(array, name).cast(field.type))
                    for array, field, name in zip(batch.columns, schema, names, strict=True)
                ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class Database(DatabaseConnection):
    """A connection to PostgreSQL. Raises: UsageError GG589 without the driver; Abend GG588 if the database does not
    respond or refuses."""

    def __init__(self, url: str) -> None:
        self.shown = shown_url(url)
        self._address, self._secrets, self._place = _parsed(url)
        driver = _driver()
        with self.errors():
            self._connection = driver.connect(self._address)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        with self.errors(), self._connection.cursor() as cursor:
            for statement in _SETTINGS:
                cursor.execute(statement)
        self.tables: dict[str, DatabaseTable] = {}
        for schema, table, kind, column, type, element, modifier in self._rows(_COLUMNS):
            name = join_name(schema, table)
            if name not in self.tables:
                self.tables[name] = DatabaseTable(self, name, schema, table, kind)
            if column is not None:
                self.tables[name].add(column, _column(type, element, modifier))
        keys: dict[str, tuple[str, ...]] = {}
        for schema, table, column in self._rows(_KEYS):
            name = join_name(schema, table)
            keys[name] = (*keys.get(name, ()), column)
        self.keys: Mapping[str, tuple[str, ...]] = keys

    def query(self, sql: str, table: str | None = None) -> Iterator[pa.RecordBatch]:
        with self.errors(table):
            cursor = self._connection.cursor()
        try:
            with self.errors(table):
                cursor.execute(sql)
                reader = cursor.fetch_record_batch()
            while True:
                with self.errors(table):
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        finally:
            cursor.close()

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        for batch in self.query(sql):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _described(self, error: Exception) -> tuple[str, str]:
        reason = str(error)
        reason = _STATE.sub("", reason.partition("[libpq] ")[2] or reason)
        reason = " ".join(reason.split("\n", 1)[0].split())
        if reason.startswith("Failed to connect: "):
            reason = reason.removeprefix("Failed to connect: ")
            known = _SAFE_MESSAGES.match(reason)
            what = self._masked(reason) if known else "the client library does not accept the URL"
            return f"cannot connect to {self._place}: {what}", _connection_help(reason)
        reason = reason.partition("ERROR: ")[2] or reason
        return f"the database {self._place} reports: {self._masked(reason)[:300].strip()}", READ_HELP


def _connection_help(reason: str) -> str:
    if "password" in reason or "fe_sendauth" in reason:
        return "set PGPASSWORD, or add the password to `~/.pgpass` (a file that only you can read)"
    if "does not exist" in reason:
        return "check the user and the database"
    if "translate host name" in reason:
        return "check the name of the host"
    if "pg_hba.conf" in reason:
        return "allow this user and host in `pg_hba.conf` of the server, or add `?sslmode=require`"
    if "connection to server" in reason:
        return "check host and port, and that the server runs and accepts TCP/IP connections"
    return "give `postgresql://HOST:PORT/DATABASE`, with `USER@` before the host; escape special characters as in `%40`"


def _parsed(url: str) -> tuple[str, Sequence[str], str]:
    """Return the URL with a limit for connecting, its secrets, and host, port and database for people. Raises:
    UsageError GG580 for a URL that libpq would not take as meant; the message has no part of the URL."""
    found = _ADDRESS.fullmatch(url)
    if found is None or _BAD_ESCAPE.search(url):
        message = "the URL of the database has characters that must be escaped"
        help = "escape `%`, `@`, `/` and `?` in names as `%25`, `%40`, `%2F`, `%3F`; pass the password in PGPASSWORD"
        raise UsageError(Diagnostic("GG580", message, help=help))
    user, hosts, database, options = (part or "" for part in found.groups())
    written = [user.partition(":")[2], *_PASSWORD.findall(options)]
    secrets = {secret for text in written for secret in (text, unquote(text)) if secret}
    host, _, port = hosts.rpartition(":") if re.search(r":[0-9]*$", hosts) else (hosts, "", "")
    host = unquote(host) or os.environ.get("PGHOST") or "(local)"
    port = port or os.environ.get("PGPORT") or "5432"
    name = unquote(database) or os.environ.get("PGDATABASE") or unquote(user.partition(":")[0])
    place = f"host {host}, port {port}" + (f", database {name}" if name else "")
    if "connect_timeout=" not in options and "PGCONNECT_TIMEOUT" not in os.environ:
        url += f"{'&' if options else '' if '?' in url else '?'}connect_timeout={_CONNECT_SECONDS}"
    return url, [*secrets], place


def _driver() -> Any:
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        message = "reading a PostgreSQL database needs the package adbc-driver-postgresql"
        raise UsageError(Diagnostic("GG589", message, help="pip install 'ggfmt[postgresql]'")) from None
    return driver


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
