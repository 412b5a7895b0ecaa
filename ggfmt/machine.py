"""What the machine offers: cores that this process may use, and programs at other addresses that answer."""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def available_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota(_GROUPS)
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def _quota(groups: Path) -> float | None:
    """Return the number of cores that a control group of Linux grants. A container sees its own at the root."""
    try:
        limit, period = (groups / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        try:
            limit = (groups / "cpu" / "cpu.cfs_quota_us").read_text("ascii").strip()
            period = (groups / "cpu" / "cpu.cfs_period_us").read_text("ascii").strip()
        except (OSError, ValueError):
            return None
    if not (limit.isdigit() and period.isdigit()) or not int(period):
        return None  # `max`, or -1
    return int(limit) / int(period)


def refusal(addresses: Sequence[tuple[str, int]], seconds: float, silent: str, unknown: str) -> str | None:
    """Return None if one of the addresses accepts a connection within some seconds, or else why the first does not:
    `silent`, `unknown` if the lookup of its name takes too long, or what the system says."""
    answered = threading.Event()
    problems: list[str] = []

    def knock(address: tuple[str, int]) -> None:
        try:
            with socket.create_connection(address, timeout=seconds):
                answered.set()
        except TimeoutError:
            problems.append(silent)
        except OSError as error:
            problems.append((error.strerror or str(error)).lower())

    # Daemon threads, because the lookup of a name has no time limit of its own.
    knocking = [threading.Thread(target=knock, args=(address,), daemon=True) for address in addresses]
    for thread in knocking:
        thread.start()
    for thread in knocking:
        thread.join(seconds + 0.5)
    return None if answered.is_set() else next(iter(problems), unknown)
