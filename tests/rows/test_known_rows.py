"""Files of which it is known what rows they lead to: keys that shift, columns that come and go, copies of a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from places import SHARED_DATA
from runs import metadata, write_lines

import ggfmt
from ggfmt import kernels
from ggfmt.model.table import Column, TableDef

CASES = SHARED_DATA / "rows"
Row = dict[str, Any]

needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the recorded changes are not there")


def consolidated(path: Path, out: Path, **settings: Any) -> tuple[Row, list[Row]]:
    """The entry of the only table in the manifest, and its rows."""
    document = ggfmt.consolidate(path, out, master="none", **settings)
    ((name, table),) = document["tables"].items()
    rows: list[Row] = pq.read_table(out / name).to_pylist()
    return table, sorted(rows, key=lambda row: str(list(row.values())))


@needs_cases
@pytest.mark.parametrize("source", ["goldengate", "debezium"])
def test_keys_that_shift_in_one_transaction(tmp_path: Path, source: str) -> None:
    """2 becomes 3 after 1 has become 2, so that two rows are at key 2 for a while."""
    keys = "ID" if source == "goldengate" else "id"
    path = CASES / f"key-shift-{source}.json"
    table, rows = consolidated(path, tmp_path / "out", key=keys, strict=True)
    assert [tuple(map(str, row.values())) for row in rows] == [("2", "a"), ("3", "b")]
    assert table["unresolved"] == 0
    assert not (tmp_path / "out" / "_unresolved").exists()


@needs_cases
def test_an_unavailable_value_stays_when_the_key_changes(tmp_path: Path) -> None:
    path = CASES / "unavailable-in-key-change.json"
    _, rows = consolidated(path, tmp_path / "out", key="id", strict=True)
    assert [{**row, "id": str(row["id"])} for row in rows] == [{"id": "2", "v": "a", "big": "LONG VALUE"}]


@needs_cases
def test_a_column_that_was_dropped_is_there_before_that(tmp_path: Path) -> None:
    path = CASES / "column-dropped.json"
    settings: dict[str, Any] = {"key": "id"}
    table, rows = consolidated(path, tmp_path / "then", as_of="1970-01-01T00:00:02", **settings)
    assert list(table["columns"]) == ["id", "a", "k"]
    assert rows == [{"id": 1, "a": "secret", "k": "x"}]
    table, rows = consolidated(path, tmp_path / "now", **settings)
    assert list(table["columns"]) == ["id", "k"]
    assert rows == [{"id": 1, "k": "y"}]
    table, rows = consolidated(path, tmp_path / "history", history=True, **settings)
    assert list(table["columns"]) == ["id", "a", "k"]
    assert sorted((row["k"], row["a"], row["_op"]) for row in rows) == [("x", "secret", "I"), ("y", None, "U")]


@needs_cases
def test_a_dot_in_the_name_of_a_table(tmp_path: Path) -> None:
    manifest = ggfmt.consolidate(CASES / "dot-in-name.json", tmp_path / "out", master="none", key="id")
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {'s."a.b"': 1, "s.t": 1}


def change(number: int, kind: str, **images: Row) -> Row:
    return {"table": "S.T", "op_type": kind, "op_ts": "2020-01-01 00:00:00", "pos": f"{number:020d}", **images}


@pytest.mark.parametrize("keys", [None, "ID"])
def test_a_copy_of_a_file_with_positions_changes_nothing(tmp_path: Path, keys: str | None) -> None:
    """Equal rows of a table without a key are as many as in one of the files; keys are updated once."""
    row, other = {"ID": "1", "V": "a"}, {"ID": "2", "V": "a"}
    twice = [change(2, "I", after=row)] * 2 if keys is None else []
    described = metadata("S.T", ID="string", V="string")
    described["columns"]["ID"]["key"] = False
    lines = [described, change(1, "I", after=row), *twice]
    lines += [change(3, "U", before=row, after=other), change(4, "I", after={"ID": "3", "V": "b"})]
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "0.json", lines)
    shutil.copy(folder / "0.json", folder / "1.json")
    settings: dict[str, Any] = {} if keys is None else {"key": keys}
    _, once = consolidated(folder / "0.json", tmp_path / "once", strict=True, **settings)
    _, both = consolidated(folder, tmp_path / "both", strict=True, **settings)
    expected = [other, {"ID": "3", "V": "b"}] if keys else [row, row, other, {"ID": "3", "V": "b"}]
    assert once == both == expected


def test_a_column_that_was_added_is_counted_apart_from_those_that_inserts_lack(tmp_path: Path) -> None:
    lines = [
        metadata("S.T", ID="string", V="string"),
        change(1, "I", after={"ID": "1", "V": "a"}),
        metadata("S.T", ID="string", V="string", NEW="string"),
        change(2, "I", after={"ID": "2", "V": "b"}),
        change(3, "I", after={"ID": "3", "V": "b", "NEW": None}),
    ]
    table, rows = consolidated(write_lines(tmp_path / "in.json", lines), tmp_path / "out", key="ID")
    assert [row["NEW"] for row in rows] == [None, None, None]
    assert table["unset"] == {"NEW": {"added_later": 1, "not_in_insert": 1}}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_column_that_was_added_after_an_earlier_result(tmp_path: Path, checkpoint: bool) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    first = [metadata("S.T", ID="string", V="string"), *(change(n, "I", after={"ID": f"{n}"}) for n in range(1, 4))]
    write_lines(folder / "0.json", first)
    settings: dict[str, Any] = {"checkpoint": tmp_path / "seen"} if checkpoint else {}
    consolidated(folder, out, key="ID", **settings)
    path = write_lines(
        folder / "1.json",
        [metadata("S.T", ID="string", V="string", NEW="string"), change(9, "U", after={"ID": "2", "NEW": "n"})],
    )
    target, settings = (out, settings) if checkpoint else (tmp_path / "later", {"base": out})
    table, rows = consolidated(folder if checkpoint else path, target, key="ID", **settings)
    assert {row["ID"]: row["NEW"] for row in rows} == {"1": None, "2": "n", "3": None}
    assert table["unset"]["NEW"] == {"added_later": 2}


def test_a_base_of_a_table_without_a_key_is_older_than_a_column(tmp_path: Path) -> None:
    source = {"schema": "s", "table": "t", "connector": "postgresql"}
    images: list[tuple[str, Row | None, Row | None]] = [("c", None, {"a": "1"}), ("c", None, {"a": "2"})]
    events = [{"op": op, "before": old, "after": new, "source": source} for op, old, new in images]
    consolidated(write_lines(tmp_path / "0.json", events), tmp_path / "base")
    images = [("d", {"a": "1", "b": None}, None), ("c", None, {"a": "3", "b": "x"})]
    events = [{"op": op, "before": old, "after": new, "source": source} for op, old, new in images]
    path = write_lines(tmp_path / "1.json", events)
    _, rows = consolidated(path, tmp_path / "out", base=tmp_path / "base")
    assert sorted((row["a"], row["b"]) for row in rows) == [("2", None), ("3", "x")]


@pytest.mark.parametrize("whole", [False, True])
def test_two_rows_of_a_transaction_at_one_key(tmp_path: Path, whole: bool) -> None:
    """A constraint that is checked at the end of a transaction: the delete is of the row that it shows."""
    source = {"schema": "s", "table": "t", "connector": "postgresql", "txId": 7}
    images: list[tuple[str, Row | None, Row | None]] = [
        ("c", None, {"id": "1", "a": "x"}),
        ("c", None, {"id": "1", "a": "y"}),
        ("d", {"id": "1", "a": "x"}, None),
        ("c", None, {"id": "2", "a": "z"}),
    ]
    if not whole:
        images[3] = ("c", None, {"id": "2"})
    events = [{"op": op, "before": before, "after": after, "source": source} for op, before, after in images]
    _, rows = consolidated(write_lines(tmp_path / "in.json", events), tmp_path / "out", key="id")
    assert {row["id"]: row["a"] for row in rows} == {"1": "y", "2": "z" if whole else None}


@pytest.mark.parametrize(
    ("steps", "left", "lost"), [("xy-", [], 2), ("xx-", ["x"], 0), ("xy--", [], 0), ("xy-z-", [], 4), ("xy-z--", [], 4)]
)
def test_a_delete_of_the_key_alone_may_be_of_the_row_that_its_transaction_inserted(
    tmp_path: Path, steps: str, left: list[str], lost: int
) -> None:
    """Inserts, and deletes (-). Whichever of two rows a delete takes, the other one is left: it is known if they are
    equal, or if it goes too."""
    source = {"schema": "s", "table": "t", "connector": "postgresql", "txId": 7}
    insert, delete = {"op": "c", "source": source}, {"op": "d", "source": source, "before": {"id": "1", "a": None}}
    events = [delete if step == "-" else {**insert, "after": {"id": "1", "a": step}} for step in steps]
    table, rows = consolidated(write_lines(tmp_path / "in.json", events), tmp_path / "out", key="id")
    assert (rows, table["unresolved"]) == ([{"id": "1", "a": a} for a in left], lost)


def test_a_row_that_moves_is_known_by_the_column_that_replaced_a_dropped_one(tmp_path: Path) -> None:
    """B is dropped and added again, so that the row of key 5 has NULL there; without times, all is one moment."""
    with_b = metadata("S.T", ID="string", B="string")
    bare = {"table": "S.T"}
    records = [
        with_b,
        {**bare, "op_type": "I", "after": {"ID": "1", "B": "x"}},
        metadata("S.T", ID="string"),
        {**bare, "op_type": "U", "before": {"ID": "1"}, "after": {"ID": "5"}},
        with_b,
        {**bare, "op_type": "U", "before": {"ID": "5", "B": None}, "after": {"ID": "2", "B": None}},
    ]
    _, rows = consolidated(write_lines(tmp_path / "in.json", records), tmp_path / "out", key="ID")
    assert rows == [{"ID": "2", "B": None}]


@pytest.mark.parametrize("starts_empty", [False, True])
def test_a_key_is_free_if_the_table_started_empty(tmp_path: Path, starts_empty: bool) -> None:
    """The update of key 2 may be of a row that was there before, unless there was none."""
    bare = {"table": "S.T", "op_ts": "2020-01-01 00:00:00"}
    records = [
        {**bare, "op_type": "I", "after": {"ID": "1", "A": "x"}},
        {**bare, "op_type": "U", "before": {"ID": "1"}, "after": {"ID": "2"}},
        {**bare, "op_type": "U", "before": {"ID": "2"}, "after": {"ID": "3"}},
    ]
    path = write_lines(tmp_path / "in.json", records)
    table, rows = consolidated(path, tmp_path / "out", key="ID", starts_empty=starts_empty)
    assert (table["unresolved"] > 0) is not starts_empty
    assert rows == ([{"ID": "3", "A": "x"}] if starts_empty else [])


def test_a_column_that_the_insert_of_a_key_update_lacks_is_counted(tmp_path: Path) -> None:
    source = {"schema": "s", "table": "t", "connector": "postgresql", "txId": 7}
    images: list[tuple[str, Row | None, Row | None]] = [
        ("c", None, {"id": "1", "a": "x"}),
        ("d", {"id": "1", "a": "x"}, None),
        ("c", None, {"id": "2", "a": "x"}),
        ("c", None, {"id": "3", "a": "x", "new": "y"}),
    ]
    events = [
        {"op": op, "before": before, "after": after, "source": {**source, "lsn": lsn}}
        for lsn, (op, before, after) in enumerate(images, 1)
    ]
    table, rows = consolidated(write_lines(tmp_path / "in.json", events), tmp_path / "out", key="id")
    assert {row["id"]: row["new"] for row in rows} == {"2": None, "3": "y"}
    assert table["unset"] == {"new": {"not_in_insert": 1}}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_truncate_alone_removes_the_rows_from_before(tmp_path: Path, checkpoint: bool) -> None:
    """It does not show the columns of the table, which the earlier result has."""
    source = {"schema": "s", "table": "t", "connector": "postgresql"}
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    settings: dict[str, Any] = {"key": "id", "checkpoint": tmp_path / "seen"} if checkpoint else {}
    write_lines(folder / "0.json", [{"before": None, "after": {"id": "1", "v": "a"}, "source": source, "op": "c"}])
    consolidated(folder, out, **{"key": "id", **settings})
    truncate = {"before": None, "after": None, "source": source, "op": "t"}
    path = write_lines(folder / "1.json", [truncate])
    if checkpoint:
        table, rows = consolidated(folder, out, **settings)
    else:
        table, rows = consolidated(path, tmp_path / "later", base=out)
    assert rows == []
    assert (table["rows"], table["key"], list(table["columns"])) == (0, ["id"], ["id", "v"])


def test_operations_of_a_transaction_may_be_equal_and_have_one_position(tmp_path: Path) -> None:
    """A source that gives a transaction one position: a value that changes there and back and there again."""
    images: list[tuple[Row | None, Row]] = [(None, {"ID": "1", "V": "a"})]
    images += [({"ID": "1", "V": one}, {"ID": "1", "V": other}) for one, other in ("ab", "ba", "ab")]
    lines = [
        {"table": "S.T", "op_type": "I" if before is None else "U", "op_ts": "2026-01-01 00:00:00", "pos": "7"}
        | {name: image for name, image in (("before", before), ("after", after)) if image is not None}
        for before, after in images
    ]
    (tmp_path / "in").mkdir()
    for number in range(2):
        write_lines(tmp_path / "in" / f"{number}.json", lines)
        out = tmp_path / f"out{number}"
        ggfmt.consolidate(tmp_path / "in", out, master="none", key="ID", strict=True)
        rows = [row for file in sorted((out / "S.T").iterdir()) for row in pq.read_table(file).to_pylist()]
        assert rows == [{"ID": "1", "V": "b"}]


@pytest.mark.parametrize("through", ["", "3"])
def test_a_row_moves_there_and_back_and_there_at_one_position(tmp_path: Path, through: str) -> None:
    """The third move equals the first. Where rows only follow each other, moves that come again count once."""
    steps = ["12", "21", "12"] if not through else ["12", "23", "31", "12"]
    moved = [{"table": "S.T", "op_type": "I", "pos": "7", "after": {"ID": "1", "V": "a"}}]
    moved += [_move(step[0], step[1], "a") for step in steps]
    followed = [{"table": "S.T", "op_type": "I", "pos": "6", "after": {"ID": old, "V": old}} for old in "12"]
    followed += 2 * [_move("2", "3", "2"), _move("1", "2", "1")]
    for name, lines, rows in (
        ("moved", moved, [{"ID": "2", "V": "a"}]),
        ("followed", followed, [{"ID": "2", "V": "1"}, {"ID": "3", "V": "2"}]),
    ):
        path = write_lines(tmp_path / f"{name}.json", lines)
        ggfmt.consolidate(path, tmp_path / name, master="none", key="ID", strict=True)
        files = sorted((tmp_path / name / "S.T").iterdir())
        assert sorted((row for file in files for row in pq.read_table(file).to_pylist()), key=str) == rows


def _move(old: str, new: str, value: str) -> dict[str, Any]:
    images = {"before": {"ID": old, "V": value}, "after": {"ID": new, "V": value}}
    return {"table": "S.T", "op_type": "U", "pos": "7", **images}


def test_a_key_is_not_free_where_an_unresolved_row_may_be(tmp_path: Path) -> None:
    """The base lacks a row that was unresolved. An operation at its key, to which a row moves, may be for either."""
    times = iter(range(1, 9))

    def line(op: str, **images: dict[str, str]) -> dict[str, object]:
        number = next(times)
        moment = "2026-01-01 00:00:01" if number < 3 else "2026-01-01 00:00:02"
        return {"table": "S.T", "op_type": op, "op_ts": moment, "pos": str(number), **images}

    first = [line("I", after={"ID": "5", "V": "five"}), line("U", before={"ID": "7"}, after={"ID": "7"})]
    swap = [line("U", before={"ID": "5"}, after={"ID": "7"}), line("U", before={"ID": "7"}, after={"ID": "5"})]
    base, out = tmp_path / "base", tmp_path / "out"
    definitions = {"S.T": TableDef("S.T", (Column("ID", key=1), Column("V")))}
    ggfmt.consolidate(write_lines(tmp_path / "1.json", first), base, master="none", definitions=definitions)
    path = write_lines(tmp_path / "2.json", swap)
    document = ggfmt.consolidate(path, out, master="none", definitions=definitions, base=base)
    assert document["tables"]["S.T"]["rows"] == 0
    assert document["tables"]["S.T"]["unresolved"] > 0


def _keys_alone(**options: Any) -> dict[str, Any]:
    return {"input_options": {"beforeImage": "keys"}, "keep": "deleted", "starts_empty": True, **options}


@pytest.mark.parametrize("key", ["id", "t=id", "s.t=id"])
@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("defined", [False, True])
def test_the_key_of_the_command_is_that_of_before_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, exactly: bool, defined: bool
) -> None:
    source = {"schema": "s", "table": "t", "connector": "postgresql", "txId": 7}
    events: list[Row] = [
        {"op": "c", "before": None, "after": {"id": 1, "v": "a"}, "source": {**source, "lsn": 1}},
        {"op": "c", "before": None, "after": {"id": 2, "v": "b"}, "source": {**source, "lsn": 2}},
        {"op": "d", "before": {"id": 1, "v": None}, "after": None, "source": {**source, "lsn": 3}},
    ]
    if exactly:
        monkeypatch.setattr(kernels, "native", None)
    definitions = {"s.t": TableDef("s.t", (Column("id"), Column("v")))} if defined else None
    path = write_lines(tmp_path / "in.json", events)
    table, rows = consolidated(path, tmp_path / "out", key=key, definitions=definitions, **_keys_alone())
    assert [(str(row["id"]), row["v"], row["_state"]) for row in rows] == [
        ("1", "a", "deleted"),
        ("2", "b", "current"),
    ]
    assert table["key"] == ["id"]


@pytest.mark.skipif(not (SHARED_DATA / "cases").is_dir(), reason="the cases are not there")
def test_before_images_with_keys_alone(tmp_path: Path) -> None:
    path = SHARED_DATA / "cases" / "records" / "before-images-of-keys.json"
    _, rows = consolidated(path, tmp_path / "out", key="s.t=id", **_keys_alone())
    assert [(row["v"], row["_state"]) for row in rows] == [("a", "deleted")]
