"""Operations cut by table, once for all tables: all of them are there, typed, and however files are cut."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frame_session import planned
from round_trips import READ, STORY, TABLES, write_as, write_story
from runs import metadata, operation, write_lines
from staged_operations import stage

from ggfmt.consolidation import staging as staging_module
from ggfmt.consolidation.seen import Positions, Seen
from ggfmt.consolidation.staging import Read, TableFiles
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.batches import record_batches
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef


def rows(read: Read, table: str) -> list[dict[str, Any]]:
    staged = read.staged[table]
    found = pa.concat_tables([pq.read_table(path.path) for path in staged.files])
    assert staged.size == sum(Path(path.path).stat().st_size for path in staged.files)
    listed: list[dict[str, Any]] = found.sort_by("seq").to_pylist()
    return listed


@pytest.mark.parametrize("name", READ)
def test_staged_operations_are_those_of_a_frame(tmp_path: Path, name: str) -> None:
    written, told = write_as(write_story(tmp_path / "in.json", STORY), name, tmp_path / "written")
    read = stage(written, tmp_path / "staged", name, told, TABLES)
    for table, staged in read.staged.items():
        plan = planned(written, name, told, table=table)
        wanted = read.tables[table].wanted
        frame = [
            batch.select(wanted.schema.names)
            for split in plan.splits
            for batch in record_batches(plan.job, split, plan.wanted)
        ]
        assert rows(read, table) == pa.Table.from_batches(frame, wanted.schema).sort_by("seq").to_pylist()
        assert staged.seen.operations.total() == len(rows(read, table))
    assert "GG.ORDERS" in read.staged


def test_how_files_are_cut_changes_nothing(tmp_path: Path) -> None:
    lines = [operation(n, f"GG.T{n % 3}", "IUDI"[n % 4], NAME="x" * (n % 50)) for n in range(900)]
    lines[500:500] = [metadata("GG.T1", ID="integer", NAME="string", AMOUNT="integer", MORE="string")]
    files = [
        write_lines(tmp_path / f"{number}.json", lines[start : start + 450])
        for number, start in enumerate(range(0, 901, 450))
    ]
    whole = stage(files, tmp_path / "whole", split_size=1 << 30)
    cut = stage(files, tmp_path / "cut", split_size=3000)
    assert list(whole.staged) == list(cut.staged) == ["GG.T0", "GG.T1", "GG.T2"]
    for table in whole.staged:
        assert len(cut.staged[table].files) > len(whole.staged[table].files) == 1
        assert rows(cut, table) == rows(whole, table)
        assert vars(cut.staged[table].seen) == vars(whole.staged[table].seen)
        assert cut.tables[table] == whole.tables[table]


def test_what_is_seen_of_a_table(tmp_path: Path) -> None:
    def image(**columns: Any) -> dict[str, Any]:
        return {"table": "T", "op_type": "U", "op_ts": "2013-06-02 22:14:36", "pos": "7", "after": columns}

    truncate = {"table": "T", "op_type": "T", "op_ts": "2013-06-02 22:14:35", "pos": "8"}
    nothing = {"table": "T", "op_type": "D", "before": {"ID": "1", "NAME": None}}
    definitions = {"T": TableDef("T", (Column("ID", key=1), Column("NAME")))}
    lines = [truncate, image(ID="1", NAME=None), nothing, {**image(ID="2", NAME="b"), "before": {"ID": "2"}}, truncate]
    path = write_lines(tmp_path / "in.json", lines)
    seen = stage(path, tmp_path / "staged", definitions=definitions).staged["T"].seen
    assert dict(seen.operations) == {"T": 2, "U": 2, "D": 1}
    assert (seen.partial, seen.moves) == (False, False)
    offsets = [sum(len(line) for line in path.read_bytes().splitlines(True)[:number]) for number in (0, 4)]
    assert seen.truncates == offsets
    assert (seen.without_position, seen.without_time) == (1, 1)
    assert [str(seen.first_time), str(seen.last_time)] == ["2013-06-02 22:14:35+00:00", "2013-06-02 22:14:36+00:00"]
    assert (seen.first_position, seen.last_position) == ("8", "8")

    partial = write_lines(tmp_path / "partial.json", [image(ID="1")])
    assert stage(partial, tmp_path / "staged1", definitions=definitions).staged["T"].seen.partial
    for before, moves in (({"ID": "2"}, True), ({"ID": "1"}, False), ({"ID": None}, True), ({"NAME": "x"}, False)):
        moving = write_lines(tmp_path / "moving.json", [{**image(ID="1", NAME="b"), "before": before}])
        assert stage(moving, tmp_path / "staged2", definitions=definitions).staged["T"].seen.moves is moves


def test_the_last_definition_counts_and_columns_that_were_added_are_told(tmp_path: Path) -> None:
    first = [metadata("T", ID="integer", A="integer", B="string"), operation(1, "T", A=1, B="b")]
    for line in first:
        line.get("after", {}).pop("NAME", None), line.get("after", {}).pop("AMOUNT", None)
    without = {**operation(2, "T"), "after": {"ID": "2", "B": "c"}}
    again = {**operation(3, "T"), "after": {"ID": "3", "A": "text", "B": "d", "C": 1}}
    lines = [*first, metadata("T", ID="integer", B="string"), without]
    lines.append(metadata("T", ID="integer", A="string", B="string", C="integer"))
    read = stage(write_lines(tmp_path / "in.json", [*lines, again]), tmp_path / "staged")
    table = read.tables["T"]
    assert table.definition.column_names == ("ID", "A", "B", "C")
    sizes = [len(json.dumps(line)) + 1 for line in lines]
    assert table.added == dict.fromkeys(("A", "C"), sum(sizes[:4]))
    found = rows(read, "T")
    assert [row["after"]["A"] for row in found] == ["1", None, "text"]
    assert [row["after_missing"] for row in found] == [["C"], ["A", "C"], None]
    assert table.types == {"ID": pa.int64(), "A": pa.string(), "B": pa.string(), "C": pa.int64()}


def test_types_and_keys_that_are_given(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "S.T", AT="2020-01-01 10:00:00"), operation(2, "S.U")])
    types = (("*.AMOUNT", "string"), ("S.U.AMOUNT", "decimal(9,2)"), ("S.T.AT", "timestamp_ntz"))
    read = stage(path, tmp_path / "staged", types=types, keys=(("S.T", ("ID", "AT")), ("*", ("id",))))
    assert read.tables["S.T"].types["AMOUNT"] == pa.string()
    assert read.tables["S.U"].types["AMOUNT"] == pa.decimal128(9, 2)
    assert str(rows(read, "S.T")[0]["after"]["AT"]) == "2020-01-01 10:00:00"
    assert read.tables["S.T"].definition.primary_keys == ("ID", "AT")
    assert read.tables["S.U"].definition.primary_keys == ("ID",)


@pytest.mark.example("GG551")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"types": (("*.NAME", "varchar"),)}, "`varchar` is no type of a column"),
        ({"types": (("*.NAME", "decimal(39,0)"),)}, "is no type of a column"),
        ({"types": (("*.NAM", "string"),)}, "no column is `*.NAM`"),
        ({"keys": (("T", ("IDS",)),)}, "`primaryKeys` names `IDS`"),
    ],
)
def test_types_and_keys_that_make_no_sense_are_refused(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "T")])
    with pytest.raises(UsageError) as raised:
        stage(path, tmp_path / "staged", **given)
    assert raised.value.diagnostics[0].code == "GG551"
    assert told in str(raised.value)


def test_a_value_that_its_type_does_not_have_is_told_with_its_place(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "T"), operation(2, "T", NAME="no time")])
    with pytest.raises(Abend) as raised:
        stage(path, tmp_path / "staged", types=(("T.NAME", "timestamp"),))
    (found,) = raised.value.diagnostics
    assert (found.code, found.span.table, found.span.field) == ("GG530", "T", "NAME")
    assert (found.span.position, found.span.offset) == ("0" * 19 + "1", 0)
    assert found.help == "give `--type 'T.NAME=string'`"


def test_a_definition_that_no_file_has_is_looked_for(tmp_path: Path) -> None:
    given = {"T": TableDef("T", (Column("ID", key=1), Column("NAME"), Column("AMOUNT")))}
    path = write_lines(tmp_path / "in.json", [operation(1, "T"), operation(2, "OTHER")])
    read = stage(path, tmp_path / "staged", definitions=given)
    assert {name: len(rows(read, name)) for name in read.staged} == {"OTHER": 1, "T": 1}
    left = sorted(file.name for file in (tmp_path / "staged").rglob("*.parquet"))
    assert len(left) == 2  # what the first try left is gone


def test_a_column_that_comes_late_can_have_a_type_and_be_in_a_key(tmp_path: Path) -> None:
    lines = [operation(number, "T") for number in range(9000)]
    path = write_lines(tmp_path / "in.json", [*lines, operation(9001, "T", LATE="1")])
    for given in ({"types": (("*.LATE", "bigint"),)}, {"keys": (("T", ("LATE",)),)}):
        read = stage(path, tmp_path / "staged", **given)
        assert "LATE" in read.tables["T"].types


def test_a_table_without_columns_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [operation(1, "T"), {"table": "BARE", "op_type": "T", "op_ts": "2020-01-01 00:00:00"}]
    with caplog.at_level("WARNING", "ggfmt"):
        read = stage(write_lines(tmp_path / "in.json", lines), tmp_path / "staged")
    assert list(read.staged) == ["T"]
    assert "table BARE skipped: its columns are unknown" in caplog.text


def test_files_of_many_tables_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging_module, "ROW_GROUP_BYTES", 2000)
    monkeypatch.setattr(staging_module, "MAX_WAITING_BYTES", 9000)
    monkeypatch.setattr(staging_module, "MAX_OPEN_FILES", 3)
    names = [f"T{number}" for number in range(12)]
    files = TableFiles(Location.of(str(tmp_path)), "0000000-7", names)
    chosen, expected = random.Random(3), dict.fromkeys(names, 0)
    for _ in range(400):
        name = chosen.choice(names)
        batch = pa.record_batch({"seq": list(range(expected[name], expected[name] + 20))})
        expected[name] += 20
        files.write(name, batch)
        assert len(files._open) <= 3
        assert files._sizes.total() < 9000
    written = files.close()
    assert max(len(paths) for paths, _ in written.values()) > 1
    for name in names:
        paths, size = written[name]
        found = pa.concat_tables([pq.read_table(path.path) for path in paths])
        assert found["seq"].to_pylist() == list(range(expected[name]))
        assert size == sum(Path(path.path).stat().st_size for path in paths)


def test_attempts_of_a_task_do_not_meet(tmp_path: Path) -> None:
    batch = pa.record_batch({"seq": [1]})
    paths = []
    for attempt in (1, 2):
        files = TableFiles(Location.of(str(tmp_path)), f"0000000-{attempt}", ["T"])
        files.write("T", batch)
        paths += files.close()["T"][0]
    assert len(set(paths)) == 2


def test_what_is_seen_in_parts_is_what_is_seen_at_once() -> None:
    one, other = Seen(first_position=None, last_position=None), Seen(first_position="a", last_position="b")
    one.then(other)
    assert (one.first_position, one.last_position) == ("a", "b")
    one.then(Seen(first_position="c", last_position="d", truncates=[3], partial=True))
    assert (one.first_position, one.last_position, one.truncates, one.partial) == ("a", "d", [3], True)


@pytest.mark.parametrize(
    ("batches", "kind"),
    [
        ([["1", "2"], ["3"]], "numbers"),
        ([["1"], [], ["9" * 20]], "long numbers"),
        ([["9" * 20], ["1"]], "long numbers"),
        ([["a.000001:4"], ["a.000002:4"]], "places in a binary log of MySQL"),
        ([["a.000001:4"], ["b.000002:4"]], None),
        ([["a.000001:4", "b.000001:5"]], None),
        ([["1"], ["a.000001:4"], ["1"]], None),
        ([["1"], [None], ["1"]], None),
        ([["1", "x"]], None),
        ([["x"], ["1"]], None),
    ],
)
def test_the_kind_of_positions_is_the_same_however_they_come(batches: list[list[str | None]], kind: str | None) -> None:
    at_once, in_parts = Positions(), Positions()
    for batch in batches:
        texts = pa.array(batch, pa.string())
        at_once.add(texts)
        alone = Positions()
        alone.add(texts)
        in_parts.then(alone)
    for found in (at_once, in_parts):
        assert found.orders is (kind is not None)
        if kind is not None:
            assert found.kind is not None
            assert found.kind.name == kind
