"""Consolidated frames: of hundreds of random stories at once what the reference finds, of a database and of a recorded
stream the rows that there are.

`prove_consolidation.py` has more histories, and takes longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from consolidation_proof import (
    check_base,
    check_changes,
    check_files,
    check_formats,
    check_keyless,
    check_moment,
    check_rows,
    check_told,
    frame_of,
)
from debezium_recording import KEYS as LIVE_KEYS
from debezium_recording import ordered_lines, orders
from dialects import DATA
from histories import SHAPES, history
from postgres import programs, server
from postgres_story import KEYS, NUMBERS, Part, happen
from runs import write_lines

import ggfmt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

LIVE = DATA / "debezium-live"
PROGRAMS = programs()


def test_rows_and_versions(spark: SparkSession, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, history(SHAPES["GG.MIXED"], 1))


@pytest.mark.long
def test_net_changes(spark: SparkSession, tmp_path: Path) -> None:
    check_changes(spark, tmp_path, history(SHAPES["GG.MIXED"], 1), 400, 900)


def test_a_table_without_a_key(spark: SparkSession, tmp_path: Path) -> None:
    check_keyless(spark, tmp_path, history(SHAPES["GG.KEYLESS"], 1))


def test_the_story_in_every_format(spark: SparkSession, tmp_path: Path) -> None:
    check_formats(spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.key])
def test_what_was_not_told_a_moment_and_a_base(spark: SparkSession, name: str, tmp_path: Path) -> None:
    told = history(SHAPES[name], 2)
    check_told(spark, tmp_path, told)
    check_moment(spark, tmp_path, told, "2020-01-01 00:00:00.200000")
    check_base(spark, tmp_path, told, 400)


@pytest.mark.long
def test_files_and_positions(spark: SparkSession, tmp_path: Path) -> None:
    check_files(spark, tmp_path, history(SHAPES["GG.PLAIN"], 2), 2)


Counted = Counter[tuple[tuple[str, str | None], ...]]


def counted(rows: Iterable[Mapping[str, Any]]) -> Counted:
    """How often each row is there, with values as texts."""
    return Counter(tuple((name, None if value is None else str(value)) for name, value in row.items()) for row in rows)


def collected(frame: DataFrame) -> Counted:
    return counted(row.asDict() for row in frame.collect())


@pytest.mark.skipif(not LIVE.is_dir(), reason="the recorded stream is not there")
def test_rows_of_a_recorded_stream_are_those_of_its_statements(spark: SparkSession) -> None:
    """It adds a column and drops another; rows are updated and deleted, and their keys changed."""
    path, key = LIVE / "postgresql-with-schema.jsonl", "order_id,line_no"
    expected = [{"extra": None, **row} for row in ordered_lines().values()]
    names = ("order_id", "line_no", "sku", "amount", "extra")
    found = ggfmt.current(spark, path, "shop.lines", primary_keys=key)
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


def test_what_a_database_tells_lacks_values(parts: list[Part]) -> None:
    records = [record for part in parts for record in part.records]
    assert {record["op_type"] for record in records} == {"I", "U", "D", "T", "OBJECT_METADATA"}
    updates = [record for record in records if record["op_type"] == "U" and record["table"] == "public.orders"]
    assert any("note" not in record["after"] for record in updates)
    assert any(record["before"]["id"] != record["after"]["id"] for record in updates if "before" in record)


def test_rows_are_those_of_the_database(spark: SparkSession, parts: list[Part], tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "in.json", [one for part in parts for one in part.records])
    base = frame_of(spark, parts[0].rows["orders"], dict.fromkeys(NUMBERS, "bigint"))
    orders = ggfmt.current(spark, changes, "public.orders", base=base, types=dict.fromkeys(base.columns, "string"))
    assert collected(orders) == counted(parts[-1].rows["orders"])


@pytest.mark.long
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
