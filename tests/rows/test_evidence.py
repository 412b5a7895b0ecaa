"""Operations that contradict their rows are counted, and an error with `strict`; those that repeat them are not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend

Image = Mapping[str, Any] | None
Change = tuple[str, Image, Image]
A, B, C = ({"id": 1, "a": "x", "n": n} for n in (1, 2, 3))
OTHER = {"id": 2, "a": "y", "n": 1}
DIFFERS, EXISTING, ABSENT = "before image differs", "insert of a row that exists", "no such row"


def write(path: Path, changes: Sequence[Change], **members: Any) -> Path:
    records = []
    for number, (op, before, after) in enumerate(changes):
        record: dict[str, Any] = {"table": "S.T", "op_type": op, "primary_keys": ["id"], "pos": f"{number:020}"}
        record |= {"op_ts": f"2026-01-01 00:00:{number:02}.000000", "before": before, "after": after, **members}
        records.append(json.dumps({name: value for name, value in record.items() if value is not None}))
    path.write_text("\n".join(records) + "\n")
    return path


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        pytest.param([("I", None, A), ("U", A, B), ("D", B, None)], {}, id="agrees"),
        pytest.param([("I", None, A), ("U", B, C)], {DIFFERS: 1}, id="update"),
        pytest.param([("I", None, A), ("D", B, None)], {DIFFERS: 1}, id="delete"),
        pytest.param([("I", None, A), ("U", None, B), ("U", {"n": 1}, {"id": 1, "n": 3})], {DIFFERS: 1}, id="part"),
        pytest.param([("I", None, A), ("U", None, {"id": 1, "a": "z"}), ("D", {**A, "a": "z"}, None)], {}, id="older"),
        pytest.param([("I", None, {**A, "n": None}), ("U", A, B)], {DIFFERS: 1}, id="null"),
        pytest.param([("I", None, A), ("U", {**A, "n": None}, B)], {DIFFERS: 1}, id="dropped and added unseen"),
        pytest.param([("I", None, A), ("D", {"id": 0, "a": "x"}, None), ("D", {"id": 0, "a": "y"}, None)], {ABSENT: 1},
                     id="deletes without their key"),
        pytest.param([("I", None, {"id": 1, "a": "x"}), ("U", A, B)], {}, id="missing"),
        pytest.param([("I", None, {**A, "n": 1.5}), ("U", {**A, "n": 1.50}, B)], {}, id="number"),
        pytest.param([("I", None, A), ("I", None, B)], {EXISTING: 1}, id="insert"),
        pytest.param([("I", None, A), ("I", None, A)], {}, id="insert again"),
        pytest.param([("I", None, A), ("D", A, None), ("D", A, None), ("U", A, B)], {ABSENT: 2}, id="deleted"),
        pytest.param([("U", A, B), ("D", OTHER, None)], {}, id="begins in the middle"),
        pytest.param([("I", None, A), ("U", A, OTHER), ("U", {**OTHER, "n": 9}, B)], {DIFFERS: 1}, id="moved"),
        pytest.param([("I", None, A), ("U", A, OTHER), ("I", None, {**OTHER, "n": 5})], {EXISTING: 1}, id="over moved"),
        pytest.param([("I", None, A), ("T", None, None), ("U", A, B)], {ABSENT: 1}, id="truncated"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", [{}, {"history": True}], ids=["current", "history"])
def test_contradictions_are_counted(
    changes: list[Change], found: dict[str, int], mode: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "in.json", changes)
    document = ggfmt.consolidate(path, tmp_path / "out", master="none", **mode)
    assert document["tables"]["S.T"]["contradictions"] == found
    if found:
        with pytest.raises(Abend) as caught:
            ggfmt.consolidate(path, tmp_path / "strict", master="none", strict=True, **mode)
        assert {each.code for each in caught.value.diagnostics} <= {"GG566", "GG570"}


@pytest.mark.example("GG566")
def test_a_row_that_contradicts_is_an_error_with_strict(tmp_path: Path) -> None:
    path = write(tmp_path / "in.json", [("I", None, A), ("U", B, C)])
    with pytest.raises(Abend, match=r"in\.json, byte [0-9]+, table S\.T, position 0*1: error\[GG566\]"):
        ggfmt.consolidate(path, tmp_path / "strict", master="none", strict=True)
    ggfmt.consolidate(path, tmp_path / "out", master="none")


def test_a_row_that_cannot_exist_needs_to_know_the_start(tmp_path: Path) -> None:
    path = write(tmp_path / "in.json", [("I", None, A), ("D", OTHER, None), ("U", A, B)])
    for starts_empty, found in ((False, {}), (True, {ABSENT: 1})):
        out = tmp_path / f"{starts_empty}"
        document = ggfmt.consolidate(path, out, master="none", starts_empty=starts_empty)
        assert document["tables"]["S.T"]["contradictions"] == found


def test_each_run_with_a_checkpoint_counts_its_own(tmp_path: Path) -> None:
    """They compare with the rows of the runs before."""
    options: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "checkpoint"}
    folder, changes = tmp_path / "in", [("I", None, A), ("U", B, C), ("U", C, B), ("U", A, C)]
    folder.mkdir()
    for number, found in enumerate(({}, {DIFFERS: 1}, {}, {DIFFERS: 1})):
        write(folder / f"{number}.json", [changes[number]], pos=f"{number}")
        document = ggfmt.consolidate(folder, tmp_path / "out", **options)
        assert document["tables"]["S.T"]["contradictions"] == found


def test_operations_that_come_again_do_not_contradict(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("one", "two"):
        write(folder / f"{name}.json", [("I", None, A), ("U", A, B), ("D", B, None), ("I", None, C)])
    document = ggfmt.consolidate(folder, tmp_path / "out", master="none", strict=True)
    assert document["tables"]["S.T"]["contradictions"] == {}


def test_names_of_columns_may_be_any(tmp_path: Path) -> None:
    """Also those that columns beside the rows have: the hash of the key, and how often a row without a key is there."""
    row = {"id": 1, "hash": "x", "hash_": "y", "weight": "z"}
    moved = {**row, "id": 2}
    changes: list[Change] = [("I", None, row), ("U", row, moved)]
    path = write(tmp_path / "in.json", changes)
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    for _ in range(2):
        ggfmt.consolidate(path, out, master="none", checkpoint=checkpoint)
        assert pq.read_table(out / "S.T").to_pylist() == [moved]
        path = write(tmp_path / "later.json", [("U", moved, row), ("U", row, moved)], pos="9")
    ggfmt.consolidate(write(tmp_path / "none.json", changes, primary_keys=None), tmp_path / "none", master="none")
    assert pq.read_table(tmp_path / "none" / "S.T").to_pylist() == [moved]


def test_a_before_image_of_the_key_alone_is_no_evidence(tmp_path: Path) -> None:
    """Debezium fills it up with NULL, and with an empty text where the column cannot be NULL."""
    whole, hidden = {"id": 1, "name": "x", "n": 5, "text": "long"}, "__debezium_unavailable_value"
    known = {"id": 1, "name": "", "n": None, "text": None}
    changes = [
        ("c", 1, None, whole),
        ("d", 2, known, None),
        ("c", 2, None, {**whole, "id": 2, "text": hidden}),  # the key update
        ("u", 3, {**known, "id": 2}, {**whole, "id": 2, "n": 6, "text": hidden}),
        ("d", 4, {**known, "id": 3}, None),
    ]
    records = []
    for op, position, before, after in changes:
        source = {"connector": "postgresql", "schema": "s", "table": "t", "lsn": position, "txId": position}
        records.append(json.dumps({"op": op, "before": before, "after": after, "ts_ms": 1, "source": source}))
    path = tmp_path / "in.json"
    path.write_text("\n".join(records) + "\n")
    document = ggfmt.consolidate(path, tmp_path / "out", master="none", key="id")
    assert document["tables"]["s.t"]["contradictions"] == {}
    assert pq.read_table(tmp_path / "out" / "s.t").to_pylist() == [{**whole, "id": 2, "n": 6}]


FIRST, SECOND = {"id": 3, "a": "first"}, {"id": 2, "a": "second"}
MOVES: list[Change] = [
    ("D", {"id": 2}, None),
    ("I", None, {"id": 3, "a": "second"}),
    ("D", {"id": 3}, None),
    ("I", None, {"id": 4, "a": "first"}),
]


def rows(out: Path) -> list[dict[str, Any]]:
    return sorted(pq.read_table(out / "S.T").to_pylist(), key=lambda row: int(row["id"]))


@pytest.mark.parametrize("members", [{"op_ts": "2026-01-01 00:01:00.000000"}, {"tokens": {"xid": "7"}}, {"pos": None}])
@pytest.mark.parametrize("rounds", [False, True])
def test_a_delete_and_an_insert_of_one_transaction_are_one_key_update(
    members: dict[str, Any], rounds: bool, tmp_path: Path
) -> None:
    """As a handler with `pkUpdateHandling=delete-insert` writes them. Each ends a file of its own."""
    folder = tmp_path / "in"
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint"} if rounds else {}
    folder.mkdir()
    write(folder / "0.json", [("I", None, FIRST), ("I", None, SECOND)])
    for number, change in enumerate(MOVES, 1):
        moment = {"op_ts": "2026-01-01 00:01:00.000000", "pos": f"{100 + (number - 1) // 2:020}"}
        write(folder / f"{number}.json", [change], **{**moment, **members})
        if rounds:
            ggfmt.consolidate(folder, tmp_path / "out", master="none", **options)
    if not rounds:
        ggfmt.consolidate(folder, tmp_path / "out", master="none", strict=True)
    assert rows(tmp_path / "out") == [{"id": 3, "a": "second"}, {"id": 4, "a": "first"}]


def test_an_insert_over_a_living_row_is_unresolved_if_a_delete_may_mean_both(tmp_path: Path) -> None:
    moment = {"op_ts": "2026-01-01 00:01:00.000000"}
    path = write(tmp_path / "in.json", [("I", None, FIRST), MOVES[1], MOVES[2]], **moment)
    document = ggfmt.consolidate(path, tmp_path / "out", master="none", starts_empty=True)
    assert document["tables"]["S.T"]["unresolved"] > 0
    assert document["tables"]["S.T"]["timed"] == 3


@pytest.mark.parametrize(("after", "found"), [({"id": 4, "a": "third"}, True), ({"id": 4}, False)])
def test_a_row_is_certain_if_a_doubtful_operation_sets_all_its_values(
    after: Image, found: bool, tmp_path: Path
) -> None:
    """A row goes to key 3, and a row goes on from there. Nothing shows whether it is the same one."""
    changes: list[Change] = [("I", None, SECOND), ("U", {"id": 2}, {"id": 3}), ("U", {"id": 3}, after)]
    path = write(tmp_path / "in.json", changes, tokens={"xid": "7"})
    document = ggfmt.consolidate(path, tmp_path / "out", master="none")
    assert rows(tmp_path / "out") == [after] * found
    assert document["tables"]["S.T"]["unresolved"] == 1


def write_debezium(path: Path, changes: Sequence[tuple[str, int, int, Image, Image]]) -> Path:
    """Write changes (op, position, time, before, after) without ids of transactions."""
    records = []
    for op, position, time, before, after in changes:
        source = {**SOURCE, "lsn": position, "ts_ms": time}
        records.append(json.dumps({"op": op, "before": before, "after": after, "source": source}))
    path.write_text("\n".join(records) + "\n")
    return path


SOURCE = {"connector": "postgresql", "schema": "S", "table": "T"}
HIDDEN = "__debezium_unavailable_value"


def test_a_before_image_of_the_key_alone_does_not_prove_which_row_left_a_key(tmp_path: Path) -> None:
    """Row 2 goes to key 6, and a row goes from there to key 2. It may be another one, from before the files."""
    row, known = {"id": 2, "a": "x", "text": "long"}, {"a": None, "text": None}
    changes = [
        ("c", 1, 1, None, row),
        ("d", 2, 2, {"id": 2, **known}, None),
        ("c", 2, 2, None, {**row, "id": 6, "text": HIDDEN}),
        ("d", 3, 2, {"id": 6, **known}, None),
        ("c", 3, 2, None, {**row, "a": "y", "text": HIDDEN}),
    ]
    path = write_debezium(tmp_path / "in.json", changes)
    for starts_empty, found in ((False, []), (True, [{**row, "a": "y"}])):
        out = tmp_path / f"{starts_empty}"
        document = ggfmt.consolidate(path, out, master="none", key="S.T=id", starts_empty=starts_empty)
        assert rows(out) == found
        assert document["tables"]["S.T"]["unresolved"] == (not starts_empty)


def test_a_moved_row_is_contradicted_where_each_operation_has_its_own_time(tmp_path: Path) -> None:
    """A row that is not in the files goes from key 3 to key 5 after another one came there. Nothing shows whether the
    transaction is over, so that the rows may be wrong."""
    other, row = {"id": 3, "a": "other"}, {"id": 2, "a": "first"}
    changes = [
        ("c", 1, 1, None, row),
        ("d", 2, 2, row, None),
        ("c", 2, 2, None, {**row, "id": 3}),
        ("d", 3, 3, other, None),
        ("c", 3, 3, None, {**other, "id": 5}),
    ]
    path = write_debezium(tmp_path / "in.json", changes)
    document = ggfmt.consolidate(path, tmp_path / "out", master="none", key="S.T=id")
    assert document["tables"]["S.T"]["contradictions"] == {DIFFERS: 1}
    with pytest.raises(Abend, match="GG566"):
        ggfmt.consolidate(path, tmp_path / "strict", master="none", key="S.T=id", strict=True)


SQL_SERVER = [{"commit_lsn": f"00000027:00000ac0:000{number}", "event_serial_no": 1} for number in range(3)]
POSTGRESQL = [{"sequence": f'["{number + 10}","20"]', "lsn": 20} for number in range(3)]
TICDC = [{"commit_ts": 450 + number, "file": "", "pos": 0, "row": 0} for number in range(3)]


@pytest.mark.parametrize("commits", [SQL_SERVER, POSTGRESQL, TICDC], ids=["sqlserver", "postgresql", "ticdc"])
@pytest.mark.parametrize("others", [[], [{"id": 2, "a": "first"}]], ids=["free", "taken"])
def test_the_commit_of_a_position_ends_a_transaction(
    commits: list[dict[str, Any]], others: list[dict[str, Any]], tmp_path: Path
) -> None:
    """All of one time: rows come, the first one goes to a key, and the row at this key is deleted."""
    moved = {**FIRST, "id": 2}
    inserts = [("c", None, row, commits[0]) for row in [FIRST, *others]]
    changes = [*inserts, ("u", FIRST, moved, commits[1]), ("d", moved, None, commits[2])]
    records = [
        {"op": op, "before": before, "after": after, "source": {"db": "S", "table": "T", "ts_ms": 5, **commit}}
        for op, before, after, commit in changes
    ]
    path = tmp_path / "in.json"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    document = ggfmt.consolidate(path, tmp_path / "out", master="none", key="S.T=id")
    assert rows(tmp_path / "out") == []
    assert document["tables"]["S.T"]["timed"] == 0


@pytest.mark.parametrize(("value", "found"), [({}, {}), ({"n": None}, {DIFFERS: 1})])
def test_a_value_that_no_operation_has_set_in_an_earlier_run(
    value: dict[str, None], found: dict[str, int], tmp_path: Path
) -> None:
    """Such as the default of a column that was added: it is NULL in the result of the earlier run."""
    options: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "checkpoint"}
    (tmp_path / "in").mkdir()
    runs: list[list[Change]] = [[("I", None, {"id": 1, "a": "x", **value})], [("I", None, OTHER)], [("U", A, B)]]
    for number, changes in enumerate(runs):
        write(tmp_path / "in" / f"{number}.json", changes, pos=f"{number:020}")
        document = ggfmt.consolidate(tmp_path / "in", tmp_path / "out", **options)
    assert document["tables"]["S.T"]["contradictions"] == found


def test_numbers_that_an_earlier_run_wrote_in_another_type(tmp_path: Path) -> None:
    """In the second run, the numbers need too many digits for a type of numbers."""
    options: dict[str, Any] = {"master": "none", "checkpoint": tmp_path / "checkpoint"}
    (tmp_path / "in").mkdir()
    update = ("U", {"id": 1, "n": 1e-30}, {"id": 1, "n": 2})
    wrong = ("U", {"id": 2, "n": 2}, {"id": 2, "n": 3})
    inserts: list[Change] = [("I", None, {"id": 1, "n": 1e-30, "a": "x"}), ("I", None, {"id": 2, "n": 1, "a": "x"})]
    runs: list[list[Change]] = [inserts, [("I", None, {"id": 3, "n": 1e30, "a": "x"}), update, wrong]]
    for number, changes in enumerate(runs):
        write(tmp_path / "in" / f"{number}.json", changes, pos=None)
        document = ggfmt.consolidate(tmp_path / "in", tmp_path / "out", **options)
        assert document["tables"]["S.T"]["contradictions"] == ({DIFFERS: 1} if number else {})
    assert document["tables"]["S.T"]["columns"]["n"] == "string"


@pytest.mark.parametrize("name", ["keys", "full"])
def test_the_recorded_cases(name: str, tmp_path: Path) -> None:
    case = Path(__file__).resolve().parents[3] / "shared" / "data" / "cases" / "rows" / f"delete-insert-{name}.json"
    if not case.exists():
        pytest.skip("the folder of cases is not there")
    ggfmt.consolidate(case, tmp_path / "out", master="none", strict=True)
    assert rows(tmp_path / "out") == [{"id": 3, "a": "second"}, {"id": 4, "a": "first"}]
