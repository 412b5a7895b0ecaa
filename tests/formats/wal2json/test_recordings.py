"""Recorded dumps of wal2json, replayed: the rows of each table are those that PostgreSQL had.

`INDEX.tsv` beside the recordings has the commands.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from dialects import DATA, Read, read, told, transactions_of
from scanners import without_kernels
from slot_recordings import changes, check, replay, shown, truth

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend

NAME = "wal2json"
FILES = DATA / NAME

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the recorded messages are not there")

# Why the rows of a table are not those of PostgreSQL: no dump has what they need.
NO_IDENTITY = "updates and deletes of a table without a replica identity are not in the dump"
INVISIBLE = {
    "public.nokey": NO_IDENTITY,
    "public.pk_nothing": NO_IDENTITY,
    "public.mv": "a refresh of a materialized view shows inserts, but no deletes",
    "public.gone": "the table was dropped",
    "public.ddl": "the table and a column got other names",
    "public.ddl_new": "the table got another schema",
    "s2.ddl_new": "the rows before are those of a table with another name",
}
NO_TRUNCATES = dict.fromkeys(("public.tr1", "public.tr2", "public.part_us"), "format 1 has no truncates")


@cache
def recorded(name: str, **options: str) -> Read:
    """A recording, which is read alike with kernels and without, and in splits of any size."""
    data = (FILES / name).read_bytes()
    found = read(NAME, data, told(NAME, **options))
    with without_kernels():
        assert read(NAME, data, told(NAME, **options)) == found
    for size in (1000, 20_000):
        assert read(NAME, data, told(NAME, **options), size) == found
    return found


def test_format_2() -> None:
    found = recorded("v2.json")
    assert found.reasons == []
    assert found.others == {"transaction begin": 159, "transaction end": 159, "message": 3}
    assert check(replay(found), INVISIBLE) == 20


def test_format_1() -> None:
    found = recorded("v1.json")
    assert found.reasons == []
    assert found.others == {"empty transaction": 66, "message": 3}
    assert check(replay(found), {**INVISIBLE, **NO_TRUNCATES}) == 16


def test_a_phase() -> None:
    """The third phase, from the rows after the second: interleaved transactions, savepoints, prepared ones."""
    found = recorded("v1_lsn.json")
    tables = ("public.k", "s2.k")
    assert check(replay(found, {name: truth(name, 2) or [] for name in tables}), {}, 3) == len(tables)
    first, last = found.plain[0], found.plain[-1]
    assert (first.op_ts, first.pos, first.tokens) == ("2026-11-28 14:48:18.111415", "0/19D8560", {"xid": "800"})
    assert (last.op_ts, last.pos) == ("2026-11-28 14:48:18.144487", "0/19D9310")
    assert transactions_of(NAME, (FILES / "v1_lsn.json").read_bytes()) == [item.tokens["xid"] for item in found.plain]


PARTS = {
    "v1_all.json": ("v1.json", "IIIUIIUUUIIUUI"),
    "v1_chunks.json": ("v1.json", "IUIUIIUIIIUUIDIIII"),
    "v1_notypes.json": ("v1.json", "IIUIUIIUIIIUUIDIIII"),
    "v1_pretty.json": ("v1.json", "IIUDIIIIIIIUI"),
    "v1_psql_pretty_aligned.txt": ("v1.json", "IIUU"),
    "v2_all.json": ("v2.json", "IIIUDIIUUUDIIUDUI"),
    "v2_lsn.json": ("v2.json", "IUIUIIUIIIUUIDIIII"),
    "v2_notransaction.json": ("v2.json", "IUIUIIUIIIUUIDIIII"),
    "v2_notypes.json": ("v2.json", "IUIUIIUIIIUUIDIIII"),
    "v2_psql_unaligned.txt": ("v2.json", "IIIIIIU"),
    "v2_recvlogical.json": ("v2.json", "IIUIUIIUIIIUUIDIIIIUIU"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part(name: str) -> None:
    """The changes are some of all changes, in their order."""
    whole, types = PARTS[name]
    found = recorded(name)
    assert "".join(item.op for item in found.plain) == types
    rest = iter(changes(recorded(whole)))
    assert all(change in rest for change in changes(found))
    cut = ["GG302 the transaction has no end"] if name == "v1_chunks.json" else []
    assert found.reasons == cut


@pytest.mark.process
@pytest.mark.parametrize("name", ["v2.json", "v2_all.json"])
def test_rows_by_another_index_than_the_primary_key(name: str, tmp_path: Path) -> None:
    changes_of_table = [line for line in (FILES / name).open("rb") if b'"table":"by_index"' in line]
    (tmp_path / "dump.json").write_bytes(b"".join(changes_of_table))
    ggfmt.consolidate(tmp_path / "dump.json", output=tmp_path / "out", to="json", master="none")
    rows = [json.loads(line) for path in (tmp_path / "out" / "public.by_index").glob("*.json") for line in path.open()]
    assert [{name: str(value) for name, value in row.items()} for row in rows] == truth("public.by_index")
    with pytest.raises(Abend, match="GG305"):
        ggfmt.consolidate(tmp_path / "dump.json", output=tmp_path / "no", key="public.by_index=id", master="none")


def test_tables_without_schemas() -> None:
    found = recorded("v1_noschemas.json")
    assert [("k", *change[1:]) for change in changes(recorded("v1_notypes.json"))] == changes(found)


@pytest.mark.parametrize("frame", ["aligned.txt", "csv.csv", "expanded.txt", "tsv.txt", "copy"])
def test_a_frame(frame: str) -> None:
    found = recorded("v2_copy.txt" if frame == "copy" else f"v2_psql_{frame}")
    assert found.operations == recorded("v2_psql_unaligned.txt").operations
    assert (found.reasons, found.others) == ([], {})


def test_keys_and_types() -> None:
    for name in ("v1_all.json", "v2_all.json"):
        (table,) = {table for table, _ in recorded(name).operations if table.full_name == "public.num"}
        assert [(column.name, str(column.type)) for column in table.columns] == [
            ("id", "integer"), ("n", "decimal(38,10)"), ("m", "decimal(3,3)"), ("f", "float"), ("d", "double"),
            ("b", "boolean"),
        ]  # fmt: skip
        assert table.key_names == ("id",)


def test_times_of_a_session_are_refused() -> None:
    """The session has another DateStyle, and `bytea_output=escape`."""
    found = recorded("v2_session.json")
    assert [item.op for item in found.plain] == ["I"]
    assert found.plain[0].op_ts == "2026-11-28 14:48:12.148066"  # at 20:18 in Asia/Kolkata
    places = [(reject.diagnostic.code, reject.diagnostic.span.field) for reject in found.rejects]
    assert places == [("GG314", "c_tstz"), ("GG314", "c_tstz")]


def test_numbers_as_strings() -> None:
    """wal2json 2.6 writes numbers as strings: NaN and infinity are kept."""
    found = recorded("v26_v2_strings.json")
    assert found.others == {"message": 2}
    images = [shown(table, item.after) for table, item in found.operations if table.full_name == "public.num"]
    assert images[:4] == [
        {"id": "1", "n": "NaN", "m": "1.50", "f": "Infinity", "d": "-Infinity", "b": r"\x0001"},
        {"id": "2", "n": "Infinity", "m": "0.10", "f": "NaN", "d": "9.999999999999999e+22", "b": r"\x"},
        {"id": "3", "n": None, "m": None, "f": None, "d": None, "b": None},
        {"id": "9007199254740993", "n": "1234567890123456789012345678.0000000001", "m": "0.00", "f": "0.1",
         "d": "5e-324", "b": None},
    ]  # fmt: skip
    assert "".join(item.op for item in found.plain) == "IIIIIUUDIITT"


def test_format_1_of_release_2_6() -> None:
    found = recorded("v26_v1.json")
    assert found.others == {"empty transaction": 4, "message": 2}
    deleted = [item.before for _, item in found.operations if item.op == "D"]
    assert deleted == [{"a": "1"}]  # the column that was NULL is not in `oldkeys`
    full = recorded("v26_v1.json", fullIdentity="public.full_t")
    assert [item.before for _, item in full.operations if item.op == "D"] == [{"a": "1", "v": None}]
