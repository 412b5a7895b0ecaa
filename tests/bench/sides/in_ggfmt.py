"""`ggfmt` with the arguments that are given, saying when its runner is there and when its work is done."""

from __future__ import annotations

from typing import Any

from told import work

from ggfmt import signals
from ggfmt.cli import main
from ggfmt.reading import processes
from ggfmt.spark import session


def timed(runner: Any) -> Any:
    """Return a class of runners that report when work begins and ends."""

    class Runner(runner):  # type: ignore[misc]
        def __enter__(self) -> Any:
            entered = super().__enter__()
            self._work = work()
            self._work.__enter__()
            return entered

        def __exit__(self, *exception: object) -> None:
            if exception == (None, None, None):
                self._work.__exit__(None, None, None)
            super().__exit__(*exception)

    return Runner


session.SparkRunner = timed(session.SparkRunner)  # type: ignore[misc]
processes.InProcesses = timed(processes.InProcesses)  # type: ignore[misc]
signals.install()
main()
