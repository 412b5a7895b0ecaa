"""The processes of this machine, as Linux lists them."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """A process that has not ended: `name` is that of its program, `peak` the most memory it has had, in bytes.

    `cpu` is the seconds that it has computed, without its children; `started` the moment of its start, in ticks since
    the machine started.
    """

    parent: int
    name: str
    command: str
    peak: int
    cpu: float
    started: int


def processes() -> dict[int, Process]:
    """Every process by its id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended in the meantime
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                fields = rest.split()  # from the third one of proc(5) on
                state, parent, cpu = fields[0], int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if state != "Z":
                    peak = re.search(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
                    memory = int(peak[1]) << 10 if peak else 0
                    found[int(entry.name)] = Process(parent, name, command, memory, cpu, int(fields[19]))
    return found


def descendants(process: int) -> dict[int, Process]:
    """Everything that a process has started and that runs still, what it started first coming first."""
    found = family(process)
    found.pop(process, None)
    return found


def family(process: int) -> dict[int, Process]:
    """A process, if it runs still, and its descendants."""
    every, below = processes(), [process]
    found = {process: every[process]} if process in every else {}
    for parent in below:
        for child, item in sorted(every.items()):
            if item.parent == parent:
                found[child] = item
                below.append(child)
    return found
