"""The choice of a runner: an existing Spark, the Spark that the options name, or this process alone."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ggfmt.commands.arguments import Properties, pairs
from ggfmt.commands.defaults import default_master
from ggfmt.cores import available_cores
from ggfmt.diagnostics.diagnostic import UsageError

if TYPE_CHECKING:
    from ggfmt.reading.runner import InProcess, Runner
    from ggfmt.reading.topics import TopicSettings

STREAM = "-"
log = logging.getLogger("ggfmt")

_NONE = re.compile(r"none(?:\[\s*([0-9]+|\*)\s*\])?")


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

    def check_reach(self, inputs: Sequence[str], output: str | None, topics: TopicSettings) -> None:
        """Raises: UsageError GG518 or GG519 if other machines would need standard input or output, or messages of Kafka
        that are on this machine."""
        if self.cluster is None:
            return
        from ggfmt.reading.topics import check_workers_reach

        check_workers_reach(inputs, self.cluster, topics, output)
        help = f"run on this machine, by {self.here}, or"
        if STREAM in inputs:
            message = f"the workers of `{self.cluster}` cannot read this machine's standard input"
            raise UsageError("GG518", message, help=f"{help} write the input to a file")
        if output == STREAM:
            message = f"the workers of `{self.cluster}` cannot write where this machine's standard output is made"
            raise UsageError("GG519", message, help=f"{help} give `-o DIR`")


@dataclass(frozen=True)
class WithoutSpark:
    processes: int | None = None

    def __call__(self) -> InProcess:
        from ggfmt.reading.processes import InProcesses

        return InProcesses(self.processes)


def choose_runner(
    master: str | None, conf: Properties, java_home: str | None, remote: str | None = None, spark: object | None = None
) -> RunnerChoice:
    """Choose a runner. Raises: UsageError GG517 for options of Spark without it, GG504, GG525, and as of
    `runner_for`."""
    given = {"spark": spark, "--remote": remote, "--spark-conf": conf, "--java-home": java_home}
    for option in (option for option, value in given.items() if value and master is not None and is_none(master)):
        message = f"`{option}` is for Spark, and `--master {master}` runs without it"
        raise UsageError("GG517", message, help=f"leave out `{option}`, or `--master {master}`")
    if master is not None and is_none(master):
        return _without_spark(master)
    from ggfmt.spark.runners import resolve_spark, runner_on
    from ggfmt.spark.target import SparkSettings, remote_address

    settings = SparkSettings(master, pairs(conf, "`--spark-conf`"), java_home, remote=remote)
    existing = resolve_spark(spark, settings)
    if existing is not None:
        return RunnerChoice(partial(runner_on, existing, settings), existing.cluster, here="`--master none`")
    if settings.named_master is None and remote is None:
        default = default_master()
        if default is not None and not is_none(default.value):
            settings = replace(settings, master=default.value)
        elif default is not None and not (conf or java_home):  # options of Spark ask for Spark
            log.info("without Spark, by %s", default.origin)
            return _without_spark(default.value)
    address = remote_address(settings)
    start = partial(runner_on, None, settings)
    if address is not None:
        return RunnerChoice(start, address.shown)
    place = settings.named_master or "local"
    return RunnerChoice(start, None if place.startswith("local") else place, _tasks_at_once(place))


def is_none(master: str) -> bool:
    """Return whether a master stands for this machine without Spark."""
    return master.strip().lower() == "none" or master.lstrip().lower().startswith("none[")


def _without_spark(master: str) -> RunnerChoice:
    found = _NONE.fullmatch(master.strip().lower())
    if found is None or (found[1] not in (None, "*") and not int(found[1])):
        message = f"`{master}` has no number of processes"
        raise UsageError("GG504", message, help="give `none[4]`, or `none` for one for each core")
    processes = None if found[1] in (None, "*") else int(found[1])
    return RunnerChoice(WithoutSpark(processes), parallelism=processes or available_cores())


def _tasks_at_once(master: str) -> int | None:
    cores = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", master)
    if master == "local":
        return available_cores()
    return None if cores is None else available_cores() if cores[1] == "*" else int(cores[1])
