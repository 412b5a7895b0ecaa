"""The parts of `tests/bench/compare.py` that can be wrong without a look at its figures showing it."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from comparison.data import FILES, SHAPES, Data, definition_files, make
from comparison.measured import Failed, Measure, measure
from comparison.running import SCRIPTS, SIDES, Run
from comparison.table import FIGURES, figures, rows
from comparison.workloads import OWN, PEERS, WORKLOADS
from processes import processes
from runs import JSON_LINES, run_ggfmt

from ggfmt.definitions import load_definitions

# Of the first 1,000 lines: figures of other days and machines are of the same data.
DIGESTS = {
    "orders": "79806b1681fe3901e4d3ae1036518006840a0b888c0bf46791cd7db4fc6843b8",
    "tables": "5a61349aae6241562589be67ca96bbddcd4089c34c81da1bc473b6524eaca135",
    "wide": "1e8a0406e01102de83cb7c5979629262519dc71793635a34d353cb9ca501fa16",
    "files": "3ab3ad691ce5f7dbb01993e64a36c1037e7ca081beea4fb928a19af4d85e7ad4",
    "hostile": "831c0bfb7f06e4bd42be70dd8610257f01bafeb61ae27eab9585e210843ee6b2",
    "partial": "9887ca9a4b7734b2c910e8361faeb01fe853dd714383b201c873579e576795f3",
    "escaped": "79806b1681fe3901e4d3ae1036518006840a0b888c0bf46791cd7db4fc6843b8",
}


def first_lines(name: str, count: int = 1000) -> list[bytes]:
    return list(itertools.islice(SHAPES[name].lines(), count))


def parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    assert isinstance(record, dict)
    return record


@pytest.mark.parametrize("name", SHAPES)
def test_data_is_the_same_whenever_it_is_made(name: str) -> None:
    assert hashlib.sha256(b"".join(first_lines(name))).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", SHAPES)
def test_every_line_is_what_its_shape_says(name: str) -> None:
    shape = SHAPES[name]
    records = [parsed(line) for line in first_lines(name)]
    broken = [number for number, record in enumerate(records, 1) if record is None]
    assert broken == ([*range(shape.broken_every, 1001, shape.broken_every)] if shape.broken_every else [])
    found = [record for record in records if record is not None]
    assert {record["table"] for record in found} == set(shape.tables)
    for record in found:
        images = {"I": {"after"}, "U": {"before", "after"}, "D": {"before"}}[record["op_type"]]
        assert images == {"before", "after"} & record.keys()
        for image in images:
            assert record[image].keys() <= set(shape.columns)
            assert all(
                isinstance(v, int | float) == (n in shape.numbers) for n, v in record[image].items() if v is not None
            )


def test_a_third_of_the_wide_table_is_null_and_some_is_missing() -> None:
    images = [
        record[side]
        for line in first_lines("wide")
        for record in [json.loads(line)]
        for side in ("before", "after")
        if side in record
    ]
    whole = len(images) * len(SHAPES["wide"].columns)
    present = sum(map(len, images))
    nulls = sum(value is None for image in images for value in image.values())
    assert nulls / whole == pytest.approx(1 / 3, abs=0.02)
    assert (whole - present) / whole == pytest.approx(1 / 20, abs=0.02)


def test_ggfmt_rejects_what_is_said_to_be_broken_and_nothing_else(tmp_path: Path) -> None:
    data = make(tmp_path / "in", "hostile", 400_000)
    assert data == Data(tmp_path / "in", data.operations, data.broken, sum(path.stat().st_size for path in data.files))
    definitions = load_definitions([str(definition_files(tmp_path / "known", "hostile"))])
    result = run_ggfmt([data.directory], tmp_path / "out", *JSON_LINES, definitions=definitions, quarantine=True)
    assert (result.totals.read, result.totals.rejects) == (data.operations, data.broken)
    assert len(data.files) == FILES


def test_small_files_have_one_to_three_operations(tmp_path: Path) -> None:
    data = make(tmp_path / "in", "files", 20_000)
    assert data.size >= 20_000
    counts = [len(path.read_bytes().splitlines()) for path in data.files]
    assert counts == [number % 3 + 1 for number in range(len(counts))]
    assert sum(counts) == data.operations
    assert b"".join(path.read_bytes() for path in data.files).splitlines() == [
        line.rstrip() for line in first_lines("files", data.operations)
    ]


COMPUTING = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
compute(0.1)
print("BEGIN", flush=True)
done, told = os.pipe()
if os.fork() == 0:
    compute(1.0)
    os.write(told, b".")
    time.sleep(60)
os.read(done, 1)
print("END", flush=True)
print("a line")
"""


def test_the_computing_of_a_child_counts_that_its_parent_is_not_told_of() -> None:
    found = measure([sys.executable, "-c", COMPUTING])
    for number, item in processes().items():
        if COMPUTING.strip() in item.command:
            os.kill(number, signal.SIGKILL)
    assert 0.5 < found.cpu < 5  # one second is computed, by the child alone, which is looked at four times a second
    assert 0.5 < found.seconds < found.whole < 30  # the child, which sleeps, does not keep it from ending
    assert found.lines == ("a line",)
    assert found.peaks["driver"] > 0 and found.peaks["worker"] > 0 and found.peaks["jvm"] == 0


@pytest.mark.parametrize(
    ("program", "seconds", "said"),
    [
        ("raise ValueError('of no use')", 60, "ValueError: of no use"),
        ("print('BEGIN')", 60, "it printed BEGIN of the two marks"),
        ("print('work')", 60, "it printed none of the two marks"),
        ("import time; time.sleep(60)", 0.1, "not done after 0 seconds"),
    ],
)
def test_a_command_that_does_not_do_its_work_says_why(program: str, seconds: float, said: str) -> None:
    with pytest.raises(Failed, match=said):
        measure([sys.executable, "-c", program], seconds=seconds, marked=True)
    assert not any(program in item.command for item in processes().values())


def test_every_side_has_what_runs_it() -> None:
    for workload in WORKLOADS.values():
        assert len({side.name for side in workload.sides}) == len(workload.sides)
        assert {side.program for side in workload.sides} <= {*PEERS, *OWN}
    assert {*SCRIPTS} == {*PEERS}
    assert all((SIDES / script).is_file() for script in SCRIPTS.values())


def test_the_table_compares_with_the_first_side_round_by_round() -> None:
    def run(seconds: float) -> Run:
        return Run(
            Measure(seconds, 2 * seconds, seconds + 1, {"driver": 1, "jvm": 0, "worker": 2}, 0.0, ()), 1000, 5000
        )

    workload = WORKLOADS["avro"]
    first, second = workload.sides[0].name, workload.sides[-1].name
    results = {("avro", first): [run(1), run(2), run(3)], ("avro", second): [run(4), run(4), run(6)]}
    lines = rows(workload, results).splitlines()
    assert [cell.strip() for cell in lines[1].split("|")][-3:-1] == ["2.00 (2.00–4.00)"] * 2
    assert "fastavro | 2.00 (2.00–4.00) | 2.00 (2.00–4.00) |" in figures(results)
    assert "does not run: why" in rows(workload, {**results, ("avro", second): "why"})


def test_every_figure_is_of_sides_that_there_are() -> None:
    measures = Run(Measure(1.0, 1.0, 2.0, {"driver": 1, "jvm": 1, "worker": 1}, 0.0, ()), 1000, 5000)
    results = {(name, side.name): [measures] for name, workload in WORKLOADS.items() for side in workload.sides}
    assert figures(results).count("\n") == len(FIGURES) + 1
