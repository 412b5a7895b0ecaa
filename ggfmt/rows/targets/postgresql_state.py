"""The one connection of a run of `ggfmt apply` to PostgreSQL."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from threading import Event, Thread
from typing import Any

import pyarrow as pa

from ggfmt.commit.names import counted
from ggfmt.database.postgresql import PostgreSQL
from ggfmt.diagnostics.diagnostic import GgfmtError, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.java.text import visible
from ggfmt.model.sql import POSTGRESQL, Sql, joined, sql
from ggfmt.rows.targets.database_state import STATE, ApplyDatabase, ApplyOptions

_PATIENCE_SECONDS = 2
_HOLDERS = sql(
    "select format('the process %s (user %s, program %s, %s since %s)', pid, usename, application_name, state,\n"
    "  coalesce(state_change, backend_start)::timestamptz(0)) from pg_stat_activity"
)
_MIN_VERSION = 150000  # the first one with MERGE
_SETTINGS = (
    "set transaction isolation level read committed",  # what other runs have committed is seen once they are locked out
    "set local standard_conforming_strings = on",
    "set local idle_in_transaction_session_timeout = 0",
    "set local jit = off",  # compiling the expressions of wide tables takes longer than they do
)
_SQL_TYPES = {TEXT: "text", pa.binary(): "bytea", pa.int32(): "integer", pa.int64(): "bigint"}
# Values in messages of the server, such as `invalid input syntax for type real: "x"`, or at the start of one
_VALUE = re.compile(r'(?<=.): ".*|(?<=^time zone )".*" (?=not recognized)')
_REFUSALS = ("22", "42704", "42883", "42P01")  # states of SQL: bad values, and names of what there is not
_FIRST_VALUE = re.compile(r'^(?:value )?"(?:.*"(?= is out of range)|[^"]*$)')

log = logging.getLogger("ggfmt")


class ApplyConnection(PostgreSQL, ApplyDatabase):
    """As above, to PostgreSQL.

    Raises: as `PostgreSQL`; UsageError GG501 while another run of the stream goes on, GG596 for an old server.
    """

    target, dialect = "postgresql", POSTGRESQL
    help = ApplyDatabase.help
    refuses_value = False  # if the last error may be of a value

    def __init__(self, url: str, options: ApplyOptions, refused: Mapping[str, GgfmtError] | None = None) -> None:
        self._prepare(options, refused)
        self._stream = POSTGRESQL.literal(options.stream)
        self._closed = Event()
        settings = [*_SETTINGS, sql("set local lock_timeout = {}", round(1000 * (options.lock_timeout or 0)))]
        settings += [sql("set local session_replication_role = 'replica'")] if options.as_replica else []
        super().__init__(url, settings)

    def _start(self) -> None:
        if self.value(sql("select current_setting('server_version_num')::int")) < _MIN_VERSION:
            message = "`ggfmt apply` needs PostgreSQL 15 or later, which has MERGE"
            raise UsageError("GG596", message, self.shown, "use a later server")
        process = self.value(sql("select pg_backend_pid()::bigint"))
        Thread(target=self._watch, args=(process,), daemon=True).start()
        name = POSTGRESQL.literal(f"ggfmt apply {self.options.stream}")
        if not self.value(sql("select pg_try_advisory_xact_lock(hashtextextended({}, 0))", name)):
            message = f"another run is applying changes of the stream `{self.options.stream}`"
            raise UsageError("GG501", message, self.shown, "wait until that run ends")

    def close(self) -> None:
        self._closed.set()
        super().close()

    def _watch(self, process: int) -> None:
        """Show who holds the lock for which a statement waits. Another connection asks, as this one waits."""
        shown = None
        while not self._closed.wait(_PATIENCE_SECONDS):
            begun = self._begun
            if begun in (None, shown) or time.monotonic() - (begun or 0) < _PATIENCE_SECONDS:
                continue
            shown = begun
            with suppress(Exception), self._connect() as other, other.cursor() as cursor:
                cursor.execute(sql("{} where pid = any(pg_blocking_pids({}))", _HOLDERS, process))
                for (holder,) in cursor.fetchall():
                    log.warning("waiting for a lock that %s holds", visible(holder))

    def copy(self, name: Sql, schema: pa.Schema, batches: Iterable[pa.RecordBatch], by_table: bool = False) -> None:
        """Copy rows into a new temporary table, and gather its statistics. `by_table`: they are looked for by `n`."""
        with self.errors(), self._connection.cursor() as cursor:
            reader = pa.RecordBatchReader.from_batches(schema, batches)
            rows = cursor.adbc_ingest(name, reader, mode="create", temporary=True)
        columns = ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in schema)
        copy = f"copy {name} from stdin; -- {counted(rows, 'row')}"
        self.statements += [f"create temporary table {name} ({columns});", copy]
        if by_table:
            self.execute(sql("create index on {} (n)", name))
        self.execute(sql("analyze {}", name))

    @property
    def _driver_connection(self) -> Any:
        return self._connection

    @cached_property
    def state_oid(self) -> int | None:
        """The number of the table of states in the catalog; None if there is none."""
        oid: int | None = self.value(sql("select to_regclass('{}')::oid::bigint", STATE))
        return oid

    def _stored(self) -> Mapping[str, bytes]:
        if self.value(sql("select to_regclass('{}') is null", STATE)):
            return {}
        return dict(self.rows(sql("select name, content from {} where stream = {}", STATE, self._stream)))

    def _store(self, gone: Collection[str], changed: Mapping[str, bytes]) -> None:
        if self.value(sql("select to_regclass('{}') is null", STATE)):
            columns = sql("stream text, name text, content bytea not null, primary key (stream, name)")
            self.execute(sql("create table {} ({})", STATE, columns))
        names = joined(", ", map(POSTGRESQL.literal, gone))
        self.execute(sql("delete from {} where stream = {} and name in ({})", STATE, self._stream, names))
        rows = pa.RecordBatch.from_pydict({"name": [*changed], "content": [*changed.values()]})
        self.copy(sql("{}_new", STATE), rows.schema, [rows])
        self.execute(sql("insert into {0} select {1}, name, content from {0}_new", STATE, self._stream))

    def _described(self, error: Exception) -> tuple[str, str]:
        state = getattr(error, "sqlstate", None)  # the result of a query fails without one
        self.refuses_value = "ERROR: " in str(error) if state is None else state.startswith(_REFUSALS)
        message, help = super()._described(error)
        if message.endswith("out of shared memory"):
            help = (
                "nothing was changed; raise `max_locks_per_transaction` of the server, or divide the tables of a run "
            )
            help += "by `--table` and `--stream`"
        elif "lock timeout" in message:
            help = "nothing was changed; run again when the lock is free, or give a longer `--lock-timeout`"
        elif "violates foreign key constraint" in message:
            help = (
                "nothing was changed; if the rows are consistent after the run, make the constraint DEFERRABLE or give "
            )
            help += "`--as-replica`"
        return message, help

    def _shown_reason(self, reason: str) -> str:
        """Leave out the values of rows."""
        return _FIRST_VALUE.sub("a value", _VALUE.sub("", super()._shown_reason(reason)))
