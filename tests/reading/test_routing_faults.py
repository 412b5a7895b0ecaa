"""Runs that divide records by table, and die at any place, or run tasks twice: all or nothing of them counts."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from routed import always_routed
from runs import JSON_LINES, operation, run_ggfmt, snapshot, write_lines
from s3_server import Store
from signal_points import start, wait_until_reached

import ggfmt
from ggfmt.reading import routing
from ggfmt.reading.runner import InProcess, Runner, TaskCallback
from ggfmt.rows.run import ConsolidationSettings, execute

T = TypeVar("T")
R = TypeVar("R")

ROUTING = "ggfmt.reading.routing"
MESSAGES, ROWS = "ggfmt.sinks.messages.execution:run_split", "ggfmt.rows.staging:SplitStager.stage"
STATES = {  # a place, or that of a run and that of a consolidation; and whether the next run finishes the commit
    "first split": (f"{ROUTING}:route_split", False),
    "open file": (f"{ROUTING}:_BlockWriter._write:after", False),
    "staged file": (f"{ROUTING}:route_split:after", False),
    "before the index": (f"{ROUTING}:_with_index", False),
    "after the index": (f"{ROUTING}:_with_index:after", False),
    "discovery": ("ggfmt.reading.discovery:discover_split:after", False),
    "second pass": ((MESSAGES, ROWS), False),
    "in the second pass": ((f"{MESSAGES}:after", f"{ROWS}:after"), False),
    "before the journal": ("ggfmt.commit.commit:_sync", False),
    "journal": ("ggfmt.commit.commit:replay_journal", True),
    "one file": ("ggfmt.commit.journal:_move:after", True),
}
COMMANDS = (
    ("run", "--to", "json", "--current-timestamp", "2020-01-01 00:00:00"),
    ("consolidate", "--key", "ID"),
)


def each_state() -> list[Any]:
    """Each state with each command on each place in turns; the `long` tests try them all."""
    return [
        pytest.param(state, command, place, marks=() if number % 4 == way else pytest.mark.long)
        for number, state in enumerate(STATES)
        for way, (command, place) in enumerate(product(range(len(COMMANDS)), ("disk", "store")))
    ]


def lines(tables: int = 20) -> list[dict[str, Any] | bytes]:
    return [operation(number, f"GG.T{number % tables}") for number in range(10 * tables)]


@pytest.mark.parametrize(("state", "command", "place"), each_state())
def test_a_run_that_is_killed_leaves_all_or_nothing(
    state: str, command: int, place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store: Store | None = request.getfixturevalue("store") if place == "store" else None
    top = str(tmp_path) if store is None else f"s3://{store.bucket}"
    source = write_lines(tmp_path / "in.json", lines(20 if store is None else 10))  # a store takes long for each file
    split = "5k" if store is None else "2k"
    point, finishes = STATES[state]

    def call(out: str) -> list[str]:
        name, *options = COMMANDS[command]
        return [name, str(source), *options, "-o", f"{top}/{out}", "--split-size", split, "--master", "none"]

    def files(out: str) -> dict[str, Any]:
        found: dict[str, Any] = snapshot(tmp_path / out) if store is None else store.files(out)
        return {name: content for name, content in found.items() if name[:6] != "_ggfmt"}

    process = start(tmp_path, point if isinstance(point, str) else point[command], call("killed"))
    wait_until_reached(process)
    process.kill()
    process.communicate()
    assert ggfmt.main(call("whole")) == 0
    if not finishes:
        assert files("killed") == {}
    assert ggfmt.main(call("killed")) == (2 if finishes else 0)
    assert files("killed") == files("whole")
    assert not any("staging" in name for name in (snapshot(tmp_path) if store is None else store.files("")))


class Copies(Runner):
    """Runs each task twice, as Spark's speculation does, or again after a failure, and takes one of the results."""

    parallelism = 2

    def __init__(self, taken: str) -> None:
        self._taken = taken
        self._attempts = count()

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: TaskCallback | None = None) -> list[R]:
        return [self._result(partial(task, item)) for item in items]

    def _result(self, task: Callable[[int], R]) -> R:
        if self._taken == "the retried":
            with pytest.MonkeyPatch.context() as patch, suppress(OSError):
                patch.setattr(routing._BlockWriter, "close", fail_at_close)
                task(next(self._attempts))
            return task(next(self._attempts))
        results = [task(next(self._attempts)) for _ in range(2)]
        return results[self._taken == "the second"]


def fail_at_close(writer: routing._BlockWriter) -> None:
    """Fail with a part of the file written."""
    writer._flush()
    writer._packed //= 2
    writer._write()
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("taken", ["the first", "the second", "the retried"])
def test_copies_of_tasks_change_nothing(taken: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", lines())
    for name, start_runner in (("once", InProcess), ("twice", lambda: Copies(taken))):
        with always_routed() as found:
            run_ggfmt([source], tmp_path / "run" / name, *JSON_LINES, split_size=5000, start=start_runner)
            settings = ConsolidationSettings([str(source)], output=str(tmp_path / "rows" / name), split_size=5000)
            execute(settings, start_runner)
        assert len(found) == 2 and min(found) > 1
    for command in ("run", "rows"):
        one, other = (
            {file: digest for file, digest in snapshot(tmp_path / command / name).items() if file[:6] != "_ggfmt"}
            for name in ("once", "twice")
        )
        assert one == other and len(one) >= 20
    assert not any("staging" in file for file in snapshot(tmp_path))
