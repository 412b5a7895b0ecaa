"""Rows as DataFrames: those of `ggfmt.consolidate` on random histories, of a database, and of a recorded stream."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from debezium_recording import KEYS as LIVE_KEYS
from debezium_recording import ordered_lines, orders
from dialects import DATA
from postgres import programs, server
from postgres_story import KEYS, NUMBERS, Part, happen
from rows_oracle import Image
from runs import write_lines
from sql_histories import History, deliver, history, time_text, write

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.frames.shapes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

LIVE = DATA / "debezium-live"
PROGRAMS = programs()
Row = dict[str, Any]
Counted = Counter[tuple[tuple[str, str | None], ...]]


def counted(rows: Iterable[Mapping[str, Any]]) -> Counted:
    """How often each row is there, with values as texts."""
    return Counter(tuple((name, None if value is None else str(value)) for name, value in row.items()) for row in rows)


def collected(frame: DataFrame) -> Counted:
    return counted(frame.toArrow().to_pylist())


def as_texts(spark: SparkSession, rows: Sequence[Row], types: Mapping[str, str]) -> DataFrame:
    """Rows as a frame, with types by column where these are no texts."""
    schema = ", ".join(f"{quoted(str(name))} string" for name in rows[0])
    texts = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    return texts.select(*(texts[quoted(name)].cast(types.get(name, "string")) for name in texts.columns))


# Random histories: hundreds of small tables as one, with the number of each in the key


TABLE = "S.ALL"
MOMENTS = {"since": time_text(2).replace(" ", "T"), "as_of": time_text(5).replace(" ", "T")}
QUESTIONS: dict[str, Row] = {
    "current": {"keep": ["deleted", "unresolved"]},
    "history": {"keep": ["unresolved"], "as_of": MOMENTS["as_of"]},
    "changes": MOMENTS,
}
KINDS = [(debezium, positions) for debezium in (False, True) for positions in (False, True)]


def histories(debezium: bool, positions: bool, count: int = 250) -> list[History]:
    """Histories of tables with the same columns."""
    found: list[History] = []
    number = 0
    while len(found) < count:
        one, number = history(11, number), number + 1
        if one is None or one.key != ("id",) or one.is_altered:
            continue
        if (one.recording.is_debezium, one.recording.positions) == (debezium, positions):
            found.append(_with_number(one, str(number)))
    return found


def _with_number(one: History, number: str) -> History:
    def numbered(image: Image | None) -> Image | None:
        return None if image is None else {"h": number, **image}

    changes = tuple(
        replace(item, before=numbered(item.before), after=numbered(item.after))
        for item in one.changes
        if item.op != "T"  # which would be one of all
    )
    recording = replace(one.recording, described=False, numbers=False)
    return replace(one, table=TABLE, key=("h", "id"), columns=("h", *one.columns), recording=recording, changes=changes)


Parts = tuple[Path, Path]  # the input of one run, and that of a later one


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[bool, bool], Parts]:
    found = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp("histories")
        files = deliver(histories(*kind), Random(str(kind)))
        if len(files) == 1:
            files = [files[0][: len(files[0]) // 2], files[0][len(files[0]) // 2 :]]
        middle = len(files) // 2
        write(files[:middle], folder / "old", Random(1))
        write(files[middle:], folder / "new", Random(1))
        found[kind] = folder / "old", folder / "new"
    return found


def consolidated(inputs: Path | Sequence[Path], out: Path, **settings: Any) -> list[Row]:
    ggfmt.consolidate(inputs, out, master="none", key="h,id", **settings)
    rows: list[Row] = pq.read_table(out / TABLE).to_pylist()
    return rows


FUNCTIONS: dict[str, Callable[..., DataFrame]] = {
    "current": ggfmt.current,
    "history": ggfmt.history,
    "changes": ggfmt.changes,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("debezium", "positions"), KINDS)
def test_rows_of_frames_are_those_of_a_consolidation(
    spark: SparkSession,
    inputs: dict[tuple[bool, bool], Parts],
    tmp_path: Path,
    debezium: bool,
    positions: bool,
    question: str,
) -> None:
    folders = inputs[debezium, positions]
    settings = QUESTIONS[question]
    kinds: Row = {} if question == "current" else {question: True}
    expected = consolidated(folders, tmp_path / "out", **kinds, **settings)
    found = FUNCTIONS[question](spark, folders, TABLE, key=["h", "id"], **settings)
    assert len(expected) > 100
    assert collected(found) == counted(expected)
    assert found.columns == list(expected[0])


@pytest.mark.parametrize(("debezium", "positions"), KINDS)
def test_a_frame_is_a_base(
    spark: SparkSession, inputs: dict[tuple[bool, bool], Parts], tmp_path: Path, debezium: bool, positions: bool
) -> None:
    older, newer = inputs[debezium, positions]
    consolidated(older, tmp_path / "older")
    # An export: its rows are all that there are, as with a frame. A result has a manifest, which counts the unresolved.
    shutil.copytree(tmp_path / "older" / TABLE, tmp_path / "base" / TABLE)
    expected = consolidated(newer, tmp_path / "out", base=tmp_path / "base")
    base = spark.read.parquet(str(tmp_path / "base" / TABLE))
    found = ggfmt.current(spark, newer, TABLE, key="h,id", base=base)
    assert collected(found) == counted(expected)


def test_two_rows_of_a_transaction_at_one_key(spark: SparkSession, tmp_path: Path) -> None:
    """The delete is of the second of two rows: its before image shows it."""
    images: list[tuple[int, str, Row | None, Row | None]] = [
        (1, "c", None, {"id": "0", "a": "w"}),
        (2, "c", None, {"id": "1", "a": "x"}),
        (2, "c", None, {"id": "1", "a": "y"}),
        (2, "d", {"id": "1", "a": "y"}, None),
        (3, "c", None, {"id": "2", "a": "z"}),
    ]
    events = [
        {"op": op, "before": before, "after": after, "source": {"schema": "s", "table": "t", "txId": number}}
        for number, op, before, after in images
    ]
    found = ggfmt.current(spark, write_lines(tmp_path / "in.json", events), "s.t", key="id")
    assert sorted((row["id"], row["a"]) for row in found.collect()) == [("0", "w"), ("1", "x"), ("2", "z")]


def test_an_unresolved_row_is_an_error_where_it_is_wanted(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        {"table": "T", "op_type": "I", "op_ts": "2020-01-01 00:00:00", "after": {"ID": "1", "V": "a"}},
        {"table": "T", "op_type": "U", "op_ts": "2020-01-01 00:00:01", "after": {"ID": "2"}},
    ]
    path = write_lines(tmp_path / "in.json", lines)
    row = {"ID": "1", "V": "a"}
    assert collected(ggfmt.current(spark, path, "T", key="ID")) == counted([row])
    found = ggfmt.current(spark, path, "T", key="ID", strict=True)
    with pytest.raises(Exception, match="a row is unresolved: never seen"):
        found.collect()
    path = write_lines(tmp_path / "in.json", lines[:1])
    assert collected(ggfmt.current(spark, path, "T", key="ID", strict=True)) == counted([row])


def test_what_makes_no_sense_is_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    after = {"ID": "1", "V": "a", "_state": "b", "__STATE": "c"}
    path = write_lines(tmp_path / "in.json", [{"table": "T", "op_type": "I", "after": after}])
    base, other = as_texts(spark, [{"V": "x"}], {}), as_texts(spark, [{"ID": "1", "V": "2"}], {"V": "double"})
    cases: list[tuple[dict[str, Any], str]] = [
        ({"base": base}, "the base has no column `ID`"),
        (
            {"base": other, "types": {"V": "bigint"}},
            "`V` is `double`",
        ),
        ({"keep": ["deleted"]}, "GG558.*metadata column `_state`"),
        ({"keep": ["deleted"], "metadata_prefix": "_"}, "GG558.*metadata column `__state`"),
        ({"key": "IDS"}, "`IDS`, which is not a column"),
        ({"as_of": "7"}, "have no position"),
    ]
    for settings, message in cases:
        with pytest.raises(UsageError, match=message):
            ggfmt.current(spark, path, "T", **{"key": "ID", **settings})
    frame = ggfmt.current(spark, path, "T", key="ID", keep=["deleted"], metadata_prefix="gg")
    assert frame.columns == [*after, "gg_state"]


def test_numbers_and_null_in_keys(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text("create table S.T (ID number primary key, V varchar2(9))")
    line = {"table": "S.T", "op_type": "I", "op_ts": "2020-01-01 00:00:00", "primary_keys": ["ID"]}
    lines = [{**line, "after": {"ID": key, "V": key}} for key in ("1.0", None)]
    lines += [{**line, "op_type": "U", "after": {"ID": "01", "V": "b"}}]
    path = write_lines(tmp_path / "in.json", lines)
    base = as_texts(spark, [{"ID": "2.0", "V": "x"}, {"ID": "1E0", "V": "y"}], {})
    for rows in (None, base):
        settings: Row = {"definitions": tmp_path / "t.sql", "base": rows}
        found = {row["ID"]: row["V"] for row in ggfmt.current(spark, path, "S.T", **settings).collect()}
        assert found == {"1": "b"} if rows is None else {"1": "b", "2": "x"}
        with pytest.raises(Exception, match="no key"):
            ggfmt.current(spark, path, "S.T", **settings, strict=True).collect()
    nothing = base.union(as_texts(spark, [{"ID": None, "V": "z"}], {}))
    with pytest.raises(Exception, match="NULL in a column of the key"):
        ggfmt.current(spark, path, "S.T", base=nothing, definitions=tmp_path / "t.sql").collect()


# A recorded stream, and a database


@pytest.mark.skipif(not LIVE.is_dir(), reason="the recorded stream is not there")
def test_rows_of_a_recorded_stream_are_those_of_its_statements(spark: SparkSession) -> None:
    """It adds a column and drops another; rows are updated and deleted, and their keys changed."""
    path, key = LIVE / "postgresql-with-schema.jsonl", "order_id,line_no"
    expected = [{"extra": None, **row} for row in ordered_lines().values()]
    names = ("order_id", "line_no", "sku", "amount", "extra")
    found = ggfmt.current(spark, path, "shop.lines", key=key)
    assert collected(found) == counted({name: row[name] for name in names} for row in expected)


@pytest.mark.skipif(not LIVE.is_dir(), reason="the recorded stream is not there")
def test_values_that_a_recorded_update_does_not_show_are_those_from_before(spark: SparkSession) -> None:
    """PostgreSQL does not log a large value that stays as it is. Keys change, and deletes have keys alone."""
    path, names = LIVE / "postgresql-without-schema.jsonl", ("id", "customer", "qty", "code", "doc", "note")
    found = ggfmt.current(spark, path, "shop.orders", primaryKeys=LIVE_KEYS, beforeImage="keys").select(*names)
    assert collected(found) == counted({name: row[name] for name in names} for row in orders().values())
    assert len(orders()[9001]["note"]) > 100_000


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL here")
    with server(PROGRAMS) as found:
        return happen(found, Random(15), 3, 80)


def test_what_a_database_writes_lacks_values(parts: list[Part]) -> None:
    records = [record for part in parts for record in part.records]
    assert {record["op_type"] for record in records} == {"I", "U", "D", "T", "OBJECT_METADATA"}
    updates = [record for record in records if record["op_type"] == "U" and record["table"] == "public.orders"]
    assert any("note" not in record["after"] for record in updates)
    assert any(record["before"]["id"] != record["after"]["id"] for record in updates if "before" in record)


def test_rows_are_those_of_the_database(spark: SparkSession, parts: list[Part], tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "in.json", [one for part in parts for one in part.records])
    base = as_texts(spark, parts[0].rows["orders"], dict.fromkeys(NUMBERS, "bigint"))
    orders = ggfmt.current(spark, changes, "public.orders", base=base, types=dict.fromkeys(base.columns, "string"))
    assert collected(orders) == counted(parts[-1].rows["orders"])


def test_net_changes_are_those_of_the_database(spark: SparkSession, parts: list[Part], tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "in.json", [one for part in parts for one in part.records])
    key = KEYS["lines"]
    before, after = ({tuple(row[name] for name in key): row for row in part.rows["lines"]} for part in parts[-2:])
    before = {one: {**row, "extra": None} for one, row in before.items()}  # the column is not there yet
    expected = [{**row, "_op": "U" if one in before else "I"} for one, row in after.items() if before.get(one) != row]
    expected += [{**row, "_op": "D"} for one, row in before.items() if one not in after]
    found = ggfmt.changes(spark, changes, "public.lines", since=parts[-2].end)
    assert collected(found) == counted(expected)
    assert {row["_op"] for row in expected} == {"I", "U", "D"}
    for table in ("lines", "nokey"):
        assert collected(ggfmt.current(spark, changes, f"public.{table}")) == counted(parts[-1].rows[table])
