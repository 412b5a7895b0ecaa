"""What is looked at on this machine and on every machine of a cluster: libraries and directories.

Loads nothing but Python's own modules, so that a machine without Arrow can tell that it has none.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass

# What a run loads: the package, and those of its modules that are more than it.
LIBRARIES = {
    "arrow": ("pyarrow", "pyarrow.compute", "pyarrow.fs"),
    "msgspec": ("msgspec",),
    "lxml": ("lxml", "lxml.etree"),
    "fastavro": ("fastavro",),
}
_TRIAL_BYTES = 1 << 16


@dataclass(frozen=True)
class Library:
    """A library of `LIBRARIES`: its version, or None and the `problem` that it does not load for."""

    version: str | None
    problem: str | None = None


@dataclass(frozen=True)
class Directory:
    """A directory: the bytes that are free there, or None and the `problem` that nothing can be written for."""

    path: str
    free: int | None
    problem: str | None = None


def load(name: str) -> Library:
    """Load a library of `LIBRARIES`, and tell its version."""
    modules = LIBRARIES[name]
    try:
        for module in modules:
            importlib.import_module(module)
    except Exception as error:  # a broken library may raise anything
        reason = str(error).strip().split("\n", 1)[0]
        return Library(None, reason or type(error).__name__)
    return Library(str(getattr(sys.modules[modules[0]], "__version__", "of no known version")))


def try_directory(path: str) -> Directory:
    """Write a file without a name into a directory, and tell how much more there is room for."""
    try:
        with tempfile.TemporaryFile(dir=path, prefix="ggfmt-") as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
        return Directory(path, shutil.disk_usage(path).free)
    except OSError as error:
        return Directory(path, None, (error.strerror or str(error)).lower())
