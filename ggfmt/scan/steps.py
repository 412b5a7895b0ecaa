"""The steps of a run: what they are called while a person waits, and the time that each takes.

Clocks are read for each batch and never for each operation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

LISTING = "listing"
STARTING = "starting"
DISCOVERY = "discovery"
READING = "reading"
FORMATTING = "formatting"
WRITING = "writing"
JOINING = "joining"
COMMITTING = "committing"

STEPS = {
    LISTING: "the inputs are found and looked at, and all is checked that can be before a task starts",
    STARTING: "Spark starts",
    DISCOVERY: "tables and columns are looked for in the data, where no definition has them",
    READING: "files are read, decompressed and decoded; all tasks together",
    FORMATTING: "messages are made; all tasks together",
    WRITING: "messages are written to files in staging; all tasks together",
    JOINING: "small files of a table become one",
    COMMITTING: "names, schemas and the manifest; or the way to standard output",
}

PHASES = {
    LISTING: "listing",
    STARTING: "starting Spark",
    DISCOVERY: "finding tables",
    READING: "converting",
    FORMATTING: "converting",
    WRITING: "converting",
    JOINING: "joining",
    COMMITTING: "committing",
}  # what a person who waits is told; tasks do several steps at once


class Stopwatch:
    """Seconds by step; whoever ends a step says which one it was."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str | None) -> None:
        """All time since the last call was of this step; of none that is counted here, where it is None."""
        now = time.perf_counter()
        if step is not None:
            self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now


def added(some: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """The seconds of both, by step."""
    return {step: some.get(step, 0.0) + more.get(step, 0.0) for step in STEPS if step in some or step in more}
