"""A connection to a database in one transaction, and that to PostgreSQL, by ADBC.

libpq finds passwords (`PGPASSWORD`, `.pgpass`, services); nothing that this module reports contains one.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import (
    IMPORT_ERRORS,
    MASK,
    Abend,
    Span,
    UsageError,
    package_error,
    without_credentials,
)
from ggfmt.lazy import lazy_regex
from ggfmt.model.sql import Sql, sql
from ggfmt.model.table import join_name
from ggfmt.rowfiles.files import ColumnError

_ADDRESS = lazy_regex(r"postgres(?:ql)?://(?:([^@/?]*)@)?([^/?@]*)(?:/([^?@]*))?(?:\?([^@]*))?", re.DOTALL)
_BAD_ESCAPE = lazy_regex(r"%(?![0-9a-fA-F]{2})")
_PASSWORD = lazy_regex(r"(?:^|&)(?:ssl)?password=([^&]*)")
_CONNECT_SECONDS = 10

# Messages of libpq that start so name no part of the URL but host, port, user and database.
_SAFE_MESSAGES = lazy_regex("connection to server|could not translate host name|no password supplied|fe_sendauth")
READ_HELP = "make sure that the user can read the table, and repeat the comparison"
_STATE = lazy_regex(r"\s*\bSQLSTATE: .*", re.DOTALL)

_SETTINGS = (
    "set local client_encoding = 'UTF8'",
    "set local timezone = 'UTC'",
    "set local datestyle = 'ISO'",
    "set local intervalstyle = 'iso_8601'",
    "set local extra_float_digits = 3",
    "set local bytea_output = 'hex'",
    "set local statement_timeout = 0",
    "set local row_security = off",  # a policy would hide rows: PostgreSQL reports an error instead
)
_COLUMNS = sql("""
select n.nspname, c.relname, c.relkind::text as kind, a.attname,
  base.typname, coalesce(element.typname, '') as element, b.modifier, pg_catalog.format_type(base.oid, -1) as cast,
  base.typcategory::text as category,
  concat(pg_catalog.to_jsonb(a) ->> 'attgenerated', a.attidentity) as filled,  -- older servers lack the first
  pg_catalog.format_type(base.oid, b.modifier) as written, a.attnotnull as required, c.oid::bigint, a.attnum,
  coalesce(base.oid, 0)::bigint
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
""")
_KEYS = sql("""
select n.nspname, c.relname, a.attname
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
where i.indisprimary and k.place <= i.indnkeyatts
order by n.nspname, c.relname, k.place
""")


def shown_url(url: str) -> str:
    """Return the URL of a database for people: without a user, a password and options, which may be secrets."""
    return without_credentials(url.partition("?")[0])


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
            if "canceling statement due to user request" in str(error):
                raise KeyboardInterrupt from None  # ADBC takes SIGINT during a statement, and cancels it
            message, help = self._described(error)
            raise Abend("GG588", message, Span(file=self.shown, table=table), help) from None

    @abstractmethod
    def _described(self, error: Exception) -> tuple[str, str]:
        """Return message and help for an error. Messages of a driver may quote a part of the URL."""

    def _masked(self, text: str) -> str:
        for secret in sorted(filter(None, self._secrets), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text


class CatalogColumn(NamedTuple):
    """A column of a table in the catalog. Types are those below a domain.

    kind      of the table: `r`, or `p` for a partitioned one
    name      None: the table has no columns
    type      its name in the catalog, such as `int4`; `element`: that of the items of an array
    modifier  of the type, such as the length; negative or None without one
    cast      the type without a modifier, as SQL writes it
    category  a letter, as in `pg_type.typcategory`
    filled    `s` if the server computes the values, `a` if only `overriding system value` may set them
    written   the type with its modifier, as SQL writes it; `required`: it is not NULL
    oid       of the table; `number`: of the column, which no other one gets once it is dropped
    type_oid  of the type in the catalog
    """

    schema: str
    table: str
    kind: str
    name: str | None
    type: str | None
    element: str | None
    modifier: int | None
    cast: Sql | None
    category: str | None
    filled: str | None
    written: Sql | None
    required: bool | None
    oid: int
    number: int | None
    type_oid: int

    @property
    def is_computed(self) -> bool:
        """Return whether only the server changes values, once a row is there."""
        return self.filled in ("s", "a")


class PostgreSQL(DatabaseConnection):
    """A connection to PostgreSQL. `settings`: statements that begin the transaction, besides those of all.

    Raises: UsageError GG589 without the driver; Abend GG588 if the database does not respond or refuses.
    """

    help = READ_HELP

    def __init__(self, url: str, settings: Sequence[str]) -> None:
        self.shown = shown_url(url)
        self._address, self._secrets, self._place = _parsed(url)
        self._driver = _driver()
        with self.errors():
            self._connection = self._connect()
        try:
            self._set(*settings, *_SETTINGS)
            self._start()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        return self._driver.connect(self._address)

    def _set(self, *settings: str) -> None:
        with self.errors(), self._connection.cursor() as cursor:
            for statement in settings:
                cursor.execute(statement)

    def restart(self) -> None:
        """End a transaction that has failed, and begin another one."""
        with self.errors():
            self._connection.rollback()
        self._set(*_SETTINGS)

    def _start(self) -> None:
        """Read what a connection needs from the beginning."""

    def catalog(self) -> Iterator[CatalogColumn]:
        """Yield the columns of all tables, in the order of the tables and of their columns."""
        return (CatalogColumn(*row) for row in self.rows(_COLUMNS))

    def primary_keys(self) -> dict[str, tuple[str, ...]]:
        keys: dict[str, tuple[str, ...]] = {}
        for schema, table, column in self.rows(_KEYS):
            name = join_name(schema, table)
            keys[name] = (*keys.get(name, ()), column)
        return keys

    def query(self, query: Sql, table: str | None = None) -> Iterator[pa.RecordBatch]:
        with self.errors(table):
            cursor = self._connection.cursor()
        try:
            with self.errors(table):
                cursor.execute(query)
                reader = cursor.fetch_record_batch()
            while True:
                with self.errors(table):
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        finally:
            cursor.close()

    def rows(self, query: Sql) -> Iterator[tuple[Any, ...]]:
        for batch in self.query(query):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _described(self, error: Exception) -> tuple[str, str]:
        reason = str(error)
        reason = _STATE.sub("", reason.partition("[libpq] ")[2] or reason)
        reason = reason.partition("ERROR: ")[2] or reason  # the query, which may have several lines, is before it
        reason = " ".join(reason.split("\n", 1)[0].split())
        if reason.startswith("Failed to connect: "):
            reason = reason.removeprefix("Failed to connect: ")
            known = _SAFE_MESSAGES.match(reason)
            what = self._masked(reason) if known else "the client library does not accept the URL"
            return f"cannot connect to {self._place}: {what}", _connection_help(reason)
        return f"the database {self._place} reports: {self._shown_reason(reason)[:300].strip()}", self.help

    def _shown_reason(self, reason: str) -> str:
        """Return the reason of an error for people."""
        return self._masked(reason)


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
        help = "escape `%`, `@`, `/` and `?` in names as `%25`, `%40`, `%2F`, `%3F`; pass the password in PGPASSWORD"
        raise UsageError("GG580", "the URL of the database has characters that must be escaped", help=help)
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
    except IMPORT_ERRORS as error:
        message = "reading a PostgreSQL database needs the package adbc-driver-postgresql"
        help = "pip install 'ggfmt[postgresql]'"
        raise UsageError.of(package_error("GG589", message, "adbc_driver_postgresql", error, help)) from None
    return driver


def output_text(expression: Sql) -> Sql:
    # A cast may write another text than the output function of a type, such as `10.0.0.1/32`.
    # A row of which a member is NULL is not NULL, but neither is it `is not null`.
    return sql("case when {0} is distinct from null then format('%s', {0}) end", expression)
