"""`ggfmt apply` follows random rounds of transactions (`apply_schemas`) in the tables of a PostgreSQL.

The log of the source becomes records of GoldenGate. After each round, all columns of the source are the same in the
target, and each row has the own columns of the row that it was before: `differences`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from apply_schemas import SOURCE, TARGET, Row, Table, fill, random_tables, transaction
from lake_tables import change
from postgres import Server
from runs import write_lines

import ggfmt

State = dict[str, Any]  # the rows of tables by schema, `heirs`, `calls` of triggers, and the `log` of the source
_ALTERED = 0.3  # the share of rounds before which another client alters the target
_WAIT = 20  # seconds until the server sees that a run was killed
_OWN = {"own": ("'dflt'", "'o' || nextval('target.trace')"), "own_number": ("null", "nextval('target.trace')")}
_OWN["later"] = _OWN["own"]


def differences(tables: Sequence[Table], before: State, after: State) -> Iterator[str]:
    """Yield how the target differs from the source after a round."""
    for table in tables:
        source, target = ({table.key_of(row): row for row in after[side][table.name]} for side in ("source", "target"))
        names = [name for row in after["source"][table.name][:1] for name in row if name != "rid"]
        for key in source.keys() ^ target.keys():
            yield f"{table.name}: {'extra' if key in target else 'lost'} row {key}"
        for key in source.keys() & target.keys():
            wrong = [name for name in names if source[key][name] != target[key].get(name)]
            if wrong:
                yield f"{table.name}: wrong values {key}, {wrong}"
        yield from _own_differences(table, before, after, source, target)
        if before["heirs"].get(table.name) != after["heirs"].get(table.name):
            yield f"{table.name}: changed inheritance child"


def _own_differences(table: Table, before: State, after: State, source: Any, target: Any) -> Iterator[str]:
    log = [item for item in after["log"] if item["name"] == table.name]
    was = {row["rid"]: table.key_of(row) for row in before["source"][table.name]}
    rows = {table.key_of(row): row for row in before["target"][table.name]}
    rids = {row["rid"] for row in source.values()}
    dead = {key: rows[key] for rid, key in was.items() if rid not in rids}
    logged = {image["rid"] for item in log for image in (item["before"], item["after"]) if image}
    logged |= {*was} if any(item["op"] == "T" for item in log) else set()
    pairs = [(item["before"], item["after"]) for item in log if item["op"] == "U"]
    moved = {new["rid"] for old, new in pairs if table.key_of(old) != table.key_of(new)}
    # The heir of a deleted row is the new row of its key, unless one of both has moved: then any or none is right.
    is_vague = any(item["op"] == "T" for item in log) or bool(moved - (rids & {*was}))
    for key, row in source.items():
        there = target.get(key, {})
        for name, new in table.own.items() if there else ():
            kind = f"{table.name}: {{}} own column {key}, {name}: {there[name]!r}"
            if name == "generated":
                if there[name] != f"{row['v'] or ''}!":
                    yield kind.format("wrong generated")
            elif row["rid"] in was:
                old = rows[was[row["rid"]]][name]
                is_stamp = name == "stamp" and row["rid"] in logged
                if old != there[name] and not (is_stamp and there[name] > old):
                    what = "moved" if row["rid"] in moved else "changed" if row["rid"] in logged else "untouched"
                    yield f"{kind.format(f'{what} row,')} in place of {old!r}"
            elif name in ("own_serial", "stamp"):
                if there[name] is None:
                    yield kind.format("new row,")
            else:
                heirs = [each[name] for at, each in dead.items() if is_vague or at == key]
                right = [new, *heirs] if is_vague or not heirs else heirs
                if there[name] not in right:
                    yield f"{kind.format('again' if heirs else 'new row,')} in place of {right}"
    if table.has_triggers and not table.partition:
        calls = Counter(call["op"] for call in after["calls"] if call["name"] == table.name)
        born = sum(row["rid"] not in was for row in source.values())
        if calls["INSERT"] > born or calls["DELETE"] > len(dead):
            yield f"{table.name}: triggers of too many rows: {dict(calls)}, {born} new, {len(dead)} deleted"


def _json_of(name: str) -> str:
    return f"coalesce((select json_agg(t) from {name} t), '[]')"


class Rounds:
    """A random schema, and what follows it."""

    run_seconds = 0.4  # from the connection of a run to its end, about

    def __init__(
        self, server: Server, work: Path, random: Random, counts: Counter[str], tables: Sequence[Table] = ()
    ) -> None:
        self._server, self._work, self._random, self.counts = server, work, random, counts
        self.url = server.url
        self.tables = tables or random_tables(random)
        self._as_texts, self._position, self._runs = random.random() < 0.5, 0, 0
        self._server.run(SOURCE + "".join(table.ddl("source") for table in self.tables))
        self._server.run("".join(table.references_ddl("source") for table in self.tables))
        self._server.run(fill(random, self.tables), strict=False)
        self.restart()

    def restart(self) -> None:
        """Make the target again, with the rows of the source."""
        self._begin()
        sql = TARGET + "".join(table.ddl("target") for table in self.tables)
        sql += "drop schema public cascade; create schema public; set session_replication_role = replica;\n"
        for table in self.tables:
            names = ", ".join(table.columns)
            for suffix in ["", "_heir"][: 1 + table.has_heir]:
                sql += f"insert into target.{table.name}{suffix} ({names}){table.system}"
                sql += f" select {names} from source.{table.name};\n"
        references = "".join(table.references_ddl("target") for table in self.tables)
        self._server.run(f"{sql} reset session_replication_role;\n{references}")

    def _begin(self) -> None:
        self._runs += 1
        self._changes, self._known = self._work / f"changes-{self._runs}", set[str]()
        self._changes.mkdir(parents=True)

    def run_target(self, sql: str) -> None:
        self._server.run(sql)

    def dump(self, first: str = "") -> State:
        target = f"'target', {self._every('target')}, 'heirs', {self._every('target', '_heir')}"
        return self._dump_source(first, f"{target}, 'calls', {_json_of('target.calls')},")

    def _every(self, schema: str, suffix: str = "") -> str:
        several = [table for table in self.tables if table.has_heir or not suffix]
        names = {table.name: table.only + f"{schema}.{table.name}{suffix}" for table in several}
        return "json_build_object(" + ", ".join(f"'{name}', {_json_of(place)}" for name, place in names.items()) + ")"

    def _dump_source(self, first: str = "", more: str = "") -> State:
        log = _json_of("(select * from source.log order by seq)")
        text = self._server.run(
            f"{first} select json_build_object('source', {self._every('source')}, {more} 'log', {log})"
        )
        state: State = json.loads(text, parse_float=str)
        return state

    def check_round(self, kills: bool = False) -> Iterator[str]:
        """Run transactions and the command, and yield the differences."""
        table = self._random.choice(self.tables)
        if self._random.random() < _ALTERED and "later" not in table.own:
            self.add_column(table)
            table.own["later"] = "dflt"
            self.counts["added columns"] += 1
        before = self.dump_anew()
        log: list[Row] = []
        while not log:
            several = [transaction(self._random, self.tables) for _ in range(self._random.randint(2, 10))]
            self._server.run("\n".join(several), strict=False)
            log = (after := self.dump())["log"]
        write_lines(self._changes / f"{self._position:08d}.json", [*self._records(log)])
        self.counts.update(["rounds", *(f"changes {item['op']}" for item in log)])
        rewritten = {item["name"] for item in log if item["op"] == "T"}  # its earlier rows do not matter
        known = sorted(self._known & {item["name"] for item in log if item["op"] in "IU"} - rewritten)
        self._known |= {item["name"] for item in log}
        if kills:
            yield from self._kill(before, log)
        elif known and self._random.random() < _ALTERED:
            name = self._random.choice(known)
            was_repaired = yield from self._alter(before, next(each for each in self.tables if each.name == name))
            if not was_repaired:
                self.restart()
                return
        message = self.apply()
        if message and self._is_rigid(before, after):
            self.counts["rounds with rigid foreign keys"] += 1
            message = self.loosen()
        if message:
            yield f"refused: {message}"
        else:
            yield from differences(self.tables, before, {**self.dump(), "log": log})

    def add_column(self, table: Table) -> None:
        self._server.run(f"alter table target.{table.name} add column later text default 'dflt'")

    def loosen(self) -> str:
        """Apply the changes without immediate foreign keys, and return the error."""
        for each in self.tables:
            for number, _ in enumerate(each.references):
                self._server.run(f"alter table target.{each.name} alter constraint {each.name}_fk{number} deferrable")
        return self.apply()

    def is_immediate(self, timing: str) -> bool:
        return not timing

    def options(self) -> dict[str, Any]:
        return {}

    def dump_anew(self) -> State:
        """Return the rows before a round. Each has own values of its own now."""
        sql = "set session_replication_role = replica; delete from source.log; delete from target.calls;\n"
        for table in self.tables:
            for name in table.own.keys() & _OWN.keys():
                empty, value = _OWN[name]
                where = f"{name} is not distinct from {empty}"
                sql += f"update {table.only}target.{table.name} set {name} = {value} where {where};\n"
        return self.dump(sql)

    def _records(self, log: Sequence[Row]) -> Iterator[Row]:
        for item in log:
            self._position += 1
            images = {side: dict(item[side]) for side in ("before", "after") if item[side]}
            for image in images.values():
                del image["rid"]
                if self._as_texts:
                    image |= {name: str(value) for name, value in image.items() if value is not None}
            record = change(item["op"], self._position, f"target.{item['name']}", **images)
            key = next([*table.key] for table in self.tables if table.name == item["name"])
            yield {**record, "primary_keys": key, "tokens": {"xid": item["xid"]}}

    def apply(self) -> str:
        """Run the command, and return its error."""
        limit = time.monotonic() + _WAIT
        while True:
            try:
                ggfmt.apply(self._changes, self.url, **self.options())
                return ""
            except ggfmt.GgfmtError as error:
                if "GG501" not in str(error) or time.monotonic() > limit:
                    return str(error)
                time.sleep(0.2)

    def _is_rigid(self, before: State, after: State) -> bool:
        """Whether a key that had children is gone from its row, to another place or for another row, and an immediate
        foreign key does not follow it."""
        for child, one in ((table, one) for table in self.tables for one in table.references):
            now = {row["rid"]: one.parent.key_of(row) for row in after["source"][one.parent.name]}
            was = {one.parent.key_of(row): row["rid"] for row in before["source"][one.parent.name]}
            referred = {tuple(row[column] for column in one.columns) for row in before["source"][child.name]}
            left = [key for key in referred & was.keys() if now.get(was[key]) != key]
            is_rigid = one.on_update == "no action" and self.is_immediate(one.timing)
            if is_rigid and any(was[key] in now or key in now.values() for key in left):
                return True
        return False

    def _kill(self, before: State, log: Sequence[Row]) -> Iterator[str]:
        """Start a run, and kill it: it has written all or nothing."""
        given = [f"--{name.replace('_', '-')}" for name, value in self.options().items() if value]
        words = [sys.executable, "-m", "ggfmt", "apply", str(self._changes), self.url, *given]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not self.is_connected():
            pass
        time.sleep(self._random.uniform(0, self.run_seconds))
        self.counts["kills" if process.poll() is None else "kills too late"] += 1
        process.kill()
        process.wait()
        state = self.dump()
        if state["target"] != before["target"]:
            self.counts["killed after the commit"] += 1
            yield from (f"killed: {text}" for text in differences(self.tables, before, {**state, "log": log}))

    def is_connected(self) -> bool:
        """Return whether a run is connected to the target."""
        query = "select count(*) > 1 from pg_stat_activity where backend_type = 'client backend'"
        return self._server.run(query) == "t\n"

    def alterations(self, table: Table) -> Sequence[tuple[str, str, str]]:
        """Return what another client does, with statements, and those that repair it, if any do."""
        full = f"target.{table.name}"
        alter = f"alter table {full} rename"
        quiet = "set client_min_messages = warning;"
        return [
            ("renamed table", f"{alter} to away", f"alter table target.away rename to {table.name}"),
            ("renamed column", f"{alter} column v to away", f"{alter} column away to v"),
            ("dropped column", f"{quiet} alter table {full} drop column v cascade", ""),
            ("table made again", f"{quiet} drop table {full} cascade; {table.ddl('target')}", ""),
        ]

    def _alter(self, before: State, table: Table) -> Generator[str, None, bool]:
        """Alter the target as another client; return whether the table could be repaired."""
        full = f"target.{table.name}"
        what, sql, repair = self._random.choice(self.alterations(table))
        self.counts[what] += 1
        self.run_target(sql)
        message = self.apply()
        if "GG596" not in message or full not in message or ("column" in what and "`v`" not in message):
            yield f"{what}: not refused by name, but: {message or 'exit 0'}"
            return False
        if repair:
            self.run_target(repair)
            if self.dump()["target"] != before["target"]:
                yield f"{what}: refused, but changed"
        return bool(repair)
