"""Runs that lose executors and workers, or whose tasks run twice, and what such a run has to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runs import metadata, operation, snapshot, write_lines

from ggfmt.reading.runner import Runner

TABLES = tuple(f"GG.T{number}" for number in range(12))

# Called by a task on a worker: the number of its item, and how many attempts at this item there were before. It is a
# nested function, which a worker gets by value.
Harm = Callable[[int, int], None]


def records(count: int) -> list[dict[str, Any]]:
    """Many tables interleaved, with a metadata change in the middle."""
    items = [operation(n, TABLES[n * 7 % len(TABLES)], "IUD"[n % 3], NOTE=f"é{n}") for n in range(count)]
    change = metadata("GG.T3", ID="string", NAME="string", AMOUNT="number", NOTE="string", ADDED="string")
    return [*items[: count // 2], change, *items[count // 2 :]]


def write_files(folder: Path) -> Path:
    """Write 6,000 operations to six files."""
    items = records(6000)
    for number in range(6):
        write_lines(folder / f"{number}.json", items[number * 1000 : number * 1000 + 1000 + (number == 5)])
    return folder


def data(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}


def over(runner: Runner) -> Callable[[], Any]:
    """A start function for a runner that runs already."""

    @contextmanager
    def start() -> Iterator[Runner]:
        yield runner

    return start


class Sabotage:
    """A runner whose tasks meet harm `before` or `after` their work. `between` is called after each pass. Each attempt
    leaves a mark in `marks`: a file with the id of its executor, if there is one."""

    def __init__(
        self,
        runner: Runner,
        marks: Path,
        before: Harm = lambda number, tries: None,
        after: Harm = lambda number, tries: None,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self._runner, self.marks = runner, marks
        self._before, self._after, self._between = before, after, between
        self.parallelism = runner.parallelism
        marks.mkdir()

    def name_jobs(self, purpose: Callable[[], str]) -> str | None:
        return self._runner.name_jobs(purpose)

    def run(self, task: Callable[[Any, int], Any], items: Sequence[Any], progress: Any = None) -> list[Any]:
        marks, before, after = str(self.marks), self._before, self._after
        name = f"{len(list(self.marks.iterdir()))}-{getattr(task, 'func', task).__name__}"

        def work(pair: tuple[int, Any], attempt: int) -> Any:
            number, item = pair
            tries = len(list(Path(marks).glob(f"{name}-{number}-*")))
            Path(marks, f"{name}-{number}-{attempt}").write_text(str(Path.cwd()))
            before(number, tries)
            result = task(item, attempt)
            after(number, tries)
            return result

        results = self._runner.run(work, list(enumerate(items)), progress)
        self._between()
        return results

    @property
    def repeated(self) -> set[str]:
        """The passes in which an item had several attempts."""
        names = [mark.name.rpartition("-")[0] for mark in self.marks.iterdir()]
        return {name.rpartition("-")[0] for name in names if names.count(name) > 1}

    @property
    def passes(self) -> set[str]:
        return {mark.name.rsplit("-", 2)[0] for mark in self.marks.iterdir()}

    @property
    def executors(self) -> set[str]:
        """The directories of the executors that had tasks."""
        return {mark.read_text() for mark in self.marks.iterdir()}
