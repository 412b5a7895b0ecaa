"""Tasks in threads of this process: what they return, and how they end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.runner import InProcess, InThreads


def test_tasks_run_side_by_side_and_their_results_are_in_order() -> None:
    together = threading.Barrier(2, timeout=30)
    reported = []

    def task(item: str, attempt: int) -> tuple[str, int]:
        together.wait()
        return item, attempt

    found = InThreads(2).run(task, ["a", "b", "c", "d"], lambda done, of: reported.append((done, of)))
    assert [item for item, _ in found] == ["a", "b", "c", "d"]
    assert len({attempt for _, attempt in found}) == 4
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_first_task_that_fails_counts() -> None:
    late = threading.Event()

    def task(item: int, attempt: int) -> None:
        if item == 1:
            late.wait(30)
            raise ValueError("first")
        late.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        InThreads(2).run(task, [1, 2])


@pytest.mark.parametrize("runner", [InProcess, lambda: InThreads(2)])
def test_a_task_without_memory_ends_the_run(runner: Callable[[], InProcess]) -> None:
    def task(item: int, attempt: int) -> None:
        raise MemoryError

    with pytest.raises(Abend) as ended:
        runner().run(task, [1, 2])
    assert ended.value.diagnostics[0].code == "GG505"


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_run_after_the_tasks_that_have_started() -> None:
    stopped = threading.Event()
    ended = []

    def task(item: int, attempt: int) -> None:
        if item == 0:
            os.kill(os.getpid(), signal.SIGINT)
        stopped.wait(1)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        InThreads(2).run(task, list(range(50)))
    assert 0 in ended
    assert len(ended) < 50
    assert not [t for t in threading.enumerate() if t.name.startswith("ggfmt-task")]
