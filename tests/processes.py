"""The processes of this machine, as Linux tells of them."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process that has not ended: `name` is that of its program, `peak` the most memory it has had, in bytes."""

    parent: int
    name: str
    command: str
    peak: int


def processes() -> dict[int, Process]:
    """Every process by its id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended in the meantime
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                state, parent = rest.split()[:2]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if state != "Z":
                    peak = re.search(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
                    found[int(entry.name)] = Process(int(parent), name, command, int(peak[1]) << 10 if peak else 0)
    return found


def descendants(process: int) -> dict[int, Process]:
    """Everything that a process has started and that runs still, what it started first coming first."""
    every, below = processes(), [process]
    found: dict[int, Process] = {}
    for parent in below:
        for child, item in sorted(every.items()):
            if item.parent == parent:
                found[child] = item
                below.append(child)
    return found
