"""Rows of random histories are those of SQLite; `tests/tools/prove_rows.py` checks as many as there is time for."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prove_rows import prove, prove_halves
from routed import always_routed
from rows_oracle import key_of
from rows_proof import Answer, GgfmtEngine
from sql_histories import History, deliver, history, write

import ggfmt


@pytest.mark.parametrize(
    ("seed", "histories"), [(1, 30), pytest.param(2, 100, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_rows_versions_and_changes_are_those_of_sqlite(seed: int, histories: int) -> None:
    report = prove(GgfmtEngine("none", seed), range(histories), seed, tables=25)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    assert report.counts["rows", "right", ""] > histories * 0.66


@pytest.mark.parametrize("histories", [40, pytest.param(2_000, marks=pytest.mark.long)], ids=["few", "many"])
def test_rows_are_those_of_sqlite_or_unresolved_where_key_updates_are_in_two_files(histories: int) -> None:
    report = prove_halves(GgfmtEngine("none", 1, knows_start=True), range(histories), 1, tables=40)
    assert not report.is_wrong, "\n".join(report.lines(show=False))
    assert {word for _, word, _ in report.counts} <= {"right", "unresolved"}  # nor is a row guessed or lost
    assert report.counts["halves", "right", ""] > histories * 0.5


def test_a_wrong_row_is_unresolved_where_each_change_has_its_own_time(tmp_path: Path) -> None:
    several = [one for one in (history(3, number, ("row",)) for number in range(400)) if one is not None and one.key]
    for is_debezium in (False, True):
        own = [one for one in several if one.recording.is_debezium == is_debezium]
        answer = GgfmtEngine("none", 3).current(deliver(own, Random(3)), tmp_path / f"{is_debezium}")
        assert not [one.table for one in own if is_silently_wrong(one, answer)]
        lost = [one.table for one in own if answer.unresolved.get(one.table)]
        assert len(lost) < len(own) / 5


def keyed_histories(seed: int, several: range, debezium: bool) -> list[History]:
    found = (history(seed, number) for number in several)
    return [one for one in found if one is not None and one.key and one.recording.is_debezium == debezium]


def test_the_first_change_of_a_history_is_an_operation() -> None:
    """No file shows the columns from before it, so that rows at an earlier second have later ones."""
    several = [one for debezium in (False, True) for one in keyed_histories(7202, range(400), debezium)]
    assert sum(one.is_altered for one in several) > 10
    assert not [one.table for one in several if one.changes[0].op == "C"]


RESULTS: dict[str, dict[str, Any]] = {
    "current": {},
    "as of": {"as_of": "2020-09-13T12:26:03"},
    "history": {"history": True},
    "changes": {"changes": True, "since": "2020-09-13T12:26:01", "as_of": "2020-09-13T12:26:04"},
}
SMALL = ("staging.BUCKET_BYTES", "staging.UNIT_BYTES", "staging.MAX_UNIT_BYTES", "staging.MIN_UNIT_BYTES")
NO_MEMORY = ("run.MAX_MEMORY_BYTES", "staging.MAX_MEMORY_BYTES", "staging.MAX_BUFFERED_BYTES")


@pytest.mark.parametrize("options", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("debezium", [False, True], ids=["goldengate", "debezium"])
def test_a_result_is_the_same_in_any_splits_and_buckets_and_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debezium: bool, options: dict[str, Any]
) -> None:
    several = keyed_histories(5, range(40), debezium)
    files = deliver(several, Random(5))
    keys = ";".join(f"{one.table}={','.join(one.key)}" for one in several)
    write(files, tmp_path / "all", Random(5))

    def result(name: str, **settings: Any) -> dict[str, Any]:
        """By table the types and the rows, and all that the manifest says of it."""
        inputs = tmp_path / (name if name.startswith("S.") else "all")
        manifest = ggfmt.consolidate(inputs, tmp_path / f"to {name}", master="none", key=keys, **options, **settings)
        found = {}
        for table, said in manifest["tables"].items():
            del said["buckets"]
            rows = pa.concat_tables(map(pq.read_table, (tmp_path / f"to {name}" / table).glob("*.parquet")))
            found[table] = said, rows.schema, sorted(map(repr, rows.to_pylist()))
        return found

    whole = result("whole")
    assert len(whole) > 10
    for one in several[:3]:
        write([[pair for pair in file if pair[0] is one] for file in files], tmp_path / one.table, Random(5))
        assert result(one.table) == {one.table: whole[one.table]}
    with always_routed() as found:
        assert result("by table", split_size=1000) == whole
    assert found
    for name in SMALL:
        monkeypatch.setattr(f"ggfmt.rows.{name}", 500)
    assert result("cut", split_size=300) == whole
    for name in NO_MEMORY:
        monkeypatch.setattr(f"ggfmt.rows.{name}", 0)
    assert result("in files", split_size=1000) == whole


def is_silently_wrong(one: History, answer: Answer) -> bool:
    """Whether a row differs from SQLite, or is neither shown nor unresolved. Of rows that no change is about, files
    that begin in the middle show nothing."""
    names = one.states[-1].columns
    found = {key_of(row, one.key): {name: row[name] for name in names} for row in answer.rows.get(one.table, [])}
    right = {key_of(row, one.key): row for row in one.states[-1].rows}
    lost = {key_of(image, one.key) for _, images in answer.unresolved.get(one.table, []) for image in images}
    ids = dict(zip(right, one.states[-1].ids, strict=True))
    needed = {key for key in right if not one.is_late or ids[key] in one.touched}
    return any(right.get(key) != row for key, row in found.items()) or not needed <= {*found, *lost}
