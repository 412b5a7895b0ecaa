"""Tables of databases, by `ggfmt apply`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import mariadb
from postgres import Server
from pymysql.constants import FIELD_TYPE
from pymysql.cursors import DictCursor

import ggfmt
from contract.targets import KEPT, Row, Target
from ggfmt.model.sql import MYSQL, POSTGRESQL
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


# How values are read that the driver would cut or that are other ones in Python.
_SHOWN = {
    FIELD_TYPE.FLOAT: "{0} + 0e0",
    FIELD_TYPE.TINY: "if({0} is null, null, if({0}, 'true', 'false'))",
    FIELD_TYPE.TIME: "cast({0} as char)",
}


class MariaDB(Target):
    """All tables are in the database of the URL, with the names that they have in their schemas."""

    name, server = "mariadb", "mariadb_server"
    loses: ClassVar = {"missing": "lost", "case": "GG588|GG596", "null key": "GG570"}
    foreign, kills = KEPT, True
    dropped = "GG596"
    made_again = "GG596"
    point = "ggfmt.rows.targets.mariadb_state:ApplyMariaDB.save"

    def __init__(self, directory: Path, server: mariadb.Server) -> None:
        super().__init__(directory)
        self._server, self.url = server, f"mysql://root@127.0.0.1:{server.port}/shop"
        server.run("drop database if exists shop; create database shop default character set latin1")

    def run(self, **settings: Any) -> Any:
        return ggfmt.apply(self.changes, self.url, **{"key": "ID", **settings})

    def command(self) -> list[str]:
        return ["-q", "apply", str(self.changes), self.url, "--key", "ID"]

    def _table(self, table: str) -> str:
        return MYSQL.identifier("shop", split_name(table)[-1])

    def rows(self, table: str) -> list[Row]:
        with self._server.connected() as connection, connection.cursor(DictCursor) as cursor:
            cursor.execute(f"select * from {self._table(table)}")
            columns = [(MYSQL.identifier(name), code) for name, code, *_ in cursor.description]
            shown = ", ".join(f"{_SHOWN.get(code, '{0}').format(name)} as {name}" for name, code in columns)
            cursor.execute(f"select {shown} from {self._table(table)}")
            return [*cursor.fetchall()]

    def add_foreign(self, table: str) -> None:
        self._server.run(f"insert into {self._table(table)} (id) values ('77')")

    def drop(self, table: str) -> None:
        self._server.run(f"drop table {self._table(table)}")
        time.sleep(1.1)  # MariaDB has seconds of when a table was made

    def make(self, table: str) -> None:
        self._server.run(f"create table {self._table(table)} (ID varchar(255) primary key, V longtext)")

    def is_empty(self) -> bool:
        count = "select count(*) from information_schema.tables where table_schema = 'shop'"
        return super().is_empty() and self._server.run(count).strip() == "0"


TARGETS: list[type[Target]] = [PostgreSQL, MariaDB]
