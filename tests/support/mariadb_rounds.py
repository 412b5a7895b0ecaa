"""As `apply_rounds`, but the target is a MariaDB: no partitions, no children by inheritance, no deferred checks.

MariaDB checks foreign keys at each row. Where rows of a table refer to each other, or a key with children that do not
follow it has another row, the command runs `as_replica`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import mariadb
from apply_rounds import Rounds, State
from apply_schemas import Row, Table
from postgres import Server
from pymysql.cursors import DictCursor

_TYPES = {"text": "varchar(200) collate utf8mb4_bin", "numeric(10,2)": "decimal(10,2)"}
_OWN_TYPES = {
    "own": "varchar(99) default 'dflt'", "later": "varchar(99) default 'dflt'", "own_number": "int",
    "own_serial": "bigint auto_increment unique", "stamp": "int default 0",
    "generated": "text as (concat(coalesce(v, ''), '!')) stored",
}  # fmt: skip
_OWN = {"own": ("'dflt'", "concat('o', nextval(trace))"), "own_number": ("null", "nextval(trace)")}
_OWN["later"] = _OWN["own"]
_STAMP = "create trigger {0}_stamp_{1} before {1} on {0} for each row set new.stamp = coalesce(new.stamp, 0) + 1;\n"
_CALL = "create trigger {0}_call_{1} after {1} on {0} for each row insert into calls values ('{0}', upper('{1}'));\n"


def _ddl(table: Table) -> str:
    def type_of(text: str) -> str:
        name, _, rest = text.partition(" ")
        return f"{_TYPES.get(name, name)} {rest}"

    columns = [f"{name} {type_of(type)}" for name, type in table.columns.items()]
    columns += [f"primary key ({', '.join(table.key)})"]
    columns += [f"unique ({', '.join(table.unique)})"] * bool(table.unique)
    columns += ["twice decimal(20,2) as (n * 2) stored"] * table.is_generated
    columns += [f"{name} {_OWN_TYPES[name]}" for name in table.own]
    made = f"create table {table.name} ({', '.join(columns)});\n"
    if table.has_triggers:
        made += "".join(_STAMP.format(table.name, event) for event in ("insert", "update"))
        made += "".join(_CALL.format(table.name, event) for event in ("insert", "update", "delete"))
    return made


class MariaDBRounds(Rounds):
    """A random schema, and what follows it in MariaDB."""

    run_seconds = 2.5

    def __init__(
        self, server: Server, work: Path, random: Random, counts: Counter[str], target: mariadb.Server
    ) -> None:
        self._target = target
        self._accepts = False
        super().__init__(server, work, random, counts)
        self.url = f"mysql://root@127.0.0.1:{target.port}/target"

    def restart(self) -> None:
        self._begin()
        for table in self.tables:
            table.deferrable = table.partition = ""
            table.has_heir = False
        sql = "create table calls (name text, op text); create sequence trace;\n"
        sql += "".join(map(_ddl, self.tables)) + "set foreign_key_checks = 0;\n"
        self._target.run(
            f"drop database if exists target; create database target character set utf8mb4; use target; {sql}"
        )
        source = self._dump_source()["source"]
        with self._target.connected("target") as connection, connection.cursor() as cursor:
            cursor.execute("set foreign_key_checks = 0")
            for table in self.tables:
                columns = ", ".join(table.columns)
                insert = f"insert into {table.name} ({columns}) values ({', '.join(['%s'] * len(table.columns))})"
                cursor.executemany(insert, [[row[name] for name in table.columns] for row in source[table.name]])
        for table in self.tables:
            self.run_target(table.references_ddl("target", has_timing=False))
        names = [table.name for table in self.tables]
        self._as_replica = any(
            names.index(one.parent.name) >= names.index(table.name) for table in self.tables for one in table.references
        )

    def run_target(self, sql: str) -> None:
        self._target.run(f"use target; {sql}")

    def dump(self, first: str = "") -> State:
        return {**self._dump_source(first), **self._dump_target()}

    def _dump_target(self) -> Row:
        with self._target.connected("target") as connection, connection.cursor(DictCursor) as cursor:
            cursor.execute("start transaction with consistent snapshot")

            def rows(name: str) -> list[Row]:
                cursor.execute(f"select * from {name}")
                return [{name: _shown(value) for name, value in row.items()} for row in cursor.fetchall()]

            target = {table.name: rows(table.name) for table in self.tables}
            return {"target": target, "heirs": {}, "calls": rows("calls")}

    def dump_anew(self) -> State:
        for table in self.tables:
            for name in table.own.keys() & _OWN.keys():
                empty, value = _OWN[name]
                self.run_target(f"update {table.name} set {name} = {value} where {name} <=> {empty}")
        self.run_target("delete from calls")
        return self.dump("delete from source.log;")

    def add_column(self, table: Table) -> None:
        self.run_target(f"alter table {table.name} add column later {_OWN_TYPES['later']}")
        self._accepts = True

    def is_connected(self) -> bool:
        return self._target.run("select count(*) > 0 from information_schema.processlist where db = 'target'") == "1\n"

    def options(self) -> dict[str, Any]:
        return {"accept": self._accepts, "as_replica": self._as_replica}

    def is_immediate(self, timing: str) -> bool:
        return True

    def loosen(self) -> str:
        before, self._as_replica = self._as_replica, True
        message = self.apply()
        self._as_replica = before
        return message

    def _alter(self, before: State, table: Table) -> Generator[str, None, bool]:
        was_repaired = yield from super()._alter(before, table)
        self._accepts = True  # the server has another time of the table
        return was_repaired

    def alterations(self, table: Table) -> Sequence[tuple[str, str, str]]:
        time.sleep(1.1)  # MariaDB has the second in which a table was made
        name, unchecked = table.name, "set foreign_key_checks = 0;"
        also = ", drop column generated" if "generated" in table.own else ""
        column = f"alter table {name} rename column"
        made_again = f"{unchecked} drop table {name}; {_ddl(table)} {table.references_ddl('target', has_timing=False)}"
        found = [
            ("renamed table", f"rename table {name} to away", f"rename table away to {name}"),
        ]
        if self._accepts:
            return found
        found += [
            ("dropped column", f"alter table {name} drop column v{also}", ""),
            ("table made again", made_again, ""),
        ]
        return found if also else [*found, ("renamed column", f"{column} v to away", f"{column} away to v")]


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else str(value)
