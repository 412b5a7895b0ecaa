"""Rows of random histories that no database need have written are those of the sequential model.

Odd texts, integers and decimals are in keys and values, operations lack keys and times, columns come and go.
`tests/tools/prove_rows.py` has histories of a database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories import SHAPES, Definition, History, Shape, Story, history, write_json
from round_trips import Operation
from rows_oracle import Change, Outcome, consolidate, key_of, until
from rows_oracle import Version as ModelVersion

import ggfmt

Row = dict[str, Any]
KEYED = [name for name, shape in SHAPES.items() if shape.key]
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))]


def text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return None if value is None else str(value)


def changes(story: Story) -> Iterator[Change]:
    """The operations as the model takes them."""
    for item in story:
        if isinstance(item, Definition):
            yield Change("C", columns=item.columns)
        else:
            yield Change(item.op, item.before, item.after, position=int(item.pos or ""), second=micros(item.op_ts))


def micros(time: str | None) -> int | None:
    return None if time is None else round(datetime.fromisoformat(f"{time}+00:00").timestamp() * 1_000_000)


def model(told: History, story: Story, **settings: Any) -> Outcome:
    return consolidate(list(changes(story)), told.shape.columns, told.shape.key, **{"complete": False, **settings})


def run(files: Sequence[tuple[Shape, Story]], out: Path, **settings: Any) -> tuple[Row, list[Row]]:
    """The entry of the table in the manifest, and its rows with values as texts."""
    folder = out.parent / f"{out.name}-in"
    folder.mkdir()
    for number, (shape, story) in enumerate(files):
        write_json(folder / f"{number}.json", shape, story)
    document = ggfmt.consolidate(folder, out, master="none", **settings)
    name = files[0][0].name
    rows = [{column: text(value) for column, value in row.items()} for row in pq.read_table(out / name).to_pylist()]
    return document["tables"][name], rows


def check(found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]], told: History) -> None:
    """Fails with the story of rows that are not the same."""
    one, other = (Counter(tuple(sorted(row.items())) for row in rows) for rows in (found, expected))
    wrong = [("found", dict(row)) for row in (one - other).elements()]
    wrong += [("expected", dict(row)) for row in (other - one).elements()]
    if not wrong:
        return
    number = min(int(row["S"]) for _, row in wrong)
    lines = [f"{what} {row}" for what, row in wrong if int(row["S"]) == number]
    lines += [str(item) for item in told.of(number)]
    raise AssertionError("\n".join([f"{len(wrong)} rows differ; those of story {number}:", *lines]))


def with_validity(version: ModelVersion) -> Row:
    start, end = version.start, version.end
    return {
        **version.values,
        "_valid_from_position": start and str(start.position),
        "_valid_to_position": end and str(end.position),
        "_op": start.op if start and start.half is None else "I",
    }


def deleted_keys(told: History) -> set[tuple[Any, ...]]:
    """The keys whose last operation is a delete."""
    found: dict[tuple[Any, ...], bool] = {}
    key = told.shape.key
    for item in changes(told.story):
        if item.op == "T":
            found.clear()
        before, after = item.before or {}, item.after or {}
        if item.op == "D":
            after = {}
        elif item.op == "I":
            before = {}
        for image in ({**after, **before}, {**before, **after}):
            one = key_of(image, key)
            if item.op != "C" and one is not None and key_of({**before, **after}, key) is not None:
                found[one] = item.op == "D"
    return {one for one, is_deleted in found.items() if is_deleted}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", KEYED)
def test_current_rows_and_those_that_are_kept(name: str, seed: int, tmp_path: Path) -> None:
    told = history(SHAPES[name], seed)
    expected = model(told, told.story)
    table, rows = run([(told.shape, told.story)], tmp_path / "out", keep="deleted,unresolved")
    current = [row for row in rows if row["_state"] == "current"]
    check(({n: row[n] for n in expected.columns} for row in current), expected.rows, told)
    assert tuple(table["columns"]) == expected.columns
    assert table["rows"] == len(expected.rows) > 30
    gone = {tuple(row[column] for column in told.shape.key) for row in rows if row["_state"] == "deleted"}
    assert gone == deleted_keys(told)
    assert table["deleted"] == len(gone) == sum(row["_state"] == "deleted" for row in rows)
    assert table["unresolved"] >= sum(row["_state"] == "unresolved" for row in rows) > 0 or told.shape.full
    stories = {row["S"] for row in rows if row["_state"] == "unresolved"}
    assert stories <= {str(image.get("S")) for _, image in expected.unresolved}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", KEYED)
def test_the_rows_of_a_database_are_there(name: str, seed: int, tmp_path: Path) -> None:
    """Over the rows from before the story, those that it leads to; without these no others."""
    told = history(SHAPES[name], seed)
    key = told.shape.key
    _, alone = run([(told.shape, told.story)], tmp_path / "alone")
    there = {tuple(row[n] for n in key): {n: row[n] for n in told.last.column_names} for row in told.rows}
    tame = {tuple(row[n] for n in key): row for row in alone if int(row["S"] or "") in told.tame}
    assert len(tame) > 30
    assert tame.items() <= there.items()
    run([(told.shape, list(_inserts(told)))], tmp_path / "base")
    _, over = run([(told.shape, told.story)], tmp_path / "over", base=tmp_path / "base")
    tame = {tuple(row[n] for n in key): row for row in over if int(row["S"] or "") in told.tame}
    assert tame == there


def _inserts(told: History) -> Iterator[Operation]:
    for number, row in enumerate(told.started):
        yield Operation("I", None, row, op_ts="2019-01-01 00:00:00.000000", pos=str(number))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in KEYED if not SHAPES[name].definitions])
def test_versions(name: str, seed: int, tmp_path: Path) -> None:
    """All but those that began and ended at one time: two rows may be at their keys then."""
    told = history(SHAPES[name], seed)
    _, rows = run([(told.shape, told.story)], tmp_path / "out", history=True)
    rows = [row for row in rows if row["_valid_to_position"] is None or row["_valid_from_ts"] != row["_valid_to_ts"]]
    for row in rows:
        del row["_valid_from_ts"], row["_valid_to_ts"]
    versions = model(told, told.story).versions
    lasting = [one for one in versions if one.end is None or one.start is None or one.start.second != one.end.second]
    check(rows, map(with_validity, lasting), told)
    assert len(rows) > 50


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", KEYED)
def test_rows_at_a_time(name: str, seed: int, tmp_path: Path) -> None:
    told = history(SHAPES[name], seed)
    moment = "2020-01-01 00:00:00.200000"
    at = micros(moment)
    assert at is not None
    expected = consolidate(until(changes(told.story), at), told.shape.columns, told.shape.key, complete=False)
    table, rows = run([(told.shape, told.story)], tmp_path / "out", as_of=moment.replace(" ", "T"))
    assert set(table["columns"]) == set(expected.columns)
    check(rows, expected.rows, told)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in KEYED if not SHAPES[name].definitions])
def test_files_in_any_order(name: str, seed: int, tmp_path: Path) -> None:
    """Positions order operations, however they are shuffled, in files that are cut anywhere."""
    told = history(SHAPES[name], seed)
    story = Random(seed).sample(told.story, len(told.story))
    _, rows = run([(told.shape, story[number::3]) for number in range(3)], tmp_path / "out")
    check(rows, model(told, told.story).rows, told)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_without_a_key(seed: int, tmp_path: Path) -> None:
    told = history(SHAPES["GG.KEYLESS"], seed)
    _, rows = run([(told.shape, told.story)], tmp_path / "out")
    check(rows, model(told, told.story).rows, told)
    place = len(told.story) // 2
    _, net = run([(told.shape, told.story)], tmp_path / "changes", changes=True, since=str(place - 1))
    before, after = balance(told, told.story[:place]), balance(told, told.story)
    truncates = [sum(not isinstance(item, Definition) and item.op == "T" for item in told.story[:place])]
    truncates.append(sum(not isinstance(item, Definition) and item.op == "T" for item in told.story))
    if truncates[1] > truncates[0]:
        before = +before  # rows that went without having come are over
    after.subtract(before)
    for op, expected in (("I", +after), ("D", -after)):
        found = Counter(tuple(row[n] for n in told.shape.columns) for row in net if row["_op"] == op)
        assert found == expected


def balance(told: History, story: Story) -> Counter[tuple[Any, ...]]:
    """How often each row came, less how often it went."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for item in changes(story):
        if item.op == "T":
            rows.clear()
        for image, by in ((item.before, -1), (item.after, 1)):
            if image is not None:
                rows[tuple(image[n] for n in told.shape.columns)] += by
    return rows


def unmoved(story: Story, key: Sequence[str]) -> Story:
    """The operations that change no key."""
    return [item for item in story if isinstance(item, Definition) or not _moves(item, key)]


def _moves(item: Operation, key: Sequence[str]) -> bool:
    before, after = item.before or {}, item.after or {}
    return item.op == "U" and key_of({**after, **before}, key) != key_of({**before, **after}, key)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in KEYED if not SHAPES[name].definitions])
def test_net_changes_where_nothing_is_known_of_what_was_before(name: str, seed: int, tmp_path: Path) -> None:
    told = history(SHAPES[name], seed)
    key, columns = told.shape.key, told.shape.columns
    story = unmoved(told.story, key)
    since = len(told.story) // 3
    older = [item for item in story if isinstance(item, Definition) or int(item.pos or "") <= since]
    _, rows = run([(told.shape, story)], tmp_path / "out", changes=True, since=str(since))
    check(rows, ({**row, "_op": op} for op, row in net_changes(older, story, columns, key)), told)


def net_changes(
    older: Story, whole: Story, columns: Sequence[str], key: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What becomes of the rows after a story until those after a longer one. What is updated or deleted was there, if
    the files begin after its insert; what is not known of it is NULL."""
    before, after = (consolidate(list(changes(story)), columns, key, complete=False) for story in (older, whole))
    was, now = ({key_of(row, key): row for row in outcome.rows} for outcome in (before, after))
    doubtful, in_doubt = ({key_of(row, key): row for _, row in one.unresolved} for one in (before, after))
    there = {*was, *doubtful} - {None}
    emptied = any(item.op == "T" for item in changes(older))
    touched = {key_of({**(item.before or {}), **(item.after or {})}, key) for item in changes(older)}
    for item in list(changes(whole))[len(older) :]:
        one = key_of({**(item.before or {}), **(item.after or {})}, key)
        emptied |= item.op == "T"
        if item.op in ("U", "D") and one is not None and one not in touched and not emptied:
            there.add(one)
        touched.add(one)
    for one in there | set(now):
        if one in now:
            if one not in there:
                yield "I", now[one]
            elif was.get(one) != now[one]:
                yield "U", now[one]
        elif one not in in_doubt:
            assert one is not None
            known = was.get(one) or doubtful.get(one) or dict(zip(key, one, strict=True))
            yield "D", {n: value if isinstance(value := known.get(n), str) else None for n in columns}
