"""`ggfmt` with the arguments that are given, saying when its session is up and when its work is done."""

from __future__ import annotations

from told import work

from ggfmt.cli import main
from ggfmt.spark import session


class Runner(session.SparkRunner):
    def __enter__(self) -> session.SparkRunner:
        entered = super().__enter__()
        self._work = work()
        self._work.__enter__()
        return entered

    def __exit__(self, *exception: object) -> None:
        if exception == (None, None, None):
            self._work.__exit__(None, None, None)
        super().__exit__(*exception)


session.SparkRunner = Runner  # type: ignore[misc]
main()
