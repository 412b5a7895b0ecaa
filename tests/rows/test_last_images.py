"""The short cut for whole images gives the rows that the kernel gives without it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import ggfmt
from ggfmt.rows import answers, run, staging, units
from ggfmt.rows.last_images import last_images


def history(turns: int, partial: bool = False, moves: bool = False) -> list[dict[str, Any]]:
    """Random changes of a few rows, with positions."""
    draw = random.Random(5)
    rows: dict[str, dict[str, str]] = {}
    changes: list[dict[str, Any]] = []
    for turn in range(turns):
        key = str(draw.randrange(12))
        row = {"ID": key, "A": f"a{turn}", "B": f"{turn}.50"}
        head = {"table": "S.T", "op_ts": "2026-01-01 00:00:00.000000", "pos": f"{turn:020d}"}
        if key not in rows:
            changes.append({**head, "op_type": "I", "after": row})
        elif draw.random() < 0.2:
            changes.append({**head, "op_type": "D", "before": rows.pop(key)})
            continue
        else:
            after = {name: value for name, value in row.items() if name != "B" or not partial}
            changes.append({**head, "op_type": "U", "before": rows[key], "after": after})
        rows[key] = row
    if moves:
        key, row = next(iter(rows.items()))
        head = {"table": "S.T", "op_ts": "2026-01-02 00:00:00.000000", "pos": f"{turns:020d}"}
        changes.append({**head, "op_type": "U", "before": row, "after": {**row, "ID": "99"}})
    return changes


def written(folder: Path, changes: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "in.json").write_text("".join(f"{json.dumps(change)}\n" for change in changes))
    return folder


def consolidated(source: Path, out: Path, **options: Any) -> list[dict[str, Any]]:
    ggfmt.consolidate(str(source), str(out), key="ID", master="none", **options)
    rows = parquet.read_table(out / "S.T").to_pylist()
    return sorted(rows, key=lambda row: str(row["ID"]))


CASES: dict[str, tuple[list[dict[str, Any]], bool]] = {  # the changes, and whether the last image says all
    "whole": (history(200), True),
    "not in order": (history(200)[::-1], True),
    "twice": (history(200) * 2, False),
    "partial": (history(200, partial=True), False),
    "moves": (history(200, moves=True), True),  # of the rows whose keys stay
    "deletes alone": ([change for change in history(200) if change["op_type"] == "D"], True),
}


@pytest.mark.parametrize("case", CASES)
def test_the_short_cut_gives_the_same_rows(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, is_short = CASES[case]
    source = written(tmp_path / "in", changes)
    taken: list[bool] = []

    def noted(*arguments: Any) -> Any:
        found = last_images(*arguments)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(answers, "last_images", noted)
    found = consolidated(source, tmp_path / "short")
    assert any(taken) == is_short
    monkeypatch.setattr(answers, "last_images", lambda *_: None)
    assert consolidated(source, tmp_path / "long") == found
    assert bool(found) == (case != "deletes alone")


def test_a_value_that_does_not_fit_is_named_with_its_place(tmp_path: Path) -> None:
    changes = history(50)
    last = max(place for place, change in enumerate(changes) if change["op_type"] != "D")
    changes[last]["after"]["B"] = "much"
    source = written(tmp_path / "in", changes)
    with pytest.raises(ggfmt.GgfmtError) as refused:
        consolidated(source, tmp_path / "out", types={"S.T.B": "decimal(9,2)"})
    lines = (source / "in.json").read_text().splitlines(keepends=True)
    (diagnostic,) = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.span.field) == ("GG530", "B")
    assert diagnostic.span.position == changes[last]["pos"]
    assert diagnostic.span.offset == sum(map(len, lines[:last]))


@pytest.mark.parametrize("case", CASES)
def test_buckets_share_the_operations_in_memory(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, _ = CASES[case]
    source, divided = written(tmp_path / "in", changes), tmp_path / "divided"
    expected = consolidated(source, tmp_path / "alone")
    buckets: list[units.Bucket] = []

    def noted(task: run.Task) -> run.Task:
        def call(plan: units.TablePlan, bucket: units.Bucket, attempt: int) -> units.UnitResult:
            buckets.append(bucket)
            return task(plan, bucket, attempt)

        return call

    for task in (units.extract_linked, units.answer_bucket):
        monkeypatch.setattr(run, task.__name__, noted(task))
    for name in ("BUCKET_BYTES", "MAX_BUCKET_BYTES", "UNIT_BYTES"):
        monkeypatch.setattr(staging, name, 1000)
    for shared in (staging.MAX_BUCKETS, 0):
        monkeypatch.setattr(run, "MAX_SHARED_BUCKETS", shared)
        buckets.clear()
        assert consolidated(source, tmp_path / f"{shared}") == expected
        numbers = {part.bucket for bucket in buckets for part in bucket.parts}
        assert len(buckets) > 1
        assert (staging.EVERY in numbers) == (shared > 0)
    first, second = changes[: len(changes) // 2], changes[len(changes) // 2 :]
    if second[0]["pos"] > first[-1]["pos"]:  # else the second run refuses what comes late
        monkeypatch.setattr(run, "MAX_SHARED_BUCKETS", staging.MAX_BUCKETS)
        (source / "in.json").unlink()
        for number, some in enumerate((first, second)):
            (source / f"{number}.json").write_text("".join(f"{json.dumps(change)}\n" for change in some))
            found = consolidated(source, divided, checkpoint=tmp_path / "seen")
        assert found == expected
