"""Runs with a checkpoint in several commits: bounded parts of what is new, until nothing is left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from checkpoint_place import Place, no_runner
from interrupted_commits import dies_in_commit
from runs import JSON_LINES, operation, write_lines

import ggfmt
from ggfmt.commit.commit import Participant
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.reading.listing import CommitLimits
from ggfmt.reading.runner import InProcess, Runner


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for number in range(5):
        place.write(f"{number}.json", 2 * number, 2 * number + 1)
    return place


def runs(place: Place) -> list[list[str]]:
    """The names of the inputs of each commit, in order."""
    records = sorted((place.out / "_ggfmt" / "runs").glob("*.json"))
    return [[Path(each["path"]).name for each in json.loads(path.read_bytes())["inputs"]] for path in records]


@pytest.mark.parametrize("by_size", [False, True])
def test_each_file_is_read_once_and_in_order(place: Place, by_size: bool) -> None:
    size = (place.input / "0.json").stat().st_size
    place.write("2.json", *range(4, 14))  # larger than a commit may be
    limits = CommitLimits(max_bytes=2 * size + 1) if by_size else CommitLimits(max_files=2)
    result = ggfmt.convert(
        place.input,
        settings=JSON_LINES,
        output=place.out,
        checkpoint=place.seen,
        max_files=limits.max_files,
        max_bytes=limits.max_bytes,
        master="none",
    )
    expected = [["0", "1"], ["2"], ["3", "4"]] if by_size else [["0", "1"], ["2", "3"], ["4"]]
    assert runs(place) == [[f"{name}.json" for name in names] for names in expected]
    assert place.numbers == [0, 1, 2, 3, *range(4, 14), 6, 7, 8, 9]
    assert result.totals["operations_read"] == 18 and len(result.earlier) == 2
    assert result.totals["input_bytes"] == sum(path.stat().st_size for path in place.input.iterdir())
    assert result.totals["handlers"]["j"]["files"] == 3
    assert "18 operations read in 3 commits" in repr(result)
    place.run(start=no_runner, limits=limits)


def test_rejects_of_all_commits_are_counted_and_shown(place: Place) -> None:
    for name in ("0.json", "4.json"):
        write_lines(place.input / name, [operation(100 + int(name[0])), b"{broken"])
    settings: dict[str, Any] = {"checkpoint": place.seen, "max_files": 1, "on_reject": "quarantine", "master": "none"}
    result = ggfmt.convert(place.input, settings=JSON_LINES, output=place.out, **settings)
    assert result.reject_count == 2
    assert [Path(str(entry.file)).name for entry in result.rejects] == ["0.json", "4.json"]


def test_rows_of_all_commits_are_those_of_one(place: Place) -> None:
    write_lines(place.input / "0.json", [operation(0), b"{broken"])
    common: dict[str, Any] = {"key": "ID", "to": "parquet", "on_reject": "quarantine", "master": "none"}
    whole = ggfmt.consolidate(place.input, place.out.with_name("whole"), **common)
    rows = ggfmt.consolidate(place.input, place.out, checkpoint=place.seen, max_files=2, **common)
    assert rows["rejects"] == whole["rejects"] == {"GG301": 1}
    assert ggfmt.compare(place.out, place.out.with_name("whole")).equal


def test_an_error_leaves_the_commits_before_it(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    bad = write_lines(place.input / "3.json", [operation(6), b"{broken"])
    with pytest.raises(Abend, match="GG301"):
        place.run(limits=CommitLimits(max_files=1), current_timestamp=None)
    assert "3 commits before the error stay" in caplog.text
    assert place.numbers == list(range(6))
    write_lines(bad, [operation(6), operation(7)])
    place.run(limits=CommitLimits(max_files=1), current_timestamp=None)
    assert place.numbers == list(range(10))


@pytest.mark.parametrize("moves", range(10))
def test_a_run_that_dies_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    limits = CommitLimits(max_files=3)
    with dies_in_commit(monkeypatch, moves):
        place.run(limits=limits, current_timestamp=None)
    place.run(limits=limits, current_timestamp=None)
    assert place.numbers == list(range(10))
    assert runs(place) == [["0.json", "1.json", "2.json"], ["3.json", "4.json"]]


def test_an_interrupt_says_what_stays(place: Place) -> None:
    calls: list[None] = []

    def start() -> InProcess:
        calls.append(None)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return InProcess()

    with pytest.raises(KeyboardInterrupt, match="interrupted; 2 commits before that stay"):
        place.run(limits=CommitLimits(max_files=1), start=start)
    assert place.numbers == [0, 1, 2, 3]


class _Costly:
    """A runner that takes long to start, as Spark does."""

    parallelism = 2

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls, self.fails_at = 0, fails_at

    def name_jobs(self, purpose: object) -> None: ...

    def run(self, task: Any, items: Sequence[Any], progress: object = None) -> list[Any]:
        self.calls += 1
        if self.calls == self.fails_at:
            raise Abend("GG505", "a task failed")
        return [task(item, self.calls * 1000 + number) for number, item in enumerate(items)]


@pytest.mark.parametrize("fails_at", [None, 3])
def test_a_runner_is_started_once(place: Place, monkeypatch: pytest.MonkeyPatch, fails_at: int | None) -> None:
    """It ends before another run may write to the output, so that no task of it still writes there."""
    steps: list[str] = []

    @contextmanager
    def start() -> Iterator[Runner]:
        steps.append("start")
        try:
            yield _Costly(fails_at)
        finally:
            steps.append("end")

    real = Participant.release

    def release(participant: Participant) -> None:
        steps.append("released")
        real(participant)

    monkeypatch.setattr(Participant, "release", release)
    if fails_at is None:
        place.run(limits=CommitLimits(max_files=2), start=start)
        assert place.numbers == list(range(10))
        assert steps == ["start", *["released"] * 6, "end"]
    else:
        with pytest.raises(Abend, match="GG505"):
            place.run(limits=CommitLimits(max_files=2), start=start)
        assert steps == ["start", *["released"] * 4, "end", *["released"] * 2]


@pytest.mark.parametrize(
    ("limits", "others", "message"),
    [
        (CommitLimits(max_files=1), {"checkpoint": None}, "`--max-files` needs `--checkpoint`"),
        (CommitLimits(max_bytes=1), {"checkpoint": None}, "`--max-bytes` needs `--checkpoint`"),
        (CommitLimits(max_files=0), {}, "`--max-files` is 0, but a commit reads something"),
    ],
)
def test_limits_that_cannot_be_kept(place: Place, limits: CommitLimits, others: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"GG513.*{message}"):
        place.run(limits=limits, start=no_runner, **others)


def test_a_topic_has_no_limits() -> None:
    with pytest.raises(UsageError, match=r"GG513.*an input is a topic"):
        CommitLimits(1).check(["a.json", "kafka://broker/topic"], "seen")


def test_a_dry_run_shows_all(place: Place) -> None:
    given: dict[str, Any] = {"checkpoint": place.seen, "max_files": 1, "dry_run": True, "master": "none"}
    plan = ggfmt.convert(place.input, settings=JSON_LINES, output=place.out, **given).plan
    assert plan is not None and len(plan.run.files) == 5
