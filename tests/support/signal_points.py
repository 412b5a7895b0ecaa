"""A command of ggfmt that stops at a point until a signal comes: `signal_points.py MODULE:NAME[:after] ARGUMENT...`.

`NAME` is a function (or `CLASS.METHOD`) that says `reached` on standard error when it is first called, or when it has
returned, and then waits. The rest is the call. Without a point (`-`) the command runs as it is.
"""

from __future__ import annotations

import importlib
import sys
import time
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

    def waiting(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named) if when else None
        if not calls:
            calls.append(None)
            print("reached", file=sys.stderr, flush=True)
            deadline = time.monotonic() + 60
            while not signals.count() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)  # for further ones
        return result if when else real(*arguments, **named)

    setattr(owner, name, waiting)


if __name__ == "__main__":
    from ggfmt import __main__ as program

    point, *sys.argv[1:] = sys.argv[1:]
    if point != "-":
        wait_at(point)
    sys.exit(program.run())
