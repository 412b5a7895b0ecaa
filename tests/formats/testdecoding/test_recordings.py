"""Recorded dumps of test_decoding, replayed: the rows of each table are those that PostgreSQL had.

`INDEX.tsv` beside the recordings has the commands.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from dialects import DATA, Read, read, told
from scanners import without_kernels
from slot_recordings import changes, check, replay, truth

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend

NAME = "test_decoding"
FILES = DATA / "test-decoding"

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the recorded messages are not there")

# The columns of the replica identity, which the text does not show if they did not change.
KEYS = {
    "public.k2": ("a", "b"), "public.by_index": ("u",), "public.part_eu": ("id", "region"),
    "public.part_us": ("id", "region"), '"Mixed Schema"."Tab.le ""q"" \'x\'"': ("Id",), "public.nokey": ("a",),
}  # fmt: skip
# Why the rows of a table are not those of PostgreSQL: no dump has what they need.
DIFFERENT = {
    "public.nokey": "deletes of a table without a replica identity do not show their row",
    "public.pk_nothing": "deletes of a table without a replica identity do not show their row",
    "public.mv": "a refresh of a materialized view shows deletes without their rows",
    "public.gone": "the table was dropped",
    "public.ddl": "the table and a column got other names",
    "public.ddl_new": "the table got another schema",
    "s2.ddl_new": "the rows before are those of a table with another name",
}


@cache
def recorded(name: str, **options: str) -> Read:
    """A recording, which is read alike with kernels and without."""
    data = (FILES / name).read_bytes()
    found = read(NAME, data, told(NAME, **options))
    with without_kernels():
        assert read(NAME, data, told(NAME, **options)) == found
    return found


def test_the_whole_story() -> None:
    found = recorded("default.txt")
    assert found.reasons == ["GG301 a delete does not show its row"] * 4
    assert found.others == {"transaction begin": 159, "transaction end": 159, "message": 3}
    assert found.remarks == {}
    assert check(replay(found, keys=KEYS), DIFFERENT, loses_numbers=False) == 20


PARTS = {
    "timestamp.txt": (24, []),
    "noxids.txt": (24, []),
    "nobegin.txt": (24, []),
    "psql_unaligned.txt": (21, []),
    "psql_csv.csv": (24, []),
    "recvlogical.txt": (74, ["GG301 a delete does not show its row"]),
    "psql_aligned.txt": (22, ["GG301 `psql` writes a tab as blanks, and cuts blanks before a line feed"] * 2),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part(name: str) -> None:
    """The changes are some of all changes, in their order."""
    found = recorded(name)
    assert (len(found.plain), found.reasons) == PARTS[name]
    rest = iter([(table, op, after) for table, op, _, after in changes(recorded("default.txt"))])
    if name != "timestamp.txt":  # it has rewrites of tables too
        assert all((table, op, after) in rest for table, op, _, after in changes(found))


def test_positions_and_transactions_are_columns_of_the_query() -> None:
    first = recorded("psql_csv.csv").plain[0]
    assert (first.pos, first.tokens, first.op_ts) == ("0/19D67F8", {"xid": "772"}, None)
    assert recorded("psql_unaligned.txt").plain[0].pos is not None
    assert recorded("default.txt").plain[0].tokens == {"xid": "732"}
    assert recorded("noxids.txt").plain[0].tokens == {}


def test_changes_that_are_rolled_back_later_are_refused() -> None:
    found = recorded("twophase.txt")
    assert found.reasons == ["GG302 a prepared transaction is rolled back, whose changes were read"]
    assert found.others["prepared transaction"] == 2
    ids = [(item.after or {}).get("id") for item in found.plain]
    assert ids[ids.index("50") :][:3] == ["50", "51", "52"]


@pytest.mark.process
def test_rows_by_another_index_than_the_primary_key(tmp_path: Path) -> None:
    """The columns of the index find the rows; with the primary key, a delete is refused."""
    texts = (FILES / "default.txt").read_bytes().split(b"\n")
    path = tmp_path / "dump.txt"
    path.write_bytes(b"\n".join(text for text in texts if text.startswith(b"table public.by_index:")) + b"\n")
    ggfmt.consolidate(path, output=tmp_path / "out", to="json", key="public.by_index=u", master="none")
    rows = [json.loads(line) for file in (tmp_path / "out" / "public.by_index").glob("*.json") for line in file.open()]
    assert [{name: str(value) for name, value in row.items()} for row in rows] == truth("public.by_index")
    with pytest.raises(Abend, match="GG305"):
        ggfmt.consolidate(path, output=tmp_path / "no", key="public.by_index=id", master="none")
