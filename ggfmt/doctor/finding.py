"""A finding of `ggfmt doctor`: what there is, whether it is sufficient, and what to do if it is not."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from enum import Enum

from ggfmt.dataclasses import dataclass, field

LITTLE_SPACE = 10**9
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


class State(str, Enum):
    """A problem keeps a run from working, a warning does not; from the best to the worst."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """A finding about one thing. `message`: one clause. `facts`: JSON values; their keys depend only on the name."""

    name: str
    state: State
    message: str
    help: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def worst(findings: Iterable[Finding]) -> State:
    order = list(State)
    return max((finding.state for finding in findings), key=order.index, default=State.OK)


def size_text(size: float) -> str:
    """Return a number of bytes for people: `63.1 MB`."""
    value, unit = float(size), _UNITS[0]
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == _UNITS[0] else f"{value:.1f} {unit}"


# Checks for this machine and for every machine of a cluster: libraries and directories. They import only modules of
# Python, so that a machine without Arrow can report that it has none.

# The packages that a run loads, with those of their modules that are not loaded with them.
LIBRARIES = {
    "arrow": ("pyarrow", "pyarrow.compute", "pyarrow.fs"),
    "msgspec": ("msgspec",),
    "lxml": ("lxml", "lxml.etree"),
    "fastavro": ("fastavro",),
}
_TRIAL_BYTES = 1 << 16


@dataclass(frozen=True)
class Library:
    version: str | None
    problem: str | None = None


@dataclass(frozen=True)
class Directory:
    path: str
    free: int | None
    problem: str | None = None


def load(name: str) -> Library:
    modules = LIBRARIES[name]
    try:
        for module in modules:
            importlib.import_module(module)
    except Exception as error:  # a broken library may raise anything
        reason = str(error).strip().split("\n", 1)[0]
        return Library(None, reason or type(error).__name__)
    return Library(str(getattr(sys.modules[modules[0]], "__version__", "of no known version")))


def try_directory(path: str) -> Directory:
    """Write an unnamed file into a directory, and return the free space."""
    try:
        with tempfile.TemporaryFile(dir=path, prefix="ggfmt-") as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
        return Directory(path, shutil.disk_usage(path).free)
    except OSError as error:
        return Directory(path, None, (error.strerror or str(error)).lower())
