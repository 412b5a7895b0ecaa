"""Tasks in several processes: what they return, and how they end."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import stopped_worker

from ggfmt import signals
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.processes import MAX_ATTEMPTS, InProcesses


@pytest.fixture(params=["fork", "new interpreter"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], InProcesses]:
    """How a run starts processes: the command line forks, a program starts interpreters."""
    if request.param == "fork":
        if sys.platform != "linux":
            pytest.skip("forks on Linux alone")
        monkeypatch.setattr(signals, "is_installed", lambda: True)
    return partial(InProcesses, 2)


def _meet(directory: Path, item: str, attempt: int) -> tuple[str, int, int]:
    """Wait until tasks run in two processes."""
    (directory / f"{os.getpid()}").touch()
    deadline = time.monotonic() + 30
    while len(list(directory.iterdir())) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return item, attempt, os.getpid()


def test_tasks_run_side_by_side_and_their_results_are_in_order(
    start: Callable[[], InProcesses], tmp_path: Path
) -> None:
    reported: list[tuple[int, int]] = []
    received: list[str] = []
    with start() as runner:
        found = runner.run(
            partial(_meet, tmp_path),
            ["a", "b", "c", "d"],
            lambda done, of: reported.append((done, of)),
            lambda result: received.append(result[0]),
        )
    assert [item for item, _, _ in found] == ["a", "b", "c", "d"]
    assert len({attempt for _, attempt, _ in found}) == 4
    assert len({process for _, _, process in found}) == 2
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(received) == ["a", "b", "c", "d"]
    assert _left() == set()


def test_one_task_stays_in_this_process() -> None:
    with InProcesses(2) as runner:
        assert runner.run(_process, [0]) == [os.getpid()]
        assert _left() == set()


def _process(item: int, attempt: int) -> int:
    return os.getpid()


def _children() -> set[int]:
    """The processes that this test has started and not waited for."""
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    processes = (line.split() for line in found.stdout.splitlines())
    return {int(process) for process, name in processes if name != "ps"} - _others


def _left() -> set[int]:
    """As `_children`, after those that end by themselves."""
    deadline = time.monotonic() + 5
    while (found := _children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


_others: set[int] = set()


@pytest.fixture(autouse=True)
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that other tests have started may run on."""
    monkeypatch.setattr(sys.modules[__name__], "_others", _children())


def _die(parent: int, directory: Path, times: int, item: int, attempt: int) -> int:
    """Kill the process so many times, if it is not that of the test, which waits for that."""
    deadline = time.monotonic() + 30
    if os.getpid() == parent:
        while len(list(directory.iterdir())) < times:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    elif len(list(directory.iterdir())) < times:
        (directory / f"{attempt}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_task_whose_process_was_killed_runs_again(
    start: Callable[[], InProcesses], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("ggfmt"), "propagate", True)
    with start() as runner:
        assert runner.run(partial(_die, os.getpid(), tmp_path, 2), [*range(6)]) == [*range(6)]
    assert "was killed by SIGKILL; its task runs again" in caplog.text
    assert len(list(tmp_path.iterdir())) == 2
    assert _left() == set()


def test_a_task_whose_processes_are_always_killed_ends_the_run(
    start: Callable[[], InProcesses], tmp_path: Path
) -> None:
    with start() as runner, pytest.raises(Abend, match="was killed by SIGKILL") as ended:
        runner.run(partial(_die, os.getpid(), tmp_path, MAX_ATTEMPTS), [*range(6)])
    assert ended.value.diagnostics[0].code == "GG505"
    assert len(list(tmp_path.iterdir())) == MAX_ATTEMPTS
    assert _left() == set()


class _Unusual(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


def _fail(directory: Path, error: Exception, item: int, attempt: int) -> int:
    (directory / f"{item}-{attempt}").touch()
    if item in (1, 2):
        raise error
    return item


@pytest.mark.parametrize(
    ("error", "raised", "words", "runs"),
    [
        (MemoryError(), Abend, "out of memory", 1),
        (OSError(errno.ENOSPC, "No space left on device"), OSError, "No space left", 1),
        (OSError("the store does not answer"), OSError, "the store does not answer", MAX_ATTEMPTS),
        (Abend("GG512", "as it is"), Abend, "as it is", 1),
        (EOFError("of the data"), EOFError, "of the data", 1),
    ],
)
def test_a_task_that_fails_ends_the_run(
    error: Exception, raised: type[Exception], words: str, runs: int, tmp_path: Path, start: Callable[[], InProcesses]
) -> None:
    with start() as runner, pytest.raises(raised, match=words):
        runner.run(partial(_fail, tmp_path, error), [0, 1, 3])
    assert len(list(tmp_path.glob("1-*"))) == runs


def _fail_unusually(item: int, attempt: int) -> int:
    raise _Unusual(f"{item}", "second")


def test_an_exception_that_cannot_be_sent_keeps_its_text(start: Callable[[], InProcesses], tmp_path: Path) -> None:
    with start() as runner, pytest.raises((RuntimeError, _Unusual), match="0"):
        runner.run(_fail_unusually, [0, 1, 2])


def _interrupt(parent: int, item: int, attempt: int) -> None:
    if os.getpid() == parent:
        os.kill(parent, signal.SIGINT)
    time.sleep(60)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_all_processes_at_once() -> None:
    began = time.monotonic()
    with InProcesses(3) as runner, pytest.raises(KeyboardInterrupt):
        runner.run(partial(_interrupt, os.getpid()), [*range(20)])
    assert time.monotonic() - began < 30
    assert _left() == set()


def test_where_no_process_can_be_started_this_one_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with InProcesses(3) as runner:
        assert set(runner.run(_process, [*range(4)])) == {os.getpid()}
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with InProcesses(3) as runner:
        assert set(runner.run(_process, [*range(4)])) == {os.getpid()}
    assert _left() == set()


def test_a_process_that_starts_late_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    began = time.monotonic()
    with InProcesses(3) as runner:
        for _ in range(2):
            assert set(runner.run(_process, [*range(4)])) == {os.getpid()}
            assert not [thread for thread in threading.enumerate() if thread.name == "ggfmt-task"]
    assert time.monotonic() - began < 30
    assert _left() == set()


@pytest.mark.parametrize(
    "error", [SystemExit(7), KeyboardInterrupt("enough"), OSError(5, "of a callback"), ValueError("no")]
)
@pytest.mark.parametrize("callback", ["progress", "received"])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_what_a_callback_raises_ends_the_run(callback: str, error: BaseException, elsewhere: bool) -> None:
    """In whichever thread it is called, and without a second run of the task."""
    called: list[bool] = []

    def fails(*given: object) -> None:
        if (threading.current_thread() is not threading.main_thread()) is elsewhere:
            called.append(True)
            raise error

    callbacks: dict[str, Any] = {callback: fails}
    with InProcesses(2) as runner, pytest.raises(type(error)) as raised:
        runner.run(_slow, [*range(80)], **callbacks)  # until a process has started
    assert raised.value is error
    assert called == [True]
    assert _left() == set()


def _slow(item: int, attempt: int) -> int:
    time.sleep(0.1)
    return item


@pytest.mark.parametrize("executable", [None, ""])
def test_a_program_without_an_interpreter_runs_tasks_itself(
    executable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with InProcesses(4) as runner:
        assert runner.run(_process, [0, 1, 2]) == [os.getpid()] * 3


def test_a_frozen_program_does_not_start_itself_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert InProcesses(4).parallelism == 1


PROGRAM = """
import os
import sys
from functools import partial
from pathlib import Path
sys.path[:0] = {path!r}
from stopped_worker import stop_worker
from ggfmt import signals
from ggfmt.reading.processes import InProcesses
signals.is_installed = lambda: {fork}
with InProcesses(2) as runner:
    runner.run(partial(stop_worker, Path({told!r}), os.getpid()), ["a", "b"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize("fork", [True, False])
def test_a_stopped_process_ends_with_its_parent(fork: bool, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = PROGRAM.format(path=[str(Path(stopped_worker.__file__).parent)], told=str(told), fork=fork)
    ended = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    worker = int(told.read_text())
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{worker}") and "Z" not in Path(f"/proc/{worker}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
