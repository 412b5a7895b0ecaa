"""What a connection of `ggfmt apply` does on every database, and the state of a stream there.

The manifest, the checkpoint and the operations for later runs are files to the engine, and rows of the table
`ggfmt_state` to the database.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from ggfmt.commit.journal import STAGING, is_below
from ggfmt.commit.locking import LOCK
from ggfmt.commit.names import SUCCESS_FILE
from ggfmt.database.postgresql import DatabaseConnection
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.model.sql import Sql, SqlDialect, sql

STATE = sql("ggfmt_state")
OUTPUT, CHECKPOINT = "output", "checkpoint"  # the directories of the engine


@dataclass(frozen=True)
class ApplyOptions:
    """What a user asks of a run.

    stream   the name of the state: runs of one stream follow each other
    dry_run  the transaction is not committed; `statements` of the connection has what it did
    accepts  the run goes on with tables that another program has altered, or made again
    as_replica  no foreign key is checked, or changes rows; PostgreSQL fires no trigger
    keeps_deleted  rows that the source deletes are marked in the column `_state`, and stay
    lock_timeout  the seconds after which waiting for a lock ends the run
    """

    stream: str
    dry_run: bool = False
    accepts: bool = False
    as_replica: bool = False
    keeps_deleted: bool = False
    lock_timeout: float | None = None


class ApplyDatabase(DatabaseConnection):
    """A connection for a run, in the one transaction of the run. `refused`: tables that another connection of this run
    could not write, and that are set aside."""

    target: ClassVar[str]  # the name in `ROW_FORMATS`
    dialect: ClassVar[SqlDialect]
    help = "nothing was changed; look at the table in the database, and run again"
    _begun: float | None = None  # when the present statement has begun
    _driver_connection: Any  # with cursors

    def _prepare(self, options: ApplyOptions, refused: Mapping[str, GgfmtError] | None) -> None:
        self.options, self.refused = options, refused or {}
        self.statements: list[str] = []
        self._restored: dict[str, bytes] = {}

    @abstractmethod
    def rows(self, query: Sql) -> Iterator[Any]: ...

    @abstractmethod
    def query(self, query: Sql, table: str | None = None) -> Iterator[pa.RecordBatch]: ...

    def value(self, query: Sql) -> Any:
        return next(self.rows(query))[0]

    def execute(self, statement: Sql, table: str | None = None) -> int:
        """Execute a statement, and return the number of its rows."""
        self.statements.append(f"{statement};")
        self._begun = time.monotonic()
        try:
            with self.errors(table), self._driver_connection.cursor() as cursor:
                cursor.execute(statement)
                return int(cursor.rowcount)
        finally:
            self._begun = None

    # The state

    @property
    @abstractmethod
    def state_oid(self) -> int | str | None:
        """The identity of the table of states; None if there is none."""

    @abstractmethod
    def _stored(self) -> Mapping[str, bytes]:
        """Return the files of the state by name."""

    @abstractmethod
    def _store(self, gone: Collection[str], changed: Mapping[str, bytes]) -> None:
        """Remove files from the state, and add others."""

    def restore(self, directory: Path) -> None:
        """Write the files of the state into a directory."""
        for name, content in self._stored().items():
            assert is_below(name)
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            self._restored[name] = content

    def save(self, directory: Path) -> None:
        """Replace the state by the files in a directory, and commit."""
        found = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
        own = (f"{place}/{name}" for place in (OUTPUT, CHECKPOINT) for name in (LOCK, f"{STAGING}/", SUCCESS_FILE))
        others = ("owner", *own)
        contents = {name: path.read_bytes() for name, path in found.items() if not name.startswith(others)}
        changed = {name: content for name, content in contents.items() if self._restored.get(name) != content}
        self._store(sorted(changed.keys() | self._restored.keys() - contents.keys()), changed)
        self.help = "the commit may have taken place; run again, which continues after the last commit"
        with self.errors():
            self._driver_connection.commit()
