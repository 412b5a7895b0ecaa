"""The choice of a runner: an existing Spark, the Spark that the options name, or this process alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ggfmt.commands.arguments import Properties, pairs
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError

if TYPE_CHECKING:
    from ggfmt.scan.runner import Runner

NONE = "none"
STREAM = "-"


@dataclass(frozen=True)
class RunnerChoice:
    """A runner that has not started.

    start        starts it
    cluster      the master of other machines that run the tasks; None if they run on this machine
    here         the option that runs on this machine
    parallelism  the number of tasks at once; None if it is unknown before the start
    """

    start: Callable[[], AbstractContextManager[Runner]]
    cluster: str | None = None
    parallelism: int | None = None
    here: str = "`--master none` or `--master 'local[*]'`"

    def check_reach(self, inputs: Sequence[str], output: str | None) -> None:
        """UsageError GG518 or GG519 if tasks on other machines would need the standard input or output of this one."""
        if self.cluster is None:
            return
        help = f"run on this machine, by {self.here}, or"
        if STREAM in inputs:
            message = f"the workers of `{self.cluster}` cannot read this machine's standard input"
            raise UsageError(Diagnostic("GG518", message, help=f"{help} write the input to a file"))
        if output == STREAM:
            message = f"the workers of `{self.cluster}` cannot write where this machine's standard output is made"
            raise UsageError(Diagnostic("GG519", message, help=f"{help} give `-o DIR`"))


def choose_runner(
    master: str | None,
    conf: Properties,
    java_home: str | None,
    remote: str | None = None,
    spark: object | None = None,
) -> RunnerChoice:
    """UsageError GG517 for options of Spark in a run without Spark, and errors as of `runner_for`."""
    from ggfmt.scan.runner import InProcess
    from ggfmt.spark.runners import resolve_spark, runner_on
    from ggfmt.spark.target import SparkSettings, remote_address

    settings = SparkSettings(master, pairs(conf, "the Spark property"), java_home, remote=remote)
    if master == NONE:
        given_options = {"spark": spark, "--remote": remote, "--spark-conf": conf, "--java-home": java_home}
        for option in (option for option, given in given_options.items() if given):
            message = f"`{option}` is for Spark, and `--master none` runs without it"
            raise UsageError(Diagnostic("GG517", message, help=f"leave out `{option}`, or `--master none`"))
        return RunnerChoice(InProcess, parallelism=InProcess.parallelism)
    existing = resolve_spark(spark, settings)
    start = partial(runner_on, existing, settings)
    if existing is not None:
        return RunnerChoice(start, existing.cluster, here="`--master none`")
    address = remote_address(settings)
    if address is not None:
        return RunnerChoice(start, address.shown)
    place = settings.named_master or "local"
    return RunnerChoice(start, None if place.startswith("local") else place, _tasks_at_once(place))


def _tasks_at_once(master: str) -> int | None:
    """The number of tasks that a master on this machine runs at once."""
    from ggfmt.spark.target import cpus

    cores = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", master)
    if master == "local":
        return cpus()
    return None if cores is None else cpus() if cores[1] == "*" else int(cores[1])
