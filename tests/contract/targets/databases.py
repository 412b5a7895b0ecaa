"""Tables of PostgreSQL, by `ggfmt apply`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from postgres import Server

import ggfmt
from contract.targets import KEPT, Row, Target
from ggfmt.model.sql import POSTGRESQL
from ggfmt.model.table import split_name


class PostgreSQL(Target):
    """Names without small letters are small in the database. NULL in a key stops the run."""

    name, server = "postgresql", "postgresql"
    loses: ClassVar = {"missing": "lost", "case": "GG588|GG596", "table case": "GG588|GG596", "null key": "GG570"}
    foreign, kills = KEPT, True
    dropped = "GG596"
    made_again = "GG596"
    point = "ggfmt.rows.targets.postgresql_state:ApplyConnection.save"

    def __init__(self, directory: Path, server: Server) -> None:
        super().__init__(directory)
        self._server = server
        for schema in server.run("select nspname from pg_namespace where nspname ~* '^s$|^public$'").split():
            server.run(f'drop schema "{schema}" cascade')
        server.run("create schema public")

    def run(self, **settings: Any) -> Any:
        return ggfmt.apply(self.changes, self._server.url, **{"key": "ID", **settings})

    def command(self) -> list[str]:
        return ["-q", "apply", str(self.changes), self._server.url, "--key", "ID"]

    def _table(self, table: str) -> str:
        return POSTGRESQL.identifier(*map(_folded, split_name(table)))

    def rows(self, table: str) -> list[Row]:
        found = self._server.copied(f"select * from {self._table(table)}")
        return [dict(row) for row in found]

    def column(self, name: str) -> str:
        return _folded(name)

    def add_foreign(self, table: str) -> None:
        self._server.run(f"insert into {self._table(table)} (id) values ('77')")

    def drop(self, table: str) -> None:
        self._server.run(f"drop table {self._table(table)}")

    def make(self, table: str) -> None:
        self._server.run(f"create table {self._table(table)} (id text primary key, v text)")

    def is_empty(self) -> bool:
        count = "select count(*) from pg_tables where schemaname !~ '^(pg_|information_schema)'"
        return super().is_empty() and self._server.run(count).strip() == "0"


def _folded(name: str) -> str:
    return name.lower() if name == name.upper() else name


TARGETS: list[type[Target]] = [PostgreSQL]
