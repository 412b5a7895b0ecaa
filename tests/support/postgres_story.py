"""Random transactions of a PostgreSQL: what its logical decoding has of them, and the rows that there are then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from postgres import SLOT, Server, decoded
from round_trips import Operation, Row

TABLES = """
create table orders(id int primary key, name text, price numeric(12,2), qty int, note text);
create table lines(order_id int, line int, sku text, amount numeric(10,3), doc text, primary key(order_id, line));
create table nokey(a int, b text);
alter table orders alter note set storage external;
alter table lines alter doc set storage external;
alter table lines replica identity full;
alter table nokey replica identity full;
insert into orders select g, 'early '||g, g, 0, repeat('early', 1000) from generate_series(1, 20) g;
"""
KEYS = {"orders": ("id",), "lines": ("order_id", "line"), "nokey": ()}
NUMBERS = ("id", "qty", "order_id", "line", "a")
# What happens to the tables after the first and the second part.
ALTERED = (
    "alter table orders add column extra text; alter table orders drop column price;",
    "alter table orders add column price text; alter table lines add column extra int;",
)


def statement(random: Random, part: int) -> str:
    """A statement that may change some rows, or fail."""
    number, other = random.randrange(1, 60), random.randrange(1, 60)
    text = random.choice(("null", "''", "'a''b'", "'null'", r"E'line\n\\N\t'", f"'v{number}'", "'Ä表😀'"))
    long = f"repeat('toast {number}', {random.choice((1, 700, 700))})"
    choices = [
        f"insert into orders(id, name, qty) values ({number}, {text}, {other})",
        f"insert into orders(id, name, note) values ({number}, {text}, {long})",
        f"insert into orders(id, name, note) values ({number}, {text}, {long}) "
        "on conflict(id) do update set name = excluded.name",
        f"insert into orders(id, note) select g, {long} from generate_series({number}, {number + 5}) g",
        f"update orders set qty = qty + 1 where id % 7 = {number % 7}",
        f"update orders set name = {text} where id = {number}",
        f"update orders set note = {long} where id = {number}",
        f"update orders set id = {other} where id = {number}",
        f"update orders set id = id + 1000 where id between {number} and {number + 4}",
        f"update orders set id = id - 1000, name = {text} where id between {number + 1000} and {number + 1009}",
        f"delete from orders where id = {number}",
        f"delete from orders where id % 11 = {number % 11}",
        f"insert into lines(order_id, line, sku, doc) values ({number % 9}, {other % 9}, {text}, {long})",
        f"update lines set sku = {text} where line = {number % 9}",
        f"update lines set line = line + 10 where order_id = {number % 9}",
        f"update lines set line = line - 10, amount = {number}.5 where order_id = {number % 9}",
        f"update lines set order_id = {other % 9}, doc = {long} where order_id = {number % 9} and line = {other % 9}",
        f"delete from lines where order_id = {number % 9} and line > {other % 9}",
        f"insert into nokey values ({number % 3}, {text}), ({number % 3}, {text})",
        f"update nokey set b = {text} where a = {number % 3}",
        f"delete from nokey where ctid in (select ctid from nokey limit {number % 3})",
    ]
    choices += (f"update orders set price = {number} where id = {other}", "update orders set extra = 'x'")[:: part or 1]
    if random.random() < 0.003:
        return f"truncate {random.choice(('orders', 'lines', 'nokey', 'orders, nokey'))}"
    return random.choice(choices)


def transaction(random: Random, part: int) -> str:
    """Several statements, of which some are taken back."""
    found = ["begin"]
    for _ in range(random.randint(1, 4)):
        found.append(statement(random, part))
        if random.random() < 0.1:
            found += ["savepoint s", statement(random, part), "rollback to savepoint s"]
    return ";\n".join([*found, "rollback" if random.random() < 0.1 else "commit"]) + ";\n"


@dataclass(frozen=True)
class Part:
    """The log of a part of the transactions; the rows of the tables after it, by name, and its last position."""

    records: list[dict[str, Any]]
    rows: dict[str, list[Row]]
    end: str


def metadata(of: Server, table: str) -> dict[str, Any]:
    query = f"select column_name from information_schema.columns where table_name = '{table}' order by ordinal_position"
    names = [str(row["column_name"]) for row in of.copied(query)]
    columns = {
        name: {"type": "integer" if name in NUMBERS else "string", "null": True, "key": name in KEYS[table]}
        for name in names
    }
    return {"op_type": "OBJECT_METADATA", "qual_table": f"public.{table}", "columns": columns}


def record(item: Operation) -> dict[str, Any]:
    found = {"table": item.table, "op_type": item.op, "pos": item.pos, "before": item.before, "after": item.after}
    return {name: value for name, value in found.items() if value is not None}


def happen(of: Server, random: Random, parts: int, transactions: int) -> list[Part]:
    """Transactions in several parts, between which tables get other columns."""
    of.run(TABLES)
    of.run(f"select pg_create_logical_replication_slot('{SLOT}', 'test_decoding')")
    found = [Part([], {table: of.copied(f"select * from {table}") for table in KEYS}, "0")]
    number = 0
    for part in range(parts):
        described = {table: metadata(of, table) for table in KEYS}
        of.run("".join(transaction(random, part) for _ in range(transactions)), strict=False)
        told = decoded(of, {f"public.{table}": tuple(described[table]["columns"]) for table in ("lines", "nokey")})
        placed = [replace(item, pos=f"{number + place:08d}") for place, item in enumerate(told, 1)]
        number += len(told)
        rows = {table: of.copied(f"select * from {table}") for table in KEYS}
        records = [described[table] for table in KEYS if part == 0 or described[table] not in found[-1].records]
        found.append(Part([*records, *map(record, placed)], rows, f"{number:08d}"))
        if part < len(ALTERED):
            of.run(ALTERED[part])
    return found
