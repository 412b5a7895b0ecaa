"""Operations staged by table and bucket, once for all tables: all of them are there, however files are cut."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from frame_session import planned
from round_trips import READ, STORY, TABLES, write_as, write_story
from runs import metadata, operation, write_lines

from ggfmt.arrow.arrays import non_null_values
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.frames.batches import record_batches
from ggfmt.frames.column_types import INSTANT
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.rowfiles.spill import split_by
from ggfmt.rows import staging as staging_module
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.positions import kind_named
from ggfmt.rows.staging import (
    BucketFiles,
    MemoryBudget,
    RowSink,
    StagedInput,
    StagedPart,
    bucket_count,
    bucket_numbers,
    load,
    piece_count,
    unit_count,
)
from ggfmt.rows.table_stats import PositionStats, TableStats


def stage(
    inputs: Path | Sequence[Path],
    directory: Path,
    input_format: str = "auto",
    source: WriterSettings = DEFAULT_SETTINGS,
    definitions: dict[str, TableDef] | None = None,
    split_size: int | None = None,
    **settings: Any,
) -> StagedInput:
    """Read files. `settings`: of `RowSink`."""
    paths = [str(path) for path in ([inputs] if isinstance(inputs, Path) else inputs)]
    request = ScanRequest(paths, input_format, source, definitions or {}, split_size)
    scan, sink = Scan(request, request.list()), RowSink(Location.of(str(directory)), **settings)
    job, outcomes = scan.run(scan.job, sink, InProcess())
    return sink.staged(job, outcomes, scan.files)


Row = dict[str, Any]
OPS = "IUDT"
NUMBERS = 8  # buckets


def rows(read: StagedInput, table: str) -> list[Row]:
    """The staged operations of a table in input order."""
    found = list(load(read.staged[table].parts))
    whole = pa.Table.from_batches(found).sort_by("seq")
    assert read.staged[table].size >= whole.nbytes // 2
    listed: list[Row] = whole.to_pylist()
    return listed


def image(row: Row, columns: Iterable[str], which: str) -> dict[str, str | None] | None:
    """The columns that an image shows, as texts; None if it shows none."""
    found = {name: row[f"{which}{i}"] for i, name in enumerate(columns) if row[f"h{which}{i}"]}
    return found or None


@pytest.mark.parametrize("name", READ)
def test_staged_operations_are_those_of_a_frame(tmp_path: Path, name: str) -> None:
    written, source = write_as(write_story(tmp_path / "in.json", STORY), name, tmp_path / "written")
    read = stage(written, tmp_path / "staged", name, source, TABLES)
    assert "GG.ORDERS" in read.staged
    for table, staged in read.staged.items():
        plan = planned(written, name, source, table=None)
        frame: list[Row] = []
        for split in plan.splits:
            for batch in record_batches(plan.job, split, plan.wanted):
                frame += batch.to_pylist(maps_as_pydicts="strict")
        own = sorted((row for row in frame if row["table"] == table), key=lambda row: row["seq"])
        assert staged.stats.operations.total() == len(own)
        columns = read.tables[table].columns
        found = [row for row in rows(read, table) if read.tables[table].key]
        expected = [row for row in own if row["op_type"] != "T" and read.tables[table].key]
        assert [(OPS[row["op"]], row["seq"], row["position"]) for row in found] == [
            (row["op_type"], row["seq"], row["position"]) for row in expected
        ]
        for one, other in zip(found, expected, strict=True):
            for which, member in (("b", "before"), ("a", "after")):
                assert image(one, columns, which) == (other[member] or None)


def test_how_files_are_cut_changes_nothing(tmp_path: Path) -> None:
    lines = [operation(n, f"GG.T{n % 3}", "IUDI"[n % 4], NAME="x" * (n % 50)) for n in range(900)]
    lines[500:500] = [metadata("GG.T1", ID="integer", NAME="string", AMOUNT="integer", MORE="string")]
    files = [
        write_lines(tmp_path / f"{number}.json", lines[start : start + 450])
        for number, start in enumerate(range(0, 901, 450))
    ]
    keys = (("*", ("ID",)),)
    whole = stage(files, tmp_path / "whole", split_size=1 << 30, keys=keys)
    cut = stage(files, tmp_path / "cut", split_size=3000, keys=keys, buckets=4)
    assert list(whole.staged) == list(cut.staged) == ["GG.T0", "GG.T1", "GG.T2"]
    for table in whole.staged:
        assert {part.bucket for part in whole.staged[table].parts} == {0}
        assert {part.bucket for part in cut.staged[table].parts} == {0, 1, 2, 3}
        assert rows(cut, table) == rows(whole, table)
        one, other = (vars(read.staged[table].stats) for read in (cut, whole))
        assert {**one, "links": None} == {**other, "links": None}
        assert cut.tables[table] == whole.tables[table]
        for part in cut.staged[table].parts:
            (batch,) = load([part])
            assert set(bucket_numbers(batch["hash"], 4).to_pylist()) == {part.bucket}


def test_what_operations_of_a_table_are_like(tmp_path: Path) -> None:
    def update(**columns: Any) -> Row:
        return {"table": "T", "op_type": "U", "op_ts": "2013-06-02 22:14:36", "pos": "7", "after": columns}

    truncate = {"table": "T", "op_type": "T", "op_ts": "2013-06-02 22:14:35", "pos": "8"}
    nothing = {"table": "T", "op_type": "D", "before": {"ID": "1", "NAME": None}}
    no_key = {"table": "T", "op_type": "D", "op_ts": "2013-06-02 22:14:36", "pos": "9", "before": {"NAME": None}}
    definitions = {"T": TableDef("T", (Column("ID", key=1), Column("NAME")))}
    lines = [truncate, update(ID="1", NAME=None), nothing, {**update(ID="2"), "before": {"ID": "2"}}, no_key, truncate]
    path = write_lines(tmp_path / "in.json", lines)
    read = stage(path, tmp_path / "staged", definitions=definitions)
    stats = read.staged["T"].stats
    assert dict(stats.operations) == {"T": 2, "U": 2, "D": 2}
    offsets = [sum(len(line) for line in path.read_bytes().splitlines(True)[:number]) for number in (0, 5)]
    assert [(one.seq, one.position) for one in stats.truncates] == [(offset, "8") for offset in offsets]
    assert (stats.without_position, stats.without_time, stats.without_key) == (1, 1, 1)
    assert [str(stats.first_time), str(stats.last_time)] == ["2013-06-02 22:14:35+00:00", "2013-06-02 22:14:36+00:00"]
    assert (stats.first_position, stats.last_position) == ("8", "8")
    assert [OPS[row["op"]] for row in rows(read, "T")] == ["U", "D", "U", "D"], "truncates are not staged"


@pytest.mark.parametrize(
    ("before", "moves"),
    [({"ID": "2"}, True), ({"ID": "1"}, False), ({"ID": None}, False), ({"NAME": "x"}, False), (None, False)],
)
def test_an_update_that_changes_a_key_connects_two_keys(
    tmp_path: Path, before: dict[str, str | None] | None, moves: bool
) -> None:
    definitions = {"T": TableDef("T", (Column("ID", key=1), Column("NAME")))}
    line = {"table": "T", "op_type": "U", "op_ts": "2013-06-02 22:14:36", "pos": "7", "after": {"ID": "1", "NAME": "b"}}
    path = write_lines(tmp_path / "in.json", [line if before is None else {**line, "before": before}])
    read = stage(path, tmp_path / "staged", definitions=definitions)
    (row,) = rows(read, "T")
    assert (row["moves"], row["hash"] != row["old_hash"]) == (moves, moves)
    linked = read.links("T", Ordering(None))
    assert (0 if linked is None else len(linked.hashes)) == (2 if moves else 0)
    assert bool(read.staged["T"].stats.links) is moves


@pytest.mark.parametrize("split_size", [1 << 20, 250])
def test_a_delete_and_an_insert_next_to_each_other_connect_keys_also_of_two_splits(
    tmp_path: Path, split_size: int
) -> None:
    """They are one update of a key if they show the same row in one transaction."""
    second = "2020-01-01 00:00:00"
    rest = {"NAME": "a" * 60}
    lines: list[Row] = []
    for number in range(0, 40, 2):
        lines.append({"table": "T", "op_type": "D", "op_ts": second, "before": {"ID": str(number), **rest}})
        lines.append({"table": "T", "op_type": "I", "op_ts": second, "after": {"ID": str(number + 1), **rest}})
    definitions = {"T": TableDef("T", (Column("ID", key=1), Column("NAME")))}
    path = write_lines(tmp_path / "in.json", lines)
    read = stage(path, tmp_path / "staged", definitions=definitions, split_size=split_size)
    assert (len(read.staged["T"].ends) > 1) is (split_size == 250)
    linked = read.links("T", Ordering(None))
    assert linked is not None and len(linked.hashes) == 40
    hashes = {int(row["k0"]): row["hash"] for row in rows(read, "T")}
    groups = linked.group_of(pa.array([hashes[number] for number in range(40)], pa.uint64())).to_pylist()
    assert groups[0::2] == groups[1::2]


@pytest.mark.parametrize("kind", [None, "numbers"])
def test_it_does_not_matter_for_connected_keys_how_files_are_cut(tmp_path: Path, kind: str | None) -> None:
    """Within a file, neighbors in the input are connected. Files follow each other by position."""

    def line(op: str, key: int, position: int) -> Row:
        image = {"ID": str(key), "NAME": "a" * 60}
        line = {"table": "T", "op_type": op, "op_ts": "2020-01-01 00:00:00", "pos": str(position)}
        return {**line, "before" if op == "D" else "after": image}

    definitions = {"T": TableDef("T", (Column("ID", key=1), Column("NAME")))}
    files = [
        [line("I", 1, 18), line("I", 2, 17), line("D", 3, 16), line("I", 4, 11), line("D", 5, 14)],
        [line("I", 6, 3), line("I", 7, 2), line("D", 8, 9)],
        [line("I", 9, 1)],
    ]
    paths = [write_lines(tmp_path / f"{number}.json", lines) for number, lines in enumerate(files)]
    found = []
    for split_size in (1 << 20, 600, 250, 1):
        read = stage(paths, tmp_path / f"{split_size}", definitions=definitions, split_size=split_size)
        ordering = Ordering(None if kind is None else kind_named(kind))
        hashes = {row["hash"]: int(row["k0"]) for row in rows(read, "T")}
        linked = read.links("T", ordering)
        assert linked is not None
        found.append(sorted(hashes[value] for value in linked.hashes.to_pylist()))
    assert found == 4 * [[3, 4, 5, 6, 8, 9] if kind is None else [1, 3, 4, 8]]


def test_the_last_definition_counts_and_columns_come_and_go(tmp_path: Path) -> None:
    first = [metadata("T", ID="integer", A="integer", B="string"), operation(1, "T", A=1, B="b")]
    for line in first:
        line.get("after", {}).pop("NAME", None), line.get("after", {}).pop("AMOUNT", None)
    without = {**operation(2, "T"), "after": {"ID": "2", "B": "c"}}
    again = {**operation(3, "T"), "after": {"ID": "3", "A": "text", "B": "d", "C": 1}}
    lines = [*first, metadata("T", ID="integer", B="string"), without]
    lines.append(metadata("T", ID="integer", A="string", B="string", C="integer"))
    read = stage(write_lines(tmp_path / "in.json", [*lines, again]), tmp_path / "staged")
    table = read.tables["T"]
    assert table.columns == ("ID", "A", "B", "C")
    starts = [sum(len(json.dumps(line)) + 1 for line in lines[:count]) for count in (2, 4)]
    assert [epoch.columns for epoch in table.epochs] == [("ID", "A", "B"), ("ID", "B"), ("ID", "A", "B", "C")]
    assert [epoch.start for epoch in table.epochs[1:]] == starts
    assert table.arrivals("A")[1:] == [None, starts[1]]
    assert table.arrivals("C") == [None, None, starts[1]]
    assert [table.is_old(name, 2) for name in table.columns] == [True, False, True, False]
    found = rows(read, "T")
    assert [image(row, table.columns, "a") for row in found] == [
        {"ID": "1", "A": "1", "B": "b"},
        {"ID": "2", "B": "c"},
        {"ID": "3", "A": "text", "B": "d", "C": "1"},
    ]
    positions = [row["position"] for row in found]
    assert [read.staged["T"].stats.epoch_starts[number][0] for number in range(3)] == positions
    assert table.types == {"ID": pa.int64(), "A": pa.string(), "B": pa.string(), "C": pa.int64()}


def test_types_and_keys_that_are_given(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "S.T", AT="2020-01-01 10:00:00"), operation(2, "S.U")])
    types = (("*.AMOUNT", "string"), ("S.U.AMOUNT", "decimal(9,2)"), ("S.T.AT", "timestamp_ntz"))
    read = stage(path, tmp_path / "staged", types=types, keys=(("S.T", ("ID", "AT")), ("*", ("id",))))
    assert read.tables["S.T"].types["AMOUNT"] == pa.string()
    assert read.tables["S.U"].types["AMOUNT"] == pa.decimal128(9, 2)
    assert str(rows(read, "S.T")[0]["k1"]) == "2020-01-01 10:00:00"
    assert read.tables["S.T"].definition.primary_keys == ("ID", "AT")
    assert read.tables["S.U"].definition.primary_keys == ("ID",)


@pytest.mark.example("GG551")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"types": (("*.NAME", "varchar"),)}, "`varchar` is not a type of a column"),
        ({"types": (("*.NAME", "decimal(39,0)"),)}, "is not a type of a column"),
        ({"types": (("*.NAM", "string"),)}, "a type is given for `*.NAM`, but no column matches"),
        ({"keys": (("T", ("IDS",)),)}, "`--key` names `IDS`"),
    ],
)
def test_types_and_keys_that_make_no_sense_are_refused(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "T")])
    with pytest.raises(UsageError) as raised:
        stage(path, tmp_path / "staged", **given)
    assert raised.value.diagnostics[0].code == "GG551"
    assert told in str(raised.value)


def test_a_key_that_its_type_does_not_have_is_an_error_at_its_place(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1, "T"), operation(2, "T", NAME="no time")])
    with pytest.raises(Abend) as raised:
        stage(path, tmp_path / "staged", types=(("T.NAME", "timestamp"),), keys=(("T", ("NAME",)),))
    (found,) = raised.value.diagnostics
    assert (found.code, found.span.table, found.span.field) == ("GG530", "T", "NAME")
    assert (found.span.position, found.span.offset) == ("0" * 19 + "1", 0)
    assert found.help == "give `--type 'T.NAME=string'`, or `--on-unfit null` or `unresolved`"


def test_a_time_that_is_none_is_an_error_at_its_place(tmp_path: Path) -> None:
    lines = [operation(1, "T"), {**operation(2, "T"), "op_ts": "2020-13-01 00:00:00"}]
    with pytest.raises(Abend) as raised:
        stage(write_lines(tmp_path / "in.json", lines), tmp_path / "staged", keys=(("T", ("ID",)),))
    (found,) = raised.value.diagnostics
    assert (found.code, found.span.field) == ("GG530", "op_ts")
    assert found.help == "correct the time in the file"
    assert found.span.offset == len(json.dumps(lines[0])) + 1
    assert (tmp_path / "staged" / "stop").exists(), "other tasks need not go on"


def test_a_definition_that_no_file_has_is_looked_for(tmp_path: Path) -> None:
    given = {"T": TableDef("T", (Column("ID", key=1), Column("NAME"), Column("AMOUNT")))}
    path = write_lines(tmp_path / "in.json", [operation(1, "T"), operation(2, "OTHER")])
    read = stage(path, tmp_path / "staged", definitions=given)
    assert {name: len(rows(read, name)) for name in read.staged} == {"OTHER": 1, "T": 1}
    left = sorted(file.name for file in (tmp_path / "staged").rglob("*.arrow"))
    assert len(left) == 2  # what the first try left is gone


def test_a_column_that_comes_late_can_have_a_type_and_be_in_a_key(tmp_path: Path) -> None:
    lines = [operation(number, "T") for number in range(9000)]
    path = write_lines(tmp_path / "in.json", [*lines, operation(9001, "T", LATE="1")])
    for given in ({"types": (("*.LATE", "bigint"),)}, {"keys": (("T", ("LATE",)),)}):
        read = stage(path, tmp_path / "staged", **given)
        assert "LATE" in read.tables["T"].types


def test_a_table_without_columns_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bare = {"table": "BARE", "op_type": "T", "op_ts": "2020-01-01 00:00:00"}
    with caplog.at_level("WARNING", "ggfmt"):
        read = stage(write_lines(tmp_path / "in.json", [operation(1, "T"), bare]), tmp_path / "staged")
    assert list(read.staged) == ["T"] and not read.unknown.total()
    assert "table BARE skipped: its columns are unknown; add a definition with `--definitions`" in caplog.text


def numbered(start: int, count: int) -> tuple[pa.RecordBatch, pa.Int32Array]:
    """Rows, and the bucket of each."""
    seqs = range(start, start + count)
    numbers: pa.Int32Array = pa.array([seq * 7 % NUMBERS for seq in seqs], pa.int32())
    return pa.record_batch({"seq": pa.array(seqs, pa.int64())}), numbers


def seqs_by_bucket(parts: Iterable[StagedPart]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part in parts:
        for batch in load([part]):
            found.setdefault(part.bucket, []).extend(non_null_values(batch["seq"]))
    return {number: sorted(seqs) for number, seqs in found.items()}


def expected_buckets(count: int) -> dict[int, list[int]]:
    return {bucket: [seq for seq in range(count) if seq * 7 % NUMBERS == bucket] for bucket in range(NUMBERS)}


def test_files_of_many_tables_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging_module, "MAX_BUFFERED_BYTES", 9000)
    monkeypatch.setattr(staging_module, "MAX_OPEN_FILES", 3)
    names = [f"T{number}" for number in range(12)]
    files = BucketFiles(Location.of(str(tmp_path)), "0000000-7", {name: n for n, name in enumerate(names)})
    chosen, expected = random.Random(3), dict.fromkeys(names, 0)
    for _ in range(800):
        name = chosen.choice(names)
        files.write(name, *numbered(expected[name], 20))
        expected[name] += 20
        assert len(files._open) <= 3
        assert sum(files._sizes.values()) < 9000
    written = files.close()
    assert files._open == {}
    several = {name: {part.file for part in parts} for name, (parts, _) in written.items()}
    assert max(map(len, several.values())) > 1
    assert len({file for files in several.values() for file in files}) == len(list(tmp_path.rglob("*.arrow")))
    for name in names:
        parts, size = written[name]
        assert seqs_by_bucket(parts) == expected_buckets(expected[name])
        assert size == 8 * expected[name]


def test_attempts_of_a_task_do_not_meet(tmp_path: Path) -> None:
    written = {}
    for attempt in (1, 2):
        files = BucketFiles(Location.of(str(tmp_path)), f"0000000-{attempt}", {"T": 0})
        files.write("T", *numbered(attempt, 1))
        written[attempt] = files.close()["T"][0]
    found = {attempt: [*seqs_by_bucket(parts).values()] for attempt, parts in written.items()}
    assert found == {1: [[1]], 2: [[2]]}


@pytest.mark.parametrize("memory", [0, 3000, 1 << 20])
def test_operations_are_the_same_in_memory_and_in_files(tmp_path: Path, memory: int) -> None:
    files = BucketFiles(Location.of(str(tmp_path)), "0000000-0", {"T": 0}, MemoryBudget(memory))
    for start in range(0, 1000, 100):
        files.write("T", *numbered(start, 100))
    parts, size = files.close()["T"]
    assert seqs_by_bucket(parts) == expected_buckets(1000)
    assert size == 8000
    kept = {part.batch is not None for part in parts}
    assert kept == ({False} if memory == 0 else {True} if memory > 8000 else {False, True})
    assert bool(list(tmp_path.rglob("*.arrow"))) is (memory < 8000)


def test_files_have_columns_that_are_the_same_once(tmp_path: Path) -> None:
    files = BucketFiles(Location.of(str(tmp_path)), "0000000-0", {"T": 0})
    names, batches = ["seq", "k0", "o0"], []
    for start in (0, 100):  # only the keys of the last operations are others before
        after, before = (pa.array([f"{sign}{n}" for n in range(100)]) for sign in "ab")
        for old in (after, after if start == 0 else before):
            batches.append(pa.record_batch([pa.array(range(start, start + 100)), after, old], names=names))
    for batch in batches[:2]:
        files.write("T", batch, pa.array([n % 2 for n in range(100)], pa.int32()))
    files._flush("T")
    for batch in batches[2:]:
        files.write("T", batch, pa.array([n % 2 for n in range(100)], pa.int32()))
    parts, _ = files.close()["T"]
    found = pa.Table.from_batches(load(parts))
    assert found.sort_by("seq") == pa.Table.from_batches(batches).sort_by("seq")
    once, twice = (pa.ipc.open_file(file.read_bytes()).schema.names for file in sorted(tmp_path.rglob("*.arrow")))
    assert (once, twice) == (["seq", "k0"], ["seq", "k0", "o0"])


def test_staged_operations_share_the_masks_of_their_columns(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(n, "T", "IUD"[n % 3]) for n in range(30)])
    (part,) = stage(path, tmp_path / "files", keys=(("*", ("ID",)),)).staged["T"].parts
    assert part.file is not None
    with part.file.open_file() as stream:
        written = set(pa.ipc.open_file(stream).schema.names)
    assert {"hb0", "ha0", "b1", "a1"} <= written
    assert not {"hb1", "ha1", "u1", "o0", "old_hash"} & written


@pytest.mark.parametrize("memory", [0, 20_000])
def test_a_memory_that_is_used_up_changes_no_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    path = write_lines(tmp_path / "in.json", [operation(n, f"T{n % 2}", "IUD"[n % 3]) for n in range(600)])
    settings: dict[str, Any] = {"keys": (("*", ("ID",)),), "buckets": 4, "split_size": 5000}
    expected = stage(path, tmp_path / "files", **settings)
    monkeypatch.setattr(staging_module, "MAX_MEMORY_BYTES", memory)
    found = stage(path, tmp_path / "memory", in_memory=True, **settings)
    for table in ("T0", "T1"):
        assert rows(found, table) == rows(expected, table)
        assert all(part.batch is None for part in expected.staged[table].parts)
        assert any(part.batch is None for part in found.staged[table].parts)
    assert any(part.batch is not None for part in found.staged["T0"].parts) is (memory > 0)


def test_rows_are_split_by_number_in_their_order() -> None:
    batch = pa.record_batch({"seq": [0, 1, 2, 3, 4]})
    parts = [(number, own["seq"].to_pylist()) for number, own in split_by(batch, pa.array([2, 0, 2, 5, 0], pa.int32()))]
    assert parts == [(0, [1, 4]), (2, [0, 2]), (5, [3])]


@pytest.mark.parametrize(
    ("size", "parallelism", "buckets"),
    [
        (0, 8, 1),
        (staging_module.BUCKET_BYTES // 16, 8, 1),
        (staging_module.BUCKET_BYTES // 16 + 1, 5, 8),
        (staging_module.MAX_BUCKET_BYTES, 1, 1),
        (staging_module.MAX_BUCKET_BYTES + 1, 1, 8),
        (staging_module.BUCKET_BYTES * 2 + 1, 2, 4),
        (1 << 60, 1, staging_module.MAX_BUCKETS),
    ],
)
def test_the_number_of_buckets_follows_the_input(size: int, parallelism: int, buckets: int) -> None:
    assert bucket_count(size, parallelism) == buckets


@pytest.mark.parametrize(
    ("size", "parallelism", "units", "pieces"),
    [
        (0, 8, 1, 1),
        (staging_module.MIN_UNIT_BYTES * 3, 8, 4, 1),
        (staging_module.UNIT_BYTES, 1, 1, 1),
        (staging_module.UNIT_BYTES + 1, 1, 2, 1),
        (staging_module.MAX_UNIT_BYTES + 1, 2, 4, 4),
        (1 << 60, 4000, staging_module.MAX_BUCKETS, staging_module.MAX_BUCKETS),
    ],
)
def test_the_number_of_units_follows_the_operations(size: int, parallelism: int, units: int, pieces: int) -> None:
    assert (unit_count(size, parallelism), piece_count(size)) == (units, pieces)


def test_pieces_divide_buckets_by_further_bits_of_hashes() -> None:
    hashes = pa.array([*range(64), None], pa.uint64())
    pairs = zip(bucket_numbers(hashes, 4).to_pylist(), bucket_numbers(hashes, 8, 4).to_pylist(), strict=True)
    assert list(pairs) == [(number % 4, number // 4 % 8) for number in (*range(64), 0)]


def test_parts_of_an_input_are_like_the_whole() -> None:
    one, other = TableStats(), TableStats(first_position="a", last_position="b", epoch_starts={1: ("a", 7)})
    one.merge(other)
    assert (one.first_position, one.last_position) == ("a", "b")
    one.merge(TableStats(first_position="c", last_position="d", without_key=2, epoch_starts={1: ("c", 8), 2: ("d", 9)}))
    assert (one.first_position, one.last_position, one.without_key) == ("a", "d", 2)
    assert one.epoch_starts == {1: ("a", 7), 2: ("d", 9)}


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
    at_once, in_parts = PositionStats(), PositionStats()
    for batch in batches:
        nothing = pa.nulls(len(batch), pa.string())
        heads = pa.record_batch(
            {"position": pa.array(batch, pa.string()), "origin": nothing, "ts": nothing.cast(INSTANT)}
        )
        at_once.add(heads)
        alone = PositionStats()
        alone.add(heads)
        in_parts.merge(alone)
    for found in (at_once, in_parts):
        by = found.ordering.total
        assert (by and by.name) == kind
