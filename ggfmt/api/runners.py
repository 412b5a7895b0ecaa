"""What carries a run out: this process alone, a session of Spark's, or one that is made for the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ggfmt.api.arguments import Properties, pairs
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError

if TYPE_CHECKING:
    from ggfmt.engine.runner import Runner

NONE = "none"
STREAM = "-"


@dataclass(frozen=True)
class ChosenRunner:
    """`start` starts it; `cluster` is the master whose tasks run on other machines, if they do. `parallelism` is how
    many tasks it runs at once, None if that is not known before it starts."""

    start: Callable[[], AbstractContextManager[Runner]]
    cluster: str | None = None
    parallelism: int | None = None

    def check_reach(self, inputs: Sequence[str], output: str | None) -> None:
        """UsageError GG518 or GG519 if tasks on other machines would need this one's standard input or output."""
        if self.cluster is None:
            return
        help = "run on this machine, by `--master none` or `--master 'local[*]'`, or"
        if STREAM in inputs:
            message = f"the workers of `{self.cluster}` cannot read this machine's standard input"
            raise UsageError(Diagnostic("GG518", message, help=f"{help} write the input to a file"))
        if output == STREAM:
            message = f"the workers of `{self.cluster}` cannot write where this machine's standard output is made"
            raise UsageError(Diagnostic("GG519", message, help=f"{help} give `-o DIR`"))


def chosen_runner(master: str | None, conf: Properties, java_home: str | None) -> ChosenRunner:
    """UsageError GG517 for what no run without Spark can have."""
    properties = pairs(conf, "the Spark property")
    if master == NONE:
        told = {"--spark-conf": bool(properties), "--java-home": java_home is not None}
        for option in (option for option, given in told.items() if given):
            message = f"`{option}` is for Spark, and `--master none` runs without it"
            raise UsageError(Diagnostic("GG517", message, help=f"leave out `{option}`, or `--master none`"))
        from ggfmt.engine.runner import InProcess

        return ChosenRunner(InProcess, parallelism=InProcess.parallelism)

    def start() -> AbstractContextManager[Runner]:
        from ggfmt.spark.session import SparkRunner, SparkSettings

        return SparkRunner(SparkSettings(master, properties, java_home))

    place = master or dict(properties).get("spark.master") or "local"
    return ChosenRunner(start, None if place.startswith("local") else place, _tasks_at_once(place))


def _tasks_at_once(master: str) -> int | None:
    """What a master on this machine says of itself."""
    from ggfmt.spark.master import cpus

    cores = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", master)
    if master == "local":
        return cpus()
    return None if cores is None else cpus() if cores[1] == "*" else int(cores[1])
