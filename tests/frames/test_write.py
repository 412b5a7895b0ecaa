"""Frames of operations are written as `ggfmt run` writes the same operations: byte for byte, whole or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from frame_rows import generic_rows, typed_rows, write_frame, write_parts, writer
from round_trips import STORY, STORY_FORMAT, TABLES, WRITTEN, Operation, handler, write_story
from runs import JSON_LINES, MOMENT, PIPES, content, manifest, output_files, run_ggfmt, snapshot, tables

from ggfmt.arrow.arrays import as_strings, string_maps
from ggfmt.commit import locking
from ggfmt.commit.commit import lock_all
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.locking import LEASE_SECONDS, SharedLease, lease_of, owner_of
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError
from ggfmt.formats import FORMATS
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.shapes import GENERIC, TEXTS, FrameShape, typed
from ggfmt.frames.write import WriteOptions
from ggfmt.location import Location
from ggfmt.model.table import TableDef

JSON = ("gg.handlerlist=j", *JSON_LINES)
TABLE = TABLES["GG.ORDERS"]


def data(out: Path) -> dict[str, str]:
    """The files of an output with their digests, less those about runs, which have times."""
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}


def messages(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in data(out).items() if "/_rejects/" not in name}


def diagnosed(action: Callable[[], Any]) -> Diagnostic:
    with pytest.raises(GgfmtError) as raised:
        action()
    return raised.value.diagnostics[0]


def insert(number: int, table: str = "GG.ORDERS", **columns: str | None) -> Operation:
    return Operation("I", None, {"ID": f"{number}", "NAME": f"n{number}", **columns}, pos=f"{number:08d}", table=table)


def many(count: int) -> list[Operation]:
    return [insert(number, f"GG.T{number % 3}") for number in range(count)]


# What is written


@pytest.mark.parametrize("name", WRITTEN)
def test_a_frame_is_written_as_the_same_operations_of_a_file(name: str, tmp_path: Path) -> None:
    """Both in the same directory, one after the other: some formats name directories in their options. What a format
    has no form for is set aside: a record of the file there, a row of the frame here."""
    out, lines = tmp_path / "out", handler(name, tmp_path / "out" / "dirdef")
    source = write_story(tmp_path / "in.json", STORY)
    run_ggfmt([source], out, *lines, input_format=STORY_FORMAT, definitions=TABLES, quarantine=True)
    expected = messages(out)
    assert any(name.startswith("h/") for name in expected)
    rows = generic_rows(STORY)
    write_frame(writer(GENERIC, out, lines, TABLES, True, onReject="quarantine"), [rows])
    assert messages(out) == expected
    cut = [rows.slice(0, 7), rows.slice(7, 0), rows.slice(7)]
    write_frame(writer(GENERIC, out, lines, TABLES, True, onReject="quarantine"), cut, batch=3)
    if not FORMATS[name].by_table:  # whose blocks end where tasks ended
        assert messages(out) == expected


@pytest.mark.parametrize("name", ["json", "delimitedtext", "avro_op", "debezium_json"])
def test_a_frame_of_structs_is_written_as_its_values_are_written(name: str, tmp_path: Path) -> None:
    story = [item for item in STORY if item.after is None or "+1.50" not in item.after.values()]
    plain = {"0.10": "0.1", "12.5": "12.50"}  # as a double and a decimal of two digits have them

    def told(image: dict[str, str | None] | None) -> dict[str, str | None] | None:
        return None if image is None else {name: plain.get(value or "", value) for name, value in image.items()}

    told_story = [replace(item, before=told(item.before), after=told(item.after)) for item in story]
    lines = handler(name, tmp_path / "dirdef")
    source = write_story(tmp_path / "in.json", told_story)
    run_ggfmt([source], tmp_path / "run", *lines, input_format=STORY_FORMAT, definitions=TABLES)
    write_frame(writer(typed(TABLE), tmp_path / "frame", lines, TABLES), [typed_rows(story, TABLE)])
    assert data(tmp_path / "frame") == data(tmp_path / "run")


def test_tables_that_share_files_stay_in_the_order_of_rows(tmp_path: Path) -> None:
    lines = [*JSON, "gg.handler.j.partitionByTable=false"]
    source, rows = write_story(tmp_path / "in.json", many(50)), generic_rows(many(50))
    run_ggfmt([source], tmp_path / "run", *lines)
    names = '{"GG.T0": ["ID", "NAME"], "GG.T1": ["ID", "NAME"], "GG.T2": ["ID", "NAME"]}'
    made = writer(GENERIC, tmp_path / "frame", lines, columns=names)
    write_frame(made, [rows.slice(0, 20), rows.slice(20)], batch=8)
    assert content(tmp_path / "frame", "j") == content(tmp_path / "run", "j")


def test_files_roll_and_small_ones_are_joined_as_in_a_run(tmp_path: Path) -> None:
    lines = [*JSON, "gg.handler.j.maxFileSize=1k"]
    source, rows = write_story(tmp_path / "in.json", many(60)), generic_rows(many(60))
    run_ggfmt([source], tmp_path / "run", *lines)
    write_frame(writer(GENERIC, tmp_path / "frame", lines), [rows])
    assert data(tmp_path / "frame") == data(tmp_path / "run")
    assert len(output_files(tmp_path / "frame", "j")) > 3
    many_parts = [rows.slice(start, 3) for start in range(0, 60, 3)]
    write_frame(writer(GENERIC, tmp_path / "parts", JSON), many_parts)
    assert len(output_files(tmp_path / "parts", "j")) == 3


def test_the_manifest_has_what_was_written(tmp_path: Path) -> None:
    write_frame(writer(GENERIC, tmp_path, JSON), [generic_rows(many(9))])
    document = manifest(tmp_path)
    assert (document["input_format"], document["inputs"]) == ("dataframe", [])
    assert document["totals"]["operations"] == {f"GG.T{n}": {"I": 3} for n in range(3)}
    assert document["totals"]["handlers"]["j"]["messages"] == 9


def test_columns_that_may_lack_do_not_have_to_be_there(tmp_path: Path) -> None:
    rows = generic_rows(many(6)).drop_columns(["tokens", "file", "offset", "seq", "position"])
    write_frame(writer(rows.schema, tmp_path, JSON), [rows])
    assert len(content(tmp_path, "j").splitlines()) == 6


def test_values_of_every_type_become_texts_without_a_loss(tmp_path: Path) -> None:
    fields: dict[str, tuple[pa.DataType, Any]] = {
        "SMALL": (pa.decimal128(20, 10), "0.0000000100"),
        "WHOLE": (pa.int16(), -7),
        "FLAG": (pa.bool_(), True),
        "DAY": (pa.date32(), MOMENT.date()),
        "AT": (pa.timestamp("us"), MOMENT),
        "RATE": (pa.float64(), 0.1),
        "WORD": (pa.large_string(), "é"),
        "NO": (pa.float32(), None),
    }
    image = pa.struct([(name, kind) for name, (kind, _) in fields.items()])
    shape = typed(TableDef("T"))
    shape = pa.schema([field.with_type(image) if field.name in ("before", "after") else field for field in shape])
    values = {name: pa.scalar(value).cast(kind).as_py() for name, (kind, value) in fields.items()}
    row = {"table": "GG.T", "op_type": "I", "op_ts": None, "seq": 1, "after": values}
    write_frame(writer(shape, tmp_path, JSON, keyColumns="WHOLE"), [pa.Table.from_pylist([row], shape)])
    (line,) = content(tmp_path, "j").splitlines()
    after = (
        '"after":{"SMALL":0.0000000100,"WHOLE":-7,"FLAG":true,"DAY":"2015-09-18",'
        '"AT":"2015-09-18 13:39:35.447000","RATE":0.1,"WORD":"é","NO":null}'
    )
    assert after in line.decode()


# Order and columns


@pytest.mark.example("GG543")
def test_rows_out_of_order_are_refused_within_a_partition_and_over_partitions(tmp_path: Path) -> None:
    rows = generic_rows(many(12))
    turned = rows.take(list(reversed(range(12))))
    for parts in ([turned], [rows.slice(6), rows.slice(0, 6)]):
        made = writer(GENERIC, tmp_path / "out", JSON)
        problem = diagnosed(partial(write_frame, made, parts))
        assert problem.code == "GG543"
        assert "orderBy('seq')" in (problem.help or "")
        assert not (tmp_path / "out").exists()
    assert problem.span.table == "GG.T0"
    assert "9" not in problem.message or "partitions 0 and 1" in problem.message
    whole = rows.take([*range(0, 12, 3), *range(1, 12, 3), *range(2, 12, 3)])  # in order by table
    write_frame(writer(GENERIC, tmp_path / "by_table", JSON), [whole.slice(0, 5), whole.slice(5)])
    one_file = [*JSON, "gg.handler.j.partitionByTable=false"]
    problem = diagnosed(lambda: write_frame(writer(GENERIC, tmp_path / "one", one_file), [whole]))
    assert (problem.code, problem.span.table) == ("GG543", None)


def test_the_order_of_rows_counts_where_there_is_no_seq(tmp_path: Path) -> None:
    rows = generic_rows(many(6)).drop_columns(["seq"]).take([5, 4, 3, 2, 1, 0])
    write_frame(writer(rows.schema, tmp_path, JSON), [rows])
    assert tables(tmp_path, "j")["GG.T2"].index(b'"5"') < tables(tmp_path, "j")["GG.T2"].index(b'"2"')


@pytest.mark.example("GG542")
@pytest.mark.parametrize("cut", [1, 2])
def test_columns_that_only_some_rows_have_ask_for_a_definition(cut: int, tmp_path: Path) -> None:
    rows = generic_rows([insert(1), insert(2, NOTE="later")])
    parts = [rows] if cut == 1 else [rows.slice(0, 1), rows.slice(1)]
    problem = diagnosed(lambda: write_frame(writer(GENERIC, tmp_path / "out", JSON), parts, batch=1))
    assert (problem.code, problem.span.table, problem.span.field) == ("GG542", "GG.ORDERS", "NOTE")
    assert not (tmp_path / "out").exists()
    columns = '{"GG.ORDERS": ["NOTE", "ID", "NAME"]}'
    write_frame(writer(GENERIC, tmp_path / "out", JSON, columns=columns), parts, batch=1)
    assert b'"NOTE":"later","ID":"2"' in content(tmp_path / "out", "j")


# Rejects


def bad_rows() -> list[tuple[str, Operation]]:
    good = insert(3)
    return [
        ("GG304", replace(good, op="X")),
        ("GG305", replace(good, op=None)),  # type: ignore[arg-type]
        ("GG305", replace(good, table=None)),  # type: ignore[arg-type]
        ("GG306", replace(good, table="a.b.c.d")),
        ("GG307", replace(good, before={"ID": "1"})),
        ("GG307", replace(good, op="D")),
        ("GG307", replace(good, op="T")),
        ("GG204", insert(3, EXTRA="1")),
    ]


@pytest.mark.parametrize(("code", "bad"), bad_rows())
def test_a_row_that_is_no_operation_is_a_reject(code: str, bad: Operation, tmp_path: Path) -> None:
    story = [insert(1), insert(2), bad, insert(4)]
    rows = generic_rows(story)
    problem = diagnosed(lambda: write_frame(writer(GENERIC, tmp_path / "out", JSON, TABLES), [rows]))
    assert (problem.code, problem.span.file, problem.span.offset) == (code, "in.json", 200)
    assert not (tmp_path / "out").exists()
    write_frame(writer(GENERIC, tmp_path / "out", JSON, TABLES, onReject="quarantine"), [rows], batch=2)
    assert len(content(tmp_path / "out", "j").splitlines()) == 3
    assert manifest(tmp_path / "out")["totals"]["handlers"]["j"]["rejects"] == {code: 1}
    (record,) = (path for path in (tmp_path / "out/j/_rejects").iterdir() if path.name.endswith(".records"))
    assert b'"seq": 2' in record.read_bytes()


def test_a_row_that_a_handler_cannot_write_is_a_reject_of_it(tmp_path: Path) -> None:
    rows = generic_rows([insert(1), insert(2, COUNT="seven")])
    lines = handler("avro_row", tmp_path / "dirdef")
    problem = diagnosed(lambda: write_frame(writer(GENERIC, tmp_path / "out", lines, TABLES), [rows]))
    assert (problem.span.file, problem.span.offset, problem.span.field) == ("in.json", 100, "COUNT")


def test_a_value_that_is_said_to_be_missing_is_a_reject(tmp_path: Path) -> None:
    rows = typed_rows([insert(1)], TABLE)
    said = pa.array([["ID"]], pa.list_(TEXT))
    rows = rows.set_column(rows.schema.get_field_index("after_missing"), "after_missing", said)
    assert diagnosed(lambda: write_frame(writer(rows.schema, tmp_path, JSON), [rows])).code == "GG308"


def test_bytes_that_are_no_text_are_a_reject(tmp_path: Path) -> None:
    """Spark casts any bytes to a text."""
    rows = generic_rows([insert(n) for n in range(4)])
    bytes_of = pa.array([b"a", b"b", b"\xff", b"d"])
    damaged = pa.Array.from_buffers(TEXT, 4, bytes_of.buffers())
    images = string_maps(pa.array(range(5), pa.int32()), pa.array(["ID"] * 4), as_strings(damaged))
    for name, column in (("position", damaged), ("after", images)):
        again = rows.set_column(rows.schema.get_field_index(name), name, column)
        made = writer(again.schema, tmp_path / name, JSON, onReject="quarantine", currentTimestamp="")
        write_frame(made, [again])
        assert len(content(tmp_path / name, "j").splitlines()) == 3
        (records,) = (tmp_path / name / "j/_rejects").glob("*.records")
        assert b"\\\\xff" in records.read_bytes()
        problem = diagnosed(partial(write_frame, writer(again.schema, tmp_path / "no", JSON), [again]))
        assert (problem.code, problem.span.offset) == ("GG303", 200)


def test_a_token_without_a_value_is_a_reject(tmp_path: Path) -> None:
    rows = generic_rows([insert(n) for n in range(3)])
    tokens = pa.array([None, [("R", "AAA"), ("W", None)], [("R", "AAB")]], TEXTS)
    rows = rows.set_column(rows.schema.get_field_index("tokens"), "tokens", tokens)
    problem = diagnosed(partial(write_frame, writer(GENERIC, tmp_path / "out", JSON), [rows]))
    assert (problem.code, problem.span.offset) == ("GG308", 100)


# Shapes and options


def changed(shape: pa.Schema, name: str, kind: pa.DataType | None) -> pa.Schema:
    fields = [field for field in shape if field.name != name]
    return pa.schema([*fields, pa.field(name, kind)] if kind is not None else fields)


@pytest.mark.example("GG540")
@pytest.mark.parametrize(
    ("shape", "named"),
    [
        (changed(GENERIC, "op_ts", None), "op_ts"),
        (changed(GENERIC, "day", pa.date32()), "day"),
        (changed(GENERIC, "seq", TEXT), "seq"),
        (changed(GENERIC, "after", TEXT), "after"),
        (changed(GENERIC, "after_missing", pa.list_(TEXT)), "after_missing"),
        (changed(GENERIC, "before", pa.struct([("ID", TEXT)])), "before"),
        (changed(typed(TABLE), "after_missing", None), "after_missing"),
        (changed(typed(TABLE), "before", TEXTS), "same fields"),
        (pa.schema([*GENERIC, pa.field("table", TEXT)]), "twice"),
        (
            typed(TABLE)
            .set(8, pa.field("before", pa.struct([("L", TEXTS)])))
            .set(10, pa.field("after", pa.struct([("L", TEXTS)]))),
            "after.L",
        ),
    ],
)
def test_a_frame_of_neither_shape_is_refused_by_name(shape: pa.Schema, named: str) -> None:
    problem = diagnosed(lambda: FrameShape.of(shape))
    assert problem.code == "GG540"
    assert named in problem.message


@pytest.mark.example("GG541")
@pytest.mark.parametrize(
    "options",
    [
        {"onRejects": "abend"},
        {"onReject": "skip"},
        {"mode": "overwrite"},
        {"mode": "replace"},
        {"currentTimestamp": "now"},
        {"keyColumns": "A=;"},
        {"columns": "ID"},
        {"columns": '{"T": "ID"}'},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str]) -> None:
    problem = diagnosed(lambda: WriteOptions.of({"settings": "\n".join(JSON), **options}, False))
    assert problem.code == "GG541"


def test_a_key_makes_two_operations_of_an_update_that_changes_it(tmp_path: Path) -> None:
    change = Operation("U", {"ID": "1", "NAME": "a"}, {"ID": "2", "NAME": "a"})
    for number, columns in enumerate(("", '{"GG.ORDERS": ["ID", "NAME"]}')):
        lines = ["gg.handlerlist=d", *PIPES, "gg.handler.d.format.pkUpdateHandling=delete-insert"]
        out = tmp_path / str(number)
        write_frame(writer(GENERIC, out, lines, keyColumns="ID", columns=columns), [generic_rows([change])])
        assert [line[:1] for line in content(out, "d").splitlines()] == [b"D", b"I"]


def test_a_key_of_columns_that_there_are_not_is_refused(tmp_path: Path) -> None:
    made = writer(GENERIC, tmp_path / "out", JSON, keyColumns="NUMBER")
    problem = diagnosed(lambda: write_frame(made, [generic_rows(many(3))]))
    assert problem.code == "GG541"
    assert "NUMBER" in problem.message


# The output as a whole


def test_modes_are_those_of_a_run(tmp_path: Path) -> None:
    rows = generic_rows(many(6))
    write_frame(writer(GENERIC, tmp_path, JSON), [rows])
    first = snapshot(tmp_path)
    assert diagnosed(lambda: writer(GENERIC, tmp_path, JSON, mode="error")).code == "GG501"
    (tmp_path / "other").write_text("not ours")
    write_frame(writer(GENERIC, tmp_path, JSON, currentTimestamp=""), [rows])
    again = snapshot(tmp_path)
    assert {name: digest for name, digest in first.items() if name.startswith("j/")}.items() <= again.items()
    assert len(output_files(tmp_path, "j")) == 6
    write_frame(writer(GENERIC, tmp_path, JSON, overwrite=True), [rows])
    assert len(output_files(tmp_path, "j")) == 3
    assert (tmp_path / "other").read_text() == "not ours"
    (tmp_path / "j" / "mine").write_text("in its way")
    assert diagnosed(lambda: writer(GENERIC, tmp_path, JSON, overwrite=True)).code == "GG501"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_task_that_fails_leaves_the_output_as_it_was(overwrite: bool, tmp_path: Path) -> None:
    rows = generic_rows(many(6))
    write_frame(writer(GENERIC, tmp_path, JSON), [rows])
    before = snapshot(tmp_path)

    class Torn(Exception):
        pass

    def torn() -> Any:
        yield from rows.to_batches()
        raise Torn

    made = writer(GENERIC, tmp_path, JSON, overwrite=overwrite)
    done = made.write_part(iter(rows.to_batches()), 0, 1)
    with pytest.raises(Torn):
        made.write_part(torn(), 1, 2)
    assert snapshot(tmp_path) != before
    made.abort([done, None])
    assert snapshot(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "_ggfmt").iterdir()) == ["manifest.json", "runs"]


def test_a_second_attempt_of_a_task_counts_alone(tmp_path: Path) -> None:
    rows = generic_rows(many(6))
    made = writer(GENERIC, tmp_path, JSON)
    made.write_part(iter(rows.to_batches()), 0, 1)
    made.commit([made.write_part(iter(rows.to_batches()), 0, 2)])
    assert len(content(tmp_path, "j").splitlines()) == 6


def test_the_directory_is_held_from_the_first_task_to_the_commit(tmp_path: Path) -> None:
    source, rows = write_story(tmp_path / "in.json", many(6)), generic_rows(many(6))
    out = tmp_path / "out"
    made, other = (writer(GENERIC, out, JSON) for _ in range(2))
    assert not out.exists()
    parts = write_parts(made, [rows])
    assert diagnosed(lambda: run_ggfmt([source], out, *JSON)).code == "GG501"
    (late,) = write_parts(other, [rows])
    assert late.outcome.abend is not None
    assert late.outcome.abend.code == "GG501"
    other.abort([late])
    made.commit(parts)
    assert len(content(out, "j").splitlines()) == 6
    assert sorted(path.name for path in (out / "_ggfmt").iterdir()) == ["manifest.json", "runs"]


def test_what_another_run_has_written_in_the_meantime_is_not_lost(tmp_path: Path) -> None:
    source, rows = write_story(tmp_path / "in.json", many(6)), generic_rows(many(6))
    out = tmp_path / "out"
    made = writer(GENERIC, out, JSON, currentTimestamp="", mode="error")
    added = writer(GENERIC, out, JSON, currentTimestamp="")
    run_ggfmt([source], out, *JSON, current_timestamp=None)
    before = snapshot(out)
    assert diagnosed(lambda: write_frame(made, [rows])).code == "GG501"
    assert diagnosed(lambda: write_frame(added, [rows])).code == "GG506"
    assert snapshot(out) == before


def test_a_task_does_not_begin_where_a_run_is_at_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = writer(GENERIC, out, JSON)
    with ExitStack() as held:
        lock_all([OutputDirectory(Location.of(str(out)))], "another", held)
        (part,) = write_parts(made, [generic_rows(many(3))])
        assert part.outcome.abend is not None
        assert part.outcome.abend.code == "GG501"
        made.abort([part])
    assert not out.exists()


def test_a_lease_that_nobody_renewed_is_dead(tmp_path: Path) -> None:
    """As where the driver was killed: the next run waits for a while, and then removes what was left."""
    rows = generic_rows(many(3))
    write_parts(writer(GENERIC, tmp_path, JSON), [rows])
    (lease,) = (tmp_path / "_ggfmt" / "leases").iterdir()
    long_ago = time.time() - LEASE_SECONDS - 60
    os.utime(lease, (long_ago, long_ago))
    write_frame(writer(GENERIC, tmp_path, JSON), [rows])
    assert sorted(path.name for path in (tmp_path / "_ggfmt").iterdir()) == ["manifest.json", "runs"]
    assert len(content(tmp_path, "j").splitlines()) == 3


def test_a_task_renews_the_lease_as_long_as_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "RENEWAL_SECONDS", 0.01)
    owner = owner_of("2015-09-18_13-39-35.447-00000000")
    lease = tmp_path / lease_of(owner["run"])

    def is_renewed() -> bool:
        os.utime(lease, (0, 0))
        return waited(lambda: lease.stat().st_mtime > 0)

    root = Location.of(str(tmp_path))
    with SharedLease(root, owner, "it"), SharedLease(root, owner, "it"):
        assert is_renewed()
        lease.unlink()
        assert not waited(lease.exists, 0.2)
    assert not lease.exists()


def waited(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False
