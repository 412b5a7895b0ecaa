"""The walk of a run: each step once, in one order, for any sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from runs import operation, write_lines

from ggfmt.arrow.arrays import non_null_values
from ggfmt.commit.commit import CommitPart
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.engine import Run, RunRequest, Sink, execute
from ggfmt.formats.api.format import Projection
from ggfmt.location import Location
from ggfmt.model.change import ChangeBatch
from ggfmt.reading.recognition import reader_of
from ggfmt.reading.runner import InProcess
from ggfmt.reading.splits import ReadJob, Split, SplitReader
from ggfmt.reading.tasks import TaskOutcome

STEPS = ["check", "open", "plan", "tasks", "task", "collect", "commit", "report"]


class Broker(Sink[ReadJob, TaskOutcome, list[str]]):
    """Takes the positions of operations, by a transaction of its own: it has no output directory."""

    def __init__(self, fails: str = "", error: BaseException | None = None) -> None:
        self.steps: list[str] = []
        self.sent: list[str] = []
        self.committed: list[str] = []
        self._fails, self._error = fails, error

    @property
    def root(self) -> Location:
        return Location.of("broker")

    def _note(self, step: str) -> None:
        self.steps.append(step)
        if step == self._fails and self._error is not None:
            raise self._error

    def check(self, held: ExitStack, dry: bool = False) -> None:
        self._note("check")
        held.callback(self.steps.append, "released")

    def open(self, run: Run) -> None:
        self._note("open")

    def plan(self, run: Run) -> ReadJob:
        self._note("plan")
        assert run.scan is not None
        return run.scan.job

    def tasks(self, run: Run) -> Broker:
        self._note("tasks")
        return self

    def task(self, job: ReadJob) -> Callable[[Split, int], TaskOutcome]:
        def send(split: Split, attempt: int) -> TaskOutcome:
            reader = reader_of(job.input_format, job.source)(job.catalog_at(split), Projection(), job.source)
            for events in SplitReader(reader, split):
                for event in events:
                    if isinstance(event, ChangeBatch):
                        self.sent += non_null_values(event.position)
            return TaskOutcome(split.ordinal)

        self._note("task")
        return send

    def discard(self) -> None:
        self.sent = []

    def go_on(self) -> None:
        self._note("go_on")

    def collect(self, run: Run, job: ReadJob, outcomes: list[TaskOutcome]) -> None:
        self._note("collect")
        assert [outcome.split for outcome in outcomes] == [0]

    def commit(self, run: Run, others: Sequence[CommitPart]) -> None:
        self._note("commit")
        assert list(others) == []
        self.committed = self.sent

    def report(self, run: Run) -> list[str]:
        self._note("report")
        return self.committed

    def unchanged(self) -> list[str]:
        return []


@pytest.fixture
def request_of(tmp_path: Path) -> RunRequest:
    return RunRequest(inputs=[str(write_lines(tmp_path / "in.json", [operation(n) for n in range(3)]))])


def test_each_step_is_taken_once_and_in_order(request_of: RunRequest) -> None:
    broker = Broker()
    assert execute(request_of, broker, InProcess) == [f"{number:020d}" for number in range(3)]
    assert broker.steps == [*STEPS[:-1], "released", "report"]


@pytest.mark.parametrize("step", STEPS[:-2])
@pytest.mark.parametrize("error", [Abend("GG505", "x"), UsageError("GG501", "x"), KeyboardInterrupt()], ids=repr)
def test_a_step_that_fails_is_the_last_one(step: str, error: BaseException, request_of: RunRequest) -> None:
    broker = Broker(step, error)
    with pytest.raises(type(error)) as caught:
        execute(request_of, broker, InProcess)
    taken = STEPS[: STEPS.index(step) + 1]
    assert broker.steps == (taken if step == "check" else [*taken, "released"])
    assert broker.committed == []
    if isinstance(error, KeyboardInterrupt):
        assert str(caught.value) == "interrupted; nothing was committed"


def test_a_mistake_of_a_file_that_has_changed_meanwhile_is_no_mistake_of_the_data(
    request_of: RunRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(Broker):
        def collect(self, run: Run, job: ReadJob, outcomes: list[TaskOutcome]) -> None:
            Path(request_of.inputs[0]).write_bytes(b"")
            raise Abend("GG301", "no record")

    with pytest.raises(Abend, match="the input changed while it was read"):
        execute(request_of, Cut(), InProcess)
