"""Recorded binary logs of MariaDB, replayed: the rows of each table are those that MariaDB had.

`PHASES.tsv` beside the recordings has the phases of their story, with the place at the end of each. `truth` has the
rows of a schema after a phase, as `mariadb-dump` writes them. Without a file, they are as after the phase before.
"""

from __future__ import annotations

import base64
import lzma
import re
from collections import Counter
from functools import cache
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest
from dialects import DATA, Read, read
from scanners import without_kernels

from ggfmt.model.table import Kind, TableDef, join_name, split_name

NAME = "mysql_binlog"
FILES = DATA / "mariadb-binlog"
PHASES = 6

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the recorded messages are not there")

# Why the rows of a table are not those of the server: no log has what they need.
DIFFERENT = {
    "story.k": "a row was inserted as a statement, and not as a row",
    "story.child": "a foreign key deleted rows of the table, which is not in the log",
    "story.versioned": "the log has the columns with the period, and earlier versions of rows",
    "story.ddl": "ALTER changed the columns and their order",
    "story.gone": "the table was dropped",
    "story.img": "with the image MINIMAL, an insert does not show the default of a column",
    "s2.ddl_new": "the table and its schema got other names",
}
NOT_FOUND = ["story.ddl"] * 4
_TOKEN = re.compile(r"'((?:[^'\\]|\\.|'')*)'|(NULL)|(0x[0-9A-F]*)|([^,()]+)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "0": "\0", "Z": "\x1a", "t": "\t"}
_NAME = r"`((?:[^`]|``)*)`"


@cache
def log(number: int) -> bytes:
    return lzma.decompress((FILES / f"binlog.{number:06}.xz").read_bytes())


@cache
def recorded(number: int) -> Read:
    """A recording, which is read alike with kernels and without."""
    found = read(NAME, log(number))
    with without_kernels():
        assert read(NAME, log(number)) == found
    return found


def phase_of(number: int, place: int) -> int:
    for line in (FILES / "PHASES.tsv").read_text().splitlines():
        phase, end, _ = line.split("\t")
        name, _, last = end.partition(":")
        if name == f"binlog.{number:06}" and place < int(last):
            return int(phase)
    return PHASES


def replayed(last: int) -> tuple[dict[str, list[dict[str, Any]]], dict[str, TableDef]]:
    """The rows of each table after a phase, and the definitions; a change finds its row by its before image."""
    tables: dict[str, list[dict[str, Any]]] = {}
    definitions, lost = {}, []
    for number in (1, 2):
        for (table, item), (start, _) in zip(recorded(number).operations, recorded(number).places, strict=True):
            if phase_of(number, start) > last:
                continue
            name = table.full_name
            definitions[name] = table
            rows = tables.setdefault(name, [])
            found = [row for row in rows if all(row.get(key) == value for key, value in (item.before or {}).items())]
            if item.op == "T":
                rows.clear()
            elif item.op == "I":
                rows.append(dict(item.after or {}))
            elif not found:
                lost.append(name)
            elif item.op == "U":
                found[0].update(item.after or {})
            else:
                rows.remove(found[0])
    assert lost == (NOT_FOUND if last >= 4 else [])
    return tables, definitions


def truth(phase: int) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for schema in ("story", "s2", "Mixed_Schema"):
        files = [FILES / "truth" / f"{number:02}.{schema}.sql" for number in range(phase, 0, -1)]
        path = next((file for file in files if file.exists()), None)
        for line in [] if path is None else path.read_text("utf-8", "surrogateescape").split("\n"):
            found = re.match(rf"INSERT INTO {_NAME} \((.*?)\) VALUES \((.*)\);$", line, re.DOTALL)
            if found is None:
                continue
            cells = [None if m[2] else m[4] or m[3] if m[1] is None else m[1] for m in _TOKEN.finditer(found[3])]
            names = [name.replace("``", "`") for name in re.findall(_NAME, found[2])]
            plain = [cell and re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), cell) for cell in cells]
            table = join_name(schema.replace("_", " "), found[1].replace("``", "`"))
            tables.setdefault(table, []).append(dict(zip(names, plain, strict=True)))
    return tables


def shown(name: str, kind: Kind, value: str | None) -> Any:
    """A value of ours or of the dump in one form."""
    if value is None:
        return None
    if kind is Kind.FLOAT:
        return f"{float(value):.6g}"  # a dump has six digits
    if kind is Kind.DOUBLE:
        return float(value)
    if kind is Kind.INTEGER:
        return int(value, 0) if value.startswith("0x") else int(value)
    if kind is Kind.BINARY and name == "c_uuid" and "-" in value:
        return UUID(value).bytes
    if kind is Kind.BINARY and name in ("c_inet4", "c_inet6") and ("." in value or ":" in value):
        return ip_address(value).packed
    if kind is Kind.BINARY:
        return bytes.fromhex(value[2:]) if value.startswith("0x") else base64.b64decode(value)
    return value


def rows_of(table: TableDef, rows: list[dict[str, Any]], names: set[str]) -> Counter[tuple[Any, ...]]:
    columns = [column for column in table.columns if column.name in names]
    return Counter(tuple(shown(c.name, c.type.kind, row.get(c.name)) for c in columns) for row in rows)


@pytest.mark.parametrize("phase", range(1, PHASES + 1))
def test_rows_are_those_of_the_server(phase: int) -> None:
    tables, definitions = replayed(phase)
    expected = {tuple(split_name(name)): rows for name, rows in truth(phase).items()}
    different = set()
    for name, rows in tables.items():
        if name == "story.all_types" and phase > 1:
            continue  # the dumps of later phases do not have it
        own = expected.get(tuple(split_name(name)), [])
        columns = set(own[0]) if own else set(definitions[name].column_names)
        if rows_of(definitions[name], rows, columns) != rows_of(definitions[name], own, columns):
            different.add(name)
    assert different <= DIFFERENT.keys()
    assert phase < PHASES or different == DIFFERENT.keys()
    assert phase > 2 or not different


def test_what_the_logs_have_besides_rows() -> None:
    found = recorded(1)
    assert found.reasons == []
    assert found.others == {
        "ddl create": 21, "transaction commit": 75, "statement with rows": 2, "ddl drop": 3, "ddl alter": 6,
        "ddl rename": 1,
    }  # fmt: skip
    losses = {remark.table: count for remark, count in found.remarks.items()}
    assert losses == {"story.k": 2, "story.img": 2}
    assert all(remark.is_loss for remark in found.remarks)


def test_positions_and_transactions() -> None:
    (_, first), *_ = recorded(1).operations
    assert first.pos == "f:3047"
    assert first.tokens == {"gtid": "0-1-3", "server_id": "1"}


def test_types_are_those_of_the_server() -> None:
    table = next(table for table, _ in recorded(1).operations if table.full_name == "story.all_types")
    types = {column.name: column.type for column in table.columns}
    assert table.key_names == ("id",)
    assert (types["c_big"].precision, types["c_ubig"].precision, types["c_utiny"].bits) == (None, 20, None)
    assert str(types["c_dec65"]) == "decimal(65,30)"
    assert (types["c_varchar"].length, types["c_gbk"].length, types["c_varbinary"].length) == (40, 20, 60)
    assert types["c_def"].kind is Kind.STRING, "the charset of a GEOMETRY is not that of the text after it"
    assert types["c_gen"].bits == 32, "the sign of a YEAR is not that of the number after it"
