"""The contract of `mysqlbinlog_text`, which is read only: `made` prints events as MySQL's tool does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract
from ggfmt.model.table import Column, Kind, SqlType, TableDef

TIME = "2026-11-28 14:57:24.000000"
_HEAD = "#261128 14:57:24 server id 1  end_log_pos {} CRC32 0x0e2b3f4b \t{}"
_WORDS = {"I": "INSERT INTO", "U": "UPDATE", "D": "DELETE FROM"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\\": "\\\\", "'": "\\'"}


def printed(value: Any) -> str:
    if not isinstance(value, str):
        return "NULL" if value is None else str(value)
    return "'{}'".format("".join(_ESCAPES.get(c, c if c >= " " else f"\\x{ord(c):02x}") for c in value))


def event(end: int, what: str, *lines: str) -> str:
    return "".join(f"{line}\n" for line in (f"# at {end - 1}", _HEAD.format(end, what), *lines))


def row(
    op: str, before: Mapping[int, Any] | None, after: Mapping[int, Any] | None, table: str = "`s`.`t`"
) -> list[str]:
    """The lines of a row; values by the number of their column, as they are printed."""
    lines = [f"### {_WORDS[op]} {table}"]
    for word, image in (("WHERE", before), ("SET", after)):
        if image is not None:
            lines += [f"### {word}", *(f"###   @{number}={value}" for number, value in image.items())]
    return lines


def rows(end: int, *blocks: list[str]) -> str:
    return event(end, "Update_rows: table id 22 flags: STMT_END_F", *(line for block in blocks for line in block))


def query(end: int, sql: str) -> str:
    return event(end, "Query\tthread_id=13\texec_time=0\terror_code=0", "SET TIMESTAMP=1795877844/*!*/;", sql, "/*!*/;")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    names = [column.name for column in columns]
    operations = []
    for number, item in enumerate(made.operations):
        gtid = {"gtid": f"0-1-{draw(st.integers(1, 9))}"}
        after = None if item.after is None else {name: item.after.get(name) for name in names}
        before = after if item.op == "U" and item.before is None else item.before
        item = replace(item, op_ts=TIME, pos=str(10 * number + 10), tokens=gtid, before=before, after=after)
        operations.append(item)
    table = replace(made.table, name="s.t", columns=columns)
    return Case(replace(made, table=table, operations=operations), told={"escapes": "mysql8"})


def made(case: Case) -> bytes:
    numbers = {column.name: number for number, column in enumerate(case.changes.table.columns, 1)}
    parts = []
    for place, item in enumerate(case.operations):
        end = 10 * place + 10
        if "gtid" in item.tokens:
            parts.append(event(end, f"GTID {item.tokens['gtid']} trans"))
        if item.op == "T":
            parts.append(query(end, "truncate `s`.`t`"))
            continue
        images = [
            image if image is None else dict(sorted((numbers[name], printed(value)) for name, value in image.items()))
            for image in (item.before, item.after)
        ]
        parts.append(rows(end, row(item.op, images[0], images[1])) + "COMMIT/*!*/;\n")
    return "".join(parts).encode()


def shown(case: Case) -> list[PlainOperation]:
    return case.operations


TABLE = TableDef(
    "s.t", (Column("id", SqlType(Kind.INTEGER)), Column("v", SqlType(Kind.STRING)), Column("n", SqlType(Kind.DECIMAL)))
).with_keys(("id",))
CONTRACTS = {
    "mysqlbinlog_text": Contract(
        cases(),
        shown,
        transactions=("gtid",),
        made=made,
        records=[
            "\n".join(lines).encode()
            for lines in (
                row("I", None, {1: 1, 2: "'a'", 3: "1.50"}),
                row("I", None, {1: 1, 2: "NULL", 3: "1.50"}),
                row("U", {1: 1}, {2: "'b'"}),
                row("D", {1: 1}, None),
            )
        ],
        frame=lambda record: rows(10, [record.decode("latin-1")]).encode("latin-1") + b"COMMIT/*!*/;\n",
        base=1,
        told_of_records={"escapes": "mysql8"},
        table_of_records=TABLE,
        isolated=False,
        texts=False,
    )
}
