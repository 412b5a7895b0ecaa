"""Runs in rounds, each of which merges what is new, leave the rows of one run over everything."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from postgres_events import GONE, debezium, row
from round_cuts import Outcome, compare_rounds, cut_anywhere, difference, read_outcomes
from runs import metadata, write_lines
from sql_histories import History, history

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError

# Each run lists the operations that it has read. Of a row that was certain it knows the values alone.
HARMLESS = ("", "fewer operations unresolved", "other count: defaults", "other count: unset")
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 22))]


def batches(seed: int, count: int) -> list[list[History]]:
    """Histories of one format of records each."""
    every = [one for one in (history(seed, number) for number in range(count)) if one is not None]
    return [[one for one in every if one.recording.is_debezium == debezium] for debezium in (False, True)]


@pytest.mark.parametrize("buckets", [1, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_histories_that_are_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, buckets: int
) -> None:
    if buckets > 1:
        monkeypatch.setattr("ggfmt.rows.run.bucket_count", lambda *_: buckets)
        monkeypatch.setattr("ggfmt.rows.run.unit_count", lambda *_: buckets)
    total = 0
    for number, several in enumerate(batches(seed, 60)):
        several = [one for one in several if one.key or not one.recording.positions]
        random = Random(f"cut {seed} {number}")
        files = cut_anywhere(several, random.randrange(2, 6), random)
        keys = ";".join(f"{one.table}={','.join(one.key)}" for one in several if one.key)
        whole, rounds = compare_rounds(files, keys, tmp_path / f"{number}")
        assert whole.keys() == rounds.keys()
        for one in several:
            if one.table in whole:
                found = difference(whole[one.table], rounds[one.table], one.key)
                assert found in HARMLESS, f"{one.table} ({one.kind}): {found}"
                total += 1
    assert total > 20


# What later operations decide


def change(pos: int, op: str, before: Any = None, after: Any = None, tx: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"table": "S.T", "op_type": op, "op_ts": f"2026-01-01 00:00:{pos // 10:02d}.000000"}
    found |= {"pos": f"{pos:020d}", "primary_keys": ["ID"]}
    found |= {name: image for name, image in (("before", before), ("after", after)) if image is not None}
    return found | ({} if tx is None else {"tokens": {"xid": tx}})


def run_rounds(tmp_path: Path, *days: list[dict[str, Any]], **options: Any) -> tuple[Outcome, Outcome]:
    """Return what one run over all files leaves of the table, and what a run for each file does."""
    every, inputs = tmp_path / "every", tmp_path / "in"
    settings: dict[str, Any] = {"master": "none", "key": "ID", **options}
    every.mkdir()
    inputs.mkdir()
    for number, day in enumerate(days):
        write_lines(every / f"{number}.json", day)
        write_lines(inputs / f"{number}.json", day)
        ggfmt.consolidate(inputs, tmp_path / "rounds", checkpoint=tmp_path / "seen", **settings)
    ggfmt.consolidate(every, tmp_path / "whole", **settings)
    return read_outcomes(tmp_path / "whole")["S.T"], read_outcomes(tmp_path / "rounds")["S.T"]


START = [change(1, "I", None, row(1, "a")), change(2, "I", None, row(2, "b"))]
CUT = {
    "an update of a row that was never seen, and the rest of its columns": (
        [change(1, "U", None, {"ID": "1", "N": "a"})],
        [change(11, "U", None, {"ID": "2", "N": "b"})],
        [change(21, "U", None, {"ID": "1", "V": "v"})],
    ),
    "an update of a row that was never seen, and its delete": (
        [change(1, "U", None, {"ID": "1", "N": "a"})],
        [change(11, "D", {"ID": "1"})],
    ),
    "an update of a row that was never seen, and a truncate": (
        [change(1, "U", None, {"ID": "1", "N": "a"})],
        [change(11, "T"), change(12, "I", None, row(3, "c"))],
    ),
    "a value that is unavailable, and comes": (
        [debezium(1, "c", None, row(1, "a", GONE))],
        [debezium(2, "u", None, row(1, "b", GONE), 8)],
        [debezium(3, "u", None, row(1, "c", "v"), 9)],
    ),
    "a key update between its delete and its create": (
        [debezium(1, "c", None, row(1, "a", "large"), 6), debezium(2, "d", {"ID": "1"})],
        [debezium(2, "c", None, row(2, "a", GONE))],
    ),
    "a key update between its delete and its create, in a later run": (
        [debezium(1, "c", None, row(1, "a", "large"), 6)],
        [debezium(2, "d", {"ID": "1"})],
        [debezium(2, "c", None, row(2, "a", GONE))],
    ),
    "a shift of keys": (
        [*START, change(11, "U", row(1, "a"), row(2, "a"), "t")],
        [change(12, "U", row(2, "b"), row(3, "b"), "t")],
    ),
    "a swap by way of a third key": (
        [*START, change(11, "U", {"ID": "1"}, {"ID": "9"}, "t"), change(12, "U", {"ID": "2"}, {"ID": "1"}, "t")],
        [change(13, "U", {"ID": "9"}, {"ID": "2"}, "t")],
    ),
    "an insert before the delete of the other row": (
        [*START, change(11, "U", {"ID": "2"}, {"ID": "3"}, "t"), change(12, "I", None, row(1, "new"), "t")],
        [change(13, "D", row(1, "a"), None, "t"), change(21, "U", {"ID": "1"}, {"ID": "2"}, "u")],
    ),
    "a row that leaves a key where another one may be": (
        [change(1, "I", None, row(1, "a")), change(11, "U", {"ID": "1"}, {"ID": "3"}, "t")],
        [change(12, "U", {"ID": "3"}, {"ID": "4"}, "t")],
    ),
    "operations that come again at the end of a file": (
        [*START, change(11, "U", {"ID": "1"}, {"ID": "3"}, "t")],
        [change(11, "U", {"ID": "1"}, {"ID": "3"}, "t"), change(12, "I", None, row(1, "c"), "t")],
    ),
    "operations without a key": (
        [*START, change(11, "U", None, {"N": "x"})],
        [change(12, "U", None, {"ID": "1", "N": "y"})],
    ),
}


@pytest.mark.parametrize("days", CUT.values(), ids=CUT)
@pytest.mark.parametrize("to", ["parquet", "orc"])
def test_what_a_later_run_decides(tmp_path: Path, days: tuple[list[dict[str, Any]], ...], to: str) -> None:
    whole, rounds = run_rounds(tmp_path, *days, to=to)
    assert difference(whole, rounds, ["ID"]) in ("", "fewer operations unresolved")


def test_a_row_that_moves_to_another_bucket_leaves_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.rows.run.bucket_count", lambda *_: 8)
    monkeypatch.setattr("ggfmt.rows.run.unit_count", lambda *_: 8)
    rows = [change(number, "I", None, row(number, "a")) for number in range(40)]
    moves = [[change(100 * n, "U", {"ID": str(n)}, {"ID": str(100 + n)})] for n in (3, 4)]
    whole, rounds = run_rounds(tmp_path, rows, *moves)
    assert difference(whole, rounds, ["ID"]) == ""
    assert rounds.entry["buckets"] == 8


def test_a_row_without_a_key_that_goes_before_it_comes(tmp_path: Path) -> None:
    """The delete in the first file is of an insert that has not come yet."""
    days = [
        [debezium(1, "d", row(1, "a"))],
        [debezium(2, "c", None, row(1, "a"), 8), debezium(3, "c", None, row(2, "b"), 8)],
    ]
    whole, rounds = run_rounds(tmp_path, *days, key=None, order="input")
    assert difference(whole, rounds, []) == ""
    assert len(rounds.rows) == 1


def test_a_column_that_replaced_a_dropped_one_has_none_of_its_values(tmp_path: Path) -> None:
    """The insert is kept for the next round, in which A is another column."""
    with_a = metadata("S.T", ID="string", A="string")
    bare = {"table": "S.T"}
    first = [with_a, {**bare, "op_type": "I", "after": {"ID": "4", "A": "x"}}, metadata("S.T", ID="string")]
    second = [with_a, {**bare, "op_type": "U", "before": {"ID": "4"}, "after": {"ID": "5"}}]
    for number, records in enumerate((first, second)):
        write_lines(tmp_path / f"{number}.json", records)
        ggfmt.consolidate(
            str(tmp_path / "*.json"), tmp_path / "out", key="ID", master="none", checkpoint=tmp_path / "seen"
        )
    (outcome,) = read_outcomes(tmp_path / "out").values()
    assert [dict(items) for items in outcome.rows] == [{"ID": "5", "A": None}]


WITH_A, WITHOUT_A = metadata("S.T", ID="string", A="string"), metadata("S.T", ID="string")
IMAGES = ({"ID": "1", "A": "o"}, {"ID": "1", "A": "n"}, {"ID": "1"})
OLD, NEW, BARE = ({"table": "S.T", "op_type": "U", "after": image} for image in IMAGES)


@pytest.mark.parametrize(
    ("records", "values"),
    [
        ([WITHOUT_A, BARE, WITH_A, NEW], [None, "n"]),
        ([WITH_A, OLD, WITHOUT_A, BARE], ["o", None]),
        ([WITH_A, OLD, WITHOUT_A, BARE, WITH_A, BARE], ["o", None, None]),
        ([WITH_A, OLD, WITHOUT_A, WITH_A, NEW], ["o", "n"]),
    ],
    ids=["added", "dropped", "added again", "added again and set"],
)
def test_a_value_is_of_the_column_that_is_there_then(tmp_path: Path, records: list[Any], values: list[Any]) -> None:
    write_lines(tmp_path / "in.json", records)
    for name, is_history in (("then", True), ("now", False)):
        ggfmt.consolidate(tmp_path / "in.json", tmp_path / name, key="ID", master="none", history=is_history)
        (outcome,) = read_outcomes(tmp_path / name).values()
        found = [dict(items).get("A") for items in outcome.rows.elements()]
        assert sorted(found, key=str) == sorted(values if is_history else values[-1:], key=str)


@pytest.mark.parametrize("whole", [False, True])
def test_a_key_that_an_earlier_run_freed_is_free(tmp_path: Path, whole: bool) -> None:
    """Rows leave keys 2 and 3 in the first round. In the second one, a row moves there and on in one transaction."""
    rest = {"N": "b"} if whole else {}
    days = [
        [
            change(1, "I", None, {"ID": "1", "N": "a"}, "1"),
            change(2, "I", None, {"ID": "2", "N": "a"}, "2"),
            change(3, "D", {"ID": "2"}, None, "3"),
            change(4, "I", None, {"ID": "3", "N": "b"}, "4"),
            change(5, "U", {"ID": "3"}, {"ID": "4", **rest}, "5"),
            change(6, "I", None, {"ID": "9", "N": "z"}, "6"),
        ],
        [
            change(11, "U", {"ID": "1"}, {"ID": "2"}, "11"),
            change(12, "U", {"ID": "2"}, {"ID": "3"}, "11"),
            change(13, "U", {"ID": "3"}, {"ID": "5"}, "11"),
            change(14, "I", None, {"ID": "8", "N": "z"}, "12"),
        ],
    ]
    in_one, rounds = run_rounds(tmp_path, *days)
    assert difference(in_one, rounds, ["ID"]) == ""
    assert {dict(items)["ID"] for items in rounds.rows} == {"4", "5", "8", "9"}
    assert rounds.entry["unresolved"] == 0


def test_a_key_was_free_before_operations_that_a_run_keeps(tmp_path: Path) -> None:
    """The second round keeps a move to key 4, which the first one freed. In the third one the key is still known."""
    days = [
        [
            change(1, "I", None, {"ID": "4", "N": "a"}, "1"),
            change(2, "U", {"ID": "4"}, {"ID": "3"}, "2"),
            change(3, "U", {"ID": "5"}, {"ID": "6"}, "3"),
        ],
        [change(4, "U", {"ID": "3"}, {"ID": "4"}, "3"), change(5, "D", {"ID": "4"}, None, "3")],
        [change(6, "U", {"ID": "3"}, {"ID": "6"}, "4")],
    ]
    in_one, rounds = run_rounds(tmp_path, *days)
    assert difference(in_one, rounds, ["ID"]) == ""
    assert [images["before"] for images in rounds.images] == [{"ID": "5"}, {"ID": "3"}]


def test_an_image_is_whole_without_the_columns_of_later_runs(tmp_path: Path) -> None:
    """All is one moment. The delete shows all that the row had, so that no other row was at its key."""
    first = [
        metadata("S.T", ID="string", N="string"),
        {"table": "S.T", "op_type": "I", "after": {"ID": "1", "N": "a"}},
        {"table": "S.T", "op_type": "U", "before": {"ID": "1", "N": "a"}, "after": {"ID": "2", "N": "a"}},
        {"table": "S.T", "op_type": "U", "before": {"ID": "2", "N": "a"}, "after": {"ID": "3", "N": "a"}},
    ]
    second = [
        metadata("S.T", ID="string", N="string", NEW="string"),
        {"table": "S.T", "op_type": "I", "after": {"ID": "9", "N": "z", "NEW": "x"}},
    ]
    in_one, rounds = run_rounds(tmp_path, first, second)
    assert difference(in_one, rounds, ["ID"]) == ""
    assert {dict(items)["ID"] for items in rounds.rows} == {"3", "9"}


def test_kept_operations_need_the_same_key(tmp_path: Path) -> None:
    days = [change(1, "U", None, {"ID": "1", "N": "a"})], [change(11, "U", None, {"ID": "1", "N": "b"})]
    settings: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "seen"}
    (tmp_path / "in").mkdir()
    write_lines(tmp_path / "in" / "0.json", days[0])
    ggfmt.consolidate(tmp_path / "in", tmp_path / "out", key="ID", **settings)
    for key in ("N", "S.T=N", "T=ID,N"):  # also where nothing is new
        with pytest.raises(UsageError, match="the table has another key than in earlier runs"):
            ggfmt.consolidate(tmp_path / "in", tmp_path / "out", key=key, **settings)
    for same in ("ID", "T=ID", "U=N", None):
        ggfmt.consolidate(tmp_path / "in", tmp_path / "out", key=same, **settings)
    write_lines(tmp_path / "in" / "1.json", days[1])
    with pytest.raises(UsageError, match="the table has another key than in earlier runs"):
        ggfmt.consolidate(tmp_path / "in", tmp_path / "out", key="N", **settings)


# Late files

POSITIONS = {
    "numbers": ("00000000000000000009", "00000000000000000010", "00000000000000000011"),
    "binary log": ("binlog.000002:900", "binlog.000010:4", "binlog.000010:40"),
    "SQL Server": ("00000027:00000ac0:0002", "00000027:00000ac0:0003", "00000027:00000ac1:0001"),
    "PostgreSQL": ("F/FFFFFFFF", "10/0", "10/A"),
    "GTIDs": (*(f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in (9, 10, 11)),),
    "Kafka": ("orders:0:9", "orders:0:10", "orders:0:11"),
}


@pytest.mark.parametrize("positions", POSITIONS.values(), ids=POSITIONS)
def test_a_late_file_is_refused_by_its_name(tmp_path: Path, positions: tuple[str, str, str]) -> None:
    """Also if the late operation is neither the first of its file, nor of its bucket."""
    early, merged, new = positions

    def at(position: str, op: str, key: int) -> dict[str, Any]:
        return {**change(1, op, None if op == "I" else row(key, "a"), row(key, "b")), "pos": position}

    inputs = tmp_path / "in"
    settings: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "seen", "key": "ID"}
    inputs.mkdir()
    write_lines(inputs / "0.json", [at(early, "I", 7), at(merged, "I", 1)])
    ggfmt.consolidate(inputs, tmp_path / "out", **settings)
    for late in ([at(early, "I", 2)], [at(new, "I", 3), at(early, "I", 2)], [at(early, "U", 1), at(new, "I", 3)]):
        write_lines(inputs / "1-late.json", late)
        with pytest.raises(UsageError, match=r"1-late\.json.*up to which an earlier run has merged"):
            ggfmt.consolidate(inputs, tmp_path / "out", **settings)
    write_lines(inputs / "1-late.json", [at(merged, "I", 1), at(new, "I", 3)])
    ggfmt.consolidate(inputs, tmp_path / "out", **settings)
    assert len(read_outcomes(tmp_path / "out")["S.T"].rows) == 3


def test_the_last_position_is_the_highest_one(tmp_path: Path) -> None:
    """The file that is merged first is not in order."""
    inputs = tmp_path / "in"
    settings: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "seen", "key": "ID"}
    inputs.mkdir()
    write_lines(inputs / "0.json", [change(1, "I", None, row(1, "a")), change(9, "I", None, row(2, "b")), START[1]])
    ggfmt.consolidate(inputs, tmp_path / "out", **settings)
    write_lines(inputs / "1.json", [change(8, "D", row(1, "a"))])
    with pytest.raises(UsageError, match="before position 00000000000000000009"):
        ggfmt.consolidate(inputs, tmp_path / "out", **settings)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_truncate_is_as_late_as_its_position(tmp_path: Path, place: int) -> None:
    inputs, lines = tmp_path / "in", [change(1, "I", None, row(1, "a")), change(2, "U", None, row(1, "b"))]
    settings: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "seen", "key": "ID"}
    inputs.mkdir()
    write_lines(inputs / "0.json", [*lines[:place], change(9, "T"), *lines[place:]])
    found = ggfmt.consolidate(inputs, tmp_path / "out", **settings)["tables"]["S.T"]
    assert (found["rows"], found["last_position"]) == (0, f"{9:020d}")
    write_lines(inputs / "1.json", [change(8, "U", None, row(1, "c"))])
    with pytest.raises(UsageError, match="before position 00000000000000000009"):
        ggfmt.consolidate(inputs, tmp_path / "out", **settings)


def test_an_operation_that_comes_again_in_a_table_without_a_key_is_refused(tmp_path: Path) -> None:
    inputs = tmp_path / "in"
    settings: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "seen"}
    inputs.mkdir()
    files = [START, [START[1], change(3, "I", None, row(3, "c"))]]
    for number, file in enumerate(files):
        without = [{name: value for name, value in record.items() if name != "primary_keys"} for record in file]
        write_lines(inputs / f"{number}.json", without)
        if not number:
            ggfmt.consolidate(inputs, tmp_path / "out", **settings)
    with pytest.raises(UsageError, match="at position 00000000000000000002, up to which"):
        ggfmt.consolidate(inputs, tmp_path / "out", **settings)
