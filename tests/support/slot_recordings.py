"""Recorded changes of replication slots, replayed: the rows of each table are those that PostgreSQL had.

`wal2json/truth/NN.TABLE.csv` has the rows of a table after phase NN of the story. A file without a number is as after
the phase before.
"""

from __future__ import annotations

import base64
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from dialects import DATA, Read

from ggfmt.model.table import Kind, TableDef, split_name

TRUTH = DATA / "wal2json" / "truth"
LAST = 6

Row = dict[str, Any]

NOT_FOUND = [("s2.ddl_new", "U", {"id": "7"})]
NULL_NUMBERS = {"c_numeric", "c_num", "c_real", "c_double"}  # whose NaN and infinity are null


def truth(table: str, phase: int = LAST, loses_numbers: bool = True) -> list[Row] | None:
    """The rows of a table after a phase, as the dump can show them; None if there was no such table.

    loses_numbers  NaN and infinity are null in the dump
    """
    name = re.sub("[^A-Za-z0-9_.]", "~", ".".join(split_name(table)))
    files = [TRUTH / f"{number:02}.{name}.csv" for number in range(phase, 0, -1)]
    path = next((file for file in files if file.exists()), None)
    if path is None:
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows and path.read_text() == "\n\n":
        return [{}]  # a table without columns
    numbers = {"NaN", "Infinity", "-Infinity"}
    return [
        {
            column: None if value == r"\N" or (loses_numbers and column in NULL_NUMBERS and value in numbers) else value
            for column, value in row.items()
        }
        for row in rows
    ]


def shown(table: TableDef, image: Mapping[str, Any] | None) -> Row:
    """An image as `psql` prints its values; the text `\\N` is NULL as in the truth."""
    made: Row = {}
    for column in table.columns:
        if image is not None and column.name in image:
            value = image[column.name]
            if value is not None and column.type.kind is Kind.BOOLEAN:
                value = {"true": "t", "false": "f"}[value]
            elif value is not None and column.type.kind is Kind.BINARY:
                value = rf"\x{base64.b64decode(value).hex()}"
            made[column.name] = None if value == r"\N" else value
    return made


def changes(found: Read, *tables: str) -> list[tuple[str, str, Row, Row]]:
    """The operations of some tables or of all: table, type, and both images."""
    return [
        (table.full_name, item.op, shown(table, item.before), shown(table, item.after))
        for table, item in found.operations
        if not tables or table.full_name in tables
    ]


def replay(
    found: Read,
    rows: Mapping[str, list[Row]] | None = None,
    keys: Mapping[str, Collection[str]] = {},
    not_found: Collection[tuple[str, str, Row]] = NOT_FOUND,
) -> dict[str, list[Row]]:
    """The rows of each table after the operations; each change finds its row by the columns before it.

    keys  by table, the columns that find the row of an update without an old row; `id` for others
    not_found  the changes without a row: their type, and the columns before
    """
    tables = {name: list(before) for name, before in (rows or {}).items()}
    lost = []
    for name, op, before, after in changes(found):
        mine = tables.setdefault(name, [])
        if op == "T":
            mine.clear()
        elif op == "I":
            mine.append(after)
        else:
            before = before or {column: after[column] for column in keys.get(name, ("id",)) if column in after}
            place = next((n for n, row in enumerate(mine) if before.items() <= row.items()), None)
            if place is None:
                lost.append((name, op, before))
                continue
            old = mine.pop(place)
            if op == "U":
                mine.insert(place, {**old, **after})
    assert lost == (list(not_found) if rows is None else [])
    return tables


def counted(rows: Iterable[Row], columns: Iterable[str]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.get(name) for name in columns) for row in rows)


def check(
    tables: Mapping[str, list[Row]], lost: Mapping[str, str], phase: int = LAST, loses_numbers: bool = True
) -> int:
    """Compare tables with the truth, and return how many have equal rows. `lost`: why others do not have them."""
    right = 0
    for name, rows in tables.items():
        expected = truth(name, phase, loses_numbers)
        columns = list(expected[0]) if expected else []
        equal = counted(rows, columns) == counted(expected or [], columns)
        assert equal != (name in lost), (name, rows, expected)
        right += equal
    return right
