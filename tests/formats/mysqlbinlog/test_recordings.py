"""Recorded texts of `mariadb-binlog`, replayed: the rows of each table are those that MariaDB had.

`INDEX.tsv` beside the recordings has the commands, `truth/NN.SCHEMA.sql` the rows after phase NN of the story, and
`truth/NN.columns.tsv` the columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import pytest
from dialects import DATA, Read, read, told

from ggfmt.formats.api.reading import Remark
from ggfmt.model.table import Column, TableDef, join_name
from ggfmt.model.type_names import type_of

NAME = "mysqlbinlog_text"
FILES = DATA / "mariadb-binlog"
TRUTH = FILES / "truth"

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the recorded messages are not there")

Row = tuple[str | None, ...]
# The text of each phase, and the phase whose definitions it needs.
STORY = {"vv_types.txt": 1, "v.txt": 3, "vv_metadata_ddl.txt": 5, "v_second.txt": 5}
# Why the rows of a table are not those of MariaDB, or why they are rejected.
DIFFERENT = {
    "story.all_types": "ENUM, SET, character sets and geometries need metadata, or are not in the text",
    "story.versioned": "the rows have hidden columns, which the definition does not have",
    "story.child": "rows that a foreign key deletes are not in the log",
    "story.img": "an insert lacks a column, whose default is not in the text",
    "s2.ddl_new": "the rows before are those of a table with another name and other columns",
    "story.k": "two changes were logged as statements",
}
REJECTED = {
    "vv_types.txt": {"GG314": 10},
    "v.txt": {"GG301": 2, "GG305": 4, "GG205": 1},
    "vv_metadata_ddl.txt": {"GG205": 10, "GG305": 2},
    "v_second.txt": {},
}


@cache
def definitions(phase: int) -> dict[str, TableDef]:
    columns = defaultdict(list)
    with (TRUTH / f"{phase:02}.columns.tsv").open(encoding="utf-8", newline="") as file:
        for schema, table, number, *column in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            columns[join_name(schema, table)].append((int(number), column))
    made = {}
    for name, listed in columns.items():
        ordered = [column for _, column in sorted(listed)]
        defined = [Column(column[0], type_of(column[1], "mysql", complete=False)) for column in ordered]
        made[name] = TableDef(name, tuple(defined)).with_keys([c[0] for c in ordered if c[-1] == "PRI"])
    return made


@cache
def recorded(name: str, phase: int) -> Read:
    """A recording, which is read alike in chunks of any size."""
    return read(NAME, (FILES / name).read_bytes(), told(NAME, escapes="mariadb"), trusted=definitions(phase))


def replay(*parts: Read) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, item in (operation for part in parts for operation in part.operations):
        rows = tables.setdefault(table.full_name, [])
        before, after = item.before or {}, item.after or {}
        if item.op == "T":
            rows.clear()
        elif item.op == "I":
            rows.append(dict(after))
        else:
            found = next((row for row in rows if before.items() <= row.items()), None)
            assert found is not None or table.full_name in DIFFERENT, (table.full_name, before)
            if found is not None:
                rows.remove(found)
                if item.op == "U":
                    rows.append({**found, **after})
    return tables


_INSERT = re.compile(r"INSERT INTO (`(?:[^`]|``)*`) \((.*?)\) VALUES \((.*)\);")
_VALUE = re.compile(r"'((?:[^'\\]|\\.|'')*)'|(NULL)|([^,()]+)", re.DOTALL)


def truth(table: str) -> Counter[Row]:
    """The rows of a table at the end of the story."""
    schema, _, name = table.partition(".")
    files = sorted(TRUTH.glob(f"??.{schema.replace(' ', '_')}.sql"))
    rows: Counter[Row] = Counter()
    for line in files[-1].read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        found = _INSERT.fullmatch(line)
        if found is not None and found[1][1:-1].replace("``", "`") == name.strip('"').replace('""', '"'):
            cells = (None if m[2] else m[1] if m[1] is not None else m[3] for m in _VALUE.finditer(found[3]))
            rows[tuple(cell and re.sub(r"\\(.)", r"\1", cell) for cell in cells)] += 1
    return rows


def test_the_whole_story() -> None:
    parts = [recorded(name, phase) for name, phase in STORY.items()]
    for part, rejected in zip(parts, REJECTED.values(), strict=True):
        assert Counter(reason[:5] for reason in part.reasons) == rejected
    right = 0
    for name, rows in replay(*parts).items():
        found = Counter(tuple(row.values()) for row in rows)
        if name not in DIFFERENT:
            assert found == truth(name), name
            right += 1
    assert right == 9


def test_losses_are_counted() -> None:
    lossy = Remark("GG330", "story.all_types", "with FLOAT, of which the text has six digits")
    assert recorded("vv_types.txt", 1).remarks == {lossy: 1}


def test_positions_times_and_transactions() -> None:
    found = recorded("v_two.txt", 5)
    assert [(item.op, item.pos, item.op_ts) for item in found.plain] == [
        ("I", "binlog.000002:568", "2026-11-28 14:57:27.000000"),
        ("U", "binlog.000002:812", "2026-11-28 14:57:27.000000"),
    ]
    assert found.plain[0].tokens["gtid"].startswith("0-1-")
    assert recorded("v_zone.txt", 4).plain[0].op_ts == "2026-11-28 20:27:25.000000"


@pytest.mark.parametrize("name", ["v_base64.txt", "v_zone.txt"])
def test_rows_beside_their_bytes_count_once(name: str) -> None:
    found = recorded(name, 4)
    assert ("".join(item.op for item in found.plain), found.reasons) == ("TTID", [])


@pytest.mark.parametrize("name", ["v_short.txt", "v_flashback.txt"])
def test_texts_that_are_no_log_are_rejected(name: str) -> None:
    found = recorded(name, 4)
    assert found.plain == []
    assert "GG301 the text has no events with positions" in found.reasons
