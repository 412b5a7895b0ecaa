"""What proves consolidation: its frames, of random histories, beside what the reference finds.

Each function here is given a history, and fails with the story of it that comes out wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from consolidation_reference import (
    Definition,
    Key,
    Story,
    Table,
    Version,
    arrivals,
    consolidated,
    counted,
    net_changes,
    until,
)
from frame_rows import typed_rows
from frame_session import planned
from ggfmt.consolidation.asked import STATE, Asked
from ggfmt.consolidation.consolidated import consolidated as made
from ggfmt.consolidation.operations import TableOperations
from ggfmt.consolidation.rows import UNTOLD
from histories import History, story_of, write_json, write_parquet
from round_trips import (
    READ,
    STORY,
    TABLES,
    Operation,
    Row,
    handler,
    losses_of,
    survives,
    write_as,
    write_story,
)

import ggfmt
from ggfmt.formats.api.format import WriterSettings
from ggfmt.frames.batches import record_batches
from ggfmt.frames.shapes import column_type, ddl_type, quoted
from ggfmt.model.table import Column, TableDef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return None if value is None else str(value)


def texts(frame: DataFrame) -> list[Row]:
    """The rows of a frame, with all values as texts."""
    return [{name: text(value) for name, value in row.asDict().items()} for row in frame.collect()]


def frame_of(spark: SparkSession, rows: Sequence[Row], types: Mapping[str, str]) -> DataFrame:
    """Rows as a frame, with types of Spark's by column, where these are no texts."""
    schema = ", ".join(f"{quoted(str(name))} string" for name in rows[0])
    texts = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    return texts.select(*(texts[quoted(name)].cast(types.get(name, "string")) for name in texts.columns))


def check(found: Iterable[Row], expected: Iterable[Row], told: History) -> None:
    """Fails with a story of which rows are not the same, and these."""
    of_both = [Counter(tuple(row.items()) for row in rows) for rows in (found, expected)]
    wrong = {"found": of_both[0] - of_both[1], "expected": of_both[1] - of_both[0]}
    rows = [(what, dict(row)) for what, several in wrong.items() for row in several.elements()]
    if not rows:
        return

    def number_of(row: Row) -> int:
        return told.number_of(tuple(row[name] for name in told.shape.key or ("S",)))

    number = min(number_of(row) for _, row in rows)
    lines = [f"{what} {row}" for what, row in rows if number_of(row) == number]
    lines += [str(item) for item in told.of(number)]
    raise AssertionError("\n".join([f"{len(rows)} rows differ; those of story {number}:", *lines]))


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


def applied(rows: list[Row], changes: list[Row], key: tuple[str, ...]) -> dict[Key, Row]:
    """The rows after net changes, by key."""
    there = {tuple(row[name] for name in key): row for row in rows}
    for change in changes:
        row = {name: value for name, value in change.items() if name != "_op"}
        one = tuple(row[name] for name in key)
        if change["_op"] == "D":
            there.pop(one, None)
        else:
            there[one] = row
    return there


def operations(spark: SparkSession, folder: Path, told: History) -> TableOperations:
    """The operations of a history, from Parquet."""
    return _operations(spark, folder, told, told.story, told.shape.columns, None)


def _operations(
    spark: SparkSession, folder: Path, told: History, story: Story, columns: Sequence[str], base: list[Row] | None
) -> TableOperations:
    path = write_parquet(folder / "operations.parquet", told.shape, story)
    table = told.shape.table(columns)
    types = {column.name: ddl_type(column_type(column.type)) for column in table.columns}
    there = None if base is None else frame_of(spark, base, types)
    return TableOperations(spark.read.parquet(str(path)), told.last, arrivals(story, columns), there)


def rows_of(given: TableOperations, **asked: Any) -> list[Row]:
    return texts(made(given, Asked(**asked)).frame())


def check_rows(spark: SparkSession, folder: Path, told: History) -> None:
    """Rows of all states, and versions, of which those that last are the current rows."""
    shape = told.shape
    given = operations(spark, folder, told)
    expected = consolidated(told.story, shape.columns, shape.key)
    rows = rows_of(given, keep=frozenset({"deleted", "unresolved"}))
    for row in rows:
        if row["_state"] == "deleted":
            row.update({name: None for name in expected.columns if name not in shape.key})
    check(rows, of_all_states(expected), told)
    versions = rows_of(given, kind="history")
    check(versions, map(with_validity, expected.versions), told)
    lasting = [row for row in versions if row["_valid_to_position"] is None]
    check(({name: row[name] for name in expected.columns} for row in lasting), current(expected), told)


def check_told(spark: SparkSession, folder: Path, told: History) -> None:
    """The operations of rows that are unresolved, and how many columns of the others no operation told."""
    found = made(operations(spark, folder, told), Asked())
    expected = consolidated(told.story, told.shape.columns, told.shape.key)
    wanted = {(lost.reason, place_of(told, item)) for lost in expected.lost for item in lost.operations}
    listed = {(row["reason"], row["seq"]) for row in found.listed.collect()}
    _same(Counter(wanted - listed), Counter())
    stories = [Counter({(reason, story_at(told, place)) for reason, place in one}) for one in (listed, wanted)]
    _same(*stories)
    counts = Counter(len(row.defaults) for row in expected.rows.values() if expected.is_known(row))
    untold = found.every.where(f"{STATE} = 'current'").groupBy(UNTOLD).count()
    _same(Counter({row[UNTOLD]: row["count"] for row in untold.collect()}), counts)


def place_of(told: History, item: Operation) -> int:
    return next(
        place for place, other in enumerate(told.story) if isinstance(other, Operation) and other.pos == item.pos
    )


def story_at(told: History, place: int) -> int | None:
    item = told.story[place]
    assert isinstance(item, Operation)
    return story_of(item)


def check_changes(spark: SparkSession, folder: Path, told: History, since: int, as_of: int) -> None:
    """Net changes from one position to another."""
    shape = told.shape
    older, newer = until(told.story, position=str(since)), until(told.story, position=str(as_of))
    changes = rows_of(operations(spark, folder, told), kind="changes", since=str(since), as_of=str(as_of))
    expected = net_changes(older, newer, shape.columns, shape.key)
    check(changes, ({**row, "_op": op} for op, row in expected.values()), told)


def check_moment(spark: SparkSession, folder: Path, told: History, moment: str) -> None:
    """The rows that there were at a time."""
    shape = told.shape
    rows = rows_of(operations(spark, folder, told), as_of=moment)
    check(rows, current(consolidated(until(told.story, time=moment), shape.columns, shape.key)), told)


def check_base(spark: SparkSession, folder: Path, told: History, place: int) -> None:
    """The rest of a history over the rows that there were; and its changes of these, which lead to the same rows."""
    older, newer, columns = told.cut(place)
    key = told.shape.key
    base = current(consolidated(older, told.shape.columns, key))
    over = consolidated(newer, columns, key, base)
    given = _operations(spark, folder, told, newer, columns, base)
    check(rows_of(given), current(over), told)
    changes = rows_of(given, kind="changes")
    definitions = [item for item in newer if isinstance(item, Definition)]
    expected = net_changes(definitions, newer, columns, key, base)
    check(changes, ({**row, "_op": op} for op, row in expected.values()), told)
    unresolved = {one for one, row in over.rows.items() if not over.is_known(row)}
    before = current(consolidated(definitions, columns, key, base))
    led = {one: row for one, row in applied(before, changes, key).items() if one not in unresolved}
    check(led.values(), current(over), told)


def check_files(spark: SparkSession, folder: Path, told: History, seed: int) -> None:
    """Positions order operations, however they are shuffled, in files that are cut anywhere."""
    expected = current(consolidated(told.story, told.shape.columns, told.shape.key))
    story = Random(seed).sample(told.story, len(told.story))
    for number in range(3):
        write_json(folder / f"{number}.json", told.shape, story[number::3])
    check(texts(ggfmt.current(spark, folder, told.shape.name)), expected, told)


def check_keyless(spark: SparkSession, folder: Path, told: History) -> None:
    """Rows of a table without a key."""
    _same(_repeated(rows_of(operations(spark, folder, told))), +counted(told.story, told.shape.columns))


def check_keyless_changes(spark: SparkSession, folder: Path, told: History, since: int) -> None:
    """What came and what went since a position, of a table without a key. A row that went unseen was there, unless a
    truncate has taken it by then."""
    columns, older = told.shape.columns, until(told.story, position=str(since))
    rows = rows_of(operations(spark, folder, told), kind="changes", since=str(since))
    before, after = counted(older, columns), counted(told.story, columns)
    if truncates(told.story) > truncates(older):
        before = +before
    after.subtract(before)
    for op, expected in (("I", +after), ("D", -after)):
        _same(_repeated({name: row[name] for name in columns} for row in rows if row["_op"] == op), expected)


def truncates(story: Story) -> int:
    return sum(isinstance(item, Operation) and item.op == "T" for item in story)


def _repeated(rows: Iterable[Row]) -> Counter[Key]:
    return Counter(tuple(row.values()) for row in rows)


def _same(found: Counter[Any], expected: Counter[Any]) -> None:
    more, less = found - expected, expected - found
    if more or less:
        raise AssertionError(f"too many are {dict(more)}, missing are {dict(less)}")


def check_formats(spark: SparkSession, folder: Path) -> None:
    """The story in every format that is read gives the tables that it gives, less the losses of the format.

    One table holds them all, told apart by a column of the key. So that they share no truncate, it is left out: what is
    before it is another table than what is after it.
    """
    written = write_story(folder / "in.json", STORY)
    place = next(number for number, item in enumerate(STORY) if item.op == "T")
    columns = ("FORMAT", *TABLES["GG.ORDERS"].column_names)
    found: list[Operation] = []
    expected: list[Row] = []
    for name in READ:
        path, told = write_as(written, name, folder / name)
        losses = losses_of(name, handler(name, folder / name / "dirdef"))
        parts = [survives(STORY[:place], losses), survives(STORY[place + 1 :], losses)]
        read = [item for item in _read(path, name, told) if item.op != "T"]
        for part, story, own in zip("12", parts, (read[: len(parts[0])], read[len(parts[0]) :]), strict=True):
            alone = consolidated([_marked(item, f"{name} {part}") for item in story], columns, ("FORMAT", "ID"))
            expected += of_all_states(alone)
            found += [_marked(item, f"{name} {part}") for item in own]
    table = TableDef("GG.ORDERS", tuple(Column(name) for name in columns)).with_keys(("FORMAT", "ID"))
    pq.write_table(typed_rows(found, table), folder / "operations.parquet")
    given = TableOperations(spark.read.parquet(str(folder / "operations.parquet")), table)
    rows = rows_of(given, order="input", keep=frozenset({"deleted", "unresolved"}))
    for row in rows:
        if row["_state"] == "deleted":
            row.update(dict.fromkeys(columns[2:]))
    _same(*(Counter(tuple(row.items()) for row in one) for one in (rows, expected)))
    assert {str(row["FORMAT"]).partition(" ")[0] for row in rows} == set(READ)


def _read(path: Path, name: str, told: WriterSettings) -> list[Operation]:
    """The operations in files, by the reader of frames."""
    plan = planned(path, name, told)
    batches = [batch for split in plan.splits for batch in record_batches(plan.job, split, plan.wanted)]
    rows = pa.Table.from_batches(batches, plan.wanted.schema).sort_by("seq").to_pylist(maps_as_pydicts="strict")
    return [Operation(row["op_type"], row["before"], row["after"], pos=row["position"]) for row in rows]


def _marked(item: Operation, name: str) -> Operation:
    """The operation with the name of a format in both images, wherever there is one."""

    def marked(image: Row | None) -> Row | None:
        return None if image is None else {"FORMAT": name, **image}

    return replace(item, before=marked(item.before), after=marked(item.after))
