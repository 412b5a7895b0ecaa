"""What the process that starts tasks gets from them, and its memory with the results of as many tasks as 10 TB have."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from routed import always_routed
from runs import JSON_LINES, operation, run_ggfmt, write_lines

from ggfmt.reading import routing
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.sink import MessageOutcome

MAX_RESULT, MAX_OF_TABLE, MAX_OF_TASK = 4 << 10, 1 << 10, 1536  # bytes; the last one is beside its tables
MAX_DRIVER = 1 << 30

SIMULATION = """
import resource, sys
from array import array
from types import SimpleNamespace
from ggfmt.formats.api.reading import Layout
from ggfmt.location import Location
from ggfmt.model.table import Catalog
from ggfmt.reading import routing
from ggfmt.reading.progress import ProgressTracker
from ggfmt.reading.recognition import PlannedInput
from ggfmt.reading.splits import Range, ReadJob, Split

SPLITS, SIZE = 40_000, 256 << 20

class Runner:
    parallelism = 100

    def run(self, task, splits, progress):
        _, buckets, _ = task.args
        blocks = [array("I", [60_000 + (number + bucket) % 9 for bucket in range(buckets)]) for number in range(9)]
        return [routing.RoutedSplit(n, blocks[n % 9].tobytes(), SIZE) for n in range(len(splits))]

item = PlannedInput(SimpleNamespace(size=SIZE * SPLITS, compression=None, shown="in.json"), 0, Layout(True))
splits = [Split(number, (Range(item, number * SIZE, SIZE),)) for number in range(SPLITS)]
cut = SimpleNamespace(all=splits, sizes=[SIZE] * SPLITS)
job, scratch = ReadJob("json", Catalog({})), Location.of(sys.argv[1])
routed = routing.route(job, [item], cut, Runner(), ProgressTracker(None), scratch)
print(len(routed.all), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


@pytest.mark.long
def test_the_driver_has_room_for_the_results_of_40_000_tasks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SIMULATION, str(tmp_path / "routed")]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (tmp_path / "routed" / routing.INDEX).unlink()  # of 657 MB
    parts, peak = map(int, shown.split())
    assert parts == routing.MAX_BUCKETS + 1
    assert peak < MAX_DRIVER


class Sizes(InProcess):
    """Notes the bytes of the result of each task, as Spark would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[type, list[int]] = {}

    def run(self, task: Callable[[Any, int], Any], items: Any, *others: Any) -> list[Any]:
        results = super().run(task, items, *others)
        for result in results:
            self.of.setdefault(type(result), []).append(len(pickle.dumps(result)))
        return results


def test_results_of_tasks_are_small(tmp_path: Path) -> None:
    tables = 300
    lines = [operation(number, f"GG.T{number % tables:04}") for number in range(10 * tables)]
    inputs = [write_lines(tmp_path / "in.json", lines)]
    runner = Sizes()
    with always_routed(BUCKET_BYTES=1000) as found:
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=30_000, start=lambda: runner)
    assert found[0] > 100
    routed = runner.of[routing.RoutedSplit]
    assert len(routed) > 10 and max(routed) < MAX_RESULT
    read = sum(runner.of[MessageOutcome])
    assert read < tables * MAX_OF_TABLE + found[0] * MAX_OF_TASK
