"""Consolidated frames have what the reference finds: rows, versions and net changes, of hundreds of stories at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from consolidation import Table, Version, consolidated, counted, net_changes, until
from frame_session import frame_session
from histories import History, Shape, history, write_json
from survival import Operation, Row

import ggfmt
from ggfmt.frames.shapes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PLAIN = Shape("GG.PLAIN")
COMPOSITE = Shape("GG.COMPOSITE", key=("S", "K", "L"), truncates=3, untimed=0.1)
DEFINED = Shape("GG.DEFINED", definitions=5, truncates=1)
WHOLE = Shape("GG.WHOLE", full=True, moves=False, swaps=False, unkeyed=0)
KEYLESS = Shape("GG.KEYLESS", key=(), values=("A", "E"), truncates=1, wild=0)
SEED = 1
SINCE, AS_OF = 300, 600  # positions of stories, which have some 900


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with frame_session() as session:
        yield session


def text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return None if value is None else str(value)


def texts(frame: DataFrame) -> list[Row]:
    """The rows of a frame, with all values as texts."""
    return [{name: text(value) for name, value in row.asDict().items()} for row in frame.collect()]


def frame_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    schema = ", ".join(f"{quoted(name)} string" for name in rows[0])
    return spark.createDataFrame([tuple(row.values()) for row in rows], schema)


def check(found: Iterable[Row], expected: Iterable[Row], told: History) -> None:
    """Fails with a story of which rows are not the same, and these."""
    of_both = [Counter(tuple(row.items()) for row in rows) for rows in (found, expected)]
    wrong = {"found": of_both[0] - of_both[1], "expected": of_both[1] - of_both[0]}
    rows = [(what, dict(row)) for what, several in wrong.items() for row in several.elements()]
    if not rows:
        return

    def story_of(row: Row) -> int:
        return told.number_of(tuple(row[name] for name in told.shape.key or ("S",)))

    number = min(story_of(row) for _, row in rows)
    lines = [f"{what} {row}" for what, row in rows if story_of(row) == number]
    lines += [str(item) for item in told.of(number)]
    pytest.fail("\n".join([f"{len(rows)} rows differ; those of story {number}:", *lines]), pytrace=False)


def current(table: Table) -> list[Row]:
    return [table.in_order(row) for row in table.rows.values() if table.is_known(row)]


def of_all_states(table: Table) -> list[Row]:
    """Rows with `_state`; those that are deleted have their keys alone."""

    def with_state(row: Row, state: str) -> Row:
        return {**{name: row.get(name) for name in table.columns}, "_state": state}

    found = [with_state(row.values, "current" if table.is_known(row) else "unresolved") for row in table.rows.values()]
    found += [with_state(row.values, "unresolved") for row in table.overtaken]
    return found + [with_state(dict(zip(table.key, key, strict=True)), "deleted") for key in table.deleted]


def with_validity(version: Version) -> Row:
    start, end = version.start, version.end
    return {
        **version.values,
        "_valid_from_position": start.pos if start else None,
        "_valid_from_ts": start.op_ts if start else None,
        "_valid_to_position": end.pos if end else None,
        "_valid_to_ts": end.op_ts if end else None,
        "_op": start.op if start else "I",
    }


def applied(rows: list[Row], changes: list[Row], key: tuple[str, ...]) -> list[Row]:
    """The rows after net changes."""
    there = {tuple(row[name] for name in key): row for row in rows}
    for change in changes:
        row = {name: value for name, value in change.items() if name != "_op"}
        one = tuple(row[name] for name in key)
        assert (one in there) == (change["_op"] != "I")
        if change["_op"] == "D":
            del there[one]
        else:
            there[one] = row
    return list(there.values())


@pytest.mark.parametrize("shape", [PLAIN, COMPOSITE, DEFINED, WHOLE], ids=lambda shape: shape.name)
def test_rows_and_versions(spark: SparkSession, shape: Shape, tmp_path: Path) -> None:
    told = history(shape, SEED)
    path = write_json(tmp_path / "in.json", shape, told.story)
    expected = consolidated(told.story, shape.columns, shape.key)
    rows = texts(ggfmt.current(spark, path, shape.name, keep=("deleted", "unresolved")))
    for row in rows:
        if row["_state"] == "deleted":
            row.update({name: None for name in expected.columns if name not in shape.key})
    check(rows, of_all_states(expected), told)
    versions = texts(ggfmt.history(spark, path, shape.name))
    check(versions, map(with_validity, expected.versions), told)
    lasting = [row for row in versions if row["_valid_to_position"] is None]
    check(({name: row[name] for name in expected.columns} for row in lasting), current(expected), told)


@pytest.mark.parametrize("shape", [COMPOSITE], ids=lambda shape: shape.name)
def test_moments_of_a_table(spark: SparkSession, shape: Shape, tmp_path: Path) -> None:
    told = history(shape, SEED)
    path = write_json(tmp_path / "in.json", shape, told.story)
    older, newer = until(told.story, position=str(SINCE)), until(told.story, position=str(AS_OF))
    changes = texts(ggfmt.changes(spark, path, shape.name, since=str(SINCE), as_of=str(AS_OF)))
    expected = net_changes(older, newer, shape.columns, shape.key)
    check(changes, ({**row, "_op": op} for op, row in expected.values()), told)
    moment = "2020-01-01 00:00:00.200000"
    rows = texts(ggfmt.current(spark, path, shape.name, as_of=moment))
    check(rows, current(consolidated(until(told.story, time=moment), shape.columns, shape.key)), told)


def test_rows_over_a_base(spark: SparkSession, tmp_path: Path) -> None:
    told = history(PLAIN, SEED)
    base = current(consolidated(until(told.story, position=str(SINCE)), PLAIN.columns, PLAIN.key))
    rest = [item for item in told.story if isinstance(item, Operation) and int(item.pos or "") > SINCE]
    path = write_json(tmp_path / "in.json", PLAIN, rest)
    over = consolidated(rest, PLAIN.columns, PLAIN.key, base)
    rows = texts(ggfmt.current(spark, path, PLAIN.name, base=frame_of(spark, base)))
    check(rows, current(over), told)
    changes = texts(ggfmt.changes(spark, path, PLAIN.name, base=frame_of(spark, base)))
    expected = net_changes([], rest, PLAIN.columns, PLAIN.key, base)
    check(changes, ({**row, "_op": op} for op, row in expected.values()), told)


def test_how_files_are_cut_and_in_which_order_they_come_is_nothing_to_positions(
    spark: SparkSession, tmp_path: Path
) -> None:
    told = history(PLAIN, SEED)
    expected = current(consolidated(told.story, PLAIN.columns, PLAIN.key))
    story = Random(SEED).sample(told.story, len(told.story))
    for number in range(4):
        write_json(tmp_path / f"{number}.json", PLAIN, story[number::4])
    check(texts(ggfmt.current(spark, tmp_path, PLAIN.name, order="position")), expected, told)


def test_a_table_without_a_key(spark: SparkSession, tmp_path: Path) -> None:
    told = history(KEYLESS, SEED)
    path = write_json(tmp_path / "in.json", KEYLESS, told.story)
    rows = Counter(tuple(row.values()) for row in texts(ggfmt.current(spark, path, KEYLESS.name)))
    expected = counted(told.story, KEYLESS.columns)
    assert rows == +expected
    assert sum(rows.values()) > 50
