"""Python environments of their own, for programs that ggfmt is compared with or read by and does not depend on."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

FLINK = "apache-flink==2.3.0"  # some 250 MB, and the same again for Java


class NotInstalled(Exception):
    """A package cannot be had here; the text says why."""


def environment(directory: Path, requirement: str, module: str, install: bool = True) -> Path:
    """The interpreter of an environment that has a module, which is made and installed if need be.

    Raises NotInstalled if it is not there and cannot or, without `install`, may not be.
    """
    python = directory / "bin" / "python"
    if python.exists() and not subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
        return python
    if not install:
        raise NotInstalled(f"not in {directory}")
    try:
        if not python.exists():
            venv.create(directory, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotInstalled(f"no environment can be made: {error}") from None
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR: ")]
        raise NotInstalled(errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {ended.returncode}")
    return python
