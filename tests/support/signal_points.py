"""A command of ggfmt that stops at a point until a signal comes: `signal_points.py MODULE:NAME[:after] ARGUMENT...`.

`NAME` is a function (or `CLASS.METHOD`) that says `reached` on standard error when it is first called, or when it has
returned, and then waits. The rest is the call. Without a point (`-`) the command runs as it is.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ggfmt import signals


def wait_at(place: str) -> None:
    """Make the function of a place wait."""
    module, name, *when = place.split(":")
    owner: Any = importlib.import_module(module)
    *outer, name = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    real = getattr(owner, name)
    calls: list[None] = []

    @functools.wraps(real)  # by its name processes of tasks find it
    def waiting(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named) if when else None
        if not calls:
            calls.append(None)
            os.write(2, b"reached\n")  # at once: other processes of tasks may write, too
            deadline = time.monotonic() + 60
            while not signals.count() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)  # for further ones
        return result if when else real(*arguments, **named)

    setattr(owner, name, waiting)


def start(directory: Path, point: str, arguments: Sequence[str], **others: object) -> subprocess.Popen[str]:
    """Start this program; temporary files of the command are in `directory/tmp`."""
    command = [sys.executable, __file__, point, *arguments]
    environment = {**os.environ, "TMPDIR": str(directory / "tmp")}
    defaults: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=directory, env=environment, text=True, **{**defaults, **others})  # type: ignore[call-overload,no-any-return]


def wait_until_reached(process: subprocess.Popen[str]) -> None:
    """Return once the program is at its point. AssertionError if it ends before."""
    assert process.stderr is not None
    for line in process.stderr:
        if line == "reached\n":
            return
    raise AssertionError(f"the point was never reached, and it ended with {process.wait()}")


if __name__ == "__main__":
    from ggfmt import __main__ as program

    point, *sys.argv[1:] = sys.argv[1:]
    if point != "-":
        wait_at(point)
    sys.exit(program.run())
