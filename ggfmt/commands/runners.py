"""The choice of a runner: an existing Spark, the Spark that the options name, or this process alone.

The environment and files named `ggfmt.toml` have the default of a user or a directory.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ggfmt.commands.arguments import Properties, pairs
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, list_names, suggestion
from ggfmt.lazy import lazy_regex
from ggfmt.machine import available_cores

if TYPE_CHECKING:
    from ggfmt.reading.runner import InProcess, Runner
    from ggfmt.reading.standard_input import TopicSettings

MASTER_VARIABLE = "GGFMT_MASTER"
STREAM = "-"
log = logging.getLogger("ggfmt")

_NONE = lazy_regex(r"none(?:\[\s*([0-9]+|\*)\s*\])?")


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
        from ggfmt.reading.standard_input import check_workers_reach

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


@dataclass(frozen=True)
class Default:
    value: str
    origin: str


def default_master(environment: Mapping[str, str] = os.environ) -> Default | None:
    """Return the master of GGFMT_MASTER, or of a `ggfmt.toml`, here or of the user. Raises: UsageError GG525 for a bad
    one."""
    from ggfmt.config.settings_file import FILE_NAME

    named = environment.get(MASTER_VARIABLE)
    if named:
        return Default(named, MASTER_VARIABLE)
    for directory in (Path(), _user_directory(environment)):
        if directory is None:
            continue
        path = directory / FILE_NAME
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError.of(_default_problem(path, f"it cannot be read: {error}")) from None
        master = _parse_defaults(path, text).get("master")
        if master is not None:
            return Default(master, f"{path}")
    return None


def _user_directory(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("XDG_CONFIG_HOME")
    try:
        return (Path(home) if home else Path.home() / ".config") / "ggfmt"
    except RuntimeError:
        return None


def _parse_defaults(path: Path, text: str) -> dict[str, str]:
    from ggfmt.config.settings_file import OF_LINTER, OF_RUNS, parse_toml

    every = parse_toml(text, str(path), "GG525")
    found: dict[str, str] = {key: value for key, value in every.items() if key not in OF_LINTER}
    for key, value in found.items():
        if key not in OF_RUNS:
            known = (*OF_RUNS, *OF_LINTER)
            help = suggestion(key, known) or f"it may have {list_names(known)}"
            raise UsageError.of(_default_problem(path, f"`{key}` is unknown", help))
        if not isinstance(value, str) or not value:
            raise UsageError.of(_default_problem(path, f"`{key}` is not a text", f'write it as `{key} = "none"`'))
    return found


def _default_problem(path: Path, message: str, help: str | None = None) -> Diagnostic:
    return Diagnostic("GG525", message, str(path), help)
